//! What an agent has done to its host, and when it hears of it.

use jiff::SignedDuration;
use netloom_agent_core::{
    Agent, CompanionNews, CompanionOrder, Effect, Event, HostChange, Kept, LeaseOrder, Leased, Leases, Mode, Prepared,
    Settings,
};
use netloom_probing::ProbeTiming;
use netloom_types::IfName;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    Bug, Cluster, FOREIGN, Host, MILLISECOND, Micros, Process, SECOND, Setup, cluster::Happening, host::Begun,
    process::Shell, users, watched::Watched,
};

/// A node.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) shell: Shell,
    pub(crate) agent: Agent,
    pub(crate) host: Host,
    pub(crate) disk: Option<Kept>,
    /// Who merges policies for it.
    pub(crate) mode: Mode,
    /// Who announces itself on which link.
    pub(crate) wires: BTreeMap<IfName, Vec<Value>>,
    /// Where the agent listens.
    pub(crate) listening: BTreeSet<IfName>,
    /// Its cards have no carrier before then.
    pub(crate) dark_until: Micros,
}

impl Node {
    pub(crate) fn new(number: usize, setup: &Setup) -> Self {
        Self {
            shell: Shell::default(),
            agent: Agent::new(settings(number, setup.mode), None),
            host: Host::new(number, setup),
            disk: None,
            mode: setup.mode,
            wires: BTreeMap::new(),
            listening: BTreeSet::new(),
            dark_until: 0,
        }
    }

    /// What is heard where the agent listens.
    pub(crate) fn heard(&self) -> netloom_agent_core::Heard {
        let on = |link: &IfName| Some(self.wires.get(link).cloned().unwrap_or_default());
        self.listening.iter().map(|link| (*link, netloom_nmstate::Heard { neighbours: on(link) })).collect()
    }
}

/// How the agent of a node is set up.
pub(crate) fn settings(number: usize, mode: Mode) -> Settings {
    Settings { namespace: users::NAMESPACE.to_owned(), seed: number as u64, mode, ..Settings::of(users::name(number)) }
}

/// Something that is done to a host or a disk.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    Recover,
    Observe,
    Begin(Arc<Prepared>, Leases, bool, ProbeTiming),
    Lease(LeaseOrder),
    Finish(Arc<Prepared>, Box<Begun>, ProbeTiming, Micros),
    Keep(Box<Kept>),
    Abandon,
    Listen(BTreeSet<IfName>),
}

impl Act {
    fn word(&self) -> &'static str {
        match self {
            Self::Recover => "recover",
            Self::Observe => "observe",
            Self::Begin(..) => "begin",
            Self::Finish(..) => "finish",
            Self::Keep(_) => "keep",
            Self::Abandon => "abandon",
            Self::Lease(_) => "lease",
            Self::Listen(_) => "listen",
        }
    }
}

impl Cluster {
    /// Starts what an agent wants.
    pub(crate) fn start(&mut self, number: usize, effect: Effect) {
        let (after, act) = match effect {
            Effect::Recover => (2 * MILLISECOND, Act::Recover),
            Effect::Observe => (2 * MILLISECOND, Act::Observe),
            Effect::Transact { desired, leases, protected: _, reach, timing } => {
                (MILLISECOND, Act::Begin(desired, leases, reach, timing))
            }
            Effect::Companion(CompanionOrder::Lease(order)) => (MILLISECOND, Act::Lease(order)),
            Effect::Keep(kept) => (MILLISECOND, Act::Keep(kept)),
            Effect::Abandon => (MILLISECOND, Act::Abandon),
            Effect::Companion(CompanionOrder::Listen(links)) => (MILLISECOND, Act::Listen(links)),
            Effect::Ask(chain) => return self.ask(Process::Agent(number), chain.0.into()),
        };
        let life = self.nodes[number].shell.life;
        self.schedule(after, Happening::Act { node: number, life, act });
    }

    /// Does something to a host or a disk.
    pub(crate) fn act(&mut self, number: usize, act: Act) {
        let process = Process::Agent(number);
        let word = act.word();
        self.note(format_args!("n{number} {word}"));
        let had_path = self.nodes[number].host.has_path();
        let done = self.step(process, |cluster| cluster.carry_out(number, act));
        self.path_changed(number, had_path);
        let Some(event) = done else { return };
        let life = self.nodes[number].shell.life;
        if let Some(event) = event {
            self.schedule(MILLISECOND, Happening::AgentEvent { node: number, life, event });
        }
        if self.nodes[number].host.mtu(FOREIGN) != Some(1234) {
            self.safety.violate(format!("n{number}: the link of somebody else was changed"));
        }
    }

    fn carry_out(&mut self, number: usize, act: Act) -> Option<Event> {
        let node = &mut self.nodes[number];
        match act {
            Act::Recover => {
                let found = node.host.recover_left();
                Some(Event::Recovered(Ok(found.then(|| "a change that did not end was taken back".to_owned()))))
            }
            Act::Observe => Some(Event::Observed(Ok(Box::new(node.host.observed().clone())))),
            Act::Begin(desired, leases, reach, timing) => self.begin(number, desired, (&leases, reach), timing),
            Act::Lease(order) => Some(nobody_gives(&order)),
            Act::Finish(desired, begun, timing, started) => self.finish(number, desired, *begun, timing, started),
            Act::Keep(kept) => {
                let trying = kept.trying.clone().filter(|_| self.bug != Some(Bug::ForgetsWhatItTries));
                node.disk = Some(Kept { trying, ..*kept });
                Some(Event::Kept(Ok(())))
            }
            Act::Abandon => {
                node.host.abandon();
                node.disk = None;
                Some(Event::Abandoned(Ok(())))
            }
            Act::Listen(links) => {
                node.listening = links;
                self.announce(number);
                None
            }
        }
    }

    fn begin(
        &mut self,
        number: usize,
        desired: Arc<Prepared>,
        (leases, reach): (&Leases, bool),
        timing: ProbeTiming,
    ) -> Option<Event> {
        let online = !self.nodes[number].shell.is_cut(self.now);
        // A policy that a node merges itself comes from no revision.
        if let Some(config) = desired.desired.config.as_ref().filter(|_| self.nodes[number].mode == Mode::Centralized) {
            self.safety.tried(number, &config.revision);
        }
        let early = self.bug == Some(Bug::ReportsEarly);
        let now = self.nodes[number].shell.clock(self.now);
        match self.nodes[number].host.begin(&desired, (leases, now), (online, reach)) {
            Err(failure) => Some(Event::Transacted(Err(failure))),
            Ok(begun) => {
                let took = if begun.changed { self.setup.change_takes } else { 20 * MILLISECOND };
                let life = self.nodes[number].shell.life;
                self.host_changed(number, begun.changed);
                let done = netloom_agent_core::Done { changed: begun.changed, took: SignedDuration::ZERO };
                if begun.changed && !begun.touched.is_empty() {
                    self.nodes[number].dark_until = self.now + took + self.setup.carrier_takes;
                }
                let act = Act::Finish(desired, Box::new(begun), timing, self.now);
                self.schedule(took, Happening::Act { node: number, life, act });
                early.then_some(Event::Transacted(Ok(done)))
            }
        }
    }

    fn finish(
        &mut self,
        number: usize,
        desired: Arc<Prepared>,
        mut begun: Begun,
        timing: ProbeTiming,
        started: Micros,
    ) -> Option<Event> {
        let ending = match self.watch_change(number, &mut begun, timing) {
            Watched::Over(ending) => ending,
            Watched::Until(at) => {
                let life = self.nodes[number].shell.life;
                let act = Act::Finish(desired, Box::new(begun), timing, started);
                self.schedule(at.saturating_sub(self.now), Happening::Act { node: number, life, act });
                return None;
            }
        };
        let changed = begun.changed;
        let took = SignedDuration::from_micros(i64::try_from(self.now - started).unwrap_or(i64::MAX));
        let outcome = self.nodes[number].host.finish(begun, &ending, took);
        match &outcome {
            Ok(_) => {
                let Node { host, mode, .. } = &self.nodes[number];
                self.safety.verified(number, &desired, host, *mode);
            }
            Err(_) => self.host_changed(number, changed),
        }
        (self.bug != Some(Bug::ReportsEarly)).then_some(Event::Transacted(outcome))
    }

    /// What a node is assigned breaks off when it loses the way to the server, and begins again when it finds it.
    pub(crate) fn path_changed(&mut self, number: usize, had_path: bool) {
        let process = Process::Agent(number);
        match (had_path, self.nodes[number].host.has_path()) {
            (true, false) => self.shell_mut(process).streams.values_mut().for_each(|stream| stream.open = false),
            (false, true) => self.schedule(0, Happening::Heal(process)),
            (true, true) | (false, false) => {}
        }
    }

    /// The kernel tells of a change, unless that is lost.
    pub(crate) fn host_changed(&mut self, number: usize, changed: bool) {
        if changed && !self.unheard && !self.random.chance(self.faults.unheard) {
            let life = self.nodes[number].shell.life;
            self.schedule(
                MILLISECOND,
                Happening::AgentEvent { node: number, life, event: Event::HostChanged(HostChange::Anything) },
            );
        }
    }

    /// Those on the wires are heard where the agent listens, unless it listens nowhere.
    pub(crate) fn announce(&mut self, number: usize) {
        let node = &self.nodes[number];
        if !node.listening.is_empty() {
            let (life, event) = (node.shell.life, Event::Companion(CompanionNews::Heard(node.heard())));
            self.schedule(ANNOUNCED, Happening::AgentEvent { node: number, life, event });
        }
    }

    /// An agent begins its life with what the one before left on disk.
    pub(crate) fn start_agent(&mut self, number: usize) {
        let node = &mut self.nodes[number];
        node.host.forgets = self.bug == Some(Bug::ForgetsToRecover);
        node.listening.clear();
        if self.bug == Some(Bug::LosesItsDisk) {
            node.disk = None;
        }
        node.agent = Agent::new(settings(number, node.mode), node.disk.clone());
        self.follow(Process::Agent(number));
    }
}

/// There is no server on these wires, and every link that asks for a lease hears so.
fn nobody_gives(order: &LeaseOrder) -> Event {
    let unheard = netloom_dhcp::Standing::NoServer;
    let has = Leased { given: None, problem: netloom_agent_core::problem(&unheard, None) };
    let links = order.links.keys().map(|link| (*link, has.clone())).collect();
    Event::Companion(CompanionNews::Leases { order: order.number, links })
}

/// How long it takes until everybody on a wire was heard.
const ANNOUNCED: Micros = SECOND;

/// How long a change of a host takes when nothing else is reported.
pub(crate) const CHANGE_TAKES: Micros = 2 * SECOND;
