//! What a base file may not say, and in which words it is refused.

use netloom_render::{Base, Peer, RemoteAsn};

const GOOD: &str = "vtepLoopbackIP: 192.0.2.1\ntrunkInterfaceName: hbn\nclusterVRF: {name: cluster}\nlocalASN: 64512\n";

fn refused(more: &str) -> String {
    Base::parse(&format!("{GOOD}{more}")).expect_err(more).to_string()
}

#[test]
fn defaults_are_few() {
    let base = Base::parse(GOOD).unwrap();
    assert!(base.management_vrf.is_none() && base.underlay_neighbors.is_empty() && !base.graceful_restart);
    let base = Base::parse(&format!("{GOOD}underlayNeighbors: [{{interface: eth0, evpn: true}}]")).unwrap();
    let [neighbor] = &base.underlay_neighbors[..] else { panic!("{base:?}") };
    assert_eq!((neighbor.peer, neighbor.remote_asn), (Peer::Interface("eth0".parse().unwrap()), RemoteAsn::External));
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let cases = [
        ("localAsn: 1", "base file line 5: localAsn: there is no such key; did you mean localASN?"),
        ("localASN: 1", "base file line 5: localASN: stands here twice; remove one"),
        ("gracefulRestart: yes", "base file line 5: gracefulRestart: \"yes\" must be true or false"),
        (
            "exportCIDRs: [10.0.0.1/8]",
            "base file line 5: exportCIDRs[0]: 10.0.0.1/8 has host bits; 10.0.0.0/8 is the network",
        ),
        ("exportCIDRs: 10.0.0.0/8", "base file line 5: exportCIDRs: must be a list"),
        (
            "hostTrunkInterfaceName: hbn",
            "base file line 5: hostTrunkInterfaceName: is trunkInterfaceName; the trunk has two ends",
        ),
        ("hostNextHop: {ipv4: \"::1\"}", "base file line 5: hostNextHop.ipv4: \"::1\": invalid IPv4 address syntax"),
        (
            "managementVRF: {name: cluster}",
            "base file line 5: managementVRF: has the name of clusterVRF; they are two VRFs",
        ),
        (
            "managementVRF: {name: mgmt, evpnRouteTarget: \"1:2\"}",
            "base file line 5: managementVRF.evpnRouteTarget: needs vni: the fabric knows a VRF by it",
        ),
        (
            "underlayNeighbors: [{ip: 192.0.2.2}]",
            "base file line 5: underlayNeighbors[0].remoteASN: is missing; add it",
        ),
        ("underlayNeighbors: [{remoteASN: 1}]", "base file line 5: underlayNeighbors[0]: needs ip or interface"),
        (
            "underlayNeighbors: [{interface: eth0, holdTime: 9}]",
            "base file line 5: underlayNeighbors[0].keepaliveTime: is missing; holdTime needs it",
        ),
        (
            "underlayNeighbors: [{interface: eth0, keepaliveTime: 9, holdTime: 9}]",
            "base file line 5: underlayNeighbors[0].holdTime: a session of 9s ends before the first sign of life after 9s",
        ),
        (
            "underlayNeighbors: [{interface: eth0}, {interface: eth0}]",
            "base file line 5: underlayNeighbors[1]: this neighbour is listed already; remove one",
        ),
    ];
    for (more, words) in cases {
        assert_eq!(refused(more), words);
    }
}

#[test]
fn a_file_that_is_no_base_file_is_refused() {
    let refused = |text: &str| Base::parse(text).expect_err(text).to_string();
    assert_eq!(refused(""), "base file: is empty");
    assert_eq!(refused("- a"), "base file line 1: must be a block of keys");
    assert_eq!(refused("localASN: 1"), "base file line 1: vtepLoopbackIP: is missing; add it");
    let six = GOOD.replace("192.0.2.1", "2001:db8::1");
    let words = "base file line 1: vtepLoopbackIP: FRR 8.4 has tunnels over IPv4 only; give an IPv4 address";
    assert_eq!(refused(&six), words);
    let long = GOOD.replace("hbn", "trunk-to-hosts");
    assert!(refused(&long).contains("a name of 10 bytes at most leaves room for that"), "{}", refused(&long));
}
