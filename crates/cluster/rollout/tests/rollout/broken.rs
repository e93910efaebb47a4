//! Deciders that each break one rule. The checks must find every one of them.

use netloom_rollout::{Assignment, Cause, Decision, Node, Revision, View, rollout};

use crate::{faults::play, world::Decider};

/// Any answer counts, whatever desired state it is an answer to.
fn takes_old_answers(view: &View<'_>) -> Decision {
    let mut nodes: Vec<Node> = view.nodes.to_vec();
    for node in &mut nodes {
        if let (Some(assigned), Some(report)) = (&node.assigned, &mut node.report) {
            report.revision.clone_from(&assigned.revision);
            report.generation = Some(assigned.generation);
        }
    }
    rollout(&View { nodes: &nodes, ..*view })
}

/// Failures are forgotten.
fn forgets_failures(view: &View<'_>) -> Decision {
    let revisions: Vec<Revision> =
        view.revisions.iter().map(|revision| Revision { failure: None, ..revision.clone() }).collect();
    rollout(&View { revisions: &revisions, ..*view })
}

/// One node more than asked for is assigned.
fn assigns_one_more(view: &View<'_>) -> Decision {
    let mut decision = rollout(view);
    if let Some(Assignment { revision, .. }) = decision.assignments.first().cloned() {
        let given = |node: &&Node| decision.assignments.iter().any(|assignment| assignment.node == node.name);
        let mut rest: Vec<&Node> = view.nodes.iter().filter(|node| !given(node)).collect();
        rest.sort_by(|a, b| a.name.cmp(&b.name));
        if let Some(node) = rest.first() {
            decision.assignments.push(Assignment {
                node: node.name.clone(),
                revision,
                cause: Cause::Wave,
                attempt: 0,
                gates: std::collections::BTreeSet::new(),
            });
        }
    }
    decision
}

/// Nodes are assigned things while a verdict is not yet written down.
fn does_not_wait_for_verdicts(view: &View<'_>) -> Decision {
    let decision = rollout(view);
    let mut revisions: Vec<Revision> = view.revisions.to_vec();
    for revision in &mut revisions {
        let outcome = decision.revisions.iter().find(|outcome| outcome.name == revision.name);
        revision.failure = outcome.and_then(|outcome| outcome.failure.clone());
    }
    let assignments = rollout(&View { revisions: &revisions, ..*view }).assignments;
    Decision { assignments, ..decision }
}

/// Every revision beyond the newest goes, whoever names it.
fn clears_history(view: &View<'_>) -> Decision {
    let mut decision = rollout(view);
    decision.obsolete = decision.revisions.iter().skip(1).map(|outcome| outcome.name.clone()).collect();
    decision
}

/// Nothing is ever decided by time.
fn never_wakes(view: &View<'_>) -> Decision {
    let still =
        view.nodes.iter().filter_map(|node| Some(node.assigned.as_ref()?.known_since)).min().unwrap_or(view.now);
    Decision { wake_at: None, ..rollout(&View { now: still, ..*view }) }
}

#[test]
fn every_broken_rule_is_found() {
    let variants: [(&str, Decider); 6] = [
        ("takes old answers", takes_old_answers),
        ("forgets failures", forgets_failures),
        ("tells one more", assigns_one_more),
        ("does not wait for verdicts", does_not_wait_for_verdicts),
        ("clears history", clears_history),
        ("never wakes", never_wakes),
    ];
    for (name, decider) in variants {
        let found = (0..60).any(|seed| std::panic::catch_unwind(|| play(seed, decider)).is_err());
        assert!(found, "a decider that {name} passes");
    }
}
