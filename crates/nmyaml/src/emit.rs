//! Prints values as YAML, in one form only: two spaces, block style, quotes where YAML 1.1 or 1.2
//! would take a text for something else.

use crate::raw::Raw;

/// The value as a YAML text that ends in a line break.
pub(crate) fn yaml(value: &Raw) -> String {
    let mut out = String::new();
    match value {
        Raw::Map(entries) if !entries.is_empty() => map(&mut out, entries, 0),
        Raw::List(items) if !items.is_empty() => list(&mut out, items, 0),
        scalar => {
            inline(&mut out, scalar);
            out.push('\n');
        }
    }
    out
}

fn map(out: &mut String, entries: &[(Box<str>, Raw)], depth: usize) {
    for (i, (key, value)) in entries.iter().enumerate() {
        if i > 0 {
            indent(out, depth);
        }
        text(out, key);
        out.push(':');
        nested(out, value, depth);
    }
}

/// The value of a key, on the same line when it fits there.
fn nested(out: &mut String, value: &Raw, depth: usize) {
    match value {
        Raw::Map(entries) if !entries.is_empty() => {
            out.push('\n');
            indent(out, depth + 1);
            map(out, entries, depth + 1);
        }
        Raw::List(items) if !items.is_empty() => {
            out.push('\n');
            indent(out, depth);
            list(out, items, depth);
        }
        scalar => {
            out.push(' ');
            inline(out, scalar);
            out.push('\n');
        }
    }
}

fn list(out: &mut String, items: &[Raw], depth: usize) {
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            indent(out, depth);
        }
        out.push_str("- ");
        match item {
            Raw::Map(entries) if !entries.is_empty() => map(out, entries, depth + 1),
            Raw::List(items) if !items.is_empty() => list(out, items, depth + 1),
            scalar => {
                inline(out, scalar);
                out.push('\n');
            }
        }
    }
}

fn indent(out: &mut String, depth: usize) {
    out.extend(std::iter::repeat_n("  ", depth));
}

fn inline(out: &mut String, value: &Raw) {
    match value {
        Raw::Null => out.push_str("null"),
        Raw::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Raw::Int(value) => out.push_str(&value.to_string()),
        Raw::Text(value) => text(out, value),
        Raw::List(_) => out.push_str("[]"),
        Raw::Map(_) => out.push_str("{}"),
    }
}

fn text(out: &mut String, text: &str) {
    if is_plain(text) { out.push_str(text) } else { quote(out, text) }
}

/// Whether the text means itself without quotes, to readers of YAML 1.1 too.
fn is_plain(text: &str) -> bool {
    let word = text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_./+%: @".contains(&b));
    let ends =
        text.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric() || b == b'/') && !text.ends_with([':', ' ']);
    word && ends && !text.contains(": ") && !is_reserved(text) && !looks_numeric(text)
}

fn is_reserved(text: &str) -> bool {
    ["true", "false", "yes", "no", "on", "off", "y", "n", "null"].iter().any(|word| text.eq_ignore_ascii_case(word))
}

fn looks_numeric(text: &str) -> bool {
    let digits = text.replace('_', "");
    digits.parse::<f64>().is_ok()
        || digits.starts_with("0x")
        || digits.starts_with("0o")
        || digits.starts_with("0b")
        || digits.bytes().all(|b| b.is_ascii_digit() || b == b':' || b == b'-' || b == b' ')
}

fn quote(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}') => {
                escape(out, c);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

fn escape(out: &mut String, c: char) {
    let escaped = format!("\\u{:04x}", u32::from(c));
    out.push_str(&escaped);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tree;

    fn raws() -> impl Strategy<Value = Raw> {
        let words = prop_oneof![
            "[ -~]{0,12}",
            "\\PC{0,8}",
            Just("yes".to_owned()),
            Just("0x10".to_owned()),
            Just("12:30".to_owned()),
            Just("fd00::".to_owned()),
            Just("a: b".to_owned()),
            Just("line\nbreak\u{85}".to_owned()),
        ];
        let leaf = prop_oneof![
            Just(Raw::Null),
            any::<bool>().prop_map(Raw::Bool),
            any::<i64>().prop_map(|n| Raw::Int(n.into())),
            words.clone().prop_map(|t| Raw::Text(t.into())),
        ];
        leaf.prop_recursive(4, 40, 5, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Raw::List),
                prop::collection::btree_map(words.clone(), inner, 0..5)
                    .prop_map(|m| Raw::Map(m.into_iter().map(|(k, v)| (k.into(), v)).collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn what_is_printed_reads_back(value in raws()) {
            let printed = yaml(&value);
            let read = tree::read(printed.as_bytes()).unwrap_or_else(|e| panic!("{e:?}\n{printed}"));
            prop_assert_eq!(read.map_or(Raw::Null, |node| Raw::of(&node)), value.clone(), "{}", printed);
            let json = serde_json::to_string_pretty(&value).unwrap();
            let read = tree::read(json.as_bytes()).unwrap_or_else(|e| panic!("{e:?}\n{json}"));
            prop_assert_eq!(read.map_or(Raw::Null, |node| Raw::of(&node)), value, "{}", json);
        }
    }
}
