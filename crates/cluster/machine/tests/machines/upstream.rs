//! What `KubeVirt`'s own tests say of links, line by line.

use netloom_domain::{Base, Domain, LinkState, Step, domain, steps};
use netloom_machine::{
    domain::{Plugins, instance as wanted},
    lane::{Lane, Want},
    sync::{needs_restart, to_instance},
};
use serde_json::{Value, json};

use crate::{
    fake::{BASE, Fake, Folder},
    instance, machine,
};

/// What is done about a NIC that is in a domain with this link, when this one is asked for; a link of `-` is no element.
fn synced(live: &str, asked: &str) -> Vec<Step> {
    let object = |state: &str| instance(&[("default", "masquerade", state)], json!({}));
    let base = Base::parse(BASE).unwrap();
    let text = domain(&wanted(&object(""), &Plugins::new()).unwrap(), &base);
    let link = if live == "-" { String::new() } else { format!("<link state='{live}'/>") };
    let text = text.replace("<alias", &format!("{link}<alias"));
    steps(&wanted(&object(asked), &Plugins::new()).unwrap(), &Domain::read(&text).unwrap())
}

#[test]
fn link_sync_none_to_none_is_no_call() {
    assert_eq!((synced("-", ""), synced("-", "up")), (vec![], vec![]));
}

#[test]
fn link_sync_down_to_down_is_no_call() {
    assert_eq!(synced("down", "down"), []);
}

#[test]
fn link_sync_none_to_down_is_one_update_with_the_link_and_the_alias() {
    let found = synced("-", "down");
    let [Step::SetLink { xml, state: LinkState::Down, .. }] = &found[..] else { panic!("{found:?}") };
    assert!(xml.contains("<link state='down'/>") && xml.contains("<alias name='ua-default'/>"), "{xml}");
}

#[test]
fn link_sync_down_to_none_is_one_update_without_a_link() {
    let found = synced("down", "");
    let [Step::SetLink { xml, state: LinkState::Up, .. }] = &found[..] else { panic!("{found:?}") };
    assert!(!xml.contains("<link") && xml.contains("<alias name='ua-default'/>"), "{xml}");
}

/// The device that is plugged in has its state with it.
#[test]
fn hotplug_of_a_nic_that_is_down_carries_the_link() {
    let base = Base::parse(BASE).unwrap();
    let before = wanted(&instance(&[("default", "masquerade", "")], json!({})), &Plugins::new()).unwrap();
    let live = Domain::read(&domain(&before, &base)).unwrap();
    let nics = [("default", "masquerade", ""), ("blue", "bridge", "down")];
    let found = steps(&wanted(&instance(&nics, json!({})), &Plugins::new()).unwrap(), &live);
    assert!(matches!(&found[..], [Step::Attach { nic, xml }] if nic == "blue" && xml.contains("<link state='down'/>")));
}

#[test]
fn converter_up_has_no_element_and_down_has_one() {
    let links = |state: &str| {
        let object = instance(&[("default", "masquerade", state)], json!({}));
        domain(&wanted(&object, &Plugins::new()).unwrap(), &Base::parse(BASE).unwrap()).matches("<link ").count()
    };
    assert_eq!((links(""), links("up"), links("down")), (0, 0, 1));
}

#[test]
fn converter_sriov_only_plugin_only_and_absent_only_have_no_interfaces() {
    for nic in [("blue", "sriov", ""), ("blue", "plugin:sidecar", "down"), ("blue", "bridge", "absent")] {
        let object = instance(&[nic], json!({}));
        let text = domain(&wanted(&object, &Plugins::new()).unwrap(), &Base::parse(BASE).unwrap());
        assert!(!text.contains("<interface"), "{nic:?}: {text}");
    }
}

/// The state that the instance has after the controller is done.
fn after(before: &str, asked: &str) -> String {
    let status = json!({"phase": "Running", "interfaces": [{"name": "blue"}]});
    let instance = instance(&[("blue", "", before)], status);
    let Some(patch) = to_instance(&machine(&[("blue", "", asked)]), &instance) else { return before.to_owned() };
    let added = patch.as_array().unwrap().iter().rev().find(|operation| operation["op"] == "add").unwrap();
    added["value"][0]["state"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn controller_twelve_transitions_end_with_the_machines_value() {
    for before in ["", "up", "down"] {
        for asked in ["", "up", "down", "absent"] {
            assert_eq!(after(before, asked), asked, "{before} -> {asked}");
        }
    }
}

#[test]
fn controller_absent_is_not_taken_back() {
    for asked in ["", "up", "down"] {
        assert_eq!(after("absent", asked), "absent", "{asked}");
    }
}

#[test]
fn restart_none_of_the_transitions_requires_one() {
    for before in ["", "up", "down", "absent"] {
        for asked in ["", "up", "down", "absent"] {
            let instance = instance(&[("blue", "", before)], json!({"phase": "Running"}));
            assert_eq!(needs_restart(&machine(&[("blue", "", asked)]), &instance), [""; 0], "{before} -> {asked}");
        }
    }
}

/// What is reported of a NIC whose live element says this; `-` is no element.
fn reported(link: &str, asked: &str) -> Value {
    let object = instance(&[("default", "masquerade", asked)], json!({"nodeName": "n1", "phase": "Running"}));
    let (mut lane, mut fake) = (Lane::new("n1", Plugins::new()), Fake::default());
    let text = domain(&wanted(&object, &Plugins::new()).unwrap(), &Base::parse(BASE).unwrap());
    let element = if link == "-" { String::new() } else { format!("<link state='{link}'/>") };
    let text = text.replace("<link state='down'/>", "").replace("<alias", &format!("{element}<alias"));
    fake.domains.insert("default_a".to_owned(), (text, true));
    lane.listed(vec![object]);
    let wants = lane.turn(0, "t", &mut fake, &Folder(None)).unwrap();
    assert_eq!(fake.updates(), 0);
    let [Want::Write { patch, .. }] = &wants[..] else { panic!("{wants:?}") };
    patch["status"]["interfaces"][0]["linkState"].clone()
}

#[test]
fn status_explicit_up_and_down_are_echoed() {
    assert_eq!((reported("up", ""), reported("down", "down")), (json!("up"), json!("down")));
}

#[test]
fn status_missing_is_up() {
    assert_eq!(reported("-", "up"), json!("up"));
}
