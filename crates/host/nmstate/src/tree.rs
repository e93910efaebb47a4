//! The text of a document as one tree: what YAML allows and a document of a host does not is refused here.
//!
//! Repeated keys, tags, several documents in one text and other encodings than UTF-8 are mistakes of a person; each
//! refusal says what to do.

use std::borrow::Cow;

use netloom_yaml::{Data, Document, Error, Limits, Node, Style, is_null};

use crate::errors::{OBJECT, Refusal, reason};

/// The largest document, in bytes: 50 000 routes with all properties take less than 10 MiB.
pub const MAX_BYTES: usize = 16 << 20;
/// The format itself needs nine levels, and the largest honest document has about a million values.
const LIMITS: Limits = Limits { depth: 64, values: 2_000_000 };

/// Reads the one document in `bytes`; `None` when there is nothing in it.
pub(crate) fn read(bytes: &[u8]) -> Result<Option<Node>, Refusal> {
    let text = text(bytes)?;
    let documents = netloom_yaml::documents(&text, LIMITS).map_err(refused)?;
    if let [first, second, ..] = &documents[..] {
        let message = if is_object(&first.root) {
            OBJECT
        } else {
            "a second document starts here; one file holds one document: split the file"
        };
        return Err(refusal(second.line, reason::SEVERAL_DOCUMENTS, message));
    }
    let Some(Document { root, odd_tag, .. }) = documents.into_iter().next() else { return Ok(None) };
    if let Some((line, tag)) = odd_tag {
        return Err(refusal(line, reason::NOT_YAML, format!("the tag !{tag} means nothing here; remove it")));
    }
    check_keys(&root)?;
    Ok(Some(root).filter(|root| root.data != Data::Null))
}

/// What a person would call the value, for messages.
pub(crate) fn found(node: &Node) -> String {
    match &node.data {
        Data::Null => "nothing".to_owned(),
        Data::Scalar { text, style: Style::Quoted } => format!("{text:?}"),
        Data::Scalar { text, style: Style::Plain | Style::Tagged(_) } => text.to_string(),
        Data::List(items) => format!("a list of {}", items.len()),
        Data::Map(entries) => format!("a block of {} keys", entries.len()),
    }
}

/// The name that the entry of a link has which `path` leads into, such as that of `interfaces[3].vlan.id`.
///
/// `*` stands for many links, so it is nobody's name.
pub(crate) fn link_at<'a>(root: &'a Node, path: &str) -> Option<&'a str> {
    let (index, _) = path.strip_prefix("interfaces[")?.split_once(']')?;
    let Data::List(links) = &root.child("interfaces")?.data else { return None };
    let Data::Scalar { text, .. } = &links.get(index.parse::<usize>().ok()?)?.child("name")?.data else {
        return None;
    };
    Some(text).map(|text| &**text).filter(|name| !name.is_empty() && *name != "*")
}

fn refusal(line: u32, reason: &'static str, message: impl Into<String>) -> Refusal {
    Refusal { path: String::new(), line, reason, message: message.into() }
}

fn refused(error: Error) -> Refusal {
    match error {
        Error::NotUtf8 { line, .. } => refusal(line, reason::NOT_UTF8, "not UTF-8"),
        Error::Control { at, line, byte } => {
            let message = format!("byte {at} is the control character 0x{byte:02x}, which YAML does not allow");
            refusal(line, reason::NOT_YAML, message)
        }
        Error::Syntax { line, column, what } => {
            refusal(line, reason::NOT_YAML, format!("neither YAML nor JSON: {what} (column {column})"))
        }
        Error::Shape { line, what } => refusal(line, reason::NOT_YAML, format!("{what}; write the value out")),
        Error::TooDeep { line, limit } => refusal(line, reason::TOO_DEEP, format!("nested deeper than {limit} levels")),
        Error::TooMany { line, limit } => {
            let message = format!(
                "more than {limit} values, aliases counted as often as they are used: split the document or write aliases out"
            );
            refusal(line, reason::TOO_MANY_VALUES, message)
        }
    }
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
    let text = netloom_yaml::text(bytes).map_err(|error| match error {
        Error::NotUtf8 { at, line } => {
            let message = format!(
                "byte {at} (0x{:02x}) is not UTF-8; the document looks like Latin-1, Windows-1252 or no text at all: save it as UTF-8",
                bytes[at]
            );
            refusal(line, reason::NOT_UTF8, message)
        }
        other => refused(other),
    })?;
    Ok(netloom_yaml::json_as_yaml(text))
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

/// Whether the text is an object of a cluster.
fn is_object(node: &Node) -> bool {
    ["apiVersion", "kind"].iter().all(|key| node.child(key).is_some())
}

/// Keys are words, and each is there once.
fn check_keys(node: &Node) -> Result<(), Refusal> {
    match &node.data {
        Data::Null | Data::Scalar { .. } => Ok(()),
        Data::List(items) => items.iter().try_for_each(check_keys),
        Data::Map(entries) => {
            if let Some(entry) = entries.iter().find(|entry| entry.style == Style::Plain && is_null(&entry.key)) {
                return Err(refusal(entry.line, reason::NOT_YAML, "an empty key; keys are plain words"));
            }
            let mut sorted: Vec<_> = entries.iter().map(|entry| (&entry.key, entry.line)).collect();
            sorted.sort_unstable();
            if let Some([first, second]) = sorted.array_windows().find(|[first, second]| first.0 == second.0) {
                let message = format!("the key {:?} is already on line {}: keep one of them", first.0, first.1);
                return Err(refusal(second.1, reason::DUPLICATE_KEY, message));
            }
            entries.iter().try_for_each(|entry| check_keys(&entry.value))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason_of(text: &[u8]) -> &'static str {
        read(text).expect_err("refused").reason
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
            let line = format!("a{i}: &a{i} [{}]\n", format!("*a{}, ", i - 1).repeat(10));
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
        assert_eq!(reason_of(b"~: 1\n"), reason::NOT_YAML);
    }
}
