//! Each rule about the state of a NIC, for every binding, network and state: refused here, taken beside it.

use netloom_admission::ReviewResult;
use serde_json::{Value, json};

use crate::cluster::Cluster;

/// The bindings by which a NIC may be attached; none named is a bridge.
const BINDINGS: [(&str, Binding); 9] = [
    ("", Binding::Bridge),
    ("bridge", Binding::Bridge),
    ("masquerade", Binding::Other),
    ("passtBinding", Binding::Other),
    ("sriov", Binding::Sriov),
    ("macvtap", Binding::Other),
    ("slirp", Binding::Other),
    ("passt", Binding::Other),
    ("plugin", Binding::Other),
];

#[derive(Clone, Copy, PartialEq)]
enum Binding {
    Bridge,
    Sriov,
    Other,
}

/// The networks, and whether each is the one by which a machine is reached first.
fn networks() -> [(Value, bool); 4] {
    [
        (json!({"name": "blue", "pod": {}}), true),
        (json!({"name": "blue", "multus": {"networkName": "blue", "default": true}}), true),
        (json!({"name": "blue", "multus": {"networkName": "blue", "default": false}}), false),
        (json!({"name": "blue", "multus": {"networkName": "blue"}}), false),
    ]
}

/// A machine and an instance of these NICs and networks, with the place of their specification.
fn both(nics: &Value, networks: &Value, more: &Value) -> [(Value, &'static str); 2] {
    let mut spec = json!({"domain": {"devices": {"interfaces": nics}}, "networks": networks});
    for (field, value) in more.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    let object = |kind: &str, spec: Value| {
        let metadata = json!({"namespace": "default", "name": "a"});
        json!({"apiVersion": "kubevirt.io/v1", "kind": kind, "metadata": metadata, "spec": spec})
    };
    let machine = object("VirtualMachine", json!({"runStrategy": "Always", "template": {"spec": spec}}));
    [(machine, "spec.template.spec"), (object("VirtualMachineInstance", spec), "spec")]
}

fn nic(name: &str, binding: &str, state: &str) -> Value {
    let mut nic = json!({"name": name});
    match binding {
        "" => {}
        "plugin" => nic["binding"] = json!({"name": "their-plugin"}),
        core => nic[core] = json!({}),
    }
    if !state.is_empty() {
        nic["state"] = json!(state);
    }
    nic
}

/// Reason, message and field of each cause.
fn causes(verdict: &ReviewResult) -> Vec<[String; 3]> {
    verdict.errors.iter().map(|error| [error.cause.reason().to_owned(), error.body(), error.path.clone()]).collect()
}

/// What is said of a state, in this order.
fn wanted(binding: Binding, state: &str, is_default: bool) -> Vec<String> {
    let of = |why: &str| format!("\"blue\" interface's state \"{state}\" is {why}");
    match (state, binding) {
        ("" | "up" | "down", Binding::Bridge | Binding::Other) | ("", Binding::Sriov) => vec![],
        ("up" | "down", Binding::Sriov) => vec![of("not supported for SR-IOV NICs")],
        ("absent", _) => {
            let bridge = (binding != Binding::Bridge).then(|| of("supported only for bridge binding"));
            let default = is_default.then(|| of("not supported on default networks"));
            bridge.into_iter().chain(default).collect()
        }
        // Also for SR-IOV: a word that nobody knows is no link.
        _ => vec![format!("logical blue interface state value is unsupported: {state}")],
    }
}

#[test]
fn every_rule_about_states_for_every_binding_network_and_state() {
    let mut seen = (0, 0);
    for (binding, is) in BINDINGS {
        for (network, is_default) in networks() {
            for state in ["", "up", "down", "absent", "UP", "Absent", "none"] {
                for (object, prefix) in both(&json!([nic("blue", binding, state)]), &json!([network]), &json!({})) {
                    let path = format!("{prefix}.domain.devices.interfaces[0].state");
                    let wanted = wanted(is, state, is_default);
                    let wanted = wanted.into_iter().map(|why| ["FieldValueInvalid".to_owned(), why, path.clone()]);
                    let wanted: Vec<_> = wanted.collect();
                    seen = if wanted.is_empty() { (seen.0 + 1, seen.1) } else { (seen.0, seen.1 + 1) };
                    let cluster = Cluster::default();
                    assert_eq!(causes(&cluster.create(&object)), wanted, "{object}");
                    // The same where it was something else before. An instance is changed by nobody but the controller.
                    if prefix == "spec.template.spec" {
                        let mut before = object.clone();
                        before["spec"]["runStrategy"] = json!("Halted");
                        assert_eq!(causes(&Cluster::new([before]).update(&object)), wanted, "{object}");
                    }
                }
            }
        }
    }
    // Seven states less the rest: bridged NICs may be absent on two networks, and SR-IOV NICs have no link.
    assert_eq!(seen, (2 * 4 * (8 * 3 + 1) + 2 * 2 * 2, 2 * 4 * 9 * 7 - (2 * 4 * (8 * 3 + 1) + 2 * 2 * 2)));
}

#[test]
fn causes_come_in_the_order_that_clients_know() {
    let nics = json!([nic("gone", "bridge", ""), nic("a", "sriov", "absent"), nic("a", "bridge", "UP")]);
    let mut twice = nics.clone();
    twice[0]["masquerade"] = json!({});
    twice[0]["bootOrder"] = json!(0);
    let networks = json!([{"name": "a", "pod": {}}]);
    for (object, prefix) in both(&twice, &networks, &json!({})) {
        let place = |at: usize, field: &str| format!("{prefix}.domain.devices.interfaces[{at}]{field}");
        let found: Vec<String> =
            causes(&Cluster::default().create(&object)).into_iter().map(|[_, _, path]| path).collect();
        let wanted = [
            place(1, ".state"),
            place(1, ".state"),
            place(2, ".state"),
            place(0, ""),
            place(2, ".name"),
            place(0, ".name"),
            place(0, ".bootOrder"),
        ];
        assert_eq!(found, wanted, "{prefix}: states, bindings, names, networks, fields");
    }
}

#[test]
fn a_probe_over_the_primary_nic_that_is_down_is_warned_of_and_no_other() {
    let remote = [json!({"httpGet": {"port": 80}}), json!({"tcpSocket": {"port": 80}})];
    for (probe, says) in [("readinessProbe", "will not be ready"), ("livenessProbe", "is started again")] {
        let warnings = |primary: &str, secondary: &str, probed: &Value| {
            let nics = json!([nic("blue", "bridge", secondary), nic("default", "masquerade", primary)]);
            let networks = json!([{"name": "blue", "multus": {"networkName": "blue"}}, {"name": "default", "pod": {}}]);
            both(&nics, &networks, &json!({probe: probed})).map(|(object, _)| {
                let verdict = Cluster::default().create(&object);
                assert_eq!(causes(&verdict), [[""; 3]; 0], "{object}");
                verdict.warnings
            })
        };
        for probed in &remote {
            for found in warnings("down", "up", probed) {
                assert!(matches!(&found[..], [one] if one.contains(says) && one.contains("\"default\"")), "{found:?}");
            }
            for state in ["", "up"] {
                assert_eq!(warnings(state, "down", probed).concat(), [""; 0], "{state}");
            }
        }
        assert_eq!(warnings("down", "", &json!({"exec": {"command": ["true"]}})).concat(), [""; 0]);
    }
}
