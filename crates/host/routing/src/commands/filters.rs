//! Route maps.
//!
//! A route map may be in use while it changes. An entry that permits and has no condition yet passes everything, so a new
//! one is made as one that denies, and permits only once it is complete. An entry that permits gets its new conditions
//! before it loses old ones, one that denies the other way round: both then stop more in between, and never less.
//!
//! What follows on a match (`on-match`) FRR takes only in an entry that permits, so it is not there for a moment in which
//! the entry ends the map. A map that changes there is closed meanwhile by an entry before all others.

use std::collections::{BTreeMap, BTreeSet};

use super::Planner;
use crate::{
    config::RoutingConfig,
    syntax::{self, MapEntry},
};

/// First word of the line that says what follows on a match.
const ON_MATCH: &str = "on-match ";

/// Entries of one route map: whether each permits.
type Entries = BTreeMap<u32, bool>;

impl Planner {
    /// Brings every route map that is wanted to what it shall be, those that others call first.
    pub(super) fn set_route_maps(&mut self) {
        for map in called_first(&self.wanted) {
            let used = self.may_be_used(&map);
            let barrier = self.barrier(&map).filter(|_| used);
            if let Some(barrier) = &barrier {
                self.put(&[], barrier);
            }
            for (sequence, permits) in entries(&self.wanted, &map) {
                self.set_entry(MapEntry { map: &map, permits, sequence }, used && barrier.is_none());
            }
            self.take_stale_entries(&map);
        }
    }

    /// Whether something names the map by now, or may: an entry that is there already says so.
    fn may_be_used(&self, map: &str) -> bool {
        self.state.lines().any(|(_, line)| syntax::has_word(line, map))
    }

    /// The entry that closes a map, if what follows on a match changes in it: one that denies everything, before all that
    /// are there or wanted. It goes with the stale entries.
    fn barrier(&self, map: &str) -> Option<String> {
        let follow = |config: &RoutingConfig| -> BTreeSet<(u32, String)> {
            let lines = all_entries(config).filter(|entry| entry.map == map).flat_map(|entry| {
                let context = [entry.opening()];
                let follows = config.lines_of(&context).filter(|line| line.starts_with(ON_MATCH));
                follows.map(|line| (entry.sequence, line.to_owned())).collect::<Vec<_>>()
            });
            lines.collect()
        };
        if follow(&self.state) == follow(&self.wanted) {
            return None;
        }
        let first = all_entries(&self.state).chain(all_entries(&self.wanted)).filter(|entry| entry.map == map);
        let sequence = first.map(|entry| entry.sequence).min()?.checked_sub(1).filter(|free| *free > 0)?;
        Some(MapEntry { map, permits: false, sequence }.opening())
    }

    fn set_entry(&mut self, wanted: MapEntry<'_>, careful: bool) {
        let denying = MapEntry { permits: false, ..wanted };
        let is_empty = self.wanted.lines_of(&[wanted.opening()]).next().is_none();
        let there = entries(&self.state, wanted.map).get(&wanted.sequence).copied();
        let meanwhile = match there {
            None if careful && !is_empty => denying,
            None => wanted,
            Some(permits) if permits == wanted.permits => wanted,
            Some(_) => denying,
        };
        if there == Some(true) {
            self.take_follow(wanted);
        }
        self.put(&[], &meanwhile.opening());
        self.set_lines(meanwhile, wanted);
        self.put(&[], &wanted.opening());
        let context = [wanted.opening()];
        self.put_wanted(&context, |line| line.starts_with(ON_MATCH));
    }

    /// Removes what follows on a match of an entry that permits, if it is not wanted.
    fn take_follow(&mut self, wanted: MapEntry<'_>) {
        let now = [MapEntry { permits: true, ..wanted }.opening()];
        let wanted = [wanted.opening()];
        let old = self.ordered(&self.state, &now, |line| {
            line.starts_with(ON_MATCH) && !self.wanted.has(&wanted, line) && !self.is_replaced(&wanted, line)
        });
        for line in old {
            self.take(&now, &line);
        }
    }

    /// Sets the lines of an entry, which has its action of now.
    fn set_lines(&mut self, now: MapEntry<'_>, wanted: MapEntry<'_>) {
        let (now, wanted) = ([now.opening()], [wanted.opening()]);
        let denies = syntax::map_entry(&now[0]).is_some_and(|entry| !entry.permits);
        let old: Vec<String> =
            self.ordered(&self.state, &now, |line| !self.wanted.has(&wanted, line) && !self.is_replaced(&wanted, line));
        let new =
            self.ordered(&self.wanted, &wanted, |line| !self.state.has(&now, line) && !line.starts_with(ON_MATCH));
        if denies {
            for line in &old {
                self.take(&now, line);
            }
        }
        for line in &new {
            self.put(&now, line);
        }
        if !denies {
            for line in &old {
                self.take(&now, line);
            }
        }
    }

    fn take_stale_entries(&mut self, map: &str) {
        let wanted = entries(&self.wanted, map);
        // The last one first: the one that closes the map is the first.
        for (sequence, permits) in entries(&self.state, map).into_iter().rev() {
            if !wanted.contains_key(&sequence) {
                self.take(&[], &MapEntry { map, permits, sequence }.opening());
            }
        }
    }

    /// Removes route maps that are not wanted, those that are called by others last.
    pub(super) fn clear_route_maps(&mut self) {
        for map in called_first(&self.state).iter().rev() {
            self.take_stale_entries(map);
        }
    }
}

/// Entries of one route map.
fn entries(config: &RoutingConfig, map: &str) -> Entries {
    all_entries(config).filter(|entry| entry.map == map).map(|entry| (entry.sequence, entry.permits)).collect()
}

/// Every entry of every route map.
fn all_entries(config: &RoutingConfig) -> impl Iterator<Item = MapEntry<'_>> {
    config.lines_of(&[]).filter_map(syntax::map_entry)
}

/// The names of all route maps, each after those that it calls. Where they call each other in a circle, by name.
fn called_first(config: &RoutingConfig) -> Vec<String> {
    let mut calls: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for entry in all_entries(config) {
        let called = calls.entry(entry.map).or_default();
        called.extend(config.lines_of(&[entry.opening()]).filter_map(|line| line.strip_prefix("call ")));
    }
    let mut order: Vec<String> = Vec::new();
    while !calls.is_empty() {
        let ready =
            calls.iter().find(|(map, called)| called.iter().all(|other| other == *map || !calls.contains_key(other)));
        let Some(next) = ready.or_else(|| calls.iter().next()).map(|(map, _)| *map) else { break };
        calls.remove(next);
        order.push(next.to_owned());
    }
    order
}
