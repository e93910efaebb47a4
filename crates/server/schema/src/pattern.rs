//! Regular expressions as Go understands them, on top of Rust's.
//!
//! Both are of the RE2 family. What differs, and is translated here: Go's `\d`, `\w`, `\s` and `\b`
//! know only ASCII; a `[` inside a class and a `{` that starts no repetition stand for themselves; and
//! Rust's class operators (`&&`, `--`, `~~`) are plain characters in Go.

use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};

/// A pattern, compiled when it is first needed: a server reads hundreds of definitions' patterns when it starts,
/// and few of them are ever matched.
#[derive(Debug, Clone)]
pub struct Pattern {
    source: String,
    compiled: OnceLock<Result<Regex, String>>,
}

impl Pattern {
    /// A pattern. One that is wrong is kept with its error and matches nothing.
    pub fn new(source: &str) -> Self {
        Self { source: source.to_owned(), compiled: OnceLock::new() }
    }

    fn compiled(&self) -> &Result<Regex, String> {
        self.compiled.get_or_init(|| compile(&self.source))
    }

    /// The text of the pattern.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Why the pattern is wrong, if it is.
    pub fn error(&self) -> Option<&str> {
        self.compiled().as_ref().err().map(String::as_str)
    }

    /// Whether the pattern occurs anywhere in the text.
    pub fn is_match(&self, text: &str) -> bool {
        self.compiled().as_ref().is_ok_and(|regex| regex.is_match(text))
    }
}

fn compile(source: &str) -> Result<Regex, String> {
    if let Some(error) = repetition_error(source) {
        return Err(error);
    }
    // One megabyte of program is far beyond every honest pattern and keeps a hostile one small.
    RegexBuilder::new(&translate(source)).size_limit(1 << 20).build().map_err(|error| worded(source, &error))
}

/// What Go says of a pattern that Rust refuses. The last line of Rust's many-line error says what is
/// wrong; kinds of error that Go has no word for keep Rust's.
fn worded(source: &str, error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default().trim();
    let last = last.strip_prefix("error: ").unwrap_or(last);
    let from = |sign: char| source.rfind(sign).map_or(source, |at| &source[at..]);
    let what = match last {
        "unclosed group" => format!("missing closing ): `{source}`"),
        "unopened group" => format!("unexpected ): `{source}`"),
        "unclosed character class" => format!("missing closing ]: `{}`", from('[')),
        "repetition operator missing expression" => {
            let sign = source.find(['*', '+', '?', '{']).map_or("", |at| &source[at..=at]);
            format!("missing argument to repetition operator: `{sign}`")
        }
        last if last.starts_with("look-around") => {
            let at = ["(?=", "(?!", "(?<"].iter().filter_map(|sign| source.find(sign)).min().unwrap_or(0);
            format!("invalid or unsupported Perl syntax: `{}`", source.get(at..at + 3).unwrap_or(source))
        }
        last if last.starts_with("invalid repetition count") => format!("invalid repeat count: `{}`", from('{')),
        last if last.starts_with("incomplete escape") => "trailing backslash at end of expression: ``".to_owned(),
        other => other.to_owned(),
    };
    format!("error parsing regexp: {what}")
}

/// Go refuses to repeat a repetition, and to repeat anything more than a thousand times.
fn repetition_error(source: &str) -> Option<String> {
    let bytes = source.as_bytes();
    let (mut at, mut class, mut last): (usize, bool, Option<usize>) = (0, false, None);
    while let Some(byte) = bytes.get(at) {
        let (length, repeats) = match byte {
            b'\\' => (2, false),
            b'[' if !class => {
                class = true;
                // A closing bracket that comes first stands for itself.
                let rest = source[at + 1..].strip_prefix('^').unwrap_or(&source[at + 1..]);
                (source.len() - at - rest.len() + usize::from(rest.starts_with(']')), false)
            }
            b']' if class => {
                class = false;
                (1, false)
            }
            _ if class => (1, false),
            b'*' | b'+' | b'?' => (1, true),
            b'{' if starts_repetition(&source[at + 1..]) => {
                let end = source[at..].find('}').map_or(1, |end| end + 1);
                let counts = source[at + 1..at + end - 1].split(',').filter_map(|n| n.parse::<u32>().ok());
                if counts.into_iter().any(|count| count > 1000) {
                    return Some(format!("error parsing regexp: invalid repeat count: `{}`", &source[at..at + end]));
                }
                (end, true)
            }
            _ => (1, false),
        };
        if repeats {
            if let Some(start) = last {
                let end = at + length;
                return Some(format!(
                    "error parsing regexp: invalid nested repetition operator: `{}`",
                    &source[start..end]
                ));
            }
            last = Some(at);
            at += length;
            // A question mark makes it reluctant.
            at += usize::from(bytes.get(at) == Some(&b'?'));
        } else {
            // A group that starts with a question mark is no repetition.
            let flags = *byte == b'(' && bytes.get(at + 1) == Some(&b'?') && !class;
            at += length + usize::from(flags);
            last = None;
        }
        while at < source.len() && !source.is_char_boundary(at) {
            at += 1;
        }
    }
    None
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
        assert_eq!(Pattern::new("(").error(), Some("error parsing regexp: missing closing ): `(`"));
        assert!(!Pattern::new("(").is_match("("));
        let table = [
            ("[a", "missing closing ]: `[a`"),
            ("a**", "invalid nested repetition operator: `**`"),
            ("a+{2}", "invalid nested repetition operator: `+{2}`"),
            ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
            ("a{2,1}", "invalid repeat count: `{2,1}`"),
            ("a{1001}", "invalid repeat count: `{1001}`"),
            ("*", "missing argument to repetition operator: `*`"),
            ("a)", "unexpected ): `a)`"),
        ];
        for (pattern, why) in table {
            assert_eq!(
                Pattern::new(pattern).error(),
                Some(format!("error parsing regexp: {why}").as_str()),
                "{pattern}"
            );
        }
        for pattern in ["a*?", "a{2}?", "(?:a)+", "[*+]+", r"\*+", "[]*]+", "(?i)a?"] {
            assert_eq!(Pattern::new(pattern).error(), None, "{pattern}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn no_text_breaks_the_translation(text in "[\\\\\\[\\]a-cQEdw{}&~^:,-]{0,20}|.{0,10}") {
            let _ = Pattern::new(&text);
        }
    }
}
