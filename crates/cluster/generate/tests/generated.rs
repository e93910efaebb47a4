//! Definitions are ones that a server takes, and the generated files are current.

use std::{fs, path::Path};

use netloom_api::{fields, kinds};
use netloom_cel::Cel;
use netloom_schema::crd;
use serde_json::Value;

#[test]
fn definitions_keep_the_rules_for_definitions() {
    for kind in kinds() {
        let mut definition = kind.crd();
        crd::default_crd(&mut definition);
        let parsed = crd::parse_with(&definition, &Cel::new())
            .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>());
        let parsed = parsed.unwrap_or_else(|errors| panic!("{}: {errors:#?}", kind.kind));
        assert_eq!(
            (parsed.group.as_str(), parsed.names.kind.as_str(), parsed.names.plural.as_str()),
            (kind.group, kind.kind, kind.plural)
        );
    }
}

#[test]
fn names_do_not_clash_in_a_group() {
    let mut taken: Vec<(&str, String, &str)> = Vec::new();
    for kind in kinds() {
        let crd = kind.crd();
        let names = &crd["spec"]["names"];
        let short = names["shortNames"].as_array().cloned().unwrap_or_default();
        let mut own: Vec<String> = [&names["plural"], &names["singular"]]
            .into_iter()
            .chain(&short)
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect();
        own.dedup();
        for name in own {
            let clash = taken.iter().find(|(group, known, _)| *group == kind.group && *known == name);
            assert!(clash.is_none(), "{name} is a name of {} and of {}", kind.kind, clash.map_or("", |clash| clash.2));
            taken.push((kind.group, name, kind.kind));
        }
    }
}

/// Objects below a path whose schema drops what it does not know.
fn closed(schema: &Value, path: &str) -> Vec<String> {
    let properties = schema["properties"].as_object();
    let below = properties.into_iter().flatten().flat_map(|(name, inner)| closed(inner, &format!("{path}.{name}")));
    let below = below.chain(schema.get("items").into_iter().flat_map(|inner| closed(inner, &format!("{path}[]"))));
    let is_map = schema.get("additionalProperties").is_some();
    let is_closed = schema["type"] == "object" && !is_map && schema["x-kubernetes-preserve-unknown-fields"] != true;
    is_closed.then(|| path.to_owned()).into_iter().chain(below).collect()
}

#[test]
fn what_others_write_into_machines_is_preserved_at_every_level() {
    let machines: Vec<_> = kinds().iter().filter(|kind| kind.group == netloom_api::machine::GROUP).collect();
    assert_eq!(machines.len(), 3);
    for kind in machines {
        for part in ["spec", "status"] {
            assert_eq!(closed(&kind.schema()["properties"][part], part), [""; 0], "{}", kind.kind);
        }
    }
}

#[test]
fn every_field_is_described_and_typed() {
    for kind in kinds() {
        let schema = kind.schema();
        assert!(schema["description"].as_str().is_some_and(|text| !text.is_empty()), "{}", kind.kind);
        for field in fields::of(&schema) {
            let description = field.schema["description"].as_str().unwrap_or_default();
            assert!(!description.is_empty(), "{}: {} has no description", kind.kind, field.path);
            let formats = ["uint", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int"];
            assert!(
                !formats.contains(&field.schema["format"].as_str().unwrap_or_default()),
                "{}: {}",
                kind.kind,
                field.path
            );
            assert_eq!(field.schema.get("nullable"), None, "{}: {}", kind.kind, field.path);
        }
    }
}

/// `NETLOOM_BLESS=1` writes the files again. The definitions are compared with the types beside `generate`.
#[test]
fn generated_files_are_current() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let bless = std::env::var_os("NETLOOM_BLESS").is_some_and(|value| !value.is_empty() && value != "0");
    let mut stale = Vec::new();
    let files = netloom_generate::files();
    for file in &files {
        let path = root.join(&file.path);
        if fs::read_to_string(&path).is_ok_and(|there| there == file.content) {
            continue;
        }
        if bless {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &file.content).unwrap();
        } else {
            stale.push(file.path.clone());
        }
    }
    for folder in ["deploy/crds", "deploy/vms", "docs/reference/kinds"] {
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            let path = format!("{folder}/{}", entry.unwrap().file_name().display());
            if !files.iter().any(|file| file.path == path) {
                if bless {
                    fs::remove_file(root.join(&path)).unwrap();
                } else {
                    stale.push(path);
                }
            }
        }
    }
    assert_eq!(stale, [""; 0], "not current; NETLOOM_BLESS=1 writes them again");
}
