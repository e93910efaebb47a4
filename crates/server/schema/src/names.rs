//! What names, label keys and label values may look like, and the sentences that say so.
//!
//! Every function returns all that is wrong with a text, in Kubernetes' words; nothing wrong is an
//! empty list. The rules are written out manually instead of as regular expressions because they run
//! for every label of every object; the expressions appear only in the texts.

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const LABEL_1035: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const KEY: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

fn expression(rule: &str, expression: &str, examples: &[&str]) -> String {
    let examples: Vec<String> = examples.iter().map(|e| format!("'{e}', ")).collect();
    format!("{rule} (e.g. {}regex used for validation is '{expression}')", examples.join(" or "))
}

fn at_most_characters(length: usize) -> String {
    format!("must be no more than {length} characters")
}

fn at_most_bytes(length: usize) -> String {
    format!("must be no more than {length} bytes")
}

fn is_label(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let bytes = text.as_bytes();
    matches!((bytes.first(), bytes.last()), (Some(a), Some(b)) if inner(*a) && inner(*b))
        && bytes.iter().all(|b| inner(*b) || *b == b'-')
}

/// Whether the text is a chain of lower-case labels with dots between, of any length.
pub(crate) fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_label)
}

fn is_key(text: &str) -> bool {
    let bytes = text.as_bytes();
    matches!((bytes.first(), bytes.last()), (Some(a), Some(b)) if a.is_ascii_alphanumeric() && b.is_ascii_alphanumeric())
        && bytes.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

/// A label of RFC 1123: names of namespaces and services.
pub fn dns_label(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > 63 {
        errors.push(at_most_characters(63));
    }
    if !is_label(text) {
        errors.push(if is_subdomain(text) {
            "must not contain dots".to_owned()
        } else {
            expression(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
                LABEL,
                &["my-name", "123-abc"],
            )
        });
    }
    errors
}

/// Labels of RFC 1123 with dots between: names of most objects.
pub fn dns_subdomain(text: &str) -> Vec<String> {
    subdomain(text, at_most_characters(253))
}

fn subdomain(text: &str, too_long: String) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > 253 {
        errors.push(too_long);
    }
    if !is_subdomain(text) {
        errors.push(expression(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
            &format!("{LABEL}(\\.{LABEL})*"),
            &["example.com"],
        ));
    }
    errors
}

/// A label of RFC 1035, which starts with a letter: names of resources and kinds.
pub fn dns_1035_label(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > 63 {
        errors.push(at_most_characters(63));
    }
    if !(is_label(text) && text.starts_with(|c: char| c.is_ascii_lowercase())) {
        errors.push(expression(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
            LABEL_1035,
            &["my-name", "abc-123"],
        ));
    }
    errors
}

/// A label key, annotation key or finalizer: a name with an optional domain before a slash.
pub fn qualified(text: &str) -> Vec<String> {
    let rule = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
    let rule = expression(rule, KEY, &["MyName", "my.name", "123-abc"]);
    let mut errors = Vec::new();
    let mut parts = text.split('/');
    let name = match (parts.next(), parts.next(), parts.next()) {
        (Some(prefix), Some(name), None) => {
            if prefix.is_empty() {
                errors.push("prefix part must be non-empty".to_owned());
            } else {
                errors.extend(subdomain(prefix, at_most_bytes(253)).into_iter().map(|e| format!("prefix part {e}")));
            }
            name
        }
        (Some(name), None, _) => name,
        _ => {
            return vec![format!(
                "a valid label key {rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        errors.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        errors.push(format!("name part {}", at_most_bytes(63)));
    }
    if !is_key(name) {
        errors.push(format!("name part {rule}"));
    }
    errors
}

/// The value of a label.
pub fn label_value(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > 63 {
        errors.push(at_most_bytes(63));
    }
    if !text.is_empty() && !is_key(text) {
        errors.push(expression(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
            &format!("({KEY})?"),
            &["MyValue", "my_value", "12345"],
        ));
    }
    errors
}

/// A name that only has to fit between two slashes: roles and embedded objects.
pub fn path_segment(text: &str) -> Vec<String> {
    if text == "." || text == ".." {
        return vec![format!("may not be '{text}'")];
    }
    path_segment_prefix(text)
}

/// The start of such a name.
pub fn path_segment_prefix(text: &str) -> Vec<String> {
    ["/", "%"].into_iter().filter(|part| text.contains(part)).map(|part| format!("may not contain '{part}'")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted_and_refused_neighbours() {
        type Check = fn(&str) -> Vec<String>;
        let table: [(Check, &str, &str); 8] = [
            (dns_label, "a-1", "A-1"),
            (dns_label, "a", "a-"),
            (dns_subdomain, "a.b", "a..b"),
            (dns_1035_label, "a1", "1a"),
            (qualified, "example.com/My_name", "/name"),
            (qualified, "a", ""),
            (label_value, "", "-a"),
            (path_segment, "a:b", "a/b"),
        ];
        for (rule, good, bad) in table {
            assert_eq!(rule(good), Vec::<String>::new(), "{good}");
            assert_ne!(rule(bad), Vec::<String>::new(), "{bad}");
        }
    }

    #[test]
    fn long_names_are_refused_with_their_limit() {
        assert_eq!(dns_label(&"a".repeat(64)), ["must be no more than 63 characters"]);
        assert_eq!(label_value(&"a".repeat(64)), ["must be no more than 63 bytes"]);
        assert_eq!(qualified(&"a".repeat(64)), ["name part must be no more than 63 bytes"]);
    }

    #[test]
    fn the_sentence_names_the_expression() {
        assert_eq!(
            dns_label("A"),
            [
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
            ]
        );
        assert_eq!(dns_label("a.b"), ["must not contain dots"]);
    }
}
