//! Texts of the API that the routing daemon has a spelling of its own for.
//!
//! What is printed here is what the daemon prints of it, so that a line that was sent is found again.

use std::{fmt, net::Ipv4Addr};

/// A BGP route target. Its six bytes are split in three ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RouteTarget {
    /// Two bytes of an autonomous system and a number.
    As2(u16, u32),
    /// An address and two bytes of a number.
    Address(Ipv4Addr, u16),
    /// Four bytes of an autonomous system and two of a number.
    As4(u32, u16),
}

impl RouteTarget {
    /// What the daemon takes where none is given: the lower half of the autonomous system, and the network identifier.
    pub(crate) fn derived(asn: u32, vni: u32) -> Self {
        Self::As2((asn & 0xffff) as u16, vni)
    }
}

impl fmt::Display for RouteTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::As2(asn, number) => write!(f, "{asn}:{number}"),
            Self::Address(ip, number) => write!(f, "{ip}:{number}"),
            Self::As4(asn, number) => write!(f, "{asn}:{number}"),
        }
    }
}

/// Reads a route target.
pub(crate) fn route_target(text: &str) -> Result<RouteTarget, String> {
    let why = |what: &str| format!("{text:?} is no route target: {what}");
    let (first, second) = text.split_once(':').ok_or_else(|| why("write it as 64500:10100"))?;
    let small = || second.parse().map_err(|_| why("the number must be 65535 at most, as four bytes stand before it"));
    if first.contains('.') {
        let ip = first.parse().map_err(|_| why("the part before the colon is no address"))?;
        return Ok(RouteTarget::Address(ip, small()?));
    }
    let asn: u32 = first.parse().map_err(|_| why("the part before the colon is no autonomous system"))?;
    match u16::try_from(asn) {
        Ok(asn) => Ok(RouteTarget::As2(asn, second.parse().map_err(|_| why("the number must be 4294967295 at most"))?)),
        Err(_) => Ok(RouteTarget::As4(asn, small()?)),
    }
}

/// A BGP community.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Community(u16, u16);

/// Communities that the daemon prints by their names.
const WELL_KNOWN: &[(Community, &str)] = &[
    (Community(0, 0), "internet"),
    (Community(0xffff, 0), "graceful-shutdown"),
    (Community(0xffff, 1), "accept-own"),
    (Community(0xffff, 2), "route-filter-translated-v4"),
    (Community(0xffff, 3), "route-filter-v4"),
    (Community(0xffff, 4), "route-filter-translated-v6"),
    (Community(0xffff, 5), "route-filter-v6"),
    (Community(0xffff, 6), "llgr-stale"),
    (Community(0xffff, 7), "no-llgr"),
    (Community(0xffff, 8), "accept-own-nexthop"),
    (Community(0xffff, 666), "blackhole"),
    (Community(0xffff, 0xff01), "no-export"),
    (Community(0xffff, 0xff02), "no-advertise"),
    (Community(0xffff, 0xff03), "local-AS"),
    (Community(0xffff, 0xff04), "no-peer"),
];

/// What routes carry that came from the fabric: no node hands them on to it.
pub(crate) const FROM_FABRIC: Community = Community(65169, 200);

impl Community {
    /// The name of the list that holds it alone.
    pub(crate) fn list(self) -> String {
        format!("cl_{}_{}", self.0, self.1)
    }
}

impl fmt::Display for Community {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match WELL_KNOWN.iter().find(|(known, _)| known == self) {
            Some((_, name)) => f.write_str(name),
            None => write!(f, "{}:{}", self.0, self.1),
        }
    }
}

/// Reads a community.
pub(crate) fn community(text: &str) -> Result<Community, String> {
    if let Some((known, _)) = WELL_KNOWN.iter().find(|(_, name)| name.eq_ignore_ascii_case(text)) {
        return Ok(*known);
    }
    let parts = text.split_once(':').and_then(|(a, b)| Some(Community(a.parse().ok()?, b.parse().ok()?)));
    parts.ok_or_else(|| {
        format!("{text:?} is no community: write two numbers up to 65535, such as 64500:999, or the name of a well-known one")
    })
}

/// Reads a time span of whole seconds, in Go's notation.
pub(crate) fn seconds(text: &str) -> Result<u16, String> {
    let why = || format!("{text:?}: BGP counts in whole seconds, up to 65535; write 90s or 1m30s");
    let mut rest = text;
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(why)?;
        let (number, tail) = rest.split_at(digits);
        let unit = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit);
        let nanoseconds: u64 = match unit {
            "ns" => 1,
            "us" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return Err(why()),
        };
        let part = number.parse::<u64>().ok().and_then(|number| number.checked_mul(nanoseconds)).ok_or_else(why)?;
        total = total.checked_add(part).ok_or_else(why)?;
        rest = tail;
    }
    let whole = total.is_multiple_of(1_000_000_000) && !text.is_empty();
    u16::try_from(total / 1_000_000_000).ok().filter(|_| whole).ok_or_else(why)
}

/// Whether a session can have these timers, in seconds.
pub(crate) fn check_timers(keepalive: u16, hold: u16) -> Result<(), String> {
    match (keepalive, hold) {
        (_, 1 | 2) => Err(format!("{hold}s: a hold time is 0 or at least 3s")),
        (keepalive, hold) if hold > 0 && keepalive >= hold => {
            Err(format!("a session of {hold}s ends before the first sign of life after {keepalive}s"))
        }
        _ => Ok(()),
    }
}

/// Whether a VRF of this name can be spoken of in a line of the routing daemon.
pub(crate) fn check_vrf_name(name: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "_.+-".contains(c);
    if name.is_empty() || !name.chars().all(fits) || name == "default" {
        return Err(format!("{name:?}: a VRF is named with letters, digits and _ . + -, and not default"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_bytes_are_split_in_three_ways() {
        let shown = |text| route_target(text).map(|target| target.to_string());
        for text in ["65000:4294967295", "4200000000:65535", "192.0.2.1:7"] {
            assert_eq!(shown(text).as_deref(), Ok(text));
        }
        assert_eq!(shown("0065000:007").as_deref(), Ok("65000:7"));
        for bad in ["65000", "65000:4294967296", "4200000000:65536", "192.0.2.1:65536", "1.5:7", "x:1"] {
            assert!(shown(bad).is_err(), "{bad}");
        }
        assert_eq!(RouteTarget::derived(4_200_000_000, 5).to_string(), "59904:5");
    }

    #[test]
    fn communities_have_one_spelling() {
        let shown = |text| community(text).map(|community| community.to_string());
        assert_eq!(shown("65535:65281").as_deref(), Ok("no-export"));
        assert_eq!(shown("local-as").as_deref(), Ok("local-AS"));
        assert_eq!(shown("065:0200").as_deref(), Ok("65:200"));
        assert!(shown("65536:1").is_err() && shown("nobody").is_err());
    }

    #[test]
    fn timers_are_whole_seconds() {
        assert_eq!(seconds("1m30s"), Ok(90));
        assert_eq!(seconds("2000ms"), Ok(2));
        for bad in ["", "90", "1500ms", "1.5s", "24h", "5x", "99999999999999999999s"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
        assert!(check_timers(3, 2).is_err() && check_timers(30, 30).is_err() && check_timers(0, 0).is_ok());
    }
}
