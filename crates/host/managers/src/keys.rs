//! Lines of the form `KEY=value`, as most run-time files have them.

/// The value of the last line with this key. Comments and headings of sections are other lines.
pub(crate) fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().rev().find_map(|line| line.trim().strip_prefix(key)?.trim_start().strip_prefix('=')).map(str::trim)
}
