//! The nodes of one policy, in the order in which they take their turns.

use std::collections::BTreeSet;

use jiff::Timestamp;
use netloom_api::selector;

use crate::{
    input::{Node, Policy, View},
    standing::{self, Inability, Standing},
};

/// A policy and its nodes.
#[derive(Debug)]
pub(crate) struct Group<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) members: Vec<Member<'a>>,
}

/// A node of a group.
#[derive(Debug)]
pub(crate) struct Member<'a> {
    pub(crate) node: &'a Node,
    pub(crate) standing: Standing,
    /// What keeps it from taking anything now.
    pub(crate) inability: Option<Inability>,
    /// Whether it shows every condition that the policy asks for.
    well: bool,
    /// Whether the revision that it names has proved itself.
    pub(crate) proven: bool,
    pub(crate) zone: &'a str,
}

/// Every node under the policy that it follows; policies in the order of their turns, `defaults` last.
pub(crate) fn divide<'a>(view: &View<'a>, defaults: &'a Policy) -> Vec<Group<'a>> {
    let mut policies: Vec<&Policy> = view.policies.iter().collect();
    // One that selects by name of labels is asked before one that takes what is left.
    policies.sort_by_key(|policy| {
        let order = (std::cmp::Reverse(policy.spec.priority), policy.name.as_str());
        // One that cannot be read may be for any of those that are left.
        (policy.spec.node_selector.is_none(), policy.unreadable.is_none(), order)
    });
    policies.push(defaults);
    let mut groups: Vec<Group<'a>> = policies.into_iter().map(|policy| Group { policy, members: Vec::new() }).collect();
    let proven = view.revisions.iter().filter(|revision| revision.proven_at.is_some());
    let proven: BTreeSet<&str> = proven.map(|revision| revision.name.as_str()).collect();
    for node in view.nodes {
        let takes = |group: &&mut Group<'a>| match &group.policy.spec.node_selector {
            Some(wanted) => selector::matches(wanted, Some(&node.labels)),
            None => true,
        };
        let group = groups.iter_mut().find(takes).expect("the defaults select every node");
        group.members.push(Member::new(node, group.policy, view.now, &proven));
    }
    for group in &mut groups {
        group.members.sort_by_cached_key(|member| turn(member, group.policy));
    }
    groups.retain(|group| !group.members.is_empty() || !group.policy.name.is_empty());
    groups
}

impl<'a> Member<'a> {
    fn new(node: &'a Node, policy: &Policy, now: Timestamp, proven: &BTreeSet<&str>) -> Self {
        let zone = policy.spec.zone_key.as_ref().and_then(|key| node.labels.get(key)?.as_str()).unwrap_or_default();
        Self {
            node,
            standing: standing::of(node, &policy.spec, now),
            inability: standing::inability(node, &policy.spec),
            well: standing::missing_gate(node, &policy.spec).is_none(),
            proven: node.assigned.as_ref().is_some_and(|assigned| proven.contains(assigned.revision.as_str())),
            zone,
        }
    }

    /// Whether it can take something.
    pub(crate) fn is_able(&self) -> bool {
        self.inability.is_none()
    }

    /// What it must show before it can take anything.
    pub(crate) fn lacks(&self) -> String {
        match &self.inability {
            Some(Inability::AgentGone(seconds)) => {
                format!("cannot take it until its agent is back, which was not heard of for {seconds} s")
            }
            Some(Inability::Silent(gate)) => {
                format!("cannot take it: its agent gives no sign of life, and condition {gate} is not True")
            }
            Some(Inability::Unready(gate)) => {
                format!("cannot take it until its agent is heard of, or condition {gate} is True")
            }
            None => "cannot take it without a NodeNetworkState that is managed".to_owned(),
        }
    }

    /// What a person does about that.
    pub(crate) fn remedy(&self) -> &'static str {
        match &self.inability {
            Some(Inability::AgentGone(_)) => "start its agent, or delete the Node if it is gone for good",
            Some(Inability::Silent(_) | Inability::Unready(_)) => {
                "start its agent or fix the node, or delete the Node if it is gone for good"
            }
            None => "let it be managed, or delete the Node if it is gone for good",
        }
    }
}

/// The nodes that a person chose as the first come first, then those that are well, which say most about a change, then
/// zone by zone, by name: the same nodes in the same order whoever asks.
fn turn(member: &Member<'_>, policy: &Policy) -> (bool, bool, String, String) {
    let chosen = policy
        .spec
        .canary
        .node_selector
        .as_ref()
        .is_none_or(|wanted| selector::matches(wanted, Some(&member.node.labels)));
    (!chosen, !member.well, member.zone.to_owned(), member.node.name.clone())
}
