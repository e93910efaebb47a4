//! Reports of hosts of every size: they fit, say what they leave out, and change only with the host.

use std::collections::{BTreeMap, BTreeSet};

use ipnet::IpNet;
use netloom_model::{
    Address, Attr, FdbEntry, FdbKey, Link, LinkFacts, LinkKind, NextHop, Observed, Route, RouteExtra, RouteMetrics,
    RouteType, RuleAction, RuleKey, Value as AttrValue,
};
use netloom_nmstate::{Document, Heard, ReportOptions, report, unfold};
use netloom_types::{Family, IfName, Lifetime, MacAddr, Protocol, RouteTable};
use serde_json::{Value, json};

fn name(text: &str) -> IfName {
    text.parse().expect("a valid value")
}

fn put(observed: &mut Observed, link: Link) {
    let index = u32::try_from(observed.facts.len()).expect("a valid value") + 1;
    observed.facts.insert(link.name, LinkFacts { index, ..LinkFacts::default() });
    observed.host.links.insert(link.name, link);
}

fn link(text: &str, kind: LinkKind) -> Link {
    let mut link = Link { up: true, ..Link::new(name(text), kind) };
    link.attrs.set(Attr::Mac, AttrValue::Mac(MacAddr::new([2, 0, 0, 0, 0, 1])));
    link.attrs.set(Attr::Mtu, AttrValue::Int(9000));
    link
}

fn vlan(base: &str, id: u16, addresses: &[&str]) -> Link {
    let mut link = link(&format!("{base}.{id}"), LinkKind::Vlan);
    link.attrs.set(Attr::Base, AttrValue::Link(name(base)));
    link.attrs.set(Attr::VlanId, AttrValue::Int(id.into()));
    link.addresses =
        addresses.iter().map(|ip| Address::new(ip.parse().expect("a valid value"), 24, Protocol::NETLOOM)).collect();
    link
}

fn route(destination: IpNet, via: &str, over: &str) -> Route {
    let hop =
        NextHop { via: Some(via.parse().expect("a valid value")), link: Some(name(over)), weight: 1, onlink: false };
    Route {
        table: RouteTable::MAIN,
        destination,
        metric: 0,
        kind: RouteType::Unicast,
        next_hops: vec![hop],
        source: None,
        protocol: Protocol::NETLOOM,
        metrics: RouteMetrics::default(),
        extra: RouteExtra::default(),
    }
}

fn put_route(observed: &mut Observed, route: Route) {
    observed.host.routes.insert(route.key(), route);
}

/// Two cards in a bond, with `vlans` VLANs that have two addresses each, and `routes` routes over them.
fn host(vlans: u16, routes: u32) -> Observed {
    let mut observed = Observed::default();
    put(&mut observed, link("lo", LinkKind::Loopback));
    put(&mut observed, link("bond0", LinkKind::Bond));
    for card in ["eth0", "eth1"] {
        put(&mut observed, Link { controller: Some(name("bond0")), ..link(card, LinkKind::Ethernet) });
    }
    for id in 1..=vlans {
        let addresses = [format!("10.{}.{}.1", id / 250, id % 250), format!("fd00:0:0:{id:x}::1")];
        put(&mut observed, vlan("bond0", id, &addresses.each_ref().map(String::as_str)));
    }
    for number in 0..routes {
        let over = u16::try_from(number % 50 + 1).expect("a valid value");
        let destination = format!("100.{}.{}.0/24", 64 + number / 256, number % 256).parse().expect("a valid value");
        put_route(&mut observed, route(destination, &format!("10.0.{over}.9"), &format!("bond0.{over}")));
    }
    put_route(&mut observed, route("0.0.0.0/0".parse().expect("a valid value"), "10.0.1.254", "bond0.1"));
    observed
}

fn reported(observed: &Observed) -> Value {
    report(observed, &BTreeMap::new(), &ReportOptions::default())
}

/// Every link that a reader of the report knows of.
fn names(report: &Value) -> BTreeSet<String> {
    let listed = report["interfaces"].as_array().expect("a valid value");
    listed
        .iter()
        .chain(&unfold(report))
        .map(|entry| entry["name"].as_str().expect("a valid value").to_owned())
        .collect()
}

/// How many lines of the indented text are in one report only.
fn differing_lines(one: &Value, other: &Value) -> usize {
    let lines = |value: &Value| {
        let text = serde_json::to_string_pretty(value).expect("a valid value");
        let mut lines: Vec<String> = text.lines().map(|line| line.trim_end_matches(',').to_owned()).collect();
        lines.sort();
        lines
    };
    let (one, other) = (lines(one), lines(other));
    let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
    for line in &one {
        *counts.entry(line).or_default() += 1;
    }
    for line in &other {
        *counts.entry(line).or_default() -= 1;
    }
    counts.values().map(|count| usize::try_from(count.abs()).expect("a valid value")).sum()
}

#[test]
fn a_small_host_is_reported_as_it_is_shown() {
    let observed = host(3, 5);
    let reported = reported(&observed);
    assert_eq!(reported.get("summary"), None);
    let shown: Value = serde_json::from_str(&Document::show(&observed, &[]).to_json()).unwrap();
    assert_eq!(reported["routes"]["config"], shown["routes"]["config"]);
    assert_eq!(reported["routes"]["running"], shown["routes"]["running"]);
    for (entry, shown) in reported["interfaces"].as_array().unwrap().iter().zip(shown["interfaces"].as_array().unwrap())
    {
        let mut entry = entry.clone();
        let further = ["adminStatus", "physAddress", "lowerLayerInterface", "higherLayerInterface", "madeBy"];
        entry.as_object_mut().unwrap().retain(|key, _| !further.contains(&key.as_str()));
        assert_eq!(entry, *shown);
    }
    assert_eq!(reported["interfaces"][2]["higherLayerInterface"], json!(null));
    assert_eq!(reported["interfaces"][1]["lowerLayerInterface"], "bond0");
    assert!(reported["capabilities"].as_array().unwrap().contains(&"vlan".into()));
}

#[test]
fn the_object_of_the_node_that_a_link_was_made_for_is_reported() {
    let state = "NodeNetworkState default/n1";
    let (both, other) = (format!("{state} and HostNetworkConfig h"), format!("{state} and somebody"));
    let config = Some("NodeNetworkConfig");
    let (typed, danm) = ("NodeNetworkState.nmstate.io default/n1", "ClusterNetwork.danm.k8s.io c");
    let of_old = [(state, Some(state)), ("VlanConfig v", config), (&both, config)];
    let table = [(typed, Some(state)), (danm, config), (&other, None), ("site.yaml", None)];
    for (source, reported_for) in of_old.into_iter().chain(table) {
        let mut observed = host(0, 0);
        let alias = Some(netloom_model::Alias::raw(&format!("netloom {source}")));
        put(&mut observed, Link { alias, ..link("spare", LinkKind::Dummy) });
        let reported = reported(&observed);
        let spare = reported["interfaces"].as_array().unwrap().iter().find(|entry| entry["name"] == "spare").unwrap();
        assert_eq!((&spare["madeBy"], spare["madeFor"].as_str()), (&json!("netloom"), reported_for), "{source}");
    }
}

#[test]
fn all_vlans_and_ten_thousand_routes_fit() {
    let observed = host(4094, 10_000);
    let reported = reported(&observed);
    let bytes = reported.to_string().len();
    assert!(bytes < 1024 * 1024, "{bytes} bytes");
    assert_eq!(names(&reported).len(), 4098, "no link is lost");
    let summary = &reported["summary"];
    assert_eq!((&summary["interfaces"]["total"], &summary["routes"]["total"]), (&json!(4098), &json!(10_001)));
    assert_eq!(summary["see-all"], "netloom state show");
    let groups = summary["routes"]["grouped"].as_array().unwrap();
    let count: u64 = groups.iter().map(|group| group["count"].as_u64().unwrap()).sum();
    assert_eq!(count, 10_000);
    assert_eq!(reported["routes"]["config"].as_array().map(Vec::len), Some(1), "the default route stays an entry");
    // Also the addresses are all there.
    let addressed = unfold(&reported).into_iter().filter(|entry| entry.pointer("/ipv6/address/0/ip").is_some()).count();
    assert_eq!(addressed, 4094);
}

#[test]
fn a_small_change_is_a_small_difference() {
    let before = host(4094, 2000);
    let first = reported(&before);
    assert_eq!(first.to_string(), reported(&before.clone()).to_string());
    let mut down = before.clone();
    down.host.links.get_mut(&name("bond0.77")).unwrap().up = false;
    let mut fewer = before.clone();
    fewer.host.routes.pop_last();
    for changed in [down, fewer] {
        let lines = differing_lines(&first, &reported(&changed));
        assert!((1..40).contains(&lines), "{lines} lines differ");
    }
}

#[test]
fn what_changes_by_itself_changes_no_report() {
    let mut before = host(3, 3);
    let derived = |number: u8, protocol| Route {
        protocol,
        ..route(format!("10.{number}.0.0/16").parse().unwrap(), "10.0.1.9", "bond0.1")
    };
    before.derived_routes = (0..20)
        .map(|n| derived(n, Protocol(186)))
        .chain([derived(30, Protocol::KERNEL), derived(31, Protocol::KERNEL)])
        .collect();
    for number in 0..9 {
        container(&mut before, number);
    }
    let first = reported(&before);
    assert_eq!(first["summary"]["interfaces"]["of-containers-at-least"], 8);
    assert_eq!(first["summary"]["routes"]["of-daemons"], json!([{"protocol": 186, "at-least": 16}]));
    assert!(names(&first).iter().all(|name| !name.starts_with("veth")));
    let mut after = before.clone();
    container(&mut after, 9);
    after.derived_routes.reverse();
    after.derived_routes.push(derived(40, Protocol(186)));
    for address in &mut after.host.links.get_mut(&name("bond0.1")).unwrap().addresses {
        (address.valid, address.preferred) = (Lifetime::Seconds(17), Lifetime::Seconds(3));
    }
    assert_eq!(first.to_string(), reported(&after).to_string());
}

/// A link of a container, with a route to it.
fn container(observed: &mut Observed, number: u8) {
    let text = format!("veth0a1b2c{number:02x}");
    put(observed, link(&text, LinkKind::Veth));
    observed.facts.get_mut(&name(&text)).expect("a valid value").elsewhere = true;
    put_route(observed, route(format!("10.200.0.{number}/32").parse().expect("a valid value"), "10.200.0.1", &text));
}

#[test]
fn links_that_are_wanted_are_reported_whatever_their_name() {
    let mut observed = host(0, 0);
    (0..3).for_each(|number| container(&mut observed, number));
    let wanted = [name("veth0a1b2c00"), name("veth0a1b2c01")];
    let heard = BTreeMap::from([(wanted[1], Heard { neighbours: Some(vec![json!([{"chassis-id": "s"}])]) })]);
    let options = ReportOptions { keep: BTreeSet::from([wanted[0]]), ..ReportOptions::default() };
    let reported = report(&observed, &heard, &options);
    assert!(wanted.iter().all(|name| names(&reported).contains(name.as_str())));
    assert!(!names(&reported).contains("veth0a1b2c02"));
    let listening = reported["interfaces"].as_array().unwrap().iter().find(|entry| entry["name"] == "veth0a1b2c01");
    assert_eq!(listening.unwrap()["lldp"], json!({"enabled": true, "neighbors": [[{"chassis-id": "s"}]]}));
}

/// A host on which nothing is like anything else.
fn monster() -> Observed {
    let mut observed = host(600, 0);
    for number in 0..1500u32 {
        let mut odd = link(&format!("x{number}y"), LinkKind::Dummy);
        odd.addresses = vec![Address::new((0x0a01_0000 + number).to_be_bytes().into(), 32, Protocol::STATIC)];
        put(&mut observed, odd);
    }
    let entry = FdbEntry { on_device: true, local: false, external: false };
    let key = |n: u32| FdbKey {
        mac: MacAddr::new([[2, 0].as_slice(), &n.to_be_bytes()].concat().try_into().expect("six bytes")),
        vlan: None,
        dst: None,
        vni: None,
    };
    observed.host.links.get_mut(&name("eth0")).expect("a valid value").fdb =
        (0..5000).map(|n| (key(n), entry)).collect();
    for number in 0..6000u32 {
        let destination = format!("100.{}.{}.0/24", number / 256, number % 256).parse().expect("a valid value");
        let via = format!("10.{}.{}.7", number / 256, number % 256);
        put_route(
            &mut observed,
            Route {
                table: RouteTable::try_from(number + 1000).expect("a valid value"),
                ..route(destination, &via, "eth0")
            },
        );
        let action = RuleAction::Table(RouteTable::try_from(number + 1000).expect("a valid value"));
        observed.host.rules.insert(RuleKey::new(Family::Ipv4, number, action), Protocol::STATIC);
    }
    observed
}

#[test]
fn whatever_a_host_has_it_fits_and_is_counted() {
    let observed = monster();
    let options = ReportOptions { max_bytes: 192 * 1024, ..ReportOptions::default() };
    let reported = report(&observed, &BTreeMap::new(), &options);
    let bytes = reported.to_string().len();
    assert!(bytes <= options.max_bytes, "{bytes} bytes");
    let summary = &reported["summary"];
    let links = &summary["interfaces"];
    let counted: u64 = links["only-counted"].as_array().unwrap().iter().map(|one| one["count"].as_u64().unwrap()).sum();
    assert!(counted > 0);
    assert_eq!(names(&reported).len() as u64 + counted, links["total"].as_u64().unwrap());
    for stays in ["eth0", "eth1", "bond0", "lo", "bond0.600"] {
        assert!(names(&reported).contains(stays), "{stays}");
    }
    assert_eq!(links["cut"][0]["cut"]["total"], 5000);
    assert_eq!(summary["routes"]["total"], 6001);
    assert_eq!(summary["rest"][0]["list"], "route-rules.config");
    assert_eq!(summary["rest"][0]["total"], 6000);
}
