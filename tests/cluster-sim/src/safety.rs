//! What never may happen, whatever goes wrong.
//!
//! Everything is judged by what the server and the hosts have, never by what a process believes.

use std::collections::{BTreeMap, BTreeSet};

use netloom_agent_core::{CONFIG, Leases, Mode, NODE, Prepared, STATE};
use netloom_object::{Change, ObjectRef};
use serde_json::Value;

use crate::{
    Host, Micros, Process,
    server::{Entry, Server},
    users::{self, MANUAL, REVISION},
};

/// Something of a network state that belongs to somebody else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Foreign {
    /// A label.
    Label,
    /// A condition.
    Condition,
    /// A desired state that was written manually.
    Manual,
}

impl Foreign {
    fn is_there(self, object: &Value) -> bool {
        let has = |list: &str, name: &str, value: &str| {
            let items = object.pointer(list).and_then(Value::as_array);
            items.into_iter().flatten().any(|item| item[name] == *value)
        };
        match self {
            Self::Label => object["metadata"]["labels"]["touched"] == "yes",
            Self::Condition => has("/status/conditions", "type", "Inspected"),
            Self::Manual => has("/spec/desiredState/interfaces", "name", MANUAL),
        }
    }
}

/// What has been seen.
#[derive(Debug, Clone, Default)]
pub(crate) struct Safety {
    /// How many nodes may be changing or failed at once.
    most_in_flight: usize,
    /// Nodes that were assigned something and have not answered.
    in_flight: BTreeMap<ObjectRef, Micros>,
    stand: BTreeMap<ObjectRef, Stand>,
    /// Nodes that were not ready at some time. A rollout counts them as unavailable while it takes them for that,
    /// and may tell them something without another being done first; nobody here knows when it has heard.
    shaky: BTreeSet<String>,
    /// The most that there were.
    pub(crate) peak: usize,
    /// What each node was assigned last.
    assigned: BTreeMap<ObjectRef, String>,
    /// Revisions that somebody has held nodes to. Who has not heard that he does no longer may still tell them.
    pinned: BTreeSet<String>,
    /// Revisions that no node can have.
    bad: BTreeSet<String>,
    /// What each revision wants.
    wanted: BTreeMap<String, Option<(String, u64)>>,
    /// The nodes on which each bad revision was tried.
    pub(crate) tried: BTreeMap<String, BTreeSet<usize>>,
    /// Node, revision and generation of everything that was brought about.
    verified: BTreeSet<(String, String, i64)>,
    foreign: BTreeSet<(ObjectRef, Foreign)>,
    pub(crate) violations: Vec<String>,
}

impl Safety {
    /// So many nodes may be changing at once.
    pub(crate) fn new(most_in_flight: usize) -> Self {
        Self { most_in_flight, ..Self::default() }
    }

    pub(crate) fn violate(&mut self, what: String) {
        self.violations.push(what);
    }

    /// From now on this has to stay.
    pub(crate) fn keep(&mut self, object: ObjectRef, what: Foreign) {
        self.foreign.insert((object, what));
    }

    /// Judges a change of an object that a process, or somebody else, has made.
    pub(crate) fn written(&mut self, now: Micros, server: &Server, entry: &Entry, writer: Option<Process>) {
        match &entry.change {
            Change::Put(object) if entry.object.kind == REVISION => {
                let name = entry.object.key.name.clone();
                if users::is_bad(object) {
                    self.bad.insert(name.clone());
                }
                let wanted = users::frozen(object).map(|(link, mtu)| (link.to_owned(), mtu));
                self.wanted.insert(name, wanted);
            }
            Change::Put(object) if entry.object.kind == CONFIG => {
                self.configured(now, server, &entry.object, object, writer);
            }
            Change::Put(object) if entry.object.kind == users::ROLLOUT => {
                self.pinned.extend(object["spec"]["pinnedRevision"].as_str().map(str::to_owned));
            }
            Change::Put(object) if entry.object.kind == STATE => self.stated(&entry.object, object),
            Change::Put(object) if entry.object.kind == NODE => {
                if object.pointer("/status/conditions/0/status").is_some_and(|ready| ready != "True") {
                    self.shaky.insert(entry.object.key.name.clone());
                }
            }
            Change::Gone(_) => {
                self.in_flight.remove(&entry.object);
                self.assigned.remove(&entry.object);
                self.stand.remove(&entry.object);
                self.foreign.retain(|(object, _)| *object != entry.object);
            }
            Change::Put(_) | Change::Listed { .. } => {}
        }
    }

    fn stated(&mut self, target: &ObjectRef, object: &Value) {
        let lost = self.foreign.iter().find(|(kept, what)| kept == target && !what.is_there(object)).cloned();
        if let Some((object, what)) = lost {
            self.violate(format!("{}: the {what:?} of somebody else is gone", object.key));
            self.foreign.remove(&(object, what));
        }
    }

    fn configured(
        &mut self,
        now: Micros,
        server: &Server,
        target: &ObjectRef,
        config: &Value,
        writer: Option<Process>,
    ) {
        let revision = config["spec"]["revision"].as_str().unwrap_or_default();
        if let Some(Process::Agent(_)) = writer {
            self.answered(target, config);
        }
        let before = self.assigned.insert(target.clone(), revision.to_owned());
        if let Some(before) = before.filter(|before| before != revision) {
            self.moved(server, target, &before, revision);
        }
        let was_well = self.stand.insert(target.clone(), Stand::of(config)).is_none_or(|before| before == Stand::Done);
        if Stand::of(config) != Stand::InFlight {
            self.in_flight.remove(target);
            return;
        }
        // A node that is at work on its own, such as on drift, was assigned nothing.
        if !matches!(writer, Some(Process::Controller(_))) {
            return;
        }
        let new = self.in_flight.insert(target.clone(), now).is_none();
        self.peak = self.peak.max(self.in_flight.len());
        // A node that had failed on its own may be assigned what fixes it, however many others are at work.
        let counts = was_well && !self.shaky.contains(&target.key.name);
        if new && counts && self.in_flight.len() > self.most_in_flight {
            let (are, may) = (self.in_flight.len(), self.most_in_flight);
            self.violate(format!("{}: assigned as one of {are} nodes at once, and {may} are allowed", target.key));
        }
    }

    /// Nodes that were assigned something before then and have never answered.
    pub(crate) fn silent_since(&self, before: Micros) -> impl Iterator<Item = &ObjectRef> {
        self.in_flight.iter().filter(move |(_, since)| **since < before).map(|(target, _)| target)
    }

    /// A node says that a revision is in place: some agent of it must have brought exactly that about.
    fn answered(&mut self, target: &ObjectRef, config: &Value) {
        let status = &config["status"];
        if status["configStatus"] != "provisioned" {
            return;
        }
        let revision = status["lastAppliedRevision"].as_str().unwrap_or_default().to_owned();
        let generation = status["observedGeneration"].as_i64().unwrap_or_default();
        let node = target.key.name.clone();
        if !self.verified.contains(&(node.clone(), revision.clone(), generation)) {
            self.violate(format!("{node}: revision {revision} (generation {generation}) is reported and not in place"));
        }
    }

    /// A node goes from one revision to another: forward, or back from one that failed.
    fn moved(&mut self, server: &Server, target: &ObjectRef, from: &str, to: &str) {
        let revision =
            |name: &str| server.get(&ObjectRef { kind: REVISION, key: netloom_compile::ObjectKey::global(name) });
        let (Some(left), Some(taken)) = (revision(from), revision(to)) else { return };
        let order = |revision: &Value| {
            let text = revision["metadata"]["annotations"]["netloom.dev/sequence"].as_str();
            text.and_then(|text| text.parse::<u64>().ok()).unwrap_or_default()
        };
        let failed = |revision: &Value| revision["status"]["isInvalid"] == true;
        // When the newest one fails, every node returns to what worked everywhere, whatever it had meanwhile.
        let newest = server.list(REVISION).max_by_key(|revision| order(revision));
        let returns = failed(left) || newest.is_some_and(|newest| failed(newest));
        if order(taken) < order(left) && !returns && !self.pinned.contains(to) {
            self.violate(format!("{}: asked to leave {from} for the older {to}, and nothing has failed", target.key));
        }
        if failed(taken) {
            self.violate(format!("{}: assigned {to}, which has failed", target.key));
        }
    }

    /// A node begins to bring a revision about.
    pub(crate) fn tried(&mut self, node: usize, revision: &str) {
        if !self.bad.contains(revision) {
            return;
        }
        let nodes = self.tried.entry(revision.to_owned()).or_default();
        nodes.insert(node);
        if nodes.len() > 1 {
            let nodes = nodes.clone();
            self.violate(format!("bad revision {revision} was tried on {nodes:?}"));
        }
    }

    /// A node has brought a desired state about in the name of a revision. That counts only when desired state and host
    /// have what the revision wants: the desired state may be that of the next one already, whose other half is still
    /// on its way.
    pub(crate) fn verified(&mut self, node: usize, prepared: &Prepared, host: &Host, mode: Mode) {
        let desired = &prepared.desired;
        // Nobody gives leases here, so it does not matter when it is.
        let resolved = prepared.resolve(host.observed(), host.owned(), &Leases::new(), jiff::Timestamp::UNIX_EPOCH);
        let unmet = resolved.map(|state| netloom_plan::unmet(&state, host.observed()));
        if !matches!(unmet, Ok(Ok(unmet)) if unmet.is_empty()) {
            return;
        }
        let Some(config) = &desired.config else { return };
        let links = desired.document.as_ref().and_then(|document| document.pointer("/interfaces")?.as_array());
        // The policies of a revision are not for a node that merges policies itself.
        let merged = mode == Mode::Centralized;
        let wanted = self.wanted.get(&config.revision).cloned().flatten().filter(|_| merged);
        let is_in_place = wanted.is_none_or(|(link, mtu)| {
            // A node that has not reported what links it has is asked for nothing.
            let asked = links.into_iter().flatten().find(|asked| asked["name"] == *link);
            asked.is_none_or(|asked| asked["mtu"] == mtu && host.mtu(&link) == Some(mtu))
        });
        if is_in_place {
            self.verified.insert((users::name(node), config.revision.clone(), config.generation));
        }
    }
}

/// How a node stands with what it was assigned last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stand {
    /// It was assigned and has not answered.
    InFlight,
    /// It says that it is in place.
    Done,
    /// It says that it is not.
    Failed,
}

impl Stand {
    fn of(config: &Value) -> Self {
        let (revision, status) = (&config["spec"]["revision"], &config["status"]);
        let about_this = status["lastAppliedRevision"] == *revision
            && status["observedGeneration"] == config["metadata"]["generation"];
        match status["configStatus"].as_str() {
            Some("provisioned") if about_this => Self::Done,
            Some("invalid") if about_this => Self::Failed,
            _ => Self::InFlight,
        }
    }
}
