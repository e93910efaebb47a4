//! Records of the version before, in today's words: each setting of the whole host had a name of its own in steps, targets
//! and claims. What else differs (origins as text) the model reads in both forms.

use serde_json::{Value, json};

/// The names of settings, with those of their steps and of their fields in a target.
const SETTINGS: [(&str, &str, &str); 4] = [
    ("Resolver", "SetResolver", "resolver"),
    ("HostnameRunning", "SetHostnameRunning", "hostname_running"),
    ("HostnameConfig", "SetHostnameConfig", "hostname_config"),
    ("BridgeIptables", "SetBridgeIptables", "bridge_iptables"),
];

/// A line of a journal.
pub(crate) fn record(mut record: Value) -> Value {
    if let Some(begin) = record.get_mut("Begin") {
        for planned in begin.get_mut("steps").into_iter().flat_map(items) {
            planned.get_mut("step").into_iter().for_each(step);
            planned.get_mut("undo").into_iter().flat_map(items).for_each(step);
        }
        begin.get_mut("before").into_iter().for_each(target);
        begin.get_mut("ownership").into_iter().for_each(claims);
    }
    record
}

/// Who asked for what.
pub(crate) fn ownership(mut file: Value) -> Value {
    file.get_mut("ownership").into_iter().for_each(claims);
    file
}

fn items(list: &mut Value) -> impl Iterator<Item = &mut Value> {
    list.as_array_mut().into_iter().flatten()
}

fn step(step: &mut Value) {
    let known = SETTINGS.iter().find_map(|(name, word, _)| Some((name, step.get_mut(word)?.take())));
    if let Some((name, value)) = known {
        *step = json!({"Set": {*name: value}});
    }
}

fn target(target: &mut Value) {
    let Some(fields) = target.as_object_mut() else { return };
    let mut settings = json!({});
    for (name, _, field) in SETTINGS {
        if let Some(value) = fields.remove(field).filter(|value| !value.is_null()) {
            settings[name] = json!({name: value});
        }
    }
    fields.entry("settings").or_insert(settings);
}

fn claims(ownership: &mut Value) {
    for pair in ownership.get_mut("claims").into_iter().flat_map(items) {
        let Some([key, claim]) = pair.as_array_mut().map(Vec::as_mut_slice) else { continue };
        let Some((name, ..)) = SETTINGS.iter().find(|(name, ..)| *key == **name) else { continue };
        *key = json!({"Setting": name});
        for side in ["before", "ours"] {
            let Some(held) = claim.get_mut(side) else { continue };
            let known = held.as_object_mut().and_then(|value| value.values_mut().next().map(Value::take));
            if let Some(value) = known {
                *held = json!({"Setting": {*name: value}});
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use netloom_model::{ClaimKey, Ownership, Previous, Setting, SettingKey, Step, Target};

    use super::*;

    #[test]
    fn what_is_damaged_stays_for_the_reader_to_refuse() {
        for text in ["[]", "5", "\"x\"", "null", r#"{"Begin":5}"#, r#"{"Begin":{"before":5,"ownership":[]}}"#] {
            let damaged: Value = serde_json::from_str(text).unwrap();
            assert_eq!((record(damaged.clone()), ownership(damaged.clone())), (damaged.clone(), damaged));
        }
        for claims in [json!(5), json!([5]), json!([[]]), json!([["HostnameConfig"]]), json!([["HostnameConfig", 5]])] {
            ownership(json!({"ownership": {"claims": claims}}));
        }
    }

    #[test]
    fn settings_had_names_of_their_own() {
        let link = json!({"SetUp": {"name": "eth0", "up": true}});
        let name = |word: &str, name: &str| json!({word: name});
        let claim = |before: Value, ours: Value| json!({"origins": {}, "before": before, "ours": ours});
        let old = json!({"Begin": {
            "steps": [
                {"step": name("SetHostnameRunning", "b"), "undo": [name("SetHostnameRunning", "a")]},
                {"step": link, "undo": [{"SetBridgeIptables": true}]},
            ],
            "before": {
                "links": {}, "routes": [], "rules": [], "resolver": null, "hostname_running": null,
                "hostname_config": "", "bridge_iptables": false,
            },
            "ownership": {"claims": [["HostnameConfig", claim(json!("Absent"), name("Hostname", "b"))]]},
        }});
        let new = record(old)["Begin"].take();
        let read = |step: &Value| serde_json::from_value::<Step>(step.clone()).unwrap();
        let running = |name: &str| Step::Set(Setting::HostnameRunning(name.to_owned()));
        assert_eq!(read(&new["steps"][0]["step"]), running("b"));
        assert_eq!(read(&new["steps"][0]["undo"][0]), running("a"));
        assert_eq!(new["steps"][1]["step"], link);
        assert_eq!(read(&new["steps"][1]["undo"][0]), Step::Set(Setting::BridgeIptables(true)));
        let before: Target = serde_json::from_value(new["before"].clone()).unwrap();
        let config = |name: &str| Setting::HostnameConfig(name.to_owned());
        let shown = [config(""), Setting::BridgeIptables(false)];
        assert_eq!(
            before.settings,
            shown.map(|setting| (setting.key(), setting)).into_iter().collect::<BTreeMap<_, _>>()
        );
        let owned: Ownership = serde_json::from_value(new["ownership"].clone()).unwrap();
        let claim = &owned.claims[&ClaimKey::Setting(SettingKey::HostnameConfig)];
        assert_eq!((&claim.before, &claim.ours), (&Previous::Absent, &Previous::Setting(config("b"))));
    }
}
