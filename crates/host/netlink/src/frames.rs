//! Whole frames of some links, in and out, as filters let them through: for protocols that begin before
//! a link has an address.
//!
//! Each socket is one link's and one protocol's; all of them are behind one descriptor that is ready when
//! there is a frame on any. The kernel runs a program of the classic packet filter on each frame and
//! wakes nobody for those that it refuses. Between the making of a socket and its filter frames may slip
//! in, so whoever reads them judges them again.
//!
//! A frame of a VLAN that no device is for reaches the sockets of the link below, without its tag. The kernel marks it as
//! somebody else's, and so it is dropped: what is given there is not about this link.
//!
//! Nothing is read from the frames here. The kernel can also say whether the checksums of a frame were
//! worked out, but no safe call asks for it; readers have to tell from the frame.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    os::fd::{AsFd, AsRawFd as _, BorrowedFd},
    time::Duration,
};

use netloom_types::{FilterInstruction, IfName};
use nix::{
    errno::Errno,
    sys::{
        epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout},
        socket::{LinkAddr, bind, recvfrom},
    },
};
use socket2::{Domain, SockFilter, Socket, Type};

use crate::{
    hearing::{LONGEST_FRAME, addresses, wait_for_either},
    socket::NetlinkError,
};

/// The mark of frames for others (`PACKET_OTHERHOST`), those of a VLAN without a device among them.
const OTHERS: u8 = 3;

/// Why frames of a link cannot be had or sent.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// There is no such link, or none that carries frames.
    #[error("there is no link {0} that carries frames")]
    NoLink(IfName),
    /// The kernel gives no socket, or refuses the filter.
    #[error("open a packet socket on {link}")]
    Socket {
        /// The link.
        link: IfName,
        /// What the kernel says.
        #[source]
        source: io::Error,
    },
    /// Nobody listens for this protocol on the link, so nothing is sent either.
    #[error("no packet socket is open on {0} for frames of this type")]
    NotOpen(IfName),
    /// The frame did not go out.
    #[error("send a frame on {link}")]
    Send {
        /// The link.
        link: IfName,
        /// What the kernel says.
        #[source]
        source: io::Error,
    },
}

impl FrameError {
    /// The stable name of this failure.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::NoLink(_) => "NoLinkForFrames",
            Self::Socket { .. } => "PacketSocket",
            Self::NotOpen(_) => "PacketSocketNotOpen",
            Self::Send { .. } => "FrameNotSent",
        }
    }
}

/// A link as sockets are bound to it. To find it the kernel lists all links, so whoever opens many sockets finds all
/// links at once ([`LinkAddress::of`]).
#[derive(Debug, Clone, Copy)]
pub struct LinkAddress {
    link: IfName,
    address: LinkAddr,
}

impl LinkAddress {
    /// Those of these links that are in the namespace of the calling thread and carry frames.
    pub fn of(links: &BTreeSet<IfName>) -> io::Result<Vec<Self>> {
        let there = addresses(links)?;
        Ok(there.into_iter().map(|(link, address)| Self { link, address }).collect())
    }

    /// The link.
    pub const fn link(&self) -> IfName {
        self.link
    }
}

/// A packet socket for one protocol on one link.
#[derive(Debug)]
pub struct FrameSocket {
    socket: Socket,
    on: LinkAddress,
    ethertype: u16,
}

impl FrameSocket {
    /// Opens one in the namespace of the calling thread. It hears what the program lets through.
    pub fn open(link: IfName, ethertype: u16, program: &[FilterInstruction]) -> Result<Self, FrameError> {
        let failed = |source: io::Error| FrameError::Socket { link, source };
        let there = LinkAddress::of(&BTreeSet::from([link])).map_err(failed)?;
        Self::open_on(*there.first().ok_or(FrameError::NoLink(link))?, ethertype, program)
    }

    /// The same on a link that was found before.
    pub fn open_on(on: LinkAddress, ethertype: u16, program: &[FilterInstruction]) -> Result<Self, FrameError> {
        let failed = |source: io::Error| FrameError::Socket { link: on.link, source };
        let protocol = i32::from(ethertype.to_be());
        let socket = Socket::new(Domain::PACKET, Type::RAW, Some(protocol.into())).map_err(failed)?;
        let filter: Vec<SockFilter> =
            program.iter().map(|one| SockFilter::new(one.code, one.if_true, one.if_false, one.k)).collect();
        socket.attach_filter(&filter).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        // The address names no protocol, so the socket keeps its own.
        bind(socket.as_raw_fd(), &on.address).map_err(|e| failed(e.into()))?;
        Ok(Self { socket, on, ethertype })
    }

    /// The link, as other sockets can be bound to it too.
    pub const fn on(&self) -> LinkAddress {
        self.on
    }

    /// The number of the link in the kernel: one that was recreated has another, and needs a new socket.
    pub fn index(&self) -> usize {
        self.on.address.ifindex()
    }
}

/// A frame that came in.
#[derive(Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Where.
    pub link: IfName,
    /// Of which protocol.
    pub ethertype: u16,
    /// All of it.
    pub bytes: &'a [u8],
}

/// Sockets of many links and protocols behind one descriptor.
#[derive(Debug)]
pub struct Frames {
    ready: Epoll,
    sockets: BTreeMap<(IfName, u16), (u64, FrameSocket)>,
    /// By the number under which the kernel reports them.
    numbers: BTreeMap<u64, (IfName, u16)>,
    next: u64,
    buffer: Vec<u8>,
}

impl Frames {
    /// No sockets yet.
    pub fn new() -> Result<Self, NetlinkError> {
        let ready = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(|e| NetlinkError::Open(e.into()))?;
        let buffer = vec![0; LONGEST_FRAME];
        Ok(Self { ready, sockets: BTreeMap::new(), numbers: BTreeMap::new(), next: 0, buffer })
    }

    /// Takes a socket in, in the place of one for the same link and protocol.
    pub fn put(&mut self, socket: FrameSocket) -> Result<(), FrameError> {
        let key = (socket.on.link, socket.ethertype);
        self.remove(key.0, key.1);
        let number = self.next;
        self.next += 1;
        let added = self.ready.add(&socket.socket, EpollEvent::new(EpollFlags::EPOLLIN, number));
        added.map_err(|e| FrameError::Socket { link: key.0, source: e.into() })?;
        self.numbers.insert(number, key);
        self.sockets.insert(key, (number, socket));
        Ok(())
    }

    /// Closes the socket of a link and protocol, if there is one.
    pub fn remove(&mut self, link: IfName, ethertype: u16) {
        if let Some((number, _)) = self.sockets.remove(&(link, ethertype)) {
            // A socket that is closed leaves the descriptor by itself.
            self.numbers.remove(&number);
        }
    }

    /// The socket of a link and protocol.
    pub fn get(&self, link: IfName, ethertype: u16) -> Option<&FrameSocket> {
        self.sockets.get(&(link, ethertype)).map(|(_, socket)| socket)
    }

    /// Sends a whole frame over the socket of its own protocol.
    pub fn send(&self, link: IfName, frame: &[u8]) -> Result<(), FrameError> {
        let kind = frame.get(12..14).and_then(|kind| kind.try_into().ok()).map(u16::from_be_bytes);
        let socket = kind.and_then(|kind| self.get(link, kind)).ok_or(FrameError::NotOpen(link))?;
        socket.socket.send(frame).map(drop).map_err(|source| FrameError::Send { link, source })
    }

    /// A frame that is there; never waits.
    pub fn frame(&mut self) -> Result<Option<Frame<'_>>, NetlinkError> {
        let failed = |e: Errno| NetlinkError::Receive(e.into());
        let mut ready = [EpollEvent::empty()];
        while self.ready.wait(&mut ready, EpollTimeout::ZERO).map_err(failed)? > 0 {
            let Some(key) = self.numbers.get(&ready[0].data()) else { continue };
            let Some((_, socket)) = self.sockets.get(key) else { continue };
            match recvfrom::<LinkAddr>(socket.socket.as_raw_fd(), &mut self.buffer) {
                Ok((_, Some(from))) if !concerns(socket.index(), from.ifindex(), from.pkttype()) => {}
                Ok((len, _)) => {
                    return Ok(Some(Frame { link: key.0, ethertype: key.1, bytes: &self.buffer[..len] }));
                }
                // Down for now; frames come again when it is up.
                Err(Errno::EAGAIN | Errno::EINTR | Errno::ENETDOWN) => {}
                Err(e) => return Err(failed(e)),
            }
        }
        Ok(None)
    }
}

/// Whether a frame that came in on a link, marked so by the kernel, concerns a socket on `link`. Before it was bound, a
/// socket hears all links.
const fn concerns(link: usize, on: usize, mark: u8) -> bool {
    link == on && mark != OTHERS
}

impl Frames {
    /// Waits until there may be a frame or `other` is ready to be read, at most this long, or without end.
    pub fn wait_or(&self, other: BorrowedFd<'_>, at_most: Option<Duration>) -> Result<(), NetlinkError> {
        wait_for_either(self.as_fd(), other, at_most)
    }
}

impl AsFd for Frames {
    /// Ready to read when [`Frames::frame`] may have something.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ready.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_other_links_and_of_vlans_without_a_device_are_dropped() {
        let (here, elsewhere) = (2, 3);
        for (on, mark, wanted) in
            [(here, 0, true), (here, 1, true), (here, 2, true), (here, OTHERS, false), (elsewhere, 1, false)]
        {
            assert_eq!(concerns(here, on, mark), wanted, "{on} {mark}");
        }
    }
}
