//! The kinds that are served without a definition object, and what is particular about each.
//!
//! One row for each kind in [`all`]; everything that reads or writes objects asks the row instead of
//! the kind's name. Shapes come from the published types ([`shape`]), how lists merge from a table
//! ([`lists`]); defaults, rules and table rows are plain functions over JSON, pure, one module for
//! each kind.
//!
//! Rules here are the basic ones. A field whose rule is not known is stored as it was sent.

mod access;
mod addresses;
mod columns;
mod config;
mod definition;
pub(crate) mod endpoints;
mod event;
mod json;
mod labels;
mod lease;
pub mod lists;
mod namespace;
mod node;
mod pod;
mod pod_row;
pub(crate) mod published;
mod service;
pub mod shape;
mod table;

use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use netloom_schema::{FieldError, Schema};
use serde_json::Value;

pub use columns::{Description, PrinterColumn, age};
pub use labels::FieldLabels;
pub use table::all;

/// Which names an object may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameRule {
    /// Dot-separated labels, at most 253 characters.
    Subdomain,
    /// One label that may start with a digit, at most 63 characters.
    Label,
    /// Anything that can be one part of a path.
    PathSegment,
}

/// Something below an object's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subresource {
    /// Its part of the path.
    pub name: &'static str,
    /// The group, where it is not that of the resource.
    pub group: &'static str,
    /// The version of that group.
    pub version: &'static str,
    /// The kind that is sent and answered.
    pub kind: &'static str,
    /// What may be done to it.
    pub verbs: &'static [&'static str],
}

/// How updates, deletes and generations of a kind differ from those of custom objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one independent fact about the kind")]
pub struct Habits {
    /// A replacement without `resourceVersion` overwrites whatever is there.
    pub update_without_revision: bool,
    /// Replacing what does not exist creates it.
    pub update_creates: bool,
    /// Objects count changes of their specification.
    pub generation: bool,
    /// A delete answers with the object instead of a `Status`.
    pub delete_answers_object: bool,
}

/// One kind.
#[derive(Debug)]
pub struct Builtin {
    /// The group; empty for the core one.
    pub group: &'static str,
    /// The version.
    pub version: &'static str,
    /// The kind.
    pub kind: &'static str,
    /// The name in paths.
    pub plural: &'static str,
    /// The name of one.
    pub singular: &'static str,
    /// Abbreviations.
    pub short_names: &'static [&'static str],
    /// Sets that it belongs to.
    pub categories: &'static [&'static str],
    /// Whether objects are in namespaces.
    pub namespaced: bool,
    /// What may be done to it, in the words of discovery.
    pub verbs: &'static [&'static str],
    /// What is below its objects; `status` among them means that it is written apart.
    pub subresources: &'static [Subresource],
    /// Which names are allowed.
    pub names: NameRule,
    /// What is particular about writes.
    pub habits: Habits,
    /// What can be asked in field selectors.
    pub labels: FieldLabels,
    /// The columns of tables; [`Builtin::column_definitions`] is what clients see of them.
    pub columns: &'static [PrinterColumn],
    /// The cells of one row, as many as there are columns.
    pub cells: fn(&Value, Timestamp) -> Vec<Value>,
    /// Fills in what a client may leave out. Runs on everything that was decoded, before ownership
    /// of fields is computed.
    pub default: fn(&mut Value),
    /// Sets what is not the client's to say. Runs on writes of the main resource, after defaults and
    /// with the stored object on updates.
    pub prepare: fn(&mut Value, Option<&Value>),
    /// What is wrong with an object, the stored one given on updates.
    pub validate: fn(&Value, Option<&Value>) -> Vec<FieldError>,
    pub(crate) shape: OnceLock<shape::Shape>,
    pub(crate) definitions: OnceLock<Vec<Value>>,
}

impl Builtin {
    /// `v1` or `group/version`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.to_owned() } else { format!("{}/{}", self.group, self.version) }
    }

    /// The full name of the published type.
    pub fn type_name(&self) -> String {
        published::type_name(self.group, self.version, self.kind)
    }

    /// The kind of a list.
    pub fn list_kind(&self) -> String {
        format!("{}List", self.kind)
    }

    /// A subresource, by its name.
    pub fn subresource(&self, name: &str) -> Option<&'static Subresource> {
        self.subresources.iter().find(|sub| sub.name == name)
    }

    /// Whether its status is written apart from the rest.
    pub fn has_status(&self) -> bool {
        self.subresource("status").is_some()
    }

    /// The shape of objects. Made at the first call: most processes never see most kinds.
    pub fn schema(&self) -> Arc<Schema> {
        Arc::clone(&self.shape().schema)
    }

    /// The shape as a self-contained JSON schema, with list types and merge keys.
    pub fn json_schema(&self) -> Arc<Value> {
        Arc::clone(&self.shape().json)
    }

    /// The columns as a table announces them.
    pub fn column_definitions(&self) -> &[Value] {
        self.definitions.get_or_init(|| columns::definitions(self))
    }

    fn shape(&self) -> &shape::Shape {
        self.shape.get_or_init(|| shape::Shape::of(&self.type_name()))
    }
}

/// The row of a resource.
pub fn find(group: &str, version: &str, plural: &str) -> Option<&'static Builtin> {
    all().iter().find(|row| row.group == group && row.version == version && row.plural == plural)
}
