//! What real daemons of two releases printed, read.

use std::time::Duration;

use proptest::prelude::*;

use super::{bfd, bgp, zebra};
use crate::{BfdState, Prefixes, Session, SessionState, VniKind};

macro_rules! answers {
    ($name:literal) => {
        [
            include_str!(concat!("../../tests/answers/8.4/", $name)),
            include_str!(concat!("../../tests/answers/10.7/", $name)),
        ]
    };
}

#[test]
fn vrfs_have_their_vni_and_devices() {
    for answer in answers!("vrf-vni.json") {
        let vrfs = zebra::vrf_vnis(answer).unwrap();
        let [vrf] = vrfs.as_slice() else { panic!("{vrfs:?}") };
        assert_eq!((vrf.vrf.as_str(), vrf.vni.get(), vrf.up), ("vrfblue", 10100, true));
        assert_eq!(vrf.vxlan, Some("vx10100".parse().unwrap()));
        assert_eq!(vrf.bridge, Some("br10100".parse().unwrap()));
        assert!(vrf.router_mac.is_some());
    }
}

#[test]
fn a_vrf_without_devices_is_down() {
    let answer = r#"{"vrfs":[{"vrf":"blue","vni":"100","vxlanIntf":"None","sviIntf":"None","state":"Down","routerMac":"None"}]}"#;
    let vrfs = zebra::vrf_vnis(answer).unwrap();
    assert_eq!((vrfs[0].vni.get(), vrfs[0].up, vrfs[0].vxlan, vrfs[0].router_mac), (100, false, None, None));
}

#[test]
fn vnis_are_of_a_segment_or_of_routes() {
    for answer in answers!("evpn-vni.json") {
        let vnis = zebra::evpn_vnis(answer).unwrap();
        let shown: Vec<_> =
            vnis.iter().map(|vni| (vni.vni.get(), vni.kind, vni.vrf.as_str(), vni.remotes.len())).collect();
        assert_eq!(shown, [(200, VniKind::L2, "default", 1), (10100, VniKind::L3, "vrfblue", 0)]);
    }
    // 10.7 and 8.4 without EVPN.
    assert_eq!(zebra::evpn_vnis("{}\n").unwrap(), []);
    assert_eq!(zebra::evpn_vnis("").unwrap(), []);
}

#[test]
fn links_have_their_vrf_and_addresses() {
    for answer in answers!("interface.json") {
        let links = zebra::links(answer).unwrap();
        let dummy = &links[&"d0".parse().unwrap()];
        assert_eq!((dummy.vrf.as_str(), dummy.admin_up, dummy.up), ("vrfblue", true, true));
        for address in ["192.168.1.1/24", "2001:db8:1::1/64"] {
            assert!(dummy.addresses.contains(&address.parse().unwrap()), "{dummy:?}");
        }
        assert_eq!(links[&"e0".parse().unwrap()].vrf, "default");
        assert_eq!(links.len(), 8);
    }
}

#[test]
fn sessions_have_the_prefixes_of_each_family() {
    for answer in answers!("summary.json") {
        let sessions = bgp::sessions(answer).unwrap();
        let [up, down] = sessions.as_slice() else { panic!("{sessions:?}") };
        assert_eq!((up.vrf.as_str(), up.peer.as_str(), up.remote_as), ("default", "10.0.0.2", Some(65002)));
        assert_eq!((&up.state, up.established), (&SessionState::Established, 1));
        assert!(up.since.is_some_and(|time| time >= Duration::from_secs(9)));
        assert_eq!(up.prefixes["ipv4Unicast"], Prefixes { received: 2, sent: 3 });
        assert_eq!(up.prefixes["l2VpnEvpn"], Prefixes { received: 2, sent: 4 });
        let never = SessionState::Down("Active".to_owned());
        assert_eq!((down.peer.as_str(), down.remote_as, &down.state, down.since), ("10.0.0.77", None, &never, None));
    }
}

#[test]
fn without_an_instance_there_are_no_sessions() {
    assert_eq!(bgp::sessions("{\n}\n").unwrap(), Vec::<Session>::new());
    assert_eq!(bgp::sessions("{\n\"blue\":{\n}\n}\n").unwrap(), Vec::<Session>::new());
}

#[test]
fn other_ends_are_up_or_down() {
    for answer in answers!("bfd-peers.json") {
        let peers = bfd::peers(answer).unwrap();
        let [peer] = peers.as_slice() else { panic!("{peers:?}") };
        assert_eq!(
            (peer.vrf.as_str(), peer.peer, &peer.state),
            ("default", "10.0.0.2".parse().unwrap(), &BfdState::Up)
        );
        assert_eq!((peer.link, peer.multihop, &peer.diagnostic), (Some("e0".parse().unwrap()), false, &None));
        assert!(peer.since.is_some());
    }
    let never = r#"[{"multihop":true,"peer":"192.0.2.1","id":1,"status":"down","downtime":86400,"diagnostic":"ok"}]"#;
    let peers = bfd::peers(never).unwrap();
    assert_eq!((peers[0].vrf.as_str(), &peers[0].state, peers[0].since), ("default", &BfdState::Down, None));
    assert_eq!(bfd::peers("[\n]\n").unwrap(), []);
}

#[test]
fn what_cannot_be_read_names_the_command() {
    let error = zebra::vrf_vnis("% Unknown command\n").unwrap_err();
    assert_eq!(error.reason(), "FrrUnreadable");
    assert!(error.to_string().contains("show vrf vni json"), "{error}");
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text: String, cut in 0usize..7000) {
        let cut = |answer: &str| answer.get(..cut).unwrap_or(answer).to_owned();
        for text in [text, cut(answers!("interface.json")[0]), cut(answers!("summary.json")[0])] {
            zebra::vrf_vnis(&text).ok();
            zebra::evpn_vnis(&text).ok();
            zebra::links(&text).ok();
            bgp::sessions(&text).ok();
            bfd::peers(&text).ok();
        }
    }
}
