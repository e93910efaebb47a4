//! Regular expressions as Go understands them, on top of Rust's.
//!
//! Both are of the RE2 family. What differs, and is translated here: Go's `\d`, `\w`, `\s` and `\b`
//! know only ASCII; a `[` inside a class and a `{` that starts no repetition stand for themselves; and
//! Rust's class operators (`&&`, `--`, `~~`) are plain characters in Go.

use regex::{Regex, RegexBuilder};

/// A compiled pattern with the text that it came from.
#[derive(Debug, Clone)]
pub struct Pattern {
    source: String,
    compiled: Result<Regex, String>,
}

impl Pattern {
    /// Compiles a pattern. One that is wrong is kept with its error and matches nothing.
    pub fn new(source: &str) -> Self {
        // One megabyte of program is far beyond every honest pattern and keeps a hostile one small.
        let compiled = RegexBuilder::new(&translate(source)).size_limit(1 << 20).build().map_err(|e| short(&e));
        Self { source: source.to_owned(), compiled }
    }

    /// The text of the pattern.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Why the pattern is wrong, if it is.
    pub fn error(&self) -> Option<&str> {
        self.compiled.as_ref().err().map(String::as_str)
    }

    /// Whether the pattern occurs anywhere in the text.
    pub fn is_match(&self, text: &str) -> bool {
        self.compiled.as_ref().is_ok_and(|regex| regex.is_match(text))
    }
}

/// The last line of Rust's many-line error says what is wrong.
fn short(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default().trim();
    format!("error parsing regexp: {}", last.strip_prefix("error: ").unwrap_or(last))
}

/// A pattern of Go as a pattern of Rust.
pub(crate) fn translate(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    // Whether the next character is inside of a class, and whether it is its first.
    let mut class: Option<bool> = None;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let first = class == Some(true);
        if class.is_some() {
            class = Some(false);
        }
        let taken = match c {
            '\\' => escape(after, class.is_some(), &mut out),
            '[' if class.is_some() => class_bracket(after, &mut out),
            '[' => {
                class = Some(true);
                out.push('[');
                if let Some(rest) = after.strip_prefix('^') {
                    out.push('^');
                    after.len() - rest.len()
                } else {
                    0
                }
            }
            ']' if first => {
                out.push_str("\\]");
                0
            }
            ']' => {
                class = None;
                out.push(']');
                0
            }
            '&' | '~' if class.is_some() => {
                out.push('\\');
                out.push(c);
                0
            }
            '-' if class.is_some() && after.starts_with('-') => {
                out.push_str("\\-");
                0
            }
            '{' if class.is_none() && !starts_repetition(after) => {
                out.push_str("\\{");
                0
            }
            c => {
                out.push(c);
                0
            }
        };
        rest = &after[taken..];
    }
    out
}

/// A `[` inside of a class: the start of a named class, or itself. Returns how much was taken.
fn class_bracket(after: &str, out: &mut String) -> usize {
    if after.starts_with(':')
        && let Some(end) = after.find(":]")
        && end > 0
    {
        out.push('[');
        out.push_str(&after[..end + 2]);
        return end + 2;
    }
    out.push_str("\\[");
    0
}

/// What follows a backslash. Returns how much was taken.
fn escape(after: &str, in_class: bool, out: &mut String) -> usize {
    let Some(c) = after.chars().next() else {
        out.push('\\');
        return 0;
    };
    match c {
        'd' => out.push_str("[0-9]"),
        'D' => out.push_str("[^0-9]"),
        'w' => out.push_str("[0-9A-Za-z_]"),
        'W' => out.push_str("[^0-9A-Za-z_]"),
        's' => out.push_str("[\\t\\n\\f\\r ]"),
        'S' => out.push_str("[^\\t\\n\\f\\r ]"),
        'b' if !in_class => out.push_str("(?-u:\\b)"),
        'Q' => {
            let (quoted, taken) = match after[1..].find("\\E") {
                Some(end) => (&after[1..=end], end + 3),
                None => (&after[1..], after.len()),
            };
            out.push_str(&regex::escape(quoted));
            return taken;
        }
        c => {
            out.push('\\');
            out.push(c);
        }
    }
    c.len_utf8()
}

/// Whether `{` is followed by `n}`, `n,}` or `n,m}`.
fn starts_repetition(after: &str) -> bool {
    let Some((body, _)) = after.split_once('}') else { return false };
    let (low, high) = body.split_once(',').unwrap_or((body, ""));
    !low.is_empty() && low.bytes().chain(high.bytes()).all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn patterns_mean_what_they_mean_in_go() {
        let table = [
            (r"^\d+$", "12", "١٢"),
            (r"^\w$", "a", "é"),
            (r"^[\w-]+$", "a-b", "a b"),
            (r"^[^\s]$", "é", " "),
            (r"^{a}$", "{a}", "a"),
            (r"^a{2,3}$", "aa", "a"),
            (r"^[[a]$", "[", "b"),
            (r"^[]a]$", "]", "b"),
            (r"^[a&&b]+$", "a&b", "c"),
            (r"^[[:alpha:]_]+$", "a_b", "1"),
            (r"^\Qa.b\E$", "a.b", "axb"),
            (r"b", "abc", "ac"),
            (r"^a\/b$", "a/b", "ab"),
        ];
        for (pattern, good, bad) in table {
            let pattern = Pattern::new(pattern);
            assert_eq!(pattern.error(), None, "{}", pattern.source());
            assert!(pattern.is_match(good), "{} {good}", pattern.source());
            assert!(!pattern.is_match(bad), "{} {bad}", pattern.source());
        }
    }

    #[test]
    fn a_wrong_pattern_says_why() {
        assert_eq!(Pattern::new("(").error(), Some("error parsing regexp: unclosed group"));
        assert!(!Pattern::new("(").is_match("("));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn no_text_breaks_the_translation(text in "[\\\\\\[\\]a-cQEdw{}&~^:,-]{0,20}|.{0,10}") {
            let _ = Pattern::new(&text);
        }
    }
}
