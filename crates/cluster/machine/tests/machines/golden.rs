//! The device of each binding, model and state, from an instance as it is written: `tests/golden`, written again with
//! `NETLOOM_BLESS=1`.

use std::{fmt::Write as _, fs, path::Path};

use netloom_domain::{Base, domain};
use netloom_machine::domain::{Plugins, Refresh, instance as wanted};

use crate::{fake::BASE, instance};

const MODELS: [&str; 8] = ["", "virtio", "e1000", "e1000e", "igb", "ne2k_pci", "pcnet", "rtl8139"];
const STATES: [&str; 4] = ["", "up", "down", "absent"];

/// Each binding as it is written, and the name of its file. Of the plugins two attach by a tap, and one is not known here.
const BINDINGS: [(&str, &str); 8] = [
    ("none", ""),
    ("bridge", "bridge"),
    ("masquerade", "masquerade"),
    ("sriov", "sriov"),
    ("passt", "passtBinding"),
    ("plugin-tap", "plugin:tap"),
    ("plugin-tap-link-refresh", "plugin:refreshed"),
    ("plugin-unknown", "plugin:sidecar"),
];

fn devices(binding: &str) -> String {
    let plugins = Plugins::from([("tap".to_owned(), Refresh::No), ("refreshed".to_owned(), Refresh::Yes)]);
    let base = Base::parse(BASE).unwrap();
    let mut found = String::new();
    for model in MODELS {
        for state in STATES {
            let mut object = instance(&[("blue", binding, state)], serde_json::json!({}));
            if !model.is_empty() {
                object["spec"]["domain"]["devices"]["interfaces"][0]["model"] = model.into();
            }
            let text = domain(&wanted(&object, &plugins).unwrap(), &base);
            let device = text.find("<interface").map(|from| {
                let end = text.find("</interface>").unwrap() + "</interface>".len();
                text[from..end].to_owned()
            });
            let device = device.unwrap_or_else(|| "<!-- no device -->".to_owned());
            writeln!(found, "<!-- model: {model:?}, state: {state:?} -->\n{device}").unwrap();
        }
    }
    found
}

#[test]
fn each_binding_model_and_state_has_its_device() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let bless = std::env::var_os("NETLOOM_BLESS").is_some_and(|value| !value.is_empty() && value != "0");
    let mut stale = Vec::new();
    for (name, binding) in BINDINGS {
        let (file, found) = (folder.join(format!("{name}.xml")), devices(binding));
        if bless {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&file, &found).unwrap();
        }
        if fs::read_to_string(&file).unwrap_or_default() != found {
            stale.push(file);
        }
    }
    assert_eq!(stale, [""; 0].map(std::path::PathBuf::from), "NETLOOM_BLESS=1 writes them again");
}

#[test]
fn a_binding_that_is_not_named_is_bridge_and_plugins_that_attach_by_a_tap_are_like_it() {
    let bridge = devices("bridge");
    for binding in ["", "masquerade", "plugin:tap", "plugin:refreshed"] {
        assert_eq!(devices(binding), bridge, "{binding}");
    }
    for binding in ["sriov", "plugin:sidecar"] {
        assert!(!devices(binding).contains("<interface"), "{binding}");
    }
    assert!(devices("passtBinding").contains("<backend type='passt'/>"));
}
