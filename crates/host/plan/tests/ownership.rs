//! What is claimed, and what is given back when nobody asks any more.

use std::sync::Arc;

use netloom_kernel_sim::SimHost;
use netloom_model::{
    Address, Alias, Attr, DesiredAddress, DesiredController, DesiredLink, DesiredRoute, HostState, LinkKind, NextHop,
    Origin, Ownership, Route, RouteExtra, RouteMetrics, RouteType, Setting, SettingKey, Step, Value, VlanMembership,
};
use netloom_plan::{Options, Planned, plan, unmet};
use netloom_types::{IfName, MacAddr, Protocol, RouteTable, VlanId, VlanSet};

const SITE: &str = "site";

fn name(text: &str) -> IfName {
    text.parse().expect("a name of these tests")
}

fn origin() -> Origin {
    Origin::new("site.yaml", "", 1)
}

fn address(text: &str, protocol: Protocol) -> Address {
    Address::new(text.parse().expect("an address of these tests"), 24, protocol)
}

/// A host with the cards eth0 and eth1.
fn host() -> SimHost {
    let mut host = SimHost::new();
    for (n, card) in ["eth0", "eth1"].into_iter().enumerate() {
        host.add_ethernet(name(card), MacAddr::new([2, 0, 0, 0, 0, u8::try_from(n).unwrap_or(0)]));
    }
    host
}

/// All that `site` wants.
fn whole(links: impl IntoIterator<Item = DesiredLink>) -> HostState {
    let links = links.into_iter().map(|link| (link.name, link)).collect();
    HostState { links, whole_of: Some(Arc::from(SITE)), ..HostState::default() }
}

fn set(host: &mut SimHost, desired: &HostState, owned: &Ownership) -> Planned {
    let planned =
        plan(desired, host.observed(), owned, &Options::default()).expect("a desired state that can be planned");
    for step in &planned.plan.steps {
        host.apply(&step.step).expect("a planned step is taken");
    }
    assert_eq!(planned.expected.unmet(host.observed()), []);
    planned
}

fn card(link: &str) -> DesiredLink {
    DesiredLink::new(name(link), LinkKind::Ethernet, origin())
}

#[test]
fn the_loopback_link_keeps_what_the_kernel_gives_it() {
    let mut host = SimHost::new();
    let mut lo = DesiredLink::new(IfName::LO, LinkKind::Loopback, origin());
    lo.up = Some(true);
    set(&mut host, &whole([lo]), &Ownership::default());
    let addresses: Vec<_> = host.observed().links[&IfName::LO].addresses.iter().map(ToString::to_string).collect();
    assert_eq!(addresses, ["127.0.0.1/8", "::1/128"]);
}

#[test]
fn an_address_added_manually_since_survives_the_release() {
    let mut host = host();
    let mut desired = card("eth0");
    let ours = DesiredAddress { address: address("192.0.2.1", Protocol::NETLOOM), origin: origin() };
    desired.ipv4.addresses = Some(vec![ours]);
    let planned = set(&mut host, &whole([desired]), &Ownership::default());
    let change_manually = address("198.51.100.9", Protocol::STATIC);
    host.apply(&Step::AddAddress { name: name("eth0"), address: change_manually }).unwrap();
    set(&mut host, &whole([]), &planned.ownership);
    assert_eq!(host.observed().links[&name("eth0")].addresses, [change_manually]);
}

#[test]
fn a_property_gets_back_what_it_was_and_one_changed_manually_stays() {
    let mut host = host();
    let mut desired = card("eth0");
    desired.attrs.require(Attr::Mtu, Value::Int(1400));
    desired.description = Some("uplink".into());
    let planned = set(&mut host, &whole([desired]), &Ownership::default());
    let alias = Some(Alias::raw("somebody's"));
    host.apply(&Step::SetAlias { name: name("eth0"), alias: alias.clone() }).unwrap();
    let released = set(&mut host, &whole([]), &planned.ownership);
    let eth0 = &host.observed().links[&name("eth0")];
    assert_eq!((eth0.attrs.int(Attr::Mtu), &eth0.alias), (Some(1500), &alias));
    assert!(released.notes.iter().any(|note| note.contains("changed manually")), "{:?}", released.notes);
    assert_eq!(released.ownership, Ownership::default());
}

#[test]
fn a_link_that_is_still_wanted_gets_back_what_is_not() {
    let mut host = host();
    let mac = MacAddr::new([2, 0, 0, 0, 0, 9]);
    let mut desired = card("eth0");
    desired.up = Some(true);
    let rest = desired.clone();
    desired.attrs.require(Attr::Mtu, Value::Int(1400));
    desired.attrs.require(Attr::Mac, Value::Mac(mac));
    let before = host.observed().links[&name("eth0")].attrs.clone();
    let planned = set(&mut host, &whole([desired]), &Ownership::default());
    assert_ne!(host.observed().links[&name("eth0")].attrs, before);
    set(&mut host, &whole([rest]), &planned.ownership);
    let after = &host.observed().links[&name("eth0")].attrs;
    for attr in [Attr::Mtu, Attr::Mac] {
        assert_eq!(after.get(attr), before.get(attr), "{attr:?}");
    }
}

#[test]
fn an_address_that_is_no_longer_wanted_goes_from_a_link_of_ours_that_stays() {
    let mut host = host();
    let rest = DesiredLink::new(name("br0"), LinkKind::Bridge, origin());
    let mut desired = rest.clone();
    let ours = DesiredAddress { address: address("192.0.2.1", Protocol::NETLOOM), origin: origin() };
    desired.ipv4.addresses = Some(vec![ours]);
    let planned = set(&mut host, &whole([desired]), &Ownership::default());
    let theirs = address("192.0.2.9", Protocol::STATIC);
    host.apply(&Step::AddAddress { name: name("br0"), address: theirs }).unwrap();
    let released = set(&mut host, &whole([rest]), &planned.ownership);
    assert_eq!(
        host.observed().links[&name("br0")].addresses,
        [theirs],
        "what somebody added since is not ours to take"
    );
    assert_eq!(released.ownership.claims.len(), 1, "only the link: {:?}", released.ownership);
}

#[test]
fn a_release_does_not_wait_for_a_controller_that_is_gone() {
    let mut host = host();
    let bridge = |host: &mut SimHost| {
        let step = Step::CreateLink {
            name: name("br1"),
            kind: LinkKind::Bridge,
            attrs: <_>::default(),
            controller: None,
            up: true,
        };
        host.apply(&step).unwrap();
    };
    bridge(&mut host);
    host.apply(&Step::SetController { name: name("eth0"), controller: Some(name("br1")) }).unwrap();
    let mut desired = card("eth0");
    desired.controller = DesiredController::Detached;
    let planned = set(&mut host, &whole([desired]), &Ownership::default());
    host.apply(&Step::DeleteLink { name: name("br1") }).unwrap();
    let released = set(&mut host, &whole([]), &planned.ownership);
    assert!(released.notes.iter().any(|note| note.contains("br1")), "{:?}", released.notes);
}

#[test]
fn a_port_is_let_go_whatever_the_kernel_made_of_it() {
    let mut host = host();
    let mut attrs = netloom_model::Attrs::default();
    attrs.require(Attr::VethPeer, Value::Link(name("v1")));
    let pair = Step::CreateLink { name: name("v0"), kind: LinkKind::Veth, attrs, controller: None, up: true };
    host.apply(&pair).unwrap();
    let bridge = DesiredLink::new(name("br0"), LinkKind::Bridge, origin());
    // One end of a pair says that it is fast, so the kernel gives it another cost than usual.
    let port = |cost: Option<u64>| {
        let mut port = DesiredLink::new(name("v0"), LinkKind::Veth, origin());
        port.controller = DesiredController::Of(name("br0"));
        if let Some(cost) = cost {
            port.attrs.require(Attr::PortPathCost, Value::Int(cost));
        }
        port
    };
    for cost in [None, Some(50)] {
        let before = host.observed().clone();
        let owned = set(&mut host, &whole([bridge.clone(), port(cost)]), &Ownership::default()).ownership;
        assert_eq!(host.observed().links[&name("v0")].controller, Some(name("br0")));
        set(&mut host, &whole([]), &owned);
        assert_eq!(host.observed().links, before.links, "{cost:?}");
    }
}

#[test]
fn a_card_that_was_a_port_is_left_up_and_any_other_as_it_was() {
    let mut host = host();
    let cards = ["eth0", "eth1"].map(name);
    for card in cards {
        host.apply(&Step::SetUp { name: card, up: false }).unwrap();
    }
    let bond = DesiredLink::new(name("bond0"), LinkKind::Bond, origin());
    let mut port = card("eth0");
    port.controller = DesiredController::Of(name("bond0"));
    let desired_states = [bond, port, card("eth1")].map(|desired| DesiredLink { up: Some(true), ..desired });
    let owned = set(&mut host, &whole(desired_states), &Ownership::default()).ownership;
    set(&mut host, &whole([]), &owned);
    assert_eq!(cards.map(|card| host.observed().links[&card].up), [true, false]);
}

#[test]
fn the_other_end_of_a_pair_stays_as_long_as_the_one_that_is_named() {
    let mut host = host();
    let end = |link: &str, peer: &str| {
        let mut end = DesiredLink::new(name(link), LinkKind::Veth, origin());
        end.attrs.require(Attr::VethPeer, Value::Link(name(peer)));
        end
    };
    let before = host.observed().clone();
    let made = set(&mut host, &whole([end("p1", "p2"), end("p2", "p1")]), &Ownership::default());
    let again = set(&mut host, &whole([end("p1", "p2")]), &made.ownership);
    assert!(again.plan.is_empty(), "{:?}", again.plan);
    set(&mut host, &whole([]), &again.ownership);
    assert_eq!(host.observed().links, before.links, "both ends go together");
}

#[test]
fn a_port_that_somebody_put_into_our_bridge_does_not_return_there() {
    let mut host = host();
    let bridge = DesiredLink::new(name("br5"), LinkKind::Bridge, origin());
    let before = host.observed().clone();
    let made = set(&mut host, &whole([bridge.clone()]), &Ownership::default());
    host.apply(&Step::SetController { name: name("eth0"), controller: Some(name("br5")) }).unwrap();
    let mut port = card("eth0");
    port.controller = DesiredController::Detached;
    let repaired = set(&mut host, &whole([bridge, port]), &made.ownership);
    set(&mut host, &whole([]), &repaired.ownership);
    assert_eq!(host.observed().links, before.links);
}

#[test]
fn what_carries_our_mark_goes_even_when_the_record_was_lost() {
    let mut host = host();
    let mut eth0 = card("eth0");
    eth0.up = Some(true);
    let dummy = DesiredLink::new(name("d0"), LinkKind::Dummy, origin());
    let hop = NextHop { via: None, link: Some(name("eth0")), weight: 1, onlink: false };
    let route = Route {
        table: RouteTable::MAIN,
        destination: "203.0.113.0/24".parse().expect("a prefix"),
        metric: 0,
        kind: RouteType::Unicast,
        next_hops: vec![hop],
        source: None,
        protocol: Protocol::NETLOOM,
        metrics: RouteMetrics::default(),
        extra: RouteExtra::default(),
    };
    let desired = HostState { routes: vec![DesiredRoute { route, origin: origin() }], ..whole([eth0.clone(), dummy]) };
    set(&mut host, &desired, &Ownership::default());
    let again = set(&mut host, &desired, &Ownership::default());
    set(&mut host, &whole([eth0]), &again.ownership);
    assert!(host.observed().routes.is_empty());
    assert!(!host.observed().links.contains_key(&name("d0")));
}

#[test]
fn a_host_name_is_given_back() {
    let mut host = host();
    host.apply(&Step::Set(Setting::HostnameRunning("before".to_owned()))).unwrap();
    let mut desired = whole([]);
    desired.set(Setting::HostnameRunning("node-1".to_owned()), origin());
    let planned = set(&mut host, &desired, &Ownership::default());
    assert_eq!(host.observed().settings.hostname_running(), "node-1");
    set(&mut host, &whole([]), &planned.ownership);
    assert_eq!(host.observed().settings.hostname_running(), "before");
}

#[test]
fn iptables_sees_bridges_again_when_nobody_keeps_it_from_them_any_more() {
    let mut desired = whole([]);
    desired.set(Setting::BridgeIptables(false), origin());
    let mut observed = host().into_observed();
    observed.host.settings.set(Setting::BridgeIptables(true));
    let mut host = SimHost::from_observed(observed);
    let planned = set(&mut host, &desired, &Ownership::default());
    assert_eq!(host.observed().settings.bridge_iptables(), Some(false));
    assert_eq!(planned.plan.steps.len(), 1);
    set(&mut host, &whole([]), &planned.ownership);
    assert_eq!(host.observed().settings.bridge_iptables(), Some(true));
}

#[test]
fn where_iptables_never_sees_bridges_there_is_nothing_to_set_and_nothing_to_give_back() {
    let mut desired = whole([]);
    desired.set(Setting::BridgeIptables(false), origin());
    let mut host = host();
    let planned = set(&mut host, &desired, &Ownership::default());
    assert!(planned.plan.steps.is_empty() && planned.ownership.claims.is_empty());
    // It begins to, as when br_netfilter is loaded: then what it was is known.
    let mut observed = host.into_observed();
    observed.host.settings.set(Setting::BridgeIptables(true));
    assert_eq!(planned.expected.unmet(&observed), [], "nothing else is taken back for it");
    let drift: Vec<String> = unmet(&desired, &observed).unwrap().into_iter().map(|unmet| unmet.path).collect();
    assert_eq!(drift, ["net.bridge.bridge-nf-call-iptables"]);
    let mut host = SimHost::from_observed(observed);
    let planned = set(&mut host, &desired, &planned.ownership);
    // And ends: what is given back has no place any more.
    let mut observed = host.into_observed();
    observed.host.settings.remove(SettingKey::BridgeIptables);
    let released = set(&mut SimHost::from_observed(observed), &whole([]), &planned.ownership);
    assert!(released.plan.steps.is_empty() && released.notes.is_empty() && released.ownership.claims.is_empty());
}

fn ids(ids: &[u16]) -> VlanSet {
    ids.iter().map(|id| VlanId::try_from(*id).expect("a VLAN of these tests")).collect()
}

/// The VLANs of a port that has these beside VLAN 1, in which it sends and takes frames without a tag.
fn vlans(tagged: &[u16]) -> VlanMembership {
    VlanMembership { tagged: ids(tagged), ..VlanMembership::access(VlanId::MIN) }
}

/// A host on which an installer put eth0 into a bridge, with these VLANs.
fn installed(tagged: &[u16]) -> SimHost {
    let mut host = host();
    let mut attrs = netloom_model::Attrs::default();
    attrs.require(Attr::BridgeVlanFiltering, Value::Bool(true));
    let bridge = Step::CreateLink { name: name("mgmt-br"), kind: LinkKind::Bridge, attrs, controller: None, up: true };
    host.apply(&bridge).expect("a bridge can be made");
    host.apply(&Step::SetController { name: name("eth0"), controller: Some(name("mgmt-br")) })
        .expect("a card can be a port");
    change_manually(&mut host, &VlanMembership { tagged: ids(tagged), ..VlanMembership::default() }, &[]);
    assert_eq!(vlans_of(&host), vlans(tagged));
    host
}

/// Somebody else changes the VLANs of eth0.
fn change_manually(host: &mut SimHost, add: &VlanMembership, remove: &[u16]) {
    let step = Step::SetVlans { name: name("eth0"), on_bridge: false, add: add.clone(), remove: ids(remove) };
    host.apply(&step).expect("a port takes VLANs");
}

fn vlans_of(host: &SimHost) -> VlanMembership {
    host.observed().links[&name("eth0")].vlans.clone()
}

fn with_vlans(vlans: VlanMembership) -> HostState {
    let mut port = card("eth0");
    port.vlans = Some(vlans);
    whole([port])
}

/// The record as another life of the program finds it.
fn from_disk(owned: &Ownership) -> Ownership {
    let written = serde_json::to_string(owned).expect("a record can be written");
    serde_json::from_str(&written).expect("what was written can be read")
}

#[test]
fn vlans_that_somebody_moved_meanwhile_stay_where_they_are() {
    let moved = VlanMembership { tagged: ids(&[2022]), ..VlanMembership::default() };
    for refreshed in [false, true] {
        let mut host = installed(&[2021]);
        let mut owned = set(&mut host, &with_vlans(vlans(&[2014, 2021])), &Ownership::default()).ownership;
        change_manually(&mut host, &moved, &[2021]);
        if refreshed {
            let again = set(&mut host, &with_vlans(vlans(&[2014, 2022])), &from_disk(&owned));
            assert!(again.plan.is_empty(), "{:?}", again.plan);
            owned = again.ownership;
        }
        let released = set(&mut host, &whole([]), &from_disk(&owned));
        assert_eq!(vlans_of(&host), vlans(&[2022]), "refreshed: {refreshed}");
        assert_eq!((released.ownership, released.notes), (Ownership::default(), Vec::new()));
    }
}

#[test]
fn vlans_of_a_machine_that_was_started_again_with_others_stay() {
    let mut host = installed(&[2021]);
    let owned = set(&mut host, &with_vlans(vlans(&[2014, 2021])), &Ownership::default()).ownership;
    let mut host_again = installed(&[2022]);
    let owned = set(&mut host_again, &with_vlans(vlans(&[2014, 2022])), &from_disk(&owned)).ownership;
    assert_eq!(vlans_of(&host_again), vlans(&[2014, 2022]));
    set(&mut host_again, &whole([]), &from_disk(&owned));
    assert_eq!(vlans_of(&host_again), vlans(&[2022]));
}

#[test]
fn a_vlan_that_was_there_before_stays_whoever_asks_for_it_too() {
    let mut host = installed(&[2014, 2021]);
    let owned = set(&mut host, &with_vlans(vlans(&[2014, 2015, 2021])), &Ownership::default()).ownership;
    // Somebody takes it away, and it is put there again because it is asked for.
    change_manually(&mut host, &VlanMembership::default(), &[2014]);
    let owned = set(&mut host, &with_vlans(vlans(&[2014, 2015, 2021])), &from_disk(&owned)).ownership;
    set(&mut host, &whole([]), &from_disk(&owned));
    assert_eq!(vlans_of(&host), vlans(&[2014, 2021]));
}

#[test]
fn frames_without_a_tag_stay_where_somebody_has_put_them_since() {
    let mut host = installed(&[2021]);
    let owned = set(&mut host, &with_vlans(vlans(&[2014, 2021])), &Ownership::default()).ownership;
    let access = VlanMembership::access(VlanId::try_from(100).unwrap());
    change_manually(&mut host, &access, &[1]);
    set(&mut host, &whole([]), &owned);
    assert_eq!(vlans_of(&host), VlanMembership { tagged: ids(&[2021]), ..access });
}

#[test]
fn what_was_repaired_on_a_port_does_not_come_back_and_what_was_taken_from_it_does() {
    let mut host = installed(&[2021]);
    let exactly = with_vlans(VlanMembership::access(VlanId::try_from(10).unwrap()));
    let owned = set(&mut host, &exactly, &Ownership::default()).ownership;
    change_manually(&mut host, &VlanMembership { tagged: ids(&[77]), ..VlanMembership::default() }, &[]);
    let owned = set(&mut host, &exactly, &owned).ownership;
    assert_eq!(vlans_of(&host).all(), ids(&[10]));
    change_manually(&mut host, &VlanMembership { tagged: ids(&[78]), ..VlanMembership::default() }, &[]);
    set(&mut host, &whole([]), &owned);
    assert_eq!(vlans_of(&host), vlans(&[78, 2021]));
}

#[test]
fn a_card_that_somebody_took_out_of_its_bridge_gets_no_vlans_back() {
    let mut host = installed(&[2021]);
    let exactly = with_vlans(VlanMembership::access(VlanId::try_from(10).unwrap()));
    let owned = set(&mut host, &exactly, &Ownership::default()).ownership;
    host.apply(&Step::SetController { name: name("eth0"), controller: None }).unwrap();
    let released = set(&mut host, &whole([]), &owned);
    assert!(released.plan.is_empty() && released.ownership.claims.is_empty(), "{:?}", released.plan);
    let step = Step::CreateLink {
        name: name("bond0"),
        kind: LinkKind::Bond,
        attrs: <_>::default(),
        controller: None,
        up: true,
    };
    host.apply(&step).unwrap();
    host.apply(&Step::SetUp { name: name("eth0"), up: false }).unwrap();
    host.apply(&Step::SetController { name: name("eth0"), controller: Some(name("bond0")) }).unwrap();
    let released = set(&mut host, &whole([]), &owned);
    assert!(released.plan.is_empty() && released.ownership.claims.is_empty(), "{:?}", released.plan);
}
