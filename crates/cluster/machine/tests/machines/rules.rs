//! Each rule with an object that it refuses and the nearest one that it takes.

use netloom_machine::{
    rules::{broken, run_strategy, warnings},
    spec::InstanceSpec,
};
use serde_json::{Value, json};

use crate::spec;

fn read(spec: &Value) -> InstanceSpec {
    serde_json::from_value(spec.clone()).expect("a specification")
}

fn whys(nics: &[(&str, &str, &str)]) -> Vec<String> {
    broken(&read(&spec(nics)), "spec").into_iter().map(|broken| format!("{}: {}", broken.path, broken.why)).collect()
}

const BINDINGS: [&str; 6] = ["", "bridge", "masquerade", "sriov", "passtBinding", "plugin:p"];

#[test]
fn states_are_words_of_the_api_and_case_matters() {
    for binding in ["", "bridge", "masquerade", "passtBinding", "plugin:p"] {
        for wrong in ["UP", "Down", "unplugged"] {
            let wanted = format!(
                "spec.domain.devices.interfaces[0].state: logical blue interface state value is unsupported: {wrong}"
            );
            assert_eq!(whys(&[("blue", binding, wrong)]), [wanted], "{binding}");
        }
        for right in ["", "up", "down"] {
            assert_eq!(whys(&[("blue", binding, right)]), [""; 0], "{binding} {right}");
            assert_eq!(whys(&[("default", binding, right)]), [""; 0], "{binding} {right}");
        }
    }
}

#[test]
fn links_of_sriov_devices_are_not_for_us() {
    for state in ["up", "down"] {
        let wanted = format!(
            "spec.domain.devices.interfaces[0].state: \"blue\" interface's state \"{state}\" is not supported for SR-IOV NICs"
        );
        assert_eq!(whys(&[("blue", "sriov", state)]), [wanted]);
    }
    assert_eq!(whys(&[("blue", "sriov", "")]), [""; 0]);
    let wrong = "spec.domain.devices.interfaces[0].state: logical blue interface state value is unsupported: UP";
    assert_eq!(whys(&[("blue", "sriov", "UP")]), [wrong], "a word that nobody knows is no link");
}

#[test]
fn only_bridged_nics_of_secondary_networks_can_go() {
    let bridge = "spec.domain.devices.interfaces[0].state: \"blue\" interface's state \"absent\" is supported only for bridge binding";
    for binding in BINDINGS {
        let bridged = ["", "bridge"].contains(&binding);
        let wanted: &[&str] = if bridged { &[] } else { &[bridge] };
        assert_eq!(whys(&[("blue", binding, "absent")]), wanted, "{binding}");
    }
    let primary = "spec.domain.devices.interfaces[0].state: \"default\" interface's state \"absent\" is not supported on default networks";
    assert_eq!(whys(&[("default", "bridge", "absent")]), [primary]);
    let not_bridged = bridge.replace("blue", "default");
    for binding in ["masquerade", "passtBinding", "sriov", "plugin:p"] {
        let wanted = [not_bridged.as_str(), primary];
        assert_eq!(whys(&[("default", binding, "absent")]), wanted, "{binding}: rules do not depend on each other");
    }
    let mut multus = spec(&[("blue", "bridge", "absent")]);
    multus["networks"][0]["multus"]["default"] = json!(true);
    assert_eq!(broken(&read(&multus), "spec").len(), 1);
}

#[test]
fn interfaces_and_networks_belong_together_one_by_one() {
    let good = spec(&[("blue", "bridge", ""), ("red", "", "")]);
    let found = |change: &dyn Fn(&mut Value)| {
        let mut spec = good.clone();
        change(&mut spec);
        broken(&read(&spec), "spec.template.spec").into_iter().map(|broken| broken.path).collect::<Vec<_>>()
    };
    assert_eq!(found(&|_| {}), [""; 0]);
    let nics = "spec.template.spec.domain.devices.interfaces";
    assert_eq!(found(&|spec| drop(spec["networks"].as_array_mut().unwrap().pop())), [format!("{nics}[1].name")]);
    let without = |spec: &mut Value| drop(spec["domain"]["devices"]["interfaces"].as_array_mut().unwrap().pop());
    assert_eq!(found(&without), ["spec.template.spec.networks[1].name"]);
    assert_eq!(
        whys(&[("blue", "", ""), ("blue", "", "")]),
        ["spec.domain.devices.interfaces[1].name: is there twice", "spec.networks[1].name: is there twice"]
    );
    for (field, wrong, right) in [
        ("macAddress", json!("x'/><y"), json!("02:00:00:00:00:01")),
        ("macAddress", json!("ff:ff:ff:ff:ff:ff"), json!("02-00-00-00-00-01")),
        ("pciAddress", json!("0000:81:20.0"), json!("0000:81:1f.0")),
        ("acpiIndex", json!(16384), json!(16383)),
        ("acpiIndex", json!(0), json!(1)),
        ("bootOrder", json!(0), json!(1)),
    ] {
        let with = |value: &Value| found(&|spec| spec["domain"]["devices"]["interfaces"][0][field] = value.clone());
        assert_eq!(with(&wrong), [format!("{nics}[0].{field}")], "{wrong}");
        assert_eq!(with(&right), [""; 0], "{right}");
    }
    assert_eq!(whys(&[("a'b", "", "")]).len(), 1);
    assert_eq!(found(&|spec| spec["domain"]["devices"]["interfaces"][0]["sriov"] = json!({})), [format!("{nics}[0]")]);
    assert_eq!(found(&|spec| spec["domain"]["memory"] = json!({"guest": "much"})).len(), 1);
    assert_eq!(found(&|spec| spec["domain"]["memory"] = json!({"guest": "64Mi"})), [""; 0]);
}

#[test]
fn a_machine_runs_always_or_not_at_all() {
    for right in [None, Some("Always"), Some("Halted")] {
        assert_eq!(run_strategy(right), None);
    }
    for wrong in ["Manual", "RerunOnFailure", "Once", "always", ""] {
        assert!(run_strategy(Some(wrong)).is_some(), "{wrong}");
    }
}

#[test]
fn a_probe_over_a_nic_without_link_is_warned_of() {
    let with = |state: &str, which: &str, probe: Value| {
        let mut spec = spec(&[("default", "masquerade", state), ("blue", "", "down")]);
        spec[which] = probe;
        warnings(&read(&spec))
    };
    for (which, says) in [("readinessProbe", "will not be ready"), ("livenessProbe", "started again")] {
        for probe in [json!({"httpGet": {"port": 80}}), json!({"tcpSocket": {"port": 80}})] {
            let found = with("down", which, probe);
            assert!(matches!(&found[..], [one] if one.contains(says) && one.contains("\"default\"")), "{found:?}");
        }
        assert_eq!(with("down", which, json!({"exec": {"command": ["x"]}})), [""; 0]);
        assert_eq!(with("up", which, json!({"httpGet": {"port": 80}})), [""; 0]);
    }
}

/// The order of causes is that of `KubeVirt`: what is wrong with states comes before names and networks.
#[test]
fn causes_about_states_come_first() {
    let mut spec = spec(&[("blue", "", ""), ("red", "", "UP")]);
    spec["networks"].as_array_mut().unwrap().remove(0);
    spec["domain"]["devices"]["interfaces"][0]["bootOrder"] = json!(0);
    let places: Vec<String> = broken(&read(&spec), "spec").into_iter().map(|broken| broken.path).collect();
    let nics = "spec.domain.devices.interfaces";
    assert_eq!(places, [format!("{nics}[1].state"), format!("{nics}[0].name"), format!("{nics}[0].bootOrder")]);
}
