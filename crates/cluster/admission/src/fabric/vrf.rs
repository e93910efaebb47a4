//! What a `VRF` must keep.

use std::sync::Arc;

use netloom_api::fabric::{VRF, vrf::VrfSpec};
use serde_json::Value;

use super::{
    generated, index, kind, names, raw,
    related::{self, others_under},
    settings, value,
    vni::{self, Meaning},
};
use crate::{Admitted, Findings, Index, Operation, Review, Write};

impl Admitted for VRF {
    const INDEXES: &'static [Index] = index::OF_VRF;

    fn admit(write: &Write<'_, Self>, findings: &mut Findings) {
        let review = write.review;
        if review.operation == Operation::Delete {
            related::warn_in_use(review, findings, &related::users_of_vrf(review.view, review.name));
        }
        let Some(new) = related::to_judge(write) else { return };
        let old = write.old.as_ref().map(|old| &old.spec);
        check_name(findings, &new.spec, old);
        if let Some(target) = &new.spec.route_target {
            value::route_target(findings, "spec.routeTarget", target);
        }
        check_loopbacks(review, findings, &new.spec);
        check_identity(review, findings, &new.spec);
        match new.spec.vni {
            Some(vni) => vni::check(review, findings, "spec.vni", vni, Meaning::Vrf(&new.spec.vrf)),
            // Without any configuration the condition of the object says so: it may be there a moment later.
            None if settings::written(review.view).is_some_and(|config| config.identity(&new.spec.vrf).is_none()) => {
                findings.warn(format!(
                    "spec.vni: neither this object nor vrfConfig.{} of the operator configuration says which VNI this VRF \
                     has; it has no effect until one of them does",
                    &*new.spec.vrf
                ));
            }
            None => {}
        }
        check_collectors(review, findings, &new.spec, old);
    }
}

fn check_name(findings: &mut Findings, spec: &VrfSpec, old: Option<&VrfSpec>) {
    match old {
        Some(old) if old.vrf != spec.vrf => findings.invalid("spec.vrf", &*spec.vrf, "field is immutable"),
        Some(_) => {}
        None => names::vrf(findings, "spec.vrf", &spec.vrf),
    }
}

fn check_loopbacks(review: &Review<'_>, findings: &mut Findings, spec: &VrfSpec) {
    for (index, loopback) in spec.loopbacks.iter().enumerate() {
        let path = format!("spec.loopbacks[{index}]");
        names::loopback(findings, &format!("{path}.name"), &loopback.name);
        match (&loopback.pool_ref, &loopback.subnet) {
            (None, None) => findings.required(format!("{path}.poolRef"), "one of poolRef and subnet must be given"),
            (Some(_), Some(_)) => findings.forbidden(format!("{path}.subnet"), "poolRef and subnet exclude each other"),
            (Some(_), None) => {}
            (None, Some(subnet)) => {
                value::prefix(findings, &format!("{path}.subnet"), subnet);
            }
        }
        if let Some(other) = others_under(review, kind::VRF, index::LOOPBACK, &loopback.name).first() {
            findings.warn(format!(
                "{path}.name: {} has a loopback {:?} too; a node can have only one of them",
                raw::shown(other),
                &*loopback.name
            ));
        }
    }
}

/// One backbone VRF has one VNI and one route target, whoever speaks of it.
fn check_identity(review: &Review<'_>, findings: &mut Findings, spec: &VrfSpec) {
    let manual_object = others_under(review, kind::VRF_CONFIGURATION, index::VRF_NAME, &spec.vrf);
    let twins = others_under(review, kind::VRF, index::VRF_NAME, &spec.vrf);
    let others = twins.iter().chain(manual_object.iter().filter(|object| !generated::is_generated(object)));
    if let Some(other) = others.clone().find(|other| differs(spec, other)) {
        let detail = format!("{} gives this VRF another VNI or route target", raw::shown(other));
        findings.duplicate("spec.vrf", &*spec.vrf, detail);
    } else if let Some(twin) = twins.first() {
        findings.warn(format!("spec.vrf: {} describes the same VRF", raw::shown(twin)));
    }
    warn_shared_target(review, findings, spec);
}

/// Only what both say can differ: the rest comes from the operator configuration.
fn differs(spec: &VrfSpec, other: &Value) -> bool {
    let vni = raw::number(other, &["spec", "vni"]);
    let target = raw::text(other, &["spec", "routeTarget"]);
    let other_vni = spec.vni.zip(vni).is_some_and(|(own, other)| u64::from(own) != other);
    let other_target = spec.route_target.as_deref().zip(target).is_some_and(|(own, other)| own != other);
    other_vni || other_target
}

fn warn_shared_target(review: &Review<'_>, findings: &mut Findings, spec: &VrfSpec) {
    let Some(target) = &spec.route_target else { return };
    let other_vrf = |object: &&Arc<Value>| raw::text(object, &["spec", "vrf"]) != Some(&*spec.vrf);
    let found = others_under(review, kind::VRF, index::ROUTE_TARGET, target);
    if let Some(other) = found.iter().find(other_vrf) {
        findings
            .warn(format!("spec.routeTarget: {} has it too, so both VRFs take each other's routes", raw::shown(other)));
    }
}

/// A collector's tunnel starts at a loopback of its VRF.
fn check_collectors(review: &Review<'_>, findings: &mut Findings, spec: &VrfSpec, old: Option<&VrfSpec>) {
    if !spec.loopbacks.is_empty() || old.is_none_or(|old| old.loopbacks.is_empty()) {
        return;
    }
    if let Some(collector) = review.view.lookup(kind::COLLECTOR, index::VRF_REF, review.name).first() {
        findings.forbidden("spec.loopbacks", format!("{} needs a loopback of this VRF", raw::shown(collector)));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::fabric::table::{World, object};

    fn vrf(name: &str, spec: Value) -> Value {
        object("VRF", name, spec)
    }

    fn m2m() -> Value {
        vrf("m2m-enc", json!({"vrf": "m2m_enc", "vni": 10100, "routeTarget": "64500:10100"}))
    }

    #[test]
    fn the_name_is_fixed_and_free() {
        let world = World::new([]);
        world.create(m2m()).taken();
        world.create(vrf("x", json!({"vrf": "cluster"}))).refused(&[
            r#"spec.vrf: Invalid value: "cluster": is the name of an interface that every node has already"#,
        ]);
        world.create(vrf("x", json!({"vrf": "s-x"}))).refused(&[
            r#"spec.vrf: Invalid value: "s-x": names that start with "s-" belong to interfaces that are generated"#,
        ]);
        world.create(vrf("x", json!({"vrf": "mgmt"}))).warned(&[
            r#"spec.vrf: "mgmt" is usually the name of the nodes' management VRF, which is not managed here"#,
        ]);
        let world = World::new([m2m()]);
        world.update(vrf("m2m-enc", json!({"vrf": "m2m_enc", "vni": 10101}))).taken();
        world
            .update(vrf("m2m-enc", json!({"vrf": "other"})))
            .refused(&[r#"spec.vrf: Invalid value: "other": field is immutable"#]);
    }

    #[test]
    fn a_route_target_has_the_right_form() {
        let world = World::new([]);
        world.create(vrf("x", json!({"vrf": "x", "routeTarget": "4200000000:65535"}))).taken();
        world.create(vrf("x", json!({"vrf": "x", "routeTarget": "4200000000:65536"}))).refused(&[
            r#"spec.routeTarget: Invalid value: "4200000000:65536": must be AS:NUMBER or ADDRESS:NUMBER; after an AS beyond 65535 and after an address NUMBER ends at 65535"#,
        ]);
    }

    #[test]
    fn two_objects_agree_on_one_vrf() {
        let world = World::new([m2m()]);
        world
            .create(vrf("again", json!({"vrf": "m2m_enc"})))
            .warned(&[r#"spec.vrf: VRF "m2m-enc" describes the same VRF"#]);
        world.create(vrf("again", json!({"vrf": "m2m_enc", "vni": 7}))).refused(&[
            r#"spec.vrf: Duplicate value: "m2m_enc": VRF "m2m-enc" gives this VRF another VNI or route target"#,
        ]);
        let manual_object = object(
            "VRFRouteConfiguration",
            "hand",
            json!({"vrf": "m2m_enc", "vni": 8, "routeTarget": "1:8", "seq": 1, "import": [], "export": []}),
        );
        World::new([manual_object]).create(m2m()).refused(&[
            r#"spec.vrf: Duplicate value: "m2m_enc": VRFRouteConfiguration "hand" gives this VRF another VNI or route target"#,
        ]);
    }

    #[test]
    fn an_identifier_means_one_thing() {
        let network = |vni: u32| object("Network", "net", json!({"vlan": 234, "vni": vni}));
        World::new([network(10101)]).create(m2m()).taken();
        World::new([network(10100)])
            .create(m2m())
            .refused(&[r#"spec.vni: Duplicate value: 10100: Network "net" uses it for the segment of VLAN 234"#]);
        World::new([m2m()])
            .create(vrf("x", json!({"vrf": "x", "vni": 10100})))
            .refused(&[r#"spec.vni: Duplicate value: 10100: VRF "m2m-enc" uses it for VRF "m2m_enc""#]);
    }

    #[test]
    fn a_shared_route_target_is_worth_a_word() {
        World::new([m2m()])
            .create(vrf("x", json!({"vrf": "x", "vni": 1, "routeTarget": "64500:10100"})))
            .warned(&[r#"spec.routeTarget: VRF "m2m-enc" has it too, so both VRFs take each other's routes"#]);
    }

    #[test]
    fn a_loopback_has_one_source_of_addresses() {
        let with = |loopback: Value| vrf("mirror", json!({"vrf": "mirror", "loopbacks": [loopback]}));
        let pool = json!({"apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": "p"});
        let world = World::new([]);
        world.create(with(json!({"name": "lo.mir", "poolRef": pool}))).taken();
        world.create(with(json!({"name": "lo.mir", "subnet": "192.0.2.0/24"}))).taken();
        world
            .create(with(json!({"name": "lo.mir"})))
            .refused(&["spec.loopbacks[0].poolRef: Required value: one of poolRef and subnet must be given"]);
        world
            .create(with(json!({"name": "lo.mir", "poolRef": pool, "subnet": "192.0.2.0/24"})))
            .refused(&["spec.loopbacks[0].subnet: Forbidden: poolRef and subnet exclude each other"]);
        world.create(with(json!({"name": "lo.mir", "subnet": "192.0.2.1/24"}))).refused(&[
            r#"spec.loopbacks[0].subnet: Invalid value: "192.0.2.1/24": has address bits beyond its prefix length; the network is 192.0.2.0/24"#,
        ]);
        world.create(with(json!({"name": "hbn", "subnet": "192.0.2.0/24"}))).refused(&[
            r#"spec.loopbacks[0].name: Invalid value: "hbn": is the name of an interface that every node has already"#,
        ]);
        let other = vrf("other", json!({"vrf": "other", "loopbacks": [{"name": "lo.mir", "subnet": "192.0.2.0/24"}]}));
        World::new([other]).create(with(json!({"name": "lo.mir", "subnet": "192.0.2.0/24"}))).warned(&[
            r#"spec.loopbacks[0].name: VRF "other" has a loopback "lo.mir" too; a node can have only one of them"#,
        ]);
    }

    #[test]
    fn the_loopback_of_a_collector_stays() {
        let before =
            vrf("mirror", json!({"vrf": "mirror", "loopbacks": [{"name": "lo.mir", "subnet": "192.0.2.0/24"}]}));
        let after = vrf("mirror", json!({"vrf": "mirror"}));
        let collector = object(
            "Collector",
            "c",
            json!({"address": "192.0.2.9", "protocol": "l3gre", "mirrorVRF": {"name": "mirror"}}),
        );
        World::new([before.clone()]).update(after.clone()).taken();
        World::new([before, collector])
            .update(after)
            .refused(&[r#"spec.loopbacks: Forbidden: Collector "c" needs a loopback of this VRF"#]);
    }

    #[test]
    fn deleting_one_that_is_used_is_worth_a_word() {
        let destination = object("Destination", "d", json!({"vrfRef": "m2m-enc"}));
        World::new([m2m()]).delete(m2m()).taken();
        World::new([m2m(), destination]).delete(m2m()).warned(&[r#"VRF "m2m-enc" is still used by Destination "d""#]);
    }
}
