//! A policy, read once: its selector, its rules and its document in today's spelling.
//!
//! A policy is compared with the rules of admission again. It may have been written while nobody
//! enforced them, or before one of them existed.

use std::{collections::BTreeMap, sync::Arc};

use netloom_admission::{Objects, Operation, Review, User};
use netloom_api::{
    GroupKind,
    nodestate::{AutoConfig, InterfaceMatchRule, NodeNetConfPolicySpec},
    pipeline::network_config_revision::FrozenObject,
};
use netloom_model::Source;
use serde_json::{Map, Value, json};

use super::{contribution::contribute, document, objects::Policy, rules};
use crate::{
    contribution::Contribution,
    finding::{Finding, reason, too_large},
    front_end::{ConfigPart, NodeClass, Selected},
    frozen::Frozen,
    key::{Meta, ObjectKey},
    layout::{Weighed, frozen},
    revision::newest_sound,
    selection::Terms,
    snapshot::{Readable as _, Snapshot, plain},
    state::Inventory,
};

/// A policy that keeps its rules.
#[derive(Debug, Clone)]
pub(crate) struct Prepared {
    /// Who asks, and how old the policy is.
    pub(crate) source: Meta,
    /// Which nodes it is for.
    pub(crate) terms: Terms,
    pub(super) rules: Vec<InterfaceMatchRule>,
    pub(super) content: PolicyContent,
    /// The policy as a revision holds it.
    pub(super) frozen: Weighed,
    /// Equal for equal policies.
    pub(super) id: u64,
}

impl Prepared {
    /// The policy, as who asks.
    pub(crate) fn asker(&self) -> Source {
        source(&self.source.key)
    }
}

/// A policy, as who asks.
pub(super) fn source(key: &ObjectKey) -> Source {
    Source::object((Policy::KIND.group, Policy::KIND.kind), &key.namespace, &key.name)
}

impl Selected for Prepared {
    fn id(&self) -> u64 {
        self.id
    }

    fn medium(&self) -> ConfigPart {
        ConfigPart::State
    }

    /// Rules look at the links that are there without policies; what was found by itself goes by what was there before.
    fn depends(&self, class: &NodeClass<'_>) -> (u64, u64) {
        let remembers = class.manual.before(&self.source.key).is_some();
        (class.leaving_id, if remembers { u64::from(class.manual_id) } else { class.found_id })
    }

    fn looks_at(&self, made: &Inventory) -> bool {
        !rules::matched(&self.rules, made).is_empty()
    }

    fn contribute(&self, class: &NodeClass<'_>) -> Contribution {
        let before = class.manual.before(&self.source.key);
        Contribution { state: Some(contribute(self, class.found, class.reported, before)), ..Contribution::default() }
    }
}

/// What a policy wants of the links that it matches.
#[derive(Debug, Clone)]
pub(super) enum PolicyContent {
    /// Nothing.
    Nothing,
    /// What the node finds out by itself.
    Auto(AutoConfig),
    /// A document.
    Document(Box<Wanted>),
}

/// The parts of a policy's document, in today's spelling.
#[derive(Debug, Clone, Default)]
pub(super) struct Wanted {
    /// The entry that stands for every matched link, and its place in the document.
    pub(super) template: Option<(usize, Map<String, Value>)>,
    /// Entries by the name of their link.
    pub(super) entries: BTreeMap<String, (usize, Map<String, Value>)>,
    pub(super) routes: Vec<Value>,
    pub(super) rules: Vec<Value>,
    pub(super) dns: Option<Value>,
    pub(super) hostname: BTreeMap<String, Value>,
}

/// Reads a live policy.
pub(super) fn prepare(policy: &Policy) -> Result<Prepared, Vec<Finding>> {
    let spec = serde_json::to_value(&policy.spec).map_err(|error| unreadable(&error.to_string()))?;
    too_large(&spec)?;
    read(&policy.meta, &policy.spec, spec)
}

/// Reads a policy out of a revision.
fn prepare_frozen(frozen: &FrozenObject) -> Result<Prepared, Vec<Finding>> {
    let spec: NodeNetConfPolicySpec = plain(&frozen.spec.0).map_err(|why| unreadable(&why))?;
    let meta = Meta {
        key: ObjectKey::new(&frozen.namespace, &frozen.name.0),
        created: frozen.created.clone(),
        ..Meta::default()
    };
    read(&meta, &spec, frozen.spec.0.clone())
}

fn unreadable(why: &str) -> Vec<Finding> {
    vec![Finding::new(reason::UNREADABLE, "", why)]
}

fn read(meta: &Meta, spec: &NodeNetConfPolicySpec, value: Value) -> Result<Prepared, Vec<Finding>> {
    let broken = broken_rules(&meta.key, &value);
    if !broken.is_empty() {
        return Err(broken);
    }
    let content = match (&spec.autoconfig, &spec.desired_state) {
        (Some(auto), _) => PolicyContent::Auto(auto.clone()),
        (None, Some(document)) => PolicyContent::Document(Box::new(document::wanted(&document.0)?)),
        (None, None) => PolicyContent::Nothing,
    };
    let frozen = frozen::<Policy>(meta, BTreeMap::new(), value);
    Ok(Prepared {
        source: meta.clone(),
        terms: Terms::new(spec.affinity.as_ref(), &spec.tolerations),
        rules: spec.match_rules.clone(),
        content,
        id: frozen.id(),
        frozen,
    })
}

/// The rules of admission that the policy breaks.
fn broken_rules(key: &ObjectKey, spec: &Value) -> Vec<Finding> {
    let object = json!({
        "apiVersion": "nmstate.io/v1", "kind": "NodeNetConfPolicy",
        "metadata": {"namespace": key.namespace, "name": key.name}, "spec": spec,
    });
    let verdict = netloom_admission::review(&Review {
        operation: Operation::Create,
        kind: GroupKind::new("nmstate.io", "NodeNetConfPolicy"),
        namespace: Some(&key.namespace),
        name: &key.name,
        subresource: None,
        object: Some(&object),
        old: None,
        user: &User::new("netloom-compile", &["system:masters"]),
        dry_run: true,
        view: &Objects::default(),
    });
    verdict.errors.into_iter().map(|error| Finding::new(reason::INVALID_POLICY, "", error.to_string())).collect()
}

/// Policies in the order in which they win against each other.
#[derive(Debug, Clone, Default)]
pub struct PolicySet {
    prepared: Vec<Arc<Prepared>>,
    broken: BTreeMap<ObjectKey, Broken>,
}

/// A policy that cannot be used as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Broken {
    pub(crate) generation: Option<i64>,
    pub(crate) findings: Vec<Finding>,
    /// Whether an earlier version stays in effect.
    pub(crate) stays: bool,
}

impl PolicySet {
    /// The policies of a snapshot. In the place of one that cannot be used stands its version in the
    /// newest revision that no node has refused.
    pub fn live(snapshot: &Snapshot) -> Self {
        Self::live_with(snapshot, |policy| prepare(policy).map(Arc::new))
    }

    /// The same, where somebody may have read some policies before.
    pub(super) fn live_with(
        snapshot: &Snapshot,
        mut read: impl FnMut(&Arc<Policy>) -> Result<Arc<Prepared>, Vec<Finding>>,
    ) -> Self {
        let mut set = Self::default();
        for (key, policy) in snapshot.iter::<Policy>().filter(|(_, policy)| !policy.meta.deleted) {
            match read(policy) {
                Ok(prepared) => set.prepared.push(prepared),
                Err(findings) => set.break_off(key, policy.meta.generation, findings),
            }
        }
        for policy in snapshot.unreadable::<Policy>().filter(|policy| !policy.meta.deleted) {
            set.break_off(&policy.meta.key, policy.meta.generation, unreadable(&policy.why));
        }
        set.fall_back(newest_sound(snapshot).map(|revision| snapshot.frozen(revision)).as_ref());
        set.sort();
        set
    }

    /// The policies that a revision froze.
    pub(super) fn frozen(revision: &Frozen<'_>) -> Self {
        let mut set = Self::default();
        for policy in revision.of_kind(Policy::KIND) {
            match prepare_frozen(policy) {
                Ok(prepared) => set.prepared.push(Arc::new(prepared)),
                Err(findings) => {
                    set.break_off(&ObjectKey::new(&policy.namespace, &policy.name.0), None, findings);
                }
            }
        }
        set.sort();
        set
    }

    fn break_off(&mut self, key: &ObjectKey, generation: Option<i64>, findings: Vec<Finding>) {
        self.broken.insert(key.clone(), Broken { generation, findings, stays: false });
    }

    fn fall_back(&mut self, revision: Option<&Frozen<'_>>) {
        let frozen = revision.into_iter().flat_map(|revision| revision.of_kind(Policy::KIND));
        for policy in frozen {
            let key = ObjectKey::new(&policy.namespace, &policy.name.0);
            let Some(broken) = self.broken.get_mut(&key) else { continue };
            if let Ok(prepared) = prepare_frozen(policy) {
                broken.stays = true;
                self.prepared.push(Arc::new(prepared));
            }
        }
    }

    fn sort(&mut self) {
        self.prepared.sort_by(|a, b| a.source.precedence().cmp(&b.source.precedence()));
    }

    pub(crate) fn prepared(&self) -> &[Arc<Prepared>] {
        &self.prepared
    }

    /// Policies that cannot be used and of which no earlier version is known, each with the first reason why.
    pub fn unusable(&self) -> impl Iterator<Item = (&ObjectKey, &Finding)> {
        let without = self.broken.iter().filter(|(_, broken)| !broken.stays);
        without.filter_map(|(key, broken)| Some((key, broken.findings.first()?)))
    }

    pub(crate) fn broken(&self) -> &BTreeMap<ObjectKey, Broken> {
        &self.broken
    }
}
