//! Host networks, group `network.harvesterhci.io`: layer-2 domains that nodes share, the uplinks
//! that carry them, and addresses of nodes in their VLANs.
//!
//! ```text
//! ClusterNetwork <--- VlanConfig (uplink of selected nodes) ---> VlanStatus (one for each node)
//!        ^
//!        +--- HostNetworkConfig (VLAN interface and address on selected nodes)
//! LinkMonitor: which links nodes report
//! ```
//!
//! Every kind is cluster-scoped. The cluster network `mgmt` is made by the installer of the nodes:
//! its uplink is never ours to change.

mod cluster_network;
mod condition;
mod host_network_config;
mod link_monitor;
pub mod names;
mod vlan_config;
mod vlan_status;

use crate::GroupKind;

pub use cluster_network::{ClusterNetwork, ClusterNetworkSpec, ClusterNetworkStatus};
pub use condition::HostCondition;
pub use host_network_config::{
    Cidr, HostNetworkConfig, HostNetworkConfigSpec, HostNetworkConfigStatus, Lease, Mode, NodeStatus, Unlisted,
};
pub use link_monitor::{LinkMonitor, LinkMonitorSpec, LinkMonitorStatus, LinkState, LinkStatus, TargetLinkRule};
pub use vlan_config::{BondMode, BondOptions, DEFAULT_MTU, LinkAttributes, Uplink, VlanConfig, VlanConfigSpec};
pub use vlan_status::{LocalArea, VlanStatus, VlanStatusSpec, VlanStatusStatus};

/// The API group.
pub const GROUP: &str = "network.harvesterhci.io";
/// The cluster network that the installer makes.
pub const MGMT: &str = "mgmt";
/// The longest name of a cluster network: its devices are called `<name>-br` and `<name>-bo`.
pub const MAX_NAME: usize = 12;

/// The kind `ClusterNetwork`.
pub const CLUSTER_NETWORK: GroupKind<'static> = GroupKind::new(GROUP, "ClusterNetwork");
/// The kind `VlanConfig`.
pub const VLAN_CONFIG: GroupKind<'static> = GroupKind::new(GROUP, "VlanConfig");
/// The kind `VlanStatus`.
pub const VLAN_STATUS: GroupKind<'static> = GroupKind::new(GROUP, "VlanStatus");
/// The kind `HostNetworkConfig`.
pub const HOST_NETWORK_CONFIG: GroupKind<'static> = GroupKind::new(GROUP, "HostNetworkConfig");
