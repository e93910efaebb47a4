//! What is reported about objects of the fabric: their status as it follows from all objects, and whether nodes have what
//! they want.

mod held;
mod kinds;
mod settings;

use std::collections::{BTreeMap, BTreeSet};

use netloom_api::condition::{Conditions, Observation, Truth};
use netloom_compile::{FabricReport, ObjectRef, Report as _, UntimedCondition, reason};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    answers::{self, NodeAnswer},
    front_end::{Assigned, FrontEndStatus, Scene},
    index::Index,
    kinds::Row,
    plain,
    work::Work,
};

/// The status of the fabric.
#[derive(Debug)]
pub(crate) struct Fabric;

/// The status of any of its objects: conditions, and what its kind has beside them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct FabricStatus {
    #[serde(default, skip_serializing_if = "Conditions::is_empty")]
    conditions: Conditions,
    #[serde(flatten)]
    beside: Map<String, Value>,
}

impl FrontEndStatus for Fabric {
    fn name(&self) -> &'static str {
        "fabric"
    }

    fn kinds(&self) -> Vec<Row> {
        kinds::ROWS.to_vec()
    }

    fn prepare(&self, scene: Scene<'_>, work: &mut Work) {
        settings::annotate(scene, work);
        held::hold(scene, work);
    }

    fn report(&self, scene: Scene<'_>, assigned: Assigned<'_>, work: &mut Work) {
        let Scene { now, index, compiled } = scene;
        let answers = answers::all(now, index, compiled, assigned);
        for (object, report) in compiled.reports.of::<FabricReport>() {
            let Some(mark) = index.mark(object.kind, &object.key) else { continue };
            let before: FabricStatus = mark.status_as().cloned().unwrap_or_default();
            let asker = report.asker.as_ref().unwrap_or(object);
            let UntimedCondition { kind, status, reason, message } = ready(index, asker, report, &answers);
            let seen = Observation::new(kind, status, reason, message);
            let conditions = Conditions(vec![seen.at(now, mark.generation, &before.conditions)]);
            let beside = report.status.as_object().cloned().unwrap_or_default();
            let after = FabricStatus { conditions, beside };
            if after != before {
                work.status(index, object.kind, &object.key, &after);
            }
        }
    }
}

/// Whether an object is in place: what is wrong with it, what it waits for, or what the nodes say that it is for.
fn ready(
    index: &Index,
    asker: &ObjectRef,
    report: &FabricReport,
    answers: &BTreeMap<&str, NodeAnswer<'_>>,
) -> UntimedCondition {
    let says = plain::ready(asker, report, answers);
    let verdict = |status, reason, message| UntimedCondition { kind: "Ready", status, reason, message };
    if says.status == Truth::False && report.nodes().is_none_or(BTreeSet::is_empty) {
        return says;
    }
    if let Some(awaited) = report.awaits.as_ref().filter(|_| report.verdicts().is_empty()) {
        let (kind, name) = (awaited.kind.kind, &awaited.key.name);
        let foreign = index.mark(awaited.kind, &awaited.key).is_some_and(|mark| mark.generated_by.is_none());
        return if foreign {
            let message = format!("there is a {kind} {name:?} that somebody else made; rename or remove it");
            verdict(Truth::False, reason::CONFLICT, message)
        } else {
            verdict(Truth::False, "Pending", format!("{kind} {name:?} is being written"))
        };
    }
    match &report.users {
        _ if says.status == Truth::False => says,
        Some(users) => verdict(Truth::True, "Usable", format!("objects that use it: {}", users.len())),
        None if report.matched.is_empty() => {
            verdict(Truth::True, reason::NO_MATCHING_NODE, "no node is selected".to_owned())
        }
        None => says,
    }
}
