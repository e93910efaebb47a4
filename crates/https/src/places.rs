//! Who holds how many connections.
//!
//! There is a number of places for everybody, and a share of them for one peer: so somebody who takes all of
//! their own keeps nobody else out. Most of a share is for those who have shown who they are; a connection
//! that has not counts against a smaller one. A peer is an IPv4 address, or 64 bits of an IPv6 one, since a
//! single machine can have any of the addresses behind those.

use std::{
    collections::HashMap,
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
    peers: HashMap<IpAddr, OfPeer>,
}

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
    #[error("this peer holds {0} connections, which is the limit for one")]
    OfPeer(usize),
    #[error("this peer holds {0} connections that have not authenticated, which is the limit for one")]
    Unknown(usize),
}

/// The place of one connection, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    places: Arc<Places>,
    peer: IpAddr,
    known: AtomicBool,
}

impl Places {
    pub(crate) fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self { limits, held: Mutex::default() })
    }

    /// Takes a place for a connection of which nothing is known yet.
    pub(crate) fn take(self: &Arc<Self>, address: IpAddr) -> Result<Place, Full> {
        let peer = peer(address);
        let mut held = self.held();
        if held.all >= self.limits.connections {
            return Err(Full::All(held.all));
        }
        let own = held.peers.get(&peer).copied().unwrap_or_default();
        if own.all >= self.limits.of_peer {
            return Err(Full::OfPeer(own.all));
        }
        if own.unknown >= self.limits.unknown_of_peer {
            return Err(Full::Unknown(own.unknown));
        }
        held.all += 1;
        held.peers.insert(peer, OfPeer { all: own.all + 1, unknown: own.unknown + 1 });
        drop(held);
        Ok(Place { places: Arc::clone(self), peer, known: AtomicBool::new(false) })
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        // Nothing that runs while the lock is held can panic half-way.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// The connection has authenticated: it leaves the smaller share.
    pub(crate) fn know(&self) {
        if !self.known.swap(true, Ordering::Relaxed)
            && let Some(own) = self.places.held().peers.get_mut(&self.peer)
        {
            own.unknown -= 1;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut held = self.places.held();
        held.all -= 1;
        let unknown = usize::from(!*self.known.get_mut());
        if let Some(own) = held.peers.get_mut(&self.peer) {
            *own = OfPeer { all: own.all - 1, unknown: own.unknown - unknown };
            if own.all == 0 {
                held.peers.remove(&self.peer);
            }
        }
    }
}

/// What counts as one peer.
fn peer(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(connections: usize, of_peer: usize, unknown_of_peer: usize) -> Arc<Places> {
        Places::new(Limits { connections, of_peer, unknown_of_peer, ..Limits::default() })
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_peer_has_a_share_and_all_have_the_whole() {
        let places = places(4, 3, 3);
        let (first, second) = (address("192.0.2.1"), address("192.0.2.2"));
        let mut held: Vec<Place> = (0..3).map(|_| places.take(first).unwrap()).collect();
        assert_eq!(places.take(first).unwrap_err(), Full::OfPeer(3));
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
        assert_eq!(places.take(own).unwrap_err(), Full::Unknown(2));
        first.know();
        first.know();
        let third = places.take(own).unwrap();
        assert_eq!(places.take(own).unwrap_err(), Full::Unknown(2), "saying it twice frees one place");
        drop(first);
        assert_eq!(places.take(own).unwrap_err(), Full::Unknown(2), "it held none of these any more");
        drop(third);
        assert!(places.take(own).is_ok());
    }

    #[test]
    fn one_machine_is_one_peer() {
        let places = places(10, 1, 1);
        let _v6 = places.take(address("2001:db8::1")).unwrap();
        assert!(places.take(address("2001:db8::ffff:1")).is_err());
        assert!(places.take(address("2001:db8:0:1::1")).is_ok());
        let _v4 = places.take(address("192.0.2.1")).unwrap();
        assert!(places.take(address("::ffff:192.0.2.1")).is_err());
    }
}
