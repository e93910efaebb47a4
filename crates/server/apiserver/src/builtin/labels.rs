//! Field selectors: which fields of a kind can be asked for, and what an object answers.

use serde_json::Value;

use super::json::{at, truth};

/// The fields that selectors may name, beside `metadata.name` and `metadata.namespace`.
#[derive(Debug, Clone, Copy)]
pub struct FieldLabels {
    /// Their paths, as selectors write them.
    pub fields: &'static [&'static str],
    /// Whether a field that cannot be asked for is refused in the words of kinds that have labels of
    /// their own, or of those that have only the two of the metadata.
    own_words: bool,
}

impl FieldLabels {
    /// A kind that can be asked for its name and namespace only.
    pub(super) const METADATA: Self = Self { fields: &[], own_words: false };

    /// A kind with fields of its own.
    pub(super) const fn of(fields: &'static [&'static str]) -> Self {
        Self { fields, own_words: true }
    }

    /// Whether a selector may name this field.
    pub fn knows(&self, field: &str) -> bool {
        matches!(field, "metadata.name" | "metadata.namespace") || self.fields.contains(&field)
    }

    /// Why a field cannot be asked for.
    pub fn refusal(&self, field: &str) -> String {
        if self.own_words {
            format!("field label not supported: {field}")
        } else {
            format!("{field:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
        }
    }

    /// What an object has in a field that can be asked for. Absent fields are the empty text, absent
    /// switches are off.
    pub fn value(object: &Value, field: &str) -> String {
        let path: Vec<&str> = match field {
            "source" if at(object, &["source", "component"]).is_some() => vec!["source", "component"],
            "source" | "reportingComponent" | "reportingController" => return reporter(object),
            field => field.split('.').collect(),
        };
        match at(object, &path) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Bool(_)) => truth(object, &path).to_string(),
            Some(other) => other.to_string(),
            None if matches!(field, "spec.unschedulable" | "spec.hostNetwork") => "false".to_owned(),
            None => String::new(),
        }
    }
}

/// Both spellings of an event have the reporting component, under different names.
fn reporter(event: &Value) -> String {
    let found = at(event, &["reportingComponent"]).or_else(|| at(event, &["reportingController"]));
    found.and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn absent_fields_have_a_value() {
        let node = json!({"metadata": {"name": "n"}, "spec": {}});
        assert_eq!(FieldLabels::value(&node, "spec.unschedulable"), "false");
        assert_eq!(FieldLabels::value(&node, "metadata.name"), "n");
        assert_eq!(FieldLabels::value(&node, "status.phase"), "");
        let event = json!({"source": {"component": "kubelet"}, "reportingController": "c"});
        assert_eq!(FieldLabels::value(&event, "source"), "kubelet");
        assert_eq!(FieldLabels::value(&event, "reportingComponent"), "c");
    }

    #[test]
    fn refusals_depend_on_the_kind() {
        assert_eq!(FieldLabels::of(&["type"]).refusal("x"), "field label not supported: x");
        assert!(FieldLabels::METADATA.refusal("x").starts_with("\"x\" is not a known field selector: only"));
        assert!(FieldLabels::METADATA.knows("metadata.namespace") && !FieldLabels::METADATA.knows("type"));
    }
}
