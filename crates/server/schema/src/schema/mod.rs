//! Structural schemas: the shape of a kind, and what its values must be.
//!
//! A [`Schema`] is read once, when a definition is written or a built-in kind is registered, and then
//! only walked. It holds what the server acts on; descriptions and examples stay in the JSON. A schema
//! that came from [`Schema::parse`] obeys the structural rules; one from [`Schema::lenient`] need not.

mod default_rules;
mod list_rules;
mod openapi_rules;
mod read;
mod structural;

use std::{
    any::Any,
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use serde_json::Value;

use crate::{field_error::FieldError, pattern::Pattern, rules::Rules};

/// A JSON type that a schema can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// An object or a map.
    Object,
    /// A list.
    Array,
    /// A text.
    String,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// True or false.
    Boolean,
}

impl Type {
    /// The name of the type in a schema.
    pub fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        [Self::Object, Self::Array, Self::String, Self::Integer, Self::Number, Self::Boolean]
            .into_iter()
            .find(|t| t.name() == name)
    }
}

/// How a list is merged and what makes its items distinct.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ListType {
    /// One value as a whole.
    #[default]
    Atomic,
    /// A set of distinct values.
    Set,
    /// Objects that are distinguished by these fields.
    Map(Vec<String>),
}

/// How a map or object is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MapType {
    /// Field by field.
    #[default]
    Granular,
    /// One value as a whole.
    Atomic,
}

/// What values of fields without a property of their own are.
#[derive(Debug, Clone)]
pub enum Additional {
    /// Anything, or with `false` nothing.
    Any(bool),
    /// Values of this schema.
    Schema(Box<Schema>),
}

/// What a schema says about the outer form of its values.
#[derive(Debug, Clone, Copy)]
pub enum Shape<'a> {
    /// An object with named fields, or a map.
    Object {
        /// The named fields.
        properties: &'a BTreeMap<String, Schema>,
        /// The values of all other fields, where they have a schema.
        additional: Option<&'a Schema>,
    },
    /// A list.
    Array {
        /// What its items are, where that is known.
        items: Option<&'a Schema>,
        /// How it is merged.
        list_type: &'a ListType,
    },
    /// A text, number or boolean.
    Scalar(Type),
    /// A number or a text.
    IntOrString,
    /// Anything at all.
    Unknown,
}

/// What a value must be beside its shape.
#[derive(Debug, Clone, Default)]
pub(crate) struct Checks {
    pub(crate) format: Option<String>,
    pub(crate) maximum: Option<f64>,
    pub(crate) exclusive_maximum: bool,
    pub(crate) minimum: Option<f64>,
    pub(crate) exclusive_minimum: bool,
    pub(crate) multiple_of: Option<f64>,
    pub(crate) max_length: Option<i64>,
    pub(crate) min_length: Option<i64>,
    pub(crate) pattern: Option<Pattern>,
    pub(crate) max_items: Option<i64>,
    pub(crate) min_items: Option<i64>,
    pub(crate) unique_items: bool,
    pub(crate) max_properties: Option<i64>,
    pub(crate) min_properties: Option<i64>,
    pub(crate) required: Vec<String>,
    pub(crate) allowed: Vec<Value>,
    pub(crate) all_of: Vec<Schema>,
    pub(crate) any_of: Vec<Schema>,
    pub(crate) one_of: Vec<Schema>,
    pub(crate) not: Option<Box<Schema>>,
}

/// One entry of `x-kubernetes-validations`.
#[derive(Debug, Clone, Default)]
pub struct Rule {
    /// The expression that must be true.
    pub rule: String,
    /// What to say when it is not.
    pub message: String,
    /// An expression that gives the message.
    pub message_expression: String,
    /// The cause to report; empty for the usual one.
    pub reason: String,
    /// The field to report, relative to where the rule stands; empty for that place itself.
    pub field_path: String,
    /// Whether `oldSelf` is an optional value, so that the rule also runs without an old one.
    pub optional_old_self: Option<bool>,
    /// The whole entry, for messages.
    pub source: Value,
    compiled: OnceLock<Arc<dyn Any + Send + Sync>>,
}

impl Rule {
    /// A place where an evaluator keeps what it made of the rule, for as long as the schema lives.
    pub fn compiled(&self) -> &OnceLock<Arc<dyn Any + Send + Sync>> {
        &self.compiled
    }
}

/// A schema, and every part of one.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "the words of a schema are independent flags")]
pub struct Schema {
    pub(crate) kind: Option<Type>,
    pub(crate) int_or_string: bool,
    pub(crate) preserve_unknown: bool,
    pub(crate) embedded: bool,
    pub(crate) nullable: bool,
    pub(crate) properties: BTreeMap<String, Schema>,
    pub(crate) additional: Option<Additional>,
    pub(crate) items: Option<Box<Schema>>,
    pub(crate) default: Option<Value>,
    pub(crate) list_type: ListType,
    pub(crate) map_type: MapType,
    pub(crate) checks: Box<Checks>,
    pub(crate) rules: Vec<Rule>,
    /// Whether any value below could be filled in or any rule could run: most schemas have large parts
    /// without, and walks skip them.
    pub(crate) has_defaults: bool,
    pub(crate) has_rules: bool,
    pub(crate) has_list_rules: bool,
    pub(crate) has_embedded: bool,
}

impl Schema {
    /// Reads the schema of a custom resource and checks all rules that a definition must obey; `path`
    /// is where errors say they are. The expressions of validation rules are not looked into: see
    /// [`Schema::parse_with`].
    pub fn parse(json: &Value, path: &str) -> Result<Self, Vec<FieldError>> {
        Self::parse_with(json, path, &crate::rules::NoRules)
    }

    /// Like [`Schema::parse`], and lets `rules` check the expressions as well.
    pub fn parse_with(json: &Value, path: &str, rules: &dyn Rules) -> Result<Self, Vec<FieldError>> {
        let schema = Self::lenient(json);
        let mut errors = Vec::new();
        if structural::is_readable(json) {
            errors = structural::check(json, path);
            if errors.is_empty() {
                errors = default_rules::check(&schema, path, rules);
            }
        }
        errors.extend(openapi_rules::check(json, path));
        if errors.is_empty() {
            errors = rules.check(&schema, path);
        }
        if errors.is_empty() { Ok(schema) } else { Err(errors) }
    }

    /// Reads a schema without checking anything: what is not understood means nothing. For the shapes
    /// of built-in kinds, which were not written as structural schemas.
    pub fn lenient(json: &Value) -> Self {
        read::schema(json)
    }

    /// A schema that lets everything through unchanged.
    pub fn anything() -> Self {
        Self { preserve_unknown: true, ..Self::default() }
    }

    /// The outer form of a value.
    pub fn shape(&self) -> Shape<'_> {
        if self.int_or_string {
            return Shape::IntOrString;
        }
        match self.kind {
            Some(Type::Object) => Shape::Object { properties: &self.properties, additional: self.additional_schema() },
            Some(Type::Array) => Shape::Array { items: self.items.as_deref(), list_type: &self.list_type },
            Some(scalar @ (Type::String | Type::Integer | Type::Number | Type::Boolean)) => Shape::Scalar(scalar),
            None if !self.properties.is_empty() || self.additional.is_some() => {
                Shape::Object { properties: &self.properties, additional: self.additional_schema() }
            }
            None if self.items.is_some() => Shape::Array { items: self.items.as_deref(), list_type: &self.list_type },
            None => Shape::Unknown,
        }
    }

    /// The type that is asked for, if one is.
    pub fn kind(&self) -> Option<Type> {
        self.kind
    }

    /// Whether numbers and texts are both welcome.
    pub fn is_int_or_string(&self) -> bool {
        self.int_or_string
    }

    /// Whether fields without a schema stay.
    pub fn preserves_unknown(&self) -> bool {
        self.preserve_unknown
    }

    /// Whether the value is an object of its own with `apiVersion`, `kind` and `metadata`.
    pub fn is_embedded(&self) -> bool {
        self.embedded
    }

    /// Whether null is a value.
    pub fn nullable(&self) -> bool {
        self.nullable
    }

    /// The named fields.
    pub fn properties(&self) -> &BTreeMap<String, Schema> {
        &self.properties
    }

    /// What a field's value must be: its own schema, or that of all other fields.
    pub fn property(&self, name: &str) -> Option<&Schema> {
        self.properties.get(name).or_else(|| self.additional_schema())
    }

    /// What is given about fields without a property of their own.
    pub fn additional(&self) -> Option<&Additional> {
        self.additional.as_ref()
    }

    pub(crate) fn additional_schema(&self) -> Option<&Schema> {
        match &self.additional {
            Some(Additional::Schema(schema)) => Some(schema),
            Some(Additional::Any(_)) | None => None,
        }
    }

    /// What the items of a list are.
    pub fn items(&self) -> Option<&Schema> {
        self.items.as_deref()
    }

    /// The value of a field that is not there.
    pub fn default_value(&self) -> Option<&Value> {
        self.default.as_ref()
    }

    /// How the list is merged.
    pub fn list_type(&self) -> &ListType {
        &self.list_type
    }

    /// How the object or map is merged.
    pub fn map_type(&self) -> MapType {
        self.map_type
    }

    /// The fields that must be there.
    pub fn required(&self) -> &[String] {
        &self.checks.required
    }

    /// The name of the text or number format, if one is given.
    pub fn format(&self) -> Option<&str> {
        self.checks.format.as_deref()
    }

    /// The most characters, items or properties that a value may have, whichever belongs to its type.
    pub fn largest(&self) -> Option<u64> {
        let limit = match self.kind {
            Some(Type::Array) => self.checks.max_items,
            Some(Type::Object) => self.checks.max_properties,
            Some(Type::String) => self.checks.max_length,
            Some(Type::Integer | Type::Number | Type::Boolean) | None => None,
        };
        limit.and_then(|limit| u64::try_from(limit).ok())
    }

    /// The values that are allowed; none means all.
    pub fn allowed(&self) -> &[Value] {
        &self.checks.allowed
    }

    /// The validation rules of this place.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Whether this place or any below it has validation rules.
    pub fn has_rules(&self) -> bool {
        self.has_rules
    }

    /// Formats, anywhere in the schema, that the server does not know and will not check.
    pub fn unknown_formats(&self) -> Vec<String> {
        let mut found = Vec::new();
        self.collect_unknown_formats(&mut found);
        found.sort();
        found.dedup();
        found
    }

    fn collect_unknown_formats(&self, found: &mut Vec<String>) {
        if let Some(format) = &self.checks.format
            && !crate::formats::is_known(self, format)
        {
            found.push(format.clone());
        }
        self.parts().for_each(|part| part.collect_unknown_formats(found));
    }

    /// All schemas directly below.
    fn parts(&self) -> impl Iterator<Item = &Schema> {
        let checks = &self.checks;
        self.properties
            .values()
            .chain(self.additional_schema())
            .chain(self.items.as_deref())
            .chain(checks.all_of.iter())
            .chain(checks.any_of.iter())
            .chain(checks.one_of.iter())
            .chain(checks.not.as_deref())
    }
}
