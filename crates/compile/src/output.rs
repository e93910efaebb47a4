//! Everything that the controller would write, as objects in one order.

use netloom_api::{
    condition::Truth,
    hostnet::{GROUP, names},
};
use serde_json::{Value, json};

use crate::{
    compiler::Compiled,
    hostnet::{Asking, NetworkReport},
    key::ObjectKey,
    report::{PolicyReport, Verdict},
    snapshot::Snapshot,
};

impl Compiled {
    /// The revision after its new parts, then for each node its configuration and its network state, then what is told
    /// to the other inputs. With `only`, of the nodes just that one.
    pub fn objects(&self, snapshot: &Snapshot, only: Option<&str>) -> Vec<Value> {
        let revision = &self.revision.name;
        let mut objects = self.revision.lay_out(snapshot).objects(revision);
        for wish in self.wishes.iter().filter(|wish| only.is_none_or(|node| node == wish.node)) {
            let mut config = json!({
                "apiVersion": "network.t-caas.telekom.com/v1alpha1",
                "kind": "NodeNetworkConfig",
                "metadata": {"name": wish.node},
                "spec": {"revision": revision},
            });
            if let Some(host) = wish.host_config() {
                config["spec"]["host"] = json!(host);
            }
            objects.push(config);
            // What cannot be read was written by hand and is left alone.
            let held = !wish.desired.held.is_empty();
            let state = if held { identity("NodeNetworkState", wish.object) } else { wish.object(snapshot, revision) };
            objects.push(self.state(snapshot, wish.object, state));
        }
        let seated = |key: &ObjectKey| self.wishes.iter().any(|wish| wish.object == key);
        for key in self.states.keys().filter(|key| only.is_none() && !seated(key)) {
            objects.push(self.state(snapshot, key, identity("NodeNetworkState", key)));
        }
        for (key, report) in &self.policies {
            let mut object = identity("NodeNetConfPolicy", key);
            object["status"] = policy_status(report);
            objects.push(object);
        }
        objects.extend(self.networks.iter().map(|((asking, name), report)| network(*asking, name, report)));
        objects
    }

    fn state(&self, snapshot: &Snapshot, key: &ObjectKey, mut object: Value) -> Value {
        let verdicts = self.states.get(key).map(crate::StateReport::verdicts).unwrap_or_default();
        if !verdicts.is_empty() {
            let generation = snapshot.states.get(key).and_then(|state| state.meta.generation);
            object["status"] = json!({"conditions": conditions(&verdicts, generation)});
        }
        object
    }
}

fn identity(kind: &str, key: &ObjectKey) -> Value {
    json!({
        "apiVersion": "nmstate.io/v1",
        "kind": kind,
        "metadata": {"namespace": key.namespace, "name": key.name},
    })
}

/// The nodes that an object is for, and what does not work: as a whole, or on some of them.
fn network(asking: Asking, name: &str, report: &NetworkReport) -> Value {
    let mut object = json!({
        "apiVersion": format!("{GROUP}/v1beta1"),
        "kind": asking.kind(),
        "metadata": {"name": name, "annotations": {names::MATCHED_NODES: json!(*report.matched).to_string()}},
    });
    let verdicts: Vec<Value> = report.verdicts().iter().map(spoken).collect();
    if !verdicts.is_empty() {
        object["status"] = json!({"conditions": verdicts});
    }
    object
}

fn policy_status(report: &PolicyReport) -> Value {
    let mut status = json!({
        "conditions": conditions(&report.verdicts(), report.generation),
        "matchedNodes": report.matched_nodes,
    });
    if let Some(generation) = report.generation {
        status["observedGeneration"] = json!(generation);
    }
    status
}

/// Conditions without the times of their changes, which only a clock can tell.
fn conditions(verdicts: &[Verdict], generation: Option<i64>) -> Vec<Value> {
    let condition = |verdict: &Verdict| {
        let mut value = spoken(verdict);
        if let Some(generation) = generation {
            value["observedGeneration"] = json!(generation);
        }
        value
    };
    verdicts.iter().map(condition).collect()
}

fn spoken(verdict: &Verdict) -> Value {
    let Verdict { kind, status, reason, message } = verdict;
    let truth = match status {
        Truth::True => "True",
        Truth::False => "False",
        Truth::Unknown => "Unknown",
    };
    json!({"type": kind, "status": truth, "reason": reason, "message": message})
}
