//! Everything that the controller would write, as objects in one order.

use std::collections::BTreeMap;

use netloom_api::condition::Truth;
use netloom_object::ObjectRef;
use serde_json::{Value, json};

use crate::{
    compiler::Compiled,
    objects::NodeState,
    report::{Report, UntimedCondition},
    settled,
    snapshot::{Readable as _, Snapshot},
};

impl Compiled {
    /// The revision after its new parts, then for each node its configuration and its network state, then what is
    /// reported about the other inputs and what is generated, in the order of their kinds. With `only`, of the nodes just that one.
    pub fn objects(&self, snapshot: &Snapshot, only: Option<&str>) -> Vec<Value> {
        let revision = &self.revision.name;
        let mut objects = self.revision.lay_out(snapshot).objects(revision);
        for node_target in self.nodes.iter().filter(|node_target| only.is_none_or(|node| node == node_target.node)) {
            let mut config = json!({
                "apiVersion": "network.t-caas.telekom.com/v1alpha1",
                "kind": "NodeNetworkConfig",
                "metadata": {"name": node_target.node},
                "spec": {"revision": revision},
            });
            if let Some(host) = node_target.host_config() {
                config["spec"]["host"] = json!(host);
            }
            if let Some(fabric) = node_target.fabric_config() {
                merge(&mut config["spec"], json!(fabric));
            }
            objects.push(config);
            let target = ObjectRef { kind: NodeState::KIND, key: node_target.object.clone() };
            // What cannot be read was written manually and is left alone.
            let held = !node_target.desired.held.is_empty();
            let state = if held { identity(&target) } else { node_target.object(snapshot, revision) };
            objects.push(assigned(state, self.reports.0.get(&target).map(AsRef::as_ref)));
        }
        let has_node = |object: &ObjectRef| self.nodes.iter().any(|node_target| *node_target.object == object.key);
        let mut generated: BTreeMap<&ObjectRef, Value> =
            settled::all(self).map(|one| (&one.target, one.object())).collect();
        for (object, report) in self.reports.iter() {
            let of_node = object.kind == NodeState::KIND;
            if !of_node || (only.is_none() && !has_node(object)) {
                let written = generated.remove(object).unwrap_or_else(|| identity(object));
                objects.push(assigned(written, Some(report)));
            }
        }
        objects.extend(generated.into_values());
        objects
    }
}

/// An object with what is to be reported about it.
fn assigned(mut object: Value, report: Option<&dyn Report>) -> Value {
    let written = report.map(|report| report.written(&report.verdicts())).unwrap_or_default();
    merge(&mut object, written);
    object
}

fn merge(object: &mut Value, written: Value) {
    match (object, written) {
        (Value::Object(object), Value::Object(written)) => {
            for (key, value) in written {
                merge(object.entry(key).or_insert(Value::Null), value);
            }
        }
        (_, Value::Null) => {}
        (object, written) => *object = written,
    }
}

fn identity(ObjectRef { kind, key }: &ObjectRef) -> Value {
    let mut object = json!({"kind": kind.kind, "metadata": {"name": key.name}});
    if !key.namespace.is_empty() {
        object["metadata"]["namespace"] = json!(key.namespace);
    }
    object
}

/// Conditions without the times of their changes, which only a clock can tell.
pub(crate) fn conditions(verdicts: &[UntimedCondition], generation: Option<i64>) -> Vec<Value> {
    let condition = |verdict: &UntimedCondition| {
        let mut value = spoken(verdict);
        if let Some(generation) = generation {
            value["observedGeneration"] = json!(generation);
        }
        value
    };
    verdicts.iter().map(condition).collect()
}

fn spoken(verdict: &UntimedCondition) -> Value {
    let UntimedCondition { kind, status, reason, message } = verdict;
    let truth = match status {
        Truth::True => "True",
        Truth::False => "False",
        Truth::Unknown => "Unknown",
    };
    json!({"type": kind, "status": truth, "reason": reason, "message": message})
}
