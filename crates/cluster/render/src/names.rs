//! What the links, maps and lists of the fabric are called.
//!
//! A name depends on the object that it is for and on nothing else, so that it stays while others come and go.

use netloom_types::{Family, IfName, IpNet, VlanId, Vni};

use crate::digest;

/// Names of maps and lists that every node has.
pub(crate) const UNDERLAY_IN: &str = "rm_underlay_in";
pub(crate) const UNDERLAY_OUT: &str = "rm_underlay_out";
pub(crate) const EXPORT_LOCAL: &str = "rm_export_local";
pub(crate) const LINK_LOCAL: &str = "pl_link_local";
pub(crate) const DEFAULT_ROUTE: &str = "pl_default";
pub(crate) const EXPORTED: &str = "pl_exported";

fn link(prefix: &str, number: u32) -> IfName {
    let name = format!("{prefix}.{number}");
    name.parse().expect("a prefix of ten bytes at most and a number that fits the rest")
}

/// The bridge of a VRF.
pub(crate) fn l3_bridge(vni: Vni) -> IfName {
    link("br", vni.get())
}

/// The tunnel of a VRF or a segment.
pub(crate) fn vxlan(vni: Vni) -> IfName {
    link("vx", vni.get())
}

/// The bridge of a segment.
pub(crate) fn l2_bridge(vlan: VlanId) -> IfName {
    link("l2", vlan.get().into())
}

/// The VLAN port of a segment; the name of the trunk leaves room for the number.
pub(crate) fn vlan_port(trunk: IfName, vlan: VlanId) -> IfName {
    link(trunk.as_str(), vlan.get().into())
}

/// The node's own interface in a segment.
pub(crate) fn station(vlan: VlanId) -> IfName {
    link("vlan", vlan.get().into())
}

/// The map that decides what a VRF takes from others.
pub(crate) fn imports(vrf: &str) -> String {
    format!("rm_{vrf}_import")
}

/// The map that decides what a VRF takes from another one.
pub(crate) fn import(vrf: &str, from: &str) -> String {
    format!("rm_{vrf}_import_{from}")
}

/// The map that decides what a VRF announces to the fabric.
pub(crate) fn export(vrf: &str) -> String {
    format!("rm_{vrf}_export")
}

/// The map that decides which routes of a source a VRF announces.
pub(crate) fn redistributed(vrf: &str, source: &str) -> String {
    format!("rm_{vrf}_{source}")
}

/// The map of a session.
pub(crate) fn session(vrf: &str, peer: &str, family: Family, direction: &str) -> String {
    format!("rm_{vrf}_{}_{family}_{direction}", digest::short(peer))
}

/// The list of an entry of a map.
pub(crate) fn list(map: &str, entry: u32) -> String {
    format!("pl_{}_{entry}", map.strip_prefix("rm_").unwrap_or(map))
}

/// The group of those who open sessions from a network.
pub(crate) fn group(range: IpNet) -> String {
    digest::short(&range.to_string())
}

/// The profile of sessions that are watched in this rhythm.
pub(crate) fn bfd(interval: u32) -> String {
    format!("every_{interval}ms")
}
