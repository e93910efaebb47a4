//! Links that nobody asked for, such as those of pods: they come and go all day.
//!
//! The first change of them after a calm time is looked at like any other. Each look for their sake alone makes the next one
//! wait for longer, up to the poll, which reads the host anyway. Changes of links that the desired state is about never
//! wait for these.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use netloom_model::{Link, Observed};
use netloom_types::{IfName, Protocol};

use crate::{
    HostChange, Settings,
    backoff::{later, wait},
};

/// The pause after the first look.
const PAUSE: SignedDuration = SignedDuration::from_secs(1);

/// What is known of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bystanders {
    /// All other links, also those that are wanted and not there; none before the host was read.
    concerned: Option<BTreeSet<IfName>>,
    /// The first and the last change that was not looked at.
    dirty: Option<(Timestamp, Timestamp)>,
    /// How often the host was read for their sake, one time after another.
    looks: u32,
    not_before: Option<Timestamp>,
}

impl Bystanders {
    /// Whether a change is about these links alone.
    pub(crate) fn are_all_of(&self, change: &HostChange) -> bool {
        match (change, &self.concerned) {
            (HostChange::Links(links), Some(concerned)) => links.is_disjoint(concerned),
            (HostChange::Anything, _) | (_, None) => false,
        }
    }

    /// Some of them changed.
    pub(crate) fn changed(&mut self, now: Timestamp) {
        self.dirty = Some((self.dirty.map_or(now, |(first, _)| first), now));
    }

    /// When the host is to be read for their sake.
    pub(crate) fn due(&self, settings: &Settings) -> Option<Timestamp> {
        let (first, last) = self.dirty?;
        let usual = later(last, settings.quiet).min(later(first, settings.longest));
        Some(self.not_before.map_or(usual, |not_before| usual.max(not_before)))
    }

    /// The host is being read, for their sake alone or not.
    pub(crate) fn begin(&mut self, now: Timestamp, alone: bool, settings: &Settings) {
        if self.dirty.take().is_some() && alone {
            let calm = self.not_before.is_none_or(|end| later(end, settings.poll) < now);
            self.looks = if calm { 1 } else { self.looks.saturating_add(1) };
            self.not_before = Some(later(now, wait(PAUSE, settings.poll, self.looks, settings.seed)));
        }
    }

    /// The host was read: cards, what is named, what is ours, and what ours stands on or leads out by are no bystanders.
    pub(crate) fn saw(&mut self, observed: &Observed, named: &BTreeSet<IfName>) {
        let mut concerned = named.clone();
        let is_known = |link: &&Link| !link.kind.is_virtual() || link.is_ours();
        concerned.extend(observed.links.values().filter(is_known).map(|link| link.name));
        let ours = observed.routes.values().filter(|route| route.protocol == Protocol::NETLOOM);
        concerned.extend(ours.flat_map(|route| &route.next_hops).filter_map(|hop| hop.link));
        // Stacks are a few links high.
        loop {
            let beside = |link: &&Link| !concerned.contains(&link.name);
            let above = |link: &Link| link.controller.is_some_and(|name| concerned.contains(&name));
            let under = observed.links.values().filter(|link| concerned.contains(&link.name));
            let under = under.flat_map(|link| link.controller.into_iter().chain(link.base()));
            let ports = observed.links.values().filter(beside).filter(|link| above(link)).map(|link| link.name);
            let more: Vec<IfName> = under.filter(|name| !concerned.contains(name)).chain(ports).collect();
            if more.is_empty() {
                break;
            }
            concerned.extend(more);
        }
        self.concerned = Some(concerned);
    }
}
