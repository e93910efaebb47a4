//! Bytes to text, before anything is read in it.

use std::borrow::Cow;

use crate::Error;

/// The text of some bytes, without the mark that some editors put before it.
pub fn text(bytes: &[u8]) -> Result<&str, Error> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|e| {
        let at = e.valid_up_to();
        Error::NotUtf8 { at, line: line_at(bytes, at) }
    })?;
    // The scanner takes a zero byte for the end of the text and would drop the rest in silence.
    match bytes.iter().position(|b| *b < 0x20 && !matches!(b, b'\t' | b'\n' | b'\r')) {
        Some(at) => Err(Error::Control { at, line: line_at(bytes, at), byte: bytes[at] }),
        None => Ok(text),
    }
}

fn line_at(bytes: &[u8], at: usize) -> u32 {
    let lines = bytes[..at].split(|b| *b == b'\n').count();
    u32::try_from(lines).unwrap_or(u32::MAX)
}

/// Two things that JSON has and YAML has not: tabs as indentation, which become spaces, and
/// characters written as two escapes, which become themselves. Other texts stay as they are.
pub fn json_as_yaml(text: &str) -> Cow<'_, str> {
    let json = text.trim_start().starts_with(['{', '[']);
    if !json || !text.contains('\t') && !text.contains("\\ud") && !text.contains("\\uD") {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Data, Limits, Style, first};

    #[test]
    fn json_is_read_with_tabs_too() {
        let text = json_as_yaml("{\n\t\"a\": [1, true, \"x\\ty\"],\n\t\"b\": null\n}");
        let document = first(&text, Limits::default()).unwrap().unwrap();
        assert_eq!(document.root.line_of("b"), 3);
    }

    #[test]
    fn json_escapes_beyond_the_first_plane_are_read() {
        let text = json_as_yaml(r#"{"a": "\ud83d\ude00 \u00e4"}"#);
        let document = first(&text, Limits::default()).unwrap().unwrap();
        let Data::Map(entries) = &document.root.data else { panic!("a map") };
        assert_eq!(entries[0].value.data, Data::Scalar { text: "\u{1f600} \u{e4}".into(), style: Style::Quoted });
    }

    #[test]
    fn what_is_no_text_is_refused_with_its_place() {
        assert_eq!(text(b"\xef\xbb\xbfa: 1"), Ok("a: 1"));
        assert_eq!(text(b"a: 1\nb: caf\xe9\n"), Err(Error::NotUtf8 { at: 11, line: 2 }));
        assert_eq!(text(b"a: 1\n\0b: 2"), Err(Error::Control { at: 5, line: 2, byte: 0 }));
    }
}
