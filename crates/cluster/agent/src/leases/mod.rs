//! Leases of links: one thread with the clients of all of them, started when the first link asks for one.
//!
//! The thread never looks at the host by itself: which links are there, with which number and address, comes with what
//! the agent observes. Addresses are not set here either; what a client holds goes to the agent as an event, and from
//! there to the host like any other change.

mod file;
mod identity;
mod news;
mod reached;
mod sight;
mod worker;

use std::{
    collections::BTreeSet,
    io,
    net::IpAddr,
    path::PathBuf,
    sync::{
        Arc, OnceLock,
        mpsc::{Sender, channel},
    },
    time::Duration,
};

use netloom_agent_core::{CompanionNews, CompanionOrder, Event, LeaseOrder, Leased, Others};
use netloom_api::pipeline::node_network_config::{LeaseProblem, NO_THREAD};
use netloom_local_host::Place;
use netloom_model::Observed;
use netloom_types::IfName;
use reached::Reached;
use sight::Sight;
use tokio::sync::mpsc::UnboundedSender;
use worker::LeaseWorker;

use crate::{
    clock::Clock,
    companion::{Companion, Parting},
    lane::Lane,
};

/// What the clients need.
#[derive(Debug, Clone)]
pub(crate) struct Tools {
    pub(crate) place: Place,
    /// The state folder.
    pub(crate) folder: PathBuf,
    /// The name of the node.
    pub(crate) node: String,
    /// The clock that decisions are made with.
    pub(crate) clock: Clock,
    pub(crate) events: UnboundedSender<Event>,
}

/// What is sent to the thread.
#[derive(Debug)]
enum Word {
    /// From now on these links.
    Order(LeaseOrder),
    /// What of them is there.
    Seen(sight::Sights),
    /// Nothing can be sent over these links any more in a moment: who asks for no lease there gives back what it has. Who
    /// waits for that hears when it is done.
    Part(BTreeSet<IfName>, Sender<()>),
    /// What was to cut links off was taken back.
    Stay,
}

/// How long a change waits for leases to be given back.
const PARTING: Duration = Duration::from_secs(1);

/// The way to the thread; there is none before the first link asks for a lease. Whoever changes the host has one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Way(Arc<OnceLock<Lane<Word>>>);

impl Parting for Way {
    /// Has leases given back that nobody asks for any more.
    fn part(&self, links: &BTreeSet<IfName>) {
        let Some(lane) = self.0.get().filter(|_| !links.is_empty()) else { return };
        let (done, waits) = channel();
        lane.say(Word::Part(links.clone(), done));
        if waits.recv_timeout(PARTING).is_err() {
            tracing::warn!("leases are not given back in time; their servers keep them until they end");
        }
    }

    fn stay(&self) {
        if let Some(lane) = self.0.get() {
            lane.say(Word::Stay);
        }
    }
}

/// The clients of an agent.
#[derive(Debug)]
pub(crate) struct Leasing {
    tools: Tools,
    /// The links that ask for leases, or have some still.
    links: BTreeSet<IfName>,
    /// Addresses that the node must reach.
    reached: Reached,
    way: Way,
}

impl Leasing {
    /// Nothing runs before the first order. Where it cannot be known now which addresses the node must reach, they are
    /// those of the life before.
    pub(crate) fn new(tools: Tools, reached: Option<Vec<IpAddr>>, way: Way) -> Self {
        let reached = Reached::new(&tools.folder, reached);
        Self { tools, links: BTreeSet::new(), reached, way }
    }

    fn ask(&mut self, order: LeaseOrder) {
        if order.others != Others::Keep {
            self.links.clear();
        }
        self.links.extend(order.links.keys());
        if self.way.0.get().is_none() {
            match start(self.tools.clone()) {
                // Nobody else starts it.
                Ok(lane) => drop(self.way.0.set(lane)),
                Err(error) => return self.cannot(&order, &error),
            }
        }
        if let Some(lane) = self.way.0.get() {
            lane.say(Word::Order(order));
        }
    }

    /// The agent must not wait for an answer that does not come.
    fn cannot(&self, order: &LeaseOrder, error: &io::Error) {
        tracing::error!(%error, "no thread can be started, so no lease is asked for");
        let problem = LeaseProblem { reason: NO_THREAD.to_owned(), message: format!("cannot start a thread: {error}") };
        let has = Leased { given: None, problem: Some(problem) };
        let links = order.links.keys().map(|link| (*link, has.clone())).collect();
        self.tools.events.send(Event::Companion(CompanionNews::Leases { order: order.number, links })).ok();
    }
}

impl Companion for Leasing {
    fn order(&mut self, order: &CompanionOrder) {
        if let CompanionOrder::Lease(order) = order {
            self.ask(order.clone());
        }
    }

    fn seen(&mut self, observed: &Observed) {
        if let Some(lane) = self.way.0.get().filter(|_| !self.links.is_empty()) {
            let sight = |link| (link, Sight::of(link, observed, self.reached.addresses()));
            lane.say(Word::Seen(self.links.iter().copied().map(sight).collect()));
        }
    }

    fn reach(&mut self, addresses: &[IpAddr]) {
        self.reached.are(addresses);
    }
}

fn start(tools: Tools) -> io::Result<Lane<Word>> {
    let worker = LeaseWorker::new(tools)?;
    Lane::start("leases", move |inbox| worker.run(inbox))
}
