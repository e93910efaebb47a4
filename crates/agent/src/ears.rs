//! Listening for neighbours: packet sockets on the links that the wish names, and what comes in there.
//!
//! It is a thread of its own that sleeps until a frame, an order or the end of somebody's time comes. A link
//! that goes and comes again is known by its number in what the agent observes, so that nothing has to be
//! looked up while nothing changes. What cannot be listened on is said in the log, and tried again with the
//! polls.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Read as _, Write as _},
    os::{fd::AsFd as _, unix::net::UnixStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, Sender, TryRecvError, channel},
    },
    thread,
    time::{Duration, Instant},
};

use netloom_lldp::{ETHERTYPE, GROUPS};
use netloom_model::{EngineError, Observed};
use netloom_netlink::{KernelHost, hearing::Hearing, socket::NetlinkError};
use netloom_node::{Event, Heard};
use netloom_place::Place;
use netloom_types::IfName;
use tokio::sync::mpsc::UnboundedSender;

use crate::neighbours::Tables;

/// Frames that are taken before an order has its turn: whoever floods a wire floods only that.
const AT_ONCE: usize = 64;
/// How long it is taken for granted that nobody has closed what was opened here. Less than a poll.
const AGAIN: Duration = Duration::from_secs(45);

/// The ears of an agent.
#[derive(Debug)]
pub(crate) struct Ears {
    orders: Sender<Order>,
    /// Wakes the thread for an order.
    bell: UnixStream,
    /// The links that are listened on.
    links: BTreeSet<IfName>,
    early: Arc<AtomicBool>,
}

/// The links to listen on, each with its number when it is there.
type Order = BTreeMap<IfName, Option<u32>>;

impl Ears {
    /// Starts them. Nothing is opened as long as there is nothing to listen on. The thread ends with this value.
    pub(crate) fn start(place: Place, events: UnboundedSender<Event>) -> io::Result<Self> {
        let (orders, queue) = channel();
        let (bell, rung) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        rung.set_nonblocking(true)?;
        let early = Arc::new(AtomicBool::new(false));
        let listener = Listener::new(place, events, Arc::clone(&early));
        thread::Builder::new().name("neighbours".to_owned()).spawn(move || listener.run(&queue, rung))?;
        Ok(Self { orders, bell, links: BTreeSet::new(), early })
    }

    /// Listens on exactly these links from now on. Their numbers come with the next observation.
    pub(crate) fn listen(&mut self, links: BTreeSet<IfName>) {
        self.early.store(!links.is_empty(), Ordering::Release);
        self.links = links;
        self.order(self.links.iter().map(|link| (*link, None)).collect());
    }

    /// The host was observed: links may have gone or come.
    pub(crate) fn seen(&self, observed: &Observed) {
        if !self.links.is_empty() {
            let index = |link: &IfName| observed.facts.get(link).map(|facts| facts.index);
            self.order(self.links.iter().map(|link| (*link, index(link))).collect());
        }
    }

    /// Whether it is too early to say who is there.
    pub(crate) fn is_early(&self) -> bool {
        self.early.load(Ordering::Acquire)
    }

    fn order(&self, order: Order) {
        // The thread ends only after this end is dropped. A bell that is full rings already.
        self.orders.send(order).ok();
        (&self.bell).write_all(&[1]).ok();
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
    told: Heard,
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
            told: Heard::new(),
        }
    }

    fn run(mut self, orders: &Receiver<Order>, mut rung: UnixStream) {
        loop {
            let ordered = self.wait(orders, &rung).unwrap_or_else(|why| {
                self.fail(&why);
                None
            });
            // However often it rang: the orders tell.
            while rung.read(&mut [0; 64]).is_ok_and(|bytes| bytes > 0) {}
            let Ok(last) = last_of(orders, ordered) else { return };
            let heard = last.map_or(Ok(()), |order| self.obey(order)).and_then(|()| self.hear());
            if let Err(why) = heard {
                self.fail(&why);
            }
            self.tell();
        }
    }

    /// Waits for something to do. Without an ear that can only be an order.
    fn wait(&self, orders: &Receiver<Order>, rung: &UnixStream) -> Result<Option<Order>, Deaf> {
        let Some((_, hearing)) = &self.open else {
            return Ok(orders.recv().ok());
        };
        let now = self.began.elapsed();
        let wake = self.tables.wake_at(now).map(|at| at.saturating_sub(now));
        hearing.wait_or(rung.as_fd(), wake)?;
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
        if heard != self.told {
            self.told.clone_from(&heard);
            self.events.send(Event::Heard(heard)).ok();
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

/// The last of the orders, which is the only one that counts; a failure when there will be none any more.
fn last_of(orders: &Receiver<Order>, first: Option<Order>) -> Result<Option<Order>, TryRecvError> {
    let mut last = first;
    loop {
        match orders.try_recv() {
            Ok(order) => last = Some(order),
            Err(TryRecvError::Empty) => return Ok(last),
            Err(gone @ TryRecvError::Disconnected) => return Err(gone),
        }
    }
}
