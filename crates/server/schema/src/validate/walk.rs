//! The walk over value and schema.

use serde_json::{Map, Value};

use super::{
    numbers,
    outcome::{At, Outcome},
};
use crate::{Additional, Schema, Type, correlate::Old, field_error::FieldError, formats, go_text, paths::push_index};

/// Checks a value; `base` is where the value stands.
pub(super) fn check(schema: &Schema, value: &Value, old: Option<Old<'_>>, base: &str) -> Vec<FieldError> {
    Walk { base, path: String::new() }.ratcheted(schema, value, old).errors
}

struct Walk<'a> {
    base: &'a str,
    path: String,
}

impl Walk<'_> {
    fn at(&self) -> At<'_> {
        At { base: self.base, path: &self.path }
    }

    /// Errors about a value that is what it was are not reported.
    fn ratcheted(&mut self, schema: &Schema, value: &Value, old: Option<Old<'_>>) -> Outcome {
        let mut outcome = self.node(schema, value, old);
        if !outcome.is_valid() && old.is_some_and(|old| old.is(value)) {
            outcome.errors.clear();
        }
        outcome
    }

    fn node(&mut self, schema: &Schema, value: &Value, old: Option<Old<'_>>) -> Outcome {
        let mut outcome = Outcome::default();
        if value.is_null() {
            self.null(schema, &mut outcome);
            return outcome;
        }
        let format = schema.format().filter(|format| formats::is_known(schema, format));
        if schema.kind.is_some() || schema.int_or_string || format.is_some() {
            outcome.add(self.types(schema, format, value));
            outcome.matches += 1;
        }
        outcome.add(self.junctors(schema, value, old));
        outcome.matches += 1;
        match value {
            Value::String(text) => {
                outcome.errors.extend(self.text(schema, text));
                outcome.matches += 1;
                if let Some(format) = format.filter(|_| !matches!(schema.kind, Some(Type::Integer | Type::Number))) {
                    if !formats::has_format(format, text) {
                        outcome.errors.push(self.at().wrong_type(format, text));
                    }
                    outcome.matches += 1;
                }
            }
            Value::Number(number) => {
                outcome.add(numbers::check(schema, number, self.at()));
                outcome.matches += 1;
            }
            Value::Array(items) => {
                outcome.add(self.list(schema, items, old));
                outcome.matches += 1;
            }
            Value::Object(_) | Value::Bool(_) | Value::Null => {}
        }
        outcome.errors.extend(self.allowed(schema, value));
        outcome.matches += 1;
        if let Value::Object(fields) = value {
            outcome.add(self.object(schema, fields, old));
            outcome.matches += 1;
        }
        outcome.matches += 1;
        outcome
    }

    fn null(&self, schema: &Schema, outcome: &mut Outcome) {
        let wanted = wanted_types(schema);
        if !wanted.is_empty() && !schema.nullable {
            outcome.errors.push(self.at().wrong_type(&wanted, "null"));
        } else {
            outcome.matches += 1;
        }
        outcome.errors.extend(self.allowed(schema, &Value::Null));
    }

    fn types(&self, schema: &Schema, format: Option<&str>, value: &Value) -> Outcome {
        let mut outcome = Outcome::default();
        let (found, found_format) = found_type(value);
        let fits = fits(schema, value);
        let is_text_or_list = matches!(value, Value::String(_) | Value::Array(_));
        if let Some(format) = format {
            if !is_text_or_list && !fits && found_format != format {
                outcome.errors.push(self.at().wrong_type(format, found_format));
                return outcome;
            }
            // A format on a text is left to the format's own check, and so, by accident, is a list.
            let numeric = schema.int_or_string || matches!(schema.kind, Some(Type::Number | Type::Integer));
            if is_text_or_list && !numeric {
                outcome.matches += 1;
                return outcome;
            }
        }
        if fits {
            outcome.matches += 1;
        } else {
            outcome.errors.push(self.at().wrong_type(&wanted_types(schema), found));
        }
        outcome
    }

    fn text(&self, schema: &Schema, text: &str) -> Option<FieldError> {
        let checks = &schema.checks;
        let long = || i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
        if let Some(most) = checks.max_length
            && long() > most
        {
            return Some(FieldError::too_long(self.at().full(), usize::try_from(most).unwrap_or(0)));
        }
        if let Some(least) = checks.min_length
            && long() < least
        {
            return Some(self.at().invalid(&Value::from(text), &format!("should be at least {least} chars long")));
        }
        let pattern = checks.pattern.as_ref().filter(|pattern| !pattern.is_match(text))?;
        let what = match pattern.error() {
            Some(error) => format!("should match '{}, but pattern is invalid: {error}'", pattern.source()),
            None => format!("should match '{}'", pattern.source()),
        };
        Some(self.at().invalid(&Value::from(text), &what))
    }

    fn allowed(&self, schema: &Schema, value: &Value) -> Option<FieldError> {
        let allowed = &schema.checks.allowed;
        // Null is never one of the allowed values, even where it is listed: so it is in the server.
        if allowed.is_empty() || (!value.is_null() && allowed.iter().any(|a| same(a, value))) {
            return None;
        }
        let names: Vec<String> =
            allowed.iter().map(|a| a.as_str().map_or_else(|| go_text::json(a), str::to_owned)).collect();
        Some(FieldError::not_supported(self.at().full(), value, &names))
    }

    fn list(&mut self, schema: &Schema, items: &[Value], old: Option<Old<'_>>) -> Outcome {
        let mut outcome = Outcome::default();
        if let Some(below) = schema.items() {
            let old_items = old.map(Old::items);
            for (i, item) in items.iter().enumerate() {
                let length = self.path.len();
                push_index(&mut self.path, i);
                let old = old_items.as_ref().and_then(|old| old.of(item));
                outcome.add(self.ratcheted(below, item, old));
                self.path.truncate(length);
            }
        }
        let checks = &schema.checks;
        let count = i64::try_from(items.len()).unwrap_or(i64::MAX);
        if let Some(least) = checks.min_items.filter(|least| count < *least) {
            outcome.errors.push(self.at().invalid(&Value::from(count), &format!("should have at least {least} items")));
        }
        if let Some(most) = checks.max_items.filter(|most| count > *most) {
            outcome.errors.push(FieldError::too_many(
                self.at().full(),
                items.len(),
                usize::try_from(most).unwrap_or(0),
            ));
        }
        if checks.unique_items && items.iter().enumerate().any(|(i, item)| items[..i].contains(item)) {
            outcome.errors.push(self.at().invalid(&Value::from(""), "shouldn't contain duplicates"));
        }
        outcome.matches += 1;
        outcome
    }

    fn object(&mut self, schema: &Schema, fields: &Map<String, Value>, old: Option<Old<'_>>) -> Outcome {
        let mut outcome = Outcome::default();
        let checks = &schema.checks;
        let count = i64::try_from(fields.len()).unwrap_or(i64::MAX);
        if let Some(least) = checks.min_properties.filter(|least| count < *least) {
            let what = format!("should have at least {least} properties");
            outcome.errors.push(self.at().invalid(&Value::from(count), &what));
        }
        if let Some(most) = checks.max_properties.filter(|most| count > *most) {
            outcome.errors.push(FieldError::too_many(
                self.at().full(),
                fields.len(),
                usize::try_from(most).unwrap_or(0),
            ));
        }
        let others = fields.iter().filter(|(name, _)| !schema.properties.contains_key(*name));
        match &schema.additional {
            Some(Additional::Any(false)) => {
                for (name, _) in others {
                    let text = format!("{}.{name} in body is a forbidden property", self.path);
                    outcome.errors.push(FieldError::invalid_text(self.at().full(), name, text));
                }
            }
            Some(Additional::Schema(additional)) => {
                for (name, value) in others {
                    let length = self.path.len();
                    self.path.push('.');
                    self.path.push_str(name);
                    outcome.add(self.ratcheted(additional, value, old.and_then(|old| old.field(name))));
                    self.path.truncate(length);
                }
            }
            Some(Additional::Any(true)) | None => {}
        }
        for (name, property) in &schema.properties {
            let Some(value) = fields.get(name) else { continue };
            outcome.add(self.property(name, property, value, old));
        }
        for name in checks.required.iter().filter(|name| !fields.contains_key(*name)) {
            let path = format!("{}.{name}", self.path);
            outcome.errors.push(FieldError::required(At { base: self.base, path: &path }.full(), ""));
        }
        outcome
    }

    fn property(&mut self, name: &str, property: &Schema, value: &Value, old: Option<Old<'_>>) -> Outcome {
        let length = self.path.len();
        // The versions of old and new object are not seen here, so that a change of them would be missed.
        let is_type = length == 0 && matches!(name, "kind" | "apiVersion");
        if length > 0 {
            self.path.push('.');
        }
        self.path.push_str(name);
        let old = old.filter(|_| !is_type).and_then(|old| old.field(name));
        let outcome = self.ratcheted(property, value, old);
        self.path.truncate(length);
        outcome
    }

    fn junctors(&mut self, schema: &Schema, value: &Value, old: Option<Old<'_>>) -> Outcome {
        let mut outcome = Outcome::default();
        let checks = &schema.checks;
        if !checks.any_of.is_empty() {
            self.any_of(&checks.any_of, value, old, &mut outcome);
        }
        if !checks.one_of.is_empty() {
            self.one_of(&checks.one_of, value, old, &mut outcome);
        }
        if !checks.all_of.is_empty() {
            self.all_of(&checks.all_of, value, old, &mut outcome);
        }
        if let Some(not) = &checks.not
            && self.node(not, value, old).is_valid()
        {
            outcome.merge(self.junctor_error("must not validate the schema (not)"));
        }
        outcome.matches += 1;
        outcome
    }

    fn junctor_error(&self, what: &str) -> Outcome {
        let text = format!("{} {what}", go_text::quote(&self.path));
        Outcome { errors: vec![self.at().of_the_whole(text)], matches: 0 }
    }

    fn any_of(&mut self, schemas: &[Schema], value: &Value, old: Option<Old<'_>>, outcome: &mut Outcome) {
        let mut best: Option<Outcome> = None;
        for schema in schemas {
            let result = self.node(schema, value, old);
            if result.is_valid() {
                outcome.merge(result);
                return;
            }
            if best.as_ref().is_none_or(|best| result.matches > best.matches) {
                best = Some(result);
            }
        }
        outcome.merge(self.junctor_error("must validate at least one schema (anyOf)"));
        outcome.merge(best.unwrap_or_default());
    }

    fn one_of(&mut self, schemas: &[Schema], value: &Value, old: Option<Old<'_>>, outcome: &mut Outcome) {
        let (mut best, mut first): (Option<Outcome>, Option<Outcome>) = (None, None);
        let mut valid = 0;
        for schema in schemas {
            let result = self.node(schema, value, old);
            if result.is_valid() {
                valid += 1;
                best = None;
                first.get_or_insert(result);
            } else if valid == 0 && best.as_ref().is_none_or(|best| result.matches > best.matches) {
                best = Some(result);
            }
        }
        if valid == 1 {
            outcome.merge(first.unwrap_or_default());
            return;
        }
        let found =
            if valid == 0 { "Found none valid".to_owned() } else { format!("Found {valid} valid alternatives") };
        outcome.merge(self.junctor_error(&format!("must validate one and only one schema (oneOf). {found}")));
        outcome.merge(best.unwrap_or_default());
    }

    fn all_of(&mut self, schemas: &[Schema], value: &Value, old: Option<Old<'_>>, outcome: &mut Outcome) {
        let mut valid = 0;
        for schema in schemas {
            let result = self.node(schema, value, old);
            valid += usize::from(result.is_valid());
            outcome.merge(result);
        }
        if valid != schemas.len() {
            let none = if valid == 0 { ". None validated" } else { "" };
            outcome.merge(self.junctor_error(&format!("must validate all the schemas (allOf){none}")));
        }
    }
}

fn wanted_types(schema: &Schema) -> String {
    if schema.int_or_string {
        return "integer,string".to_owned();
    }
    schema.kind.map_or_else(String::new, |kind| kind.name().to_owned())
}

/// The type of a value, and the format that a number has by itself.
fn found_type(value: &Value) -> (&'static str, &'static str) {
    match value {
        Value::Null => ("null", ""),
        Value::Bool(_) => ("boolean", ""),
        Value::Number(number) if number.is_i64() => ("integer", "int64"),
        Value::Number(_) => ("number", "float64"),
        Value::String(_) => ("string", ""),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
    }
}

fn fits(schema: &Schema, value: &Value) -> bool {
    let is_whole = || value.as_f64().is_some_and(|v| v.fract() == 0.0 && v.abs() < 9_007_199_254_740_992.0);
    let is = |kind: Type| match (kind, value) {
        (Type::Integer, Value::Number(number)) => number.is_i64() || is_whole(),
        (Type::Number, Value::Number(_))
        | (Type::Object, Value::Object(_))
        | (Type::Array, Value::Array(_))
        | (Type::String, Value::String(_))
        | (Type::Boolean, Value::Bool(_)) => true,
        _ => false,
    };
    if schema.int_or_string {
        return is(Type::Integer) || is(Type::String);
    }
    schema.kind.is_some_and(is)
}

/// Whether a value is an allowed one; 1 and 1.0 are the same.
fn same(allowed: &Value, value: &Value) -> bool {
    if let (Value::Number(a), Value::Number(b)) = (allowed, value) {
        return a == b || a.as_f64() == b.as_f64();
    }
    allowed == value
}
