//! Reports of nodes as policies see them: however much of a report is summed up, every link is there
//! with all that a policy can ask for.

use std::collections::BTreeMap;

use netloom_compile::Inventory;
use netloom_model::{Address, Attr, Link, LinkFacts, LinkKind, Observed, Value as AttrValue, VlanMembership};
use netloom_nmstate::{Heard, ReportOptions, report};
use netloom_types::{IfName, Protocol, VlanId, VlanSet};
use proptest::prelude::*;
use serde_json::json;

fn put<'a>(observed: &'a mut Observed, name: &str, kind: LinkKind, up: bool) -> &'a mut Link {
    let name: IfName = name.parse().expect("a name");
    let index = u32::try_from(observed.facts.len()).expect("few links");
    observed.facts.insert(name, LinkFacts { index, ..LinkFacts::default() });
    let link = observed.host.links.entry(name).or_insert_with(|| Link { up, ..Link::new(name, kind) });
    link.attrs.set(Attr::Mtu, AttrValue::Int(9000));
    link
}

fn name(text: &str) -> IfName {
    text.parse().expect("a name")
}

fn vlan(id: u16) -> VlanId {
    id.try_into().expect("a VLAN")
}

/// A VLAN: whether it is up, has an address, is smaller than its base, and the bridge that it is a port of.
type Vlan = (bool, bool, bool, Option<u8>);

fn host(vlans: &BTreeMap<(u8, u16), Vlan>, dummies: u16) -> Observed {
    let mut observed = Observed::default();
    for base in ["eth0", "eth1"] {
        put(&mut observed, base, LinkKind::Ethernet, true);
    }
    for number in 0..3 {
        let bridge = put(&mut observed, &format!("br{number}"), LinkKind::Bridge, true);
        if number == 0 {
            bridge.attrs.set(Attr::BridgeVlanFiltering, AttrValue::Bool(true));
            bridge.vlans = VlanMembership {
                pvid: Some(vlan(7)),
                untagged: [7, 10, 11, 12].map(vlan).into_iter().collect(),
                tagged: VlanSet::from_iter([vlan(20)]),
            };
        }
    }
    for number in 0..dummies {
        put(&mut observed, &format!("spare{number}"), LinkKind::Dummy, number % 2 == 0);
    }
    for ((base, id), (up, addressed, small, bridge)) in vlans {
        let link = put(&mut observed, &format!("eth{base}.{id}"), LinkKind::Vlan, *up);
        link.attrs.set(Attr::Base, AttrValue::Link(name(&format!("eth{base}"))));
        link.attrs.set(Attr::VlanId, AttrValue::Int((*id).into()));
        link.controller = bridge.map(|number| name(&format!("br{number}")));
        if *addressed {
            link.addresses =
                vec![Address::new([10, *base, id.to_be_bytes()[0], id.to_be_bytes()[1]].into(), 24, Protocol::STATIC)];
        }
        if *small {
            link.attrs.set(Attr::Mtu, AttrValue::Int(1400));
        }
    }
    observed
}

#[test]
fn the_vlans_that_a_bridge_is_in_without_a_tag_are_known() {
    let seen = Inventory::read(&report(&host(&BTreeMap::new(), 0), &BTreeMap::new(), &ReportOptions::default()));
    let untagged = |bridge| (1..30).filter(|id| seen.get(bridge).expect("a bridge").has_untagged(*id)).collect();
    let (some, none): (Vec<u16>, Vec<u16>) = (untagged("br0"), untagged("br1"));
    assert_eq!((some, none), (vec![7, 10, 11, 12], vec![]));
}

/// Most links are like others.
fn links_of_a_kind() -> impl Strategy<Value = Vlan> {
    let often = || prop::bool::weighted(0.95);
    (often(), any::<bool>(), often().prop_map(|large| !large), prop::option::weighted(0.05, 0u8..3))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn a_summary_hides_no_link_from_policies(
        vlans in prop::collection::btree_map((0u8..2, 1u16..400), links_of_a_kind(), 0..300),
        dummies in 0u16..40,
    ) {
        let observed = host(&vlans, dummies);
        let vid = json!([{"chassis-id": "s1"}, {"ieee-802-1-vlans": [{"vid": 7}]}]);
        let heard = BTreeMap::from([(name("eth0"), Heard { neighbours: Some(vec![vid]) })]);
        let with = |max_bytes, few| {
            let options = ReportOptions { max_bytes, few, ..ReportOptions::default() };
            Inventory::read(&report(&observed, &heard, &options))
        };
        let whole = with(usize::MAX, usize::MAX);
        prop_assert_eq!(whole.links.len(), observed.host.links.len());
        // One line for each VLAN, then folded.
        for (max_bytes, few) in [(usize::MAX, 0), (48 * 1024, 0)] {
            let summed_up = with(max_bytes, few);
            for (name, link) in &whole.links {
                prop_assert_eq!(summed_up.get(name), Some(link), "{} in {} bytes", name, max_bytes);
            }
            prop_assert_eq!(summed_up.links.len(), whole.links.len());
        }
    }
}
