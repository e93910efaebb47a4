//! A change on its way to the nodes.

use serde_json::{Value, json};

use crate::{
    agents::Agents,
    cluster::{Cluster, FABRIC},
    embedded::Server,
    process::{Controller, cluster},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_change_reaches_one_node_then_the_others_and_then_nobody_writes() {
    let server = Server::start("controller-reaches");
    let cluster = cluster(&server, 8).await;
    let agents = Agents::start(&cluster);
    let controller = Controller::start(&server, "controller.log");
    agents.answer(false);
    cluster.policy(9000).await;
    cluster
        .until("netloom.dev/v1alpha1", "RolloutPolicy", "the canary is asked", |policy| {
            policy["status"]["phase"] == "Canary" && policy["status"]["nodes"]["updated"] == 1
        })
        .await;
    cluster.renewals(2).await;
    assert_eq!(cluster.list(FABRIC, "NodeNetworkConfig").await.len(), 1, "one node, until it answers");
    agents.answer(true);
    let revision = cluster.everywhere(9000).await;
    assert_eq!(cluster.mtus().await, [Some(9000); 8]);
    assert_eq!((&revision["status"]["ready"], &revision["status"]["isInvalid"]), (&json!(8), &json!(false)));
    let assigned = agents.assigned();
    assert_eq!((assigned.len(), assigned[0].0.as_str()), (8, "n0"), "{assigned:?}");
    // One, then a quarter, then half, then the rest; inside a wave in any order.
    for ((_, answered), before) in assigned.iter().zip([0, 1, 2, 2, 4, 4, 4, 4]) {
        assert!(*answered >= before, "assigned before {before} had answered: {assigned:?}");
    }
    idle(&cluster, &controller).await;
    // Nothing is written either by one that begins again.
    drop(controller);
    let before = cluster.writes().await;
    let controller = Controller::start(&server, "controller.log");
    cluster.leader(|holder| !holder.is_empty()).await;
    cluster.renewals(2).await;
    // On a machine that is busy enough a lease of three seconds is lost now and then, and taken again.
    for _ in 0..20 {
        if controller.metric("netloom_controller_leading") == 1 {
            break;
        }
        cluster.renewals(1).await;
    }
    assert_eq!(controller.metric("netloom_controller_leading"), 1);
    assert_eq!(cluster.writes().await, before, "a restart repeats nothing");
    assert_eq!(controller.metric("netloom_controller_requests_total"), 0);
    for path in ["/healthz", "/readyz"] {
        assert_eq!(controller.get(path), ("HTTP/1.1 200 OK".to_owned(), "ok\n".to_owned()), "{path}");
    }
    assert!(controller.get("/elsewhere").0.contains("404"));
}

/// While the lease is renewed twice, nothing else is written.
async fn idle(cluster: &Cluster, controller: &Controller) {
    cluster.renewals(1).await;
    let before = (cluster.writes().await, controller.metric("netloom_controller_requests_total"));
    cluster.renewals(2).await;
    let after = (cluster.writes().await, controller.metric("netloom_controller_requests_total"));
    assert_eq!(before, after, "writes of an idle cluster");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_fails_on_the_first_node_is_taken_back_and_goes_nowhere_else() {
    let server = Server::start("controller-fails");
    let cluster = cluster(&server, 4).await;
    let agents = Agents::start(&cluster);
    let _controller = Controller::start(&server, "controller.log");
    cluster.policy(8000).await;
    cluster.everywhere(8000).await;
    agents.assigned();
    let generations = |configs: &[Value]| -> Vec<i64> {
        configs.iter().map(|config| config["metadata"]["generation"].as_i64().unwrap()).collect()
    };
    let before = generations(&cluster.list(FABRIC, "NodeNetworkConfig").await);
    cluster.policy(9999).await;
    let failed = cluster
        .until(FABRIC, "NetworkConfigRevision", "a revision fails", |revision| revision["status"]["isInvalid"] == true)
        .await;
    assert_eq!(failed["status"]["failedNode"], "n0");
    assert_eq!(failed["status"]["failedMessage"], "eth1: the driver takes at most 9000");
    cluster
        .until(FABRIC, "NodeNetworkConfig", "the node returns", |config| {
            let status = &config["status"];
            config["metadata"]["name"] == "n0"
                && config["spec"]["revision"] != failed["metadata"]["name"]
                && status["observedGeneration"] == config["metadata"]["generation"]
                && status["configStatus"] == "provisioned"
        })
        .await;
    assert_eq!(cluster.mtus().await, [Some(8000); 4]);
    let after = generations(&cluster.list(FABRIC, "NodeNetworkConfig").await);
    assert_eq!(after[1..], before[1..], "no other node was assigned anything");
    assert_eq!(after[0], before[0] + 2, "there and back");
    let events = cluster.list("events.k8s.io/v1", "Event").await;
    let assigned = events.iter().filter(|event| event["reason"] == "RolloutFailed" && event["type"] == "Warning");
    assert_eq!(assigned.count(), 1, "users are notified once: {events:#?}");
    let policy = &cluster.list("nmstate.io/v1", "NodeNetConfPolicy").await[0];
    assert_eq!(policy["status"]["matchedNodes"], 4);
}
