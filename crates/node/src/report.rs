//! What a node reports of itself.
//!
//! This is the one place that turns an observation into `status.currentState`.

use std::collections::BTreeMap;

use netloom_model::Observed;
use netloom_nmyaml::Document;
use netloom_types::IfName;
use serde_json::{Value, json};

/// What is heard of neighbours on each link that is listened on: their announcements in nmstate's form, or
/// nothing as long as it is too early to say that there is nobody.
pub type Heard = BTreeMap<IfName, Option<Vec<Value>>>;

/// The host as a document.
///
/// # Panics
/// Never: what a document prints is JSON.
pub fn current_state(observed: &Observed, heard: &Heard) -> Value {
    let text = Document::show(observed, &[]).to_json();
    let mut document: Value = serde_json::from_str(&text).expect("a printed document is JSON");
    for interface in document.get_mut("interfaces").and_then(Value::as_array_mut).into_iter().flatten() {
        let name: Option<IfName> = interface.get("name").and_then(Value::as_str).and_then(|name| name.parse().ok());
        let Some(name) = name else { continue };
        if let Some(facts) = observed.facts.get(&name) {
            interface["ifIndex"] = json!(facts.index);
        }
        if let Some(neighbours) = heard.get(&name) {
            interface["lldp"] = match neighbours {
                Some(neighbours) => json!({"enabled": true, "neighbors": neighbours}),
                None => json!({"enabled": true}),
            };
        }
    }
    document
}

#[cfg(test)]
mod tests {
    use netloom_sim::SimHost;

    use super::*;

    #[test]
    fn a_report_has_indexes_and_neighbours_once_it_is_time_to_name_them() {
        let mut host = SimHost::new();
        for name in ["eth0", "eth1"] {
            host.add_ethernet(name.parse().unwrap(), "02:00:00:00:00:01".parse().unwrap());
        }
        let heard = Heard::from([("eth0".parse().unwrap(), None), ("eth1".parse().unwrap(), Some(vec![]))]);
        let report = current_state(host.observed(), &heard);
        let entry = |name: &str| {
            let all = report["interfaces"].as_array().unwrap();
            all.iter().find(|entry| entry["name"] == name).unwrap().clone()
        };
        assert_eq!(entry("lo")["ifIndex"], 1);
        assert_eq!(entry("lo").get("lldp"), None);
        assert_eq!(entry("eth0")["lldp"], json!({"enabled": true}));
        assert_eq!(entry("eth1")["lldp"], json!({"enabled": true, "neighbors": []}));
    }
}
