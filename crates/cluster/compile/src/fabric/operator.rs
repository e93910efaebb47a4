//! The operator configuration of a cluster, out of its `ConfigMap`.

use netloom_api::{
    fabric::operator::{NAME, NAMESPACE, OperatorConfig},
    foreign,
};
use netloom_object::{GroupKind, Meta, ObjectKey};
use serde_json::Value;

use crate::{
    objects::metadata,
    snapshot::{Readable, Snapshot},
};

/// A `ConfigMap`; all but that of the operator configuration say nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// What it says of itself.
    pub meta: Meta,
    /// What it sets.
    pub config: OperatorConfig,
}

impl Readable for Settings {
    const KIND: GroupKind<'static> = foreign::CONFIG_MAP;
    const VERSION: &'static str = "v1";

    fn read(object: &Value) -> Result<Self, String> {
        let meta = metadata(object);
        let ours = meta.key == key();
        let config = if ours { OperatorConfig::of_config_map(object)? } else { OperatorConfig::default() };
        Ok(Self { meta, config })
    }

    fn same(&self, other: &Self) -> bool {
        self.config == other.config
    }
}

/// Where the operator configuration is.
pub(super) fn key() -> ObjectKey {
    ObjectKey::new(NAMESPACE, NAME)
}

/// The operator configuration in force: the usual values where there is none, or none that can be read.
pub(super) fn of(snapshot: &Snapshot) -> OperatorConfig {
    snapshot.get::<Settings>(&key()).map(|settings| settings.config.clone()).unwrap_or_default()
}
