//! Lists of prefixes as filters of routes.

use netloom_api::{
    fabric::{
        text::Community,
        vrf_route_configuration::{PrefixAction, PrefixItem},
    },
    pipeline::node_network_config::{
        host::EntryOrigin,
        routing::{Action, ActionKind, Filter, FilterItem, Matcher, ModifyRoute, PrefixMatcher},
    },
};
use netloom_types::Family;

/// Lets nothing pass but what its items let through.
pub(super) fn closed(items: Vec<FilterItem>) -> Filter {
    Filter { items, default_action: action(ActionKind::Reject) }
}

/// Lets everything pass.
pub(super) fn open() -> Filter {
    Filter { items: Vec::new(), default_action: action(ActionKind::Accept) }
}

/// The items of a list in their order, each with the communities that it adds.
pub(super) fn items(
    list: &[PrefixItem],
    communities: &[Community],
    origin: impl Fn(usize) -> Option<EntryOrigin>,
) -> Vec<FilterItem> {
    let mut all: Vec<(u64, FilterItem)> =
        list.iter().enumerate().map(|(i, item)| (place(i, item), filter_item(item, communities, origin(i)))).collect();
    all.sort_by_key(|(place, _)| *place);
    all.into_iter().map(|(_, item)| item).collect()
}

/// Adds items that are not there yet: one that says the same twice says no more.
pub(super) fn add(filter: &mut Filter, items: Vec<FilterItem>) {
    for item in items {
        let same = |known: &FilterItem| (&known.matcher, &known.action) == (&item.matcher, &item.action);
        if !filter.items.iter().any(same) {
            filter.items.push(item);
        }
    }
}

/// The items of a list that are about one family, for a session.
pub(super) fn of_family(list: &[PrefixItem], family: Family, origin: impl Fn(usize) -> Option<EntryOrigin>) -> Filter {
    let mut filter = closed(items(list, &[], origin));
    let is_of = |prefix: &str| prefix.contains(':') == (family == Family::Ipv6);
    filter.items.retain(|item| item.matcher.prefix.as_ref().is_some_and(|prefix| is_of(&prefix.prefix)));
    filter
}

/// Where an item stands: what it says, else its own place counted from 1.
fn place(index: usize, item: &PrefixItem) -> u64 {
    item.seq.filter(|seq| *seq > 0).map_or(index as u64 + 1, u64::from)
}

fn filter_item(item: &PrefixItem, communities: &[Community], origin: Option<EntryOrigin>) -> FilterItem {
    let kind = match item.action {
        PrefixAction::Permit => ActionKind::Accept,
        PrefixAction::Deny => ActionKind::Reject,
    };
    let modify_route = (!communities.is_empty()).then(|| ModifyRoute {
        add_communities: communities.to_vec(),
        additive_communities: Some(true),
        ..ModifyRoute::default()
    });
    let prefix = PrefixMatcher { prefix: item.cidr.clone(), ge: item.ge, le: item.le };
    FilterItem {
        matcher: Matcher { prefix: Some(prefix), bgp_community: None },
        action: Action { kind, modify_route },
        origin,
    }
}

fn action(kind: ActionKind) -> Action {
    Action { kind, modify_route: None }
}
