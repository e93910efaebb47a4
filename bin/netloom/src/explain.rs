//! From a thing on the host back to who asked for it. Pure: an observation and a record in, an
//! explanation out.

mod routing;

use std::net::IpAddr;

use netloom_model::{
    Address, BRIDGE_IPTABLES, Claim, ClaimKey, KernelFeatures, Link, Observed, Origin, Ownership, Previous, Route,
    RouteMetrics, Setting, SettingKey,
};
use netloom_types::{Family, IfName, IpNet, Protocol, RouteTable};
use serde_json::{Value as Json, json};

use crate::{overview::maker, text::push};

/// What is known of one thing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Explanation {
    /// The thing, as the kernel has it.
    what: String,
    /// What the kernel itself says about who made it.
    mark: String,
    /// Everything that somebody asked for about it.
    asked: Vec<Asked>,
}

/// One property that somebody asked for.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    object: String,
    by: Vec<String>,
    before: String,
}

/// Explains a link, a further name, an address, a route destination, a rule, a line of the routing daemons, or the setting of
/// all bridges. Empty when there is no such thing.
pub(crate) fn explain(name: &str, observed: &Observed, owned: &Ownership) -> Vec<Explanation> {
    if let Some(link) = find_link(name, observed) {
        return [link_explained(link, owned)].into_iter().chain(routing::of_vrf(link, owned)).collect();
    }
    if let Some(rule) = name.strip_prefix("rule ") {
        return routing::rules(observed, owned, |key| {
            key.priority.to_string() == rule.trim() || key.to_string().starts_with(rule.trim())
        });
    }
    let lines = routing::lines(name, owned);
    if !lines.is_empty() {
        return lines;
    }
    if name == "default" {
        let is_default = |net: &IpNet| net.prefix_len() == 0;
        return routes_explained(observed, owned, is_default);
    }
    if name == BRIDGE_IPTABLES {
        return observed.settings.bridge_iptables().map(|seen| bridges_explained(seen, owned)).into_iter().collect();
    }
    let (ip, len) = match (name.parse::<IpNet>(), name.parse::<IpAddr>()) {
        (Ok(net), _) => (net.addr(), Some(net.prefix_len())),
        (_, Ok(ip)) => (ip, None),
        (Err(_), Err(_)) => return Vec::new(),
    };
    let mut found = addresses_explained(ip, len, observed, owned);
    let exact = IpNet::new(ip, len.unwrap_or(Family::of(ip).max_prefix_len())).ok();
    found.extend(routes_explained(observed, owned, |net| Some(*net) == exact));
    found.extend(routing::rules(observed, owned, |key| exact.is_some() && (key.from == exact || key.to == exact)));
    if found.is_empty() && len.is_none() {
        found.extend(way_to(ip, observed, owned));
    }
    found
}

fn find_link<'a>(name: &str, observed: &'a Observed) -> Option<&'a Link> {
    let by_name = name.parse::<IfName>().ok().and_then(|name| observed.links.get(&name));
    by_name.or_else(|| observed.links.values().find(|link| link.alt_names.iter().any(|alt| alt.as_str() == name)))
}

fn link_explained(link: &Link, owned: &Ownership) -> Explanation {
    let what = format!("link {} ({}), {}", link.name, link.kind, if link.up { "up" } else { "down" });
    let asked: Vec<Asked> = owned.of_link(link.name).map(|(key, claim)| asked(key, claim)).collect();
    let mark = match link.alias.as_ref().map(|alias| (alias.as_str(), alias.is_ours())) {
        Some((alias, true)) if asked.is_empty() => {
            format!("made by netloom, alias {alias:?}; the record in the state folder does not know it")
        }
        Some((alias, true)) => format!("made by netloom, alias {alias:?}"),
        Some((alias, false)) => format!("not made by netloom, alias {alias:?}"),
        None if link.kind.is_virtual() => "not made by netloom, no alias".to_owned(),
        None => "not made by netloom (a link of this type never is), no alias".to_owned(),
    };
    Explanation { what, mark, asked }
}

fn addresses_explained(ip: IpAddr, len: Option<u8>, observed: &Observed, owned: &Ownership) -> Vec<Explanation> {
    let mut found = Vec::new();
    for link in observed.links.values() {
        let same = |a: &&netloom_model::Address| a.ip == ip && len.is_none_or(|len| len == a.prefix_len);
        for address in link.addresses.iter().filter(same) {
            found.push(Explanation {
                what: format!("address {address} on {}", link.name),
                mark: address_mark(observed.kernel, address, owned.made_address(observed.kernel, link.name, address)),
                asked: claimed(&ClaimKey::Address(link.name, ip), owned),
            });
        }
    }
    found
}

fn bridges_explained(seen: bool, owned: &Ownership) -> Explanation {
    let key = ClaimKey::Setting(SettingKey::BridgeIptables);
    let what =
        if seen { "1: iptables sees the frames of bridges" } else { "0: iptables does not see the frames of bridges" };
    let mark = "a setting, which carries no mark".to_owned();
    Explanation { what: format!("{key} {what}"), mark, asked: claimed(&key, owned) }
}

fn claimed(key: &ClaimKey, owned: &Ownership) -> Vec<Asked> {
    owned.claims.get(key).map(|claim| asked(key, claim)).into_iter().collect()
}

/// Address protocols have numbers of their own.
fn address_mark(kernel: KernelFeatures, address: &Address, ours: bool) -> String {
    if !kernel.address_protocol {
        let by = if ours { "put there by netloom, by its record" } else { "not by netloom, by its record" };
        return format!("{by}; this kernel keeps no protocol numbers of addresses");
    }
    match address.protocol {
        Protocol::NETLOOM => "put there by netloom (address protocol 112)".to_owned(),
        Protocol::UNSPEC => "not by netloom; its maker left no protocol number".to_owned(),
        Protocol::ADDRESS_KERNEL_LO | Protocol::ADDRESS_KERNEL_LL => "put there by the kernel itself".to_owned(),
        Protocol::ADDRESS_KERNEL_RA => "made from a router advertisement".to_owned(),
        Protocol(number) => format!("not by netloom; address protocol {number}"),
    }
}

fn routes_explained(observed: &Observed, owned: &Ownership, wanted: impl Fn(&IpNet) -> bool) -> Vec<Explanation> {
    let all = observed.routes.values().chain(&observed.derived_routes);
    all.filter(|route| wanted(&route.destination)).map(|route| route_explained(route, observed, owned)).collect()
}

fn route_explained(route: &Route, observed: &Observed, owned: &Ownership) -> Explanation {
    let mark = if route.protocol == Protocol::NETLOOM {
        "put there by netloom (route protocol 112)".to_owned()
    } else {
        format!("not by netloom; made by {}", maker(route.protocol))
    };
    let RouteMetrics { mtu, .. } = route.metrics;
    let mtu = if mtu > 0 { format!(" mtu {mtu}") } else { String::new() };
    let mut asked = claimed(&ClaimKey::Route(route.key()), owned);
    if asked.is_empty() && route.protocol != Protocol::KERNEL {
        asked = routing::behind(route, observed, owned);
    }
    Explanation { what: format!("route {route}{mtu}"), mark, asked }
}

/// The route in the main table that a packet to `ip` takes.
fn way_to(ip: IpAddr, observed: &Observed, owned: &Ownership) -> Option<Explanation> {
    let all = observed.routes.values().chain(&observed.derived_routes);
    let fitting = all.filter(|route| route.table == RouteTable::MAIN && route.destination.contains(&ip));
    let best = fitting.max_by_key(|route| (route.destination.prefix_len(), std::cmp::Reverse(route.metric)))?;
    let mut explained = route_explained(best, observed, owned);
    explained.what = format!("{ip} is not on this host; the main table leads there by {}", explained.what);
    Some(explained)
}

fn asked(key: &ClaimKey, claim: &Claim) -> Asked {
    Asked {
        object: key.to_string(),
        by: claim.origins.iter().map(|(owner, origin)| by(owner, origin)).collect(),
        before: previous(key, &claim.before),
    }
}

/// A place in a document, and for whom it was asked when that is not the document itself.
fn by(owner: &str, origin: &Origin) -> String {
    if *owner == *origin.source.owner() { origin.to_string() } else { format!("{owner}, in {origin}") }
}

/// The value that something had before.
fn previous(key: &ClaimKey, before: &Previous) -> String {
    let list = |items: Vec<String>| if items.is_empty() { "none".to_owned() } else { items.join(", ") };
    match before {
        Previous::Absent => "not there".to_owned(),
        Previous::Present | Previous::Fdb(_) => "there already".to_owned(),
        Previous::Up(up) => if *up { "up" } else { "down" }.to_owned(),
        Previous::Controller(controller) => controller.map_or_else(|| "none".to_owned(), |name| name.to_string()),
        Previous::Attr(value) => match key {
            ClaimKey::Attr(_, attr) => value.display(*attr),
            _ => format!("{value:?}"),
        },
        Previous::Alias(alias) => format!("{:?}", alias.as_str()),
        Previous::Addresses(addresses) => list(addresses.iter().map(ToString::to_string).collect()),
        Previous::Vlans(vlans) => {
            if vlans.is_empty() {
                "none".to_owned()
            } else {
                vlans.all().to_string()
            }
        }
        Previous::Neighbours(all) => list(all.iter().map(|one| format!("{} at {}", one.ip, one.mac)).collect()),
        Previous::Mirror(mirror) => format!("to {}", mirror.to),
        Previous::Feature(on) => if *on { "on" } else { "off" }.to_owned(),
        Previous::Route(route) => route.to_string(),
        Previous::Rule(protocol) => format!("there already, made by {}", maker(*protocol)),
        Previous::Setting(Setting::Resolver(resolver)) => list(resolver.servers.clone()),
        Previous::Setting(setting) => setting.value(),
    }
}

impl Explanation {
    /// For people.
    pub(crate) fn text(&self) -> String {
        let Self { what, mark, asked } = self;
        let mut text = format!("{what}\n  in the kernel: {mark}\n");
        if asked.is_empty() {
            text += "  nobody asked for it through netloom\n";
        }
        for Asked { object, by, before } in asked {
            push(&mut text, format_args!("  {object}: asked for by {}; before: {before}\n", by.join(", ")));
        }
        text
    }

    /// For programs.
    pub(crate) fn json(&self) -> Json {
        let Self { what, mark, asked } = self;
        let asked: Vec<Json> = asked
            .iter()
            .map(|Asked { object, by, before }| json!({ "object": object, "asked-by": by, "before": before }))
            .collect();
        json!({ "what": what, "kernel": mark, "asked": asked })
    }
}

#[cfg(test)]
mod tests {
    use netloom_model::{Address, Alias, Attr, Host, LinkKind, NextHop, RouteType, Value};

    use super::*;

    fn name(text: &str) -> IfName {
        text.parse().unwrap()
    }

    fn host() -> (Observed, Ownership) {
        let mut ours = Link::new(name("eth0.5"), LinkKind::Vlan);
        ours.up = true;
        ours.alias = Some(Alias::ours([&"site.yaml".into()], None));
        ours.addresses.push(Address::new("192.0.2.1".parse().unwrap(), 24, Protocol::NETLOOM));
        let mut card = Link::new(name("eth0"), LinkKind::Ethernet);
        card.alt_names.insert("enp1s0".parse().unwrap());
        let route = |to: &str, protocol| Route {
            table: RouteTable::MAIN,
            destination: to.parse().unwrap(),
            metric: 0,
            kind: RouteType::Unicast,
            next_hops: vec![NextHop { via: None, link: Some(name("eth0")), weight: 1, onlink: false }],
            source: None,
            protocol,
            metrics: RouteMetrics::default(),
            extra: netloom_model::RouteExtra::default(),
        };
        let routes = [route("198.51.100.0/24", Protocol::NETLOOM), route("0.0.0.0/0", Protocol::DHCP)];
        let claim = |before| Claim {
            origins: [("site.yaml".into(), Origin::new("site.yaml", "interfaces[0]", 4))].into(),
            before,
            ours: Previous::Present,
        };
        let owned = Ownership {
            claims: [
                (ClaimKey::Link(name("eth0.5")), claim(Previous::Absent)),
                (ClaimKey::Addresses(name("eth0.5"), Family::Ipv4), claim(Previous::Addresses(vec![]))),
                (ClaimKey::Attr(name("eth0"), Attr::Mtu), claim(Previous::Attr(Value::Int(1500)))),
                (ClaimKey::Route(routes[0].key()), claim(Previous::Absent)),
                (
                    ClaimKey::Setting(SettingKey::BridgeIptables),
                    claim(Previous::Setting(Setting::BridgeIptables(true))),
                ),
            ]
            .into(),
        };
        let host = Host {
            links: [(ours.name, ours), (card.name, card)].into(),
            routes: routes.into_iter().map(|route| (route.key(), route)).collect(),
            settings: [Setting::BridgeIptables(false)].into_iter().collect(),
            ..Host::default()
        };
        (Observed { host, ..Observed::default() }, owned)
    }

    fn text(name: &str) -> String {
        let (observed, owned) = host();
        explain(name, &observed, &owned).iter().map(Explanation::text).collect()
    }

    #[test]
    fn a_link_of_ours_names_its_document_and_line() {
        assert_eq!(
            text("eth0.5"),
            "link eth0.5 (vlan), up\n  in the kernel: made by netloom, alias \"netloom site.yaml\"\n  \
             link eth0.5: asked for by site.yaml:4 (interfaces[0]); before: not there\n  \
             ipv4 addresses of link eth0.5: asked for by site.yaml:4 (interfaces[0]); before: none\n"
        );
    }

    #[test]
    fn an_adopted_link_is_found_by_a_further_name_and_tells_the_old_value() {
        assert!(
            text("enp1s0").contains("mtu of link eth0: asked for by site.yaml:4 (interfaces[0]); before: 1500"),
            "{}",
            text("enp1s0")
        );
    }

    #[test]
    fn addresses_and_routes_are_found_by_value() {
        assert!(text("192.0.2.1").starts_with("address 192.0.2.1/24 on eth0.5\n"));
        assert!(text("192.0.2.1/24").starts_with("address 192.0.2.1/24 on eth0.5\n"));
        assert!(text("198.51.100.0/24").contains("put there by netloom (route protocol 112)"));
        assert!(text("default").contains("not by netloom; made by DHCP\n  nobody asked for it through netloom"));
    }

    #[test]
    fn the_setting_of_all_bridges_tells_who_asked_and_what_it_was() {
        let name = "net.bridge.bridge-nf-call-iptables";
        let asked = format!("{name}: asked for by site.yaml:4 (interfaces[0]); before: 1");
        assert!(text(name).starts_with(&format!("{name} 0: ")), "{}", text(name));
        assert!(text(name).contains(&asked), "{}", text(name));
    }

    #[test]
    fn an_address_elsewhere_tells_the_way_there() {
        assert!(
            text("198.51.100.7").contains("leads there by route 198.51.100.0/24 dev eth0"),
            "{}",
            text("198.51.100.7")
        );
        assert_eq!(text("no-such-link"), "");
    }
}
