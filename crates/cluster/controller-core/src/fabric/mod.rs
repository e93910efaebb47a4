//! What is reported about objects of the fabric: their status as it follows from all objects, and whether nodes have what
//! they want.

mod kinds;

use netloom_api::condition::{Conditions, Observation};
use netloom_compile::{FabricReport, UntimedCondition};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    answers,
    front_end::{Assigned, FrontEndStatus, Scene},
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

    fn prepare(&self, _: Scene<'_>, _: &mut Work) {}

    fn report(&self, scene: Scene<'_>, assigned: Assigned<'_>, work: &mut Work) {
        let Scene { now, index, compiled } = scene;
        let answers = answers::all(now, index, compiled, assigned);
        for (object, report) in compiled.reports.of::<FabricReport>() {
            let Some(mark) = index.mark(object.kind, &object.key) else { continue };
            let before: FabricStatus = mark.status_as().cloned().unwrap_or_default();
            let asker = report.asker.as_ref().unwrap_or(object);
            let UntimedCondition { kind, status, reason, message } = plain::ready(asker, report, &answers);
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
