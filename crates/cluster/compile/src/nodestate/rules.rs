//! Which links a policy is for: rules are alternatives, what one rule asks for must all hold.

use netloom_api::nodestate::InterfaceMatchRule;

use crate::state::{Inventory, Link};

/// The names of the links that at least one rule matches, in their order.
pub(super) fn matched(rules: &[InterfaceMatchRule], inventory: &Inventory) -> Vec<String> {
    let fits = |name: &str, link: &Link| rules.iter().any(|rule| wired(rule, name, link) && heard(rule, link));
    inventory.links.iter().filter(|(name, link)| fits(name, link)).map(|(name, _)| name.clone()).collect()
}

/// The links on which a rule must hear a neighbour before it can tell: those that all else fits.
pub(super) fn listening<'a>(
    rules: &'a [InterfaceMatchRule],
    inventory: &'a Inventory,
) -> impl Iterator<Item = &'a str> {
    let asks = |name: &str, link: &Link| {
        can_hear(link) && rules.iter().any(|rule| asks_neighbours(rule) && wired(rule, name, link))
    };
    inventory.links.iter().filter(move |(name, link)| asks(name, link)).map(|(name, _)| name.as_str())
}

/// Whether announcements arrive on links of this type.
pub(super) fn can_hear(link: &Link) -> bool {
    link.kind == "ethernet" || link.kind == "veth"
}

fn asks_neighbours(rule: &InterfaceMatchRule) -> bool {
    rule.lldp.as_ref().is_some_and(|lldp| !lldp.vlan_id_list.is_empty())
}

/// Whether everything but the neighbours fits.
fn wired(rule: &InterfaceMatchRule, name: &str, link: &Link) -> bool {
    rule.name.as_ref().is_none_or(|pattern| fits(pattern, name))
        && rule.kind.as_ref().is_none_or(|kind| *kind == link.kind)
        && rule.vlan_id.is_none_or(|id| link.vlan == Some(id))
}

/// Whether the neighbours announce every VLAN that the rule asks for.
fn heard(rule: &InterfaceMatchRule, link: &Link) -> bool {
    let Some(lldp) = &rule.lldp else { return true };
    let announced = link.announced_vlans();
    lldp.vlan_id_list.iter().all(|id| announced.contains(id))
}

/// Whether a name fits a pattern: `*` any text, `?` any character, everything else itself.
fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // The last star, and the place in the name from which the rest of the pattern was tried.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p) == Some(&'*') {
            star = Some((p, n));
            p += 1;
        } else if pattern.get(p).is_some_and(|letter| *letter == '?' || *letter == name[n]) {
            p += 1;
            n += 1;
        } else if let Some((at, from)) = star {
            star = Some((at, from + 1));
            p = at + 1;
            n = from + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|letter| *letter == '*')
}

#[cfg(test)]
mod tests {
    use netloom_api::nodestate::LldpMatch;
    use serde_json::json;

    use super::*;

    fn inventory() -> Inventory {
        let heard = json!({"neighbors": [[{"chassis-id": "s1"}, {"ieee-802-1-vlans": [{"vid": 10}, {"vid": 20}]}]]});
        Inventory::read(&json!({"interfaces": [
            {"name": "lo", "type": "loopback", "state": "up"},
            {"name": "eth0", "type": "ethernet", "state": "up", "lldp": heard},
            {"name": "eth1", "type": "ethernet", "state": "up"},
            {"name": "eth0.10", "type": "vlan", "state": "up", "vlan": {"id": 10, "base-iface": "eth0"}},
        ]}))
    }

    fn rule(text: serde_json::Value) -> InterfaceMatchRule {
        serde_json::from_value(text).unwrap()
    }

    #[test]
    fn rules_match_by_name_type_vlan_and_neighbour() {
        let table = [
            (vec![json!({"name": "eth0"})], vec!["eth0"]),
            (vec![json!({"name": "eth?"})], vec!["eth0", "eth1"]),
            (vec![json!({"name": "eth*"})], vec!["eth0", "eth0.10", "eth1"]),
            (vec![json!({"type": "ethernet"})], vec!["eth0", "eth1"]),
            (vec![json!({"vlanID": 10})], vec!["eth0.10"]),
            (vec![json!({"lldp": {"vlanIDList": [20, 10]}})], vec!["eth0"]),
            (vec![json!({"lldp": {"vlanIDList": [20, 30]}})], vec![]),
            (vec![json!({"name": "eth*", "type": "vlan"})], vec!["eth0.10"]),
            (vec![json!({"name": "lo"}), json!({"vlanID": 10})], vec!["eth0.10", "lo"]),
            (vec![json!({})], vec!["eth0", "eth0.10", "eth1", "lo"]),
            (vec![json!({"type": "ethernet", "vlanID": 10})], vec![]),
            (vec![], vec![]),
        ];
        for (rules, wanted) in table {
            let rules: Vec<_> = rules.into_iter().map(rule).collect();
            assert_eq!(matched(&rules, &inventory()), wanted, "{rules:?}");
        }
    }

    #[test]
    fn a_link_is_listened_on_when_only_its_neighbour_is_missing() {
        let rules = [
            rule(json!({"name": "eth1", "lldp": {"vlanIDList": [10]}})),
            rule(json!({"name": "lo", "lldp": {"vlanIDList": [10]}})),
        ];
        assert_eq!(listening(&rules, &inventory()).collect::<Vec<_>>(), ["eth1"]);
        let none = InterfaceMatchRule { lldp: Some(LldpMatch::default()), ..InterfaceMatchRule::default() };
        assert_eq!(listening(&[none], &inventory()).count(), 0);
    }

    #[test]
    fn a_pattern_of_many_stars_is_no_burden() {
        assert!(!fits(&"*a".repeat(30), &"a".repeat(15)));
        assert!(fits("*0*", "bond0.12"));
        assert!(fits("ä?", "äö"));
    }
}
