//! The walk over an object, its schema and its old state, and what a broken rule says.

use kube_cel::cel::Value as CelValue;
use netloom_schema::{
    Cause, FieldError, Place, Rule, Schema, Type,
    correlate::{Old, OldItems},
};
use serde_json::Value;

use crate::{
    budget::{Budget, Fault, PER_OBJECT, PER_RULE},
    compile::{Compiled, compiled},
    eval::{Evaluator, Scope},
    values::{self, Unordered},
};

/// A message longer than this is not used.
const LONGEST_MESSAGE: usize = 5 * 1024;

pub(crate) fn evaluate(schema: &Schema, new: &Value, old: Option<&Value>, place: Place<'_>) -> Vec<FieldError> {
    let mut walk = Walk { left: PER_OBJECT, stopped: false, errors: Vec::new(), path: place.path.to_owned() };
    let old = old.map(|value| Old { value, schema });
    walk.node(schema, new, old, Unchanged { here: old, above: None }, place.is_object);
    walk.errors
}

/// Whether a value, or the nearest one above it that has an old state, is what it was.
#[derive(Clone, Copy)]
struct Unchanged<'a> {
    here: Option<Old<'a>>,
    above: Option<(Old<'a>, &'a Value)>,
}

impl Unchanged<'_> {
    fn is_true(&self, value: &Value) -> bool {
        match (self.here, self.above) {
            (Some(old), _) => old.is(value),
            (None, Some((old, new))) => old.is(new),
            (None, None) => false,
        }
    }
}

struct Walk {
    left: u64,
    stopped: bool,
    errors: Vec<FieldError>,
    path: String,
}

impl Walk {
    fn node<'a>(
        &mut self,
        schema: &'a Schema,
        value: &'a Value,
        old: Option<Old<'a>>,
        same: Unchanged<'a>,
        is_object: bool,
    ) {
        if self.stopped || value.is_null() || !schema.has_rules() {
            return;
        }
        if !schema.rules().is_empty() {
            self.rules(schema, value, old, same, is_object);
        }
        match value {
            Value::Object(fields) => {
                for (name, field) in fields {
                    let (below, is_property) = match schema.properties().get(name) {
                        Some(property) => (property, true),
                        None => match schema.property(name) {
                            Some(additional) => (additional, false),
                            None => continue,
                        },
                    };
                    let is_type = same.above.is_none() && matches!(name.as_str(), "apiVersion" | "kind");
                    let below_same = if is_type {
                        Unchanged { here: None, above: None }
                    } else {
                        same.below(old.and_then(|o| o.field(name)), value)
                    };
                    let length = self.path.len();
                    if is_property {
                        self.push_field(name);
                    } else {
                        self.push_key(name);
                    }
                    self.node(below, field, old.and_then(|old| old.field(name)), below_same, below.is_embedded());
                    self.path.truncate(length);
                }
            }
            Value::Array(items) => {
                let Some(below) = schema.items() else { return };
                let old_items: Option<OldItems<'a>> = old.map(Old::items);
                for (i, item) in items.iter().enumerate() {
                    let old = old_items.as_ref().and_then(|old| old.of(item));
                    let length = self.path.len();
                    self.push_key(&i.to_string());
                    self.node(below, item, old, same.below(old, value), below.is_embedded());
                    self.path.truncate(length);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn push_field(&mut self, name: &str) {
        if !self.path.is_empty() {
            self.path.push('.');
        }
        self.path.push_str(name);
    }

    fn push_key(&mut self, key: &str) {
        self.path.push('[');
        self.path.push_str(key);
        self.path.push(']');
    }

    fn rules(&mut self, schema: &Schema, value: &Value, old: Option<Old<'_>>, same: Unchanged<'_>, is_object: bool) {
        let mut unordered = Unordered::default();
        let new = values::convert(schema, value, is_object, &mut unordered);
        // A null that was there before is no old value.
        let old = old.filter(|old| !old.value.is_null());
        let mut converted = None;
        for rule in schema.rules() {
            if rule.rule.trim().is_empty() {
                continue;
            }
            if self.left == 0 {
                self.stop(schema, OUT_OF_BUDGET);
                return;
            }
            let compiled = compiled(rule, schema);
            let wants_optional = rule.optional_old_self == Some(true);
            if compiled.uses_old_self && old.is_none() && !wants_optional {
                continue;
            }
            if compiled.uses_old_self && converted.is_none() {
                converted = old.map(|old| values::convert(schema, old.value, is_object, &mut unordered));
            }
            let old_self = if wants_optional { Some(values::optional(converted.clone())) } else { converted.clone() };
            let unchanged = !compiled.uses_old_self && same.is_true(value);
            let run = Run { rule, compiled: &compiled, schema, value, unchanged, unordered: &unordered };
            self.rule(&run, &new, old_self.as_ref());
            if self.stopped {
                return;
            }
        }
    }

    fn rule(&mut self, run: &Run<'_>, new: &CelValue, old: Option<&CelValue>) {
        let reported = reported(run.rule);
        let expression = match &run.compiled.rule {
            Ok(expression) => expression,
            Err(error) => {
                self.refuse(run.schema, format!("rule compile error: compilation failed: {error}"));
                return;
            }
        };
        match self.eval(run, expression, new, old) {
            Ok(CelValue::Bool(true)) => {}
            Ok(_) => self.broken(run, new, old),
            Err(Fault::NoSuchOverload) => self.refuse(
                run.schema,
                format!("'no such overload': call arguments did not match a supported operator, function or macro signature for rule: {reported}"),
            ),
            Err(fault @ Fault::TooExpensive) => {
                let text = format!("'{fault}': no further validation rules will be run due to call cost exceeds limit for rule: {reported}");
                self.stop(run.schema, &text);
            }
            Err(fault) => self.refuse(run.schema, format!("{fault} evaluating rule: {reported}")),
        }
    }

    fn eval(
        &mut self,
        run: &Run<'_>,
        expression: &kube_cel::cel::IdedExpr,
        new: &CelValue,
        old: Option<&CelValue>,
    ) -> Result<CelValue, Fault> {
        let limit = self.left.min(PER_RULE);
        let mut budget = Budget::new(limit);
        let outer = old.map(|value| Scope { parent: None, name: "oldSelf", value });
        let scope = Scope { parent: outer.as_ref(), name: "self", value: new };
        let result = Evaluator::new(&mut budget, run.unordered).eval(expression, &scope);
        self.left -= limit - budget.left();
        result
    }

    fn broken(&mut self, run: &Run<'_>, new: &CelValue, old: Option<&CelValue>) {
        let message = match &run.compiled.message {
            Some(Ok(expression)) => match self.eval(run, expression, new, old) {
                Ok(CelValue::String(message)) => usable(&message),
                Err(Fault::TooExpensive) => {
                    let text = format!(
                        "no further validation rules will be run due to call cost exceeds limit for messageExpression: {}",
                        netloom_schema::go_text::quote(&run.rule.message_expression)
                    );
                    self.stop(run.schema, &text);
                    return;
                }
                Ok(_) | Err(_) => None,
            },
            Some(Err(_)) | None => None,
        };
        let message = message.unwrap_or_else(|| match run.rule.message.trim() {
            "" => format!("failed rule: {}", run.rule.rule.trim()),
            given => given.to_owned(),
        });
        if run.unchanged {
            return;
        }
        let path = match (self.path.as_str(), run.compiled.field_path.as_str()) {
            (path, "") => path.to_owned(),
            ("", field) => field.to_owned(),
            (path, field) => format!("{path}.{field}"),
        };
        self.errors.push(error(path, run, message));
    }

    fn refuse(&mut self, schema: &Schema, detail: String) {
        let kind = schema.kind().map_or("", Type::name);
        self.errors.push(FieldError::invalid_text(self.path.as_str(), kind, detail));
    }

    fn stop(&mut self, schema: &Schema, detail: &str) {
        self.refuse(schema, detail.to_owned());
        self.stopped = true;
    }
}

const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

impl<'a> Unchanged<'a> {
    fn below(self, old: Option<Old<'a>>, value: &'a Value) -> Self {
        match self.here {
            Some(here) => Self { here: old, above: Some((here, value)) },
            None => self,
        }
    }
}

/// One rule on one value.
struct Run<'a> {
    rule: &'a Rule,
    compiled: &'a Compiled,
    schema: &'a Schema,
    value: &'a Value,
    unchanged: bool,
    unordered: &'a Unordered,
}

fn reported(rule: &Rule) -> &str {
    match rule.message.trim() {
        "" => rule.rule.trim(),
        message => message,
    }
}

fn usable(message: &str) -> Option<String> {
    let message = message.trim();
    let fits = !message.is_empty() && message.len() <= LONGEST_MESSAGE && !message.contains('\n');
    fits.then(|| message.to_owned())
}

/// Objects and lists are not shown, other values are.
fn error(path: String, run: &Run<'_>, message: String) -> FieldError {
    let hidden = matches!(run.schema.kind(), Some(Type::Object | Type::Array));
    let mut error = match run.rule.reason.as_str() {
        "FieldValueForbidden" => FieldError::forbidden(path, message),
        "FieldValueRequired" => FieldError::required(path, message),
        "FieldValueDuplicate" => FieldError::duplicate(path, run.value),
        _ => FieldError::invalid(path, run.value, message),
    };
    if hidden && matches!(error.cause, Cause::Invalid | Cause::Duplicate) {
        error.value = None;
    }
    error
}
