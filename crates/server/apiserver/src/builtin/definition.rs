//! `CustomResourceDefinition`: its rules are those of the schema crate; here is only its row.

use serde_json::Value;

pub(super) fn default(definition: &mut Value) {
    netloom_schema::crd::default_crd(definition);
}
