//! The schemas of the published Kubernetes types, as the build wrote them down.
//!
//! Unpacked when somebody asks, parsed line by line and not kept: a server needs few of them, and none of them twice.

use std::io::Read as _;

use flate2::read::ZlibDecoder;
use serde_json::Value;

/// `NAME JSON` lines, ordered by name, compressed.
static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/published.z"));

/// All types, one line for each.
pub(super) struct Types(String);

impl Types {
    /// Unpacks them.
    ///
    /// # Panics
    /// Never: they were packed when the server was built.
    pub(super) fn unpack() -> Self {
        let mut lines = String::new();
        ZlibDecoder::new(PACKED).read_to_string(&mut lines).expect("the build packed text");
        Self(lines)
    }

    /// The schema of a type, by its full name.
    ///
    /// # Panics
    /// Never: every line was printed from JSON when the server was built.
    pub(super) fn definition(&self, name: &str) -> Option<Value> {
        let line = self.0.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        Some(serde_json::from_str(line).expect("the build wrote JSON"))
    }
}

/// The full name of the type of a kind.
pub(crate) fn type_name(group: &str, version: &str, kind: &str) -> String {
    match group {
        "" => format!("io.k8s.api.core.{version}.{kind}"),
        "apiextensions.k8s.io" => {
            format!("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.{version}.{kind}")
        }
        _ => {
            let package = group.split('.').next().unwrap_or(group);
            format!("io.k8s.api.{package}.{version}.{kind}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_name_and_a_schema_in_order() {
        let types = Types::unpack();
        let names: Vec<&str> = types.0.lines().map(|line| line.split_once(' ').unwrap().0).collect();
        assert!(names.is_sorted() && names.len() > 100, "{} types", names.len());
        assert!(names.iter().all(|name| types.definition(name).is_some_and(|schema| schema.is_object())));
        assert!(types.definition("io.k8s.api.core.v1.Nothing").is_none());
    }
}
