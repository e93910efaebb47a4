//! The benchmarks of the API server: `server-bench NETLOOM PEER ADMISSION FOLDER [NAME]`.
//!
//! NETLOOM serves, PEER is a real kube-apiserver with its etcd in one process, ADMISSION measures the
//! rules alone. FOLDER says which disk is measured. Prints a Markdown table on standard output and
//! what it is doing on standard error. Exit status 1 when a figure misses its bound.
//!
//! ```text
//! server      the processes that are measured
//! objects     what is written
//! crowd       many clients that write at once
//! figures/    what is measured, one file to a figure
//! ```

mod crowd;
mod figures;
mod objects;
mod server;

use std::{env, path::Path, process::ExitCode};

use bench_client as client;
use figures::Bench;
use server::Programs;

pub use bench_client::Failure;

/// Rounds of every figure; the median of an odd number is a real one.
const ROUNDS: usize = 5;
/// Objects whose memory is measured.
const OBJECTS: usize = 100_000;

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::from(2)
        }
    }
}

/// Measures; whether every bound holds.
async fn run() -> Result<bool, Failure> {
    let words: Vec<String> = env::args().skip(1).collect();
    let (netloom, peer, admission, folder, name) = match &words[..] {
        [netloom, peer, admission, folder] => (netloom, peer, admission, folder, None),
        [netloom, peer, admission, folder, name] => (netloom, peer, admission, folder, Some(name.as_str())),
        _ => return Err("usage: server-bench NETLOOM PEER ADMISSION FOLDER [NAME]".into()),
    };
    let rounds = number("SERVER_BENCH_ROUNDS", ROUNDS)?;
    let objects = number("SERVER_BENCH_OBJECTS", OBJECTS)?;
    let programs = Programs::new(netloom, peer, Path::new(folder))?;
    Bench { programs, admission: admission.clone(), rounds, objects }.run(name).await
}

/// What an environment variable says, for trying things out in less time.
fn number(variable: &str, otherwise: usize) -> Result<usize, Failure> {
    env::var(variable).map_or(Ok(otherwise), |text| Ok(text.parse()?))
}
