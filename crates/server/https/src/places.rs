//! Who holds how many connections.
//!
//! There is a number of places for everybody, and a share of them for one peer: so somebody who takes all of
//! their own keeps nobody else out. Most of a share is for those who have shown who they are; a connection
//! that has not counts against a smaller one. A peer is an address. A single machine can have any of the IPv6
//! addresses of its /64, so that is a peer too, with a larger share: a neighbour that does not change its
//! address leaves room in it.

use std::{
    collections::HashMap,
    fmt,
    net::{IpAddr, Ipv6Addr},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::Limits;

/// The connections that are open.
#[derive(Debug)]
pub(crate) struct Places {
    limits: Limits,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    all: usize,
    /// Only peers that hold something.
    peers: HashMap<Peer, OfPeer>,
}

/// What has a share of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Peer {
    Address(IpAddr),
    /// The first 64 bits of an IPv6 address.
    Subnet(Ipv6Addr),
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => write!(f, "{address}"),
            Self::Subnet(address) => write!(f, "{address}/64"),
        }
    }
}

/// What a peer holds, or may hold.
#[derive(Debug, Default, Clone, Copy)]
struct OfPeer {
    all: usize,
    unknown: usize,
}

/// Why there is no place for one more connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Full {
    #[error("{0} connections are open, which is the limit")]
    All(usize),
    #[error("{0} holds {1} connections, which is the limit for one peer")]
    OfPeer(Peer, usize),
    #[error("{0} holds {1} connections that have not authenticated, which is the limit for one peer")]
    Unknown(Peer, usize),
}

/// The place of one connection, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    places: Arc<Places>,
    peers: Vec<Peer>,
    known: AtomicBool,
}

impl Places {
    pub(crate) fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self { limits, held: Mutex::default() })
    }

    /// Takes a place for a connection of which nothing is known yet.
    pub(crate) fn take(self: &Arc<Self>, address: IpAddr) -> Result<Place, Full> {
        let peers = peers(address);
        let mut held = self.held();
        if held.all >= self.limits.connections {
            return Err(Full::All(held.all));
        }
        for &peer in &peers {
            let (own, most) = (held.peers.get(&peer).copied().unwrap_or_default(), self.share(peer));
            if own.all >= most.all {
                return Err(Full::OfPeer(peer, own.all));
            }
            if own.unknown >= most.unknown {
                return Err(Full::Unknown(peer, own.unknown));
            }
        }
        held.all += 1;
        for &peer in &peers {
            let own = held.peers.entry(peer).or_default();
            *own = OfPeer { all: own.all + 1, unknown: own.unknown + 1 };
        }
        drop(held);
        Ok(Place { places: Arc::clone(self), peers, known: AtomicBool::new(false) })
    }

    fn share(&self, peer: Peer) -> OfPeer {
        let Limits { of_peer, unknown_of_peer, of_subnet, unknown_of_subnet, .. } = self.limits;
        match peer {
            Peer::Address(_) => OfPeer { all: of_peer, unknown: unknown_of_peer },
            Peer::Subnet(_) => OfPeer { all: of_subnet, unknown: unknown_of_subnet },
        }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        // Nothing that runs while the lock is held can panic half-way.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// The connection has authenticated: it leaves the smaller share.
    pub(crate) fn know(&self) {
        if self.known.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut held = self.places.held();
        for peer in &self.peers {
            if let Some(own) = held.peers.get_mut(peer) {
                own.unknown -= 1;
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut held = self.places.held();
        held.all -= 1;
        let unknown = usize::from(!*self.known.get_mut());
        for peer in &self.peers {
            let Some(own) = held.peers.get_mut(peer) else { continue };
            *own = OfPeer { all: own.all - 1, unknown: own.unknown - unknown };
            if own.all == 0 {
                held.peers.remove(peer);
            }
        }
    }
}

/// Everything whose share a connection from an address counts against.
fn peers(address: IpAddr) -> Vec<Peer> {
    match address.to_canonical() {
        IpAddr::V4(address) => vec![Peer::Address(address.into())],
        IpAddr::V6(address) => {
            let subnet = Ipv6Addr::from_bits(address.to_bits() >> 64 << 64);
            vec![Peer::Address(address.into()), Peer::Subnet(subnet)]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(connections: usize, of_peer: usize, unknown_of_peer: usize) -> Arc<Places> {
        let (of_subnet, unknown_of_subnet) = (2 * of_peer, 2 * unknown_of_peer);
        Places::new(Limits { connections, of_peer, unknown_of_peer, of_subnet, unknown_of_subnet, ..Limits::default() })
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_peer_has_a_share_and_all_have_the_whole() {
        let places = places(4, 3, 3);
        let (first, second) = (address("192.0.2.1"), address("192.0.2.2"));
        let mut held: Vec<Place> = (0..3).map(|_| places.take(first).unwrap()).collect();
        assert_eq!(places.take(first).unwrap_err(), Full::OfPeer(Peer::Address(first), 3));
        held.push(places.take(second).unwrap());
        assert_eq!(places.take(second).unwrap_err(), Full::All(4));
        held.remove(0);
        assert!(places.take(second).is_ok());
        drop(held);
        assert!(places.held().peers.is_empty(), "who holds nothing is forgotten");
    }

    #[test]
    fn those_who_have_not_authenticated_have_less() {
        let places = places(10, 4, 2);
        let own = address("192.0.2.1");
        let (first, _second) = (places.take(own).unwrap(), places.take(own).unwrap());
        assert_eq!(places.take(own).unwrap_err(), Full::Unknown(Peer::Address(own), 2));
        first.know();
        first.know();
        let third = places.take(own).unwrap();
        assert_eq!(
            places.take(own).unwrap_err(),
            Full::Unknown(Peer::Address(own), 2),
            "saying it twice frees one place"
        );
        drop(first);
        assert_eq!(
            places.take(own).unwrap_err(),
            Full::Unknown(Peer::Address(own), 2),
            "it held none of these any more"
        );
        drop(third);
        assert!(places.take(own).is_ok());
    }

    #[test]
    fn one_machine_is_one_peer() {
        let places = places(10, 1, 1);
        let _v4 = places.take(address("192.0.2.1")).unwrap();
        assert!(places.take(address("::ffff:192.0.2.1")).is_err());
    }

    #[test]
    fn a_neighbour_in_the_same_subnet_is_let_in_and_many_addresses_do_not_take_everything() {
        let places = places(100, 4, 2);
        let mut silent: Vec<Place> = (0..2).map(|_| places.take(address("2001:db8::1")).unwrap()).collect();
        assert!(places.take(address("2001:db8::1")).is_err());
        silent.push(places.take(address("2001:db8::2")).unwrap());
        silent.push(places.take(address("2001:db8::3")).unwrap());
        let subnet = Peer::Subnet("2001:db8::".parse().unwrap());
        assert_eq!(places.take(address("2001:db8::4")).unwrap_err(), Full::Unknown(subnet, 4));
        assert!(places.take(address("2001:db8:0:1::1")).is_ok());
        silent[0].know();
        silent.push(places.take(address("2001:db8::4")).unwrap());
        drop(silent);
        assert!(places.held().peers.is_empty(), "who holds nothing is forgotten");
    }
}
