//! Objects whose last write was refused, and when each is written again.
//!
//! One that is refused for good must not hold up the others, so each waits for itself.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use netloom_object::ObjectRef;

use crate::controller::{Settings, later};

/// Objects whose last write was refused.
#[derive(Debug, Clone, Default)]
pub(crate) struct WriteBackoff(BTreeMap<ObjectRef, Wait>);

#[derive(Debug, Clone, Copy)]
struct Wait {
    refusals: u32,
    until: Timestamp,
}

impl WriteBackoff {
    /// A write was refused: the next one waits, longer with each.
    pub(crate) fn refused(&mut self, now: Timestamp, target: ObjectRef, settings: &Settings) {
        let wait = self.0.entry(target).or_insert(Wait { refusals: 0, until: now });
        let doubled = 2_i32.saturating_pow(wait.refusals.min(16));
        let pause: SignedDuration = settings.retry_first.checked_mul(doubled).unwrap_or(settings.retry_most);
        *wait = Wait { refusals: wait.refusals.saturating_add(1), until: later(now, pause.min(settings.retry_most)) };
    }

    /// A write was done.
    pub(crate) fn done(&mut self, target: &ObjectRef) {
        self.0.remove(target);
    }

    /// Whether an object waits.
    pub(crate) fn holds(&self, now: Timestamp, target: &ObjectRef) -> bool {
        self.0.get(target).is_some_and(|wait| now < wait.until)
    }

    /// Whether the last write of an object was refused.
    pub(crate) fn knows(&self, target: &ObjectRef) -> bool {
        self.0.contains_key(target)
    }

    /// The objects whose last write was refused.
    pub(crate) fn targets(&self) -> impl Iterator<Item = &ObjectRef> {
        self.0.keys()
    }

    /// Forgets objects that nobody wants to write any more.
    pub(crate) fn retain(&mut self, wanted: &BTreeSet<&ObjectRef>) {
        self.0.retain(|target, _| wanted.contains(target));
    }

    /// When the next of them may be written again.
    pub(crate) fn ends_after(&self, now: Timestamp) -> Option<Timestamp> {
        self.0.values().map(|wait| wait.until).filter(|until| *until > now).min()
    }
}
