//! A text as trees, one for each document in it.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Span, Tag};

use crate::{
    Error, quick,
    tree::{Core, Data, Document, Entry, Node, Style, is_null},
};

/// How large what is read may become, all documents of a text together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The deepest nesting of lists and maps.
    pub depth: usize,
    /// The most values: every scalar, list, map and key counts one.
    pub values: usize,
}

impl Default for Limits {
    /// Room for every object that a server takes.
    fn default() -> Self {
        Self { depth: 100, values: 1_000_000 }
    }
}

/// Reads every document of a text, empty ones included.
pub fn documents(text: &str, limits: Limits) -> Result<Vec<Document>, Error> {
    match quick::read(text, limits) {
        Some(root) => Ok(vec![Document { line: root.line, root, odd_tag: None }]),
        None => fully(text, limits, false),
    }
}

/// Reads the first document of a text and nothing behind it; `None` for a text without any.
pub fn first(text: &str, limits: Limits) -> Result<Option<Document>, Error> {
    match quick::read(text, limits) {
        Some(root) => Ok(Some(Document { line: root.line, root, odd_tag: None })),
        None => Ok(fully(text, limits, true)?.into_iter().next()),
    }
}

/// Reads with all that YAML has.
pub(crate) fn fully(text: &str, limits: Limits, first_only: bool) -> Result<Vec<Document>, Error> {
    let mut reader = Reader::new(limits);
    let mut parser = Parser::new_from_str(text);
    let (length, ends_in_break) = (text.chars().count(), text.ends_with('\n'));
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|e| Error::Syntax {
            line: number(e.marker().line()),
            column: e.marker().col() + 1,
            what: e.info().to_owned(),
        })?;
        let end = matches!(event, Event::DocumentEnd);
        let event = if span.end.index() >= length && !ends_in_break { without_break(event) } else { event };
        reader.take(event, line(span))?;
        if end && first_only {
            break;
        }
    }
    Ok(reader.documents)
}

/// A list or map that is not at its end.
enum Open {
    List { line: u32, items: Vec<Node>, anchor: usize },
    Map { line: u32, entries: Vec<Entry>, key: Option<Key>, anchor: usize },
}

struct Key {
    text: Box<str>,
    style: Style,
    line: u32,
}

struct Reader {
    limits: Limits,
    values: usize,
    stack: Vec<Open>,
    anchors: HashMap<usize, Node>,
    /// Where the open document starts.
    line: u32,
    root: Option<Node>,
    odd_tag: Option<(u32, Box<str>)>,
    documents: Vec<Document>,
}

impl Reader {
    fn new(limits: Limits) -> Self {
        Self {
            limits,
            values: 0,
            stack: Vec::new(),
            anchors: HashMap::new(),
            line: 1,
            root: None,
            odd_tag: None,
            documents: Vec::new(),
        }
    }

    fn take(&mut self, event: Event<'_>, line: u32) -> Result<(), Error> {
        match event {
            Event::DocumentStart(_) => {
                self.anchors.clear();
                self.line = line;
            }
            Event::DocumentEnd => {
                let root = self.root.take().unwrap_or(Node { line, data: Data::Null });
                self.documents.push(Document { line: self.line, root, odd_tag: self.odd_tag.take() });
            }
            Event::SequenceStart(anchor, tag) => {
                self.tag(tag.as_deref(), &["seq"], line);
                self.open(Open::List { line, items: Vec::new(), anchor }, line)?;
            }
            Event::MappingStart(anchor, tag) => {
                self.tag(tag.as_deref(), &["map"], line);
                self.open(Open::Map { line, entries: Vec::new(), key: None, anchor }, line)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.close()?,
            Event::Scalar(text, style, anchor, tag) => {
                self.tag(tag.as_deref(), &["str", "int", "bool", "null", "float"], line);
                self.scalar(&text, written(style, tag.as_deref()), anchor, line)?;
            }
            Event::Alias(anchor) => self.alias(anchor, line)?,
            Event::Nothing | Event::StreamStart | Event::StreamEnd => {}
        }
        Ok(())
    }

    fn tag(&mut self, tag: Option<&Tag>, known: &[&str], line: u32) {
        let odd = tag.filter(|tag| !(tag.is_yaml_core_schema() && known.contains(&tag.suffix.as_str())));
        if let Some(tag) = odd {
            self.odd_tag.get_or_insert_with(|| (line, tag.suffix.as_str().into()));
        }
    }

    fn count(&mut self, values: usize, line: u32) -> Result<(), Error> {
        self.values = self.values.saturating_add(values);
        if self.values > self.limits.values {
            return Err(Error::TooMany { line, limit: self.limits.values });
        }
        Ok(())
    }

    fn check_depth(&self, depth: usize, line: u32) -> Result<(), Error> {
        let limit = self.limits.depth;
        if depth > limit { Err(Error::TooDeep { line, limit }) } else { Ok(()) }
    }

    fn expects_key(&self) -> bool {
        matches!(self.stack.last(), Some(Open::Map { key: None, .. }))
    }

    fn open(&mut self, open: Open, line: u32) -> Result<(), Error> {
        if self.expects_key() {
            return Err(Error::Shape { line, what: "a list or map cannot be the key of a map" });
        }
        self.count(1, line)?;
        self.check_depth(self.stack.len() + 1, line)?;
        self.stack.push(open);
        Ok(())
    }

    fn close(&mut self) -> Result<(), Error> {
        match self.stack.pop() {
            Some(Open::List { line, items, anchor }) => self.settle(Node { line, data: Data::List(items) }, anchor),
            Some(Open::Map { line, entries, anchor, .. }) => {
                self.settle(Node { line, data: Data::Map(entries) }, anchor)
            }
            None => Ok(()),
        }
    }

    fn scalar(&mut self, text: &str, style: Style, anchor: usize, line: u32) -> Result<(), Error> {
        self.count(1, line)?;
        if !self.expects_key() {
            return self.settle(scalar(text, style, line), anchor);
        }
        if anchor != 0 {
            self.anchors.insert(anchor, scalar(text, style, line));
        }
        self.key(Key { text: text.into(), style, line });
        Ok(())
    }

    fn alias(&mut self, anchor: usize, line: u32) -> Result<(), Error> {
        let node = self.anchors.get(&anchor);
        let node = node.ok_or(Error::Shape { line, what: "an alias inside of what it stands for" })?;
        // Counted before it is copied, so that the copy is bounded as well.
        let (count, height) = node.size();
        self.count(count, line)?;
        self.check_depth(self.stack.len() + height, line)?;
        let data = self.anchors[&anchor].data.clone();
        if !self.expects_key() {
            self.place(Node { line, data });
            return Ok(());
        }
        let (text, style) = match data {
            Data::Null => ("null".into(), Style::Plain),
            Data::Scalar { text, style } => (text, style),
            Data::List(_) | Data::Map(_) => {
                return Err(Error::Shape { line, what: "a list or map cannot be the key of a map" });
            }
        };
        self.key(Key { text, style, line });
        Ok(())
    }

    fn key(&mut self, next: Key) {
        if let Some(Open::Map { key, .. }) = self.stack.last_mut() {
            *key = Some(next);
        }
    }

    /// Remembers a value under its anchor and puts it where it belongs.
    fn settle(&mut self, node: Node, anchor: usize) -> Result<(), Error> {
        if anchor != 0 {
            self.count(node.size().0, node.line)?;
            self.anchors.insert(anchor, node.clone());
        }
        self.place(node);
        Ok(())
    }

    fn place(&mut self, mut value: Node) {
        match self.stack.last_mut() {
            None => self.root = Some(value),
            Some(Open::List { items, .. }) => items.push(value),
            Some(Open::Map { entries, key, .. }) => {
                let Some(Key { text: key, style, line }) = key.take() else { return };
                // Nothing stands nowhere; its key does.
                if value.data == Data::Null {
                    value.line = line;
                }
                entries.push(Entry { key, style, line, value });
            }
        }
    }
}

/// How a scalar was written. Tags that are not known make a text of it.
fn written(style: ScalarStyle, tag: Option<&Tag>) -> Style {
    let Some(tag) = tag else {
        return if style == ScalarStyle::Plain { Style::Plain } else { Style::Quoted };
    };
    match tag.suffix.as_str() {
        _ if !tag.is_yaml_core_schema() => Style::Quoted,
        "int" => Style::Tagged(Core::Int),
        "float" => Style::Tagged(Core::Float),
        "bool" => Style::Tagged(Core::Bool),
        "null" => Style::Tagged(Core::Null),
        "binary" => Style::Tagged(Core::Binary),
        _ => Style::Quoted,
    }
}

/// A value that is written as one text.
pub fn scalar(text: &str, style: Style, line: u32) -> Node {
    let null = matches!(style, Style::Plain | Style::Tagged(Core::Null)) && is_null(text);
    let data = if null { Data::Null } else { Data::Scalar { text: text.into(), style } };
    Node { line, data }
}

/// A block of text at the end of a text that does not end in a line break has none either; the scanner
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

fn line(span: Span) -> u32 {
    number(span.start.line())
}

fn number(line: usize) -> u32 {
    u32::try_from(line).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<Vec<Document>, Error> {
        documents(text, Limits::default())
    }

    #[test]
    fn what_explodes_is_refused_early() {
        let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for i in 1..20 {
            let line = format!("a{i}: &a{i} [{}]\n", format!("*a{}, ", i - 1).repeat(10));
            bomb.push_str(&line);
        }
        assert!(matches!(read(&bomb), Err(Error::TooMany { .. })));
        assert!(matches!(read(&"[".repeat(110)), Err(Error::TooDeep { .. })));
        let mut deep = String::from("a0: &a0 [[[[[[[[[[[[x]]]]]]]]]]]]\n");
        for i in 1..20 {
            let line = format!("a{i}: &a{i} [[[[[[*a{}]]]]]]\n", i - 1);
            deep.push_str(&line);
        }
        assert!(matches!(read(&deep), Err(Error::TooDeep { .. })));
        assert!(matches!(read("a: &a [*a]"), Err(Error::Shape { .. })));
    }

    #[test]
    fn repeated_keys_and_odd_tags_are_the_callers() {
        let document = read("a: 1\na: !x 2\n").unwrap().remove(0);
        let Data::Map(entries) = &document.root.data else { panic!("a map") };
        assert_eq!(entries.iter().map(|entry| (&*entry.key, entry.line)).collect::<Vec<_>>(), [("a", 1), ("a", 2)]);
        assert_eq!(document.odd_tag, Some((2, "x".into())));
    }

    #[test]
    fn documents_are_apart() {
        let all = read("a: 1\n---\n# nothing\n---\n\nb: 2\n").unwrap();
        assert_eq!(all.iter().map(|document| (document.line, document.root.line)).collect::<Vec<_>>()[2], (4, 6));
        assert_eq!(all[1].root.data, Data::Null);
        assert_eq!(first("a: 1\n---\nb: [", Limits::default()).unwrap().unwrap().root.line_of("a"), 1);
        assert!(read("a: 1\n---\nb: [").is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn no_text_of_yaml_signs_breaks_the_reader(text in "[-a-c:&*{}\\[\\], \n#!<>|?'\"%01.~yn]{0,80}") {
            let _ = read(&text);
        }
    }
}
