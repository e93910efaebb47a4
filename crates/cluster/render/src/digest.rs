//! Short names and numbers that depend on what they stand for and on nothing else.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

fn number(text: &str) -> u32 {
    let digest: [u8; 32] = Sha256::digest(text.as_bytes()).into();
    u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]])
}

/// Eight hexadecimal digits.
pub(crate) fn short(text: &str) -> String {
    format!("{:08x}", number(text))
}

/// A number from `first` to `last` for each text: what one gets changes with another one only when both would get the
/// same. So of a list that is numbered in this way, what comes and goes is one entry.
pub(crate) fn numbers<'t>(texts: impl Iterator<Item = &'t str>, first: u32, last: u32) -> BTreeMap<&'t str, u32> {
    let mut texts: Vec<&str> = texts.collect();
    texts.sort_unstable();
    texts.dedup();
    let mut taken = std::collections::BTreeSet::new();
    let mut all = BTreeMap::new();
    for text in texts {
        let mut at = first + number(text) % (last - first).saturating_add(1).max(1);
        while !taken.insert(at) {
            at = if at == last { first } else { at + 1 };
        }
        all.insert(text, at);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_unique_and_stay() {
        let texts: Vec<String> = (0..100).map(|n| n.to_string()).collect();
        let all = numbers(texts.iter().map(String::as_str), 10, 109);
        assert_eq!(all.values().collect::<std::collections::BTreeSet<_>>().len(), 100);
        let wide = |n| numbers(texts[..n].iter().map(String::as_str), 1, u32::MAX);
        assert_eq!(wide(50), wide(100).into_iter().filter(|(text, _)| texts[..50].iter().any(|t| t == text)).collect());
    }
}
