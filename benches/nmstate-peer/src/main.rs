//! `nmstate-peer show` and `nmstate-peer apply FILE`: what `nmstatectl --kernel` does, without its
//! logging.

use std::{env, error::Error, fs, process::ExitCode};

use nmstate::NetworkState;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("nmstate-peer: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["show"] => {
            let mut state = NetworkState::new();
            state.set_kernel_only(true);
            state.retrieve()?;
            print!("{}", serde_yaml::to_string(&state)?);
            Ok(())
        }
        ["apply", file] => {
            let mut state: NetworkState = serde_yaml::from_str(&fs::read_to_string(file)?)?;
            state.set_kernel_only(true);
            state.apply()?;
            Ok(())
        }
        _ => Err("usage: nmstate-peer show | apply FILE".into()),
    }
}
