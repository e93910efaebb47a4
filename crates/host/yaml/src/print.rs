//! Prints values as YAML, in one form only, so that a text differs when something does: two spaces, block style, keys in
//! the order of the value, quotes wherever a reader of YAML 1.1 or 1.2 could take a text for something else.

use std::borrow::Cow;

use serde_json::Value;

/// A value that can be printed.
pub trait Printable: Sized {
    /// What it is.
    fn view(&self) -> View<'_, Self>;
}

/// A value as the printer sees it.
#[derive(Debug)]
pub enum View<'a, V> {
    /// What is printed as it is: nothing, booleans and numbers.
    Bare(Cow<'a, str>),
    /// A text, put into quotes where it needs them.
    Text(&'a str),
    /// Items in their order.
    List(Vec<&'a V>),
    /// Keys and values in their order.
    Map(Vec<(&'a str, &'a V)>),
}

impl Printable for Value {
    fn view(&self) -> View<'_, Self> {
        match self {
            Self::Null => View::Bare("null".into()),
            Self::Bool(value) => View::Bare(value.to_string().into()),
            Self::Number(value) => View::Bare(value.to_string().into()),
            Self::String(text) => View::Text(text),
            Self::Array(items) => View::List(items.iter().collect()),
            Self::Object(fields) => View::Map(fields.iter().map(|(key, value)| (key.as_str(), value)).collect()),
        }
    }
}

/// The value as a YAML text that ends in a line break.
pub fn print<V: Printable>(value: &V) -> String {
    let mut out = String::new();
    block(&mut out, value.view(), 0);
    out
}

/// Several values as one stream.
pub fn print_stream<'a, V: Printable + 'a>(values: impl IntoIterator<Item = &'a V>) -> String {
    values.into_iter().map(print).collect::<Vec<_>>().join("---\n")
}

/// A value where a line of it has begun already.
fn block<V: Printable>(out: &mut String, value: View<'_, V>, depth: usize) {
    match value {
        View::Map(entries) if !entries.is_empty() => map(out, entries, depth),
        View::List(items) if !items.is_empty() => list(out, items, depth),
        View::Bare(_) | View::Text(_) | View::List(_) | View::Map(_) => {
            inline(out, &value);
            out.push('\n');
        }
    }
}

fn map<V: Printable>(out: &mut String, entries: Vec<(&str, &V)>, depth: usize) {
    for (i, (key, value)) in entries.into_iter().enumerate() {
        if i > 0 {
            indent(out, depth);
        }
        text(out, key);
        out.push(':');
        let value = value.view();
        match &value {
            View::Map(entries) if !entries.is_empty() => {
                out.push('\n');
                indent(out, depth + 1);
                block(out, value, depth + 1);
            }
            View::List(items) if !items.is_empty() => {
                out.push('\n');
                indent(out, depth);
                block(out, value, depth);
            }
            View::Bare(_) | View::Text(_) | View::List(_) | View::Map(_) => {
                out.push(' ');
                block(out, value, depth);
            }
        }
    }
}

fn list<V: Printable>(out: &mut String, items: Vec<&V>, depth: usize) {
    for (i, item) in items.into_iter().enumerate() {
        if i > 0 {
            indent(out, depth);
        }
        out.push_str("- ");
        block(out, item.view(), depth + 1);
    }
}

fn indent(out: &mut String, depth: usize) {
    out.extend(std::iter::repeat_n("  ", depth));
}

fn inline<V>(out: &mut String, value: &View<'_, V>) {
    match value {
        View::Bare(value) => out.push_str(value),
        View::Text(value) => text(out, value),
        View::List(_) => out.push_str("[]"),
        View::Map(_) => out.push_str("{}"),
    }
}

fn text(out: &mut String, text: &str) {
    if is_plain(text) { out.push_str(text) } else { quote(out, text) }
}

/// Whether the text means itself without quotes, to readers of YAML 1.1 too.
fn is_plain(text: &str) -> bool {
    let word = text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_./+%: @()<>=,;'".contains(&b));
    let ends =
        text.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric() || b == b'/') && !text.ends_with([':', ' ']);
    word && ends && !text.contains(": ") && !is_reserved(text) && !looks_numeric(text)
}

fn is_reserved(text: &str) -> bool {
    ["true", "false", "yes", "no", "on", "off", "y", "n", "null"].iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// Numbers, dates and times of day, in any base that some reader of YAML knows. IPv4 addresses are none of these.
fn looks_numeric(text: &str) -> bool {
    let digits = text.replace('_', "");
    digits.parse::<f64>().is_ok()
        || ["0x", "0o", "0b"].iter().any(|base| digits.starts_with(base))
        || text.starts_with(|c: char| c.is_ascii_digit())
            && text.contains([':', '-', ' '])
            && digits.bytes().all(|b| b.is_ascii_digit() || b":-. TZ+".contains(&b))
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
                let escaped = format!("\\u{:04x}", u32::from(c));
                out.push_str(&escaped);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::{Data, Limits, Node, Style, first};

    /// The value of what was read, with the types of JSON.
    fn value(node: &Node) -> Value {
        match &node.data {
            Data::Null => Value::Null,
            Data::Scalar { text, style: Style::Plain } => {
                serde_json::from_str(text).unwrap_or_else(|_| Value::from(&**text))
            }
            Data::Scalar { text, .. } => Value::from(&**text),
            Data::List(items) => items.iter().map(value).collect(),
            Data::Map(entries) => entries.iter().map(|e| (e.key.to_string(), value(&e.value))).collect(),
        }
    }

    fn values() -> impl Strategy<Value = Value> {
        let words = prop_oneof![
            "[ -~]{0,12}",
            "\\PC{0,8}",
            Just("yes".to_owned()),
            Just("0x10".to_owned()),
            Just("2026-01-01".to_owned()),
            Just("12:30".to_owned()),
            Just("fd00::".to_owned()),
            Just("a: b".to_owned()),
            Just("a #b".to_owned()),
            Just("1_000".to_owned()),
            Just("line\nbreak\u{85}".to_owned()),
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            words.clone().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 5, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map(words.clone(), inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn what_is_printed_reads_back(wanted in values()) {
            for printed in [print(&wanted), format!("{wanted:#}")] {
                let text = crate::json_as_yaml(&printed);
                let read = first(&text, Limits::default()).unwrap_or_else(|e| panic!("{e:?}\n{printed}"));
                prop_assert_eq!(&read.map_or(Value::Null, |document| value(&document.root)), &wanted, "{}", printed);
            }
        }
    }

    #[test]
    fn nested_blocks_look_like_manifests() {
        let value =
            json!({"a": [{"b": 1, "c": ["x", "802.3ad"]}], "d": {}, "e": "no", "f": {"g": "1.5", "h": "10.0.0.0/8"}});
        let wanted = "a:\n- b: 1\n  c:\n  - x\n  - 802.3ad\nd: {}\ne: \"no\"\nf:\n  g: \"1.5\"\n  h: 10.0.0.0/8\n";
        assert_eq!(print(&value), wanted);
    }

    #[test]
    fn what_looks_like_a_number_or_a_time_is_quoted() {
        for (text, quoted) in [
            ("10.0.0.1", false),
            ("2001:db8::1", false),
            ("2001:10::5", true),
            ("02:00:00:00:00:01", true),
            ("2026-01-01T10:00:00Z", true),
            ("1e3", true),
            ("1.2.3", false),
            ("node 1", false),
        ] {
            assert_eq!(print(&Value::from(text)).starts_with('"'), quoted, "{text}");
        }
    }
}
