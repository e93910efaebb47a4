//! What objects are looked up by: the names of the indexes and the keys of each object in them.

use netloom_api::fabric::selector::{self, LabelSelector};
use serde_json::Value;

use super::{generated, pool, raw, space};
use crate::Index;

/// By the `Network` that they refer to.
pub(crate) const NETWORK: &str = "network";
/// By the `VRF` object that they refer to.
pub(crate) const VRF_REF: &str = "vrfRef";
/// By the name of the VRF on the nodes.
pub(crate) const VRF_NAME: &str = "vrf";
/// By their VXLAN network identifier.
pub(crate) const VNI: &str = "vni";
/// By their VLAN.
pub(crate) const VLAN: &str = "vlan";
/// By their BGP route target.
pub(crate) const ROUTE_TARGET: &str = "routeTarget";
/// By the names of their loopback interfaces.
pub(crate) const LOOPBACK: &str = "loopback";
/// By label, as `key=value`.
pub(crate) const LABEL: &str = "label";
/// By a label that everything they pick carries, or under [`ANY_LABEL`].
pub(crate) const SELECTS: &str = "selects";
/// The same for attachments that can have one VRF only.
pub(crate) const SELECTS_ONE: &str = "selectsOne";
/// The key of selectors that no single label stands for.
pub(crate) const ANY_LABEL: &str = "*";
/// By the name of the interface that they ask for.
pub(crate) const INTERFACE: &str = "interface";
/// By the part of the address space that they touch; the keys are those of [`space`].
pub(crate) const SPACE: &str = "space";
/// By the `Network` and the binary digits of the number of addresses that they ask for; the keys are
/// those of [`pool`].
pub(crate) const DEMAND: &str = "demand";
/// By the name of the address pool that they make.
pub(crate) const POOL: &str = "pool";
/// By the `Inbound`s that they refer to.
pub(crate) const INBOUND: &str = "inbound";
/// By the address of the far end of their tunnel.
pub(crate) const ENDPOINT: &str = "endpoint";
/// By the `Collector` or `MirrorTarget` that they refer to.
pub(crate) const COLLECTOR: &str = "collector";
/// By the object whose traffic they copy, as `kind/name`.
pub(crate) const SOURCE: &str = "source";
/// By the intent that they were generated from, as `kind/name`.
pub(crate) const OWNER: &str = "owner";

/// By the parts that they name.
pub(crate) const PART: &str = "part";

pub(crate) const OF_VRF: &[Index] = &[
    Index { name: VRF_NAME, keys: vrf_name },
    Index { name: VNI, keys: vni },
    Index { name: ROUTE_TARGET, keys: |object| one(raw::text(object, &["spec", "routeTarget"])) },
    Index { name: LOOPBACK, keys: |object| inner_names(object, "loopbacks") },
];
pub(crate) const OF_NETWORK: &[Index] = &[
    Index { name: VNI, keys: vni },
    Index { name: VLAN, keys: |object| number(object, "vlan") },
    Index { name: SPACE, keys: space::keys_of_network },
];
pub(crate) const OF_DESTINATION: &[Index] = &[
    Index { name: VRF_REF, keys: |object| one(raw::text(object, &["spec", "vrfRef"])) },
    Index { name: LABEL, keys: selector::pairs },
];
pub(crate) const OF_LAYER2_ATTACHMENT: &[Index] = &[
    Index { name: NETWORK, keys: network_ref },
    Index { name: SELECTS, keys: selects },
    Index { name: SELECTS_ONE, keys: selects_one },
    Index { name: INTERFACE, keys: interface },
];
pub(crate) const OF_INBOUND: &[Index] = &[
    Index { name: NETWORK, keys: network_ref },
    Index { name: SELECTS, keys: selects },
    Index { name: SPACE, keys: space::keys_of_addresses },
    Index { name: DEMAND, keys: pool::demand_keys },
    Index { name: POOL, keys: pool },
];
pub(crate) const OF_OUTBOUND: &[Index] = &[
    Index { name: NETWORK, keys: network_ref },
    Index { name: SELECTS, keys: selects },
    Index { name: SPACE, keys: space::keys_of_addresses },
    Index { name: DEMAND, keys: pool::demand_keys },
];
pub(crate) const OF_POD_NETWORK: &[Index] =
    &[Index { name: NETWORK, keys: network_ref }, Index { name: SELECTS, keys: selects }];
pub(crate) const OF_BGP_NEIGHBOR: &[Index] =
    &[Index { name: INBOUND, keys: |object| inner_names(object, "allowedInbounds") }];
pub(crate) const OF_COLLECTOR: &[Index] = &[
    Index { name: VRF_REF, keys: |object| one(raw::text(object, &["spec", "mirrorVRF", "name"])) },
    Index { name: ENDPOINT, keys: |object| endpoint(raw::text(object, &["spec", "address"])) },
];
pub(crate) const OF_TRAFFIC_MIRROR: &[Index] = &[
    Index { name: COLLECTOR, keys: |object| one(raw::text(object, &["spec", "collector"])) },
    Index { name: SOURCE, keys: |object| source(object, "source") },
];
pub(crate) const OF_LAYER2_CONFIGURATION: &[Index] = &[
    Index { name: VLAN, keys: |object| number(object, "id") },
    Index { name: VNI, keys: vni },
    Index { name: INTERFACE, keys: bridge },
    Index { name: OWNER, keys: owner },
];
pub(crate) const OF_VRF_CONFIGURATION: &[Index] =
    &[Index { name: VRF_NAME, keys: vrf_name }, Index { name: VNI, keys: vni }, Index { name: OWNER, keys: owner }];
pub(crate) const OF_BGP_PEERING: &[Index] =
    &[Index { name: VLAN, keys: |object| one(raw::text(object, &["spec", "peeringVlan", "name"])) }];
pub(crate) const OF_MIRROR_TARGET: &[Index] =
    &[Index { name: ENDPOINT, keys: |object| endpoint(raw::text(object, &["spec", "destinationIP"])) }];
pub(crate) const OF_MIRROR_SELECTOR: &[Index] = &[
    Index { name: COLLECTOR, keys: |object| one(raw::text(object, &["spec", "mirrorTarget", "name"])) },
    Index { name: SOURCE, keys: |object| source(object, "mirrorSource") },
];

/// The key of an object in [`SOURCE`] and [`OWNER`].
pub(crate) fn source_key(kind: &str, name: &str) -> String {
    format!("{kind}/{name}")
}

/// The key of an address in [`ENDPOINT`], the same for every spelling.
pub(crate) fn endpoint_key(address: std::net::IpAddr) -> String {
    address.to_string()
}

/// The key of a selector in [`SELECTS`].
pub(crate) fn selects_key(selector: &LabelSelector) -> String {
    selector.anchor().unwrap_or_else(|| ANY_LABEL.to_owned())
}

fn owner(object: &Value) -> Vec<String> {
    generated::owner(object).map(|(kind, name)| source_key(kind, name)).into_iter().collect()
}

fn one(text: Option<&str>) -> Vec<String> {
    text.map(str::to_owned).into_iter().collect()
}

fn number(object: &Value, field: &str) -> Vec<String> {
    raw::number(object, &["spec", field]).map(|number| number.to_string()).into_iter().collect()
}

fn vrf_name(object: &Value) -> Vec<String> {
    one(raw::text(object, &["spec", "vrf"]))
}

fn vni(object: &Value) -> Vec<String> {
    number(object, "vni")
}

fn network_ref(object: &Value) -> Vec<String> {
    one(raw::text(object, &["spec", "networkRef"]))
}

fn selects(object: &Value) -> Vec<String> {
    raw::selector(object, "destinations").map(|selector| selects_key(&selector)).into_iter().collect()
}

/// With SR-IOV and an interface of the host there is one VRF.
fn selects_one(object: &Value) -> Vec<String> {
    let sriov = raw::flag(object, &["spec", "sriov", "enabled"]);
    let named = raw::at(object, &["spec", "interfaceName"]).is_some();
    if sriov && named { selects(object) } else { Vec::new() }
}

/// Only a name that the object gives: the default depends on its network.
fn interface(object: &Value) -> Vec<String> {
    let over_fabric = raw::at(object, &["spec", "interfaceRef"]).is_none();
    let name = raw::text(object, &["spec", "interfaceName"]);
    name.map(|name| interface_key(name, over_fabric)).into_iter().collect()
}

/// The bridge of a low-level segment.
fn bridge(object: &Value) -> Vec<String> {
    let name = raw::text(object, &["spec", "interfaceName"]).map(str::to_owned);
    let by_vlan = || raw::number(object, &["spec", "id"]).map(|vlan| format!("l2.{vlan}"));
    name.or_else(by_vlan).into_iter().collect()
}

/// The whole name of an interface.
pub(crate) fn interface_key(name: &str, over_fabric: bool) -> String {
    if over_fabric { format!("l2.{name}") } else { name.to_owned() }
}

/// Without a name of its own the pool is called after the object.
fn pool(object: &Value) -> Vec<String> {
    if raw::flag(object, &["spec", "disableLoadBalancer"]) {
        return Vec::new();
    }
    vec![raw::text(object, &["spec", "poolName"]).unwrap_or(raw::name(object)).to_owned()]
}

fn inner_names(object: &Value, list: &str) -> Vec<String> {
    raw::items(object, &["spec", list]).filter_map(|item| raw::text(item, &["name"])).map(str::to_owned).collect()
}

fn endpoint(text: Option<&str>) -> Vec<String> {
    text.and_then(|text| text.parse().ok()).map(endpoint_key).into_iter().collect()
}

fn source(object: &Value, field: &str) -> Vec<String> {
    let part = |key: &str| raw::text(object, &["spec", field, key]);
    part("kind").zip(part("name")).map(|(kind, name)| source_key(kind, name)).into_iter().collect()
}
