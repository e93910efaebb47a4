//! How large a quantity may be before the library is asked about it.
//!
//! The library brings two quantities to one scale by multiplying, in 128 bits and without looking. With
//! at most [`DIGITS`] digits before the point and [`FRACTION`] behind it, no sum or comparison of a
//! rule leaves them. Kubernetes has no such limit; a hundred exbibytes are not compared here.

/// The most digits of a whole quantity: `9Ei` has 20.
const DIGITS: i64 = 20;
/// The most digits of a fraction: `1n` has 9.
const FRACTION: i64 = 15;

/// Suffixes with the power of ten that they stand for, or the digits of their power of two.
const SUFFIXES: [(&str, i64, i64); 16] = [
    ("Ki", 0, 4),
    ("Mi", 0, 7),
    ("Gi", 0, 10),
    ("Ti", 0, 13),
    ("Pi", 0, 16),
    ("Ei", 0, 19),
    ("n", -9, 0),
    ("u", -6, 0),
    ("m", -3, 0),
    ("", 0, 0),
    ("k", 3, 0),
    ("M", 6, 0),
    ("G", 9, 0),
    ("T", 12, 0),
    ("P", 15, 0),
    ("E", 18, 0),
];

/// Whether the library can handle a quantity. What is no quantity at all is left to the library.
pub(crate) fn is_handled(text: &str) -> bool {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '-' | '+')).unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let length = |text: &str| i64::try_from(text.len()).unwrap_or(i64::MAX);
    let whole = length(whole.trim_start_matches(['+', '-', '0']));
    let (power, binary) = match SUFFIXES.iter().find(|(known, _, _)| *known == suffix) {
        Some((_, power, binary)) => (*power, *binary),
        None => match suffix.strip_prefix(['e', 'E']).map(str::parse::<i32>) {
            Some(Ok(power)) => (i64::from(power), 0),
            Some(Err(_)) => return false,
            None => return true,
        },
    };
    let digits = whole.saturating_add(length(fraction)).saturating_add(binary);
    digits.saturating_add(power.max(0)) <= DIGITS && length(fraction).saturating_sub(power) <= FRACTION
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_is_handled() {
        for text in ["1", "0.5", "100m", "9Ei", "1500Pi", "1e18", "-3k", "1n", "0.000001", "x", "", "+1.5Gi"] {
            assert!(is_handled(text), "{text}");
        }
        for text in
            ["9e99", "1e-99", "100Ei", "1e2147483647", "0.1e-2147483648", "1e99999999999", "123456789012345678901"]
        {
            assert!(!is_handled(text), "{text}");
        }
    }
}
