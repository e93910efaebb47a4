//! Definitions of custom kinds: read, filled in, and checked.
//!
//! A [`Definition`] is what the server acts on; the object itself stays JSON. Reading never fails: what
//! a definition must say is checked when it is written ([`parse`], [`check_create`],
//! [`check_update`]), and one that was accepted once is served for ever.

mod internal;
mod rules;
mod scale;
mod versions;

use std::sync::Arc;

use serde_json::{Map, Value, json};

pub use self::{
    rules::{check_create, check_update},
    scale::{ScalePaths, check_scale},
};
use crate::{FieldError, Rules, Schema, rules::NoRules, table::Column};

/// Whether objects of a kind live in namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// They do.
    Namespaced,
    /// They do not.
    Cluster,
}

/// What a kind is called.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Names {
    /// In paths.
    pub plural: String,
    /// On the command line.
    pub singular: String,
    /// In objects.
    pub kind: String,
    /// In lists of objects.
    pub list_kind: String,
    /// On the command line, shorter.
    pub short_names: Vec<String>,
    /// Groups of kinds that can be asked for at once.
    pub categories: Vec<String>,
}

/// One version of a kind.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "the object has these four flags, and they are independent")]
pub struct Version {
    /// Its name: `v1beta1`.
    pub name: String,
    /// Whether requests may use it.
    pub served: bool,
    /// Whether objects are stored in it; exactly one version is.
    pub storage: bool,
    /// Whether users should move on.
    pub deprecated: bool,
    /// What to tell them, if the definition says.
    pub deprecation_warning: Option<String>,
    /// The schema to act on.
    pub schema: Arc<Schema>,
    /// The schema to publish.
    pub json_schema: Arc<Value>,
    /// Whether `status` is a subresource.
    pub status: bool,
    /// Where `scale` finds its numbers, if it is a subresource.
    pub scale: Option<ScalePaths>,
    /// The columns of tables; never empty.
    pub columns: Vec<Column>,
    /// Paths that field selectors may use, with the dot that they start with.
    pub selectable: Vec<String>,
}

/// How objects of one version become objects of another.
#[derive(Debug, Clone, PartialEq)]
pub enum Conversion {
    /// Only `apiVersion` changes.
    None,
    /// Somebody else is asked; the JSON says whom.
    Webhook(Value),
}

/// A custom kind.
#[derive(Debug, Clone)]
pub struct Definition {
    /// The name of the object: plural, dot, group.
    pub name: String,
    /// The API group.
    pub group: String,
    /// What it is called.
    pub names: Names,
    /// Where its objects live.
    pub scope: Scope,
    /// Its versions, in the order of the object.
    pub versions: Vec<Version>,
    /// How versions become each other.
    pub conversion: Conversion,
    /// Whether unknown fields stay everywhere; only old definitions do so.
    pub preserve_unknown: bool,
}

impl Definition {
    /// The version that objects are stored in.
    pub fn storage(&self) -> Option<&Version> {
        self.versions.iter().find(|v| v.storage)
    }

    /// A version by name.
    pub fn version(&self, name: &str) -> Option<&Version> {
        self.versions.iter().find(|v| v.name == name)
    }

    /// Reads a definition without checking it.
    pub fn read(crd: &Value) -> Self {
        let spec = crd.get("spec").unwrap_or(&Value::Null);
        let names = spec.get("names").unwrap_or(&Value::Null);
        let preserve_unknown = spec.get("preserveUnknownFields") == Some(&Value::Bool(true));
        let versions = spec.get("versions").and_then(Value::as_array).into_iter().flatten();
        let conversion = spec.get("conversion").unwrap_or(&Value::Null);
        Self {
            name: text(crd.pointer("/metadata").unwrap_or(&Value::Null), "name").to_owned(),
            group: text(spec, "group").to_owned(),
            names: Names {
                plural: text(names, "plural").to_owned(),
                singular: text(names, "singular").to_owned(),
                kind: text(names, "kind").to_owned(),
                list_kind: text(names, "listKind").to_owned(),
                short_names: texts(names, "shortNames"),
                categories: texts(names, "categories"),
            },
            scope: if text(spec, "scope") == "Namespaced" { Scope::Namespaced } else { Scope::Cluster },
            versions: versions.map(|version| read_version(version, preserve_unknown)).collect(),
            conversion: match text(conversion, "strategy") {
                "Webhook" => Conversion::Webhook(conversion.get("webhook").cloned().unwrap_or(Value::Null)),
                _ => Conversion::None,
            },
            preserve_unknown,
        }
    }
}

fn read_version(version: &Value, preserve_unknown: bool) -> Version {
    let flag = |name: &str| version.get(name).and_then(Value::as_bool).unwrap_or(false);
    let json_schema = version.pointer("/schema/openAPIV3Schema").cloned().unwrap_or(Value::Null);
    let schema = if preserve_unknown { Schema::anything() } else { Schema::lenient(&json_schema) };
    let list = |name: &str| version.get(name).and_then(Value::as_array).into_iter().flatten();
    let mut columns: Vec<Column> = list("additionalPrinterColumns").filter_map(Column::read).collect();
    if columns.is_empty() {
        columns.push(Column::age());
    }
    Version {
        name: text(version, "name").to_owned(),
        served: flag("served"),
        storage: flag("storage"),
        deprecated: flag("deprecated"),
        deprecation_warning: version.get("deprecationWarning").and_then(Value::as_str).map(str::to_owned),
        schema: Arc::new(schema),
        json_schema: Arc::new(json_schema),
        status: version.pointer("/subresources/status").is_some_and(|s| !s.is_null()),
        scale: version.pointer("/subresources/scale").and_then(ScalePaths::read),
        columns,
        selectable: list("selectableFields").map(|field| text(field, "jsonPath").to_owned()).collect(),
    }
}

/// Checks a new definition and reads it. Expressions of validation rules are not looked into.
pub fn parse(crd: &Value) -> Result<Definition, Vec<FieldError>> {
    parse_with(crd, &NoRules)
}

/// Like [`parse`], and lets `rules` check the expressions as well.
pub fn parse_with(crd: &Value, rules: &dyn Rules) -> Result<Definition, Vec<FieldError>> {
    let errors = check_create(crd, rules);
    if errors.is_empty() { Ok(Definition::read(crd)) } else { Err(errors) }
}

/// Fills in what a definition need not say.
pub fn default_crd(crd: &mut Value) {
    let Some(object) = crd.as_object_mut() else { return };
    let mut stored = None;
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        if let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) {
            default_names(names);
        }
        let conversion = spec.entry("conversion").or_insert(Value::Null);
        if conversion.is_null() {
            *conversion = json!({"strategy": "None"});
        }
        if let Some(service) = conversion.pointer_mut("/webhook/clientConfig/service").and_then(Value::as_object_mut) {
            service.entry("port").or_insert(json!(443));
        }
        let versions = spec.get("versions").and_then(Value::as_array).into_iter().flatten();
        stored = versions
            .into_iter()
            .find(|v| v.get("storage") == Some(&Value::Bool(true)))
            .map(|v| text(v, "name").to_owned());
    }
    let status = object.entry("status").or_insert_with(|| json!({}));
    if status.is_null() {
        *status = json!({});
    }
    if let (Some(status), Some(stored)) = (status.as_object_mut(), stored)
        && status.get("storedVersions").and_then(Value::as_array).is_none_or(Vec::is_empty)
    {
        status.insert("storedVersions".to_owned(), json!([stored]));
    }
}

fn default_names(names: &mut Map<String, Value>) {
    let kind = names.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    let is_empty =
        |names: &Map<String, Value>, name: &str| names.get(name).and_then(Value::as_str).unwrap_or_default().is_empty();
    if kind.is_empty() {
        return;
    }
    if is_empty(names, "singular") {
        names.insert("singular".to_owned(), Value::from(kind.to_lowercase()));
    }
    if is_empty(names, "listKind") {
        names.insert("listKind".to_owned(), Value::from(format!("{kind}List")));
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn texts(value: &Value, name: &str) -> Vec<String> {
    let list = value.get(name).and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;
