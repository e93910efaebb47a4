//! Many seeds, each with another storm. `NETLOOM_SIMULATION_SEEDS` says how many; `NETLOOM_SIMULATION_SEED` runs one
//! of them alone.

use std::sync::atomic::{AtomicU64, Ordering};

use netloom_cluster_sim::{Finding, SECOND, breezy, stormy};

/// How many storms there are when nobody says otherwise.
const SEEDS: u64 = 500;

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is no number: {text}")))
}

/// What is found in the first so many storms, on every processor that there is.
fn findings(seeds: u64) -> Vec<Finding> {
    let next = AtomicU64::new(0);
    let work = || -> Vec<Finding> {
        let mine = std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)).filter(|seed| *seed < seeds));
        mine.filter_map(|seed| stormy(seed, None).err()).collect()
    };
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("what a storm panics over was printed")).collect()
    })
}

#[test]
fn five_hundred_storms_end_well() {
    if let Some(seed) = number("NETLOOM_SIMULATION_SEED") {
        let cluster = stormy(seed, None).unwrap_or_else(|finding| panic!("{finding}"));
        println!("seed {seed}: trace {:016x}, {} events", cluster.trace().hash(), cluster.trace().events());
        return;
    }
    let seeds = number("NETLOOM_SIMULATION_SEEDS").unwrap_or(SEEDS);
    let findings = findings(seeds);
    let each: Vec<String> =
        findings.iter().map(|finding| format!("{}: {}", finding.seed(), finding.what()[0])).collect();
    assert!(findings.is_empty(), "{} of {seeds} seeds: {each:#?}; the first is\n{}", findings.len(), findings[0]);
}

#[test]
fn what_is_lost_on_the_way_costs_time_and_nothing_else() {
    for seed in 0..25 {
        if let Err(finding) = breezy(seed, None) {
            panic!("{finding}");
        }
    }
}

#[test]
fn equal_seeds_give_equal_runs() {
    let run = |seed| {
        let cluster = stormy(seed, None).unwrap_or_else(|finding| panic!("{finding}"));
        (cluster.trace().hash(), cluster.trace().events(), cluster.ending())
    };
    let (one, other) = (run(3), run(4));
    assert_eq!(one, run(3));
    assert_ne!(one.0, other.0);
    assert!(one.1 > 500, "{} events", one.1);
}

#[test]
fn nobody_writes_in_an_hour_after_a_storm() {
    for seed in 0..4 {
        let mut cluster = stormy(seed, None).unwrap_or_else(|finding| panic!("{finding}"));
        let asked = cluster.asked();
        cluster.run_until(cluster.now() + 3600 * SECOND);
        assert_eq!((cluster.asked(), cluster.violations()), (asked, [].as_slice()), "seed {seed}");
    }
}
