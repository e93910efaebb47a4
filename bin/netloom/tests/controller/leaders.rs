//! Several controllers, one after the other and at the same time.

use futures_util::{StreamExt as _, stream::select_all};
use kube::runtime::{WatchStreamExt as _, watcher};
use nix::sys::signal::Signal;
use serde_json::Value;
use tokio::time::timeout;

use crate::{
    agents::Agents,
    cluster::{Cluster, FABRIC, TIME_LIMIT},
    embedded::Server,
    process::{Controller, cluster},
};

const NODES: usize = 6;

/// Moments to kill at, counted in writes that were seen since the start: chosen without a pattern, the same each time.
const MOMENTS: [usize; 5] = [1, 4, 2, 7, 3];

/// Waits for so many writes to what the controller writes.
async fn writes(cluster: &Cluster, count: usize) {
    let kinds = [
        (FABRIC, "NodeNetworkConfig"),
        (FABRIC, "NetworkConfigRevision"),
        ("nmstate.io/v1", "NodeNetworkState"),
        ("netloom.dev/v1alpha1", "RolloutPolicy"),
    ];
    let watches = kinds.map(|(version, kind)| {
        let events = watcher::watcher(cluster.api(version, kind), watcher::Config::default());
        events.default_backoff().boxed()
    });
    let mut events = select_all(watches);
    let mut seen = 0;
    let enough = async {
        while seen < count {
            if matches!(events.next().await.unwrap(), Ok(watcher::Event::Apply(_))) {
                seen += 1;
            }
        }
    };
    timeout(TIME_LIMIT, enough).await.expect("the controller goes on");
}

/// Every node was assigned exactly once, whoever assigned it, and both of its objects belong together.
async fn reported_once(cluster: &Cluster) {
    let configs = cluster.list(FABRIC, "NodeNetworkConfig").await;
    assert_eq!(configs.len(), NODES);
    let states = cluster.list("nmstate.io/v1", "NodeNetworkState").await;
    for (config, state) in configs.iter().zip(&states) {
        assert_eq!(config["metadata"]["name"], state["metadata"]["name"]);
        assert_eq!(config["metadata"]["generation"], 1, "assigned once: {config:#}");
        assert_eq!(state["metadata"]["generation"], 2, "made, and changed once: {state:#}");
    }
    assert_eq!(cluster.list(FABRIC, "NetworkConfigRevision").await.len(), 1);
    let events = cluster.list("events.k8s.io/v1", "Event").await;
    let mut notes: Vec<&Value> = events.iter().map(|event| &event["note"]).collect();
    notes.sort_by_key(ToString::to_string);
    notes.dedup();
    assert_eq!(notes.len(), events.len(), "nothing is reported to users twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn controllers_that_are_killed_lose_and_repeat_nothing() {
    let server = Server::start("controller-killed");
    let cluster = cluster(&server, NODES).await;
    let _agents = Agents::start(&cluster);
    let mut controller = Controller::start(&server, "controller.log");
    cluster.leader(|holder| !holder.is_empty()).await;
    let mut until = tokio::spawn({
        let cluster = cluster.clone();
        async move { writes(&cluster, MOMENTS[0]).await }
    });
    cluster.policy(9000).await;
    for moment in &MOMENTS[1..] {
        until.await.unwrap();
        controller.signal(Signal::SIGKILL);
        assert_eq!(controller.ended(), None);
        let (cluster, moment) = (cluster.clone(), *moment);
        until = tokio::spawn(async move { writes(&cluster, moment).await });
        controller = Controller::start(&server, "controller.log");
    }
    cluster.everywhere(9000).await;
    until.abort();
    assert_eq!(cluster.mtus().await, [Some(9000); NODES]);
    reported_once(&cluster).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_is_stopped_in_the_middle_writes_nothing_when_it_goes_on() {
    let server = Server::start("controller-stopped");
    let cluster = cluster(&server, NODES).await;
    let agents = Agents::start(&cluster);
    let mut first = Controller::start(&server, "first.log");
    let leader = cluster.leader(|holder| !holder.is_empty()).await;
    let second = Controller::start(&server, "second.log");
    agents.answer(false);
    cluster.policy(9000).await;
    cluster.until(FABRIC, "NodeNetworkConfig", "a node is assigned", |_| true).await;
    first.signal(Signal::SIGSTOP);
    agents.answer(true);
    let next = cluster.leader(|holder| !holder.is_empty() && holder != leader).await;
    cluster.everywhere(9000).await;
    reported_once(&cluster).await;

    first.signal(Signal::SIGCONT);
    cluster.renewals(2).await;
    let (before, writes) = (first.metric("netloom_controller_requests_total"), cluster.writes().await);
    cluster.policy(8000).await;
    cluster.everywhere(8000).await;
    assert!(cluster.writes().await > writes);
    assert_eq!(first.metric("netloom_controller_requests_total"), before, "who leads no more asks for nothing");
    assert_eq!(first.metric("netloom_controller_leading"), 0);
    assert_eq!(second.metric("netloom_controller_leading"), 1);

    // One that is asked to end gives the lease back: nobody waits for its time to pass.
    second.signal(Signal::SIGTERM);
    let mut second = second;
    assert_eq!(second.ended(), Some(0));
    let holder = cluster.leader(|holder| holder != next).await;
    assert!(holder.is_empty() || holder == leader, "{holder}");
    cluster.policy(7000).await;
    cluster.everywhere(7000).await;
    assert_eq!(first.metric("netloom_controller_leading"), 1);
    first.signal(Signal::SIGTERM);
    assert_eq!(first.ended(), Some(0));
    assert_eq!(cluster.leader(|_| true).await, "", "given back");
}
