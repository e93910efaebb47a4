//! The thread: sockets, clock and disk around what the clients decide.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    net::Ipv4Addr,
};

use jiff::{SignedDuration, Timestamp};
use netloom_agent_core::{CompanionNews, Event, Given, LeaseOrder, LeaseRequest, Leased, NameChoice, Others, problem};
use netloom_api::pipeline::node_network_config::{LeaseProblem, NO_SOCKET};
use netloom_dhcp::{
    Action, ClientId, Clients, Configuration, Input, Lease, Now, Probing, Remembered, Settings, arp,
    datagram::{self, Checksums},
    filter,
};
use netloom_journal::{Clock as _, SystemClock};
use netloom_model::EngineError;
use netloom_netlink::{
    KernelHost,
    frames::{FrameError, Frames, LinkAddress},
    socket::NetlinkError,
};
use netloom_types::{FilterInstruction, IfName};

use crate::lane::Inbox;

use super::{
    Tools, Word,
    file::LeaseFiles,
    identity::{Identity, chance},
    news::News,
    sight::{Sight, Sights},
};

/// Frames that are taken before a word has its turn: whoever floods a wire floods only that.
const AT_ONCE: usize = 64;

/// Why nothing can be sent or heard on a link.
#[derive(Debug, thiserror::Error)]
enum Mute {
    #[error(transparent)]
    Host(#[from] EngineError),
    #[error(transparent)]
    Socket(#[from] NetlinkError),
    #[error(transparent)]
    Frame(#[from] FrameError),
}

/// A link that asks for a lease.
#[derive(Debug)]
struct Tenancy {
    desired: LeaseRequest,
    /// The link as it was last seen; none while it is not there or was not looked at.
    sight: Option<Sight>,
    /// Whether it was looked at since it was ordered.
    looked: bool,
    has: Leased,
    next: Next,
}

/// What becomes of a link.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// It asks for its lease.
    Stays,
    /// It asks no more, and gives back what it has when the host does without; then it asks for another network's, if
    /// for any.
    Parts(Option<Box<LeaseRequest>>),
    /// The same, and it has given back what it had.
    Parted(Option<Box<LeaseRequest>>),
}

impl Tenancy {
    fn new(desired: LeaseRequest) -> Self {
        Self { desired, sight: None, looked: false, has: Leased::default(), next: Next::Stays }
    }

    /// Asks no more once the host does without its lease.
    fn part(&mut self, heir: Option<LeaseRequest>) {
        let heir = heir.map(Box::new);
        self.next = if matches!(self.next, Next::Parted(_)) { Next::Parted(heir) } else { Next::Parts(heir) };
    }

    /// What is sent to the agent: what another network gave is nothing to it.
    fn tells(&self) -> Leased {
        match &self.next {
            Next::Stays | Next::Parts(None) | Next::Parted(None) => self.has.clone(),
            Next::Parts(Some(_)) | Next::Parted(Some(_)) => Leased::default(),
        }
    }
}

/// The clients of a node.
pub(super) struct LeaseWorker {
    tools: Tools,
    files: LeaseFiles,
    identity: Identity,
    open: Option<(KernelHost, Frames)>,
    clients: Clients,
    links: BTreeMap<IfName, Tenancy>,
    /// The number of the last order.
    order: u64,
    /// Links whose clients had something to do since it was looked what they have.
    touched: BTreeSet<IfName>,
    /// What was not sent to the agent.
    news: News,
}

impl LeaseWorker {
    pub(super) fn new(tools: Tools) -> io::Result<Self> {
        let identity = Identity::of(&tools.node, &tools.folder)?;
        let files = LeaseFiles::in_folder(&tools.folder);
        Ok(Self {
            tools,
            files,
            identity,
            open: None,
            clients: Clients::new(),
            links: BTreeMap::new(),
            order: 0,
            touched: BTreeSet::new(),
            news: News::default(),
        })
    }

    pub(super) fn run(mut self, mut inbox: Inbox<Word>) {
        loop {
            let first = self.wait(&inbox);
            // When the agent ends, nothing is given back: whoever comes next goes on with the leases.
            let Ok(words) = inbox.take(first) else { return };
            for word in words {
                self.take(word);
            }
            self.hear();
            let now = now();
            for (link, action) in self.clients.wake(now) {
                self.act(link, action);
            }
            self.tell(now);
        }
    }

    /// Waits for something to do. Without a socket that can only be a word.
    fn wait(&mut self, inbox: &Inbox<Word>) -> Option<Word> {
        let Some((_, frames)) = &self.open else { return inbox.wait() };
        let wake = self.clients.wake_at().map(|at| at.saturating_sub(now().since_boot));
        if let Err(error) = frames.wait_or(inbox.bell(), wake) {
            self.fail(&error.into());
        }
        None
    }

    fn take(&mut self, word: Word) {
        match word {
            Word::Order(order) => self.order(order),
            Word::Seen(sights) => self.seen(sights),
            Word::Part(links, done) => {
                self.part(&links);
                done.send(()).ok();
            }
            Word::Stay => self.stay(),
        }
    }

    /// Turns to exactly these links.
    fn order(&mut self, order: LeaseOrder) {
        let LeaseOrder { number, mut links, others } = order;
        self.order = number;
        let had: Vec<IfName> = self.links.keys().copied().collect();
        for link in had {
            let desired = links.remove(&link);
            let Some(tenancy) = self.links.get_mut(&link) else { continue };
            match desired {
                Some(desired) if desired.key() == tenancy.desired.key() => self.goes_on(link, desired),
                desired if others == Others::Keep => tenancy.part(desired),
                desired => {
                    self.leave(link, others == Others::GiveBack);
                    self.links.extend(desired.map(|desired| (link, Tenancy::new(desired))));
                }
            }
        }
        self.links.extend(links.into_iter().map(|(link, desired)| (link, Tenancy::new(desired))));
        if others == Others::GiveBack {
            let kept = self.files.keep_only(self.links.values().map(|tenancy| tenancy.desired.key()));
            log(kept, "leases of networks that are gone cannot be removed");
        }
        if self.links.is_empty() {
            self.open = None;
        }
        self.news.is_urgent();
    }

    /// A link asks for the lease of the same network as before.
    fn goes_on(&mut self, link: IfName, desired: LeaseRequest) {
        let Some(tenancy) = self.links.get_mut(&link) else { return };
        let same = tenancy.desired.asks_like(&desired);
        tenancy.desired = desired;
        match std::mem::replace(&mut tenancy.next, Next::Stays) {
            Next::Stays | Next::Parts(_) if same => {}
            Next::Stays | Next::Parts(_) | Next::Parted(_) => self.begin(link),
        }
    }

    /// Gives back, before links are cut off, what nobody asks for any more. It stays on disk: should the links stay, it is
    /// asked for again.
    fn part(&mut self, links: &BTreeSet<IfName>) {
        for link in links {
            let Some(tenancy) = self.links.get_mut(link) else { continue };
            if let Next::Parts(heir) = &mut tenancy.next {
                tenancy.next = Next::Parted(heir.take());
                self.feed(*link, Input::Release);
            }
        }
    }

    /// Links stay that were to be cut off. With the next look they ask for what they gave back.
    fn stay(&mut self) {
        for (link, tenancy) in &mut self.links {
            if let Next::Parted(heir) = &mut tenancy.next {
                tenancy.next = Next::Parts(heir.take());
                tenancy.sight = None;
                self.clients.remove(*link);
            }
        }
    }

    /// Ends the client of a link.
    fn leave(&mut self, link: IfName, give_back: bool) {
        if give_back {
            self.feed(link, Input::Release);
        }
        self.clients.remove(link);
        self.links.remove(&link);
        self.close(link);
    }

    fn close(&mut self, link: IfName) {
        if let Some((_, frames)) = &mut self.open {
            frames.remove(link, datagram::ETHERTYPE);
            frames.remove(link, arp::ETHERTYPE);
        }
    }

    /// Takes note of what is there of the links.
    fn seen(&mut self, sights: Sights) {
        let found = self.find(&sights);
        for (link, sight) in sights {
            let Some(tenancy) = self.links.get_mut(&link) else { continue };
            tenancy.looked = true;
            let before = std::mem::replace(&mut tenancy.sight, sight.clone());
            let Some(sight) = sight else {
                self.feed(link, Input::Link { up: false });
                self.close(link);
                continue;
            };
            let same = before.as_ref().is_some_and(|before| before.is(&sight));
            let listens = match found.as_ref().map(|found| found.get(&link)) {
                // It was not looked for, and is no worse off when those that were cannot be found.
                Ok(None) | Err(_) if same && self.listens(link) => Ok(()),
                Ok(Some(on)) => self.listen_again(*on, &sight),
                Ok(None) => Err(FrameError::NoLink(link).into()),
                Err(error) => Err(error.clone().into()),
            };
            if let Err(mute) = listens {
                self.refuse(link, &mute);
                continue;
            }
            let same_mac = before.is_some_and(|before| before.mac == sight.mac);
            if !same_mac || self.clients.get(link).is_none() {
                self.begin(link);
            } else if !same {
                self.feed(link, Input::Link { up: false });
            }
            // That may leave out other routes.
            self.touched.insert(link);
            self.clients.protect(link, sight.guarded);
            self.feed(link, Input::Link { up: sight.up });
        }
    }

    /// Starts the client of a link, with the lease that the one before had, or that is on disk.
    fn begin(&mut self, link: IfName) {
        let Some(tenancy) = self.links.get(&link) else { return };
        let Some(sight) = &tenancy.sight else { return };
        let desired = &tenancy.desired;
        let id = ClientId::new(&self.identity.machine, &desired.network, desired.vlan);
        let settings = Settings {
            host_name: match &desired.name {
                NameChoice::Nothing => None,
                // A name of a node that is none of a host is not reported.
                NameChoice::Own => self.tools.node.parse().ok(),
                NameChoice::Other(name) => Some(name.clone()),
            },
            mtu: sight.mtu,
            vlan: desired.vlan,
            routes: desired.routes,
            protected: sight.guarded.clone(),
            probing: Probing::QUICK,
            ..Settings::new(sight.mac, id, self.identity.boot.as_str())
        };
        let had = self.clients.get(link).and_then(|client| client.lease()).cloned();
        let lease = had.or_else(|| {
            let kept = self.files.load(desired.key());
            log(kept, "a lease cannot be read").flatten()
        });
        let up = sight.up;
        let remembered = lease.map(|lease| Remembered { installed: sight.addresses.contains(&lease.address), lease });
        self.touched.insert(link);
        for action in self.clients.put(link, settings, chance(), remembered, now()) {
            self.act(link, action);
        }
        self.feed(link, Input::Link { up });
    }

    /// Takes in some of the frames that are there.
    fn hear(&mut self) {
        for _ in 0..AT_ONCE {
            let Some((_, frames)) = &mut self.open else { return };
            let (link, actions) = match frames.frame() {
                Ok(Some(frame)) => {
                    let input = match frame.ethertype {
                        arp::ETHERTYPE => Input::Arp(frame.bytes),
                        _ => Input::Frame { bytes: frame.bytes, checksums: Checksums::Verify },
                    };
                    (frame.link, self.clients.handle(frame.link, input, now()))
                }
                Ok(None) => return,
                Err(error) => return self.fail(&error.into()),
            };
            for action in actions {
                self.act(link, action);
            }
        }
    }

    fn feed(&mut self, link: IfName, input: Input<'_>) {
        for action in self.clients.handle(link, input, now()) {
            self.act(link, action);
        }
    }

    fn act(&mut self, link: IfName, action: Action) {
        let Some(tenancy) = self.links.get_mut(&link) else { return };
        self.touched.insert(link);
        let key = tenancy.desired.key();
        match action {
            Action::Send(frame) => {
                let sent = self.open.as_ref().map(|(_, frames)| frames.send(link, &frame));
                if let Some(Err(error)) = sent {
                    // As good as lost on the wire; the client asks again.
                    tracing::debug!(%link, reason = error.reason(), %error, "a frame was not sent");
                }
            }
            Action::Watch(None) => {
                if let Some((_, frames)) = &mut self.open {
                    frames.remove(link, arp::ETHERTYPE);
                }
            }
            Action::Watch(Some(address)) => {
                if let Err(error) = self.watch(link, address) {
                    tracing::warn!(%link, %error, "nobody can tell whether somebody else has the address");
                }
            }
            // What the link has goes to the agent, which sets it.
            Action::Hold(_) | Action::Drop(_) => {}
            Action::Keep(lease) => {
                log(self.files.write(key, &lease), "a lease cannot be kept on disk");
            }
            // Should what it was given back for be undone, it is asked for again.
            Action::Forget if matches!(tenancy.next, Next::Parted(_)) => {}
            Action::Forget => {
                log(self.files.remove(key), "a lease cannot be removed from disk");
            }
            Action::Tell(standing) => {
                tracing::info!(%link, reason = standing.reason(), "{}", standing.message());
                let problem = problem(&standing, tenancy.has.problem.clone());
                if problem != tenancy.has.problem {
                    self.news.is_urgent();
                }
                tenancy.has.problem = problem;
            }
        }
    }

    /// The links that are to be listened on and are not, or are others than they were, all found at once.
    fn find(&mut self, sights: &Sights) -> Result<BTreeMap<IfName, LinkAddress>, EngineError> {
        let same = |link: &IfName, sight: &Sight| {
            let before = self.links.get(link).and_then(|tenancy| tenancy.sight.as_ref());
            before.is_some_and(|before| before.is(sight))
        };
        let again = |(link, sight): (&IfName, &Option<Sight>)| {
            sight.as_ref().filter(|sight| !(same(link, sight) && self.listens(*link))).map(|_| *link)
        };
        let links: BTreeSet<IfName> = sights.iter().filter_map(again).collect();
        if links.is_empty() {
            return Ok(BTreeMap::new());
        }
        let (host, _) = self.opened()?;
        Ok(host.link_addresses(links)?.into_iter().map(|found| (found.link(), found)).collect())
    }

    fn listens(&self, link: IfName) -> bool {
        self.open.as_ref().is_some_and(|(_, frames)| frames.get(link, datagram::ETHERTYPE).is_some())
    }

    /// Opens what a link needs that was not there before under this number.
    fn listen_again(&mut self, on: LinkAddress, sight: &Sight) -> Result<(), Mute> {
        self.listen(on, datagram::ETHERTYPE, filter::messages(sight.mac))?;
        let held = self.clients.get(on.link()).and_then(|client| client.lease()).map(|lease| lease.address.addr());
        held.map_or(Ok(()), |address| self.listen(on, arp::ETHERTYPE, filter::conflicts(address)))
    }

    /// Hears on a link who else has an address.
    fn watch(&mut self, link: IfName, address: Ipv4Addr) -> Result<(), Mute> {
        let socket = self.open.as_ref().and_then(|(_, frames)| frames.get(link, datagram::ETHERTYPE));
        let on = socket.ok_or(FrameError::NotOpen(link))?.on();
        self.listen(on, arp::ETHERTYPE, filter::conflicts(address))
    }

    fn listen(&mut self, on: LinkAddress, ethertype: u16, program: Vec<FilterInstruction>) -> Result<(), Mute> {
        let (host, frames) = self.opened()?;
        frames.put(host.frame_socket_on(on, ethertype, program)??)?;
        Ok(())
    }

    fn opened(&mut self) -> Result<&mut (KernelHost, Frames), EngineError> {
        let open = if let Some(open) = self.open.take() {
            open
        } else {
            let frames = Frames::new().map_err(|error| error.doing("wait for frames"))?;
            (self.tools.place.kernel()?, frames)
        };
        Ok(self.open.insert(open))
    }

    /// A link on which nothing can be sent; the next look tries again.
    fn refuse(&mut self, link: IfName, mute: &Mute) {
        tracing::warn!(%link, %mute, "no lease can be asked for");
        if let Some(tenancy) = self.links.get_mut(&link) {
            let problem = LeaseProblem { reason: NO_SOCKET.to_owned(), message: mute.to_string() };
            if tenancy.has.problem.as_ref() != Some(&problem) {
                self.news.is_urgent();
            }
            tenancy.has.problem = Some(problem);
            tenancy.sight = None;
        }
    }

    /// All sockets are closed; the next look opens them again.
    fn fail(&mut self, mute: &Mute) {
        self.open = None;
        let links: BTreeSet<IfName> = self.links.keys().copied().collect();
        for link in links {
            self.refuse(link, mute);
        }
    }

    /// Tells the agent what links have, when that is news or was asked for.
    fn tell(&mut self, now: Now) {
        for link in std::mem::take(&mut self.touched) {
            let Some(tenancy) = self.links.get_mut(&link) else { continue };
            let client = self.clients.get(link);
            let held = client.and_then(|client| Some((client.lease()?, client.configuration(now)?)));
            let same = |(lease, held): &(&Lease, Configuration)| {
                tenancy.has.given.as_ref().is_some_and(|had| had.lease == **lease && had.routes == held.routes)
            };
            if held.as_ref().map_or(tenancy.has.given.is_none(), same) {
                continue;
            }
            match tenancy.has.given {
                None => self.news.gains(now.since_boot),
                Some(_) => self.news.is_urgent(),
            }
            tenancy.has.given = held.map(|(lease, held)| {
                let ends = held.lifetime.map(|left| {
                    let left = SignedDuration::try_from(left).unwrap_or(SignedDuration::MAX);
                    self.tools.clock.now().checked_add(left).unwrap_or(Timestamp::MAX)
                });
                Given { lease: lease.clone(), routes: held.routes, ends }
            });
        }
        let looked = self.links.values().all(|tenancy| tenancy.looked);
        if looked && self.news.is_due(self.clients.check(), now.since_boot) {
            self.news = News::default();
            let links = self.links.iter().map(|(link, tenancy)| (*link, tenancy.tells())).collect();
            let news = CompanionNews::Leases { order: self.order, links };
            self.tools.events.send(Event::Companion(news)).ok();
        }
    }
}

/// The time on both clocks of the machine.
fn now() -> Now {
    Now { since_boot: SystemClock.now().boot, wall: Timestamp::now() }
}

/// Goes on without what the disk refuses; that it does is reported.
fn log<T>(result: io::Result<T>, what: &str) -> Option<T> {
    result.inspect_err(|error| tracing::warn!(%error, "{what}")).ok()
}
