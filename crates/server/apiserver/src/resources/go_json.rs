//! Why a text is not JSON, as Go tells it.
//!
//! Only for texts that were refused already: it walks over them once more to find the words.

/// How deep Go reads.
const DEEPEST: usize = 10_000;

/// What is expected next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Value,
    FirstKey,
    Key,
    Colon,
    FirstItem,
    AfterKeyValue,
    AfterItem,
    End,
}

/// The words for the first thing that is wrong; none when nothing is.
pub(crate) fn error(bytes: &[u8]) -> Option<String> {
    let mut stack: Vec<u8> = Vec::new();
    let (mut state, mut at) = (State::Value, 0);
    loop {
        while bytes.get(at).is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')) {
            at += 1;
        }
        let Some(&byte) = bytes.get(at) else {
            return (state != State::End).then(|| "unexpected end of JSON input".to_owned());
        };
        let after = match stack.last() {
            None => State::End,
            Some(b'{') => State::AfterKeyValue,
            Some(_) => State::AfterItem,
        };
        match (state, byte) {
            (State::Value | State::FirstItem, b'{' | b'[') => {
                stack.push(byte);
                if stack.len() > DEEPEST {
                    return Some(format!("invalid character {} exceeded max depth", quoted(byte)));
                }
                state = if byte == b'{' { State::FirstKey } else { State::FirstItem };
                at += 1;
            }
            (State::FirstKey | State::AfterKeyValue, b'}') | (State::FirstItem | State::AfterItem, b']') => {
                stack.pop();
                state = match stack.last() {
                    None => State::End,
                    Some(b'{') => State::AfterKeyValue,
                    Some(_) => State::AfterItem,
                };
                at += 1;
            }
            (State::FirstKey | State::Key, b'"') => match string(bytes, at) {
                Ok(next) => (state, at) = (State::Colon, next),
                Err(why) => return Some(why),
            },
            (State::AfterKeyValue, b',') => (state, at) = (State::Key, at + 1),
            (State::Colon, b':') | (State::AfterItem, b',') => (state, at) = (State::Value, at + 1),
            (State::Value | State::FirstItem, _) => match scalar(bytes, at) {
                Ok(next) => (state, at) = (after, next),
                Err(why) => return Some(why),
            },
            (state, byte) => return Some(format!("invalid character {} {}", quoted(byte), place(state))),
        }
    }
}

fn place(state: State) -> &'static str {
    match state {
        State::Value | State::FirstItem => "looking for beginning of value",
        State::FirstKey | State::Key => "looking for beginning of object key string",
        State::Colon => "after object key",
        State::AfterKeyValue => "after object key:value pair",
        State::AfterItem => "after array element",
        State::End => "after top-level value",
    }
}

fn scalar(bytes: &[u8], at: usize) -> Result<usize, String> {
    match bytes[at] {
        b'"' => string(bytes, at),
        b't' => literal(bytes, at, "true"),
        b'f' => literal(bytes, at, "false"),
        b'n' => literal(bytes, at, "null"),
        b'-' | b'0'..=b'9' => number(bytes, at),
        other => Err(format!("invalid character {} looking for beginning of value", quoted(other))),
    }
}

fn literal(bytes: &[u8], at: usize, word: &str) -> Result<usize, String> {
    for (offset, expected) in word.bytes().enumerate().skip(1) {
        match bytes.get(at + offset) {
            None => return Err("unexpected end of JSON input".into()),
            Some(&found) if found != expected => {
                return Err(format!(
                    "invalid character {} in literal {word} (expecting {})",
                    quoted(found),
                    quoted(expected)
                ));
            }
            Some(_) => {}
        }
    }
    Ok(at + word.len())
}

fn number(bytes: &[u8], at: usize) -> Result<usize, String> {
    let digits = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let need = |at: usize, place: &str| match bytes.get(at) {
        None => Err("unexpected end of JSON input".to_owned()),
        Some(byte) if byte.is_ascii_digit() => Ok(()),
        Some(&byte) => Err(format!("invalid character {} {place}", quoted(byte))),
    };
    let mut end = at;
    if bytes[end] == b'-' {
        end += 1;
        need(end, "in numeric literal")?;
    }
    end = if bytes[end] == b'0' { end + 1 } else { digits(end) };
    if bytes.get(end) == Some(&b'.') {
        need(end + 1, "after decimal point in numeric literal")?;
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        end += 1;
        if matches!(bytes.get(end), Some(b'+' | b'-')) {
            end += 1;
        }
        need(end, "in exponent of numeric literal")?;
        end = digits(end);
    }
    Ok(end)
}

fn string(bytes: &[u8], at: usize) -> Result<usize, String> {
    let mut end = at + 1;
    loop {
        match bytes.get(end) {
            None => return Err("unexpected end of JSON input".into()),
            Some(b'"') => return Ok(end + 1),
            Some(b'\\') => match bytes.get(end + 1) {
                None => return Err("unexpected end of JSON input".into()),
                Some(b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"') => end += 2,
                Some(b'u') => {
                    for offset in 2..6 {
                        match bytes.get(end + offset) {
                            None => return Err("unexpected end of JSON input".into()),
                            Some(byte) if byte.is_ascii_hexdigit() => {}
                            Some(&byte) => {
                                return Err(format!(
                                    "invalid character {} in \\u hexadecimal character escape",
                                    quoted(byte)
                                ));
                            }
                        }
                    }
                    end += 6;
                }
                Some(&byte) => return Err(format!("invalid character {} in string escape code", quoted(byte))),
            },
            Some(&byte) if byte < 0x20 => {
                return Err(format!("invalid character {} in string literal", quoted(byte)));
            }
            Some(_) => end += 1,
        }
    }
}

/// A byte as Go quotes a character.
fn quoted(byte: u8) -> String {
    match byte {
        b'\'' => "'\\''".into(),
        b'"' => "'\"'".into(),
        b'\n' => "'\\n'".into(),
        b'\r' => "'\\r'".into(),
        b'\t' => "'\\t'".into(),
        0..0x20 | 0x7f => format!("'\\x{byte:02x}'"),
        0x80..0xa0 | 0xad => format!("'\\u{:04x}'", u32::from(byte)),
        other => format!("'{}'", char::from(other)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_wrong_character_is_named() {
        let table = [
            ("this", Some("invalid character 'h' in literal true (expecting 'r')")),
            ("{\"a\":1", Some("unexpected end of JSON input")),
            ("{} x", Some("invalid character 'x' after top-level value")),
            ("{a:1}", Some("invalid character 'a' looking for beginning of object key string")),
            ("[1 2]", Some("invalid character '2' after array element")),
            ("{\"a\" 1}", Some("invalid character '1' after object key")),
            ("", Some("unexpected end of JSON input")),
            ("{\"a\": [1, 2.5e3, true, null, \"x\\u00e9\"]}", None),
        ];
        for (text, expected) in table {
            assert_eq!(error(text.as_bytes()).as_deref(), expected, "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        #[test]
        fn any_bytes_are_walked_over(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = error(&bytes);
        }
    }
}
