//! What a change of a thousand simulated nodes takes.
//!
//! `cargo run --release -p netloom-simulation --example rollout_bench` prints one line for each figure: name, value,
//! unit. Times are those of the simulation, so they are the same on every machine.

#![expect(clippy::print_stdout, reason = "the figures are the output of this program")]

use netloom_simulation::{MILLISECOND, Wanted, measure};

const NODES: usize = 1000;

fn main() -> Result<(), String> {
    let wanted = Wanted::Mtu(1450);
    let mut cluster = measure::begun(NODES, None);
    cluster.requests.clear();
    let waves = measure::takes(&mut cluster, wanted).ok_or("a change does not reach every node")?;
    let one_by_one = measure::takes_one_by_one(NODES, wanted).ok_or("a change does not go from node to node")?;
    let count = |verb: &str| -> usize {
        cluster
            .requests
            .iter()
            .filter(|((other, kind), _)| *other == verb && *kind != "Event")
            .map(|(_, count)| count)
            .sum()
    };
    println!("in waves: {} ms", waves / MILLISECOND);
    println!("one by one: {} ms", one_by_one / MILLISECOND);
    println!("writes: {} requests", count("apply") + count("patch") + count("delete"));
    println!("status: {} requests", count("status"));
    measure::spoil(&mut cluster, Wanted::Refused(1));
    measure::spoil(&mut cluster, Wanted::CutsPath(1300));
    let worst = cluster.bad_reached().into_iter().max().ok_or("no bad change was tried")?;
    println!("reached by a bad change: {worst} nodes");
    match cluster.violations() {
        [] => host_networks(),
        found => Err(found.join("; ")),
    }
}

/// What many host networks on many nodes cost.
fn host_networks() -> Result<(), String> {
    let (nodes, networks) = (100, 256);
    let cluster = measure::with_host_networks(nodes, networks).ok_or("a host network does not reach every node")?;
    let of = |kind| cluster.requests.get(&("status", kind)).copied().unwrap_or_default();
    println!("status of host networks: {} requests", of("HostNetworkConfig"));
    println!("status by nodes with host networks: {} requests", of("NodeNetworkConfig") + of("NodeNetworkState"));
    Ok(())
}
