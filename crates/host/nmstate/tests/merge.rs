//! The rules by which a document is laid over a host, one test for each.

mod bench;

use bench::{apply, document, host, resolve};
use netloom_model::{
    Attr, DesiredController, DesiredLink, HostSettings, HostState, Link, LinkKind, Observed, Presence, RouteType,
    RuleAction, Setting, SettingKey, Value, VlanMembership,
};
use netloom_nmstate::{ResolveOptions, parse};
use netloom_types::{IfName, Protocol, VlanId};

fn name(text: &str) -> IfName {
    text.parse().expect("a name")
}

fn desired<'a>(state: &'a HostState, link: &str) -> &'a DesiredLink {
    state.links.get(&name(link)).unwrap_or_else(|| panic!("no desired state of {link}: {:?}", state.links.keys()))
}

/// The host after some texts.
fn after(texts: &[&str]) -> Observed {
    let mut sim = host();
    for text in texts {
        apply(&mut sim, text);
    }
    sim.into_observed()
}

const BRIDGE: &str =
    "interfaces: [{name: br0, type: linux-bridge, bridge: {port: [{name: eth1, stp-path-cost: 50}, {name: eth2}]}}]";

#[test]
fn what_is_not_mentioned_is_not_touched() {
    let state = resolve(&after(&[]), "interfaces: [{name: eth0, mtu: 1400}]").state;
    assert_eq!(state.links.len(), 1);
    let eth0 = desired(&state, "eth0");
    assert_eq!(eth0.attrs.len(), 1);
    assert_eq!((eth0.up, eth0.controller, &eth0.ipv4.addresses), (None, DesiredController::Keep, &None));
    assert!(resolve(&after(&[]), "").state.links.is_empty());
}

#[test]
fn every_desired_state_knows_where_it_was_written() {
    let text = "interfaces:\n- name: eth0\n  ipv4:\n    address:\n    - ip: 10.0.0.1\n      prefix-length: 24\nroutes:\n  config:\n  - destination: 10.9.0.0/16\n    next-hop-interface: eth0\n";
    let state = resolve(&after(&[]), text).state;
    let eth0 = desired(&state, "eth0");
    assert_eq!(eth0.origin.to_string(), "test.yaml:2 (interfaces[0])");
    let address = &eth0.ipv4.addresses.as_ref().unwrap()[0];
    assert_eq!(address.origin.to_string(), "test.yaml:5 (interfaces[0].ipv4.address[0])");
    assert_eq!(state.routes[0].origin.to_string(), "test.yaml:9 (routes.config[0])");
}

#[test]
fn port_lists_replace_and_a_bare_name_keeps_the_ports_settings() {
    let observed = after(&[BRIDGE]);
    let state = resolve(&observed, "interfaces: [{name: br0, bridge: {port: [{name: eth1}, {name: eth3}]}}]").state;
    assert_eq!(desired(&state, "eth1").controller, DesiredController::Of(name("br0")));
    assert!(desired(&state, "eth1").attrs.is_empty());
    assert_eq!(desired(&state, "eth2").controller, DesiredController::Detached);
    assert_eq!(desired(&state, "eth3").controller, DesiredController::Of(name("br0")));

    let state = resolve(&observed, "interfaces: [{name: br0, mtu: 1400}]").state;
    assert_eq!(state.links.len(), 1, "an omitted list keeps the ports");

    let state = resolve(&observed, "interfaces: [{name: br0, bridge: {port: []}}]").state;
    assert_eq!(desired(&state, "eth1").controller, DesiredController::Detached);
    assert_eq!(desired(&state, "eth2").controller, DesiredController::Detached);

    let extra = "interfaces: [{name: br0, bridge: {allow-extra-ports: true, port: [{name: eth3}]}}]";
    assert!(!resolve(&observed, extra).state.links.contains_key(&name("eth2")));
}

#[test]
fn a_port_can_name_its_controller() {
    let state =
        resolve(&after(&[BRIDGE]), "interfaces: [{name: eth3, controller: br0}, {name: eth1, controller: ''}]").state;
    assert_eq!(desired(&state, "eth3").controller, DesiredController::Of(name("br0")));
    assert_eq!(desired(&state, "eth1").controller, DesiredController::Detached);
}

#[test]
fn a_link_that_becomes_a_port_loses_its_addresses_with_a_warning() {
    let observed = after(&["interfaces: [{name: eth1, ipv4: {address: [{ip: 10.0.0.1, prefix-length: 24}]}}]"]);
    let resolved = resolve(&observed, BRIDGE);
    assert_eq!(desired(&resolved.state, "eth1").ipv4.addresses, Some(vec![]));
    assert!(resolved.warnings.iter().any(|w| w.message.contains("eth1 loses its ipv4 addresses")));
}

#[test]
fn addresses_replace_in_order_and_keep_what_is_not_given_of_them() {
    let observed = after(&[
        "interfaces: [{name: eth0, ipv4: {address: [{ip: 10.0.0.1, prefix-length: 24, protocol: 4, valid-life-time: 300sec}]}}]",
    ]);
    let text = "interfaces: [{name: eth0, ipv4: {address: [{ip: 10.0.0.2, prefix-length: 24}, {ip: 10.0.0.1, prefix-length: 24}]}}]";
    let state = resolve(&observed, text).state;
    let list = desired(&state, "eth0").ipv4.addresses.as_ref().unwrap();
    let protocols: Vec<(String, Protocol)> = list.iter().map(|a| (a.address.to_string(), a.address.protocol)).collect();
    assert_eq!(protocols, [("10.0.0.2/24".into(), Protocol::NETLOOM), ("10.0.0.1/24".into(), Protocol(4))]);
    assert_eq!(list[1].address.valid, netloom_types::Lifetime::Seconds(300));
}

#[test]
fn disabled_means_nothing_of_the_family_is_left() {
    let text = "interfaces: [{name: eth0, ipv4: {enabled: false}, ipv6: {enabled: false, address: [{ip: 'fd00::1', prefix-length: 64}]}}]";
    let resolved = resolve(&after(&[]), text);
    let eth0 = desired(&resolved.state, "eth0");
    assert_eq!((eth0.ipv4.enabled, eth0.ipv6.enabled, &eth0.ipv6.addresses), (Some(false), Some(false), &None));
    assert_eq!(eth0.attrs.given(Attr::Ipv6Disabled), Some(&Value::Bool(true)));
    assert_eq!(resolved.warnings.len(), 1);
    let state =
        resolve(&after(&[]), "interfaces: [{name: eth0, ipv6: {address: [{ip: 'fd00::1', prefix-length: 64}]}}]").state;
    assert_eq!(desired(&state, "eth0").attrs.given(Attr::Ipv6Disabled), Some(&Value::Bool(false)));
}

#[test]
fn routes_are_added_and_only_absent_entries_take_away() {
    let observed = after(&[
        "{interfaces: [{name: eth0, ipv4: {address: [{ip: 10.0.0.1, prefix-length: 24}]}}], routes: {config: [{destination: 10.9.0.0/16, next-hop-interface: eth0, metric: 5}, {destination: 10.8.0.0/16, next-hop-interface: eth0, table-id: 70}]}}",
    ]);
    let state = resolve(&observed, "routes: {config: [{destination: 10.7.0.0/16, next-hop-interface: eth0}]}").state;
    assert_eq!((state.routes.len(), state.absent_routes.len()), (1, 0));
    let gone = |text: &str| {
        resolve(&observed, &format!("routes: {{config: [{{state: absent, {text}}}]}}")).state.absent_routes.len()
    };
    assert_eq!(gone("destination: 10.9.0.0/16, metric: 99"), 1, "the metric does not count");
    assert_eq!(gone("destination: '', next-hop-interface: eth0"), 2, "an empty destination is none");
    assert_eq!(gone("table-id: 70"), 1);
    assert_eq!(gone("table-id: 0"), 1, "0 is the main table");
    assert_eq!(gone("destination: 10.6.0.0/16"), 0);
    let both = "routes: {config: [{destination: 10.9.0.0/16, next-hop-interface: eth0, metric: 5, mtu: 1400}, {state: absent, destination: 10.9.0.0/16}]}";
    let state = resolve(&observed, both).state;
    assert_eq!((state.routes.len(), state.absent_routes.len()), (1, 1), "absent entries act first");
    let same = both.replace(", mtu: 1400", "");
    let state = resolve(&observed, &same).state;
    assert_eq!((state.routes.len(), state.absent_routes.len()), (1, 0), "what is asked for as it is stays");
}

#[test]
fn routes_are_normalised() {
    let observed = after(&[
        "interfaces: [{name: vrf1, type: vrf, vrf: {route-table-id: 10}}, {name: eth0, ipv4: {address: [{ip: 10.0.0.1, prefix-length: 24}]}}]",
    ]);
    let text = "routes: {config: [{destination: 10.9.8.7/16, next-hop-address: 10.0.0.9}, {destination: 192.0.2.1, next-hop-interface: eth0, vrf-name: vrf1}, {destination: 'fd00::/8', next-hop-interface: eth0, metric: -1}, {destination: 'fd01::/16', route-type: throw}, {state: ignore, destination: nonsense/1}]}";
    assert!(parse("x", text.as_bytes()).is_err(), "an ignored route must still be one");
    let resolved = resolve(&observed, &text.replace("nonsense/1", "10.1.1.1"));
    let routes: Vec<_> = resolved.state.routes.iter().map(|w| &w.route).collect();
    assert_eq!(routes[0].to_string(), "10.9.0.0/16 via 10.0.0.9 dev eth0");
    assert_eq!(routes[1].to_string(), "192.0.2.1/32 dev eth0 table 10");
    assert_eq!(routes[2].metric, 1024);
    assert_eq!(routes[3].kind, RouteType::Throw);
    assert_eq!(routes.len(), 4);
    assert_eq!(resolved.warnings.len(), 1);
}

#[test]
fn hops_with_weights_are_one_route() {
    let setup = "{interfaces: [{name: eth0, ipv4: {address: [{ip: 10.0.0.1, prefix-length: 24}]}}], routes: {config: [{destination: 10.9.0.0/16, next-hop-interface: eth0, next-hop-address: 10.0.0.2, weight: 1}, {destination: 10.9.0.0/16, next-hop-interface: eth0, next-hop-address: 10.0.0.3, weight: 2}]}}";
    let observed = after(&[setup]);
    assert_eq!(observed.routes.len(), 1);
    let third = "{destination: 10.9.0.0/16, next-hop-interface: eth0, next-hop-address: 10.0.0.4, weight: 3}";
    let state = resolve(&observed, &format!("routes: {{config: [{third}]}}")).state;
    assert_eq!(state.routes[0].route.next_hops.len(), 3, "entries are added");
    let state = resolve(&observed, "routes: {config: [{state: absent, next-hop-address: 10.0.0.3}]}").state;
    assert_eq!(state.routes[0].route.to_string(), "10.9.0.0/16 via 10.0.0.2 dev eth0");
    assert!(state.absent_routes.is_empty());
    let swap = format!("routes: {{config: [{{state: absent, next-hop-address: 10.0.0.3}}, {third}]}}");
    let state = resolve(&observed, &swap).state;
    assert_eq!(state.routes.len(), 1);
    assert_eq!(state.routes[0].route.next_hops.len(), 2);
}

#[test]
fn rules_get_numbers_that_are_free_in_both_families() {
    let observed = after(&[
        "route-rules: {config: [{ip-from: 10.0.0.0/8, route-table: 5}, {ip-from: 'fd00::/8', route-table: 5}]}",
    ]);
    let numbers: Vec<u32> = observed.rules.keys().map(|key| key.priority).collect();
    assert_eq!(numbers, [30_000, 30_001]);
    let text = "route-rules: {config: [{ip-to: 10.0.0.0/8, route-table: 5}, {ip-from: 10.0.0.0/8, route-table: 5}, {ip-to: 'fd00::/8', route-table: 0, priority: -1}]}";
    let state = resolve(&observed, text).state;
    let numbers: Vec<u32> = state.rules.iter().map(|w| w.rule.key.priority).collect();
    assert_eq!(numbers, [30_002, 30_000, 30_003]);
    assert!(matches!(state.rules[2].rule.key.action, RuleAction::Table(table) if table.get() == 254));
}

#[test]
fn absent_rules_are_patterns() {
    let observed = after(&[
        "route-rules: {config: [{ip-from: 10.0.0.0/8, route-table: 5}, {family: ipv4, iif: eth0, route-table: 5}, {ip-to: 'fd00::/8', route-table: 6}]}",
    ]);
    let gone = |text: &str| {
        resolve(&observed, &format!("route-rules: {{config: [{{state: absent, {text}}}]}}")).state.absent_rules.len()
    };
    assert_eq!(gone("route-table: 5"), 2);
    assert_eq!(gone("ip-from: ''"), 2, "rules without a source");
    assert_eq!(gone("ip-from: 10.0.0.0/8"), 1);
    assert_eq!(gone("family: ipv6"), 1);
    assert_eq!(gone("priority: 30001"), 1);
}

#[test]
fn the_resolver_is_replaced_as_a_whole() {
    let observed = after(&["dns-resolver: {config: {server: [192.0.2.1], search: [example.org]}}"]);
    let wanted = |text: &str| {
        let settings = resolve(&observed, text).state.settings.into_values().map(|wanted| wanted.setting);
        settings.collect::<HostSettings>()
    };
    let settings = wanted("dns-resolver: {config: {server: [192.0.2.2]}}");
    let resolver = settings.resolver();
    assert_eq!((resolver.servers.len(), resolver.search.len()), (1, 0));
    let state = resolve(&observed, "dns-resolver: {config: {}}").state;
    assert!(state.settings[&SettingKey::Resolver].setting.is_empty());
    let state = resolve(&observed, "dns-resolver: {running: {server: [192.0.2.9]}}").state;
    assert!(state.settings.is_empty());
    let state = resolve(&observed, "hostname: {config: node1}").state;
    let settings: Vec<_> = state.settings.into_values().map(|wanted| wanted.setting).collect();
    assert_eq!(settings, [Setting::HostnameConfig("node1".to_owned())]);
}

#[test]
fn a_type_may_be_omitted_and_a_kind_replaced() {
    let observed = after(&["interfaces: [{name: x, type: dummy}]"]);
    assert_eq!(
        desired(&resolve(&observed, "interfaces: [{name: x, type: unknown, state: unknown}]").state, "x").kind,
        LinkKind::Dummy
    );
    let replace =
        "interfaces: [{name: x, type: dummy, state: absent}, {name: x, type: vlan, vlan: {id: 5, base-iface: eth0}}]";
    let state = resolve(&observed, replace).state;
    assert_eq!((&desired(&state, "x").kind, desired(&state, "x").presence), (&LinkKind::Vlan, Presence::Present));
    let replaced = after(&["interfaces: [{name: x, type: dummy}]", replace]);
    assert_eq!(replaced.links[&name("x")].kind, LinkKind::Vlan);
    assert!(bench::steps(&replaced, &resolve(&replaced, replace).state).is_empty(), "the same document again");
}

#[test]
fn what_stands_on_an_absent_link_goes_and_its_ports_are_free() {
    let observed = after(&[
        BRIDGE,
        "interfaces: [{name: br0.5, type: vlan, vlan: {id: 5, base-iface: br0}}, {name: br0.5.6, type: vlan, vlan: {id: 6, base-iface: br0.5}}]",
    ]);
    let text = "interfaces: [{name: br0, state: absent, bridge: {port: {nonsense: 1}}}]";
    let state = resolve(&observed, text).state;
    for link in ["br0", "br0.5", "br0.5.6"] {
        assert_eq!(desired(&state, link).presence, Presence::Absent, "{link}");
    }
    assert_eq!(
        (desired(&state, "eth1").controller, desired(&state, "eth1").up),
        (DesiredController::Detached, Some(true))
    );
    assert!(resolve(&observed, "interfaces: [{name: never-there, state: absent}]").state.links.is_empty());
    let card = resolve(&observed, "interfaces: [{name: eth0, state: absent}]").state;
    assert_eq!((desired(&card, "eth0").presence, card.links.len()), (Presence::Absent, 1));
}

#[test]
fn a_child_may_move_away_from_a_base_that_goes() {
    let observed =
        after(&["interfaces: [{name: d0, type: dummy}, {name: v, type: vlan, vlan: {id: 5, base-iface: d0}}]"]);
    let state =
        resolve(&observed, "interfaces: [{name: d0, state: absent}, {name: v, vlan: {base-iface: eth0}}]").state;
    assert_eq!(desired(&state, "v").presence, Presence::Present);
}

#[test]
fn down_keeps_the_link_and_ignore_leaves_it_out() {
    let observed = after(&[BRIDGE]);
    let state = resolve(&observed, "interfaces: [{name: br0, state: down}]").state;
    assert_eq!((desired(&state, "br0").up, desired(&state, "br0").presence), (Some(false), Presence::Present));
    let text = "interfaces: [{name: br0, bridge: {port: [{name: eth1}]}}, {name: eth2, state: ignore, mtu: 99999}]";
    assert!(!resolve(&observed, text).state.links.contains_key(&name("eth2")), "an ignored port stays");
}

#[test]
fn a_link_can_be_named_by_its_address() {
    let text = "interfaces: [{name: wan, profile-name: uplink, type: ethernet, identifier: mac-address, mac-address: '02:00:00:00:00:02', mtu: 1400}, {name: w5, type: vlan, vlan: {id: 5, base-iface: wan}}, {name: w6, type: vlan, vlan: {id: 6, base-iface: uplink}}]";
    let state = resolve(&after(&[]), text).state;
    assert_eq!(desired(&state, "eth2").attrs.len(), 1, "the address says which link, not what to set");
    for child in ["w5", "w6"] {
        assert_eq!(desired(&state, child).attrs.link(Attr::Base), Some(name("eth2")));
    }
    let mut observed = after(&[]);
    observed.facts.get_mut(&name("eth3")).unwrap().pci_address = Some("0000:00:0A.0".to_owned());
    let state =
        resolve(&observed, "interfaces: [{name: x, identifier: pci-address, pci-address: '0000:00:0a.0', mtu: 1400}]")
            .state;
    assert_eq!(state.links.keys().copied().collect::<Vec<_>>(), [name("eth3")]);
}

#[test]
fn an_address_can_be_copied() {
    let state = resolve(&after(&[]), "interfaces: [{name: d0, type: dummy, copy-mac-from: eth1}]").state;
    assert_eq!(desired(&state, "d0").attrs.mac(Attr::Mac).unwrap().to_string(), "02:00:00:00:00:01");
}

#[test]
fn vlans_of_bridge_ports() {
    let vlan = |id: u16| VlanId::try_from(id).unwrap();
    let text = |vlan: &str| {
        format!("interfaces: [{{name: br0, type: linux-bridge, bridge: {{port: [{{name: eth1{vlan}}}]}}}}]")
    };
    let of = |observed: &Observed, text: &str| {
        let state = resolve(observed, text).state;
        let filtering = desired(&state, "br0").attrs.given(Attr::BridgeVlanFiltering).cloned();
        (desired(&state, "eth1").vlans.clone(), filtering)
    };
    let fresh = after(&[]);
    assert_eq!(of(&fresh, &text("")), (None, None));
    let access = (Some(VlanMembership::access(vlan(10))), Some(Value::Bool(true)));
    assert_eq!(of(&fresh, &text(", vlan: {mode: access, tag: 10}")), access);
    assert_eq!(of(&fresh, &text(", vlanMode: access, accessTag: 10")), access);
    let (trunk, _) = of(&fresh, &text(", vlan: {mode: trunk, trunk-tags: [{id: 7}, {id-range: {min: 20, max: 29}}]}"));
    let trunk = trunk.unwrap();
    assert_eq!((trunk.tagged.to_string(), trunk.untagged.is_empty(), trunk.pvid), ("7,20-29".to_owned(), true, None));
    let (native, _) = of(&fresh, &text(", vlan: {mode: trunk, enable-native: true, tag: 5, trunk-tags: [{id: 7}]}"));
    let native = native.unwrap();
    assert_eq!(
        (native.tagged.to_string(), native.untagged.to_string(), native.pvid),
        ("7".to_owned(), "5".to_owned(), Some(vlan(5)))
    );
    let tagged = after(&[&text(", vlan: {mode: access, tag: 10}")]);
    assert_eq!(of(&tagged, &text(", vlan: {}")), (Some(VlanMembership::access(vlan(1))), Some(Value::Bool(false))));
    let kept = "interfaces: [{name: br0, bridge: {options: {vlan-filtering: true}, port: [{name: eth1, vlan: {}}]}}]";
    assert_eq!(of(&tagged, kept).1, Some(Value::Bool(true)), "what is given wins");
}

#[test]
fn a_pair_is_desired_as_a_whole() {
    let state = resolve(&after(&[]), "interfaces: [{name: a, type: veth, veth: {peer: b}}, {name: c, type: veth, veth: {peer: d}}, {name: d, type: veth, state: down}]").state;
    assert_eq!(desired(&state, "b").attrs.link(Attr::VethPeer), Some(name("a")));
    assert_eq!(
        (desired(&state, "d").attrs.link(Attr::VethPeer), desired(&state, "d").up),
        (Some(name("c")), Some(false))
    );
}

#[test]
fn a_bond_that_follows_its_port_ignores_an_address() {
    let text = "interfaces: [{name: b, type: bond, mac-address: '02:00:00:00:00:77', link-aggregation: {mode: active-backup, options: {fail_over_mac: active}}}]";
    let resolved = resolve(&after(&[]), text);
    assert_eq!(desired(&resolved.state, "b").attrs.given(Attr::Mac), None);
    assert_eq!(resolved.warnings.len(), 1);
}

#[test]
fn kept_links_may_be_named_as_they_are() {
    let mut observed = after(&[BRIDGE]);
    let tap = name("tap0");
    let link = Link { up: true, controller: Some(name("br0")), ..Link::new(tap, LinkKind::Other("tun".into())) };
    observed.host.links.insert(tap, link);
    let state = resolve(
        &observed,
        "interfaces: [{name: tap0, type: tun, state: up, wait-ip: any, mptcp: {address-flags: []}}]",
    )
    .state;
    assert!(state.links.is_empty());
    let state = resolve(&observed, "interfaces: [{name: br0, bridge: {port: [{name: eth1}]}}]").state;
    assert_eq!(desired(&state, "tap0").controller, DesiredController::Detached, "its port role is the bridge's to say");
}

#[test]
fn options_say_whose_objects_are_made() {
    let text = "{interfaces: [{name: eth0, ipv4: {address: [{ip: 10.0.0.1, prefix-length: 24}]}}], routes: {config: [{destination: 10.9.0.0/16, next-hop-interface: eth0}]}, route-rules: {config: [{ip-from: 10.0.0.0/8}]}}";
    let options =
        ResolveOptions { protocol: Protocol::STATIC, whole_of: Some("site".into()), ..ResolveOptions::default() };
    let state = document(text).resolve(&after(&[]), &options).unwrap().state;
    assert_eq!(desired(&state, "eth0").ipv4.addresses.as_ref().unwrap()[0].address.protocol, Protocol::STATIC);
    assert_eq!((state.routes[0].route.protocol, state.rules[0].rule.protocol), (Protocol::STATIC, Protocol::STATIC));
    assert_eq!(state.whole_of.as_deref(), Some("site"));
}

#[test]
fn both_spellings_mean_the_same() {
    let old = "interfaces: [{name: v, type: vlan, macAddress: '02:00:00:00:00:77', vlanID: '5', vlanbase: eth0, flowControl: 'true', ipv4: {enabled: 1, neighbors: [{ip: 10.0.0.9, linkLayerAddress: '02:00:00:00:00:09'}]}, ipv6: {enabled: yes, autoConf: 0, dupAddressDetectTransmit: 2}}, {name: b, type: bond, linkaggregation: {mode: 4, slaves: [eth1]}}]";
    let new = "interfaces: [{name: v, type: vlan, mac-address: '02:00:00:00:00:77', vlan: {id: 5, base-iface: eth0}, ethtool: {pause: {rx: true, tx: true}}, ipv4: {enabled: true, neighbors: [{ip: 10.0.0.9, link-layer-address: '02:00:00:00:00:09'}]}, ipv6: {enabled: true, autoconf: false, dup-address-detect-transmit: 2}}, {name: b, type: bond, link-aggregation: {mode: 802.3ad, port: [eth1]}}]";
    assert_eq!(document(old), document(new));
    let json = document(new).to_json();
    assert_eq!(document(&json), document(new));
}

#[test]
fn what_only_reports_say_changes_nothing() {
    let text = "{capabilities: [x], routes: {running: [{destination: 10.0.0.0/8, next-hop-interface: nowhere}]}, interfaces: [{name: eth0, ifIndex: 7, adminStatus: up, linkStatus: up, min-mtu: 68, max-mtu: 9000, permanent-mac-address: '02:00:00:00:00:99', driver: x, statistics: {inOctets: 5}, lldp: {enabled: false, neighbors: [[]]}}]}";
    let state = resolve(&after(&[]), text).state;
    assert!(state.routes.is_empty());
    assert!(desired(&state, "eth0").attrs.is_empty());
}

#[test]
fn names_select_what_is_shown() {
    let observed = after(&[
        BRIDGE,
        "{hostname: {running: h}, interfaces: [{name: eth0, ipv4: {address: [{ip: 10.0.0.1, prefix-length: 24}]}}], routes: {config: [{destination: 10.9.0.0/16, next-hop-interface: eth0}]}}",
    ]);
    let shown = netloom_nmstate::Document::show(&observed, &["eth[0]".to_owned(), "br*".to_owned()]).to_yaml();
    assert!(shown.starts_with("interfaces:\n- name: br0\n"), "{shown}");
    assert_eq!(shown.matches("- name: eth").count(), 2, "only the bridge's ports: {shown}");
    let shown = netloom_nmstate::Document::show(&observed, &["eth?".to_owned()]).to_yaml();
    assert!(shown.contains("10.9.0.0/16") && !shown.contains("hostname"), "{shown}");
}

#[test]
fn what_is_given_of_a_lease_is_used_or_reported_to_be_ignored() {
    let observed = after(&[]);
    let text = "interfaces: [{name: eth0, ipv4: {enabled: true, dhcp: true, auto-dns: false}}]";
    let dhcp = desired(&resolve(&observed, text).state, "eth0").ipv4.dhcp.clone().unwrap();
    assert_eq!((dhcp.enabled, dhcp.auto_dns), (true, Some(false)));
    for (path, text) in [
        ("interfaces[0].ipv6.auto-dns", "{name: eth0, ipv6: {enabled: true, autoconf: true, auto-dns: false}}"),
        ("interfaces[0].ipv4", "{name: eth0, ipv4: {enabled: false, auto-dns: false}}"),
        ("interfaces[0].ipv4", "{name: eth0, ipv4: {enabled: false, neighbors: []}}"),
    ] {
        let warnings = resolve(&observed, &format!("interfaces: [{text}]")).warnings;
        assert_eq!(warnings.iter().map(|w| &*w.path).collect::<Vec<_>>(), [path], "{text}");
        assert!(warnings[0].message.contains("ignored"), "{}", warnings[0].message);
    }
}

#[test]
fn a_vlan_that_its_filtering_bridge_does_not_have_is_reported() {
    let bridge = "{name: br0, type: linux-bridge, bridge: {options: {vlan-filtering: true}";
    let vlan = "{name: br0.10, type: vlan, vlan: {base-iface: br0, id: 10}}";
    let warned = |observed: &Observed, text: &str| {
        let warnings = resolve(observed, &format!("interfaces: [{text}]")).warnings;
        warnings.iter().map(|w| w.path.clone()).collect::<Vec<_>>()
    };
    let nothing = after(&[]);
    assert_eq!(warned(&nothing, &format!("{bridge}}}}}, {vlan}")), ["interfaces[1].vlan.id"]);
    let own = format!("{bridge}, vlans: [{{id: 10}}]}}}}");
    assert!(warned(&nothing, &format!("{own}, {vlan}")).is_empty());
    let plain = "{name: br0, type: linux-bridge}";
    assert!(warned(&nothing, &format!("{plain}, {vlan}")).is_empty());
    let there = after(&[&format!("interfaces: [{own}, {vlan}]")]);
    assert!(warned(&there, vlan).is_empty());
    assert_eq!(warned(&there, "{name: br0, bridge: {vlans: [{id: 20}]}}"), ["interfaces[0].bridge.vlans"]);
    assert!(warned(&there, "{name: eth0, mtu: 1400}").is_empty());
}

#[test]
fn defaults_of_options_that_the_bonds_mode_lacks_are_not_sent() {
    let text = "interfaces: [{name: b, type: bond, link-aggregation: {mode: 802.3ad, options: {arp_missed_max: 2}, ports-config: [{name: eth1, priority: 0}]}}]";
    let state = resolve(&after(&[]), text).state;
    assert_eq!(desired(&state, "b").attrs.given(Attr::BondArpMissedMax), None);
    assert_eq!(desired(&state, "eth1").attrs.given(Attr::BondPortPriority), None);
}

#[test]
fn children_of_many_links_go_with_them() {
    let pairs = (0..50).map(|i| {
        format!("{{name: d{i}, type: dummy}}, {{name: d{i}.7, type: vlan, vlan: {{base-iface: d{i}, id: 7}}}}")
    });
    let observed = after(&[&format!("interfaces: [{}]", pairs.collect::<Vec<_>>().join(", "))]);
    let gone: Vec<_> = (0..50).map(|i| format!("{{name: d{i}, type: dummy, state: absent}}")).collect();
    let state = resolve(&observed, &format!("interfaces: [{}]", gone.join(", "))).state;
    assert_eq!(state.links.values().filter(|w| w.presence == Presence::Absent).count(), 100);
}
