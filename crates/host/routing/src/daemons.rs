//! Which daemons take a line, by release of FRR.
//!
//! A line is sent to the daemons that take it and to no other: the rest answers that it does not know the command. The
//! table was measured at 8.4.4; for 10 it follows the sources. Daemons that this program does not drive (`bfdd` takes
//! prefix lists, too) are not named for what they do not need.

use std::fmt;

use crate::syntax::{LISTS, Place, map_entry};

/// A daemon of FRR.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Daemon {
    /// The configuration of the others, from release 10 on.
    Mgmtd,
    /// Interfaces, VRFs, VNIs and the kernel.
    Zebra,
    /// BGP.
    Bgpd,
    /// Static routes.
    Staticd,
    /// Bidirectional forwarding detection.
    Bfdd,
}

impl Daemon {
    /// All of them, in the order in which they are started.
    pub const ALL: [Self; 5] = [Self::Mgmtd, Self::Zebra, Self::Bgpd, Self::Staticd, Self::Bfdd];

    /// Its name, which is also that of its program and socket.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Zebra => "zebra",
            Self::Bgpd => "bgpd",
            Self::Staticd => "staticd",
            Self::Bfdd => "bfdd",
            Self::Mgmtd => "mgmtd",
        }
    }
}

impl fmt::Display for Daemon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Releases of FRR that differ in which daemon takes a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Release {
    /// 8.4: each daemon has its own configuration.
    V8_4,
    /// 10 and later: `mgmtd` has that of `zebra` and `staticd`.
    V10,
}

impl Release {
    /// The release by the version that a daemon reports, such as `8.4.4`; `None` for one that is older than those known
    /// here. 9 splits its configuration in yet another way and is not known.
    pub fn of_version(version: &str) -> Option<Self> {
        let mut numbers = version.split(['.', '-', '_']).map_while(|number| number.parse::<u16>().ok());
        match (numbers.next()?, numbers.next().unwrap_or(0)) {
            (8, 4..) => Some(Self::V8_4),
            (10.., _) => Some(Self::V10),
            _ => None,
        }
    }

    /// The daemons that have configuration in this release.
    pub const fn daemons(self) -> &'static [Daemon] {
        match self {
            Self::V8_4 => &[Daemon::Zebra, Daemon::Bgpd, Daemon::Staticd, Daemon::Bfdd],
            Self::V10 => &[Daemon::Mgmtd, Daemon::Bgpd, Daemon::Bfdd],
        }
    }
}

/// The daemons that take a line, in each release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owners {
    /// One row of the table below.
    kind: Kind,
}

/// What a line is, as far as its daemons depend on that. A row of the table of [`Owners::in_release`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A setting that each daemon has for itself: `hostname`, `log`, `password`.
    EachDaemon,
    /// Interfaces, VNIs, next hops.
    Interface,
    /// The block of a VRF.
    Vrf,
    /// A static route.
    StaticRoute,
    /// Prefix and access lists, route maps, and what they have for every protocol.
    Filter,
    /// Community and AS path lists, BGP itself, and what route maps have for BGP alone.
    Bgp,
    /// What route maps have for the kernel's table alone.
    KernelFilter,
    /// BFD.
    Bfd,
    /// Something that none of the daemons here has.
    Nobody,
}

impl Owners {
    /// The daemons that take this line in this block.
    pub fn of(context: &[String], line: &str) -> Self {
        let line = line.strip_prefix("no ").unwrap_or(line);
        let kind = match Place::of(context) {
            Place::Top => top(line),
            Place::Vrf if is_static_route(line) => Kind::StaticRoute,
            Place::Vrf | Place::Interface => Kind::Interface,
            Place::RouteMap => in_route_map(line),
            Place::Bgp | Place::Family | Place::EvpnVni => Kind::Bgp,
            Place::Bfd | Place::BfdProfile => Kind::Bfd,
            Place::Other if context.first().is_some_and(|block| block.starts_with("router bgp ")) => Kind::Bgp,
            Place::Other => Kind::Nobody,
        };
        Self { kind }
    }

    /// These daemons in one release; empty for a line that none of them takes.
    pub const fn in_release(self, release: Release) -> &'static [Daemon] {
        use Daemon::{Bfdd, Bgpd, Mgmtd, Staticd, Zebra};
        match (release, self.kind) {
            (_, Kind::EachDaemon) => release.daemons(),
            (_, Kind::Bgp) => &[Bgpd],
            (_, Kind::Bfd) => &[Bfdd],
            (_, Kind::Nobody) => &[],
            (Release::V8_4, Kind::Interface | Kind::KernelFilter) => &[Zebra],
            (Release::V8_4, Kind::Vrf) => &[Zebra, Staticd],
            (Release::V8_4, Kind::StaticRoute) => &[Staticd],
            (Release::V8_4, Kind::Filter) => &[Zebra, Bgpd],
            (Release::V10, Kind::Interface | Kind::KernelFilter | Kind::Vrf | Kind::StaticRoute) => &[Mgmtd],
            (Release::V10, Kind::Filter) => &[Mgmtd, Bgpd],
        }
    }
}

impl Owners {
    /// Whether daemons have such lines each for itself, and all of them have to have them: lists and route maps.
    pub(crate) fn each_needs_it(self) -> bool {
        matches!(self.kind, Kind::Filter)
    }
}

fn is_static_route(line: &str) -> bool {
    line.starts_with("ip route ") || line.starts_with("ipv6 route ")
}

fn top(line: &str) -> Kind {
    if LISTS.iter().any(|list| line.starts_with(list)) {
        return if line.starts_with("bgp ") { Kind::Bgp } else { Kind::Filter };
    }
    if is_static_route(line) {
        return Kind::StaticRoute;
    }
    if map_entry(line).is_some() {
        return Kind::Filter;
    }
    let starts = |starts: &[&str]| starts.iter().any(|start| line.starts_with(start));
    match line.split(' ').next().unwrap_or_default() {
        "frr" | "hostname" | "log" | "service" | "password" | "enable" | "line" | "agentx" => Kind::EachDaemon,
        "vrf" => Kind::Vrf,
        "interface" | "zebra" => Kind::Interface,
        "bgp" => Kind::Bgp,
        "bfd" => Kind::Bfd,
        "router" if line.starts_with("router bgp ") => Kind::Bgp,
        "ip" | "ipv6" if starts(&["ip nht", "ipv6 nht", "ip protocol ", "ipv6 protocol "]) => Kind::Interface,
        "ip" | "ipv6" if starts(&["ip forwarding", "ipv6 forwarding", "ip router-id ", "ipv6 router-id "]) => {
            Kind::Interface
        }
        _ => Kind::Nobody,
    }
}

/// What route maps have for every protocol, in the library that all daemons share.
const SHARED: &[&str] = &[
    "description",
    "call ",
    "on-match ",
    "match interface ",
    "match ip address ",
    "match ip next-hop ",
    "match ipv6 address ",
    "match ipv6 next-hop ",
    "match metric ",
    "match tag ",
    "set ip next-hop ",
    "set ipv6 next-hop local ",
    "set metric ",
    "set min-metric ",
    "set max-metric ",
    "set tag ",
];

/// What route maps have for the kernel's table.
const KERNEL: &[&str] = &["match source-protocol ", "match source-instance ", "set src "];

fn in_route_map(line: &str) -> Kind {
    let bgp_only = ["set ip next-hop peer-address", "set ip next-hop unchanged", "match ip next-hop address "];
    if bgp_only.iter().any(|start| line.starts_with(start)) {
        Kind::Bgp
    } else if SHARED.iter().any(|start| line.starts_with(start)) {
        Kind::Filter
    } else if KERNEL.iter().any(|start| line.starts_with(start)) {
        Kind::KernelFilter
    } else {
        Kind::Bgp
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The daemons that take the line, as one text for each release.
    fn owners(context: &[&str], line: &str) -> [String; 2] {
        let context: Vec<String> = context.iter().map(|opening| (*opening).to_owned()).collect();
        let owners = Owners::of(&context, line);
        [Release::V8_4, Release::V10]
            .map(|release| owners.in_release(release).iter().map(|daemon| daemon.name()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn each_line_has_its_daemons() {
        let family = &["router bgp 65001 vrf blue", "address-family ipv4 unicast"][..];
        let map = &["route-map m permit 10"][..];
        for (context, line, old, new) in [
            (&[][..], "vrf blue", "zebra staticd", "mgmtd"),
            (&[], "no vrf blue", "zebra staticd", "mgmtd"),
            (&["vrf blue"], "vni 10100", "zebra", "mgmtd"),
            (&["vrf blue"], "ip route 10.0.0.0/8 blackhole", "staticd", "mgmtd"),
            (&[], "ipv6 route fd00::/8 blackhole", "staticd", "mgmtd"),
            (&[], "ip nht resolve-via-default", "zebra", "mgmtd"),
            (&[], "ip prefix-list p seq 5 permit any", "zebra bgpd", "mgmtd bgpd"),
            (&[], "bgp community-list standard c seq 5 permit 1:2", "bgpd", "bgpd"),
            (&[], "bgp as-path access-list a seq 5 permit ^1", "bgpd", "bgpd"),
            (&[], "route-map m permit 10", "zebra bgpd", "mgmtd bgpd"),
            (map, "match ip address prefix-list p", "zebra bgpd", "mgmtd bgpd"),
            (map, "match community c", "bgpd", "bgpd"),
            (map, "no description", "zebra bgpd", "mgmtd bgpd"),
            (map, "no on-match goto", "zebra bgpd", "mgmtd bgpd"),
            (map, "match source-vrf blue", "bgpd", "bgpd"),
            (map, "set ip next-hop 1.2.3.4", "zebra bgpd", "mgmtd bgpd"),
            (map, "set ip next-hop unchanged", "bgpd", "bgpd"),
            (map, "set src 1.2.3.4", "zebra", "mgmtd"),
            (&[], "router bgp 65001 vrf blue", "bgpd", "bgpd"),
            (&[], "no router bgp 65001 vrf blue", "bgpd", "bgpd"),
            (family, "import vrf red", "bgpd", "bgpd"),
            (&["bfd"], "profile fast", "bfdd", "bfdd"),
            (&["interface eth0"], "ipv6 nd ra-interval 10", "zebra", "mgmtd"),
            (&[], "router ospf", "", ""),
        ] {
            assert_eq!(owners(context, line), [old, new], "{context:?} {line}");
        }
    }

    #[test]
    fn releases_are_known_by_their_version() {
        for (version, release) in [
            ("8.4.4", Some(Release::V8_4)),
            ("8.5", Some(Release::V8_4)),
            ("10.6.0", Some(Release::V10)),
            ("10.7-dev", Some(Release::V10)),
            ("9.1", None),
            ("7.5.1", None),
            ("frr", None),
        ] {
            assert_eq!(Release::of_version(version), release, "{version}");
        }
    }
}
