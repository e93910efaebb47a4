//! The list of all kinds. Adding a kind touches its own module and one line here.

use std::sync::LazyLock;

use crate::definition::{Install, Kind};

static KINDS: LazyLock<Vec<Kind>> = LazyLock::new(|| {
    vec![
        Kind::of::<crate::nodestate::NodeNetworkState>(),
        Kind::of::<crate::nodestate::NodeNetConfPolicy>(),
        Kind::of::<crate::hostnet::ClusterNetwork>(),
        Kind::of::<crate::hostnet::VlanConfig>(),
        Kind::of::<crate::hostnet::VlanStatus>(),
        Kind::of::<crate::hostnet::LinkMonitor>(),
        Kind::of::<crate::hostnet::HostNetworkConfig>(),
        Kind::of::<crate::rollout::RolloutPolicy>(),
        Kind::of::<crate::fabric::VRF>(),
        Kind::of::<crate::fabric::Network>(),
        Kind::of::<crate::fabric::Destination>(),
        Kind::of::<crate::fabric::Layer2Attachment>(),
        Kind::of::<crate::fabric::Inbound>(),
        Kind::of::<crate::fabric::Outbound>(),
        Kind::of::<crate::fabric::BGPNeighbor>(),
        Kind::of::<crate::fabric::PodNetwork>(),
        Kind::of::<crate::fabric::Collector>(),
        Kind::of::<crate::fabric::TrafficMirror>(),
        Kind::of::<crate::pipeline::NodeNetworkStatus>(),
        Kind::of::<crate::fabric::Layer2NetworkConfiguration>(),
        Kind::of::<crate::fabric::VRFRouteConfiguration>(),
        Kind::of::<crate::fabric::BGPPeering>(),
        Kind::of::<crate::fabric::MirrorTarget>(),
        Kind::of::<crate::fabric::MirrorSelector>(),
        Kind::of::<crate::pipeline::NetworkConfigRevision>(),
        Kind::of::<crate::pipeline::NetworkConfigRevisionPart>(),
        Kind::of::<crate::pipeline::NodeNetworkConfig>(),
        Kind::of::<crate::podnet::DanmNet>(),
        Kind::of::<crate::podnet::TenantNetwork>(),
        Kind::of::<crate::podnet::ClusterNetwork>(),
        Kind::of::<crate::podnet::TenantConfig>(),
        Kind::of::<crate::podnet::DanmEp>(),
        Kind::of::<crate::podnet::IPBlock>(),
        Kind::of::<crate::machine::VirtualMachine>(),
        Kind::of::<crate::machine::VirtualMachineInstance>(),
        Kind::of::<crate::machine::VirtualMachineInstanceMigration>(),
    ]
});

/// All kinds, in the order of the reference documentation.
pub fn kinds() -> &'static [Kind] {
    &KINDS
}

/// The kinds that every cluster gets.
pub fn usual() -> impl Iterator<Item = &'static Kind> {
    kinds().iter().filter(|kind| kind.install != Install::OnRequest)
}

/// The kinds that a cluster gets only where somebody asks for them.
pub fn on_request() -> impl Iterator<Item = &'static Kind> {
    kinds().iter().filter(|kind| kind.install == Install::OnRequest)
}

/// The kind of that group and name.
pub fn find(group: &str, kind: &str) -> Option<&'static Kind> {
    kinds().iter().find(|known| known.group == group && known.kind == kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_are_what_the_types_derive() {
        for kind in kinds() {
            assert_eq!(kind.crd(), (kind.derived)(), "run scripts/generated: {}", kind.kind);
        }
    }
}
