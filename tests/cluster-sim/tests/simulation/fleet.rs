//! Many host networks on many nodes: no object grows with both.

use netloom_cluster_sim::Fleet;

const MEBIBYTE: usize = 1 << 20;

/// Writes that change what is wanted or what there is to want it of.
fn writes(fleet: &Fleet) -> Vec<(&'static str, &'static str, usize)> {
    let asked = fleet.requests.iter().filter(|((verb, kind), _)| *verb != "status" && *kind != "Event");
    asked.map(|((verb, kind), count)| (*verb, *kind, *count)).collect()
}

/// All of it is rolled out, and one address is edited.
fn rolls_out(nodes: usize, networks: u16) {
    let mut fleet = Fleet::new(nodes);
    fleet.add_host_networks(networks, nodes);
    assert!(fleet.run(200), "it comes to an end");
    assert_eq!(fleet.too_large, 0, "nothing is asked for that a server refuses");
    assert!(fleet.largest.0 < MEBIBYTE, "{:?}", fleet.largest);
    assert_eq!(fleet.changes.len(), nodes);
    for network in fleet.all("HostNetworkConfig") {
        assert_eq!(network["status"]["conditions"][0]["status"], "True", "{}", network["metadata"]["name"]);
    }
    assert!(!fleet.all("NetworkConfigRevisionPart").is_empty(), "it is more than fits into one object");
    fleet.requests.clear();
    fleet.changes.clear();
    fleet.move_address(7, 3, "10.7.254.254/16");
    assert!(fleet.run(200), "it comes to an end");
    // With the edit itself that is three.
    let expected = [("apply", "NodeNetworkConfig", 1), ("create", "NetworkConfigRevision", 1)];
    assert_eq!(writes(&fleet), expected, "{:?}", fleet.requests);
    assert_eq!(fleet.changes.keys().collect::<Vec<_>>(), ["n0003"], "nothing is changed elsewhere");
    assert!(fleet.largest.0 < MEBIBYTE, "{:?}", fleet.largest);
}

/// Each object grows with the nodes or with the host networks and none with both, so both figures hold together.
#[test]
#[ignore = "takes a quarter of an hour"]
fn some_host_networks_on_five_thousand_nodes_roll_out_and_an_edit_costs_three_writes() {
    rolls_out(5000, 8);
}

#[test]
fn many_host_networks_on_some_nodes_roll_out_and_an_edit_costs_three_writes() {
    rolls_out(160, 256);
}

/// The figure, which `./x bench control-fleet` measures; here it takes minutes and some GiB.
#[test]
#[ignore = "takes minutes and some GiB of memory"]
fn five_thousand_nodes_with_256_host_networks_roll_out() {
    rolls_out(5000, 256);
}
