//! How changes come to those who follow them: late, in order, sometimes twice, and sometimes not at all
//! until everything is listed again.

use std::sync::Arc;

use netloom_agent_core::{Agent, Event, POLICY, STATE};
use netloom_api::GroupKind;
use netloom_controller_core::Kinds;
use netloom_object::Change;
use serde_json::Value;

use crate::{Bug, Cluster, MILLISECOND, Micros, Process, SECOND, bug, cluster::Happening, server::Entry, users};

impl Cluster {
    /// The kinds that a process follows.
    fn kinds(&self, process: Process) -> &'static [GroupKind<'static>] {
        match process {
            Process::Controller(_) => Kinds::built_in().all(),
            Process::Agent(number) => Agent::kinds(self.nodes[number].mode),
        }
    }

    /// Tells everybody who follows them of changes that were not sent yet.
    pub(crate) fn spread(&mut self, writer: Option<Process>) {
        while let Some(entry) = self.server.log().get(self.spread).cloned() {
            self.spread += 1;
            self.safety.written(self.now, &self.server, &entry, writer);
            let agents = self.followed_by(&entry).into_iter().map(Process::Agent);
            let controllers = (0..self.controllers.len()).map(Process::Controller);
            for process in controllers.chain(agents) {
                self.send(process, &entry);
            }
        }
    }

    /// The nodes whose agents follow an object, if they follow its kind.
    fn followed_by(&self, entry: &Entry) -> Vec<usize> {
        let (Change::Put(object) | Change::Gone(object)) = &entry.change else { return Vec::new() };
        if entry.object.kind == POLICY {
            return (0..self.nodes.len()).collect();
        }
        self.numbers.get(&node_of(object)).copied().into_iter().collect()
    }

    fn send(&mut self, to: Process, entry: &Entry) {
        let kind = entry.object.kind;
        if !self.kinds(to).contains(&kind) || !self.shell(to).alive {
            return;
        }
        if !self.shell_mut(to).streams.entry(kind).or_default().open {
            return;
        }
        if self.unheard || self.random.chance(self.faults.lost) {
            self.close(to, kind);
            return;
        }
        self.deliver(to, kind, entry.change.clone());
    }

    /// A watch is broken; some time later everything of its kind is listed again.
    fn close(&mut self, to: Process, kind: GroupKind<'static>) {
        let misses = match to {
            Process::Agent(_) => self.bug == Some(Bug::MissesEvents),
            Process::Controller(_) => self.bug == Some(Bug::ControllerMissesEvents),
        };
        let stream = self.shell_mut(to).streams.entry(kind).or_default();
        stream.number += 1;
        stream.open = misses;
        if misses {
            return;
        }
        let life = self.shell(to).life;
        let after = self.random.between(100 * MILLISECOND, 5 * SECOND);
        self.schedule(after, Happening::Relist { to, life, kind });
    }

    /// Puts a change on its way, behind all of its kind that are on it.
    fn deliver(&mut self, to: Process, kind: GroupKind<'static>, change: Change) {
        let latency = self.latency();
        let again = matches!(change, Change::Put(_)) && self.random.chance(self.faults.repeated);
        let (now, in_order) = (self.now, self.setup.in_order);
        let shell = self.shell_mut(to);
        let life = shell.life;
        let others = shell.streams.values().map(|stream| stream.last).max().filter(|_| in_order);
        let stream = shell.streams.entry(kind).or_default();
        stream.last = stream.last.max(now + latency).max(others.unwrap_or_default());
        let (number, wait) = (stream.number, stream.last - now);
        let deliver = |change| Happening::Deliver { to, life, kind, number, change };
        if again {
            let later = self.random.between(0, 2 * SECOND);
            self.schedule(wait + later, deliver(change.clone()));
        }
        self.schedule(wait, deliver(change));
    }

    /// How long something is on its way.
    pub(crate) fn latency(&mut self) -> Micros {
        if self.random.chance(self.faults.slow) {
            return self.random.between(100 * MILLISECOND, 900 * MILLISECOND);
        }
        self.random.between(MILLISECOND, 8 * MILLISECOND)
    }

    /// Begins to follow every kind again.
    pub(crate) fn follow(&mut self, to: Process) {
        let life = self.shell(to).life;
        for kind in self.kinds(to) {
            let stream = self.shell_mut(to).streams.entry(*kind).or_default();
            stream.open = false;
            stream.number += 1;
            let after = self.latency();
            self.schedule(after, Happening::Relist { to, life, kind: *kind });
        }
    }

    /// Lists a kind and follows it from there.
    pub(crate) fn relist(&mut self, to: Process, kind: GroupKind<'static>) {
        if self.is_cut(to) || self.shell(to).streams.get(&kind).is_some_and(|stream| stream.open) {
            return;
        }
        let stale = self.shell(to).stale || self.random.chance(self.faults.stale);
        let back = if stale { self.random.between(1, 40) } else { 0 };
        let version = self.server.version().saturating_sub(back).max(self.shell(to).seen).max(self.birth(to));
        let all = if stale {
            self.server.list_at(kind, version)
        } else {
            self.server.list(kind).cloned().collect::<Vec<Arc<Value>>>()
        };
        let objects = all.into_iter().filter(|object| is_followed(to, object)).collect();
        let stream = self.shell_mut(to).streams.entry(kind).or_default();
        stream.open = true;
        stream.number += 1;
        self.deliver(to, kind, Change::Listed { kind, objects });
        let since: Vec<Change> = self
            .server
            .log()
            .iter()
            .rev()
            .take_while(|entry| entry.version > version)
            .filter(|entry| entry.object.kind == kind)
            .filter(|entry| match &entry.change {
                Change::Put(object) | Change::Gone(object) => is_followed(to, object),
                Change::Listed { .. } => false,
            })
            .map(|entry| entry.change.clone())
            .collect();
        if self.bug == Some(Bug::WatchesFromNow) {
            return;
        }
        for change in since.into_iter().rev() {
            self.deliver(to, kind, change);
        }
    }

    /// Since when there is what an agent takes for deleted, and forgets everything about, when it is missing in a list.
    /// No list is older than that: lists are asked for the present, and only what they say of an object may be late.
    fn birth(&self, of: Process) -> u64 {
        let Process::Agent(number) = of else { return 0 };
        let target = users::state_of(number);
        let Some(now) = self.server.get(&target) else { return 0 };
        let is_it = |entry: &&Entry| match &entry.change {
            Change::Put(object) => entry.object == target && object["metadata"]["uid"] == now["metadata"]["uid"],
            Change::Gone(_) | Change::Listed { .. } => false,
        };
        self.server.log().iter().find(is_it).map_or(0, |entry| entry.version)
    }

    /// A process hears of a change.
    pub(crate) fn hear(&mut self, to: Process, change: Change) {
        let now = self.now;
        let newest = version(&change);
        let shell = self.shell_mut(to);
        shell.seen = shell.seen.max(newest);
        match to {
            Process::Controller(number) => {
                let forgets = self.bug == Some(Bug::ForgetsWhoIsInFlight);
                let change = if forgets { bug::forget(change) } else { change };
                let controller = &mut self.controllers[number];
                controller.index.take(controller.shell.clock(now), change);
            }
            Process::Agent(number) => {
                let node = &mut self.nodes[number];
                node.agent.take(node.shell.clock(now), Event::Objects(change));
            }
        }
    }
}

/// The name of the node that an object of a node is for.
fn node_of(object: &Value) -> String {
    let pointer = if object["kind"] == STATE.kind { "/spec/nodeName" } else { "/metadata/name" };
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Whether a process follows an object of a kind that it follows.
fn is_followed(by: Process, object: &Value) -> bool {
    match by {
        Process::Controller(_) => true,
        Process::Agent(number) => object["kind"] == POLICY.kind || node_of(object) == users::name(number),
    }
}

/// The newest version in a change.
fn version(change: &Change) -> u64 {
    let of = |object: &Arc<Value>| {
        let text = object.pointer("/metadata/resourceVersion").and_then(Value::as_str);
        text.and_then(|text| text.parse().ok()).unwrap_or_default()
    };
    match change {
        Change::Put(object) | Change::Gone(object) => of(object),
        Change::Listed { objects, .. } => objects.iter().map(of).max().unwrap_or_default(),
    }
}
