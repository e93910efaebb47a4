//! Compiles a snapshot, and remembers what it has worked out.
//!
//! ```text
//! policies --> prepared (by content)           nodes --> groups, places
//! policy x group --> selected?                 policy x inventory --> contribution
//! selected policies x inventory x hand --> what the nodes of a place shall have
//! ```
//!
//! Every arrow is a pure function whose answers are kept under everything that it reads. So the
//! answers of a compiler that has run before are those of a fresh one, and the work follows what
//! has changed. What one run and the one before it did not ask for is forgotten.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    hash::Hash,
    sync::Arc,
};

use netloom_api::pipeline::NetworkConfigRevision;
use serde_json::json;

use crate::{
    digest,
    finding::{Asker, Conflict, Finding, reason},
    frozen::Frozen,
    hostnet::{self, Choice, HostPart, Known, Networks, Readings, Reports},
    key::ObjectKey,
    nodestate::{
        Claimed, Contribution, Desired, Ground, PolicySet, Prepared, contribute, merge_all, prepare, prepare_frozen,
    },
    objects::Policy,
    placement::{Facts, Group, Placement, Usher},
    report::{PolicyReport, Seen, StateReport},
    revision::Revision,
    snapshot::Snapshot,
    wishes::Wishes,
};

/// Everything that follows from a snapshot.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// The configuration that all nodes shall have in the end.
    pub revision: Arc<Revision>,
    /// What that is on each node.
    pub wishes: Arc<Wishes>,
    /// What to tell about each policy.
    pub policies: BTreeMap<ObjectKey, PolicyReport>,
    /// What to tell about uplinks and host networks.
    pub networks: Reports,
    /// What to tell about network states; only those about which there is something to tell.
    pub states: BTreeMap<ObjectKey, StateReport>,
}

/// Compiles a snapshot from nothing.
pub fn compile(snapshot: &Snapshot) -> Compiled {
    Compiler::default().compile(snapshot)
}

/// How much work was done; for telling that it follows what has changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Policies that were read.
    pub policies: usize,
    /// Nodes that were sorted into classes.
    pub nodes: usize,
    /// Times that a policy was asked whether it selects a group of nodes.
    pub selections: usize,
    /// Times that a policy was laid over the links of a class of nodes.
    pub contributions: usize,
    /// Times that the wishes of all policies for a class of nodes were merged.
    pub merges: usize,
    /// Uplinks and host networks that were read.
    pub networks: usize,
    /// Times that host networks were laid over the links of a class of nodes.
    pub parts: usize,
}

/// Compiles snapshots that follow each other.
#[derive(Debug, Clone, Default)]
pub struct Compiler {
    run: u64,
    counts: Counts,
    usher: Usher,
    live: HashMap<ObjectKey, (Arc<Policy>, Reading)>,
    frozen: Memory<u64, Reading>,
    thawed: Memory<(Option<String>, String), Arc<Networks>>,
    /// Those of the last run.
    networks: Option<Arc<Networks>>,
    selections: Memory<(u64, u32), bool>,
    contributions: Memory<(u64, Links, u32), Arc<Contribution>>,
    answers: Memory<(u64, Links, u32, u64), Answer>,
    claimed: Memory<(u64, u32), Arc<Claimed>>,
    readings: Readings,
    parts: Memory<(u64, u32, u64), Arc<HostPart>>,
    /// The same for one node, known without looking at its addresses.
    of_nodes: Memory<(String, u64, u32), Arc<HostPart>>,
    revision: Option<(Vec<u64>, Arc<Revision>)>,
}

/// Links that nodes report, and those of them that are leaving, by number.
type Links = (u32, u64);

/// A policy that was read, or why it cannot be used.
type Reading = Result<Arc<Prepared>, Vec<Finding>>;

/// What the nodes of a place shall have, and which policies match links there.
#[derive(Debug, Clone)]
struct Answer {
    desired: Arc<Desired>,
    linked: Arc<[u64]>,
}

/// Everything that was worked out for one set of objects, by node, place and group.
struct Answers {
    wishes: Wishes,
    places: Vec<Answer>,
    choices: Vec<Choice>,
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

impl Compiler {
    /// Compiles a snapshot.
    pub fn compile(&mut self, snapshot: &Snapshot) -> Compiled {
        self.run += 1;
        self.counts = Counts::default();
        let set = self.live(snapshot);
        let read = self.readings.read;
        let networks = Networks::live(snapshot, &mut self.readings);
        self.counts.networks += self.readings.read - read;
        let networks = Arc::new(networks);
        self.networks = Some(networks.clone());
        let Answers { wishes, places, choices } = self.answers(snapshot, &set, &networks);
        let revision = self.revision(&set, &networks);
        let policies = self.policy_reports(snapshot, &set, &wishes.placement, &places);
        let parts = wishes.hosts.iter().map(|(node, part)| (node.as_str(), part.as_ref()));
        let networks = hostnet::reports(&networks, &wishes.placement.groups, &choices, parts);
        let states = state_reports(&wishes);
        self.forget();
        Compiled { revision, wishes: Arc::new(wishes), policies, networks, states }
    }

    /// What a revision means on the nodes of a snapshot.
    ///
    /// None while parts of it are missing: what is not known whole is nothing to tell a node.
    pub fn wishes(&mut self, snapshot: &Snapshot, revision: &NetworkConfigRevision) -> Option<Arc<Wishes>> {
        let content = snapshot.frozen(revision);
        if !content.is_whole() {
            return None;
        }
        let networks = self.thawed(revision, &content);
        let Self { run, counts, frozen, .. } = self;
        let set = PolicySet::frozen_with(&content, |policy| {
            frozen.get(*run, digest::number(&json!(policy)), || {
                counts.policies += 1;
                prepare_frozen(policy).map(Arc::new)
            })
        });
        Some(Arc::new(self.answers(snapshot, &set, &networks).wishes))
    }

    /// The networks of a revision. Its content never changes, so it is read once.
    fn thawed(&mut self, revision: &NetworkConfigRevision, content: &Frozen<'_>) -> Arc<Networks> {
        let key = (revision.metadata.uid.clone(), revision.spec.revision.clone());
        if !self.thawed.0.contains_key(&key) {
            let before = self.thawed.0.values().map(|(networks, _)| networks.as_ref());
            let known = Known::of(before.chain(self.networks.as_deref()));
            self.thawed.0.insert(key.clone(), (Arc::new(Networks::frozen(content, &known)), self.run));
        }
        self.thawed.get(self.run, key, Arc::default)
    }

    /// The work of the last run, with what was asked of it since.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    fn live(&mut self, snapshot: &Snapshot) -> PolicySet {
        let Self { counts, live, .. } = self;
        live.retain(|key, _| snapshot.policies.get(key).is_some());
        PolicySet::live_with(snapshot, |policy| {
            if let Some((known, read)) = live.get(&policy.meta.key)
                && Arc::ptr_eq(known, policy)
            {
                return read.clone();
            }
            counts.policies += 1;
            let read = prepare(policy).map(Arc::new);
            live.insert(policy.meta.key.clone(), (policy.clone(), read.clone()));
            read
        })
    }

    fn answers(&mut self, snapshot: &Snapshot, set: &PolicySet, networks: &Networks) -> Answers {
        let sorted = self.usher.placed;
        let terms = set.prepared().iter().map(|policy| &policy.terms);
        let placement = self.usher.place(snapshot, terms, networks.labels());
        self.counts.nodes += self.usher.placed - sorted;
        let lists: Vec<(u64, Vec<&Prepared>)> = placement
            .groups
            .iter()
            .map(|group| {
                let selected: Vec<&Prepared> = set
                    .prepared()
                    .iter()
                    .map(Arc::as_ref)
                    .filter(|policy| {
                        self.selections.get(self.run, (policy.id, group.id), || {
                            self.counts.selections += 1;
                            policy.terms.select(&group.sample)
                        })
                    })
                    .collect();
                let ids: Vec<u64> = selected.iter().map(|policy| policy.id).collect();
                (digest::number(&json!(ids)), selected)
            })
            .collect();
        let choices = self.choices(networks, &placement);
        let answers: Vec<Answer> = placement
            .places
            .iter()
            .map(|place| {
                let (list, selected) = &lists[place.group];
                let choice = &choices[place.group];
                let leaving = place.facts.inventory.leaving(|link| choice.makes(link));
                let claimed = self.claimed(networks, choice, &place.facts, selected);
                self.answer(*list, selected, (&place.facts, &leaving, &claimed))
            })
            .collect();
        let desired = answers.iter().map(|answer| answer.desired.clone()).collect();
        let hosts = self.hosts(snapshot, networks, &placement, &choices);
        Answers { wishes: Wishes { placement, desired, hosts }, places: answers, choices }
    }

    /// What host networks are for the nodes of each group.
    fn choices(&mut self, networks: &Networks, placement: &Placement) -> Vec<Choice> {
        let Self { run, counts, selections, .. } = self;
        let choose = |group: &Group| {
            Choice::of(networks, |object, select| {
                selections.get(*run, (object, group.id), || {
                    counts.selections += 1;
                    select(&group.sample)
                })
            })
        };
        placement.groups.iter().map(choose).collect()
    }

    /// What each node gets of host networks.
    fn hosts(
        &mut self,
        snapshot: &Snapshot,
        networks: &Networks,
        placement: &Placement,
        choices: &[Choice],
    ) -> BTreeMap<String, Arc<HostPart>> {
        let Self { run, counts, parts, of_nodes, .. } = self;
        if networks.is_empty() {
            return BTreeMap::new();
        }
        let whole = |choice: &Choice| {
            let hosts: Vec<u64> = choice.hosts.iter().map(|host| host.id).collect();
            digest::number(&json!([choice.id, hosts]))
        };
        // Equal for choices that are equal with all addresses.
        let ids: Vec<u64> = choices.iter().map(whole).collect();
        let mut hosts = BTreeMap::new();
        for (node, seat) in &placement.nodes {
            let place = &placement.places[seat.place];
            let choice = &choices[place.group];
            if choice.is_empty(networks) {
                continue;
            }
            let part = if place.facts.inventory.links.is_empty() {
                let told = snapshot.configs.get(&ObjectKey::global(node)).and_then(|config| config.spec.host.as_ref());
                Arc::new(HostPart::unreported(choice, told))
            } else {
                of_nodes.get(*run, (node.clone(), ids[place.group], place.facts.inventory_id), || {
                    let own: Vec<Option<&str>> = choice.hosts.iter().map(|host| host.address_of(node)).collect();
                    let key = (choice.id, place.facts.inventory_id, digest::number(&json!(own)));
                    parts.get(*run, key, || {
                        counts.parts += 1;
                        Arc::new(HostPart::of(choice, networks, &place.facts.inventory, &own))
                    })
                })
            };
            hosts.insert(node.clone(), part);
        }
        hosts
    }

    /// What host networks claim on nodes of a place; nobody asks where no policy is for them.
    fn claimed(&mut self, networks: &Networks, choice: &Choice, facts: &Facts, selected: &[&Prepared]) -> Arc<Claimed> {
        if selected.is_empty() || choice.is_empty(networks) || facts.inventory.links.is_empty() {
            return Arc::default();
        }
        self.claimed.get(self.run, (choice.id, facts.inventory_id), || {
            let part = HostPart::of(choice, networks, &facts.inventory, &choice.some_addresses());
            Arc::new(part.config.map(|config| Claimed::of(&config, &facts.inventory)).unwrap_or_default())
        })
    }

    fn answer(
        &mut self,
        list: u64,
        selected: &[&Prepared],
        (facts, leaving, claimed): (&Facts, &BTreeSet<&str>, &Claimed),
    ) -> Answer {
        let Self { run, counts, contributions, answers, .. } = self;
        let links = (facts.inventory_id, if leaving.is_empty() { 0 } else { digest::number(&json!(leaving)) });
        answers.get(*run, (list, links, facts.hand_id, claimed.id), || {
            let found = facts.hand.found(&facts.inventory, leaving);
            let by_hand = found.links.values().any(|link| link.wished);
            let first: Vec<Arc<Contribution>> = selected
                .iter()
                .map(|policy| {
                    let before = facts.hand.before(&policy.source.key);
                    let memory = if before.is_some() || by_hand { facts.hand_id } else { 0 };
                    contributions.get(*run, (policy.id, links, memory), || {
                        counts.contributions += 1;
                        Arc::new(contribute(policy, &found, &facts.inventory, before))
                    })
                })
                .collect();
            counts.merges += 1;
            let ground = Ground { networks: claimed, hand: &facts.hand, found: &found, reported: &facts.inventory };
            let desired = merge_all(ground, selected, first);
            let has_links =
                |policy: &&&Prepared| desired.matched.get(&policy.source.key).is_some_and(|links| !links.is_empty());
            Answer {
                linked: selected.iter().filter(has_links).map(|policy| policy.id).collect(),
                desired: Arc::new(desired),
            }
        })
    }

    fn revision(&mut self, set: &PolicySet, networks: &Networks) -> Arc<Revision> {
        let mut ids: Vec<u64> = set.prepared().iter().map(|policy| policy.id).collect();
        ids.extend(networks.ids());
        match &self.revision {
            Some((known, revision)) if *known == ids => revision.clone(),
            Some(_) | None => {
                let revision = Arc::new(Revision::of(set.freeze(), networks));
                self.revision = Some((ids, revision.clone()));
                revision
            }
        }
    }

    fn policy_reports(
        &mut self,
        snapshot: &Snapshot,
        set: &PolicySet,
        placement: &Placement,
        answers: &[Answer],
    ) -> BTreeMap<ObjectKey, PolicyReport> {
        let mut reports: BTreeMap<ObjectKey, PolicyReport> = BTreeMap::new();
        let mut linked: HashMap<u64, usize> = HashMap::new();
        for (place, answer) in placement.places.iter().zip(answers) {
            for policy in answer.linked.iter() {
                *linked.entry(*policy).or_default() += place.nodes;
            }
        }
        for policy in set.prepared() {
            let key = &policy.source.key;
            let selects =
                |group: u32| self.selections.0.get(&(policy.id, group)).is_some_and(|(selected, _)| *selected);
            let report = PolicyReport {
                generation: snapshot.policies.get(key).and_then(|policy| policy.meta.generation),
                matched_nodes: placement.groups.iter().filter(|group| selects(group.id)).map(|group| group.nodes).sum(),
                nodes_with_links: linked.get(&policy.id).copied().unwrap_or_default(),
                ..PolicyReport::default()
            };
            reports.insert(key.clone(), report);
        }
        for (key, broken) in set.broken() {
            let report = reports.entry(key.clone()).or_default();
            report.generation = broken.generation;
            report.broken.clone_from(&broken.findings);
            report.stays = broken.stays;
        }
        tell(&mut reports, placement, answers);
        tell_who_merges(&mut reports, snapshot, placement, answers);
        reports
    }

    fn forget(&mut self) {
        self.frozen.forget(self.run);
        self.thawed.forget(self.run);
        self.selections.forget(self.run);
        self.contributions.forget(self.run);
        self.answers.forget(self.run);
        self.claimed.forget(self.run);
        self.of_nodes.forget(self.run);
        // A part that nodes know without asking for it stays as well.
        self.parts.0.retain(|_, (part, used)| *used + 1 >= self.run || Arc::strong_count(part) > 1);
    }
}

/// Adds to each report what was left out on which nodes.
fn tell(reports: &mut BTreeMap<ObjectKey, PolicyReport>, placement: &Placement, answers: &[Answer]) {
    let mut conflicts: BTreeMap<&ObjectKey, Seen<&Conflict>> = BTreeMap::new();
    let mut findings: BTreeMap<(&ObjectKey, &Finding), Seen<()>> = BTreeMap::new();
    for (place, answer) in placement.places.iter().zip(answers) {
        let mut told: Vec<&ObjectKey> = Vec::new();
        for conflict in &answer.desired.conflicts {
            if told.contains(&&conflict.loser) {
                continue;
            }
            told.push(&conflict.loser);
            let here = Seen { what: conflict, nodes: place.nodes, first: place.first.clone() };
            conflicts.entry(&conflict.loser).and_modify(|seen| seen.join(&here)).or_insert(here);
        }
        for (policy, finding) in
            answer.desired.findings.iter().flat_map(|(key, all)| all.iter().map(move |one| (key, one)))
        {
            let here = Seen { what: (), nodes: place.nodes, first: place.first.clone() };
            findings.entry((policy, finding)).and_modify(|seen| seen.join(&here)).or_insert(here);
        }
    }
    for (policy, Seen { what, nodes, first }) in conflicts {
        reports.entry(policy.clone()).or_default().conflict = Some(Seen { what: what.clone(), nodes, first });
    }
    for ((policy, finding), Seen { what: (), nodes, first }) in findings {
        reports.entry(policy.clone()).or_default().findings.push(Seen { what: finding.clone(), nodes, first });
    }
}

/// Adds to each report which of its nodes merge policies themselves.
fn tell_who_merges(
    reports: &mut BTreeMap<ObjectKey, PolicyReport>,
    snapshot: &Snapshot,
    placement: &Placement,
    answers: &[Answer],
) {
    // Mostly there is none, and then not every node is to be looked up.
    let merging: BTreeSet<&ObjectKey> =
        snapshot.states.iter().filter(|(_, state)| state.merges_itself).map(|(key, _)| key).collect();
    if merging.is_empty() {
        return;
    }
    for (node, seat) in placement.nodes.iter().filter(|(_, seat)| merging.contains(&seat.object)) {
        let matched = answers[seat.place].desired.matched.iter().filter(|(_, links)| !links.is_empty());
        for (policy, _) in matched {
            let here = Seen { what: (), nodes: 1, first: node.clone() };
            match &mut reports.entry(policy.clone()).or_default().left_to_nodes {
                Some(seen) => seen.join(&here),
                none => *none = Some(here),
            }
        }
    }
}

/// What to tell about network states: what is wrong with them as objects, with what was written
/// into them by hand, and where that stands against a policy.
fn state_reports(wishes: &Wishes) -> BTreeMap<ObjectKey, StateReport> {
    let mut found: BTreeMap<ObjectKey, Vec<Finding>> = wishes.placement.findings.clone();
    let stands = |conflict: &&Conflict| conflict.winner == Asker::Hand;
    let concerned: Vec<bool> = wishes
        .desired
        .iter()
        .map(|desired| !desired.held.is_empty() || desired.conflicts.iter().any(|conflict| stands(&conflict)))
        .collect();
    if concerned.contains(&true) {
        for seat in wishes.placement.nodes.values().filter(|seat| concerned[seat.place]) {
            let desired = &wishes.desired[seat.place];
            let conflicts = desired.conflicts.iter().filter(stands);
            let told = conflicts.map(|one| Finding::new(reason::POLICY_CONFLICT, "spec.desiredState", one.to_string()));
            found.entry(seat.object.clone()).or_default().extend(desired.held.iter().cloned().chain(told));
        }
    }
    found.into_iter().map(|(key, findings)| (key, StateReport { findings })).collect()
}
