//! Names of fields as identifiers: `my-field` is `self.my__dash__field`.

/// Words that the language keeps for itself.
const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// The identifier of a field, or nothing if rules cannot name it.
pub(crate) fn escape(name: &str) -> Option<String> {
    let first = name.bytes().next()?;
    if first.is_ascii_digit() {
        return None;
    }
    if RESERVED.contains(&name) {
        return Some(format!("__{name}__"));
    }
    if !name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'/')) {
        return None;
    }
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        let taken = if rest.starts_with("__") {
            out.push_str("__underscores__");
            2
        } else {
            match c {
                '.' => out.push_str("__dot__"),
                '-' => out.push_str("__dash__"),
                '/' => out.push_str("__slash__"),
                c => out.push(c),
            }
            1
        };
        rest = &rest[taken..];
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_as_kubernetes_does() {
        let table = [
            ("a", Some("a")),
            ("my_field", Some("my_field")),
            ("my__field", Some("my__underscores__field")),
            ("a___b", Some("a__underscores___b")),
            ("my-field", Some("my__dash__field")),
            ("a.b/c", Some("a__dot__b__slash__c")),
            ("namespace", Some("__namespace__")),
            ("in", Some("__in__")),
            ("1a", None),
            ("", None),
            ("é", None),
            ("a b", None),
        ];
        for (name, expected) in table {
            assert_eq!(escape(name).as_deref(), expected, "{name}");
        }
    }
}
