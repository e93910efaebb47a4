//! What a `Layer2Attachment` must keep.

mod neighbours;
#[cfg(test)]
mod tests;

use std::{collections::BTreeSet, sync::Arc};

use ipnet::IpNet;
use netloom_api::fabric::{
    Layer2Attachment,
    layer2_attachment::{AttachmentBgp, Layer2AttachmentSpec, NodeIps},
};
use serde_json::{Value, json};

use super::{
    consumer::Consumer,
    index, kind, names, pool, raw,
    related::{self, Reference},
    scope, space, value,
};
use crate::{Admitted, Findings, Index, Operation, Review, Write};

impl Admitted for Layer2Attachment {
    const INDEXES: &'static [Index] = index::OF_LAYER2_ATTACHMENT;

    /// A bare `sriov: true` becomes the struct that the schema knows.
    fn complete(_review: &Review<'_>, object: &mut Value) {
        if let Some(sriov) = object.pointer_mut("/spec/sriov")
            && let Some(enabled) = sriov.as_bool()
        {
            *sriov = json!({"enabled": enabled});
        }
    }

    fn admit(write: &Write<'_, Self>, findings: &mut Findings) {
        let review = write.review;
        if review.operation == Operation::Delete {
            let source = index::source_key(review.kind.kind, review.name);
            related::warn_in_use(review, findings, &review.view.lookup(kind::TRAFFIC_MIRROR, index::SOURCE, &source));
        }
        let Some(new) = related::to_judge(write) else { return };
        let old = write.old.as_ref().map(|old| &old.spec);
        check_alone(findings, &new.spec, old);
        let consumer = Consumer {
            destinations: new.spec.destinations.as_ref(),
            nodes: new.spec.node_selector.as_ref(),
            communities: &new.spec.communities,
            routes: &new.spec.routes,
            must_match: false,
        };
        let picked = consumer.check(review, findings);
        check_picked(findings, &new.spec, &picked);
        let reference = Reference {
            kind: kind::NETWORK,
            path: "spec.networkRef".into(),
            name: &new.spec.network_ref,
            before: old.map(|old| &*old.network_ref),
        };
        if let Some(network) = reference.resolve(review, findings) {
            check_network(review, findings, &new.spec, &network);
        }
    }
}

/// The rules that need no other object.
fn check_alone(findings: &mut Findings, spec: &Layer2AttachmentSpec, old: Option<&Layer2AttachmentSpec>) {
    if let Some(old) = old {
        check_fixed(findings, spec, old);
    }
    check_interface(findings, spec);
    if spec.disable_anycast && !spec.disable_neighbor_suppression {
        findings.invalid("spec.disableNeighborSuppression", false, "must be true when disableAnycast is set");
    }
    if let Some(mac) = &spec.anycast_mac {
        value::station_mac(findings, "spec.anycastMac", mac);
        if spec.disable_anycast {
            findings.warn("spec.anycastMac has no effect when disableAnycast is set");
        }
    }
    if spec.gives_node_ips() && spec.uses_sriov() && spec.interface_name.is_none() {
        findings.invalid("spec.nodeIPs.enabled", true, "must be false with SR-IOV unless interfaceName is set");
    }
    if let Some(bgp) = &spec.bgp {
        check_bgp(findings, spec, bgp);
    }
}

fn check_fixed(findings: &mut Findings, spec: &Layer2AttachmentSpec, old: &Layer2AttachmentSpec) {
    const FIXED: &str = "field is immutable";
    if spec.interface_name != old.interface_name {
        findings.invalid("spec.interfaceName", spec.interface_name.as_deref(), FIXED);
    }
    if spec.uses_sriov() != old.uses_sriov() {
        findings.invalid("spec.sriov.enabled", spec.uses_sriov(), FIXED);
    }
}

fn check_interface(findings: &mut Findings, spec: &Layer2AttachmentSpec) {
    const PATH: &str = "spec.interfaceName";
    if let Some(parent) = &spec.interface_ref {
        names::not_taken(findings, "spec.interfaceRef", parent);
    }
    match &spec.interface_name {
        None if !spec.uses_sriov() && spec.over_fabric() => {
            findings.required(PATH, "must be given unless SR-IOV is enabled or interfaceRef is set");
        }
        Some(name) if spec.over_fabric() && name.len() > 12 => {
            findings.invalid(PATH, &**name, "must be at most 12 characters long, because l2. is put in front of it");
        }
        Some(name) if !spec.over_fabric() => {
            names::not_taken(findings, PATH, name);
            if spec.interface_ref.as_deref() == Some(name) {
                findings.invalid(PATH, &**name, "must differ from interfaceRef");
            }
        }
        None | Some(_) => {}
    }
}

fn check_bgp(findings: &mut Findings, spec: &Layer2AttachmentSpec, bgp: &AttachmentBgp) {
    const PATH: &str = "spec.bgp.enabled";
    value::timers(findings, "spec.bgp", bgp.hold_time.as_ref(), bgp.keepalive_time.as_ref());
    value::workload_as(findings, "spec.bgp.workloadAS", &bgp.workload_as);
    if !bgp.enabled {
        return;
    }
    if spec.uses_sriov() {
        findings.invalid(PATH, true, "must be false with SR-IOV");
    }
    if !spec.over_fabric() {
        findings.invalid(
            PATH,
            true,
            "must be false when interfaceRef is set: sessions end at the gateway of the fabric",
        );
    }
    if spec.disable_anycast {
        findings.invalid(PATH, true, "must be false when disableAnycast is set: sessions end at the anycast gateway");
    }
}

/// What is picked must fit the way the segment is brought to the nodes.
fn check_picked(findings: &mut Findings, spec: &Layer2AttachmentSpec, picked: &[Arc<Value>]) {
    let vrfs: BTreeSet<&str> = picked.iter().filter_map(|object| raw::text(object, &["spec", "vrfRef"])).collect();
    if spec.uses_sriov() && spec.interface_name.is_some() && vrfs.len() > 1 {
        let detail = format!("only one VRF is possible with SR-IOV and interfaceName, and this picks {}", vrfs.len());
        findings.invalid("spec.destinations", json!(spec.destinations), detail);
    }
    let through_vrf = |object: &&Arc<Value>| raw::at(object, &["spec", "vrfRef"]).is_some();
    let odd = picked.iter().find(|object| through_vrf(object) != spec.over_fabric());
    if let Some(odd) = odd {
        findings.warn(if spec.over_fabric() {
            format!("{} has a next hop, which has no effect over the fabric", raw::shown(odd))
        } else {
            format!("{} leads through a VRF, which has no effect on an existing interface", raw::shown(odd))
        });
    }
}

/// The rules about the network that is attached.
fn check_network(review: &Review<'_>, findings: &mut Findings, spec: &Layer2AttachmentSpec, network: &Value) {
    const PATH: &str = "spec.networkRef";
    let name = raw::name(network);
    let vni = raw::number(network, &["spec", "vni"]);
    let vlan = raw::number(network, &["spec", "vlan"]);
    let nets = space::networks(network);
    if vlan.is_none() {
        findings.invalid(PATH, name, format!("Network {name:?} has no vlan"));
    }
    match (spec.over_fabric(), vni) {
        (false, Some(vni)) => {
            let detail = format!("Network {name:?} has VNI {vni}, which is not possible when interfaceRef is set");
            findings.invalid(PATH, name, detail);
        }
        (true, None) if spec.interface_name.is_some() => {
            findings.warn(format!("Network {name:?} has no vni: one must come out of the range of the cluster"));
        }
        (true, _) | (false, None) => {}
    }
    if raw::at(network, &["spec", "managed"]).is_some_and(|managed| *managed == json!(false)) {
        findings.warn(format!("Network {name:?} is not managed: its segment is not set up"));
    }
    if spec.over_fabric() && spec.destinations.is_some() && nets.is_empty() {
        findings.warn(format!("Network {name:?} has no addresses, so nothing of it can be routed to destinations"));
    }
    if has_gateway(spec) {
        check_gateways(findings, name, &nets);
    }
    if nets.is_empty() && spec.gives_node_ips() {
        findings.invalid("spec.nodeIPs.enabled", true, format!("Network {name:?} has neither ipv4 nor ipv6"));
    }
    if nets.is_empty() && spec.listens_for_bgp() {
        findings.invalid("spec.bgp.enabled", true, format!("Network {name:?} has neither ipv4 nor ipv6"));
    }
    if let Some(ips) = &spec.node_ips {
        check_node_ips(findings, ips, &nets);
    }
    check_pods(review, findings, spec, name);
    if !scope::keeps(review, &["networkRef", "interfaceRef", "destinations", "disableAnycast", "nodeIPs"]) {
        let kept = spec.node_ips.as_ref().filter(|ips| ips.enabled).and_then(|ips| ips.reserved_for_pods);
        pool::check_segment(review, findings, network, has_gateway(spec), kept.unwrap_or(0));
    }
    if spec.over_fabric() && !scope::keeps(review, &["networkRef", "nodeSelector"]) {
        check_scope(review, findings, spec, vlan, vni);
    }
    neighbours::check(review, findings, spec, vlan);
}

/// Whether the nodes route the segment: only over the fabric, and unless that is turned off.
fn has_gateway(spec: &Layer2AttachmentSpec) -> bool {
    spec.over_fabric() && spec.destinations.is_some() && !spec.disable_anycast
}

/// A network of one address has no room for a gateway beside a station.
fn check_gateways(findings: &mut Findings, name: &str, nets: &[IpNet]) {
    if let Some(net) = nets.iter().find(|net| net.prefix_len() == net.max_prefix_len()) {
        findings.invalid("spec.networkRef", name, format!("{net} has no room for a gateway; set disableAnycast"));
    }
}

fn check_node_ips(findings: &mut Findings, ips: &NodeIps, nets: &[IpNet]) {
    if let Some(kept) = ips.reserved_for_pods.filter(|_| ips.enabled)
        && let Some(net) = nets.iter().find(|net| u128::from(kept) >= pool::usable(**net))
    {
        let detail = format!("leaves no address of {net} for nodes");
        findings.invalid("spec.nodeIPs.reservedForPods", kept, detail);
    }
    for (index, range) in ips.reserved_ranges.iter().enumerate() {
        let path = format!("spec.nodeIPs.reservedRanges[{index}]");
        let Some(range) = value::prefix(findings, &path, range) else { continue };
        if !nets.iter().any(|net| net.contains(&range)) {
            findings.invalid(path, range.to_string(), "is not in the network");
        }
    }
}

/// A pod network takes the whole of its network.
fn check_pods(review: &Review<'_>, findings: &mut Findings, spec: &Layer2AttachmentSpec, network: &str) {
    if !spec.gives_node_ips() && !has_gateway(spec) {
        return;
    }
    if let Some(pods) = review.view.lookup(kind::POD_NETWORK, index::NETWORK, network).first() {
        let detail = format!("all of its addresses belong to the pods of {}", raw::shown(pods));
        findings.invalid("spec.networkRef", network, detail);
    }
}

/// Manually written segments on the same nodes must go first.
fn check_scope(
    review: &Review<'_>,
    findings: &mut Findings,
    spec: &Layer2AttachmentSpec,
    vlan: Option<u64>,
    vni: Option<u64>,
) {
    if let Some(other) = scope::manual_on_segment(review.view, vlan, vni, spec.node_selector.as_ref()) {
        let detail = format!(
            "the segment is configured manually in {} on some of the same nodes; remove that first",
            raw::shown(&other)
        );
        findings.forbidden("spec.networkRef", detail);
    }
}
