//! Values as text, the way the Go programs of Kubernetes print them.
//!
//! Error messages, table cells and rule messages quote values. Clients compare those texts, so quoting,
//! numbers and JSON follow Go's forms here and nowhere else.

use serde_json::Value;

/// A text in double quotes, with Go's escapes.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            '\'' => out.push('\''),
            c if u32::from(c) < 0x20 || c == '\u{7f}' => out.push_str(&hex(c)),
            c if !is_printable(c) => out.push_str(&escaped(c)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Whether a character is shown as itself. What Rust would escape is what Go takes for unprintable.
pub fn is_printable(c: char) -> bool {
    matches!(c, '\'' | '"' | '\\') || c.escape_debug().len() == 1
}

fn hex(c: char) -> String {
    format!("\\x{:02x}", u32::from(c))
}

fn escaped(c: char) -> String {
    let code = u32::from(c);
    if code <= 0xffff { format!("\\u{code:04x}") } else { format!("\\U{code:08x}") }
}

/// A number as Go's `%v` prints it: with an exponent below 1e-4 and from 1e6 on.
pub fn float(value: f64) -> String {
    if value == 0.0 || (1e-4..1e6).contains(&value.abs()) || !value.is_finite() {
        return format!("{value}");
    }
    exponential(value)
}

fn exponential(value: f64) -> String {
    let text = format!("{value:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
    format!("{digits}e{sign}{exponent:0>2}")
}

/// The value of an error message: texts quoted, numbers plain, the rest as JSON.
pub fn bad_value(value: &Value) -> String {
    match value {
        Value::String(text) => quote(text),
        Value::Number(number) => {
            if number.is_f64() {
                number.as_f64().map_or_else(|| number.to_string(), float)
            } else {
                number.to_string()
            }
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => json(value),
    }
}

/// A value as Go writes JSON: keys in order, no spaces, `<`, `>` and `&` escaped.
pub fn json(value: &Value) -> String {
    let mut out = String::new();
    write_json(value, &mut out);
    out
}

fn write_json(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(value) => out.push_str(&json_float(value)),
            None => out.push_str(&number.to_string()),
        },
        Value::String(text) => json_text(text, out),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_json(item, out);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort();
            out.push('{');
            for (i, name) in names.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                json_text(name, out);
                out.push(':');
                write_json(&fields[name], out);
            }
            out.push('}');
        }
    }
}

/// Go's JSON writer uses exponents only below 1e-6 and from 1e21 on, and drops the zero before a digit.
fn json_float(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || (1e-6..1e21).contains(&size) {
        return format!("{value}");
    }
    exponential(value).replace("e-0", "e-")
}

fn json_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => out.push_str(&escaped(c)),
            c if u32::from(c) < 0x20 => out.push_str(&escaped(c)),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// A value as Go's `%v` prints it: lists as `[a b]`, maps as `map[k:v]`, texts bare.
pub fn plain(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => bad_value(value),
        Value::Array(items) => format!("[{}]", items.iter().map(plain).collect::<Vec<_>>().join(" ")),
        Value::Object(fields) => {
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort();
            let pairs: Vec<String> = names.into_iter().map(|n| format!("{n}:{}", plain(&fields[n]))).collect();
            format!("map[{}]", pairs.join(" "))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn floats_have_the_shortest_form() {
        let table = [
            (0.5, "0.5"),
            (1.0, "1"),
            (100_000.0, "100000"),
            (1e6, "1e+06"),
            (1.5e21, "1.5e+21"),
            (1e-5, "1e-05"),
            (-2.5e-7, "-2.5e-07"),
        ];
        for (value, text) in table {
            assert_eq!(float(value), text);
        }
        assert_eq!(json(&json!(1e-7)), "1e-7");
        assert_eq!(json(&json!(1e-5)), "0.00001");
    }

    #[test]
    fn quotes_escape_what_cannot_be_seen() {
        assert_eq!(quote("a\u{1}\u{200b}é'\"\n"), "\"a\\x01\\u200bé'\\\"\\n\"");
    }

    #[test]
    fn plain_text_of_lists_and_maps() {
        assert_eq!(plain(&json!(["a", 1, {"b": null}])), "[a 1 map[b:<nil>]]");
    }
}
