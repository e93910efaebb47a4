//! YAML to a value: anchors, merge keys, several documents, and keys that repeat.

use std::{borrow::Cow, collections::HashMap, rc::Rc};

use saphyr_parser::{Event, Parser, ScalarStyle, Tag};
use serde_json::{Map, Value};

use super::{Budget, DecodeError, Decoded, Document, Limits, json, resolve};
use crate::go_text;

/// Decodes the first document of a YAML (or JSON) text, as the API server does.
pub fn yaml(bytes: &[u8], limits: Limits) -> Result<Decoded, DecodeError> {
    let text = text(bytes)?;
    if text.trim_start().starts_with('{')
        && let Ok(decoded) = json(bytes, limits)
    {
        return Ok(decoded);
    }
    Reader::new(limits, true).run(text)?.into_iter().next().map(|document| document.decoded).ok_or(DecodeError::Empty)
}

/// Decodes every document of a YAML text; documents with nothing in them are left out. The limits hold
/// for all documents together.
pub fn yaml_stream(bytes: &[u8], limits: Limits) -> Result<Vec<Decoded>, DecodeError> {
    Ok(yaml_documents(bytes, limits)?.into_iter().map(|document| document.decoded).collect())
}

/// The same as [`yaml_stream`], with the place of each document.
pub fn yaml_documents(bytes: &[u8], limits: Limits) -> Result<Vec<Document>, DecodeError> {
    let text = text(bytes)?;
    if text.trim_start().starts_with('{')
        && let Ok(decoded) = json(bytes, limits)
    {
        return Ok(vec![Document { line: 1, decoded }]);
    }
    let mut documents = Reader::new(limits, false).run(text)?;
    documents.retain(|document| !document.decoded.value.is_null());
    Ok(documents)
}

fn text(bytes: &[u8]) -> Result<&str, DecodeError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|e| DecodeError::NotUtf8 { at: e.valid_up_to() })?;
    // The scanner takes a zero byte for the end and would drop the rest in silence.
    if let Some(at) = text.bytes().position(|b| b < 0x20 && !matches!(b, b'\t' | b'\n' | b'\r')) {
        let line = text[..at].matches('\n').count() + 1;
        return Err(DecodeError::Yaml { line, message: "control characters are not allowed".to_owned() });
    }
    Ok(text)
}

/// A value with what an alias to it would cost.
#[derive(Clone)]
struct Node {
    value: Value,
    weight: usize,
    /// How many levels of lists and objects it has, itself included.
    height: usize,
}

enum Open {
    List { items: Vec<Value>, anchor: usize, weight: usize, height: usize },
    Map { map: Fields, anchor: usize, weight: usize, height: usize },
}

#[derive(Default)]
struct Fields {
    values: Map<String, Value>,
    /// Keys that were written out, as opposed to merged in with `<<`.
    own: std::collections::HashSet<String>,
    key: Option<Key>,
}

enum Key {
    /// The name, and how a message about it prints it: texts in quotes, other keys bare.
    Name(String, String),
    Merge,
}

struct Reader {
    budget: Budget,
    first_only: bool,
    stack: Vec<Open>,
    anchors: HashMap<usize, Rc<Node>>,
    repeats: Vec<String>,
    root: Option<Value>,
    /// Where the content of the open document starts.
    line: Option<usize>,
    documents: Vec<Document>,
}

impl Reader {
    fn new(limits: Limits, first_only: bool) -> Self {
        Self {
            budget: Budget::new(limits),
            first_only,
            stack: Vec::new(),
            anchors: HashMap::new(),
            repeats: Vec::new(),
            root: None,
            line: None,
            documents: Vec::new(),
        }
    }

    fn run(mut self, text: &str) -> Result<Vec<Document>, DecodeError> {
        let mut parser = Parser::new_from_str(text);
        let (length, ends_in_break) = (text.chars().count(), text.ends_with('\n'));
        while let Some(event) = parser.next_event() {
            let (event, span) = event.map_err(|e| scan_error(text, e.marker().line(), e.info()))?;
            let end = matches!(event, Event::DocumentEnd);
            let event = if span.end.index() >= length && !ends_in_break { without_break(event) } else { event };
            self.take(event, span.start.line())?;
            if end && self.first_only {
                break;
            }
        }
        Ok(self.documents)
    }

    fn take(&mut self, event: Event<'_>, line: usize) -> Result<(), DecodeError> {
        match event {
            Event::DocumentStart(_) => {
                self.anchors.clear();
                self.root = None;
                self.line = None;
                return Ok(());
            }
            Event::DocumentEnd => self.finish_document(line),
            Event::SequenceStart(anchor, _) => {
                self.open(Open::List { items: Vec::new(), anchor, weight: 1, height: 0 }, line)?;
            }
            Event::MappingStart(anchor, _) => {
                self.open(Open::Map { map: Fields::default(), anchor, weight: 1, height: 0 }, line)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(line)?,
            Event::Scalar(text, style, anchor, tag) => self.scalar(&text, style, anchor, tag.as_ref(), line)?,
            Event::Alias(anchor) => {
                let node = self.anchors.get(&anchor).cloned();
                let node = node.ok_or_else(|| fault(line, "an alias inside of what it stands for"))?;
                // Counted before it is copied, so that the copy is bounded as well.
                self.budget.take(node.weight)?;
                self.budget.check_depth(self.stack.len() + node.height)?;
                if self.expects_key() {
                    return self.key(&node.value, line);
                }
                self.place(Node::clone(&node), line)?;
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd => return Ok(()),
        }
        self.line.get_or_insert(line);
        Ok(())
    }

    fn finish_document(&mut self, end: usize) {
        let mut duplicates = Vec::new();
        if !self.repeats.is_empty() {
            duplicates.push(format!("yaml: unmarshal errors:\n  {}", self.repeats.join("\n  ")));
            self.repeats.clear();
        }
        let value = self.root.take().unwrap_or(Value::Null);
        let line = self.line.take().unwrap_or(end);
        self.documents.push(Document { line, decoded: Decoded { value, duplicates } });
    }

    fn expects_key(&self) -> bool {
        matches!(self.stack.last(), Some(Open::Map { map: Fields { key: None, .. }, .. }))
    }

    fn open(&mut self, open: Open, line: usize) -> Result<(), DecodeError> {
        if self.expects_key() {
            return Err(fault(line, "a list or map cannot be the key of a map"));
        }
        self.budget.take(1)?;
        self.budget.check_depth(self.stack.len() + 1)?;
        self.stack.push(open);
        Ok(())
    }

    fn close(&mut self, line: usize) -> Result<(), DecodeError> {
        let (value, anchor, weight, height) = match self.stack.pop() {
            Some(Open::List { items, anchor, weight, height }) => (Value::Array(items), anchor, weight, height),
            Some(Open::Map { map, anchor, weight, height }) => (Value::Object(map.values), anchor, weight, height),
            None => return Ok(()),
        };
        self.settle(Node { value, weight, height: height + 1 }, anchor, line)
    }

    fn scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Cow<'_, Tag>>,
        line: usize,
    ) -> Result<(), DecodeError> {
        self.budget.take(1)?;
        let merge = text == "<<" && style == ScalarStyle::Plain;
        if merge && self.expects_key() {
            if let Some(Open::Map { map, .. }) = self.stack.last_mut() {
                map.key = Some(Key::Merge);
            }
            return Ok(());
        }
        let value = scalar(text, style, tag.map(|t| &**t), line)?;
        if self.expects_key() {
            if anchor != 0 {
                self.anchors.insert(anchor, Rc::new(Node { value: value.clone(), weight: 1, height: 0 }));
            }
            return self.key(&value, line);
        }
        self.settle(Node { value, weight: 1, height: 0 }, anchor, line)
    }

    fn key(&mut self, value: &Value, line: usize) -> Result<(), DecodeError> {
        let name = match value {
            Value::String(text) => text.clone(),
            Value::Bool(_) | Value::Number(_) => go_text::bad_value(value),
            Value::Null | Value::Array(_) | Value::Object(_) => {
                return Err(fault(line, "a key must be a text, a number or a boolean"));
            }
        };
        if let Some(Open::Map { map, .. }) = self.stack.last_mut() {
            map.key = Some(Key::Name(name, go_text::bad_value(value)));
        }
        Ok(())
    }

    /// Remembers a value under its anchor and puts it where it belongs.
    fn settle(&mut self, node: Node, anchor: usize, line: usize) -> Result<(), DecodeError> {
        if anchor != 0 {
            self.budget.take(node.weight)?;
            self.anchors.insert(anchor, Rc::new(node.clone()));
        }
        self.place(node, line)
    }

    fn place(&mut self, node: Node, line: usize) -> Result<(), DecodeError> {
        match self.stack.last_mut() {
            None => self.root = Some(node.value),
            Some(Open::List { items, weight, height, .. }) => {
                *weight += node.weight;
                *height = node.height.max(*height);
                items.push(node.value);
            }
            Some(Open::Map { map, weight, height, .. }) => {
                *weight += node.weight;
                *height = node.height.max(*height);
                match map.key.take() {
                    Some(Key::Name(name, printed)) => {
                        if !map.own.insert(name.clone()) {
                            self.repeats.push(format!("line {line}: key {printed} already set in map"));
                        }
                        map.values.insert(name, node.value);
                    }
                    Some(Key::Merge) => merge(map, node.value, line)?,
                    None => return Err(fault(line, "a value without a key")),
                }
            }
        }
        Ok(())
    }
}

fn merge(map: &mut Fields, value: Value, line: usize) -> Result<(), DecodeError> {
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
            map.values.entry(name).or_insert(value);
        }
    }
    Ok(())
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>, line: usize) -> Result<Value, DecodeError> {
    let quoted = style != ScalarStyle::Plain;
    let core = tag.filter(|t| t.is_yaml_core_schema()).map(|t| t.suffix.as_str());
    match core {
        Some("str" | "timestamp") => return Ok(Value::from(text)),
        Some("binary") => return binary(text, line),
        Some("int" | "float" | "bool" | "null") => {
            let value = resolve::plain(text).ok_or_else(|| not_in_json(text, line))?;
            let fits = matches!(
                (core, &value),
                (Some("int" | "float"), Value::Number(_))
                    | (Some("bool"), Value::Bool(_))
                    | (Some("null"), Value::Null)
            );
            if fits {
                return Ok(value);
            }
            return Err(fault(line, &format!("cannot decode `{text}` as a !!{}", core.unwrap_or_default())));
        }
        _ => {}
    }
    if quoted || tag.is_some() {
        return Ok(Value::from(text));
    }
    resolve::plain(text).ok_or_else(|| not_in_json(text, line))
}

fn binary(text: &str, line: usize) -> Result<Value, DecodeError> {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    let packed: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let bytes = STANDARD.decode(packed).map_err(|_| fault(line, "!!binary value contains invalid base64 data"))?;
    Ok(Value::from(String::from_utf8_lossy(&bytes).into_owned()))
}

fn not_in_json(text: &str, line: usize) -> DecodeError {
    fault(line, &format!("JSON has no number `{text}`"))
}

/// A block of text at the end of a body that does not end in a line break has none either; the scanner
/// makes one up.
fn without_break(event: Event<'_>) -> Event<'_> {
    match event {
        Event::Scalar(text, style @ (ScalarStyle::Literal | ScalarStyle::Folded), anchor, tag) => {
            let text = text.strip_suffix('\n').map_or(text.to_string(), str::to_owned);
            Event::Scalar(text.into(), style, anchor, tag)
        }
        other => other,
    }
}

/// What the scanner says, without what it was doing at the time. What is missing at the end is missing
/// on the last line, not on the empty one after it.
fn scan_error(text: &str, line: usize, info: &str) -> DecodeError {
    let message = info.split_once(", ").filter(|(doing, _)| doing.starts_with("while ")).map_or(info, |(_, what)| what);
    let message = if message.contains("tab") { "found character that cannot start any token" } else { message };
    DecodeError::Yaml { line: line.min(text.lines().count()), message: message.to_owned() }
}

fn fault(line: usize, message: &str) -> DecodeError {
    DecodeError::Yaml { line, message: message.to_owned() }
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
