//! The kinds of host networks.

use netloom_api::{
    GroupKind, foreign,
    hostnet::{self, ClusterNetworkStatus, HostNetworkConfigStatus, LinkMonitorStatus, names},
};

use crate::{
    kept::Kept,
    kinds::{NODE, Row, StatusPath},
};

pub(super) const CLUSTER_NETWORK: GroupKind<'static> = GroupKind::new(hostnet::GROUP, "ClusterNetwork");
pub(super) const UPLINK: GroupKind<'static> = GroupKind::new(hostnet::GROUP, "VlanConfig");
pub(super) const HOST_NETWORK: GroupKind<'static> = GroupKind::new(hostnet::GROUP, "HostNetworkConfig");
pub(super) const VLAN_STATUS: GroupKind<'static> = GroupKind::new(hostnet::GROUP, "VlanStatus");
pub(super) const MONITOR: GroupKind<'static> = GroupKind::new(hostnet::GROUP, "LinkMonitor");
pub(super) const ATTACHMENT: GroupKind<'static> = foreign::ATTACHMENT;

/// The only version of this group.
const VERSION: &str = "v1beta1";

/// Their rows in the table of kinds. A cluster that has no host networks need not have the kinds.
pub(super) const ROWS: &[Row] = &[
    Row { notes: &[names::TUNNEL_INTERFACE], ..Row::followed(NODE, "v1") },
    Row {
        optional: true,
        reported: Some(StatusPath::Object),
        status: Some(Kept::read::<ClusterNetworkStatus>),
        notes: &[names::UPLINK_MTU, names::MTU_SOURCE, names::VLAN_IDS, names::VLAN_IDS_HASH],
        ..Row::followed(CLUSTER_NETWORK, VERSION)
    },
    Row { optional: true, frozen: true, notes: &[names::MATCHED_NODES], held: true, ..Row::followed(UPLINK, VERSION) },
    Row {
        optional: true,
        reported: Some(StatusPath::Subresource),
        status: Some(Kept::read::<HostNetworkConfigStatus>),
        frozen: true,
        notes: &[names::MATCHED_NODES],
        held: true,
        ..Row::followed(HOST_NETWORK, VERSION)
    },
    Row { optional: true, ..Row::followed(VLAN_STATUS, VERSION) },
    Row {
        optional: true,
        reported: Some(StatusPath::Object),
        status: Some(Kept::read::<LinkMonitorStatus>),
        ..Row::followed(MONITOR, VERSION)
    },
    Row { optional: true, frozen: true, ..Row::followed(ATTACHMENT, "v1") },
];
