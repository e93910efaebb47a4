//! The document of a policy, in today's spelling and taken apart.

use serde_json::{Value, json};

use super::policy::Wanted;
use crate::{
    finding::{Finding, reason},
    state::document::{canonical, list},
};

/// The place of a policy's document.
pub(super) const PLACE: &str = "spec.desiredState";

/// Takes a policy's document apart.
pub(super) fn wanted(document: &Value) -> Result<Wanted, Vec<Finding>> {
    let mut named = document.clone();
    if let Some(Value::Array(interfaces)) = named.get_mut("interfaces") {
        for interface in interfaces.iter_mut().filter_map(Value::as_object_mut) {
            if interface.get("name").is_none_or(|name| name == "") {
                interface.insert("name".to_owned(), json!("*"));
            }
        }
    }
    let canonical = canonical(PLACE, &named)?;
    let mut wanted = Wanted::default();
    let mut findings = Vec::new();
    for (index, entry) in list(&canonical, "/interfaces").into_iter().enumerate() {
        interface(&mut wanted, index, entry, &mut findings);
    }
    wanted.routes = list(&canonical, "/routes/config").into_iter().cloned().collect();
    wanted.rules = list(&canonical, "/route-rules/config").into_iter().cloned().collect();
    wanted.dns = canonical.pointer("/dns-resolver/config").cloned();
    if let Some(hostname) = canonical.get("hostname").and_then(Value::as_object) {
        wanted.hostname = hostname.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    }
    if findings.is_empty() { Ok(wanted) } else { Err(findings) }
}

fn interface(wanted: &mut Wanted, index: usize, entry: &Value, findings: &mut Vec<Finding>) {
    let Some(mut entry) = entry.as_object().cloned() else { return };
    let name = entry.remove("name").and_then(|name| Some(name.as_str()?.to_owned())).unwrap_or_default();
    let place = format!("{PLACE}.interfaces[{index}]");
    if entry.contains_key("identifier") {
        let message = format!(
            "{name}: a policy names links by their names; other identifiers are for the desired state of one node"
        );
        findings.push(Finding::new(reason::NOT_SUPPORTED, format!("{place}.identifier"), message));
        return;
    }
    let taken = if name == "*" {
        wanted.template.replace((index, entry)).is_some()
    } else {
        wanted.entries.insert(name.clone(), (index, entry)).is_some()
    };
    if taken {
        let message = format!("a policy has one entry for each link, and {name} has two");
        findings.push(Finding::new(reason::NOT_SUPPORTED, format!("{place}.name"), message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spelling_of_2018_becomes_that_of_today() {
        let document = json!({"interfaces": [
            {"name": "eth0.7", "type": "vlan", "vlanID": 7, "vlanbase": "eth0", "ifIndex": 4},
            {"macAddress": "00:00:5e:00:53:01"},
        ]});
        let wanted = wanted(&document).unwrap();
        let (index, entry) = &wanted.entries["eth0.7"];
        assert_eq!(
            (*index, Value::Object(entry.clone())),
            (0, json!({"type": "vlan", "vlan": {"base-iface": "eth0", "id": 7}}))
        );
        let (index, template) = wanted.template.unwrap();
        assert_eq!((index, Value::Object(template)), (1, json!({"mac-address": "00:00:5e:00:53:01"})));
    }

    #[test]
    fn what_only_one_node_can_have_is_refused() {
        let twice = json!({"interfaces": [
            {"name": "x", "type": "dummy", "state": "absent"}, {"name": "x", "type": "vrf", "vrf": {"port": [], "route-table-id": 7}},
        ]});
        let found = wanted(&twice).unwrap_err();
        assert_eq!(
            (found[0].reason, found[0].path.as_str()),
            (reason::NOT_SUPPORTED, "spec.desiredState.interfaces[1].name")
        );
        let by_mac =
            json!({"interfaces": [{"name": "x", "identifier": "mac-address", "mac-address": "00:00:5e:00:53:01"}]});
        assert_eq!(wanted(&by_mac).unwrap_err()[0].path, "spec.desiredState.interfaces[0].identifier");
        let broken = json!({"interfaces": [{"name": "x", "mtu": "many"}]});
        assert_eq!(wanted(&broken).unwrap_err()[0].path, "spec.desiredState.interfaces[0].mtu");
    }
}
