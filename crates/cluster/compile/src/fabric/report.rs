//! What there is to say about objects of the fabric: for which nodes they are, and what does not work where.

use std::{
    any::Any,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use netloom_api::{condition::Truth, fabric::GROUP};
use netloom_object::ObjectRef;
use serde_json::{Value, json};

use super::{
    choice::Choice,
    in_force::{Broken, InForce},
};
use crate::{
    finding::{Finding, reason},
    outcome::Outcome,
    output::conditions,
    report::{Report, Seen, UntimedCondition, short},
};

/// What there is to say about one object.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FabricReport {
    /// Why the object cannot be used as it stands.
    pub broken: Option<Broken>,
    /// Who asks for its entries: its intent, where it was generated, else the object itself.
    pub asker: Option<ObjectRef>,
    /// The nodes that it is for.
    pub matched: Arc<BTreeSet<String>>,
    /// What does not work, by node.
    pub refused: BTreeMap<String, Finding>,
    /// What else its status has.
    pub status: Value,
    /// What is worth a word although nothing is wrong.
    pub note: Option<Finding>,
    /// A low-level object that is to be written before nodes can be asked about an intent.
    pub awaits: Option<ObjectRef>,
    /// The objects that use it, where it does nothing by itself.
    pub users: Option<BTreeSet<ObjectRef>>,
}

impl Report for FabricReport {
    /// What does not work, as condition `Ready`: that of the whole object, else of the first node.
    fn verdicts(&self) -> Vec<UntimedCondition> {
        let not_ready =
            |reason, message| UntimedCondition { kind: "Ready", status: Truth::False, reason, message: short(message) };
        if let Some((first, broken)) = self.broken.as_ref().and_then(|broken| Some((broken.findings.first()?, broken)))
        {
            let then = if broken.stays { "its last good version stays in effect" } else { "it has no effect" };
            return vec![not_ready(first.reason, format!("{first}; {then}"))];
        }
        let Some((node, first)) = self.refused.first_key_value() else {
            let noted = self.note.iter().filter(|note| note.reason != reason::NO_DESTINATIONS);
            return noted.map(|note| not_ready(note.reason, note.to_string())).collect();
        };
        let nodes = self.refused.values().filter(|finding| *finding == first).count();
        let seen = Seen { what: first.clone(), nodes, first: node.clone() };
        vec![not_ready(first.reason, seen.sentence())]
    }

    fn foreseen(&self) -> Vec<UntimedCondition> {
        let nobody = self.broken.is_none() && self.matched.is_empty() && self.status.is_null();
        let message = "no node is selected".to_owned();
        let idle = UntimedCondition { kind: "Ready", status: Truth::True, reason: reason::NO_MATCHING_NODE, message };
        self.verdicts().into_iter().chain(nobody.then_some(idle)).collect()
    }

    fn written(&self, verdicts: &[UntimedCondition]) -> Value {
        let mut object = json!({"apiVersion": format!("{GROUP}/v1alpha1")});
        if !self.status.is_null() {
            object["status"] = self.status.clone();
        }
        if !verdicts.is_empty() {
            object["status"]["conditions"] = json!(conditions(verdicts, None));
        }
        object
    }

    fn nodes(&self) -> Option<&BTreeSet<String>> {
        Some(&self.matched)
    }
}

/// Tells about every low-level object.
pub(super) fn reports(all: &InForce, outcome: &Outcome<'_>) -> BTreeMap<ObjectRef, FabricReport> {
    let mut reports: BTreeMap<ObjectRef, FabricReport> = BTreeMap::new();
    let mut add = |object: ObjectRef, asker: &ObjectRef| {
        reports.insert(object, FabricReport { asker: Some(asker.clone()), ..FabricReport::default() });
    };
    all.segments.iter().for_each(|one| add(one.object(), &one.asker));
    all.routes.iter().for_each(|one| add(one.object(), &one.asker));
    all.sessions.iter().for_each(|one| add(one.object(), &one.asker));
    reports.extend(all.intents.reports.iter().map(|(object, report)| (object.clone(), report.clone())));
    for (object, broken) in &all.broken {
        reports.entry(object.clone()).or_default().broken = Some(broken.clone());
    }
    let mut members = outcome.members();
    for (object, groups) in chosen(outcome) {
        if let Some(report) = reports.get_mut(&object) {
            report.matched = members.of(groups);
        }
    }
    for (node, part) in outcome.parts() {
        for (object, finding) in &part.refusals {
            if let Some(report) = reports.get_mut(object) {
                report.refused.entry(node.to_owned()).or_insert_with(|| finding.clone());
            }
        }
    }
    follow_generated(&mut reports);
    let asks: Vec<(ObjectRef, ObjectRef)> =
        reports.iter().filter_map(|(object, report)| Some((object.clone(), report.asker.clone()?))).collect();
    for (node, conflict) in outcome.conflicts() {
        for (object, asker) in &asks {
            let source = netloom_model::Source::object((asker.kind.group, asker.kind.kind), "", &asker.key.name);
            if conflict.loser == source
                && let Some(report) = reports.get_mut(object)
            {
                let finding = Finding::new(reason::CONFLICT, conflict.place.as_str(), conflict.to_string());
                report.refused.entry(node.to_owned()).or_insert(finding);
            }
        }
    }
    reports
}

/// An intent is where its low-level objects are, and does not work where they do not.
fn follow_generated(reports: &mut BTreeMap<ObjectRef, FabricReport>) {
    let generated: Vec<(ObjectRef, ObjectRef, FabricReport)> = reports
        .iter()
        .filter_map(|(object, report)| {
            let asker = report.asker.clone().filter(|asker| asker != object)?;
            Some((object.clone(), asker, report.clone()))
        })
        .collect();
    for (object, asker, of_object) in generated {
        let Some(intent) = reports.get_mut(&asker) else { continue };
        let named = |finding: &Finding| {
            let (kind, name) = (object.kind.kind, &object.key.name);
            Finding::new(finding.reason, "", format!("{kind} {name:?}, which is made of it: {finding}"))
        };
        if !of_object.matched.is_subset(&intent.matched) {
            Arc::make_mut(&mut intent.matched).extend(of_object.matched.iter().cloned());
        }
        if let (None, Some(broken)) = (&intent.broken, &of_object.broken) {
            let findings = broken.findings.iter().map(named).collect();
            intent.broken = Some(Broken { findings, stays: broken.stays });
        }
        for (node, finding) in &of_object.refused {
            intent.refused.entry(node.clone()).or_insert_with(|| named(finding));
        }
    }
}

/// The groups of nodes that each object is for.
fn chosen(outcome: &Outcome<'_>) -> BTreeMap<ObjectRef, Vec<usize>> {
    let mut chosen: BTreeMap<ObjectRef, Vec<usize>> = BTreeMap::new();
    for (group, (_, _, selected)) in outcome.groups().enumerate() {
        let choices = selected.iter().filter_map(|one| (one.as_ref() as &dyn Any).downcast_ref::<Choice>());
        for object in choices.flat_map(|choice| &choice.matched) {
            chosen.entry(object.clone()).or_default().push(group);
        }
    }
    chosen
}
