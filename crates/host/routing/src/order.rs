//! The order of lines within a block: what a line needs comes before it.
//!
//! FRR refuses what it says about a neighbour that does not exist yet, and starts a session as soon as it can. So what
//! makes a neighbour comes first, its settings and filters then, and its activation last.

use std::{cmp::Ordering, collections::BTreeSet};

use crate::{
    config::RoutingConfig,
    syntax::{self, Place},
};

/// Names of the peer groups of one instance of BGP.
#[derive(Debug, Clone, Default)]
pub(crate) struct Groups(BTreeSet<String>);

impl Groups {
    /// The peer groups in this block, if it is an instance of BGP.
    pub(crate) fn of(config: &RoutingConfig, context: &[String]) -> Self {
        if Place::of(context) != Place::Bgp {
            return Self::default();
        }
        let named =
            config.lines_of(context).filter_map(syntax::neighbor).filter(|(_, attribute)| *attribute == "peer-group");
        Self(named.map(|(name, _)| name.to_owned()).collect())
    }

    /// Whether this is a peer group.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// The groups of both.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }
}

/// Which of two lines of a block comes first.
pub(crate) fn compare(place: Place, groups: &Groups, one: &str, other: &str) -> Ordering {
    let rank = |line: &str| rank(place, groups, line);
    rank(one).cmp(&rank(other)).then_with(|| natural(one, other))
}

/// Where the line belongs.
fn rank(place: Place, groups: &Groups, line: &str) -> u8 {
    match place {
        Place::Top => top(line),
        Place::Bgp => bgp(groups, line),
        Place::Family => family(line),
        Place::EvpnVni => u8::from(line.starts_with("route-target ")),
        Place::Vrf => u8::from(!line.starts_with("vni ")),
        Place::RouteMap => ["description", "match", "set", "call", "on-match"]
            .iter()
            .position(|start| line.starts_with(start))
            .map_or(9, |at| u8::try_from(at).unwrap_or(9)),
        Place::Bfd | Place::BfdProfile | Place::Interface | Place::Other => 0,
    }
}

fn top(line: &str) -> u8 {
    let is_list = syntax::LISTS.iter().any(|start| line.starts_with(start));
    match line.split(' ').next().unwrap_or_default() {
        "frr" => 0,
        "hostname" | "log" | "service" | "password" | "enable" => 1,
        // A list that has only a description passes everything, so its entries are first.
        _ if is_list => 2 + u8::from(syntax::list_entry(line).is_none()),
        "route-map" => 4,
        "bfd" => 5,
        "interface" => 6,
        "vrf" => 7,
        "router" => match syntax::instance(line) {
            Some(instance) if instance.vrf.is_none() => 9,
            Some(_) => 10,
            None => 11,
        },
        _ => 8,
    }
}

fn bgp(groups: &Groups, line: &str) -> u8 {
    if line.starts_with("address-family ") {
        return 10;
    }
    if line.starts_with("bgp listen range ") {
        return 9;
    }
    let Some((name, attribute)) = syntax::neighbor(line) else { return 0 };
    let group = groups.has(name);
    match attribute.split(' ').next().unwrap_or_default() {
        "peer-group" if attribute == "peer-group" => 1,
        "remote-as" if group => 2,
        _ if group => 3,
        "interface" => 4,
        "remote-as" => 5,
        "peer-group" => 6,
        _ => 7,
    }
}

fn family(line: &str) -> u8 {
    match line.split(' ').next().unwrap_or_default() {
        // The first in: a daemon that sees a tunnel device without it may die.
        "advertise-all-vni" => 0,
        "no" if line.ends_with(" activate") => 1,
        "rd" => 2,
        "route-target" => 3,
        "neighbor" if line.ends_with(" activate") => 9,
        "neighbor" => 5,
        "import" if line.starts_with("import vrf route-map ") => 7,
        "import" => 8,
        "advertise" | "default-originate" => 6,
        _ => 4,
    }
}

/// By the alphabet, numbers by their value.
pub(crate) fn natural(one: &str, other: &str) -> Ordering {
    let (mut left, mut right) = (one, other);
    while !left.is_empty() && !right.is_empty() {
        let (number, rest) = digits(left);
        let (against, after) = digits(right);
        let by = if number.is_empty() || against.is_empty() {
            left.chars().next().cmp(&right.chars().next())
        } else {
            value(number).cmp(&value(against))
        };
        if by != Ordering::Equal {
            return by;
        }
        (left, right) = if number.is_empty() { (tail(left), tail(right)) } else { (rest, after) };
    }
    left.len().cmp(&right.len()).then_with(|| one.cmp(other))
}

/// Leading digits, and the rest.
fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|found: char| !found.is_ascii_digit()).unwrap_or(text.len()))
}

/// Numbers compare by their length first, without zeros before them.
fn value(number: &str) -> (usize, &str) {
    let number = number.trim_start_matches('0');
    (number.len(), number)
}

/// All but the first character.
fn tail(text: &str) -> &str {
    let mut characters = text.chars();
    characters.next();
    characters.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_by_value() {
        let mut lines = ["a 10", "a 9", "a 100 b", "b", "a 100", "a", "a 010"];
        lines.sort_by(|one, other| natural(one, other));
        assert_eq!(lines, ["a", "a 9", "a 010", "a 10", "a 100", "a 100 b", "b"]);
    }
}
