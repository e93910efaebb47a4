//! What an agent has done to its host, and when it hears of it.

use jiff::SignedDuration;
use netloom_node::{Agent, Effect, Event, Kept, Prepared, Settings};
use std::sync::Arc;

use crate::{
    Bug, Cluster, FOREIGN, Host, MILLISECOND, Micros, Process, SECOND, cluster::Happening, host::Begun, people,
    process::Shell,
};

/// A node.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) shell: Shell,
    pub(crate) agent: Agent,
    pub(crate) host: Host,
    pub(crate) disk: Option<Kept>,
}

impl Node {
    pub(crate) fn new(number: usize) -> Self {
        let agent = Agent::new(settings(number), None);
        Self { shell: Shell::default(), agent, host: Host::new(number), disk: None }
    }
}

/// How the agent of a node is set up.
pub(crate) fn settings(number: usize) -> Settings {
    Settings { namespace: people::NAMESPACE.to_owned(), seed: number as u64, ..Settings::of(people::name(number)) }
}

/// Something that is done to a host or a disk.
#[derive(Debug)]
pub(crate) enum Act {
    Recover,
    Observe,
    Begin(Arc<Prepared>, bool),
    Finish(Arc<Prepared>, Box<Begun>, Micros),
    Keep(Box<Kept>),
    Abandon,
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
        }
    }
}

impl Cluster {
    /// Starts what an agent wants.
    pub(crate) fn start(&mut self, number: usize, effect: Effect) {
        let (after, act) = match effect {
            Effect::Recover => (2 * MILLISECOND, Act::Recover),
            Effect::Observe => (2 * MILLISECOND, Act::Observe),
            Effect::Transact { wish, protected: _, reach } => (MILLISECOND, Act::Begin(wish, reach)),
            Effect::Keep(kept) => (MILLISECOND, Act::Keep(kept)),
            Effect::Abandon => (MILLISECOND, Act::Abandon),
            // Nobody speaks on these wires.
            Effect::Listen(_) => return,
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
            self.schedule(MILLISECOND, Happening::Told { node: number, life, event });
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
            Act::Begin(wish, reach) => self.begin(number, wish, reach),
            Act::Finish(wish, begun, took) => self.finish(number, &wish, *begun, took),
            Act::Keep(kept) => {
                node.disk = Some(*kept);
                Some(Event::Kept(Ok(())))
            }
            Act::Abandon => {
                node.host.abandon();
                node.disk = None;
                Some(Event::Abandoned(Ok(())))
            }
        }
    }

    fn begin(&mut self, number: usize, wish: Arc<Prepared>, reach: bool) -> Option<Event> {
        let online = !self.nodes[number].shell.is_cut(self.now);
        if let Some(config) = &wish.wish.config {
            self.safety.tried(number, &config.revision);
        }
        let early = self.bug == Some(Bug::ReportsEarly);
        match self.nodes[number].host.begin(&wish, online, reach) {
            Err(failure) => Some(Event::Transacted(Err(failure))),
            Ok(begun) => {
                let took = if begun.changed { self.setup.change_takes } else { 20 * MILLISECOND };
                let life = self.nodes[number].shell.life;
                self.host_changed(number, begun.changed);
                let done = netloom_node::Done { changed: begun.changed, took: SignedDuration::ZERO };
                let act = Act::Finish(wish, Box::new(begun), took);
                self.schedule(took, Happening::Act { node: number, life, act });
                early.then_some(Event::Transacted(Ok(done)))
            }
        }
    }

    fn finish(&mut self, number: usize, wish: &Prepared, begun: Begun, took: Micros) -> Option<Event> {
        let changed = begun.changed;
        let node = &mut self.nodes[number];
        let online = !node.shell.is_cut(self.now);
        let took = SignedDuration::from_micros(i64::try_from(took).unwrap_or(i64::MAX));
        let outcome = node.host.finish(begun, online, took);
        match &outcome {
            Ok(_) => self.safety.verified(number, &wish.wish, &self.nodes[number].host),
            Err(_) => self.host_changed(number, changed),
        }
        (self.bug != Some(Bug::ReportsEarly)).then_some(Event::Transacted(outcome))
    }

    /// What a node is told breaks off when it loses the way to the server, and begins anew when it finds it.
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
            self.schedule(MILLISECOND, Happening::Told { node: number, life, event: Event::HostChanged });
        }
    }

    /// An agent begins its life with what the one before left on disk.
    pub(crate) fn start_agent(&mut self, number: usize) {
        let node = &mut self.nodes[number];
        node.host.forgets = self.bug == Some(Bug::ForgetsToRecover);
        node.agent = Agent::new(settings(number), node.disk.clone());
        self.follow(Process::Agent(number));
    }
}

/// How long a change of a host takes when nothing else is said.
pub(crate) const CHANGE_TAKES: Micros = 2 * SECOND;
