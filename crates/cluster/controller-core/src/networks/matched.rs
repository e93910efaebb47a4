//! The nodes that an object is for, as its annotation says.

use std::collections::BTreeSet;

use netloom_api::hostnet::names;
use netloom_compile::hostnet::NetworkReport;
use serde_json::{Map, Value, json};

use crate::index::Mark;

/// The annotation, where it says something else: nodes come and go, and so do labels and selectors. An object without effect
/// is for no node, and says so.
pub(super) fn annotations(mark: &Mark, report: &NetworkReport) -> Option<Map<String, Value>> {
    let reported = mark.notes.get(names::MATCHED_NODES);
    let says =
        |text: &str| serde_json::from_str::<BTreeSet<String>>(text).is_ok_and(|reported| reported == *report.matched);
    if reported.is_some_and(|text| is_list_of(text, &report.matched) || says(text)) {
        return None;
    }
    let wanted = json!(*report.matched).to_string();
    Some(Map::from_iter([(names::MATCHED_NODES.to_owned(), wanted.into())]))
}

/// Whether a text lists these names as it is written here; names of nodes need no escapes. Every object is asked in every
/// turn, and each may be for thousands of nodes.
fn is_list_of(text: &str, names: &BTreeSet<String>) -> bool {
    let Some(mut rest) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) else { return false };
    for (i, name) in names.iter().enumerate() {
        let after = if i == 0 { Some(rest) } else { rest.strip_prefix(',') };
        let after = after.and_then(|text| text.strip_prefix('"')?.strip_prefix(name.as_str())?.strip_prefix('"'));
        let Some(after) = after else { return false };
        rest = after;
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_known_by_its_text() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<String>>();
        for known in [names(&[]), names(&["a"]), names(&["a", "b.example"])] {
            assert!(is_list_of(&json!(known).to_string(), &known));
        }
        for text in ["", "[", "[]", r#"["a"]"#, r#"["a","b","c"]"#, r#"["b","a"]"#, r#"["a""b"]"#, r#"["a","b",]"#] {
            assert!(!is_list_of(text, &names(&["a", "b"])), "{text}");
        }
    }
}
