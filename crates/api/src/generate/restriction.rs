//! The rule of [`crate::admission::agent`] in the language of a real server, so that it holds there
//! even while our webhook is down.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::HEADER;
use crate::{
    admission::agent,
    definition::{Kind, Owner},
    registry::kinds,
    yaml,
};

const NAME: &str = "netloom-node-restriction";

/// The policy and its binding as a manifest.
pub fn node_restriction() -> String {
    let groups: BTreeSet<&str> = kinds().iter().map(|kind| kind.group).collect();
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
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": NAME},
        "spec": {"policyName": NAME, "validationActions": ["Deny"]},
    });
    format!("{HEADER}{}", yaml::stream([&policy, &binding]))
}

fn is_agent() -> String {
    format!(
        "request.userInfo.username.startsWith('{}') || request.userInfo.username.startsWith('{}') || \
         request.userInfo.username == '{}' || (has(request.userInfo.groups) && '{}' in request.userInfo.groups)",
        agent::NODE_USER_PREFIX,
        agent::USER_PREFIX,
        agent::SERVICE_ACCOUNT,
        agent::GROUP,
    )
}

fn variables() -> Value {
    let after = |prefix: &str| format!("request.userInfo.username.substring({})", prefix.len());
    let claim = agent::NODE_CLAIM;
    let node = format!(
        "request.userInfo.username.startsWith('{}') ? {} : request.userInfo.username.startsWith('{}') ? {} : \
         (has(request.userInfo.extra) && '{claim}' in request.userInfo.extra && \
         size(request.userInfo.extra['{claim}']) > 0 ? request.userInfo.extra['{claim}'][0] : '')",
        agent::NODE_USER_PREFIX,
        after(agent::NODE_USER_PREFIX),
        agent::USER_PREFIX,
        after(agent::USER_PREFIX),
    );
    let named = "object == null ? oldObject.metadata.name : (has(object.metadata.name) ? object.metadata.name : '')";
    json!([
        {"name": "node", "expression": node},
        {"name": "resource", "expression": "request.resource.resource + '.' + request.resource.group"},
        {"name": "name", "expression": named},
        {"name": "byName", "expression": format!("variables.resource in {}", list(Owner::NodeOfName))},
        {"name": "bySpec", "expression": format!("variables.resource in {}", list(Owner::NodeOfSpec))},
    ])
}

fn validations() -> Value {
    let of_node = |object: &str| {
        format!(
            "({object} == null || (has({object}.spec) && has({object}.spec.nodeName) && {object}.spec.nodeName == variables.node))"
        )
    };
    json!([
        {
            "expression": "variables.node != ''",
            "message": "an agent of no node may write nothing",
            "reason": "Forbidden",
        },
        {
            "expression": "variables.byName || variables.bySpec",
            "messageExpression": "'the agent of node ' + variables.node + ' may not write ' + variables.resource",
            "reason": "Forbidden",
        },
        {
            "expression": "!(variables.byName || (variables.bySpec && request.operation == 'CREATE')) || variables.name == variables.node",
            "messageExpression": "'the agent of node ' + variables.node + ' may write only the object of that name, not ' + variables.name",
            "reason": "Forbidden",
        },
        {
            "expression": format!("!variables.bySpec || ({} && {})", of_node("object"), of_node("oldObject")),
            "messageExpression": "'the agent of node ' + variables.node + ' may write only objects whose spec.nodeName is that node'",
            "reason": "Forbidden",
        },
    ])
}

/// The resources of one owner as a list in the language of the policy.
fn list(owner: Owner) -> String {
    let of_owner = |kind: &&Kind| kind.owner == owner;
    let names: Vec<String> =
        kinds().iter().filter(of_owner).map(|kind| format!("'{}.{}'", kind.plural, kind.group)).collect();
    format!("[{}]", names.join(", "))
}
