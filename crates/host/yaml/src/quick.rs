//! A quick reader for the plain part of YAML that large documents are written in: blocks, lists of
//! blocks, one value to a line, whole-line comments.
//!
//! It is no YAML reader of its own. It gives up on whatever it does not know for certain, wrong texts
//! included, and the full reader has the word. What it does give is what the full reader would give.

use crate::{
    read::{Limits, scalar},
    tree::{Data, Entry, Node, Style},
};

/// Longer keys are left to the full reader, which has a limit of its own.
const MAX_KEY: usize = 256;

#[derive(Debug, Clone, Copy)]
enum Kind<'a> {
    Dash,
    Key(&'a str),
    Scalar { text: &'a str, style: Style },
    NoItems,
    NoKeys,
}

#[derive(Debug, Clone, Copy)]
struct Token<'a> {
    line: u32,
    column: usize,
    kind: Kind<'a>,
}

/// The tree of a text; `None` when the text is beyond this reader.
pub(crate) fn read(text: &str, limits: Limits) -> Option<Node> {
    let tokens = tokens(text, limits)?;
    let mut reader = Reader { tokens: &tokens, left: limits.depth };
    let root = reader.block()?;
    reader.tokens.is_empty().then_some(root)
}

fn tokens(text: &str, limits: Limits) -> Option<Vec<Token<'_>>> {
    let mut tokens = Vec::new();
    for (number, line) in (1..).zip(text.split('\n')) {
        let rest = line.trim_start_matches(' ');
        if rest.is_empty() || rest.starts_with('#') {
            continue;
        }
        split(line, rest, number, &mut tokens)?;
        // A key can stand for three values: itself, the block that it opens and nothing behind it.
        if tokens.len() > limits.values / 3 {
            return None;
        }
    }
    Some(tokens)
}

/// The tokens of one line: dashes, then a key, a value or both.
fn split<'a>(whole: &'a str, mut rest: &'a str, line: u32, to: &mut Vec<Token<'a>>) -> Option<()> {
    let at = |rest: &str| whole.len() - rest.len();
    let mut dashed = false;
    while let Some(after) = rest.strip_prefix("- ") {
        to.push(Token { line, column: at(rest), kind: Kind::Dash });
        rest = after.trim_start_matches(' ');
        dashed = true;
    }
    let column = at(rest);
    if let Some((key, value)) = key(rest) {
        to.push(Token { line, column, kind: Kind::Key(key) });
        let value = value.trim_start_matches(' ');
        if !value.is_empty() {
            to.push(Token { line, column: at(value), kind: leaf(value)? });
        }
    } else if dashed {
        to.push(Token { line, column, kind: leaf(rest)? });
    } else {
        return None;
    }
    Some(())
}

fn key(text: &str) -> Option<(&str, &str)> {
    let word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    let end = text.bytes().position(|b| !word(b))?;
    let (key, rest) = text.split_at(end);
    let rest = rest.strip_prefix(':').filter(|rest| rest.is_empty() || rest.starts_with(' '))?;
    let usual = key.starts_with(|c: char| c.is_ascii_alphanumeric()) && key.len() <= MAX_KEY;
    (usual && !key.eq_ignore_ascii_case("null")).then_some((key, rest))
}

fn leaf(text: &str) -> Option<Kind<'_>> {
    let printable = |text: &str| text.bytes().all(|b| (b' '..=b'~').contains(&b));
    for (quote, others) in [('\'', "'"), ('"', "\"\\")] {
        if let Some(inner) = text.strip_prefix(quote) {
            let inner = inner.strip_suffix(quote)?;
            return (printable(inner) && !inner.contains(|c| others.contains(c)))
                .then_some(Kind::Scalar { text: inner, style: Style::Quoted });
        }
    }
    match text {
        "[]" => Some(Kind::NoItems),
        "{}" => Some(Kind::NoKeys),
        _ => is_plain(text.as_bytes()).then_some(Kind::Scalar { text, style: Style::Plain }),
    }
}

/// Whether the text is a value without any meaning of its own to YAML.
fn is_plain(text: &[u8]) -> bool {
    let word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'/' | b'+');
    text.first().is_some_and(u8::is_ascii_alphanumeric)
        && text.iter().enumerate().all(|(i, &b)| {
            let next = text.get(i + 1);
            word(b)
                || (b == b':' && next.is_some_and(|b| word(*b) || *b == b':'))
                || (b == b' ' && next.is_some_and(u8::is_ascii_alphanumeric))
        })
}

struct Reader<'t, 'a> {
    tokens: &'t [Token<'a>],
    /// How many levels more there may be.
    left: usize,
}

impl<'a> Reader<'_, 'a> {
    fn next(&mut self) -> Option<Token<'a>> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(*first)
    }

    fn block(&mut self) -> Option<Node> {
        let first = *self.tokens.first()?;
        self.left = self.left.checked_sub(1)?;
        let data = match first.kind {
            Kind::Dash => self.list(first.column)?,
            Kind::Key(_) => self.map(first.column)?,
            kind @ (Kind::Scalar { .. } | Kind::NoItems | Kind::NoKeys) => {
                self.next();
                value(kind, first.line)?
            }
        };
        self.left += 1;
        Some(Node { line: first.line, data })
    }

    fn list(&mut self, column: usize) -> Option<Data> {
        let mut items = Vec::new();
        while let Some(Token { kind: Kind::Dash, column: at, .. }) = self.tokens.first()
            && *at == column
        {
            // There is always more on the line of a dash.
            self.next();
            items.push(self.block()?);
        }
        Some(Data::List(items))
    }

    fn map(&mut self, column: usize) -> Option<Data> {
        let mut entries = Vec::new();
        while let Some(&Token { kind: Kind::Key(key), column: at, line }) = self.tokens.first()
            && at == column
        {
            self.next();
            let inside = self.tokens.first().is_some_and(|token| match token.kind {
                Kind::Dash => token.column >= column,
                Kind::Key(_) => token.column > column,
                Kind::Scalar { .. } | Kind::NoItems | Kind::NoKeys => true,
            });
            let value = if inside { self.block()? } else { Node { line, data: Data::Null } };
            entries.push(Entry { key: key.into(), style: Style::Plain, line, value });
        }
        Some(Data::Map(entries))
    }
}

fn value(kind: Kind<'_>, line: u32) -> Option<Data> {
    match kind {
        Kind::Scalar { text, style } => Some(scalar(text, style, line).data),
        Kind::NoItems => Some(Data::List(Vec::new())),
        Kind::NoKeys => Some(Data::Map(Vec::new())),
        Kind::Dash | Kind::Key(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::read::fully;

    /// What is read quickly is what is read fully.
    fn agrees(text: &str) -> bool {
        let quick = read(text, Limits::default());
        if let Some(quick) = &quick {
            let documents = fully(text, Limits::default(), false).expect("what is read quickly can be read");
            assert_eq!(documents.iter().map(|document| &document.root).collect::<Vec<_>>(), [quick], "{text}");
        }
        quick.is_some()
    }

    #[test]
    fn documents_as_they_are_printed_are_read() {
        assert!(agrees(
            "# all\ninterfaces:\n- name: eth0\n  mtu: 1500\n  mac-address: 02:00:00:00:00:01\n  ipv6:\n    enabled: true\n    address:\n      - ip: fd00::1\n        prefix-length: 64\n    neighbors: []\n\n  description: 'two words: one # two'\n  alias:\n- name: \"x\"\nroutes:\n  config:\n  - destination: 10.0.0.0/8\n"
        ));
    }

    #[test]
    fn what_is_unusual_is_left_to_the_full_reader() {
        for text in [
            "",
            "a",
            "---\na: 1",
            "a: &x 1",
            "a: *x",
            "a: !!str 1",
            "a: |\n  x",
            "a: x\n  y",
            "a: x\n  y: 1",
            "a: 1 # one",
            "a: {b: 1}",
            "a: 'it''s'",
            "a:\n    b: 1\n  c: 2",
            "- a\n  - b",
            "-\n  a: 1",
            "a: ~",
            "null: 1",
            "a: 1\r\n",
            "a:\tb",
            "a: b: c",
            "a: 1\n- b",
            "a: \u{e4}",
        ] {
            assert!(read(text, Limits::default()).is_none(), "{text:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn lines_are_read_as_the_full_reader_reads_them(
            lines in prop::collection::vec(
                (0usize..5, "(- ){0,2}", "(a|bb|c-d|e.1|null|true)?", "(:|: |:  )?", "(x|10\\.0\\.0\\.1/8|fd00::1|true|null|''|'q: 1'|\"q\"|\\[\\]|\\{\\}|x y|-1|# c)?"),
                0..8,
            )
        ) {
            let text: Vec<String> =
                lines.iter().map(|(indent, a, b, c, d)| format!("{}{a}{b}{c}{d}", " ".repeat(*indent))).collect();
            agrees(&text.join("\n"));
        }

        #[test]
        fn any_text_is_read_as_the_full_reader_reads_it(text in "[ab1:'\"#, \n\\[\\]{}-]{0,24}") {
            agrees(&text);
        }
    }
}
