//! Who may do what on a real cluster, and on the embedded server.
//!
//! Roles can only speak of kinds; that an agent writes only objects of its own node is the node
//! restriction's part.

use std::collections::BTreeMap;

use netloom_admission::{CONTROLLER_GROUP, agent};
use netloom_api::{
    Install, Kind, NAMESPACE, Owner, kinds,
    registry::{on_request, usual},
};
use serde_json::{Value, json};

use super::{
    HEADER,
    webhook::{CONFIGURATION, CONFIGURATION_ON_REQUEST},
};

const READ: [&str; 3] = ["get", "list", "watch"];
const ALL: [&str; 8] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const DEFINITIONS: [&str; 1] = ["customresourcedefinitions"];
const WRITE: [&str; 5] = ["create", "delete", "deletecollection", "patch", "update"];

fn is_usual(kind: &Kind) -> bool {
    kind.install != Install::OnRequest
}

/// Accounts, roles and bindings as a manifest.
pub fn rbac() -> String {
    let objects = [
        namespace(),
        account("netloom-agent"),
        account("netloom-controller"),
        role("netloom-agent", None, &agent_rules()),
        binding("netloom-agent", agent::GROUP),
        role("netloom-controller", None, &controller_rules()),
        binding("netloom-controller", CONTROLLER_GROUP),
        role("netloom-viewer", Some(&["view", "edit", "admin"]), &rules(is_usual, &READ)),
        role("netloom-editor", Some(&["edit", "admin"]), &rules(|kind| is_usual(kind) && kind.editable, &WRITE)),
        local_role("netloom-agent", &[rule("coordination.k8s.io", ["leases"], &["create", "get", "patch", "update"])]),
        local_binding("netloom-agent", agent::GROUP),
        local_role("netloom-controller", &controller_rules_at_home()),
        local_binding("netloom-controller", CONTROLLER_GROUP),
    ];
    format!("{HEADER}{}", netloom_yaml::print_stream(&objects))
}

/// The same for the kinds that a cluster has on request, added to those roles.
pub fn rbac_on_request() -> String {
    let is = |kind: &Kind| kind.install == Install::OnRequest;
    let own = |kind: &Kind| is(kind) && kind.owner != Owner::Cluster;
    let mut agent = rules(|kind| own(kind) && kind.reported_only, &["get", "list", "patch", "update", "watch"]);
    agent
        .extend(rules(|kind| own(kind) && !kind.reported_only, &["create", "get", "list", "patch", "update", "watch"]));
    let mut controller = rules(is, &ALL);
    controller.extend(status_rules(is, &["get", "patch", "update"]));
    controller.push(definitions_of(on_request()));
    let hooks =
        rule("admissionregistration.k8s.io", ["validatingwebhookconfigurations"], &["get", "list", "update", "watch"]);
    controller.push(named(hooks, [CONFIGURATION_ON_REQUEST.to_owned()]));
    let objects = [
        role("netloom-vms-agent", None, &agent),
        binding_to("netloom-vms-agent", "netloom-agent", agent::GROUP),
        role("netloom-vms-controller", None, &controller),
        binding_to("netloom-vms-controller", "netloom-controller", CONTROLLER_GROUP),
        role("netloom-vms-viewer", Some(&["view", "edit", "admin"]), &rules(is, &READ)),
        role("netloom-vms-editor", Some(&["edit", "admin"]), &rules(|kind| is(kind) && kind.editable, &WRITE)),
    ];
    format!("{HEADER}{}", netloom_yaml::print_stream(&objects))
}

/// The pods here are in the network of their node, which only the widest level of pod security allows.
fn namespace() -> Value {
    let labels = json!({"pod-security.kubernetes.io/enforce": "privileged"});
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}})
}

fn account(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": NAMESPACE}})
}

fn role(name: &str, aggregate_to: Option<&[&str]>, rules: &[Value]) -> Value {
    let mut metadata = json!({"name": name});
    if let Some(roles) = aggregate_to {
        let label = |role: &&str| (format!("rbac.authorization.k8s.io/aggregate-to-{role}"), "true");
        metadata["labels"] = json!(roles.iter().map(label).collect::<BTreeMap<_, _>>());
    }
    json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": metadata, "rules": rules})
}

fn binding(name: &str, group: &str) -> Value {
    binding_to(name, name, group)
}

/// Gives a role to an account and a group.
fn binding_to(name: &str, account: &str, group: &str) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [
            {"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE},
            {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group},
        ],
    })
}

/// One rule for each group, over those of its kinds that `wanted` says.
fn rules(wanted: impl Fn(&Kind) -> bool, verbs: &[&str]) -> Vec<Value> {
    let names = |kind: &Kind| kind.plural.to_owned();
    by_group(wanted).iter().map(|(group, kinds)| rule(group, kinds.iter().map(|kind| names(kind)), verbs)).collect()
}

/// The same over the subresource of each kind.
fn status_rules(wanted: impl Fn(&Kind) -> bool, verbs: &[&str]) -> Vec<Value> {
    let names = |kind: &Kind| format!("{}/status", kind.plural);
    let wanted = |kind: &Kind| kind.has_status_subresource() && wanted(kind);
    by_group(wanted).iter().map(|(group, kinds)| rule(group, kinds.iter().map(|kind| names(kind)), verbs)).collect()
}

fn by_group(wanted: impl Fn(&Kind) -> bool) -> BTreeMap<&'static str, Vec<&'static Kind>> {
    let mut groups: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for kind in kinds().iter().filter(|kind| wanted(kind)) {
        groups.entry(kind.group).or_default().push(kind);
    }
    groups
}

fn rule(group: &str, resources: impl IntoIterator<Item = impl Into<String>>, verbs: &[&str]) -> Value {
    let mut resources: Vec<String> = resources.into_iter().map(Into::into).collect();
    resources.sort();
    json!({"apiGroups": [group], "resources": resources, "verbs": verbs})
}

/// An agent reads and writes the kinds that nodes own, reads the policies that it merges and the networks and pods of
/// its node, and takes taints off its Node, which the node restriction keeps it to. It deletes only what it alone has
/// made: what else goes is for others to decide.
fn agent_rules() -> Vec<Value> {
    let own = |kind: &Kind| is_usual(kind) && kind.owner != Owner::Cluster;
    let write = ["create", "get", "list", "patch", "update", "watch"];
    let mut rules = rules(own, &write);
    rules.extend(self::rules(|kind| own(kind) && kind.deleted_by_owner, &["delete"]));
    rules.extend(status_rules(|kind| own(kind) && kind.status_by_owner, &["get", "patch", "update"]));
    rules.extend(self::rules(|kind| is_usual(kind) && kind.read_by_agents, &READ));
    rules.push(rule("", ["pods"], &READ));
    rules.push(rule("", ["nodes"], &["get", "list", "patch", "watch"]));
    rules.push(rule("events.k8s.io", ["events"], &["create", "patch", "update"]));
    rules
}

/// The controller writes every kind of ours and reads what its rules look at. What could let it into everything else,
/// definitions and webhooks, it writes only under the names that are its own.
fn controller_rules() -> Vec<Value> {
    let mut rules = rules(is_usual, &ALL);
    rules.extend(status_rules(is_usual, &["get", "patch", "update"]));
    rules.push(rule("", ["nodes"], &["get", "list", "patch", "update", "watch"]));
    rules.push(rule("", ["namespaces", "services"], &READ));
    rules.push(rule("k8s.cni.cncf.io", ["network-attachment-definitions"], &["get", "list", "patch", "watch"]));
    rules.extend(self::rules(|kind| !is_usual(kind), &READ));
    rules.push(rule("events.k8s.io", ["events"], &["create", "patch", "update"]));
    // It follows every definition and applies those of its own kinds: of an apply the name is known, so it can be bound.
    rules.push(rule("apiextensions.k8s.io", DEFINITIONS, &READ));
    rules.push(definitions_of(usual().filter(|kind| kind.install != Install::Never)));
    // It reads and changes its own configurations. Whoever installs it creates them.
    let hooks = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"];
    let hooks = rule("admissionregistration.k8s.io", hooks, &["get", "list", "update", "watch"]);
    rules.push(named(hooks, [CONFIGURATION.to_owned()]));
    rules
}

/// It may make the definitions of these kinds.
fn definitions_of(kinds: impl Iterator<Item = &'static Kind>) -> Value {
    let names = kinds.map(|kind| format!("{}.{}", kind.plural, kind.group));
    named(rule("apiextensions.k8s.io", DEFINITIONS, &["create", "patch"]), names)
}

/// The same for objects of these names alone.
fn named(mut rule: Value, names: impl IntoIterator<Item = String>) -> Value {
    let mut names: Vec<String> = names.into_iter().collect();
    names.sort();
    rule["resourceNames"] = json!(names);
    rule
}

/// What the controller keeps in its own namespace: its lock, its configuration, its certificate. Agents keep their signs
/// of life there.
fn controller_rules_at_home() -> [Value; 2] {
    let write = ["create", "delete", "get", "list", "patch", "update", "watch"];
    [rule("coordination.k8s.io", ["leases"], &write), rule("", ["configmaps", "secrets"], &write)]
}

fn local_role(name: &str, rules: &[Value]) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "rules": rules,
    })
}

fn local_binding(name: &str, group: &str) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        "subjects": [
            {"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE},
            {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group},
        ],
    })
}
