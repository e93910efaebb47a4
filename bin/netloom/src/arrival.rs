//! Whether what policies ask for has reached the nodes.
//!
//! Pure: objects of a cluster go in, words and a verdict come out. A policy says only what is made of it; which nodes
//! have that is reported by the revision that froze it. Several policies that were applied together are looked for in
//! one revision: one that has an older version of any of them says nothing about the change.

use netloom_api::{
    nodestate::NodeNetConfPolicySpec,
    pipeline::{
        NetworkConfigRevision,
        network_config_revision::{NetworkConfigRevisionStatus, RevisionPhase},
    },
    rollout::annotation,
};
use netloom_compile::{ObjectKey, PROVENANCE, Provenance, StateReport, reason};
use serde_json::Value;

/// The reasons of a policy that is sound and has nothing to do on any node.
const IDLE: [&str; 2] = [reason::NO_MATCHING_NODE, reason::NO_MATCHING_INTERFACE];

/// A policy in the version that nodes shall have.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Frozen {
    kind: String,
    namespace: String,
    name: String,
    spec: NodeNetConfPolicySpec,
}

/// How far revisions have brought policies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// No revision has all of them as they are now.
    NotFrozen,
    /// It goes on; in words.
    UnderWay(String),
    /// Nodes are not assigned it any more, though it did not fail; in words.
    SetAside(String),
    /// Every node that can take them has them; in words.
    Everywhere(String),
    /// They come to no further node; why, and what to do.
    Failed(String),
}

/// Whether an object is a policy that revisions bring to nodes.
pub(crate) fn is_rolled_out(group: &str, kind: &str) -> bool {
    (group, kind) == ("nmstate.io", "NodeNetConfPolicy")
}

/// Whether a policy says of itself that nodes could not have it as it is now.
pub(crate) fn is_refused_by_nodes(policy: &Value) -> bool {
    policy["status"]["observedGeneration"] == policy["metadata"]["generation"]
        && reason_of(policy) == reason::ROLLOUT_FAILED
}

/// What a policy says of itself.
pub(crate) fn message(policy: &Value) -> &str {
    condition(policy, "Ready").and_then(|ready| ready["message"].as_str()).unwrap_or_default()
}

/// The version of a policy to look for, where there is anything to wait for: a policy that matches nothing, and of
/// which no node has anything left, and one that nodes merge themselves, come to nodes by no revision. One that nodes
/// have refused did come by a revision, whatever nodes do now.
pub(crate) fn awaited(policy: &Value, states: &[Value]) -> Option<Frozen> {
    let text = |key: &str| policy["metadata"][key].as_str().unwrap_or_default().to_owned();
    let (namespace, name) = (text("namespace"), text("name"));
    let key = ObjectKey::new(namespace.as_str(), name.as_str());
    // Nobody changes the object of a node that left.
    let states: Vec<&Value> = states.iter().filter(|state| !has_left(state)).collect();
    let idle = IDLE.contains(&reason_of(policy)) && !states.iter().any(|state| has_part_of(state, &key));
    let merged = !states.is_empty() && states.iter().all(|state| merges_policies(state));
    if (idle || merged) && !is_refused_by_nodes(policy) {
        return None;
    }
    let spec = serde_json::from_value(policy["spec"].clone()).ok()?;
    let kind = policy["kind"].as_str().unwrap_or_default().to_owned();
    Some(Frozen { kind, namespace, name, spec })
}

/// How far these policies are, from all revisions of a cluster.
pub(crate) fn of<'a>(policies: &[Frozen], revisions: impl IntoIterator<Item = &'a NetworkConfigRevision>) -> Arrival {
    let holding = revisions.into_iter().filter(|revision| policies.iter().all(|policy| policy.is_in(revision)));
    // What else is in a revision that failed may be to blame: one that nodes have, or get, says more about these policies.
    let decisive = holding.max_by_key(|revision| (is_for_nodes(revision), revision.sequence()));
    let Some(decisive) = decisive else { return Arrival::NotFrozen };
    let name = decisive.metadata.name.as_deref().unwrap_or_default();
    let status = decisive.status.clone().unwrap_or_default();
    let words = words(name, &status);
    match status.phase {
        Some(RevisionPhase::Active) => Arrival::Everywhere(words),
        Some(RevisionPhase::Failed) => Arrival::Failed(format!(
            "revision {name} failed on node {}: {}; it comes to no further node{}. Change what is asked for and apply that, \
             or fix the node: `netloom rollout retry {name}` tries it again at once",
            status.failed_node.as_deref().unwrap_or("(unknown)"),
            status.failed_message.as_deref().unwrap_or("(no reason was reported)"),
            status
                .next_attempt_at
                .map(|next| format!(" before it is tried again at {:.0}", next.0))
                .unwrap_or_default(),
        )),
        Some(RevisionPhase::Superseded | RevisionPhase::Kept) => Arrival::SetAside(words),
        Some(RevisionPhase::Pending | RevisionPhase::Rolling) | None => Arrival::UnderWay(words),
    }
}

impl Frozen {
    fn is_in(&self, revision: &NetworkConfigRevision) -> bool {
        // Read, not compared as written: what is left out and what is reported as the default are the same desired
        // state.
        revision.spec.objects.iter().any(|policy| {
            (&policy.kind, &policy.namespace, &policy.name.0) == (&self.kind, &self.namespace, &self.name)
                && serde_json::from_value::<NodeNetConfPolicySpec>(policy.spec.0.clone())
                    .is_ok_and(|spec| spec == self.spec)
        })
    }
}

fn reason_of(policy: &Value) -> &str {
    condition(policy, "Ready").and_then(|ready| ready["reason"].as_str()).unwrap_or_default()
}

fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    let conditions = object["status"]["conditions"].as_array()?;
    conditions.iter().find(|condition| condition["type"] == kind)
}

fn annotation_of<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    object["metadata"]["annotations"].get(name)?.as_str()
}

/// Whether the node of a network state is there no more.
fn has_left(state: &Value) -> bool {
    condition(state, StateReport::ORPHANED).is_some_and(|orphaned| orphaned["status"] == "True")
}

/// Whether a node was assigned anything of a policy.
fn has_part_of(state: &Value, policy: &ObjectKey) -> bool {
    let provenance = annotation_of(state, PROVENANCE).and_then(|text| Provenance::decode(text).ok());
    provenance.is_some_and(|provenance| provenance.shares.contains_key(policy))
}

fn merges_policies(state: &Value) -> bool {
    annotation_of(state, annotation::MERGED_BY) == Some(annotation::MERGED_BY_NODE)
}

/// Whether nodes have a revision, or shall have it next; one that says nothing yet was just made.
fn is_for_nodes(revision: &NetworkConfigRevision) -> bool {
    match revision.status.as_ref().and_then(|status| status.phase) {
        Some(RevisionPhase::Pending | RevisionPhase::Rolling | RevisionPhase::Active) | None => true,
        Some(RevisionPhase::Failed | RevisionPhase::Superseded | RevisionPhase::Kept) => false,
    }
}

fn words(name: &str, status: &NetworkConfigRevisionStatus) -> String {
    let message = status.message.as_deref().unwrap_or("nothing is reported yet");
    match status.phase {
        Some(phase) => format!("revision {name}: {phase:?}, {message}"),
        None => format!("revision {name}: {message}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn policy(mtu: u32, reason: &str) -> Value {
        json!({
            "kind": "NodeNetConfPolicy",
            "metadata": {"namespace": "default", "name": "jumbo", "generation": 2},
            "spec": spec(mtu),
            "status": {"observedGeneration": 2, "conditions": [{"type": "Ready", "status": "True", "reason": reason}]},
        })
    }

    fn spec(mtu: u32) -> Value {
        json!({"matchRules": [{"name": "eth1"}], "desiredState": {"interfaces": [{"name": "eth1", "mtu": mtu}]}})
    }

    fn revision(name: &str, sequence: u8, mtu: u32, status: &Value) -> NetworkConfigRevision {
        serde_json::from_value(json!({
            "apiVersion": "network.t-caas.telekom.com/v1alpha1", "kind": "NetworkConfigRevision",
            "metadata": {"name": name, "annotations": {annotation::SEQUENCE: sequence.to_string()}},
            "spec": {
                "revision": "a".repeat(64),
                "objects": [{
                    "group": "nmstate.io", "kind": "NodeNetConfPolicy", "namespace": "default", "name": "jumbo",
                    "spec": spec(mtu),
                }],
            },
            "status": status,
        }))
        .unwrap()
    }

    fn reported(provenance: Option<&Value>, merged: bool) -> Value {
        let mut annotations = json!({});
        if let Some(provenance) = provenance {
            annotations[PROVENANCE] = provenance.to_string().into();
        }
        if merged {
            annotations[annotation::MERGED_BY] = annotation::MERGED_BY_NODE.into();
        }
        json!({"metadata": {"annotations": annotations}})
    }

    #[test]
    fn the_newest_revision_with_this_version_says_how_far_it_is() {
        let wanted = [awaited(&policy(9000, "Compiled"), &[]).unwrap()];
        let active = json!({"phase": "Active", "message": "3 of 3 nodes have it"});
        let rolling = json!({"phase": "Rolling", "message": "1 of 3 nodes have it"});
        let failed = json!({"phase": "Failed", "isInvalid": true, "failedNode": "n0", "failedMessage": "too large"});
        let older = revision("older", 3, 1500, &active);
        let everywhere = Arrival::Everywhere("revision mine: Active, 3 of 3 nodes have it".to_owned());
        let under_way = Arrival::UnderWay("revision mine: Rolling, 1 of 3 nodes have it".to_owned());
        assert_eq!(of(&wanted, [&older]), Arrival::NotFrozen, "another version");
        assert_eq!(of(&wanted, [&older, &revision("mine", 4, 9000, &active)]), everywhere);
        assert_eq!(of(&wanted, [&revision("mine", 4, 9000, &rolling), &older]), under_way);
        for phase in ["Superseded", "Kept"] {
            let set_aside = Arrival::SetAside(format!("revision mine: {phase}, nothing is reported yet"));
            assert_eq!(of(&wanted, [&older, &revision("mine", 2, 9000, &json!({"phase": phase}))]), set_aside);
        }
        let again = [&revision("bad", 4, 9000, &failed), &revision("mine", 5, 9000, &active)];
        assert_eq!(of(&wanted, again), everywhere, "what an earlier revision met is over");
        let Arrival::Failed(why) = of(&wanted, [&revision("mine", 4, 9000, &failed)]) else { panic!("it failed") };
        assert!(why.starts_with("revision mine failed on node n0: too large; "), "{why}");
    }

    #[test]
    fn a_failure_decides_only_where_nodes_do_not_have_the_same_by_another_revision() {
        let wanted = [awaited(&policy(9000, "Compiled"), &[]).unwrap()];
        let in_phase = |phase: &str| json!({"phase": phase, "message": "so"});
        // The same policy, with something bad of somebody else beside it.
        let theirs = revision("theirs", 5, 9000, &json!({"phase": "Failed", "isInvalid": true, "failedNode": "n0"}));
        let seen = |phase: &str| of(&wanted, [&revision("mine", 4, 9000, &in_phase(phase)), &theirs]);
        assert_eq!(seen("Active"), Arrival::Everywhere("revision mine: Active, so".to_owned()));
        for phase in ["Pending", "Rolling"] {
            assert_eq!(seen(phase), Arrival::UnderWay(format!("revision mine: {phase}, so")));
        }
        for phase in ["Superseded", "Kept", "Failed"] {
            let Arrival::Failed(why) = seen(phase) else { panic!("no node gets it any more: {phase}") };
            assert!(why.starts_with("revision theirs failed on node n0: "), "{why}");
        }
        let other_version = revision("before", 4, 1500, &in_phase("Active"));
        assert!(
            matches!(of(&wanted, [&other_version, &theirs]), Arrival::Failed(_)),
            "nodes return to another version"
        );
        let (active, rolling) = (in_phase("Active"), in_phase("Rolling"));
        let several = [&revision("old", 3, 9000, &active), &revision("new", 4, 9000, &rolling), &theirs];
        assert_eq!(of(&wanted, several), Arrival::UnderWay("revision new: Rolling, so".to_owned()));
    }

    #[test]
    fn a_policy_with_nothing_to_do_is_waited_for_only_until_no_node_has_anything_of_it() {
        let of_it = json!({"paths": [], "policies": {"default/jumbo": {}}});
        let of_another = json!({"paths": [], "policies": {"default/other": {}}});
        for reason in IDLE {
            let idle = policy(9000, reason);
            assert_eq!(awaited(&idle, &[]), None);
            assert_eq!(awaited(&idle, &[reported(Some(&of_another), false), reported(None, false)]), None);
            assert!(awaited(&idle, &[reported(None, false), reported(Some(&of_it), false)]).is_some(), "{reason}");
        }
    }

    #[test]
    fn where_every_node_merges_policies_itself_no_revision_brings_them() {
        let sound = policy(9000, "Compiled");
        assert_eq!(awaited(&sound, &[reported(None, true), reported(None, true)]), None);
        assert!(awaited(&sound, &[reported(None, true), reported(None, false)]).is_some());
        assert!(
            awaited(&policy(9000, reason::ROLLOUT_FAILED), &[reported(None, true)]).is_some(),
            "a revision brought it, and failed"
        );
    }

    #[test]
    fn nodes_that_left_are_not_asked() {
        let with = |mut state: Value, kind: &str, status: &str| {
            state["status"]["conditions"] = json!([{"type": kind, "status": status}]);
            state
        };
        let (sound, idle) = (policy(9000, "Compiled"), policy(9000, reason::NO_MATCHING_NODE));
        let of_it = json!({"policies": {"default/jumbo": {}}});
        let left = |state| with(state, "Orphaned", "True");
        assert_eq!(awaited(&sound, &[reported(None, true), left(reported(None, false))]), None);
        assert!(awaited(&sound, &[left(reported(None, true))]).is_some(), "no node says that it merges policies");
        assert_eq!(awaited(&idle, &[left(reported(Some(&of_it), false))]), None, "nobody takes away what it had");
        for there in [with(reported(None, false), "Degraded", "True"), with(reported(None, false), "Orphaned", "False")]
        {
            assert!(awaited(&sound, &[reported(None, true), there]).is_some());
        }
    }

    #[test]
    fn a_failure_counts_for_the_generation_that_it_is_reported_of() {
        let mut failed = policy(9999, reason::ROLLOUT_FAILED);
        assert!(is_refused_by_nodes(&failed) && !is_refused_by_nodes(&policy(9000, "Compiled")));
        failed["metadata"]["generation"] = json!(3);
        assert!(!is_refused_by_nodes(&failed));
    }
}
