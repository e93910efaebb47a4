//! Which object is meant, and which of two is older.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use serde_json::Value;

use crate::kind::GroupKind;

/// Namespace and name of an object; the namespace is empty for kinds that have none.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl ObjectKey {
    /// The object of that namespace and name.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }

    /// An object of a kind without namespaces.
    pub fn global(name: impl Into<String>) -> Self {
        Self::new("", name)
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.namespace.is_empty() {
            write!(f, "{}/", self.namespace)?;
        }
        f.write_str(&self.name)
    }
}

/// An object by kind and names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectRef {
    /// Its kind.
    pub kind: GroupKind<'static>,
    /// Its namespace and name.
    pub key: ObjectKey,
}

impl ObjectRef {
    /// The object that a document is, where its kind is one of `kinds` and it has a name.
    pub fn among(mut kinds: impl Iterator<Item = GroupKind<'static>>, object: &Value) -> Option<Self> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let group = text("/apiVersion").split_once('/').map_or("", |(group, _)| group);
        let kind = kinds.find(|kind| kind.group == group && kind.kind == text("/kind"))?;
        let key = ObjectKey::new(text("/metadata/namespace"), text("/metadata/name"));
        (!key.name.is_empty()).then_some(Self { kind, key })
    }
}

/// What every object says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Meta {
    /// Namespace and name.
    pub key: ObjectKey,
    /// How often its `spec` has changed.
    pub generation: Option<i64>,
    /// The version that a write can be tied to; empty for an object out of a file.
    pub resource_version: String,
    /// When it was made; none for an object that no server has seen.
    pub created: Option<Time>,
    /// Whether it is on its way out.
    pub deleted: bool,
}

impl Meta {
    /// What the metadata of an object says.
    pub fn of(meta: ObjectMeta) -> Self {
        Self {
            key: ObjectKey::new(meta.namespace.unwrap_or_default(), meta.name.unwrap_or_default()),
            generation: meta.generation,
            resource_version: meta.resource_version.unwrap_or_default(),
            created: meta.creation_timestamp,
            deleted: meta.deletion_timestamp.is_some(),
        }
    }

    /// What decides between two objects: the older one first, then namespace and name. What no
    /// server has seen is younger than everything.
    pub fn precedence(&self) -> Precedence<'_> {
        Precedence { unborn: self.created.is_none(), created: self.created.as_ref(), key: &self.key }
    }
}

/// The order in which objects win against each other; the least one wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Precedence<'a> {
    unborn: bool,
    created: Option<&'a Time>,
    key: &'a ObjectKey,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(name: &str, created: Option<&str>) -> Meta {
        let created = created.map(|text| serde_json::from_value(text.into()).unwrap());
        Meta { key: ObjectKey::new("n", name), created, ..Meta::default() }
    }

    #[test]
    fn the_older_object_comes_first_and_then_the_first_name() {
        let mut all = [
            meta("b", None),
            meta("c", Some("2026-01-02T00:00:00Z")),
            meta("d", Some("2026-01-01T00:00:00Z")),
            meta("a", Some("2026-01-02T00:00:00Z")),
        ];
        all.sort_by(|a, b| a.precedence().cmp(&b.precedence()));
        assert_eq!(all.map(|meta| meta.key.name), ["d", "a", "c", "b"]);
    }

    #[test]
    fn only_objects_of_known_kinds_with_a_name_are_referred_to() {
        let kinds = || [GroupKind::new("", "Node"), GroupKind::new("g.io", "Thing")].into_iter();
        let of = |version: &str, kind: &str, name: &str| {
            let metadata = serde_json::json!({"namespace": "n", "name": name});
            let object = serde_json::json!({"apiVersion": version, "kind": kind, "metadata": metadata});
            ObjectRef::among(kinds(), &object).map(|found| (found.kind.group, found.key.to_string()))
        };
        assert_eq!(of("g.io/v1", "Thing", "a"), Some(("g.io", "n/a".to_owned())));
        assert_eq!(of("v1", "Node", "a"), Some(("", "n/a".to_owned())));
        assert_eq!(of("other.io/v1", "Thing", "a"), None, "a kind of the same name in another group");
        assert_eq!(of("g.io/v1", "Thing", ""), None);
    }
}
