//! Objects that nobody would write: the decision is still one that can be carried out.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use netloom_api::rollout::{Canary, RolloutPolicySpec, Share};
use netloom_rollout::{
    Assigned, Cause, Failure, Liveness, Node, NodeChange, Policy, Progress, Report, Revision, View, rollout,
};
use proptest::prelude::*;

fn name() -> impl Strategy<Value = String> {
    "[abc]{0,2}"
}

fn time() -> impl Strategy<Value = Timestamp> {
    prop_oneof![
        Just(Timestamp::MIN),
        Just(Timestamp::MAX),
        (0_i64..1000).prop_map(|second| Timestamp::from_second(second).unwrap()),
    ]
}

fn share() -> impl Strategy<Value = Share> {
    prop_oneof![
        any::<u32>().prop_map(Share::Nodes),
        ".{0,4}".prop_map(Share::Percent),
        Just(Share::Percent("30%".to_owned()))
    ]
}

fn revision() -> impl Strategy<Value = Revision> {
    let node_change = (any::<bool>(), any::<u32>(), any::<bool>()).prop_map(|(written, removals, apart)| NodeChange {
        written,
        removals,
        apart,
    });
    let node_changes = prop::option::of(prop::collection::btree_map(name(), node_change, 0..4));
    let failed =
        || {
            (name(), time(), any::<u32>(), prop::option::of(time())).prop_map(|(node, at, attempts, retry_at)| {
                Failure { node, message: String::new(), at, attempts, retry_at }
            })
        };
    let failure = (prop::option::of(failed()), prop::option::of(failed()), any::<bool>(), any::<bool>());
    let canaries = prop::collection::btree_map(name(), time(), 0..3);
    (name(), 0_u64..3, failure, prop::option::of(time()), canaries, any::<bool>(), node_changes).prop_map(
        |(name, order, (failure, before, changed, asked), proven_at, canaries, paused, node_changes)| Revision {
            name,
            order,
            failure,
            before,
            changed,
            asked,
            proven_at,
            canaries,
            phase: None,
            paused,
            node_changes,
        },
    )
}

fn node() -> impl Strategy<Value = Node> {
    let cause = prop::sample::select(Cause::ALL.to_vec());
    let gates = prop::option::of(prop::collection::btree_set(Just("Ready".to_owned()), 0..2));
    let assigned = (name(), any::<i64>(), time(), cause, any::<u32>(), gates).prop_map(
        |(revision, generation, since, cause, attempt, gates)| Assigned {
            revision,
            generation,
            since,
            known_since: since,
            cause,
            attempt,
            gates,
        },
    );
    let agent =
        prop::sample::select(vec![Liveness::Silent, Liveness::Unknown, Liveness::Alive, Liveness::Gone { seconds: 9 }]);
    let progress = prop_oneof![Just(Progress::Working), Just(Progress::Done), name().prop_map(Progress::Failed)];
    let report = (name(), prop::option::of(any::<i64>()), progress)
        .prop_map(|(revision, generation, progress)| Report { revision, generation, progress });
    (name(), any::<bool>(), prop::option::of(assigned), prop::option::of(report), agent).prop_map(
        |(name, ready, assigned, report, agent)| {
            let conditions = if ready { BTreeSet::from(["Ready".to_owned()]) } else { BTreeSet::new() };
            Node { name, conditions, assigned, report, agent, ..Node::default() }
        },
    )
}

fn policy() -> impl Strategy<Value = Policy> {
    let shares = prop::collection::vec(share(), 0..4);
    (name(), share(), shares, share(), any::<u32>(), any::<bool>(), prop::option::of(name())).prop_map(
        |(name, nodes, waves, max_unavailable, seconds, paused, pinned_revision)| {
            let canary = Canary { nodes, soak_seconds: seconds, ..Canary::default() };
            let timeout_seconds = seconds;
            let spec = RolloutPolicySpec {
                canary,
                waves,
                max_unavailable,
                timeout_seconds,
                paused,
                pinned_revision,
                ..RolloutPolicySpec::default()
            };
            Policy { name, spec, phase: None, unreadable: None }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_decision_can_always_be_carried_out(
        now in time(),
        revisions in prop::collection::vec(revision(), 0..4),
        nodes in prop::collection::btree_map(name(), node(), 0..5),
        policies in prop::collection::vec(policy(), 0..3),
    ) {
        let nodes: Vec<Node> = nodes.into_iter().map(|(name, node)| Node { name, ..node }).collect();
        let decision = rollout(&View { now, revisions: &revisions, nodes: &nodes, policies: &policies, refused: &BTreeSet::new() });
        let known: BTreeMap<&str, &Revision> = revisions.iter().map(|revision| (revision.name.as_str(), revision)).collect();
        for assignment in &decision.assignments {
            prop_assert!(nodes.iter().any(|node| node.name == assignment.node));
            prop_assert!(known.contains_key(assignment.revision.as_str()));
        }
        prop_assert!(decision.wake_at.is_none_or(|wake_at| wake_at > now));
        prop_assert!(decision.obsolete.iter().all(|name| known.contains_key(name.as_str())));
    }
}
