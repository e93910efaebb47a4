//! What a `BGPPeering` must keep.

use netloom_api::fabric::{BGPPeering, bgp_peering::BgpPeeringSpec};

use super::{generated, index, items, kind, raw, related, selectors, value};
use crate::{Admitted, Findings, Index, Review, Write};

impl Admitted for BGPPeering {
    const INDEXES: &'static [Index] = index::OF_BGP_PEERING;

    fn admit(write: &Write<'_, Self>, findings: &mut Findings) {
        generated::protect(write.review, findings);
        let Some(new) = related::to_judge(write) else { return };
        let spec = &new.spec;
        selectors::check(findings, "spec.nodeSelector", spec.node_selector.as_ref());
        items::check(findings, "spec.import", &spec.import);
        items::check(findings, "spec.export", &spec.export);
        value::timers(findings, "spec", spec.hold_time.as_ref(), spec.keepalive_time.as_ref());
        value::autonomous_system(findings, "spec.remoteASN", spec.remote_asn);
        check_peer(write.review, findings, spec);
    }
}

fn check_peer(review: &Review<'_>, findings: &mut Findings, spec: &BgpPeeringSpec) {
    match (&spec.peering_vlan, &spec.loopback_peer) {
        (None, None) => findings.required("spec.peeringVlan", "one of peeringVlan and loopbackPeer must be given"),
        (Some(_), Some(_)) => {
            findings.forbidden("spec.loopbackPeer", "peeringVlan and loopbackPeer exclude each other");
        }
        (None, Some(loopback)) => {
            for (index, ip) in loopback.ips.iter().enumerate() {
                value::station(findings, &format!("spec.loopbackPeer.ips[{index}]"), ip);
            }
        }
        (Some(vlan), None) => {
            warn_segment(review, findings, &vlan.name);
            check_scope(review, findings, &vlan.name);
        }
    }
}

/// The objects of a manually written configuration may come in any order.
fn warn_segment(review: &Review<'_>, findings: &mut Findings, name: &str) {
    match review.view.get(kind::LAYER2_CONFIGURATION, None, name) {
        None => findings.warn(format!("spec.peeringVlan.name: there is no Layer2NetworkConfiguration {name:?} yet")),
        Some(segment) if raw::texts(&segment, &["spec", "anycastGateways"]).next().is_none() => {
            findings.warn(format!(
                "spec.peeringVlan.name: {} has no gateway that sessions could end at",
                raw::shown(&segment)
            ));
        }
        Some(_) => {}
    }
}

/// Sessions in the segment of an attachment are the attachment's.
fn check_scope(review: &Review<'_>, findings: &mut Findings, name: &str) {
    let Some(segment) = review.view.get(kind::LAYER2_CONFIGURATION, None, name) else { return };
    let manual_object = review.object.is_some_and(|object| !generated::is_generated(object));
    if let Some((kind, owner)) = generated::owner(&segment).filter(|_| manual_object) {
        findings.forbidden(
            "spec.peeringVlan.name",
            format!("the segment belongs to {kind} {owner:?}; configure BGP there"),
        );
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::fabric::table::{World, labelled, merged, object};

    fn peering(more: Value) -> Value {
        object(
            "BGPPeering",
            "p",
            merged(json!({"remoteASN": 64512, "enableBFD": false, "import": [], "export": []}), more),
        )
    }

    fn segment(gateways: &[&str]) -> Value {
        object("Layer2NetworkConfiguration", "l2", json!({"id": 1, "mtu": 1500, "vni": 1, "anycastGateways": gateways}))
    }

    #[test]
    fn there_is_one_kind_of_peer() {
        let world = World::new([segment(&["192.0.2.1/24"])]);
        world.create(peering(json!({"peeringVlan": {"name": "l2"}}))).taken();
        world.create(peering(json!({"loopbackPeer": {"ips": ["192.0.2.1", "2001:db8::1"]}}))).taken();
        world
            .create(peering(json!({})))
            .refused(&["spec.peeringVlan: Required value: one of peeringVlan and loopbackPeer must be given"]);
        world
            .create(peering(json!({"peeringVlan": {"name": "l2"}, "loopbackPeer": {"ips": ["192.0.2.1"]}})))
            .refused(&["spec.loopbackPeer: Forbidden: peeringVlan and loopbackPeer exclude each other"]);
        world.create(peering(json!({"loopbackPeer": {"ips": ["0.0.0.0"]}}))).refused(&[
            r#"spec.loopbackPeer.ips[0]: Invalid value: "0.0.0.0": must be the address of one station on a network"#,
        ]);
    }

    #[test]
    fn a_segment_that_is_not_there_is_worth_a_word() {
        let wanted = || peering(json!({"peeringVlan": {"name": "l2"}}));
        World::new([])
            .create(wanted())
            .warned(&["spec.peeringVlan.name: there is no Layer2NetworkConfiguration \"l2\" yet"]);
        World::new([segment(&[])]).create(wanted()).warned(&[
            r#"spec.peeringVlan.name: Layer2NetworkConfiguration "l2" has no gateway that sessions could end at"#,
        ]);
    }

    #[test]
    fn the_segment_of_an_attachment_is_left_to_it() {
        let owned = labelled(
            segment(&["192.0.2.1/24"]),
            json!({"network.t-caas.telekom.com/owner-kind": "Layer2Attachment", "network.t-caas.telekom.com/owner-name": "a"}),
        );
        World::new([owned]).create(peering(json!({"peeringVlan": {"name": "l2"}}))).refused(&[
            r#"spec.peeringVlan.name: Forbidden: the segment belongs to Layer2Attachment "a"; configure BGP there"#,
        ]);
    }

    #[test]
    fn parameters_are_possible() {
        let world = World::new([segment(&["192.0.2.1/24"])]);
        let with = |more: Value| world.create(peering(merged(json!({"peeringVlan": {"name": "l2"}}), more)));
        with(json!({"holdTime": "90s", "keepaliveTime": "30s"})).taken();
        with(json!({"holdTime": "9s", "keepaliveTime": "9s"}))
            .refused(&[r#"spec.keepaliveTime: Invalid value: "9s": must be shorter than the hold time of 9s"#]);
        with(json!({"remoteASN": 23456})).refused(&[
            "spec.remoteASN: Invalid value: 23456: is reserved and cannot be the autonomous system of a router",
        ]);
        with(json!({"export": [{"cidr": "10.0.0.0/8", "action": "permit", "le": 33}]}))
            .refused(&["spec.export[0].le: Invalid value: 33: must be from 8 to 32 for 10.0.0.0/8"]);
    }
}
