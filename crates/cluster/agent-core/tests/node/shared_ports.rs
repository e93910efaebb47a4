//! VLANs on the bridge and the bond that an installer made: others go on using them.

use netloom_model::{
    Attr, Attrs, Claim, ClaimKey, LinkKind, Origin, Previous, Step, Value as Property, VlanMembership,
};
use netloom_types::{IfName, VlanId, VlanSet};
use serde_json::{Value, json};

use crate::{
    model::{Death, Rig},
    revisions::pair,
};

const PORTS: [&str; 2] = ["mgmt-br", "mgmt-bo"];

fn name(text: &str) -> IfName {
    text.parse().unwrap()
}

fn ids(ids: impl IntoIterator<Item = u16>) -> VlanSet {
    ids.into_iter().map(|id| VlanId::try_from(id).unwrap()).collect()
}

/// An installer makes bridge and bond and gives both these VLANs.
fn install(rig: &mut Rig, vlans: impl IntoIterator<Item = u16>) {
    let mut attrs = Attrs::default();
    attrs.require(Attr::BridgeVlanFiltering, Property::Bool(true));
    for (link, kind, attrs) in [("mgmt-br", LinkKind::Bridge, attrs), ("mgmt-bo", LinkKind::Bond, Attrs::default())] {
        rig.meddle(&Step::CreateLink { name: name(link), kind, attrs, controller: None, up: true });
    }
    rig.meddle(&Step::SetController { name: name("mgmt-bo"), controller: Some(name("mgmt-br")) });
    change_manually(rig, &ids(vlans), &VlanSet::new());
}

/// Somebody else gives bridge and bond VLANs, and takes others away.
fn change_manually(rig: &mut Rig, add: &VlanSet, remove: &VlanSet) {
    for port in PORTS {
        let add = VlanMembership { tagged: add.clone(), ..VlanMembership::default() };
        let on_bridge = port == "mgmt-br";
        rig.meddle(&Step::SetVlans { name: name(port), on_bridge, add, remove: remove.clone() });
    }
}

/// The controller asks for these VLANs on both.
fn ask(rig: &mut Rig, revision: &str, vlans: &[u16]) {
    let origin = json!({"kind": "HostNetworkConfig", "name": "m", "path": "spec.vlanID"});
    let entry = |port: &str, id: u16| json!({"port": port, "min": id, "max": id, "origin": origin});
    let entries: Vec<Value> = PORTS.iter().flat_map(|port| vlans.iter().map(|id| entry(port, *id))).collect();
    rig.write(json!({
        "apiVersion": "network.t-caas.telekom.com/v1alpha1", "kind": "NodeNetworkConfig",
        "metadata": {"name": "n"},
        "spec": {"revision": revision, "digest": revision, "stateDigest": revision, "host": {"bridgeVlans": entries}},
    }));
    pair(rig, revision, revision, &json!({}));
    rig.run();
}

fn installed(vlans: impl IntoIterator<Item = u16>) -> Rig {
    let mut rig = Rig::usual();
    install(&mut rig, vlans);
    rig.run();
    rig
}

/// Both have these VLANs, and VLAN 1 as the kernel gives it.
fn assert_vlans(rig: &Rig, vlans: impl IntoIterator<Item = u16>) {
    let wanted = VlanMembership { tagged: ids(vlans), ..VlanMembership::access(VlanId::MIN) };
    for port in PORTS {
        assert_eq!(rig.host.sim.observed().links[&name(port)].vlans, wanted, "{port}");
    }
}

#[test]
fn a_vlan_that_the_installer_gave_stays_when_one_of_several_who_ask_for_it_goes() {
    let mut rig = installed(2..=4094);
    ask(&mut rig, "r1", &[2014, 2015]);
    ask(&mut rig, "r2", &[2015]);
    assert_vlans(&rig, 2..=4094);
    ask(&mut rig, "r3", &[]);
    assert_vlans(&rig, 2..=4094);
    assert!(rig.host.owned.claims.is_empty(), "{:?}", rig.host.owned);
}

#[test]
fn what_was_added_goes_with_the_one_who_asked_and_no_sooner() {
    let mut rig = installed([2014, 2021]);
    ask(&mut rig, "r1", &[2014, 2015, 2016]);
    assert_vlans(&rig, [2014, 2015, 2016, 2021]);
    ask(&mut rig, "r2", &[2016]);
    assert_vlans(&rig, [2014, 2016, 2021]);
    ask(&mut rig, "r3", &[]);
    assert_vlans(&rig, [2014, 2021]);
}

#[test]
fn what_another_owner_of_the_record_asked_for_is_not_ours_to_take() {
    let mut rig = installed([2021]);
    change_manually(&mut rig, &ids([2022]), &VlanSet::new());
    for port in PORTS {
        let tagged =
            |tagged: VlanSet| Previous::Vlans(VlanMembership { tagged, ..VlanMembership::access(VlanId::MIN) });
        let claim = Claim {
            origins: [("site.yaml".into(), Origin::new("site.yaml", "interfaces[0]", 1))].into_iter().collect(),
            before: tagged(ids([2021])),
            ours: tagged(ids([2021, 2022])),
        };
        rig.host.owned.claims.insert(ClaimKey::Vlans(name(port)), claim);
    }
    ask(&mut rig, "r1", &[2014]);
    assert_vlans(&rig, [2014, 2021, 2022]);
    ask(&mut rig, "r2", &[2015]);
    assert_vlans(&rig, [2015, 2021, 2022]);
}

#[test]
fn the_way_to_the_node_may_move_while_we_have_vlans_beside_it() {
    for restarts in [false, true] {
        let mut rig = installed([2021]);
        ask(&mut rig, "r1", &[2014]);
        change_manually(&mut rig, &ids([2022]), &ids([2021]));
        if restarts {
            rig.restart();
            rig.run();
        }
        assert_vlans(&rig, [2014, 2022]);
        ask(&mut rig, "r2", &[]);
        assert_vlans(&rig, [2022]);
    }
}

#[test]
fn the_way_to_the_node_may_move_with_a_reboot() {
    let mut rig = installed([2021]);
    ask(&mut rig, "r1", &[2014]);
    rig.boot();
    install(&mut rig, [2022]);
    rig.run();
    assert_vlans(&rig, [2014, 2022]);
    ask(&mut rig, "r2", &[]);
    assert_vlans(&rig, [2022]);
}

#[test]
fn a_record_that_took_the_vlans_of_others_for_ours_is_corrected() {
    // An earlier version wrote down all that the port had once somebody had moved its VLAN, and what it had at first.
    let wrong = |rig: &mut Rig| {
        ask(rig, "r1", &[2014, 2015]);
        change_manually(rig, &ids([2022]), &ids([2021]));
        for port in PORTS {
            let claim = rig.host.owned.claims.get_mut(&ClaimKey::Vlans(name(port))).unwrap();
            claim.ours = Previous::Vlans(rig.host.sim.observed().links[&name(port)].vlans.clone());
            let tagged = ids([2021]);
            assert_eq!(claim.before, Previous::Vlans(VlanMembership { tagged, ..VlanMembership::access(VlanId::MIN) }));
        }
    };
    let mut rig = installed([2021]);
    wrong(&mut rig);
    ask(&mut rig, "r2", &[2015]);
    assert_vlans(&rig, [2015, 2022]);
    ask(&mut rig, "r3", &[]);
    assert_vlans(&rig, [2022]);
    let mut rig = installed([2021]);
    wrong(&mut rig);
    ask(&mut rig, "r2", &[]);
    assert_vlans(&rig, [2022]);
}

#[test]
fn what_an_agent_added_before_it_died_goes_all_the_same() {
    for effects in 0..8 {
        for death in [Death::Before, Death::After] {
            let mut rig = installed([2021]);
            ask(&mut rig, "r1", &[2014]);
            rig.life = Some((effects, death));
            ask(&mut rig, "r2", &[2014, 2015]);
            rig.life = None;
            ask(&mut rig, "r3", &[2014]);
            assert_vlans(&rig, [2014, 2021]);
            ask(&mut rig, "r4", &[]);
            assert_vlans(&rig, [2021]);
        }
    }
}
