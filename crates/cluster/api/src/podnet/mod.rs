//! Networks of pods, group `danm.k8s.io`, and the addresses that nodes have of them.
//!
//! ```text
//! TenantConfig ---> TenantNetwork \
//!                   ClusterNetwork > Network: what it means ---> IPBlock (addresses of one node)
//!                   DanmNet       /                         ---> DanmEp (one interface of one pod)
//! ```
//!
//! The three kinds of networks have one content, [`NetworkSpec`]; [`Network`] is the same read once, with every value
//! in its type. `ClusterNetwork` is also a kind of `network.harvesterhci.io`, which has nothing to do with this one.

mod cluster_network;
mod danm_ep;
mod danm_net;
mod effects;
mod ip_block;
mod masks;
mod network;
mod read;
mod spec;
mod tenant_config;
mod tenant_network;

use crate::GroupKind;

pub use cluster_network::{ClusterNetwork, ClusterNetworkSpec};
pub use danm_ep::{DanmEp, DanmEpSpec, EpInterface};
pub use danm_net::{DanmNet, DanmNetSpec};
pub use ip_block::{Counts, IPBlock, IPBlockSpec, IPBlockStatus, NetworkOfBlock, Ranges, Spare};
pub use masks::Masks;
pub use network::{Backend, Family, LinkId, Network, NetworkKind, NetworkRef, Problem, Static};
pub use spec::{AllocationPool, AllocationPoolV6, NetworkOptions, NetworkSpec, NetworkStatus};
pub use tenant_config::{HostDevice, TenantConfig, TenantConfigSpec, TenantConfigStatus, VniProblem};
pub use tenant_network::{TenantNetwork, TenantNetworkSpec};

/// The API group of networks and interfaces.
pub const GROUP: &str = "danm.k8s.io";
/// The only version of it.
pub const VERSION: &str = "v1";
/// The API group of address blocks.
pub const BLOCK_GROUP: &str = "netloom.dev";

/// The kind `DanmNet`.
pub const DANM_NET: GroupKind<'static> = GroupKind::new(GROUP, "DanmNet");
/// The kind `TenantNetwork`.
pub const TENANT_NETWORK: GroupKind<'static> = GroupKind::new(GROUP, "TenantNetwork");
/// The kind `ClusterNetwork` of this group.
pub const CLUSTER_NETWORK: GroupKind<'static> = GroupKind::new(GROUP, "ClusterNetwork");
/// The kind `TenantConfig`.
pub const TENANT_CONFIG: GroupKind<'static> = GroupKind::new(GROUP, "TenantConfig");
/// The kind `DanmEp`.
pub const DANM_EP: GroupKind<'static> = GroupKind::new(GROUP, "DanmEp");
/// The kind `IPBlock`.
pub const IP_BLOCK: GroupKind<'static> = GroupKind::new(BLOCK_GROUP, "IPBlock");

/// The three kinds of networks.
pub const NETWORKS: [GroupKind<'static>; 3] = [DANM_NET, TENANT_NETWORK, CLUSTER_NETWORK];
