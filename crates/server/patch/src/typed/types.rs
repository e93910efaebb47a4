//! What ownership needs to know of a schema.
//!
//! A place can allow a scalar, a list and an object, in any combination: free-form places allow all three. Objects of
//! a resource, embedded ones included, always have `apiVersion`, `kind` and a `metadata` of a known shape, whatever
//! their schema says of it. Below a place that preserves unknown fields every object takes any field.

use netloom_schema::{Additional, ListType, MapType, Schema, Type as JsonType};
use serde_json::{Value, json};
use std::sync::LazyLock;

/// The type of one place in an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Type<'a> {
    source: Source<'a>,
    /// An object further up, or this one, preserves unknown fields.
    open: bool,
    resource: bool,
}

#[derive(Clone, Copy, Debug)]
enum Source<'a> {
    Schema(&'a Schema),
    /// A plain text.
    Text,
    /// Type follows from the value: objects merge field by field, lists are one piece.
    Deduced,
    /// Type follows from the value, and everything is one piece.
    Opaque,
}

/// What a place allows.
pub(crate) struct Atom<'a> {
    pub(crate) scalar: Option<Scalar>,
    pub(crate) list: Option<List<'a>>,
    pub(crate) map: Option<Fields<'a>>,
}

/// What one value is read as, of all that its place allows.
#[derive(Clone, Copy)]
pub(crate) enum Part<'x, 'a> {
    Scalar(Scalar),
    List(&'x List<'a>),
    Map(&'x Fields<'a>),
    Nothing,
}

impl<'a> Atom<'a> {
    /// What a value is read as: what it looks like if the place allows that, else the first thing the place allows.
    pub(crate) fn part(&self, value: &Value) -> Part<'_, 'a> {
        let looks = match value {
            Value::Bool(_) | Value::Number(_) | Value::String(_) => self.scalar.map(Part::Scalar),
            Value::Array(_) => self.list.as_ref().map(Part::List),
            Value::Object(_) => self.map.as_ref().map(Part::Map),
            Value::Null => None,
        };
        looks
            .or_else(|| self.map.as_ref().map(Part::Map))
            .or_else(|| self.scalar.map(Part::Scalar))
            .or_else(|| self.list.as_ref().map(Part::List))
            .unwrap_or(Part::Nothing)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    Any,
    Number,
    Text,
    Bool,
}

pub(crate) struct List<'a> {
    pub(crate) relation: Relation<'a>,
    pub(crate) item: Type<'a>,
}

/// How the items of a list are distinguished.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Relation<'a> {
    /// Not at all: the list is one piece.
    Atomic,
    /// By their value.
    Set,
    /// By these fields.
    Keyed(&'a [String]),
}

/// An object's fields.
pub(crate) struct Fields<'a> {
    pub(crate) atomic: bool,
    owner: Type<'a>,
    /// The type of fields that are not named; nothing if there may be none.
    pub(crate) element: Option<Type<'a>>,
}

impl<'a> Type<'a> {
    /// The type of a whole object of a kind.
    pub(crate) fn resource(schema: &'a Schema) -> Self {
        Self { source: Source::Schema(schema), open: schema.preserves_unknown(), resource: true }
    }

    const fn plain(source: Source<'a>) -> Self {
        Self { source, open: false, resource: false }
    }

    pub(crate) const fn deduced() -> Self {
        Self::plain(Source::Deduced)
    }

    fn inner(self, schema: &'a Schema) -> Self {
        Self {
            source: Source::Schema(schema),
            open: self.open || schema.preserves_unknown(),
            resource: schema.is_embedded(),
        }
    }

    /// Whether this is the free-form type that reconciliation leaves alone.
    pub(crate) fn is_deduced(self) -> bool {
        match self.source {
            Source::Deduced => true,
            Source::Schema(_) => self.atom().scalar == Some(Scalar::Any),
            Source::Text | Source::Opaque => false,
        }
    }

    /// What the place allows.
    pub(crate) fn atom(self) -> Atom<'a> {
        match self.source {
            Source::Schema(schema) => self.schema_atom(schema),
            Source::Text => Atom { scalar: Some(Scalar::Text), list: None, map: None },
            Source::Deduced => self.free_form(false, Self::deduced()),
            Source::Opaque => self.free_form(true, self),
        }
    }

    fn free_form(self, atomic: bool, element: Self) -> Atom<'a> {
        Atom {
            scalar: Some(Scalar::Any),
            list: Some(List { relation: Relation::Atomic, item: Self::plain(Source::Opaque) }),
            map: Some(Fields { atomic, owner: self, element: Some(element) }),
        }
    }
}

impl<'a> Type<'a> {
    fn schema_atom(self, schema: &'a Schema) -> Atom<'a> {
        let (list, map) = (|| Some(self.list(schema)), || Some(self.fields(schema)));
        let scalar = |scalar| Atom { scalar: Some(scalar), list: None, map: None };
        match schema.kind() {
            _ if schema.is_int_or_string() => Atom { scalar: Some(Scalar::Any), list: list(), map: map() },
            None => Atom { scalar: Some(Scalar::Any), list: list(), map: map() },
            Some(JsonType::Object) => Atom { scalar: None, list: None, map: map() },
            Some(JsonType::Array) => Atom { scalar: None, list: list(), map: None },
            Some(JsonType::Integer | JsonType::Number) => scalar(Scalar::Number),
            Some(JsonType::Boolean) => scalar(Scalar::Bool),
            Some(JsonType::String) => match schema.format() {
                None | Some("" | "byte") => scalar(Scalar::Text),
                // Formats such as times and quantities may be written as numbers too.
                Some(_) => scalar(Scalar::Any),
            },
        }
    }

    fn list(self, schema: &'a Schema) -> List<'a> {
        let relation = match schema.list_type() {
            ListType::Atomic => Relation::Atomic,
            ListType::Set => Relation::Set,
            ListType::Map(keys) => Relation::Keyed(keys),
        };
        let item = schema.items().map_or(Self::plain(Source::Opaque), |items| self.inner(items));
        List { relation, item }
    }

    fn fields(self, schema: &'a Schema) -> Fields<'a> {
        let element = match schema.additional() {
            Some(Additional::Schema(values)) => Some(self.inner(values)),
            Some(Additional::Any(true)) => Some(Self::deduced()),
            // An object that says nothing of its fields takes any.
            None if self.open || (schema.properties().is_empty() && !self.resource) => Some(Self::deduced()),
            None | Some(Additional::Any(false)) => None,
        };
        Fields { atomic: schema.map_type() == MapType::Atomic, owner: self, element }
    }
}

impl<'a> Fields<'a> {
    /// The type of a named field.
    pub(crate) fn field(&self, name: &str) -> Option<Type<'a>> {
        let Source::Schema(schema) = self.owner.source else { return None };
        if self.owner.resource {
            match name {
                "apiVersion" | "kind" => return Some(Type::plain(Source::Text)),
                "metadata" => return Some(Type::plain(Source::Schema(&OBJECT_META))),
                _ => {}
            }
        }
        schema.properties().get(name).map(|field| self.owner.inner(field))
    }

    /// The type of a field, named or not; nothing if there may be no such field.
    pub(crate) fn of(&self, name: &str) -> Option<Type<'a>> {
        self.field(name).or(self.element)
    }

    /// The value a named field has when it is absent.
    pub(crate) fn default(&self, name: &str) -> Option<&'a Value> {
        let Source::Schema(schema) = self.owner.source else { return None };
        schema.properties().get(name)?.default_value()
    }

    /// Whether any field has a name.
    pub(crate) fn has_named(&self) -> bool {
        let Source::Schema(schema) = self.owner.source else { return false };
        self.owner.resource || !schema.properties().is_empty()
    }
}

/// The metadata every object has, as far as ownership cares.
static OBJECT_META: LazyLock<Schema> = LazyLock::new(|| {
    let text = json!({"type": "string"});
    let number = json!({"type": "integer"});
    let time = json!({"type": "string", "format": "date-time"});
    let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
    Schema::lenient(&json!({
        "type": "object",
        "properties": {
            "annotations": texts,
            "creationTimestamp": time,
            "deletionGracePeriodSeconds": number,
            "deletionTimestamp": time,
            "finalizers": {"type": "array", "x-kubernetes-list-type": "set", "items": text},
            "generateName": text,
            "generation": number,
            "labels": texts,
            "managedFields": {"type": "array", "x-kubernetes-list-type": "atomic", "items": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            }},
            "name": text,
            "namespace": text,
            "ownerReferences": {
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"],
                "items": {
                    "type": "object", "x-kubernetes-map-type": "atomic",
                    "properties": {
                        "apiVersion": text, "kind": text, "name": text, "uid": text,
                        "blockOwnerDeletion": {"type": "boolean"}, "controller": {"type": "boolean"},
                    },
                },
            },
            "resourceVersion": text,
            "selfLink": text,
            "uid": text,
        },
    }))
});
