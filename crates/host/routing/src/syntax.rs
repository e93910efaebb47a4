//! What FRR does with a line when it comes, changes or goes; tables and the functions that read them.
//!
//! All of it was seen at FRR 8.4.4; `tests/recorded` has its texts and answers.

use std::borrow::Cow;

pub(crate) use crate::parts::{LISTS, MapEntry, instance, list_entry, map_entry, static_route};
use crate::{
    config::{Context, RoutingConfig},
    pattern,
};

/// Which block a line is in, as far as that matters for what a line means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// No block.
    Top,
    /// `vrf X`.
    Vrf,
    /// `route-map NAME permit SEQ`; what it denies is decided where it matters.
    RouteMap,
    /// `router bgp AS [vrf X]`.
    Bgp,
    /// An address family of BGP.
    Family,
    /// `vni N` in the address family EVPN.
    EvpnVni,
    /// `bfd`.
    Bfd,
    /// `profile X` or `peer X` in it.
    BfdProfile,
    /// `interface X`.
    Interface,
    /// A block of something that this crate knows nothing of.
    Other,
}

impl Place {
    /// The place of the lines with these blocks around them.
    pub(crate) fn of(context: &[String]) -> Self {
        let mut place = Self::Top;
        for opening in context {
            let words = opening.as_str();
            place = match place {
                Self::Top if words.starts_with("vrf ") => Self::Vrf,
                Self::Top if words.starts_with("route-map ") => Self::RouteMap,
                Self::Top if instance(words).is_some() => Self::Bgp,
                Self::Top if words == "bfd" => Self::Bfd,
                Self::Top if words.starts_with("interface ") => Self::Interface,
                Self::Bgp if words.starts_with("address-family ") => Self::Family,
                Self::Family if words.starts_with("vni ") => Self::EvpnVni,
                Self::Bfd if words.starts_with("profile ") || words.starts_with("peer ") => Self::BfdProfile,
                Self::Top
                | Self::Vrf
                | Self::RouteMap
                | Self::Bgp
                | Self::Family
                | Self::EvpnVni
                | Self::Bfd
                | Self::BfdProfile
                | Self::Interface
                | Self::Other => Self::Other,
            };
        }
        place
    }
}

/// The context of the lines in the block that this line opens.
pub(crate) fn inner(context: &[String], line: &str) -> Context {
    context.iter().cloned().chain([line.to_owned()]).collect()
}

/// Whether the line opens a block, also one that is empty.
pub(crate) fn opens(context: &[String], line: &str) -> bool {
    Place::of(&inner(context, line)) != Place::Other && !line.starts_with("no ")
}

/// Whether the line opens a block that is always there: it is neither made nor removed, and printed when it has lines.
pub(crate) fn is_place(context: &[String], line: &str) -> bool {
    opens(context, line) && matches!(Place::of(&inner(context, line)), Place::Family | Place::Interface)
}

/// How the block is left.
pub(crate) fn exit(opening: &str) -> &'static str {
    match opening.split(' ').next() {
        Some("vrf") => "exit-vrf",
        Some("address-family") => "exit-address-family",
        Some("vni") => "exit-vni",
        Some(_) | None => "exit",
    }
}

/// The VRF that the line imports routes from.
pub(crate) fn imported<'a>(context: &[String], line: &'a str) -> Option<&'a str> {
    let vrf = line.strip_prefix("import vrf ")?;
    (Place::of(context) == Place::Family && !vrf.contains(' ')).then_some(vrf)
}

/// A neighbour's or peer group's name and what the line says about it, also for `no neighbor …`.
pub(crate) fn neighbor(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("no ").unwrap_or(line).strip_prefix("neighbor ")?.split_once(' ')
}

/// What a line says that makes its neighbour exist: without such a line, nothing else can be configured for it.
pub(crate) fn defines(attribute: &str) -> bool {
    ["remote-as", "interface", "peer-group"].contains(&attribute.split(' ').next().unwrap_or_default())
}

/// Settings with one value in a block, by place.
const fn single_valued(place: Place) -> &'static [&'static str] {
    match place {
        Place::Top => &[
            "ip prefix-list * description ...",
            "ipv6 prefix-list * description ...",
            "access-list * remark ...",
            "ip protocol * ...",
            "ipv6 protocol * ...",
            "hostname ...",
            "log file ...",
            "log syslog ...",
        ],
        Place::Vrf => {
            &["vni ...", "ip protocol * ...", "ipv6 protocol * ...", "ip router-id ...", "ipv6 router-id ..."]
        }
        Place::RouteMap => ROUTE_MAP,
        Place::Bgp => BGP,
        Place::Family => FAMILY,
        Place::EvpnVni => &["rd ..."],
        Place::BfdProfile => &[
            "detect-multiplier ...",
            "receive-interval ...",
            "transmit-interval ...",
            "echo transmit-interval ...",
            "echo receive-interval ...",
            "echo-interval ...",
            "minimum-ttl ...",
        ],
        Place::Interface => &["description ...", "ipv6 nd ra-interval ...", "ipv6 nd ra-lifetime ..."],
        Place::Bfd | Place::Other => &[],
    }
}

const ROUTE_MAP: &[&str] = &[
    "description ...",
    "call ...",
    "on-match ...",
    "match ip address prefix-list ...",
    "match ip address prefix-len ...",
    "match ip address ...",
    "match ip next-hop prefix-list ...",
    "match ip next-hop prefix-len ...",
    "match ip next-hop address ...",
    "match ip next-hop type ...",
    "match ip next-hop ...",
    "match ip route-source prefix-list ...",
    "match ip route-source ...",
    "match ipv6 address prefix-list ...",
    "match ipv6 address prefix-len ...",
    "match ipv6 address ...",
    "match ipv6 next-hop prefix-list ...",
    "match ipv6 next-hop address ...",
    "match ipv6 next-hop type ...",
    "match ipv6 next-hop ...",
    "match evpn * ...",
    "match * ...",
    "set ip next-hop peer-address",
    "set ip next-hop unchanged",
    "set ip next-hop ...",
    "set ipv6 next-hop * ...",
    "set as-path * ...",
    "set extcommunity * ...",
    "set comm-list ...",
    "set evpn gateway-ip * ...",
    "set ipv4 * ...",
    "set ipv6 * ...",
    "set * ...",
];

const BGP: &[&str] = &[
    "neighbor * timers connect ...",
    "neighbor * timers delayopen ...",
    "neighbor * bfd profile ...",
    "neighbor * bfd check-control-plane-failure ...",
    "neighbor * bfd ...",
    "neighbor * capability * ...",
    "neighbor * peer-group",
    "neighbor * * ...",
    "bgp router-id ...",
    "bgp cluster-id ...",
    "bgp graceful-restart restart-time ...",
    "bgp graceful-restart stalepath-time ...",
    "bgp graceful-restart select-defer-time ...",
    "bgp graceful-restart rib-stale-time ...",
    "bgp listen limit ...",
    "bgp listen range * ...",
    "bgp bestpath as-path multipath-relax ...",
    "bgp bestpath med ...",
    "bgp default local-preference ...",
    "bgp default subgroup-pkt-queue-max ...",
    "bgp default * ...",
    "bgp confederation identifier ...",
    "bgp max-med * ...",
    "bgp minimum-holdtime ...",
    "bgp route-map delay-timer ...",
    "bgp tcp-keepalive ...",
    "bgp update-delay ...",
    "coalesce-time ...",
    "read-quanta ...",
    "timers bgp ...",
    "update-delay ...",
    "write-quanta ...",
];

const FAMILY: &[&str] = &[
    "neighbor * route-map _ *",
    "neighbor * prefix-list _ *",
    "neighbor * filter-list _ *",
    "neighbor * distribute-list _ *",
    "neighbor * next-hop-self force",
    "neighbor * send-community * ...",
    "neighbor * * ...",
    "network * ...",
    "aggregate-address * ...",
    "redistribute table * ...",
    "redistribute ospf * ...",
    "redistribute * ...",
    "maximum-paths ibgp ...",
    "maximum-paths ...",
    "import vrf route-map ...",
    "rd vpn * ...",
    "rd ...",
    "label vpn * ...",
    "nexthop vpn * ...",
    "route-map vpn * ...",
    "table-map ...",
    "distance bgp ...",
    "advertise ipv4 unicast ...",
    "advertise ipv6 unicast ...",
    "advertise-pip ...",
    "dup-addr-detection freeze ...",
    "dup-addr-detection max-moves ...",
];

/// What the line is about, where FRR has one value for that; `no …` is a value as well.
pub(crate) fn setting(context: &[String], line: &str) -> Option<String> {
    let place = Place::of(context);
    let positive = line.strip_prefix("no ").unwrap_or(line);
    if matches!(place, Place::Top | Place::Vrf)
        && let Some(route) = static_route(positive)
    {
        return Some(route.key);
    }
    if place == Place::Top
        && let Some(entry) = list_entry(positive)
    {
        return Some(format!("{} seq {}", entry.list, entry.sequence));
    }
    pattern::key(single_valued(place), positive)
}

/// The lines of a block that are values of the setting.
pub(crate) fn of_setting<'a>(
    config: &'a RoutingConfig,
    context: &'a [String],
    setting: &'a str,
) -> impl Iterator<Item = &'a str> {
    // All that a line begins with is in its key, so most of the others are known by that.
    let words = if context.is_empty() { 3 } else { 1 };
    let start: usize = setting.split_inclusive(' ').take(words).map(str::len).sum();
    let start = setting.get(..start).unwrap_or(setting);
    let may_be = move |line: &&str| line.strip_prefix("no ").unwrap_or(line).starts_with(start.trim_end());
    config
        .lines_of(context)
        .filter(may_be)
        .filter(move |line| self::setting(context, line).is_some_and(|of| of == setting))
}

/// Commands that set a value back which FRR has no `no` for.
const DEFAULTS: &[(&str, &str)] = &[
    ("detect-multiplier ", "detect-multiplier 3"),
    ("receive-interval ", "receive-interval 300"),
    ("transmit-interval ", "transmit-interval 300"),
    ("echo transmit-interval ", "echo transmit-interval 50"),
    ("echo receive-interval ", "echo receive-interval 50"),
];

/// Lines whose removal must not repeat the value, with the words that stay.
const SHORTENED: &[(Place, &str, &str)] = &[
    (Place::RouteMap, "description ", "no description"),
    (Place::RouteMap, "on-match goto ", "no on-match goto"),
    (Place::RouteMap, "set as-path prepend ", "no set as-path prepend"),
    (Place::Interface, "description ", "no description"),
    (Place::Family, "advertise ipv4 unicast ", "no advertise ipv4 unicast"),
    (Place::Family, "advertise ipv6 unicast ", "no advertise ipv6 unicast"),
];

/// The command that removes the line.
pub(crate) fn removal<'a>(context: &[String], line: &'a str) -> Cow<'a, str> {
    if let Some(positive) = line.strip_prefix("no ") {
        return Cow::Borrowed(positive);
    }
    let place = Place::of(context);
    if place == Place::BfdProfile
        && let Some((_, command)) = DEFAULTS.iter().find(|(start, _)| line.starts_with(start))
    {
        return Cow::Borrowed(command);
    }
    let shortened = SHORTENED.iter().find(|(of, start, _)| *of == place && line.starts_with(start));
    match shortened {
        Some((_, _, command)) => Cow::Borrowed(*command),
        None => Cow::Owned(format!("no {line}")),
    }
}

/// Whether the value must be removed before the other one is taken: FRR refuses the new one, or keeps some of the old.
pub(crate) fn needs_two_steps(context: &[String], old: &str, new: &str) -> bool {
    let keeps_some = |pattern: &str| pattern::fits(pattern, old) && old.split(' ').count() > new.split(' ').count();
    match Place::of(context) {
        Place::Vrf => old.starts_with("vni "),
        Place::Bgp => {
            old.starts_with("bgp listen range ")
                || keeps_some("neighbor * shutdown ...")
                || keeps_some("neighbor * bfd ...")
        }
        Place::Family => {
            keeps_some("neighbor * remove-private-AS ...")
                || (old.starts_with("redistribute ")
                    && ["metric", "route-map"].iter().any(|option| has_word(old, option) && !has_word(new, option)))
        }
        Place::Top
        | Place::RouteMap
        | Place::EvpnVni
        | Place::Bfd
        | Place::BfdProfile
        | Place::Interface
        | Place::Other => false,
    }
}

/// Whether the line has the word.
pub(crate) fn has_word(line: &str, word: &str) -> bool {
    line.split(' ').any(|found| found == word)
}

/// Whether the line attaches a filter to a neighbour. Such a line goes only after what comes in its place is there.
pub(crate) fn attaches_filter(line: &str) -> bool {
    neighbor(line).is_some_and(|(_, attribute)| {
        ["route-map ", "prefix-list ", "filter-list ", "distribute-list ", "unsuppress-map "]
            .iter()
            .any(|start| attribute.starts_with(start))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(openings: &[&str]) -> Context {
        openings.iter().map(|opening| (*opening).to_owned()).collect()
    }

    #[test]
    fn removals_are_those_that_frr_takes() {
        for (blocks, line, expected) in [
            (&["vrf blue"][..], "vni 5", "no vni 5"),
            (&["router bgp 1"], "no bgp default ipv4-unicast", "bgp default ipv4-unicast"),
            (&["route-map m permit 10"], "description a b", "no description"),
            (&["route-map m permit 10"], "on-match goto 30", "no on-match goto"),
            (&["route-map m permit 10"], "on-match next", "no on-match next"),
            (&["route-map m permit 10"], "set as-path prepend 1 2", "no set as-path prepend"),
            (&["router bgp 1"], "neighbor 10.0.0.1 description a b", "no neighbor 10.0.0.1 description a b"),
            (
                &["router bgp 1 vrf blue", "address-family l2vpn evpn"],
                "advertise ipv4 unicast route-map m",
                "no advertise ipv4 unicast",
            ),
            (&["bfd", "profile a"], "detect-multiplier 5", "detect-multiplier 3"),
            (&["bfd", "profile a"], "minimum-ttl 5", "no minimum-ttl 5"),
            (&["interface eth0"], "description up", "no description"),
        ] {
            assert_eq!(removal(&context(blocks), line), expected);
        }
    }

    #[test]
    fn values_of_one_setting_are_known() {
        let bgp = &["router bgp 1"][..];
        let family = &["router bgp 1", "address-family ipv4 unicast"][..];
        let map = &["route-map m permit 10"][..];
        for (blocks, one, other) in [
            (bgp, "neighbor 10.0.0.1 remote-as 1", "neighbor 10.0.0.1 remote-as external"),
            (bgp, "neighbor 10.0.0.1 timers 1 3", "neighbor 10.0.0.1 timers 2 6"),
            (bgp, "bgp router-id 1.1.1.1", "bgp router-id 1.1.1.2"),
            (family, "neighbor 10.0.0.1 route-map a in", "neighbor 10.0.0.1 route-map b in"),
            (family, "neighbor 10.0.0.1 activate", "no neighbor 10.0.0.1 activate"),
            (family, "network 10.0.0.0/8", "network 10.0.0.0/8 route-map m"),
            (family, "no advertise-pip", "advertise-pip ip 1.2.3.4"),
            (map, "match community a", "match community b exact-match"),
            (map, "on-match next", "on-match goto 5"),
            (&[], "ip prefix-list p seq 5 permit any", "ip prefix-list p seq 5 deny 10.0.0.0/8"),
            (&["vrf blue"], "ip route 10.0.0.0/8 10.1.1.1 tag 5 20", "ip route 10.0.0.0/8 10.1.1.1 30"),
            (&["vrf blue"], "ip route 10.0.0.0/8 reject", "ip route 10.0.0.0/8 blackhole"),
        ] {
            let blocks = context(blocks);
            assert!(setting(&blocks, one).is_some(), "{one}");
            assert_eq!(setting(&blocks, one), setting(&blocks, other), "{one}");
        }
        for (blocks, one, other) in [
            (bgp, "neighbor 10.0.0.1 timers 1 3", "neighbor 10.0.0.1 timers connect 2"),
            (bgp, "neighbor 10.0.0.1 bfd", "neighbor 10.0.0.1 bfd profile a"),
            (family, "neighbor 10.0.0.1 route-map a in", "neighbor 10.0.0.1 route-map a out"),
            (family, "neighbor 10.0.0.1 next-hop-self", "neighbor 10.0.0.1 next-hop-self force"),
            (family, "import vrf red", "import vrf green"),
            (map, "match ip address a", "match ip address prefix-list a"),
            (map, "set ip next-hop 1.2.3.4", "set ip next-hop peer-address"),
            (&["vrf blue"], "ip route 10.0.0.0/8 10.1.1.1", "ip route 10.0.0.0/8 10.1.1.1 eth0"),
            (&["vrf blue"], "ip route 10.0.0.0/8 10.1.1.1", "ip route 10.0.0.0/8 10.1.1.1 nexthop-vrf red"),
        ] {
            let blocks = context(blocks);
            let (one, other) = (setting(&blocks, one), setting(&blocks, other));
            assert!(one.is_none() || one != other, "{one:?}");
        }
    }

    #[test]
    fn values_that_frr_does_not_replace_take_two_steps() {
        let bgp = &["router bgp 1"][..];
        let family = &["router bgp 1", "address-family ipv4 unicast"][..];
        for (blocks, old, new, expected) in [
            (&["vrf blue"][..], "vni 5", "vni 6", true),
            (bgp, "bgp listen range 10.0.0.0/8 peer-group a", "bgp listen range 10.0.0.0/8 peer-group b", true),
            (bgp, "neighbor 10.0.0.1 shutdown message x", "neighbor 10.0.0.1 shutdown", true),
            (bgp, "neighbor 10.0.0.1 shutdown", "neighbor 10.0.0.1 shutdown message x", false),
            (family, "redistribute connected route-map m", "redistribute connected", true),
            (family, "redistribute connected metric 5", "redistribute connected metric 6", false),
            (family, "redistribute connected", "redistribute connected route-map m", false),
            (family, "neighbor 10.0.0.1 remove-private-AS all", "neighbor 10.0.0.1 remove-private-AS", true),
            (family, "neighbor 10.0.0.1 route-map a in", "neighbor 10.0.0.1 route-map b in", false),
        ] {
            assert_eq!(needs_two_steps(&context(blocks), old, new), expected, "{old}");
        }
    }
}
