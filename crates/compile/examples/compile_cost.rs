//! Prints what it costs to compile a large cluster from nothing, and what one change costs after.
//!
//! `cargo run --release -p netloom-compile --example compile_cost [NODES POLICIES MACHINES]`
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "measuring and printing is all that this does")]

#[path = "../tests/cluster/mod.rs"]
mod cluster;

use std::time::{Duration, Instant};

use cluster::{Size, objects, policy};
use netloom_compile::{Compiler, Snapshot};
use serde_json::json;

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
    let (result, compiling) = timed(|| compiler.compile(&snapshot));
    let everything = compiler.counts();
    println!(
        "{}",
        json!({
            "nodes": size.nodes, "policies": size.policies, "classes": result.wishes.distinct(),
            "read_ms": millis(reading), "compile_ms": millis(compiling), "counts": format!("{everything:?}"),
        })
    );
    for (name, which) in [("policy of a zone", 7), ("policy of all nodes", 5)] {
        let ((), change) = timed(|| {
            snapshot.put(&policy(which, 1400));
            compiler.compile(&snapshot);
        });
        let share = (reading + compiling).as_secs_f64() / change.as_secs_f64();
        println!(
            "{}",
            json!({"changed": name, "ms": millis(change), "from_nothing_over_change": share.round(), "counts": format!("{:?}", compiler.counts())})
        );
    }
}

fn millis(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
