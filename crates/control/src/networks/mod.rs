//! What is told about host networks, from what they want and what nodes answered.
//!
//! ```text
//! Compiled.networks, NodeNetworkConfig (told and answered) --> matched-nodes, HostNetworkConfig.status, VlanStatus,
//!                                                              ClusterNetwork.status, labels of nodes, tunnels
//! links of mgmt that nodes report ------------------------> ClusterNetwork mgmt, VlanConfigs that show its uplinks
//! NodeNetworkStatus (links) ------------------------------> LinkMonitor.status
//! ```
//!
//! Everything is decided from live objects, and written only where it says something else than what stands there. So
//! what one node reports makes one write, and none that another node would look at.

mod answers;
mod carried;
mod condition;
mod hosts;
mod installed;
mod matched;
mod monitors;
mod nodes;
mod uplinks;

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use netloom_compile::{Compiled, Wishes};
use netloom_rollout::Decision;

use crate::{controller::Work, index::Index};

pub use hosts::FINALIZER;

/// What nodes were told and are told.
#[derive(Clone, Copy)]
pub(crate) struct Told<'a> {
    /// What revisions say that nodes have in place while they are at another one.
    pub(crate) earlier: &'a BTreeMap<String, Arc<Wishes>>,
    /// Who is told what in this turn, and who cannot be.
    pub(crate) decision: &'a Decision,
}

/// Asks for everything that is not told yet.
pub(crate) fn tell(now: Timestamp, index: &Index, compiled: &Compiled, told: Told<'_>, work: &mut Work) {
    installed::tell(index, work);
    let snapshot = index.snapshot();
    let unused = snapshot.cluster_networks.is_empty()
        && snapshot.uplinks.is_empty()
        && snapshot.host_networks.is_empty()
        && snapshot.vlan_statuses.is_empty()
        && snapshot.monitors.is_empty();
    if unused {
        return;
    }
    let answers = answers::all(index, compiled, told);
    matched::tell(index, compiled, work);
    let connections = uplinks::tell(now, index, compiled, &answers, work);
    hosts::tell(now, index, compiled, &answers, work);
    nodes::tell(index, compiled, &answers, &connections, work);
    monitors::tell(index, work);
}
