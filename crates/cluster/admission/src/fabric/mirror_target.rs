//! What a `MirrorTarget` must keep.

use netloom_api::fabric::{MirrorTarget, mirror_target::MirrorTargetSpec};
use serde_json::Value;

use super::{
    generated, index, kind, names, raw,
    related::{self, others_under},
    value,
};
use crate::{Admitted, Findings, Index, Operation, Review, Write};

impl Admitted for MirrorTarget {
    const INDEXES: &'static [Index] = index::OF_MIRROR_TARGET;

    fn admit(write: &Write<'_, Self>, findings: &mut Findings) {
        let review = write.review;
        generated::protect(review, findings);
        if review.operation == Operation::Delete {
            let users = review.view.lookup(kind::MIRROR_SELECTOR, index::COLLECTOR, review.name);
            related::warn_in_use(review, findings, &users);
        }
        let Some(new) = related::to_judge(write) else { return };
        names::loopback(findings, "spec.sourceLoopback", &new.spec.source_loopback);
        if let Some(address) = value::station(findings, "spec.destinationIP", &new.spec.destination_ip)
            && review.object.is_some_and(|object| !generated::is_generated(object))
        {
            check_endpoint(review, findings, &new.spec, &index::endpoint_key(address));
        }
    }
}

/// Two tunnels between the same ends need different keys, and one owner.
fn check_endpoint(review: &Review<'_>, findings: &mut Findings, spec: &MirrorTargetSpec, key: &str) {
    let same_key = |object: &Value| raw::number(object, &["spec", "key"]) == spec.key.map(u64::from);
    let same_vrf = |object: &Value| raw::text(object, &["spec", "destinationVrf"]) == Some(&*spec.destination_vrf);
    let twins = others_under(review, kind::MIRROR_TARGET, index::ENDPOINT, key);
    let manual_object = |object: &Value| !generated::is_generated(object);
    if let Some(twin) = twins.iter().find(|object| same_key(object) && same_vrf(object) && manual_object(object)) {
        let detail = format!("{} has the same address, key and VRF", raw::shown(twin));
        findings.duplicate("spec.destinationIP", &*spec.destination_ip, detail);
    }
    let in_vrf = |collector: &Value| {
        let vrf = raw::text(collector, &["spec", "mirrorVRF", "name"])?;
        let vrf = review.view.get(kind::VRF, None, vrf)?;
        Some(raw::text(&vrf, &["spec", "vrf"])? == &*spec.destination_vrf)
    };
    let collectors = review.view.lookup(kind::COLLECTOR, index::ENDPOINT, key);
    if let Some(collector) = collectors.iter().find(|object| same_key(object) && in_vrf(object) == Some(true)) {
        findings.forbidden("spec.destinationIP", format!("the tunnel belongs to {}", raw::shown(collector)));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::fabric::table::{World, merged, object};

    fn target(name: &str, more: Value) -> Value {
        object(
            "MirrorTarget",
            name,
            merged(
                json!({"type": "l3gre", "destinationIP": "192.0.2.100", "key": 1, "destinationVrf": "mirror", "sourceLoopback": "lo.mir"}),
                more,
            ),
        )
    }

    #[test]
    fn the_ends_are_possible() {
        let world = World::new([]);
        world.create(target("t", json!({}))).taken();
        world
            .create(target("t", json!({"destinationIP": "::"})))
            .refused(&[r#"spec.destinationIP: Invalid value: "::": must be the address of one station on a network"#]);
        world.create(target("t", json!({"sourceLoopback": "lo"}))).refused(&[
            r#"spec.sourceLoopback: Invalid value: "lo": is the name of an interface that every node has already"#,
        ]);
    }

    #[test]
    fn a_tunnel_is_there_once() {
        let world = World::new([target("other", json!({}))]);
        world.create(target("t", json!({"key": 2}))).taken();
        world.create(target("t", json!({"destinationVrf": "x"}))).taken();
        world.create(target("t", json!({}))).refused(&[
            r#"spec.destinationIP: Duplicate value: "192.0.2.100": MirrorTarget "other" has the same address, key and VRF"#,
        ]);
        let vrf = || object("VRF", "v", json!({"vrf": "mirror"}));
        let collector = |key: u32| {
            object(
                "Collector",
                "c",
                json!({"address": "192.0.2.100", "protocol": "l3gre", "key": key, "mirrorVRF": {"name": "v"}}),
            )
        };
        World::new([vrf(), collector(2)]).create(target("t", json!({}))).taken();
        World::new([vrf(), collector(1)])
            .create(target("t", json!({})))
            .refused(&[r#"spec.destinationIP: Forbidden: the tunnel belongs to Collector "c""#]);
    }

    #[test]
    fn deleting_one_that_is_used_is_worth_a_word() {
        let selector = object(
            "MirrorSelector",
            "s",
            json!({"mirrorTarget": {"kind": "MirrorTarget", "name": "t"}, "mirrorSource": {"kind": "VRFRouteConfiguration", "name": "r"}, "direction": "egress"}),
        );
        World::new([selector])
            .delete(target("t", json!({})))
            .warned(&[r#"MirrorTarget "t" is still used by MirrorSelector "s""#]);
    }
}
