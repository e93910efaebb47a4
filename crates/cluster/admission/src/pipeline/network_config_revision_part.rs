//! What a `NetworkConfigRevisionPart` must keep: it is named after its content, never changes, and stays as long as a
//! revision names it.

use netloom_api::{GroupKind, fabric::GROUP, pipeline::NetworkConfigRevisionPart};
use serde_json::Value;

use crate::{
    Admitted, Findings, Operation, Write,
    fabric::{index::PART, raw},
};

/// How many digits a SHA-256 has.
const DIGITS: usize = 64;

impl Admitted for NetworkConfigRevisionPart {
    fn admit(write: &Write<'_, Self>, findings: &mut Findings) {
        let name = write.review.name;
        match write.review.operation {
            Operation::Create => {
                let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
                if name.len() != DIGITS || !name.bytes().all(is_digit) {
                    findings.invalid("metadata.name", name, "must be the SHA-256 of the content, in hexadecimal");
                }
            }
            Operation::Update => {
                if write.changes_spec() {
                    findings.forbidden("spec", "a part of a revision cannot change; other content is another part");
                }
            }
            Operation::Delete => {
                let named = write.review.view.lookup(GroupKind::new(GROUP, "NetworkConfigRevision"), PART, name);
                if let Some(revision) = named.first().and_then(|revision| raw::text(revision, &["metadata", "name"])) {
                    findings.forbid(format!(
                        "revision {revision:?} needs this part; it is removed once no revision names it"
                    ));
                }
            }
            Operation::Connect => {}
        }
    }
}

/// The parts that a revision names.
pub(crate) fn parts(revision: &Value) -> Vec<String> {
    let named = revision.pointer("/spec/parts").and_then(Value::as_array);
    named.into_iter().flatten().filter_map(|part| part.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::fabric::table::{World, object};

    fn part(objects: &Value) -> Value {
        object("NetworkConfigRevisionPart", &"a".repeat(64), json!({"objects": objects}))
    }

    #[test]
    fn it_is_named_after_a_hash_and_never_changes() {
        World::new([]).create(part(&json!([]))).taken();
        World::new([])
            .create(object("NetworkConfigRevisionPart", "x", json!({})))
            .refused(&[r#"metadata.name: Invalid value: "x": must be the SHA-256 of the content, in hexadecimal"#]);
        World::new([part(&json!([]))]).update(part(&json!([]))).taken();
        let other = json!([{"group": "g.io", "kind": "K", "namespace": "n", "name": "a", "spec": {"vlan": 1}}]);
        World::new([part(&json!([]))])
            .update(part(&other))
            .refused(&["spec: Forbidden: a part of a revision cannot change; other content is another part"]);
    }

    #[test]
    fn it_stays_while_a_revision_names_it() {
        let hash = "b".repeat(64);
        let revision =
            |parts: &Value| object("NetworkConfigRevision", "bbbbbbbbbb", json!({"revision": hash, "parts": parts}));
        World::new([part(&json!([])), revision(&json!([]))]).delete(part(&json!([]))).taken();
        World::new([part(&json!([])), revision(&json!(["a".repeat(64)]))])
            .delete(part(&json!([])))
            .forbidden(r#"revision "bbbbbbbbbb" needs this part; it is removed once no revision names it"#);
    }
}
