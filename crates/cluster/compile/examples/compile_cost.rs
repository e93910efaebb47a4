//! What it costs to compile a large cluster from nothing, and what one change costs after.
//!
//! `cargo run --profile dist -p netloom-compile --example compile_cost [NODES POLICIES MACHINES]` prints one line for each
//! figure: name, value, unit, and how much work it was.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "measuring and printing is all that this does")]

#[path = "../tests/cluster/mod.rs"]
mod cluster;

use std::time::{Duration, Instant};

use cluster::{Size, objects, policy};
use netloom_compile::{Compiler, Counts, Snapshot};

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed())
}

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|text| text.parse().ok());
    let mut number = |default| numbers.next().unwrap_or(default);
    let size = Size { nodes: number(5000), policies: number(50), machines: number(4) };
    let all = objects(size);
    let (mut snapshot, reading) = timed(|| all.iter().collect::<Snapshot>());
    let mut compiler = Compiler::default();
    let (_, compiling) = timed(|| compiler.compile(&snapshot));
    print("reading", reading, None);
    print("from nothing", reading + compiling, Some(compiler.counts()));
    for (name, which) in [("one policy of a zone", 7), ("one policy of all nodes", 5)] {
        let ((), change) = timed(|| {
            snapshot.put(&policy(which, 1400));
            compiler.compile(&snapshot);
        });
        print(name, change, Some(compiler.counts()));
    }
}

fn print(name: &str, time: Duration, counts: Option<Counts>) {
    let counts = counts.map(|counts| format!(" ({counts:?})")).unwrap_or_default();
    println!("{name}: {:.3} ms{counts}", time.as_secs_f64() * 1e3);
}
