//! Every rule of `HostNetworkConfig`, with the nearest object that is taken.

use serde_json::{Value, json};

use crate::cluster::{Cluster, node, refusals, with};

fn ready(kind: &str, name: &str, status: &str) -> Value {
    json!({
        "apiVersion": "network.harvesterhci.io/v1beta1", "kind": kind, "metadata": {"name": name},
        "status": {"conditions": [{"type": "ready", "status": status}]},
    })
}

fn vlan_status(network: &str, node: &str, status: &str) -> Value {
    with(
        &ready("VlanStatus", &format!("{network}-{node}"), status),
        &[("/status/clusterNetwork", json!(network)), ("/status/node", json!(node))],
    )
}

fn uplink(name: &str, network: &str, selector: &Value) -> Value {
    json!({
        "apiVersion": "network.harvesterhci.io/v1beta1", "kind": "VlanConfig", "metadata": {"name": name},
        "spec": {"clusterNetwork": network, "nodeSelector": selector, "uplink": {"nics": ["eth1"]}},
    })
}

/// Three workers and a witness; `cluster-1` reaches all workers, `cluster-2` two of them.
fn stored() -> Vec<Value> {
    vec![
        node("node1", &json!({"zone": "a"})),
        node("node2", &json!({"zone": "a"})),
        node("node3", &json!({"zone": "b"})),
        node("witness", &json!({"node-role.harvesterhci.io/witness": "true", "zone": "a"})),
        ready("ClusterNetwork", "mgmt", "True"),
        ready("ClusterNetwork", "cluster-1", "True"),
        ready("ClusterNetwork", "cluster-2", "True"),
        ready("ClusterNetwork", "bare", "True"),
        ready("ClusterNetwork", "broken", "True"),
        ready("ClusterNetwork", "waiting", "False"),
        uplink("vc1", "cluster-1", &json!({})),
        uplink("vc2", "cluster-2", &json!({"zone": "a"})),
        vlan_status("cluster-1", "node1", "True"),
        vlan_status("cluster-1", "node2", "True"),
        vlan_status("cluster-2", "node1", "True"),
        vlan_status("broken", "node1", "True"),
        vlan_status("broken", "node2", "False"),
        vlan_status("waiting", "node1", "True"),
    ]
}

fn dhcp(name: &str, network: &str, vlan: u16) -> Value {
    json!({
        "apiVersion": "network.harvesterhci.io/v1beta1", "kind": "HostNetworkConfig", "metadata": {"name": name},
        "spec": {"clusterNetwork": network, "vlanID": vlan, "mode": "dhcp"},
    })
}

fn fixed(network: &str, ips: &Value) -> Value {
    with(&dhcp("hnc", network, 2012), &[("/spec/mode", json!("static")), ("/spec/ips", ips.clone())])
}

fn three() -> Value {
    json!({"node1": "192.168.1.10/24", "node2": "192.168.1.11/24", "node3": "192.168.1.12/24"})
}

fn machine(network: &str) -> [Value; 2] {
    [
        json!({
            "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
            "metadata": {"name": "overlay", "namespace": "default", "labels": {"network.harvesterhci.io/clusternetwork": network}},
            "spec": {"config": r#"{"type":"kube-ovn","provider":"overlay.default.ovn"}"#},
        }),
        json!({
            "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "vm1", "namespace": "default"},
            "spec": {"template": {"spec": {"networks": [{"name": "net", "multus": {"networkName": "overlay"}}]}}},
        }),
    ]
}

/// Each row: what is written, and what is refused about it; nothing for the neighbour that is taken.
fn creates(rows: &[(&str, Value, &[&str])]) {
    let cluster = Cluster::new(stored());
    for (what, object, wanted) in rows {
        assert_eq!(refusals(&cluster.create(object)), *wanted, "{what}");
    }
}

#[test]
fn the_cluster_network_must_be_there_and_ready() {
    creates(&[
        ("ready", dhcp("hnc", "cluster-1", 2012), &[]),
        ("the installer's", dhcp("hnc", "mgmt", 2014), &[]),
        (
            "not there",
            dhcp("hnc", "cluster-3", 2012),
            &[r#"spec.clusterNetwork: Not found: "cluster-3": there is no such cluster network; create it first"#],
        ),
        (
            "13 bytes",
            dhcp("hnc", "cluster-00013", 2012),
            &[
                r#"spec.clusterNetwork: Invalid value: "cluster-00013": has 13 bytes; devices are named after it, so it may have at most 12"#,
            ],
        ),
        (
            "no node connected",
            dhcp("hnc", "bare", 2012),
            &[
                r#"spec.clusterNetwork: Invalid value: "bare": no node is connected to the cluster network; create a VlanConfig for it"#,
            ],
        ),
        (
            "a node not connected properly",
            dhcp("hnc", "broken", 2012),
            &[
                r#"spec.clusterNetwork: Invalid value: "broken": node "node2" is not connected properly: VlanStatus "broken-node2" is not ready"#,
            ],
        ),
        (
            "not ready",
            dhcp("hnc", "waiting", 2012),
            &[r#"spec.clusterNetwork: Invalid value: "waiting": the cluster network is not ready"#],
        ),
    ]);
}

#[test]
fn vlans_are_from_2_to_4094() {
    let wrong =
        |id: u16| format!("spec.vlanID: Invalid value: {id}: must be from 2 to 4094: the uplink itself uses 0 and 1");
    creates(&[
        ("2", dhcp("hnc", "cluster-1", 2), &[]),
        ("4094", dhcp("hnc", "cluster-1", 4094), &[]),
        ("0", dhcp("hnc", "cluster-1", 0), &[&wrong(0)]),
        ("1", dhcp("hnc", "cluster-1", 1), &[&wrong(1)]),
        ("4095", dhcp("hnc", "cluster-1", 4095), &[&wrong(4095)]),
    ]);
}

#[test]
fn a_vlan_of_a_cluster_network_is_taken_once() {
    let cluster = Cluster::new(stored()).and([dhcp("first", "cluster-1", 2012)]);
    assert_eq!(refusals(&cluster.create(&dhcp("second", "cluster-1", 2013))), [""; 0]);
    assert_eq!(refusals(&cluster.create(&dhcp("second", "cluster-2", 2012))), [""; 0]);
    let wanted =
        [r#"spec.vlanID: Duplicate value: 2012: "first" has this VLAN of cluster network "cluster-1" already"#];
    assert_eq!(refusals(&cluster.create(&dhcp("second", "cluster-1", 2012))), wanted);
    let cluster = cluster.and([dhcp("second", "cluster-1", 2013)]);
    assert_eq!(refusals(&cluster.update(&dhcp("second", "cluster-1", 2012))), wanted);
    assert_eq!(refusals(&cluster.update(&dhcp("second", "cluster-1", 2014))), [""; 0]);
}

#[test]
fn the_installers_interface_is_not_taken() {
    let report = |interfaces: Value| {
        json!({
            "apiVersion": "network.t-caas.telekom.com/v1alpha1", "kind": "NodeNetworkStatus",
            "metadata": {"name": "node1"}, "status": {"interfaces": interfaces},
        })
    };
    let cluster = Cluster::new(stored()).and([report(json!([
        {"name": "mgmt-br", "type": "linux-bridge"},
        {"name": "mgmt-br.2021", "type": "vlan", "parent": "mgmt-br", "vlanID": 2021},
        {"name": "reach", "type": "vlan", "parent": "mgmt-br", "vlanID": 2022},
        {"name": "mgmt-br.2014", "type": "vlan", "parent": "mgmt-br", "vlanID": 2014, "madeBy": "netloom"},
        {"name": "ens1.2015", "type": "vlan", "parent": "ens1", "vlanID": 2015},
    ]))]);
    let refused = |vlan: u16, device: &str| {
        let wanted = format!(
            "spec.vlanID: Invalid value: {vlan}: node \"node1\" has the interface {device:?} already, and no HostNetworkConfig made it"
        );
        assert_eq!(refusals(&cluster.create(&dhcp("hnc", "mgmt", vlan))), [wanted]);
    };
    refused(2021, "mgmt-br.2021");
    refused(2022, "reach");
    let created = refusals(&cluster.create(&dhcp("hnc", "mgmt", 2014)));
    assert_eq!(created, [""; 0], "an agent made it for an object that is gone");
    let cluster = cluster.and([dhcp("hnc", "mgmt", 2015)]);
    let changed = refusals(&cluster.update(&dhcp("hnc", "mgmt", 2014)));
    assert_eq!(changed, [""; 0], "an agent made it before the object was changed");
}

#[test]
fn fixed_addresses_are_for_the_covered_nodes_and_for_no_other() {
    let two = json!({"node1": "192.168.1.10/24", "node2": "192.168.1.11/24"});
    let selected = |object: &Value| with(object, &[("/spec/nodeSelector/matchLabels/zone", json!("a"))]);
    creates(&[
        ("one for each", fixed("cluster-1", &three()), &[]),
        ("one for each that the uplink reaches", fixed("cluster-2", &two), &[]),
        ("one for each that the selector means", selected(&fixed("cluster-1", &two)), &[]),
        (
            "mgmt reaches the witness too",
            fixed("mgmt", &three()),
            &[
                r#"spec.ips[witness]: Required value: node "witness" gets the interface and has no address: add one, or do not select the node"#,
            ],
        ),
        (
            "none",
            fixed("cluster-1", &json!({})),
            &["spec.ips: Required value: mode static needs an address for each node"],
        ),
        (
            "one missing",
            fixed("cluster-1", &two),
            &[
                r#"spec.ips[node3]: Required value: node "node3" gets the interface and has no address: add one, or do not select the node"#,
            ],
        ),
        (
            "one too many",
            fixed("cluster-2", &three()),
            &[
                r#"spec.ips[node3]: Invalid value: "192.168.1.12/24": node "node3" does not get the interface, so it takes no address: take this entry away, or see why: there is no such node, spec.nodeSelector leaves it out, or no uplink connects it"#,
            ],
        ),
    ]);
}

#[test]
fn fixed_addresses_are_hosts_of_one_ipv4_subnet() {
    const FORM: &str = "must be an IPv4 address with the length of its prefix, such as 192.168.1.10/24";
    let with_second = |text: &str| fixed("cluster-2", &json!({"node1": "192.168.1.10/24", "node2": text}));
    let cluster = Cluster::new(stored());
    let refused = |text: &str, why: &str| {
        let found = refusals(&cluster.create(&with_second(text)));
        assert_eq!(found, [format!("spec.ips[node2]: Invalid value: {text:?}: {why}")], "{text}");
    };
    assert_eq!(refusals(&cluster.create(&with_second("192.168.1.254/24"))), [""; 0]);
    refused(
        "192.168.2.11/24",
        r#"is in 192.168.2.0/24 and the address of node "node1" is in 192.168.1.0/24: all must be in one subnet"#,
    );
    refused(
        "192.168.1.11/25",
        r#"is in 192.168.1.0/25 and the address of node "node1" is in 192.168.1.0/24: all must be in one subnet"#,
    );
    refused("fd00::1/64", "IPv6 is not possible here; give an IPv4 address");
    refused("192.168.1.11", FORM);
    refused("192.168.1.11/33", FORM);
    refused("192.168.1.011/24", FORM);
    refused("", FORM);
    refused("192.168.1.11/0", "the prefix must have 1 to 32 bits");
    refused(
        "192.168.1.0/24",
        "is the first or last address of 192.168.1.0/24, which means the network or everybody in it",
    );
    refused(
        "192.168.1.255/24",
        "is the first or last address of 192.168.1.0/24, which means the network or everybody in it",
    );
    for text in ["0.0.0.0/24", "0.0.0.1/24", "127.0.0.1/24", "224.0.0.5/24", "255.255.255.255/32"] {
        refused(text, "no host in a network can have this address");
    }
    let duplicate = refusals(&cluster.create(&with_second("192.168.1.10/24")));
    assert_eq!(duplicate, [r#"spec.ips[node2]: Duplicate value: "192.168.1.10/24": another node has this address"#]);
    let point_to_point = fixed("cluster-2", &json!({"node1": "10.0.0.0/31", "node2": "10.0.0.1/31"}));
    assert_eq!(refusals(&cluster.create(&point_to_point)), [""; 0], "both addresses of a /31 are hosts");
}

#[test]
fn addresses_beside_dhcp_are_warned_of() {
    let cluster = Cluster::new(stored());
    assert_eq!(cluster.create(&dhcp("hnc", "cluster-1", 2012)).warnings, [""; 0]);
    let verdict = cluster.create(&with(&dhcp("hnc", "cluster-1", 2012), &[("/spec/ips", three())]));
    assert!(verdict.is_allowed());
    assert_eq!(verdict.warnings, ["spec.ips is left unused: with mode dhcp the addresses come from the server"]);
}

#[test]
fn one_subnet_by_two_interfaces_is_warned_of() {
    let warnings = |beside: Value| {
        let verdict = Cluster::new(stored()).and([beside]).create(&fixed("cluster-1", &three()));
        assert!(verdict.is_allowed(), "{verdict:?}");
        verdict.warnings
    };
    let other = |mode: &str, node: &str, address: &str| {
        let ips = json!({node: address});
        let rows = [("/metadata/name", json!("other")), ("/spec/vlanID", json!(7)), ("/spec/mode", json!(mode))];
        with(&fixed("cluster-2", &ips), &rows)
    };
    let report = |link: Value| {
        json!({
            "apiVersion": "network.t-caas.telekom.com/v1alpha1", "kind": "NodeNetworkStatus",
            "metadata": {"name": "node1"}, "status": {"interfaces": [link]},
        })
    };
    let of_nobody = [
        other("static", "node1", "192.168.2.10/24"),
        other("static", "node9", "192.168.1.10/24"),
        other("dhcp", "node1", "192.168.1.10/24"),
        report(json!({"name": "mgmt-br", "addresses": ["192.168.2.10/24", "fd00::1/64"]})),
        report(json!({"name": "br.7", "addresses": ["192.168.1.10/24"], "madeBy": "netloom"})),
    ];
    for beside in of_nobody {
        assert_eq!(warnings(beside.clone()), [""; 0], "{beside}");
    }
    for address in ["192.168.1.10/24", "192.168.1.200/24", "192.168.9.1/16"] {
        let overlap = |by: &str| {
            format!(
                r#"node "node1" has {address} {by}, and spec.ips[node1] overlaps with that: what is in both subnets it sends through one of the two interfaces"#
            )
        };
        let reported = warnings(other("static", "node1", address));
        assert_eq!(reported, [overlap(r#"by HostNetworkConfig "other""#)]);
        assert_eq!(warnings(report(json!({"name": "mgmt-br", "addresses": [address]}))), [overlap("on mgmt-br")]);
    }
}

#[test]
fn a_selector_must_be_one() {
    let expression = |value: Value| {
        with(&dhcp("hnc", "cluster-1", 2012), &[("/spec/nodeSelector/matchExpressions", json!([value]))])
    };
    creates(&[
        ("In", expression(json!({"key": "zone", "operator": "In", "values": ["a"]})), &[]),
        (
            "In without values",
            expression(json!({"key": "zone", "operator": "In"})),
            &[
                "spec.nodeSelector.matchExpressions[0].values: Required value: operators In and NotIn compare with values",
            ],
        ),
        (
            "Exists with values",
            expression(json!({"key": "zone", "operator": "Exists", "values": ["a"]})),
            &[
                "spec.nodeSelector.matchExpressions[0].values: Forbidden: operators Exists and DoesNotExist compare with nothing",
            ],
        ),
        (
            "an operator that is none",
            expression(json!({"key": "zone", "operator": "Near", "values": ["a"]})),
            &[
                r#"spec.nodeSelector.matchExpressions[0].operator: Unsupported value: "Near": supported values: "In", "NotIn", "Exists", "DoesNotExist""#,
            ],
        ),
    ]);
}

#[test]
fn the_underlay_is_one_and_reaches_every_worker() {
    let underlay = |object: &Value| with(object, &[("/spec/underlay", json!(true))]);
    let selected =
        with(&underlay(&dhcp("hnc", "cluster-1", 2012)), &[("/spec/nodeSelector/matchLabels/zone", json!("a"))]);
    creates(&[
        ("reaches all", underlay(&dhcp("hnc", "cluster-1", 2012)), &[]),
        ("mgmt reaches all", underlay(&dhcp("hnc", "mgmt", 2012)), &[]),
        (
            "uplinks do not reach all",
            underlay(&dhcp("hnc", "cluster-2", 2012)),
            &[
                r#"spec.clusterNetwork: Invalid value: "cluster-2": does not reach node "node3", and the underlay must reach every node"#,
            ],
        ),
        (
            "the selector does not mean all",
            selected,
            &[r#"spec.nodeSelector: Forbidden: leaves out node "node3", and the underlay must reach every node"#],
        ),
    ]);
    let first = underlay(&dhcp("first", "cluster-1", 2012));
    let cluster = Cluster::new(stored()).and([first.clone(), dhcp("second", "cluster-1", 2013)]);
    let wanted = [r#"spec.underlay: Forbidden: "first" is the underlay already, and there can be one only"#];
    assert_eq!(refusals(&cluster.create(&underlay(&dhcp("third", "cluster-1", 2014)))), wanted);
    assert_eq!(refusals(&cluster.update(&underlay(&dhcp("second", "cluster-1", 2013)))), wanted);
    let described = with(&first, &[("/spec/description", json!("tunnels"))]);
    assert_eq!(refusals(&cluster.update(&described)), [""; 0], "it does not stand in its own way");
    let going = with(&first, &[("/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z"))]);
    let cluster = Cluster::new(stored()).and([going]);
    assert_eq!(
        refusals(&cluster.create(&underlay(&dhcp("third", "cluster-1", 2014)))),
        [""; 0],
        "one that goes does not count"
    );
}

#[test]
fn the_underlay_stays_while_machines_use_overlays() {
    let before = with(&fixed("cluster-1", &three()), &[("/spec/underlay", json!(true))]);
    let why = "Forbidden: machines use overlay networks whose tunnels are on this interface: default/vm1";
    let quiet = Cluster::new(stored()).and([before.clone()]);
    let busy = Cluster::new(stored()).and([before.clone()]).and(machine("cluster-1"));
    let changes: [(&str, &str, Value); 4] = [
        ("spec.underlay", "/spec/underlay", json!(false)),
        ("spec.vlanID", "/spec/vlanID", json!(2013)),
        ("spec.mode", "/spec/mode", json!("dhcp")),
        ("spec.ips", "/spec/ips/node1", json!("192.168.1.20/24")),
    ];
    for (path, pointer, value) in changes {
        let after = with(&before, &[(pointer, value)]);
        assert_eq!(refusals(&quiet.update(&after)), [""; 0], "{path} without machines");
        let found = refusals(&busy.update(&after));
        assert_eq!(found, [format!("{path}: {why}")], "{path} with machines");
    }
    let described = with(&before, &[("/spec/description", json!("tunnels"))]);
    assert_eq!(refusals(&busy.update(&described)), [""; 0]);
    let joined = Cluster::new(stored()).and([before.clone(), node("node4", &json!({}))]).and(machine("cluster-1"));
    let more = with(&before, &[("/spec/ips/node4", json!("192.168.1.13/24"))]);
    assert_eq!(refusals(&joined.update(&more)), [""; 0], "an address for a node that joined");
}

#[test]
fn the_address_of_a_node_that_left_stands_until_addresses_are_edited() {
    let standing = fixed("cluster-1", &three());
    let left = stored().into_iter().filter(|object| object["metadata"]["name"] != "node3");
    let cluster = Cluster::new(left).and([standing.clone()]);
    let underlay = with(&standing, &[("/spec/underlay", json!(true))]);
    assert_eq!(refusals(&cluster.update(&underlay)), [""; 0], "an edit of something else");
    let edited = with(&standing, &[("/spec/ips/node2", json!("192.168.1.20/24"))]);
    let wanted = [
        r#"spec.ips[node3]: Invalid value: "192.168.1.12/24": node "node3" does not get the interface, so it takes no address: take this entry away, or see why: there is no such node, spec.nodeSelector leaves it out, or no uplink connects it"#,
    ];
    assert_eq!(refusals(&cluster.update(&edited)), wanted);
    let without = fixed("cluster-1", &json!({"node1": "192.168.1.10/24", "node2": "192.168.1.20/24"}));
    assert_eq!(refusals(&cluster.update(&without)), [""; 0], "its line goes in the same edit");
}

#[test]
fn an_underlay_is_not_deleted() {
    let plain = dhcp("hnc", "cluster-1", 2012);
    assert_eq!(refusals(&Cluster::new(stored()).and([plain.clone()]).delete(&plain)), [""; 0]);
    let underlay = with(&plain, &[("/spec/underlay", json!(true))]);
    let wanted =
        ["spec.underlay: Forbidden: tunnels use this interface; set underlay to false before deleting the object"];
    assert_eq!(refusals(&Cluster::new(stored()).and([underlay.clone()]).delete(&underlay)), wanted);
}

#[test]
fn place_mode_and_addresses_can_change() {
    let cluster = Cluster::new(stored()).and([dhcp("hnc", "cluster-1", 2012)]);
    assert_eq!(refusals(&cluster.update(&dhcp("hnc", "cluster-1", 2013))), [""; 0], "another VLAN");
    assert_eq!(refusals(&cluster.update(&dhcp("hnc", "cluster-2", 2012))), [""; 0], "another cluster network");
    assert_eq!(refusals(&cluster.update(&fixed("cluster-1", &three()))), [""; 0], "fixed addresses");
    let wanted = [r#"spec.clusterNetwork: Not found: "gone": there is no such cluster network; create it first"#];
    assert_eq!(refusals(&cluster.update(&dhcp("hnc", "gone", 2012))), wanted);
}

#[test]
fn what_a_write_does_not_touch_is_not_held_against_it() {
    let object = fixed("cluster-1", &three());
    let later = Cluster::new(stored()).and([object.clone(), node("node4", &json!({}))]);
    let described = with(&object, &[("/spec/description", json!("storage"))]);
    assert_eq!(refusals(&later.update(&described)), [""; 0], "a node joined meanwhile");
    let labelled = with(&object, &[("/metadata/labels/team", json!("storage"))]);
    assert_eq!(refusals(&later.update(&labelled)), [""; 0], "only metadata");
    let wanted = [
        r#"spec.ips[node4]: Required value: node "node4" gets the interface and has no address: add one, or do not select the node"#,
    ];
    let readdressed = with(&object, &[("/spec/ips/node1", json!("192.168.1.20/24"))]);
    assert_eq!(refusals(&later.update(&readdressed)), wanted, "addresses are touched");
    let complete = with(&object, &[("/spec/ips/node4", json!("192.168.1.13/24"))]);
    assert_eq!(refusals(&later.update(&complete)), [""; 0]);

    let unplugged: Vec<Value> = stored()
        .into_iter()
        .filter(|object| object["kind"] != "VlanStatus" && object["kind"] != "VlanConfig")
        .collect();
    let cluster = Cluster::new(unplugged).and([dhcp("hnc", "cluster-1", 2012)]);
    let described = with(&dhcp("hnc", "cluster-1", 2012), &[("/spec/description", json!("storage"))]);
    assert_eq!(refusals(&cluster.update(&described)), [""; 0], "the uplink went meanwhile");
    let claimed = with(&dhcp("hnc", "gone", 2012), &[("/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z"))]);
    assert_eq!(refusals(&cluster.update(&claimed)).len(), 1, "only claimed to be going");
    let cluster = cluster.and([claimed.clone()]);
    assert_eq!(refusals(&cluster.update(&claimed)), [""; 0], "the removal of a finalizer");
}

#[test]
fn the_covered_nodes_are_written_into_the_annotation() {
    let cluster = Cluster::new(stored());
    let annotation = |object: &Value| {
        let patch = cluster.create(object).patch.unwrap_or_default();
        let added = &patch[0]["value"];
        added.get("network.harvesterhci.io/matched-nodes").and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    assert_eq!(annotation(&dhcp("hnc", "cluster-1", 2012)), r#"["node1","node2","node3"]"#);
    assert_eq!(annotation(&dhcp("hnc", "cluster-2", 2012)), r#"["node1","node2"]"#);
    assert_eq!(annotation(&dhcp("hnc", "mgmt", 2012)), r#"["node1","node2","node3","witness"]"#);
    assert_eq!(annotation(&dhcp("hnc", "bare", 2012)), "[]");
    let selected = with(&dhcp("hnc", "cluster-1", 2012), &[("/spec/nodeSelector/matchLabels/zone", json!("b"))]);
    assert_eq!(annotation(&selected), r#"["node3"]"#);
    let current =
        with(&selected, &[("/metadata/annotations", json!({"network.harvesterhci.io/matched-nodes": r#"["node3"]"#}))]);
    assert_eq!(cluster.create(&current).patch, None, "nothing to do");
}
