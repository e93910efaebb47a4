//! Everything that the controller would write, as objects in one order.

use netloom_api::condition::Truth;
use serde_json::{Value, json};

use crate::{
    compiler::Compiled,
    key::ObjectKey,
    report::{PolicyReport, Verdict},
    snapshot::Snapshot,
};

impl Compiled {
    /// The revision, then for each node its configuration and its network state, then what is told
    /// to the other inputs. With `only`, of the nodes just that one.
    pub fn objects(&self, snapshot: &Snapshot, only: Option<&str>) -> Vec<Value> {
        let revision = &self.revision.name;
        let mut objects = vec![self.revision.object()];
        for wish in self.wishes.iter().filter(|wish| only.is_none_or(|node| node == wish.node)) {
            objects.push(json!({
                "apiVersion": "network.t-caas.telekom.com/v1alpha1",
                "kind": "NodeNetworkConfig",
                "metadata": {"name": wish.node},
                "spec": {"revision": revision},
            }));
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
    let truth = |truth: Truth| match truth {
        Truth::True => "True",
        Truth::False => "False",
        Truth::Unknown => "Unknown",
    };
    let condition = |verdict: &Verdict| {
        let Verdict { kind, status, reason, message } = verdict;
        let mut value = json!({"type": kind, "status": truth(*status), "reason": reason, "message": message});
        if let Some(generation) = generation {
            value["observedGeneration"] = json!(generation);
        }
        value
    };
    verdicts.iter().map(condition).collect()
}
