//! Leases of links: one thread with the clients of all of them, started when the first link asks for one.
//!
//! The thread never looks at the host by itself: which links are there, with which number and address, comes with what
//! the agent observes. Addresses are not set here either; what a client holds goes to the agent as an event, and from
//! there to the host like any other change.

mod file;
mod identity;
mod news;
mod sight;
mod tenant;

use std::{
    io::{self, Write as _},
    net::IpAddr,
    os::unix::net::UnixStream,
    path::PathBuf,
    sync::mpsc::{Sender, channel},
    thread,
};

use netloom_api::fabric::node_network_config::LeaseProblem;
use netloom_model::Observed;
use netloom_node::{Event, LeaseOrder, Leased};
use netloom_place::Place;
use tokio::sync::mpsc::UnboundedSender;

use crate::clock::Clock;

use sight::Sight;
use tenant::Tenant;

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

/// What the thread is told.
enum Word {
    /// From now on these links.
    Order(LeaseOrder),
    /// What of them is there.
    Seen(sight::Sights),
}

/// The clients of an agent.
#[derive(Debug)]
pub(crate) struct Leasing {
    tools: Tools,
    /// The links that ask for leases.
    order: LeaseOrder,
    /// Addresses that the node must reach.
    reached: Vec<IpAddr>,
    thread: Option<Ear>,
}

/// The way to the thread, which ends with it.
#[derive(Debug)]
struct Ear {
    words: Sender<Word>,
    /// Wakes the thread for a word.
    bell: UnixStream,
}

impl Leasing {
    /// Nothing runs before the first order.
    pub(crate) fn new(tools: Tools, reached: Vec<IpAddr>) -> Self {
        let order = LeaseOrder { links: std::collections::BTreeMap::new(), give_back: false };
        Self { tools, order, reached, thread: None }
    }

    /// Asks for leases on exactly these links from now on.
    pub(crate) fn order(&mut self, order: LeaseOrder) {
        self.order = order.clone();
        let started = match self.thread.take() {
            Some(ear) => Ok(ear),
            None => start(self.tools.clone()),
        };
        match started {
            Ok(ear) => self.thread.insert(ear).say(Word::Order(order)),
            Err(error) => self.cannot(&error),
        }
    }

    /// The host was observed: links may have gone or come, or have other addresses.
    pub(crate) fn seen(&self, observed: &Observed) {
        if let Some(ear) = self.thread.as_ref().filter(|_| !self.order.links.is_empty()) {
            let sight = |link| (link, Sight::of(link, observed, &self.reached));
            ear.say(Word::Seen(self.order.links.keys().copied().map(sight).collect()));
        }
    }

    /// These addresses must be reached from now on.
    pub(crate) fn reach(&mut self, addresses: &[IpAddr]) {
        self.reached = addresses.to_vec();
    }

    /// The agent must not wait for an answer that does not come.
    fn cannot(&self, error: &io::Error) {
        tracing::error!(%error, "no thread can be started, so no lease is asked for");
        let problem =
            LeaseProblem { reason: "NoThread".to_owned(), message: format!("cannot start a thread: {error}") };
        let has = Leased { given: None, problem: Some(problem) };
        let all = self.order.links.keys().map(|link| (*link, has.clone())).collect();
        self.tools.events.send(Event::Leases(all)).ok();
    }
}

impl Ear {
    fn say(&self, word: Word) {
        // The thread ends only after this end is dropped. A bell that is full rings already.
        self.words.send(word).ok();
        (&self.bell).write_all(&[1]).ok();
    }
}

fn start(tools: Tools) -> io::Result<Ear> {
    let (words, queue) = channel();
    let (bell, rung) = UnixStream::pair()?;
    bell.set_nonblocking(true)?;
    rung.set_nonblocking(true)?;
    let tenant = Tenant::new(tools)?;
    thread::Builder::new().name("leases".to_owned()).spawn(move || tenant.run(&queue, rung))?;
    Ok(Ear { words, bell })
}
