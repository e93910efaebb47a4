//! What a `TrafficMirror` must keep.

use std::sync::Arc;

use netloom_api::{
    GroupKind,
    fabric::{TrafficMirror, traffic_mirror::SourceKind},
};
use serde_json::Value;

use super::{
    generated, index, kind, raw,
    related::{self, Reference},
    traffic,
};
use crate::{Admitted, Findings, Index, Review, Write};

impl Admitted for TrafficMirror {
    const INDEXES: &'static [Index] = index::OF_TRAFFIC_MIRROR;

    fn complete(_review: &Review<'_>, object: &mut Value) {
        traffic::lower_protocol(object);
    }

    fn admit(write: &Write<'_, Self>, findings: &mut Findings) {
        let Some(new) = related::to_judge(write) else { return };
        let (spec, old) = (&new.spec, write.old.as_ref().map(|old| &old.spec));
        if let Some(traffic) = &spec.traffic_match {
            traffic::check(findings, "spec.trafficMatch", traffic);
        }
        let same_kind = old.filter(|old| old.source.kind == spec.source.kind);
        let source = Reference {
            kind: kind_of(spec.source.kind),
            path: "spec.source.name".into(),
            name: &spec.source.name,
            before: same_kind.map(|old| &*old.source.name),
        };
        if let Some(source) = source.resolve(write.review, findings) {
            warn_empty(findings, &source);
            check_scope(write.review, findings, &source);
        }
        let collector = Reference {
            kind: kind::COLLECTOR,
            path: "spec.collector".into(),
            name: &spec.collector,
            before: old.map(|old| &*old.collector),
        };
        collector.resolve(write.review, findings);
    }
}

fn kind_of(source: SourceKind) -> GroupKind<'static> {
    match source {
        SourceKind::Layer2Attachment => kind::LAYER2_ATTACHMENT,
        SourceKind::Inbound => kind::INBOUND,
        SourceKind::Outbound => kind::OUTBOUND,
    }
}

/// Traffic of an Inbound or Outbound is seen in its VRFs, and that of a segment in the fabric.
fn warn_empty(findings: &mut Findings, source: &Value) {
    if raw::kind(source) == kind::LAYER2_ATTACHMENT.kind {
        if raw::at(source, &["spec", "interfaceRef"]).is_some() {
            findings.warn(format!(
                "{} is on an existing interface, outside the fabric; nothing is copied there",
                raw::shown(source)
            ));
        }
    } else if raw::at(source, &["spec", "destinations"]).is_none() {
        findings.warn(format!("{} has no destinations, so no VRF whose traffic could be copied", raw::shown(source)));
    }
}

/// A manually written selector on what was generated from the source must go first.
fn check_scope(review: &Review<'_>, findings: &mut Findings, source: &Value) {
    for selector in manual_object(review, source) {
        let detail = format!("its traffic is copied manually in {}; remove that first", raw::shown(&selector));
        findings.forbidden("spec.source.name", detail);
    }
}

/// Manually written selectors whose source was generated from `intent`.
fn manual_object(review: &Review<'_>, intent: &Value) -> Vec<Arc<Value>> {
    let owner = index::source_key(raw::kind(intent), raw::name(intent));
    let mut found = Vec::new();
    for kind in [kind::LAYER2_CONFIGURATION, kind::VRF_CONFIGURATION] {
        for object in review.view.lookup(kind, index::OWNER, &owner) {
            let key = index::source_key(kind.kind, raw::name(&object));
            found.extend(review.view.lookup(kind::MIRROR_SELECTOR, index::SOURCE, &key));
        }
    }
    found.retain(|selector| !generated::is_generated(selector));
    found
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::fabric::table::{World, labelled, merged, object};

    fn mirror(more: Value) -> Value {
        object(
            "TrafficMirror",
            "m",
            merged(
                json!({"source": {"kind": "Layer2Attachment", "name": "vlan100"}, "collector": "c", "direction": "ingress"}),
                more,
            ),
        )
    }

    fn segment() -> Value {
        object("Layer2Attachment", "vlan100", json!({"networkRef": "n", "interfaceName": "x"}))
    }

    fn collector() -> Value {
        object("Collector", "c", json!({"address": "192.0.2.9", "protocol": "l3gre", "mirrorVRF": {"name": "v"}}))
    }

    #[test]
    fn source_and_collector_exist() {
        World::new([segment(), collector()]).create(mirror(json!({}))).taken();
        World::new([collector()])
            .create(mirror(json!({})))
            .refused(&[r#"spec.source.name: Not found: "vlan100": there is no Layer2Attachment of this name"#]);
        World::new([segment()])
            .create(mirror(json!({})))
            .refused(&[r#"spec.collector: Not found: "c": there is no Collector of this name"#]);
        World::new([segment(), collector(), mirror(json!({}))])
            .update(mirror(json!({"source": {"kind": "Inbound", "name": "vlan100"}})))
            .refused(&[r#"spec.source.name: Not found: "vlan100": there is no Inbound of this name"#]);
    }

    #[test]
    fn a_source_without_traffic_is_worth_a_word() {
        let inbound = |spec: Value| object("Inbound", "in", spec);
        let wanted = || mirror(json!({"source": {"kind": "Inbound", "name": "in"}}));
        World::new([inbound(json!({"networkRef": "n", "count": 1, "destinations": {}})), collector()])
            .create(wanted())
            .taken();
        World::new([inbound(json!({"networkRef": "n", "count": 1})), collector()])
            .create(wanted())
            .warned(&[r#"Inbound "in" has no destinations, so no VRF whose traffic could be copied"#]);
        let on_bond = object("Layer2Attachment", "vlan100", json!({"networkRef": "n", "interfaceRef": "bond0"}));
        World::new([on_bond, collector()]).create(mirror(json!({}))).warned(&[
            r#"Layer2Attachment "vlan100" is on an existing interface, outside the fabric; nothing is copied there"#,
        ]);
    }

    #[test]
    fn packets_can_look_like_that() {
        let world = World::new([segment(), collector()]);
        let with = |traffic: Value| world.create(mirror(json!({"trafficMatch": traffic})));
        with(json!({"srcPrefix": "203.0.113.0/24", "protocol": "tcp", "dstPort": 443})).taken();
        with(json!({"srcPrefix": "203.0.113.9/24"})).refused(&[
            r#"spec.trafficMatch.srcPrefix: Invalid value: "203.0.113.9/24": has address bits beyond its prefix length; the network is 203.0.113.0/24"#,
        ]);
        with(json!({"srcPrefix": "203.0.113.0/24", "dstPrefix": "2001:db8::/32"})).refused(&[
            r#"spec.trafficMatch.dstPrefix: Invalid value: "2001:db8::/32": must be of the family of srcPrefix"#,
        ]);
        with(json!({"protocol": "ospf"})).refused(&[
            r#"spec.trafficMatch.protocol: Unsupported value: "ospf": supported values: "tcp", "udp", "sctp", "icmp", "icmpv6""#,
        ]);
        with(json!({"protocol": "icmp", "dstPort": 7}))
            .refused(&["spec.trafficMatch.dstPort: Forbidden: icmp has no ports"]);
        with(json!({"protocol": "icmpv6", "dstPrefix": "192.0.2.0/24"})).refused(&[
            r#"spec.trafficMatch.protocol: Invalid value: "icmpv6": is a protocol of IPv6, and the prefixes are not"#,
        ]);
        let answer = with(json!({"protocol": "TCP"}));
        answer.taken();
        assert_eq!(
            answer.verdict.patch,
            Some(json!([{"op": "replace", "path": "/spec/trafficMatch/protocol", "value": "tcp"}]))
        );
    }

    #[test]
    fn traffic_is_copied_by_intents_or_manually() {
        let generated = labelled(
            object("Layer2NetworkConfiguration", "gen", json!({"id": 100, "mtu": 1500, "vni": 100})),
            json!({"network.t-caas.telekom.com/owner-kind": "Layer2Attachment", "network.t-caas.telekom.com/owner-name": "vlan100"}),
        );
        let selector = |source: &str| {
            object(
                "MirrorSelector",
                "hand",
                json!({
                    "mirrorTarget": {"kind": "MirrorTarget", "name": "t"},
                    "mirrorSource": {"kind": "Layer2NetworkConfiguration", "name": source},
                    "direction": "ingress",
                }),
            )
        };
        World::new([segment(), collector(), generated.clone(), selector("other")]).create(mirror(json!({}))).taken();
        World::new([segment(), collector(), generated, selector("gen")]).create(mirror(json!({}))).refused(&[
            r#"spec.source.name: Forbidden: its traffic is copied manually in MirrorSelector "hand"; remove that first"#,
        ]);
    }
}
