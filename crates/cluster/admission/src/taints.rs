//! Which taints the agent of a node may take off its Node.
//!
//! A node that joins keeps work away with a taint until its network is in place; its agent then takes that off.
//! Other taints are somebody else's decision, such as that nothing runs on a node that is being looked into. The
//! keys are configured at the API server and not with the agent, whose word counts for nothing where its identity
//! is stolen.

use std::{fmt, str::FromStr};

use netloom_schema::names;
use serde_json::Value;

use super::{
    Review,
    agent::{self, Identity},
};
use crate::foreign;

/// The key of the taint that nodes join with unless somebody configures another.
pub const STARTING: &str = "netloom.dev/starting";

/// The key of taints: a name with or without a domain before it, such as `netloom.dev/starting`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TaintKey(String);

impl TaintKey {
    /// [`STARTING`].
    pub fn starting() -> Self {
        Self(STARTING.to_owned())
    }

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for TaintKey {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let problems = names::qualified(text);
        if problems.is_empty() { Ok(Self(text.to_owned())) } else { Err(problems.join("; ")) }
    }
}

impl fmt::Display for TaintKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Why an agent may not write this to its Node: a taint goes whose key is not among the `removable` ones.
pub fn refusal(review: &Review<'_>, removable: &[TaintKey]) -> Option<String> {
    let Identity::Node(node) = agent::identify(review.user) else { return None };
    if review.kind != foreign::NODE || review.user.name.starts_with(agent::NODE_USER_PREFIX) {
        return None;
    }
    let taints = |node: Option<&Value>| {
        let taints = node.and_then(|node| node.pointer("/spec/taints")).and_then(Value::as_array);
        taints.cloned().unwrap_or_default()
    };
    let left = taints(review.object);
    let key = |taint: &Value| taint.get("key").and_then(Value::as_str).unwrap_or_default().to_owned();
    let gone = taints(review.old).into_iter().filter(|taint| !left.contains(taint)).map(|taint| key(&taint));
    let kept = gone.into_iter().find(|key| !removable.iter().any(|removable| removable.as_str() == key))?;
    Some(format!(
        "the agent of node {node:?} may not take the taint {kept:?} off its Node, {}",
        may_take_off(removable)
    ))
}

/// What agents may take off instead, and where that is configured; the policy of a real server says the same.
pub fn may_take_off(removable: &[TaintKey]) -> String {
    let keys: Vec<&str> = removable.iter().map(TaintKey::as_str).collect();
    let keys = if keys.is_empty() { "none at all".to_owned() } else { format!("only {}", keys.join(", ")) };
    format!("{keys}; the option --agent-taint of netloom server and netloom gen rbac names others")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Objects, Operation, User};

    fn judged(user: &str, before: &[&str], after: &[&str]) -> Option<String> {
        let node = |keys: &[&str]| {
            let taints: Vec<Value> = keys.iter().map(|key| json!({"key": key, "effect": "NoSchedule"})).collect();
            json!({"metadata": {"name": "n1"}, "spec": {"taints": taints}})
        };
        let (old, new, user) = (node(before), node(after), User::new(user, &[]));
        let review = Review {
            operation: Operation::Update,
            kind: foreign::NODE,
            namespace: None,
            name: "n1",
            subresource: None,
            object: Some(&new),
            old: Some(&old),
            user: &user,
            dry_run: false,
            view: &Objects::default(),
        };
        refusal(&review, &[TaintKey::starting(), "other".parse().unwrap()])
    }

    #[test]
    fn agents_take_off_what_is_configured_and_nothing_else() {
        let agent = "netloom:agent:n1";
        assert_eq!(judged(agent, &[STARTING, "other", "kept"], &["kept"]), None);
        let why = judged(agent, &[STARTING, "kept"], &[]).unwrap();
        assert!(why.contains("taint \"kept\"") && why.contains("only netloom.dev/starting, other;"), "{why}");
        assert_eq!(judged("system:node:n1", &["kept"], &[]), None, "a kubelet has rules of its own");
        assert_eq!(judged("somebody", &["kept"], &[]), None);
    }

    #[test]
    fn a_key_is_a_qualified_name() {
        assert_eq!("netloom.dev/starting".parse(), Ok(TaintKey::starting()));
        for bad in ["", "a b", "a'b", "/x", "a/b/c"] {
            assert!(bad.parse::<TaintKey>().is_err(), "{bad}");
        }
    }
}
