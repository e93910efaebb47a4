//! Where the API has the kinds that an agent reads and writes.
//!
//! By their types, and not by the list of all kinds: that would bring the rules of all of them into the program of
//! a node, which needs none.

use std::borrow::Cow;

use kube::{
    Resource,
    api::{ApiResource, GroupVersionKind},
};
use netloom_agent_core::{CONFIG, LINKS, POLICY, STATE};
use netloom_api::{
    GroupKind,
    machine::{INSTANCE, VirtualMachineInstance},
    nodestate::{NodeNetConfPolicy, NodeNetworkState},
    pipeline::{NodeNetworkConfig, NodeNetworkStatus},
};

/// How objects of a kind are asked for.
pub(crate) fn resource(kind: GroupKind<'static>) -> ApiResource {
    let (version, plural) = served(kind);
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(kind.group, &version, kind.kind), &plural)
}

/// The version and the name in URLs.
fn served(kind: GroupKind<'static>) -> (Cow<'static, str>, Cow<'static, str>) {
    match kind {
        STATE => of::<NodeNetworkState>(),
        POLICY => of::<NodeNetConfPolicy>(),
        CONFIG => of::<NodeNetworkConfig>(),
        LINKS => of::<NodeNetworkStatus>(),
        INSTANCE => of::<VirtualMachineInstance>(),
        // The only others are nodes and events.
        _ => (Cow::Borrowed("v1"), Cow::Owned(format!("{}s", kind.kind.to_lowercase()))),
    }
}

fn of<K: Resource<DynamicType = ()>>() -> (Cow<'static, str>, Cow<'static, str>) {
    (K::version(&()), K::plural(&()))
}

#[cfg(test)]
mod tests {
    use kube::api::DynamicObject;
    use netloom_agent_core::NODE;

    use super::*;

    #[test]
    fn every_kind_that_an_agent_writes_has_its_place() {
        let at = |kind, namespace| DynamicObject::url_path(&resource(kind), namespace);
        assert_eq!(at(STATE, Some("d")), "/apis/nmstate.io/v1/namespaces/d/nodenetworkstates");
        assert_eq!(at(CONFIG, None), "/apis/network.t-caas.telekom.com/v1alpha1/nodenetworkconfigs");
        assert_eq!(at(LINKS, None), "/apis/network.t-caas.telekom.com/v1alpha1/nodenetworkstatuses");
        assert_eq!(at(NODE, None), "/api/v1/nodes");
        let event = GroupKind::new("events.k8s.io", "Event");
        assert_eq!(at(event, Some("d")), "/apis/events.k8s.io/v1/namespaces/d/events");
    }
}
