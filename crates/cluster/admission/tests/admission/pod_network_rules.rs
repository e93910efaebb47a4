//! Every rule of networks of pods, each with the nearest object that is taken.

use netloom_admission::{CONTROLLER_GROUP, User, agent};
use serde_json::{Value, json};

use crate::cluster::{Cluster, refusals, with};

const API: &str = "danm.k8s.io/v1";

fn network(kind: &str, options: &Value) -> Value {
    let mut metadata = json!({"name": "n", "uid": "u1"});
    if kind != "ClusterNetwork" {
        metadata["namespace"] = "default".into();
    }
    json!({"apiVersion": API, "kind": kind, "metadata": metadata, "spec": {"NetworkID": "n", "Options": options}})
}

fn interface(kind: &str, namespace: &str) -> Value {
    json!({
        "apiVersion": API, "kind": "DanmEp", "metadata": {"name": "e", "namespace": namespace},
        "spec": {"NetworkName": "n", "Host": "node1", "Pod": "a", "PodUID": "p1", "apiType": kind, "Interface": {"Name": "eth0"}},
    })
}

fn config(devices: &Value, ids: &Value) -> Value {
    json!({"apiVersion": API, "kind": "TenantConfig", "metadata": {"name": "c"}, "hostDevices": devices, "networkIds": ids})
}

const KINDS: [&str; 3] = ["DanmNet", "TenantNetwork", "ClusterNetwork"];

/// Rows of options: the ones that are refused at a place, and the nearest that are taken.
#[test]
#[expect(clippy::too_many_lines, reason = "a row for each rule")]
fn rules_1_to_10_and_13_hold_for_all_three_kinds() {
    let rows = [
        ("1", "cidr", json!({"cidr": "192.0.2.0"}), json!({"cidr": "192.0.2.0/24"})),
        ("1", "cidr", json!({"cidr": "2001:db8::/64"}), json!({"cidr": "192.0.2.0/24"})),
        ("1", "cidr", json!({"cidr": "0.0.0.0/7"}), json!({"cidr": "10.0.0.0/8"})),
        ("2", "routes", json!({"routes": {"10.0.0.0/8": "192.0.2.1"}}), json!({"routes": {}})),
        (
            "2",
            "routes",
            json!({"cidr": "192.0.2.0/24", "routes": {"10.0.0.0/8": "192.0.3.1"}}),
            json!({"cidr": "192.0.2.0/24", "routes": {"10.0.0.0/8": "192.0.2.1"}}),
        ),
        (
            "2",
            "routes",
            json!({"cidr": "192.0.2.0/24", "routes": {"10.0.0.0/33": "192.0.2.1"}}),
            json!({"cidr": "192.0.2.0/24", "routes": {"10.0.0.0/32": "192.0.2.1"}}),
        ),
        ("3", "net6", json!({"net6": "192.0.2.0/24"}), json!({"net6": "2001:db8::/64"})),
        ("4", "routes6", json!({"routes6": {"2001:db8:1::/64": "2001:db8::1"}}), json!({"routes6": {}})),
        (
            "4",
            "routes6",
            json!({"net6": "2001:db8::/64", "routes6": {"2001:db8:1::/64": "2001:db8:2::1"}}),
            json!({"net6": "2001:db8::/64", "routes6": {"2001:db8:1::/64": "2001:db8::1"}}),
        ),
        ("5", "alloc", json!({"cidr": "192.0.2.0/26", "alloc": "wAAAAAAAAAE="}), json!({"cidr": "192.0.2.0/26"})),
        ("5", "alloc6", json!({"net6": "2001:db8::/124", "alloc6": "wAA="}), json!({"net6": "2001:db8::/124"})),
        (
            "5",
            "allocation_pool.lastIp",
            json!({"cidr": "192.0.2.0/26", "allocation_pool": {"lastIp": "192.0.2.3/26"}}),
            json!({"cidr": "192.0.2.0/26", "allocation_pool": {}}),
        ),
        ("6", "allocation_pool", json!({"allocation_pool": {"start": "192.0.2.1"}}), json!({})),
        ("6", "allocation_pool_v6", json!({"allocation_pool_v6": {"start": "2001:db8::1"}}), json!({})),
        (
            "7",
            "allocation_pool.start",
            json!({"cidr": "192.0.2.0/24", "allocation_pool": {"start": "192.0.1.255"}}),
            json!({"cidr": "192.0.2.0/24", "allocation_pool": {"start": "192.0.2.0"}}),
        ),
        (
            "8",
            "allocation_pool.end",
            json!({"cidr": "192.0.2.0/24", "allocation_pool": {"end": "192.0.3.0"}}),
            json!({"cidr": "192.0.2.0/24", "allocation_pool": {"end": "192.0.2.255"}}),
        ),
        (
            "9",
            "allocation_pool.end",
            json!({"cidr": "192.0.2.0/24", "allocation_pool": {"start": "192.0.2.9", "end": "192.0.2.8"}}),
            json!({"cidr": "192.0.2.0/24", "allocation_pool": {"start": "192.0.2.9", "end": "192.0.2.9"}}),
        ),
        (
            "9",
            "allocation_pool_v6.end",
            json!({"net6": "2001:db8::/64", "allocation_pool_v6": {"start": "2001:db8::9", "end": "2001:db8::8"}}),
            json!({"net6": "2001:db8::/64", "allocation_pool_v6": {"start": "2001:db8::9", "end": "2001:db8::9"}}),
        ),
        (
            "pool6",
            "allocation_pool_v6.cidr",
            json!({"net6": "2001:db8::/64", "allocation_pool_v6": {"cidr": "2001:db8:1::/112"}}),
            json!({"net6": "2001:db8::/64", "allocation_pool_v6": {"cidr": "2001:db8::1:0/112"}}),
        ),
        (
            "pool6",
            "allocation_pool_v6.cidr",
            json!({"net6": "2001:db8::/64", "allocation_pool_v6": {"cidr": "2001:db8::1/128"}}),
            json!({"net6": "2001:db8::/64", "allocation_pool_v6": {"cidr": "2001:db8::/126"}}),
        ),
        (
            "pool6",
            "allocation_pool_v6.cidr",
            json!({"net6": "2001:db8::/64", "cidr": "192.0.2.0/24", "allocation_pool_v6": {"cidr": "2001:db8::/105"}}),
            json!({"net6": "2001:db8::/64", "cidr": "192.0.2.0/24", "allocation_pool_v6": {"cidr": "2001:db8::/106"}}),
        ),
        ("13", "host_device", json!({"host_device": "ens4", "device_pool": "a.b/c"}), json!({"device_pool": "a.b/c"})),
        ("names", "host_device", json!({"host_device": "ens4:1"}), json!({"host_device": "ens4.1"})),
        ("names", "container_prefix", json!({"container_prefix": "a/b"}), json!({"container_prefix": "a-b"})),
        ("tables", "rt_tables", json!({"rt_tables": 254}), json!({"rt_tables": 300})),
        ("tables", "rt_tables", json!({"rt_tables": 255}), json!({"rt_tables": 4_294_967_295_u32})),
    ];
    let cluster = Cluster::default();
    for kind in KINDS {
        for (rule, field, refused, taken) in &rows {
            let found = refusals(&cluster.create(&network(kind, refused)));
            let path = format!("spec.Options.{field}");
            assert!(found.iter().any(|line| line.starts_with(&path)), "{kind}, rule {rule}: {refused}: {found:?}");
            let verdict = cluster.create(&network(kind, taken));
            assert!(verdict.is_allowed(), "{kind}, rule {rule}: {taken}: {verdict:?}");
        }
    }
}

/// Rules about more than the options.
#[test]
fn rules_10_to_13_hold_where_the_guide_lists_them() {
    let both = json!({"vlan": 5, "vxlan": 6, "host_device": "ens4"});
    for kind in KINDS {
        let found = refusals(&Cluster::default().create(&network(kind, &both)));
        assert!(found.iter().any(|line| line.starts_with("spec.Options.vxlan")), "rule 10, {kind}: {found:?}");
    }
    let one = json!({"vlan": 5, "host_device": "ens4"});
    assert!(Cluster::default().create(&network("DanmNet", &one)).is_allowed());

    let id = |kind: &str, network_type: &str, id: &str, options: Value| {
        let changes = [("/spec/NetworkID", json!(id)), ("/spec/NetworkType", json!(network_type))];
        Cluster::default().create(&with(&network(kind, &options), &changes)).is_allowed()
    };
    for kind in KINDS {
        for dynamic in ["", "ipvlan", "IPVLAN", "macvlan"] {
            assert!(id(kind, dynamic, "elevenchars", json!({})), "rule 11, {kind}");
            assert!(!id(kind, dynamic, "twelve-chars", json!({})), "rule 11, {kind}");
        }
        assert!(id(kind, "flannel", "a-rather-long-name", json!({})), "a file may be called so");
        assert!(!id(kind, "flannel", "../passwd", json!({})) && !id(kind, "bin/sh", "a", json!({})));
        assert!(!id(kind, "ipvlan", "", json!({})), "an id is needed");
        let sriov = |options: Value| id(kind, "sriov", "s", options);
        assert!(sriov(json!({"device_pool": "example.com/pool"})) && !sriov(json!({})), "rule 13, {kind}");
        assert!(!sriov(json!({"device_pool": "example.com/pool", "host_device": "ens4"})), "rule 13, {kind}");
        let tenants = with(&network(kind, &json!({})), &[("/spec/AllowedTenants", json!(["a"]))]);
        let taken = Cluster::default().create(&tenants).is_allowed();
        assert_eq!(taken, kind == "ClusterNetwork", "rule 12, {kind}");
    }
    // The link of nodes would be called elevenchars.4094.
    assert!(!id("DanmNet", "ipvlan", "elevenchars", json!({"vlan": 4094})));
    assert!(id("DanmNet", "ipvlan", "elevenchars", json!({"vlan": 409})));
    assert!(id("DanmNet", "ipvlan", "elevenchars", json!({"vxlan": 4094})));
}

#[test]
fn rule_14_keeps_the_device_of_a_network_with_pods() {
    let options = json!({"host_device": "ens4", "vlan": 5, "cidr": "192.0.2.0/24"});
    let changes = [
        ("/spec/Options/host_device", json!("ens5")),
        ("/spec/Options/vlan", json!(6)),
        ("/spec/Options/vlan", json!(null)),
    ];
    for kind in ["DanmNet", "ClusterNetwork"] {
        let stored = network(kind, &options);
        let empty = Cluster::new([stored.clone(), interface(kind, "other"), interface("TenantNetwork", "default")]);
        // A ClusterNetwork is of all namespaces.
        let empty = if kind == "ClusterNetwork" { Cluster::new([stored.clone()]) } else { empty };
        let full = Cluster::new([stored.clone(), interface(kind, "default")]);
        for change in &changes {
            let new = with(&stored, std::slice::from_ref(change));
            assert!(empty.update(&new).is_allowed(), "{kind} {change:?}");
            let found = refusals(&full.update(&new));
            assert!(
                found.iter().any(|line| line.contains("cannot change while pods are attached, such as default/a")),
                "{kind} {change:?}: {found:?}"
            );
        }
        let other = with(&stored, &[("/spec/Options/container_prefix", json!("net"))]);
        assert!(full.update(&other).is_allowed(), "{kind}: other fields may change");
    }
    // Interfaces of old programs do not name the kind.
    let full = Cluster::new([network("DanmNet", &options), interface("", "default")]);
    assert!(!full.update(&with(&network("DanmNet", &options), &changes[..1])).is_allowed());
}

#[test]
fn rule_15_keeps_a_network_with_pods() {
    for kind in KINDS {
        let stored = network(kind, &json!({}));
        let full = Cluster::new([stored.clone(), interface(kind, "default")]);
        let found = refusals(&full.delete(&stored));
        assert_eq!(found, [format!("pods are attached to this {kind}, such as default/a; delete them first")]);
        assert!(Cluster::new([stored.clone()]).delete(&stored).is_allowed());
        let others: Vec<Value> =
            KINDS.iter().filter(|other| **other != kind).map(|other| interface(other, "default")).collect();
        for other in others {
            assert!(Cluster::new([stored.clone(), other]).delete(&stored).is_allowed(), "{kind}: of another kind");
        }
    }
}

#[test]
fn a_tenant_chooses_no_number_and_keeps_the_device() {
    for option in ["vlan", "vxlan"] {
        let found = refusals(&Cluster::default().create(&network("TenantNetwork", &json!({option: 5}))));
        let text = "a TenantNetwork gets its number out of a TenantConfig; leave it out";
        let path = format!("spec.Options.{option}");
        assert!(found.iter().any(|line| line.starts_with(&path) && line.contains(text)), "{found:?}");
        assert!(Cluster::default().create(&network("DanmNet", &json!({option: 5}))).is_allowed());
    }
    let options = json!({"host_device": "ens4", "vlan": 5});
    let stored = network("TenantNetwork", &options);
    let cluster = Cluster::new([stored.clone()]);
    for (option, value) in
        [("host_device", json!("ens5")), ("device_pool", json!("a/b")), ("vlan", json!(6)), ("vxlan", json!(6))]
    {
        let found = refusals(&cluster.update(&with(&stored, &[(&format!("/spec/Options/{option}"), value)])));
        let text = "was given to this TenantNetwork when it was made, and stays";
        let path = format!("spec.Options.{option}");
        assert!(found.iter().any(|line| line.starts_with(&path) && line.contains(text)), "{option}: {found:?}");
    }
    assert!(cluster.update(&with(&stored, &[("/spec/Options/cidr", json!("192.0.2.0/24"))])).is_allowed());
}

/// What is stored after a write, with what admission filled in.
fn filled(verdict: &netloom_admission::ReviewResult, object: &Value) -> Value {
    assert!(verdict.is_allowed(), "{verdict:?}");
    let mut object = object.clone();
    let patch = verdict.patch.clone().unwrap_or_else(|| json!([]));
    let patch: json_patch::Patch = serde_json::from_value(patch).expect("a patch");
    json_patch::patch(&mut object, &patch).expect("the patch fits");
    object
}

#[test]
fn what_is_absent_is_filled_in() {
    let object = network(
        "DanmNet",
        &json!({
            "cidr": "192.0.2.0/26", "routes": {"10.0.0.0/8": "192.0.2.1"}, "net6": "2001:db8::/124",
        }),
    );
    let stored = filled(&Cluster::default().create(&object), &object);
    assert_eq!(stored["spec"]["NetworkType"], "ipvlan");
    let options = &stored["spec"]["Options"];
    assert_eq!(options["alloc"], "wAAAAAAAAAE=", "the gateway is nobody's");
    assert_eq!(options["allocation_pool"], json!({"start": "192.0.2.1", "end": "192.0.2.62"}));
    assert_eq!(options["alloc6"], "gAE=");
    let pool6 = json!({"cidr": "2001:db8::/124", "start": "2001:db8::1", "end": "2001:db8::e"});
    assert_eq!(options["allocation_pool_v6"], pool6);

    let large = network("DanmNet", &json!({"cidr": "10.0.0.0/8", "net6": "2001:db8::/64"}));
    let options = filled(&Cluster::default().create(&large), &large)["spec"]["Options"].clone();
    assert_eq!((options.get("alloc"), options.get("alloc6")), (None, None), "no picture of so many addresses");
    assert_eq!(
        options["allocation_pool_v6"]["cidr"], "2001:db8::/105",
        "a /8 leaves no room in a mask, so size is no bound"
    );
}

#[test]
fn only_the_controller_changes_the_picture() {
    let object = network("DanmNet", &json!({"cidr": "192.0.2.0/26"}));
    let mut stored = filled(&Cluster::default().create(&object), &object);
    stored["spec"]["Options"]["alloc"] = "wAAAAAAAAAE=".into();
    stored["spec"]["Options"]["allocation_pool"]["lastIp"] = "192.0.2.1/26".into();
    let cluster = || Cluster::new([stored.clone()]);
    let plain = cluster().update(&object);
    let kept = filled(&plain, &object);
    assert_eq!(kept["spec"]["Options"], stored["spec"]["Options"], "a write without it keeps it");
    let change = with(&stored, &[("/spec/Options/alloc", json!("4AAAAAAAAAE="))]);
    assert!(!cluster().update(&change).is_allowed());
    let last = with(&stored, &[("/spec/Options/allocation_pool/lastIp", json!("192.0.2.2/26"))]);
    assert!(!cluster().update(&last).is_allowed());
    let controller = || User::new("netloom:controller", &[CONTROLLER_GROUP]);
    assert!(cluster().by(controller()).update(&change).is_allowed());
    assert!(cluster().by(controller()).update(&last).is_allowed());
}

#[test]
#[expect(clippy::too_many_lines, reason = "a row for each rule")]
fn a_tenant_config_names_devices_and_their_numbers() {
    let ens4 = |kind: &str, range: &str| json!([{"name": "ens4", "vniType": kind, "vniRange": range}]);
    let rows = [
        (
            "a TenantConfig has hostDevices, networkIds or both",
            "hostDevices",
            config(&json!([]), &json!({})),
            config(&json!([{"name": "ens4"}]), &json!({})),
        ),
        (
            "names an interface of nodes or a pool of devices",
            "hostDevices[0].name",
            config(&json!([{"name": ""}]), &json!({})),
            config(&json!([{"name": "a/b"}]), &json!({})),
        ),
        (
            "is given together with vniRange: vlan or vxlan",
            "hostDevices[0].vniType",
            config(&ens4("", "1-5"), &json!({})),
            config(&ens4("vlan", "1-5"), &json!({})),
        ),
        (
            "is given together with vniType",
            "hostDevices[0].vniRange",
            config(&ens4("vlan", ""), &json!({})),
            config(&ens4("vlan", "1, 3-5"), &json!({})),
        ),
        (
            "supported values",
            "hostDevices[0].vniType",
            config(&ens4("gre", "1-5"), &json!({})),
            config(&ens4("vxlan", "1-5"), &json!({})),
        ),
        (
            "leads from a higher to a lower number",
            "hostDevices[0].vniRange",
            config(&ens4("vlan", "5-1"), &json!({})),
            config(&ens4("vlan", "5"), &json!({})),
        ),
        (
            "is not a vlan number",
            "hostDevices[0].vniRange",
            config(&ens4("vlan", "4095"), &json!({})),
            config(&ens4("vxlan", "4095"), &json!({})),
        ),
        (
            "both a NetworkType and its NetworkID are needed",
            "networkIds[]",
            config(&json!([]), &json!({"": "a"})),
            config(&json!([]), &json!({"bridge": "a"})),
        ),
        (
            "both a NetworkType and its NetworkID are needed",
            "networkIds[bridge]",
            config(&json!([]), &json!({"bridge": ""})),
            config(&json!([]), &json!({"bridge": "a"})),
        ),
        (
            "has more than 11 characters, the most for a network of type sriov",
            "networkIds[sriov]",
            config(&json!([]), &json!({"sriov": "twelve-chars"})),
            config(&json!([]), &json!({"sriov": "elevenchars", "bridge": "twelve-chars"})),
        ),
    ];
    for (text, path, refused, taken) in rows {
        let found = refusals(&Cluster::default().create(&refused));
        assert!(found.iter().any(|line| line.starts_with(path) && line.contains(text)), "{refused}: {found:?}");
        let verdict = Cluster::default().create(&taken);
        assert!(verdict.is_allowed(), "{taken}: {verdict:?}");
    }
    let twice =
        json!([{"name": "a", "vniType": "vlan", "vniRange": "1"}, {"name": "a", "vniType": "vxlan", "vniRange": "1"}]);
    assert!(Cluster::default().create(&config(&twice, &json!({}))).is_allowed());
    let same = json!([{"name": "a"}, {"name": "a"}]);
    let found = refusals(&Cluster::default().create(&config(&same, &json!({}))));
    assert!(found[0].contains("is there already with the same vniType"), "{found:?}");

    let masked = with(&config(&ens4("vlan", "1-5"), &json!({})), &[("/hostDevices/0/alloc", json!("gAAA"))]);
    let found = refusals(&Cluster::default().create(&masked));
    assert!(found[0].contains("is kept by the controller; leave it out"), "{found:?}");
    let bare = config(&ens4("vlan", "1-9"), &json!({}));
    let kept = filled(&Cluster::new([masked.clone()]).update(&bare), &bare);
    assert_eq!(kept["hostDevices"][0]["alloc"], "gAAA", "a replaced configuration keeps which numbers are used");
}

#[test]
fn an_agent_writes_interfaces_and_requests_of_its_own_node_alone() {
    let agent = |node: &str| User::new(format!("netloom:agent:{node}"), &[agent::GROUP]);
    let own = interface("DanmNet", "default");
    assert!(Cluster::default().by(agent("node1")).create(&own).is_allowed());
    assert!(!Cluster::default().by(agent("node2")).create(&own).is_allowed());
    assert!(Cluster::new([own.clone()]).by(agent("node1")).delete(&own).is_allowed());
    assert!(!Cluster::new([own.clone()]).by(agent("node2")).delete(&own).is_allowed());
    assert!(!Cluster::default().by(agent("node1")).create(&network("DanmNet", &json!({}))).is_allowed());

    let block = json!({
        "apiVersion": "netloom.dev/v1alpha1", "kind": "IPBlock", "metadata": {"name": "b"},
        "spec": {"node": "node1", "network": {"kind": "DanmNet", "namespace": "default", "name": "n", "uid": "u"}, "wanted": {"ipv4": 8}},
    });
    let cluster = |node: &str| Cluster::new([block.clone()]).by(agent(node));
    assert!(Cluster::default().by(agent("node1")).create(&block).is_allowed());
    assert!(!Cluster::default().by(agent("node2")).create(&block).is_allowed());
    let more =
        with(&block, &[("/spec/wanted/ipv4", json!(16)), ("/spec/returned", json!({"ipv4": ["192.0.2.1-192.0.2.2"]}))]);
    assert!(cluster("node1").update(&more).is_allowed() && !cluster("node2").update(&more).is_allowed());
    for (pointer, value, text) in [
        ("/spec/network/uid", json!("v"), "addresses stay those of the network that they are of"),
        ("/spec/network/kind", json!("Network"), "supported values"),
        ("/spec/returned", json!({"ipv4": ["192.0.2.2-192.0.2.1"]}), "does not lead from a lower to a higher address"),
        ("/spec/returned", json!({"ipv4": ["2001:db8::1"]}), "is of the other family"),
        ("/spec/returned", json!({"ipv6": ["192.0.2.1"]}), "is of the other family"),
    ] {
        let found = refusals(&cluster("node1").update(&with(&block, &[(pointer, value.clone())])));
        assert!(found.iter().any(|line| line.contains(text)), "{pointer} {value}: {found:?}");
    }
    let alice = Cluster::new([block.clone()]);
    let found = refusals(&alice.update(&with(&block, &[("/spec/node", json!("node2"))])));
    assert!(found[0].contains("addresses of a node stay with it until it returns them"), "{found:?}");
    let given = with(&block, &[("/status/ranges/ipv4", json!(["192.0.2.1-192.0.2.8"]))]);
    assert!(!cluster("node1").update_status(&given).is_allowed(), "a node gives itself no addresses");
    let controller = User::new("netloom:controller", &[CONTROLLER_GROUP]);
    assert!(Cluster::new([block.clone()]).by(controller).update_status(&given).is_allowed());
}
