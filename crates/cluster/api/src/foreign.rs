//! Kinds that others define and our rules look at.
//!
//! Only what rules and front ends read of them.

use serde_json::Value;

use crate::{GroupKind, Owner, dig, fabric::operator, hostnet::names, registry};

/// The nodes of the cluster.
pub const NODE: GroupKind<'static> = GroupKind::new("", "Node");
/// Settings of programs.
pub const CONFIG_MAP: GroupKind<'static> = GroupKind::new("", "ConfigMap");
/// Locks and signs of life.
pub const LEASE: GroupKind<'static> = GroupKind::new("coordination.k8s.io", "Lease");
/// The lock by which controllers agree on one that writes; a Lease.
pub const CONTROLLER_LOCK: &str = "netloom-controller";
/// The networks that pods and virtual machines attach to.
pub const ATTACHMENT: GroupKind<'static> = GroupKind::new("k8s.cni.cncf.io", "NetworkAttachmentDefinition");

/// What is reported about objects, in the two groups that it is served under.
pub const EVENTS: [GroupKind<'static>; 2] = [GroupKind::new("events.k8s.io", "Event"), GroupKind::new("", "Event")];

/// Every foreign kind that a view must hold for the rules to see everything.
pub const VIEWED: &[GroupKind<'static>] = &[NODE, ATTACHMENT, CONFIG_MAP];

/// The only object of a kind that is looked at, by namespace and name; none where all of them are.
pub fn only_one(kind: GroupKind<'_>) -> Option<(&'static str, &'static str)> {
    (kind == CONFIG_MAP).then_some((operator::NAMESPACE, operator::NAME))
}

/// Whether an object of a viewed kind is looked at.
pub fn is_looked_at(kind: GroupKind<'_>, namespace: Option<&str>, name: &str) -> bool {
    only_one(kind).is_none_or(|(of, only)| namespace == Some(of) && name == only)
}

/// Whether rules look at objects of the kind, so that a view must hold them.
pub fn is_viewed(kind: GroupKind<'_>) -> bool {
    VIEWED.contains(&kind) || registry::find(kind.group, kind.kind).is_some()
}

/// The plugin that makes overlay networks.
pub const OVERLAY: &str = "kube-ovn";

/// Whose agent may write an object of a foreign kind; none where that is not ours to say.
pub fn owner(kind: GroupKind<'_>) -> Option<Owner> {
    (kind == NODE || kind == LEASE).then_some(Owner::NODE_OF_NAME)
}

/// `namespace/name` of an object that has both.
pub fn full_name(object: &Value) -> Option<String> {
    Some(format!("{}/{}", dig::text(object, "metadata.namespace")?, dig::text(object, "metadata.name")?))
}

/// What the attachment tells its plugin; the field holds JSON as text.
pub fn plugin_config(attachment: &Value) -> Option<Value> {
    serde_json::from_str(dig::text(attachment, "spec.config")?).ok()
}

/// The cluster network that carries an attachment: the one whose bridge its plugin uses, whatever a label says. Of overlays,
/// which have no bridge, the label says it.
pub fn cluster_network_of(attachment: &Value) -> Option<String> {
    let labelled = labelled_network(attachment).map(str::to_owned);
    let bridged = || {
        let config = plugin_config(attachment).filter(is_bridged)?;
        config.get("bridge")?.as_str()?.strip_suffix("-br").map(str::to_owned)
    };
    bridged().or(labelled).filter(|name| !name.is_empty())
}

/// The cluster network that the label of an attachment says.
pub fn labelled_network(attachment: &Value) -> Option<&str> {
    dig::label(attachment, names::CLUSTER_NETWORK)
}

/// Whether an attachment carries a label of this group.
pub fn is_ours(attachment: &Value) -> bool {
    [names::CLUSTER_NETWORK, names::ATTACHMENT_TYPE].iter().any(|key| dig::label(attachment, key).is_some())
}

/// Whether an attachment is of an overlay network of this platform. Others use the plugin too, and have no label of ours.
pub fn is_overlay(attachment: &Value) -> bool {
    is_ours(attachment)
        && plugin_config(attachment).is_some_and(|config| config.get("type").is_some_and(|kind| kind == OVERLAY))
}

/// The VLANs of a plugin's configuration, one or those of a trunk, as ranges with both ends; what has no tag is none.
pub fn vlans(config: &Value) -> Vec<(u16, u16)> {
    let id = |value: &Value, key: &str| value.get(key).and_then(Value::as_u64).and_then(|id| u16::try_from(id).ok());
    let single = id(config, "vlan").map(|vlan| (vlan, vlan));
    let trunk = config.get("vlanTrunk").and_then(Value::as_array).into_iter().flatten().flat_map(|entry| {
        let one = id(entry, "id").map(|vlan| (vlan, vlan));
        let range = id(entry, "minID").zip(id(entry, "maxID"));
        [one, range].into_iter().flatten()
    });
    let all = single.into_iter().chain(trunk).map(|(low, high)| (low.max(1), high.min(4094)));
    all.filter(|(low, high)| low <= high).collect()
}

/// Whether a plugin's configuration is that of a port of a bridge.
pub fn is_bridged(config: &Value) -> bool {
    config.get("type").is_some_and(|kind| kind == "bridge")
}
