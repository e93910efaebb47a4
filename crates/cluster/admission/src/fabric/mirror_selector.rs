//! What a `MirrorSelector` must keep.

use netloom_api::{
    GroupKind,
    fabric::{MirrorSelector, mirror_selector::AclSourceKind},
};
use serde_json::Value;

use super::{generated, index, kind, raw, related, traffic};
use crate::{Admitted, Findings, Index, Review, Write};

impl Admitted for MirrorSelector {
    const INDEXES: &'static [Index] = index::OF_MIRROR_SELECTOR;

    fn complete(_review: &Review<'_>, object: &mut Value) {
        traffic::lower_protocol(object);
    }

    fn admit(write: &Write<'_, Self>, findings: &mut Findings) {
        let review = write.review;
        generated::protect(review, findings);
        let Some(new) = related::to_judge(write) else { return };
        let spec = &new.spec;
        if let Some(traffic) = &spec.traffic_match {
            traffic::check(findings, "spec.trafficMatch", traffic);
        }
        warn_missing(review, findings, "spec.mirrorTarget.name", kind::MIRROR_TARGET, &spec.mirror_target.name);
        let source = match spec.mirror_source.kind {
            AclSourceKind::Layer2NetworkConfiguration => kind::LAYER2_CONFIGURATION,
            AclSourceKind::VRFRouteConfiguration => kind::VRF_CONFIGURATION,
        };
        warn_missing(review, findings, "spec.mirrorSource.name", source, &spec.mirror_source.name);
        if review.object.is_some_and(|object| !generated::is_generated(object)) {
            check_scope(review, findings, source, &spec.mirror_source.name);
        }
    }
}

/// The objects of a manually written configuration may come in any order.
fn warn_missing(review: &Review<'_>, findings: &mut Findings, path: &str, kind: GroupKind<'_>, name: &str) {
    if review.view.get(kind, None, name).is_none() {
        findings.warn(format!("{path}: there is no {} {name:?} yet", kind.kind));
    }
}

/// Traffic of a generated source is mirrored by intents, when any intent mirrors it.
fn check_scope(review: &Review<'_>, findings: &mut Findings, kind: GroupKind<'_>, name: &str) {
    let Some(source) = review.view.get(kind, None, name) else { return };
    let Some((owner_kind, owner_name)) = generated::owner(&source) else { return };
    let key = index::source_key(owner_kind, owner_name);
    if let Some(mirror) = review.view.lookup(kind::TRAFFIC_MIRROR, index::SOURCE, &key).first() {
        let detail = format!("the traffic of {owner_kind} {owner_name:?} is copied by {}", raw::shown(mirror));
        findings.forbidden("spec.mirrorSource.name", detail);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::fabric::table::{World, labelled, merged, object};

    fn selector(more: Value) -> Value {
        object(
            "MirrorSelector",
            "s",
            merged(
                json!({
                    "mirrorTarget": {"kind": "MirrorTarget", "name": "t"},
                    "mirrorSource": {"apiGroup": "network.t-caas.telekom.com", "kind": "Layer2NetworkConfiguration", "name": "l2"},
                    "direction": "ingress",
                }),
                more,
            ),
        )
    }

    fn target() -> Value {
        object(
            "MirrorTarget",
            "t",
            json!({"type": "l3gre", "destinationIP": "192.0.2.1", "destinationVrf": "m", "sourceLoopback": "lo.m"}),
        )
    }

    fn source() -> Value {
        object("Layer2NetworkConfiguration", "l2", json!({"id": 1, "mtu": 1500, "vni": 1}))
    }

    #[test]
    fn what_is_not_there_yet_is_worth_a_word() {
        World::new([target(), source()]).create(selector(json!({}))).taken();
        World::new([]).create(selector(json!({}))).warned(&[
            r#"spec.mirrorTarget.name: there is no MirrorTarget "t" yet"#,
            r#"spec.mirrorSource.name: there is no Layer2NetworkConfiguration "l2" yet"#,
        ]);
    }

    #[test]
    fn packets_can_look_like_that() {
        let world = World::new([target(), source()]);
        world.create(selector(json!({"trafficMatch": {"protocol": "UDP", "dstPort": 53}}))).taken();
        world.create(selector(json!({"trafficMatch": {"protocol": "gre"}}))).refused(&[
            r#"spec.trafficMatch.protocol: Unsupported value: "gre": supported values: "tcp", "udp", "sctp", "icmp", "icmpv6""#,
        ]);
    }

    #[test]
    fn traffic_is_copied_by_intents_or_manually() {
        let owned = || {
            labelled(
                source(),
                json!({"network.t-caas.telekom.com/owner-kind": "Layer2Attachment", "network.t-caas.telekom.com/owner-name": "a"}),
            )
        };
        let mirror = |of: &str| {
            object(
                "TrafficMirror",
                "m",
                json!({"source": {"kind": "Layer2Attachment", "name": of}, "collector": "c", "direction": "ingress"}),
            )
        };
        World::new([target(), owned(), mirror("b")]).create(selector(json!({}))).taken();
        World::new([target(), owned(), mirror("a")]).create(selector(json!({}))).refused(&[
            r#"spec.mirrorSource.name: Forbidden: the traffic of Layer2Attachment "a" is copied by TrafficMirror "m""#,
        ]);
    }
}
