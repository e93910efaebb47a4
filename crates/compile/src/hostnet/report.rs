//! What there is to say about uplinks and host networks: for which nodes they are, and what does not work where.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use netloom_api::condition::Truth;

use super::{
    choice::Choice,
    networks::{Asking, Broken, Networks},
    part::HostPart,
};
use crate::{
    finding::Finding,
    placement::Group,
    report::{Seen, Verdict, short},
};

/// Reports by kind and name.
pub type Reports = BTreeMap<(Asking, String), NetworkReport>;

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

impl NetworkReport {
    /// What does not work, as conditions `ready`: that of the whole object, else of the first node.
    pub fn verdicts(&self) -> Vec<Verdict> {
        let not_ready =
            |reason, message| Verdict { kind: "ready", status: Truth::False, reason, message: short(message) };
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
}

/// Tells about every object. `choices` has one for each group, `parts` one for each node that gets anything.
pub(crate) fn reports<'a>(
    networks: &Networks,
    groups: &[Group],
    choices: &[Choice],
    parts: impl Iterator<Item = (&'a str, &'a HostPart)>,
) -> Reports {
    let mut reports: Reports = BTreeMap::new();
    for uplink in &networks.uplinks {
        let cluster_network = Some(uplink.spec.cluster_network.clone());
        let report = NetworkReport { cluster_network, ..NetworkReport::default() };
        reports.insert((Asking::VlanConfig, uplink.source.key.name.clone()), report);
    }
    for host in &networks.hosts {
        let report = NetworkReport {
            cluster_network: Some(host.spec.cluster_network.clone()),
            interface: Some(host.interface.clone()),
            underlay: host.spec.underlay,
            ..NetworkReport::default()
        };
        reports.insert((Asking::HostNetworkConfig, host.source.key.name.clone()), report);
    }
    for (object, broken) in &networks.broken {
        reports.entry(object.clone()).or_default().broken = Some(broken.clone());
    }
    let mut members = Members { groups, known: HashMap::new() };
    for (object, Chosen { matched, stranded }) in chosen(choices) {
        if let Some(report) = reports.get_mut(&(object.0, object.1.to_owned())) {
            report.matched = members.of(matched);
            report.stranded = members.of(stranded);
        }
    }
    for (node, part) in parts {
        for refusal in &part.refusals {
            if let Some(report) = reports.get_mut(&(refusal.asking, refusal.name.clone())) {
                report.refused.entry(node.to_owned()).or_insert_with(|| refusal.finding.clone());
            }
        }
    }
    reports
}

/// Groups of nodes that an object is for, and those that it selects and does not reach.
#[derive(Default)]
struct Chosen {
    matched: Vec<usize>,
    stranded: Vec<usize>,
}

fn chosen(choices: &[Choice]) -> BTreeMap<(Asking, &str), Chosen> {
    let mut chosen: BTreeMap<(Asking, &str), Chosen> = BTreeMap::new();
    for (group, choice) in choices.iter().enumerate() {
        for uplink in &choice.matched {
            chosen.entry((Asking::VlanConfig, &uplink.source.key.name)).or_default().matched.push(group);
        }
        for host in &choice.hosts {
            chosen.entry((Asking::HostNetworkConfig, &host.source.key.name)).or_default().matched.push(group);
        }
        for host in &choice.stranded {
            chosen.entry((Asking::HostNetworkConfig, &host.source.key.name)).or_default().stranded.push(group);
        }
    }
    chosen
}

/// The names of the nodes of groups, each set of them made once.
struct Members<'a> {
    groups: &'a [Group],
    known: HashMap<Vec<usize>, Arc<BTreeSet<String>>>,
}

impl Members<'_> {
    fn of(&mut self, groups: Vec<usize>) -> Arc<BTreeSet<String>> {
        if let Some(known) = self.known.get(&groups) {
            return known.clone();
        }
        let names = groups.iter().flat_map(|group| self.groups[*group].members.iter().cloned());
        let made = Arc::new(names.collect::<BTreeSet<String>>());
        self.known.insert(groups, made.clone());
        made
    }
}
