//! What admission says of virtual machines, and who may write what of them.

use netloom_admission::{ReviewResult, User, agent};
use serde_json::{Value, json};

use crate::cluster::{Cluster, refusals, with};

/// The two objects with one NIC each: a machine and an instance, with the place of their specification.
fn both(nic: &Value, network: &Value) -> [(Value, &'static str); 2] {
    let spec = json!({"domain": {"devices": {"interfaces": [nic]}}, "networks": [network]});
    let object = |kind: &str, spec: Value| {
        json!({
            "apiVersion": "kubevirt.io/v1", "kind": kind, "metadata": {"namespace": "default", "name": "a"}, "spec": spec,
        })
    };
    let machine = object("VirtualMachine", json!({"runStrategy": "Always", "template": {"spec": spec}}));
    [(machine, "spec.template.spec"), (object("VirtualMachineInstance", spec), "spec")]
}

fn secondary() -> Value {
    json!({"name": "blue", "multus": {"networkName": "blue"}})
}

fn primary() -> Value {
    json!({"name": "blue", "pod": {}})
}

/// Reason, message and field of every broken rule, as a client sees them.
fn causes(verdict: &ReviewResult) -> Vec<[String; 3]> {
    verdict.errors.iter().map(|error| [error.cause.reason().to_owned(), error.body(), error.path.clone()]).collect()
}

#[test]
fn every_rule_about_states_has_the_words_that_clients_know() {
    let unsupported = "logical blue interface state value is unsupported: ";
    let sriov = |state: &str| format!("\"blue\" interface's state \"{state}\" is not supported for SR-IOV NICs");
    let bridge_only = "\"blue\" interface's state \"absent\" is supported only for bridge binding".to_owned();
    let default = "\"blue\" interface's state \"absent\" is not supported on default networks".to_owned();
    let default_attachment = json!({"name": "blue", "multus": {"networkName": "blue", "default": true}});
    for (binding, state, network, wanted) in [
        ("bridge", "Up", secondary(), vec![format!("{unsupported}Up")]),
        ("bridge", "unplugged", primary(), vec![format!("{unsupported}unplugged")]),
        ("sriov", "up", secondary(), vec![sriov("up")]),
        ("sriov", "down", secondary(), vec![sriov("down")]),
        ("sriov", "", secondary(), vec![]),
        ("sriov", "absent", secondary(), vec![bridge_only.clone()]),
        ("masquerade", "absent", secondary(), vec![bridge_only.clone()]),
        ("masquerade", "absent", primary(), vec![bridge_only.clone(), default.clone()]),
        ("bridge", "absent", primary(), vec![default.clone()]),
        ("", "absent", default_attachment, vec![default]),
        ("bridge", "absent", secondary(), vec![]),
        ("", "absent", secondary(), vec![]),
    ] {
        let mut nic = json!({"name": "blue", "state": state});
        if !binding.is_empty() {
            nic[binding] = json!({});
        }
        for (object, prefix) in both(&nic, &network) {
            let path = format!("{prefix}.domain.devices.interfaces[0].state");
            let wanted: Vec<_> =
                wanted.iter().map(|words| ["FieldValueInvalid".to_owned(), words.clone(), path.clone()]).collect();
            assert_eq!(causes(&Cluster::default().create(&object)), wanted, "{object}");
        }
    }
}

#[test]
fn links_are_up_or_down_with_every_other_binding_on_every_network() {
    for binding in ["", "bridge", "masquerade", "passtBinding", "plugin"] {
        for (state, network) in [("up", primary()), ("down", primary()), ("up", secondary()), ("down", secondary())] {
            let mut nic = json!({"name": "blue", "state": state});
            match binding {
                "" => {}
                "plugin" => nic["binding"] = json!({"name": "their-plugin"}),
                core => nic[core] = json!({}),
            }
            for (object, _) in both(&nic, &network) {
                assert_eq!(refusals(&Cluster::default().create(&object)), [""; 0], "{object}");
            }
        }
    }
}

#[test]
fn a_probe_over_an_interface_that_is_down_is_warned_of() {
    let down = json!({"name": "blue", "masquerade": {}, "state": "down"});
    for (object, prefix) in both(&down, &primary()) {
        let place = format!("/{}/readinessProbe", prefix.replace('.', "/"));
        let probed = with(&object, &[(&place, json!({"httpGet": {"port": 80}}))]);
        let verdict = Cluster::default().create(&probed);
        assert_eq!((refusals(&verdict).len(), verdict.warnings.len()), (0, 1), "{:?}", verdict.warnings);
        assert!(verdict.warnings[0].contains("readiness probe"), "{:?}", verdict.warnings);
        let quiet = with(&object, &[(&place, json!({"exec": {"command": ["true"]}}))]);
        assert_eq!(Cluster::default().create(&quiet).warnings, [""; 0], "it does not go over the network");
    }
}

#[test]
fn machines_run_always_or_not_at_all() {
    let [(machine, _), _] = both(&json!({"name": "blue"}), &secondary());
    for strategy in ["Always", "Halted"] {
        let machine = with(&machine, &[("/spec/runStrategy", json!(strategy))]);
        assert_eq!(refusals(&Cluster::default().create(&machine)), [""; 0]);
    }
    let manual = Cluster::default().create(&with(&machine, &[("/spec/runStrategy", json!("Manual"))]));
    assert_eq!(causes(&manual)[0][2], "spec.runStrategy");
    let twice = Cluster::default().create(&with(&machine, &[("/spec/running", json!(true))]));
    let why = "Forbidden: says the same as spec.runStrategy; leave one of them";
    assert_eq!(causes(&twice)[0][1..], [why, "spec.running"]);
}

#[test]
fn the_specification_of_an_instance_is_the_controllers_to_change() {
    let [_, (instance, _)] = both(&json!({"name": "blue"}), &secondary());
    let instance = with(&instance, &[("/status/nodeName", json!("n1"))]);
    let down = with(&instance, &[("/spec/domain/devices/interfaces/0/state", json!("down"))]);
    let reported = with(&instance, &[("/status/phase", json!("Running"))]);
    let labelled = with(&instance, &[("/metadata/labels", json!({"stolen": "yes"}))]);
    let moved = with(&instance, &[("/status/nodeName", json!("n2"))]);
    let by = |user: &User| Cluster::new([instance.clone()]).by(user.clone());

    let controller = User::new("netloom:controller", &["netloom:controllers"]);
    for change in [&down, &reported, &labelled, &moved] {
        assert_eq!(refusals(&by(&controller).replace(&instance, change)), [""; 0]);
    }
    let person = User::new("alice", &["system:masters"]);
    assert_eq!(refusals(&by(&person).replace(&instance, &down)), ["update of VMI object is restricted"]);
    assert_eq!(refusals(&by(&person).replace(&instance, &reported)), [""; 0]);

    let own = User::new("netloom:agent:n1", &[agent::GROUP]);
    assert_eq!(refusals(&by(&own).replace(&instance, &reported)), [""; 0]);
    let only = r#"the agent of node "n1" may write only the status of a VirtualMachineInstance"#;
    for change in [&down, &labelled] {
        assert_eq!(refusals(&by(&own).replace(&instance, change)), [only]);
    }
    assert_eq!(refusals(&Cluster::default().by(own.clone()).create(&instance)), [only]);
    assert_eq!(refusals(&by(&own).delete(&instance)), [only]);
    let given_away = refusals(&by(&own).replace(&instance, &moved));
    assert!(given_away.len() == 1 && given_away[0].contains("status.nodeName"), "{given_away:?}");
    let other = User::new("netloom:agent:n2", &[agent::GROUP]);
    for change in [&down, &labelled, &reported, &moved] {
        let refused = refusals(&by(&other).replace(&instance, change));
        assert!(refused.len() == 1 && refused[0].contains("status.nodeName"), "{refused:?}");
    }
}

#[test]
fn a_migration_names_one_instance_for_good() {
    let migration = |name: &str| {
        json!({
            "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstanceMigration",
            "metadata": {"namespace": "default", "name": "m"}, "spec": {"vmiName": name},
        })
    };
    assert_eq!(refusals(&Cluster::default().create(&migration("a"))), [""; 0]);
    let why = "Required value: name the instance that is to move";
    assert_eq!(causes(&Cluster::default().create(&migration("")))[0][1..], [why, "spec.vmiName"]);
    let changed = Cluster::new([migration("a")]).update(&migration("b"));
    assert_eq!(causes(&changed)[0][2], "spec.vmiName");
}
