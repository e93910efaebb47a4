//! Patterns of lines, by words.
//!
//! A pattern is words with spaces between them. `*` is any one word that says which thing the line is about, `_` any one
//! word that is its value, and `...` any number of words of its value. What a line is about (its key) are the words of
//! the pattern without the value: two lines of one key are two values of one setting.

/// The key of the line by the first pattern that fits.
pub(crate) fn key(patterns: &[&str], line: &str) -> Option<String> {
    patterns.iter().find_map(|pattern| key_by(pattern, line))
}

/// Whether the pattern fits.
pub(crate) fn fits(pattern: &str, line: &str) -> bool {
    key_by(pattern, line).is_some()
}

/// The key of the line, if this pattern fits.
fn key_by(pattern: &str, line: &str) -> Option<String> {
    let mut key: Vec<&str> = Vec::new();
    let mut words = line.split(' ');
    for expected in pattern.split(' ') {
        if expected == "..." {
            return Some(key.join(" "));
        }
        let word = words.next()?;
        match expected {
            "*" => key.push(word),
            "_" => {}
            _ if expected == word => key.push(word),
            _ => return None,
        }
    }
    words.next().is_none().then(|| key.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_the_line_without_its_value() {
        for (pattern, line, expected) in [
            ("vni ...", "vni 5 prefix-routes-only", Some("vni")),
            ("neighbor * route-map _ *", "neighbor 1.1.1.1 route-map m in", Some("neighbor 1.1.1.1 route-map in")),
            ("neighbor * bfd ...", "neighbor 1.1.1.1 bfd", Some("neighbor 1.1.1.1 bfd")),
            ("neighbor * peer-group", "neighbor g peer-group x", None),
            ("neighbor * route-map _ *", "neighbor 1.1.1.1 route-map m", None),
            ("vni ...", "rd 5:5", None),
        ] {
            assert_eq!(key_by(pattern, line).as_deref(), expected, "{pattern}");
        }
    }
}
