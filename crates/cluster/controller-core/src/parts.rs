//! Parts of revisions: made before the revision that names them, removed when none does.
//!
//! A part is not removed while it is young: who has just begun to lead may know the part and not yet the revision that
//! was made after it. An old one is removed only at the version that was looked at, and one that comes into use again is
//! written to, so a decision that was made without knowing that comes to nothing.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use netloom_api::{pipeline::NetworkConfigRevision, rollout::annotation};
use netloom_compile::{Layout, ObjectKey, unnamed};
use netloom_object::{Action, ObjectRef};
use serde_json::{Value, json};

use crate::{
    index::Index,
    kinds::{PART, REVISION},
    work::Work,
};

/// How old a part is before it may be removed: longer than any list of a server is behind.
const YOUNG: SignedDuration = SignedDuration::from_hours(1);

/// What makes a revision: its new parts, then itself.
pub(crate) fn creation(index: &Index, layout: &Layout, name: &str, annotations: Value) -> Vec<(ObjectRef, Action)> {
    let note = json!({annotation::REVISION: name});
    let mut chain = Vec::new();
    for (part, mut object) in layout.part_objects() {
        let target = ObjectRef { kind: PART, key: ObjectKey::global(part) };
        let action = if let Some(known) = index.mark(PART, &target.key) {
            let metadata = json!({"annotations": note, "resourceVersion": known.resource_version});
            Action::Patch { patch: json!({"metadata": metadata}) }
        } else {
            object["metadata"]["annotations"] = note.clone();
            Action::Create { object }
        };
        chain.push((target, action));
    }
    let mut object = layout.revision_object(name);
    object["metadata"]["annotations"] = annotations;
    chain.push((ObjectRef { kind: REVISION, key: ObjectKey::global(name) }, Action::Create { object }));
    chain
}

/// Removes parts that no revision names. `next` is the revision that is being made.
pub(crate) fn collect(now: Timestamp, index: &Index, next: Option<&Layout>, work: &mut Work) {
    let snapshot = index.snapshot();
    for key in unnamed(snapshot, next) {
        let Some(part) = snapshot.parts.get(key).filter(|part| !is_young(now, &part.metadata)) else { continue };
        let (uid, resource_version) = (part.metadata.uid.clone(), part.metadata.resource_version.clone());
        let (uid, resource_version) = (uid.unwrap_or_default(), resource_version.unwrap_or_default());
        work.single(ObjectRef { kind: PART, key: key.clone() }, Action::Delete { uid, resource_version });
    }
}

fn is_young(now: Timestamp, metadata: &ObjectMeta) -> bool {
    let created = metadata.creation_timestamp.as_ref().map_or(Timestamp::UNIX_EPOCH, |time| time.0);
    now.duration_since(created) < YOUNG
}

/// What is to be reported of a revision whose parts are not all there.
pub(crate) fn missing(index: &Index, revision: &NetworkConfigRevision) -> Option<String> {
    let frozen = index.snapshot().frozen(revision);
    let first = frozen.missing.first()?;
    Some(format!(
        "{} of its {} parts are missing, the first is {first}: no node is assigned this revision; restore them, or delete the \
         revision",
        frozen.missing.len(),
        revision.spec.parts.len(),
    ))
}
