//! What the agent of a node may write: objects of its own node, and nothing else of ours.
//!
//! An agent's identity lies on its node, so it must be assumed stolen together with the node. Who
//! holds it may change what that node is assigned and reports, and nothing of any other node. An object
//! is of a node by the field that its kind says, its name or another; both the
//! stored and the new content count, so that no object is taken over or given away.
//!
//! Of its Node an agent may take taints off, those that keep work away until the network is in place, and
//! nothing else (which ones, [`super::taints`] says): labels would bring it other nodes' pods and what they may read. A node's own user is the
//! kubelet's, which has other rights and other rules.
//!
//! A Lease is of the node of its name, but the one by which controllers agree on a leader: a node that is called like it has no
//! Lease of ours, and counts as one whose agent gives no sign of life.
//!
//! An Event is of the node that reports it, and that is its agent: nobody else's words can be put into
//! its mouth or taken out of it.

use netloom_api::{NAMESPACE, NodeField, Owner, dig, registry};
use serde_json::Value;

use crate::{Operation, Review, User, foreign};

/// The group of agents on the embedded server; the user's name then ends in the node's.
pub const GROUP: &str = "netloom:agents";
/// What the name of such a user starts with.
pub const USER_PREFIX: &str = "netloom:agent:";
/// What the name of a node's own user starts with.
pub const NODE_USER_PREFIX: &str = "system:node:";
/// The user that agents of a real cluster share; their tokens are bound to a node.
pub const SERVICE_ACCOUNT: &str = "system:serviceaccount:netloom-system:netloom-agent";
/// Where the server says which node a token is bound to.
pub const NODE_CLAIM: &str = "authentication.kubernetes.io/node-name";

/// Which agent a user is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity<'a> {
    /// No agent: other rules decide.
    Other,
    /// The agent of that node.
    Node(&'a str),
    /// An agent, and nothing says of which node: it may write nothing.
    Nameless,
}

/// Tells which agent a user is.
pub fn identify(user: &User) -> Identity<'_> {
    if let Some(node) = user.name.strip_prefix(NODE_USER_PREFIX) {
        return named(Some(node));
    }
    if user.name == SERVICE_ACCOUNT {
        return named(user.extra.get(NODE_CLAIM).and_then(|nodes| nodes.first()).map(String::as_str));
    }
    if user.is_in(GROUP) || user.name.starts_with(USER_PREFIX) {
        return named(user.name.strip_prefix(USER_PREFIX));
    }
    Identity::Other
}

fn named(node: Option<&str>) -> Identity<'_> {
    node.filter(|node| !node.is_empty()).map_or(Identity::Nameless, Identity::Node)
}

/// Why this user may not do this; none when the user is no agent or the object is its node's.
pub fn refusal(review: &Review<'_>) -> Option<String> {
    if foreign::EVENTS.contains(&review.kind) {
        return event_refusal(review);
    }
    let kind = registry::find(review.kind.group, review.kind.kind);
    let owner = kind.map(|kind| kind.owner).or_else(|| foreign::owner(review.kind))?;
    let node = match identify(review.user) {
        Identity::Other => return None,
        Identity::Nameless => return Some(of_no_node(review.user)),
        Identity::Node(node) => node,
    };
    if review.subresource == Some("status") && kind.is_some_and(|kind| !kind.status_by_owner) {
        return Some(format!(
            "the agent of node {node:?} may not write the status of kind {}: it is the answer of the controller",
            review.kind.kind
        ));
    }
    let only_reported = kind.filter(|kind| kind.reported_only).and_then(|_| more_than_report(review, node));
    refusal_by(owner, review, node).or(only_reported)
}

/// Why an agent may not write this to an object of its node that it only reports on.
fn more_than_report(review: &Review<'_>, node: &str) -> Option<String> {
    let rest = |object: &Value| {
        let mut object = object.clone();
        if let Some(fields) = object.as_object_mut() {
            fields.remove("status");
        }
        if let Some(fields) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            fields.retain(|key, _| !["generation", "managedFields", "resourceVersion"].contains(&key.as_str()));
        }
        object
    };
    let reports = match (review.object, review.old) {
        (Some(new), Some(old)) => review.operation == Operation::Update && rest(new) == rest(old),
        (None, _) | (_, None) => false,
    };
    (!reports).then(|| format!("the agent of node {node:?} may write only the status of a {}", review.kind.kind))
}

fn refusal_by(owner: Owner, review: &Review<'_>, node: &str) -> Option<String> {
    match owner {
        Owner::Cluster => {
            Some(format!("the agent of node {node:?} may not write objects of kind {}", review.kind.kind))
        }
        Owner::Node(field) if field.is_name() => foreign_name(review, node)
            .or_else(|| lock_of_controllers(review, node))
            .or_else(|| more_than_taints(review, node)),
        Owner::Node(field) => {
            let created = field.named && review.operation == Operation::Create;
            // A name is where the agent of another node would create its own object.
            let name = if created { foreign_name(review, node) } else { None };
            name.or_else(|| foreign_node(field, review, node))
        }
    }
}

fn of_no_node(user: &User) -> String {
    format!("user {:?} is an agent of no node and may write nothing", user.name)
}

/// Why this user may not write this Event. A node's own user is left alone: it tells of pods too, in
/// ways that are not ours to say.
fn event_refusal(review: &Review<'_>) -> Option<String> {
    let node = match identify(review.user) {
        Identity::Other => return None,
        Identity::Node(_) if review.user.name.starts_with(NODE_USER_PREFIX) => return None,
        Identity::Nameless => return Some(of_no_node(review.user)),
        Identity::Node(node) => node,
    };
    let own = |event: Option<&Value>| event.is_none_or(|event| dig::text(event, "reportingInstance") == Some(node));
    (!own(review.object) || !own(review.old)).then(|| {
        format!(
            "the agent of node {node:?} may write only Events whose reportingInstance is {node:?}, before and after \
             the write"
        )
    })
}

fn foreign_name(review: &Review<'_>, node: &str) -> Option<String> {
    (review.name != node).then(|| {
        format!(
            "the agent of node {node:?} may write only the {} of that name, not {:?}",
            review.kind.kind, review.name
        )
    })
}

/// Why the agent of a node that is called like the lock of controllers may not write it. The Lease of a kubelet has the same
/// name in another namespace.
fn lock_of_controllers(review: &Review<'_>, node: &str) -> Option<String> {
    let elsewhere = review.user.name.starts_with(NODE_USER_PREFIX) && review.namespace != Some(NAMESPACE);
    let is_lock = review.kind == foreign::LEASE && review.name == foreign::CONTROLLER_LOCK && !elsewhere;
    is_lock.then(|| {
        format!(
            "the agent of node {node:?} may not write the Lease of that name: it is the lock of the controllers; give the \
             node another name"
        )
    })
}

/// Why an agent may not write this to its Node: more changes than that taints go.
fn more_than_taints(review: &Review<'_>, node: &str) -> Option<String> {
    if review.kind != foreign::NODE || review.user.name.starts_with(NODE_USER_PREFIX) {
        return None;
    }
    let taints_go = match (review.object, review.old) {
        (Some(new), Some(old)) => review.subresource.is_none() && only_taints_go(new, old),
        (None, _) | (_, None) => false,
    };
    (!taints_go)
        .then(|| format!("the agent of node {node:?} may only take taints off its Node, and change nothing else"))
}

fn only_taints_go(new: &Value, old: &Value) -> bool {
    let taints = |node: &Value| node.pointer("/spec/taints").and_then(Value::as_array).cloned().unwrap_or_default();
    let (left, before) = (taints(new), taints(old));
    let rest = |node: &Value| {
        let mut node = node.clone();
        let parts =
            [("/spec", ["taints"].as_slice()), ("/metadata", &["generation", "managedFields", "resourceVersion"])];
        for (part, keys) in parts {
            if let Some(fields) = node.pointer_mut(part).and_then(Value::as_object_mut) {
                fields.retain(|key, _| !keys.contains(&key.as_str()));
            }
        }
        node
    };
    left.iter().all(|taint| before.contains(taint)) && rest(new) == rest(old)
}

fn foreign_node(field: NodeField, review: &Review<'_>, node: &str) -> Option<String> {
    let own = |object: Option<&Value>| object.is_none_or(|object| field.names(object, node));
    let seen = review.object.is_some() || review.old.is_some();
    (!seen || !own(review.object) || !own(review.old)).then(|| {
        format!(
            "the agent of node {node:?} may write only a {} whose {} is {node:?}, before and after the write",
            review.kind.kind, field.path
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{GroupKind, Objects};

    #[test]
    fn objects_of_free_names_are_of_the_node_that_their_field_names() {
        let owner = Owner::Node(NodeField { path: "spec.Host", named: false });
        let (user, view) = (User::new("netloom:agent:n1", &[GROUP]), Objects::default());
        let of = |node: &str| json!({"metadata": {"name": "x-1"}, "spec": {"Host": node}});
        let judge = |operation, new: Option<&Value>, old: Option<&Value>| {
            let review = Review {
                operation,
                kind: GroupKind::new("g.io", "Thing"),
                namespace: None,
                name: "x-1",
                subresource: None,
                object: new,
                old,
                user: &user,
                dry_run: false,
                view: &view,
            };
            refusal_by(owner, &review, "n1")
        };
        let (own, other) = (of("n1"), of("n2"));
        assert_eq!(judge(Operation::Create, Some(&own), None), None);
        assert_eq!(judge(Operation::Delete, None, Some(&own)), None);
        let why =
            "the agent of node \"n1\" may write only a Thing whose spec.Host is \"n1\", before and after the write";
        for (new, old) in [(&own, &other), (&other, &own)] {
            assert_eq!(judge(Operation::Update, Some(new), Some(old)).as_deref(), Some(why));
        }
    }
}
