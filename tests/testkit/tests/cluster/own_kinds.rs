//! Random objects of our own kinds, compared with the definitions that are shipped.
//!
//! Every definition is made once more under another group. There the admission rules do not apply,
//! which the real server does not have by itself: what is compared is what a definition alone says,
//! its types, rules, defaults, lists and subresources. Objects are made from the schemas, the right
//! and the wrong ones, and changed in every way that a client has.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::{
    manifests::{definition_files, root, yaml_files},
    random::{Dice, body, patch, request, shown, typed},
    script::{self, Step},
};

/// Requests for each kind, beside those that make and remove it.
const REQUESTS: usize = 7;

/// Below this, only what must be there is made.
const DEEPEST: usize = 5;

/// Texts for fields of any meaning; some fit and some do not.
const TEXTS: &[&str] = &[
    "a",
    "eth0",
    "10.0.0.0/24",
    "10.1.2.3",
    "fd00::1",
    "fd00::/64",
    "02:00:00:00:00:01",
    "65000:1",
    "30s",
    "2024-05-06T07:08:09Z",
    "Not A Name",
    "",
];

/// One version of a kind, as requests need it.
struct Kind {
    name: String,
    api_version: String,
    path: String,
    schema: Value,
    status: bool,
}

/// The requests of a seed.
pub(crate) fn steps(seed: u64) -> Result<Vec<Step>, String> {
    let mut dice = Dice::new(seed);
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "{{ns}}" } });
    let mut steps = vec![body(request("POST", "/api/v1/namespaces", "a namespace"), &namespace)];
    let examples = examples()?;
    for file in definition_files()? {
        let mut definition = read(&file)?;
        let group = definition["spec"]["group"].as_str().unwrap_or_default().to_owned();
        move_group(&mut definition);
        let kind = kind(&definition);
        let own = |object: &&Value| object["kind"] == kind.name.as_str() && group_of(object) == group;
        let example = examples.iter().find(own).cloned();
        steps.extend(define(&definition, &kind));
        steps.extend(use_kind(&mut dice, &kind, example));
        let name = definition["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let mut gone = request("DELETE", &format!("{DEFINITIONS}/{name}"), &format!("{} goes", kind.name));
        gone.picks = vec!["/kind".to_owned()];
        steps.push(gone);
    }
    Ok(steps)
}

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Makes a definition and waits until its kind is served.
fn define(definition: &Value, kind: &Kind) -> Vec<Step> {
    let name = definition["metadata"]["name"].as_str().unwrap_or_default();
    let made = body(request("POST", DEFINITIONS, &format!("{} comes", kind.name)), definition);
    let mut ready = request("GET", &format!("{DEFINITIONS}/{name}"), &format!("{} is established", kind.name));
    ready.until = Some(("/status/conditions/type=Established/status".to_owned(), "True".to_owned()));
    ready.picks = vec!["/status".to_owned()];
    let mut served = request("GET", &kind.path, &format!("{} is served", kind.name));
    served.until = Some(("code".to_owned(), "200".to_owned()));
    vec![made, ready, served]
}

fn use_kind(dice: &mut Dice, kind: &Kind, example: Option<Value>) -> Vec<Step> {
    let mut steps = Vec::new();
    let first = example.unwrap_or_else(|| desired(dice, kind, false));
    steps.push(body(request("POST", &kind.path, "create"), &named(kind, first, "a")));
    for _ in 0..REQUESTS {
        steps.push(one(dice, kind));
    }
    steps.push(request("GET", &format!("{}?limit=1", kind.path), "a page"));
    let mut table = request("GET", &kind.path, "a table");
    table.headers = vec![("Accept".to_owned(), "application/json;as=Table;v=v1;g=meta.k8s.io".to_owned())];
    steps.push(table);
    steps.push(request("DELETE", &kind.path, "delete all"));
    for (number, step) in steps.iter_mut().enumerate() {
        step.title = format!("{} {number}: {} {}", kind.name, step.title, shown(&step.body));
    }
    steps
}

fn one(dice: &mut Dice, kind: &Kind) -> Step {
    let name = dice.pick(&["a", "b"]);
    let path = format!("{}/{name}", kind.path);
    let manager = dice.pick(&["one", "two"]);
    let spec = &kind.schema["properties"]["spec"];
    match dice.roll(9) {
        0 | 1 => {
            let object = named(kind, desired(dice, kind, true), name);
            let dry = if dice.chance(4) { "&dryRun=All" } else { "" };
            body(request("POST", &format!("{}?fieldManager={manager}{dry}", kind.path), "create"), &object)
        }
        2 | 3 => patch(&path, manager, "merge", &json!({ "spec": part(dice, spec, 0) })),
        4 => {
            let (pointer, wanted) = place(dice, spec, "/spec".to_owned());
            let change = dice.pick(&["add", "replace", "remove"]);
            patch(&path, manager, "json", &json!([{ "op": change, "path": pointer, "value": wanted }]))
        }
        5 | 6 => {
            let force = if dice.chance(2) { "&force=true" } else { "" };
            let desired = named(kind, desired(dice, kind, false), name);
            let step = request("PATCH", &format!("{path}?fieldManager={manager}{force}"), "apply");
            typed(body(step, &desired), "application/apply-patch+yaml")
        }
        7 if kind.status => {
            let status = value(dice, &kind.schema["properties"]["status"], 0, true);
            patch(&format!("{path}/status"), manager, "merge", &json!({ "status": status }))
        }
        _ => patch(&path, manager, "merge", &json!({ "metadata": { "labels": { "app": dice.pick(&["x", "y z"]) } } })),
    }
}

/// What a client asks for: the specification, where the kind has one.
fn desired(dice: &mut Dice, kind: &Kind, wrong: bool) -> Value {
    let spec = &kind.schema["properties"]["spec"];
    if spec.is_object() || wrong { json!({ "spec": value(dice, spec, 0, wrong) }) } else { json!({}) }
}

/// A value that a schema describes; with `wrong`, now and then one that it does not.
fn value(dice: &mut Dice, schema: &Value, depth: usize, wrong: bool) -> Value {
    if wrong && dice.chance(20) {
        return dice.pick(&[json!(1), json!(-1), json!(2.5), json!("text"), json!([]), json!({}), json!(true)]);
    }
    if let Some(known) = schema["enum"].as_array() {
        return dice.pick(known);
    }
    if schema["x-kubernetes-int-or-string"] == true {
        return dice.pick(&[json!(5), json!("5%"), json!("half")]);
    }
    match schema["type"].as_str() {
        Some("object") => object(dice, schema, depth, wrong),
        Some("array") => {
            // Two items that are the same one are an error of their own in an apply.
            let most = if wrong { 3 } else { 2 };
            (0..dice.roll(most)).map(|_| value(dice, &schema["items"], depth + 1, wrong)).collect()
        }
        Some("integer" | "number") => {
            let limit = |key: &str, otherwise| schema[key].as_i64().unwrap_or(otherwise);
            let (least, most) = (limit("minimum", 0), limit("maximum", 4000));
            json!(dice.pick(&[least, most, i64::midpoint(least, most), least - 1, most + 1]))
        }
        Some("boolean") => json!(dice.chance(2)),
        Some(_) => json!(dice.pick(TEXTS)),
        None => json!({ "any": dice.pick(TEXTS) }),
    }
}

fn object(dice: &mut Dice, schema: &Value, depth: usize, wrong: bool) -> Value {
    let mut fields = Map::new();
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, below) in schema["properties"].as_object().into_iter().flatten() {
        let needed = required.contains(&name.as_str());
        let left_out = wrong && dice.chance(15);
        if needed && !left_out || depth < DEEPEST && dice.chance(3) {
            fields.insert(name.clone(), value(dice, below, depth + 1, wrong));
        }
    }
    if schema["additionalProperties"].is_object() {
        for _ in 0..dice.roll(3) {
            let below = value(dice, &schema["additionalProperties"], depth + 1, wrong);
            fields.insert(dice.pick(&["p", "q"]).to_owned(), below);
        }
    }
    if wrong && dice.chance(12) {
        fields.insert("unheardOf".to_owned(), json!(1));
    }
    Value::Object(fields)
}

/// One field somewhere below, for a patch; now and then it is to go.
fn part(dice: &mut Dice, schema: &Value, depth: usize) -> Value {
    let fields: Vec<&String> = schema["properties"].as_object().into_iter().flat_map(Map::keys).collect();
    if fields.is_empty() || depth > 0 && dice.chance(3) {
        return if dice.chance(5) { Value::Null } else { value(dice, schema, DEEPEST - 2, true) };
    }
    let name = dice.pick(&fields);
    json!({ name: part(dice, &schema["properties"][name], depth + 1) })
}

/// One place somewhere below, as a pointer, with a value for it.
fn place(dice: &mut Dice, schema: &Value, pointer: String) -> (String, Value) {
    let fields: Vec<&String> = schema["properties"].as_object().into_iter().flat_map(Map::keys).collect();
    if fields.is_empty() || pointer != "/spec" && dice.chance(2) {
        return (pointer, value(dice, schema, DEEPEST - 2, true));
    }
    let name = dice.pick(&fields);
    place(dice, &schema["properties"][name], format!("{pointer}/{name}"))
}

fn named(kind: &Kind, mut object: Value, name: &str) -> Value {
    object["apiVersion"] = json!(kind.api_version);
    object["kind"] = json!(kind.name);
    object["metadata"] = json!({ "name": name });
    object
}

/// The definition under a group of the script.
fn move_group(definition: &mut Value) {
    let group = definition["spec"]["group"].as_str().unwrap_or_default().replace('.', "-");
    let plural = definition["spec"]["names"]["plural"].as_str().unwrap_or_default().to_owned();
    definition["spec"]["group"] = json!(format!("{group}.{{{{group}}}}"));
    definition["metadata"] = json!({ "name": format!("{plural}.{group}.{{{{group}}}}") });
}

/// The version that is stored.
fn kind(definition: &Value) -> Kind {
    let spec = &definition["spec"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let stored = spec["versions"].as_array().into_iter().flatten().find(|version| version["storage"] == true);
    let version = stored.cloned().unwrap_or_default();
    let api_version = format!("{}/{}", text(&spec["group"]), text(&version["name"]));
    let inside = if spec["scope"] == "Namespaced" { "/namespaces/{{ns}}" } else { "" };
    Kind {
        name: text(&spec["names"]["kind"]),
        path: format!("/apis/{api_version}{inside}/{}", text(&spec["names"]["plural"])),
        api_version,
        schema: version["schema"]["openAPIV3Schema"].clone(),
        status: version["subresources"]["status"].is_object(),
    }
}

/// All example objects.
fn examples() -> Result<Vec<Value>, String> {
    let mut objects = Vec::new();
    for file in yaml_files(&root().join("examples/objects"))? {
        let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        for document in text.split("\n---\n").filter(|document| !document.trim().is_empty()) {
            objects.push(script::json_of(document).map_err(|why| format!("{}: {why}", file.display()))?);
        }
    }
    Ok(objects)
}

fn group_of(object: &Value) -> &str {
    object["apiVersion"].as_str().and_then(|version| version.split_once('/')).map_or("", |(group, _)| group)
}

fn read(file: &Path) -> Result<Value, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    script::json_of(&text).map_err(|why| format!("{}: {why}", file.display()))
}
