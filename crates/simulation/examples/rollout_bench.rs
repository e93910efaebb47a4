//! What a change of a thousand simulated nodes takes.
//!
//! `cargo run --profile dist -p netloom-simulation --example rollout_bench` prints one line for each figure: name, value,
//! unit. Times are those of the simulation, so they are the same on every machine.

#![expect(clippy::print_stdout, reason = "the figures are the output of this program")]

use netloom_simulation::{Cluster, MILLISECOND, Wanted, measure};

const NODES: usize = 1000;
/// The node that gets another address.
const MOVES: usize = 3;

fn main() -> Result<(), String> {
    let wanted = Wanted::Mtu(1450);
    let mut cluster = measure::begun(NODES, None);
    cluster.requests.clear();
    let waves = measure::takes(&mut cluster, wanted).ok_or("a change does not reach every node")?;
    let one_by_one = measure::takes_one_by_one(NODES, wanted).ok_or("a change does not go from node to node")?;
    println!("in waves: {} ms", waves / MILLISECOND);
    println!("one by one: {} ms", one_by_one / MILLISECOND);
    // The revision is one for all of them.
    println!("writes: {} requests", writes(&cluster) - written(&cluster, "create"));
    println!("status: {} requests", written(&cluster, "status"));
    measure::spoil(&mut cluster, Wanted::Refused(1));
    measure::spoil(&mut cluster, Wanted::CutsPath(1300));
    let worst = cluster.bad_reached().into_iter().max().ok_or("no bad change was tried")?;
    println!("reached by a bad change: {worst} nodes");
    match cluster.violations() {
        [] => host_networks(),
        found => Err(found.join("; ")),
    }
}

/// What many host networks on many nodes cost, and another address of one node in one of them.
fn host_networks() -> Result<(), String> {
    let (nodes, networks) = (100, 256);
    let mut cluster = measure::with_host_networks(nodes, networks).ok_or("a host network does not reach every node")?;
    let of = |kind| cluster.requests.get(&("status", kind)).copied().unwrap_or_default();
    println!("status of host networks: {} requests", of("HostNetworkConfig"));
    println!("status by nodes with host networks: {} requests", of("NodeNetworkConfig") + of("NodeNetworkState"));
    let before = cluster.changes();
    if !measure::with_another_address(&mut cluster, MOVES) {
        return Err("the node does not get the other address".to_owned());
    }
    // The edit is a person's, and not among the requests of the cluster.
    println!("writes for another address: {} requests", 1 + writes(&cluster));
    println!("status for another address: {} requests", written(&cluster, "status"));
    let elsewhere = cluster.changes().into_iter().zip(before).enumerate().filter(|(node, _)| *node != MOVES);
    println!(
        "changes elsewhere for another address: {} changes",
        elsewhere.map(|(_, (now, then))| now - then).sum::<usize>()
    );
    Ok(())
}

/// Requests that change what is wanted or what there is to want it of; what only tells is not among them.
fn writes(cluster: &Cluster) -> usize {
    ["create", "apply", "patch", "delete"].into_iter().map(|verb| written(cluster, verb)).sum()
}

fn written(cluster: &Cluster, verb: &str) -> usize {
    let of_verb = cluster.requests.iter().filter(|((other, kind), _)| *other == verb && *kind != "Event");
    of_verb.map(|(_, count)| count).sum()
}
