//! Agents as far as the controller sees them: they read what they are assigned and answer on it, or not.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use futures_util::{StreamExt as _, TryStreamExt as _, stream::select};
use kube::runtime::{WatchStreamExt as _, watcher};
use serde_json::{Value, json};
use tokio::{sync::watch, task::JoinHandle};

use super::cluster::{Cluster, FABRIC, mtu};

/// What the drivers of all nodes take.
pub(crate) const LARGEST: u64 = 9000;

/// The agents of all nodes.
pub(crate) struct Agents {
    /// The nodes in the order in which they were assigned something, with how many had answered by then.
    assigned: Arc<Mutex<Vec<(String, usize)>>>,
    answering: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Agents {
    /// Agents that answer what they are assigned.
    pub(crate) fn start(cluster: &Cluster) -> Self {
        let assigned = Arc::default();
        let (answering, may_answer) = watch::channel(true);
        let task = tokio::spawn(serve(cluster.clone(), Arc::clone(&assigned), may_answer));
        Self { assigned, answering, task }
    }

    /// Whether they answer from now on.
    pub(crate) fn answer(&self, answer: bool) {
        self.answering.send_replace(answer);
    }

    /// What was assigned since the last call.
    pub(crate) fn assigned(&self) -> Vec<(String, usize)> {
        std::mem::take(&mut self.assigned.lock().unwrap())
    }
}

impl Drop for Agents {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(cluster: Cluster, assigned: Arc<Mutex<Vec<(String, usize)>>>, mut answering: watch::Receiver<bool>) {
    let follow = |version: &str, kind: &str| {
        let events = watcher::watcher(cluster.api(version, kind), watcher::Config::default());
        events.default_backoff().applied_objects().map_ok(|object| serde_json::to_value(object).unwrap()).boxed()
    };
    let mut events = select(follow(FABRIC, "NodeNetworkConfig"), follow("nmstate.io/v1", "NodeNetworkState"));
    let (mut configs, mut states) = (BTreeMap::<String, Value>::new(), BTreeMap::<String, Value>::new());
    let mut answered = BTreeMap::<String, i64>::new();
    loop {
        tokio::select! {
            Some(Ok(object)) = events.next() => {
                let name = object["metadata"]["name"].as_str().unwrap().to_owned();
                let kind = if object["spec"].get("nodeName").is_some() { &mut states } else { &mut configs };
                kind.insert(name, object);
            }
            Ok(()) = answering.changed() => {}
        }
        for (node, config) in &configs {
            let Some(state) = states.get(node) else { continue };
            let generation = config["metadata"]["generation"].as_i64().unwrap();
            let reported = config.pointer("/status/observedGeneration").and_then(Value::as_i64);
            if !is_paired(config, state) || reported == Some(generation) || answered.get(node) == Some(&generation) {
                continue;
            }
            let mut all = assigned.lock().unwrap().clone();
            if all.last().is_none_or(|last| last.0 != *node) && !all.iter().any(|one| one.0 == *node) {
                all.push((node.clone(), answered.len()));
                *assigned.lock().unwrap() = all;
            }
            if *answering.borrow() {
                cluster.status(FABRIC, "NodeNetworkConfig", node, report(config, state)).await;
                answered.insert(node.clone(), generation);
            }
        }
    }
}

/// Both objects of a node belong to the same desired state.
fn is_paired(config: &Value, state: &Value) -> bool {
    let digest = state["metadata"]["annotations"]["netloom.dev/digest"].as_str();
    digest.is_some() && digest == config["spec"]["stateDigest"].as_str()
}

fn report(config: &Value, state: &Value) -> Value {
    let bad = mtu(state).is_some_and(|mtu| mtu > LARGEST);
    json!({
        "configStatus": if bad { "invalid" } else { "provisioned" },
        "errorMessage": if bad { "eth1: the driver takes at most 9000" } else { "" },
        "lastAppliedRevision": config["spec"]["revision"],
        "observedGeneration": config["metadata"]["generation"],
    })
}
