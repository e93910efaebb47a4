//! Paths of fields as texts: `spec.ports[0].name`.

/// The path of a field below a path; below nothing it is the name alone.
pub(crate) fn child(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// Appends the index of a list item.
pub(crate) fn push_index(path: &mut String, index: usize) {
    push_key(path, &index.to_string());
}

/// Appends a key in brackets.
pub(crate) fn push_key(path: &mut String, key: &str) {
    path.push('[');
    path.push_str(key);
    path.push(']');
}
