//! Who is heard on each link: the tables of all links that are listened on. Pure; the time is how long the
//! process has run.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use netloom_agent_core::Heard;
use netloom_lldp::{Malformed, Neighbours};
use netloom_types::IfName;

/// The tables of all links.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    wanted: BTreeSet<IfName>,
    /// Only of links that can be heard: silence says nothing of others.
    tables: BTreeMap<IfName, (Ear, Neighbours)>,
}

/// The number of a link in the kernel: one that was recreated has another.
pub(crate) type Ear = usize;

impl Tables {
    /// These links shall be listened on, and these are, each under its number.
    pub(crate) fn listen(&mut self, now: Duration, wanted: BTreeSet<IfName>, ears: &BTreeMap<IfName, Ear>) {
        self.tables.retain(|link, (ear, _)| ears.get(link) == Some(ear));
        for (link, ear) in ears {
            self.tables.entry(*link).or_insert_with(|| (*ear, Neighbours::new(now)));
        }
        self.wanted = wanted;
    }

    /// Takes a frame that came in on a link.
    pub(crate) fn frame(&mut self, now: Duration, link: IfName, frame: &[u8]) -> Result<(), Malformed> {
        let announcement = netloom_lldp::parse(frame)?;
        if let Some((_, table)) = self.tables.get_mut(&link) {
            table.hear(now, announcement);
        }
        Ok(())
    }

    /// Forgets whose time is over.
    pub(crate) fn expire(&mut self, now: Duration) {
        for (_, table) in self.tables.values_mut() {
            table.expire(now);
        }
    }

    /// When there may be news without a frame.
    pub(crate) fn wake_at(&self, now: Duration) -> Option<Duration> {
        self.tables.values().filter_map(|(_, table)| table.wake_at(now)).min()
    }

    /// What is known of every link that shall be listened on.
    pub(crate) fn heard(&self, now: Duration) -> Heard {
        let on = |link: &IfName| self.tables.get(link).and_then(|(_, table)| table.report(now));
        self.wanted.iter().map(|link| (*link, netloom_nmstate::Heard { neighbours: on(link) })).collect()
    }

    /// Whether a link that can be heard may yet say something for the first time.
    pub(crate) fn is_early(&self, now: Duration) -> bool {
        self.tables.values().any(|(_, table)| table.report(now).is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn neighbours(tables: &Tables, now: Duration, link: &str) -> Option<usize> {
        tables.heard(now)[&link.parse().unwrap()].neighbours.as_ref().map(Vec::len)
    }

    #[test]
    fn silence_counts_only_where_somebody_listens_and_from_the_beginning() {
        let mut tables = Tables::default();
        let links = ["a", "b"].map(|link| link.parse().unwrap());
        tables.listen(at(0), links.into(), &BTreeMap::from([(links[0], 7)]));
        assert_eq!(tables.wake_at(at(0)), Some(at(60)));
        assert!(tables.is_early(at(59)));
        assert_eq!(neighbours(&tables, at(59), "a"), None);
        assert_eq!((neighbours(&tables, at(60), "a"), tables.is_early(at(60))), (Some(0), false));
        assert_eq!(neighbours(&tables, at(60), "b"), None, "it cannot be heard at all");
        tables.listen(at(70), links.into(), &BTreeMap::from([(links[0], 8), (links[1], 9)]));
        assert_eq!(neighbours(&tables, at(71), "a"), None, "recreated, so listened on again");
        tables.listen(at(130), links.into(), &BTreeMap::from([(links[0], 8)]));
        assert_eq!((neighbours(&tables, at(131), "a"), neighbours(&tables, at(131), "b")), (Some(0), None));
        tables.listen(at(140), BTreeSet::new(), &BTreeMap::new());
        assert_eq!((tables.heard(at(140)).len(), tables.wake_at(at(140))), (0, None));
    }

    #[test]
    fn a_neighbour_is_there_as_long_as_it_reported_and_half_a_frame_is_none() {
        let link = "a".parse().unwrap();
        let mut tables = Tables::default();
        tables.listen(at(0), [link].into(), &BTreeMap::from([(link, 7)]));
        let frame = b"\x01\x80\xc2\x00\x00\x0e\x02\0\0\0\0\x09\x88\xcc\x02\x05\x07leaf\x04\x05\x07port\x06\x02\0\x78";
        assert!(tables.frame(at(1), link, &frame[..30]).is_err());
        tables.frame(at(1), link, frame).unwrap();
        assert_eq!((neighbours(&tables, at(1), "a"), tables.wake_at(at(1))), (Some(1), Some(at(121))));
        tables.expire(at(120));
        assert_eq!(neighbours(&tables, at(120), "a"), Some(1));
        tables.expire(at(121));
        assert_eq!(neighbours(&tables, at(121), "a"), Some(0));
    }
}
