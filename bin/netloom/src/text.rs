//! Small shapes of text that several verbs print: tables, JSON, YAML.

use std::fmt::Write as _;

use serde_json::Value as Json;

/// Appends to a text.
pub(crate) fn push(text: &mut String, what: std::fmt::Arguments<'_>) {
    text.write_fmt(what).expect("writing to a string does not fail");
}

/// A JSON value with indentation and a line end.
pub(crate) fn json(value: &Json) -> String {
    format!("{value:#}\n")
}

/// A JSON value as YAML, for results that are no documents. Texts are always quoted, as in JSON.
pub(crate) fn yaml(value: &Json) -> String {
    let mut text = String::new();
    yaml_into(value, 0, &mut text);
    text
}

fn yaml_into(value: &Json, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    match value {
        Json::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                push(text, format_args!("{indent}{key}:"));
                yaml_nested(value, depth + 1, text);
            }
        }
        Json::Array(list) if !list.is_empty() => {
            for value in list {
                let mut item = String::new();
                yaml_into(value, depth + 1, &mut item);
                push(text, format_args!("{indent}- {}", item.trim_start()));
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) | Json::Object(_) => {
            push(text, format_args!("{indent}{value}\n"));
        }
    }
}

fn yaml_nested(value: &Json, depth: usize, text: &mut String) {
    let is_block =
        value.as_object().is_some_and(|map| !map.is_empty()) || value.as_array().is_some_and(|list| !list.is_empty());
    if is_block {
        text.push('\n');
        yaml_into(value, depth, text);
    } else {
        push(text, format_args!(" {value}\n"));
    }
}

/// Columns as wide as they need to be, two spaces apart; the last one is not padded.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let line: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        text += line.join("  ").trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = [vec!["NAME".into(), "STATE".into()], vec!["bond0.4094".into(), "up".into()]];
        assert_eq!(table(&rows), "NAME        STATE\nbond0.4094  up\n");
    }

    #[test]
    fn yaml_nests_lists_and_maps() {
        let value =
            json!({ "add": 1, "changes": [{ "what": "link a", "origin": null }, { "what": "b: c", "origin": [] }] });
        let wanted = "add: 1\nchanges:\n  - origin: null\n    what: \"link a\"\n  - origin: []\n    what: \"b: c\"\n";
        assert_eq!(yaml(&value), wanted);
    }
}
