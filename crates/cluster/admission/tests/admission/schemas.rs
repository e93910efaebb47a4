//! What the schemas refuse, fill in and drop, with the nearest object that they take.

use netloom_api::kinds;
use netloom_cel::Cel;
use netloom_schema::{Schema, apply_defaults, prune, validate};
use serde_json::{Value, json};

use crate::cluster::with;

/// The object as a server would store it, with the fields that it drops and the rules that it breaks.
fn pass(object: &Value) -> (Value, Vec<String>, Vec<String>) {
    let kind = kinds().iter().find(|kind| object["kind"] == kind.kind && object["apiVersion"] == kind.api_version());
    let schema = Schema::parse(&kind.expect("the kind is ours").schema(), "schema").expect("the schema is structural");
    let mut object = object.clone();
    let dropped = prune(&schema, &mut object);
    apply_defaults(&schema, &mut object);
    let errors = validate(&schema, &object, None, &Cel::new()).iter().map(ToString::to_string).collect();
    (object, dropped, errors)
}

/// The broken rules; a server says besides that an object in such a state was not checked further.
fn errors(object: &Value) -> Vec<String> {
    let mut errors = pass(object).2;
    errors.retain(|error| !error.contains("some validation rules were not checked"));
    errors
}

fn host_network() -> Value {
    json!({
        "apiVersion": "network.harvesterhci.io/v1beta1", "kind": "HostNetworkConfig", "metadata": {"name": "x"},
        "spec": {"clusterNetwork": "cluster-1", "vlanID": 2012, "mode": "dhcp"},
    })
}

fn uplink() -> Value {
    json!({
        "apiVersion": "network.harvesterhci.io/v1beta1", "kind": "VlanConfig", "metadata": {"name": "x"},
        "spec": {"clusterNetwork": "cluster-1", "uplink": {"nics": ["eth1"], "bondOptions": {}, "linkAttributes": {}}},
    })
}

fn state() -> Value {
    json!({"apiVersion": "nmstate.io/v1", "kind": "NodeNetworkState", "metadata": {"name": "x", "namespace": "y"}, "spec": {"managed": true, "nodeName": "x"}})
}

fn policy() -> Value {
    json!({"apiVersion": "nmstate.io/v1", "kind": "NodeNetConfPolicy", "metadata": {"name": "x", "namespace": "y"}, "spec": {"matchRules": [{}]}})
}

fn rollout() -> Value {
    json!({"apiVersion": "netloom.dev/v1alpha1", "kind": "RolloutPolicy", "metadata": {"name": "x"}, "spec": {}})
}

/// Each row: an object that is taken, a place in it, and what is given of the value there.
fn refuses(rows: &[(Value, &str, Value, &str)]) {
    for (object, pointer, value, wanted) in rows {
        assert_eq!(errors(object), [""; 0], "the neighbour of {pointer}");
        assert_eq!(errors(&with(object, &[(pointer, value.clone())])), [*wanted], "{pointer} {value}");
    }
}

#[test]
fn values_of_host_networks_are_in_range() {
    refuses(&[
        (
            host_network(),
            "/spec/vlanID",
            json!(1),
            "spec.vlanID: Invalid value: 1: spec.vlanID in body should be greater than or equal to 2",
        ),
        (
            host_network(),
            "/spec/vlanID",
            json!(4095),
            "spec.vlanID: Invalid value: 4095: spec.vlanID in body should be less than or equal to 4094",
        ),
        (
            host_network(),
            "/spec/mode",
            json!("DHCP"),
            r#"spec.mode: Unsupported value: "DHCP": supported values: "static", "dhcp""#,
        ),
        (
            host_network(),
            "/spec/clusterNetwork",
            json!(""),
            r#"spec.clusterNetwork: Invalid value: "": spec.clusterNetwork in body should be at least 1 chars long"#,
        ),
        (
            host_network(),
            "/spec/clusterNetwork",
            json!("cluster-00013"),
            "spec.clusterNetwork: Too long: may not be more than 12 bytes",
        ),
        (host_network(), "/spec/clusterNetwork", Value::Null, "spec.clusterNetwork: Required value"),
        (host_network(), "/spec/vlanID", Value::Null, "spec.vlanID: Required value"),
        (host_network(), "/spec/mode", Value::Null, "spec.mode: Required value"),
        (
            host_network(),
            "/spec/underlay",
            json!("yes"),
            r#"spec.underlay: Invalid value: "string": spec.underlay in body must be of type boolean: "string""#,
        ),
    ]);
}

#[test]
fn values_of_uplinks_are_in_range() {
    refuses(&[
        (
            uplink(),
            "/spec/uplink/bondOptions/mode",
            json!("lacp"),
            r#"spec.uplink.bondOptions.mode: Unsupported value: "lacp": supported values: "balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb""#,
        ),
        (
            uplink(),
            "/spec/uplink/bondOptions/miimon",
            json!(-2),
            "spec.uplink.bondOptions.miimon: Invalid value: -2: spec.uplink.bondOptions.miimon in body should be greater than or equal to -1",
        ),
        (
            uplink(),
            "/spec/uplink/linkAttributes/txQLen",
            json!(-2),
            "spec.uplink.linkAttributes.txQLen: Invalid value: -2: spec.uplink.linkAttributes.txQLen in body should be greater than or equal to -1",
        ),
        (
            uplink(),
            "/spec/uplink/linkAttributes/mtu",
            json!(-1),
            "spec.uplink.linkAttributes.mtu: Invalid value: -1: spec.uplink.linkAttributes.mtu in body should be greater than or equal to 0",
        ),
        (uplink(), "/spec/uplink/nics", json!(["a", "a"]), r#"spec.uplink.nics[1]: Duplicate value: "a""#),
    ]);
}

#[test]
fn values_of_states_policies_and_rollouts_are_in_range() {
    refuses(&[
        (state(), "/spec/managed", Value::Null, "spec.managed: Required value"),
        (state(), "/spec/nodeName", Value::Null, "spec.nodeName: Required value"),
        (
            state(),
            "/spec/nodeName",
            json!(""),
            r#"spec.nodeName: Invalid value: "": spec.nodeName in body should be at least 1 chars long"#,
        ),
        (policy(), "/spec/matchRules", Value::Null, "spec.matchRules: Required value"),
        (
            policy(),
            "/spec/matchRules",
            json!([]),
            "spec.matchRules: Invalid value: 0: spec.matchRules in body should have at least 1 items",
        ),
        (
            policy(),
            "/spec/matchRules",
            json!([{"vlanID": 4095}]),
            "spec.matchRules[0].vlanID: Invalid value: 4095: spec.matchRules[0].vlanID in body should be less than or equal to 4094",
        ),
        (
            rollout(),
            "/spec/onFailure",
            json!("Ignore"),
            r#"spec.onFailure: Unsupported value: "Ignore": supported values: "Revert", "Pause""#,
        ),
        (
            rollout(),
            "/spec/timeoutSeconds",
            json!(4),
            "spec.timeoutSeconds: Invalid value: 4: spec.timeoutSeconds in body should be greater than or equal to 5",
        ),
        (
            rollout(),
            "/spec/probes",
            json!({"carrierSeconds": 601}),
            "spec.probes.carrierSeconds: Invalid value: 601: spec.probes.carrierSeconds in body should be less than or equal to 600",
        ),
    ]);
}

#[test]
fn defaults_are_filled_in_where_their_parent_is() {
    let (stored, _, _) = pass(&uplink());
    assert_eq!(stored["spec"]["uplink"]["bondOptions"], json!({"mode": "active-backup", "miimon": -1}));
    assert_eq!(stored["spec"]["uplink"]["linkAttributes"], json!({"txQLen": -1}));
    let (stored, _, _) = pass(&rollout());
    let wanted = json!({
        "priority": 0,
        "canary": {"nodes": 1, "soakSeconds": 30},
        "waves": ["5%", "25%", "50%"],
        "maxUnavailable": "50%",
        "healthGates": ["Ready"],
        "timeoutSeconds": 180,
        "toleratedFailures": 0,
        "onFailure": "Revert",
        "retry": {"firstSeconds": 60, "mostSeconds": 3600},
        "drift": "Repair",
        "revisionHistoryLimit": 10,
    });
    assert_eq!(stored["spec"], wanted);
    for object in [host_network(), state(), policy()] {
        assert_eq!(pass(&object).0, object, "nothing to fill in");
    }
}

#[test]
fn unknown_fields_go_and_documents_stay() {
    let (_, dropped, _) = pass(&with(&host_network(), &[("/spec/vlanId", json!(7))]));
    assert_eq!(dropped, ["spec.vlanId"]);
    let document = json!({"interfaces": [{"name": "eth1", "anything": {"deep": [1, null, "x"]}}]});
    for object in [state(), policy()] {
        let object = with(&object, &[("/spec/desiredState", document.clone())]);
        let (stored, dropped, errors) = pass(&object);
        assert_eq!((stored, dropped.len(), errors.len()), (object, 0, 0));
    }
}

#[test]
fn rules_of_the_schema_are_checked() {
    let fixed = |ips: Value| with(&host_network(), &[("/spec/mode", json!("static")), ("/spec/ips", ips)]);
    assert_eq!(errors(&fixed(json!({"node1": "192.168.1.10/24"}))), [""; 0]);
    for none in [json!({}), Value::Null] {
        let found = errors(&fixed(none));
        let rule =
            found[0].starts_with("spec: ") && found[0].ends_with("mode static needs an address for each node in ips");
        assert!(rule && found.len() == 1, "{found:?}");
    }
    let wanted = r#"spec.ips[node1]: Invalid value: "192.168.1.10": must be an address with the length of its prefix"#;
    assert_eq!(errors(&fixed(json!({"node1": "192.168.1.10"}))), [wanted]);

    let desired = json!({"interfaces": []});
    let auto = with(&policy(), &[("/spec/autoconfig", json!({"autoVlan": true}))]);
    assert_eq!(errors(&auto), [""; 0]);
    assert_eq!(errors(&with(&policy(), &[("/spec/desiredState", desired.clone())])), [""; 0]);
    let both = errors(&with(&auto, &[("/spec/desiredState", desired)]));
    assert!(both[0].ends_with("autoconfig and desiredState exclude each other"), "{both:?}");

    let share = |value: Value| errors(&with(&rollout(), &[("/spec/maxUnavailable", value)]));
    assert_eq!(share(json!("25%")), [""; 0]);
    assert_eq!(share(json!(3)), [""; 0]);
    assert_eq!(share(json!("101%")).len(), 1);
}
