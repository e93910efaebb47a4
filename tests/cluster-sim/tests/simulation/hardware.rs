//! Cards and servers that take their time: neither makes a good change a bad one.

use netloom_agent_core::CONFIG;
use netloom_cluster_sim::{Cluster, Micros, Misfortune, SECOND, Setup, WIRE, Wanted, settled};
use serde_json::{Value, json};

/// How long a desired state may take.
const LONG: Micros = 900 * SECOND;

const WANTED: Wanted = Wanted::Mtu(1400);

/// Waits until every node has what is wanted; says when that was.
fn reached(cluster: &mut Cluster) -> Micros {
    let reached = cluster.run_until_reached(WANTED, cluster.now() + LONG);
    settled(cluster, 1, WANTED, reached).unwrap_or_else(|finding| panic!("{finding}"));
    reached.expect("it is settled")
}

/// Waits until the first node is in the middle of its change.
fn changing(cluster: &mut Cluster) {
    cluster.strike(0, Misfortune::Policy(WANTED));
    while cluster.host(0).mtu(WIRE) != Some(1400) {
        cluster.run_until(cluster.now() + SECOND / 10);
        assert!(cluster.now() < LONG);
    }
}

fn failed(cluster: &Cluster) -> Vec<Value> {
    let kind = netloom_api::GroupKind::new(netloom_api::fabric::GROUP, "NetworkConfigRevision");
    let failed = cluster.server.list(kind).filter(|revision| revision["status"]["isInvalid"] == true);
    failed.map(|revision| revision["status"].clone()).collect()
}

fn setup(carrier_takes: Micros, rollout: &Value) -> Setup {
    Setup { carrier_takes, rollout: Some(rollout.clone()), ..Setup::of(1, 2) }
}

#[test]
fn a_link_whose_carrier_comes_after_twenty_seconds_costs_time_and_no_revision() {
    let mut cluster = Cluster::new(setup(20 * SECOND, &json!({"canary": {"soakSeconds": 0}})));
    cluster.strike(0, Misfortune::Policy(WANTED));
    assert!(reached(&mut cluster) > 40 * SECOND, "one node after the other has waited");
    assert_eq!((failed(&cluster), cluster.changes()), (Vec::new(), vec![1, 1]));
}

#[test]
fn how_long_nodes_wait_is_what_the_rollout_policy_says() {
    let short = json!({"canary": {"soakSeconds": 0}, "probes": {"carrierSeconds": 10}});
    let mut cluster = Cluster::new(setup(20 * SECOND, &short));
    cluster.strike(0, Misfortune::Policy(WANTED));
    cluster.run_until(120 * SECOND);
    assert_eq!(cluster.changes(), [0, 0], "the links had no carrier in time");
    assert_eq!(failed(&cluster).len(), 1);
    let assigned = cluster.server.list(CONFIG).next().expect("a node was assigned");
    assert_eq!(assigned["metadata"]["annotations"]["netloom.dev/probe-timing"], "carrier=10");
}

#[test]
fn a_server_that_is_away_for_fifteen_seconds_in_a_change_costs_time_and_no_revision() {
    let mut cluster = Cluster::new(setup(0, &json!({"canary": {"soakSeconds": 0}})));
    changing(&mut cluster);
    cluster.strike(cluster.now(), Misfortune::Away(15 * SECOND));
    assert!(reached(&mut cluster) > 15 * SECOND);
    assert_eq!((failed(&cluster), cluster.changes()), (Vec::new(), vec![1, 1]));
    assert_eq!(cluster.host(0).changes(), 1, "it was not taken back meanwhile");
}

#[test]
fn a_server_that_stays_away_longer_undoes_the_change_and_still_is_no_bad_revision() {
    let mut cluster = Cluster::new(setup(0, &json!({"canary": {"soakSeconds": 0}, "timeoutSeconds": 600})));
    changing(&mut cluster);
    cluster.strike(cluster.now(), Misfortune::Away(100 * SECOND));
    cluster.run_until(cluster.now() + 70 * SECOND);
    assert_ne!(cluster.host(0).mtu(WIRE), Some(1400), "it is taken back after a minute");
    reached(&mut cluster);
    assert_eq!(failed(&cluster), Vec::<Value>::new());
}
