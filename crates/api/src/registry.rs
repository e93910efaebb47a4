//! The list of all kinds. Adding a kind touches its own module and one line here.

use std::sync::LazyLock;

use crate::definition::Kind;

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
    ]
});

/// All kinds, in the order of the reference documentation.
pub fn kinds() -> &'static [Kind] {
    &KINDS
}

/// The kind of that group and name.
pub fn find(group: &str, kind: &str) -> Option<&'static Kind> {
    kinds().iter().find(|known| known.group == group && known.kind == kind)
}
