//! VRFs, networks and destinations that others use, and that go only when nobody does any more.
//!
//! An object has the finalizer of its kind exactly while it is used; those of others are left alone.

use netloom_compile::{FabricReport, ObjectRef};
use netloom_object::Action;
use serde_json::json;

use crate::{front_end::Scene, index::Mark, work::Work};

/// The finalizer of a kind; none for kinds that others do not use.
fn finalizer(kind: &str) -> Option<&'static str> {
    match kind {
        "VRF" => Some("netloom.dev/vrf-in-use"),
        "Network" => Some("netloom.dev/network-in-use"),
        "Destination" => Some("netloom.dev/destination-in-use"),
        _ => None,
    }
}

/// Asks for the finalizers that are missing, and for the removal of those that nobody needs.
pub(super) fn hold(scene: Scene<'_>, work: &mut Work) {
    let Scene { now: _, index, compiled } = scene;
    for (object, report) in compiled.reports.of::<FabricReport>() {
        let (Some(users), Some(finalizer)) = (&report.users, finalizer(object.kind.kind)) else { continue };
        let Some(mark) = index.mark(object.kind, &object.key) else { continue };
        if let Some(finalizers) = changed(mark, finalizer, !users.is_empty()) {
            let metadata = json!({"finalizers": finalizers, "resourceVersion": mark.resource_version});
            let target = ObjectRef { kind: object.kind, key: object.key.clone() };
            work.single(target, Action::Patch { patch: json!({"metadata": metadata}) });
        }
    }
}

/// What holds an object, where that is to be something else. Nothing can be added to one that is deleted.
fn changed<'a>(mark: &'a Mark, finalizer: &'a str, used: bool) -> Option<Vec<&'a str>> {
    let held = mark.finalizers.iter().any(|known| known == finalizer);
    if held == used || (used && mark.deleted) {
        return None;
    }
    let others = mark.finalizers.iter().map(String::as_str).filter(|known| *known != finalizer);
    Some(others.chain(used.then_some(finalizer)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_held_while_it_is_used() {
        let mark = |finalizers: &[&str], deleted| Mark {
            finalizers: finalizers.iter().map(|one| (*one).to_owned()).collect(),
            deleted,
            ..Mark::default()
        };
        let ours = finalizer("VRF").unwrap();
        let table = [
            (mark(&[], false), false, None),
            (mark(&["x"], false), true, Some(vec!["x", ours])),
            (mark(&["x", ours], false), true, None),
            (mark(&["x", ours], true), true, None),
            (mark(&["x", ours], true), false, Some(vec!["x"])),
            (mark(&["x"], true), true, None),
        ];
        for (mark, used, wanted) in table {
            assert_eq!(changed(&mark, ours, used), wanted, "{mark:?}");
        }
    }
}
