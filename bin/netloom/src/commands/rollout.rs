//! `netloom rollout`: what a person decides about a change that is on its way.
//!
//! Only asks: the controller decides whether and when, and says so in the revision.

use http::{Request, header::CONTENT_TYPE};
use netloom_api::{
    fabric::GROUP,
    pipeline::NetworkConfigRevision,
    rollout::{RolloutPolicy, RolloutPolicySpec, annotation},
    selector,
};
use serde_json::{Value, json};

use crate::{
    args::cluster::{RetryArgs, RolloutArgs, RolloutVerb},
    cluster::Cluster,
    connection::asynchronously,
    failure::{Exit, Failure},
    output::Output,
};

pub(crate) fn run(args: &RolloutArgs) -> Result<Exit, Failure> {
    let RolloutArgs { verb } = args;
    match verb {
        RolloutVerb::Retry(args) => asynchronously(retry(args)),
    }
}

async fn retry(args: &RetryArgs) -> Result<Exit, Failure> {
    let RetryArgs { revision: name, kubeconfig } = args;
    let cluster = Cluster::connect(kubeconfig.as_deref()).await?;
    let revisions = cluster.all(&format!("{GROUP}/v1alpha1"), "NetworkConfigRevision").await?;
    let revisions: Vec<NetworkConfigRevision> =
        revisions.into_iter().filter_map(|one| serde_json::from_value(one).ok()).collect();
    let attempts = attempts(name, &revisions)?;
    let policies = cluster.all("netloom.dev/v1alpha1", "RolloutPolicy").await?;
    let policies: Vec<RolloutPolicy> =
        policies.into_iter().filter_map(|one| serde_json::from_value(one).ok()).collect();
    // Where nodes may not be read, there may be one.
    let nodes = cluster.all_readable("v1", "Node").await?;
    let rest = nodes.is_none_or(|nodes| nodes.iter().any(|node| !is_selected(node, &policies)));
    is_desired(name, &revisions, &followed(&policies, rest))?;
    let patch = json!({"metadata": {"annotations": {annotation::RETRY: attempts.to_string()}}});
    let address = format!("/apis/{GROUP}/v1alpha1/networkconfigrevisions/{name}?fieldManager=netloom");
    let request = Request::patch(address).header(CONTENT_TYPE, "application/merge-patch+json");
    let body = patch.to_string().into_bytes();
    cluster.send(request.body(body).map_err(Failure::usage)?).await?;
    Output::new(false).note(&format!(
        "revision {name} is tried again, on one node first; `netloom get networkconfigrevisions {name}` says how it goes"
    ));
    Ok(Exit::Done)
}

/// Whether some policy says that it is for this node.
fn is_selected(node: &Value, policies: &[RolloutPolicy]) -> bool {
    let labels = node.pointer("/metadata/labels").and_then(Value::as_object);
    let takes = |policy: &RolloutPolicy| {
        policy.spec.node_selector.as_ref().is_none_or(|wanted| selector::matches(wanted, labels))
    };
    policies.iter().any(takes)
}

/// What nodes follow: a policy by its name, and under no name the defaults. `rest` says whether a node is left to those.
fn followed(policies: &[RolloutPolicy], rest: bool) -> Vec<(String, RolloutPolicySpec)> {
    let named = |policy: &RolloutPolicy| (policy.metadata.name.clone().unwrap_or_default(), policy.spec.clone());
    let (some, all): (Vec<_>, Vec<_>) = policies.iter().partition(|policy| policy.spec.node_selector.is_some());
    // Of those that are for all nodes that are left, the others have none.
    let first = all.into_iter().map(named).min_by_key(|(name, spec)| (std::cmp::Reverse(spec.priority), name.clone()));
    let defaults = || rest.then(|| (String::new(), RolloutPolicySpec::default()));
    some.into_iter().map(named).chain(first.or_else(defaults)).collect()
}

/// Whether some nodes shall have the revision, and nobody holds them: else another attempt would not be made.
fn is_desired(
    name: &str,
    revisions: &[NetworkConfigRevision],
    followed: &[(String, RolloutPolicySpec)],
) -> Result<(), Failure> {
    let newest = revisions.iter().max_by_key(|revision| (revision.sequence(), revision.metadata.name.as_deref()));
    let newest = newest.and_then(|newest| newest.metadata.name.as_deref()).unwrap_or_default();
    let target = |spec: &RolloutPolicySpec| spec.pinned_revision.as_deref().unwrap_or(newest) == name;
    let desiring: Vec<&(String, RolloutPolicySpec)> = followed.iter().filter(|(_, spec)| target(spec)).collect();
    let why = if desiring.is_empty() && newest != name {
        format!("nodes shall have revision {newest}, which is newer; pin {name} in a RolloutPolicy to return to it")
    } else if desiring.is_empty() {
        let pins = followed.iter().filter_map(|(policy, spec)| Some((policy, spec.pinned_revision.as_ref()?)));
        let pins: Vec<String> = pins.map(|(policy, other)| format!("RolloutPolicy {policy} pins {other}")).collect();
        format!("nodes shall have another revision: {}", pins.join(", "))
    } else if is_paused(name, revisions) {
        format!("it is paused; take off its annotation {} first", annotation::PAUSED)
    } else if desiring.iter().all(|(_, spec)| spec.paused) {
        let paused: Vec<&str> = desiring.iter().map(|(policy, _)| policy.as_str()).collect();
        format!("what its nodes follow is paused: RolloutPolicy {}; resume it first", paused.join(", "))
    } else {
        return Ok(());
    };
    Err(Failure::refused(format_args!("revision {name} is not tried again: {why}")))
}

fn is_paused(name: &str, revisions: &[NetworkConfigRevision]) -> bool {
    let named = revisions.iter().find(|revision| revision.metadata.name.as_deref() == Some(name));
    let annotations = named.and_then(|revision| revision.metadata.annotations.as_ref());
    annotations.is_some_and(|all| all.get(annotation::PAUSED).is_some_and(|value| value == "true"))
}

/// How often the revision failed, which is what another attempt is asked for by.
fn attempts(name: &str, revisions: &[NetworkConfigRevision]) -> Result<u32, Failure> {
    let named = |revision: &&NetworkConfigRevision| revision.metadata.name.as_deref() == Some(name);
    let revision = revisions.iter().find(named).ok_or_else(|| {
        Failure::refused(format_args!(
            "there is no NetworkConfigRevision {name:?}; `netloom get networkconfigrevisions` lists those that are"
        ))
    })?;
    let status = revision.status.clone().unwrap_or_default();
    if !status.is_invalid {
        let phase = status.phase.map_or_else(|| "new".to_owned(), |phase| format!("{phase:?}"));
        let reported = status.message.map(|message| format!(": {message}")).unwrap_or_default();
        return Err(Failure::refused(format_args!(
            "revision {name} has not failed (it is {phase}{reported}), so there is nothing to try again"
        )));
    }
    Ok(status.attempts.max(1))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn revision(name: &str, status: &Value) -> NetworkConfigRevision {
        serde_json::from_value(json!({
            "apiVersion": "network.t-caas.telekom.com/v1alpha1", "kind": "NetworkConfigRevision",
            "metadata": {"name": name}, "spec": {"revision": "a".repeat(64)}, "status": status,
        }))
        .unwrap()
    }

    #[test]
    fn only_what_failed_is_tried_again() {
        let all = [
            revision("bad", &json!({"isInvalid": true, "phase": "Failed", "attempts": 3})),
            revision("given-up", &json!({"isInvalid": true, "phase": "Failed"})),
            revision("good", &json!({"phase": "Active"})),
            revision("held", &json!({"phase": "Pending", "attempts": 1, "message": "node n1 comes first"})),
        ];
        assert_eq!(attempts("bad", &all).ok(), Some(3));
        assert_eq!(attempts("given-up", &all).ok(), Some(1), "by an earlier version, which did not count");
        let why = |name: &str| attempts(name, &all).unwrap_err().message;
        assert!(why("good").contains("has not failed (it is Active)"), "{}", why("good"));
        assert!(why("held").contains("(it is Pending: node n1 comes first)"), "{}", why("held"));
        assert!(why("gone").contains("there is no NetworkConfigRevision \"gone\""), "{}", why("gone"));
    }

    fn in_order(name: &str, sequence: u32) -> NetworkConfigRevision {
        let mut revision = revision(name, &json!({"isInvalid": true}));
        let order = (annotation::SEQUENCE.to_owned(), sequence.to_string());
        revision.metadata.annotations = Some([order].into());
        revision
    }

    fn policy(name: &str, spec: &Value) -> RolloutPolicy {
        serde_json::from_value(json!({
            "apiVersion": "netloom.dev/v1alpha1", "kind": "RolloutPolicy", "metadata": {"name": name}, "spec": spec,
        }))
        .unwrap()
    }

    /// What is reported of `a` or of `b`, which is newer, where these policies are followed.
    fn reported_of(name: &str, policies: &[(&str, Value)], rest: bool) -> String {
        let policies: Vec<RolloutPolicy> = policies.iter().map(|(name, spec)| policy(name, spec)).collect();
        let revisions = [in_order("a", 1), in_order("b", 2)];
        let reported = is_desired(name, &revisions, &followed(&policies, rest));
        reported.map_or_else(|failure| failure.message, |()| String::new())
    }

    #[test]
    fn only_what_nodes_shall_have_is_tried_again() {
        let zone = json!({"matchLabels": {"zone": "a"}});
        assert_eq!(reported_of("b", &[], true), "");
        assert_eq!(reported_of("b", &[("p", json!({}))], false), "");
        assert!(reported_of("a", &[], true).contains("nodes shall have revision b, which is newer"));
        assert_eq!(reported_of("a", &[("p", json!({"nodeSelector": zone, "pinnedRevision": "a"}))], true), "");
        let pinned = [("p", json!({"pinnedRevision": "a"}))];
        assert!(
            reported_of("b", &pinned, false).contains("RolloutPolicy p pins a"),
            "{}",
            reported_of("b", &pinned, false)
        );
        // A second one for all nodes has none.
        let two = [("p", json!({"pinnedRevision": "a"})), ("q", json!({}))];
        assert!(reported_of("b", &two, false).contains("pins a"));
        assert_eq!(reported_of("b", &[two[0].clone(), ("q", json!({"priority": 1}))], false), "");
        let apart = [("p", json!({"nodeSelector": zone, "pinnedRevision": "a"}))];
        assert_eq!(reported_of("b", &apart, true), "", "other nodes follow the defaults");
        assert!(reported_of("b", &apart, false).contains("pins a"), "every node is in that zone");
    }

    #[test]
    fn what_is_paused_is_not_tried_again() {
        let zone = json!({"matchLabels": {"zone": "a"}});
        let held = [("p", json!({"paused": true}))];
        assert!(
            reported_of("b", &held, false).contains("is paused: RolloutPolicy p"),
            "{}",
            reported_of("b", &held, false)
        );
        assert_eq!(reported_of("b", &[held[0].clone(), ("q", json!({"nodeSelector": zone}))], false), "");
        let mut paused = in_order("b", 2);
        paused.metadata.annotations.as_mut().unwrap().insert(annotation::PAUSED.to_owned(), "true".to_owned());
        let why = is_desired("b", &[paused], &followed(&[], true)).unwrap_err();
        assert!(why.message.contains("it is paused; take off its annotation netloom.dev/paused"), "{}", why.message);
        assert!(matches!(why.exit, Exit::Refused));
    }

    #[test]
    fn a_node_that_a_policy_selects_does_not_follow_the_defaults() {
        let node = |zone: &str| json!({"metadata": {"labels": {"zone": zone}}});
        let zone = [policy("p", &json!({"nodeSelector": {"matchLabels": {"zone": "a"}}}))];
        assert!(is_selected(&node("a"), &zone) && !is_selected(&node("b"), &zone));
        assert!(is_selected(&node("b"), &[policy("p", &json!({}))]));
    }
}
