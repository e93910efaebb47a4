//! The rule of [`netloom_admission::agent`] in the language of a real server, so that it holds there
//! even while our webhook is down.

use std::collections::BTreeSet;

use netloom_admission::{
    agent,
    taints::{TaintKey, may_take_off},
};
use netloom_api::{
    Kind, NodeField, Owner,
    foreign::CONTROLLER_LOCK,
    registry::{on_request, usual},
};
use serde_json::{Value, json};

use super::HEADER;

const NAME: &str = "netloom-node-restriction";
const EVENTS: &str = "netloom-agent-events";
const NODES: &str = "netloom-agent-nodes";
const LEASES: &str = "netloom-agent-leases";

/// The policies and their bindings as a manifest; agents may take taints of these keys off their Nodes.
pub fn node_restriction(taints: &[TaintKey]) -> String {
    let groups: BTreeSet<&str> = usual().map(|kind| kind.group).collect();
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": NAME},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [{
                "apiGroups": groups,
                "apiVersions": ["*"],
                "operations": ["CREATE", "UPDATE", "DELETE"],
                "resources": ["*/*"],
            }]},
            "matchConditions": [{"name": "agents", "expression": is_agent()}],
            "variables": variables(),
            "validations": validations(),
        },
    });
    let own = [(EVENTS, events_policy()), (NODES, nodes_policy(taints)), (LEASES, leases_policy())];
    let own = own.into_iter().flat_map(|(name, policy)| [policy, binding_of(name)]);
    let objects: Vec<Value> = [policy, binding_of(NAME)].into_iter().chain(own).collect();
    format!("{HEADER}{}", netloom_yaml::print_stream(&objects))
}

/// The same for kinds that a cluster has on request: of an object of its node an agent writes the status.
pub fn node_restriction_on_request() -> String {
    let name = "netloom-vms-node-restriction";
    let own = on_request().filter_map(|kind| Some((kind, node_field(kind)?)));
    let rules: Vec<Value> = own
        .map(|(kind, field)| {
            let (object, old) = (is_node(field.path, "object"), is_node(field.path, "oldObject"));
            let same = REPORTER_KEEPS.map(|(path, empty)| {
                let of = |object: &str| format!("(has({object}.{path}) ? {object}.{path} : {empty})");
                format!("{} == {}", of("object"), of("oldObject"))
            });
            json!({
                "expression": format!(
                    "request.resource.resource != '{}' || (request.operation == 'UPDATE' && {object} && {old} && \
                     object.spec == oldObject.spec && {})",
                    kind.plural,
                    same.join(" && "),
                ),
                "messageExpression": format!(
                    "'the agent of node ' + variables.node + ' may write only the status of a {} whose {} is that node'",
                    kind.kind, field.path
                ),
                "reason": "Forbidden",
            })
        })
        .collect();
    let owned: Vec<String> =
        on_request().filter(|kind| node_field(kind).is_some()).map(|kind| format!("'{}'", kind.plural)).collect();
    let mut validations = vec![
        of_some_node(),
        json!({
            "expression": format!("request.resource.resource in [{}]", owned.join(", ")),
            "messageExpression": "'the agent of node ' + variables.node + ' may not write ' + request.resource.resource",
            "reason": "Forbidden",
        }),
    ];
    validations.extend(rules);
    let groups: BTreeSet<&str> = on_request().map(|kind| kind.group).collect();
    let about = json!({"apiGroups": groups, "resources": ["*/*"]});
    let objects = [policy_for_own_agents(name, &about, &validations.into()), binding_of(name)];
    format!("{HEADER}{}", netloom_yaml::print_stream(&objects))
}

/// What of an object's metadata its reporter leaves as it is, and what is as good as nothing.
const REPORTER_KEEPS: [(&str, &str); 4] = [
    ("metadata.labels", "{}"),
    ("metadata.annotations", "{}"),
    ("metadata.finalizers", "[]"),
    ("metadata.ownerReferences", "[]"),
];

/// An agent gives signs of life of itself only, and not under the name of the controllers' lock.
fn leases_policy() -> Value {
    let own = |lease: &str| format!("({lease} == null || {lease}.metadata.name == variables.node)");
    let validations = json!([
        of_some_node(),
        {
            "expression": format!("{} && {}", own("object"), own("oldObject")),
            "messageExpression": "'the agent of node ' + variables.node + ' may write only the Lease of that name'",
            "reason": "Forbidden",
        },
        {
            "expression": format!("variables.node != '{CONTROLLER_LOCK}'"),
            "message": "the Lease of this name is the lock of the controllers; give the node another name",
            "reason": "Forbidden",
        },
    ]);
    policy_for_own_agents(LEASES, &json!({"apiGroups": ["coordination.k8s.io"], "resources": ["leases"]}), &validations)
}

/// Of its Node an agent takes taints of some keys off, and nothing else; kubelets have rules of their own. The keys
/// are part of the policy: were they a parameter, nobody could write Nodes while that is missing.
fn nodes_policy(removable: &[TaintKey]) -> Value {
    let of = |object: &str, path: &str, empty: &str| format!("(has({object}.{path}) ? {object}.{path} : {empty})");
    let same =
        |(path, empty): &(&str, &str)| format!("{} == {}", of("object", path, empty), of("oldObject", path, empty));
    let rest = [
        ("metadata.labels", "{}"),
        ("metadata.annotations", "{}"),
        ("metadata.finalizers", "[]"),
        ("spec.podCIDR", "''"),
        ("spec.podCIDRs", "[]"),
        ("spec.providerID", "''"),
        ("spec.unschedulable", "false"),
    ];
    let taints_go =
        format!("{}.all(taint, taint in {})", of("object", "spec.taints", "[]"), of("oldObject", "spec.taints", "[]"));
    let keys: Vec<String> = removable.iter().map(|key| format!("'{key}'")).collect();
    let others_stay = format!(
        "{}.all(taint, taint in {} || taint.key in [{}])",
        of("oldObject", "spec.taints", "[]"),
        of("object", "spec.taints", "[]"),
        keys.join(", "),
    );
    let rest: Vec<String> = rest.iter().map(same).collect();
    let validations = json!([
        of_some_node(),
        {
            "expression": "request.operation == 'UPDATE' && (!has(request.subResource) || request.subResource == '') && request.name == variables.node",
            "messageExpression": "'the agent of node ' + variables.node + ' may write only the Node of that name'",
            "reason": "Forbidden",
        },
        {
            "expression": format!("request.operation != 'UPDATE' || ({taints_go} && {})", rest.join(" && ")),
            "messageExpression": "'the agent of node ' + variables.node + ' may only take taints off its Node, and change nothing else'",
            "reason": "Forbidden",
        },
        {
            "expression": format!("request.operation != 'UPDATE' || {others_stay}"),
            "messageExpression": format!(
                "'the agent of node ' + variables.node + ' may not take every taint off its Node, {}'",
                may_take_off(removable)
            ),
            "reason": "Forbidden",
        },
    ]);
    policy_for_own_agents(NODES, &json!({"apiGroups": [""], "resources": ["nodes", "nodes/*"]}), &validations)
}

/// What agents tell is theirs alone; nodes' own users tell of pods too and are left alone.
fn events_policy() -> Value {
    let own = |event: &str| {
        format!("({event} == null || (has({event}.reportingInstance) && {event}.reportingInstance == variables.node))")
    };
    let validations = json!([
        of_some_node(),
        {
            "expression": format!("{} && {}", own("object"), own("oldObject")),
            "messageExpression": "'the agent of node ' + variables.node + ' may write only Events whose reportingInstance is that node'",
            "reason": "Forbidden",
        },
    ]);
    policy_for_own_agents(EVENTS, &json!({"apiGroups": ["", "events.k8s.io"], "resources": ["events"]}), &validations)
}

/// A policy for every write of our agents to some resources.
fn policy_for_own_agents(name: &str, about: &Value, validations: &Value) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [{
                "apiGroups": about["apiGroups"],
                "apiVersions": ["*"],
                "operations": ["CREATE", "UPDATE", "DELETE"],
                "resources": about["resources"],
            }]},
            "matchConditions": [{"name": "agents", "expression": is_own_agent()}],
            "variables": [{"name": "node", "expression": node()}],
            "validations": validations,
        },
    })
}

/// Who is the agent of no node writes nothing.
fn of_some_node() -> Value {
    json!({
        "expression": "variables.node != ''",
        "message": "an agent of no node may write nothing",
        "reason": "Forbidden",
    })
}

fn binding_of(policy: &str) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": policy},
        "spec": {"policyName": policy, "validationActions": ["Deny"]},
    })
}

fn is_agent() -> String {
    format!("request.userInfo.username.startsWith('{}') || {}", agent::NODE_USER_PREFIX, is_own_agent())
}

fn is_own_agent() -> String {
    format!(
        "request.userInfo.username.startsWith('{}') || \
         request.userInfo.username == '{}' || (has(request.userInfo.groups) && '{}' in request.userInfo.groups)",
        agent::USER_PREFIX,
        agent::SERVICE_ACCOUNT,
        agent::GROUP,
    )
}

/// The node that an agent is of; empty where nothing says so.
fn node() -> String {
    let after = |prefix: &str| format!("request.userInfo.username.substring({})", prefix.len());
    let claim = agent::NODE_CLAIM;
    format!(
        "request.userInfo.username.startsWith('{}') ? {} : request.userInfo.username.startsWith('{}') ? {} : \
         (has(request.userInfo.extra) && '{claim}' in request.userInfo.extra && \
         size(request.userInfo.extra['{claim}']) > 0 ? request.userInfo.extra['{claim}'][0] : '')",
        agent::NODE_USER_PREFIX,
        after(agent::NODE_USER_PREFIX),
        agent::USER_PREFIX,
        after(agent::USER_PREFIX),
    )
}

fn variables() -> Value {
    let named = "object == null ? oldObject.metadata.name : (has(object.metadata.name) ? object.metadata.name : '')";
    let of_field = |field: NodeField| json!({"name": of(field), "expression": among(|owner| owner.path == field.path)});
    let mut variables = vec![
        json!({"name": "node", "expression": node()}),
        json!({"name": "resource", "expression": "request.resource.resource + '.' + request.resource.group"}),
        json!({"name": "name", "expression": named}),
        json!({"name": "byName", "expression": among(NodeField::is_name)}),
        json!({"name": "createdByName", "expression": among(|owner| owner.named && !owner.is_name())}),
    ];
    variables.extend(fields().into_iter().map(of_field));
    variables.into()
}

fn validations() -> Value {
    let fields = fields();
    let owned = ["byName".to_owned()].into_iter().chain(fields.iter().map(|field| of(*field)));
    let owned: Vec<String> = owned.map(|name| format!("variables.{name}")).collect();
    let mut validations = vec![
        of_some_node(),
        json!({
            "expression": owned.join(" || "),
            "messageExpression": "'the agent of node ' + variables.node + ' may not write ' + variables.resource",
            "reason": "Forbidden",
        }),
        json!({
            "expression": "!(variables.byName || (variables.createdByName && request.operation == 'CREATE')) || variables.name == variables.node",
            "messageExpression": "'the agent of node ' + variables.node + ' may write only the object of that name, not ' + variables.name",
            "reason": "Forbidden",
        }),
        json!({
            "expression": format!("!(has(request.subResource) && request.subResource == 'status' && {})", answered()),
            "messageExpression": "'the agent of node ' + variables.node + ' may not write the status of ' + variables.resource + ': it is the answer of the controller'",
            "reason": "Forbidden",
        }),
    ];
    validations.extend(fields.into_iter().map(|field| {
        let (object, old) = (is_node(field.path, "object"), is_node(field.path, "oldObject"));
        json!({
            "expression": format!("!variables.{} || ({object} && {old})", of(field)),
            "messageExpression": format!(
                "'the agent of node ' + variables.node + ' may write only objects whose {} is that node'",
                field.path
            ),
            "reason": "Forbidden",
        })
    }));
    validations.into()
}

/// Whether an object is not there, or is of the node by a field, in the language of the policy.
fn is_node(path: &str, object: &str) -> String {
    let ends = path.match_indices('.').map(|(end, _)| end).chain([path.len()]);
    let there: Vec<String> = ends.map(|end| format!("has({object}.{})", &path[..end])).collect();
    format!("({object} == null || ({} && {object}.{path} == variables.node))", there.join(" && "))
}

/// The fields that name the nodes of objects, but for their names.
fn fields() -> Vec<NodeField> {
    let mut fields: Vec<NodeField> = Vec::new();
    for field in usual().filter_map(node_field).filter(|field| !field.is_name()) {
        if fields.iter().all(|known| known.path != field.path) {
            fields.push(field);
        }
    }
    fields
}

fn node_field(kind: &Kind) -> Option<NodeField> {
    match kind.owner {
        Owner::Cluster => None,
        Owner::Node(field) => Some(field),
    }
}

/// What the variable is called that says whether a resource is of nodes by a field: `spec.nodeName` is `bySpecNodeName`.
fn of(field: NodeField) -> String {
    let mut name = "by".to_owned();
    for part in field.path.split('.') {
        let (first, rest) = part.split_at(1);
        name.push_str(&first.to_uppercase());
        name.push_str(rest);
    }
    name
}

/// Whether the resource is one of those that nodes own by some fields, in the language of the policy.
fn among(is: impl Fn(NodeField) -> bool) -> String {
    let of_owner = |kind: &&Kind| node_field(kind).is_some_and(&is);
    let names: Vec<String> =
        usual().filter(|kind| of_owner(kind)).map(|kind| format!("'{}.{}'", kind.plural, kind.group)).collect();
    format!("variables.resource in [{}]", names.join(", "))
}

/// Whether the status of the resource is the controller's answer to its owner, in the language of the policy.
fn answered() -> String {
    let answered = usual().filter(|kind| kind.owner != Owner::Cluster && !kind.status_by_owner);
    let names: Vec<String> = answered.map(|kind| format!("'{}.{}'", kind.plural, kind.group)).collect();
    format!("variables.resource in [{}]", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_field_becomes_a_rule_of_the_policy() {
        let field = NodeField { path: "spec.Host", named: false };
        assert_eq!(of(field), "bySpecHost");
        assert_eq!(
            is_node(field.path, "object"),
            "(object == null || (has(object.spec) && has(object.spec.Host) && object.spec.Host == variables.node))"
        );
    }
}
