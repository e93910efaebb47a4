//! What a change would do, before it is made.

use netloom_machine::preview::{Live, Preview, of_tap, preview};
use serde_json::json;

use crate::{instance, machine};

#[test]
fn each_change_of_a_nic_is_live_or_waits() {
    let live = instance(
        &[("default", "masquerade", ""), ("a", "", "down"), ("b", "", "up"), ("c", "", "")],
        json!({"phase": "Running", "interfaces": [{"name": "c"}]}),
    );
    let wanted = machine(&[
        ("default", "masquerade", "down"),
        ("a", "", "up"),
        ("b", "", ""),
        ("c", "", "absent"),
        ("d", "", "down"),
        ("e", "masquerade", ""),
    ]);
    let found = preview(&wanted, &live);
    let names: Vec<_> = found.live.iter().map(|(name, live)| (name.as_str(), *live)).collect();
    let plugged = ("d", Live::PluggedIn { up: false });
    assert_eq!(names, [("default", Live::Down), ("a", Live::Up), ("c", Live::Unplugged), plugged]);
    assert_eq!(found.restart, ["interface e"]);
    let same = machine(&[("default", "masquerade", ""), ("a", "", "down"), ("b", "", "up"), ("c", "", "")]);
    assert_eq!(preview(&same, &live), Preview::default());
}

#[test]
fn a_tap_leads_back_to_its_nic() {
    let live = instance(&[("default", "", ""), ("blue", "", "")], json!({}));
    let tap = netloom_domain::DeviceNames::of("default", "a", "blue").tap;
    assert_eq!(of_tap(&tap, [&live]).map(|(_, nic)| nic), Some("blue"));
    assert_eq!(of_tap("tap0", [&live]), None);
}
