//! Policies, as far as decisions read them.

use netloom_api::nodestate::{NodeNetConfPolicy, NodeNetConfPolicySpec};
use netloom_object::GroupKind;
use serde_json::Value;

use crate::{
    key::Meta,
    snapshot::{Readable, plain},
};

/// A policy for the network state of nodes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Policy {
    /// What it says of itself.
    pub meta: Meta,
    /// What it wants.
    pub spec: NodeNetConfPolicySpec,
}

impl Readable for Policy {
    const KIND: GroupKind<'static> = GroupKind::new("nmstate.io", "NodeNetConfPolicy");
    const VERSION: &'static str = "v1";

    fn read(object: &Value) -> Result<Self, String> {
        let read: NodeNetConfPolicy = plain(object)?;
        Ok(Self { meta: Meta::of(read.metadata), spec: read.spec })
    }

    /// The status is ours to write, so it cannot matter.
    fn same(&self, other: &Self) -> bool {
        let Self { meta, spec } = self;
        (meta.generation, &meta.created, meta.deleted, spec)
            == (other.meta.generation, &other.meta.created, other.meta.deleted, &other.spec)
    }
}
