//! What a change of a thousand simulated nodes takes.
//!
//! `cargo run --profile dist -p netloom-cluster-sim --example rollout_bench` prints one line for each figure: name, value,
//! unit. Times are those of the simulation, so they are the same on every machine. With `fleet`, in a process of its own for
//! what it takes of memory: what many host networks on very many nodes cost, and that in the time of the machine.

#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "measuring and printing is all that this does")]

use std::{fs, time::Instant};

use netloom_cluster_sim::{Cluster, Fleet, MILLISECOND, Wanted, measure};

const NODES: usize = 1000;
/// The node that gets another address.
const MOVES: usize = 3;
/// More decisions than any of it takes.
const TURNS: usize = 200;

fn main() -> Result<(), String> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => rollouts(),
        ["fleet"] => fleet(5000, 256),
        ["fleet", nodes, networks] => {
            let number = |word: &str| word.parse::<u16>().map_err(|error| format!("{word}: {error}"));
            fleet(number(nodes)?.into(), number(networks)?)
        }
        _ => Err("usage: rollout_bench [fleet [NODES NETWORKS]]".to_owned()),
    }
}

fn rollouts() -> Result<(), String> {
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

/// What host networks on a whole fleet take until all nodes have them, and then another address of one node.
fn fleet(nodes: usize, networks: u16) -> Result<(), String> {
    let begun = Instant::now();
    let mut fleet = Fleet::new(nodes);
    fleet.add_host_networks(networks, nodes);
    if !fleet.run(TURNS) || fleet.changes.len() != nodes {
        return Err("not every node gets every host network".to_owned());
    }
    println!("rolled out: {} ms", begun.elapsed().as_millis());
    fleet.requests.clear();
    fleet.changes.clear();
    let edited = Instant::now();
    fleet.move_address(7, MOVES, "10.7.254.254/16");
    if !fleet.run(TURNS) || fleet.changes.is_empty() {
        return Err("the node does not get the other address".to_owned());
    }
    println!("edited: {} ms", edited.elapsed().as_millis());
    let asked = fleet.requests.iter().filter(|((verb, kind), _)| *verb != "status" && *kind != "Event");
    // The edit is a person's, and not among the requests.
    println!("writes: {} requests", 1 + asked.map(|(_, count)| count).sum::<usize>());
    let status = fleet.requests.iter().filter(|((verb, _), _)| *verb == "status");
    println!("status: {} requests", status.map(|(_, count)| count).sum::<usize>());
    println!("elsewhere: {} changes", fleet.changes_but_of(MOVES));
    println!("largest object: {} bytes", fleet.largest.0);
    println!("refused as too large: {} requests", fleet.too_large);
    println!("memory: {} bytes", peak().ok_or("the kernel does not say how much memory was used")?);
    Ok(())
}

/// The most memory that this process ever had.
fn peak() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}
