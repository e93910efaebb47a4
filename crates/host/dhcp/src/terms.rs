//! What a server offers or gives, checked.
//!
//! What an address cannot be used without is right, or the whole offer is refused in words. What comes
//! beside it (routes, names, the size of packets) is left out where it is wrong, and a note says so.

use std::{collections::BTreeSet, net::Ipv4Addr, time::Duration};

use netloom_types::Ipv4Net;

use crate::{
    host_address::{is_a_hosts, is_a_hosts_of},
    identity::is_a_name,
    message::Message,
    options::{Options, code},
    routes::{self, Route},
};

/// Who gives an address for less wants to be asked more often than a network can bear.
const SHORTEST_LEASE: Duration = Duration::from_secs(10);
/// Nobody has an address for longer than this without asking whether all is still as it was: not for ever either. The
/// end that was given stays.
const LONGEST_UNASKED: Duration = Duration::from_hours(15 * 24);
/// From then on any server is asked, in the same proportion as in a lease of twice [`LONGEST_UNASKED`].
const LONGEST_UNANSWERED: Duration = Duration::from_hours(15 * 24 / 4 * 7);
/// What stands for a time without an end.
const FOREVER: u32 = u32::MAX;
/// No subnet is larger than the largest that was ever given to anybody.
const SHORTEST_PREFIX: u8 = 8;
/// What every host can take.
const SMALLEST_MTU: u16 = 576;

/// Why an offer cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// An option that must be there is not.
    #[error("the server does not say {}", name_of(*.0))]
    Missing(u8),
    /// An option has another length than it must have.
    #[error("the server's answer has a wrong length for {}", name_of(*.0))]
    Length(u8),
    /// The server names itself by an address that no host has.
    #[error("the server names itself {0}, which is no host's address")]
    Server(Ipv4Addr),
    /// The mask has ones behind zeros.
    #[error("the server gives the subnet mask {0}, which is none")]
    Mask(Ipv4Addr),
    /// The subnet is larger than any.
    #[error("the server gives a subnet of /{0}, which would take in other people's networks")]
    Subnet(u8),
    /// The address is none that a host can have.
    #[error("the server gives {0}, which is no host's address")]
    Address(Ipv4Addr),
    /// The address is the first or last of its subnet.
    #[error("the server gives {0}, which is not the address of a host in its subnet")]
    Edge(Ipv4Net),
    /// The subnet and a network that must not be touched overlap.
    #[error("the server gives {0}, which overlaps {1}, a network that the node is managed through")]
    Protected(Ipv4Net, Ipv4Net),
    /// The time is too short to be of use.
    #[error("the server gives the address for {} s; less than {} s are of no use", .0.as_secs(), SHORTEST_LEASE.as_secs())]
    Short(Duration),
}

impl Refusal {
    /// The stable name of this failure.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Missing(_) => "OfferIncomplete",
            Self::Length(_) => "OfferMalformed",
            Self::Server(_) => "OfferServer",
            Self::Mask(_) | Self::Subnet(_) | Self::Protected(..) => "OfferSubnet",
            Self::Address(_) | Self::Edge(_) => "OfferAddress",
            Self::Short(_) => "OfferTooShort",
        }
    }
}

/// Something beside the address that was not taken as the server gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Note {
    /// The lease is for ever, or for very long.
    LongLease,
    /// The times to renew are not in order, so that the usual ones are taken.
    Times,
    /// An option with routes breaks its rules.
    Routes,
    /// A router is not on the link.
    Router,
    /// The size of packets is smaller than all hosts can take, or larger than the link can carry.
    Mtu,
    /// Name servers or the domain break their rules.
    Names,
}

impl Note {
    /// What to tell people.
    pub const fn text(self) -> &'static str {
        match self {
            Self::LongLease => "the server gives the address for ever or nearly so; it is asked again after 15 days",
            Self::Times => "the server's times to renew are not in order; the usual ones are taken",
            Self::Routes => "the server's routes are malformed and left out",
            Self::Router => "routes over a router that is not on the link are left out",
            Self::Mtu => "the server's MTU does not fit the link and is left out",
            Self::Names => "the server's name servers or domain are malformed and left out",
        }
    }
}

/// What a server offers or gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// The address in its subnet.
    pub address: Ipv4Net,
    /// The server, by the address that it names itself.
    pub server: Ipv4Addr,
    /// For how long; none for ever.
    pub lease: Option<Duration>,
    /// When to ask the server again, if it says so and it is not too far away.
    pub renew: Option<Duration>,
    /// When to ask any server again, if it says so and it is not too far away.
    pub rebind: Option<Duration>,
    /// The broadcast address, if it is one of the subnet.
    pub broadcast: Option<Ipv4Addr>,
    /// The routes, the way to everywhere among them.
    pub routes: Vec<Route>,
    /// The size of packets.
    pub mtu: Option<u16>,
    /// Name servers.
    pub dns: Vec<Ipv4Addr>,
    /// The domain to look names up in.
    pub domain: Option<String>,
    /// What was not taken.
    pub notes: BTreeSet<Note>,
}

impl Terms {
    /// What this message offers or gives to a link of this MTU.
    ///
    /// # Errors
    /// The first thing that makes it useless.
    pub fn of(message: &Message, link_mtu: u16) -> Result<Self, Refusal> {
        let options = &message.options;
        let server = server(options)?;
        let address = address(message.yiaddr, options)?;
        let mut notes = BTreeSet::new();
        let lease = lease(options)?;
        let (renew, rebind) = times(options, lease, &mut notes)?;
        let routes = routes::given(options, address);
        notes.extend(routes.malformed.then_some(Note::Routes));
        notes.extend(routes.unreachable.then_some(Note::Router));
        Ok(Self {
            address,
            server,
            lease,
            renew,
            rebind,
            broadcast: broadcast(options, address),
            routes: routes.routes,
            mtu: mtu(options, link_mtu, &mut notes),
            dns: dns(options, &mut notes),
            domain: domain(options, &mut notes),
            notes,
        })
    }

    /// The notes as one text.
    pub fn remarks(&self) -> String {
        self.notes.iter().map(|note| note.text()).collect::<Vec<_>>().join("; ")
    }
}

/// The server that a message names.
pub(crate) fn server(options: &Options) -> Result<Ipv4Addr, Refusal> {
    let server = Ipv4Addr::from(four(options, code::SERVER_ID)?.ok_or(Refusal::Missing(code::SERVER_ID))?);
    if is_a_hosts(server) { Ok(server) } else { Err(Refusal::Server(server)) }
}

fn address(yours: Ipv4Addr, options: &Options) -> Result<Ipv4Net, Refusal> {
    if !is_a_hosts(yours) {
        return Err(Refusal::Address(yours));
    }
    let mask = four(options, code::SUBNET_MASK)?.ok_or(Refusal::Missing(code::SUBNET_MASK))?;
    let address = Ipv4Net::with_netmask(yours, mask.into()).map_err(|_| Refusal::Mask(mask.into()))?;
    if address.prefix_len() < SHORTEST_PREFIX {
        return Err(Refusal::Subnet(address.prefix_len()));
    }
    if is_a_hosts_of(yours, address) { Ok(address) } else { Err(Refusal::Edge(address)) }
}

/// For how long, or for ever.
fn lease(options: &Options) -> Result<Option<Duration>, Refusal> {
    let lease = time(seconds(options, code::LEASE_TIME)?.ok_or(Refusal::Missing(code::LEASE_TIME))?);
    match lease {
        Some(lease) if lease < SHORTEST_LEASE => Err(Refusal::Short(lease)),
        Some(_) | None => Ok(lease),
    }
}

/// When to ask again, as far as the server says so and it is before the end and in order. Never is as good as not set,
/// and what is too far away comes sooner.
fn times(
    options: &Options,
    lease: Option<Duration>,
    notes: &mut BTreeSet<Note>,
) -> Result<(Option<Duration>, Option<Duration>), Refusal> {
    let renew = seconds(options, code::RENEWAL_TIME)?.and_then(time);
    let rebind = seconds(options, code::REBINDING_TIME)?.and_then(time);
    let soon = (renew.map(|time| time.min(LONGEST_UNASKED)), rebind.map(|time| time.min(LONGEST_UNANSWERED)));
    let (first, second) = usual(lease);
    let (first, second) = (soon.0.unwrap_or(first), soon.1.unwrap_or(second));
    let ends_later = |time: Duration| lease.is_none_or(|lease| time < lease);
    let in_order = renew.zip(rebind).is_none_or(|(renew, rebind)| renew < rebind)
        && [renew, rebind, Some(second)].into_iter().flatten().all(ends_later)
        && first < second
        && !first.is_zero();
    notes.extend((!in_order).then_some(Note::Times));
    let (renew, soon) = if in_order { (renew, soon) } else { (None, (None, None)) };
    let announced = renew.or(lease.map(|lease| lease / 2));
    notes.extend(announced.is_none_or(|announced| announced > LONGEST_UNASKED).then_some(Note::LongLease));
    Ok(soon)
}

/// When a lease is usually asked for again: at half of its time, and any server at seven eighths; but not too far away.
pub(crate) fn usual(lease: Option<Duration>) -> (Duration, Duration) {
    let part = |of: fn(Duration) -> Duration, most: Duration| lease.map_or(most, |lease| of(lease).min(most));
    (part(|lease| lease / 2, LONGEST_UNASKED), part(|lease| lease / 8 * 7, LONGEST_UNANSWERED))
}

fn broadcast(options: &Options, subnet: Ipv4Net) -> Option<Ipv4Addr> {
    let given = Ipv4Addr::from(four(options, code::BROADCAST).ok()??);
    Some(given).filter(|given| subnet.prefix_len() < 31 && *given == subnet.broadcast())
}

fn mtu(options: &Options, link: u16, notes: &mut BTreeSet<Note>) -> Option<u16> {
    let bytes = options.get(code::MTU)?;
    let mtu = <[u8; 2]>::try_from(bytes).ok().map(u16::from_be_bytes);
    let fits = mtu.filter(|mtu| (SMALLEST_MTU..=link).contains(mtu));
    notes.extend(fits.is_none().then_some(Note::Mtu));
    fits
}

fn dns(options: &Options, notes: &mut BTreeSet<Note>) -> Vec<Ipv4Addr> {
    let (servers, rest) = options.get(code::DNS_SERVERS).unwrap_or_default().as_chunks::<4>();
    let servers: Vec<Ipv4Addr> = servers.iter().map(|bytes| Ipv4Addr::from(*bytes)).collect();
    if rest.is_empty() && servers.iter().all(|server| is_a_hosts(*server)) {
        return servers;
    }
    notes.insert(Note::Names);
    Vec::new()
}

/// A name that was given as text is taken only if it is one: it may end up in files that others read.
fn domain(options: &Options, notes: &mut BTreeSet<Note>) -> Option<String> {
    let bytes = options.get(code::DOMAIN)?;
    let name = str::from_utf8(bytes).ok().map(|text| text.trim_end_matches('\0')).filter(|text| is_a_name(text));
    notes.extend(name.is_none().then_some(Note::Names));
    name.map(str::to_owned)
}

fn seconds(options: &Options, code: u8) -> Result<Option<u32>, Refusal> {
    Ok(four(options, code)?.map(u32::from_be_bytes))
}

/// So many seconds; none for a time without an end.
fn time(seconds: u32) -> Option<Duration> {
    (seconds != FOREVER).then(|| Duration::from_secs(seconds.into()))
}

fn four(options: &Options, code: u8) -> Result<Option<[u8; 4]>, Refusal> {
    options.get(code).map(|bytes| bytes.try_into().map_err(|_| Refusal::Length(code))).transpose()
}

/// What an option says, for people.
const fn name_of(code: u8) -> &'static str {
    match code {
        code::SUBNET_MASK => "the subnet mask (option 1)",
        code::LEASE_TIME => "for how long it gives the address (option 51)",
        code::SERVER_ID => "who it is (option 54)",
        code::RENEWAL_TIME => "when to renew (option 58)",
        code::REBINDING_TIME => "when to rebind (option 59)",
        _ => "an option",
    }
}

#[cfg(test)]
mod tests {
    use netloom_types::MacAddr;
    use proptest::prelude::*;

    use super::*;

    fn options() -> Options {
        Options::new().with(1, [255, 255, 255, 0]).with(51, [0, 0, 14, 16]).with(54, [192, 0, 2, 1])
    }

    fn message(address: [u8; 4], options: Options) -> Message {
        Message { yiaddr: address.into(), options, ..Message::request(7, MacAddr::new([2, 0, 0, 0, 0, 9])) }
    }

    fn terms(options: Options) -> Result<Terms, Refusal> {
        Terms::of(&message([192, 0, 2, 9], options), 1500)
    }

    fn with(code: u8, contents: &[u8]) -> Terms {
        terms(options().with(code, contents)).unwrap()
    }

    #[test]
    fn what_is_needed_is_enough() {
        let terms = terms(options()).unwrap();
        assert_eq!((terms.address.to_string().as_str(), terms.server), ("192.0.2.9/24", [192, 0, 2, 1].into()));
        assert_eq!((terms.lease, terms.renew, terms.rebind), (Some(Duration::from_hours(1)), None, None));
        assert_eq!((terms.mtu, terms.domain, terms.broadcast), (None, None, None));
        assert!(terms.routes.is_empty() && terms.dns.is_empty() && terms.notes.is_empty());
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        let table = [
            (options().without(1), Refusal::Missing(1)),
            (options().without(51), Refusal::Missing(51)),
            (options().without(54), Refusal::Missing(54)),
            (options().with(1, [255, 255, 255]), Refusal::Length(1)),
            (options().with(1, [255, 255, 255, 0, 0]), Refusal::Length(1)),
            (options().with(51, [0; 8]), Refusal::Length(51)),
            (options().with(54, []), Refusal::Length(54)),
            (options().with(58, [1]), Refusal::Length(58)),
            (options().with(59, [1]), Refusal::Length(59)),
            (options().with(54, [0; 4]), Refusal::Server([0; 4].into())),
            (options().with(54, [255; 4]), Refusal::Server([255; 4].into())),
            (options().with(1, [255, 0, 255, 0]), Refusal::Mask([255, 0, 255, 0].into())),
            (options().with(1, [0, 255, 255, 255]), Refusal::Mask([0, 255, 255, 255].into())),
            (options().with(1, [0; 4]), Refusal::Subnet(0)),
            (options().with(1, [254, 0, 0, 0]), Refusal::Subnet(7)),
            (options().with(51, [0; 4]), Refusal::Short(Duration::ZERO)),
            (options().with(51, [0, 0, 0, 9]), Refusal::Short(Duration::from_secs(9))),
        ];
        for (options, wanted) in table {
            assert_eq!(terms(options), Err(wanted));
            assert!(wanted.reason().starts_with("Offer") && wanted.to_string().starts_with("the server"));
        }
    }

    #[test]
    fn addresses_that_no_host_has_are_refused() {
        for address in [[0; 4], [127, 0, 0, 1], [224, 0, 0, 5], [240, 0, 0, 1], [255; 4]] {
            let refused = Terms::of(&message(address, options()), 1500);
            assert_eq!(refused, Err(Refusal::Address(address.into())));
        }
        for address in [[192, 0, 2, 0], [192, 0, 2, 255]] {
            let edge = Ipv4Net::new(address.into(), 24).unwrap();
            assert_eq!(Terms::of(&message(address, options()), 1500), Err(Refusal::Edge(edge)));
        }
    }

    #[test]
    fn long_leases_end_when_the_server_says_and_are_asked_for_again_within_fifteen_days() {
        const NEVER: u32 = FOREVER;
        let day = 86400;
        let long = [
            ((NEVER, None, None), (None, None)),
            ((NEVER, Some(NEVER), Some(NEVER)), (None, None)),
            ((NEVER, Some(0x7f7f_7f7f), Some(0x8080_8080)), (Some(15 * day), Some(day / 4 * 105))),
            ((90 * day, None, None), (None, None)),
            ((60 * day, Some(30 * day), Some(52 * day)), (Some(15 * day), Some(day / 4 * 105))),
            ((60 * day, Some(20 * day), None), (Some(15 * day), None)),
            ((60 * day, Some(16 * day), Some(20 * day)), (Some(15 * day), Some(20 * day))),
            ((30 * day + 1, None, None), (None, None)),
        ];
        let usual = [
            ((30 * day, None, None), (None, None)),
            ((NEVER, Some(day), Some(2 * day)), (Some(day), Some(2 * day))),
            ((90 * day, Some(14 * day), None), (Some(14 * day), None)),
        ];
        let all = long.iter().map(|row| (row, true)).chain(usual.iter().map(|row| (row, false)));
        for (((lease, renew, rebind), times), noted) in all {
            let announced = [(51, Some(*lease)), (58, *renew), (59, *rebind)];
            let announced = announced.into_iter().filter_map(|(code, time)| Some((code, time?)));
            let given =
                terms(announced.fold(options(), |all, (code, time)| all.with(code, time.to_be_bytes()))).unwrap();
            let secs = |time: u32| Duration::from_secs(time.into());
            assert_eq!(given.lease, (*lease != NEVER).then(|| secs(*lease)));
            assert_eq!(
                (given.renew, given.rebind),
                (times.0.map(secs), times.1.map(secs)),
                "{lease} {renew:?} {rebind:?}"
            );
            assert_eq!(given.notes.contains(&Note::LongLease), noted, "{lease} {renew:?} {rebind:?}");
            assert!(!given.notes.contains(&Note::Times));
        }
    }

    #[test]
    fn times_of_long_leases_count_only_in_order_too() {
        let day = 86400_u32;
        for (lease, renew, rebind) in [(60, 40, 20), (60, 20, 70), (60, 70, 80), (49710, 40, 20)] {
            let times = options().with(51, (lease * day).to_be_bytes());
            let times = times.with(58, (renew * day).to_be_bytes()).with(59, (rebind * day).to_be_bytes());
            let given = terms(times).unwrap();
            assert_eq!((given.renew, given.rebind), (None, None), "{lease} {renew} {rebind}");
            assert_eq!(given.notes, [Note::LongLease, Note::Times].into());
        }
    }

    #[test]
    fn times_count_only_in_order() {
        let times = |renew: Option<u32>, rebind: Option<u32>| {
            let mut given = options();
            for (code, time) in [(58, renew), (59, rebind)] {
                given = time.map_or(given.clone(), |time| given.with(code, time.to_be_bytes()));
            }
            let terms = terms(given).unwrap();
            (terms.renew.map(|t| t.as_secs()), terms.rebind.map(|t| t.as_secs()), terms.notes.len())
        };
        assert_eq!(times(Some(600), Some(1200)), (Some(600), Some(1200), 0));
        assert_eq!(times(Some(600), None), (Some(600), None, 0));
        assert_eq!(times(None, Some(3599)), (None, Some(3599), 0));
        let out_of_order =
            [(Some(0), None), (Some(1200), Some(600)), (Some(7), Some(7)), (Some(3590), None), (None, Some(3600))];
        for (renew, rebind) in out_of_order {
            assert_eq!(times(renew, rebind), (None, None, 1), "{renew:?} {rebind:?}");
        }
    }

    #[test]
    fn what_comes_beside_the_address_is_left_out_where_it_is_wrong() {
        assert_eq!(with(26, &1400_u16.to_be_bytes()).mtu, Some(1400));
        for bad in [&[5][..], &575_u16.to_be_bytes(), &1501_u16.to_be_bytes(), &[]] {
            let terms = with(26, bad);
            assert_eq!((terms.mtu, terms.notes), (None, [Note::Mtu].into()));
        }
        assert_eq!(with(6, &[192, 0, 2, 53, 198, 51, 100, 53]).dns.len(), 2);
        for bad in [&[192, 0, 2][..], &[192, 0, 2, 53, 255, 255, 255, 255]] {
            let terms = with(6, bad);
            assert_eq!((terms.dns.len(), terms.notes), (0, [Note::Names].into()));
        }
        assert_eq!(with(15, b"example.org\0").domain.as_deref(), Some("example.org"));
        for bad in [&b"a;reboot"[..], b"", b"$(id)", b"a b", b"-x", &[0xff]] {
            let terms = with(15, bad);
            assert_eq!((terms.domain, terms.notes), (None, [Note::Names].into()), "{bad:?}");
        }
        assert_eq!(with(28, &[192, 0, 2, 255]).broadcast, Some([192, 0, 2, 255].into()));
        assert_eq!(with(28, &[255; 4]).broadcast, None);
        assert_eq!(with(121, &[99]).notes, [Note::Routes].into());
        assert_eq!(with(3, &[203, 0, 113, 1]).notes, [Note::Router].into());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]
        #[test]
        fn whatever_is_taken_can_be_used(
            address in any::<[u8; 4]>(),
            parts in prop::collection::vec((prop::sample::select(vec![1u8, 3, 6, 15, 26, 28, 33, 51, 54, 58, 59, 121]),
                prop::collection::vec(any::<u8>(), 0..12)), 0..6),
            mask in 0u32..=32,
        ) {
            let mask = u32::MAX.checked_shl(32 - mask).unwrap_or_default();
            let all = parts.into_iter().fold(options().with(1, mask.to_be_bytes()), |all, (code, bytes)| all.with(code, bytes));
            if let Ok(terms) = Terms::of(&message(address, all), 1500) {
                prop_assert!(terms.address.prefix_len() >= 8 && is_a_hosts_of(address.into(), terms.address));
                prop_assert!(terms.lease.is_none_or(|lease| lease >= SHORTEST_LEASE));
                let (renew, rebind) = usual(terms.lease);
                let (renew, rebind) = (terms.renew.unwrap_or(renew), terms.rebind.unwrap_or(rebind));
                prop_assert!(renew <= LONGEST_UNASKED && renew < rebind);
                prop_assert!(terms.lease.is_none_or(|lease| rebind < lease));
                prop_assert!(terms.mtu.is_none_or(|mtu| (576..=1500).contains(&mtu)));
            }
        }
    }
}
