//! Every field of the kinds that front ends serve has an effect.
//!
//! A file of `scenarios/effects` is about one kind: a cluster, an object, and for each field a pair of objects in which
//! that field alone differs. What the controller makes of the two must differ, or the second one must be refused. The
//! fields are those of the schema: one without a pair fails the test, and so does a pair without a field.
//!
//! What is compared is everything that is stored in the end, conditions and all, and in which order it was written. The
//! object itself is left out, and so are revisions, which only repeat it.

use std::{collections::BTreeMap, fs, path::Path};

use netloom_admission::{Objects, Operation, Review, User, review};
use netloom_api::{GroupKind, Kind, fields, kinds};
use netloom_cel::Cel;
use netloom_schema::{
    Schema, apply_defaults,
    decode::{Limits, yaml},
    prune, validate,
};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::model::Rig;

/// The groups whose kinds people write for a front end that is built.
const FRONT_ENDS: &[&str] = &["nmstate.io", "network.harvesterhci.io", "kubevirt.io"];
/// Kinds of a group of which others are not built.
const BUILT: &[&str] = &[
    "Layer2NetworkConfiguration",
    "VRFRouteConfiguration",
    "BGPPeering",
    "VRF",
    "Network",
    "Destination",
    "Layer2Attachment",
];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Page {
    /// What is there before.
    cluster: Vec<Value>,
    /// The object of which all pairs are made.
    object: Value,
    fields: BTreeMap<String, Pair>,
}

/// Two objects in which one field differs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pair {
    /// What both have beside that, by path; nothing takes a field away.
    #[serde(default)]
    both: BTreeMap<String, Value>,
    /// The value in the first.
    #[serde(default)]
    from: Value,
    /// The value in the second.
    #[serde(default)]
    to: Value,
    /// Words of the refusal of the second.
    refused: Option<String>,
    /// Why it has no effect.
    free: Option<String>,
}

/// The fields below `spec` that have no fields below them.
fn leaves(kind: &Kind) -> Vec<String> {
    let all: Vec<String> = fields::of(&kind.schema()).into_iter().map(|field| field.path).collect();
    let is_below =
        |path: &str, root: &str| path.strip_prefix(root).is_some_and(|rest| rest.starts_with(['.', '[', '{']));
    let is_leaf = |path: &&String| is_below(path, "spec") && !all.iter().any(|other| is_below(other, path));
    all.iter().filter(is_leaf).cloned().collect()
}

/// Whether the pair of `entry` speaks for a field: its own, or with `.**` any below it.
fn speaks_for(entry: &str, field: &str) -> bool {
    match entry.strip_suffix(".**") {
        Some(root) => field.strip_prefix(root).is_some_and(|rest| rest.starts_with(['.', '['])),
        None => entry == field,
    }
}

/// Puts a value at a path, in the first item of each list on the way; nothing takes the field away.
fn set(object: &mut Value, path: &str, value: &Value) {
    let steps: Vec<&str> = path.trim_end_matches(".**").split('.').collect();
    let (last, way) = steps.split_last().expect("a path has a step");
    let mut here = object;
    for step in way {
        let (name, is_list) = step.strip_suffix("[]").map_or((*step, false), |name| (name, true));
        if !here.is_object() {
            *here = Map::new().into();
        }
        here = &mut here[name];
        if is_list {
            if here.as_array().is_none_or(Vec::is_empty) {
                *here = vec![Value::Object(Map::new())].into();
            }
            here = &mut here[0];
        }
    }
    if !here.is_object() {
        *here = Map::new().into();
    }
    let fields = here.as_object_mut().expect("it was just made one");
    if value.is_null() { drop(fields.remove(*last)) } else { drop(fields.insert((*last).to_owned(), value.clone())) }
}

impl Page {
    fn read(kind: &Kind) -> Self {
        let file = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../scenarios/effects"))
            .join(format!("{}.yaml", kind.file_stem()));
        let bytes = fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let read = yaml(&bytes, Limits::default()).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        assert_eq!(read.duplicates, [""; 0], "{}", file.display());
        serde_json::from_value(read.value).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
    }

    fn object(&self, pair: &Pair, path: &str, value: &Value) -> Value {
        let mut object = self.object.clone();
        for (path, value) in &pair.both {
            set(&mut object, path, value);
        }
        set(&mut object, path, value);
        object
    }

    /// What becomes of an object: all that is stored in the end, or why the object is refused.
    fn outcome(&self, kind: &Kind, mut object: Value) -> Result<String, String> {
        let mut rig = Rig::new(2);
        for other in &self.cluster {
            rig.write(other.clone());
        }
        rig.run();
        judge(kind, &mut object, &rig)?;
        rig.api.writes.clear();
        let own = (object["kind"].clone(), object["metadata"]["name"].clone());
        rig.write(object);
        rig.run();
        Ok(assigned(&rig, &own))
    }
}

/// What a server says of the object: its schema, then its rules.
fn judge(kind: &Kind, object: &mut Value, rig: &Rig) -> Result<(), String> {
    let schema = Schema::parse(&kind.schema(), "schema").expect("the schema is structural");
    let dropped = prune(&schema, object);
    assert_eq!(dropped, [""; 0], "a pair has a field that the schema does not have");
    apply_defaults(&schema, object);
    let broken = validate(&schema, object, None, &Cel::new());
    if !broken.is_empty() {
        return Err(broken.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"));
    }
    let (name, namespace) = (&object["metadata"]["name"], object["metadata"]["namespace"].as_str());
    let view: Objects = rig.api.objects.values().cloned().collect();
    let old = rig.api.get(kind.kind, name.as_str().unwrap());
    let verdict = review(&Review {
        operation: if old.is_some() { Operation::Update } else { Operation::Create },
        kind: GroupKind::new(kind.group, kind.kind),
        namespace,
        name: name.as_str().unwrap(),
        subresource: None,
        object: Some(object),
        old,
        user: &User::new("somebody", &["system:masters"]),
        dry_run: false,
        view: &view,
    });
    if verdict.is_allowed() {
        return Ok(());
    }
    let errors = verdict.errors.iter().map(ToString::to_string);
    Err(errors.chain(verdict.forbidden).collect::<Vec<_>>().join("\n"))
}

/// All that is stored, without the object itself and without what only repeats it or counts writes.
fn assigned(rig: &Rig, own: &(Value, Value)) -> String {
    let mut text = String::new();
    let mut revisions = Vec::new();
    for object in rig.api.objects.values() {
        let mut object = object.clone();
        let kind = object["kind"].as_str().unwrap_or_default();
        if kind.starts_with("NetworkConfigRevision") {
            revisions.extend(object["metadata"]["name"].as_str().map(str::to_owned));
            continue;
        }
        if kind == "Event" {
            continue;
        }
        if own.0 == object["kind"] && own.1 == object["metadata"]["name"] {
            drop(object["spec"].take());
        }
        for name in ["uid", "generation", "resourceVersion", "ownerReferences"] {
            drop(object["metadata"][name].take());
        }
        text.extend([object.to_string().as_str(), "\n"]);
    }
    for (verb, kind, name) in &rig.api.writes {
        if kind != "Event" {
            text.extend([verb, " ", kind, " ", name, "\n"]);
        }
    }
    revisions.iter().fold(text, |text, revision| text.replace(revision, "…"))
}

/// Whether its objects change something.
fn is_built(kind: &Kind) -> bool {
    FRONT_ENDS.contains(&kind.group) || (kind.group == "network.t-caas.telekom.com" && BUILT.contains(&kind.kind))
}

/// What is wrong with a pair.
fn flaw(kind: &Kind, page: &Page, path: &str, pair: &Pair) -> Option<String> {
    let first = match page.outcome(kind, page.object(pair, path, &pair.from)) {
        Ok(first) => first,
        Err(why) => return Some(format!("the first is refused: {why}")),
    };
    let second = page.outcome(kind, page.object(pair, path, &pair.to));
    match (second, &pair.refused, &pair.free) {
        (_, Some(_), Some(_)) => Some("a field is refused or has no effect, not both".to_owned()),
        (Err(why), Some(words), None) => (!why.contains(words)).then(|| format!("is refused in other words: {why}")),
        (Err(why), None, _) => Some(format!("the second is refused: {why}")),
        (Ok(_), Some(_), None) => Some("the second is not refused".to_owned()),
        (Ok(second), None, Some(_)) => (first != second).then(|| "has an effect, so it is not free".to_owned()),
        (Ok(second), None, None) => (first == second).then(|| format!("has no effect:\n{first}")),
    }
}

#[test]
fn every_field_of_a_front_end_has_an_effect() {
    let mut flaws = Vec::new();
    let mut shown = 0;
    for kind in kinds().iter().filter(|kind| is_built(kind) && kind.editable) {
        let leaves = leaves(kind);
        if leaves.is_empty() {
            continue;
        }
        let page = Page::read(kind);
        for path in leaves.iter().filter(|path| !page.fields.keys().any(|entry| speaks_for(entry, path))) {
            flaws.push(format!("{} {path}: no pair in scenarios/effects shows its effect", kind.kind));
        }
        for (path, pair) in &page.fields {
            if !leaves.iter().any(|leaf| speaks_for(path, leaf)) {
                flaws.push(format!("{} {path}: there is no such field", kind.kind));
                continue;
            }
            shown += 1;
            flaws.extend(flaw(kind, &page, path, pair).map(|flaw| format!("{} {path}: {flaw}", kind.kind)));
        }
    }
    assert!(flaws.is_empty(), "{}", flaws.join("\n"));
    assert!(shown > 40, "{shown}");
}
