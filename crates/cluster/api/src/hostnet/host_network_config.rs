//! `HostNetworkConfig`: a VLAN interface with an IPv4 address on nodes.

use std::{borrow::Cow, collections::BTreeMap};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube_derive::CustomResource;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::{
    definition::Declared,
    effects::{Effect, FieldEffect, field},
    hostnet::HostCondition,
};

/// Which VLAN of which cluster network, on which nodes, with which addresses.
#[derive(CustomResource, Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "network.harvesterhci.io",
    version = "v1beta1",
    kind = "HostNetworkConfig",
    plural = "hostnetworkconfigs",
    shortname = "hnc",
    shortname = "hncs",
    category = "netloom",
    doc = "Gives nodes an interface in a VLAN of a cluster network, with an IPv4 address that is fixed for each node or comes from a DHCP server.",
    status = "HostNetworkConfigStatus",
    printcolumn(name = "ClusterNetwork", type_ = "string", json_path = ".spec.clusterNetwork"),
    printcolumn(name = "VLAN", type_ = "integer", json_path = ".spec.vlanID"),
    printcolumn(name = "Mode", type_ = "string", json_path = ".spec.mode"),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"ready\")].status"),
    printcolumn(name = "Underlay", type_ = "boolean", json_path = ".spec.underlay", priority = 1),
    printcolumn(name = "Description", type_ = "string", json_path = ".spec.description", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    crates(kube_core = "::kube_core")
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "self.mode != 'static' || (has(self.ips) && size(self.ips) > 0)",
    "message": "mode static needs an address for each node in ips",
}]))]
pub struct HostNetworkConfigSpec {
    /// Free-form description.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 1024))]
    pub description: String,
    /// The nodes that get the interface, among those that the cluster network reaches. Absent: all of
    /// them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_selector: Option<LabelSelector>,
    /// The cluster network that carries the VLAN. It must be there and ready.
    #[schemars(length(min = 1, max = 12))]
    pub cluster_network: String,
    /// Whether tunnels of overlay networks use this interface. At most one object may say so, and it
    /// must reach every node.
    #[serde(default)]
    pub underlay: bool,
    /// The VLAN. The untagged network and VLAN 1 belong to the uplink itself.
    #[serde(rename = "vlanID")]
    #[schemars(range(min = 2, max = 4094))]
    pub vlan_id: u16,
    /// Where the address comes from.
    pub mode: Mode,
    /// For mode `static`: the address of each node with the length of its prefix, such as
    /// `192.168.1.10/24`. One entry for each node that gets the interface, all in one subnet.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 500))]
    pub ips: BTreeMap<String, Cidr>,
}

/// Where addresses come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// From `ips`.
    Static,
    /// From a DHCP server in the VLAN.
    Dhcp,
}

/// An address with the length of its prefix, as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cidr(pub String);

impl JsonSchema for Cidr {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Cidr".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "maxLength": 50,
            "x-kubernetes-validations": [{"rule": "isCIDR(self)", "message": "must be an address with the length of its prefix"}],
        })
    }
}

/// How far the nodes have got.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostNetworkConfigStatus {
    /// `ready` is true when every node that gets the interface is ready for the present generation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<HostCondition>,
    /// One entry for each node, as far as there is room; nodes that are not ready first.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_status: BTreeMap<String, NodeStatus>,
    /// The nodes that have no entry because there is no room for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unlisted: Option<Unlisted>,
}

/// Nodes that are counted and not listed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Unlisted {
    /// How many of them are ready.
    pub ready: u32,
    /// How many of them are not.
    pub waiting: u32,
    /// The generation of the object that this speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
}

/// The interface on one node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeStatus {
    /// The cluster network that the interface is in.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cluster_network: String,
    /// The VLAN that the interface is in.
    #[serde(default, rename = "vlanID", skip_serializing_if = "Option::is_none")]
    pub vlan_id: Option<u16>,
    /// Where its address comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// The name of the interface. It stays for the life of the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// The addresses that the interface has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub addresses: Vec<String>,
    /// The lease, for mode `dhcp`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Lease>,
    /// The generation of the object that this entry speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
    /// `ready`, with a reason when it is not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<HostCondition>,
}

/// An address that a server has lent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Lease {
    /// The server's address.
    pub server: String,
    /// When the lease began.
    #[schemars(extend("format" = "date-time"))]
    pub acquired: String,
    /// When the node asks this server for more time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub renew_at: Option<String>,
    /// When the node asks any server for more time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub rebind_at: Option<String>,
    /// When the address is given up; absent for a lease without an end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub expires_at: Option<String>,
    /// The name servers that the server named. They are reported, not used: those of a node are its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub name_servers: Vec<String>,
    /// The domain that the server named. It is reported, not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
}

impl Declared for HostNetworkConfig {
    const EFFECTS: &'static [FieldEffect] = EFFECTS;
}

const REPORT: &[Effect] = &[Effect::Status("controller: from the nodes' reports")];

const EFFECTS: &[FieldEffect] = &[
    field("spec", &[Effect::FrontEnd("host networks: a VLAN interface on nodes")]),
    field("spec.description", &[Effect::Description]),
    field(
        "spec.nodeSelector",
        &[
            Effect::Admission("must be a valid selector; must match every node for the underlay"),
            Effect::FrontEnd("host networks: selects nodes"),
        ],
    ),
    field(
        "spec.nodeSelector.**",
        &[Effect::Admission("must be a valid selector"), Effect::FrontEnd("host networks: selects nodes")],
    ),
    field(
        "spec.clusterNetwork",
        &[
            Effect::Admission(
                "at most 12 bytes; must exist and be ready; one object for each VLAN of it; not changed for an underlay that machines use",
            ),
            Effect::FrontEnd("host networks: the bridge that carries the interface"),
        ],
    ),
    field(
        "spec.underlay",
        &[
            Effect::Admission(
                "true in one object only, which must reach every node, cannot be deleted, and stays while machines use overlay networks",
            ),
            Effect::FrontEnd("host networks: names the interface for tunnels on each node"),
        ],
    ),
    field(
        "spec.vlanID",
        &[
            Effect::Admission(
                "2 to 4094; once for each cluster network; not the installer's VLAN of mgmt; not changed for an underlay that machines use",
            ),
            Effect::FrontEnd("host networks: the VLAN of the interface, on bridge and uplink"),
        ],
    ),
    field(
        "spec.mode",
        &[
            Effect::Admission("static or dhcp; static needs ips; a warning for ips that dhcp leaves unused"),
            Effect::FrontEnd("host networks: a fixed address, or one that a DHCP server lends"),
        ],
    ),
    field(
        "spec.ips",
        &[
            Effect::Admission(
                "one IPv4 host address for each covered node and for no other, all different and in one subnet",
            ),
            Effect::FrontEnd("host networks: the address of the interface"),
        ],
    ),
    field("status", REPORT),
    field("status.conditions", REPORT),
    field("status.conditions.**", REPORT),
    field("status.nodeStatus", REPORT),
    field("status.nodeStatus.**", REPORT),
    field("status.unlisted", REPORT),
    field("status.unlisted.**", REPORT),
];
