//! Why the operator configuration is not in effect, as an annotation of its `ConfigMap`: that kind has no status.

use netloom_api::{fabric::operator::REFUSED, foreign::CONFIG_MAP};
use netloom_compile::{ObjectRef, SettingsReport};
use netloom_object::Action;
use serde_json::json;

use crate::{front_end::Scene, work::Work};

/// Asks for the annotation where it says something else; one that is not needed any more is taken off.
pub(super) fn annotate(scene: Scene<'_>, work: &mut Work) {
    let Scene { now: _, index, compiled } = scene;
    for (key, mark) in index.marks(CONFIG_MAP) {
        let target = ObjectRef { kind: CONFIG_MAP, key: key.clone() };
        let wanted = compiled.reports.get::<SettingsReport>(&target).map(SettingsReport::sentence);
        if mark.notes.get(REFUSED) == wanted.as_ref() || mark.resource_version.is_empty() {
            continue;
        }
        let metadata = json!({"annotations": {REFUSED: wanted}, "resourceVersion": mark.resource_version});
        work.single(target, Action::Patch { patch: json!({"metadata": metadata}) });
    }
}
