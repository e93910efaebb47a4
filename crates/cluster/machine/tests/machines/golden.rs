//! Each binding, model and state, from an instance as people write it to the domain that libvirt gets, or to what admission
//! says of it. A case is a file `NAME.yaml` in `tests/golden`, what comes of it `NAME.xml` or `NAME.refused` beside it;
//! `NETLOOM_BLESS=1` writes those again. The tier `vm` gives the domains to a real libvirtd.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use netloom_domain::{Base, domain};
use netloom_machine::{
    domain::{Plugins, Refresh, instance},
    rules::broken,
    spec::InstanceSpec,
};
use netloom_schema::decode::{Limits, yaml_documents};
use serde::Deserialize as _;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// The texts of the folder's files that end like this, by name.
fn files(extension: &str) -> BTreeMap<String, String> {
    let paths = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let fitting = paths.filter(|path| path.extension().is_some_and(|found| found == extension));
    let name = |path: &Path| path.file_stem().unwrap().to_string_lossy().into_owned();
    fitting.map(|path| (name(&path), fs::read_to_string(&path).unwrap())).collect()
}

/// What comes of an instance: its domain, or what admission says.
fn outcome(text: &str) -> Result<String, String> {
    let plugins = Plugins::from([("tapped".to_owned(), Refresh::No), ("refreshed".to_owned(), Refresh::Yes)]);
    let base = Base::parse(&fs::read_to_string(folder().join("base.xml")).unwrap()).unwrap();
    let object = yaml_documents(text.as_bytes(), Limits::default()).unwrap().remove(0).decoded.value;
    let spec = InstanceSpec::deserialize(&object["spec"]).unwrap();
    let refused: Vec<String> =
        broken(&spec, "spec").into_iter().map(|broken| format!("{}: {}\n", broken.path, broken.why)).collect();
    if refused.is_empty() { Ok(domain(&instance(&object, &plugins).unwrap(), &base)) } else { Err(refused.concat()) }
}

#[test]
fn each_binding_model_and_state_has_its_domain_or_is_refused() {
    let mut found: BTreeMap<&str, BTreeMap<String, String>> =
        [("xml", BTreeMap::new()), ("refused", BTreeMap::new())].into();
    for (name, text) in files("yaml") {
        let (extension, text) = match outcome(&text) {
            Ok(domain) => ("xml", domain),
            Err(refused) => ("refused", refused),
        };
        found.get_mut(extension).unwrap().insert(name, text);
    }
    for (extension, found) in found {
        let mut wanted = files(extension);
        wanted.remove("base");
        if std::env::var_os("NETLOOM_BLESS").is_some_and(|value| !value.is_empty() && value != "0") {
            let place = |name: &str| folder().join(format!("{name}.{extension}"));
            for name in wanted.keys().filter(|name| !found.contains_key(*name)) {
                fs::remove_file(place(name)).unwrap();
            }
            for (name, text) in &found {
                fs::write(place(name), text).unwrap();
            }
            continue;
        }
        let names = |all: &BTreeMap<String, String>| all.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&found), names(&wanted), "NETLOOM_BLESS=1 writes them again");
        for (name, text) in &found {
            assert_eq!(*text, wanted[name], "{name}.{extension}; NETLOOM_BLESS=1 writes it again");
        }
    }
}

/// The folder has every binding with every model in every state.
#[test]
fn no_binding_model_or_state_is_left_out() {
    let (cases, domains, refused) = (files("yaml"), files("xml"), files("refused"));
    for binding in
        ["none", "bridge", "masquerade", "passt", "sriov", "plugin-tap", "plugin-link-refresh", "plugin-unknown"]
    {
        for state in ["up", "down", "absent"] {
            let case = &cases[&format!("{binding}-{state}")];
            for model in ["virtio", "e1000", "e1000e", "rtl8139", "ne2k_pci", "pcnet", "igb"] {
                let asked = format!("model: {model}, state: {state}}}");
                let all = [case, &cases[&format!("{binding}-igb")]];
                let count: usize = all.map(|case| case.matches(&asked).count()).iter().sum();
                assert_eq!(count, 1, "{binding} {model} {state}");
            }
            // What the rules say of a state is in one place: `rules`.
            let refuses = match state {
                "absent" => !["none", "bridge"].contains(&binding),
                _ => binding == "sriov",
            };
            assert_eq!(refused.contains_key(&format!("{binding}-{state}")), refuses, "{binding} {state}");
            let devices = domains.get(&format!("{binding}-{state}")).map(|text| text.matches("<interface ").count());
            let wanted = match (state, binding) {
                _ if refuses => None,
                ("absent", _) | (_, "plugin-unknown") => Some(0),
                _ => Some(6),
            };
            assert_eq!(devices, wanted, "{binding} {state}");
        }
    }
    let same = |one: &str, other: &str| assert_eq!(domains[one], domains[other], "{one} {other}");
    for state in ["up", "down"] {
        for binding in ["none", "masquerade", "plugin-tap", "plugin-link-refresh"] {
            same(&format!("{binding}-{state}"), &format!("bridge-{state}"));
        }
    }
    assert!(domains["passt-down"].contains("<backend type='passt'/>"));
    assert_eq!(domains["passt-down"].matches("<link state='down'/>").count(), 6, "passt has its link, too");
    assert_eq!(domains["sriov-unset"].matches("<interface ").count(), 0);
}
