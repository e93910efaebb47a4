//! How requests come to the server and answers back: one after the other in a chain, late, and sometimes
//! with nobody knowing what came of them.

use std::collections::VecDeque;

use netloom_agent_core::Event;
use netloom_object::{Action, Answer, Change, Request};

use crate::{
    Bug, Cluster, MILLISECOND, Process, SECOND, bug, cluster::Happening, lease::name_of, process::server_clock,
    server::Refusal,
};

/// What came back.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// What the server answered.
    Replied(Result<Change, Refusal>),
    /// Nothing did.
    Silence,
}

impl Reply {
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Replied(Ok(_)) => "yes",
            Self::Replied(Err(_)) => "no",
            Self::Silence => "nothing",
        }
    }
}

/// Requests that follow each other, and the number of requests that were sent in vain to get an answer.
pub(crate) type Requests = VecDeque<Request>;

impl Cluster {
    /// Sends the first of some requests.
    pub(crate) fn ask(&mut self, from: Process, chain: Requests) {
        let life = self.shell(from).life;
        let latency = self.latency();
        self.schedule(latency, Happening::Arrive { from, life, chain });
    }

    /// A request reaches the server, or does not.
    pub(crate) fn arrive(&mut self, from: Process, life: u32, chain: Requests) {
        let lost = self.is_cut(from) || self.random.chance(self.faults.unanswered / 2);
        if lost {
            self.schedule(2 * SECOND, Happening::Answered { to: from, life, chain, reply: Reply::Silence });
            return;
        }
        let Some(request) = chain.front() else { return };
        let request = request.clone();
        // What a process has sent arrives although it has died since.
        let reported = if self.lives(from, life) {
            let Some(reported) = self.step(from, |cluster| cluster.perform(from, life, &request)) else { return };
            reported
        } else {
            self.perform(from, life, &request)
        };
        let silent = self.random.chance(self.faults.unanswered / 2);
        let (after, reply) =
            if silent { (2 * SECOND, Reply::Silence) } else { (self.latency(), Reply::Replied(reported)) };
        self.schedule(after, Happening::Answered { to: from, life, chain, reply });
    }

    fn perform(&mut self, from: Process, life: u32, request: &Request) -> Result<Change, Refusal> {
        let manager = match from {
            Process::Controller(number) => {
                let name = name_of(number, life);
                if self.lease.holder() != Some(&name) {
                    self.safety.violate(format!("{name} writes, and {:?} has the lease", self.lease.holder()));
                }
                netloom_controller_core::MANAGER
            }
            Process::Agent(_) => netloom_agent_core::MANAGER,
        };
        let request = &bug::sent(self.bug, from, request);
        *self.requests.entry((verb(&request.action), request.target.kind.kind)).or_default() += 1;
        let reported = self.server.perform(server_clock(self.now), manager, request);
        self.spread(Some(from));
        reported
    }

    /// A process hears what came of a request.
    pub(crate) fn reply(&mut self, to: Process, mut chain: Requests, reply: Reply) {
        if self.is_cut(to) {
            let life = self.shell(to).life;
            self.schedule(SECOND, Happening::Answered { to, life, chain, reply: Reply::Silence });
            return;
        }
        let Some(request) = chain.pop_front() else { return };
        let answer = match reply {
            Reply::Replied(Ok(change)) => {
                if self.bug != Some(Bug::ForgetsItsOwnWrites) || matches!(to, Process::Controller(_)) {
                    self.hear(to, change);
                }
                Answer::Done
            }
            Reply::Replied(Err(_)) => Answer::Refused,
            // Who does not know looks, and then decides again.
            Reply::Silence => {
                if let Some(object) = self.server.get(&request.target).cloned() {
                    self.hear(to, Change::Put(object));
                }
                Answer::Refused
            }
        };
        let goes_on = answer == Answer::Done && self.may_write(to);
        self.answer(to, &request, answer);
        if goes_on && !chain.is_empty() {
            self.ask(to, chain);
        } else {
            for request in chain {
                self.answer(to, &request, Answer::Skipped);
            }
        }
    }

    pub(crate) fn answer(&mut self, to: Process, request: &Request, answer: Answer) {
        let now = self.now;
        match to {
            Process::Controller(number) => {
                let controller = &mut self.controllers[number];
                controller.controller.answered(controller.shell.clock(now), request.id, &answer);
            }
            Process::Agent(number) => {
                let node = &mut self.nodes[number];
                node.agent.take(node.shell.clock(now), Event::Answered { request: request.id, answer });
            }
        }
    }

    /// Whether a process may go on with what it has begun.
    fn may_write(&self, process: Process) -> bool {
        match process {
            Process::Controller(number) => self.leads_until(number).is_some_and(|until| until > self.now + MILLISECOND),
            Process::Agent(_) => true,
        }
    }
}

fn verb(action: &Action) -> &'static str {
    match action {
        Action::Create { .. } => "create",
        Action::Apply { .. } => "apply",
        Action::ApplyStatus { .. } => "status",
        Action::Patch { .. } | Action::PatchTested { .. } => "patch",
        Action::Absent { .. } => "look",
        Action::Delete { .. } => "delete",
    }
}
