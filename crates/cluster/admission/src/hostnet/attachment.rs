//! The rules for attachments that a cluster network or an overlay carries.
//!
//! The kind is not ours and others use it too, so the rules speak only of attachments that carry a
//! label of this group.

use std::collections::BTreeSet;

use netloom_api::{
    dig,
    hostnet::{CLUSTER_NETWORK, HOST_NETWORK_CONFIG, MGMT, names},
    machine,
};
use serde_json::Value;

use super::{annotation, known_cluster_network, mtu_of, uplink_mtu, uplinks_of};
use crate::{
    Findings, Operation, Review, View,
    foreign::{self, ATTACHMENT, OVERLAY, plugin_config},
    hostnet::{host_network_config::BY_UNDERLAY, machines},
};

const CONFIG: &str = "spec.config";

pub(crate) fn admit(review: &Review<'_>, findings: &mut Findings) {
    if !review.object.into_iter().chain(review.old).any(foreign::is_ours) {
        return;
    }
    let old = review.old.and_then(plugin_config);
    match (review.operation, review.object) {
        (Operation::Create | Operation::Update, Some(object)) => {
            let Some(new) = plugin_config(object).filter(Value::is_object) else {
                let found = dig::at(object, "spec.config").cloned().unwrap_or_default();
                return findings.invalid(CONFIG, found, "must be the plugin's configuration, as JSON in a text");
            };
            if review.operation == Operation::Update && old.as_ref() == Some(&new) {
                // A label can be set beside a bridge that runs, but it must say the truth.
                if foreign::is_bridged(&new) && labels(review.old) != labels(review.object) {
                    content(review, object, &new, findings);
                }
                return;
            }
            if review.operation == Operation::Update {
                changes(review, old.as_ref(), &new, findings);
            }
            content(review, object, &new, findings);
        }
        (Operation::Delete, _) => delete(review, old.as_ref(), findings),
        (Operation::Create | Operation::Update | Operation::Connect, _) => {}
    }
}

/// The labels that mean something here.
fn labels(attachment: Option<&Value>) -> [Option<&str>; 2] {
    [names::CLUSTER_NETWORK, names::EXCLUSIVE_VLAN].map(|key| dig::label(attachment?, key))
}

fn content(review: &Review<'_>, object: &Value, config: &Value, findings: &mut Findings) {
    match config.get("type").and_then(Value::as_str) {
        Some("bridge") => {
            let network = bridge(review.view, object, config, findings);
            vlans(config, findings);
            if let Some(network) = network {
                mtu(review.view, &network, config, findings);
                exclusive(review, object, &network, config, findings);
            }
        }
        Some(OVERLAY) => {
            let wanted = format!("{}.{}.ovn", review.name, review.namespace.unwrap_or_default());
            let found = config.get("provider").cloned().unwrap_or_default();
            if found != wanted {
                findings.invalid(
                    format!("{CONFIG}.provider"),
                    found,
                    format!("must be {wanted:?}, from the attachment's own names"),
                );
            }
        }
        Some(_) | None => {}
    }
}

/// The cluster network behind the bridge, when it is one.
fn bridge(view: &dyn View, object: &Value, config: &Value, findings: &mut Findings) -> Option<String> {
    let path = format!("{CONFIG}.bridge");
    let found = config.get("bridge").and_then(Value::as_str).unwrap_or_default();
    let Some(network) = found.strip_suffix("-br").filter(|network| !network.is_empty()) else {
        findings.invalid(
            path,
            found,
            "must be the bridge of a cluster network, which is called like it with -br added",
        );
        return None;
    };
    if let Some(own) = dig::label(object, names::CLUSTER_NETWORK).filter(|own| *own != network) {
        findings.invalid(
            path,
            found,
            format!("must be {:?}: the label says cluster network {own:?}", names::bridge(own)),
        );
        return None;
    }
    known_cluster_network(view, &path, network, findings);
    Some(network.to_owned())
}

fn vlans(config: &Value, findings: &mut Findings) {
    let vlan = config.get("vlan").cloned().unwrap_or_else(|| 0.into());
    let trunk = config.get("vlanTrunk").and_then(Value::as_array).filter(|trunk| !trunk.is_empty());
    if !vlan.as_i64().is_some_and(|id| (0..=4094).contains(&id)) {
        findings.invalid(format!("{CONFIG}.vlan"), vlan.clone(), "must be from 0 to 4094");
    } else if trunk.is_some() && vlan != 0 {
        findings.invalid(format!("{CONFIG}.vlan"), vlan, "must be 0 beside a trunk, which says its VLANs itself");
    }
    for (i, entry) in trunk.into_iter().flatten().enumerate() {
        trunk_entry(&format!("{CONFIG}.vlanTrunk[{i}]"), entry, findings);
    }
}

fn trunk_entry(path: &str, entry: &Value, findings: &mut Findings) {
    let keys = ["id", "minID", "maxID"];
    for key in keys {
        if let Some(value) = entry.get(key)
            && !value.as_i64().is_some_and(|id| (1..=4094).contains(&id))
        {
            findings.invalid(format!("{path}.{key}"), value.clone(), "must be from 1 to 4094");
        }
    }
    let [id, low, high] = keys.map(|key| entry.get(key).and_then(Value::as_i64));
    match (id, low, high) {
        (_, Some(low), Some(high)) if low > high => {
            findings.invalid(format!("{path}.minID"), low, format!("is above maxID, which is {high}"));
        }
        (_, Some(_), None) => findings.required(format!("{path}.maxID"), "a range has both ends"),
        (_, None, Some(_)) => findings.required(format!("{path}.minID"), "a range has both ends"),
        (None, None, None) => findings.required(format!("{path}.id"), "an entry is an id or a range"),
        (_, Some(_), Some(_)) | (Some(_), None, None) => {}
    }
}

fn mtu(view: &dyn View, network: &str, config: &Value, findings: &mut Findings) {
    let Some(own) = config.get("mtu").filter(|mtu| !mtu.is_null()) else { return };
    if let Some(mtu) = mtus(view, network).into_iter().find(|mtu| own.as_i64() != Some(*mtu)) {
        findings.invalid(format!("{CONFIG}.mtu"), own.clone(), format!("cluster network {network:?} has MTU {mtu}"));
    }
}

/// The MTUs of a cluster network. What people say of the one that the installer made counts before what its nodes show:
/// they say it to change it.
fn mtus(view: &dyn View, network: &str) -> Vec<i64> {
    let given = if network == MGMT { mgmt_mtu(view) } else { None };
    match given {
        Some(mtu) => vec![mtu],
        None => uplinks_of(view, network).iter().map(|uplink| mtu_of(uplink)).collect(),
    }
}

fn mgmt_mtu(view: &dyn View) -> Option<i64> {
    let network = view.get(CLUSTER_NETWORK, None, MGMT)?;
    uplink_mtu(annotation(Some(&network), names::UPLINK_MTU)?)
}

/// A VLAN that one attachment has for itself is nobody else's.
fn exclusive(review: &Review<'_>, object: &Value, network: &str, config: &Value, findings: &mut Findings) {
    let vlans = foreign::vlans(config);
    let field = if config.get("vlanTrunk").is_some_and(|trunk| !trunk.is_null()) { "vlanTrunk" } else { "vlan" };
    let claims = |object: &Value| dig::label(object, names::EXCLUSIVE_VLAN) == Some("true");
    for other in review.view.lookup(ATTACHMENT, foreign::BY_CLUSTER_NETWORK, network) {
        let own = dig::name(&other) == review.name && dig::text(&other, "metadata.namespace") == review.namespace;
        if own || !(claims(&other) || claims(object)) {
            continue;
        }
        let others = plugin_config(&other).map(|other| foreign::vlans(&other)).unwrap_or_default();
        if let Some(vlan) = first_common(&vlans, &others) {
            let name = foreign::full_name(&other).unwrap_or_default();
            findings.duplicate(
                format!("{CONFIG}.{field}"),
                vlan,
                format!("{name:?} has this VLAN too, and one of them wants it alone"),
            );
        }
    }
}

/// The first VLAN that is in both.
fn first_common(some: &[(u16, u16)], others: &[(u16, u16)]) -> Option<u16> {
    let both = some.iter().flat_map(|one| others.iter().map(|other| (one.0.max(other.0), one.1.min(other.1))));
    both.filter(|(low, high)| low <= high).map(|(low, _)| low).min()
}

fn changes(review: &Review<'_>, old: Option<&Value>, new: &Value, findings: &mut Findings) {
    for key in ["type", "bridge"] {
        let before = old.and_then(|old| old.get(key));
        if before.is_some() && before != new.get(key) {
            findings.forbidden(format!("{CONFIG}.{key}"), "cannot be changed; make another attachment");
        }
    }
    let users = users(review);
    if !users.is_empty() {
        findings.forbidden(CONFIG, format!("machines use the attachment: {}", machines::some(&users)));
    }
}

fn delete(review: &Review<'_>, old: Option<&Value>, findings: &mut Findings) {
    let users = users(review);
    if !users.is_empty() {
        findings.forbidden("metadata.name", format!("machines use the attachment: {}", machines::some(&users)));
    }
    let network = review.old.and_then(foreign::cluster_network_of);
    let vlan = old.and_then(|old| old.get("vlan")).and_then(Value::as_u64).filter(|&vlan| vlan > 0);
    let (Some(network), Some(vlan)) = (network, vlan) else { return };
    let is_underlay = |one: &Value| {
        dig::at(one, "spec.clusterNetwork").is_some_and(|name| *name == network)
            && dig::at(one, "spec.vlanID").and_then(Value::as_u64) == Some(vlan)
            && !dig::is_terminating(one)
    };
    if review.view.lookup(HOST_NETWORK_CONFIG, BY_UNDERLAY, "true").iter().any(|one| is_underlay(one)) {
        let users = machines::on_overlays(review.view);
        if !users.is_empty() {
            findings.forbidden(
                "metadata.name",
                format!("machines use overlay networks whose tunnels are in this VLAN: {}", machines::some(&users)),
            );
        }
    }
}

/// The machines that use the attachment that is written, running or not.
fn users(review: &Review<'_>) -> BTreeSet<String> {
    let name = format!("{}/{}", review.namespace.unwrap_or_default(), review.name);
    let kinds = [machine::MACHINE, machine::INSTANCE];
    let users = kinds.iter().flat_map(|kind| review.view.lookup(*kind, crate::machine::BY_ATTACHMENT, &name));
    users.filter_map(|machine| foreign::full_name(&machine)).collect()
}
