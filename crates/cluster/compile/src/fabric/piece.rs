//! One object that is in force, live or as a revision froze it.

use std::{collections::BTreeMap, sync::Arc};

use netloom_admission::{Objects, Operation, Review, User};
use netloom_api::{
    GroupKind,
    fabric::GROUP,
    pipeline::{network_config_revision::FrozenObject, node_network_config::host::EntryOrigin},
};
use netloom_object::{Meta, ObjectKey, ObjectRef};
use serde_json::{Value, json};

use super::objects::{Object, Spec, intent};
use crate::{
    Node,
    contribution::origin,
    finding::{Finding, reason, too_large},
    layout::{Weighed, frozen},
    snapshot::{Readable as _, plain},
};

/// What was chosen or looked up for an object once, by name, as revisions keep it.
pub(super) type Given = BTreeMap<String, String>;

/// The kind and the name of the intent that an object was generated from.
const OWNER: [&str; 2] = ["ownerKind", "ownerName"];

/// One object.
#[derive(Debug)]
pub(crate) struct Piece<S> {
    pub(super) meta: Meta,
    pub(super) spec: S,
    pub(super) given: Given,
    /// Who asked for it: the intent, where it was generated from one, else the object itself.
    pub(super) asker: ObjectRef,
    pub(super) frozen: Weighed,
    pub(super) id: u64,
}

impl<S: Spec> Piece<S> {
    /// A live object, with what was looked up for it.
    pub(super) fn live(object: &Object<S>, mut given: Given) -> Self {
        if let Some(owner) = object.owner() {
            given.extend(OWNER.map(str::to_owned).into_iter().zip([owner.kind.kind.to_owned(), owner.key.name]));
        }
        Self::new(&object.meta, object.spec.clone(), given, json!(object.spec))
    }

    /// One out of a revision.
    pub(super) fn thawed(frozen: &FrozenObject) -> Result<Self, Vec<Finding>> {
        let spec: S = plain(&frozen.spec.0).map_err(|why| vec![Finding::new(reason::UNREADABLE, "", why)])?;
        let meta = Meta { key: ObjectKey::global(&frozen.name.0), created: frozen.created.clone(), ..Meta::default() };
        Ok(Self::new(&meta, spec, frozen.given.clone(), frozen.spec.0.clone()))
    }

    /// What an intent wants itself.
    pub(super) fn of_intent(meta: &Meta, spec: S, given: Given) -> Self {
        let value = json!(spec);
        Self::new(meta, spec, given, value)
    }

    fn new(meta: &Meta, spec: S, given: Given, value: Value) -> Self {
        let frozen = frozen::<Object<S>>(meta, given.clone(), value);
        let owner = given.get(OWNER[0]).and_then(|kind| intent(kind)).zip(given.get(OWNER[1]));
        let asker = match owner {
            Some((kind, name)) => ObjectRef { kind, key: ObjectKey::global(name.as_str()) },
            None => Object::<S>::object(&meta.key),
        };
        Self { meta: meta.clone(), spec, given, asker, id: frozen.id(), frozen }
    }

    /// The object.
    pub(super) fn object(&self) -> ObjectRef {
        Object::<S>::object(&self.meta.key)
    }

    /// Its name, for people.
    pub(super) fn shown(&self) -> String {
        format!("{} {:?}", self.asker.kind.kind, self.asker.key.name)
    }

    /// Whether it was generated from an intent.
    pub(super) fn is_generated(&self) -> bool {
        self.given.contains_key(OWNER[0])
    }

    /// A place in who asked: in the object itself, or in its intent.
    #[expect(clippy::unnecessary_wraps, reason = "entries hold it so: those of earlier versions have none")]
    pub(super) fn origin(&self, own: &str, in_intent: &str) -> Option<EntryOrigin> {
        Some(origin(&self.asker, if self.is_generated() { in_intent } else { own }))
    }

    /// Whether it is for a node.
    pub(super) fn selects(&self, node: &Node) -> bool {
        self.spec.nodes().is_none_or(|selector| selector.picks(&node.labels))
    }

    /// The labels of nodes that decide.
    pub(super) fn labels(&self) -> impl Iterator<Item = &str> {
        self.spec.nodes().into_iter().flat_map(|selector| {
            let exact = selector.match_labels.keys().map(String::as_str);
            exact.chain(selector.match_expressions.iter().map(|one| one.key.as_str()))
        })
    }
}

/// What is wrong with an object by itself: its size, and the rules of its kind that need no other object.
pub(super) fn check<S: Spec>(object: &Object<S>) -> Result<(), Vec<Finding>> {
    let spec = json!(object.spec);
    too_large(&spec)?;
    let kind = GroupKind::new(GROUP, S::KIND);
    let name = &object.meta.key.name;
    let whole =
        json!({"apiVersion": format!("{GROUP}/v1alpha1"), "kind": S::KIND, "metadata": {"name": name}, "spec": spec});
    let verdict = netloom_admission::review(&Review {
        operation: Operation::Create,
        kind,
        namespace: None,
        name,
        subresource: None,
        object: Some(&whole),
        old: None,
        user: &User::new("netloom-compile", &["system:masters"]),
        dry_run: true,
        view: &Objects::default(),
    });
    let invalid = |error: String| Finding::new(reason::INVALID_NETWORK, "", error);
    let broken: Vec<Finding> = verdict.errors.into_iter().map(|error| invalid(error.to_string())).collect();
    if broken.is_empty() { Ok(()) } else { Err(broken) }
}

/// In the order in which objects win against each other.
pub(super) fn sort<S>(pieces: &mut [Arc<Piece<S>>]) {
    pieces.sort_by(|a, b| a.meta.precedence().cmp(&b.meta.precedence()));
}
