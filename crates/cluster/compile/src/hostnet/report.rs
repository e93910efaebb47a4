//! What there is to say about uplinks and host networks: for which nodes they are, and what does not work where.

use std::{
    any::Any,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use netloom_api::{
    condition::Truth,
    hostnet::{GROUP, names},
};
use netloom_object::ObjectRef;
use serde_json::{Value, json};

use super::{
    choice::Choice,
    networks::{Broken, Networks},
};
use crate::{
    finding::{Finding, reason},
    outcome::Outcome,
    output::conditions,
    report::{Report, Seen, UntimedCondition, short},
};

/// What there is to say about one object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NetworkReport {
    /// Why the object cannot be used as it stands.
    pub broken: Option<Broken>,
    /// The cluster network that it is of, as far as it is in force.
    pub cluster_network: Option<String>,
    /// What its interface is called; of a host network only.
    pub interface: Option<String>,
    /// Whether tunnels of overlay networks use that, as far as it is in force.
    pub underlay: bool,
    /// The nodes that it is for: selected, and for a host network also reached by its cluster network. Many objects are
    /// for the same ones.
    pub matched: Arc<BTreeSet<String>>,
    /// Nodes that a host network selects and its cluster network does not reach.
    pub stranded: Arc<BTreeSet<String>>,
    /// What does not work, by node.
    pub refused: BTreeMap<String, Finding>,
}

impl Report for NetworkReport {
    /// What does not work, as conditions `ready`: that of the whole object, else of the first node.
    fn verdicts(&self) -> Vec<UntimedCondition> {
        let not_ready =
            |reason, message| UntimedCondition { kind: "ready", status: Truth::False, reason, message: short(message) };
        if let Some((first, broken)) = self.broken.as_ref().and_then(|broken| Some((broken.findings.first()?, broken)))
        {
            let then = if broken.stays { "its last good version stays in effect" } else { "it has no effect" };
            return vec![not_ready(first.reason, format!("{first}; {then}"))];
        }
        let Some((node, first)) = self.refused.first_key_value() else { return Vec::new() };
        let nodes = self.refused.values().filter(|finding| *finding == first).count();
        let seen = Seen { what: first.clone(), nodes, first: node.clone() };
        vec![not_ready(first.reason, seen.sentence())]
    }

    fn foreseen(&self) -> Vec<UntimedCondition> {
        let nobody = self.broken.is_none() && self.matched.is_empty() && self.stranded.is_empty();
        let message = "no node is selected".to_owned();
        let idle = UntimedCondition { kind: "ready", status: Truth::True, reason: reason::NO_MATCHING_NODE, message };
        self.verdicts().into_iter().chain(nobody.then_some(idle)).collect()
    }

    /// The nodes that an object is for, and what does not work: as a whole, or on some of them.
    fn written(&self, verdicts: &[UntimedCondition]) -> Value {
        let annotations = json!({names::MATCHED_NODES: json!(*self.matched).to_string()});
        let version = format!("{GROUP}/v1beta1");
        let mut object = json!({"apiVersion": version, "metadata": {"annotations": annotations}});
        if !verdicts.is_empty() {
            object["status"] = json!({"conditions": conditions(verdicts, None)});
        }
        object
    }
}

/// Tells about every object.
pub(super) fn reports(networks: &Networks, outcome: &Outcome<'_>) -> Vec<(ObjectRef, Arc<dyn Report>)> {
    let mut reports: BTreeMap<ObjectRef, NetworkReport> = BTreeMap::new();
    for uplink in &networks.uplinks {
        let cluster_network = Some(uplink.spec.cluster_network.clone());
        let report = NetworkReport { cluster_network, ..NetworkReport::default() };
        reports.insert(uplink.object(), report);
    }
    for host in &networks.hosts {
        let report = NetworkReport {
            cluster_network: Some(host.spec.cluster_network.clone()),
            interface: Some(host.interface.clone()),
            underlay: host.spec.underlay,
            ..NetworkReport::default()
        };
        reports.insert(host.object(), report);
    }
    for (object, broken) in &networks.broken {
        reports.entry(object.clone()).or_default().broken = Some(broken.clone());
    }
    let mut members = outcome.members();
    for (object, Chosen { matched, stranded }) in chosen(outcome) {
        if let Some(report) = reports.get_mut(&object) {
            report.matched = members.of(matched);
            report.stranded = members.of(stranded);
        }
    }
    for (node, part) in outcome.parts() {
        for (object, finding) in &part.refusals {
            if let Some(report) = reports.get_mut(object) {
                report.refused.entry(node.to_owned()).or_insert_with(|| finding.clone());
            }
        }
    }
    reports.into_iter().map(|(object, report)| (object, Arc::new(report) as Arc<dyn Report>)).collect()
}

/// Groups of nodes that an object is for, and those that it selects and does not reach.
#[derive(Default)]
struct Chosen {
    matched: Vec<usize>,
    stranded: Vec<usize>,
}

fn chosen(outcome: &Outcome<'_>) -> BTreeMap<ObjectRef, Chosen> {
    let mut chosen: BTreeMap<ObjectRef, Chosen> = BTreeMap::new();
    for (group, (_, _, selected)) in outcome.groups().enumerate() {
        let choices = selected.iter().filter_map(|one| (one.as_ref() as &dyn Any).downcast_ref::<Choice>());
        for choice in choices {
            for uplink in &choice.matched {
                chosen.entry(uplink.object()).or_default().matched.push(group);
            }
            for host in &choice.hosts {
                chosen.entry(host.object()).or_default().matched.push(group);
            }
            for host in &choice.stranded {
                chosen.entry(host.object()).or_default().stranded.push(group);
            }
        }
    }
    chosen
}
