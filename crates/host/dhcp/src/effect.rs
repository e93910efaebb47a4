//! What comes in and what goes out, as values.

use std::{net::Ipv4Addr, time::Duration};

use netloom_types::Ipv4Net;

use crate::{datagram::Checksums, lease::Lease, routes::Route, standing::Standing};

/// Something that happened to a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input<'a> {
    /// The link carries frames now, or no longer does. A link counts as down until this is reported.
    Link {
        /// Whether it does.
        up: bool,
    },
    /// A frame came that [`crate::filter::messages`] lets through.
    Frame {
        /// All of it.
        bytes: &'a [u8],
        /// What the kernel says of its checksums.
        checksums: Checksums,
    },
    /// A frame came that [`crate::filter::conflicts`] lets through.
    Arp(&'a [u8]),
    /// It is the time that was asked for.
    Time,
    /// The address is wanted no longer. Not for the end of the process: whoever comes after it goes on
    /// with the lease.
    Release,
}

/// Something to be done. Actions are carried out in order; none of them is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Send this frame, which is whole, on the link.
    Send(Vec<u8>),
    /// Hear ARP about this address from now on, or about none.
    Watch(Option<Ipv4Addr>),
    /// Have this on the link: the address with its life times, and of this client exactly these routes.
    Hold(Box<Configuration>),
    /// Take this address and all routes of this client off the link, unless the address is held again.
    Drop(Ipv4Net),
    /// Put this on disk in the place of what is there.
    Keep(Box<Lease>),
    /// Remove what is on disk.
    Forget,
    /// Tell people how it stands.
    Tell(Standing),
}

/// What a link has by its lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configuration {
    /// The address in its subnet.
    pub address: Ipv4Net,
    /// The broadcast address, if the server named it.
    pub broadcast: Option<Ipv4Addr>,
    /// For how long from now: what the kernel shall know as valid and preferred life time, so that the
    /// address goes even if nobody is there to take it away. None for ever.
    pub lifetime: Option<Duration>,
    /// The routes that are used.
    pub routes: Vec<Route>,
    /// The size of packets, which the link can carry.
    pub mtu: Option<u16>,
    /// Name servers.
    pub dns: Vec<Ipv4Addr>,
    /// The domain to look names up in.
    pub domain: Option<String>,
    /// The server that gave it.
    pub server: Ipv4Addr,
}
