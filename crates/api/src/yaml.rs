//! Prints JSON values as YAML, in one form only, so that generated files differ when something does.
//!
//! Block style with two spaces, keys in the order of the map, quotes wherever a reader of YAML 1.1 or
//! 1.2 could take a text for something else.

use serde_json::{Map, Value};

/// The value as a YAML text that ends in a line break.
pub fn text(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(fields) if !fields.is_empty() => map(&mut out, fields, 0),
        Value::Array(items) if !items.is_empty() => list(&mut out, items, 0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            out.push_str(&inline(value));
            out.push('\n');
        }
    }
    out
}

/// Several values as one stream.
pub fn stream<'a>(values: impl IntoIterator<Item = &'a Value>) -> String {
    values.into_iter().map(text).collect::<Vec<_>>().join("---\n")
}

fn map(out: &mut String, fields: &Map<String, Value>, depth: usize) {
    for (i, (key, value)) in fields.iter().enumerate() {
        if i > 0 {
            indent(out, depth);
        }
        out.push_str(&string(key));
        out.push(':');
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                out.push('\n');
                indent(out, depth + 1);
                map(out, fields, depth + 1);
            }
            Value::Array(items) if !items.is_empty() => {
                out.push('\n');
                indent(out, depth);
                list(out, items, depth);
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                out.push(' ');
                out.push_str(&inline(value));
                out.push('\n');
            }
        }
    }
}

fn list(out: &mut String, items: &[Value], depth: usize) {
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            indent(out, depth);
        }
        out.push_str("- ");
        match item {
            Value::Object(fields) if !fields.is_empty() => map(out, fields, depth + 1),
            Value::Array(items) if !items.is_empty() => list(out, items, depth + 1),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                out.push_str(&inline(item));
                out.push('\n');
            }
        }
    }
}

fn indent(out: &mut String, depth: usize) {
    out.extend(std::iter::repeat_n("  ", depth));
}

fn inline(value: &Value) -> String {
    match value {
        Value::String(text) => string(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// The text as it is where it means itself, else in the double quotes that JSON and YAML share.
fn string(text: &str) -> String {
    if is_plain(text) { text.to_owned() } else { Value::from(text).to_string() }
}

fn is_plain(text: &str) -> bool {
    let letters = text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./+%: @()<>=,;'".contains(c));
    let starts = text.chars().next().is_some_and(|c| c.is_ascii_alphanumeric() || c == '/');
    let ends = !text.ends_with([':', ' ']);
    letters && starts && ends && !text.contains(": ") && !is_word(text) && !looks_numeric(text)
}

fn is_word(text: &str) -> bool {
    ["true", "false", "yes", "no", "on", "off", "y", "n", "null"].iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// Numbers, dates and times of day, in any base that some reader of YAML knows.
fn looks_numeric(text: &str) -> bool {
    let digits = text.replace('_', "");
    digits.parse::<f64>().is_ok()
        || ["0x", "0o", "0b"].iter().any(|base| digits.starts_with(base))
        || text.starts_with(|c: char| c.is_ascii_digit())
            && text.chars().all(|c| c.is_ascii_digit() || ":-._ TZ+e".contains(c))
}

#[cfg(test)]
mod tests {
    use netloom_schema::decode;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn values() -> impl Strategy<Value = Value> {
        let words = prop_oneof![
            "[ -~]{0,12}",
            "\\PC{0,8}",
            Just("yes".to_owned()),
            Just("0x10".to_owned()),
            Just("2026-01-01".to_owned()),
            Just("12:30".to_owned()),
            Just("a: b".to_owned()),
            Just("a #b".to_owned()),
            Just("1_000".to_owned()),
            Just("line\nbreak".to_owned()),
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            words.clone().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 5, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map(words.clone(), inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn what_is_printed_reads_back(value in values()) {
            let printed = text(&value);
            let read = decode::yaml(printed.as_bytes(), decode::Limits { depth: 64, nodes: 10_000 });
            let read = read.unwrap_or_else(|e| panic!("{e:?}\n{printed}"));
            prop_assert_eq!(read.value, value, "{}", printed);
        }
    }

    #[test]
    fn nested_blocks_look_like_manifests() {
        let value =
            json!({"a": [{"b": 1, "c": ["x", "802.3ad"]}], "d": {}, "e": "no", "f": {"g": "1.5", "h": "10.0.0.0/8"}});
        let wanted = "a:\n- b: 1\n  c:\n  - x\n  - 802.3ad\nd: {}\ne: \"no\"\nf:\n  g: \"1.5\"\n  h: 10.0.0.0/8\n";
        assert_eq!(text(&value), wanted);
    }
}
