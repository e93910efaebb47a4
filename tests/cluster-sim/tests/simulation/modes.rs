//! Agents that merge policies themselves beside controllers that merge for the others.

use netloom_agent_core::{Mode, POLICY};
use netloom_api::{GroupKind, fabric::GROUP};
use netloom_cluster_sim::{Cluster, Faults, Micros, Misfortune, SECOND, Setup, WIRE, Wanted, settled};
use serde_json::{Value, json};

/// How long a desired state may take.
const LONG: Micros = 300 * SECOND;

/// Three nodes, of which the first merges policies itself, with two controllers.
fn beside(seed: u64, faults: Faults) -> Cluster {
    let mut cluster = Cluster::new(Setup { faults, ..Setup::of(seed, 3) });
    cluster.strike(0, Misfortune::Mode(0, Mode::Distributed));
    cluster
}

/// Lets a person change the desired state, until every node has it, says so and nobody writes any more.
fn desired(cluster: &mut Cluster, seed: u64, wanted: Wanted) {
    cluster.strike(cluster.now(), Misfortune::Policy(wanted));
    let reached = cluster.run_until_reached(wanted, cluster.now() + LONG);
    settled(cluster, seed, wanted, reached).unwrap_or_else(|finding| panic!("{finding}"));
}

#[test]
fn an_agent_that_merges_and_a_controller_do_not_undo_each_other() {
    let mut cluster = beside(1, Faults::default());
    desired(&mut cluster, 1, Wanted::Mtu(1400));
    cluster.requests.clear();
    desired(&mut cluster, 1, Wanted::Mtu(1401));
    let of = |verb, kind| cluster.requests.get(&(verb, kind)).copied().unwrap_or_default();
    assert_eq!(of("patch", "NodeNetworkState"), 3, "each desired state is written once, by whom it is for");
    assert_eq!(of("apply", "NodeNetworkConfig"), 2, "the rollout is not about the node that merges itself");
}

#[test]
fn the_policy_says_which_nodes_merge_themselves() {
    let mut cluster = beside(1, Faults::default());
    desired(&mut cluster, 1, Wanted::Mtu(1400));
    let reported = |cluster: &Cluster| {
        let policy = cluster.server.list(POLICY).next().cloned().expect("somebody wrote it");
        policy["status"]["conditions"][0]["message"].to_string()
    };
    assert!(reported(&cluster).contains("not rolled out: 1 (n0000 is the first)"), "{}", reported(&cluster));
    cluster.strike(cluster.now(), Misfortune::Mode(0, Mode::Centralized));
    cluster.run_until(cluster.now() + 60 * SECOND);
    assert!(!reported(&cluster).contains("not rolled out"), "{}", reported(&cluster));
}

#[test]
fn a_node_goes_from_one_way_to_the_other_and_back_and_keeps_what_it_has() {
    for seed in 0..3 {
        let mut cluster = beside(seed, Faults::default());
        desired(&mut cluster, seed, Wanted::Mtu(1400));
        // Older than what the node has when the controller takes over.
        desired(&mut cluster, seed, Wanted::Mtu(1401));
        let changes = cluster.host(0).changes();
        cluster.strike(cluster.now(), Misfortune::Mode(0, Mode::Centralized));
        cluster.run_until(cluster.now() + 60 * SECOND);
        assert_eq!(cluster.host(0).changes(), changes, "seed {seed}: nothing was taken back meanwhile");
        desired(&mut cluster, seed, Wanted::Mtu(1402));
        cluster.strike(cluster.now(), Misfortune::Mode(0, Mode::Distributed));
        desired(&mut cluster, seed, Wanted::Mtu(1403));
    }
}

#[test]
fn what_no_node_took_is_not_good_and_one_node_tries_it_when_the_controller_takes_over() {
    let mut cluster = Cluster::new(Setup::of(1, 3));
    desired(&mut cluster, 1, Wanted::Mtu(1400));
    (0..3).for_each(|number| cluster.strike(cluster.now(), Misfortune::Mode(number, Mode::Distributed)));
    cluster.run_until(cluster.now() + 60 * SECOND);
    cluster.strike(cluster.now(), Misfortune::Policy(Wanted::Refused(1401)));
    cluster.run_until(cluster.now() + 60 * SECOND);
    let newest = |cluster: &Cluster| {
        let all = cluster.server.list(GroupKind::new(GROUP, "NetworkConfigRevision")).cloned();
        all.max_by_key(|revision| revision["metadata"]["annotations"]["netloom.dev/sequence"].to_string()).expect("one")
    };
    let status = newest(&cluster)["status"].clone();
    assert_eq!((&status["provenAt"], &status["phase"], &status["ready"]), (&Value::Null, &json!("Pending"), &json!(0)));
    (0..3).for_each(|number| cluster.strike(cluster.now(), Misfortune::Mode(number, Mode::Centralized)));
    cluster.run_until(cluster.now() + LONG);
    assert_eq!(cluster.violations(), [""; 0], "a bad revision is tried on one node");
    assert_eq!(newest(&cluster)["status"]["isInvalid"], true);
    assert_eq!((0..3).map(|number| cluster.host(number).mtu(WIRE)).collect::<Vec<_>>(), [Some(1400); 3]);
}

#[test]
fn what_gets_lost_on_the_way_changes_nothing_of_that() {
    for seed in 0..5 {
        let mut cluster = beside(seed, Faults::all());
        desired(&mut cluster, seed, Wanted::Mtu(1400));
        cluster.strike(cluster.now(), Misfortune::Mode(1, Mode::Distributed));
        cluster.strike(cluster.now() + SECOND, Misfortune::Mode(0, Mode::Centralized));
        desired(&mut cluster, seed, Wanted::Mtu(1401));
    }
}
