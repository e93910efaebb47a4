//! Listening for neighbours: packet sockets on the links that the desired state names, and what comes in there.
//!
//! It is a thread of its own that sleeps until a frame, an order or the end of somebody's time comes. A link
//! that goes and comes again is known by its number in what the agent observes, so that nothing has to be
//! looked up while nothing changes. What cannot be listened on is reported in the log, and tried again with the
//! polls.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use netloom_agent_core::{CompanionNews, CompanionOrder, Event, Heard};
use netloom_lldp::{ETHERTYPE, GROUPS};
use netloom_local_host::Place;
use netloom_model::{EngineError, Observed};
use netloom_netlink::{KernelHost, hearing::Hearing, socket::NetlinkError};
use netloom_types::IfName;
use tokio::sync::mpsc::UnboundedSender;

use crate::{
    companion::Companion,
    lane::{Inbox, Lane},
    neighbours::Tables,
};

/// Frames that are taken before an order has its turn: whoever floods a wire floods only that.
const AT_ONCE: usize = 64;
/// How long it is taken for granted that nobody has closed what was opened here. Less than a poll.
const AGAIN: Duration = Duration::from_secs(45);

/// The ears of an agent.
#[derive(Debug)]
pub(crate) struct LldpListener {
    lane: Lane<Order>,
    /// The links that are listened on.
    links: BTreeSet<IfName>,
    early: Arc<AtomicBool>,
}

/// The links to listen on, each with its number when it is there.
type Order = BTreeMap<IfName, Option<u32>>;

impl LldpListener {
    /// Starts them. Nothing is opened as long as there is nothing to listen on. The thread ends with this value.
    pub(crate) fn start(place: Place, events: UnboundedSender<Event>) -> io::Result<Self> {
        let early = Arc::new(AtomicBool::new(false));
        let listener = Listener::new(place, events, Arc::clone(&early));
        let lane = Lane::start("neighbours", move |inbox| listener.run(inbox))?;
        Ok(Self { lane, links: BTreeSet::new(), early })
    }
}

impl Companion for LldpListener {
    /// Listens on exactly these links. Their numbers come with the next observation.
    fn order(&mut self, order: &CompanionOrder) {
        let CompanionOrder::Listen(links) = order else { return };
        self.early.store(!links.is_empty(), Ordering::Release);
        self.links.clone_from(links);
        self.lane.say(self.links.iter().map(|link| (*link, None)).collect());
    }

    fn seen(&mut self, observed: &Observed) {
        if !self.links.is_empty() {
            let index = |link: &IfName| observed.facts.get(link).map(|facts| facts.index);
            self.lane.say(self.links.iter().map(|link| (*link, index(link))).collect());
        }
    }

    fn is_early(&self) -> bool {
        self.early.load(Ordering::Acquire)
    }
}

/// Why nobody is heard.
#[derive(Debug, thiserror::Error)]
enum Deaf {
    #[error(transparent)]
    Host(#[from] EngineError),
    #[error(transparent)]
    Socket(#[from] NetlinkError),
}

struct Listener {
    place: Place,
    events: UnboundedSender<Event>,
    early: Arc<AtomicBool>,
    began: Instant,
    order: Order,
    /// When the order was last carried out.
    obeyed: Duration,
    open: Option<(KernelHost, Hearing)>,
    tables: Tables,
    reported: Heard,
}

impl Listener {
    #[expect(clippy::disallowed_methods, reason = "the outermost shell: tables take the time as a value")]
    fn new(place: Place, events: UnboundedSender<Event>, early: Arc<AtomicBool>) -> Self {
        Self {
            place,
            events,
            early,
            began: Instant::now(),
            order: Order::new(),
            obeyed: Duration::ZERO,
            open: None,
            tables: Tables::default(),
            reported: Heard::new(),
        }
    }

    fn run(mut self, mut inbox: Inbox<Order>) {
        loop {
            let ordered = self.wait(&inbox).unwrap_or_else(|why| {
                self.fail(&why);
                None
            });
            let Ok(mut orders) = inbox.take(ordered) else { return };
            // The last of the orders is the only one that counts.
            let heard = orders.pop().map_or(Ok(()), |order| self.obey(order)).and_then(|()| self.hear());
            if let Err(why) = heard {
                self.fail(&why);
            }
            self.tell();
        }
    }

    /// Waits for something to do. Without an ear that can only be an order.
    fn wait(&self, inbox: &Inbox<Order>) -> Result<Option<Order>, Deaf> {
        let Some((_, hearing)) = &self.open else { return Ok(inbox.wait()) };
        let now = self.began.elapsed();
        let wake = self.tables.wake_at(now).map(|at| at.saturating_sub(now));
        hearing.wait_or(inbox.bell(), wake)?;
        Ok(None)
    }

    /// Listens where it shall, unless that is so.
    fn obey(&mut self, order: Order) -> Result<(), Deaf> {
        let now = self.began.elapsed();
        let news = order != self.order;
        if !news && now.saturating_sub(self.obeyed) < AGAIN {
            return Ok(());
        }
        self.obeyed = now;
        self.order = order;
        let wanted: BTreeSet<IfName> = self.order.keys().copied().collect();
        if wanted.is_empty() {
            self.open = None;
        } else {
            let (host, hearing) = self.open.take().map_or_else(|| open(&self.place), Ok)?;
            let (hearing, deaf) = host.listen_on(hearing, wanted.clone())?;
            for error in deaf.iter().filter(|_| news) {
                tracing::warn!(reason = error.reason(), %error, "a link cannot be listened on");
            }
            self.open = Some((host, hearing));
        }
        let ears = self.open.as_ref().map(|(_, hearing)| hearing.ears().collect()).unwrap_or_default();
        self.tables.listen(self.began.elapsed(), wanted, &ears);
        Ok(())
    }

    /// Takes in some of the frames that are there.
    fn hear(&mut self) -> Result<(), Deaf> {
        let Some((_, hearing)) = &mut self.open else { return Ok(()) };
        for _ in 0..AT_ONCE {
            let Some((link, frame)) = hearing.frame()? else { break };
            if let Err(why) = self.tables.frame(self.began.elapsed(), link, frame) {
                tracing::debug!(%link, reason = why.reason(), %why, "an announcement cannot be read");
            }
        }
        Ok(())
    }

    /// Says why nobody is heard; a later poll tries again.
    fn fail(&mut self, why: &Deaf) {
        tracing::warn!(%why, "neighbours cannot be listened for");
        self.open = None;
        self.tables.listen(self.began.elapsed(), self.order.keys().copied().collect(), &BTreeMap::new());
    }

    /// Tells the agent when there is news.
    fn tell(&mut self) {
        let now = self.began.elapsed();
        self.tables.expire(now);
        let heard = self.tables.heard(now);
        if heard != self.reported {
            self.reported.clone_from(&heard);
            self.events.send(Event::Companion(CompanionNews::Heard(heard))).ok();
        }
        // After the event: who finds that it is not early any more must find the news in the queue.
        self.early.store(self.tables.is_early(now), Ordering::Release);
    }
}

fn open(place: &Place) -> Result<(KernelHost, Hearing), EngineError> {
    let host = place.kernel()?;
    let hearing = host.hearing(ETHERTYPE, &GROUPS)?;
    Ok((host, hearing))
}
