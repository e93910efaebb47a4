//! `Node`: its status may be given at creation, and is written apart from then on. The first of its ranges for
//! pods stands in two fields, which always agree.

use std::collections::BTreeSet;

use jiff::Timestamp;
use netloom_schema::{FieldError, formats};
use serde_json::{Value, json};

use super::{
    addresses::bad_range,
    columns::{made, name},
    json::{at, entries, items, object, set_default, text, text_or, truth},
};

const ROLE_PREFIX: &str = "node-role.kubernetes.io/";
const ROLE_LABEL: &str = "kubernetes.io/role";

/// What the description of a node's system always has, if only as empty texts.
const SYSTEM: [&str; 10] = [
    "machineID",
    "systemUUID",
    "bootID",
    "kernelVersion",
    "osImage",
    "containerRuntimeVersion",
    "kubeletVersion",
    "kubeProxyVersion",
    "operatingSystem",
    "architecture",
];

pub(super) fn default(node: &mut Value) {
    let first = text(node, &["spec", "podCIDR"]).to_owned();
    let listed = items(node, &["spec", "podCIDRs"]).first().cloned();
    if let Some(spec) = object(node, "spec") {
        match listed {
            Some(listed) if first.is_empty() => set_default(spec, "podCIDR", listed),
            Some(listed) if listed == *first => {}
            // Where they differ, the older field counts: whoever writes only that one knows no other.
            Some(_) => drop(spec.insert("podCIDRs".to_owned(), json!([first]))),
            None if !first.is_empty() => set_default(spec, "podCIDRs", json!([first])),
            None => {}
        }
    }
    let capacity = at(node, &["status", "capacity"]).cloned();
    let Some(status) = object(node, "status") else { return };
    if let Some(capacity) = capacity {
        set_default(status, "allocatable", capacity);
    }
    set_default(status, "daemonEndpoints", json!({ "kubeletEndpoint": { "Port": 0 } }));
    set_default(status, "nodeInfo", json!({}));
    if let Some(system) = status.get_mut("nodeInfo").and_then(Value::as_object_mut) {
        for field in SYSTEM {
            set_default(system, field, "");
        }
    }
}

pub(super) fn prepare(node: &mut Value, old: Option<&Value>) {
    if let Some(status) = old.and_then(|old| old.get("status")) {
        node["status"] = status.clone();
    }
}

pub(super) fn validate(node: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let taints = bad_taints(node);
    let mut errors = [taints.clone(), bad_ranges(node)].concat();
    // A changed node is judged as a node and as a change; both look at its taints.
    if let Some(old) = old {
        errors.extend(changed_ranges(node, old));
        errors.extend(taints);
    }
    errors
}

fn bad_ranges(node: &Value) -> Vec<FieldError> {
    let path = "spec.podCIDRs";
    let all = items(node, &["spec", "podCIDRs"]);
    let ranges: Vec<&str> = all.iter().map(|range| range.as_str().unwrap_or_default()).collect();
    let bad = |(index, range): (usize, &&str)| bad_range(&format!("{path}[{index}]"), range);
    let mut errors: Vec<FieldError> = ranges.iter().enumerate().filter_map(bad).collect();
    if ranges.len() < 2 {
        return errors;
    }
    let read: Option<Vec<_>> = ranges.iter().map(|range| formats::range(range)).collect();
    if let Some((index, bad)) = ranges.iter().enumerate().find(|(_, range)| formats::range(range).is_none()) {
        let why = "invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR";
        errors.push(FieldError::internal(path, format!("{why}[{index}]: <nil> (invalid CIDR address: {bad})")));
    }
    let has = |v4: bool| read.iter().flatten().any(|(address, _)| address.is_ipv4() == v4);
    if ranges.len() > 2 || !has(true) || !has(false) {
        let why = "may specify no more than one CIDR for each IP family";
        errors.push(FieldError::invalid(path, &json!(ranges), why));
    }
    errors
}

/// Ranges are given once.
fn changed_ranges(node: &Value, old: &Value) -> Vec<FieldError> {
    let (now, before) = (items(node, &["spec", "podCIDRs"]), items(old, &["spec", "podCIDRs"]));
    let changes = match (before.len(), now.len()) {
        (0, _) => 0,
        (many, same) if many == same => now.iter().zip(before).filter(|(now, before)| now != before).count(),
        _ => 1,
    };
    let why = "node updates may not change podCIDR except from \"\" to valid";
    vec![FieldError::forbidden("spec.podCIDRs", why); changes]
}

fn bad_taints(node: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, taint) in items(node, &["spec", "taints"]).iter().enumerate() {
        // A real server looks for them there, too.
        let path = format!("metadata.taints[{index}]");
        let (key, effect) = (text(taint, &["key"]), text(taint, &["effect"]));
        for why in netloom_schema::names::qualified(key) {
            errors.push(FieldError::invalid(format!("{path}.key"), &json!(key), why));
        }
        let effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
        if effect.is_empty() {
            errors.push(FieldError::required(format!("{path}.effect"), ""));
        } else if !effects.contains(&effect) {
            errors.push(FieldError::not_supported(format!("{path}.effect"), &json!(effect), &effects));
        }
        if !seen.insert((key, effect)) {
            errors.push(FieldError::duplicate(path, taint));
        }
    }
    errors
}

pub(super) fn cells(node: &Value, now: Timestamp) -> Vec<Value> {
    let system = |field: &str| text(node, &["status", "nodeInfo", field]);
    let known = |field: &str| text_or(node, &["status", "nodeInfo", field], "<unknown>");
    let mut kernel = known("kernelVersion");
    if !system("architecture").is_empty() {
        kernel = format!("{kernel} ({})", system("architecture"));
    }
    vec![
        name(node),
        status(node).into(),
        roles(node).into(),
        made(node, now),
        system("kubeletVersion").into(),
        address(node, "InternalIP").into(),
        address(node, "ExternalIP").into(),
        known("osImage").into(),
        kernel.into(),
        known("containerRuntimeVersion").into(),
    ]
}

fn status(node: &Value) -> String {
    let ready = items(node, &["status", "conditions"]).iter().find(|condition| condition["type"] == "Ready");
    let word = match ready.map(|condition| condition["status"] == "True") {
        Some(true) => "Ready",
        Some(false) => "NotReady",
        None => "Unknown",
    };
    let closed = if truth(node, &["spec", "unschedulable"]) { ",SchedulingDisabled" } else { "" };
    format!("{word}{closed}")
}

fn roles(node: &Value) -> String {
    let roles: BTreeSet<&str> = entries(node, &["metadata", "labels"])
        .filter_map(|(key, value)| if key == ROLE_LABEL { Some(value) } else { key.strip_prefix(ROLE_PREFIX) })
        .filter(|role| !role.is_empty())
        .collect();
    if roles.is_empty() { "<none>".to_owned() } else { roles.into_iter().collect::<Vec<_>>().join(",") }
}

fn address(node: &Value, kind: &str) -> String {
    let found = items(node, &["status", "addresses"]).iter().find(|address| address["type"] == kind);
    found.map_or_else(|| "<none>".to_owned(), |address| text(address, &["address"]).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_tells_readiness_and_roles() {
        let node = json!({
            "metadata": {"name": "n", "labels": {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "edge"}},
            "spec": {"unschedulable": true},
            "status": {
                "conditions": [{"type": "Ready", "status": "False"}],
                "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
                "nodeInfo": {"kernelVersion": "6.1", "architecture": "amd64"},
            },
        });
        let cells = cells(&node, Timestamp::UNIX_EPOCH);
        assert_eq!(cells[1], "NotReady,SchedulingDisabled");
        assert_eq!(cells[2], "edge,worker");
        assert_eq!(cells[5], "10.0.0.1");
        assert_eq!(cells[6], "<none>");
        assert_eq!(cells[8], "6.1 (amd64)");
    }

    #[test]
    fn status_is_kept_on_creation_and_not_taken_later() {
        let mut node = json!({"status": {"capacity": {"cpu": "2"}}});
        default(&mut node);
        assert_eq!(node["status"]["allocatable"], json!({"cpu": "2"}));
        assert_eq!(node["status"]["nodeInfo"]["bootID"], "");
        prepare(&mut node, None);
        assert_eq!(node["status"]["capacity"], json!({"cpu": "2"}));
        let mut new = json!({"status": {}});
        prepare(&mut new, Some(&node));
        assert_eq!(new["status"], node["status"]);
    }

    #[test]
    fn ranges_are_ranges_and_are_given_once() {
        let node = |ranges: &[&str]| json!({"spec": {"podCIDRs": ranges}});
        for good in [&[][..], &["10.0.0.0/24"], &["10.0.0.0/24", "2001:db8::/64"]] {
            assert!(validate(&node(good), None).is_empty());
        }
        let paths = |ranges: &[&str]| -> Vec<String> {
            validate(&node(ranges), None).into_iter().map(|error| error.path).collect()
        };
        assert_eq!(paths(&["10.0.0.0"]), ["spec.podCIDRs[0]"]);
        assert_eq!(paths(&["10.0.0.0/24", "10.0.1.0/24"]), ["spec.podCIDRs"]);
        let changed = validate(&node(&["10.0.1.0/24"]), Some(&node(&["10.0.0.0/24"])));
        assert_eq!(changed.len(), 1, "{changed:?}");
        assert!(validate(&node(&["10.0.1.0/24"]), Some(&node(&[]))).is_empty());
    }

    #[test]
    fn the_first_range_stands_in_both_fields() {
        for spec in [json!({"podCIDR": "10.0.0.0/24"}), json!({"podCIDRs": ["10.0.0.0/24"]})] {
            let mut node = json!({"spec": spec});
            default(&mut node);
            assert_eq!(node["spec"], json!({"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"]}));
        }
        let mut node = json!({"spec": {"podCIDR": "10.0.1.0/24", "podCIDRs": ["10.0.0.0/24", "2001:db8::/64"]}});
        default(&mut node);
        assert_eq!(node["spec"]["podCIDRs"], json!(["10.0.1.0/24"]));
    }

    #[test]
    fn taints_are_whole_and_single() {
        let taint = json!({"key": "a", "effect": "NoSchedule"});
        assert!(validate(&json!({"spec": {"taints": [taint]}}), None).is_empty());
        let errors = validate(&json!({"spec": {"taints": [taint, taint, {"key": "b", "effect": "x"}]}}), None);
        assert_eq!(errors.len(), 2, "{errors:?}");
        assert_eq!(errors[0].path, "metadata.taints[1]");
        let bad = json!({"spec": {"taints": [{"key": "b", "effect": "x"}]}});
        assert_eq!(validate(&bad, Some(&bad)).len(), 2);
    }
}
