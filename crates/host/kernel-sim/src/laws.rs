//! Laws that hold for any steps: what is reported is what changed, a refusal changes nothing, the
//! index fits, and a host read back is the same host.

use netloom_model::{
    Attr, Attrs, Direction, FdbEntry, FdbKey, FlowMatch, LinkKind, Mirror, MirrorAction, MirrorKey, Neighbour, Rule,
    RuleAction, RuleKey, Step, Value, VlanMembership,
};
use netloom_types::{Family, Protocol, RouteTable, VlanId};
use proptest::prelude::*;

use crate::{
    SimHost,
    testing::{a, apply, hop, mac, n, route},
};

const NAMES: [&str; 8] = ["lo", "d0", "d1", "br0", "b0", "red", "x0", "x1"];

fn name() -> impl Strategy<Value = netloom_types::IfName> + Clone {
    prop::sample::select(&NAMES[..]).prop_map(n)
}

fn address() -> impl Strategy<Value = netloom_model::Address> {
    const ADDRESSES: [&str; 6] =
        ["10.0.0.1/24", "10.0.0.2/24", "10.0.1.1/24", "fd00::1/64", "fd00::2/64", "fd01::1/64"];
    prop::sample::select(&ADDRESSES[..]).prop_map(a)
}

fn some_attrs() -> impl Strategy<Value = (LinkKind, Attrs)> {
    let base = name().prop_map(|base| (Attr::Base, Value::Link(base)));
    let attrs = |kind: LinkKind, pairs: Vec<(Attr, Value)>| (kind, pairs.into_iter().collect::<Attrs>());
    prop_oneof![
        Just(attrs(LinkKind::Dummy, vec![])),
        Just(attrs(LinkKind::Bridge, vec![])),
        (0u64..7).prop_map(move |mode| attrs(LinkKind::Bond, vec![(Attr::BondMode, Value::Int(mode))])),
        (10u64..12).prop_map(move |table| attrs(LinkKind::Vrf, vec![(Attr::VrfTable, Value::Int(table))])),
        (base.clone(), 1u64..4)
            .prop_map(move |(base, id)| attrs(LinkKind::Vlan, vec![base, (Attr::VlanId, Value::Int(id))])),
        (base.clone(), 1u64..4)
            .prop_map(move |(base, id)| attrs(LinkKind::Vxlan, vec![base, (Attr::VxlanId, Value::Int(id))])),
        base.clone().prop_map(move |base| attrs(LinkKind::MacVlan, vec![base])),
        base.clone().prop_map(move |base| attrs(LinkKind::IpVlan, vec![base])),
        name().prop_map(move |peer| attrs(LinkKind::Veth, vec![(Attr::VethPeer, Value::Link(peer))])),
        (base, 1u8..4).prop_map(move |(base, last)| {
            let remote = (Attr::TunnelRemote, Value::Ip(std::net::Ipv4Addr::new(10, 0, 0, last).into()));
            attrs(LinkKind::Gre, vec![base, remote])
        }),
    ]
}

fn change() -> impl Strategy<Value = (Attr, Value)> {
    prop_oneof![
        prop::sample::select(vec![1000u64, 1280, 1400, 1500, 9000]).prop_map(|mtu| (Attr::Mtu, Value::Int(mtu))),
        (1u8..9).prop_map(|last| (Attr::Mac, Value::Mac(mac(last)))),
        any::<bool>().prop_map(|off| (Attr::Ipv6Disabled, Value::Bool(off))),
        any::<bool>().prop_map(|on| (Attr::Ipv6KeepAddrOnDown, Value::Bool(on))),
        any::<bool>().prop_map(|on| (Attr::Ipv4PromoteSecondaries, Value::Bool(on))),
        (0u64..4).prop_map(|pvid| (Attr::BridgeDefaultPvid, Value::Int(pvid))),
        any::<bool>().prop_map(|on| (Attr::PortHairpin, Value::Bool(on))),
        (0u64..7).prop_map(|mode| (Attr::BondMode, Value::Int(mode))),
        name().prop_map(|port| (Attr::BondPrimary, Value::Link(port))),
        name().prop_map(|base| (Attr::Base, Value::Link(base))),
    ]
}

fn some_route() -> impl Strategy<Value = netloom_model::Route> {
    const HOPS: [&str; 6] = ["10.0.0.9%", "10.0.1.9%", "%d0", "%d1", "10.0.0.9%d0", "%x0"];
    const HOPS6: [&str; 5] = ["fd00::9%", "fd01::9%", "%d0", "%x0", "fe80::9%d1"];
    let v4 = prop::collection::vec(prop::sample::select(&HOPS[..]), 0..3);
    let v6 = prop::collection::vec(prop::sample::select(&HOPS6[..]), 0..3);
    let hops = prop_oneof![v4.prop_map(|hops| ("10.9.0.0/16", hops)), v6.prop_map(|hops| ("fd09::/64", hops))];
    (hops, prop::sample::select(vec![254u32, 10]), 0usize..3).prop_map(|((to, hops), table, source)| {
        let mut made = if hops.is_empty() { route(to, []) } else { route(to, ["%d0"]) };
        made.next_hops = hops.into_iter().map(hop).collect();
        made.table = RouteTable::try_from(table).unwrap();
        let sources = if made.family() == Family::Ipv4 { ["10.0.0.1", "10.0.0.2"] } else { ["fd00::1", "fd01::1"] };
        made.source = sources.get(source).map(|ip| ip.parse().unwrap());
        made
    })
}

fn step() -> impl Strategy<Value = Step> {
    let vlan = || (1u16..4).prop_map(|id| VlanId::try_from(id).unwrap());
    let fdb = (name(), 1u8..4, prop::option::of(vlan()), any::<bool>()).prop_map(|(name, last, vlan, on_device)| {
        let key = FdbKey { mac: mac(last), vlan, dst: None, vni: None };
        (name, key, FdbEntry { on_device, local: false, external: false })
    });
    let mirror = (name(), name(), 1u16..3).prop_map(|(name, to, priority)| {
        let key = MirrorKey { direction: Direction::Ingress, priority };
        (name, key, Mirror { matches: FlowMatch::default(), action: MirrorAction::Mirror, to, ours: true })
    });
    let rule = (1u32..4, 1u32..4).prop_map(|(priority, to)| Rule {
        key: RuleKey::new(Family::Ipv4, priority, RuleAction::Goto(to)),
        protocol: Protocol::NETLOOM,
    });
    let links = prop_oneof![
        4 => (name(), some_attrs(), prop::option::weighted(0.3, name()), any::<bool>()).prop_map(
            |(name, (kind, attrs), controller, up)| Step::CreateLink { name, kind, attrs, controller, up }
        ),
        2 => name().prop_map(|name| Step::DeleteLink { name }),
        4 => (name(), any::<bool>()).prop_map(|(name, up)| Step::SetUp { name, up }),
        3 => (name(), change()).prop_map(|(name, change)| Step::SetAttrs {
            name,
            kind: LinkKind::Dummy,
            attrs: [change].into_iter().collect(),
        }),
        3 => (name(), prop::option::weighted(0.8, name()))
            .prop_map(|(name, controller)| Step::SetController { name, controller }),
    ];
    let things = prop_oneof![
        3 => (name(), address()).prop_map(|(name, address)| Step::AddAddress { name, address }),
        1 => (name(), address()).prop_map(|(name, address)| Step::RemoveAddress { name, address }),
        3 => some_route().prop_map(Step::AddRoute),
        1 => some_route().prop_map(Step::ReplaceRoute),
        1 => some_route().prop_map(Step::RemoveRoute),
        1 => (name(), any::<bool>(), vlan(), prop::option::of(vlan())).prop_map(|(name, on_bridge, add, remove)| {
            let add = VlanMembership::access(add);
            Step::SetVlans { name, on_bridge, add, remove: remove.into_iter().collect() }
        }),
        1 => fdb.clone().prop_map(|(name, key, entry)| Step::AddFdb { name, key, entry }),
        1 => fdb.prop_map(|(name, key, entry)| Step::RemoveFdb { name, key, entry }),
        1 => mirror.clone().prop_map(|(name, key, mirror)| Step::AddMirror { name, key, mirror }),
        1 => mirror.prop_map(|(name, key, mirror)| Step::RemoveMirror { name, key, mirror }),
        1 => (name(), 1u8..4).prop_map(|(name, last)| {
            let ip = std::net::Ipv4Addr::new(10, 0, 0, last).into();
            Step::AddNeighbour { name, neighbour: Neighbour { ip, mac: mac(last) } }
        }),
        1 => rule.clone().prop_map(Step::AddRule),
        1 => rule.prop_map(Step::RemoveRule),
    ];
    prop_oneof![3 => links, 2 => things]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_step_reports_what_it_changed_and_keeps_the_index(steps in prop::collection::vec(step(), 1..60)) {
        let mut sim = SimHost::new();
        for step in &steps {
            // The checks are inside.
            drop(apply(&mut sim, step));
        }
    }

    #[test]
    fn a_host_that_is_read_back_is_the_same_host(steps in prop::collection::vec(step(), 1..40)) {
        let mut sim = SimHost::new();
        for step in &steps {
            drop(sim.apply(step));
        }
        let again = SimHost::from_observed(sim.observed().clone());
        prop_assert_eq!(again.observed(), sim.observed());
        prop_assert_eq!(again.index, sim.index);
    }
}
