//! What a real API server did, done again.
//!
//! `recorded.json` holds sequences of writes to two custom kinds with one schema, and after each write the object and
//! its `managedFields` as kube-apiserver 1.36.4 answered them, or its refusal. `Thing` has no subresources, `Stated`
//! has a status. Times are only recorded as being there. Some sequences are written manually for one effect, the rest
//! is random.

use netloom_patch::managed::{ApplyError, Manager, NOT_STATUS, STATUS, Shape, Versions, apply, update};
use netloom_schema::{Schema, apply_defaults, prune};
use serde_json::{Map, Value, json};

const RECORDED: &str = include_str!("recorded.json");

struct Served {
    schema: Schema,
    group: String,
}

impl Versions for Served {
    fn convert(&self, object: &Value, api_version: &str) -> Option<Value> {
        self.schema(api_version)?;
        let mut object = object.clone();
        object["apiVersion"] = json!(api_version);
        Some(object)
    }

    fn schema(&self, api_version: &str) -> Option<&Schema> {
        let version = api_version.strip_prefix(&format!("{}/", self.group))?;
        ["v1", "v2"].contains(&version).then_some(&self.schema)
    }
}

struct Player<'a> {
    served: &'a Served,
    kind: &'a str,
    live: Option<Value>,
    seconds: u32,
}

impl Player<'_> {
    /// Plays one write as the server does around the functions under test, and answers what was recorded of it.
    fn play(&mut self, step: &Value) -> Result<Value, ApplyError> {
        self.seconds += 1;
        let api_version = format!("{}/{}", self.served.group, step["version"].as_str().unwrap_or("v1"));
        let subresource = step["sub"].as_str().unwrap_or_default();
        let time = format!("2030-01-01T00:00:{:02}Z", self.seconds);
        let name = step["manager"].as_str().unwrap_or_default();
        // Without a manager in the request the server takes the client's name, and the recording client had none.
        let name = if name.is_empty() { "unknown" } else { name };
        let manager = Manager { name, api_version: &api_version, subresource, time: &time };
        let shape =
            Shape::new(&self.served.schema, self.kind).versions(self.served).ignoring(self.ignored(subresource));
        let mut object = step["object"].clone();
        object["apiVersion"] = json!(api_version);
        object["kind"] = json!(self.kind);
        object["metadata"]["name"] = json!("NAME");
        object["metadata"]["namespace"] = json!("patchlab");
        let live = self.live.clone().map(|mut live| {
            live["apiVersion"] = json!(api_version);
            live
        });
        let mut new = if step["op"] == "update" {
            prune(&self.served.schema, &mut object);
            apply_defaults(&self.served.schema, &mut object);
            if object["metadata"]["managedFields"] == json!([]) {
                object["metadata"].as_object_mut().expect("metadata").remove("managedFields");
            }
            update(live.as_ref(), &mut object, &manager, &shape);
            object
        } else {
            apply(live.as_ref(), &object, &manager, step["op"] == "force", &shape)?
        };
        apply_defaults(&self.served.schema, &mut new);
        self.reset(&mut new, subresource);
        Ok(new)
    }

    fn ignored(&self, subresource: &str) -> &'static [&'static str] {
        match (self.kind, subresource) {
            ("Stated", "") => STATUS,
            ("Stated", _) => NOT_STATUS,
            _ => &[],
        }
    }

    /// What the server takes back from a write: the status through the main resource, everything else through it.
    fn reset(&self, new: &mut Value, subresource: &str) {
        if self.kind != "Stated" {
            return;
        }
        let empty = Value::Object(Map::new());
        let old = self.live.as_ref().unwrap_or(&empty);
        let (from, to) = if subresource.is_empty() { (old, new.clone()) } else { (&*new, old.clone()) };
        let mut result = to;
        match from.get("status") {
            Some(status) => result["status"] = status.clone(),
            None => {
                result.as_object_mut().expect("an object").remove("status");
            }
        }
        if let Some(entries) = new["metadata"].get("managedFields") {
            result["metadata"]["managedFields"] = entries.clone();
        } else {
            result["metadata"].as_object_mut().expect("metadata").remove("managedFields");
        }
        *new = result;
    }
}

/// The object as the recording has it.
fn shown(object: &Value) -> Value {
    let mut content = object.clone();
    let fields = content.as_object_mut().expect("an object");
    fields.remove("apiVersion");
    fields.remove("kind");
    let metadata = fields["metadata"].as_object_mut().expect("metadata");
    let entries = metadata.remove("managedFields").unwrap_or(json!([]));
    metadata.remove("name");
    metadata.remove("namespace");
    if metadata.is_empty() {
        fields.remove("metadata");
    }
    let owners: Vec<Value> = entries.as_array().into_iter().flatten().map(owner).collect();
    json!({"object": content, "owners": owners})
}

/// An entry in the short form of the recording.
fn owner(entry: &Value) -> Value {
    assert_eq!(entry["fieldsType"], "FieldsV1");
    let version = entry["apiVersion"].as_str().and_then(|text| text.split_once('/')).map(|(_, version)| version);
    let subresource = entry["subresource"].as_str().unwrap_or_default();
    let timed = entry.get("time").is_some();
    json!([entry["manager"], entry["operation"], version, subresource, timed, entry["fieldsV1"]])
}

/// Entries written within one second come in the order of their managers, and the recording was fast.
fn unordered(answer: &Value) -> Value {
    let mut answer = answer.clone();
    if let Some(entries) = answer["owners"].as_array_mut() {
        entries.sort_by_key(Value::to_string);
    }
    answer
}

fn refusal(error: &ApplyError) -> Value {
    let causes: Vec<Value> = match error {
        ApplyError::Conflicts(conflicts) => {
            let mut causes: Vec<Value> = conflicts
                .causes()
                .iter()
                .map(|cause| json!(["FieldManagerConflict", cause.field, cause.message]))
                .collect();
            causes.sort_by_key(Value::to_string);
            causes
        }
        ApplyError::BadRequest(_) | ApplyError::Typed(_) => Vec::new(),
    };
    // Where the configuration does not fit the real server answers 500.
    let code = if matches!(error, ApplyError::Typed(_)) { 500 } else { error.code() };
    json!({"code": code, "message": error.to_string(), "causes": causes})
}

fn sorted_causes(answer: &Value) -> Value {
    let mut answer = answer.clone();
    if let Some(causes) = answer["causes"].as_array_mut() {
        causes.sort_by_key(Value::to_string);
    }
    answer
}

#[test]
fn a_real_server_did_the_same() {
    let recorded: Value = serde_json::from_str(RECORDED).expect("the recording is JSON");
    let group = recorded["group"].as_str().expect("a group").to_owned();
    let served = Served { schema: Schema::lenient(&recorded["schema"]), group };
    let mut wrong = Vec::new();
    let mut steps = 0;
    for case in recorded["cases"].as_array().expect("cases") {
        let mut player =
            Player { served: &served, kind: case["kind"].as_str().unwrap_or("Thing"), live: None, seconds: 0 };
        for (number, step) in case["steps"].as_array().expect("steps").iter().enumerate() {
            steps += 1;
            let wanted = &step["answer"];
            let (found, wanted_shown) = match player.play(step) {
                Ok(new) => {
                    // A refusal by validation is not this crate's; the object stays as it was.
                    if wanted["code"] == 422 {
                        continue;
                    }
                    let found = unordered(&shown(&new));
                    player.live = Some(new);
                    (found, unordered(wanted))
                }
                Err(error) => (refusal(&error), sorted_causes(wanted)),
            };
            if found != wanted_shown {
                wrong
                    .push(format!("{} step {number}: {step}\n  found  {found}\n  wanted {wanted_shown}", case["name"]));
                break;
            }
        }
    }
    assert!(steps > 600, "only {steps} steps");
    assert!(wrong.is_empty(), "{} sequences differ:\n{}", wrong.len(), wrong.join("\n"));
}
