//! What a YAML scalar without quotes means: the rules of YAML 1.1 as Kubernetes' reader has them.

use serde_json::Value;

use super::{number, unsigned};

/// A plain scalar. `None` for numbers that JSON cannot hold.
pub(super) fn plain(text: &str) -> Option<Value> {
    if let Some(value) = word(text) {
        return Some(value);
    }
    let float_only = text.starts_with('.');
    if !float_only && !text.starts_with(|c: char| c.is_ascii_digit() || c == '+' || c == '-') {
        return Some(Value::from(text));
    }
    if matches!(text.trim_start_matches(['+', '-']), ".inf" | ".Inf" | ".INF" | ".nan" | ".NaN" | ".NAN") {
        return None;
    }
    if is_date(text) {
        return Some(Value::from(text));
    }
    let digits: String = text.chars().filter(|c| *c != '_').collect();
    let value = if float_only { float(text) } else { integer(&digits).or_else(|| float(&digits)) };
    Some(value.unwrap_or_else(|| Value::from(text)))
}

fn word(text: &str) -> Option<Value> {
    Some(match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Value::Bool(true),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Value::Bool(false),
        _ => return None,
    })
}

/// Dates stay texts, also those that would otherwise be read as numbers with signs.
fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() > 4 && bytes[4] == b'-' && bytes[..4].iter().all(u8::is_ascii_digit)
}

fn integer(digits: &str) -> Option<Value> {
    let (negative, rest) = match digits.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, digits.strip_prefix('+').unwrap_or(digits)),
    };
    let lower = rest.to_ascii_lowercase();
    let (radix, body) = if let Some(body) = lower.strip_prefix("0x") {
        (16, body)
    } else if let Some(body) = lower.strip_prefix("0b") {
        (2, body)
    } else if let Some(body) = lower.strip_prefix("0o") {
        (8, body)
    } else if lower.len() > 1 && lower.starts_with('0') {
        (8, &lower[1..])
    } else {
        (10, lower.as_str())
    };
    // The standard reader would take a second sign.
    if !body.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return None;
    }
    let size = u64::from_str_radix(body, radix).ok()?;
    if negative {
        return i64::try_from(-i128::from(size)).ok().map(Value::from);
    }
    Some(Value::Number(unsigned(size)))
}

fn float(text: &str) -> Option<Value> {
    let well_formed = text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'));
    let has_digit = text.bytes().any(|b| b.is_ascii_digit());
    if !well_formed || !has_digit {
        return None;
    }
    text.parse::<f64>().ok().filter(|value| value.is_finite()).and_then(number).map(Value::Number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_numbers_and_texts() {
        let table = [
            ("y", json!(true)),
            ("No", json!(false)),
            ("off", json!(false)),
            ("yEs", json!("yEs")),
            ("~", json!(null)),
            ("", json!(null)),
            ("12", json!(12)),
            ("-12", json!(-12)),
            ("+12", json!(12)),
            ("1_000", json!(1000)),
            ("0x1F", json!(31)),
            ("0755", json!(493)),
            ("0o755", json!(493)),
            ("0b11", json!(3)),
            ("09", json!(9)),
            ("1.5", json!(1.5)),
            (".5", json!(0.5)),
            ("1e3", json!(1000)),
            ("1.0", json!(1)),
            ("18446744073709551615", json!(18_446_744_073_709_551_615.0)),
            ("2024-01-02", json!("2024-01-02")),
            ("2024-01-02T00:00:00Z", json!("2024-01-02T00:00:00Z")),
            ("10.0.0.1", json!("10.0.0.1")),
            ("1:30", json!("1:30")),
            ("-", json!("-")),
            ("+-1", json!("+-1")),
            ("e", json!("e")),
        ];
        for (text, value) in table {
            assert_eq!(plain(text), Some(value), "{text:?}");
        }
        assert_eq!(plain(".inf"), None);
        assert_eq!(plain("-.Inf"), None);
        assert_eq!(plain(".nan"), None);
    }
}
