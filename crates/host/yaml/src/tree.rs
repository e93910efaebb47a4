//! What is read: values with the lines that they stand on, scalars as they were written.

/// A document of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The line where it starts, from 1: that of its `---` if it has one.
    pub line: u32,
    /// What it says; nothing for an empty one.
    pub root: Node,
    /// The first tag that YAML itself does not know for what it stands at, with its line.
    pub odd_tag: Option<(u32, Box<str>)>,
}

/// A value with the line that it starts at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// From 1.
    pub line: u32,
    /// What stands there.
    pub data: Data,
}

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Data {
    /// Nothing, or a word for it.
    Null,
    /// Anything that is written as one text.
    Scalar {
        /// The text, without quotes.
        text: Box<str>,
        /// How it was written.
        style: Style,
    },
    /// Items in their order.
    List(Vec<Node>),
    /// Keys and values in their order, repeated ones included.
    Map(Vec<Entry>),
}

/// A key with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The text of the key.
    pub key: Box<str>,
    /// How the key was written.
    pub style: Style,
    /// The line of the key, from 1: that is where a person looks for the value.
    pub line: u32,
    /// What stands behind the key.
    pub value: Node,
}

/// How a scalar was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Without quotes: a text, a number or a word such as `true`.
    Plain,
    /// In quotes, as a block, or with a tag that makes it a text.
    Quoted,
    /// With a tag that says what it is.
    Tagged(Core),
}

/// Tags of scalars that are no texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Core {
    /// `!!int`.
    Int,
    /// `!!float`.
    Float,
    /// `!!bool`.
    Bool,
    /// `!!null`.
    Null,
    /// `!!binary`.
    Binary,
}

/// Whether a plain text stands for nothing.
pub fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

impl Node {
    /// The line of `path`, such as `interfaces[3].vlan.id`, or of the nearest place above it that the text has. A key may
    /// stand in brackets too, such as in `sizes[a]`.
    pub fn line_of(&self, path: &str) -> u32 {
        self.nearest(path, self.line).1
    }

    /// How much of the path is left at the nearest place, and the line of that. Keys may have dots in them, so more than
    /// one of them can be the way.
    fn nearest(&self, path: &str, line: u32) -> (usize, u32) {
        let here = (path.len(), line);
        match &self.data {
            Data::Null | Data::Scalar { .. } => here,
            Data::List(items) => index(path)
                .and_then(|(index, rest)| Some((items.get(index)?, rest)))
                .map_or(here, |(item, rest)| item.nearest(rest, item.line)),
            Data::Map(entries) => {
                let below = entries.iter().filter_map(|e| Some(e.value.nearest(behind(path, &e.key)?, e.line)));
                below.min_by_key(|(left, _)| *left).unwrap_or(here)
            }
        }
    }

    /// The value under a key of a map; of repeated ones the first.
    pub fn child(&self, key: &str) -> Option<&Self> {
        let Data::Map(entries) = &self.data else { return None };
        entries.iter().find(|entry| &*entry.key == key).map(|entry| &entry.value)
    }

    /// How many values there are, keys included, and how many levels of lists and maps.
    pub(crate) fn size(&self) -> (usize, usize) {
        let sum = |(count, height): (usize, usize), (c, h): (usize, usize)| (count + c, height.max(h));
        match &self.data {
            Data::Null | Data::Scalar { .. } => (1, 0),
            Data::List(items) => {
                let (count, height) = items.iter().map(Self::size).fold((1, 0), sum);
                (count, height + 1)
            }
            Data::Map(entries) => {
                let (count, height) = entries.iter().map(|entry| entry.value.size()).fold((1, 0), sum);
                (count + entries.len(), height + 1)
            }
        }
    }
}

/// The number in brackets that a path starts with, and what follows it.
fn index(path: &str) -> Option<(usize, &str)> {
    let (number, rest) = path.strip_prefix('[')?.split_once(']')?;
    Some((number.parse().ok()?, rest))
}

/// What follows `key` in a path that starts with it.
fn behind<'a>(path: &'a str, key: &str) -> Option<&'a str> {
    if let Some(inside) = path.strip_prefix('[') {
        return inside.strip_prefix(key)?.strip_prefix(']');
    }
    let rest = path.strip_prefix('.').unwrap_or(path).strip_prefix(key)?;
    (rest.is_empty() || rest.starts_with(['.', '['])).then_some(rest)
}

#[cfg(test)]
mod tests {
    use crate::{Limits, first};

    #[test]
    fn lines_are_those_of_the_keys() {
        let text = "a: 1\nlist:\n- x: 1\n- y:\n    z: 2\nips:\n  n1: x\n  n1.site: y\n  n1.site.b: z\nsizes: 3\n";
        let node = first(text, Limits::default()).unwrap().unwrap().root;
        for (path, line) in [
            ("", 1),
            ("list[1].y.z", 5),
            ("list[1].y.nothing", 4),
            ("list[2].y", 2),
            ("list", 2),
            ("ips[n1.site]", 8),
            ("ips.n1.site", 8),
            ("ips.n1.other", 7),
            ("ips[n1.site.b]", 9),
            ("size", 1),
        ] {
            assert_eq!(node.line_of(path), line, "{path}");
        }
    }
}
