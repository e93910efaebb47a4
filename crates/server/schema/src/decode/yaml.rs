//! YAML to a value by the rules of Kubernetes' reader: types of plain scalars, merge keys, and keys that repeat.

use std::collections::HashSet;

use netloom_yaml::{Core, Data, Entry, Error, Node, Style};
use serde_json::{Map, Value};

use super::{DecodeError, Decoded, Document, Limits, json, resolve};
use crate::go_text;

/// Decodes the first document of a YAML (or JSON) text, as the API server does.
pub fn yaml(bytes: &[u8], limits: Limits) -> Result<Decoded, DecodeError> {
    let text = text(bytes)?;
    if let Some(decoded) = as_json(text, limits) {
        return Ok(decoded);
    }
    let first = netloom_yaml::first(text, limits.of_yaml()).map_err(|error| refused(text, error))?;
    Ok(decoded(first.ok_or(DecodeError::Empty)?)?.decoded)
}

/// Decodes every document of a YAML text; documents with nothing in them are left out. The limits hold
/// for all documents together.
pub fn yaml_stream(bytes: &[u8], limits: Limits) -> Result<Vec<Decoded>, DecodeError> {
    Ok(yaml_documents(bytes, limits)?.into_iter().map(|document| document.decoded).collect())
}

/// The same as [`yaml_stream`], with the place of each document.
pub fn yaml_documents(bytes: &[u8], limits: Limits) -> Result<Vec<Document>, DecodeError> {
    let text = text(bytes)?;
    if let Some(decoded) = as_json(text, limits) {
        return Ok(vec![Document { line: 1, decoded }]);
    }
    let documents = netloom_yaml::documents(text, limits.of_yaml()).map_err(|error| refused(text, error))?;
    documents.into_iter().filter(|document| document.root.data != Data::Null).map(decoded).collect()
}

fn as_json(text: &str, limits: Limits) -> Option<Decoded> {
    text.trim_start().starts_with('{').then(|| json(text.as_bytes(), limits).ok()).flatten()
}

fn text(bytes: &[u8]) -> Result<&str, DecodeError> {
    netloom_yaml::text(bytes).map_err(|error| refused("", error))
}

fn refused(text: &str, error: Error) -> DecodeError {
    match error {
        Error::NotUtf8 { at, .. } => DecodeError::NotUtf8 { at },
        Error::Control { line, .. } => fault(line, "control characters are not allowed"),
        Error::Syntax { line, what, .. } => scan_error(text, line, &what),
        Error::Shape { line, what } => fault(line, what),
        Error::TooDeep { limit, .. } => DecodeError::TooDeep { limit },
        Error::TooMany { limit, .. } => DecodeError::TooMany { limit },
    }
}

/// The value of a document.
fn decoded(document: netloom_yaml::Document) -> Result<Document, DecodeError> {
    let line = document.root.line as usize;
    let mut reading = Reading::default();
    let value = reading.value(document.root)?;
    let mut duplicates = Vec::new();
    if !reading.repeats.is_empty() {
        duplicates.push(format!("yaml: unmarshal errors:\n  {}", reading.repeats.join("\n  ")));
    }
    Ok(Document { line, decoded: Decoded { value, duplicates } })
}

#[derive(Default)]
struct Reading {
    /// A message for each key that was there before.
    repeats: Vec<String>,
}

impl Reading {
    fn value(&mut self, node: Node) -> Result<Value, DecodeError> {
        match node.data {
            Data::Null => Ok(Value::Null),
            Data::Scalar { text, style } => scalar(&text, style, node.line),
            Data::List(items) => items.into_iter().map(|item| self.value(item)).collect(),
            Data::Map(entries) => self.map(entries),
        }
    }

    fn map(&mut self, entries: Vec<Entry>) -> Result<Value, DecodeError> {
        let mut fields = Map::new();
        // Keys that were written out, as opposed to merged in with `<<`.
        let mut own = HashSet::new();
        for Entry { key, style, line, value } in entries {
            let at = value.line;
            if &*key == "<<" && style == Style::Plain {
                merge(&mut fields, self.value(value)?, at)?;
                continue;
            }
            let (name, printed) = name(&key, style, line)?;
            let value = self.value(value)?;
            if !own.insert(name.clone()) {
                self.repeats.push(format!("line {at}: key {printed} already set in map"));
            }
            fields.insert(name, value);
        }
        Ok(Value::Object(fields))
    }
}

/// The name of a key, and how a message about it prints it: texts in quotes, other keys bare.
fn name(key: &str, style: Style, line: u32) -> Result<(String, String), DecodeError> {
    let value = scalar(key, style, line)?;
    let printed = go_text::bad_value(&value);
    match value {
        Value::String(text) => Ok((text, printed)),
        Value::Bool(_) | Value::Number(_) => Ok((printed.clone(), printed)),
        Value::Null | Value::Array(_) | Value::Object(_) => {
            Err(fault(line, "a key must be a text, a number or a boolean"))
        }
    }
}

fn merge(map: &mut Map<String, Value>, value: Value, line: u32) -> Result<(), DecodeError> {
    let sources = match value {
        Value::Object(_) => vec![value],
        Value::Array(items) => items,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    if sources.is_empty() {
        return Err(fault(line, "map merge requires map or sequence of maps as the value"));
    }
    for source in sources {
        let Value::Object(fields) = source else {
            return Err(fault(line, "map merge requires map or sequence of maps as the value"));
        };
        for (name, value) in fields {
            map.entry(name).or_insert(value);
        }
    }
    Ok(())
}

fn scalar(text: &str, style: Style, line: u32) -> Result<Value, DecodeError> {
    let plain = || resolve::plain(text).ok_or_else(|| fault(line, &format!("JSON has no number `{text}`")));
    match style {
        Style::Quoted => Ok(Value::from(text)),
        Style::Plain => plain(),
        Style::Tagged(Core::Binary) => binary(text, line),
        Style::Tagged(core) => {
            let value = plain()?;
            let (word, fits) = match core {
                Core::Int => ("int", value.is_number()),
                Core::Float => ("float", value.is_number()),
                Core::Bool => ("bool", value.is_boolean()),
                Core::Null | Core::Binary => ("null", value.is_null()),
            };
            if fits { Ok(value) } else { Err(fault(line, &format!("cannot decode `{text}` as a !!{word}"))) }
        }
    }
}

fn binary(text: &str, line: u32) -> Result<Value, DecodeError> {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    let packed: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let bytes = STANDARD.decode(packed).map_err(|_| fault(line, "!!binary value contains invalid base64 data"))?;
    Ok(Value::from(String::from_utf8_lossy(&bytes).into_owned()))
}

/// What the scanner says, without what it was doing at the time. What is missing at the end is missing
/// on the last line, not on the empty one after it.
fn scan_error(text: &str, line: u32, info: &str) -> DecodeError {
    let message = info.split_once(", ").filter(|(doing, _)| doing.starts_with("while ")).map_or(info, |(_, what)| what);
    let message = if message.contains("tab") { "found character that cannot start any token" } else { message };
    DecodeError::Yaml { line: (line as usize).min(text.lines().count()), message: message.to_owned() }
}

fn fault(line: u32, message: &str) -> DecodeError {
    DecodeError::Yaml { line: line as usize, message: message.to_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Result<Decoded, DecodeError> {
        super::yaml(text.as_bytes(), Limits::default())
    }

    #[test]
    fn repeated_keys_are_named_with_their_line() {
        let decoded = read("a: 1\nspec:\n  size: 1\n  b: 2\n  size: 3\n").unwrap();
        assert_eq!(decoded.value, json!({"a": 1, "spec": {"size": 3, "b": 2}}));
        assert_eq!(decoded.duplicates, ["yaml: unmarshal errors:\n  line 5: key \"size\" already set in map"]);
    }

    #[test]
    fn anchors_and_merge_keys_are_written_out() {
        let decoded = read("base: &b {v: 1, w: 2}\nz:\n  <<: *b\n  v: 3\nl: [*b, *b]\n").unwrap();
        let base = json!({"v": 1, "w": 2});
        assert_eq!(decoded.value, json!({"base": base, "z": {"v": 3, "w": 2}, "l": [base, base]}));
        assert_eq!(decoded.duplicates, Vec::<String>::new());
    }

    #[test]
    fn keys_become_texts() {
        assert_eq!(read("1: a\ntrue: b\n1.5: c\n").unwrap().value, json!({"1": "a", "true": "b", "1.5": "c"}));
        let repeated = read("{true: 1, y: 2, a: 3, a: 4}").unwrap().duplicates;
        assert_eq!(
            repeated,
            ["yaml: unmarshal errors:\n  line 1: key true already set in map\n  line 1: key \"a\" already set in map"]
        );
        assert_eq!(read("? [a]\n: 1\n").unwrap_err().reason(), "NotYaml");
        assert_eq!(read("~: 1\n").unwrap_err().reason(), "NotYaml");
    }

    #[test]
    fn quotes_and_tags_decide_the_type() {
        let decoded = read("a: 'y'\nb: !!str 5\nc: y\nd: !!int '7'\ne: |\n  12\nf: !x 5\n").unwrap();
        assert_eq!(decoded.value, json!({"a": "y", "b": "5", "c": true, "d": 7, "e": "12\n", "f": "5"}));
        assert_eq!(read("a: !!bool 5").unwrap_err().reason(), "NotYaml");
    }

    #[test]
    fn a_block_of_text_ends_as_the_body_does() {
        assert_eq!(read("a: |\n  x\n  y\n").unwrap().value, json!({"a": "x\ny\n"}));
        assert_eq!(read("a: |\n  x\n  y").unwrap().value, json!({"a": "x\ny"}));
        assert_eq!(read("a: |-\n  x\n  y").unwrap().value, json!({"a": "x\ny"}));
        assert_eq!(read("a: |\n  x\nb: 1").unwrap().value, json!({"a": "x\n", "b": 1}));
    }

    #[test]
    fn refusals_name_the_line() {
        let table = [
            ("a:\n  b: [\n", "yaml: line 2: did not find expected node content"),
            ("a:\n  b: {x: 1\n", "yaml: line 2: did not find expected ',' or '}'"),
            ("a:\n\tb: x\n", "yaml: line 2: found character that cannot start any token"),
        ];
        for (text, message) in table {
            assert_eq!(read(text).unwrap_err().to_string(), message, "{text:?}");
        }
    }

    #[test]
    fn json_is_yaml() {
        assert_eq!(read("{\n\t\"a\": [1, \"x\\ty\"]\n}").unwrap().value, json!({"a": [1, "x\ty"]}));
    }

    #[test]
    fn a_stream_has_many_documents_and_a_body_one() {
        let text = "a: 1\n---\n# nothing\n---\nb: 2\n";
        assert_eq!(read(text).unwrap().value, json!({"a": 1}));
        let all: Vec<Value> =
            yaml_stream(text.as_bytes(), Limits::default()).unwrap().into_iter().map(|d| d.value).collect();
        assert_eq!(all, [json!({"a": 1}), json!({"b": 2})]);
        assert_eq!(read("").unwrap_err().reason(), "Empty");
    }

    #[test]
    fn what_explodes_is_refused_early() {
        let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for i in 1..20 {
            let line = format!("a{i}: &a{i} [{}]\n", format!("*a{}, ", i - 1).repeat(10));
            bomb.push_str(&line);
        }
        assert_eq!(read(&bomb).unwrap_err().reason(), "TooManyValues");
        assert_eq!(read(&"[".repeat(110)).unwrap_err().reason(), "TooDeep");
        let mut deep = String::from("a0: &a0 [[[[[[[[[[[[x]]]]]]]]]]]]\n");
        for i in 1..20 {
            let line = format!("a{i}: &a{i} [[[[[[*a{}]]]]]]\n", i - 1);
            deep.push_str(&line);
        }
        assert_eq!(read(&deep).unwrap_err().reason(), "TooDeep");
        assert_eq!(read("a: &a [*a]").unwrap_err().reason(), "NotYaml");
        assert_eq!(read("a: 1\0b: 2").unwrap_err().reason(), "NotYaml");
    }
}
