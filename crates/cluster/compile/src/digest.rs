//! Short names for contents: SHA-256, in hexadecimal.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// The SHA-256 of a text.
pub fn of_text(text: &str) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digest: [u8; 32] = Sha256::digest(text.as_bytes()).into();
    let digit = |four: u8| char::from(DIGITS[usize::from(four)]);
    digest.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// The first twelve digits of the SHA-256 of a value; enough to tell the entries of one node apart.
pub(crate) fn short(value: &Value) -> String {
    let mut text = of_text(&value.to_string());
    text.truncate(12);
    text
}

/// The first eight bytes of the SHA-256 of a value, as a number: a key for what was made from it.
pub(crate) fn number(value: &Value) -> u64 {
    let digest: [u8; 32] = Sha256::digest(value.to_string().as_bytes()).into();
    digest.iter().take(8).fold(0, |number, byte| (number << 8) | u64::from(*byte))
}

/// The first sixteen digits of a SHA-256 as a number.
pub(crate) fn number_of(digits: &str) -> u64 {
    digits.get(..16).and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_order_of_keys_does_not_count() {
        let (a, b) = (json!({"x": 1, "y": [2]}), serde_json::from_str(r#"{"y":[2],"x":1}"#).unwrap());
        assert_eq!(short(&a), short(&b));
        assert_eq!(of_text("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
