//! Lists with numbered entries.
//!
//! FRR ignores an entry that says what another one of its list says, and answers that all is well; so an entry waits for
//! that other one to go or to change. A prefix list without entries passes everything, so the last entry goes only after
//! one that passes nothing was put in its place.

use std::collections::{BTreeMap, BTreeSet};

use super::Planner;
use crate::{config::RoutingConfig, syntax};

/// What the entries of one list say.
type Entries = BTreeMap<u32, String>;

impl Planner {
    /// Brings every list that is wanted to what it shall be.
    pub(super) fn set_lists(&mut self) {
        let lists: BTreeSet<String> = lists(&self.wanted);
        for list in lists {
            self.set_list(&list);
        }
        let is_description = |line: &str| syntax::LISTS.iter().any(|start| line.starts_with(start));
        self.put_wanted(&[], |line| is_description(line) && syntax::list_entry(line).is_none());
    }

    /// Sets entries as soon as no other says the same, then removes what is left.
    fn set_list(&mut self, list: &str) {
        let wanted = entries(&self.wanted, list);
        let mut guard = None;
        loop {
            let now = entries(&self.state, list);
            let missing: Vec<(&u32, &String)> =
                wanted.iter().filter(|(sequence, content)| now.get(sequence) != Some(content)).collect();
            let says = |content: &String| now.iter().find(|(_, found)| *found == content).map(|(at, _)| *at);
            let free: Vec<_> = missing.iter().filter(|(_, content)| says(content).is_none()).collect();
            if let Some((sequence, content)) = free.first() {
                self.send(&[], &format!("{list} seq {sequence} {content}"));
                continue;
            }
            let Some(holder) = missing.first().and_then(|(_, content)| says(content)) else { break };
            if wanted.get(&holder) == now.get(&holder) {
                // Two wanted entries say the same, which FRR cannot have.
                break;
            }
            if now.len() == 1 {
                guard = self.guard(list, &wanted, &now);
            }
            self.take_entry(list, holder);
        }
        if let Some(sequence) = guard {
            self.take_entry(list, sequence);
        }
        let stale: Vec<u32> =
            entries(&self.state, list).into_keys().filter(|sequence| !wanted.contains_key(sequence)).collect();
        for sequence in stale {
            self.take_entry(list, sequence);
        }
    }

    /// Keeps a prefix list from being empty, by an entry that passes nothing; the number of that entry.
    fn guard(&mut self, list: &str, wanted: &Entries, now: &Entries) -> Option<u32> {
        let nothing = if list.starts_with("ip prefix-list ") {
            "deny 255.255.255.255/32"
        } else if list.starts_with("ipv6 prefix-list ") {
            "deny ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128"
        } else {
            return None;
        };
        let free = (1..=u32::MAX).rev().find(|at| !wanted.contains_key(at) && !now.contains_key(at))?;
        self.send(&[], &format!("{list} seq {free} {nothing}"));
        Some(free)
    }

    fn take_entry(&mut self, list: &str, sequence: u32) {
        if let Some(content) = entries(&self.state, list).get(&sequence) {
            self.take(&[], &format!("{list} seq {sequence} {content}"));
        }
    }

    /// Removes lists that are not wanted, and what they are described with.
    pub(super) fn clear_lists(&mut self) {
        let is_list = |line: &str| syntax::LISTS.iter().any(|start| line.starts_with(start));
        self.take_others(&[], is_list);
    }
}

/// The lists that there are.
fn lists(config: &RoutingConfig) -> BTreeSet<String> {
    config.lines_of(&[]).filter_map(syntax::list_entry).map(|entry| entry.list.to_owned()).collect()
}

/// The entries of one list.
fn entries(config: &RoutingConfig, list: &str) -> Entries {
    config
        .lines_of(&[])
        .filter_map(syntax::list_entry)
        .filter(|entry| entry.list == list)
        .map(|entry| (entry.sequence, entry.content.to_owned()))
        .collect()
}
