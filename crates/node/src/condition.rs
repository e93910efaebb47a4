//! Conditions, with times that change only when the truth does.

use jiff::{SignedDuration, Timestamp, Unit};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use netloom_api::condition::{Condition, Conditions, Truth};

/// The most bytes of a message: more is not read, and every node writes it.
const MOST: usize = 1000;

/// A condition without its times.
pub(crate) struct Said {
    pub(crate) kind: &'static str,
    pub(crate) truth: Truth,
    pub(crate) reason: String,
    pub(crate) message: String,
}

impl Said {
    pub(crate) fn new(kind: &'static str, truth: bool, reason: impl Into<String>, message: impl Into<String>) -> Self {
        let truth = if truth { Truth::True } else { Truth::False };
        Self { kind, truth, reason: reason.into(), message: short(message.into()) }
    }

    /// The condition; the time stays as long as the truth does.
    pub(crate) fn condition(self, now: Timestamp, generation: Option<i64>, before: &Conditions) -> Condition {
        let known = before.get(self.kind).filter(|known| known.status == self.truth);
        Condition {
            kind: self.kind.to_owned(),
            status: self.truth,
            observed_generation: generation,
            last_transition_time: known.map_or_else(|| seconds(now), |known| known.last_transition_time.clone()),
            reason: self.reason,
            message: self.message,
        }
    }
}

/// A time as servers keep it: they cut it to whole seconds, and what was cut would look like a change.
pub(crate) fn seconds(time: Timestamp) -> Time {
    let cut = time.round(jiff::TimestampRound::new().smallest(Unit::Second).mode(jiff::RoundMode::Trunc));
    Time(cut.unwrap_or(time))
}

/// Milliseconds, as far as the field goes.
pub(crate) fn milliseconds(time: SignedDuration) -> u32 {
    u32::try_from(time.as_millis()).unwrap_or(u32::MAX)
}

/// A message that fits on one screen.
pub(crate) fn short(mut message: String) -> String {
    if message.len() > MOST {
        let end = (0..=MOST - '…'.len_utf8()).rev().find(|end| message.is_char_boundary(*end)).unwrap_or_default();
        message.truncate(end);
        message.push('…');
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_is_cut_between_two_characters() {
        let message = short("ä".repeat(900));
        assert!(message.len() <= MOST && message.ends_with("ä…"), "{}", message.len());
        assert_eq!(short("x".repeat(MOST)).len(), MOST);
    }

    #[test]
    fn the_time_of_a_condition_stays_while_its_truth_does() {
        let first = Timestamp::from_millisecond(1_500).unwrap();
        let said = |truth, message: &str| Said::new("Available", truth, "R", message);
        let mut all = Conditions(vec![said(true, "a").condition(first, Some(1), &Conditions::default())]);
        assert_eq!(all.0[0].last_transition_time.0.as_millisecond(), 1_000);
        let later = Timestamp::from_second(9).unwrap();
        let same = said(true, "b").condition(later, Some(2), &all);
        assert_eq!((same.last_transition_time.0.as_second(), same.message.as_str()), (1, "b"));
        all.set(same);
        assert_eq!(said(false, "c").condition(later, Some(2), &all).last_transition_time.0.as_second(), 9);
    }
}
