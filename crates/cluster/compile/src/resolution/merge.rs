//! Takes the units of everybody in their order: what is left out of the configuration, and the document that comes of
//! the rest.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use netloom_model::Source;
use serde_json::{Map, Value, json};

use super::{
    host::HostUnits,
    unit::{Part, Unit, lists},
};
use crate::{
    contribution::StatePart,
    digest,
    finding::{Asker, Conflict, Finding, reason},
    key::ObjectKey,
    state::{
        Inventory, Manual, Provenance, Share,
        document::{canonical, tells_kind},
        leaves,
    },
};

/// What one node shall look like, and why.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Desired {
    /// The document for the node's desired state; none when nothing is wanted.
    pub document: Option<Value>,
    /// Who asked for what; what was written manually is not in it.
    pub provenance: Provenance,
    /// What was left out because somebody with precedence wants something else.
    pub conflicts: Vec<Conflict>,
    /// What else there is to say to who asks for entries of the desired state.
    pub findings: BTreeMap<Source, Vec<Finding>>,
    /// Who asks for such entries on the node, and the links that its rules match.
    pub matched: BTreeMap<Source, Vec<String>>,
    /// Why nothing is written: what stands there manually cannot be read, and is not ours to change.
    pub held: Vec<Finding>,
    /// A short name for document and provenance.
    pub digest: String,
    /// What each contribution to the configuration lost: links, and routes by their subject.
    pub(crate) lost: Vec<BTreeSet<String>>,
}

impl Desired {
    /// Equal where the same was lost; zero where nothing was.
    pub(crate) fn lost_id(&self) -> u64 {
        if self.lost.iter().all(BTreeSet::is_empty) { 0 } else { digest::number(&json!(self.lost)) }
    }
}

/// Who asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    /// Who asks for a unit of the configuration, by contribution and place in it.
    Config(usize, usize),
    /// Whoever wrote the desired state.
    Manual,
    /// Who asks for units of the desired state, by place in the list of contributions.
    State(usize),
}

impl Who {
    /// Who asks for units of the desired state.
    pub(super) fn state(self) -> Option<usize> {
        match self {
            Self::State(place) => Some(place),
            Self::Config(..) | Self::Manual => None,
        }
    }
}

/// Takes the units of the configuration, then what was written manually, then the contributions to the desired state;
/// all come in the order in which they win.
pub(super) fn merge<'a>(
    manual: &'a Manual,
    inventory: &'a Inventory,
    config: &'a [HostUnits],
    contributions: impl Iterator<Item = &'a StatePart>,
) -> Desired {
    let contributions: Vec<&StatePart> = contributions.collect();
    let mut desired = Desired { lost: vec![BTreeSet::new(); config.len()], ..Desired::default() };
    for contribution in &contributions {
        desired.matched.insert(contribution.asker.clone(), contribution.matched.clone());
        // What is given later of the same object takes the place of what was given before.
        if contribution.findings.is_empty() {
            desired.findings.remove(&contribution.asker);
        } else {
            desired.findings.insert(contribution.asker.clone(), contribution.findings.clone());
        }
    }
    let mut merge = Merge {
        manual,
        config,
        contributions: &contributions,
        inventory,
        claims: HashMap::new(),
        overruled: HashMap::new(),
        taken: Vec::new(),
        links: BTreeMap::new(),
        configured: Vec::new(),
        carried: BTreeMap::new(),
    };
    merge.configure(&mut desired);
    if !manual.refused().is_empty() {
        for contribution in contributions.iter().filter(|contribution| !contribution.matched.is_empty()) {
            let message = "what somebody wrote into the node's desired state cannot be read: nothing is done there";
            let finding = Finding::new(reason::INVALID_DESIRED_STATE, "", message);
            desired.findings.entry(contribution.asker.clone()).or_default().push(finding);
        }
        desired.held = manual.refused().to_vec();
        return desired;
    }
    if manual.is_unreported() {
        let message = "the node does not say what links it has; until it does, its desired state stays as it is";
        desired.held = vec![Finding::new(reason::NOT_REPORTED, "status.currentState", message)];
        return desired;
    }
    for unit in &manual.units {
        merge.take(unit, Who::Manual);
    }
    for who in 0..contributions.len() {
        merge.contribute(who, &mut desired);
    }
    merge.settle(&mut desired);
    desired.provenance = merge.provenance();
    desired.document = merge.document();
    let document = desired.document.as_ref().map(Value::to_string).unwrap_or_default();
    desired.digest = digest::of_text(&format!("{document}{}", desired.provenance.encode().unwrap_or_default()));
    desired.digest.truncate(16);
    desired
}

pub(super) struct Merge<'a> {
    manual: &'a Manual,
    config: &'a [HostUnits],
    pub(super) contributions: &'a [&'a StatePart],
    pub(super) inventory: &'a Inventory,
    /// What is claimed, and by whom first.
    pub(super) claims: HashMap<(&'a str, &'a str), (&'a Value, Who)>,
    /// What was written manually and is claimed otherwise by the configuration: nobody writes over it.
    overruled: HashMap<(&'a str, &'a str), (&'a Value, Who)>,
    /// Units that are no requests for links.
    pub(super) taken: Vec<(&'a Unit, Who)>,
    /// Units of links.
    pub(super) links: BTreeMap<&'a str, Vec<(&'a Unit, Who)>>,
    /// Units of the configuration.
    pub(super) configured: Vec<(&'a Unit, Who)>,
    /// The VLANs and MAC VLANs with an MTU of their own, by the link that carries them.
    pub(super) carried: BTreeMap<&'a str, Vec<(&'a str, Who)>>,
}

impl<'a> Merge<'a> {
    /// Takes the units of the configuration. Those of one contribution were made together and do not contradict each other.
    fn configure(&mut self, desired: &mut Desired) {
        for (place, HostUnits(units)) in self.config.iter().enumerate() {
            let mut lost: BTreeSet<usize> = BTreeSet::new();
            if place > 0 {
                for (index, (unit, asker)) in units.iter().enumerate() {
                    let conflict = self.conflict(unit, asker).or_else(|| self.conflict_between(unit, asker));
                    lost.extend(conflict.is_some().then_some(index));
                    desired.conflicts.extend(conflict);
                }
                let all: Vec<&Unit> = units.iter().map(|(unit, _)| unit).collect();
                for (index, finding) in self.fallen(&all, &mut lost) {
                    desired.findings.entry(units[index].1.clone()).or_default().push(finding);
                }
            }
            for (index, (unit, _)) in units.iter().enumerate() {
                if lost.contains(&index) {
                    desired.lost[place].extend(unit.link().or_else(|| unit.subject()).map(str::to_owned));
                } else {
                    let who = Who::Config(place, index);
                    self.claim(unit, who);
                    self.configured.push((unit, who));
                }
            }
        }
    }

    fn contribute(&mut self, who: usize, desired: &mut Desired) {
        let contribution = self.contributions[who];
        let units = &contribution.units;
        if let Some(finding) = self_contradiction(units) {
            desired.findings.entry(contribution.asker.clone()).or_default().push(finding);
            return;
        }
        let mut lost: BTreeSet<usize> = BTreeSet::new();
        for (index, unit) in units.iter().enumerate() {
            let conflict = self.conflict(unit, &contribution.asker);
            if let Some(conflict) = conflict.or_else(|| self.conflict_between(unit, &contribution.asker)) {
                // Who is heard again is not against itself: what it got first stays.
                if conflict.winner == Asker::Object(contribution.asker.clone()) {
                    let finding = Finding::new(reason::CONTRADICTION, &unit.place, conflict.to_string());
                    desired.findings.entry(contribution.asker.clone()).or_default().push(finding);
                } else {
                    desired.conflicts.push(conflict);
                }
                lost.insert(index);
            } else if let Some(finding) = self.unfit(unit) {
                desired.findings.entry(contribution.asker.clone()).or_default().push(finding);
                lost.insert(index);
            }
        }
        let all: Vec<&Unit> = units.iter().collect();
        for (_, finding) in self.fallen(&all, &mut lost) {
            desired.findings.entry(contribution.asker.clone()).or_default().push(finding);
        }
        for (_, unit) in units.iter().enumerate().filter(|(index, _)| !lost.contains(index)) {
            self.take(unit, Who::State(who));
        }
    }

    /// Takes note of what a unit claims, so that nobody else gets it otherwise.
    fn claim(&mut self, unit: &'a Unit, who: Who) {
        for (subject, path, value) in claims(unit) {
            let (first, _) = *self.claims.entry((subject, path)).or_insert((value, who));
            if first != value {
                self.overruled.insert((subject, path), (value, who));
            }
        }
        if let (Some(link), Some(base), Some(_)) = (unit.link(), unit.carrier(), unit.mtu()) {
            self.carried.entry(base).or_default().push((link, who));
        }
    }

    fn take(&mut self, unit: &'a Unit, who: Who) {
        self.claim(unit, who);
        match unit.link() {
            Some(link) => self.links.entry(link).or_default().push((unit, who)),
            None => self.taken.push((unit, who)),
        }
    }

    fn conflict(&self, unit: &Unit, asker: &Source) -> Option<Conflict> {
        claims(unit).find_map(|(subject, path, value)| {
            let key = (subject, path);
            let given = [self.claims.get(&key), self.overruled.get(&key)].into_iter().flatten();
            let (kept, who) = given.into_iter().find(|(kept, _)| *kept != value)?;
            Some(Conflict {
                winner: self.asker(*who),
                loser: asker.clone(),
                place: unit.place.clone(),
                subject: subject.to_owned(),
                path: leaves::spoken(path),
                kept: (*kept).clone(),
                refused: value.clone(),
            })
        })
    }

    pub(super) fn asker(&self, who: Who) -> Asker {
        match who {
            Who::Config(place, index) => Asker::Object(self.config[place].0[index].1.clone()),
            Who::Manual => Asker::Manual,
            Who::State(place) => Asker::Object(self.contributions[place].asker.clone()),
        }
    }

    /// Whether a unit and what is there for its link are no document together, although neither
    /// contradicts the other word for word.
    fn unfit(&self, unit: &Unit) -> Option<Finding> {
        let link = unit.link()?;
        let there = self.links.get(link)?;
        if self.manual.entries.get(link).is_some_and(|entries| entries.len() > 1) {
            let message = format!("{link} is replaced manually: what the policy wants of it is left out");
            return Some(Finding::new(reason::CONTRADICTION, &unit.place, message));
        }
        let mut entry = entry_of(there);
        let touches = unit.leaves.iter().any(|(path, _)| {
            let block = path.split_once(leaves::SEPARATOR).map(|(block, _)| block);
            block.is_some_and(|block| entry.contains_key(block)) || tells_kind(block.unwrap_or(path))
        });
        if !touches {
            return None;
        }
        for (path, value) in &unit.leaves {
            leaves::put(&mut entry, path, value.clone());
        }
        entry.insert("name".to_owned(), json!(link));
        let refusal = canonical("", &json!({"interfaces": [entry]})).err()?.into_iter().next()?;
        let message = format!("does not go together with what others want of {link}: {}", refusal.message);
        Some(Finding::new(reason::CONTRADICTION, &unit.place, message))
    }

    /// Units that stand on a link whose own unit was lost and that nobody else asks for.
    fn fallen(&self, units: &[&Unit], lost: &mut BTreeSet<usize>) -> Vec<(usize, Finding)> {
        let mut findings = Vec::new();
        loop {
            let held = |link: &str, lost: &BTreeSet<usize>| {
                let own = |keep: bool| {
                    units.iter().enumerate().any(|(i, unit)| unit.link() == Some(link) && lost.contains(&i) != keep)
                };
                let others = self.links.contains_key(link) || self.is_configured(link);
                own(true) || others || !own(false) && self.inventory.get(link).is_some()
            };
            let next = units.iter().enumerate().find_map(|(index, unit)| {
                let missing = unit.needs.iter().find(|link| !held(link, lost))?;
                (!lost.contains(&index)).then_some((index, missing))
            });
            let Some((index, missing)) = next else { return findings };
            let message = format!("stands on {missing}, which is not there or is left out: it is left out too");
            findings.push((index, Finding::new(reason::MISSING_BASE, &units[index].place, message)));
            lost.insert(index);
        }
    }

    /// Whether the configuration has a link of that name.
    fn is_configured(&self, link: &str) -> bool {
        self.configured.iter().any(|(unit, _)| unit.link() == Some(link))
    }

    fn provenance(&self) -> Provenance {
        let mut provenance = Provenance::default();
        for (link, units) in &self.links {
            let manually: BTreeSet<&str> = units
                .iter()
                .filter(|(_, who)| who.state().is_none())
                .flat_map(|(unit, _)| unit.leaves.iter().map(|(path, _)| path.as_str()))
                .collect();
            for (unit, who) in units {
                let Some(who) = who.state() else { continue };
                let share = provenance.share(&key_of(&self.contributions[who].asker));
                let paths = unit.leaves.iter().map(|(path, _)| path).filter(|path| !manually.contains(path.as_str()));
                share.interfaces.entry((*link).to_owned()).or_default().extend(paths.cloned());
            }
        }
        let manually = self.manual_items();
        for (unit, who) in &self.taken {
            let Some(who) = who.state() else { continue };
            let share = provenance.share(&key_of(&self.contributions[who].asker));
            let items = unit.leaves.iter().filter(|(_, item)| !manually.contains(&item.to_string()));
            match &unit.part {
                Part::Routes => share.routes.extend(items.map(|(_, item)| digest::short(item))),
                Part::Rule => share.rules.extend(items.map(|(_, item)| digest::short(item))),
                Part::Dns => share.dns |= !self.manual_has("dns-resolver", "config"),
                Part::Hostname(key) if !self.manual_has("hostname", key) => {
                    share.hostname.insert(key.clone());
                }
                Part::Hostname(_) | Part::Interface(_) => {}
            }
        }
        for share in provenance.shares.values_mut() {
            share.interfaces.retain(|_, paths| !paths.is_empty());
        }
        provenance.shares.retain(|_, share| *share != Share::default());
        provenance
    }

    fn manual_has(&self, block: &str, key: &str) -> bool {
        self.manual.rest.get(block).is_some_and(|block| block.get(key).is_some())
    }

    /// Routes and rules that were written manually, in today's spelling.
    fn manual_items(&self) -> BTreeSet<String> {
        let units = self.taken.iter().filter(|(_, who)| who.state().is_none());
        units.flat_map(|(unit, _)| unit.leaves.iter().map(|(_, item)| item.to_string())).collect()
    }

    fn document(&self) -> Option<Value> {
        let mut document = self.manual.rest.clone();
        let interfaces = self.interfaces();
        if !interfaces.is_empty() {
            document.insert("interfaces".to_owned(), Value::Array(interfaces));
        }
        for (block, part) in [("routes", Part::Routes), ("route-rules", Part::Rule)] {
            self.items(&mut document, block, &part);
        }
        for (unit, who) in &self.taken {
            let Some((_, value)) = unit.leaves.first().filter(|_| who.state().is_some()) else { continue };
            match &unit.part {
                Part::Dns => leaves::put(&mut document, "dns-resolver/config", value.clone()),
                Part::Hostname(key) => leaves::put(&mut document, &format!("hostname/{key}"), value.clone()),
                Part::Routes | Part::Rule | Part::Interface(_) => {}
            }
        }
        (!document.is_empty()).then_some(Value::Object(document))
    }

    /// Entries in the order of their names; those that only a hand has written stay as they are.
    fn interfaces(&self) -> Vec<Value> {
        let written = self.manual.rest.get("interfaces").and_then(Value::as_array).into_iter().flatten();
        let mut entries: Vec<(String, Value)> = written
            .filter_map(|entry| Some((entry.get("name")?.as_str()?.to_owned(), entry.clone())))
            .filter(|(name, _)| {
                self.links.get(name.as_str()).is_none_or(|units| units.iter().all(|(_, who)| who.state().is_none()))
            })
            .collect();
        for (name, units) in &self.links {
            if units.iter().any(|(_, who)| who.state().is_some()) {
                let mut entry = entry_of(units);
                entry.insert("name".to_owned(), json!(name));
                entries.push(((*name).to_owned(), Value::Object(entry)));
            }
        }
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        entries.into_iter().map(|(_, entry)| entry).collect()
    }

    /// Adds routes or rules behind those that were written manually, each once.
    fn items(&self, document: &mut Map<String, Value>, block: &str, part: &Part) {
        let units = self.taken.iter().filter(|(unit, who)| who.state().is_some() && unit.part == *part);
        let new: Vec<&Value> = units.flat_map(|(unit, _)| unit.leaves.iter().map(|(_, item)| item)).collect();
        if new.is_empty() {
            return;
        }
        let there = document.get(block).and_then(|block| block.get("config")?.as_array()).cloned().unwrap_or_default();
        let mut seen = self.manual_items();
        let mut items = there;
        items.extend(new.into_iter().filter(|item| seen.insert(item.to_string())).cloned());
        leaves::put(document, &format!("{block}/config"), Value::Array(items));
    }
}

/// The object of a source.
fn key_of(source: &Source) -> ObjectKey {
    source.as_object().map(|object| ObjectKey::new(&*object.namespace, &*object.name)).unwrap_or_default()
}

/// The path of the first value that two entries of one thing do not have the same, such as `.ipv4.address`. Who wins is
/// decided by who is first; the other loses all of its entry.
pub fn contradiction(one: &Value, other: &Value) -> Option<String> {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => one.iter().find_map(|(key, value)| {
            let path = contradiction(value, other.get(key)?)?;
            Some(format!(".{key}{path}"))
        }),
        (one, other) => (one != other).then(String::new),
    }
}

/// What the units of one object claim against each other.
fn self_contradiction(units: &[Unit]) -> Option<Finding> {
    let mut own: HashMap<(&str, &str), (&Value, &str)> = HashMap::new();
    for unit in units {
        for (subject, path, value) in claims(unit) {
            let (first, place) = *own.entry((subject, path)).or_insert((value, &unit.place));
            if first != value {
                let spoken = leaves::spoken(path);
                let message = format!(
                    "{subject} {spoken}: {place} wants {first} and {} wants {value}, so nothing of the policy is done here",
                    unit.place
                );
                return Some(Finding::new(reason::CONTRADICTION, &unit.place, message));
            }
        }
    }
    let listed: HashMap<&str, &Value> =
        units.iter().filter_map(|unit| Some((unit.link()?, unit.port_list()?))).collect();
    units.iter().find_map(|unit| {
        let (link, controller) = (unit.link()?, unit.controller()?);
        let message = format!("{controller} has a port list without {link}, so nothing of the policy is done here");
        let left_out = listed.get(controller).is_some_and(|list| !lists(list, link));
        left_out.then(|| Finding::new(reason::CONTRADICTION, &unit.place, message))
    })
}

/// The entry that units of one link make together.
pub(super) fn entry_of(units: &[(&Unit, Who)]) -> Map<String, Value> {
    let mut entry = Map::new();
    for (path, value) in units.iter().flat_map(|(unit, _)| &unit.leaves) {
        leaves::put(&mut entry, path, value.clone());
    }
    entry
}

/// Everything that a unit says about things of which there is one answer.
fn claims(unit: &Unit) -> impl Iterator<Item = (&str, &str, &Value)> {
    let written = unit
        .link()
        .into_iter()
        .flat_map(|link| unit.leaves.iter().map(move |(path, value)| (link, path.as_str(), value)));
    let implied = unit.claims.iter().map(|claim| (claim.subject.as_str(), claim.path.as_str(), &claim.value));
    written.chain(implied)
}
