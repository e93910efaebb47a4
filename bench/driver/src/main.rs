//! The benchmarks, inside the lab kernel: `bench-driver NETLOOM PEER FOLDER [NAME]`.
//!
//! Prints a Markdown table on standard output and what it is doing on standard error. Exit status 1
//! when a figure misses its bound.
//!
//! ```text
//! documents   the inputs: documents for netloom and the peer, batches for ip
//! space       fresh namespaces, and processes with a stopwatch
//! figures     what is measured
//! ```

mod documents;
mod figures;
mod space;

use std::{env, process::ExitCode};

use figures::Figures;

/// Rounds of every figure; the median of an odd number is a real one.
const ROUNDS: usize = 5;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["--memory-of", ref command @ ..] => space::print_memory_of(command).map(|()| true),
        [netloom, peer, folder] => Figures::new(netloom, peer, folder, ROUNDS).and_then(|figures| figures.run(None)),
        [netloom, peer, folder, name] => {
            Figures::new(netloom, peer, folder, ROUNDS).and_then(|figures| figures.run(Some(name)))
        }
        _ => Err("usage: bench-driver NETLOOM PEER FOLDER [NAME]".into()),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::from(2)
        }
    }
}
