//! Requests that nobody thought of: made from a seed, the same for both servers.
//!
//! They stay within what both servers are to answer alike: whole objects and patches of a defined kind
//! and of a config map, with wrong values among the right ones, by several managers; lists by selectors,
//! in pages and as tables. At the end the whole history is watched, so that what no answer showed is
//! compared as well.

use serde_json::{Map, Value, json};

use crate::script::{Body, Step, Watch};

/// Requests of one run.
const REQUESTS: usize = 140;

/// A small generator of numbers that is the same everywhere (splitmix64).
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % sides as u64).unwrap_or_default()
    }

    pub(crate) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.roll(from.len())].clone()
    }

    pub(crate) fn chance(&mut self, one_in: usize) -> bool {
        self.roll(one_in) == 0
    }
}

/// The requests of a seed. They need the namespace and the kind that `scene` makes.
pub(crate) fn steps(seed: u64, scene: &[Step]) -> Vec<Step> {
    let mut dice = Dice::new(seed);
    let mut steps = scene.to_vec();
    for kind in [WIDGETS, MAPS] {
        let mut begin = request("GET", kind.path, "where it begins");
        begin.saves.push((format!("begin-{}", kind.name), "/metadata/resourceVersion".to_owned()));
        steps.push(begin);
    }
    for number in 0..REQUESTS {
        let kind = if dice.chance(3) { MAPS } else { WIDGETS };
        let mut step = one(&mut dice, kind);
        step.title = format!("{number}: {} {}", step.title, shown(&step.body));
        steps.push(step);
    }
    for kind in [WIDGETS, MAPS] {
        let history = format!("{}?watch=1&resourceVersion={{{{begin-{}}}}}&timeoutSeconds=2", kind.path, kind.name);
        let mut watch = request("GET", &history, "the whole history");
        watch.watch = Some(Watch { name: None, events: None, bookmarks: false });
        steps.push(watch);
        steps.push(request("GET", kind.path, "what is left"));
        steps.extend(pages(&mut dice, kind));
    }
    steps
}

/// Three objects that are certainly there, read one by one and two by two.
fn pages(dice: &mut Dice, kind: Kind) -> Vec<Step> {
    let mut steps = Vec::new();
    for name in ["x", "y", "z"] {
        let object = json!({ "apiVersion": kind.version, "kind": kind.name,
            "metadata": { "name": name, "labels": { "paged": "yes" } } });
        steps.push(body(request("POST", kind.path, &format!("{name} for the pages")), &object));
    }
    let limit = dice.pick(&[1, 2]);
    let target = format!("{}?labelSelector=paged%3Dyes&limit={limit}", kind.path);
    let mut first = request("GET", &target, &format!("the first {limit} of three"));
    first.saves.push(("next".to_owned(), "/metadata/continue".to_owned()));
    steps.push(first);
    steps.push(request("GET", &format!("{target}&continue={{{{next}}}}"), "the page after it"));
    steps.push(request("GET", &format!("{target}&continue=bm9ib2R5"), "a page that nobody gave out"));
    steps
}

#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    version: &'static str,
    path: &'static str,
}

const WIDGETS: Kind =
    Kind { name: "Widget", version: "{{group}}/v1", path: "/apis/{{group}}/v1/namespaces/{{ns}}/widgets" };
const MAPS: Kind = Kind { name: "ConfigMap", version: "v1", path: "/api/v1/namespaces/{{ns}}/configmaps" };

fn one(dice: &mut Dice, kind: Kind) -> Step {
    let name = dice.pick(&["a", "b", "c"]);
    let path = format!("{}/{name}", kind.path);
    let manager = dice.pick(&["one", "two", "three"]);
    match dice.roll(16) {
        0 | 1 => create(dice, kind, name, manager),
        2 | 3 => patch(&path, manager, "merge", &part(dice, kind)),
        4 => patch(&path, manager, "json", &operations(dice, kind)),
        5 | 6 => {
            let force = if dice.chance(2) { "&force=true" } else { "" };
            let step = request("PATCH", &format!("{path}?fieldManager={manager}{force}"), "apply");
            typed(body(step, &desired(dice, kind, name)), "application/apply-patch+yaml")
        }
        7 => replace(dice, kind, name, &path, manager),
        8 => patch(
            &format!("{path}/status"),
            manager,
            "merge",
            &json!({ "status": { "phase": dice.pick(&["x", "y"]) } }),
        ),
        9 => delete(dice, &path),
        10 => request("GET", &path, "read"),
        // Defined kinds refuse it by its type.
        11 => patch(&path, manager, "strategic-merge", &part(dice, kind)),
        12 if dice.chance(3) => {
            request("DELETE", &format!("{}?labelSelector=app%3Dy", kind.path), "delete those with a label")
        }
        _ => list(dice, kind),
    }
}

fn create(dice: &mut Dice, kind: Kind, name: &str, manager: &str) -> Step {
    let option = dice.pick(&["", "", "&dryRun=All", "&fieldValidation=Strict", "&fieldValidation=Ignore"]);
    let target = format!("{}?fieldManager={manager}{option}", kind.path);
    body(request("POST", &target, "create"), &whole(dice, kind, name))
}

fn list(dice: &mut Dice, kind: Kind) -> Step {
    let query = dice.pick(&[
        "labelSelector=app%3Dx",
        "labelSelector=app%21%3Dx",
        "labelSelector=app+in+(x,y)",
        "labelSelector=app+notin+(x)",
        "labelSelector=%21app",
        "labelSelector=app",
        "labelSelector=app%3Dx,app%21%3Dy",
        "labelSelector=app+in+x",
        "fieldSelector=metadata.name%3Da",
        "fieldSelector=metadata.name%21%3Da&labelSelector=app",
        "fieldSelector=spec.size%3D1",
        "limit=1",
        "limit=2&labelSelector=app",
    ]);
    let mut step = request("GET", &format!("{}?{query}", kind.path), "list");
    let form = dice.pick(&["", "", "Table", "PartialObjectMetadataList"]);
    if !form.is_empty() {
        let accept = format!("application/json;as={form};v=v1;g=meta.k8s.io");
        step.headers = vec![("Accept".to_owned(), accept)];
        let title = if form == "Table" { "a list as a table" } else { "a list as metadata" };
        title.clone_into(&mut step.title);
    }
    step
}

/// A put of a config map needs no version; one of a widget is refused without, which is worth seeing.
fn replace(dice: &mut Dice, kind: Kind, name: &str, path: &str, manager: &str) -> Step {
    let mut object = whole(dice, kind, name);
    if dice.chance(3) {
        object["metadata"]["resourceVersion"] = json!("1");
    }
    body(request("PUT", &format!("{path}?fieldManager={manager}"), "replace"), &object)
}

fn delete(dice: &mut Dice, path: &str) -> Step {
    let policy = dice.pick(&["Background", "Orphan", "Foreground"]);
    let mut step = request("DELETE", path, "delete");
    if dice.chance(2) {
        // Only the background leaves nothing behind that finishes in its own time.
        step = body(step, &json!({ "kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background" }));
    } else if dice.chance(3) {
        step.target = format!("{path}?dryRun=All&propagationPolicy={policy}");
    }
    step
}

fn whole(dice: &mut Dice, kind: Kind, name: &str) -> Value {
    let mut object = part(dice, kind);
    object["apiVersion"] = json!(kind.version);
    object["kind"] = json!(kind.name);
    object["metadata"]["name"] = json!(name);
    object
}

/// Some fields of an object, some of them wrong.
fn part(dice: &mut Dice, kind: Kind) -> Value {
    let mut object = json!({ "metadata": { "labels": { "app": dice.pick(&[json!("x"), json!("y"), Value::Null]) } } });
    if object["metadata"]["labels"]["app"].is_null() && dice.chance(2) {
        object["metadata"] = json!({});
    }
    if kind.name == "ConfigMap" {
        let mut data = Map::new();
        for _ in 0..dice.roll(4) {
            data.insert(dice.pick(&["k", "l", "m"]).to_owned(), json!(dice.pick(&["1", "2", ""])));
        }
        object["data"] = Value::Object(data);
    } else {
        object["spec"] = spec(dice, true);
    }
    object
}

/// A configuration to apply: only values of the right type, since a wrong type is an error of its own.
fn desired(dice: &mut Dice, kind: Kind, name: &str) -> Value {
    let mut object = json!({ "apiVersion": kind.version, "kind": kind.name, "metadata": { "name": name } });
    if kind.name == "ConfigMap" {
        object["data"] = json!({ dice.pick(&["k", "l", "m"]): dice.pick(&["1", "2"]) });
    } else {
        object["spec"] = spec(dice, false);
    }
    object
}

fn spec(dice: &mut Dice, wrong: bool) -> Value {
    let mut spec = Map::new();
    for _ in 0..=dice.roll(4) {
        let wrong = wrong && dice.chance(6);
        let (field, value) = field(dice, wrong);
        spec.insert(field.to_owned(), value);
    }
    Value::Object(spec)
}

fn field(dice: &mut Dice, wrong: bool) -> (&'static str, Value) {
    let word = dice.pick(&["p", "q", "r"]);
    if wrong {
        return dice.pick(&[
            ("size", json!(11)),
            ("size", json!("big")),
            ("size", json!(2.5)),
            ("color", json!("blue")),
            ("note", json!("a note of far too many letters")),
            ("list", json!(["p", "q", "r", "s"])),
            ("set", json!(["p", "p"])),
            ("ports", json!([{ "port": 1 }, { "port": 1, "protocol": "TCP" }])),
            ("ports", json!([{ "name": "none" }])),
            ("either", json!(true)),
            ("unknown", json!(1)),
            ("map", json!({ "p": 1 })),
        ]);
    }
    match dice.roll(10) {
        0 => ("size", json!(1 + dice.roll(9))),
        1 => ("color", json!(dice.pick(&["red", "green"]))),
        2 => ("note", json!(word)),
        3 => ("nested", json!({ "lit": dice.chance(2) })),
        4 => ("map", json!({ word: dice.pick(&["1", "2"]) })),
        5 => ("list", json!([word])),
        6 => ("set", json!(if dice.chance(2) { vec!["p", "q"] } else { vec!["q", "r"] })),
        7 => ("ports", json!([{ "port": 80 + dice.roll(2), "protocol": dice.pick(&["TCP", "UDP"]), "name": word }])),
        8 => ("atom", json!({ dice.pick(&["a", "b"]): word })),
        _ => ("either", if dice.chance(2) { json!(5) } else { json!("5%") }),
    }
}

fn operations(dice: &mut Dice, kind: Kind) -> Value {
    let (field, place) = if kind.name == "ConfigMap" { ("k", "/data") } else { ("note", "/spec") };
    let path = format!("{place}/{field}");
    dice.pick(&[
        json!([{ "op": "add", "path": path, "value": "added" }]),
        json!([{ "op": "replace", "path": path, "value": "replaced" }]),
        json!([{ "op": "remove", "path": path }]),
        json!([{ "op": "test", "path": path, "value": "added" }, { "op": "replace", "path": path, "value": "tested" }]),
        json!([{ "op": "add", "path": "/metadata/labels", "value": { "app": "y" } }]),
        json!([{ "op": "copy", "from": path, "path": format!("{place}/copied") }]),
    ])
}

pub(crate) fn patch(path: &str, manager: &str, kind: &str, value: &Value) -> Step {
    let step = request("PATCH", &format!("{path}?fieldManager={manager}"), kind);
    typed(body(step, value), &format!("application/{kind}-patch+json"))
}

pub(crate) fn request(method: &str, target: &str, title: &str) -> Step {
    Step { title: title.to_owned(), method: method.to_owned(), target: target.to_owned(), ..Step::default() }
}

pub(crate) fn body(step: Step, value: &Value) -> Step {
    typed(Step { body: Body::Text(value.to_string()), ..step }, "application/json")
}

pub(crate) fn typed(mut step: Step, content_type: &str) -> Step {
    step.headers = vec![("Content-Type".to_owned(), content_type.to_owned())];
    step
}

pub(crate) fn shown(body: &Body) -> &str {
    match body {
        Body::Text(text) | Body::Json(text) => text,
        Body::None | Body::Bytes(_) => "",
    }
}
