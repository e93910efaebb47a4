//! What a `NetworkConfigRevision` must keep: it is named after its content and never changes.

use netloom_api::pipeline::NetworkConfigRevision;

use super::network_config_revision_part::parts;
use crate::{Admitted, Findings, Index, Operation, Write, fabric::index::PART};

/// How many digits of the hash are the name.
const NAME_DIGITS: usize = 10;

impl Admitted for NetworkConfigRevision {
    const INDEXES: &'static [Index] = &[Index { name: PART, keys: parts }];

    fn admit(write: &Write<'_, Self>, findings: &mut Findings) {
        let Some(new) = &write.new else { return };
        if write.review.operation == Operation::Update && write.changes_spec() {
            findings.forbidden("spec", "a revision cannot change; another configuration is another revision");
        }
        let wanted = new.spec.revision.get(..NAME_DIGITS);
        if write.review.operation == Operation::Create && wanted.is_some_and(|wanted| wanted != write.review.name) {
            let detail =
                format!("must be {:?}, the first {NAME_DIGITS} digits of spec.revision", wanted.unwrap_or_default());
            findings.invalid("metadata.name", write.review.name, detail);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::fabric::table::{World, object};

    fn revision(name: &str, digit: char, layer2: &Value) -> Value {
        let hash: String = std::iter::repeat_n(digit, 64).collect();
        object("NetworkConfigRevision", name, json!({"revision": hash, "layer2": layer2, "vrf": [], "bgp": []}))
    }

    #[test]
    fn it_is_named_after_its_hash() {
        World::new([]).create(revision("aaaaaaaaaa", 'a', &json!([]))).taken();
        World::new([]).create(revision("bbbbbbbbbb", 'a', &json!([]))).refused(&[
            r#"metadata.name: Invalid value: "bbbbbbbbbb": must be "aaaaaaaaaa", the first 10 digits of spec.revision"#,
        ]);
    }

    #[test]
    fn it_never_changes() {
        let stored = || revision("aaaaaaaaaa", 'a', &json!([]));
        World::new([stored()]).update(stored()).taken();
        let other = revision("aaaaaaaaaa", 'a', &json!([{"name": "x", "id": 1, "mtu": 1500, "vni": 1}]));
        World::new([stored()])
            .update(other)
            .refused(&["spec: Forbidden: a revision cannot change; another configuration is another revision"]);
    }
}
