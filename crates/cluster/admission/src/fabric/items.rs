//! What a list of prefixes to let through or hold back must keep.

use std::collections::BTreeMap;

use netloom_api::fabric::vrf_route_configuration::{PrefixAction, PrefixItem};

use crate::{Findings, fabric::value};

/// Checks a list: each item by itself, and no two for one place or with one meaning.
pub(crate) fn check(findings: &mut Findings, path: &str, items: &[PrefixItem]) {
    let mut places = BTreeMap::new();
    let mut meanings = BTreeMap::new();
    for (index, item) in items.iter().enumerate() {
        let path = format!("{path}[{index}]");
        check_item(findings, &path, item);
        let place = place(index, item);
        if let Some(other) = places.insert(place, index) {
            findings.duplicate(format!("{path}.seq"), place, format!("the item at {other} has the same place"));
        }
        let permit = matches!(item.action, PrefixAction::Permit);
        if let Some(other) = meanings.insert((&*item.cidr, permit, item.ge, item.le), index) {
            findings.duplicate(&*path, &*item.cidr, format!("the item at {other} says the same"));
        }
    }
}

/// Where an item stands: what it says, else its own place counted from 1.
fn place(index: usize, item: &PrefixItem) -> u64 {
    item.seq.filter(|seq| *seq > 0).map_or(index as u64 + 1, u64::from)
}

fn check_item(findings: &mut Findings, path: &str, item: &PrefixItem) {
    let Some(net) = value::prefix(findings, &format!("{path}.cidr"), &item.cidr) else { return };
    let (least, most) = (net.prefix_len(), net.max_prefix_len());
    for (field, length) in [("ge", item.ge), ("le", item.le)] {
        if let Some(length) = length.filter(|length| !(least..=most).contains(length)) {
            findings.invalid(format!("{path}.{field}"), length, format!("must be from {least} to {most} for {net}"));
        }
    }
    if let (Some(ge), Some(le)) = (item.ge, item.le)
        && ge > le
    {
        findings.invalid(format!("{path}.ge"), ge, format!("must be at most {le}, the value of le"));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::ReviewResult;

    fn found(items: Value) -> Vec<String> {
        let items: Vec<PrefixItem> = serde_json::from_value(items).unwrap();
        let mut findings = Findings::default();
        check(&mut findings, "spec.import", &items);
        ReviewResult::from(findings).errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_item_names_prefixes_inside_its_network() {
        let one = |item: Value| found(json!([item]));
        assert!(one(json!({"cidr": "10.0.0.0/8", "action": "permit", "ge": 8, "le": 32})).is_empty());
        assert_eq!(
            one(json!({"cidr": "10.0.0.0/8", "action": "permit", "le": 33})),
            ["spec.import[0].le: Invalid value: 33: must be from 8 to 32 for 10.0.0.0/8"]
        );
        assert_eq!(
            one(json!({"cidr": "10.0.0.0/8", "action": "permit", "ge": 7})),
            ["spec.import[0].ge: Invalid value: 7: must be from 8 to 32 for 10.0.0.0/8"]
        );
        assert_eq!(
            one(json!({"cidr": "10.0.0.0/8", "action": "permit", "ge": 25, "le": 24})),
            ["spec.import[0].ge: Invalid value: 25: must be at most 24, the value of le"]
        );
        assert_eq!(
            one(json!({"cidr": "10.0.0.1/8", "action": "permit"})),
            [
                r#"spec.import[0].cidr: Invalid value: "10.0.0.1/8": has address bits beyond its prefix length; the network is 10.0.0.0/8"#
            ]
        );
    }

    #[test]
    fn a_place_and_a_meaning_are_there_once() {
        let net = |cidr: &str, seq: u32| json!({"cidr": cidr, "action": "permit", "seq": seq});
        assert!(found(json!([net("10.0.0.0/8", 0), net("10.0.0.0/9", 0), net("10.0.0.0/10", 7)])).is_empty());
        assert_eq!(
            found(json!([net("10.0.0.0/8", 2), net("10.0.0.0/9", 0)])),
            ["spec.import[1].seq: Duplicate value: 2: the item at 0 has the same place"]
        );
        assert_eq!(
            found(json!([net("10.0.0.0/8", 1), net("10.0.0.0/8", 2)])),
            [r#"spec.import[1]: Duplicate value: "10.0.0.0/8": the item at 0 says the same"#]
        );
        let deny = json!({"cidr": "10.0.0.0/8", "action": "deny"});
        assert!(found(json!([net("10.0.0.0/8", 1), deny])).is_empty());
        let longer = json!({"cidr": "10.0.0.0/8", "action": "permit", "le": 24});
        assert!(found(json!([net("10.0.0.0/8", 1), longer])).is_empty());
    }
}
