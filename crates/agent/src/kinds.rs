//! Where the API has the kinds that an agent reads and writes.
//!
//! By their types, and not by the list of all kinds: that would bring the rules of all of them into the program of
//! a node, which needs none.

use std::borrow::Cow;

use kube::Resource;
use netloom_api::{
    admission::GroupKind,
    fabric::{NodeNetworkConfig, NodeNetworkStatus},
    nodestate::{NodeNetConfPolicy, NodeNetworkState},
};
use netloom_node::{CONFIG, LINKS, POLICY, STATE};

/// The version and the name in URLs.
pub(crate) fn served(kind: GroupKind<'static>) -> (Cow<'static, str>, Cow<'static, str>) {
    match kind {
        STATE => of::<NodeNetworkState>(),
        POLICY => of::<NodeNetConfPolicy>(),
        CONFIG => of::<NodeNetworkConfig>(),
        LINKS => of::<NodeNetworkStatus>(),
        // The only others are nodes and events.
        _ => (Cow::Borrowed("v1"), Cow::Owned(format!("{}s", kind.kind.to_lowercase()))),
    }
}

fn of<K: Resource<DynamicType = ()>>() -> (Cow<'static, str>, Cow<'static, str>) {
    (K::version(&()), K::plural(&()))
}
