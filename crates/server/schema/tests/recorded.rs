//! What a real kube-apiserver (1.36.4) answered, compared with what this code answers: selectors, YAML
//! bodies, metadata and tables.

use netloom_schema::{
    NoRules, Schema, aggregate, apply_defaults, decode,
    metadata::{NameRule, check_create},
    prune,
    selector::{FieldSelector, LabelSelector},
    table, validate,
};
use serde_json::{Value, json};

fn recorded(name: &str) -> Vec<Value> {
    let file: Value = serde_json::from_str(include_str!("recorded/requests.json")).expect("a recorded file is JSON");
    file[name].as_array().expect("a list").clone()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[test]
fn selectors_are_refused_in_the_same_words() {
    for case in recorded("labels") {
        let ours = LabelSelector::parse(text(&case[0])).err().map(|e| e.to_string());
        assert_eq!(ours.as_deref(), case[1].as_str(), "{}", case[0]);
    }
    for case in recorded("fields") {
        let ours = FieldSelector::parse(text(&case[0])).err().map(|e| e.to_string());
        assert_eq!(ours.as_deref(), case[1].as_str(), "{}", case[0]);
    }
}

#[test]
fn yaml_means_the_same() {
    let free = json!({"x-kubernetes-preserve-unknown-fields": true});
    let schema = Schema::lenient(&json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "a": {"type": "string"}, "n": {"type": "integer"}, "f": {"type": "number"}, "b": {"type": "boolean"},
        "l": {"type": "array", "items": {"type": "string"}}, "d": {"type": "string"}, "any": free,
        "o": {"type": "object", "properties": {"x": {"type": "string"}}},
    }}}}));
    for case in recorded("yaml") {
        let body = format!("apiVersion: example.dev/v1\nkind: K\nmetadata:\n  name: x\nspec:\n{}", text(&case[0]));
        let decoded = match decode::yaml(body.as_bytes(), decode::Limits::default()) {
            Ok(decoded) => decoded,
            Err(error) => {
                assert_eq!(error.to_string(), text(&case[1]), "{}", case[0]);
                continue;
            }
        };
        let mut object = decoded.value;
        let unknown = prune(&schema, &mut object);
        apply_defaults(&schema, &mut object);
        // The server refuses what it does not know before it looks at the rest.
        let strict: Vec<String> = decoded
            .duplicates
            .into_iter()
            .chain(unknown.iter().map(|path| format!("unknown field \"{path}\"")))
            .collect();
        let errors = validate(&schema, &object, None, &NoRules);
        let ours = if !strict.is_empty() {
            strict.join(", ")
        } else if errors.is_empty() {
            String::new()
        } else {
            aggregate(&errors)
        };
        assert_eq!(ours, text(&case[1]), "{}", case[0]);
        if ours.is_empty() {
            assert_eq!(object["spec"], case[2], "{}", case[0]);
        }
    }
}

#[test]
fn metadata_is_refused_in_the_same_words() {
    for case in recorded("metadata") {
        let mut metadata = case[0].clone();
        if metadata.get("name").is_none()
            && let Some(prefix) = case[0].get("generateName")
        {
            metadata["name"] = json!(format!("{}abcde", text(prefix)));
        }
        let mut ours: Vec<Value> = check_create(&metadata, false, NameRule::Subdomain)
            .iter()
            .map(|e| json!([e.path, e.cause.reason(), e.body()]))
            .collect();
        let mut real = case[1].as_array().cloned().unwrap_or_default();
        ours.sort_by_cached_key(Value::to_string);
        real.sort_by_cached_key(Value::to_string);
        assert_eq!(ours, real, "{}", case[0]);
    }
}

#[test]
fn tables_show_the_same() {
    let columns: Vec<table::Column> =
        recorded("columns").iter().map(|column| table::Column::read(column).expect("a column")).collect();
    assert_eq!(table::definitions(&columns), recorded("headings"));
    for row in recorded("rows") {
        let object = json!({"metadata": {"name": row[1], "creationTimestamp": row[2]}, "spec": row[0]}).to_string();
        let object = decode::json(object.as_bytes(), decode::Limits::default()).expect("an object").value;
        let now = text(&row[2]).parse().expect("a time");
        let cells = table::cells(&columns, &object, now);
        for (i, (ours, real)) in cells.iter().zip(row[3].as_array().expect("cells")).enumerate().skip(1) {
            let column = &columns[i - 1];
            // Ages depend on when they were asked for.
            if column.kind != "date" || ours.is_null() || ours == "<invalid>" {
                assert_eq!(ours, real, "{} {}", column.name, row[0]);
            }
        }
    }
}
