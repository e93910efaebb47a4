//! What a `Collector` must keep.

use std::net::IpAddr;

use netloom_api::fabric::{Collector, collector::CollectorSpec};
use netloom_types::Family;
use serde_json::Value;

use super::{
    generated, index, kind, raw,
    related::{self, Reference, others_under},
    value,
};
use crate::{Admitted, Findings, Index, Operation, Review, Write};

impl Admitted for Collector {
    const INDEXES: &'static [Index] = index::OF_COLLECTOR;

    fn admit(write: &Write<'_, Self>, findings: &mut Findings) {
        let review = write.review;
        if review.operation == Operation::Delete {
            let users = review.view.lookup(kind::TRAFFIC_MIRROR, index::COLLECTOR, review.name);
            related::warn_in_use(review, findings, &users);
        }
        let Some(new) = related::to_judge(write) else { return };
        let address = value::station(findings, "spec.address", &new.spec.address);
        let reference = Reference {
            kind: kind::VRF,
            path: "spec.mirrorVRF.name".into(),
            name: &new.spec.mirror_vrf.name,
            before: write.old.as_ref().map(|old| &*old.spec.mirror_vrf.name),
        };
        let vrf = reference.resolve(review, findings);
        if let Some(vrf) = &vrf {
            check_loopbacks(findings, vrf, address);
        }
        if let Some(address) = address {
            check_endpoint(review, findings, &new.spec, address, vrf.as_deref());
        }
    }
}

/// The near end of the tunnel is an address of a loopback, of the family of the far end.
fn check_loopbacks(findings: &mut Findings, vrf: &Value, address: Option<IpAddr>) {
    let name = raw::name(vrf);
    let loopbacks: Vec<_> = raw::items(vrf, &["spec", "loopbacks"]).collect();
    if loopbacks.is_empty() {
        findings.invalid("spec.mirrorVRF.name", name, format!("VRF {name:?} has no loopbacks"));
        return;
    }
    let family = |loopback: &Value| value::network(raw::text(loopback, &["subnet"])?).map(Family::of_net);
    let fits =
        |address| loopbacks.iter().any(|loopback| family(loopback).is_none_or(|family| family == Family::of(address)));
    if let Some(address) = address.filter(|address| !fits(*address)) {
        let detail = format!("no loopback of VRF {name:?} has {} addresses", value::shown(Family::of(address)));
        findings.invalid("spec.address", address.to_string(), detail);
    }
}

/// Two tunnels between the same ends need different keys, and one owner.
fn check_endpoint(
    review: &Review<'_>,
    findings: &mut Findings,
    spec: &CollectorSpec,
    address: IpAddr,
    vrf: Option<&Value>,
) {
    let key = index::endpoint_key(address);
    let same_key = |object: &Value| raw::number(object, &["spec", "key"]) == spec.key.map(u64::from);
    let twins = others_under(review, kind::COLLECTOR, index::ENDPOINT, &key);
    let same_vrf = |object: &Value| raw::text(object, &["spec", "mirrorVRF", "name"]) == Some(&*spec.mirror_vrf.name);
    if let Some(twin) = twins.iter().find(|object| same_key(object) && same_vrf(object)) {
        findings.duplicate(
            "spec.address",
            &*spec.address,
            format!("{} has the same address, key and VRF", raw::shown(twin)),
        );
        return;
    }
    let vrf = vrf.and_then(|vrf| raw::text(vrf, &["spec", "vrf"]));
    let same_vrf = |object: &Value| raw::text(object, &["spec", "destinationVrf"]) == vrf;
    let targets = review.view.lookup(kind::MIRROR_TARGET, index::ENDPOINT, &key);
    let manual_object =
        targets.iter().find(|object| same_key(object) && same_vrf(object) && !generated::is_generated(object));
    if let Some(target) = manual_object {
        let detail = format!("the tunnel is configured manually in {}; remove that first", raw::shown(target));
        findings.forbidden("spec.address", detail);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::fabric::table::{World, object};

    fn collector(address: &str, key: u32) -> Value {
        object(
            "Collector",
            "c",
            json!({"address": address, "protocol": "l3gre", "key": key, "mirrorVRF": {"name": "mirror-vrf"}}),
        )
    }

    fn vrf(loopbacks: &Value) -> Value {
        object("VRF", "mirror-vrf", json!({"vrf": "mirror", "loopbacks": loopbacks}))
    }

    fn v4() -> Value {
        vrf(&json!([{"name": "lo.mir", "subnet": "198.51.100.0/24"}]))
    }

    #[test]
    fn the_address_is_that_of_a_station() {
        World::new([v4()]).create(collector("192.0.2.100", 1)).taken();
        World::new([v4()])
            .create(collector("224.0.0.1", 1))
            .refused(&[r#"spec.address: Invalid value: "224.0.0.1": must be the address of one station on a network"#]);
        World::new([v4()])
            .create(collector("192.0.2", 1))
            .refused(&[r#"spec.address: Invalid value: "192.0.2": must be an IP address without a prefix length"#]);
    }

    #[test]
    fn the_vrf_exists_and_has_a_loopback_of_the_family() {
        World::new([])
            .create(collector("192.0.2.100", 1))
            .refused(&[r#"spec.mirrorVRF.name: Not found: "mirror-vrf": there is no VRF of this name"#]);
        World::new([vrf(&json!([]))])
            .create(collector("192.0.2.100", 1))
            .refused(&[r#"spec.mirrorVRF.name: Invalid value: "mirror-vrf": VRF "mirror-vrf" has no loopbacks"#]);
        World::new([v4()]).create(collector("2001:db8::1", 1)).refused(&[
            r#"spec.address: Invalid value: "2001:db8::1": no loopback of VRF "mirror-vrf" has IPv6 addresses"#,
        ]);
        let pooled = vrf(&json!([{"name": "lo.mir", "poolRef": {"apiGroup": "g", "kind": "k", "name": "n"}}]));
        World::new([pooled]).create(collector("2001:db8::1", 1)).taken();
    }

    #[test]
    fn a_tunnel_is_there_once() {
        let mut other = collector("192.0.2.100", 1);
        other["metadata"]["name"] = json!("other");
        let world = World::new([v4(), other]);
        world.create(collector("192.0.2.100", 2)).taken();
        world.create(collector("192.0.2.100", 1)).refused(&[
            r#"spec.address: Duplicate value: "192.0.2.100": Collector "other" has the same address, key and VRF"#,
        ]);
        let manual_object = object(
            "MirrorTarget",
            "hand",
            json!({"type": "l3gre", "destinationIP": "192.0.2.100", "key": 1, "destinationVrf": "mirror", "sourceLoopback": "lo.mir"}),
        );
        let world = World::new([v4(), manual_object]);
        world.create(collector("192.0.2.101", 1)).taken();
        world.create(collector("192.0.2.100", 1)).refused(&[
            r#"spec.address: Forbidden: the tunnel is configured manually in MirrorTarget "hand"; remove that first"#,
        ]);
    }

    #[test]
    fn deleting_one_that_is_used_is_worth_a_word() {
        let mirror = object(
            "TrafficMirror",
            "m",
            json!({"source": {"kind": "Outbound", "name": "out"}, "collector": "c", "direction": "egress"}),
        );
        World::new([mirror])
            .delete(collector("192.0.2.100", 1))
            .warned(&[r#"Collector "c" is still used by TrafficMirror "m""#]);
    }
}
