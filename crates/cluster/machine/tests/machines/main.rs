//! Virtual machines from their objects to their domains and back, without a cluster and without libvirt.
#![allow(
    clippy::unwrap_used,
    clippy::unused_self,
    clippy::similar_names,
    clippy::needless_pass_by_value,
    clippy::cloned_ref_to_slice_refs,
    reason = "a test says what it expects by failing, and builds its objects by value"
)]

mod again;
mod anything;
mod concurrent;
mod control;
mod fake;
mod golden;
mod lane;
mod preview;
mod refreshed;
mod rules;
mod settled;
mod stops;
mod sync;
mod two;
mod upstream;
mod words;
mod world;

use serde_json::{Value, json};

/// A machine with these NICs: name, binding, state.
pub(crate) fn machine(nics: &[(&str, &str, &str)]) -> Value {
    json!({
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
        "metadata": {"namespace": "default", "name": "a", "uid": "m-1", "resourceVersion": "1"},
        "spec": {"runStrategy": "Always", "template": {"spec": spec(nics)}},
    })
}

/// An instance of that machine, as the controller has placed it.
pub(crate) fn instance(nics: &[(&str, &str, &str)], status: Value) -> Value {
    let labels = match status["nodeName"].as_str() {
        Some(node) => json!({"kubevirt.io/nodeName": node}),
        None => json!({}),
    };
    json!({
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
        "metadata": {
            "namespace": "default", "name": "a", "uid": "i-1", "resourceVersion": "1", "labels": labels,
            "finalizers": ["netloom.dev/domain"],
            "ownerReferences": [{"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": "a", "uid": "m-1"}],
        },
        "spec": spec(nics), "status": status,
    })
}

pub(crate) fn spec(nics: &[(&str, &str, &str)]) -> Value {
    let nic = |(name, binding, state): &(&str, &str, &str)| {
        let mut nic = json!({"name": name});
        match binding.strip_prefix("plugin:") {
            Some(plugin) => nic["binding"] = json!({"name": plugin}),
            None if binding.is_empty() => {}
            None => nic[binding] = json!({}),
        }
        if !state.is_empty() {
            nic["state"] = json!(state);
        }
        nic
    };
    let network = |(name, _, _): &(&str, &str, &str)| match *name {
        "default" => json!({"name": name, "pod": {}}),
        name => json!({"name": name, "multus": {"networkName": name}}),
    };
    json!({
        "domain": {"devices": {"interfaces": nics.iter().map(nic).collect::<Vec<_>>()}},
        "networks": nics.iter().map(network).collect::<Vec<_>>(),
    })
}
