//! `VlanStatus` asks for nothing: the controller keeps it, and rules look it up.

use netloom_api::{dig, hostnet::VlanStatus};
use serde_json::Value;

use super::{BY_CLUSTER_NETWORK, ready};
use crate::{Admitted, Findings, Index, Write};

/// The index of those that are not ready, by the cluster network.
pub(super) const BY_UNREADY_NETWORK: &str = "unreadyNetwork";

impl Admitted for VlanStatus {
    const INDEXES: &'static [Index] = &[
        Index { name: BY_CLUSTER_NETWORK, keys: cluster_network },
        Index { name: BY_UNREADY_NETWORK, keys: unready_network },
    ];

    fn admit(_write: &Write<'_, Self>, _findings: &mut Findings) {}
}

fn cluster_network(object: &Value) -> Vec<String> {
    dig::keys(object, "status.clusterNetwork")
}

fn unready_network(object: &Value) -> Vec<String> {
    if ready(object) == Some("False") { cluster_network(object) } else { Vec::new() }
}
