//! A limit on the entries of updates.
//!
//! Every client that updates leaves an entry. Beyond the limit the oldest entries of a version are merged into one,
//! so that an object cannot grow with the number of its writers. Entries of apply are never touched.

use super::entries::{Operation, Owners, identity};
use std::collections::BTreeMap;

/// How many entries of updates an object keeps.
const MOST_UPDATES: usize = 10;

/// The manager of merged entries.
const BUCKET: &str = "ancient-changes";

/// Merges the oldest entries of updates until there are few enough.
///
/// The first entry seen of a version only becomes the bucket when a second one of that version follows, so a single
/// old entry keeps its manager's name.
pub(super) fn cap_updates(owners: &mut Owners) {
    let mut updates: Vec<(i64, String)> = owners
        .iter()
        .filter(|(_, owner)| owner.operation == Operation::Update)
        .map(|(identity, owner)| (owner.time.map_or(0, jiff::Timestamp::as_second), identity.clone()))
        .collect();
    updates.sort();
    let mut count = updates.len();
    let mut first_of: BTreeMap<String, String> = BTreeMap::new();
    for (_, oldest) in updates {
        if count <= MOST_UPDATES {
            return;
        }
        let Some(owner) = owners.get(&oldest) else { continue };
        let version = owner.api_version.clone();
        let Some(first) = first_of.get(&version) else {
            first_of.insert(version, oldest);
            continue;
        };
        let bucket = identity(BUCKET, Operation::Update, &version, "");
        let first = first.clone();
        if oldest == bucket {
            fold(owners, &first, &bucket);
        } else {
            if !owners.contains_key(&bucket) {
                rename(owners, &first, &bucket);
            }
            fold(owners, &oldest, &bucket);
        }
        count -= 1;
    }
}

/// Makes an entry the bucket.
fn rename(owners: &mut Owners, entry: &str, bucket: &str) {
    if let Some(mut start) = owners.remove(entry) {
        BUCKET.clone_into(&mut start.manager);
        start.subresource.clear();
        owners.insert(bucket.to_owned(), start);
    }
}

/// Merges an entry into the bucket, which is as young as the youngest thing in it.
fn fold(owners: &mut Owners, entry: &str, bucket: &str) {
    if let Some(gone) = owners.remove(entry)
        && let Some(start) = owners.get_mut(bucket)
    {
        start.set = start.set.union(&gone.set);
        start.time = start.time.max(gone.time);
    }
}
