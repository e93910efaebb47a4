//! Field selectors: `metadata.name=a,status.phase!=Running`.

use std::fmt;

use super::SelectorError;

/// One comparison of one field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldTerm {
    /// The field's path.
    pub field: String,
    /// The value, escapes undone.
    pub value: String,
    /// Whether the field must have another value.
    pub negated: bool,
}

/// Comparisons that must all hold. None selects everything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FieldSelector {
    terms: Vec<FieldTerm>,
}

impl FieldSelector {
    /// Reads the text of a `fieldSelector` parameter.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        let mut parts = split(text);
        parts.sort_unstable();
        let mut terms = Vec::new();
        for part in parts.into_iter().filter(|p| !p.is_empty()) {
            let (field, negated, value) = comparison(part)
                .ok_or_else(|| SelectorError::new(format!("invalid selector: '{text}'; can't understand '{part}'")))?;
            terms.push(FieldTerm { field: field.to_owned(), value: unescape(value)?, negated });
        }
        Ok(Self { terms })
    }

    /// Whether it selects everything.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The comparisons, in the order of their text.
    pub fn terms(&self) -> &[FieldTerm] {
        &self.terms
    }

    /// The value that a field must have, if there is only one.
    pub fn exact(&self, field: &str) -> Option<&str> {
        self.terms.iter().find(|t| t.field == field && !t.negated).map(|t| t.value.as_str())
    }

    /// Whether fields, looked up by path, are selected. A field that is not there has an empty value.
    pub fn matches(&self, field: impl Fn(&str) -> Option<String>) -> bool {
        self.terms.iter().all(|term| (field(&term.field).unwrap_or_default() == term.value) != term.negated)
    }
}

impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, term) in self.terms.iter().enumerate() {
            let operator = if term.negated { "!=" } else { "=" };
            let comma = if i > 0 { "," } else { "" };
            write!(f, "{comma}{}{operator}{}", term.field, escape(&term.value))?;
        }
        Ok(())
    }
}

fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (i, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                parts.push(&text[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

fn comparison(part: &str) -> Option<(&str, bool, &str)> {
    for (i, _) in part.char_indices() {
        let rest = &part[i..];
        for (operator, negated) in [("!=", true), ("==", false), ("=", false)] {
            if let Some(value) = rest.strip_prefix(operator) {
                return Some((&part[..i], negated, value));
            }
        }
    }
    None
}

fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace(',', "\\,").replace('=', "\\=")
}

fn unescape(value: &str) -> Result<String, SelectorError> {
    let wrong =
        |sequence: String| SelectorError::new(format!("invalid field selector: invalid escape sequence: {sequence}"));
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c @ ('\\' | ',' | '=')) => out.push(c),
                Some(c) => return Err(wrong(format!("\\{c}"))),
                None => return Err(wrong("\\".to_owned())),
            },
            ',' | '=' => {
                // The number of the character, not the character: that is what Kubernetes prints.
                return Err(SelectorError::new(format!(
                    "invalid field selector: unescaped character in value: {}",
                    u32::from(c)
                )));
            }
            c => out.push(c),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_read_and_printed() {
        let table = [
            ("", ""),
            ("metadata.name=a", "metadata.name=a"),
            ("b==1,a!=2,", "a!=2,b=1"),
            (r"a=x\,y\=z\\", r"a=x\,y\=z\\"),
        ];
        for (text, printed) in table {
            assert_eq!(FieldSelector::parse(text).map(|s| s.to_string()), Ok(printed.to_owned()), "{text}");
        }
    }

    #[test]
    fn refusals_have_the_words_of_kubernetes() {
        let table = [
            ("a=1,metadata.name", "invalid selector: 'a=1,metadata.name'; can't understand 'metadata.name'"),
            (r"a=\x", r"invalid field selector: invalid escape sequence: \x"),
            ("a=b=c", "invalid field selector: unescaped character in value: 61"),
        ];
        for (text, message) in table {
            assert_eq!(FieldSelector::parse(text).unwrap_err().to_string(), message, "{text}");
        }
    }

    #[test]
    fn fields_are_matched() {
        let selector = FieldSelector::parse("a=1,b!=2").unwrap();
        assert!(selector.matches(|f| (f == "a").then(|| "1".to_owned())));
        assert!(!selector.matches(|_| Some("2".to_owned())));
        assert_eq!(selector.exact("a"), Some("1"));
        assert_eq!(selector.exact("b"), None);
    }
}
