//! Where a field stands in a text, for messages about it.

use netloom_yaml::Data;

use super::Limits;

/// The line of the field `path` (`spec.ports[0].name`) in the document of a YAML or JSON text that starts at
/// `start`, or of the nearest field above it that the text has. A key of a map may stand in brackets too
/// (`spec.sizes[a]`). `None` for a text that is neither.
pub fn line_of(bytes: &[u8], start: usize, path: &str) -> Option<usize> {
    let text = netloom_yaml::json_as_yaml(netloom_yaml::text(bytes).ok()?);
    let documents = netloom_yaml::documents(&text, Limits::default().of_yaml()).ok()?;
    let here = documents.iter().map(|document| &document.root);
    let root = here.filter(|root| root.data != Data::Null).find(|root| root.line as usize >= start);
    Some(root.map_or(start, |root| root.line_of(path) as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
kind: A
spec:
  ports:
  - name: a
    size: 1
  - name: b
    size: 2
---
# A second one.
kind: B
spec:
  ports: [{name: c}]
  portsize: 3
";

    #[test]
    fn a_field_is_found_or_the_nearest_one_above_it() {
        for (start, path, line) in [
            (1, "spec.ports[1].size", 7),
            (1, "spec.ports[1]", 6),
            (1, "spec.ports[2].size", 3),
            (1, "spec.ports[0].none.below", 4),
            (1, "metadata.name", 1),
            (10, "spec.ports[0].name", 12),
            (10, "spec.portsize", 13),
            (10, "spec.port", 11),
            (10, "", 10),
        ] {
            assert_eq!(line_of(TEXT.as_bytes(), start, path), Some(line), "{start} {path}");
        }
        assert_eq!(line_of(b"a: [", 1, "a"), None);
        assert_eq!(line_of(b"ips:\n  n1: x\n  n2.site: y\n", 1, "ips[n2.site]"), Some(3));
        assert_eq!(line_of(b"{\n \"a\": {\n  \"b\": 1}}", 1, "a.b"), Some(3));
    }
}
