//! What is written down of a container: enough to take everything away without any object.

use std::net::IpAddr;

use ipnet::IpNet;
use netloom_cnispec::Attached;
use serde::{Deserialize, Serialize};

/// All interfaces of one container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// The container.
    pub container: String,
    /// Path of its network namespace.
    pub netns: String,
    /// Name under which the runtime asked for it.
    pub ifname: String,
    /// Name of the runtime's network.
    pub network: String,
    /// Namespace of the pod.
    pub pod_namespace: String,
    /// Name of the pod.
    pub pod_name: String,
    /// UID of the pod.
    pub pod_uid: String,
    /// How far it is.
    pub state: State,
    /// Its interfaces, in the order in which the pod asks for them.
    pub interfaces: Vec<Interface>,
}

/// How far an attachment is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// Interfaces are being made. Whoever finds it so after a crash takes them away.
    Making,
    /// All are made; this was answered.
    Made(Attached),
}

/// One interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Interface {
    /// Its name in the pod.
    pub name: String,
    /// Kind of its network.
    pub network_kind: String,
    /// Name of its network.
    pub network_name: String,
    /// UID of its network.
    pub network_uid: String,
    /// Who makes it.
    pub network_type: String,
    /// What it is.
    pub link: LinkKind,
    /// The link of the node that carries it.
    pub parent: String,
    /// Its MTU, where the network says one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// Its IPv4 address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv4: Option<IpNet>,
    /// It was asked to have no IPv4 address.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_ipv4: bool,
    /// Its IPv6 address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv6: Option<IpNet>,
    /// It was asked to have no IPv6 address.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_ipv6: bool,
    /// Its routes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<RecordedRoute>,
    /// Name of its `DanmEp`.
    pub endpoint: String,
}

/// What the agent makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkKind {
    /// In mode L2.
    Ipvlan,
    /// In mode bridge.
    Macvlan,
}

/// A route of an interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedRoute {
    /// Where to.
    pub to: IpNet,
    /// Over whom.
    pub via: IpAddr,
    /// Its table; the main one when absent. Packets from the address of its family are looked up there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<u32>,
}

impl Interface {
    /// Its addresses.
    pub fn addresses(&self) -> impl Iterator<Item = IpNet> {
        self.ipv4.into_iter().chain(self.ipv6)
    }
}
