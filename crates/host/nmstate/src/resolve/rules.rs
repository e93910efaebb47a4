//! Policy rules.

use std::collections::{BTreeMap, BTreeSet};

use ipnet::IpNet;
use netloom_model::{DesiredRule, Rule, RuleAction, RuleKey};
use netloom_types::{Family, Protocol, RouteTable};

use super::Merge;
use crate::{
    document::{RuleEntry, RulePrefix},
    errors::reason,
};

/// Where automatic priorities start.
const FIRST_PRIORITY: u32 = 30_000;

impl Merge<'_> {
    /// The rules that shall be there, and the keys of those that shall go.
    pub(super) fn rules(&mut self) -> (Vec<DesiredRule>, Vec<RuleKey>) {
        let mut going: BTreeSet<RuleKey> = BTreeSet::new();
        for pattern in self.doc.rules.iter().filter(|entry| entry.absent) {
            going.extend(
                self.observed.rules.iter().filter(|(key, by)| matches(pattern, key, **by)).map(|(key, _)| *key),
            );
        }
        let present: Vec<(usize, &RuleEntry)> =
            self.doc.rules.iter().enumerate().filter(|(_, entry)| !entry.absent).collect();
        // Both families share one sequence; what the document or the host use is not free.
        let mut used: BTreeSet<u32> = present.iter().filter_map(|(_, entry)| entry.priority).collect();
        used.extend(self.observed.rules.keys().filter(|key| !going.contains(key)).map(|key| key.priority));
        let mut desired_states: Vec<DesiredRule> = Vec::new();
        // By everything but the priority: the numbers that a rule has or gets.
        let mut numbers: BTreeMap<RuleKey, u32> = BTreeMap::new();
        for key in self.observed.rules.keys().filter(|key| !going.contains(key)) {
            numbers.entry(RuleKey { priority: 0, ..*key }).or_insert(key.priority);
        }
        let mut seen: BTreeSet<RuleKey> = BTreeSet::new();
        let mut free = (FIRST_PRIORITY..u32::MAX).filter(|number| !used.contains(number));
        for (i, entry) in present {
            let path = format!("route-rules.config[{i}]");
            let Some(mut key) = self.rule_key(&path, entry) else { continue };
            if entry.priority.is_none() {
                // An equal rule that is there keeps its number; else the next free one.
                let number = numbers.entry(RuleKey { priority: 0, ..key });
                key.priority = *number.or_insert_with(|| free.next().unwrap_or(FIRST_PRIORITY));
            }
            self.check_goto(&path, &key);
            if !seen.insert(key) {
                continue;
            }
            let there = self.observed.rules.get(&key).copied();
            let protocol = entry.protocol.or(there).unwrap_or(self.options.protocol);
            desired_states.push(DesiredRule { rule: Rule { key, protocol }, origin: self.origin(path) });
        }
        for desired in &desired_states {
            going.remove(&desired.rule.key);
        }
        (desired_states, going.into_iter().collect())
    }

    fn check_goto(&mut self, path: &str, key: &RuleKey) {
        if let RuleAction::Goto(target) = key.action
            && target <= key.priority
        {
            let message = format!("{target} is not behind this rule's own priority {}", key.priority);
            self.refuse(format!("{path}.goto"), reason::INVALID_VALUE, message);
        }
    }

    fn rule_key(&mut self, path: &str, entry: &RuleEntry) -> Option<RuleKey> {
        let family = entry.family.or(entry.from.net().map(Family::of_net)).or(entry.to.net().map(Family::of_net));
        let Some(family) = family else {
            self.refuse(path, reason::MISSING_KEY, "say ip-from, ip-to or family: ipv4 or ipv6");
            return None;
        };
        let action = self.action(path, entry)?;
        let from = self.prefix(&format!("{path}.ip-from"), entry.from);
        let to = self.prefix(&format!("{path}.ip-to"), entry.to);
        let fwmask = entry.fwmask.unwrap_or(if entry.fwmark.unwrap_or_default() == 0 { 0 } else { u32::MAX });
        if entry.fwmask.is_some() && entry.fwmark.is_none() {
            self.refuse(format!("{path}.fwmask"), reason::MISSING_KEY, "needs fwmark; add it");
        }
        let suppresses = entry.suppress_prefix_length.is_some() || entry.suppress_group.is_some();
        if suppresses && !matches!(action, RuleAction::Table(_) | RuleAction::L3mdev) {
            self.refuse(path, reason::CONTRADICTION, "only a rule with a table can suppress routes of it");
        }
        Some(RuleKey {
            invert: entry.invert.unwrap_or_default(),
            from,
            to,
            iif: entry.iif.map(|name| self.real(name)),
            oif: entry.oif.map(|name| self.real(name)),
            fwmark: entry.fwmark.unwrap_or_default() & fwmask,
            fwmask,
            tos: entry.tos.unwrap_or_default(),
            ip_proto: entry.ip_proto,
            sport: entry.sport,
            dport: entry.dport,
            uid: entry.uid,
            tun_id: entry.tun_id.unwrap_or_default(),
            suppress_prefix_length: entry.suppress_prefix_length,
            suppress_group: entry.suppress_group,
            ..RuleKey::new(family, entry.priority.unwrap_or_default(), action)
        })
    }

    fn action(&mut self, path: &str, entry: &RuleEntry) -> Option<RuleAction> {
        let table = entry.table.map(|id| if id == 0 { RouteTable::MAIN.get() } else { id });
        let of_vrfs = entry.l3mdev == Some(true);
        // Whether the packet belongs to a VRF can be what is done, or what the end of the way is for.
        let (l3mdev, action) = match (of_vrfs, entry.action) {
            (true, Some(RuleAction::Unreachable)) => (Some(RuleAction::L3mdevUnreachable), None),
            (of_vrfs, action) => (of_vrfs.then_some(RuleAction::L3mdev), action),
        };
        let given: Vec<RuleAction> = [
            table.and_then(|id| RouteTable::try_from(id).ok()).map(RuleAction::Table),
            l3mdev,
            entry.goto.map(RuleAction::Goto),
            (entry.nop == Some(true)).then_some(RuleAction::Nop),
            action,
        ]
        .into_iter()
        .flatten()
        .collect();
        match given[..] {
            [] => Some(RuleAction::Table(RouteTable::MAIN)),
            [action] => Some(action),
            _ => {
                let message = "a rule does one thing: keep one of route-table, action, l3mdev, goto and nop";
                self.refuse(path, reason::CONTRADICTION, message);
                None
            }
        }
    }

    /// A prefix of length 0 is no selector, and the kernel does not keep it.
    fn prefix(&mut self, path: &str, written: RulePrefix) -> Option<IpNet> {
        let written = written.net()?;
        let net = written.trunc();
        if net != written {
            self.warn(path, format!("{written} has host bits; {net} is meant"));
        }
        (net.prefix_len() > 0).then_some(net)
    }
}

fn is_of_vrfs(action: RuleAction) -> bool {
    matches!(action, RuleAction::L3mdev | RuleAction::L3mdevUnreachable)
}

/// The end of the way of those packets that a rule is for.
fn ends(action: RuleAction) -> RuleAction {
    if action == RuleAction::L3mdevUnreachable { RuleAction::Unreachable } else { action }
}

/// Whether an absent entry means the rule; what the entry does not say matches all, and an empty
/// prefix matches only rules without one.
pub(crate) fn matches(pattern: &RuleEntry, key: &RuleKey, by: Protocol) -> bool {
    let prefix = |pattern: RulePrefix, is: Option<IpNet>| match pattern {
        RulePrefix::Unspecified => true,
        RulePrefix::Empty => is.is_none(),
        RulePrefix::Net(net) => is == Some(net.trunc()).filter(|net| net.prefix_len() > 0),
    };
    let families = [pattern.family, pattern.from.net().map(Family::of_net), pattern.to.net().map(Family::of_net)];
    let table = pattern.table.map(|id| if id == 0 { RouteTable::MAIN.get() } else { id });
    let is_table = |id| matches!(key.action, RuleAction::Table(table) if table.get() == id);
    families.into_iter().flatten().all(|family| family == key.family)
        && prefix(pattern.from, key.from)
        && prefix(pattern.to, key.to)
        && pattern.priority.is_none_or(|priority| priority == key.priority)
        && table.is_none_or(is_table)
        && pattern.fwmark.is_none_or(|mark| mark == key.fwmark)
        && pattern.fwmask.is_none_or(|mask| mask == key.fwmask)
        && pattern.iif.is_none_or(|name| Some(name) == key.iif)
        && pattern.oif.is_none_or(|name| Some(name) == key.oif)
        && pattern.action.is_none_or(|action| action == ends(key.action))
        && pattern.l3mdev.is_none_or(|on| on == is_of_vrfs(key.action))
        && pattern.goto.is_none_or(|target| key.action == RuleAction::Goto(target))
        && pattern.nop.is_none_or(|on| on == (key.action == RuleAction::Nop))
        && pattern.invert.is_none_or(|invert| invert == key.invert)
        && pattern.tos.is_none_or(|tos| tos == key.tos)
        && pattern.ip_proto.is_none_or(|number| Some(number) == key.ip_proto)
        && pattern.sport.is_none_or(|range| Some(range) == key.sport)
        && pattern.dport.is_none_or(|range| Some(range) == key.dport)
        && pattern.uid.is_none_or(|range| Some(range) == key.uid)
        && pattern.tun_id.is_none_or(|id| id == key.tun_id)
        && pattern.suppress_prefix_length.is_none_or(|length| Some(length) == key.suppress_prefix_length)
        && pattern.suppress_group.is_none_or(|group| Some(group) == key.suppress_group)
        && pattern.protocol.is_none_or(|protocol| protocol == by)
}
