//! The operator configuration of a cluster, out of its `ConfigMap`.

use std::collections::BTreeMap;

use netloom_api::{
    condition::Truth,
    fabric::operator::{NAME, NAMESPACE, OperatorConfig, REFUSED},
    foreign,
};
use netloom_object::{GroupKind, Meta, ObjectKey, ObjectRef};
use serde_json::{Value, json};

use crate::{
    finding::reason,
    frozen::Frozen,
    layout::{Weighed, frozen},
    objects::metadata,
    report::{Report, UntimedCondition, short},
    snapshot::{Readable, Snapshot, plain},
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
        (&self.config, &self.meta.created) == (&other.config, &other.meta.created)
    }
}

/// Where the operator configuration is.
fn key() -> ObjectKey {
    ObjectKey::new(NAMESPACE, NAME)
}

/// The operator configuration that is in force, and what revisions hold of it.
#[derive(Debug, Clone, Default)]
pub(super) struct InEffect {
    /// What it sets: the usual values where there is none.
    pub(super) config: OperatorConfig,
    /// As revisions hold it; nothing where nobody has set anything.
    pub(super) frozen: Option<Weighed>,
    broken: Option<SettingsReport>,
}

impl InEffect {
    /// That of a snapshot. One that cannot be read counts as it was in the newest revision that no node has refused: the
    /// usual values in its place would give segments and VRFs other identifiers.
    pub(super) fn live(snapshot: &Snapshot, before: Option<&Frozen<'_>>) -> Self {
        if let Some(settings) = snapshot.get::<Settings>(&key()) {
            let frozen = frozen::<Settings>(&settings.meta, BTreeMap::new(), json!(settings.config));
            return Self { config: settings.config.clone(), frozen: Some(frozen), broken: None };
        }
        let Some(unreadable) = snapshot.unreadable::<Settings>().find(|one| one.meta.key == key()) else {
            return Self::default();
        };
        let kept = before.and_then(|before| before.get(Settings::KIND, &key()));
        let config = kept.and_then(|kept| plain::<OperatorConfig>(&kept.spec.0).ok());
        let broken = SettingsReport { why: unreadable.why.clone(), stays: config.is_some() };
        let frozen = config.is_some().then_some(kept).flatten().map(|kept| Weighed::of(kept.clone()));
        Self { config: config.unwrap_or_default(), frozen, broken: Some(broken) }
    }

    /// What there is to say about it.
    pub(super) fn report(&self) -> Option<(ObjectRef, SettingsReport)> {
        self.broken.clone().map(|report| (Settings::object(&key()), report))
    }
}

/// Why the operator configuration has no effect as it stands. Its kind has no status, so it stands in an annotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsReport {
    /// Where it cannot be read, and why.
    pub why: String,
    /// Whether an earlier version stays in effect.
    pub stays: bool,
}

impl SettingsReport {
    /// A sentence for users.
    pub fn sentence(&self) -> String {
        let then = if self.stays { "its last good version stays in effect" } else { "the usual values are in effect" };
        short(format!("{}; {then}", self.why))
    }
}

impl Report for SettingsReport {
    fn verdicts(&self) -> Vec<UntimedCondition> {
        let (kind, reason) = ("Ready", reason::UNREADABLE);
        vec![UntimedCondition { kind, status: Truth::False, reason, message: self.sentence() }]
    }

    fn written(&self, _: &[UntimedCondition]) -> Value {
        json!({"apiVersion": Settings::VERSION, "metadata": {"annotations": {REFUSED: self.sentence()}}})
    }
}
