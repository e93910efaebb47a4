//! A front end whose objects have one condition, `Ready`: it holds once every node that an object is for has what it
//! wants.

use std::collections::BTreeMap;

use netloom_api::condition::{Conditions, Observation, Truth};
use netloom_compile::{FrontEnd, Report, UntimedCondition};
use netloom_object::ObjectRef;
use serde::{Deserialize, Serialize};

use crate::{
    answers::{self, NodeAnswer, Progress},
    front_end::{Assigned, FrontEndStatus, Scene},
    kept::Kept,
    kinds::{Row, StatusPath},
    networks::ROLLOUT_STOPPED,
    work::Work,
};

/// A front end that says no more than that.
#[derive(Debug)]
pub(crate) struct Plain(pub(crate) &'static dyn FrontEnd);

/// The status of its objects.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PlainStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    observed_generation: Option<i64>,
    #[serde(default)]
    conditions: Conditions,
}

impl FrontEndStatus for Plain {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn kinds(&self) -> Vec<Row> {
        let row = |kind: &netloom_compile::ServedKind| Row {
            optional: true,
            reported: Some(StatusPath::Subresource),
            status: Some(Kept::read::<PlainStatus>),
            frozen: kind.frozen,
            generated: kind.generated,
            ..Row::followed(kind.kind, kind.version)
        };
        self.0.kinds().iter().map(row).collect()
    }

    fn prepare(&self, _: Scene<'_>, _: &mut Work) {}

    fn report(&self, scene: Scene<'_>, assigned: Assigned<'_>, work: &mut Work) {
        let Scene { now, index, compiled } = scene;
        let answers = answers::all(now, index, compiled, assigned);
        let ours = |object: &ObjectRef| self.0.kinds().iter().any(|kind| kind.kind == object.kind);
        for (object, report) in compiled.reports.iter().filter(|(object, _)| ours(object)) {
            let Some(mark) = index.mark(object.kind, &object.key) else { continue };
            let before: PlainStatus = mark.status_as().cloned().unwrap_or_default();
            let UntimedCondition { kind, status, reason, message } = ready(object, report, &answers);
            let seen = Observation::new(kind, status, reason, message);
            let conditions = Conditions(vec![seen.at(now, mark.generation, &before.conditions)]);
            let after = PlainStatus { observed_generation: mark.generation, conditions };
            if after != before {
                work.status(index, object.kind, &object.key, &after);
            }
        }
    }
}

/// What is wrong with an object before nodes are asked, else what the first node says that does not have it.
pub(crate) fn ready(
    object: &ObjectRef,
    report: &dyn Report,
    answers: &BTreeMap<&str, NodeAnswer<'_>>,
) -> UntimedCondition {
    if let Some(wrong) = report.verdicts().into_iter().find(|verdict| verdict.status == Truth::False) {
        return wrong;
    }
    let verdict = |status, reason, message| UntimedCondition { kind: "Ready", status, reason, message };
    let nodes = || report.nodes().into_iter().flatten();
    for node in nodes() {
        let Some(answer) = answers.get(node.as_str()) else { continue };
        match answer.progress(object, false) {
            Progress::Done => {}
            Progress::Failed(why) => {
                return verdict(
                    Truth::False,
                    "ApplyFailed",
                    format!("{node} failed to apply the configuration: {why}"),
                );
            }
            Progress::Unassigned => {
                if let (Some(stopped), _) = answer.waits() {
                    return verdict(Truth::False, ROLLOUT_STOPPED, stopped.to_owned());
                }
                let message = format!("{node} is not assigned the configuration yet");
                return verdict(Truth::False, "Pending", message);
            }
            Progress::Assigned => {
                return verdict(Truth::False, "Pending", format!("{node} is applying the configuration"));
            }
        }
    }
    verdict(Truth::True, "Applied", format!("nodes that have it: {}", nodes().count()))
}
