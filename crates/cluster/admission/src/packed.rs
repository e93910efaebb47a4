//! How a view keeps objects: as their JSON, without what no rule looks at.
//!
//! Parsed, an object takes several times its JSON, and most of it is the record of who set which
//! field. Reading it back takes some microseconds, and a review reads few objects. Only those that
//! rules go through one by one are kept parsed.
//!
//! Indexes are made of what is kept, so what an index or a rule needs must not be left out here.

use std::sync::Arc;

use netloom_api::GroupKind;
use serde::{Serialize, Serializer, ser::SerializeMap as _};
use serde_json::{Map, Value};

use crate::foreign;

/// The states of nodes hold all of their interfaces; rules only ask whose they are.
const STATE: GroupKind<'static> = GroupKind::new("nmstate.io", "NodeNetworkState");

/// What is left out of every object.
const METADATA: &str = "metadata";
const MANAGED_FIELDS: &str = "managedFields";

/// An object as a view keeps it.
#[derive(Debug)]
pub(super) enum Kept {
    /// As JSON.
    Packed(Box<[u8]>),
    /// As it is read.
    Loose(Arc<Value>),
}

impl Kept {
    /// Keeps an object of a kind.
    pub(super) fn of(kind: GroupKind<'_>, object: &Value) -> Self {
        let trimmed = Trimmed { object, unread: unread(kind) };
        // A value has only texts as keys, and writing into memory does not fail.
        let bytes = serde_json::to_vec(&trimmed).expect("every value can be written as JSON");
        let packed = Self::Packed(bytes.into());
        // Rules about uplinks go through all nodes, and little is kept of each.
        if kind == foreign::NODE { Self::Loose(packed.open()) } else { packed }
    }

    /// The object.
    pub(super) fn open(&self) -> Arc<Value> {
        match self {
            Self::Packed(bytes) => Arc::new(serde_json::from_slice(bytes).expect("it was written as JSON here")),
            Self::Loose(object) => Arc::clone(object),
        }
    }
}

/// The fields at the top of an object that no rule looks at.
fn unread(kind: GroupKind<'_>) -> &'static [&'static str] {
    match kind {
        foreign::NODE => &["spec", "status"],
        STATE => &["status"],
        _ => &[],
    }
}

/// An object without what no rule looks at.
struct Trimmed<'a> {
    object: &'a Value,
    unread: &'static [&'static str],
}

impl Serialize for Trimmed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Value::Object(fields) = self.object else { return self.object.serialize(serializer) };
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in fields.iter().filter(|(name, _)| !self.unread.contains(&name.as_str())) {
            match value {
                Value::Object(metadata) if name == METADATA => map.serialize_entry(name, &Metadata(metadata))?,
                value => map.serialize_entry(name, value)?,
            }
        }
        map.end()
    }
}

/// The metadata of an object, without who set which field.
struct Metadata<'a>(&'a Map<String, Value>);

impl Serialize for Metadata<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().filter(|(name, _)| *name != MANAGED_FIELDS))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn object() -> Value {
        json!({
            "kind": "Any",
            "metadata": {"name": "n", "labels": {"a": "b"}, "managedFields": [{"manager": "m"}]},
            "spec": {"nodeName": "n", "list": [1, -2, 0.5, null, true, "\u{1}ü"]},
            "status": {"large": [1, 2, 3]},
        })
    }

    #[test]
    fn only_what_no_rule_looks_at_is_left_out() {
        let mut expected = object();
        expected["metadata"].as_object_mut().unwrap().remove("managedFields");
        assert_eq!(*Kept::of(GroupKind::new("example.com", "Any"), &object()).open(), expected);
        expected.as_object_mut().unwrap().remove("status");
        assert_eq!(*Kept::of(STATE, &object()).open(), expected);
        expected.as_object_mut().unwrap().remove("spec");
        assert_eq!(*Kept::of(foreign::NODE, &object()).open(), expected);
    }

    #[test]
    fn an_object_takes_its_json_and_nodes_are_kept_parsed() {
        let kind = GroupKind::new("example.com", "Any");
        let plain = json!({"metadata": {"name": "n"}, "spec": {"a": 1}});
        assert!(matches!(Kept::of(kind, &plain), Kept::Packed(bytes) if bytes.len() == plain.to_string().len()));
        assert!(matches!(Kept::of(foreign::NODE, &plain), Kept::Loose(_)));
        assert!(size_of::<Kept>() <= 24);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn what_is_kept_comes_back(text: String, number: i64, junk: Vec<bool>) {
            let value = json!({"metadata": {"name": text}, "spec": {text.clone(): number, "j": junk}});
            prop_assert_eq!(&*Kept::of(GroupKind::new("", "Any"), &value).open(), &value);
            let bare = json!(junk);
            prop_assert_eq!(&*Kept::of(foreign::NODE, &bare).open(), &bare);
        }
    }
}
