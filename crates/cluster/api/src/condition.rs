//! Conditions as Kubernetes has them today: one entry for each type, with reason and generation.
//!
//! Kinds of older interfaces that spell conditions differently declare their own.

use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::Time,
    jiff::{RoundMode, Timestamp, TimestampRound, Unit},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether a condition holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Truth {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// Nobody can tell yet.
    Unknown,
}

impl From<bool> for Truth {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

/// What is observed of an object, before it has a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// What is observed, such as `Ready`.
    pub kind: &'static str,
    /// Whether it holds.
    pub truth: Truth,
    /// A stable word for programs.
    pub reason: String,
    /// A sentence for users.
    pub message: String,
}

impl Observation {
    /// An observation.
    pub fn new(
        kind: &'static str,
        truth: impl Into<Truth>,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self { kind, truth: truth.into(), reason: reason.into(), message: message.into() }
    }

    /// The condition that says it; its time stays as long as the truth does.
    pub fn at(self, now: Timestamp, generation: Option<i64>, before: &Conditions) -> Condition {
        let known = before.get(self.kind).map(|known| (known.status, &known.last_transition_time));
        Condition {
            kind: self.kind.to_owned(),
            status: self.truth,
            observed_generation: generation,
            last_transition_time: since(self.truth, known).cloned().unwrap_or_else(|| seconds(now)),
            reason: self.reason,
            message: self.message,
        }
    }
}

/// Since when something holds, by what was known of it before; none when it has just changed.
pub(crate) fn since<T>(truth: Truth, before: Option<(Truth, T)>) -> Option<T> {
    before.filter(|(known, _)| *known == truth).map(|(_, time)| time)
}

/// A time as servers keep it: they cut it to whole seconds, and what was cut would look like a change.
pub fn seconds(time: Timestamp) -> Time {
    let cut = time.round(TimestampRound::new().smallest(Unit::Second).mode(RoundMode::Trunc));
    Time(cut.unwrap_or(time))
}

/// One observation about an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// What is observed, such as `Ready`.
    #[serde(rename = "type")]
    #[schemars(
        length(max = 316),
        regex(
            pattern = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
        )
    )]
    pub kind: String,
    /// Whether it holds.
    pub status: Truth,
    /// The generation of the object that was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
    /// When `status` last changed.
    pub last_transition_time: Time,
    /// A stable word for programs.
    #[schemars(length(min = 1, max = 1024), regex(pattern = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"))]
    pub reason: String,
    /// A sentence for users.
    #[schemars(length(max = 32768))]
    pub message: String,
}

/// Conditions, at most one for each type.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
pub struct Conditions(pub Vec<Condition>);

impl Conditions {
    /// The condition of that type.
    pub fn get(&self, kind: &str) -> Option<&Condition> {
        self.0.iter().find(|condition| condition.kind == kind)
    }

    /// Whether there is none; for leaving the field out.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Puts `condition` in the place of the one of its type.
    ///
    /// The time of the last transition stays when `status` does, as readers expect.
    pub fn set(&mut self, mut condition: Condition) {
        match self.0.iter_mut().find(|known| known.kind == condition.kind) {
            Some(known) => {
                if let Some(time) = since(condition.status, Some((known.status, &known.last_transition_time))) {
                    condition.last_transition_time = time.clone();
                }
                *known = condition;
            }
            None => self.0.push(condition),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_condition_stays_while_its_truth_does() {
        let first = Timestamp::from_millisecond(1_500).unwrap();
        let seen = |truth: bool, message: &str| Observation::new("Available", truth, "R", message);
        let mut all = Conditions(vec![seen(true, "a").at(first, Some(1), &Conditions::default())]);
        assert_eq!(all.0[0].last_transition_time.0.as_millisecond(), 1_000);
        let later = Timestamp::from_second(9).unwrap();
        let same = seen(true, "b").at(later, Some(2), &all);
        assert_eq!((same.last_transition_time.0.as_second(), same.message.as_str()), (1, "b"));
        all.set(same);
        assert_eq!(seen(false, "c").at(later, Some(2), &all).last_transition_time.0.as_second(), 9);
    }
}
