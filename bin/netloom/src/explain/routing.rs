//! Rules, and what routing daemons are configured with: the record has every line of theirs with who asked for it.

use netloom_model::{Attr, ClaimKey, Link, LinkKind, Observed, Ownership, Route, RoutingLine, RuleKey};
use netloom_types::Protocol;

use super::{Asked, Explanation, asked, claimed};
use crate::overview::maker;

/// What is said of a line instead of a mark.
const NO_MARK: &str = "nothing: it is a line of the routing daemons, which keep no mark of who asked";

/// The rules that somebody looks for.
pub(super) fn rules(observed: &Observed, owned: &Ownership, wanted: impl Fn(&RuleKey) -> bool) -> Vec<Explanation> {
    let found = observed.rules.iter().filter(|(key, _)| wanted(key));
    let explained = |(key, protocol): (&RuleKey, &Protocol)| Explanation {
        what: format!("rule {key}"),
        mark: if *protocol == Protocol::NETLOOM {
            "put there by netloom (rule protocol 112)".to_owned()
        } else {
            format!("not by netloom; made by {}", maker(*protocol))
        },
        asked: claimed(&ClaimKey::Rule(Box::new(*key)), owned),
    };
    found.map(explained).collect()
}

/// The lines of a text, or of the block that it begins.
pub(super) fn lines(text: &str, owned: &Ownership) -> Vec<Explanation> {
    let is = |line: &RoutingLine| line.text() == text || line.block() == text || line.to_string() == text;
    let asked: Vec<Asked> = asked_for(owned, is);
    if asked.is_empty() {
        return Vec::new();
    }
    vec![Explanation { what: format!("\"{text}\" of the routing daemons"), mark: NO_MARK.to_owned(), asked }]
}

/// What routing daemons have of a VRF: the blocks that are about it.
pub(super) fn of_vrf(link: &Link, owned: &Ownership) -> Option<Explanation> {
    let name = link.name.as_str();
    let is_block = |line: &RoutingLine| {
        let text = line.text();
        let of =
            |start: &str| text.starts_with(start) && text.strip_suffix(name).is_some_and(|rest| rest.ends_with("vrf "));
        line.context().is_empty() && (of("vrf ") || of("router bgp "))
    };
    let asked = if link.kind == LinkKind::Vrf { asked_for(owned, is_block) } else { Vec::new() };
    (!asked.is_empty()).then(|| Explanation {
        what: format!("VRF {name} in the routing daemons; name a line, such as \"vrf {name}\", for all that is in it"),
        mark: NO_MARK.to_owned(),
        asked,
    })
}

/// Who asked for what a route of a routing daemon comes of: lines that name its destination, and the VRF that it is in.
pub(super) fn behind(route: &Route, observed: &Observed, owned: &Ownership) -> Vec<Asked> {
    let destination = route.destination.to_string();
    let mut asked = asked_for(owned, |line| line.text().split(' ').any(|word| word == destination));
    let table = Some(u64::from(route.table.get()));
    let vrf = observed.links.values().find(|link| link.attrs.int(Attr::VrfTable) == table);
    asked.extend(vrf.into_iter().flat_map(|vrf| claimed(&ClaimKey::Link(vrf.name), owned)));
    asked
}

/// The lines that somebody asked for.
fn asked_for(owned: &Ownership, wanted: impl Fn(&RoutingLine) -> bool) -> Vec<Asked> {
    let is_wanted = |key: &&ClaimKey| matches!(key, ClaimKey::Routing(line) if wanted(line));
    let found = owned.claims.iter().filter(|(key, _)| is_wanted(key));
    found.map(|(key, claim)| asked(key, claim)).collect()
}

#[cfg(test)]
mod tests {
    use netloom_model::{
        Claim, Host, NextHop, Origin, Previous, RouteExtra, RouteMetrics, RouteType, RuleAction, Value,
    };
    use netloom_types::{Family, RouteTable};

    use super::*;

    const TABLE: u32 = 1_000_010_100;

    fn host() -> (Observed, Ownership) {
        let claim = |owner: &str, path: &str| Claim {
            origins: [(owner.into(), Origin::new(owner, path, 0))].into(),
            before: Previous::Absent,
            ours: Previous::Present,
        };
        let mut vrf = Link::new("red".parse().unwrap(), LinkKind::Vrf);
        vrf.attrs.set(Attr::VrfTable, Value::Int(TABLE.into()));
        let table = RouteTable::try_from(TABLE).unwrap();
        let route = Route {
            table,
            destination: "203.0.113.0/24".parse().unwrap(),
            metric: 20,
            kind: RouteType::Unicast,
            next_hops: vec![NextHop { via: None, link: Some(vrf.name), weight: 1, onlink: false }],
            source: None,
            protocol: Protocol(186),
            metrics: RouteMetrics::default(),
            extra: RouteExtra::default(),
        };
        let rule =
            RuleKey { from: "10.4.0.0/24".parse().ok(), ..RuleKey::new(Family::Ipv4, 1000, RuleAction::Table(table)) };
        let line = |context: &[&str], text| RoutingLine::new(context.iter().copied(), text).unwrap();
        let owned = Ownership {
            claims: [
                (ClaimKey::Link(vrf.name), claim("VRF red", "spec.vrf")),
                (ClaimKey::Rule(Box::new(rule)), claim("Layer2Attachment both", "spec.destinations")),
                (ClaimKey::Routing(line(&[], "vrf red")), claim("VRF red", "spec.vrf")),
                (ClaimKey::Routing(line(&["vrf red"], "vni 10100")), claim("VRF red", "spec.vni")),
                (
                    ClaimKey::Routing(line(&[], "ip prefix-list p seq 5 permit 203.0.113.0/24 le 32")),
                    claim("Destination red", "spec.prefixes[0]"),
                ),
            ]
            .into(),
        };
        let host =
            Host { links: [(vrf.name, vrf)].into(), rules: [(rule, Protocol::NETLOOM)].into(), ..Host::default() };
        (Observed { host, derived_routes: vec![route], ..Observed::default() }, owned)
    }

    fn text(name: &str) -> String {
        let (observed, owned) = host();
        super::super::explain(name, &observed, &owned).iter().map(Explanation::text).collect()
    }

    #[test]
    fn a_vrf_a_rule_a_line_and_a_route_of_a_daemon_lead_to_an_object_and_a_field() {
        let vrf = text("red");
        assert!(vrf.contains("link red: asked for by VRF red (spec.vrf)"), "{vrf}");
        assert!(vrf.contains("line \"vrf red\" of the routing daemons: asked for by VRF red (spec.vrf)"), "{vrf}");
        for name in ["rule 1000", "rule 1000: from 10.4.0.0/24", "10.4.0.0/24"] {
            assert!(
                text(name).contains("asked for by Layer2Attachment both (spec.destinations)"),
                "{name}: {}",
                text(name)
            );
        }
        for name in ["vni 10100", "vrf red", "vrf red: vni 10100"] {
            assert!(text(name).contains("asked for by VRF red (spec.vni)"), "{name}: {}", text(name));
        }
        let route = text("203.0.113.0/24");
        assert!(route.contains("asked for by Destination red (spec.prefixes[0])"), "{route}");
        assert!(route.contains("link red: asked for by VRF red (spec.vrf)"), "{route}");
        assert_eq!(text("rule 7"), "");
        assert_eq!(text("vni 10200"), "");
    }
}
