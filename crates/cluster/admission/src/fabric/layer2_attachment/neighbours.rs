//! What two attachments on one node cannot both have: a VLAN, or the name of an interface.

use std::sync::Arc;

use netloom_api::fabric::{layer2_attachment::Layer2AttachmentSpec, selector::nodes_meet};
use serde_json::Value;

use crate::{
    Findings, Review,
    fabric::{index, kind, raw, related::others_under},
};

/// Refuses an attachment that another one on some of the same nodes is in the way of.
pub(super) fn check(review: &Review<'_>, findings: &mut Findings, spec: &Layer2AttachmentSpec, vlan: Option<u64>) {
    if makes_no_interface(spec.interface_name.as_deref(), spec.interface_ref.as_deref()) {
        return;
    }
    if let Some(vlan) = vlan
        && let Some((other, what)) = on_same_vlan(review, spec, vlan)
    {
        findings.duplicate(
            "spec.networkRef",
            &*spec.network_ref,
            format!("{} has {what} on some of the same nodes", raw::shown(&other)),
        );
        return;
    }
    for name in names(spec.interface_name.as_deref(), spec.interface_ref.as_deref(), vlan) {
        let found = others_under(review, kind::LAYER2_ATTACHMENT, index::INTERFACE, &name);
        if let Some(other) = found.into_iter().find(|other| meets(spec, other)) {
            let detail = format!("{} has an interface {name:?} on some of the same nodes", raw::shown(&other));
            findings.duplicate("spec.interfaceName", spec.interface_name.as_deref().unwrap_or(&name), detail);
            return;
        }
    }
}

fn on_same_vlan(review: &Review<'_>, spec: &Layer2AttachmentSpec, vlan: u64) -> Option<(Arc<Value>, String)> {
    let networks = review.view.lookup(kind::NETWORK, index::VLAN, &vlan.to_string());
    let attachments = networks
        .iter()
        .flat_map(|network| others_under(review, kind::LAYER2_ATTACHMENT, index::NETWORK, raw::name(network)));
    attachments.filter(|other| meets(spec, other)).find_map(|other| {
        let parent = raw::text(&other, &["spec", "interfaceRef"]);
        let name = raw::text(&other, &["spec", "interfaceName"]);
        if makes_no_interface(name, parent) {
            return None;
        }
        if parent == spec.interface_ref.as_deref() {
            return Some((other, format!("VLAN {vlan}")));
        }
        let own = names(spec.interface_name.as_deref(), spec.interface_ref.as_deref(), Some(vlan));
        let shared = names(name, parent, Some(vlan)).into_iter().find(|name| own.contains(name))?;
        Some((other, format!("an interface {shared:?}")))
    })
}

/// The interfaces of an attachment on the host: over the fabric the segment comes in by its VLAN.
fn names(name: Option<&str>, parent: Option<&str>, vlan: Option<u64>) -> Vec<String> {
    let by_vlan = vlan.map(|vlan| format!("vlan.{vlan}"));
    let own = name.map(|name| index::interface_key(name, parent.is_none()));
    match parent {
        None => own.into_iter().chain(by_vlan).collect(),
        Some(_) => own.or(by_vlan).into_iter().collect(),
    }
}

/// With SR-IOV alone workloads bring their own interface.
fn makes_no_interface(name: Option<&str>, parent: Option<&str>) -> bool {
    name.is_none() && parent.is_none()
}

fn meets(spec: &Layer2AttachmentSpec, other: &Value) -> bool {
    nodes_meet(spec.node_selector.as_ref(), raw::selector(other, "nodeSelector").as_ref())
}
