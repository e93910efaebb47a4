//! Probes: whether the host still reaches what it reached before a change.
//!
//! A probe runs in the namespace of its worker's thread and ends within its time limit. It answers
//! yes, no, that the machine is there and nobody listens on it, or that there is nothing to ask (no default gateway); it
//! never judges what that means.

use std::{
    fmt,
    io::{self, Read},
    net::{IpAddr, SocketAddr},
    str::FromStr,
    sync::atomic::{AtomicU16, Ordering},
    time::{Duration, Instant},
};

use netloom_model::{Observed, Route};
use netloom_types::{IfName, RouteTable};
use nix::poll::{PollTimeout, poll};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

/// One question.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Probe {
    /// Does the default gateway answer an echo request?
    Gateway,
    /// Does this address answer an echo request?
    Ping(IpAddr),
    /// Does something accept connections here?
    Tcp(SocketAddr),
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It was reached.
    Reached,
    /// It was not, and why.
    Failed(String),
    /// Its machine answered that nobody listens there.
    Refused(String),
    /// There is nothing that could be asked.
    NotApplicable,
}

/// Why a text is no probe.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("probe {0:?}: expected gateway, ping:ADDRESS or tcp:ADDRESS:PORT")]
pub struct InvalidProbe(String);

impl InvalidProbe {
    /// The stable name of this failure.
    pub const fn reason(&self) -> &'static str {
        "InvalidProbe"
    }
}

impl FromStr for Probe {
    type Err = InvalidProbe;

    fn from_str(text: &str) -> Result<Self, InvalidProbe> {
        let invalid = || InvalidProbe(text.to_owned());
        match text.split_once(':') {
            None if text == "gateway" => Ok(Self::Gateway),
            Some(("ping", address)) => address.parse().map(Self::Ping).map_err(|_| invalid()),
            Some(("tcp", address)) => {
                let address: SocketAddr = address.parse().map_err(|_| invalid())?;
                if address.port() == 0 { Err(invalid()) } else { Ok(Self::Tcp(address)) }
            }
            _ => Err(invalid()),
        }
    }
}

impl fmt::Display for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gateway => f.write_str("gateway"),
            Self::Ping(address) => write!(f, "ping:{address}"),
            Self::Tcp(address) => write!(f, "tcp:{address}"),
        }
    }
}

/// Where an echo request goes; a link-local address needs its link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gateway {
    /// The address.
    pub ip: IpAddr,
    /// The link that it is on, with its index.
    pub link: Option<(IfName, u32)>,
}

/// The best default gateway of the main table, IPv4 first.
pub fn default_gateway(observed: &Observed) -> Option<Gateway> {
    observed
        .routes
        .values()
        .chain(&observed.derived_routes)
        .filter(|route| route.table == RouteTable::MAIN && route.destination.prefix_len() == 0)
        .filter_map(|route| Some((route.family(), route.metric, gateway_of(route, observed)?)))
        .min_by_key(|(family, metric, _)| (*family, *metric))
        .map(|(_, _, gateway)| gateway)
}

fn gateway_of(route: &Route, observed: &Observed) -> Option<Gateway> {
    let hop = route.next_hops.iter().find(|hop| hop.via.is_some())?;
    let link = hop.link.and_then(|name| Some((name, observed.facts.get(&name)?.index)));
    Some(Gateway { ip: hop.via?, link })
}

impl Probe {
    /// Asks, in the namespace of the calling thread. `gateway` is what [`default_gateway`] found.
    pub fn run(&self, gateway: Option<Gateway>, limit: Duration) -> Answer {
        let asked = match (self, gateway) {
            (Self::Gateway, None) => return Answer::NotApplicable,
            (Self::Gateway, Some(Gateway { ip, link })) => {
                let scope = link.map_or(0, |(_, index)| index);
                patiently(limit, |left| ping(ip, scope, left))
            }
            (Self::Ping(ip), _) => patiently(limit, |left| ping(*ip, 0, left)),
            (Self::Tcp(address), _) => patiently(limit, |left| connect(*address, left)),
        };
        match asked {
            Ok(()) => Answer::Reached,
            Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => Answer::Refused(describe(&e)),
            Err(e) => Answer::Failed(describe(&e)),
        }
    }
}

fn describe(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "no answer in time".to_owned(),
        _ => error.to_string(),
    }
}

/// Asks again while there is time, when the host itself has no way yet: right after a change an IPv6
/// address is still being checked for duplicates, and a bridge port does not forward yet.
#[expect(clippy::disallowed_methods, reason = "a time limit on the network needs a clock")]
fn patiently(limit: Duration, ask: impl Fn(Duration) -> io::Result<()>) -> io::Result<()> {
    let started = Instant::now();
    loop {
        let answer = ask(limit.saturating_sub(started.elapsed()));
        let left = limit.saturating_sub(started.elapsed());
        match &answer {
            Err(e) if is_no_way_yet(e) && left > PAUSE => {}
            _ => return answer,
        }
        // No event tells the end of all these conditions.
        let pause = PollTimeout::try_from(PAUSE).unwrap_or(PollTimeout::ZERO);
        poll(&mut [], pause)?;
    }
}

fn is_no_way_yet(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkDown
            | io::ErrorKind::AddrNotAvailable
    )
}

fn connect(address: SocketAddr, limit: Duration) -> io::Result<()> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.connect_timeout(&SockAddr::from(address), limit.max(Duration::from_millis(1)))
}

/// How often a request is repeated while there is time: the first one may wait for a neighbour.
const REPEAT: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_millis(100);
const ECHO_REPLY: [u8; 2] = [0, 129];
static NEXT_ID: AtomicU16 = AtomicU16::new(0);

/// Sends echo requests until one is answered or the time is over.
#[expect(clippy::disallowed_methods, reason = "a time limit on the network needs a clock")]
fn ping(ip: IpAddr, scope: u32, limit: Duration) -> io::Result<()> {
    let (mut socket, raw) = echo_socket(ip)?;
    // From now on the socket hears nobody but this address.
    socket.connect(&with_scope(ip, scope))?;
    let started = Instant::now();
    // A raw socket sees the answers to everybody's requests; this number tells ours apart.
    let id = NEXT_ID.fetch_add(1, Ordering::Relaxed) ^ u16::try_from(std::process::id() & 0xffff).unwrap_or(1);
    for sequence in 1.. {
        let left = limit.checked_sub(started.elapsed()).filter(|left| !left.is_zero());
        let Some(left) = left else { return Err(io::ErrorKind::TimedOut.into()) };
        match socket.send(&echo_request(ip, id, sequence)) {
            Ok(_) => {}
            // The neighbour was not found: it may still come.
            Err(e) if e.kind() == io::ErrorKind::HostUnreachable => {}
            Err(e) => return Err(e),
        }
        let until = started.elapsed() + REPEAT.min(left);
        if wait_for_reply(&mut socket, ip, raw.then_some(id), started, until)? {
            return Ok(());
        }
    }
    Err(io::ErrorKind::TimedOut.into())
}

/// A socket for echo requests that needs no privilege, else a raw one; whether it is raw.
fn echo_socket(ip: IpAddr) -> io::Result<(Socket, bool)> {
    let (domain, protocol) = match ip {
        IpAddr::V4(_) => (Domain::IPV4, Protocol::ICMPV4),
        IpAddr::V6(_) => (Domain::IPV6, Protocol::ICMPV6),
    };
    match Socket::new(domain, Type::DGRAM, Some(protocol)) {
        Ok(socket) => Ok((socket, false)),
        Err(_) => Socket::new(domain, Type::RAW, Some(protocol)).map(|socket| (socket, true)),
    }
}

fn with_scope(ip: IpAddr, scope: u32) -> SockAddr {
    match ip {
        IpAddr::V4(_) => SockAddr::from(SocketAddr::new(ip, 0)),
        IpAddr::V6(ip) => {
            let scope = if ip.is_unicast_link_local() { scope } else { 0 };
            SockAddr::from(SocketAddr::V6(std::net::SocketAddrV6::new(ip, 0, 0, scope)))
        }
    }
}

/// Reads until an echo reply came (`true`) or `until` after `started` is reached.
fn wait_for_reply(
    socket: &mut Socket,
    ip: IpAddr,
    raw_id: Option<u16>,
    started: Instant,
    until: Duration,
) -> io::Result<bool> {
    let mut bytes = [0; 256];
    loop {
        let left = until.checked_sub(started.elapsed()).filter(|left| *left >= Duration::from_micros(1));
        let Some(left) = left else { return Ok(false) };
        socket.set_read_timeout(Some(left))?;
        match socket.read(&mut bytes) {
            Ok(len) if is_reply(&bytes[..len], ip, raw_id) => return Ok(true),
            Ok(_) => {}
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => return Ok(false),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) if e.kind() == io::ErrorKind::HostUnreachable => return Ok(false),
            Err(e) => return Err(e),
        }
    }
}

fn is_reply(bytes: &[u8], ip: IpAddr, raw_id: Option<u16>) -> bool {
    // A raw IPv4 socket gives the IP header too.
    let skip = match (ip, raw_id, bytes.first()) {
        (IpAddr::V4(_), Some(_), Some(first)) => usize::from(first & 0xf) * 4,
        _ => 0,
    };
    let Some(&[kind, _, _, _, id0, id1]) = bytes.get(skip..).and_then(|rest| rest.first_chunk()) else { return false };
    ECHO_REPLY.contains(&kind) && raw_id.is_none_or(|id| id == u16::from_be_bytes([id0, id1]))
}

fn echo_request(ip: IpAddr, id: u16, sequence: u16) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[0] = if ip.is_ipv4() { 8 } else { 128 };
    bytes[4..6].copy_from_slice(&id.to_be_bytes());
    bytes[6..8].copy_from_slice(&sequence.to_be_bytes());
    bytes[8..].copy_from_slice(b"netloom\0");
    // For IPv6 the kernel fills in the checksum.
    if ip.is_ipv4() {
        let sum: u32 = bytes.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
        let folded = (sum & 0xffff) + (sum >> 16);
        let checksum = !u16::try_from((folded & 0xffff) + (folded >> 16)).unwrap_or(u16::MAX);
        bytes[2..4].copy_from_slice(&checksum.to_be_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use netloom_model::{LinkFacts, NextHop, RouteExtra, RouteMetrics, RouteType};

    use super::*;

    #[test]
    fn probes_are_read_and_printed() {
        for text in ["gateway", "ping:192.0.2.1", "ping:2001:db8::1", "tcp:192.0.2.1:443", "tcp:[2001:db8::1]:6443"] {
            assert_eq!(text.parse::<Probe>().unwrap().to_string(), text);
        }
        for bad in ["", "gate", "ping:", "ping:host", "tcp:192.0.2.1", "tcp:192.0.2.1:0", "dns:example.com"] {
            assert!(bad.parse::<Probe>().is_err(), "{bad:?}");
        }
    }

    fn default_route(via: &str, metric: u32) -> Route {
        let via: IpAddr = via.parse().unwrap();
        Route {
            table: RouteTable::MAIN,
            destination: netloom_types::Family::of(via).everything(),
            metric,
            kind: RouteType::Unicast,
            next_hops: vec![NextHop { via: Some(via), link: "eth0".parse().ok(), weight: 1, onlink: false }],
            source: None,
            protocol: netloom_types::Protocol::STATIC,
            metrics: RouteMetrics::default(),
            extra: RouteExtra::default(),
        }
    }

    #[test]
    fn the_gateway_is_that_of_the_best_default_route() {
        let mut observed = Observed::default();
        assert_eq!(Probe::Gateway.run(default_gateway(&observed), Duration::ZERO), Answer::NotApplicable);
        observed.facts.insert("eth0".parse().unwrap(), LinkFacts { index: 7, ..LinkFacts::default() });
        observed.derived_routes.push(default_route("fe80::1", 10));
        let six = default_gateway(&observed).unwrap();
        assert_eq!((six.ip, six.link.map(|(_, index)| index)), ("fe80::1".parse().unwrap(), Some(7)));
        for (via, metric) in [("192.0.2.1", 200), ("192.0.2.2", 100)] {
            let route = default_route(via, metric);
            observed.host.routes.insert(route.key(), route);
        }
        assert_eq!(default_gateway(&observed).unwrap().ip, "192.0.2.2".parse::<IpAddr>().unwrap());
    }

    #[test]
    fn a_listener_is_reached_and_a_closed_port_is_not() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let probe = Probe::Tcp(listener.local_addr().unwrap());
        assert_eq!(probe.run(None, Duration::from_secs(5)), Answer::Reached);
        drop(listener);
        assert!(matches!(probe.run(None, Duration::from_secs(5)), Answer::Refused(_)));
    }

    #[test]
    fn an_echo_request_has_a_checksum_that_adds_up() {
        let bytes = echo_request("192.0.2.1".parse().unwrap(), 0xfffe, 0xffff);
        let sum: u32 = bytes.chunks_exact(2).map(|p| u32::from(u16::from_be_bytes([p[0], p[1]]))).sum();
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
    }

    #[test]
    fn only_an_echo_reply_counts() {
        let ip = "192.0.2.1".parse().unwrap();
        assert!(is_reply(&[0, 0, 0, 0, 1, 2, 0, 1], ip, None));
        assert!(!is_reply(&[3, 0, 0, 0, 1, 2, 0, 1], ip, None));
        assert!(!is_reply(&[], ip, Some(1)));
        let mut raw = vec![0x45; 1];
        raw.resize(20, 0);
        raw.extend_from_slice(&[0, 0, 0, 0, 1, 2, 0, 1]);
        assert!(is_reply(&raw, ip, Some(0x0102)));
        assert!(!is_reply(&raw, ip, Some(0x0103)));
    }
}
