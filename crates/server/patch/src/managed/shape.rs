//! What is known of the kind that is written.

use crate::fields::{Element, Set};
use crate::typed::Type;
use netloom_schema::Schema;
use serde_json::{Map, Value};

/// What nobody owns through the main resource of a kind whose status is a subresource.
pub const STATUS: &[&str] = &["status"];

/// What nobody owns through the `/status` of a custom resource.
pub const NOT_STATUS: &[&str] = &["metadata", "spec"];

/// The other versions of a kind, for managers that wrote in one of them.
pub trait Versions {
    /// The object in another version, or nothing if that version is not served any more.
    fn convert(&self, object: &Value, api_version: &str) -> Option<Value>;

    /// The schema of another version.
    fn schema(&self, api_version: &str) -> Option<&Schema>;
}

/// A kind with one version only: entries of other versions are dropped.
struct OneVersion;

impl Versions for OneVersion {
    fn convert(&self, _object: &Value, _api_version: &str) -> Option<Value> {
        None
    }

    fn schema(&self, _api_version: &str) -> Option<&Schema> {
        None
    }
}

/// The kind that is written, seen from one endpoint.
#[derive(Clone)]
pub struct Shape<'a> {
    pub(super) schema: &'a Schema,
    pub(super) kind: &'a str,
    pub(super) ignored: Set,
    pub(super) blank: Value,
    pub(super) versions: &'a dyn Versions,
    pub(super) builtin: bool,
}

impl std::fmt::Debug for Shape<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Shape").field("kind", &self.kind).field("ignored", &self.ignored).finish_non_exhaustive()
    }
}

impl<'a> Shape<'a> {
    /// A kind with this schema in the version that is written.
    pub fn new(schema: &'a Schema, kind: &'a str) -> Self {
        Self {
            schema,
            kind,
            ignored: Set::new(),
            blank: Value::Object(Map::new()),
            versions: &OneVersion,
            builtin: false,
        }
    }

    /// Fields that this endpoint does not change, so nobody can own them through it; paths with dots.
    #[must_use]
    pub fn ignoring(mut self, fields: &[&str]) -> Self {
        self.ignored = fields.iter().map(|path| path.split('.').map(Element::field).collect()).collect();
        self
    }

    /// What a new object of the kind consists of before anybody has written a field. Objects of built-in kinds always
    /// have a `spec` and the like; custom ones start empty.
    #[must_use]
    pub fn blank(mut self, blank: &Value) -> Self {
        self.blank = blank.clone();
        self
    }

    /// The other versions of the kind.
    #[must_use]
    pub fn versions(mut self, versions: &'a dyn Versions) -> Self {
        self.versions = versions;
        self
    }

    /// Whether the kind is built in. There an empty list of `managedFields` resets them; for a custom kind it is the
    /// same as none.
    #[must_use]
    pub fn builtin(mut self, builtin: bool) -> Self {
        self.builtin = builtin;
        self
    }

    pub(super) fn ty(&self) -> Type<'a> {
        Type::resource(self.schema)
    }
}
