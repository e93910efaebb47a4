//! `metadata.managedFields`: reading, writing, order.
//!
//! Entries are distinguished by an identity: manager, operation, subresource, and for updates the version. It is kept
//! as the JSON text Kubernetes uses, because conflicts and the oldest entries are ordered by it.

use crate::fields::Set;
use jiff::Timestamp;
use netloom_schema::go_text;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// How a manager wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Operation {
    Apply,
    Update,
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) manager: String,
    pub(super) operation: Operation,
    pub(super) api_version: String,
    pub(super) subresource: String,
    pub(super) time: Option<Timestamp>,
    pub(super) set: Set,
}

impl Owner {
    /// What tells this entry from the others of an object.
    pub(super) fn identity(&self) -> String {
        identity(&self.manager, self.operation, &self.api_version, &self.subresource)
    }

    fn seconds(&self) -> i64 {
        self.time.map_or(0, Timestamp::as_second)
    }
}

/// The identity of a writer. One who applies is the same in every version.
pub(super) fn identity(manager: &str, operation: Operation, api_version: &str, subresource: &str) -> String {
    let api_version = match operation {
        Operation::Apply => "",
        Operation::Update => api_version,
    };
    let fields = [
        ("manager", manager),
        ("operation", operation.name()),
        ("apiVersion", api_version),
        ("subresource", subresource),
    ];
    let parts: Vec<String> = fields
        .iter()
        .filter(|(_, text)| !text.is_empty())
        .map(|(name, text)| format!("\"{name}\":{}", go_text::json(&json!(text))))
        .collect();
    format!("{{{}}}", parts.join(","))
}

/// All entries of an object, by identity.
pub(super) type Owners = BTreeMap<String, Owner>;

/// The entries of an object's metadata; nothing there reads as none.
pub(super) fn of_object(object: &Value) -> Result<Owners, String> {
    read(object.pointer("/metadata/managedFields").unwrap_or(&Value::Null))
}

/// Whether a value can be stored as `metadata.managedFields`, with the words for it if not.
///
/// # Errors
/// What is wrong with the first bad entry.
pub fn valid(managed_fields: &Value) -> Result<(), String> {
    read(managed_fields).map(drop)
}

pub(super) fn read(managed_fields: &Value) -> Result<Owners, String> {
    let entries = match managed_fields {
        Value::Null => return Ok(Owners::new()),
        Value::Array(entries) => entries,
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            return Err("managedFields must be a list".to_owned());
        }
    };
    let mut owners = Owners::new();
    for (position, entry) in entries.iter().enumerate() {
        let owner = read_entry(position, entry)?;
        owners.insert(owner.identity(), owner);
    }
    Ok(owners)
}

fn read_entry(position: usize, entry: &Value) -> Result<Owner, String> {
    let Value::Object(entry) = entry else { return Err(format!("managed fields entry {position} is no object")) };
    let operation = match text(entry, "operation")? {
        "Apply" => Operation::Apply,
        "Update" => Operation::Update,
        _ => return Err("operation must be `Apply` or `Update`".to_owned()),
    };
    let api_version = text(entry, "apiVersion")?;
    if api_version.is_empty() {
        return Err("apiVersion must not be empty".to_owned());
    }
    match text(entry, "fieldsType")? {
        "FieldsV1" => {}
        "" => return Err(format!("missing fieldsType in managed fields entry {position}")),
        other => {
            return Err(format!("invalid fieldsType {} in managed fields entry {position}", go_text::quote(other)));
        }
    }
    let set = match entry.get("fieldsV1") {
        None | Some(Value::Null) => Set::new(),
        Some(fields) => Set::from_json(fields).map_err(|error| format!("error decoding set: {error}"))?,
    };
    let time = match text(entry, "time")? {
        "" => None,
        written => Some(written.parse().map_err(|_| format!("{} is no time", go_text::quote(written)))?),
    };
    Ok(Owner {
        manager: text(entry, "manager")?.to_owned(),
        operation,
        api_version: api_version.to_owned(),
        subresource: text(entry, "subresource")?.to_owned(),
        time,
        set,
    })
}

/// A text field of an entry; absent and null read as empty.
fn text<'a>(entry: &'a Map<String, Value>, name: &str) -> Result<&'a str, String> {
    match entry.get(name) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text),
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            Err(format!("{name} must be a string"))
        }
    }
}

/// The JSON list of the entries: those that apply first, then by time, manager, version and subresource.
pub(super) fn write(owners: &Owners) -> Option<Value> {
    let mut entries: Vec<&Owner> = owners.values().collect();
    entries.sort_by(|left, right| order_key(left).cmp(&order_key(right)));
    let entries: Vec<Value> = entries.into_iter().map(write_entry).collect();
    (!entries.is_empty()).then_some(Value::Array(entries))
}

fn order_key(owner: &Owner) -> (Operation, i64, &str, &str, &str) {
    (owner.operation, owner.seconds(), &owner.manager, &owner.api_version, &owner.subresource)
}

fn write_entry(owner: &Owner) -> Value {
    let mut entry = Map::new();
    entry.insert("apiVersion".to_owned(), json!(owner.api_version));
    entry.insert("fieldsType".to_owned(), json!("FieldsV1"));
    entry.insert("fieldsV1".to_owned(), owner.set.to_json());
    if !owner.manager.is_empty() {
        entry.insert("manager".to_owned(), json!(owner.manager));
    }
    entry.insert("operation".to_owned(), json!(owner.operation.name()));
    if !owner.subresource.is_empty() {
        entry.insert("subresource".to_owned(), json!(owner.subresource));
    }
    if let Some(time) = owner.time {
        entry.insert("time".to_owned(), json!(whole_seconds(time)));
    }
    Value::Object(entry)
}

/// A time as the API writes it: UTC, whole seconds.
fn whole_seconds(time: Timestamp) -> String {
    Timestamp::from_second(time.as_second()).unwrap_or(time).to_string()
}

/// Metadata keeps neither nulls nor empty maps and lists: labels without a label are no labels.
pub(super) fn tidy_metadata(object: &mut Value) {
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.retain(|_, value| match value {
            Value::Null => false,
            Value::Object(map) => !map.is_empty(),
            Value::Array(items) => !items.is_empty(),
            Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
        });
    }
}

/// Puts the entries into an object's metadata, or takes the field out if there are none.
pub(super) fn store(object: &mut Value, owners: &Owners) {
    put(object, write(owners));
}

/// Sets or removes `metadata.managedFields` as it is.
pub(super) fn put(object: &mut Value, managed_fields: Option<Value>) {
    let Some(Value::Object(metadata)) = object.get_mut("metadata") else {
        if let (Some(entries), Value::Object(fields)) = (managed_fields, object) {
            fields.insert("metadata".to_owned(), json!({ "managedFields": entries }));
        }
        return;
    };
    match managed_fields {
        Some(entries) => {
            metadata.insert("managedFields".to_owned(), entries);
        }
        None => {
            metadata.remove("managedFields");
        }
    }
}
