//! What is reported about host networks, from what they want and what nodes answered.
//!
//! ```text
//! Compiled.reports, NodeNetworkConfig (assigned and answered) --> matched-nodes, HostNetworkConfig.status, VlanStatus,
//!                                                              ClusterNetwork.status, labels of nodes, tunnels,
//!                                                              labels of overlay networks
//! links of mgmt that nodes report ------------------------> ClusterNetwork mgmt, VlanConfigs that show its uplinks
//! NodeNetworkStatus (links) ------------------------------> LinkMonitor.status
//! ```
//!
//! Everything is decided from live objects, and written only where it says something else than what stands there. So
//! what one node reports makes one write, and none that another node would look at.

mod carried;
mod condition;
mod held;
mod hosts;
mod installed;
mod kinds;
mod matched;
mod monitors;
mod nodes;
mod overlays;
mod room;
mod uplinks;

use std::collections::BTreeMap;

use jiff::Timestamp;
use netloom_api::GroupKind;
use netloom_compile::{
    Compiled,
    hostnet::{ClusterNetwork, HostNetworkConfig, LinkMonitor, NetworkReport, VlanConfig, VlanStatus},
};
use netloom_rollout::Decision;

use crate::{
    answers,
    front_end::{Assigned, FrontEndStatus, Scene},
    index::Index,
    kinds::Row,
    work::Work,
};

pub use condition::ROLLOUT_STOPPED;
pub use hosts::FINALIZER as HOST_NETWORK_FINALIZER;
pub use uplinks::{FINALIZER as UPLINK_FINALIZER, NODE_LOST};

/// The front end of host networks.
#[derive(Debug)]
pub(crate) struct HostNetworks;

impl FrontEndStatus for HostNetworks {
    fn name(&self) -> &'static str {
        "host-networks"
    }

    fn kinds(&self) -> Vec<Row> {
        kinds::ROWS.to_vec()
    }

    fn prepare(&self, scene: Scene<'_>, work: &mut Work) {
        prepare(scene, work);
    }

    fn report(&self, scene: Scene<'_>, assigned: Assigned<'_>, work: &mut Work) {
        write_statuses(scene, assigned, work);
    }
}

/// Asks for what must be so before nodes are assigned anything, and for what has nothing to do with that: what nodes
/// have of an object that is deleted meanwhile is taken back only where the object is held.
fn prepare(Scene { now, index, compiled }: Scene<'_>, work: &mut Work) {
    installed::write_statuses(index, work);
    if is_unused(index) {
        return;
    }
    uplinks::hold(index, compiled, work);
    hosts::hold(index, compiled, work);
    release(now, index, compiled, work);
    monitors::write_statuses(index, work);
}

/// Releases what is deleted and no node has any more.
fn release(now: Timestamp, index: &Index, compiled: &Compiled, work: &mut Work) {
    if !uplinks::is_any_leaving(index) && !hosts::is_any_leaving(index) {
        return;
    }
    let (earlier, decision) = (BTreeMap::new(), Decision::default());
    let answers = answers::all(now, index, compiled, Assigned { earlier: &earlier, decision: &decision });
    uplinks::release(index, &answers, work);
    hosts::release(now, index, compiled, &answers, work);
}

/// Asks for everything else that is not reported yet.
fn write_statuses(Scene { now, index, compiled }: Scene<'_>, assigned: Assigned<'_>, work: &mut Work) {
    if is_unused(index) {
        return;
    }
    let answers = answers::all(now, index, compiled, assigned);
    let connections = uplinks::write_statuses(now, index, compiled, &answers, work);
    hosts::write_statuses(now, index, compiled, &answers, work);
    nodes::write_statuses(index, compiled, &answers, &connections, work);
    overlays::write_statuses(index, compiled, work);
}

/// What there is to say about objects of a kind, by name.
fn reports<'a>(compiled: &'a Compiled, kind: GroupKind<'a>) -> impl Iterator<Item = (&'a str, &'a NetworkReport)> {
    let all = compiled.reports.of::<NetworkReport>().filter(move |(object, _)| object.kind == kind);
    all.map(|(object, report)| (object.key.name.as_str(), report))
}

fn is_unused(index: &Index) -> bool {
    let snapshot = index.snapshot();
    snapshot.has_none::<ClusterNetwork>()
        && snapshot.has_none::<VlanConfig>()
        && snapshot.has_none::<HostNetworkConfig>()
        && snapshot.has_none::<VlanStatus>()
        && snapshot.has_none::<LinkMonitor>()
        && snapshot.nodes.iter().all(|(_, node)| nodes::named_by(node).next().is_none())
}
