//! Whether a document has a part: every field that the part names, and for every item of its lists one that
//! has it. What the part does not name may be as it likes. A text like `>=2` fits every number from there on,
//! one like `<=2` every number up to there.

use std::collections::BTreeMap;

use serde_json::{Number, Value};

/// Where the part is missing, in words; none when it is there.
pub fn missing(part: &Value, whole: &Value) -> Option<String> {
    walk("", part, whole)
}

/// The part with remembered values in the places of `$name`; a name that nobody remembered is an error.
pub fn filled(part: &Value, remembered: &BTreeMap<String, Value>) -> Result<Value, String> {
    Ok(match part {
        Value::String(text) => match text.strip_prefix('$') {
            Some(name) => remembered.get(name).ok_or_else(|| format!("nothing is remembered as {text}"))?.clone(),
            None => part.clone(),
        },
        Value::Array(items) => {
            Value::Array(items.iter().map(|item| filled(item, remembered)).collect::<Result<_, _>>()?)
        }
        Value::Object(fields) => {
            let field = |(key, value): (&String, &Value)| Ok((key.clone(), filled(value, remembered)?));
            Value::Object(fields.iter().map(field).collect::<Result<_, String>>()?)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => part.clone(),
    })
}

fn walk(path: &str, part: &Value, whole: &Value) -> Option<String> {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => part.iter().find_map(|(key, part)| {
            let path = format!("{path}/{key}");
            match whole.get(key) {
                Some(whole) => walk(&path, part, whole),
                None => Some(format!("{path}: wanted {part}, there is nothing")),
            }
        }),
        // An empty list means one.
        (Value::Array(part), Value::Array(whole)) if !part.is_empty() => part.iter().find_map(|item| {
            let found = whole.iter().any(|other| walk("", item, other).is_none());
            (!found).then(|| format!("{path}: no item is like {item}{}", nearest(item, whole)))
        }),
        (Value::String(text), Value::Number(number)) if is_within(number, text) => None,
        (part, whole) if part == whole => None,
        (part, whole) => Some(format!("{path}: wanted {part}, got {whole}")),
    }
}

fn is_within(number: &Number, bound: &str) -> bool {
    let holds = |bound: &str, compare: fn(&f64, &f64) -> bool| {
        number.as_f64().zip(bound.parse().ok()).is_some_and(|(number, bound): (f64, f64)| compare(&number, &bound))
    };
    match (bound.strip_prefix(">="), bound.strip_prefix("<=")) {
        (Some(least), _) => holds(least, f64::ge),
        (None, Some(most)) => holds(most, f64::le),
        (None, None) => false,
    }
}

/// The item that is called the same, for the reader of a failure.
fn nearest(item: &Value, whole: &[Value]) -> String {
    let same = |key: &str| whole.iter().find(|other| item.get(key).is_some() && other.get(key) == item.get(key));
    let found = same("name").or_else(|| same("type"));
    found.and_then(|other| walk("", item, other)).map(|why| format!(" ({why})")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_part_is_there_when_every_field_and_item_of_it_is() {
        let whole =
            json!({"a": {"b": 1, "c": "x"}, "list": [{"name": "p", "mtu": 1}, {"name": "q", "mtu": 2}], "no": []});
        for (part, wrong) in [
            (json!({}), None),
            (json!({"a": {}}), None),
            (json!({"a": {"b": 1}, "list": [{"name": "q", "mtu": 2}]}), None),
            (json!({"list": [{"mtu": 2}, {"mtu": 1}]}), None),
            (json!({"no": []}), None),
            (json!({"a": {"b": ">=1"}}), None),
            (json!({"a": {"b": ">=2"}}), Some("/a/b: wanted")),
            (json!({"a": {"b": "<=1"}}), None),
            (json!({"a": {"b": "<=0"}}), Some("/a/b: wanted")),
            (json!({"a": {"b": 2}}), Some("/a/b: wanted 2, got 1")),
            (json!({"a": {"d": null}}), Some("/a/d: wanted null, there is nothing")),
            (json!({"list": []}), Some("/list: wanted []")),
            (json!({"list": [{"name": "p", "mtu": 2}]}), Some("(/mtu: wanted 2, got 1)")),
            (json!({"list": [{"name": "r"}]}), Some("no item is like")),
            (json!({"a": {"c": {}}}), Some("/a/c: wanted {}")),
        ] {
            let found = missing(&part, &whole);
            match wrong {
                None => assert_eq!(found, None, "{part}"),
                Some(words) => assert!(found.as_ref().is_some_and(|found| found.contains(words)), "{part}: {found:?}"),
            }
        }
    }

    #[test]
    fn a_value_that_nobody_remembered_is_an_error() {
        let remembered = [("uid".to_owned(), json!(7))].into();
        assert_eq!(filled(&json!({"a": ["$uid", "b"]}), &remembered), Ok(json!({"a": [7, "b"]})));
        assert!(filled(&json!(["$udi"]), &remembered).is_err());
    }
}
