//! Every rule of `ClusterNetwork`, `VlanConfig`, `LinkMonitor` and of attachments to cluster networks,
//! with the nearest object that is taken.

use netloom_admission::User;
use netloom_api::hostnet::names;
use serde_json::{Value, json};

use crate::cluster::{Cluster, node, refusals, with};

const API: &str = "network.harvesterhci.io/v1beta1";

fn network(name: &str) -> Value {
    json!({"apiVersion": API, "kind": "ClusterNetwork", "metadata": {"name": name}})
}

fn uplink(name: &str, network: &str, selector: &Value) -> Value {
    json!({
        "apiVersion": API, "kind": "VlanConfig",
        "metadata": {"name": name, "labels": {"network.harvesterhci.io/clusternetwork": network}},
        "spec": {"clusterNetwork": network, "nodeSelector": selector, "uplink": {"nics": ["eth1"]}},
    })
}

fn host_network(name: &str, network: &str, underlay: bool) -> Value {
    json!({
        "apiVersion": API, "kind": "HostNetworkConfig", "metadata": {"name": name},
        "spec": {"clusterNetwork": network, "vlanID": 2012, "mode": "dhcp", "underlay": underlay},
    })
}

fn attachment(namespace: &str, name: &str, network: &str, config: &Value) -> Value {
    json!({
        "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
        "metadata": {"name": name, "namespace": namespace, "labels": {"network.harvesterhci.io/clusternetwork": network}},
        "spec": {"config": config.to_string()},
    })
}

fn bridged(name: &str, network: &str, vlan: u16) -> Value {
    attachment("default", name, network, &json!({"type": "bridge", "bridge": format!("{network}-br"), "vlan": vlan}))
}

fn running(name: &str, attachment: &str, node: &str) -> Value {
    json!({
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": {"name": name, "namespace": "default"},
        "spec": {"networks": [{"name": "net", "multus": {"networkName": attachment}}]},
        "status": {"nodeName": node},
    })
}

#[test]
fn an_uplink_without_interfaces_is_warned_of() {
    let warnings = |nics: Value| {
        let made = with(&uplink("u", "cn1", &json!({})), &[("/spec/uplink/nics", nics)]);
        let verdict = Cluster::new(stored()).create(&made);
        assert!(verdict.is_allowed(), "{verdict:?}");
        verdict.warnings
    };
    assert_eq!(warnings(json!(["eth1"])), [""; 0]);
    let warning = "spec.uplink.nics is empty: the bond has no interface, so nothing reaches the cluster network from outside of the node";
    assert_eq!(warnings(json!([])), [warning]);
}

#[test]
fn the_network_of_the_installer_is_not_yours_to_create() {
    let cluster = Cluster::new(stored().into_iter().filter(|object| object["metadata"]["name"] != "mgmt"));
    let found = refusals(&cluster.create(&host_network("h", "mgmt", false)));
    assert!(found.iter().any(|line| line.contains("bridge that an installer makes for it")), "{found:?}");
}

fn stored() -> Vec<Value> {
    vec![
        node("node1", &json!({"zone": "a"})),
        node("node2", &json!({"zone": "a"})),
        node("node3", &json!({"zone": "b"})),
        network("mgmt"),
        network("cn1"),
        network("cn2"),
    ]
}

fn controller() -> User {
    User::new("system:serviceaccount:netloom-system:netloom-controller", &[])
}

#[test]
fn a_cluster_network_has_a_short_name_and_no_mtu_of_its_own() {
    let cluster = Cluster::default();
    assert_eq!(refusals(&cluster.create(&network("cluster-0012"))), [""; 0]);
    let wanted = [
        r#"metadata.name: Invalid value: "cluster-00013": has 13 bytes; devices are named after it, so it may have at most 12"#,
    ];
    assert_eq!(refusals(&cluster.create(&network("cluster-00013"))), wanted);
    let annotated =
        with(&network("cn1"), &[("/metadata/annotations", json!({"network.harvesterhci.io/uplink-mtu": "1500"}))]);
    let wanted = [
        "metadata.annotations[network.harvesterhci.io/uplink-mtu]: Forbidden: is made from the VlanConfigs of the cluster network; leave it out",
    ];
    assert_eq!(refusals(&cluster.create(&annotated)), wanted);
    assert_eq!(refusals(&cluster.by(controller()).create(&annotated)), [""; 0]);
}

#[test]
fn the_mtu_of_a_cluster_network_is_that_of_its_uplinks() {
    const PATH: &str = "metadata.annotations[network.harvesterhci.io/uplink-mtu]";
    let annotated = |name: &str, mtu: &str| {
        with(&network(name), &[("/metadata/annotations", json!({"network.harvesterhci.io/uplink-mtu": mtu}))])
    };
    let big = with(&uplink("vc1", "cn1", &json!({})), &[("/spec/uplink/linkAttributes/mtu", json!(9000))]);
    let cluster = Cluster::new(stored()).and([big]);
    assert_eq!(refusals(&cluster.update(&annotated("cn1", "9000"))), [""; 0]);
    let wrong =
        |text: &str| format!("{PATH}: Invalid value: {text:?}: VlanConfig \"vc1\" has MTU 9000; change it there");
    assert_eq!(refusals(&cluster.update(&annotated("cn1", "1500"))), [wrong("1500")]);
    assert_eq!(refusals(&cluster.update(&annotated("cn1", "0"))), [wrong("0")]);
    for text in ["", "many", "575", "9001", "-1"] {
        let wanted = format!("{PATH}: Invalid value: {text:?}: must be 0 or a whole number from 576 to 9000");
        assert_eq!(refusals(&cluster.update(&annotated("cn1", text))), [wanted]);
    }

    assert_eq!(refusals(&cluster.update(&annotated("mgmt", "9000"))), [""; 0], "nobody uses mgmt");
    let system =
        attachment("harvester-system", "storagenetwork-x", "mgmt", &json!({"type": "bridge", "bridge": "mgmt-br"}));
    let cluster = Cluster::new(stored()).and([system]);
    let wanted =
        [format!("{PATH}: Forbidden: the platform's own networks use mgmt: harvester-system/storagenetwork-x")];
    assert_eq!(refusals(&cluster.update(&annotated("mgmt", "9000"))), wanted);
    let cluster = Cluster::new(stored()).and([bridged("net", "mgmt", 7), running("vm1", "default/net", "node1")]);
    let wanted = [format!("{PATH}: Forbidden: machines use mgmt: default/vm1")];
    assert_eq!(refusals(&cluster.update(&annotated("mgmt", "9000"))), wanted);
    assert_eq!(
        refusals(&cluster.and([annotated("mgmt", "9000")]).update(&network("mgmt"))),
        wanted,
        "it is taken back"
    );
}

#[test]
fn a_cluster_network_goes_when_nothing_is_left_of_it() {
    let cluster = Cluster::new(stored());
    assert_eq!(refusals(&cluster.delete(&network("cn1"))), [""; 0]);
    let wanted = ["metadata.name: Forbidden: the nodes themselves are reached through this cluster network; it stays"];
    assert_eq!(refusals(&cluster.delete(&network("mgmt"))), wanted);
    assert_eq!(refusals(&Cluster::new(stored()).by(controller()).delete(&network("mgmt"))), wanted);
    let cluster =
        cluster.and([uplink("vc1", "cn1", &json!({})), host_network("hnc1", "cn1", false), bridged("net", "cn1", 7)]);
    let wanted = [
        "metadata.name: Forbidden: VlanConfigs of the cluster network are left: vc1",
        "metadata.name: Forbidden: HostNetworkConfigs of the cluster network are left: hnc1",
        "metadata.name: Forbidden: attachments of the cluster network are left: default/net",
    ];
    assert_eq!(refusals(&cluster.delete(&network("cn1"))), wanted);
    assert_eq!(refusals(&cluster.delete(&network("cn2"))), [""; 0]);
    let going = |object: &Value| with(object, &[("/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z"))]);
    let cluster = Cluster::new(stored())
        .and([going(&uplink("vc1", "cn1", &json!({}))), going(&host_network("hnc1", "cn1", false))]);
    assert_eq!(refusals(&cluster.delete(&network("cn1"))), [""; 0], "they only wait for nodes");
}

#[test]
fn the_uplink_of_mgmt_is_only_shown() {
    let mirror = uplink("mgmt-vlanconfig-node1", "mgmt", &json!({}));
    let wanted = [
        r#"spec.clusterNetwork: Forbidden: the uplink of "mgmt" is made by the installer; its VlanConfigs only show it"#,
    ];
    assert_eq!(refusals(&Cluster::new(stored()).create(&mirror)), wanted);
    let cluster = Cluster::new(stored()).and([mirror.clone(), uplink("vc1", "cn1", &json!({}))]);
    let changed = with(&mirror, &[("/spec/description", json!("mine"))]);
    assert_eq!(refusals(&cluster.update(&changed)), wanted);
    assert_eq!(refusals(&cluster.update(&uplink("vc1", "mgmt", &json!({})))), wanted, "moved to mgmt");
    assert_eq!(refusals(&cluster.delete(&mirror)), wanted);
    let cluster = cluster.by(controller());
    assert_eq!(refusals(&cluster.update(&changed)), [""; 0]);
    assert_eq!(refusals(&cluster.delete(&mirror)), [""; 0]);
    assert_eq!(refusals(&Cluster::new(stored()).by(controller()).create(&mirror)), [""; 0]);
    let wanted = [
        r#"metadata.name: Invalid value: "mgmt-vlanconfig-node1": objects that show the uplinks of "mgmt" are called so; choose another name"#,
    ];
    assert_eq!(refusals(&Cluster::new(stored()).create(&uplink("mgmt-vlanconfig-node1", "cn1", &json!({})))), wanted);
}

#[test]
fn an_uplink_leads_into_a_cluster_network_that_is_there() {
    let cluster = Cluster::new(stored());
    assert_eq!(refusals(&cluster.create(&uplink("vc1", "cn1", &json!({})))), [""; 0]);
    let wanted = [r#"spec.clusterNetwork: Not found: "cn3": there is no such cluster network; create it first"#];
    assert_eq!(refusals(&cluster.create(&uplink("vc1", "cn3", &json!({})))), wanted);
    let long = "cluster-00013";
    let wanted = [
        r#"spec.clusterNetwork: Invalid value: "cluster-00013": has 13 bytes; devices are named after it, so it may have at most 12"#,
    ];
    assert_eq!(refusals(&cluster.create(&uplink("vc1", long, &json!({})))), wanted);
    let going = with(&network("cn1"), &[("/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z"))]);
    let wanted = [r#"spec.clusterNetwork: Not found: "cn1": the cluster network is being deleted"#];
    assert_eq!(refusals(&Cluster::new(stored()).and([going]).create(&uplink("vc1", "cn1", &json!({})))), wanted);
}

#[test]
fn mtus_are_in_range_and_the_same_for_a_cluster_network() {
    let with_mtu = |name: &str, selector: &str, mtu: i32| {
        with(&uplink(name, "cn1", &json!({"zone": selector})), &[("/spec/uplink/linkAttributes/mtu", json!(mtu))])
    };
    let cluster = Cluster::new(stored());
    for mtu in [0, 576, 1500, 9000] {
        assert_eq!(refusals(&cluster.create(&with_mtu("vc1", "a", mtu))), [""; 0], "{mtu}");
    }
    for mtu in [-1, 1, 575, 9001] {
        let wanted = format!("spec.uplink.linkAttributes.mtu: Invalid value: {mtu}: must be 0 or from 576 to 9000");
        assert_eq!(refusals(&cluster.create(&with_mtu("vc1", "a", mtu))), [wanted]);
    }
    let cluster = cluster.and([uplink("vc1", "cn1", &json!({"zone": "a"}))]);
    assert_eq!(refusals(&cluster.create(&with_mtu("vc2", "b", 1500))), [""; 0], "0 and nothing mean 1500");
    let wanted = [
        r#"spec.uplink.linkAttributes.mtu: Invalid value: 9000: "vc1" has 1500: all VlanConfigs of cluster network "cn1" have the same"#,
    ];
    assert_eq!(refusals(&cluster.create(&with_mtu("vc2", "b", 9000))), wanted);
    assert_eq!(refusals(&cluster.update(&with_mtu("vc1", "a", 9000))), [""; 0], "the only one may change");
}

#[test]
fn a_node_has_one_uplink_into_a_cluster_network() {
    let cluster = Cluster::new(stored()).and([uplink("vc1", "cn1", &json!({"zone": "a"}))]);
    assert_eq!(refusals(&cluster.create(&uplink("vc2", "cn1", &json!({"zone": "b"})))), [""; 0]);
    let wanted = [r#"spec.nodeSelector: Forbidden: "vc1" connects to "cn1" already: node1, node2"#];
    assert_eq!(refusals(&cluster.create(&uplink("vc2", "cn1", &json!({})))), wanted);
    let cluster = cluster.and([uplink("vc2", "cn1", &json!({"zone": "b"}))]);
    assert_eq!(refusals(&cluster.update(&uplink("vc2", "cn1", &json!({})))), wanted);
    assert_eq!(refusals(&cluster.update(&uplink("vc1", "cn1", &json!({"zone": "none"})))), [""; 0]);
}

#[test]
fn an_interface_is_in_one_bond() {
    let nics = |network: &str, nics: Value| with(&uplink("vc2", network, &json!({})), &[("/spec/uplink/nics", nics)]);
    let mirror = with(&uplink("mgmt-vlanconfig-node3", "mgmt", &json!({})), &[("/spec/uplink/nics", json!(["eth0"]))]);
    let cluster = Cluster::new(stored()).and([uplink("vc1", "cn1", &json!({"zone": "a"})), mirror]);
    assert_eq!(refusals(&cluster.create(&nics("cn2", json!(["eth2", "eth3"])))), [""; 0]);
    let wanted = [r#"spec.uplink.nics[1]: Duplicate value: "eth1": "vc1" has it in its bond on node "node1""#];
    assert_eq!(refusals(&cluster.create(&nics("cn2", json!(["eth2", "eth1"])))), wanted);
    let wanted =
        [r#"spec.uplink.nics[0]: Duplicate value: "eth0": "mgmt-vlanconfig-node3" has it in its bond on node "node3""#];
    assert_eq!(refusals(&cluster.create(&nics("cn2", json!(["eth0"])))), wanted, "used by the management path");
    let elsewhere = with(&nics("cn2", json!(["eth1"])), &[("/spec/nodeSelector/zone", json!("b"))]);
    assert_eq!(refusals(&cluster.create(&elsewhere)), [""; 0], "on another node");
    for (nic, why) in [
        ("lo", "is how a node talks to itself; name interfaces that lead out of it"),
        ("cn2-bo", r#"is made for cluster network "cn2"; name interfaces that nodes have without it"#),
        ("cn1-br", r#"is made for cluster network "cn1"; name interfaces that nodes have without it"#),
    ] {
        let wanted = [format!("spec.uplink.nics[0]: Invalid value: {nic:?}: {why}")];
        assert_eq!(refusals(&cluster.create(&nics("cn2", json!([nic])))), wanted);
    }
    assert_eq!(refusals(&cluster.create(&nics("cn2", json!(["other-bo"])))), [""; 0], "nobody here makes that one");
    let wanted = [r#"spec.uplink.nics[1]: Duplicate value: "eth2": is listed twice"#];
    assert_eq!(refusals(&cluster.create(&nics("cn2", json!(["eth2", "eth2"])))), wanted);
    let found = refusals(&cluster.create(&nics("cn2", json!(["eth 2"]))));
    assert!(found[0].starts_with(r#"spec.uplink.nics[0]: Invalid value: "eth 2": "#), "{found:?}");
}

#[test]
fn hardware_addresses_are_of_one_station() {
    let cluster = Cluster::new(stored());
    let object = |text: &str| {
        with(&uplink("vc1", "cn1", &json!({})), &[("/spec/uplink/linkAttributes/hardwareAddr", json!(text))])
    };
    for text in ["02:00:5e:00:00:01", "AgBeAAAB"] {
        assert_eq!(refusals(&cluster.create(&object(text))), [""; 0], "{text}");
    }
    for (text, why) in [
        ("02:00:5e", "must be six bytes, as 02:00:5e:00:00:01 or in Base64"),
        ("AgBeAA==", "must be six bytes, as 02:00:5e:00:00:01 or in Base64"),
        ("01:00:5e:00:00:01", "01:00:5e:00:00:01 is not the address of one station"),
        ("AQBeAAAB", "01:00:5e:00:00:01 is not the address of one station"),
        ("00:00:00:00:00:00", "00:00:00:00:00:00 is not the address of one station"),
    ] {
        let wanted = format!("spec.uplink.linkAttributes.hardwareAddr: Invalid value: {text:?}: {why}");
        assert_eq!(refusals(&cluster.create(&object(text))), [wanted]);
    }
}

#[test]
fn the_label_of_an_uplink_is_ours() {
    let cluster = Cluster::new(stored()).and([uplink("vc1", "cn1", &json!({}))]);
    let relabelled = with(
        &uplink("vc1", "cn1", &json!({})),
        &[("/metadata/labels/network.harvesterhci.io~1clusternetwork", json!("cn2"))],
    );
    let wanted = [
        r#"metadata.labels[network.harvesterhci.io/clusternetwork]: Invalid value: "cn2": names the cluster network of the object, which is "cn1"; it is not yours to change"#,
    ];
    assert_eq!(refusals(&cluster.update(&relabelled)), wanted);
    let moved = with(
        &uplink("vc1", "cn2", &json!({})),
        &[("/metadata/labels/network.harvesterhci.io~1clusternetwork", json!("cn1"))],
    );
    let verdict = cluster.update(&moved);
    assert_eq!(refusals(&verdict), [""; 0], "a move sets it again");
    assert!(verdict.patch.unwrap().to_string().contains(r#""value":"cn2""#));
}

#[test]
fn label_and_matched_nodes_are_filled_in() {
    let cluster = Cluster::new(stored());
    let bare = with(&uplink("vc1", "cn1", &json!({"zone": "a"})), &[("/metadata/labels", Value::Null)]);
    let patch = cluster.create(&bare).patch.unwrap().to_string();
    assert!(patch.contains(r#"{"network.harvesterhci.io/clusternetwork":"cn1"}"#), "{patch}");
    assert!(patch.contains(r#"[\"node1\",\"node2\"]"#), "{patch}");
    let nowhere = uplink("vc1", "cn1", &json!({"zone": "none"}));
    let patch = cluster.create(&nowhere).patch.unwrap().to_string();
    assert!(patch.contains(r#""network.harvesterhci.io/matched-nodes":"[]""#), "{patch}");
}

#[test]
fn an_uplink_stays_while_machines_use_it() {
    let old = uplink("vc1", "cn1", &json!({"zone": "a"}));
    let cluster = Cluster::new(stored()).and([old.clone(), bridged("net", "cn1", 7), running("vm1", "net", "node1")]);
    let why = r#"Forbidden: machines that use cluster network "cn1" must be stopped first: default/vm1"#;
    let slower = with(&old, &[("/spec/uplink/bondOptions/mode", json!("802.3ad"))]);
    let narrower = with(&old, &[("/spec/nodeSelector/disk", json!("ssd"))]);
    let wider = with(&old, &[("/spec/nodeSelector", json!({}))]);
    let moved = uplink("vc1", "cn2", &json!({"zone": "a"}));
    let described = with(&old, &[("/spec/description", json!("racks 1 to 3"))]);
    assert_eq!(refusals(&cluster.update(&slower)), [format!("spec.uplink: {why}")]);
    assert_eq!(refusals(&cluster.update(&narrower)), [format!("spec.nodeSelector: {why}")]);
    assert_eq!(refusals(&cluster.update(&moved)), [format!("spec.clusterNetwork: {why}")]);
    assert_eq!(refusals(&cluster.delete(&old)), [format!("spec.clusterNetwork: {why}")]);
    assert_eq!(refusals(&cluster.update(&wider)), [""; 0], "more nodes harm nobody");
    assert_eq!(refusals(&cluster.update(&described)), [""; 0]);
    let elsewhere = Cluster::new(stored()).and([old.clone(), bridged("net", "cn1", 7), running("vm1", "net", "node3")]);
    for object in [&slower, &narrower, &moved] {
        assert_eq!(refusals(&elsewhere.update(object)), [""; 0], "the machine is on a node that is not touched");
    }
    assert_eq!(refusals(&elsewhere.delete(&old)), [""; 0]);
}

#[test]
fn an_uplink_stays_while_the_platform_or_tunnels_use_it() {
    let old = uplink("vc1", "cn1", &json!({}));
    let system =
        attachment("harvester-system", "storagenetwork-x", "cn1", &json!({"type": "bridge", "bridge": "cn1-br"}));
    let marked = with(
        &attachment("harvester-system", "other", "cn1", &json!({"type": "bridge", "bridge": "cn1-br"})),
        &[("/metadata/annotations", json!({"rwx-network.settings.harvesterhci.io": "true"}))],
    );
    for (object, name) in [(system, "storagenetwork-x"), (marked, "other")] {
        let cluster = Cluster::new(stored()).and([old.clone(), object]);
        let wanted = [format!(
            "spec.clusterNetwork: Forbidden: the platform's own networks use cluster network \"cn1\": harvester-system/{name}"
        )];
        assert_eq!(refusals(&cluster.delete(&old)), wanted);
    }
    let user = attachment("default", "storagenetwork-x", "cn1", &json!({"type": "bridge", "bridge": "cn1-br"}));
    assert_eq!(refusals(&Cluster::new(stored()).and([old.clone(), user]).delete(&old)), [""; 0], "not the platform's");

    let overlay =
        attachment("default", "overlay", "elsewhere", &json!({"type": "kube-ovn", "provider": "overlay.default.ovn"}));
    let cluster = || Cluster::new(stored()).and([old.clone(), overlay.clone(), running("vm1", "overlay", "node3")]);
    assert_eq!(refusals(&cluster().and([host_network("hnc1", "cn1", false)]).delete(&old)), [""; 0], "no underlay");
    assert_eq!(
        refusals(&cluster().and([host_network("hnc1", "cn2", true)]).delete(&old)),
        [""; 0],
        "underlay elsewhere"
    );
    let busy = cluster().and([host_network("hnc1", "cn1", true)]);
    let why = r#"Forbidden: machines use overlay networks whose tunnels are on "hnc1": default/vm1"#;
    assert_eq!(refusals(&busy.delete(&old)), [format!("spec.clusterNetwork: {why}")]);
    let changed = with(&old, &[("/spec/uplink/nics", json!(["eth1", "eth2"]))]);
    assert_eq!(refusals(&busy.update(&changed)), [format!("spec.uplink: {why}")]);
}

#[test]
fn selectors_of_uplinks_are_labels() {
    let cluster = Cluster::new(stored());
    let found = refusals(&cluster.create(&uplink("vc1", "cn1", &json!({"zone": "a b"}))));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with(r#"spec.nodeSelector[zone]: Invalid value: "a b": "#), "{found:?}");
    let found = refusals(&cluster.create(&uplink("vc1", "cn1", &json!({"a/b/c": "x"}))));
    assert!(found[0].starts_with(r#"spec.nodeSelector: Invalid value: "a/b/c": "#), "{found:?}");
}

#[test]
fn rules_for_links_are_regular_expressions() {
    let monitor = |kind: &str, name: &str| json!({"apiVersion": API, "kind": "LinkMonitor", "metadata": {"name": "lm"}, "spec": {"targetLinkRule": {"typeRule": kind, "nameRule": name}}});
    let cluster = Cluster::default();
    assert_eq!(refusals(&cluster.create(&monitor("device", "cn1(-br|-bo)"))), [""; 0]);
    assert_eq!(refusals(&cluster.create(&monitor("", ""))), [""; 0]);
    assert_eq!(
        refusals(&cluster.create(&monitor("(", "[z-a]"))),
        [
            r#"spec.targetLinkRule.typeRule: Invalid value: "(": must be a regular expression: unclosed group"#,
            r#"spec.targetLinkRule.nameRule: Invalid value: "[z-a]": must be a regular expression: invalid character class range, the start must be <= the end"#,
        ]
    );
}

#[test]
fn an_attachment_without_our_label_is_of_the_network_whose_bridge_it_uses() {
    let plain = |config: &Value| {
        let mut object = attachment("default", "net", "cn1", config);
        object["metadata"].as_object_mut().unwrap().remove("labels");
        object
    };
    let config = json!({"type": "bridge", "bridge": "cn1-br", "vlan": 7});
    let unused = Cluster::new(stored()).and([plain(&config)]);
    assert_eq!(
        refusals(&unused.delete(&network("cn1"))),
        ["metadata.name: Forbidden: attachments of the cluster network are left: default/net"]
    );
    let used =
        Cluster::new(stored()).and([uplink("vc1", "cn1", &json!({})), plain(&config), running("vm1", "net", "node1")]);
    let found = refusals(&used.delete(&uplink("vc1", "cn1", &json!({}))));
    assert!(found.iter().any(|why| why.contains("default/vm1")), "{found:?}");
    for other in [json!({"type": "macvlan", "bridge": "cn1-br"}), json!({"type": "bridge", "bridge": "docker0"})] {
        let cluster = Cluster::new(stored()).and([plain(&other)]);
        assert_eq!(refusals(&cluster.delete(&network("cn1"))), [""; 0], "{other}");
    }
}

#[test]
fn attachments_lie_on_the_bridge_of_their_cluster_network() {
    let cluster = Cluster::new(stored()).and([uplink("vc1", "cn1", &json!({}))]);
    let net = |config: Value| attachment("default", "net", "cn1", &config);
    let rows: &[(Value, &[&str])] = &[
        (net(json!({"type": "bridge", "bridge": "cn1-br", "vlan": 7})), &[]),
        (net(json!({"type": "bridge", "bridge": "cn1-br", "vlan": 4094, "mtu": 1500})), &[]),
        (
            net(json!({"type": "bridge", "bridge": "br0"})),
            &[
                r#"spec.config.bridge: Invalid value: "br0": must be the bridge of a cluster network, which is called like it with -br added"#,
            ],
        ),
        (
            net(json!({"type": "bridge", "bridge": "cn2-br"})),
            &[r#"spec.config.bridge: Invalid value: "cn2-br": must be "cn1-br": the label says cluster network "cn1""#],
        ),
        (
            attachment("default", "net", "cn3", &json!({"type": "bridge", "bridge": "cn3-br"})),
            &[r#"spec.config.bridge: Not found: "cn3": there is no such cluster network; create it first"#],
        ),
        (
            net(json!({"type": "bridge", "bridge": "cn1-br", "vlan": 4095})),
            &["spec.config.vlan: Invalid value: 4095: must be from 0 to 4094"],
        ),
        (
            net(json!({"type": "bridge", "bridge": "cn1-br", "vlan": -1})),
            &["spec.config.vlan: Invalid value: -1: must be from 0 to 4094"],
        ),
        (
            net(json!({"type": "bridge", "bridge": "cn1-br", "mtu": 9000})),
            &[r#"spec.config.mtu: Invalid value: 9000: cluster network "cn1" has MTU 1500"#],
        ),
        (net(json!({"type": "bridge", "bridge": "cn1-br", "vlanTrunk": [{"minID": 2, "maxID": 9}, {"id": 20}]})), &[]),
        (
            net(json!({"type": "bridge", "bridge": "cn1-br", "vlan": 7, "vlanTrunk": [{"id": 20}]})),
            &["spec.config.vlan: Invalid value: 7: must be 0 beside a trunk, which says its VLANs itself"],
        ),
        (
            net(json!({"type": "bridge", "bridge": "cn1-br", "vlanTrunk": [{"minID": 9, "maxID": 2}]})),
            &["spec.config.vlanTrunk[0].minID: Invalid value: 9: is above maxID, which is 2"],
        ),
        (
            net(json!({"type": "bridge", "bridge": "cn1-br", "vlanTrunk": [{"minID": 9}]})),
            &["spec.config.vlanTrunk[0].maxID: Required value: a range has both ends"],
        ),
        (
            net(json!({"type": "bridge", "bridge": "cn1-br", "vlanTrunk": [{"maxID": 9}]})),
            &["spec.config.vlanTrunk[0].minID: Required value: a range has both ends"],
        ),
        (
            net(json!({"type": "bridge", "bridge": "cn1-br", "vlanTrunk": [{}]})),
            &["spec.config.vlanTrunk[0].id: Required value: an entry is an id or a range"],
        ),
        (
            net(json!({"type": "bridge", "bridge": "cn1-br", "vlanTrunk": [{"id": 0}]})),
            &["spec.config.vlanTrunk[0].id: Invalid value: 0: must be from 1 to 4094"],
        ),
        (
            net(json!("text")),
            &[r#"spec.config: Invalid value: "\"text\"": must be the plugin's configuration, as JSON in a text"#],
        ),
        (net(json!({"type": "kube-ovn", "provider": "net.default.ovn"})), &[]),
        (
            net(json!({"type": "kube-ovn", "provider": "other.default.ovn"})),
            &[
                r#"spec.config.provider: Invalid value: "other.default.ovn": must be "net.default.ovn", from the attachment's own names"#,
            ],
        ),
        (net(json!({"type": "macvlan"})), &[]),
    ];
    for (object, wanted) in rows {
        assert_eq!(refusals(&cluster.create(object)), *wanted, "{}", object["spec"]["config"]);
    }
    let foreign = with(&net(json!({"type": "bridge", "bridge": "anything"})), &[("/metadata/labels", Value::Null)]);
    assert_eq!(refusals(&cluster.create(&foreign)), [""; 0], "an attachment that is not ours");
}

#[test]
fn attachments_of_mgmt_have_the_packet_size_that_people_say_for_it() {
    let sized =
        |mtu: u16| attachment("default", "net", "mgmt", &json!({"type": "bridge", "bridge": "mgmt-br", "mtu": mtu}));
    let shown = uplink("mgmt-vlanconfig-node1", "mgmt", &json!({}));
    let cluster = Cluster::new(stored()).and([shown]);
    assert_eq!(refusals(&cluster.create(&sized(1500))), [""; 0], "what nodes show, while nobody says anything");
    let given = |text: &str| with(&network("mgmt"), &[("/metadata/annotations", json!({names::UPLINK_MTU: text}))]);
    let cluster = cluster.and([given("9000")]);
    assert_eq!(refusals(&cluster.create(&sized(9000))), [""; 0]);
    assert_eq!(
        refusals(&cluster.create(&sized(1500))),
        [r#"spec.config.mtu: Invalid value: 1500: cluster network "mgmt" has MTU 9000"#]
    );
    let cluster = cluster.and([given("0")]);
    assert_eq!(refusals(&cluster.create(&sized(1500))), [""; 0], "0 is what the kernel makes of it");
}

#[test]
fn no_cluster_network_is_called_like_the_monitor_of_physical_interfaces() {
    let cluster = Cluster::new(stored());
    assert_eq!(refusals(&cluster.create(&network("nic1"))), [""; 0]);
    assert_eq!(
        refusals(&cluster.create(&network("nic"))),
        [
            r#"metadata.name: Invalid value: "nic": the LinkMonitor of physical interfaces is called so, and that of the cluster network would be too"#
        ]
    );
}

#[test]
fn no_cluster_network_is_called_like_another_label_of_nodes() {
    for name in ["vlanconfig", "node"] {
        let wanted = format!(
            "metadata.name: Invalid value: {name:?}: nodes with the cluster network would have a label that means something \
             else; choose another name"
        );
        assert_eq!(refusals(&Cluster::new(stored()).create(&network(name))), [wanted]);
    }
}

#[test]
fn another_label_does_not_move_an_attachment() {
    let net = bridged("net", "cn1", 7);
    let (beside, machine) = (bridged("beside", "cn1", 7), running("vm1", "net", "node1"));
    let cluster = Cluster::new(stored()).and([uplink("vc1", "cn1", &json!({})), net.clone(), beside, machine]);
    let labelled = |key: &str, value: &str| {
        let mut object = net.clone();
        object["metadata"]["labels"][key] = json!(value);
        object
    };
    assert_eq!(
        refusals(&cluster.update(&labelled(names::CLUSTER_NETWORK, "cn2"))),
        [r#"spec.config.bridge: Invalid value: "cn1-br": must be "cn2-br": the label says cluster network "cn2""#]
    );
    let alone = refusals(&cluster.update(&labelled(names::EXCLUSIVE_VLAN, "true")));
    assert!(alone.len() == 1 && alone[0].contains("default/beside"), "{alone:?}");
    assert_eq!(refusals(&cluster.update(&labelled("team", "a"))), [""; 0]);
    // Where nobody checked the label, the bridge carries the attachment all the same.
    let moved = Cluster::new(stored()).and([labelled(names::CLUSTER_NETWORK, "cn2")]);
    assert_eq!(
        refusals(&moved.delete(&network("cn1"))),
        ["metadata.name: Forbidden: attachments of the cluster network are left: default/net"]
    );
}

#[test]
fn attachments_stay_as_they_are_while_machines_use_them() {
    let old = bridged("net", "cn1", 7);
    let quiet = Cluster::new(stored()).and([old.clone()]);
    let busy = Cluster::new(stored()).and([old.clone(), running("vm1", "net", "node1")]);
    let other_vlan = bridged("net", "cn1", 8);
    assert_eq!(refusals(&quiet.update(&other_vlan)), [""; 0]);
    assert_eq!(
        refusals(&busy.update(&other_vlan)),
        ["spec.config: Forbidden: machines use the attachment: default/vm1"]
    );
    assert_eq!(refusals(&busy.update(&with(&old, &[("/metadata/labels/team", json!("x"))]))), [""; 0]);
    assert_eq!(refusals(&quiet.delete(&old)), [""; 0]);
    assert_eq!(refusals(&busy.delete(&old)), ["metadata.name: Forbidden: machines use the attachment: default/vm1"]);
    let other_type = attachment("default", "net", "cn1", &json!({"type": "macvlan", "bridge": "cn1-br", "vlan": 7}));
    assert_eq!(
        refusals(&quiet.update(&other_type)),
        ["spec.config.type: Forbidden: cannot be changed; make another attachment"]
    );
    let other_bridge = with(&bridged("net", "cn2", 7), &[]);
    assert_eq!(
        refusals(&quiet.update(&other_bridge)),
        ["spec.config.bridge: Forbidden: cannot be changed; make another attachment"]
    );
}

#[test]
fn a_vlan_wanted_alone_is_nobody_elses_and_that_of_tunnels_stays() {
    let storage = with(
        &bridged("storage", "cn1", 7),
        &[("/metadata/labels/storage-network.settings.harvesterhci.io~1exclusivevlan", json!("true"))],
    );
    let cluster = Cluster::new(stored()).and([storage]);
    assert_eq!(refusals(&cluster.create(&bridged("net", "cn1", 8))), [""; 0]);
    assert_eq!(refusals(&cluster.create(&bridged("net", "cn2", 7))), [""; 0]);
    let wanted = [
        r#"spec.config.vlan: Duplicate value: 7: "default/storage" has this VLAN too, and one of them wants it alone"#,
    ];
    assert_eq!(refusals(&cluster.create(&bridged("net", "cn1", 7))), wanted);
    let trunk = |low: u16, high: u16| {
        let trunk = json!([{"id": 2}, {"minID": low, "maxID": high}]);
        attachment("default", "net", "cn1", &json!({"type": "bridge", "bridge": "cn1-br", "vlanTrunk": trunk}))
    };
    assert_eq!(refusals(&cluster.create(&trunk(8, 90))), [""; 0]);
    let wanted = [
        r#"spec.config.vlanTrunk: Duplicate value: 7: "default/storage" has this VLAN too, and one of them wants it alone"#,
    ];
    assert_eq!(refusals(&cluster.create(&trunk(5, 90))), wanted);
    let storage = with(
        &bridged("storage", "cn1", 7),
        &[("/metadata/labels/storage-network.settings.harvesterhci.io~1exclusivevlan", json!("true"))],
    );
    let found = refusals(&Cluster::new(stored()).and([trunk(5, 90)]).create(&storage));
    assert!(found.len() == 1 && found[0].contains("default/net"), "{found:?}");

    let overlay =
        attachment("default", "overlay", "elsewhere", &json!({"type": "kube-ovn", "provider": "overlay.default.ovn"}));
    let (tunnels, other) = (bridged("tunnels", "cn1", 2012), bridged("other", "cn1", 9));
    let objects = [tunnels.clone(), other.clone(), host_network("hnc1", "cn1", true), overlay];
    let quiet = Cluster::new(stored()).and(objects.clone());
    let busy = Cluster::new(stored()).and(objects).and([running("vm1", "overlay", "node1")]);
    assert_eq!(refusals(&quiet.delete(&tunnels)), [""; 0]);
    assert_eq!(refusals(&busy.delete(&other)), [""; 0]);
    let wanted =
        ["metadata.name: Forbidden: machines use overlay networks whose tunnels are in this VLAN: default/vm1"];
    assert_eq!(refusals(&busy.delete(&tunnels)), wanted);
}
