//! Words that people give and that name something of a node: the base of a domain, and plugins.

use netloom_domain::Attachment;
use netloom_machine::domain::{Plugins, Refresh, base, plugin};
use serde_json::json;

use crate::instance;

#[test]
fn a_base_is_a_file_of_the_folder_and_never_elsewhere() {
    let named = |name: &str| {
        let mut object = instance(&[], json!({}));
        object["metadata"]["annotations"] = json!({"netloom.dev/base": name});
        base(&object).map(str::to_owned)
    };
    assert_eq!(base(&instance(&[], json!({}))), Ok("default"));
    for name in ["default", "large", "large-2.1", "a_b", &"a".repeat(64)] {
        assert_eq!(named(name), Ok(name.to_owned()));
    }
    for name in ["", "../x", "x/../y", "/etc/passwd", ".", "..", ".hidden", "a b", "a\0b", "ä", "a\\b", &"a".repeat(65)]
    {
        let why = named(name).unwrap_err();
        assert!(why.contains("netloom.dev/base") && why.contains(&format!("{name:?}")), "{why}");
    }
}

#[test]
fn a_plugin_is_a_name_and_how_it_attaches() {
    assert_eq!(plugin("mine=tap"), Ok(("mine".to_owned(), Refresh::No)));
    assert_eq!(plugin("mine=tap,link-refresh"), Ok(("mine".to_owned(), Refresh::Yes)));
    for bad in ["", "mine", "=tap", "mine=", "mine=bridge", "mine=tap,", "mine=link-refresh", "mine=tap, link-refresh"]
    {
        assert!(plugin(bad).unwrap_err().contains("NAME=tap"), "{bad}");
    }
}

#[test]
fn each_binding_is_attached_in_its_way() {
    let plugins: Plugins = [("mine".to_owned(), Refresh::Yes), ("plain".to_owned(), Refresh::No)].into();
    let nics = [
        ("default", "masquerade", Attachment::Tap, false),
        ("a", "bridge", Attachment::Tap, false),
        ("b", "", Attachment::Tap, false),
        ("c", "passtBinding", Attachment::Passt, false),
        ("d", "sriov", Attachment::Elsewhere, false),
        ("e", "plugin:mine", Attachment::Tap, true),
        ("f", "plugin:plain", Attachment::Tap, false),
        ("g", "plugin:others", Attachment::Elsewhere, false),
    ];
    let given: Vec<_> = nics.iter().map(|(name, binding, ..)| (*name, *binding, "")).collect();
    let found = netloom_machine::domain::instance(&instance(&given, json!({})), &plugins).unwrap();
    let found: Vec<_> = found.nics.iter().map(|nic| (nic.name.as_str(), nic.attachment, nic.refreshed)).collect();
    let wanted: Vec<_> = nics.iter().map(|(name, _, attachment, refreshed)| (*name, *attachment, *refreshed)).collect();
    assert_eq!(found, wanted);
}
