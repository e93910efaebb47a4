//! The neighbours of one link: each holds as long as it reported.
//!
//! Time is how long ago some fixed moment was, by a clock that never goes back. It comes in with every
//! call; nothing here waits.

use std::{collections::BTreeMap, time::Duration};

use serde_json::Value;

use crate::announcement::{Announcement, Id};

/// More machines than this on one wire are no neighbours but a flood.
const MOST: usize = 32;

/// What hearing an announcement did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// Somebody is new, says something else, or took leave.
    Changed,
    /// Nothing new.
    Same,
    /// There is no room for another neighbour: left out until one goes.
    Full,
}

/// A table of neighbours.
#[derive(Debug, Clone)]
pub struct Neighbours {
    since: Duration,
    known: BTreeMap<(Id, Id), (Announcement, Duration)>,
}

impl Neighbours {
    /// How long one must listen before silence says something: two of the usual intervals between
    /// announcements.
    pub const SILENCE: Duration = Duration::from_mins(1);

    /// A table that begins to listen now.
    pub fn new(now: Duration) -> Self {
        Self { since: now, known: BTreeMap::new() }
    }

    /// Takes an announcement.
    pub fn hear(&mut self, now: Duration, announcement: Announcement) -> Heard {
        let key = (announcement.chassis.clone(), announcement.port.clone());
        if announcement.ttl == 0 {
            return if self.known.remove(&key).is_some() { Heard::Changed } else { Heard::Same };
        }
        if self.known.len() >= MOST && !self.known.contains_key(&key) {
            return Heard::Full;
        }
        let until = now + Duration::from_secs(announcement.ttl.into());
        let given = |other: &Announcement| Announcement { ttl: announcement.ttl, ..other.clone() } == announcement;
        let same = self.known.get(&key).is_some_and(|(before, _)| given(before));
        self.known.insert(key, (announcement, until));
        if same { Heard::Same } else { Heard::Changed }
    }

    /// Forgets whose time is over; whether there was anybody.
    pub fn expire(&mut self, now: Duration) -> bool {
        let before = self.known.len();
        self.known.retain(|_, (_, until)| *until > now);
        self.known.len() < before
    }

    /// When the report may change without a frame: somebody's time is over, or silence begins to count.
    pub fn wake_at(&self, now: Duration) -> Option<Duration> {
        let silence = Some(self.since + Self::SILENCE).filter(|at| *at > now && self.known.is_empty());
        self.known.values().map(|(_, until)| *until).chain(silence).min()
    }

    /// Who announces itself, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Announcement> {
        self.known.values().map(|(announcement, _)| announcement)
    }

    /// The neighbours in nmstate's form; none while nobody could be heard yet.
    pub fn report(&self, now: Duration) -> Option<Vec<Value>> {
        let listened = now.saturating_sub(self.since) >= Self::SILENCE;
        (listened || !self.known.is_empty()).then(|| self.iter().map(Announcement::report).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn announcement(chassis: &str, ttl: u16) -> Announcement {
        let id = |name: &str| Id { kind: 7, name: name.to_owned() };
        Announcement::new(id(chassis), id("1"), ttl)
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn silence_counts_only_after_a_while() {
        let table = Neighbours::new(seconds(100));
        assert_eq!(table.report(seconds(159)), None);
        assert_eq!(table.wake_at(seconds(159)), Some(seconds(160)));
        assert_eq!(table.report(seconds(160)), Some(Vec::new()));
        assert_eq!(table.wake_at(seconds(160)), None);
    }

    #[test]
    fn a_neighbour_holds_as_long_as_it_reported() {
        let mut table = Neighbours::new(seconds(0));
        assert_eq!(table.hear(seconds(1), announcement("b", 120)), Heard::Changed);
        assert_eq!(table.hear(seconds(2), announcement("a", 30)), Heard::Changed);
        assert_eq!(table.iter().map(|one| one.chassis.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(table.wake_at(seconds(2)), Some(seconds(32)));
        // Another time to live alone is nothing to report.
        assert_eq!(table.hear(seconds(20), announcement("a", 40)), Heard::Same);
        assert!(!table.expire(seconds(59)));
        assert!(table.expire(seconds(60)));
        let renamed = Announcement { system_name: Some("new".into()), ..announcement("b", 120) };
        assert_eq!(table.hear(seconds(61), renamed), Heard::Changed);
        assert_eq!(table.hear(seconds(62), announcement("b", 0)), Heard::Changed, "it takes leave");
        assert_eq!(table.hear(seconds(63), announcement("b", 0)), Heard::Same);
        assert_eq!(table.report(seconds(63)), Some(Vec::new()));
    }

    #[test]
    fn a_flood_is_bounded_and_known_ones_stay() {
        let mut table = Neighbours::new(seconds(0));
        for number in 0..MOST {
            assert_eq!(table.hear(seconds(0), announcement(&number.to_string(), 10)), Heard::Changed);
        }
        assert_eq!(table.hear(seconds(0), announcement("one more", 10)), Heard::Full);
        assert_eq!(table.hear(seconds(5), announcement("0", 10)), Heard::Same);
        table.expire(seconds(10));
        assert_eq!(table.iter().count(), 1);
    }
}
