//! What there is to say about policies: for how many nodes they are, and what was left out where.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use netloom_api::condition::Truth;
use netloom_model::Source;
use netloom_object::ObjectRef;
use serde_json::{Value, json};

use super::{
    objects::Policy,
    policy::{PolicySet, source},
};
use crate::{
    finding::{Conflict, Finding, reason},
    key::ObjectKey,
    outcome::Outcome,
    output::conditions,
    report::{Report, Seen, UntimedCondition, short},
    snapshot::Readable as _,
};

/// What there is to say about a policy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PolicyReport {
    /// The generation of the policy that this is about.
    pub generation: Option<i64>,
    /// How many nodes the policy selects.
    pub matched_nodes: usize,
    /// On how many of them a rule matches a link.
    pub nodes_with_links: usize,
    /// Why the policy cannot be used as it stands.
    pub broken: Vec<Finding>,
    /// Whether an earlier version stays in effect in its place.
    pub stays: bool,
    /// What was left out for somebody with precedence: the first one, and on how many nodes.
    pub conflict: Option<Seen<Conflict>>,
    /// What else was left out: each with the number of nodes.
    pub findings: Vec<Seen<Finding>>,
    /// Nodes with matched links that merge policies themselves, outside of every rollout.
    pub left_to_nodes: Option<Seen<()>>,
}

impl Seen<()> {
    fn merging(&self) -> String {
        let Self { what: (), nodes, first } = self;
        format!("; merged by the nodes themselves and not rolled out: {nodes} ({first} is the first)")
    }
}

impl Report for PolicyReport {
    /// `Ready`, and `PolicyConflict` where there is one.
    fn verdicts(&self) -> Vec<UntimedCondition> {
        let mut verdicts = vec![self.ready()];
        if let Some(conflict) = &self.conflict {
            verdicts.push(UntimedCondition {
                kind: "PolicyConflict",
                status: Truth::True,
                reason: reason::POLICY_CONFLICT,
                message: short(conflict.sentence()),
            });
        }
        verdicts
    }

    fn written(&self, verdicts: &[UntimedCondition]) -> Value {
        let mut status =
            json!({"conditions": conditions(verdicts, self.generation), "matchedNodes": self.matched_nodes});
        if let Some(generation) = self.generation {
            status["observedGeneration"] = json!(generation);
        }
        json!({"apiVersion": "nmstate.io/v1", "status": status})
    }
}

impl PolicyReport {
    fn ready(&self) -> UntimedCondition {
        let left = self.left_to_nodes.as_ref().map(Seen::merging).unwrap_or_default();
        let verdict = |status, reason, message: String| {
            let message = short(format!("{message}{left}"));
            UntimedCondition { kind: "Ready", status, reason, message }
        };
        if let Some(first) = self.broken.first() {
            let then = if self.stays { "its last good version stays in effect" } else { "it has no effect" };
            return verdict(Truth::False, first.reason, format!("{first}; {then}"));
        }
        if self.matched_nodes == 0 {
            return verdict(Truth::True, reason::NO_MATCHING_NODE, "no node is selected".to_owned());
        }
        if self.nodes_with_links == 0 {
            let message = format!("selected nodes: {}; none has a link that a rule matches", self.matched_nodes);
            return verdict(Truth::True, reason::NO_MATCHING_INTERFACE, message);
        }
        // An entry for a link that no rule matches is not for this policy to do; the rest must be done.
        let (idle, left_out): (Vec<_>, Vec<_>) =
            self.findings.iter().partition(|finding| finding.what.reason == reason::NOT_MATCHED);
        if let Some(conflict) = &self.conflict {
            return verdict(Truth::False, reason::POLICY_CONFLICT, conflict.sentence());
        }
        if let Some(finding) = left_out.first() {
            return verdict(Truth::False, finding.what.reason, finding.sentence());
        }
        if let Some(finding) = idle.first() {
            return verdict(Truth::True, finding.what.reason, finding.sentence());
        }
        let message = format!("selected nodes: {}; with matched links: {}", self.matched_nodes, self.nodes_with_links);
        verdict(Truth::True, "Compiled", message)
    }
}

/// Tells about every policy.
pub(super) fn reports(set: &PolicySet, outcome: &Outcome<'_>) -> Vec<(ObjectRef, Arc<dyn Report>)> {
    let mut reports: BTreeMap<Source, PolicyReport> = BTreeMap::new();
    let mut selected: HashMap<u64, usize> = HashMap::new();
    for (nodes, _, chosen) in outcome.groups() {
        for policy in chosen {
            *selected.entry(policy.id()).or_default() += nodes;
        }
    }
    for policy in set.prepared() {
        let live = outcome.snapshot.get::<Policy>(&policy.source.key);
        let report = PolicyReport {
            generation: live.and_then(|policy| policy.meta.generation),
            matched_nodes: selected.get(&policy.id).copied().unwrap_or_default(),
            ..PolicyReport::default()
        };
        reports.insert(policy.asker(), report);
    }
    for (key, broken) in set.broken() {
        let report = reports.entry(source(key)).or_default();
        report.generation = broken.generation;
        report.broken.clone_from(&broken.findings);
        report.stays = broken.stays;
    }
    tell(&mut reports, outcome);
    tell_who_merges(&mut reports, outcome);
    let object = |source: &Source| source.as_object().map(|object| ObjectKey::new(&*object.namespace, &*object.name));
    let assigned = reports.into_iter().filter_map(|(source, report)| {
        let target = ObjectRef { kind: Policy::KIND, key: object(&source)? };
        Some((target, Arc::new(report) as Arc<dyn Report>))
    });
    assigned.collect()
}

/// Adds to each report what was left out on which nodes.
fn tell(reports: &mut BTreeMap<Source, PolicyReport>, outcome: &Outcome<'_>) {
    let mut findings: BTreeMap<(&Source, &Finding), Seen<()>> = BTreeMap::new();
    for (place, desired) in outcome.classes() {
        let mut assigned: Vec<&Source> = Vec::new();
        for conflict in &desired.conflicts {
            let Some(report) = reports.get_mut(&conflict.loser).filter(|_| !assigned.contains(&&conflict.loser)) else {
                continue;
            };
            assigned.push(&conflict.loser);
            let here = Seen { what: conflict.clone(), nodes: place.nodes, first: place.first.clone() };
            match &mut report.conflict {
                Some(seen) => seen.join(&here),
                none => *none = Some(here),
            }
        }
        for (policy, links) in &desired.matched {
            if let Some(report) = reports.get_mut(policy).filter(|_| !links.is_empty()) {
                report.nodes_with_links += place.nodes;
            }
        }
        for (policy, finding) in desired.findings.iter().flat_map(|(key, all)| all.iter().map(move |one| (key, one))) {
            let here = Seen { what: (), nodes: place.nodes, first: place.first.clone() };
            findings.entry((policy, finding)).and_modify(|seen| seen.join(&here)).or_insert(here);
        }
    }
    for ((policy, finding), Seen { what: (), nodes, first }) in findings {
        if let Some(report) = reports.get_mut(policy) {
            report.findings.push(Seen { what: finding.clone(), nodes, first });
        }
    }
}

/// Adds to each report which of its nodes merge policies themselves.
fn tell_who_merges(reports: &mut BTreeMap<Source, PolicyReport>, outcome: &Outcome<'_>) {
    for (node, desired) in outcome.merging() {
        for (policy, _) in desired.matched.iter().filter(|(_, links)| !links.is_empty()) {
            let Some(report) = reports.get_mut(policy) else { continue };
            let here = Seen { what: (), nodes: 1, first: node.to_owned() };
            match &mut report.left_to_nodes {
                Some(seen) => seen.join(&here),
                none => *none = Some(here),
            }
        }
    }
}
