//! Frames of one protocol, as they come in on some links: what a machine hears of its neighbours.
//!
//! Each link has a packet socket of its own, bound to it; all of them are behind one descriptor that
//! is ready when there is a frame on any. Cards drop frames to groups that nobody asked for, so the
//! groups are put into the address filter of the link, as `bridge fdb add … self` does. The kernel
//! also has a join that ends with the socket, but no safe call leads to it; so the groups are taken
//! out when a link is no longer listened on. A program that is killed leaves them there, which costs
//! nothing and is found as it shall be by the next one.
//!
//! Nothing is read from the frames here.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    os::fd::{AsFd, AsRawFd as _, BorrowedFd},
    time::Duration,
};

use netloom_model::{FdbEntry, FdbKey};
use netloom_types::{IfName, MacAddr};
use nix::{
    errno::Errno,
    ifaddrs::getifaddrs,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout},
        socket::{LinkAddr, bind, recvfrom},
    },
};
use socket2::{Domain, Socket, Type};

use crate::{
    bridge,
    socket::{Connection, NetlinkError, Part},
};

/// Longer than any frame that a link carries, but those of the loopback link.
pub(crate) const LONGEST_FRAME: usize = 16 << 10;

/// What the kernel counts waiting in.
const MOMENT: Duration = Duration::from_millis(1);

/// Why a link cannot be listened on.
#[derive(Debug, thiserror::Error)]
pub enum DeafError {
    /// There is no such link, or none that carries frames.
    #[error("there is no link {0} that frames come in on")]
    NoLink(IfName),
    /// The kernel gives no socket.
    #[error("open a packet socket on {link}")]
    Socket {
        /// The link.
        link: IfName,
        /// What the kernel says.
        #[source]
        source: io::Error,
    },
}

impl DeafError {
    /// The stable name of this failure.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::NoLink(_) => "NoLinkToListenOn",
            Self::Socket { .. } => "PacketSocket",
        }
    }
}

/// A packet socket on one link.
#[derive(Debug)]
struct Ear {
    socket: Socket,
    index: usize,
}

/// Somebody who listens on some links for frames of one protocol.
#[derive(Debug)]
pub struct Hearing {
    ethertype: u16,
    groups: Vec<MacAddr>,
    ready: Epoll,
    ears: BTreeMap<IfName, Ear>,
    requests: Connection,
    buffer: Vec<u8>,
}

impl Hearing {
    /// Nobody is listened to yet. Belongs to the namespace of the calling thread.
    pub fn open(ethertype: u16, groups: &[MacAddr]) -> Result<Self, NetlinkError> {
        let ready = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(|e| NetlinkError::Open(e.into()))?;
        let requests = Connection::open(Part::Route)?;
        let buffer = vec![0; LONGEST_FRAME];
        Ok(Self { ethertype, groups: groups.to_vec(), ready, ears: BTreeMap::new(), requests, buffer })
    }

    /// Listens on these links and on no others; says on which it cannot. A link that was recreated is
    /// found again. To be called in the namespace that it belongs to.
    pub fn listen_on(&mut self, links: &BTreeSet<IfName>) -> Result<Vec<DeafError>, NetlinkError> {
        let there = addresses(links).map_err(|e| NetlinkError::Open(e.into()))?;
        let stays = |name: &IfName, ear: &Ear| there.get(name).is_some_and(|address| address.ifindex() == ear.index);
        let gone: Vec<IfName> =
            self.ears.iter().filter(|(name, ear)| !stays(name, ear)).map(|(name, _)| *name).collect();
        for name in gone {
            if let Some(ear) = self.ears.remove(&name) {
                self.join(ear.index, false)?;
            }
        }
        let mut deaf = Vec::new();
        for link in links {
            let Some(address) = there.get(link) else {
                deaf.push(DeafError::NoLink(*link));
                continue;
            };
            // Also where it listens already: another program may have left the groups meanwhile.
            self.join(address.ifindex(), true)?;
            if self.ears.contains_key(link) {
                continue;
            }
            match self.grow(address) {
                Ok(ear) => drop(self.ears.insert(*link, ear)),
                Err(source) => deaf.push(DeafError::Socket { link: *link, source }),
            }
        }
        Ok(deaf)
    }

    /// The links that are listened on, each with its number: one that was recreated has another.
    pub fn ears(&self) -> impl Iterator<Item = (IfName, usize)> {
        self.ears.iter().map(|(name, ear)| (*name, ear.index))
    }

    /// A frame that is there, and the link that it came in on; never waits.
    pub fn frame(&mut self) -> Result<Option<(IfName, &[u8])>, NetlinkError> {
        let failed = |e: Errno| NetlinkError::Receive(e.into());
        let mut ready = [EpollEvent::empty()];
        while self.ready.wait(&mut ready, EpollTimeout::ZERO).map_err(failed)? > 0 {
            let index = usize::try_from(ready[0].data()).unwrap_or(usize::MAX);
            let Some((name, ear)) = self.ears.iter().find(|(_, ear)| ear.index == index) else { continue };
            match recvfrom::<LinkAddr>(ear.socket.as_raw_fd(), &mut self.buffer) {
                // Before it was bound, a socket hears all links.
                Ok((_, Some(from))) if from.ifindex() != index => {}
                Ok((len, _)) => return Ok(Some((*name, &self.buffer[..len]))),
                // Down for now; frames come again when it is up.
                Err(Errno::EAGAIN | Errno::EINTR | Errno::ENETDOWN) => {}
                Err(e) => return Err(failed(e)),
            }
        }
        Ok(None)
    }

    /// Waits until there may be a frame, at most this long.
    pub fn wait(&self, at_most: Duration) -> Result<(), NetlinkError> {
        let timeout = PollTimeout::try_from(at_most).unwrap_or(PollTimeout::MAX);
        match poll(&mut [PollFd::new(self.as_fd(), PollFlags::POLLIN)], timeout) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(e) => Err(NetlinkError::Receive(e.into())),
        }
    }

    /// Waits until there may be a frame or `other` is ready to be read, at most this long, or without end.
    pub fn wait_or(&self, other: BorrowedFd<'_>, at_most: Option<Duration>) -> Result<(), NetlinkError> {
        wait_for_either(self.as_fd(), other, at_most)
    }

    fn grow(&self, address: &LinkAddr) -> io::Result<Ear> {
        let protocol = i32::from(self.ethertype.to_be());
        let socket = Socket::new(Domain::PACKET, Type::RAW, Some(protocol.into()))?;
        socket.set_nonblocking(true)?;
        // The address names no protocol, so the socket keeps its own.
        bind(socket.as_raw_fd(), address)?;
        let index = address.ifindex();
        self.ready.add(&socket, EpollEvent::new(EpollFlags::EPOLLIN, index as u64))?;
        Ok(Ear { socket, index })
    }

    /// Joins or leaves the groups on a link. A refusal is no failure: the groups are joined already or
    /// left, or the card passes them on by itself.
    fn join(&mut self, index: usize, join: bool) -> Result<(), NetlinkError> {
        let entry = FdbEntry { on_device: true, local: true, external: false };
        let index = u32::try_from(index).unwrap_or_default();
        let message = |mac: &MacAddr| {
            let key = FdbKey { mac: *mac, vlan: None, dst: None, vni: None };
            if join { bridge::add_fdb(index, &key, &entry) } else { bridge::remove_fdb(index, &key, &entry) }
        };
        let messages: Vec<_> = self.groups.iter().map(message).collect();
        self.requests.batch(&messages).map(drop)
    }
}

/// Waits until one of the two is ready to be read, at most this long, or without end.
pub(crate) fn wait_for_either(
    one: BorrowedFd<'_>,
    other: BorrowedFd<'_>,
    at_most: Option<Duration>,
) -> Result<(), NetlinkError> {
    // A moment later rather than a moment too early: else the last one is waited for in circles.
    let timeout = at_most.map(|time| PollTimeout::try_from(time + MOMENT).unwrap_or(PollTimeout::MAX));
    let mut either = [one, other].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
    match poll(&mut either, timeout.unwrap_or(PollTimeout::NONE)) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(e) => Err(NetlinkError::Receive(e.into())),
    }
}

impl AsFd for Hearing {
    /// Ready to read when [`Hearing::frame`] may have something.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ready.0.as_fd()
    }
}

impl Drop for Hearing {
    fn drop(&mut self) {
        let indexes: Vec<usize> = self.ears.values().map(|ear| ear.index).collect();
        for index in indexes {
            // Who cannot be notified any more has nothing to be reported.
            self.join(index, false).ok();
        }
    }
}

/// The addresses of links, as packet sockets want them.
pub(crate) fn addresses(links: &BTreeSet<IfName>) -> nix::Result<BTreeMap<IfName, LinkAddr>> {
    if links.is_empty() {
        return Ok(BTreeMap::new());
    }
    let wanted = |text: &str| text.parse().ok().filter(|name| links.contains(name));
    let link = |found: nix::ifaddrs::InterfaceAddress| {
        Some((wanted(&found.interface_name)?, *found.address.as_ref()?.as_link_addr()?))
    };
    Ok(getifaddrs()?.filter_map(link).collect())
}
