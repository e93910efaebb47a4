//! Every folder under `scenarios/compile` is one sentence about policies: the objects of `nodes.yaml`
//! and `input.yaml` compile to exactly `expect/stream.yaml`.
//!
//! The sentence is the first line of `input.yaml`. `NETLOOM_BLESS=1` writes the expectations again; a
//! person then reads them. What is generated is put in as the controller would. A folder `then` tells what
//! happens after the first result was written, as the controller does: objects of `input.yaml` are put over
//! the first ones, those of `gone.yaml` are removed, and nodes report the status of `report.yaml`.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use netloom_api::GroupKind;
use netloom_compile::{Compiled, Compiler, ObjectKey, Put, Snapshot, compile, settle};
use netloom_schema::decode::{Limits, yaml_documents};
use serde_json::Value;

fn folders() -> Vec<PathBuf> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../scenarios/compile"));
    let mut folders: Vec<PathBuf> =
        fs::read_dir(root).expect("there are scenarios").map(|entry| entry.expect("a folder").path()).collect();
    folders.sort();
    assert!(folders.len() >= 30, "only {} scenarios were found", folders.len());
    folders
}

fn objects(file: &Path) -> Vec<Value> {
    let Ok(bytes) = fs::read(file) else { return Vec::new() };
    let documents = yaml_documents(&bytes, Limits::default()).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    documents.into_iter().map(|document| document.decoded.value).collect()
}

fn put(snapshot: &mut Snapshot, objects: &[Value], file: &Path) {
    for object in objects {
        let put = snapshot.put(object);
        assert_ne!(put, Put::Foreign, "{}: {object}", file.display());
    }
}

/// Writes what was result into the snapshot, as the controller would into the cluster.
fn write(snapshot: &mut Snapshot, result: &Compiled, inputs: &[Value], reports: &[Value]) {
    for object in result.revision.lay_out(snapshot).objects(&result.revision.name) {
        snapshot.put(&object);
    }
    for node_target in result.nodes.iter().filter(|node_target| node_target.desired.held.is_empty()) {
        let mut object = node_target.object(snapshot, &result.revision.name);
        let is_same = |input: &&Value| {
            input["kind"] == "NodeNetworkState"
                && input["metadata"]["name"] == object["metadata"]["name"]
                && input["metadata"]["namespace"] == object["metadata"]["namespace"]
        };
        if let Some(input) = reports.iter().chain(inputs).find(is_same) {
            object["status"] = input["status"].clone();
        }
        snapshot.put(&object);
    }
}

fn remove(snapshot: &mut Snapshot, gone: &Value) {
    let text = |pointer: &str| gone.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let group = text("/apiVersion").split_once('/').map_or("", |(group, _)| group);
    let key = ObjectKey::new(text("/metadata/namespace"), text("/metadata/name"));
    assert!(snapshot.remove(GroupKind::new(group, text("/kind")), &key), "{key} was not there");
}

fn compare(result: &Compiled, snapshot: &Snapshot, file: &Path, stale: &mut Vec<String>) {
    let found = netloom_yaml::print_stream(&result.objects(snapshot, None));
    if fs::read_to_string(file).is_ok_and(|wanted| wanted == found) {
        return;
    }
    if std::env::var_os("NETLOOM_BLESS").is_some_and(|value| !value.is_empty() && value != "0") {
        fs::create_dir_all(file.parent().expect("a file in a folder")).expect("a folder can be made");
        fs::write(file, &found).expect("a file can be written");
    } else {
        stale.push(format!("{}:\n{found}", file.display()));
    }
}

#[test]
fn each_scenario_compiles_to_what_it_says() {
    let mut stale = Vec::new();
    for folder in folders() {
        let input = folder.join("input.yaml");
        let text = fs::read_to_string(&input).unwrap_or_else(|e| panic!("{}: {e}", input.display()));
        assert!(text.starts_with("# "), "{} does not begin with its sentence", input.display());
        let inputs: Vec<Value> =
            [folder.join("nodes.yaml"), input.clone()].iter().flat_map(|file| objects(file)).collect();
        let mut snapshot = Snapshot::default();
        put(&mut snapshot, &inputs, &input);
        let mut compiler = Compiler::default();
        let mut made = BTreeSet::new();
        let result = settle(&mut compiler, &mut snapshot, &mut made);
        compare(&result, &snapshot, &folder.join("expect/stream.yaml"), &mut stale);
        let backwards: Vec<Value> = inputs.iter().rev().cloned().collect();
        let mut turned = Snapshot::default();
        put(&mut turned, &backwards, &input);
        let other = settle(&mut Compiler::default(), &mut turned, &mut BTreeSet::new());
        assert_eq!(other.objects(&turned, None), result.objects(&snapshot, None), "{}", folder.display());
        let then = folder.join("then");
        if then.is_dir() {
            write(&mut snapshot, &result, &inputs, &objects(&then.join("report.yaml")));
            put(&mut snapshot, &objects(&then.join("input.yaml")), &then);
            for gone in objects(&then.join("gone.yaml")) {
                remove(&mut snapshot, &gone);
            }
            let after = settle(&mut compiler, &mut snapshot, &mut made);
            compare(&after, &snapshot, &then.join("expect/stream.yaml"), &mut stale);
            assert_eq!(
                compile(&snapshot).objects(&snapshot, None),
                after.objects(&snapshot, None),
                "{}: a compiler with a past answers differently",
                folder.display()
            );
        }
    }
    assert!(stale.is_empty(), "not as expected; NETLOOM_BLESS=1 writes them again:\n{}", stale.join("\n"));
}
