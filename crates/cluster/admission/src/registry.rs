//! The rules of all kinds. A new kind has one line here.

use std::sync::LazyLock;

use netloom_api::{GroupKind, Kind, fabric, hostnet, machine, nodestate, pipeline, podnet, rollout};
use serde_json::Value;

use crate::{Admitted, Findings, Index, Review, admit};

/// What admission asks of a kind, with its type erased.
pub(crate) struct Rules {
    /// The kind.
    pub(crate) kind: &'static Kind,
    /// What rules look objects up by.
    pub(crate) indexes: &'static [Index],
    /// Fills in what is missing.
    pub(crate) complete: fn(&Review<'_>, &mut Value),
    /// Judges a write.
    pub(crate) admit: fn(&Review<'_>, &mut Findings),
}

static RULES: LazyLock<Vec<Rules>> = LazyLock::new(|| {
    let rules = [
        of::<nodestate::NodeNetworkState>(),
        of::<nodestate::NodeNetConfPolicy>(),
        of::<hostnet::ClusterNetwork>(),
        of::<hostnet::VlanConfig>(),
        of::<hostnet::VlanStatus>(),
        of::<hostnet::LinkMonitor>(),
        of::<hostnet::HostNetworkConfig>(),
        of::<rollout::RolloutPolicy>(),
        of::<fabric::VRF>(),
        of::<fabric::Network>(),
        of::<fabric::Destination>(),
        of::<fabric::Layer2Attachment>(),
        of::<fabric::Inbound>(),
        of::<fabric::Outbound>(),
        of::<fabric::BGPNeighbor>(),
        of::<fabric::PodNetwork>(),
        of::<fabric::Collector>(),
        of::<fabric::TrafficMirror>(),
        of::<pipeline::NodeNetworkStatus>(),
        of::<fabric::Layer2NetworkConfiguration>(),
        of::<fabric::VRFRouteConfiguration>(),
        of::<fabric::BGPPeering>(),
        of::<fabric::MirrorTarget>(),
        of::<fabric::MirrorSelector>(),
        of::<pipeline::NetworkConfigRevision>(),
        of::<pipeline::NetworkConfigRevisionPart>(),
        of::<pipeline::NodeNetworkConfig>(),
        of::<podnet::DanmNet>(),
        of::<podnet::TenantNetwork>(),
        of::<podnet::ClusterNetwork>(),
        of::<podnet::TenantConfig>(),
        of::<podnet::DanmEp>(),
        of::<podnet::IPBlock>(),
        of::<machine::VirtualMachine>(),
        of::<machine::VirtualMachineInstance>(),
        of::<machine::VirtualMachineInstanceMigration>(),
    ];
    rules.into_iter().flatten().collect()
});

/// The rules of a kind; none for one that is not ours.
pub(crate) fn find(kind: GroupKind<'_>) -> Option<&'static Rules> {
    RULES.iter().find(|rules| rules.kind.group == kind.group && rules.kind.kind == kind.kind)
}

fn of<T: Admitted>() -> Option<Rules> {
    let kind = netloom_api::find(&T::group(&()), &T::kind(&()))?;
    Some(Rules { kind, indexes: T::INDEXES, complete: T::complete, admit: admit::<T> })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_rules() {
        for kind in netloom_api::kinds() {
            assert!(find(GroupKind::new(kind.group, kind.kind)).is_some(), "{}", kind.kind);
        }
        assert_eq!(RULES.len(), netloom_api::kinds().len());
    }
}
