//! What a change of an object means for its owners.
//!
//! Others lose what the change took from them or removed. Each owner is judged in the version it wrote in, since the
//! same change can look different there; owners of a version that is not served any more are dropped.

use super::conflict::Conflicts;
use super::entries::Owners;
use super::shape::Shape;
use crate::fields::{Element, Set};
use crate::typed::{Comparison, Type, compare, reconcile};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A change: the object before and after, in the version of the request.
pub(super) struct Change<'a> {
    pub(super) old: &'a Value,
    pub(super) new: &'a Value,
    pub(super) api_version: &'a str,
    pub(super) subresource: &'a str,
    pub(super) shape: &'a Shape<'a>,
}

impl Change<'_> {
    /// How the objects differ in the version of the request, without what the endpoint ignores.
    pub(super) fn comparison(&self) -> Comparison {
        compare(self.shape.ty(), self.old, self.new).ignoring(&self.shape.ignored)
    }

    /// How the objects differ in another version. There the main resource ignores nothing: a status that is sent to it
    /// in one version counts against whoever owns the status in another, as it does in Kubernetes.
    fn comparison_in(&self, api_version: &str) -> Option<Comparison> {
        let versions = self.shape.versions;
        let ty = Type::resource(versions.schema(api_version)?);
        let old = versions.convert(self.old, api_version)?;
        let new = versions.convert(self.new, api_version)?;
        let found = compare(ty, &old, &new);
        Some(if self.subresource.is_empty() { found } else { found.ignoring(&self.shape.ignored) })
    }

    /// Takes from every owner but `except` what the change modified, added or removed.
    ///
    /// Without `force`, fields that were modified or added under somebody else's ownership are conflicts instead.
    pub(super) fn take_from_others(
        &self,
        owners: &mut Owners,
        comparison: &Comparison,
        except: &str,
        force: bool,
    ) -> Result<(), Conflicts> {
        let mut by_version: BTreeMap<String, Option<Effect>> = BTreeMap::new();
        by_version.insert(self.api_version.to_owned(), Some(Effect::of(comparison)));
        let mut taken: BTreeMap<String, Set> = BTreeMap::new();
        owners.retain(|identity, owner| {
            if identity == except {
                return true;
            }
            let found = by_version
                .entry(owner.api_version.clone())
                .or_insert_with_key(|api_version| self.comparison_in(api_version).as_ref().map(Effect::of));
            let Some(found) = found else { return false };
            let lost = owner.set.intersection(&found.written);
            if !lost.is_empty() {
                taken.insert(identity.clone(), lost.clone());
            }
            if force {
                owner.set = owner.set.difference(&lost);
            }
            owner.set = owner.set.difference(&found.removed);
            true
        });
        if !force && !taken.is_empty() {
            let found = taken.iter().filter_map(|(identity, lost)| Some((owners.get(identity)?, lost.paths())));
            return Err(Conflicts::new(found));
        }
        owners.retain(|_, owner| !owner.set.is_empty());
        Ok(())
    }
}

/// What a change does to the owners of one version.
struct Effect {
    /// Fields with a new value.
    written: Set,
    removed: Set,
}

impl Effect {
    fn of(comparison: &Comparison) -> Self {
        Self { written: comparison.modified.union(&comparison.added), removed: comparison.removed.clone() }
    }
}

/// The owners as they read under the schemas of today; those of versions no longer served are dropped.
pub(super) fn reconciled(owners: Owners, api_version: &str, shape: &Shape<'_>) -> Owners {
    let today = owners.into_iter().filter_map(|(identity, mut owner)| {
        let ty = type_in(&owner.api_version, api_version, shape)?;
        owner.set = reconcile(ty, std::mem::take(&mut owner.set));
        Some((identity, owner))
    });
    today.collect()
}

/// The type of the kind in a version; nothing if that is not served.
pub(super) fn type_in<'a>(version: &str, requested: &str, shape: &Shape<'a>) -> Option<Type<'a>> {
    if version == requested {
        return Some(shape.ty());
    }
    shape.versions.schema(version).map(Type::resource)
}

/// The object in a version; nothing if that is not served.
pub(super) fn object_in(object: &Value, version: &str, requested: &str, shape: &Shape<'_>) -> Option<Value> {
    if version == requested {
        return Some(object.clone());
    }
    shape.versions.convert(object, version)
}

/// Takes out of an entry what the server keeps for itself, and the entry if nothing is left.
pub(super) fn strip(owners: &mut Owners, identity: &str) {
    if let Some(owner) = owners.get_mut(identity) {
        owner.set = owner.set.difference(&KEPT_BY_SERVER);
        if owner.set.is_empty() {
            owners.remove(identity);
        }
    }
}

static KEPT_BY_SERVER: LazyLock<Set> = LazyLock::new(|| {
    let metadata = [
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    ];
    let whole = ["apiVersion", "kind", "metadata"].map(|name| vec![Element::field(name)]);
    let inside = metadata.map(|name| vec![Element::field("metadata"), Element::field(name)]);
    whole.into_iter().chain(inside).collect()
});
