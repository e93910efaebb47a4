//! The cluster: everything that is in it, and the queue of what happens next.
//!
//! Events are ordered by time and, at the same time, by when they were put into the queue. Nothing else
//! decides about the order.

use std::collections::BTreeMap;

use jiff::Timestamp;
use netloom_agent_core::Event;
use netloom_api::{GroupKind, rollout::RolloutPolicySpec};
use netloom_controller_core::{
    Controller, Index, Leadership,
    lease::{Candidate, LeaseAction, Outcome},
};
use netloom_object::{Answer, Chain, Change};
use serde_json::json;

use crate::{
    Bug, Faults, Micros, Misfortune, Process, Random, Server, Setup, Trace, bug,
    lease::{self, Lease},
    node::{Act, Node},
    process::{Shell, server_clock},
    requests::{Reply, Requests},
    safety::Safety,
    users,
};

/// A controller.
#[derive(Debug, Clone)]
pub(crate) struct Deputy {
    pub(crate) shell: Shell,
    pub(crate) index: Index,
    pub(crate) controller: Controller,
    pub(crate) candidate: Candidate,
}

impl Deputy {
    fn new(number: usize, shell: Shell) -> Self {
        let candidate = lease::candidate(number, shell.life);
        Self { shell, index: Index::default(), controller: Controller::default(), candidate }
    }
}

/// Something that happens at its time. What is meant for a life that is over is not heard.
#[derive(Debug, Clone)]
pub(crate) enum Happening {
    Deliver { to: Process, life: u32, kind: GroupKind<'static>, number: u32, change: Change },
    Relist { to: Process, life: u32, kind: GroupKind<'static> },
    Wake { to: Process, life: u32 },
    Look { controller: usize, life: u32 },
    Stand { controller: usize, life: u32, step: LeaseAction },
    Leased { controller: usize, life: u32, outcome: Outcome },
    Arrive { from: Process, life: u32, chain: Requests },
    Answered { to: Process, life: u32, chain: Requests, reply: Reply },
    Act { node: usize, life: u32, act: Act },
    AgentEvent { node: usize, life: u32, event: Event },
    Restart(Process),
    Heal(Process),
    Strikes(Misfortune),
}

/// The cluster.
#[derive(Debug, Clone)]
pub struct Cluster {
    pub(crate) setup: Setup,
    pub(crate) random: Random,
    pub(crate) faults: Faults,
    pub(crate) bug: Option<Bug>,
    pub(crate) now: Micros,
    queue: BTreeMap<(Micros, u64), Happening>,
    queued: u64,
    /// The server.
    pub server: Server,
    pub(crate) lease: Lease,
    pub(crate) controllers: Vec<Deputy>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) numbers: BTreeMap<String, usize>,
    /// The server refuses connections before then.
    pub(crate) away_until: Micros,
    /// How much of the server's log was sent.
    pub(crate) spread: usize,
    pub(crate) safety: Safety,
    /// Requests that reached the server, by verb and kind.
    pub requests: BTreeMap<(&'static str, &'static str), usize>,
    pub(crate) trace: Trace,
    /// How many steps were taken: writes that reached the server, and things done to hosts.
    pub steps: usize,
    /// Who took the last one.
    pub(crate) last_step: Option<Process>,
    /// Whether it only held on to a lease.
    pub(crate) last_is_renewal: bool,
    /// For whom something went wrong at a step.
    pub(crate) last_stopped: Option<Process>,
    /// Whether nobody hears of what happens now.
    pub(crate) unheard: bool,
}

impl Cluster {
    /// A cluster whose processes are about to start.
    pub fn new(setup: Setup) -> Self {
        let mut random = Random::new(setup.seed);
        let skew = setup.faults.skew;
        let mut shell = || Shell {
            alive: true,
            ahead: i64::try_from(random.between(0, 2 * skew)).unwrap_or_default()
                - i64::try_from(skew).unwrap_or_default(),
            ..Shell::default()
        };
        let controllers = (0..setup.controllers).map(|number| Deputy::new(number, shell())).collect();
        let nodes = (0..setup.nodes).map(|number| Node { shell: shell(), ..Node::new(number, &setup) }).collect();
        let spec = setup.rollout.clone().unwrap_or_else(|| json!({}));
        let spec: RolloutPolicySpec = serde_json::from_value(spec).unwrap_or_default();
        let safety = Safety::new(spec.max_unavailable.of(setup.nodes));
        let mut cluster = Self {
            random,
            faults: setup.faults,
            bug: setup.bug,
            now: 0,
            queue: BTreeMap::new(),
            queued: 0,
            server: Server::default(),
            lease: Lease::default(),
            controllers,
            nodes,
            numbers: (0..setup.nodes).map(|number| (users::name(number), number)).collect(),
            away_until: 0,
            spread: 0,
            safety,
            requests: BTreeMap::new(),
            trace: Trace::default(),
            steps: 0,
            last_step: None,
            last_is_renewal: false,
            last_stopped: None,
            unheard: false,
            setup,
        };
        cluster.begin_all();
        cluster
    }

    fn begin_all(&mut self) {
        let now = server_clock(self.now);
        for number in 0..self.nodes.len() {
            self.server.write(now, users::node(number));
        }
        if let Some(spec) = &self.setup.rollout {
            self.server.write(now, users::rollout(spec));
        }
        self.spread(None);
        for process in self.processes() {
            self.begin_life(process);
        }
    }

    /// Every process.
    pub(crate) fn processes(&self) -> Vec<Process> {
        let controllers = (0..self.controllers.len()).map(Process::Controller);
        controllers.chain((0..self.nodes.len()).map(Process::Agent)).collect()
    }

    pub(crate) fn begin_life(&mut self, process: Process) {
        match process {
            Process::Controller(number) => {
                let shell = std::mem::take(&mut self.controllers[number].shell);
                let life = shell.life;
                self.controllers[number] = Deputy::new(number, shell);
                self.follow(process);
                self.look(number, life);
            }
            Process::Agent(number) => self.start_agent(number),
        }
    }

    /// What happens to the cluster from outside, and when.
    pub fn strike(&mut self, at: Micros, misfortune: Misfortune) {
        let wait = at.saturating_sub(self.now);
        self.schedule(wait, Happening::Strikes(misfortune));
    }

    pub(crate) fn schedule(&mut self, wait: Micros, happening: Happening) {
        self.queued += 1;
        self.queue.insert((self.now + wait, self.queued), happening);
    }

    /// The time since the beginning.
    pub fn now(&self) -> Micros {
        self.now
    }

    /// What happened.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// What happened and never may.
    pub fn violations(&self) -> &[String] {
        &self.safety.violations
    }

    /// The most nodes that were changing or failed at once.
    pub fn peak_in_flight(&self) -> usize {
        self.safety.peak
    }

    /// How many nodes each bad revision was tried on.
    pub fn bad_reached(&self) -> Vec<usize> {
        self.safety.tried.values().map(std::collections::BTreeSet::len).collect()
    }

    /// The host of a node.
    pub fn host(&self, number: usize) -> &crate::Host {
        &self.nodes[number].host
    }

    /// How often the network of each node was changed for good.
    pub fn changes(&self) -> Vec<usize> {
        self.nodes.iter().map(|node| node.host.confirmed()).collect()
    }

    /// How many requests reached the server.
    pub fn asked(&self) -> usize {
        self.requests.values().sum()
    }

    /// Lets everything happen until `end`, or until something happens that never may.
    pub fn run_until(&mut self, end: Micros) {
        while self.run_once(end) {}
    }

    /// Lets the next thing happen; says whether there was one until `end`.
    pub(crate) fn run_once(&mut self, end: Micros) -> bool {
        if self.safety.violations.is_empty()
            && let Some(entry) = self.queue.first_entry()
            && entry.key().0 <= end
        {
            let ((at, _), happening) = entry.remove_entry();
            self.now = at;
            self.happen(happening);
            return true;
        }
        self.now = self.now.max(end);
        false
    }

    /// Whether what happens next may be a step of somebody.
    pub(crate) fn may_step(&self) -> bool {
        let next = self.queue.first_key_value().map(|(_, happening)| happening);
        matches!(next, Some(Happening::Arrive { .. } | Happening::Act { .. } | Happening::Stand { .. }))
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Strikes(misfortune) => self.struck(misfortune),
            Happening::Restart(process) => self.restart(process),
            Happening::Heal(process) => {
                if !self.is_cut(process) && self.shell(process).alive {
                    self.follow(process);
                    self.decide(process);
                }
            }
            // What was sent arrives although the sender is dead.
            Happening::Arrive { from, life, chain } => {
                self.note_request(from, &chain);
                self.arrive(from, life, chain);
            }
            Happening::Deliver { to, life, kind, number, change } => {
                let current = self.shell(to).streams.get(&kind).is_some_and(|stream| stream.number == number);
                if self.lives(to, life) && current && !self.is_cut(to) {
                    self.note_change(to, kind, &change);
                    self.hear(to, change);
                    self.decide(to);
                }
            }
            Happening::Relist { to, life, kind } if self.lives(to, life) => self.relist(to, kind),
            Happening::Wake { to, life } if self.lives(to, life) => {
                if self.shell(to).wake == Some(self.now) {
                    self.shell_mut(to).wake = None;
                    self.note(format_args!("{to:?} wakes"));
                    self.decide(to);
                }
            }
            Happening::Look { controller, life } if self.lives(Process::Controller(controller), life) => {
                self.look(controller, life);
            }
            Happening::Stand { controller, life, step } => self.stand(controller, life, &step),
            Happening::Leased { controller, life, outcome } if self.lives(Process::Controller(controller), life) => {
                self.leased(controller, life, outcome);
            }
            Happening::Answered { to, life, chain, reply } if self.lives(to, life) => {
                self.note(format_args!("{to:?} hears {}", reply.word()));
                self.reply(to, chain, reply);
                self.decide(to);
            }
            Happening::Act { node, life, act } if self.lives(Process::Agent(node), life) => self.act(node, act),
            Happening::AgentEvent { node, life, event } if self.lives(Process::Agent(node), life) => {
                let now = self.nodes[node].shell.clock(self.now);
                self.nodes[node].agent.take(now, event);
                self.decide(Process::Agent(node));
            }
            Happening::Relist { .. }
            | Happening::Wake { .. }
            | Happening::Look { .. }
            | Happening::Leased { .. }
            | Happening::Answered { .. }
            | Happening::Act { .. }
            | Happening::AgentEvent { .. } => {}
        }
    }

    pub(crate) fn lives(&self, process: Process, life: u32) -> bool {
        let shell = self.shell(process);
        shell.alive && shell.life == life
    }

    /// Whether a process does not reach the server: something is between them, or the node has lost the way itself.
    pub(crate) fn is_cut(&self, process: Process) -> bool {
        let lost = matches!(process, Process::Agent(number) if !self.nodes[number].host.has_path());
        lost || self.shell(process).is_cut(self.now)
    }

    /// Lets a process decide, and starts what it wants.
    pub(crate) fn decide(&mut self, process: Process) {
        let now = self.now;
        let (idle, wake_at) = match process {
            Process::Agent(number) => {
                let node = &mut self.nodes[number];
                let turn = node.agent.decide(node.shell.clock(now));
                let idle = turn.effects.is_empty();
                for effect in turn.effects {
                    self.start(number, effect);
                }
                (idle, turn.wake_at)
            }
            Process::Controller(number) => {
                let until = self.leads_until(number);
                let deputy = &mut self.controllers[number];
                let leadership = until
                    .map_or(Leadership::Following, |until| Leadership::Leading { until: deputy.shell.clock(until) });
                let turn = deputy.controller.decide(deputy.shell.clock(now), &deputy.index, leadership);
                let idle = turn.chains.is_empty();
                let leaves = |chain: &Chain| self.bug == Some(Bug::LeavesHalfAPair) && bug::completes_a_pair(&chain.0);
                let (left, chains): (Vec<Chain>, Vec<Chain>) = turn.chains.into_iter().partition(leaves);
                for request in left.into_iter().flat_map(|chain| chain.0) {
                    self.answer(process, &request, Answer::Skipped);
                }
                for chain in chains {
                    self.ask(process, chain.0.into());
                }
                (idle, turn.wake_at)
            }
        };
        self.wake_later(process, idle, wake_at);
    }

    /// Asks a process again when it wants to be.
    fn wake_later(&mut self, process: Process, idle: bool, wake_at: Option<Timestamp>) {
        let now = self.now;
        let shell = self.shell_mut(process);
        let at = wake_at.map(|time| shell.moment(time));
        if at == shell.wake {
            return;
        }
        shell.wake = at;
        let life = shell.life;
        if let Some(at) = at {
            if at <= now && idle {
                self.safety.violate(format!("{process:?} wants to be asked again at once with nothing to do"));
            }
            self.schedule(at.saturating_sub(now), Happening::Wake { to: process, life });
        }
    }

    pub(crate) fn shell(&self, process: Process) -> &Shell {
        match process {
            Process::Controller(number) => &self.controllers[number].shell,
            Process::Agent(number) => &self.nodes[number].shell,
        }
    }

    pub(crate) fn shell_mut(&mut self, process: Process) -> &mut Shell {
        match process {
            Process::Controller(number) => &mut self.controllers[number].shell,
            Process::Agent(number) => &mut self.nodes[number].shell,
        }
    }
}
