//! What is sent for a new link, read as if the kernel had reported it.

use netloom_model::{Alias, Attr, Attrs, LinkKind, Shape, Value};
use netloom_types::{IfName, MacAddr};
use proptest::prelude::*;

use super::*;
use crate::{
    consts::AF_UNSPEC,
    wire::{Message, Msg, ifinfomsg, messages},
};

const BASE: u32 = 70;

fn name(text: &str) -> IfName {
    text.parse().unwrap()
}

fn index(of: IfName) -> Option<u32> {
    (of == name("base")).then_some(BASE)
}

fn back(index: u32) -> Option<IfName> {
    (index == BASE).then(|| name("base"))
}

/// The kernel answers with what it was sent, less what only a request has.
fn report(msg: &Msg) -> RawLink {
    let mut bytes = msg.finish();
    // ARPHRD_ETHER
    bytes[18..20].copy_from_slice(&1u16.to_ne_bytes());
    decode(&messages(&bytes).next().unwrap()).unwrap()
}

fn value(attr: Attr, v6: bool) -> BoxedStrategy<Value> {
    let ip = move || {
        if v6 { any::<[u8; 16]>().prop_map(Into::into).boxed() } else { any::<[u8; 4]>().prop_map(Into::into).boxed() }
    };
    match attr.shape() {
        Shape::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        Shape::Int { min, max } => {
            // Times are kept in hundredths on the wire and must still fit.
            let max = if attr == Attr::BridgeAgeingTime { 1 << 20 } else { max };
            (min..=max).prop_map(Value::Int).boxed()
        }
        Shape::Enum(words) => prop::sample::select(words).prop_map(|(_, number)| Value::Int(number)).boxed(),
        Shape::Flags(words) => {
            let all = words.iter().fold(0, |all, (_, bit)| all | bit);
            any::<u64>().prop_map(move |bits| Value::Int(bits & all)).boxed()
        }
        Shape::Mac => any::<[u8; 6]>().prop_map(|mac| Value::Mac(MacAddr::new(mac))).boxed(),
        Shape::Ip => ip().prop_map(Value::Ip).boxed(),
        Shape::Ips => {
            let v6 = attr == Attr::BondNsIp6Target;
            let one = if v6 {
                any::<[u8; 16]>().prop_map(Into::into).boxed()
            } else {
                any::<[u8; 4]>().prop_map(Into::into).boxed()
            };
            prop::collection::vec(one, 0..4).prop_map(Value::Ips).boxed()
        }
        Shape::Link => Just(Value::Link(name("base"))).boxed(),
        Shape::Map { from_max, to_max } => prop::collection::btree_map(0..=from_max, 1..=to_max, 0..4)
            .prop_map(|map| Value::Map(map.into_iter().collect()))
            .boxed(),
    }
}

/// A kind with some of its properties, such as a new link can have.
fn made() -> impl Strategy<Value = (LinkKind, Attrs)> {
    let kinds: Vec<LinkKind> = LinkKind::KNOWN.iter().filter(|kind| kind.is_virtual()).cloned().collect();
    (prop::sample::select(kinds), any::<bool>())
        .prop_flat_map(|(kind, over_v6)| {
            let v6 = match kind {
                LinkKind::Ip6gre | LinkKind::Ip6gretap => true,
                LinkKind::IpTunnel | LinkKind::Vxlan => over_v6,
                _ => false,
            };
            let rows: Vec<_> = Attr::ALL
                .iter()
                .copied()
                .filter(|attr| attr.applies_to(&kind) && is_in_create(*attr))
                .map(|attr| (Just(attr), prop::option::weighted(0.6, value(attr, v6))))
                .collect();
            (Just(kind), rows, Just(v6))
        })
        .prop_map(|(kind, rows, v6)| {
            let mut attrs: Attrs = rows.into_iter().filter_map(|(attr, value)| Some((attr, value?))).collect();
            if kind == LinkKind::IpTunnel {
                let modes = if v6 { [3, 4] } else { [1, 2] };
                let mode = modes[usize::from(attrs.bool(Attr::Promiscuous) == Some(true))];
                attrs.require(Attr::TunnelMode, Value::Int(mode));
            }
            (kind, attrs)
        })
}

fn is_in_create(attr: Attr) -> bool {
    use netloom_model::Section;
    match attr.section() {
        Section::Common | Section::Kind | Section::BridgeOptions | Section::BridgeStp | Section::BondOptions => true,
        Section::BridgePort
        | Section::BondPort
        | Section::Ipv4
        | Section::Ipv6
        | Section::SysctlIpv4
        | Section::SysctlIpv6
        | Section::Ethernet
        | Section::Pause
        | Section::Ring => false,
    }
}

/// What the kernel would say of such a link: facts, only those that the kind has a place for.
fn fact(kind: &LinkKind, desired: &Attrs) -> Attrs {
    let mut fact = Attrs::new();
    let v6 =
        matches!(desired.int(Attr::TunnelMode), Some(3 | 4)) || matches!(kind, LinkKind::Ip6gre | LinkKind::Ip6gretap);
    for (attr, value) in desired.iter() {
        let has_place = match attr {
            Attr::TunnelPmtuDisc => !v6,
            Attr::TunnelFlowLabel | Attr::TunnelFlags | Attr::TunnelEncapLimit => v6,
            // The other end is in the request only.
            Attr::VethPeer => false,
            Attr::Mtu => *kind != LinkKind::Bridge,
            _ => true,
        };
        let is_none = matches!(value, Value::Ip(ip) if ip.is_unspecified());
        if has_place && !is_none {
            fact.set(attr, value.clone());
        }
    }
    if *kind == LinkKind::Bond {
        fact.keep_bond_mode();
    }
    let flags = [Attr::VlanRegistration, Attr::VlanReorderHeaders, Attr::VlanLooseBinding];
    if *kind == LinkKind::Vlan && flags.iter().all(|attr| fact.given(*attr).is_none()) {
        // A report without flags has none set; a request without them leaves the default.
        fact.set(Attr::VlanReorderHeaders, Value::Bool(false));
    }
    fact
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_new_link_is_read_back((kind, attrs) in made(), up: bool) {
        let new = Create { name: name("x"), index: 5, kind: &kind, attrs: &attrs, controller: None, up, peer_index: 6 };
        let sent = create(&new, &index).unwrap();
        let raw = report(&sent[0]);
        prop_assert_eq!(raw.index(), 5);
        let (link, _) = raw.resolve(back);
        prop_assert_eq!(&link.kind, &kind);
        prop_assert_eq!(link.up, up);
        prop_assert_eq!(link.attrs, fact(&kind, &attrs));
    }

    #[test]
    fn arbitrary_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let message = Message { kind: 16, flags: 0, seq: 0, port: 0, body: &bytes };
        let _ = decode(&message);
        let _ = decode_token(&message);
        let _ = Current::read(&message);
    }

    #[test]
    fn a_message_with_bytes_changed_does_no_harm(
        (kind, attrs) in made(), hits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)
    ) {
        let new = Create { name: name("x"), index: 5, kind: &kind, attrs: &attrs, controller: None, up: true, peer_index: 0 };
        let mut bytes = create(&new, &index).unwrap()[0].finish();
        for (at, byte) in hits {
            let at = 16 + at.index(bytes.len() - 16);
            bytes[at] = byte;
        }
        let message = messages(&bytes).next().unwrap();
        let _ = decode(&message);
        let _ = Current::read(&message);
    }
}

#[test]
fn a_port_is_made_down_and_brought_up_under_its_controller() {
    let attrs = Attrs::new();
    let new = Create {
        name: name("d0"),
        index: 5,
        kind: &LinkKind::Dummy,
        attrs: &attrs,
        controller: Some(9),
        up: true,
        peer_index: 0,
    };
    let sent = create(&new, &index).unwrap();
    assert_eq!(sent.len(), 2);
    let raw = report(&sent[0]);
    assert_eq!((raw.link.up, raw.controller), (false, Some(9)));
}

#[test]
fn a_bridge_gets_its_mtu_when_it_is_there() {
    let attrs: Attrs = [(Attr::Mtu, Value::Int(9000))].into_iter().collect();
    let new = Create {
        name: name("br0"),
        index: 0,
        kind: &LinkKind::Bridge,
        attrs: &attrs,
        controller: None,
        up: true,
        peer_index: 0,
    };
    let sent = create(&new, &index).unwrap();
    assert_eq!(sent.len(), 2);
    let bytes = sent[1].finish();
    let read = messages(&bytes).next().unwrap();
    assert_eq!(read.attrs(16).find(4).and_then(|a| a.u32()), Some(9000));
    assert_eq!(read.attrs(16).find(3).and_then(|a| a.str()), Some("br0"));
}

#[test]
fn what_needs_a_new_link_is_refused_in_words() {
    let attrs: Attrs = [(Attr::VlanId, Value::Int(7))].into_iter().collect();
    let error = set(1, &LinkKind::Vlan, &attrs, None, &index).unwrap_err();
    assert_eq!(error.errno, netloom_model::StepError::EOPNOTSUPP);
    let missing: Attrs = [(Attr::BondPrimary, Value::Link(name("gone")))].into_iter().collect();
    let error = set(1, &LinkKind::Bond, &missing, None, &index).unwrap_err();
    assert_eq!(error.text.as_deref(), Some("link gone does not exist"));
}

/// A link of this kind with these properties, as an answer to [`get`].
fn existing(kind: &LinkKind, attrs: &Attrs) -> Current {
    let new = Create { name: name("x"), index: 5, kind, attrs, controller: None, up: false, peer_index: 0 };
    let bytes = create(&new, &index).unwrap()[0].finish();
    Current::read(&messages(&bytes).next().unwrap()).unwrap()
}

fn desired_states(pairs: &[(Attr, Value)]) -> Attrs {
    pairs.iter().cloned().collect()
}

fn after(kind: &LinkKind, before: &Attrs, change: &Attrs) -> Attrs {
    let current = existing(kind, before);
    assert!(needs_current(kind, change));
    let sent = set(5, kind, change, Some(&current), &index).unwrap();
    assert_eq!(sent.len(), 1);
    let bytes = sent[0].finish();
    Current::read(&messages(&bytes).next().unwrap()).unwrap().attrs
}

#[test]
fn a_tunnel_keeps_what_a_change_does_not_name() {
    let before = desired_states(&[
        (Attr::TunnelLocal, Value::Ip("192.0.2.1".parse().unwrap())),
        (Attr::TunnelRemote, Value::Ip("192.0.2.2".parse().unwrap())),
        (Attr::GreInputKey, Value::Int(7)),
        (Attr::GreOutputKey, Value::Int(8)),
    ]);
    let change = desired_states(&[(Attr::TunnelTtl, Value::Int(64)), (Attr::GreInputKey, Value::Unset)]);
    let now = after(&LinkKind::Gre, &before, &change);
    assert_eq!(now.given(Attr::TunnelLocal), before.given(Attr::TunnelLocal));
    assert_eq!(now.given(Attr::GreOutputKey), Some(&Value::Int(8)));
    assert_eq!(now.given(Attr::GreInputKey), None);
    assert_eq!(now.int(Attr::TunnelTtl), Some(64));
}

#[test]
fn a_mapping_that_goes_is_mapped_to_nothing() {
    let before =
        desired_states(&[(Attr::VlanId, Value::Int(5)), (Attr::VlanEgressQos, Value::Map(vec![(1, 2), (3, 4)]))]);
    let change = desired_states(&[(Attr::VlanEgressQos, Value::Map(vec![(1, 5)]))]);
    let current = existing(&LinkKind::Vlan, &before);
    let sent = set(5, &LinkKind::Vlan, &change, Some(&current), &index).unwrap();
    let bytes = sent[0].finish();
    let data = messages(&bytes).next().unwrap().attrs(16).find(18).unwrap().nested().find(2).unwrap();
    let pairs: Vec<(u8, u8)> = data.nested().find(3).unwrap().nested().map(|a| (a.data[0], a.data[4])).collect();
    assert_eq!(pairs, [(3, 0), (1, 5)]);
}

#[test]
fn the_flags_of_an_ipvlan_go_along_with_its_mode() {
    let before = desired_states(&[(Attr::IpvlanPrivate, Value::Bool(true))]);
    let now = after(&LinkKind::IpVlan, &before, &desired_states(&[(Attr::IpvlanMode, Value::Int(0))]));
    assert_eq!((now.bool(Attr::IpvlanPrivate), now.int(Attr::IpvlanMode)), (Some(true), Some(0)));
}

#[test]
fn properties_of_ports_go_to_the_controllers_part() {
    let change = desired_states(&[(Attr::PortHairpin, Value::Bool(true)), (Attr::BondPortQueueId, Value::Int(3))]);
    let sent = set(5, &LinkKind::Dummy, &change, None, &index).unwrap();
    assert_eq!(sent.len(), 2);
    let words: Vec<String> = sent
        .iter()
        .map(|msg| {
            let bytes = msg.finish();
            let info = messages(&bytes).next().unwrap().attrs(16).find(18).unwrap();
            info.nested().find(4).unwrap().str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(words, ["bridge", "bond"]);
}

#[test]
fn names_that_are_no_text_are_shown_all_the_same() {
    let mut msg = Msg::new(16, 0);
    msg.header(&ifinfomsg(AF_UNSPEC, 3, 0, 0)).attr(3, b"eth\xff\xa00\0").attr(20, b"\xffdesc");
    let bytes = msg.finish();
    let raw = decode(&messages(&bytes).next().unwrap()).unwrap();
    assert_eq!(raw.link.name.as_str(), "eth__0");
    assert_eq!(raw.link.alias, Some(Alias::raw("\u{fffd}desc")));
}

#[test]
fn settings_of_the_address_families_come_with_the_link() {
    let mut v4 = vec![0u8; 33 * 4];
    v4[7 * 4] = 2; // rp_filter
    v4[5 * 4] = 1; // send_redirects, the default
    let mut v6 = vec![0u8; 59 * 4];
    v6[26 * 4] = 1; // disable_ipv6
    v6[3 * 4] = 1;
    v6[5 * 4] = 1;
    v6[6 * 4..7 * 4].copy_from_slice(&(-1i32).to_ne_bytes());
    let mut msg = Msg::new(16, 0);
    msg.header(&ifinfomsg(AF_UNSPEC, 3, 0, 0)).attr_str(3, "eth0").nest(26, |msg| {
        msg.nest(2, |msg| {
            msg.attr(1, &v4);
        });
        msg.nest(10, |msg| {
            msg.attr(2, &v6).attr_ip(7, "::1:2".parse().unwrap());
        });
    });
    let bytes = msg.finish();
    let raw = decode(&messages(&bytes).next().unwrap()).unwrap();
    let shown: Vec<_> = raw.link.attrs.iter().map(|(attr, value)| (attr, value.display(attr))).collect();
    assert_eq!(
        shown,
        [
            (Attr::Ipv6Disabled, "true".to_owned()),
            (Attr::Ipv6Token, "::1:2".to_owned()),
            (Attr::Ipv6AcceptDad, "0".to_owned()),
            (Attr::Ipv4RpFilter, "2".to_owned()),
        ]
    );
}
