//! Where a field stands in a text, for messages about it.

use saphyr_parser::{Event, Parser};

/// The line of the field `path` (`spec.ports[0].name`) in the document of a YAML or JSON text that starts at
/// `start`, or of the nearest field above it that the text has. A key of a map may stand in brackets too
/// (`spec.sizes[a]`). `None` for a text that is neither.
pub fn line_of(bytes: &[u8], start: usize, path: &str) -> Option<usize> {
    let text = std::str::from_utf8(bytes).ok()?;
    let path = &dotted(path);
    let mut search = Search { path, best: (0, start), open: Vec::new() };
    let mut inside = false;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.ok()?;
        let line = span.start.line();
        match event {
            Event::DocumentEnd if inside => break,
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentStart(_) | Event::DocumentEnd => {
                continue;
            }
            Event::Alias(_)
            | Event::Scalar(..)
            | Event::SequenceStart(..)
            | Event::SequenceEnd
            | Event::MappingStart(..)
            | Event::MappingEnd => {}
        }
        inside |= line >= start;
        if inside {
            search.take(&event, line);
        }
    }
    Some(search.best.1)
}

/// A path with a dot before each key that stood in brackets; numbers of items stay there.
fn dotted(path: &str) -> String {
    let mut parts = path.split('[');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |before, part| match part.split_once(']') {
        Some((key, rest)) if !key.chars().all(|c| c.is_ascii_digit()) => format!("{before}.{key}{rest}"),
        _ => format!("{before}[{part}"),
    })
}

struct Search<'a> {
    path: &'a str,
    /// The longest part of the path that was found, and its line.
    best: (usize, usize),
    /// What is open around the next value, outermost first.
    open: Vec<Open>,
}

/// A list or map, with the path of what comes next in it.
enum Open {
    List { path: String, next: usize },
    Map { path: String, key: Option<String> },
}

impl Search<'_> {
    fn take(&mut self, event: &Event<'_>, line: usize) {
        match event {
            Event::SequenceEnd | Event::MappingEnd => drop(self.open.pop()),
            Event::Scalar(text, ..) if self.expects_key() => self.key(text, line),
            Event::SequenceStart(..) => {
                let path = self.value(line);
                self.open.push(Open::List { path, next: 0 });
            }
            Event::MappingStart(..) => {
                let path = self.value(line);
                self.open.push(Open::Map { path, key: None });
            }
            Event::Scalar(..)
            | Event::Alias(_)
            | Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => drop(self.value(line)),
        }
    }

    fn expects_key(&self) -> bool {
        matches!(self.open.last(), Some(Open::Map { key: None, .. }))
    }

    /// A field is where its key is.
    fn key(&mut self, text: &str, line: usize) {
        let Some(Open::Map { path, key }) = self.open.last_mut() else { return };
        let place = if path.is_empty() { text.to_owned() } else { format!("{path}.{text}") };
        *key = Some(place.clone());
        self.seen(&place, line);
    }

    /// The path of the value that comes now.
    fn value(&mut self, line: usize) -> String {
        match self.open.last_mut() {
            None => String::new(),
            Some(Open::Map { key, .. }) => key.take().unwrap_or_default(),
            Some(Open::List { path, next }) => {
                *next += 1;
                let place = format!("{path}[{}]", *next - 1);
                self.seen(&place, line);
                place
            }
        }
    }

    fn seen(&mut self, place: &str, line: usize) {
        let rest = self.path.strip_prefix(place);
        let on_the_way = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
        if on_the_way && place.len() > self.best.0 {
            self.best = (place.len(), line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
kind: A
spec:
  ports:
  - name: a
    size: 1
  - name: b
    size: 2
---
# A second one.
kind: B
spec:
  ports: [{name: c}]
  portsize: 3
";

    #[test]
    fn a_field_is_found_or_the_nearest_one_above_it() {
        for (start, path, line) in [
            (1, "spec.ports[1].size", 7),
            (1, "spec.ports[1]", 6),
            (1, "spec.ports[2].size", 3),
            (1, "spec.ports[0].none.below", 4),
            (1, "metadata.name", 1),
            (10, "spec.ports[0].name", 12),
            (10, "spec.portsize", 13),
            (10, "spec.port", 11),
            (10, "", 10),
        ] {
            assert_eq!(line_of(TEXT.as_bytes(), start, path), Some(line), "{start} {path}");
        }
        assert_eq!(line_of(b"a: [", 1, "a"), None);
        assert_eq!(line_of(b"ips:\n  n1: x\n  n2.site: y\n", 1, "ips[n2.site]"), Some(3));
        assert_eq!(line_of(b"{\n \"a\": {\n  \"b\": 1}}", 1, "a.b"), Some(3));
    }
}
