//! Table tests: each rule with the write that it takes and the nearest one that it refuses.

use serde_json::{Value, json};

use crate::{
    User,
    fabric::table::{Answer, World, merged, object},
};

fn config(spec: Value) -> Answer {
    World::new([]).create(object("NodeNetworkConfig", "worker-1", spec))
}

fn layer2(key: &str, layer2: Value) -> Value {
    json!({"layer2s": {key: merged(json!({"vni": 10234, "vlan": 234, "mtu": 1500}), layer2)}})
}

#[test]
fn a_segment_stands_under_its_vlan_and_in_a_known_vrf() {
    config(layer2("234", json!({}))).taken();
    config(layer2("235", json!({})))
        .refused(&["spec.layer2s[235].vlan: Invalid value: 234: must be 235, the key of the entry"]);
    let irb = |vrf: &str| {
        layer2(
            "234",
            json!({"irb": {"vrf": vrf, "ipAddresses": ["198.51.100.129/25"], "macAddress": "02:00:00:00:00:01"}}),
        )
    };
    config(irb("cluster")).taken();
    config(irb("x")).refused(&[r#"spec.layer2s[234].irb.vrf: Not found: "x": the node has no VRF of this name"#]);
    config(layer2("234", json!({"routeTarget": "1:2:3"}))).refused(&[
        r#"spec.layer2s[234].routeTarget: Invalid value: "1:2:3": must be AS:NUMBER or ADDRESS:NUMBER; after an AS beyond 65535 and after an address NUMBER ends at 65535"#,
    ]);
}

#[test]
fn bridges_have_names_of_their_own() {
    let two = |name: &str| {
        json!({"layer2s": {
            "234": {"vni": 1, "vlan": 234, "mtu": 1500, "interfaceName": name},
            "235": {"vni": 2, "vlan": 235, "mtu": 1500},
        }})
    };
    config(two("l2.prod")).taken();
    config(two("l2.235")).refused(&[
        r#"spec.layer2s[235].interfaceName: Duplicate value: "l2.235": spec.layer2s[234] has a bridge of this name"#,
    ]);
    config(two("prod")).refused(&[
        r#"spec.layer2s[234].interfaceName: Invalid value: "prod": must begin with "l2.", as the bridges of all segments do"#,
    ]);
}

#[test]
fn the_node_is_a_station_of_a_segment() {
    let own = |own: Value| config(layer2("234", json!({"nodeInterface": own})));
    own(json!({"ipAddresses": ["198.51.100.7/24"], "routes": [{"destination": "192.0.2.0/24", "gateway": "198.51.100.1"}]}))
        .taken();
    own(json!({"ipAddresses": ["198.51.100.7"]})).refused(&[
        r#"spec.layer2s[234].nodeInterface.ipAddresses[0]: Invalid value: "198.51.100.7": must be an address with a prefix length, such as 198.51.100.7/24"#,
    ]);
    own(json!({"routes": [{"destination": "2001:db8::/64", "gateway": "198.51.100.1"}]})).refused(&[
        r#"spec.layer2s[234].nodeInterface.routes[0].gateway: Invalid value: "198.51.100.1": must be an IPv6 address"#,
    ]);
}

#[test]
fn an_identifier_is_there_once() {
    let both = |vni: u32| json!({"layer2s": {"234": {"vni": 7, "vlan": 234, "mtu": 1500}}, "fabricVRFs": {"m2m": {"vni": vni}}});
    config(both(8)).taken();
    config(both(7)).refused(&["spec.fabricVRFs[m2m].vni: Duplicate value: 7: spec.layer2s[234].vni is the same"]);
}

#[test]
fn names_can_be_those_of_interfaces() {
    config(json!({"localVRFs": {"s-m2m_enc": {}}})).taken();
    config(json!({"localVRFs": {"sixteen-letters-": {}}})).refused(&[
        r#"spec.localVRFs[sixteen-letters-]: Invalid value: "sixteen-letters-": the kernel takes at most 15 bytes; shorten it"#,
    ]);
    config(json!({"fabricVRFs": {"a": {"vni": 1}}, "localVRFs": {"a": {}}}))
        .refused(&[r#"spec.localVRFs[a]: Duplicate value: "a": a fabric VRF has this name"#]);
}

#[test]
fn a_session_has_one_kind_of_other_side() {
    let peer = |peer: Value| config(json!({"clusterVRF": {"bgpPeers": [peer]}}));
    peer(json!({"address": "192.0.2.1", "remoteAsn": 64512})).taken();
    peer(json!({"listenRange": "192.0.2.0/24", "remoteAsn": 64512})).taken();
    peer(json!({"remoteAsn": 64512})).refused(&[
        "spec.clusterVRF.bgpPeers[0].address: Required value: one of address and listenRange must be given",
    ]);
    peer(json!({"address": "192.0.2.1", "listenRange": "192.0.2.0/24", "remoteAsn": 1}))
        .refused(&["spec.clusterVRF.bgpPeers[0].listenRange: Forbidden: address and listenRange exclude each other"]);
}

#[test]
fn filters_and_routes_are_of_one_family() {
    let import = |prefix: Value| {
        let filter = json!({"items": [{"matcher": {"prefix": prefix}, "action": {"type": "accept"}}], "defaultAction": {"type": "reject"}});
        config(json!({"clusterVRF": {"vrfImports": [{"fromVrf": "m2m", "filter": filter}]}}))
    };
    import(json!({"prefix": "10.0.0.0/8", "le": 32})).taken();
    import(json!({"prefix": "10.0.0.0/8", "le": 33})).refused(&[
        "spec.clusterVRF.vrfImports[0].filter.items[0].matcher.prefix.le: Invalid value: 33: must be from 8 to 32 for 10.0.0.0/8",
    ]);
    let route = |hop: &str| {
        config(json!({"clusterVRF": {"staticRoutes": [{"prefix": "10.0.0.0/8", "nextHop": {"address": hop}}]}}))
    };
    route("192.0.2.1").taken();
    route("2001:db8::1").refused(&[
        r#"spec.clusterVRF.staticRoutes[0].nextHop.address: Invalid value: "2001:db8::1": must be an IPv4 address"#,
    ]);
}

#[test]
fn a_mirror_leads_into_a_tunnel_of_the_node() {
    let with = |destination: &str, far: &str| {
        config(json!({
            "fabricVRFs": {"mirror": {"vni": 9, "gres": {"gre.1234abcd": {"sourceAddress": "192.0.2.1", "sourceInterface": "lo.mir", "destinationAddress": far}}}},
            "clusterVRF": {"mirrorAcls": [{"mirrorDestination": destination, "direction": "ingress"}]},
        }))
    };
    with("gre.1234abcd", "192.0.2.9").taken();
    with("gre.other", "192.0.2.9").refused(&[
        r#"spec.clusterVRF.mirrorAcls[0].mirrorDestination: Not found: "gre.other": no VRF of the node has a tunnel of this name"#,
    ]);
    with("gre.1234abcd", "2001:db8::9").refused(&[
        r#"spec.fabricVRFs[mirror].gres[gre.1234abcd].destinationAddress: Invalid value: "2001:db8::9": must be of the family of sourceAddress"#,
    ]);
}

fn origin() -> Value {
    json!({"kind": "Layer2Attachment", "name": "vlan1520", "path": "spec.networkRef"})
}

#[test]
fn links_of_the_host_are_whole() {
    let link = |more: Value| {
        let link = json!({"name": "vlan.1520", "type": "vlan", "base": "bond2", "vlanId": 1520, "origin": origin()});
        config(json!({"host": {"links": [merged(link, more)]}}))
    };
    link(json!({})).taken();
    link(json!({"vlanId": null})).refused(&["spec.host.links[0].vlanId: Required value: a link of this type needs it"]);
    link(json!({"table": 7}))
        .refused(&["spec.host.links[0].table: Forbidden: a link of this type has no such property"]);
    link(json!({"base": null})).refused(&["spec.host.links[0].base: Required value: a VLAN stands on another link"]);
    link(json!({"controller": "vlan.1520"}))
        .refused(&[r#"spec.host.links[0].controller: Invalid value: "vlan.1520": must be another link"#]);
}

#[test]
fn entries_of_the_host_are_possible() {
    let host = |host: Value| config(json!({"host": host}));
    host(json!({
        "addresses": [{"link": "vlan.1520", "address": "192.0.2.1/24", "origin": origin()}],
        "dhcp": [{"link": "mgmt-br", "family": "ipv4", "origin": origin()}],
        "routes": [{"destination": "0.0.0.0/0", "gateway": "192.0.2.254", "link": "vlan.1520", "origin": origin()}],
        "rules": [{"family": "ipv4", "priority": 100, "from": "192.0.2.0/24", "table": 50, "origin": origin()}],
        "bridgeVlans": [{"port": "bond2", "min": 5, "max": 5, "pvid": true, "origin": origin()}],
    }))
    .taken();
    host(json!({"addresses": [{"link": "x", "address": "192.0.2.1", "origin": origin()}]})).refused(&[
        r#"spec.host.addresses[0].address: Invalid value: "192.0.2.1": must be an address with a prefix length, such as 198.51.100.1/24"#,
    ]);
    host(json!({"routes": [{"destination": "::/0", "gateway": "192.0.2.254", "origin": origin()}]}))
        .refused(&[r#"spec.host.routes[0].gateway: Invalid value: "192.0.2.254": must be an IPv6 address"#]);
    host(json!({"rules": [{"family": "ipv6", "priority": 100, "from": "192.0.2.0/24", "table": 50, "origin": origin()}]})).refused(&[
        r#"spec.host.rules[0].from: Invalid value: "192.0.2.0/24": must be an IPv6 network"#,
    ]);
    host(json!({"bridgeVlans": [{"port": "bond2", "min": 6, "max": 5, "origin": origin()}]}))
        .refused(&["spec.host.bridgeVlans[0].max: Invalid value: 5: must be at least 6, the value of min"]);
    host(json!({"bridgeVlans": [{"port": "bond2", "min": 5, "max": 6, "pvid": true, "origin": origin()}]}))
        .refused(&["spec.host.bridgeVlans[0].pvid: Invalid value: true: is for one VLAN only"]);
}

#[test]
fn an_agent_writes_the_configuration_of_its_own_node_only() {
    let own = object("NodeNetworkConfig", "worker-1", json!({}));
    let agent = |node: &str| User::new(format!("netloom:agent:{node}"), &["netloom:agents"]);
    World::new([]).user(agent("worker-1")).create(own.clone()).taken();
    World::new([])
        .user(agent("worker-2"))
        .create(own)
        .forbidden(r#"the agent of node "worker-2" may write only the NodeNetworkConfig of that name, not "worker-1""#);
}
