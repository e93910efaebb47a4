//! Writes that are not apply: whoever changes a field owns it.

use super::cap::cap_updates;
use super::entries::{self, Operation, Owner, Owners, identity};
use super::owners::{Change, reconciled, strip};
use super::{Manager, Shape};
use crate::typed::{Strictness, check};
use serde_json::{Value, json};

/// Records in the new object's `metadata.managedFields` what this write changes.
///
/// `live` is the stored object, or nothing when the object is created. A request may carry `managedFields` of its own:
/// valid ones are taken as the state before this write, one empty entry resets them, anything else is ignored and the
/// stored ones count. An object whose fields are not tracked stays untracked until it is applied.
///
/// An object that does not fit its schema, because that changed since it was written, loses its entries: nobody can say any more
/// what they are about.
pub fn update(live: Option<&Value>, new: &mut Value, manager: &Manager<'_>, shape: &Shape<'_>) {
    let before = entries_before(live, new, manager.subresource, shape.builtin);
    entries::put(new, None);
    entries::tidy_metadata(new);
    if live.is_some() && before.is_empty() {
        return;
    }
    // The entries of the old object look like a field that goes, which nobody can own: they need not be taken out.
    let old = live.unwrap_or(&shape.blank);
    let fits = |object: &Value| check(shape.ty(), object, Strictness::Stored).is_ok();
    if !fits(old) || !fits(new) {
        return;
    }
    let mut owners = record(before, old, new, manager, shape);
    cap_updates(&mut owners);
    entries::store(new, &owners);
}

/// The entries this write starts from.
fn entries_before(live: Option<&Value>, new: &Value, subresource: &str, builtin: bool) -> Owners {
    let stored = || live.and_then(|object| entries::of_object(object).ok()).unwrap_or_default();
    // Through a subresource nobody edits the entries.
    if !subresource.is_empty() {
        return stored();
    }
    let sent = new.pointer("/metadata/managedFields").unwrap_or(&Value::Null);
    if is_reset(sent) || (builtin && sent == &json!([])) {
        return Owners::new();
    }
    match entries::read(sent) {
        Ok(owners) if !owners.is_empty() => owners,
        Ok(_) | Err(_) => stored(),
    }
}

/// One entry with nothing in it is how a client asks to forget all entries.
fn is_reset(sent: &Value) -> bool {
    sent == &json!([{}])
}

/// The owners after a change by this manager.
pub(super) fn record(before: Owners, old: &Value, new: &Value, manager: &Manager<'_>, shape: &Shape<'_>) -> Owners {
    let mut owners = reconciled(before, manager.api_version, shape);
    let change = Change { old, new, api_version: manager.api_version, subresource: manager.subresource, shape };
    let comparison = change.comparison();
    // Nobody is spared, the manager itself included: what it changed it owns again below, with a new time. Taking
    // by force has no conflicts.
    if change.take_from_others(&mut owners, &comparison, "", true).is_err() {
        return owners;
    }
    let name = name_of(manager);
    let key = identity(name, Operation::Update, manager.api_version, manager.subresource);
    let now = Owner {
        manager: name.to_owned(),
        operation: Operation::Update,
        api_version: manager.api_version.to_owned(),
        subresource: manager.subresource.to_owned(),
        time: manager.time.parse().ok(),
        set: comparison.modified.union(&comparison.added),
    };
    // Stripped alone first: fields the server keeps must not refresh the time of an older entry.
    let mut taken = Owners::from([(key.clone(), now)]);
    strip(&mut taken, &key);
    if let Some(mut now) = taken.remove(&key) {
        if let Some(previous) = owners.get(&key) {
            now.set = now.set.union(&previous.set);
        }
        owners.insert(key, now);
    }
    owners
}

pub(super) fn name_of<'a>(manager: &Manager<'a>) -> &'a str {
    if manager.name.is_empty() { "unknown" } else { manager.name }
}
