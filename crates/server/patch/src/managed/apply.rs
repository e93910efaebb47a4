//! Server-side apply.

use super::conflict::Conflicts;
use super::entries::{self, Operation, Owner, Owners, identity};
use super::last_applied;
use super::owners::{Change, object_in, reconciled, strip, type_in};
use super::update::{name_of, record};
use super::{Manager, Shape};
use crate::fields::{Set, same};
use crate::typed::{Strictness, Type, check, field_set, merge, remove, with_named_fields};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use thiserror::Error;

/// Why an apply was refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ApplyError {
    /// Others manage fields that the configuration would change: status 409, with a cause for each field.
    #[error("{0}")]
    Conflicts(Conflicts),
    /// The configuration is not one for this object: status 400.
    #[error("{0}")]
    BadRequest(String),
    /// The configuration does not fit the schema. Kubernetes answers 500 here; we say 400.
    #[error("{0}")]
    Typed(String),
}

impl ApplyError {
    /// A stable name for logs and metrics.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Conflicts(_) => "ApplyConflicts",
            Self::BadRequest(_) => "ApplyBadRequest",
            Self::Typed(_) => "ApplyDoesNotFit",
        }
    }

    /// The status code of the answer.
    pub fn code(&self) -> u16 {
        match self {
            Self::Conflicts(_) => 409,
            Self::BadRequest(_) | Self::Typed(_) => 400,
        }
    }
}

/// The manager of what was there before the first apply.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Lays a configuration over the stored object and returns the result with its `metadata.managedFields`.
///
/// `live` is nothing when the object does not exist yet. Fields the manager applied before and that are missing now
/// are removed if nobody else owns them. Fields of others may only be set to the value they have, unless `force` takes
/// them over.
///
/// # Errors
/// See [`ApplyError`].
pub fn apply(
    live: Option<&Value>,
    config: &Value,
    manager: &Manager<'_>,
    force: bool,
    shape: &Shape<'_>,
) -> Result<Value, ApplyError> {
    check_request(config, manager, shape)?;
    let named = named(config);
    check(shape.ty(), config, Strictness::Applied)
        .map_err(|misfits| ApplyError::Typed(format!("failed to create typed patch object ({named}): {misfits}")))?;
    let mut base = live.unwrap_or(&shape.blank).clone();
    let mut owners = entries::of_object(&base)
        .map_err(|text| ApplyError::Typed(format!("failed to decode managed fields: {text}")))?;
    entries::put(&mut base, None);
    check(shape.ty(), &base, Strictness::Stored)
        .map_err(|misfits| ApplyError::Typed(format!("failed to create typed live object ({named}): {misfits}")))?;
    if owners.is_empty() && live.is_some() {
        let unknown = Manager { name: BEFORE_FIRST_APPLY, ..*manager };
        owners = record(owners, &shape.blank, &base, &unknown, shape);
    }
    let request = Request { base: &base, config, manager, shape };
    let outcome = match request.run(owners.clone(), force) {
        Err(conflicts) if name_of(manager) == last_applied::MANAGER => {
            let allowed = last_applied::allowed(&base, manager, shape);
            let rest = conflicts.without(|path| allowed.has(path));
            if rest.is_empty() { request.run(owners, true) } else { Err(rest) }
        }
        other => other,
    };
    let (mut object, owners) = outcome.map_err(ApplyError::Conflicts)?;
    if name_of(manager) == last_applied::MANAGER {
        last_applied::refresh(&mut object, config);
    }
    entries::tidy_metadata(&mut object);
    entries::store(&mut object, &owners);
    Ok(object)
}

/// The configuration must be of the kind and version of the endpoint, and leave the entries to the server.
fn check_request(config: &Value, manager: &Manager<'_>, shape: &Shape<'_>) -> Result<(), ApplyError> {
    let (api_version, kind) = (config["apiVersion"].as_str(), config["kind"].as_str());
    if api_version != Some(manager.api_version) || kind != Some(shape.kind) {
        return Err(ApplyError::BadRequest(format!("invalid object type: {}", kind_text(config))));
    }
    if !matches!(config.pointer("/metadata/managedFields"), None | Some(Value::Null)) {
        return Err(ApplyError::BadRequest("metadata.managedFields must be nil".to_owned()));
    }
    Ok(())
}

fn kind_text(object: &Value) -> String {
    let text = |name: &str| object[name].as_str().unwrap_or_default();
    let api_version = text("apiVersion");
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    format!("{group}/{version}, Kind={}", text("kind"))
}

/// An object as messages name it.
fn named(object: &Value) -> String {
    let text = |name: &str| object["metadata"][name].as_str().unwrap_or_default();
    format!("{}/{}; {}", text("namespace"), text("name"), kind_text(object))
}

struct Request<'a> {
    base: &'a Value,
    config: &'a Value,
    manager: &'a Manager<'a>,
    shape: &'a Shape<'a>,
}

impl Request<'_> {
    /// The object after the apply, and its owners.
    fn run(&self, before: Owners, force: bool) -> Result<(Value, Owners), Conflicts> {
        let (manager, ty) = (self.manager, self.shape.ty());
        let mut owners = reconciled(before, manager.api_version, self.shape);
        let key = identity(name_of(manager), Operation::Apply, manager.api_version, manager.subresource);
        let last = owners.remove(&key);
        let mine = Owner {
            manager: name_of(manager).to_owned(),
            operation: Operation::Apply,
            api_version: manager.api_version.to_owned(),
            subresource: manager.subresource.to_owned(),
            time: last.as_ref().and_then(|last| last.time),
            set: field_set(ty, self.config).without_subtrees(&self.shape.ignored),
        };
        owners.insert(key.clone(), mine);
        let merged = merge(ty, self.base, self.config);
        let new = match last {
            Some(last) if !last.set.is_empty() => self.prune(merged, &owners, &last),
            Some(_) | None => merged,
        };
        let new = if new.is_object() { new } else { Value::Object(Map::new()) };
        let change = Change {
            old: self.base,
            new: &new,
            api_version: manager.api_version,
            subresource: manager.subresource,
            shape: self.shape,
        };
        change.take_from_others(&mut owners, &change.comparison(), &key, force)?;
        strip(&mut owners, &key);
        if same(self.base, &new) {
            return Ok((self.base.clone(), owners));
        }
        if let Some(mine) = owners.get_mut(&key) {
            mine.time = manager.time.parse().ok();
        }
        Ok((new, owners))
    }

    /// The merged object without what this manager applied last time, does not apply now, and nobody else owns.
    fn prune(&self, merged: Value, owners: &Owners, last: &Owner) -> Value {
        let requested = self.manager.api_version;
        let version = last.api_version.as_str();
        let pruned = self.pruned_in(&merged, version, owners, &last.set);
        match pruned {
            Some(pruned) => object_in(&pruned, requested, version, self.shape).unwrap_or(merged),
            None => merged,
        }
    }

    /// The same in the version of the last apply; nothing if that version is not served any more.
    fn pruned_in(&self, merged: &Value, version: &str, owners: &Owners, last: &Set) -> Option<Value> {
        let requested = self.manager.api_version;
        let ty = type_in(version, requested, self.shape)?;
        let merged = object_in(merged, version, requested, self.shape)?;
        let last = with_named_fields(Some(ty), last);
        let pruned = remove(ty, &merged, &last);
        let pruned = self.with_owned_items(&merged, pruned, version, owners);
        // Only what this manager applied last time may go: put back whatever else fell out on the way.
        let places = |object: &Value| with_named_fields(Some(ty), &field_set(ty, object));
        let gone = places(&merged).difference(&places(&pruned)).intersection(&last);
        Some(remove(ty, &merged, &gone))
    }

    /// Puts back what fell out although somebody, this manager's new configuration included, owns it.
    fn with_owned_items(&self, merged: &Value, pruned: Value, version: &str, owners: &Owners) -> Value {
        let requested = self.manager.api_version;
        let mut by_version: BTreeMap<&str, Set> = BTreeMap::new();
        for owner in owners.values() {
            let owned = by_version.entry(&owner.api_version).or_default();
            *owned = owned.union(&owner.set);
        }
        let mut pruned = pruned;
        let first = by_version.remove_entry(version);
        for (other, owned) in first.into_iter().chain(by_version) {
            let Some(ty) = type_in(other, requested, self.shape) else { continue };
            let (Some(whole), Some(part)) = (self.moved(merged, version, other), self.moved(&pruned, version, other))
            else {
                continue;
            };
            let kept = keep_owned(ty, &whole, &part, &owned);
            let Some(back) = self.moved(&kept, other, version) else { continue };
            pruned = back;
        }
        pruned
    }

    fn moved(&self, object: &Value, from: &str, to: &str) -> Option<Value> {
        object_in(object, to, from, self.shape)
    }
}

/// The whole without what is neither in the part nor owned.
fn keep_owned(ty: Type<'_>, whole: &Value, part: &Value, owned: &Set) -> Value {
    let named = |set: &Set| with_named_fields(Some(ty), set);
    let kept = named(&field_set(ty, part)).union(&named(owned));
    let gone = named(&field_set(ty, whole)).difference(&kept);
    remove(ty, whole, &gone)
}
