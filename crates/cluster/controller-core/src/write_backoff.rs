//! Objects whose last write was refused, and when each is written again.
//!
//! One that is refused for good must not hold up the others, so each waits for itself; and so does the status of an
//! object, for what a node is assigned does not wait until it can be reported.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use netloom_object::{Action, ObjectRef};

use crate::controller::{Settings, later};

/// What of an object is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    /// All but the status.
    Object,
    /// The status, where it is written apart.
    Status,
}

impl Part {
    /// What an action writes.
    pub(crate) fn of(action: &Action) -> Self {
        match action {
            Action::ApplyStatus { .. } => Self::Status,
            Action::Create { .. }
            | Action::Apply { .. }
            | Action::Patch { .. }
            | Action::PatchTested { .. }
            | Action::Absent { .. }
            | Action::Delete { .. } => Self::Object,
        }
    }
}

/// Objects whose last write was refused.
#[derive(Debug, Clone, Default)]
pub(crate) struct WriteBackoff {
    objects: BTreeMap<ObjectRef, Wait>,
    statuses: BTreeMap<ObjectRef, Wait>,
}

#[derive(Debug, Clone, Copy)]
struct Wait {
    refusals: u32,
    until: Timestamp,
}

impl WriteBackoff {
    fn part(&self, part: Part) -> &BTreeMap<ObjectRef, Wait> {
        match part {
            Part::Object => &self.objects,
            Part::Status => &self.statuses,
        }
    }

    fn part_mut(&mut self, part: Part) -> &mut BTreeMap<ObjectRef, Wait> {
        match part {
            Part::Object => &mut self.objects,
            Part::Status => &mut self.statuses,
        }
    }

    /// A write was refused: the next one waits, longer with each.
    pub(crate) fn refused(&mut self, now: Timestamp, (target, part): (ObjectRef, Part), settings: &Settings) {
        let wait = self.part_mut(part).entry(target).or_insert(Wait { refusals: 0, until: now });
        let doubled = 2_i32.saturating_pow(wait.refusals.min(16));
        let pause: SignedDuration = settings.retry_first.checked_mul(doubled).unwrap_or(settings.retry_most);
        *wait = Wait { refusals: wait.refusals.saturating_add(1), until: later(now, pause.min(settings.retry_most)) };
    }

    /// A write was done.
    pub(crate) fn done(&mut self, (target, part): &(ObjectRef, Part)) {
        self.part_mut(*part).remove(target);
    }

    /// Whether a write waits.
    pub(crate) fn holds(&self, now: Timestamp, target: &ObjectRef, part: Part) -> bool {
        self.part(part).get(target).is_some_and(|wait| now < wait.until)
    }

    /// Whether the last write of an object was refused, but for its status.
    pub(crate) fn knows(&self, target: &ObjectRef) -> bool {
        self.objects.contains_key(target)
    }

    /// The objects whose last write was refused, but for their status.
    pub(crate) fn targets(&self) -> impl Iterator<Item = &ObjectRef> {
        self.objects.keys()
    }

    /// Forgets what nobody wants to write any more.
    pub(crate) fn retain(&mut self, wanted: &BTreeSet<(&ObjectRef, Part)>) {
        self.objects.retain(|target, _| wanted.contains(&(target, Part::Object)));
        self.statuses.retain(|target, _| wanted.contains(&(target, Part::Status)));
    }

    /// When the next of them may be written again.
    pub(crate) fn ends_after(&self, now: Timestamp) -> Option<Timestamp> {
        let waits = self.objects.values().chain(self.statuses.values());
        waits.map(|wait| wait.until).filter(|until| *until > now).min()
    }
}
