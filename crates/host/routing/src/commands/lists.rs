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
        let mut now = entries(&self.state, list);
        loop {
            self.set_free_entries(list, &wanted, &mut now);
            let blocked = wanted.iter().find(|(sequence, content)| now.get(sequence) != Some(content));
            let Some(holder) = blocked.and_then(|(_, content)| says(&now, content)) else { break };
            if wanted.get(&holder) == now.get(&holder) {
                // Two wanted entries say the same, which FRR cannot have.
                break;
            }
            if now.len() == 1 && guard.is_none() {
                guard = self.guard(list, &wanted, &now);
            }
            self.take_entry(list, holder, &mut now);
        }
        let stale = entries(&self.state, list).into_keys().filter(|sequence| !wanted.contains_key(sequence));
        for sequence in stale.filter(|sequence| Some(*sequence) != guard).chain(guard) {
            self.take_entry(list, sequence, &mut now);
        }
    }

    /// Sets entries that nothing keeps from being set, until there is none.
    fn set_free_entries(&mut self, list: &str, wanted: &Entries, now: &mut Entries) {
        loop {
            let before = self.commands.len();
            for (sequence, content) in wanted {
                if now.get(sequence) != Some(content) && says(now, content).is_none() {
                    self.send(&[], &format!("{list} seq {sequence} {content}"));
                    now.insert(*sequence, content.clone());
                }
            }
            if self.commands.len() == before {
                return;
            }
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

    fn take_entry(&mut self, list: &str, sequence: u32, now: &mut Entries) {
        now.remove(&sequence);
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

/// The entry that says this.
fn says(entries: &Entries, content: &str) -> Option<u32> {
    entries.iter().find(|(_, found)| *found == content).map(|(sequence, _)| *sequence)
}
