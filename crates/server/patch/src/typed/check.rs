//! Whether an object fits its schema well enough to be merged.
//!
//! This is not validation: bounds, formats and rules do not matter here. Refused are fields the schema does not know,
//! scalars of the wrong kind, and list items that cannot be distinguished.

use super::lists;
use super::types::{Fields, List, Part, Relation, Scalar, Type};
use crate::fields::Element;
use netloom_schema::go_text;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fmt;

/// How much is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strictness {
    /// A stored or updated object: unknown fields and repeated items were let through by others.
    Stored,
    /// An applied configuration.
    Applied,
}

/// What is wrong, each with its path.
#[derive(Debug, Default)]
pub(crate) struct Misfits(Vec<(String, String)>);

impl fmt::Display for Misfits {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = |(path, text): &(String, String)| {
            if path.is_empty() { text.clone() } else { format!("{path}: {text}") }
        };
        match self.0.as_slice() {
            [only] => out.write_str(&line(only)),
            many => {
                out.write_str("errors:")?;
                many.iter().try_for_each(|misfit| write!(out, "\n  {}", line(misfit)))
            }
        }
    }
}

/// Checks one object.
pub(crate) fn check(ty: Type<'_>, value: &Value, strictness: Strictness) -> Result<(), Misfits> {
    let mut walk = Walk { strictness, path: Vec::new(), misfits: Misfits::default() };
    walk.node(ty, value);
    if walk.misfits.0.is_empty() { Ok(()) } else { Err(walk.misfits) }
}

struct Walk<'v> {
    strictness: Strictness,
    path: Vec<Step<'v>>,
    misfits: Misfits,
}

/// A step of the path, kept as it is found: it is only written out when something is wrong.
enum Step<'v> {
    Field(&'v str),
    Item(Element),
}

impl fmt::Display for Step<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(out, ".{name}"),
            Self::Item(element) => element.fmt(out),
        }
    }
}

impl<'v> Walk<'v> {
    fn refuse(&mut self, text: String) {
        let path: Vec<String> = self.path.iter().map(Step::to_string).collect();
        self.misfits.0.push((path.concat(), text));
    }

    fn below(&mut self, step: Step<'v>, ty: Type<'_>, value: &'v Value) {
        self.path.push(step);
        self.node(ty, value);
        self.path.pop();
    }

    fn node(&mut self, ty: Type<'_>, value: &'v Value) {
        let atom = ty.atom();
        match atom.part(value) {
            Part::Map(fields) => match value {
                Value::Object(map) => self.map(fields, map),
                Value::Null => {}
                other => self.refuse(format!("expected map, got &{{{}}}", go_text::plain(other))),
            },
            Part::Scalar(scalar) => {
                if let Some(text) = scalar_misfit(scalar, value) {
                    self.refuse(text);
                }
            }
            Part::List(list) => match value {
                Value::Array(items) => self.list(list, items),
                Value::Null => {}
                other => self.refuse(format!("expected list, got &{{{}}}", go_text::plain(other))),
            },
            Part::Nothing => self.refuse("schema error: invalid atom: inlined".to_owned()),
        }
    }

    fn map(&mut self, fields: &Fields<'_>, map: &'v Map<String, Value>) {
        for (name, value) in map {
            match fields.of(name) {
                Some(ty) => self.below(Step::Field(name), ty, value),
                None if self.strictness == Strictness::Stored => {}
                None => {
                    self.path.push(Step::Field(name));
                    self.refuse("field not declared in schema".to_owned());
                    self.path.pop();
                    // One unknown field is enough to say: the rest of this object is not looked at.
                    return;
                }
            }
        }
    }

    fn list(&mut self, list: &List<'_>, items: &'v [Value]) {
        let mut seen = BTreeSet::new();
        for (position, item) in items.iter().enumerate() {
            let element = match list.relation {
                Relation::Atomic => Element::Index(i64::try_from(position).unwrap_or(i64::MAX)),
                Relation::Set | Relation::Keyed(_) => match lists::element(list, item) {
                    Ok(element) => element,
                    Err(text) => {
                        self.refuse(format!("element {position}: {text}"));
                        return;
                    }
                },
            };
            if !seen.insert(element.clone()) && self.strictness == Strictness::Applied {
                self.refuse(format!("duplicate entries for key {element}"));
            }
            self.below(Step::Item(element), list.item, item);
        }
    }
}

fn scalar_misfit(scalar: Scalar, value: &Value) -> Option<String> {
    let fits = match (scalar, value) {
        (_, Value::Null)
        | (Scalar::Number, Value::Number(_))
        | (Scalar::Text, Value::String(_))
        | (Scalar::Bool, Value::Bool(_))
        | (Scalar::Any, Value::Number(_) | Value::String(_) | Value::Bool(_)) => true,
        (Scalar::Number | Scalar::Text | Scalar::Bool | Scalar::Any, _) => false,
    };
    if fits {
        return None;
    }
    Some(match scalar {
        Scalar::Number => format!("expected numeric (int or float), got {}", go_type(value)),
        Scalar::Text => format!("expected string, got &value.valueUnstructured{{Value:{}}}", go_syntax(value)),
        Scalar::Bool => format!("expected boolean, got &{{{}}}", go_text::plain(value)),
        Scalar::Any => format!("expected any scalar, got &{{{}}}", go_text::plain(value)),
    })
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// A value in Go syntax.
fn go_syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => go_text::bad_value(value),
        Value::Array(items) => {
            let parts: Vec<String> = items.iter().map(go_syntax).collect();
            format!("[]interface {{}}{{{}}}", parts.join(", "))
        }
        Value::Object(map) => {
            let mut parts: Vec<String> =
                map.iter().map(|(key, inner)| format!("{}:{}", go_text::quote(key), go_syntax(inner))).collect();
            parts.sort();
            format!("map[string]interface {{}}{{{}}}", parts.join(", "))
        }
    }
}
