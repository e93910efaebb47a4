//! Table tests: each rule with the write that it takes and the nearest one that it refuses.

use serde_json::{Value, json};

use crate::fabric::table::{World, labelled, merged, object};

fn attachment(spec: Value) -> Value {
    object("Layer2Attachment", "l2", spec)
}

/// `base` with the fields of `more` over it.
fn with(base: &Value, more: Value) -> Value {
    attachment(merged(base.clone(), more))
}

fn fabric_net() -> Value {
    object(
        "Network",
        "secure-net",
        json!({"ipv4": {"cidr": "198.51.100.128/25"}, "ipv6": {"cidr": "2001:db8:100::/64"}, "vlan": 234, "vni": 10234}),
    )
}

fn bond_net() -> Value {
    object("Network", "vlan1520", json!({"vlan": 1520}))
}

fn over_fabric() -> Value {
    json!({"networkRef": "secure-net", "interfaceName": "xyz"})
}

fn on_bond() -> Value {
    json!({"networkRef": "vlan1520", "interfaceRef": "bond2"})
}

fn destination(name: &str, spec: Value) -> Value {
    labelled(object("Destination", name, spec), json!({"zone": "secure"}))
}

fn secure() -> Value {
    json!({"destinations": {"matchLabels": {"zone": "secure"}}})
}

#[test]
fn the_network_exists() {
    World::new([fabric_net()]).create(attachment(over_fabric())).taken();
    World::new([])
        .create(attachment(over_fabric()))
        .refused(&[r#"spec.networkRef: Not found: "secure-net": there is no Network of this name"#]);
}

#[test]
fn the_interface_has_a_name() {
    let world = World::new([fabric_net(), bond_net()]);
    world.create(attachment(on_bond())).taken();
    world.create(attachment(json!({"networkRef": "secure-net", "sriov": {"enabled": true}}))).taken();
    world.create(attachment(json!({"networkRef": "secure-net"}))).refused(&[
        "spec.interfaceName: Required value: must be given unless SR-IOV is enabled or interfaceRef is set",
    ]);
    world.create(with(&over_fabric(), json!({"interfaceName": "abcdefghijkl"}))).taken();
    world.create(with(&over_fabric(), json!({"interfaceName": "abcdefghijklm"}))).refused(&[
        r#"spec.interfaceName: Invalid value: "abcdefghijklm": must be at most 12 characters long, because l2. is put in front of it"#,
    ]);
    world.create(with(&on_bond(), json!({"interfaceName": "abcdefghijklm"}))).taken();
    world
        .create(with(&on_bond(), json!({"interfaceName": "bond2"})))
        .refused(&[r#"spec.interfaceName: Invalid value: "bond2": must differ from interfaceRef"#]);
    world.create(with(&on_bond(), json!({"interfaceName": "hbn"}))).refused(&[
        r#"spec.interfaceName: Invalid value: "hbn": is the name of an interface that every node has already"#,
    ]);
    world.create(with(&on_bond(), json!({"interfaceRef": "hbn"}))).refused(&[
        r#"spec.interfaceRef: Invalid value: "hbn": is the name of an interface that every node has already"#,
    ]);
}

#[test]
fn name_and_sriov_are_fixed() {
    let world = World::new([fabric_net(), attachment(over_fabric())]);
    world.update(with(&over_fabric(), json!({"mtu": 9000}))).taken();
    world
        .update(with(&over_fabric(), json!({"interfaceName": "abc"})))
        .refused(&[r#"spec.interfaceName: Invalid value: "abc": field is immutable"#]);
    world.update(with(&over_fabric(), json!({"sriov": {"enabled": false}}))).taken();
    world
        .update(with(&over_fabric(), json!({"sriov": {"enabled": true}})))
        .refused(&["spec.sriov.enabled: Invalid value: true: field is immutable"]);
}

#[test]
fn a_bare_sriov_word_is_taken_for_the_struct() {
    let answer = World::new([fabric_net()]).create(attachment(json!({"networkRef": "secure-net", "sriov": true})));
    answer.taken();
    assert_eq!(
        answer.verdict.patch,
        Some(json!([{"op": "replace", "path": "/spec/sriov", "value": {"enabled": true}}]))
    );
}

#[test]
fn a_vni_belongs_to_the_fabric() {
    let world = World::new([fabric_net(), bond_net()]);
    world.create(with(&on_bond(), json!({"networkRef": "secure-net"}))).refused(&[
        r#"spec.networkRef: Invalid value: "secure-net": Network "secure-net" has VNI 10234, which is not possible when interfaceRef is set"#,
    ]);
    world
        .create(with(&over_fabric(), json!({"networkRef": "vlan1520"})))
        .warned(&[r#"Network "vlan1520" has no vni: one must come out of the range of the cluster"#]);
    let without_vlan = object("Network", "vlan1520", json!({"ipv4": {"cidr": "192.0.2.0/24"}}));
    World::new([without_vlan])
        .create(attachment(on_bond()))
        .refused(&[r#"spec.networkRef: Invalid value: "vlan1520": Network "vlan1520" has no vlan"#]);
}

#[test]
fn suppression_needs_the_anycast_gateway() {
    let world = World::new([fabric_net()]);
    world.create(with(&over_fabric(), json!({"disableAnycast": true, "disableNeighborSuppression": true}))).taken();
    world
        .create(with(&over_fabric(), json!({"disableAnycast": true})))
        .refused(&["spec.disableNeighborSuppression: Invalid value: false: must be true when disableAnycast is set"]);
}

#[test]
fn the_gateway_has_a_station_address_and_room() {
    let world = World::new([fabric_net()]);
    world.create(with(&over_fabric(), json!({"anycastMac": "02:00:5e:00:00:01"}))).taken();
    world.create(with(&over_fabric(), json!({"anycastMac": "01:00:5e:00:00:01"}))).refused(&[
        r#"spec.anycastMac: Invalid value: "01:00:5e:00:00:01": must be the hardware address of one station: not zero, and no group address"#,
    ]);
    let net = |cidr: &str| object("Network", "secure-net", json!({"ipv4": {"cidr": cidr}, "vlan": 234, "vni": 10234}));
    let vrf = || object("VRF", "v", json!({"vrf": "v"}));
    let picked = || destination("d", json!({"vrfRef": "v", "prefixes": ["192.0.2.0/24"]}));
    World::new([net("198.51.100.0/31"), vrf(), picked()]).create(with(&over_fabric(), secure())).taken();
    World::new([net("198.51.100.0/32"), vrf(), picked()]).create(with(&over_fabric(), secure())).refused(&[
        r#"spec.networkRef: Invalid value: "secure-net": 198.51.100.0/32 has no room for a gateway; set disableAnycast"#,
    ]);
}

#[test]
fn node_addresses_need_an_interface_and_a_network() {
    let world = World::new([fabric_net(), bond_net()]);
    let ips = |more: Value| json!({"nodeIPs": more});
    world.create(with(&over_fabric(), ips(json!({"enabled": true, "reservedForPods": 125})))).taken();
    world.create(with(&over_fabric(), ips(json!({"enabled": true, "reservedForPods": 126})))).refused(&[
        "spec.nodeIPs.reservedForPods: Invalid value: 126: leaves no address of 198.51.100.128/25 for nodes",
    ]);
    world
        .create(with(&on_bond(), ips(json!({"enabled": true}))))
        .refused(&[r#"spec.nodeIPs.enabled: Invalid value: true: Network "vlan1520" has neither ipv4 nor ipv6"#]);
    let sriov = json!({"networkRef": "secure-net", "sriov": {"enabled": true}});
    world.create(with(&sriov, json!({"nodeIPs": {"enabled": true}, "interfaceName": "abc"}))).taken();
    world
        .create(with(&sriov, ips(json!({"enabled": true}))))
        .refused(&["spec.nodeIPs.enabled: Invalid value: true: must be false with SR-IOV unless interfaceName is set"]);
    world.create(with(&over_fabric(), ips(json!({"enabled": true, "reservedRanges": ["198.51.100.192/26"]})))).taken();
    world
        .create(with(&over_fabric(), ips(json!({"enabled": true, "reservedRanges": ["198.51.100.0/26"]}))))
        .refused(&[r#"spec.nodeIPs.reservedRanges[0]: Invalid value: "198.51.100.0/26": is not in the network"#]);
}

#[test]
fn bgp_sessions_end_at_the_gateway() {
    let world = World::new([fabric_net(), bond_net()]);
    let bgp = |more: Value| json!({"bgp": more});
    world
        .create(with(&over_fabric(), bgp(json!({"enabled": true, "holdTime": "90s", "keepaliveTime": "30s", "maximumPrefixes": 10, "workloadAS": ""}))))
        .taken();
    world
        .create(with(&over_fabric(), bgp(json!({"enabled": true, "holdTime": "30s", "keepaliveTime": "30s"}))))
        .refused(&[r#"spec.bgp.keepaliveTime: Invalid value: "30s": must be shorter than the hold time of 30s"#]);
    world.create(with(&over_fabric(), bgp(json!({"enabled": true, "workloadAS": "65535"})))).refused(&[
        "spec.bgp.workloadAS: Invalid value: 65535: is reserved and cannot be the autonomous system of a router",
    ]);
    world
        .create(with(&over_fabric(), json!({"bgp": {"enabled": true}, "sriov": {"enabled": true}})))
        .refused(&["spec.bgp.enabled: Invalid value: true: must be false with SR-IOV"]);
    world.create(with(&on_bond(), bgp(json!({"enabled": false})))).taken();
    world.create(with(&on_bond(), bgp(json!({"enabled": true})))).refused(&[
        "spec.bgp.enabled: Invalid value: true: must be false when interfaceRef is set: sessions end at the gateway of the fabric",
        r#"spec.bgp.enabled: Invalid value: true: Network "vlan1520" has neither ipv4 nor ipv6"#,
    ]);
    world
        .create(with(&over_fabric(), json!({"bgp": {"enabled": true}, "disableAnycast": true, "disableNeighborSuppression": true})))
        .refused(&["spec.bgp.enabled: Invalid value: true: must be false when disableAnycast is set: sessions end at the anycast gateway"]);
}

#[test]
fn what_is_picked_fits_the_way() {
    let vrf = |name: &str| object("VRF", name, json!({"vrf": name}));
    let through = |name: &str, vrf: &str| destination(name, json!({"vrfRef": vrf, "prefixes": ["192.0.2.0/24"]}));
    let hop = || destination("hop", json!({"nextHop": {"ipv4": "192.0.2.1"}, "prefixes": ["0.0.0.0/0"]}));
    let sriov = json!({"networkRef": "secure-net", "interfaceName": "abc", "sriov": {"enabled": true}});
    let world = World::new([fabric_net(), bond_net(), vrf("a"), through("da", "a"), through("da2", "a")]);
    world.create(with(&sriov, secure())).taken();
    world
        .create(with(&on_bond(), secure()))
        .warned(&[r#"Destination "da" leads through a VRF, which has no effect on an existing interface"#]);
    world
        .create(with(&over_fabric(), json!({"destinations": {"matchLabels": {"zone": "public"}}})))
        .warned(&["spec.destinations matches no Destination yet"]);
    World::new([fabric_net(), vrf("a"), vrf("b"), through("da", "a"), through("db", "b")]).create(with(&sriov, secure())).refused(&[
        r#"spec.destinations: Invalid value: {"matchLabels":{"zone":"secure"}}: only one VRF is possible with SR-IOV and interfaceName, and this picks 2"#,
    ]);
    let world = World::new([fabric_net(), bond_net(), hop()]);
    world.create(with(&on_bond(), secure())).taken();
    world
        .create(with(&over_fabric(), secure()))
        .warned(&[r#"Destination "hop" has a next hop, which has no effect over the fabric"#]);
}

#[test]
fn a_network_that_gives_little_is_worth_a_word() {
    let net = |more: Value| object("Network", "secure-net", merged(json!({"vlan": 234, "vni": 10234}), more));
    let vrf = || object("VRF", "v", json!({"vrf": "v"}));
    let picked = || destination("d", json!({"vrfRef": "v", "prefixes": ["192.0.2.0/24"]}));
    World::new([net(json!({"managed": false}))])
        .create(attachment(over_fabric()))
        .warned(&[r#"Network "secure-net" is not managed: its segment is not set up"#]);
    World::new([net(json!({})), vrf(), picked()])
        .create(with(&over_fabric(), secure()))
        .warned(&[r#"Network "secure-net" has no addresses, so nothing of it can be routed to destinations"#]);
}

#[test]
fn shared_fields_are_checked() {
    let world = World::new([fabric_net()]);
    world
        .create(with(&over_fabric(), json!({"communities": ["64500:999"]})))
        .warned(&["spec.communities has no effect without spec.destinations"]);
    world.create(with(&over_fabric(), json!({"communities": ["64500:99999"]}))).refused(&[
        r#"spec.communities[0]: Invalid value: "64500:99999": must be two numbers from 0 to 65535 joined by a colon, or a well-known name such as no-export"#,
    ]);
    world.create(with(&over_fabric(), json!({"routes": [{"prefixes": ["198.51.100.64/25"]}]}))).refused(&[
        r#"spec.routes[0].prefixes[0]: Invalid value: "198.51.100.64/25": has address bits beyond its prefix length; the network is 198.51.100.0/25"#,
    ]);
    world
        .create(with(&over_fabric(), json!({"nodeSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}})))
        .refused(&[
            "spec.nodeSelector.matchExpressions[0].values: Required value: operators In and NotIn compare with values",
        ]);
}

#[test]
fn one_node_has_a_vlan_and_a_name_once() {
    let on_pool = |pool: &str| json!({"nodeSelector": {"matchLabels": {"pool": pool}}});
    let mut other = with(&over_fabric(), on_pool("a"));
    other["metadata"]["name"] = json!("other");
    let world = World::new([fabric_net(), other]);
    world.create(with(&over_fabric(), on_pool("b"))).taken();
    world.create(with(&over_fabric(), on_pool("a"))).refused(&[
        r#"spec.networkRef: Duplicate value: "secure-net": Layer2Attachment "other" has VLAN 234 on some of the same nodes"#,
    ]);
    world.create(attachment(over_fabric())).refused(&[
        r#"spec.networkRef: Duplicate value: "secure-net": Layer2Attachment "other" has VLAN 234 on some of the same nodes"#,
    ]);

    let mut other = attachment(on_bond());
    other["metadata"]["name"] = json!("other");
    let third = object("Network", "vlan99", json!({"vlan": 99}));
    let world = World::new([bond_net(), third, other]);
    world.create(with(&on_bond(), json!({"interfaceRef": "bond3", "interfaceName": "v1520"}))).taken();
    world.create(with(&on_bond(), json!({"interfaceRef": "bond3"}))).refused(&[
        r#"spec.networkRef: Duplicate value: "vlan1520": Layer2Attachment "other" has an interface "vlan.1520" on some of the same nodes"#,
    ]);
    world.create(attachment(on_bond())).refused(&[
        r#"spec.networkRef: Duplicate value: "vlan1520": Layer2Attachment "other" has VLAN 1520 on some of the same nodes"#,
    ]);

    let mut named = with(&on_bond(), json!({"interfaceName": "storage"}));
    named["metadata"]["name"] = json!("other");
    let third = object("Network", "vlan99", json!({"vlan": 99}));
    let world = World::new([bond_net(), third, named]);
    world.create(attachment(json!({"networkRef": "vlan99", "interfaceRef": "bond3"}))).taken();
    world.create(attachment(json!({"networkRef": "vlan99", "interfaceRef": "bond3", "interfaceName": "storage"}))).refused(&[
        r#"spec.interfaceName: Duplicate value: "storage": Layer2Attachment "other" has an interface "storage" on some of the same nodes"#,
    ]);
}

#[test]
fn a_segment_is_configured_by_intents_or_manually() {
    let manual_object = |pool: &str| {
        object(
            "Layer2NetworkConfiguration",
            "hand",
            json!({"id": 234, "mtu": 1500, "vni": 7, "nodeSelector": {"matchLabels": {"pool": pool}}}),
        )
    };
    let wanted = || with(&over_fabric(), json!({"nodeSelector": {"matchLabels": {"pool": "a"}}}));
    World::new([fabric_net(), manual_object("b")]).create(wanted()).taken();
    World::new([fabric_net(), manual_object("a")]).create(wanted()).refused(&[
        r#"spec.networkRef: Forbidden: the segment is configured manually in Layer2NetworkConfiguration "hand" on some of the same nodes; remove that first"#,
    ]);
}

#[test]
fn pods_have_their_network_for_themselves() {
    let pods = object("PodNetwork", "pods", json!({"networkRef": "secure-net"}));
    let world = World::new([fabric_net(), pods]);
    world.create(attachment(over_fabric())).taken();
    world.create(with(&over_fabric(), json!({"nodeIPs": {"enabled": true}}))).refused(&[
        r#"spec.networkRef: Invalid value: "secure-net": all of its addresses belong to the pods of PodNetwork "pods""#,
    ]);
}

#[test]
fn services_keep_what_they_asked_for() {
    let vrf = || object("VRF", "v", json!({"vrf": "v"}));
    let picked = || destination("d", json!({"vrfRef": "v", "prefixes": ["192.0.2.0/24"]}));
    let inbound = |spec: Value| object("Inbound", "in", merged(json!({"networkRef": "secure-net"}), spec));
    let at = |address: &str| inbound(json!({"addresses": {"ipv4": [address]}}));
    let routed = || with(&over_fabric(), secure());
    World::new([fabric_net(), vrf(), picked(), at("198.51.100.130")]).create(routed()).taken();
    World::new([fabric_net(), vrf(), picked(), at("198.51.100.129")]).create(attachment(over_fabric())).taken();
    World::new([fabric_net(), vrf(), picked(), at("198.51.100.129")]).create(routed()).refused(&[
        r#"spec.networkRef: Invalid value: "secure-net": its gateway would be 198.51.100.129, which Inbound "in" has"#,
    ]);
    let crowd = || inbound(json!({"count": 100}));
    let keeps = |pods: u32| with(&over_fabric(), json!({"nodeIPs": {"enabled": true, "reservedForPods": pods}}));
    World::new([fabric_net(), crowd()]).create(keeps(26)).taken();
    World::new([fabric_net(), crowd()]).create(keeps(27)).refused(&[
        r#"spec.networkRef: Invalid value: "secure-net": 100 IPv4 addresses are asked for, and only 99 would be left"#,
    ]);
}

#[test]
fn deleting_one_whose_traffic_is_copied_is_worth_a_word() {
    let mirror = object(
        "TrafficMirror",
        "m",
        json!({"source": {"kind": "Layer2Attachment", "name": "l2"}, "collector": "c", "direction": "ingress"}),
    );
    World::new([]).delete(attachment(over_fabric())).taken();
    World::new([mirror])
        .delete(attachment(over_fabric()))
        .warned(&[r#"Layer2Attachment "l2" is still used by TrafficMirror "m""#]);
}
