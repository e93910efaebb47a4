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
mod installed;
mod link_monitor;
mod machines;
pub mod names;
mod nodes;
mod rules;
mod vlan_config;
mod vlan_status;

use crate::admission::{Findings, GroupKind, Review};

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

pub(crate) const CLUSTER_NETWORK: GroupKind<'static> = GroupKind::new(GROUP, "ClusterNetwork");
pub(crate) const VLAN_CONFIG: GroupKind<'static> = GroupKind::new(GROUP, "VlanConfig");
pub(crate) const VLAN_STATUS: GroupKind<'static> = GroupKind::new(GROUP, "VlanStatus");
pub(crate) const HOST_NETWORK_CONFIG: GroupKind<'static> = GroupKind::new(GROUP, "HostNetworkConfig");

pub(crate) use installed::{BY_INSTALLER_VLAN, installer_vlans};

/// The index of every kind here by the cluster network that its objects are of.
pub(crate) const BY_CLUSTER_NETWORK: &str = "clusterNetwork";

/// The rules for attachments to cluster networks, whose kind is not ours.
pub(crate) fn admit_attachment(review: &Review<'_>, findings: &mut Findings) {
    rules::attachment::admit(review, findings);
}
