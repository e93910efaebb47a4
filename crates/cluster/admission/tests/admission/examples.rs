//! The example objects are taken: by the schema of their kind and by its rules, one file after the
//! other, in the order of their names and with everything before them in view.

use std::{fs, path::Path};

use netloom_admission::PLANNED;
use netloom_api::{find, kinds};
use netloom_schema::{Schema, apply_defaults, decode, prune, validate};
use serde_json::Value;

use crate::cluster::{Cluster, refusals};

/// The example objects with the files that they are in, in the order in which one would apply them.
pub(crate) fn examples() -> Vec<(String, Value)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../examples/objects");
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.sort();
    let mut found = Vec::new();
    for file in files {
        let bytes = fs::read(&file).expect("the file was just listed");
        let name = file.strip_prefix(&root).expect("files lie below the root").display().to_string();
        let limits = decode::Limits { depth: 64, nodes: 100_000 };
        let stream = decode::yaml_stream(&bytes, limits).unwrap_or_else(|error| panic!("{name}: {error}"));
        for decoded in stream {
            assert_eq!(decoded.duplicates, [""; 0], "{name}");
            found.push((name.clone(), decoded.value));
        }
    }
    found
}

fn collect(folder: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            files.push(path);
        }
    }
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

#[test]
fn every_example_is_taken() {
    let mut cluster = Cluster::new([]);
    for (file, mut object) in examples() {
        let (group, version) = text(&object, "/apiVersion").split_once('/').unwrap_or_default();
        let (group, version) = (group.to_owned(), version.to_owned());
        if let Some(kind) = find(&group, text(&object, "/kind")) {
            assert_eq!(version, kind.version, "{file}");
            let schema =
                Schema::parse(&kind.schema(), "schema").unwrap_or_else(|errors| panic!("{}: {errors:?}", kind.kind));
            assert_eq!(prune(&schema, &mut object), [""; 0], "{file}: unknown fields");
            apply_defaults(&schema, &mut object);
            let rules = netloom_cel::Cel::new();
            let errors: Vec<String> =
                validate(&schema, &object, None, &rules).iter().map(ToString::to_string).collect();
            assert_eq!(errors, [""; 0], "{file}");
        }
        let verdict = cluster.create(&object);
        assert_eq!(refusals(&verdict), [""; 0], "{file}");
        let planned = |kind: &&netloom_api::definition::Kind| netloom_api::effects::is_planned(kind.effects);
        let waits = find(&group, text(&object, "/kind")).filter(planned);
        let expected: Vec<String> = waits.iter().map(|_| PLANNED.to_owned()).collect();
        assert_eq!(verdict.warnings, expected, "{file}");
        cluster = cluster.and([object]);
    }
}

#[test]
fn every_kind_has_an_example() {
    let examples = examples();
    for kind in kinds() {
        let shown = examples
            .iter()
            .any(|(_, object)| text(object, "/kind") == kind.kind && text(object, "/apiVersion") == kind.api_version());
        assert!(shown, "no example of {} in examples/objects", kind.kind);
    }
}
