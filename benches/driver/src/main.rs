//! The benchmarks, on the kernel that it is run on: `bench-driver NETLOOM NODE_PROGRAM PEER FOLDER [NAME]`.
//!
//! Prints a Markdown table on standard output and what it is doing on standard error. Exit status 1
//! when a figure misses its bound.
//!
//! ```text
//! documents   the inputs: documents for netloom and the peer, batches for ip
//! space       fresh namespaces, and processes with a stopwatch
//! figures     what is measured
//! own         what is measured on the machine's own kernel, with the kinds of links that every kernel has
//! raw         bare messages, beside which programs are seen
//! ```

mod documents;
mod figures;
mod own;
mod raw;
mod space;

use std::{env, process::ExitCode};

use figures::Figures;

/// Rounds of every figure; the median of an odd number is a real one.
const ROUNDS: usize = 5;

fn run(places: [&str; 4], name: Option<&str>) -> Result<bool, space::Failure> {
    Figures::new(places, ROUNDS)?.run(name)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["--memory-of", ref command @ ..] => space::print_memory_of(command).map(|()| true),
        [netloom, node, peer, folder] => run([netloom, node, peer, folder], None),
        [netloom, node, peer, folder, name] => run([netloom, node, peer, folder], Some(name)),
        _ => Err("usage: bench-driver NETLOOM NODE_PROGRAM PEER FOLDER [NAME]".into()),
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
