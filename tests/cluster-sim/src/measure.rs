//! Figures of a large cluster in which nothing goes wrong, in simulated time: the same on every machine.

use std::net::Ipv4Addr;

use netloom_api::GroupKind;
use serde_json::{Value, json};

use crate::{Cluster, Micros, Misfortune, SECOND, Setup, Wanted, users};

/// What gives nodes an interface in a VLAN.
const NETWORK: GroupKind<'static> = GroupKind::new("network.harvesterhci.io", "HostNetworkConfig");

/// How long everybody has to begin.
const BEGIN: Micros = 60 * SECOND;
/// How long a desired state may take.
const TIME_LIMIT: Micros = 7200 * SECOND;
/// On how many nodes it is seen how long one after the other takes.
const FEW: usize = 20;

/// A cluster in which every node has reported what it has, and nobody has asked for anything. The specification is that
/// of a `RolloutPolicy`.
pub fn begun(nodes: usize, rollout: Option<Value>) -> Cluster {
    let mut cluster = Cluster::new(Setup { rollout, ..Setup::of(1, nodes) });
    cluster.run_until(BEGIN);
    cluster
}

/// How long a desired state takes to reach every node, if it does.
pub fn takes(cluster: &mut Cluster, wanted: Wanted) -> Option<Micros> {
    let begin = cluster.now();
    cluster.strike(begin, Misfortune::Policy(wanted));
    Some(cluster.run_until_reached(wanted, begin + TIME_LIMIT)? - begin)
}

/// How long so many nodes would take one after the other, each the same time and with nothing watched in between.
pub fn takes_one_by_one(nodes: usize, wanted: Wanted) -> Option<Micros> {
    let spec = json!({"maxUnavailable": 1, "waves": [1], "canary": {"soakSeconds": 0}});
    let mut cluster = begun(FEW, Some(spec));
    let few = takes(&mut cluster, wanted)?;
    (cluster.peak_in_flight() == 1).then_some(few / FEW as Micros * nodes as Micros)
}

/// A desired state that no node can reach is made, and what becomes of it is waited for.
pub fn spoil(cluster: &mut Cluster, wanted: Wanted) {
    let begin = cluster.now();
    cluster.strike(begin, Misfortune::Policy(wanted));
    cluster.run_until(begin + 300 * SECOND);
}

/// A cluster to which so many host networks for all nodes come at once, and in which every node has all of them and says
/// so; none when it does not get there. Its requests are those that this took.
pub fn with_host_networks(nodes: usize, networks: u16) -> Option<Cluster> {
    let mut cluster = Cluster::new(Setup { cards: vec![users::UPLINK.to_owned()], ..Setup::of(1, nodes) });
    cluster.run_until(BEGIN);
    cluster.requests.clear();
    let begin = cluster.now();
    cluster.strike(begin, Misfortune::HostNetworks(networks));
    while cluster.now() < begin + TIME_LIMIT {
        cluster.run_until(cluster.now() + 10 * SECOND);
        let ready = cluster.server.list(NETWORK).filter(|network| is_ready(network, nodes)).count();
        if ready == usize::from(networks) && cluster.violations().is_empty() {
            return Some(cluster);
        }
    }
    None
}

/// One node gets another address in the first host network; whether it says within a minute that it has it. The
/// cluster's requests are all that this took.
pub fn with_another_address(cluster: &mut Cluster, node: usize) -> bool {
    let address = Ipv4Addr::new(10, 0, 0, 250);
    cluster.requests.clear();
    let begin = cluster.now();
    cluster.strike(begin, Misfortune::Address(node, address));
    cluster.run_until(begin + 60 * SECOND);
    let network = cluster.server.list(NETWORK).find(|network| network["metadata"]["name"] == users::FIRST_OF_MANY);
    let reported = json!([format!("{address}/24")]);
    network.is_some_and(|network| network["status"]["nodeStatus"][users::name(node)]["addresses"] == reported)
}

/// Whether a host network says that every node has it.
fn is_ready(network: &Value, nodes: usize) -> bool {
    let status = &network["status"];
    let says = status["nodeStatus"].as_object().map_or(0, serde_json::Map::len);
    says == nodes && status["conditions"][0]["status"] == "True"
}
