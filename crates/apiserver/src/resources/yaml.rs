//! Objects as YAML, for clients that ask for it.
//!
//! Block style, keys in order, two spaces. Texts that YAML could take for something else are written
//! as JSON, which every YAML reader understands.

use std::fmt::Write as _;

use serde_json::Value;

/// The text of an object.
pub(crate) fn text(value: &Value) -> String {
    let mut text = String::new();
    block(&mut text, value, 0);
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

fn block(text: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (at, (key, value)) in map.iter().enumerate() {
                if at > 0 {
                    indent(text, depth);
                }
                _ = write!(text, "{}:", scalar(key));
                below(text, value, depth, true);
            }
        }
        Value::Array(list) if !list.is_empty() => {
            for (at, value) in list.iter().enumerate() {
                if at > 0 {
                    indent(text, depth);
                }
                text.push('-');
                below(text, value, depth, false);
            }
        }
        other => {
            flow(text, other);
            text.push('\n');
        }
    }
}

/// What follows a key or a dash.
fn below(text: &mut String, value: &Value, depth: usize, key: bool) {
    match value {
        Value::Object(map) if !map.is_empty() && key => {
            text.push('\n');
            indent(text, depth + 1);
            block(text, value, depth + 1);
        }
        // A list may stand as far left as the key that holds it.
        Value::Array(list) if !list.is_empty() && key => {
            text.push('\n');
            indent(text, depth);
            block(text, value, depth);
        }
        Value::Object(_) | Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            text.push(' ');
            block(text, value, depth + 1);
        }
    }
}

fn indent(text: &mut String, depth: usize) {
    for _ in 0..depth {
        text.push_str("  ");
    }
}

fn flow(text: &mut String, value: &Value) {
    match value {
        Value::String(string) => text.push_str(&scalar(string)),
        other => _ = write!(text, "{other}"),
    }
}

/// A text without quotes where it can be nothing else, as JSON otherwise.
fn scalar(text: &str) -> String {
    let letters = text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/'));
    let starts = text.starts_with(|c: char| c.is_ascii_alphabetic());
    let word = text.to_ascii_lowercase();
    let meant =
        matches!(word.as_str(), "true" | "false" | "yes" | "no" | "on" | "off" | "y" | "n" | "null" | "nan" | "inf");
    if letters && starts && !meant { text.to_owned() } else { Value::from(text).to_string() }
}

#[cfg(test)]
mod tests {
    use netloom_schema::decode::{self, Limits};
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_read_well() {
        let object = json!({"a": {"b": [1, {"c": "x y", "d": []}, [2, 3]]}, "e": "no", "f": null});
        assert_eq!(text(&object), "a:\n  b:\n  - 1\n  - c: \"x y\"\n    d: []\n  - - 2\n    - 3\ne: \"no\"\nf: null\n");
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[ -~]{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[ -~]{0,6}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn what_is_written_is_read_back(value in value()) {
            let read = decode::yaml(text(&value).as_bytes(), Limits::default()).unwrap();
            prop_assert_eq!(read.value, value);
        }
    }
}
