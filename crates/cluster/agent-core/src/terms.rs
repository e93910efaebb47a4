//! On which terms the node keeps to its desired state, as the controller has written them on its object.
//!
//! They are read when they are needed and never kept: without the API the settings of the agent hold.

use netloom_api::rollout::annotation;
use netloom_compile::ObjectKey;
use netloom_probing::{ProbeTimes, ProbeTiming};
use serde_json::Value;

use crate::{agent::Agent, objects::CONFIG, settings::Drift};

impl Agent {
    /// What follows drift.
    pub(crate) fn after_drift(&self) -> Drift {
        match self.term(annotation::DRIFT) {
            Some("Report") => Drift::Report,
            // A word of a later controller asks for something else than to report; repairing is what is usual.
            Some(_) | None => self.settings.drift,
        }
    }

    /// Whether a desired state that cuts the way to the API server is brought about.
    pub(crate) fn may_be_cut_off(&self) -> bool {
        self.term(annotation::MAY_BE_CUT_OFF) == Some("true")
    }

    /// How long a change is watched before it is confirmed.
    pub(crate) fn timing(&self) -> ProbeTiming {
        self.settings.timing.with(self.term(annotation::PROBE_TIMING).map(ProbeTimes::read).unwrap_or_default())
    }

    fn term(&self, key: &str) -> Option<&str> {
        let config = self.objects.raw(CONFIG, &ObjectKey::global(self.settings.node.as_str()))?;
        config.get("metadata")?.get("annotations")?.get(key).and_then(Value::as_str)
    }
}
