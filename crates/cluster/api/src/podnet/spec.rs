//! What the three kinds of networks are made of.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::condition::Conditions;

/// A network that pods can be attached to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkSpec {
    /// Names the links that nodes get for it, `<NetworkID>.<vlan>` and `vx_<NetworkID>`, and the configuration file of a
    /// plugin that is configured by files. At most 11 characters for `ipvlan`, `macvlan` and `sriov`.
    #[serde(rename = "NetworkID", default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 253))]
    pub network_id: String,
    /// Who makes the interfaces: `ipvlan` (the default), `macvlan` or `sriov`, or the name of a plugin that is configured
    /// by a file.
    #[serde(rename = "NetworkType", default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 253))]
    pub network_type: String,
    /// The namespaces whose pods may be attached; empty: those of all. Only for a ClusterNetwork.
    #[serde(rename = "AllowedTenants", default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1024), inner(length(max = 63)), extend("x-kubernetes-list-type" = "atomic"))]
    pub allowed_tenants: Vec<String>,
    /// Everything else.
    #[serde(rename = "Options", default)]
    pub options: NetworkOptions,
}

/// Where a network is, and which addresses and routes its pods get.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NetworkOptions {
    /// The interface of nodes that carries the network. Not together with `device_pool`.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 15))]
    pub host_device: String,
    /// The resource of a device plugin whose devices pods get, such as `example.com/pool`; `sriov` needs it.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 316))]
    pub device_pool: String,
    /// What names of interfaces start with instead of `eth`.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 15))]
    pub container_prefix: String,
    /// The IPv4 network. Without it, and without `net6`, pods get no address.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 18))]
    pub cidr: String,
    /// The part of `cidr` that addresses are taken from; all of it when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocation_pool: Option<AllocationPool>,
    /// Which addresses of `cidr` are in use, as base64 of bits. The controller keeps it; leave it out.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 1_398_104))]
    pub alloc: String,
    /// Routes of every pod, by destination, with their gateways in `cidr`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 256))]
    pub routes: BTreeMap<String, String>,
    /// The IPv6 network.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 43))]
    pub net6: String,
    /// The part of `net6` that addresses are taken from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocation_pool_v6: Option<AllocationPoolV6>,
    /// Which addresses of the IPv6 pool are in use. The controller keeps it; leave it out.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 1_398_104))]
    pub alloc6: String,
    /// IPv6 routes of every pod, by destination, with their gateways in `net6`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 256))]
    pub routes6: BTreeMap<String, String>,
    /// The routing table for the routes that a pod itself asks for; 0: it may not ask for any.
    #[serde(skip_serializing_if = "is_zero")]
    pub rt_tables: u32,
    /// The VLAN of the network on `host_device`. Not together with `vxlan`.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(range(max = 4094))]
    pub vlan: u32,
    /// The VXLAN network over `host_device`.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(range(max = 16_777_214))]
    pub vxlan: u32,
    /// The MTU of the interfaces; 0: that of what carries them.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(range(max = 65_535))]
    pub mtu: u32,
}

/// The first and the last address that pods get without asking for one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AllocationPool {
    /// The first; the second of the network when absent.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 15))]
    pub start: String,
    /// The last; the last but one of the network when absent.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 15))]
    pub end: String,
    /// The address that was given last. The controller keeps it.
    #[serde(rename = "lastIp", skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 18))]
    pub last_ip: String,
}

/// The same for IPv6, where a pool is a part of the network.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AllocationPoolV6 {
    /// The part of `net6`; the first of a size that DANM can track when absent.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 43))]
    pub cidr: String,
    /// The first address.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 39))]
    pub start: String,
    /// The last address.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 39))]
    pub end: String,
    /// The address that was given last. The controller keeps it.
    #[serde(rename = "lastIp", skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 43))]
    pub last_ip: String,
}

/// Whether pods can be attached.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkStatus {
    /// `Ready` tells whether pods can be attached on every node, and why not.
    #[serde(default, skip_serializing_if = "Conditions::is_empty")]
    pub conditions: Conditions,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}
