//! The table of `state show`: one line for each link, and one for each route. Pure.

use std::collections::BTreeSet;

use netloom_model::{Attr, Link, LinkFacts, Observed, Route, RouteType};
use netloom_types::{IfName, Protocol, RouteTable};

use crate::text::table;

/// The links in `names` and the routes over them.
pub(crate) fn overview(observed: &Observed, names: &BTreeSet<IfName>) -> String {
    let links = observed.links.values().filter(|link| names.contains(&link.name));
    let mut rows = vec![heading(&["LINK", "TYPE", "STATE", "MTU", "CONTROLLER", "ADDRESSES", "MADE BY"])];
    rows.extend(links.map(|link| link_row(link, observed.facts.get(&link.name))));
    let mut text = table(&rows);
    let whole = names.len() == observed.links.len();
    let shown =
        |route: &&Route| whole || route.next_hops.iter().any(|hop| hop.link.is_some_and(|l| names.contains(&l)));
    let mut rows = vec![heading(&["ROUTE", "VIA", "LINK", "TABLE", "METRIC", "MADE BY"])];
    rows.extend(observed.routes.values().filter(shown).flat_map(route_rows));
    if rows.len() > 1 {
        text.push('\n');
        text += &table(&rows);
    }
    text
}

fn heading(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn or_dash(text: Option<String>) -> String {
    text.filter(|text| !text.is_empty()).unwrap_or_else(|| "-".to_owned())
}

fn link_row(link: &Link, facts: Option<&LinkFacts>) -> Vec<String> {
    let carrier = facts.is_none_or(|facts| facts.carrier);
    let state = match (link.up, carrier) {
        (true, true) => "up",
        (true, false) => "up, no carrier",
        (false, _) => "down",
    };
    let addresses: Vec<String> = link.addresses.iter().map(ToString::to_string).collect();
    vec![
        link.name.to_string(),
        link.kind.to_string(),
        state.to_owned(),
        or_dash(link.attrs.int(Attr::Mtu).map(|mtu| mtu.to_string())),
        or_dash(link.controller.map(|name| name.to_string())),
        or_dash(Some(addresses.join(" "))),
        or_dash(link.alias.as_ref().and_then(|alias| alias.source()).map(str::to_owned)),
    ]
}

fn route_rows(route: &Route) -> Vec<Vec<String>> {
    let word = match route.kind {
        RouteType::Unicast => "",
        RouteType::Blackhole => "blackhole ",
        RouteType::Unreachable => "unreachable ",
        RouteType::Prohibit => "prohibit ",
        RouteType::Throw => "throw ",
    };
    let row = |via: Option<String>, link: Option<IfName>| {
        vec![
            format!("{word}{}", route.destination),
            or_dash(via),
            or_dash(link.map(|name| name.to_string())),
            if route.table == RouteTable::MAIN { "main".to_owned() } else { route.table.to_string() },
            route.metric.to_string(),
            maker(route.protocol),
        ]
    };
    if route.next_hops.is_empty() {
        return vec![row(None, None)];
    }
    route.next_hops.iter().map(|hop| row(hop.via.map(|via| via.to_string()), hop.link)).collect()
}

/// Who a protocol number stands for.
pub(crate) fn maker(protocol: Protocol) -> String {
    match protocol {
        Protocol::NETLOOM => "netloom".to_owned(),
        Protocol::KERNEL => "the kernel".to_owned(),
        Protocol::BOOT => "hand (protocol boot)".to_owned(),
        Protocol::STATIC => "an administrator (protocol static)".to_owned(),
        Protocol::RA => "router advertisement".to_owned(),
        Protocol::DHCP => "DHCP".to_owned(),
        Protocol(number) => format!("protocol {number}"),
    }
}

#[cfg(test)]
mod tests {
    use netloom_model::{Address, Alias, Host, LinkKind, NextHop};

    use super::*;

    #[test]
    fn a_machine_fits_on_a_screen() {
        let name: IfName = "br0".parse().unwrap();
        let mut link = Link::new(name, LinkKind::Bridge);
        link.up = true;
        link.alias = Some(Alias::ours([&"site.yaml".into()], None));
        link.addresses.push(Address::new("192.0.2.1".parse().unwrap(), 24, Protocol::NETLOOM));
        let route = Route {
            table: RouteTable::MAIN,
            destination: "198.51.100.0/24".parse().unwrap(),
            metric: 0,
            kind: RouteType::Unicast,
            next_hops: vec![NextHop {
                via: Some("192.0.2.9".parse().unwrap()),
                link: Some(name),
                weight: 1,
                onlink: false,
            }],
            source: None,
            protocol: Protocol::NETLOOM,
            metrics: netloom_model::RouteMetrics::default(),
            extra: netloom_model::RouteExtra::default(),
        };
        let host = Host { links: [(name, link)].into(), routes: [(route.key(), route)].into(), ..Host::default() };
        let observed = Observed { host, ..Observed::default() };
        assert_eq!(
            overview(&observed, &[name].into()),
            "LINK  TYPE          STATE  MTU  CONTROLLER  ADDRESSES     MADE BY\n\
             br0   linux-bridge  up     -    -           192.0.2.1/24  site.yaml\n\n\
             ROUTE            VIA        LINK  TABLE  METRIC  MADE BY\n\
             198.51.100.0/24  192.0.2.9  br0   main   0       netloom\n"
        );
    }
}
