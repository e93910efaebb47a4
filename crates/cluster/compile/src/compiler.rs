//! Compiles a snapshot, and remembers what it has worked out.
//!
//! ```text
//! objects --front ends--> wants                 nodes --> groups, classes
//! wants x group --> selected                    selected x class --> contribution
//! contributions x what was written manually --resolution--> what the nodes of a class shall have
//! ```
//!
//! Every arrow is a pure function whose answers are kept under everything that it reads. So the
//! answers of a compiler that has run before are those of a fresh one, and the work follows what
//! has changed. What one run and the one before it did not ask for is forgotten.

use std::{
    collections::{BTreeMap, HashMap},
    hash::Hash,
    sync::Arc,
};

use netloom_api::pipeline::{
    NetworkConfigRevision,
    node_network_config::{fabric::FabricConfig, host::HostConfig},
};
use serde_json::json;

use crate::{
    contribution::{Contribution, HostPart},
    digest,
    finding::{Asker, Conflict, Finding, reason},
    front_end::{BUILT_IN, ConfigPart, FrontEnd, Generated, NodeClass, Reader, Selected, Wants},
    key::{ObjectKey, ObjectRef},
    layout::Weighed,
    node_target::NodeTargets,
    objects::NodeState,
    outcome::{Chosen, Outcome},
    placement::{Facts, Group, NodeClassifier, Place, Placement},
    report::{Report, Reports, StateReport},
    resolution::{Desired, Ground, HostUnits, fabric_without, resolve, without},
    revision::Revision,
    snapshot::{Readable as _, Snapshot},
};

/// Everything that follows from a snapshot.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// The configuration that all nodes shall have in the end.
    pub revision: Arc<Revision>,
    /// What that is on each node.
    pub nodes: Arc<NodeTargets>,
    /// What to tell about objects; of network states only where there is something to tell.
    pub reports: Reports,
    /// The objects that shall be there because of others, by the name of their front end.
    pub generated: Vec<(&'static str, Vec<Generated>)>,
}

/// Compiles a snapshot from nothing.
pub fn compile(snapshot: &Snapshot) -> Compiled {
    Compiler::default().compile(snapshot)
}

/// How much work was done; for telling that it follows what has changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Objects that were read.
    pub objects: usize,
    /// Nodes that were sorted into classes.
    pub nodes: usize,
    /// Times that an object was asked whether it selects a group of nodes.
    pub selections: usize,
    /// Times that it was asked what is wanted of a class of nodes.
    pub contributions: usize,
    /// Times that it was decided over everything that is wanted of a class of nodes.
    pub merges: usize,
}

/// Compiles snapshots that follow each other.
#[derive(Debug, Clone)]
pub struct Compiler {
    run: u64,
    counts: Counts,
    classifier: NodeClassifier,
    readers: Readers,
    /// What was wanted in the last run.
    last: Vec<Arc<dyn Wants>>,
    /// What revisions want. Their content never changes, so it is read once.
    thawed: Memory<RevisionKey, Vec<Arc<dyn Wants>>>,
    selections: Memory<(u64, u32), bool>,
    contributions: Memory<(u64, u32, (u64, u64)), Arc<Contribution>>,
    resolved: Memory<(u64, Links, u32), Arc<Desired>>,
    parts: Memory<(u64, u32, u64), Arc<HostPart>>,
    /// The same for one node, known without asking what it has for itself.
    of_nodes: Memory<(String, u64, u32, u64), Arc<HostPart>>,
    revision: Option<(Vec<u64>, Arc<Revision>)>,
}

/// The uid and the name of a revision.
type RevisionKey = (Option<String>, String);
/// Links that nodes report, and those of them that are leaving, by number.
type Links = (u32, u64);

/// The front ends, and who reads their objects.
#[derive(Debug)]
struct Readers(Vec<(&'static dyn FrontEnd, Box<dyn Reader>)>);

impl Readers {
    fn of(front_ends: impl Iterator<Item = &'static dyn FrontEnd>) -> Self {
        Self(front_ends.map(|front_end| (front_end, front_end.reader())).collect())
    }

    /// How many objects were read in all.
    fn read(&self) -> usize {
        self.0.iter().map(|(_, reader)| reader.read()).sum()
    }
}

impl Clone for Readers {
    /// Somebody who has read nothing yet says the same.
    fn clone(&self) -> Self {
        Self::of(self.0.iter().map(|(front_end, _)| *front_end))
    }
}

/// Everything that was worked out for one set of objects.
struct Answers {
    nodes: NodeTargets,
    chosen: Vec<Chosen>,
}

/// Answers and when they were last asked for.
#[derive(Debug, Clone)]
struct Memory<K, V>(HashMap<K, (V, u64)>);

impl<K, V> Default for Memory<K, V> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Eq + Hash, V: Clone> Memory<K, V> {
    fn get(&mut self, run: u64, key: K, make: impl FnOnce() -> V) -> V {
        let (value, used) = self.0.entry(key).or_insert_with(|| (make(), run));
        *used = run;
        value.clone()
    }

    fn forget(&mut self, run: u64) {
        self.0.retain(|_, (_, used)| *used + 1 >= run);
    }
}

impl Default for Compiler {
    fn default() -> Self {
        Self::new(BUILT_IN)
    }
}

impl Compiler {
    /// One for these front ends, in the order of their precedence.
    pub fn new(front_ends: &[&'static dyn FrontEnd]) -> Self {
        Self {
            run: 0,
            counts: Counts::default(),
            classifier: NodeClassifier::default(),
            readers: Readers::of(front_ends.iter().copied()),
            last: Vec::new(),
            thawed: Memory::default(),
            selections: Memory::default(),
            contributions: Memory::default(),
            resolved: Memory::default(),
            parts: Memory::default(),
            of_nodes: Memory::default(),
            revision: None,
        }
    }

    /// Compiles a snapshot.
    pub fn compile(&mut self, snapshot: &Snapshot) -> Compiled {
        self.run += 1;
        self.counts = Counts::default();
        let wants = self.read(|reader| reader.live(snapshot));
        let Answers { nodes, chosen } = self.answers(snapshot, &wants);
        let revision = self.revision(&wants);
        let mut reports = state_reports(snapshot, &nodes);
        for (place, wants) in wants.iter().enumerate() {
            let outcome = Outcome { snapshot, nodes: &nodes, chosen: &chosen, place };
            reports.0.extend(wants.reports(&outcome));
        }
        let names = self.readers.0.iter().map(|(front_end, _)| front_end.name());
        let generated = names.zip(wants.iter().map(|wants| wants.generate())).collect();
        self.last = wants;
        self.forget();
        Compiled { revision, nodes: Arc::new(nodes), reports, generated }
    }

    /// What a revision means on the nodes of a snapshot.
    ///
    /// None while parts of it are missing: what is not known whole is nothing to tell a node.
    pub fn node_targets(&mut self, snapshot: &Snapshot, revision: &NetworkConfigRevision) -> Option<Arc<NodeTargets>> {
        let content = snapshot.frozen(revision);
        if !content.is_whole() {
            return None;
        }
        let key = (revision.metadata.uid.clone(), revision.spec.revision.clone());
        if !self.thawed.0.contains_key(&key) {
            let wants = self.read(|reader| reader.frozen(&content));
            self.thawed.0.insert(key.clone(), (wants, self.run));
        }
        let wants = self.thawed.get(self.run, key, Vec::new);
        Some(Arc::new(self.answers(snapshot, &wants).nodes))
    }

    /// The work of the last run, with what was asked of it since.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    fn read(&mut self, mut read: impl FnMut(&mut dyn Reader) -> Arc<dyn Wants>) -> Vec<Arc<dyn Wants>> {
        let before = self.readers.read();
        let wants = self.readers.0.iter_mut().map(|(_, reader)| read(reader.as_mut())).collect();
        self.counts.objects += self.readers.read() - before;
        wants
    }

    fn answers(&mut self, snapshot: &Snapshot, wants: &[Arc<dyn Wants>]) -> Answers {
        let sorted = self.classifier.placed;
        let placement = self.classifier.place(snapshot, wants.iter().map(|wants| wants.looks()));
        self.counts.nodes += self.classifier.placed - sorted;
        let chosen: Vec<Chosen> = placement.groups.iter().map(|group| self.choose(wants, group)).collect();
        let groups: Vec<InGroup> = chosen.iter().map(InGroup::of).collect();
        let desired: Vec<Arc<Desired>> =
            placement.places.iter().map(|place| self.resolved(&groups[place.group], &place.facts)).collect();
        let hosts = self.hosts(snapshot, &placement, &groups, &desired);
        Answers { nodes: NodeTargets { placement, desired, hosts }, chosen }
    }

    /// What is for the nodes of a group.
    fn choose(&mut self, wants: &[Arc<dyn Wants>], group: &Group) -> Chosen {
        let Self { run, counts, selections, .. } = self;
        let mut selects = |object: u64, select: &dyn Fn(&crate::Node) -> bool| {
            selections.get(*run, (object, group.id), || {
                counts.selections += 1;
                select(&group.sample)
            })
        };
        wants.iter().map(|wants| wants.choose(&mut selects)).collect()
    }

    /// What was decided over everything that is wanted of a class of nodes.
    fn resolved(&mut self, group: &InGroup, facts: &Facts) -> Arc<Desired> {
        let Self { run, counts, contributions, resolved, .. } = self;
        let leaving = facts.inventory.leaving(|link| group.all.iter().any(|one| one.makes(link)));
        let leaving_id = if leaving.is_empty() { 0 } else { digest::number(&json!(leaving)) };
        let contested = group.contested();
        let list = digest::number(&json!(contested.iter().map(|one| one.id()).collect::<Vec<_>>()));
        resolved.get(*run, (list, (facts.inventory_id, leaving_id), facts.manual_id), || {
            let found = facts.manual.found(&facts.inventory, &leaving);
            let manually = found.links.values().any(|link| link.desired);
            let class = NodeClass {
                reported: &facts.inventory,
                node: None,
                found: &found,
                manual: &facts.manual,
                leaving_id,
                found_id: if manually { facts.manual_id.into() } else { 0 },
                manual_id: facts.manual_id,
            };
            let mut first = Vec::new();
            for one in contested {
                first.push(contributions.get(*run, (one.id(), facts.inventory_id, one.depends(&class)), || {
                    counts.contributions += 1;
                    Arc::new(one.contribute(&class))
                }));
            }
            counts.merges += 1;
            let config = contested.iter().zip(&first).filter(|(one, _)| one.medium() == ConfigPart::Config);
            let config: Vec<HostUnits> =
                config.map(|(_, contribution)| HostUnits::of(contribution, &facts.inventory)).collect();
            Arc::new(resolve(Ground { class, config: &config }, contested, first))
        })
    }

    /// What each node gets for its configuration.
    fn hosts(
        &mut self,
        snapshot: &Snapshot,
        placement: &Placement,
        groups: &[InGroup],
        desired: &[Arc<Desired>],
    ) -> BTreeMap<String, Arc<HostPart>> {
        let mut hosts = BTreeMap::new();
        for (node, placed_node) in &placement.nodes {
            let place = &placement.places[placed_node.place];
            let group = &groups[place.group];
            if group.config().is_empty() {
                continue;
            }
            let part = if place.facts.inventory.links.is_empty() {
                let assigned =
                    snapshot.configs.get(&ObjectKey::global(node)).and_then(|config| config.spec.host.as_ref());
                Arc::new(part(group, &place.facts, node, (&desired[placed_node.place], assigned)))
            } else {
                self.part(group, place, node, &desired[placed_node.place])
            };
            hosts.insert(node.clone(), part);
        }
        hosts
    }

    fn part(&mut self, group: &InGroup, place: &Place, node: &str, desired: &Desired) -> Arc<HostPart> {
        let Self { run, counts, parts, of_nodes, .. } = self;
        let (inventory, lost) = (place.facts.inventory_id, desired.lost_id());
        of_nodes.get(*run, (node.to_owned(), group.whole_id, inventory, lost), || {
            let class = class_of(&place.facts, Some(node));
            let own: Vec<_> = group.config().iter().map(|one| (one.id(), one.depends(&class))).collect();
            parts.get(*run, (digest::number(&json!(own)), inventory, lost), || {
                counts.contributions += group.config().len();
                Arc::new(self::part(group, &place.facts, node, (desired, None)))
            })
        })
    }

    fn revision(&mut self, wants: &[Arc<dyn Wants>]) -> Arc<Revision> {
        let frozen: Vec<Weighed> = wants.iter().flat_map(|wants| wants.freeze()).collect();
        let ids: Vec<u64> = frozen.iter().map(Weighed::id).collect();
        match &self.revision {
            Some((known, revision)) if *known == ids => revision.clone(),
            Some(_) | None => {
                let revision = Arc::new(Revision::of(frozen));
                self.revision = Some((ids, revision.clone()));
                revision
            }
        }
    }

    fn forget(&mut self) {
        self.thawed.forget(self.run);
        self.selections.forget(self.run);
        self.contributions.forget(self.run);
        self.resolved.forget(self.run);
        self.of_nodes.forget(self.run);
        // A part that nodes know without asking for it stays as well.
        self.parts.0.retain(|_, (part, used)| *used + 1 >= self.run || Arc::strong_count(part) > 1);
    }
}

/// Everything that is for the nodes of a group, in the order in which it wins.
struct InGroup {
    /// What goes into the configuration, then what goes into the desired state.
    all: Vec<Arc<dyn Selected>>,
    /// How many of them go into the configuration.
    configs: usize,
    whole_id: u64,
}

impl InGroup {
    fn of(chosen: &Chosen) -> Self {
        let of = |medium: ConfigPart| chosen.iter().flatten().filter(move |one| one.medium() == medium).cloned();
        let mut all: Vec<Arc<dyn Selected>> = of(ConfigPart::Config).collect();
        let configs = all.len();
        let whole_id = digest::number(&json!(all.iter().map(|one| one.whole_id()).collect::<Vec<_>>()));
        all.extend(of(ConfigPart::State));
        Self { all, configs, whole_id }
    }

    fn config(&self) -> &[Arc<dyn Selected>] {
        &self.all[..self.configs]
    }

    /// What can contradict each other, or is written beside what was written manually.
    fn contested(&self) -> &[Arc<dyn Selected>] {
        if self.all.len() == 1 { &self.all[self.configs..] } else { &self.all }
    }
}

fn class_of<'a>(facts: &'a Facts, node: Option<&'a str>) -> NodeClass<'a> {
    let Facts { inventory, manual, .. } = facts;
    NodeClass { reported: inventory, node, found: inventory, manual, leaving_id: 0, found_id: 0, manual_id: 0 }
}

/// What a node gets for its configuration. Until it reports its links, it keeps what it was assigned where somebody must
/// know them.
fn part(group: &InGroup, facts: &Facts, node: &str, (desired, assigned): (&Desired, Option<&HostConfig>)) -> HostPart {
    let class = class_of(facts, Some(node));
    let (mut config, mut fabric) = (HostConfig::default(), FabricConfig::default());
    let (mut findings, mut waits) = (Vec::new(), false);
    for (place, one) in group.config().iter().enumerate() {
        let contribution = one.contribute(&class);
        waits |= contribution.waits;
        findings.extend(contribution.findings);
        if let Some(lost) = desired.lost.get(place).filter(|lost| !lost.is_empty()) {
            config.extend(without(contribution.host, lost));
            fabric.extend(fabric_without(contribution.fabric, lost));
        } else {
            config.extend(contribution.host);
            fabric.extend(contribution.fabric);
        }
    }
    let config = if waits { assigned.cloned() } else { Some(config).filter(|config| *config != HostConfig::default()) };
    HostPart::new(config, fabric, findings)
}

/// What to tell about network states: what is wrong with them as objects, with what was written
/// into them manually, and where that stands against an object.
fn state_reports(snapshot: &Snapshot, nodes: &NodeTargets) -> Reports {
    let mut found: BTreeMap<ObjectKey, Vec<Finding>> = nodes.placement.findings.clone();
    let stands = |conflict: &&Conflict| conflict.winner == Asker::Manual;
    let concerned: Vec<bool> = nodes
        .desired
        .iter()
        .map(|desired| !desired.held.is_empty() || desired.conflicts.iter().any(|conflict| stands(&conflict)))
        .collect();
    if concerned.contains(&true) {
        for placed_node in nodes.placement.nodes.values().filter(|placed_node| concerned[placed_node.place]) {
            let desired = &nodes.desired[placed_node.place];
            let conflicts = desired.conflicts.iter().filter(stands);
            let assigned =
                conflicts.map(|one| Finding::new(reason::POLICY_CONFLICT, "spec.desiredState", one.to_string()));
            found.entry(placed_node.object.clone()).or_default().extend(desired.held.iter().cloned().chain(assigned));
        }
    }
    let assigned = found.into_iter().map(|(key, findings)| {
        let generation = snapshot.states.get(&key).and_then(|state| state.meta.generation);
        let report: Arc<dyn Report> = Arc::new(StateReport { generation, findings });
        (ObjectRef { kind: NodeState::KIND, key }, report)
    });
    Reports(assigned.collect())
}
