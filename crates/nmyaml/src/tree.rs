//! The text of a document as a tree of values with line numbers.
//!
//! Knows YAML (and JSON, which is YAML) and nothing of networks. Bounded in every direction: bytes,
//! depth, and values with every use of an alias counted, so that no text makes it take more memory
//! than a small multiple of the largest honest document.

use std::{borrow::Cow, collections::HashMap};

use saphyr_parser::{Event, Parser, ScalarStyle, Span, Tag};

use crate::{
    errors::{OBJECT, Refusal, reason},
    quick,
};

/// The largest document, in bytes: 50 000 routes with all properties take less than 10 MiB.
pub const MAX_BYTES: usize = 16 << 20;
/// The deepest nesting. The format itself needs nine levels.
pub(crate) const MAX_DEPTH: usize = 64;
/// The most values: the largest honest document has about a million.
pub(crate) const MAX_VALUES: usize = 2_000_000;

/// A value with the line that it starts at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    /// From 1.
    pub(crate) line: u32,
    pub(crate) data: Data,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Data {
    Null,
    Scalar { text: Box<str>, plain: bool },
    List(Vec<Node>),
    Map(Vec<(Box<str>, Node)>),
}

impl Node {
    /// What a person would call the value, for messages.
    pub(crate) fn found(&self) -> String {
        match &self.data {
            Data::Null => "nothing".to_owned(),
            Data::Scalar { text, plain: true } => text.to_string(),
            Data::Scalar { text, plain: false } => format!("{text:?}"),
            Data::List(items) => format!("a list of {}", items.len()),
            Data::Map(entries) => format!("a block of {} keys", entries.len()),
        }
    }

    fn weight(&self) -> usize {
        1 + match &self.data {
            Data::Null | Data::Scalar { .. } => 0,
            Data::List(items) => items.iter().map(Self::weight).sum(),
            Data::Map(entries) => entries.iter().map(|(_, node)| node.weight()).sum(),
        }
    }

    /// The line of `path`, or of the nearest place above it that the text has.
    pub(crate) fn line_of(&self, path: &str) -> u32 {
        let mut node = self;
        for step in path.split('.') {
            let (key, indexes) = step.split_once('[').map_or((step, ""), |(key, rest)| (key, rest));
            let Data::Map(entries) = &node.data else { break };
            let Some((_, child)) = entries.iter().find(|(k, _)| &**k == key) else { break };
            node = child;
            for index in indexes.split('[').filter_map(|i| i.trim_end_matches(']').parse::<usize>().ok()) {
                let Data::List(items) = &node.data else { break };
                let Some(child) = items.get(index) else { break };
                node = child;
            }
        }
        node.line
    }

    /// The name that the entry of a link has which `path` leads into, such as that of `interfaces[3].vlan.id`.
    ///
    /// `*` stands for many links, so it is nobody's name.
    pub(crate) fn link_at(&self, path: &str) -> Option<&str> {
        let (index, _) = path.strip_prefix("interfaces[")?.split_once(']')?;
        let Data::List(links) = &self.child("interfaces")?.data else { return None };
        let Data::Scalar { text, .. } = &links.get(index.parse::<usize>().ok()?)?.child("name")?.data else {
            return None;
        };
        Some(text).map(|text| &**text).filter(|name| !name.is_empty() && *name != "*")
    }

    fn child(&self, key: &str) -> Option<&Self> {
        let Data::Map(entries) = &self.data else { return None };
        entries.iter().find(|(k, _)| &**k == key).map(|(_, child)| child)
    }
}

/// Reads the one document in `bytes`; `None` when there is nothing in it.
pub(crate) fn read(bytes: &[u8]) -> Result<Option<Node>, Refusal> {
    let text = text(bytes)?;
    quick::read(&text).map_or_else(|| read_fully(&text), |node| Ok(Some(node)))
}

/// Reads with all that YAML has.
pub(crate) fn read_fully(text: &str) -> Result<Option<Node>, Refusal> {
    Builder::default().run(text)
}

fn refusal(line: u32, reason: &'static str, message: impl Into<String>) -> Refusal {
    Refusal { path: String::new(), line, reason, message: message.into() }
}

fn text(bytes: &[u8]) -> Result<Cow<'_, str>, Refusal> {
    if bytes.len() > MAX_BYTES {
        let message =
            format!("the document has {} bytes; the limit is {MAX_BYTES} (16 MiB): split it into several", bytes.len());
        return Err(refusal(0, reason::TOO_LARGE, message));
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if let Some(encoding) = other_encoding(bytes) {
        let message = format!("the document looks like {encoding}; save it as UTF-8");
        return Err(refusal(0, reason::NOT_UTF8, message));
    }
    let text = std::str::from_utf8(bytes).map_err(|e| {
        let at = e.valid_up_to();
        let message = format!(
            "byte {at} (0x{:02x}) is not UTF-8; the document looks like Latin-1, Windows-1252 or no text at all: save it as UTF-8",
            bytes[at]
        );
        refusal(line_at(bytes, at), reason::NOT_UTF8, message)
    })?;
    // The scanner takes a zero byte for the end of the text and would drop the rest in silence.
    if let Some(at) = text.bytes().position(|b| b < 0x20 && !matches!(b, b'\t' | b'\n' | b'\r')) {
        let message = format!("byte {at} is the control character 0x{:02x}, which YAML does not allow", bytes[at]);
        return Err(refusal(line_at(bytes, at), reason::NOT_YAML, message));
    }
    Ok(if text.trim_start().starts_with(['{', '[']) { json_as_yaml(text) } else { text.into() })
}

fn line_at(bytes: &[u8], at: usize) -> u32 {
    let lines = bytes[..at].split(|b| *b == b'\n').count();
    u32::try_from(lines).unwrap_or(u32::MAX)
}

fn other_encoding(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0xff, 0xfe, 0, 0, ..] | [_, 0, 0, 0, ..] => Some("UTF-32 (little endian)"),
        [0, 0, 0xfe, 0xff, ..] | [0, 0, 0, _, ..] => Some("UTF-32 (big endian)"),
        [0xff, 0xfe, ..] | [0x01..=0xff, 0, ..] => Some("UTF-16 (little endian)"),
        [0xfe, 0xff, ..] | [0, 0x01..=0xff, ..] => Some("UTF-16 (big endian)"),
        [0x1f, 0x8b, ..] => Some("gzip data"),
        _ => None,
    }
}

/// Two things that JSON has and YAML has not: tabs as indentation, which become spaces, and
/// characters written as two escapes, which become themselves.
fn json_as_yaml(text: &str) -> Cow<'_, str> {
    if !text.contains('\t') && !text.contains("\\ud") && !text.contains("\\uD") {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    let (mut quoted, mut escaped, mut rest) = (false, false, text);
    while let Some(c) = rest.chars().next() {
        if let Some((pair, after)) = rest.strip_prefix("\\u").filter(|_| !escaped).and_then(surrogates) {
            out.push(pair);
            rest = after;
            continue;
        }
        out.push(if c == '\t' && !quoted { ' ' } else { c });
        quoted ^= c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        rest = &rest[c.len_utf8()..];
    }
    out.into()
}

/// The character of two escapes, the first of which has lost its `\u`, and what follows them.
fn surrogates(text: &str) -> Option<(char, &str)> {
    let unit = |text: &str| u16::from_str_radix(text.get(..4)?, 16).ok();
    let second = text.get(4..)?.strip_prefix("\\u")?;
    let pair = char::decode_utf16([unit(text)?, unit(second)?]).next()?.ok()?;
    (u32::from(pair) > 0xffff).then_some((pair, &second[4..]))
}

enum Frame {
    List { line: u32, items: Vec<Node>, anchor: usize },
    Map { line: u32, entries: Vec<(Box<str>, Node)>, key: Option<(Box<str>, u32)>, anchor: usize },
}

#[derive(Default)]
struct Builder {
    stack: Vec<Frame>,
    anchors: HashMap<usize, Node>,
    values: usize,
    root: Option<Node>,
    documents: usize,
}

impl Builder {
    fn run(mut self, text: &str) -> Result<Option<Node>, Refusal> {
        let mut parser = Parser::new_from_str(text);
        while let Some(event) = parser.next_event() {
            let (event, span) = event.map_err(|e| {
                let line = u32::try_from(e.marker().line()).unwrap_or(u32::MAX);
                refusal(
                    line,
                    reason::NOT_YAML,
                    format!("neither YAML nor JSON: {} (column {})", e.info(), e.marker().col() + 1),
                )
            })?;
            self.take(event, line(span))?;
        }
        Ok(self.root.filter(|node| node.data != Data::Null))
    }

    fn take(&mut self, event: Event<'_>, line: u32) -> Result<(), Refusal> {
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    let message = if self.root.as_ref().is_some_and(is_object) {
                        OBJECT
                    } else {
                        "a second document starts here; one file holds one document: split the file"
                    };
                    return Err(refusal(line, reason::SEVERAL_DOCUMENTS, message));
                }
            }
            Event::SequenceStart(anchor, tag) => {
                check_tag(tag.as_deref(), &["seq"], line)?;
                self.open(Frame::List { line, items: Vec::new(), anchor }, line)?;
            }
            Event::MappingStart(anchor, tag) => {
                check_tag(tag.as_deref(), &["map"], line)?;
                self.open(Frame::Map { line, entries: Vec::new(), key: None, anchor }, line)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.close()?,
            Event::Scalar(text, style, anchor, tag) => {
                check_tag(tag.as_deref(), &["str", "int", "bool", "null", "float"], line)?;
                let plain = style == ScalarStyle::Plain && tag.is_none_or(|t| t.suffix != "str");
                self.place(scalar(&text, plain, line), anchor)?;
            }
            Event::Alias(anchor) => {
                let Some(node) = self.anchors.get(&anchor) else {
                    let message = "an alias inside of what it stands for; write the value out";
                    return Err(refusal(line, reason::NOT_YAML, message));
                };
                // Counted before it is copied, so that the copy is bounded as well.
                self.count(node.weight(), line)?;
                let node = self.anchors[&anchor].clone();
                self.place(Node { line, ..node }, 0)?;
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
        }
        Ok(())
    }

    fn count(&mut self, values: usize, line: u32) -> Result<(), Refusal> {
        self.values = self.values.saturating_add(values);
        if self.values > MAX_VALUES {
            let message = format!(
                "more than {MAX_VALUES} values, aliases counted as often as they are used: split the document or write aliases out"
            );
            return Err(refusal(line, reason::TOO_MANY_VALUES, message));
        }
        Ok(())
    }

    fn open(&mut self, frame: Frame, line: u32) -> Result<(), Refusal> {
        if let Some(Frame::Map { key: None, .. }) = self.stack.last() {
            return Err(refusal(line, reason::NOT_YAML, "a list or block as a key; keys are plain words"));
        }
        if self.stack.len() >= MAX_DEPTH {
            return Err(refusal(line, reason::TOO_DEEP, format!("nested deeper than {MAX_DEPTH} levels")));
        }
        self.stack.push(frame);
        Ok(())
    }

    fn close(&mut self) -> Result<(), Refusal> {
        match self.stack.pop() {
            Some(Frame::List { line, items, anchor }) => self.place(Node { line, data: Data::List(items) }, anchor),
            Some(Frame::Map { line, entries, anchor, .. }) => {
                no_duplicates(&entries)?;
                self.place(Node { line, data: Data::Map(entries) }, anchor)
            }
            None => Ok(()),
        }
    }

    fn place(&mut self, node: Node, anchor: usize) -> Result<(), Refusal> {
        self.count(1, node.line)?;
        if anchor != 0 {
            self.count(node.weight(), node.line)?;
            self.anchors.insert(anchor, node.clone());
        }
        match self.stack.last_mut() {
            None => self.root = Some(node),
            Some(Frame::List { items, .. }) => items.push(node),
            Some(Frame::Map { entries, key, .. }) => match key.take() {
                // A block's own line is that of its key: that is where a person looks.
                Some((key, line)) => entries.push((key, Node { line, ..node })),
                None => match node.data {
                    Data::Scalar { text, .. } => *key = Some((text, node.line)),
                    Data::Null | Data::List(_) | Data::Map(_) => {
                        return Err(refusal(node.line, reason::NOT_YAML, "an empty key; keys are plain words"));
                    }
                },
            },
        }
        Ok(())
    }
}

fn line(span: Span) -> u32 {
    u32::try_from(span.start.line()).unwrap_or(u32::MAX)
}

fn check_tag(tag: Option<&Tag>, allowed: &[&str], line: u32) -> Result<(), Refusal> {
    match tag {
        Some(tag) if !(tag.is_yaml_core_schema() && allowed.contains(&tag.suffix.as_str())) => {
            Err(refusal(line, reason::NOT_YAML, format!("the tag !{} means nothing here; remove it", tag.suffix)))
        }
        _ => Ok(()),
    }
}

pub(crate) fn scalar(text: &str, plain: bool, line: u32) -> Node {
    let null = plain && matches!(text, "" | "~" | "null" | "Null" | "NULL");
    let data = if null { Data::Null } else { Data::Scalar { text: text.into(), plain } };
    Node { line, data }
}

/// Whether the text is an object of a cluster.
fn is_object(node: &Node) -> bool {
    let Data::Map(entries) = &node.data else { return false };
    ["apiVersion", "kind"].iter().all(|wanted| entries.iter().any(|(key, _)| **key == **wanted))
}

pub(crate) fn no_duplicates(entries: &[(Box<str>, Node)]) -> Result<(), Refusal> {
    let mut sorted: Vec<_> = entries.iter().map(|(key, node)| (key, node.line)).collect();
    sorted.sort_unstable();
    for pair in sorted.windows(2) {
        if pair[0].0 == pair[1].0 {
            let message = format!("the key {:?} is already on line {}: keep one of them", pair[0].0, pair[0].1);
            return Err(refusal(pair[1].1, reason::DUPLICATE_KEY, message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason_of(text: &[u8]) -> &'static str {
        read(text).expect_err("refused").reason
    }

    #[test]
    fn lines_are_those_of_the_keys() {
        let node = read(b"a: 1\nlist:\n- x: 1\n- y:\n    z: 2\n").unwrap().unwrap();
        assert_eq!(node.line_of("list[1].y.z"), 5);
        assert_eq!(node.line_of("list[1].y.nothing"), 4);
        assert_eq!(node.line_of("list"), 2);
    }

    #[test]
    fn json_is_read_with_tabs_too() {
        let node = read(b"{\n\t\"a\": [1, true, \"x\\ty\"],\n\t\"b\": null\n}").unwrap().unwrap();
        assert_eq!(node.line_of("b"), 3);
    }

    #[test]
    fn json_escapes_beyond_the_first_plane_are_read() {
        let node = read(br#"{"a": "\ud83d\ude00 \u00e4"}"#).unwrap().unwrap();
        let Data::Map(entries) = &node.data else { panic!("a block") };
        assert_eq!(entries[0].1.data, Data::Scalar { text: "\u{1f600} \u{e4}".into(), plain: false });
    }

    #[test]
    fn an_empty_text_is_an_empty_document() {
        for text in ["", "\n", "# nothing\n", "---\n", "null", "\u{feff}"] {
            assert_eq!(read(text.as_bytes()), Ok(None), "{text:?}");
        }
    }

    #[test]
    fn other_encodings_are_named() {
        let utf16: Vec<u8> = "interfaces: []".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let error = read(&utf16).expect_err("refused");
        assert_eq!(error.reason, reason::NOT_UTF8);
        assert!(error.message.contains("UTF-16 (little endian)"), "{}", error.message);
        assert_eq!(reason_of(b"a: caf\xe9\n"), reason::NOT_UTF8);
        assert_eq!(reason_of(b"a: 1\n\0b: 2"), reason::NOT_YAML);
    }

    #[test]
    fn what_explodes_is_refused_early() {
        let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for i in 1..20 {
            let one = format!("*a{}, ", i - 1);
            let line = format!("a{i}: &a{i} [{}]\n", one.repeat(10));
            bomb.push_str(&line);
        }
        assert_eq!(reason_of(bomb.as_bytes()), reason::TOO_MANY_VALUES);
        assert_eq!(reason_of("[".repeat(100).as_bytes()), reason::TOO_DEEP);
        assert_eq!(reason_of(&vec![b'a'; MAX_BYTES + 1]), reason::TOO_LARGE);
    }

    #[test]
    fn what_is_not_one_document_is_refused() {
        assert_eq!(reason_of(b"a: 1\n---\nb: 2\n"), reason::SEVERAL_DOCUMENTS);
        assert_eq!(reason_of(b"a: 1\na: 2\n"), reason::DUPLICATE_KEY);
        assert_eq!(reason_of(b"a: [1, 2\n"), reason::NOT_YAML);
        assert_eq!(reason_of(b"a: !!python/object 1\n"), reason::NOT_YAML);
        assert_eq!(reason_of(b"? [a]\n: 1\n"), reason::NOT_YAML);
    }
}
