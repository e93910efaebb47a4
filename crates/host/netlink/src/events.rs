//! The kernel's notifications of changes.
//!
//! Notifications have no flow control: when the receive buffer is full the kernel drops them and says
//! so once. That is reported as [`Notice::Overrun`] and means that everything must be read again;
//! nothing here tries to guess what was lost.
//!
//! A socket stays in the namespace of the thread that opened it, so a [`Watch`] can be handed to any
//! thread.

use std::{
    collections::{BTreeSet, VecDeque},
    io,
    os::fd::AsFd,
    time::{Duration, Instant},
};

use netlink_sys::Socket;
use netloom_model::{Address, Neighbour, Route, Rule};
use netloom_types::{IfName, Protocol};
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
};

use crate::{
    address,
    consts::{
        AF_BRIDGE, IFLA_LINKINFO, IFLA_MASTER, RTM_DELADDR, RTM_DELLINK, RTM_DELNEIGH, RTM_DELQDISC, RTM_DELROUTE,
        RTM_DELRULE, RTM_DELTFILTER, RTM_NEWADDR, RTM_NEWLINK, RTM_NEWNEIGH, RTM_NEWQDISC, RTM_NEWROUTE, RTM_NEWRULE,
        RTM_NEWTFILTER,
    },
    debounce::Debounce,
    link_map::{IFINFOMSG_LEN, LinkMap, name_and_index},
    neighbour, route, rule,
    socket::{Connection, NetlinkError, Part, set_receive_buffer},
    wire::{Message, messages},
};

/// Enough for a burst of some ten thousand link events.
pub const EVENT_BUFFER: usize = 16 << 20;

/// `RTNLGRP_*`: links, neighbours, queues, addresses, routes and rules of both families.
const GROUPS: [u32; 9] = [1, 3, 4, 5, 7, 8, 9, 11, 19];
const DATAGRAM: usize = 64 << 10;
const MSG_DONTWAIT: i32 = 0x40;
/// In the header of a neighbour: permanent and static entries. All others change all the time.
const NUD_PERMANENT_OR_NOARP: u16 = 0x80 | 0x40;

/// What changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// A link, or a property of it.
    Link,
    /// An address.
    Address(Address),
    /// A route.
    Route(Route),
    /// A rule.
    Rule(Rule),
    /// A permanent neighbour.
    Neighbour(Neighbour),
    /// A forwarding entry of a bridge or tunnel.
    Forwarding,
    /// A queue or a filter.
    Queue,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What changed.
    pub what: What,
    /// Whether it went; otherwise it came or has another value.
    pub removed: bool,
    /// The link that it is about, when it is about one.
    pub link: Option<IfName>,
    /// The controller that the kernel names with the link.
    pub controller: Option<IfName>,
    /// Whether it is about a link that software made, as the kernel says with the link itself.
    pub is_virtual: bool,
}

impl Change {
    /// The links that can look different after it; none when that cannot be known: of cards, which are few, of rules,
    /// and of routes that somebody made and that may stand in the place of another.
    pub fn concerns(&self) -> Option<impl Iterator<Item = IfName> + use<>> {
        let reported = match &self.what {
            What::Link => self.is_virtual,
            What::Route(route) => route.protocol == Protocol::KERNEL,
            What::Rule(_) => false,
            What::Address(_) | What::Neighbour(_) | What::Forwarding | What::Queue => true,
        };
        let link = self.link.filter(|_| reported)?;
        Some([link].into_iter().chain(self.controller))
    }
}

/// What a watch reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// Something changed.
    Change(Change),
    /// The kernel dropped notifications: anything may have changed.
    Overrun,
}

/// What came in one burst.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Burst {
    /// How many changes.
    pub changes: u64,
    /// Whether notifications were dropped: read everything again.
    pub overrun: bool,
    /// The links that were concerned.
    pub links: BTreeSet<IfName>,
}

impl Burst {
    /// Whether nothing came.
    pub fn is_empty(&self) -> bool {
        self.changes == 0 && !self.overrun
    }

    fn add(&mut self, notice: &Notice) {
        match notice {
            Notice::Change(change) => {
                self.changes += 1;
                self.links.extend(change.link);
            }
            Notice::Overrun => self.overrun = true,
        }
    }
}

/// A subscription to changes in one namespace.
#[derive(Debug)]
pub struct Watch {
    socket: Socket,
    /// For reading the names of links again.
    requests: Connection,
    names: LinkMap,
    buffer: Vec<u8>,
    pending: VecDeque<Notice>,
    started: Instant,
}

impl Watch {
    /// Subscribes in the namespace of the calling thread. `buffer` bounds what the kernel keeps for us
    /// in bytes before it drops.
    #[expect(clippy::disallowed_methods, reason = "waiting needs a clock; what it decides takes time as a value")]
    pub fn open(buffer: usize) -> Result<Self, NetlinkError> {
        let mut socket = Socket::new(Part::Route.protocol()).map_err(NetlinkError::Open)?;
        socket.bind_auto().map_err(NetlinkError::Open)?;
        set_receive_buffer(&socket, buffer)?;
        for group in GROUPS {
            socket.add_membership(group).map_err(NetlinkError::Open)?;
        }
        // Read after subscribing, so that no link can come in between and stay nameless.
        let mut requests = Connection::open(Part::Route)?;
        let names = LinkMap::read(&mut requests)?;
        Ok(Self {
            socket,
            requests,
            names,
            buffer: Vec::with_capacity(DATAGRAM),
            pending: VecDeque::new(),
            started: Instant::now(),
        })
    }

    /// The next notice; `None` when none came in this time.
    pub fn next(&mut self, at_most: Duration) -> Result<Option<Notice>, NetlinkError> {
        let deadline = self.now() + at_most;
        loop {
            if let Some(notice) = self.pending.pop_front() {
                return Ok(Some(notice));
            }
            if self.receive()? {
                continue;
            }
            match deadline.checked_sub(self.now()) {
                None | Some(Duration::ZERO) => return Ok(None),
                Some(left) => self.wait(left)?,
            }
        }
    }

    /// Waits for a change and then until the burst is over (nothing for a fifth of a second, or a
    /// second since its first), but at most this long in all. Empty when none came.
    pub fn settle(&mut self, at_most: Duration) -> Result<Burst, NetlinkError> {
        let mut burst = Burst::default();
        let mut debounce = Debounce::usual();
        let deadline = self.now() + at_most;
        loop {
            let now = self.now();
            if debounce.take(now) || now >= deadline {
                return Ok(burst);
            }
            let until = debounce.due().map_or(deadline, |due| due.min(deadline));
            if let Some(notice) = self.next(until.saturating_sub(now))? {
                burst.add(&notice);
                debounce.event(self.now());
            }
        }
    }

    /// Forgets everything that was reported until now.
    pub fn drain(&mut self) -> Result<(), NetlinkError> {
        while self.receive()? {
            self.pending.clear();
        }
        self.pending.clear();
        Ok(())
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    fn wait(&self, at_most: Duration) -> Result<(), NetlinkError> {
        // Rounded up: a wait of zero would spin until the deadline.
        let timeout = PollTimeout::try_from(at_most + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX);
        match poll(&mut [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)], timeout) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(e) => Err(NetlinkError::Receive(e.into())),
        }
    }

    /// Reads one datagram if there is one; whether there was.
    fn receive(&mut self) -> Result<bool, NetlinkError> {
        self.buffer.clear();
        match self.socket.recv(&mut self.buffer, MSG_DONTWAIT) {
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => return Ok(true),
            Err(e) if e.raw_os_error() == Some(Errno::ENOBUFS as i32) => {
                let fresh = LinkMap::read(&mut self.requests)?;
                self.names.replace_with(fresh);
                self.pending.push_back(Notice::Overrun);
                return Ok(true);
            }
            Err(e) => return Err(NetlinkError::Receive(e)),
        }
        for message in messages(&self.buffer) {
            self.pending.extend(decode(&message, &mut self.names).map(Notice::Change));
        }
        Ok(true)
    }
}

/// Reads one notification and keeps the names up to date; `None` for what is no configuration.
fn decode(message: &Message<'_>, names: &mut LinkMap) -> Option<Change> {
    let removed = matches!(
        message.kind,
        RTM_DELLINK | RTM_DELADDR | RTM_DELROUTE | RTM_DELRULE | RTM_DELNEIGH | RTM_DELQDISC | RTM_DELTFILTER
    );
    let by_index = names.name(message.u32_at(4));
    let (what, link) = match message.kind {
        RTM_NEWLINK | RTM_DELLINK => {
            let (name, index) = name_and_index(message)?;
            // A port that leaves its bridge is reported as a removal too, by the bridge.
            let removed = removed && message.u8_at(0) != AF_BRIDGE;
            if removed {
                names.remove(name);
            } else {
                names.insert(name, index);
            }
            let attrs = || message.attrs(IFINFOMSG_LEN);
            let controller = attrs().find(IFLA_MASTER).and_then(|index| names.name(index.u32()?));
            let is_virtual = attrs().find(IFLA_LINKINFO).is_some();
            return Some(Change { what: What::Link, removed, link: Some(name), controller, is_virtual });
        }
        RTM_NEWADDR | RTM_DELADDR => (What::Address(address::decode(message)?.address), by_index),
        RTM_NEWNEIGH | RTM_DELNEIGH if message.u8_at(0) == AF_BRIDGE => {
            let lasting = message.u16_at(8) & NUD_PERMANENT_OR_NOARP != 0;
            (lasting.then_some(What::Forwarding)?, by_index)
        }
        RTM_NEWNEIGH | RTM_DELNEIGH => (What::Neighbour(neighbour::decode(message)?.1), by_index),
        RTM_NEWROUTE | RTM_DELROUTE => {
            let route = route::decode(message, &|index| names.name(index))?.route;
            let link = route.next_hops.iter().find_map(|hop| hop.link);
            (What::Route(route), link)
        }
        RTM_NEWRULE | RTM_DELRULE => (What::Rule(rule::decode(message)?), None),
        RTM_NEWQDISC | RTM_DELQDISC | RTM_NEWTFILTER | RTM_DELTFILTER => (What::Queue, by_index),
        _ => return None,
    };
    Some(Change { what, removed, link, controller: None, is_virtual: false })
}

/// Reads a notification with no links known, for the test of all decoders.
#[cfg(test)]
pub(crate) fn decode_for_test(message: &Message<'_>) {
    let _ = decode(message, &mut LinkMap::default());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        consts::{IFLA_IFNAME, IFLA_INFO_KIND},
        wire::{Msg, ifinfomsg, ndmsg},
    };

    fn read(msg: &Msg, names: &mut LinkMap) -> Option<Change> {
        let bytes = msg.finish();
        decode(&messages(&bytes).next().unwrap(), names)
    }

    fn link(kind: u16, family: u8, name: &str) -> Msg {
        let mut msg = Msg::new(kind, 0);
        msg.header(&ifinfomsg(family, 5, 0, 0)).attr_str(IFLA_IFNAME, name);
        msg
    }

    #[test]
    fn names_follow_links() {
        let mut names = LinkMap::default();
        let name = |text: &str| text.parse::<IfName>().unwrap();
        let address = Address::new("192.0.2.1".parse().unwrap(), 24, Protocol::NETLOOM);
        read(&link(RTM_NEWLINK, 0, "a"), &mut names);
        read(&link(RTM_NEWLINK, 0, "b"), &mut names);
        let change = read(&address::encode_add(&address, 5), &mut names).unwrap();
        assert_eq!((change.what, change.removed, change.link), (What::Address(address), false, Some(name("b"))));
        // A bridge's word on a port that left it is no removal of the link.
        assert!(!read(&link(RTM_DELLINK, AF_BRIDGE, "b"), &mut names).unwrap().removed);
        assert!(read(&link(RTM_DELLINK, 0, "b"), &mut names).unwrap().removed);
        assert_eq!(read(&address::encode_remove(&address, 5), &mut names).unwrap().link, None);
    }

    #[test]
    fn the_links_of_a_change_are_reported_where_it_can_be_about_no_others() {
        let mut names = LinkMap::default();
        let concerns = |change: Option<Change>| -> Option<Vec<String>> {
            Some(change?.concerns()?.map(|name| name.to_string()).collect())
        };
        let card = read(&link(RTM_NEWLINK, 0, "card"), &mut names);
        assert_eq!(concerns(card), None, "a card concerns everybody");
        let mut pod = Msg::new(RTM_NEWLINK, 0);
        pod.header(&ifinfomsg(0, 9, 0, 0)).attr_str(IFLA_IFNAME, "pod");
        pod.attr_u32(IFLA_MASTER, 5).nest(IFLA_LINKINFO, |msg| {
            msg.attr_str(IFLA_INFO_KIND, "veth");
        });
        assert_eq!(concerns(read(&pod, &mut names)).unwrap(), ["pod", "card"], "and its controller");
        let address = Address::new("192.0.2.1".parse().unwrap(), 24, Protocol::NETLOOM);
        assert_eq!(concerns(read(&address::encode_add(&address, 9), &mut names)).unwrap(), ["pod"]);
    }

    #[test]
    fn learned_neighbours_are_no_change() {
        let mut msg = Msg::new(RTM_NEWNEIGH, 0);
        msg.header(&ndmsg(AF_BRIDGE, 5, 2, 0, 0));
        assert_eq!(read(&msg, &mut LinkMap::default()), None);
    }
}
