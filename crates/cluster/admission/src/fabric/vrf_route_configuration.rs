//! What a `VRFRouteConfiguration` must keep.
//!
//! Rules between objects concern manually written ones: the generated ones follow from intents, whose
//! own rules have been kept.

use netloom_api::fabric::{
    VRFRouteConfiguration, selector::nodes_meet, vrf_route_configuration::VrfRouteConfigurationSpec,
};
use serde_json::Value;

use super::{
    generated, index, items, kind, names, raw,
    related::{self, others_under},
    scope, selectors, value,
    vni::{self, Meaning},
};
use crate::{Admitted, Findings, Index, Operation, Review, Write};

impl Admitted for VRFRouteConfiguration {
    const INDEXES: &'static [Index] = index::OF_VRF_CONFIGURATION;

    fn admit(write: &Write<'_, Self>, findings: &mut Findings) {
        let review = write.review;
        generated::protect(review, findings);
        if review.operation == Operation::Delete {
            let source = index::source_key(review.kind.kind, review.name);
            related::warn_in_use(review, findings, &review.view.lookup(kind::MIRROR_SELECTOR, index::SOURCE, &source));
        }
        let Some(new) = related::to_judge(write) else { return };
        check_alone(findings, &new.spec);
        if review.object.is_some_and(|object| !generated::is_generated(object)) {
            check_others(review, findings, &new.spec);
        }
    }
}

fn check_alone(findings: &mut Findings, spec: &VrfRouteConfigurationSpec) {
    names::vrf(findings, "spec.vrf", &spec.vrf);
    selectors::check(findings, "spec.nodeSelector", spec.node_selector.as_ref());
    items::check(findings, "spec.import", &spec.import);
    items::check(findings, "spec.export", &spec.export);
    value::prefixes(findings, "spec.aggregate", &spec.aggregate);
    value::prefixes(findings, "spec.sbrPrefixes", &spec.sbr_prefixes);
    if spec.community.is_some() && !spec.communities.is_empty() {
        findings.forbidden("spec.community", "community and communities exclude each other");
    } else if let Some(community) = &spec.community {
        value::community(findings, "spec.community", community);
        findings.warn("spec.community is deprecated: use spec.communities");
    }
    value::communities(findings, "spec.communities", &spec.communities);
    if let Some(target) = &spec.route_target {
        value::route_target(findings, "spec.routeTarget", target);
    }
    if spec.vni.is_some() != spec.route_target.is_some() {
        findings.warn("spec.vni and spec.routeTarget count only together: both come from the operator configuration");
    }
    for (index, loopback) in spec.loopbacks.iter().enumerate() {
        names::loopback(findings, &format!("spec.loopbacks[{index}].name"), &loopback.name);
        value::prefix(findings, &format!("spec.loopbacks[{index}].subnet"), &loopback.subnet);
    }
}

fn check_others(review: &Review<'_>, findings: &mut Findings, spec: &VrfRouteConfigurationSpec) {
    if let Some(vni) = spec.vni {
        vni::check(review, findings, "spec.vni", vni, Meaning::Vrf(&spec.vrf));
    }
    check_identity(review, findings, spec);
    let nodes = spec.node_selector.as_ref();
    if !scope::keeps(review, &["vrf", "nodeSelector"])
        && let Some(intent) = scope::intent_in_vrf(review.view, &spec.vrf, nodes)
    {
        let detail = format!("the VRF belongs to {} on some of the same nodes", raw::shown(&intent));
        findings.forbidden("spec.vrf", detail);
    }
}

/// One VRF has one VNI and one route target on a node, whoever speaks of it.
fn check_identity(review: &Review<'_>, findings: &mut Findings, spec: &VrfRouteConfigurationSpec) {
    let (Some(vni), Some(target)) = (spec.vni, &spec.route_target) else { return };
    let differs = |object: &Value| {
        let other = (raw::number(object, &["spec", "vni"]), raw::text(object, &["spec", "routeTarget"]));
        matches!(other, (Some(v), Some(t)) if v != u64::from(vni) || *t != **target)
    };
    let on_same_nodes =
        |object: &Value| nodes_meet(spec.node_selector.as_ref(), raw::selector(object, "nodeSelector").as_ref());
    let intents = review.view.lookup(kind::VRF, index::VRF_NAME, &spec.vrf);
    let mut manual_object = others_under(review, kind::VRF_CONFIGURATION, index::VRF_NAME, &spec.vrf);
    manual_object.retain(|object| !generated::is_generated(object));
    if let Some(other) = intents.iter().chain(&manual_object).find(|object| differs(object) && on_same_nodes(object)) {
        let detail = format!("{} gives this VRF another VNI or route target", raw::shown(other));
        findings.duplicate("spec.vrf", &*spec.vrf, detail);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::fabric::table::{World, labelled, merged, object};

    fn routes(more: Value) -> Value {
        object(
            "VRFRouteConfiguration",
            "r",
            merged(json!({"vrf": "m2m_enc", "seq": 10, "import": [], "export": []}), more),
        )
    }

    fn other(more: Value) -> Value {
        let mut object = routes(more);
        object["metadata"]["name"] = json!("other");
        object
    }

    #[test]
    fn lists_of_networks_are_checked() {
        let world = World::new([]);
        let net = |cidr: &str| json!({"cidr": cidr, "action": "permit"});
        world.create(routes(json!({"import": [net("10.0.0.0/8")], "export": [net("10.1.0.0/16")], "aggregate": ["10.1.0.0/16"], "sbrPrefixes": ["10.1.0.0/16"]}))).taken();
        for (field, bad, path) in [
            ("import", json!([net("10.0.0.1/8")]), "spec.import[0].cidr"),
            ("export", json!([net("10.0.0.1/8")]), "spec.export[0].cidr"),
            ("aggregate", json!(["10.0.0.1/8"]), "spec.aggregate[0]"),
            ("sbrPrefixes", json!(["10.0.0.1/8"]), "spec.sbrPrefixes[0]"),
        ] {
            let wanted = format!(
                r#"{path}: Invalid value: "10.0.0.1/8": has address bits beyond its prefix length; the network is 10.0.0.0/8"#
            );
            world.create(routes(json!({field: bad}))).refused(&[&wanted]);
        }
    }

    #[test]
    fn one_form_of_communities_is_used() {
        let world = World::new([]);
        world.create(routes(json!({"communities": ["64500:1"]}))).taken();
        world
            .create(routes(json!({"community": "64500:1"})))
            .warned(&["spec.community is deprecated: use spec.communities"]);
        world
            .create(routes(json!({"community": "64500:1", "communities": ["64500:1"]})))
            .refused(&["spec.community: Forbidden: community and communities exclude each other"]);
        world.create(routes(json!({"communities": ["64500"]}))).refused(&[
            r#"spec.communities[0]: Invalid value: "64500": must be two numbers from 0 to 65535 joined by a colon, or a well-known name such as no-export"#,
        ]);
    }

    #[test]
    fn the_identity_is_whole_and_the_same_everywhere() {
        let identity = |vni: u32| json!({"vni": vni, "routeTarget": "64500:10100"});
        World::new([other(identity(10100))]).create(routes(identity(10100))).taken();
        World::new([])
            .create(routes(json!({"vni": 10100})))
            .warned(&["spec.vni and spec.routeTarget count only together: both come from the operator configuration"]);
        World::new([other(identity(10100))]).create(routes(identity(7))).refused(&[
            r#"spec.vrf: Duplicate value: "m2m_enc": VRFRouteConfiguration "other" gives this VRF another VNI or route target"#,
        ]);
        let vrf = object("VRF", "v", json!({"vrf": "m2m_enc", "vni": 10100, "routeTarget": "64500:10100"}));
        World::new([vrf.clone()]).create(routes(identity(10100))).taken();
        World::new([vrf])
            .create(routes(identity(7)))
            .refused(&[r#"spec.vrf: Duplicate value: "m2m_enc": VRF "v" gives this VRF another VNI or route target"#]);
        let mut elsewhere = other(json!({"vrf": "x", "vni": 7, "routeTarget": "1:7"}));
        elsewhere["spec"]["nodeSelector"] = json!({"matchLabels": {"a": "b"}});
        World::new([elsewhere])
            .create(routes(identity(7)))
            .refused(&[r#"spec.vni: Duplicate value: 7: VRFRouteConfiguration "other" uses it for VRF "x""#]);
        World::new([]).create(routes(json!({"vni": 7, "routeTarget": "1:99999999999"}))).refused(&[
            r#"spec.routeTarget: Invalid value: "1:99999999999": must be AS:NUMBER or ADDRESS:NUMBER; after an AS beyond 65535 and after an address NUMBER ends at 65535"#,
        ]);
    }

    #[test]
    fn names_are_free() {
        let world = World::new([]);
        world.create(routes(json!({"vrf": "cluster"}))).refused(&[
            r#"spec.vrf: Invalid value: "cluster": is the name of an interface that every node has already"#,
        ]);
        world.create(routes(json!({"loopbacks": [{"name": "lo.mir", "subnet": "192.0.2.0/24"}]}))).taken();
        world.create(routes(json!({"loopbacks": [{"name": "vx.1", "subnet": "192.0.2.0/24"}]}))).refused(&[
            r#"spec.loopbacks[0].name: Invalid value: "vx.1": names that start with "vx." belong to interfaces that are generated"#,
        ]);
        world.create(routes(json!({"loopbacks": [{"name": "lo.mir", "subnet": "192.0.2.1/24"}]}))).refused(&[
            r#"spec.loopbacks[0].subnet: Invalid value: "192.0.2.1/24": has address bits beyond its prefix length; the network is 192.0.2.0/24"#,
        ]);
    }

    #[test]
    fn a_vrf_is_configured_by_intents_or_manually() {
        let vrf = || object("VRF", "v", json!({"vrf": "m2m_enc"}));
        let destination = || labelled(object("Destination", "d", json!({"vrfRef": "v"})), json!({"zone": "secure"}));
        let user = |zone: &str| {
            object(
                "Inbound",
                "in",
                json!({"networkRef": "n", "count": 1, "destinations": {"matchLabels": {"zone": zone}}, "nodeSelector": {"matchLabels": {"pool": "a"}}}),
            )
        };
        let on = |pool: &str| routes(json!({"nodeSelector": {"matchLabels": {"pool": pool}}}));
        World::new([vrf(), destination(), user("public")]).create(on("a")).taken();
        World::new([vrf(), destination(), user("secure")]).create(on("b")).taken();
        World::new([vrf(), destination(), user("secure")])
            .create(on("a"))
            .refused(&[r#"spec.vrf: Forbidden: the VRF belongs to Inbound "in" on some of the same nodes"#]);
    }
}
