//! Rules removed without taking others along.
//!
//! A removal cannot say "no such selector": the kernel removes the first rule that has everything
//! the removal names, and a rule of the same priority with one selector more may stand before the one
//! that is meant. Where that can happen, the rules are looked at before and after, and what went by
//! mistake is put back.

use netloom_model::{Rule, RuleAction, StepError};
use netloom_types::{Family, Protocol};

use crate::{
    rule,
    socket::{Connection, NetlinkError},
};

/// The rules of a family, in the kernel's order.
pub(crate) fn read(route: &mut Connection, family: Family) -> Result<Vec<Rule>, NetlinkError> {
    route.dump(&rule::encode_dump(family), Vec::new, |rules, message| {
        rules.extend(rule::decode(&message).filter(|rule| rule.key.family == family));
    })
}

/// Whether the kernel could take `other` for `meant` when that is to be removed.
pub(crate) fn confusable(meant: &Rule, other: &Rule) -> bool {
    let (a, b) = (&meant.key, &other.key);
    let same_action = match (a.action, b.action) {
        // Where a rule goes to is not looked at.
        (RuleAction::Goto(_), RuleAction::Goto(_)) => true,
        (a, b) => a == b,
    };
    a != b
        && same_action
        && (a.family, a.priority) == (b.family, b.priority)
        && (meant.protocol == Protocol::UNSPEC || meant.protocol == other.protocol)
        && unspecified_or_same(a.from, b.from)
        && unspecified_or_same(a.to, b.to)
        && unspecified_or_same(a.iif, b.iif)
        && unspecified_or_same(a.oif, b.oif)
        && (a.fwmark == 0 || a.fwmark == b.fwmark)
        && (a.fwmask == 0 || a.fwmask == b.fwmask)
        && (a.tos == 0 || a.tos == b.tos)
        && unspecified_or_same(a.ip_proto, b.ip_proto)
        && unspecified_or_same(a.sport, b.sport)
        && unspecified_or_same(a.dport, b.dport)
        && unspecified_or_same(a.uid, b.uid)
        && (a.tun_id == 0 || a.tun_id == b.tun_id)
        && unspecified_or_same(a.suppress_prefix_length, b.suppress_prefix_length)
        && unspecified_or_same(a.suppress_group, b.suppress_group)
}

fn unspecified_or_same<T: PartialEq + Copy>(meant: Option<T>, other: Option<T>) -> bool {
    meant.is_none() || meant == other
}

/// Removes a rule that others can be taken for.
pub(crate) fn remove(route: &mut Connection, meant: &Rule) -> Result<Result<(), StepError>, NetlinkError> {
    let mut lost = Vec::new();
    let mut result = Err(StepError::new(StepError::ENOENT));
    let mut before = read(route, meant.key.family)?;
    // Each round removes a rule, so there are at most as many rounds as rules.
    for _ in 0..before.len() {
        if !before.contains(meant) {
            break;
        }
        result = route.change(&rule::encode_remove(meant))?;
        if result.is_err() {
            break;
        }
        let after = read(route, meant.key.family)?;
        lost.extend(before.iter().filter(|rule| *rule != meant && !after.contains(rule)));
        before = after;
    }
    let put_back: Vec<_> = lost.iter().map(rule::encode_add).collect();
    let refused = route.batch(&put_back)?.into_iter().find(Result::is_err);
    Ok(refused.unwrap_or(result))
}

#[cfg(test)]
mod tests {
    use netloom_model::RuleKey;
    use netloom_types::RouteTable;

    use super::*;

    fn rule(change: impl FnOnce(&mut RuleKey)) -> Rule {
        let mut key = RuleKey::new(Family::Ipv4, 500, RuleAction::Table(RouteTable::MAIN));
        change(&mut key);
        Rule { key, protocol: Protocol::NETLOOM }
    }

    #[test]
    fn a_rule_with_more_selectors_is_confusable_and_one_with_fewer_is_not() {
        let bare = rule(|_| {});
        let more = rule(|key| key.iif = "eth0".parse().ok());
        assert!(confusable(&bare, &more));
        assert!(!confusable(&more, &bare));
        assert!(!confusable(&bare, &bare));
        assert!(!confusable(&bare, &rule(|key| key.priority = 501)));
        assert!(!confusable(&bare, &Rule { protocol: Protocol::BOOT, ..more }));
        assert!(confusable(&bare, &rule(|key| key.invert = true)));
    }

    #[test]
    fn jumps_are_confusable_wherever_they_go() {
        assert!(confusable(
            &rule(|key| key.action = RuleAction::Goto(600)),
            &rule(|key| key.action = RuleAction::Goto(700))
        ));
    }
}
