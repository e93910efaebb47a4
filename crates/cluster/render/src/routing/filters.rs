//! Filters as route maps, with the lists that they refer to.
//!
//! Items that follow each other, do the same and look at prefixes only become one entry for each family, with one list.
//! The entries of such a list all permit, so their order means nothing: each is numbered by what it says, and an item
//! that comes or goes is one line. The last entry has a number of its own for the same reason.

use netloom_api::pipeline::node_network_config::host::EntryOrigin;
use netloom_api::pipeline::node_network_config::routing::{
    Action, ActionKind, CommunityMatcher, Filter, FilterItem, Matcher, ModifyRoute, PrefixMatcher,
};
use netloom_types::{Family, IpNet};

use crate::{
    context::parse,
    digest,
    error::RenderError,
    lines::Lines,
    names,
    value::{self, Community},
};

/// The number of the first entry of a filter; what a map decides before has lower ones.
pub(crate) const FIRST: u32 = 10;
/// The number of the last entry: what happens to routes that no item fits. It is the highest there is.
pub(crate) const LAST: u32 = 65_535;

/// An entry of a route map before it has a number.
struct Entry<'a> {
    action: &'a Action,
    community: Option<&'a CommunityMatcher>,
    prefixes: Option<(Family, Vec<String>)>,
    /// The item that it began with.
    path: String,
    /// Who asked for that.
    origin: Option<&'a EntryOrigin>,
}

/// Adds a filter as a route map.
pub(crate) fn map(lines: &mut Lines, name: &str, filter: &Filter, path: &str) -> Result<(), RenderError> {
    let Filter { items, default_action } = filter;
    let entries = entries(items, path)?;
    for (number, entry) in (FIRST..).zip(&entries) {
        if number >= LAST {
            return Err(RenderError::unsupported(format!("{path}.items"), "a filter has 65525 entries at most"));
        }
        let before = lines.asked_by_entry(entry.origin);
        add(lines, (name, number), entry)?;
        lines.asked_by(before);
    }
    let path = format!("{path}.defaultAction");
    if default_action.kind == ActionKind::Next {
        return Err(RenderError::invalid(path, "there is no next item; accept or reject what no item fits"));
    }
    add(lines, (name, LAST), &Entry { action: default_action, community: None, prefixes: None, path, origin: None })
}

fn entries<'a>(items: &'a [FilterItem], path: &str) -> Result<Vec<Entry<'a>>, RenderError> {
    let mut all: Vec<Entry<'a>> = Vec::new();
    for (at, FilterItem { matcher: Matcher { prefix, bgp_community }, action, origin }) in items.iter().enumerate() {
        let path = format!("{path}.items[{at}]");
        let prefix = prefix.as_ref().map(|prefix| prefix_rule(prefix, &path)).transpose()?;
        let Some((family, rule)) = prefix else {
            all.push(Entry {
                action,
                community: bgp_community.as_ref(),
                prefixes: None,
                path,
                origin: origin.as_ref(),
            });
            continue;
        };
        // Of entries that do the same, the order does not count: a route takes the first that fits.
        let same = |entry: &&mut Entry<'_>| {
            entry.action == action && entry.community == bgp_community.as_ref() && entry.prefixes.is_some()
        };
        let mut alike = all.iter_mut().rev().take_while(same).filter_map(|entry| entry.prefixes.as_mut());
        if let Some((_, rules)) = alike.find(|(other, _)| *other == family) {
            rules.push(rule);
            continue;
        }
        let prefixes = Some((family, vec![rule]));
        all.push(Entry { action, community: bgp_community.as_ref(), prefixes, path, origin: origin.as_ref() });
    }
    Ok(all)
}

/// The prefixes that an item fits, as the daemon prints them.
fn prefix_rule(matcher: &PrefixMatcher, path: &str) -> Result<(Family, String), RenderError> {
    let PrefixMatcher { prefix, ge, le } = matcher;
    let field = |name: &str| format!("{path}.matcher.prefix.{name}");
    let net: IpNet = parse(|| field("prefix"), prefix)?;
    let (net, family) = (net.trunc(), Family::of_net(net));
    let (length, most) = (net.prefix_len(), family.max_prefix_len());
    let shortest = ge.unwrap_or(length).max(length);
    let longest = le.unwrap_or(if ge.is_some() { most } else { length });
    if longest > most {
        return Err(RenderError::invalid(field("le"), format!("{family} prefixes have {most} bits at most")));
    }
    if shortest > longest {
        let message = format!("no prefix inside {net} is of {shortest} bits at least and of {longest} at most");
        return Err(RenderError::invalid(field("ge"), message));
    }
    Ok((
        family,
        match (shortest, longest) {
            (shortest, longest) if longest == length && shortest == length => net.to_string(),
            (shortest, longest) if shortest == length => format!("{net} le {longest}"),
            (shortest, longest) if longest == most => format!("{net} ge {shortest}"),
            (shortest, longest) => format!("{net} ge {shortest} le {longest}"),
        },
    ))
}

fn add(lines: &mut Lines, (map, number): (&str, u32), entry: &Entry<'_>) -> Result<(), RenderError> {
    let Action { kind, modify_route } = entry.action;
    let verdict = match kind {
        ActionKind::Accept | ActionKind::Next => "permit",
        ActionKind::Reject => "deny",
    };
    let head = format!("route-map {map} {verdict} {number}");
    lines.add(&[], &head);
    if let Some((family, rules)) = &entry.prefixes {
        let list = names::list(map, number);
        prefix_list(lines, &list, *family, rules);
        lines.add(&[&head], &match_list(*family, &list));
    }
    if let Some(CommunityMatcher { community, exact_match }) = entry.community {
        let field = || format!("{}.matcher.bgpCommunity.community", entry.path);
        let community = value::community(community).map_err(|why| RenderError::invalid(field(), why))?;
        let list = community_list(lines, &[community]);
        let exact = if *exact_match { " exact-match" } else { "" };
        lines.add(&[&head], &format!("match community {list}{exact}"));
    }
    match kind {
        // What is changed on a route that does not pass is seen by nobody.
        ActionKind::Reject => return Ok(()),
        ActionKind::Next => lines.add(&[&head], "on-match next"),
        ActionKind::Accept => {}
    }
    modify_route.as_ref().map_or(Ok(()), |modify| changes(lines, &head, modify, &entry.path))
}

fn changes(lines: &mut Lines, head: &str, modify: &ModifyRoute, path: &str) -> Result<(), RenderError> {
    let ModifyRoute { add_communities, additive_communities, remove_communities, remove_all_communities } = modify;
    let read = |name: &str, texts: &[netloom_api::fabric::text::Community]| -> Result<Vec<Community>, RenderError> {
        let field = |at| format!("{path}.action.modifyRoute.{name}[{at}]");
        let read = |(at, text): (usize, &netloom_api::fabric::text::Community)| {
            value::community(text).map_err(|why| RenderError::invalid(field(at), why))
        };
        let mut all = texts.iter().enumerate().map(read).collect::<Result<Vec<_>, _>>()?;
        all.sort_unstable();
        all.dedup();
        Ok(all)
    };
    let (gets, loses) = (read("addCommunities", add_communities)?, read("removeCommunities", remove_communities)?);
    if let Some(both) = gets.iter().find(|community| loses.contains(community)) {
        let message = format!("{both} is among addCommunities too; a route gets it or loses it");
        return Err(RenderError::conflict(format!("{path}.action.modifyRoute.removeCommunities"), message));
    }
    let forgets = *remove_all_communities == Some(true);
    let keeps = *additive_communities == Some(true) && !forgets;
    let texts: Vec<String> = gets.iter().map(ToString::to_string).collect();
    match (gets.is_empty(), keeps) {
        (true, _) if forgets => lines.add(&[head], "set community none"),
        (true, _) => {}
        (false, true) => lines.add(&[head], &format!("set community {} additive", texts.join(" "))),
        (false, false) => lines.add(&[head], &format!("set community {}", texts.join(" "))),
    }
    // Where all of them go, nothing is left to lose.
    if !loses.is_empty() && !forgets && (gets.is_empty() || keeps) {
        let list = community_list(lines, &loses);
        lines.add(&[head], &format!("set comm-list {list} delete"));
    }
    Ok(())
}

/// The line that looks into a list of prefixes.
pub(crate) fn match_list(family: Family, list: &str) -> String {
    match family {
        Family::Ipv4 => format!("match ip address prefix-list {list}"),
        Family::Ipv6 => format!("match ipv6 address prefix-list {list}"),
    }
}

/// Adds a list of prefixes.
pub(crate) fn prefix_list(lines: &mut Lines, name: &str, family: Family, rules: &[String]) {
    let word = match family {
        Family::Ipv4 => "ip",
        Family::Ipv6 => "ipv6",
    };
    for (rule, number) in digest::numbers(rules.iter().map(String::as_str), 1, u32::MAX) {
        lines.add(&[], &format!("{word} prefix-list {name} seq {number} permit {rule}"));
    }
}

/// Adds a list of communities, sorted; gives its name.
pub(crate) fn community_list(lines: &mut Lines, communities: &[Community]) -> String {
    let name = match communities {
        [one] => one.list(),
        several => {
            let texts: Vec<String> = several.iter().map(ToString::to_string).collect();
            format!("cl_{}", digest::short(&texts.join(" ")))
        }
    };
    for (number, community) in (1..).map(|n| n * 5).zip(communities) {
        lines.add(&[], &format!("bgp community-list standard {name} seq {number} permit {community}"));
    }
    name
}
