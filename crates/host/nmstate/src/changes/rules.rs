//! Rules that a desired state changes.

use std::collections::BTreeSet;

use netloom_model::{HostState, Observed, RuleKey};
use netloom_types::Protocol;

use super::Side;
use crate::{
    document::{RuleEntry, RulePrefix},
    resolve::absent_rule_matches,
    show::rule_entry,
};

pub(super) fn entries(state: &HostState, observed: &Observed, side: Side) -> Vec<RuleEntry> {
    let new: Vec<(RuleKey, Protocol)> = state
        .rules
        .iter()
        .map(|desired| (desired.rule.key, desired.rule.protocol))
        .filter(|(key, _)| !observed.rules.contains_key(key))
        .collect();
    let gone: Vec<(RuleKey, Protocol)> =
        state.absent_rules.iter().filter_map(|key| Some((*key, *observed.rules.get(key)?))).collect();
    let (from, to) = match side {
        Side::After => (gone, new),
        Side::Before => (new, gone),
    };
    let touched: BTreeSet<RuleKey> = from.iter().chain(&to).map(|(key, _)| *key).collect();
    let absent: Vec<RuleEntry> = from.iter().map(|(key, protocol)| exactly(key, *protocol)).collect();
    // What is left alone and would be caught by a pattern that shall catch something else.
    let back = observed.rules.iter().filter(|(key, protocol)| {
        !touched.contains(key) && absent.iter().any(|pattern| absent_rule_matches(pattern, key, **protocol))
    });
    let present = to.iter().map(|(key, protocol)| rule_entry(key, *protocol));
    let back = back.map(|(key, protocol)| rule_entry(key, *protocol));
    let present: Vec<RuleEntry> = present.chain(back).collect();
    absent.into_iter().chain(present).collect()
}

/// An absent entry that leaves as little to chance as the format allows.
fn exactly(key: &RuleKey, protocol: Protocol) -> RuleEntry {
    let or_empty = |prefix: RulePrefix| if prefix == RulePrefix::Unspecified { RulePrefix::Empty } else { prefix };
    let entry = rule_entry(key, protocol);
    RuleEntry {
        absent: true,
        family: Some(key.family),
        from: or_empty(entry.from),
        to: or_empty(entry.to),
        protocol: None,
        ..entry
    }
}
