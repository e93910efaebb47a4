//! Lines that are about one thing each, taken apart: instances of BGP, static routes, entries of lists and route maps.

/// An instance of BGP by its opening line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Instance<'a> {
    /// Its AS number, as written.
    pub(crate) number: &'a str,
    /// Its VRF; `None` for the default instance.
    pub(crate) vrf: Option<&'a str>,
}

/// Reads the opening line of an instance of BGP.
pub(crate) fn instance(line: &str) -> Option<Instance<'_>> {
    let mut words = line.strip_prefix("router bgp ")?.split(' ');
    let number = words.next()?;
    let vrf = words.skip_while(|word| *word != "vrf").nth(1);
    Some(Instance { number, vrf })
}

/// A static route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StaticRoute {
    /// The route without what it carries along, such as its tag and distance.
    pub(crate) key: String,
    /// Routes that share this also share whether they drop packets: FRR refuses another kind beside one that is there.
    pub(crate) path: String,
    /// Whether it drops packets.
    pub(crate) drops: bool,
}

/// Reads a static route.
pub(crate) fn static_route(line: &str) -> Option<StaticRoute> {
    let words: Vec<&str> = line.split(' ').collect();
    let [family @ ("ip" | "ipv6"), "route", prefix, next, options @ ..] = words.as_slice() else { return None };
    let drops = ["blackhole", "reject", "Null0"].contains(next);
    let mut key = vec![*family, "route", prefix, if drops { "blackhole" } else { next }];
    let mut path = vec![*family, "route", prefix];
    let mut options = options.iter().copied();
    while let Some(option) = options.next() {
        match option {
            "tag" | "label" | "color" => drop(options.next()),
            "onlink" => {}
            "bfd" | "segments" => break,
            "nexthop-vrf" | "vrf" => key.extend([option, options.next().unwrap_or_default()]),
            "table" => {
                let table = options.next().unwrap_or_default();
                key.extend([option, table]);
                path.extend([option, table]);
            }
            // The distance: the same next hop with another one takes the place of the old.
            _ if option.parse::<u8>().is_ok() => path.push(option),
            _ => key.push(option),
        }
    }
    Some(StaticRoute { key: key.join(" "), path: path.join(" "), drops })
}

/// An entry of a list with numbered entries: prefixes, communities, AS paths, addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListEntry<'a> {
    /// The list, with its kind.
    pub(crate) list: &'a str,
    /// Where in the list the entry is.
    pub(crate) sequence: u32,
    /// What it says.
    pub(crate) content: &'a str,
}

/// First words of lists.
pub(crate) const LISTS: &[&str] = &[
    "ip prefix-list ",
    "ipv6 prefix-list ",
    "bgp community-list ",
    "bgp large-community-list ",
    "bgp extcommunity-list ",
    "bgp as-path access-list ",
    "access-list ",
    "ipv6 access-list ",
    "mac access-list ",
];

/// Reads an entry of a list.
pub(crate) fn list_entry(line: &str) -> Option<ListEntry<'_>> {
    LISTS.iter().find(|start| line.starts_with(**start))?;
    let (list, rest) = line.split_once(" seq ")?;
    let (sequence, content) = rest.split_once(' ')?;
    Some(ListEntry { list, sequence: sequence.parse().ok()?, content })
}

/// An entry of a route map, by its opening line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MapEntry<'a> {
    /// The route map.
    pub(crate) map: &'a str,
    /// Whether it permits what matches.
    pub(crate) permits: bool,
    /// Where in the route map the entry is.
    pub(crate) sequence: u32,
}

impl MapEntry<'_> {
    /// Its opening line.
    pub(crate) fn opening(&self) -> String {
        let action = if self.permits { "permit" } else { "deny" };
        format!("route-map {} {action} {}", self.map, self.sequence)
    }
}

/// Reads the opening line of an entry of a route map.
pub(crate) fn map_entry(line: &str) -> Option<MapEntry<'_>> {
    let mut words = line.strip_prefix("route-map ")?.split(' ');
    let entry = (words.next()?, words.next()?, words.next()?.parse().ok()?);
    let permits = match entry.1 {
        "permit" => true,
        "deny" => false,
        _ => return None,
    };
    words.next().is_none().then_some(MapEntry { map: entry.0, permits, sequence: entry.2 })
}
