//! `netloom controller` on a cluster that is not Netloom's own: it installs its definitions, leads, and brings a
//! change to the nodes in steps, with the same agents as the tests of the command have.

use netloom_testkit::runner::{Ended, Outcome};
use serde_json::json;

use crate::{
    Stage,
    manifests::{kubectl, root},
    servers::{Server, Side},
    webhook::Controller,
};

#[path = "../../../../bin/netloom/tests/controller/agents.rs"]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]
#[expect(dead_code, reason = "the tests of the command use the rest")]
mod agents;
#[path = "../../../../bin/netloom/tests/controller/cluster.rs"]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]
#[expect(dead_code, reason = "the tests of the command use the rest")]
mod cluster;

use self::{
    agents::Agents,
    cluster::{Cluster, FABRIC},
};

const NODES: usize = 5;

/// A change reaches every node, a bad one is taken back from the only one that got it.
pub(crate) fn rollout(stage: &Stage) -> Outcome {
    let folder = stage.folder.join("control");
    for side in Side::ALL {
        let folder = folder.join(side.name());
        let server = Server::start(side, &stage.programs, &folder)?;
        let rights = root().join("deploy/rbac.yaml");
        let words = ["apply", "--server-side", "--force-conflicts", "-f", &rights.to_string_lossy()];
        kubectl(stage, &server, &words)?;
        let controller = Controller::start(stage, &server, &[], &folder)?;
        let kubeconfig = server.kubeconfig.clone();
        // On its own, so that a panic is a failure of this test alone.
        let story = stage.runtime.spawn(async move { story(Cluster::of(&kubeconfig).await).await });
        stage.runtime.block_on(story).map_err(|why| format!("with the {} server: {why}", side.name()))?;
        drop(controller);
    }
    Ok(Ended::OK)
}

async fn story(cluster: Cluster) {
    let cluster = cluster.with_nodes(NODES).await;
    let _agents = Agents::start(&cluster);
    cluster.policy(8000).await;
    cluster.everywhere(8000).await;
    assert_eq!(cluster.mtus().await, [Some(8000); NODES]);
    cluster.policy(9999).await;
    let failed = cluster
        .until(FABRIC, "NetworkConfigRevision", "a revision fails", |revision| revision["status"]["isInvalid"] == true)
        .await;
    assert_eq!(failed["status"]["failedNode"], "n0");
    cluster
        .until("netloom.dev/v1alpha1", "RolloutPolicy", "every node has returned", |policy| {
            let nodes = &policy["status"]["nodes"];
            policy["status"]["targetRevision"] != failed["metadata"]["name"] && nodes["ready"] == json!(NODES)
        })
        .await;
    assert_eq!(cluster.mtus().await, [Some(8000); NODES]);
    let events = cluster.list("events.k8s.io/v1", "Event").await;
    assert!(events.iter().any(|event| event["reason"] == "RolloutFailed"), "{events:#?}");
    let configs = cluster.list(FABRIC, "NodeNetworkConfig").await;
    let generations: Vec<_> = configs.iter().map(|config| config["metadata"]["generation"].as_i64()).collect();
    assert_eq!(generations, [Some(3), Some(1), Some(1), Some(1), Some(1)], "one node, there and back");
}
