//! Addresses and neighbours of a link.

use std::{
    net::{IpAddr, Ipv4Addr},
    time::Duration,
};

use ipnet::IpNet;
use netloom_types::{Lifetime, MacAddr, Protocol};
use serde::{Deserialize, Serialize};

/// An address of a link, with its prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Address {
    /// The address itself, host bits kept.
    pub ip: IpAddr,
    /// The length of the prefix that is on the link.
    pub prefix_len: u8,
    /// How long it may be used at all.
    pub valid: Lifetime,
    /// How long it may be used for new connections.
    pub preferred: Lifetime,
    /// Who put it there.
    pub protocol: Protocol,
    /// Only in a desired state: the life times are what is left of something such as a lease, so an address that
    /// ends at another time does not do. Else they are the most that it may have.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exact: bool,
    /// The metric of the route to its prefix; 0 for the kernel's choice.
    pub route_metric: u32,
    /// What few addresses have. A desired state leaves it out and takes any; what is put back has it all.
    #[serde(default, skip_serializing_if = "AddressExtra::is_usual")]
    pub extra: AddressExtra,
}

/// What an address can have that nobody asks for here, kept so that it can be put back as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct AddressExtra {
    /// The kernel makes no route to the prefix.
    pub no_prefix_route: bool,
    /// Nobody is asked whether the address is in use already.
    pub no_dad: bool,
    /// The kernel joins the group when the address is a multicast one.
    pub join_group: bool,
    /// How far an IPv4 address is valid, as the kernel numbers it; none for the usual.
    pub scope: Option<u8>,
    /// The broadcast address of the prefix.
    pub broadcast: Option<Ipv4Addr>,
    /// The name that old programs know the address by; none for that of its link.
    pub label: Option<AddressLabel>,
    /// The other end, which the prefix is then of.
    pub peer: Option<IpAddr>,
}

impl AddressExtra {
    /// Whether there is nothing beyond what every address has.
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// The label of an IPv4 address, such as `eth0:1`: 1 to 15 bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AddressLabel([u8; Self::MAX], u8);

impl AddressLabel {
    const MAX: usize = 15;

    /// A label; none for a text that the kernel has no room for.
    pub fn new(text: &str) -> Option<Self> {
        let len = u8::try_from(text.len()).ok()?;
        let mut bytes = [0; Self::MAX];
        bytes.get_mut(..text.len()).filter(|room| !room.is_empty())?.copy_from_slice(text.as_bytes());
        Some(Self(bytes, len))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0[..usize::from(self.1)]).unwrap_or_default()
    }
}

impl std::fmt::Debug for AddressLabel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

impl TryFrom<String> for AddressLabel {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::new(&text).ok_or("the label of an address has 1 to 15 bytes")
    }
}

impl From<AddressLabel> for String {
    fn from(label: AddressLabel) -> Self {
        label.as_str().to_owned()
    }
}

impl Address {
    /// An address that lasts for ever.
    pub fn new(ip: IpAddr, prefix_len: u8, protocol: Protocol) -> Self {
        let (valid, preferred) = (Lifetime::Forever, Lifetime::Forever);
        let extra = AddressExtra::default();
        Self { ip, prefix_len, valid, preferred, protocol, exact: false, route_metric: 0, extra }
    }

    /// The same as long as that, and not longer: what is left of a lease.
    #[must_use]
    pub fn lasting(self, seconds: u32) -> Self {
        self.lent(Lifetime::Seconds(seconds))
    }

    /// The same by a lease that lasts so long, which may be for ever.
    #[must_use]
    pub fn lent(self, time: Lifetime) -> Self {
        Self { valid: time, preferred: time, exact: true, ..self }
    }

    /// The address when so much time has passed; none when it has gone by then.
    #[must_use]
    pub fn after(self, passed: Duration) -> Option<Self> {
        let seconds = u32::try_from(passed.as_secs()).unwrap_or(u32::MAX);
        let less = |time: Lifetime| match time {
            Lifetime::Forever => Lifetime::Forever,
            Lifetime::Seconds(left) => Lifetime::Seconds(left.saturating_sub(seconds)),
        };
        let (valid, preferred) = (less(self.valid), less(self.preferred));
        (valid != Lifetime::Seconds(0)).then_some(Self { valid, preferred, ..self })
    }

    /// What the kernel tells addresses of one link apart by.
    pub fn key(&self) -> (IpAddr, u8) {
        (self.ip, self.prefix_len)
    }

    /// Whether this address, as it is there, does what `wanted` asks for, whoever made it. A life
    /// time that runs down is still the one that was asked for; what is left out may be anything.
    pub fn fulfils(&self, wanted: &Self) -> bool {
        let exact = wanted.exact;
        let same_time = |wanted: Lifetime, now: Lifetime| match (wanted, now) {
            (Lifetime::Forever, Lifetime::Forever) => true,
            (Lifetime::Seconds(wanted), Lifetime::Seconds(left)) if exact => wanted.abs_diff(left) <= slack(wanted),
            (Lifetime::Seconds(most), Lifetime::Seconds(left)) => left <= most,
            (Lifetime::Forever, Lifetime::Seconds(_)) | (Lifetime::Seconds(_), Lifetime::Forever) => false,
        };
        wanted.key() == self.key()
            && same_time(wanted.valid, self.valid)
            && same_time(wanted.preferred, self.preferred)
            && wanted.route_metric == self.route_metric
            && (wanted.extra.is_usual() || wanted.extra == self.extra)
    }

    /// The prefix that is reached over the link: around the other end where the address has one.
    ///
    /// # Panics
    /// Never for an address that was parsed: the length fits the family.
    pub fn prefix(&self) -> IpNet {
        IpNet::new(self.extra.peer.unwrap_or(self.ip), self.prefix_len).expect("prefix length fits the family").trunc()
    }
}

/// How many seconds an address may end earlier or later than was asked for: what a change takes on a slow machine, and
/// little where little is left.
const fn slack(wanted: u32) -> u32 {
    let part = wanted / 8;
    if part < 5 {
        5
    } else if part > 60 {
        60
    } else {
        part
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.extra.peer {
            Some(peer) => write!(f, "{} peer {peer}/{}", self.ip, self.prefix_len),
            None => write!(f, "{}/{}", self.ip, self.prefix_len),
        }
    }
}

/// A permanent neighbour entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Neighbour {
    /// The neighbour's address.
    pub ip: IpAddr,
    /// Its hardware address.
    pub mac: MacAddr,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_few_addresses_have_counts_only_when_it_is_given() {
        let plain = Address::new(IpAddr::from([10, 0, 0, 1]), 24, Protocol::UNSPEC);
        let peer = Some(IpAddr::from([10, 9, 0, 1]));
        let full = Address { extra: AddressExtra { no_prefix_route: true, peer, ..plain.extra }, ..plain };
        assert!(full.fulfils(&plain) && !plain.fulfils(&full));
        assert_eq!(
            (full.to_string().as_str(), full.prefix().to_string().as_str()),
            ("10.0.0.1 peer 10.9.0.1/24", "10.9.0.0/24")
        );
    }

    #[test]
    fn a_label_has_the_length_that_the_kernel_allows() {
        assert_eq!(AddressLabel::new(""), None);
        assert_eq!(AddressLabel::new("0123456789abcdef"), None);
        assert_eq!(AddressLabel::new("0123456789abcde").unwrap().as_str(), "0123456789abcde");
    }

    #[test]
    fn a_time_that_runs_down_fulfils_what_was_asked_for() {
        let wanted = |valid| Address {
            valid,
            preferred: valid,
            ..Address::new("10.0.0.1".parse().expect("an address"), 24, Protocol::NETLOOM)
        };
        let left = Address { protocol: Protocol::UNSPEC, ..wanted(Lifetime::Seconds(250)) };
        assert!(left.fulfils(&wanted(Lifetime::Seconds(300))));
        assert!(!left.fulfils(&wanted(Lifetime::Seconds(200))));
        assert!(!left.fulfils(&wanted(Lifetime::Forever)));
        assert!(!left.fulfils(&Address { route_metric: 5, ..left }));
        assert!(!left.fulfils(&Address { prefix_len: 25, ..left }));
    }

    #[test]
    fn what_is_left_of_a_lease_is_held_as_it_stands() {
        let lease = Address::new(IpAddr::from([10, 0, 0, 1]), 24, Protocol::NETLOOM).lasting(3600);
        let there = |left| Address { valid: left, preferred: left, exact: false, ..lease };
        for (left, does) in [(3600, true), (3545, true), (3640, true), (3500, false), (60, false), (7200, false)] {
            assert_eq!(there(Lifetime::Seconds(left)).fulfils(&lease), does, "{left}");
        }
        assert!(!there(Lifetime::Forever).fulfils(&lease), "somebody made it last for ever");
        assert!(!there(Lifetime::Seconds(20)).fulfils(&lease.lasting(30)));
        assert!(there(Lifetime::Seconds(26)).fulfils(&lease.lasting(30)));
    }

    #[test]
    fn an_address_that_time_passes_over_ends() {
        let address = Address::new(IpAddr::from([10, 0, 0, 1]), 24, Protocol::NETLOOM);
        assert_eq!(address.after(Duration::MAX), Some(address));
        let lease = Address { preferred: Lifetime::Seconds(50), ..address.lasting(100) };
        let later = lease.after(Duration::from_millis(60_900)).unwrap();
        assert_eq!((later.valid, later.preferred), (Lifetime::Seconds(40), Lifetime::Seconds(0)));
        assert_eq!(lease.after(Duration::from_secs(100)), None);
    }
}
