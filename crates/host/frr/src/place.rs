//! Where in its configuration a daemon is, and the lines that lead elsewhere.
//!
//! A daemon does not show its place. A line that a context does not know is tried in each outer one, and the daemon stays
//! where it was taken; a line of an outer context may mean something else in an inner one (`vrf NAME` within `router bgp` is
//! another thing). So every line begins its way at the outermost place, unless the line before it was one of those after
//! which a daemon is known to be where it was.

use crate::Status;

/// The place of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// In no configuration: commands that show something are understood.
    Shell,
    /// Within this context.
    Within(Vec<String>),
    /// Somewhere in the configuration.
    Somewhere,
}

/// Enters the configuration.
const ENTER: &str = "configure terminal";
/// Leaves it, from wherever.
pub(crate) const LEAVE: &str = "end";

/// Lines of the outermost context that lead into no other one, by how they begin.
const FLAT: [&str; 8] = [
    "ip prefix-list ",
    "ipv6 prefix-list ",
    "ip route ",
    "ipv6 route ",
    "bgp community-list ",
    "bgp extcommunity-list ",
    "bgp large-community-list ",
    "bgp as-path access-list ",
];
/// A context with lines that nothing else knows, and how those begin.
const ENTRIES: (&str, [&str; 5]) = ("route-map ", ["match ", "set ", "call ", "on-match ", "description "]);

impl Place {
    /// The lines that lead from here into a context.
    pub(crate) fn way_to<'a>(&self, context: &[&'a str]) -> Vec<&'a str> {
        let begin: &[&str] = match self {
            Self::Within(here) if here == context => return Vec::new(),
            Self::Shell => &[ENTER],
            Self::Within(_) | Self::Somewhere => &[LEAVE, ENTER],
        };
        begin.iter().chain(context).copied().collect()
    }

    /// The place after a line of a context.
    pub(crate) fn after(context: &[&str], line: &str, status: Status) -> Self {
        if status.is_taken() && stays(context, line) {
            Self::Within(context.iter().map(|line| (*line).to_owned()).collect())
        } else {
            Self::Somewhere
        }
    }
}

/// Whether a daemon that took this line is where it was.
fn stays(context: &[&str], line: &str) -> bool {
    let line = line.trim_start();
    let line = line.strip_prefix("no ").unwrap_or(line);
    let begins = |with: &[&str]| with.iter().any(|with| line.starts_with(with));
    match context {
        [] => begins(&FLAT),
        [one] => one.starts_with(ENTRIES.0) && begins(&ENTRIES.1),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_is_entered_from_the_outermost_place() {
        let context = ["router bgp 65001", "address-family ipv4 unicast"];
        let inside = [ENTER, context[0], context[1]];
        assert_eq!(Place::Shell.way_to(&context), inside);
        assert_eq!(Place::Somewhere.way_to(&context), [&[LEAVE][..], &inside].concat());
        let outer = Place::Within(vec![context[0].to_owned()]);
        assert_eq!(outer.way_to(&context), [&[LEAVE][..], &inside].concat());
        assert!(outer.way_to(&context[..1]).is_empty());
    }

    #[test]
    fn only_lines_that_lead_nowhere_stay() {
        let after = |context: &[&str], line| Place::after(context, line, Status::Success) != Place::Somewhere;
        assert!(after(&[], "ip prefix-list a seq 5 permit 192.0.2.0/24"));
        assert!(after(&[], "no ip prefix-list a"));
        assert!(after(&["route-map a permit 10"], "set local-preference 200"));
        assert!(!after(&["route-map a permit 10"], "ip prefix-list a seq 5 permit 192.0.2.0/24"));
        assert!(!after(&[], "route-map a permit 10"));
        assert!(!after(&["router bgp 65001"], "neighbor 192.0.2.1 remote-as 65002"));
        assert!(!after(&["vrf blue"], "vni 100"));
    }

    #[test]
    fn after_a_refusal_nobody_knows() {
        assert_eq!(Place::after(&[], "ip prefix-list a", Status::Incomplete), Place::Somewhere);
    }
}
