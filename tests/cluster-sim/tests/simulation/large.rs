//! A thousand nodes.

use netloom_cluster_sim::{Cluster, SECOND, Setup, Wanted, measure, settled};

const NODES: usize = 1000;

#[test]
fn one_change_for_a_thousand_nodes_comes_in_waves_and_with_few_writes() {
    // A node that hears of its network state before it hears of its configuration begins with the one half, and has less
    // to say. Which nodes these are is chance, so nothing overtakes anything here.
    let mut cluster = Cluster::new(Setup { in_order: true, ..Setup::of(1, NODES) });
    cluster.run_until(60 * SECOND);
    cluster.requests.clear();
    let wanted = Wanted::Mtu(1450);
    let waves = measure::takes(&mut cluster, wanted);
    settled(&mut cluster, 1, wanted, waves).unwrap_or_else(|finding| panic!("{finding}"));
    let requests = &cluster.requests;
    let of = |verb, kind| requests.get(&(verb, kind)).copied().unwrap_or_default();
    let writes = requests.iter().filter(|((verb, kind), _)| *verb != "status" && *kind != "Event");
    assert_eq!(writes.map(|(_, count)| count).sum::<usize>(), 2 * NODES + 1, "{requests:?}");
    assert_eq!(of("apply", "NodeNetworkConfig"), NODES, "what it shall have");
    assert_eq!(of("patch", "NodeNetworkState"), NODES, "and the desired state");
    assert_eq!(of("create", "NetworkConfigRevision"), 1);
    // A change takes longer than an agent waits before it reports that it is applying it: it says so, and then how it
    // went.
    for kind in ["NodeNetworkConfig", "NodeNetworkState"] {
        assert_eq!(of("status", kind), 2 * NODES, "{requests:?}");
    }
    assert_eq!(of("status", "NodeNetworkStatus"), NODES, "what it has now, for the cluster: once");
    assert_eq!(cluster.peak_in_flight(), NODES / 2, "the last wave");
    let (waves, one_by_one) = (waves.unwrap(), measure::takes_one_by_one(NODES, wanted).unwrap());
    assert!(waves * 20 <= one_by_one, "{} s in waves, {} s one by one", waves / SECOND, one_by_one / SECOND);
}

#[test]
fn a_bad_change_reaches_one_node_of_a_thousand() {
    let mut cluster = measure::begun(NODES, None);
    for bad in [Wanted::Refused(1), Wanted::CutsPath(1300)] {
        measure::spoil(&mut cluster, bad);
    }
    assert_eq!(cluster.violations(), [""; 0]);
    assert_eq!(cluster.bad_reached(), [1, 1]);
}

#[test]
fn host_networks_for_many_nodes_cost_few_writes() {
    let (nodes, networks) = (20, 8);
    let cluster = measure::with_host_networks(nodes, networks).expect("every node gets every host network");
    let requests = &cluster.requests;
    let of = |verb, kind| requests.get(&(verb, kind)).copied().unwrap_or_default();
    let objects = usize::from(networks);
    // Elsewhere each node writes into the one object, which wakes all nodes, each of which may write again.
    assert!(of("status", "HostNetworkConfig") <= 2 * objects * nodes, "{requests:?}");
    // Here the controller writes it, and what several nodes say in a moment is one write.
    assert!(of("status", "HostNetworkConfig") <= objects * nodes / 2, "{requests:?}");
    assert!(of("status", "NodeNetworkConfig") <= 3 * nodes, "a node says it once for all: {requests:?}");
}

#[test]
fn another_address_for_one_node_costs_few_writes() {
    let mut cluster = measure::with_host_networks(20, 8).expect("every node gets every host network");
    let before = cluster.changes();
    assert!(measure::with_another_address(&mut cluster, 3), "it has the address and says so");
    let changed: Vec<usize> = (0..20).filter(|node| cluster.changes()[*node] != before[*node]).collect();
    assert_eq!(changed, [3], "nothing is changed elsewhere");
    let requests = &cluster.requests;
    let writes = requests.iter().filter(|((verb, kind), _)| *verb != "status" && *kind != "Event");
    let writes: Vec<_> = writes.map(|((verb, kind), count)| (*verb, *kind, *count)).collect();
    // With the edit itself that is three. No policy wants anything else, so what policies want is not written again.
    let expected = [("apply", "NodeNetworkConfig", 1), ("create", "NetworkConfigRevision", 1)];
    assert_eq!(writes, expected, "{requests:?}");
    let of = |kind| requests.get(&("status", kind)).copied().unwrap_or_default();
    // The node is applying the configuration, and has it; the other host networks of the node stand as they did.
    assert_eq!(of("HostNetworkConfig"), 2, "{requests:?}");
    assert_eq!(of("VlanStatus"), 0, "{requests:?}");
    // The revision before is one to return to; the new one is on its way, on its first node, and everywhere.
    assert_eq!(of("NetworkConfigRevision"), 4, "{requests:?}");
}
