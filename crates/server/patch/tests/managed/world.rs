//! One object and everybody who writes it.
//!
//! A [`World`] plays writes in order, one second apart, and shows afterwards what the object is and who owns what. The
//! kind is called `Thing`; `apiVersion`, `kind` and `metadata.name` are filled in, so cases only write what matters.

use netloom_patch::fields::{Element, Set};
use netloom_patch::managed::{ApplyError, Manager, Shape, Versions, apply, update};
use netloom_schema::Schema;
use serde_json::{Value, json};

pub(crate) struct World {
    served: Served,
    ignored: Vec<&'static str>,
    pub(crate) object: Option<Value>,
    seconds: u32,
}

/// The versions that are served; converting only rewrites `apiVersion`.
struct Served(Vec<(&'static str, Schema)>);

impl Versions for Served {
    fn convert(&self, object: &Value, api_version: &str) -> Option<Value> {
        self.schema(api_version)?;
        let mut object = object.clone();
        object["apiVersion"] = json!(api_version);
        Some(object)
    }

    fn schema(&self, api_version: &str) -> Option<&Schema> {
        self.0.iter().find(|(version, _)| *version == api_version).map(|(_, schema)| schema)
    }
}

/// A writer: a name, and after an `@` the version if it is not `v1`, and after a `/` the subresource.
fn writer(text: &str) -> (&str, &str, &str) {
    let (text, subresource) = text.split_once('/').unwrap_or((text, ""));
    let (name, version) = text.split_once('@').unwrap_or((text, "v1"));
    (name, version, subresource)
}

impl World {
    /// A world whose kind has these fields, served as `v1`, `v2` and `v3`.
    pub(crate) fn of(properties: &Value) -> Self {
        let schema = Schema::lenient(&json!({"type": "object", "properties": properties}));
        let served = ["v1", "v2", "v3"].map(|version| (version, schema.clone()));
        Self { served: Served(served.into()), ignored: Vec::new(), object: None, seconds: 0 }
    }

    /// A world whose kind is free-form.
    pub(crate) fn free_form() -> Self {
        let mut world = Self::of(&json!({}));
        world.replace_schemas(&json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}));
        world
    }

    /// The kind gets other fields.
    pub(crate) fn changed(&mut self, properties: &Value) -> &mut Self {
        self.replace_schemas(&json!({"type": "object", "properties": properties}));
        self
    }

    fn replace_schemas(&mut self, schema: &Value) {
        for (_, served) in &mut self.served.0 {
            *served = Schema::lenient(schema);
        }
    }

    pub(crate) fn stop_serving(&mut self, version: &str) {
        self.served.0.retain(|(served, _)| *served != version);
    }

    pub(crate) fn ignore(&mut self, fields: &[&'static str]) {
        self.ignored = fields.to_vec();
    }

    fn whole(content: &Value, version: &str) -> Value {
        let mut object = json!({"apiVersion": version, "kind": "Thing", "metadata": {"name": "one"}});
        for (name, value) in content.as_object().into_iter().flatten() {
            object[name] = value.clone();
        }
        if object["metadata"]["name"].is_null() {
            object["metadata"]["name"] = json!("one");
        }
        object
    }

    fn write(&mut self, who: &str, content: &Value, mode: Mode) -> Result<(), ApplyError> {
        self.seconds += 1;
        let time = format!("2030-01-01T00:00:{:02}Z", self.seconds);
        let (name, version, subresource) = writer(who);
        let manager = Manager { name, api_version: version, subresource, time: &time };
        let schema = self.served.schema(version).expect("the version of the case is served");
        let shape = Shape::new(schema, "Thing").ignoring(&self.ignored).versions(&self.served);
        let mut object = Self::whole(content, version);
        let mut live = self.object.clone();
        if let Some(live) = &mut live {
            live["apiVersion"] = json!(version);
        }
        match mode {
            Mode::Update => update(live.as_ref(), &mut object, &manager, &shape),
            Mode::Apply | Mode::Force => {
                object = apply(live.as_ref(), &object, &manager, mode == Mode::Force, &shape)?;
            }
        }
        self.object = Some(object);
        Ok(())
    }

    pub(crate) fn update(&mut self, who: &str, content: Value) -> &mut Self {
        self.write(who, &content, Mode::Update).expect("updates cannot fail");
        self
    }

    pub(crate) fn apply(&mut self, who: &str, content: Value) -> &mut Self {
        if let Err(refused) = self.write(who, &content, Mode::Apply) {
            panic!("{who} was refused: {refused}");
        }
        self
    }

    pub(crate) fn force(&mut self, who: &str, content: Value) -> &mut Self {
        if let Err(refused) = self.write(who, &content, Mode::Force) {
            panic!("{who} was refused: {refused}");
        }
        self
    }

    pub(crate) fn refused(&mut self, who: &str, content: Value) -> ApplyError {
        self.write(who, &content, Mode::Apply).expect_err("the apply should be refused")
    }

    /// An apply that meets exactly these conflicts, as `manager path`.
    pub(crate) fn conflicts(&mut self, who: &str, content: Value, wanted: &[&str]) -> &mut Self {
        let refused = self.refused(who, content);
        let ApplyError::Conflicts(conflicts) = &refused else { panic!("{refused}") };
        let found: Vec<String> =
            conflicts.causes().iter().map(|one| format!("{} {}", one.manager, one.field)).collect();
        assert_eq!(found, wanted);
        self
    }

    /// The object without what identifies it.
    pub(crate) fn content(&self) -> Value {
        let mut object = self.object.clone().expect("something was written");
        let fields = object.as_object_mut().expect("it is an object");
        fields.remove("apiVersion");
        fields.remove("kind");
        let metadata = fields["metadata"].as_object_mut().expect("metadata is an object");
        metadata.remove("name");
        metadata.remove("managedFields");
        if metadata.is_empty() {
            fields.remove("metadata");
        }
        object
    }

    pub(crate) fn is(&mut self, wanted: Value) -> &mut Self {
        assert_eq!(self.content(), wanted);
        self
    }

    pub(crate) fn entries(&self) -> Vec<Value> {
        let object = self.object.as_ref().expect("something was written");
        object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default()
    }

    /// Every entry as `manager operation: path path`, with the version unless it is `v1`.
    pub(crate) fn owners(&self) -> Vec<String> {
        self.entries().iter().map(entry_text).collect()
    }

    pub(crate) fn owned(&mut self, wanted: &[&str]) -> &mut Self {
        let mut found = self.owners();
        let mut wanted: Vec<String> = wanted.iter().map(ToString::to_string).collect();
        found.sort();
        wanted.sort();
        assert_eq!(found, wanted);
        self
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Update,
    Apply,
    Force,
}

fn entry_text(entry: &Value) -> String {
    let text = |name: &str| entry[name].as_str().unwrap_or_default();
    let set = Set::from_json(&entry["fieldsV1"]).expect("entries are sets of fields");
    let paths: Vec<String> =
        set.paths().iter().map(|path| path.iter().map(Element::to_string).collect::<String>()).collect();
    let version = if text("apiVersion") == "v1" { String::new() } else { format!("@{}", text("apiVersion")) };
    let subresource = if text("subresource").is_empty() { String::new() } else { format!("/{}", text("subresource")) };
    format!("{}{version}{subresource} {}: {}", text("manager"), text("operation"), paths.join(" "))
}
