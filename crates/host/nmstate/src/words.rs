//! Words that both the reader and the printer know.

use netloom_model::{RouteType, RuleAction};

/// Protocols inside of IP that have a name here.
pub(crate) const IP_PROTOCOLS: &[(&str, u8)] = &[
    ("icmp", 1),
    ("igmp", 2),
    ("ipip", 4),
    ("tcp", 6),
    ("udp", 17),
    ("gre", 47),
    ("esp", 50),
    ("ah", 51),
    ("icmpv6", 58),
    ("ospf", 89),
    ("sctp", 132),
];

/// `route-type`.
pub(crate) const ROUTE_TYPES: &[(&str, RouteType)] = &[
    ("unicast", RouteType::Unicast),
    ("blackhole", RouteType::Blackhole),
    ("unreachable", RouteType::Unreachable),
    ("prohibit", RouteType::Prohibit),
    ("throw", RouteType::Throw),
];

/// `action` of a rule.
pub(crate) const RULE_ACTIONS: &[(&str, RuleAction)] = &[
    ("blackhole", RuleAction::Blackhole),
    ("unreachable", RuleAction::Unreachable),
    ("prohibit", RuleAction::Prohibit),
];

/// The word of a value in one of the tables above.
pub(crate) fn word_of<T: PartialEq>(words: &[(&'static str, T)], value: &T) -> Option<&'static str> {
    words.iter().find(|(_, v)| v == value).map(|(word, _)| *word)
}
