//! What a `Destination` must keep.

use ipnet::IpNet;
use netloom_api::fabric::{
    Destination,
    destination::{DestinationSpec, NextHop},
};
use netloom_types::Family;
use serde_json::Value;

use super::{
    consumer, index, kind, raw,
    related::{self, Reference},
    scope, value,
};
use crate::{Admitted, Findings, Index, Operation, Review, Write};

impl Admitted for Destination {
    const INDEXES: &'static [Index] = index::OF_DESTINATION;

    fn admit(write: &Write<'_, Self>, findings: &mut Findings) {
        let review = write.review;
        if let (Operation::Delete, Some(old)) = (review.operation, review.old) {
            related::warn_in_use(review, findings, &related::users_of_destination(review.view, old));
        }
        let Some(new) = related::to_judge(write) else { return };
        let prefixes = value::prefixes(findings, "spec.prefixes", &new.spec.prefixes);
        if new.spec.prefixes.is_empty() {
            findings.warn("spec.prefixes is empty: nothing is reachable through this destination");
        }
        check_way(findings, &new.spec);
        if let Some(next_hop) = &new.spec.next_hop {
            check_next_hop(findings, next_hop, &prefixes);
        }
        let before = write.old.as_ref().and_then(|old| old.spec.vrf_ref.as_deref());
        if let Some(name) = &new.spec.vrf_ref {
            let reference = Reference { kind: kind::VRF, path: "spec.vrfRef".into(), name, before };
            if let Some(vrf) = reference.resolve(review, findings) {
                check_scope(review, findings, &vrf);
            }
            check_single(review, findings, name);
        }
    }
}

fn check_way(findings: &mut Findings, spec: &DestinationSpec) {
    match (&spec.vrf_ref, &spec.next_hop) {
        (None, None) => findings.required("spec.vrfRef", "one of vrfRef and nextHop must be given"),
        (Some(_), Some(_)) => findings.forbidden("spec.nextHop", "vrfRef and nextHop exclude each other"),
        (Some(_), None) | (None, Some(_)) => {}
    }
}

fn check_next_hop(findings: &mut Findings, next_hop: &NextHop, prefixes: &[IpNet]) {
    let families = [(Family::Ipv4, &next_hop.ipv4), (Family::Ipv6, &next_hop.ipv6)];
    if families.iter().all(|(_, address)| address.is_none()) {
        findings.required("spec.nextHop.ipv4", "at least one of ipv4 and ipv6 must be given");
        return;
    }
    for (family, address) in families {
        let path = format!("spec.nextHop.{family}");
        match address {
            Some(address) => {
                value::station_of(findings, &path, address, family);
            }
            None => {
                if let Some(prefix) = prefixes.iter().find(|prefix| Family::of_net(**prefix) == family) {
                    findings.required(path, format!("the prefix {prefix} needs a next hop of its family"));
                }
            }
        }
    }
}

/// An attachment with SR-IOV and an interface of the host stays in one VRF.
fn check_single(review: &Review<'_>, findings: &mut Findings, vrf: &str) {
    let Some(object) = review.object else { return };
    for user in related::picking(review.view, kind::LAYER2_ATTACHMENT, index::SELECTS_ONE, object) {
        let Some(selector) = raw::selector(&user, "destinations") else { continue };
        let picked = related::destinations(review.view, &selector);
        let mut others = related::others(review, kind::DESTINATION, picked).into_iter();
        if others.any(|other| raw::text(&other, &["spec", "vrfRef"]).is_some_and(|other| other != vrf)) {
            let detail = format!(
                "{} picks this destination and has another VRF; with SR-IOV it can have only one",
                raw::shown(&user)
            );
            findings.forbidden("spec.vrfRef", detail);
        }
    }
}

/// A destination brings its VRF to everything that picks it, where manually written routes may be.
fn check_scope(review: &Review<'_>, findings: &mut Findings, vrf: &Value) {
    let Some(vrf) = raw::text(vrf, &["spec", "vrf"]) else { return };
    let Some(object) = review.object else { return };
    let same_labels =
        review.old.is_some_and(|old| raw::at(old, &["metadata", "labels"]) == raw::at(object, &["metadata", "labels"]));
    if (scope::keeps(review, &["vrfRef"]) && same_labels) || scope::manual_in_vrf(review.view, vrf, None).is_none() {
        return;
    }
    for user in related::users_of_destination(review.view, object) {
        let nodes = raw::selector(&user, "nodeSelector");
        if let Some(other) = scope::manual_in_vrf(review.view, vrf, nodes.as_ref()) {
            let why = consumer::manual_object(vrf, &other);
            findings.forbidden("spec.vrfRef", format!("{} picks this destination, and {why}", raw::shown(&user)));
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::fabric::table::{World, labelled, object};

    fn destination(spec: Value) -> Value {
        object("Destination", "d", spec)
    }

    fn vrf() -> Value {
        object("VRF", "m2m-enc", json!({"vrf": "m2m_enc", "vni": 10100}))
    }

    #[test]
    fn there_is_exactly_one_way() {
        let world = World::new([vrf()]);
        world.create(destination(json!({"vrfRef": "m2m-enc", "prefixes": ["192.0.2.0/24"]}))).taken();
        world.create(destination(json!({"nextHop": {"ipv4": "198.51.100.1"}, "prefixes": ["0.0.0.0/0"]}))).taken();
        world
            .create(destination(json!({"prefixes": ["192.0.2.0/24"]})))
            .refused(&["spec.vrfRef: Required value: one of vrfRef and nextHop must be given"]);
        world
            .create(destination(
                json!({"vrfRef": "m2m-enc", "nextHop": {"ipv4": "198.51.100.1"}, "prefixes": ["0.0.0.0/0"]}),
            ))
            .refused(&["spec.nextHop: Forbidden: vrfRef and nextHop exclude each other"]);
    }

    #[test]
    fn the_vrf_exists_and_stays() {
        let wanted = destination(json!({"vrfRef": "m2m-enc", "prefixes": ["192.0.2.0/24"]}));
        World::new([vrf()]).create(wanted.clone()).taken();
        World::new([])
            .create(wanted.clone())
            .refused(&[r#"spec.vrfRef: Not found: "m2m-enc": there is no VRF of this name"#]);
        let mut going = vrf();
        going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        World::new([going])
            .create(wanted.clone())
            .refused(&[r#"spec.vrfRef: Invalid value: "m2m-enc": this VRF is being deleted"#]);
        let changed = destination(json!({"vrfRef": "m2m-enc", "prefixes": ["192.0.2.0/25"]}));
        World::new([wanted]).update(changed).taken();
    }

    #[test]
    fn prefixes_are_networks() {
        let with = |prefix: &str| destination(json!({"vrfRef": "m2m-enc", "prefixes": [prefix]}));
        let world = World::new([vrf()]);
        world.create(with("198.51.100.0/27")).taken();
        world.create(with("198.51.100.1/27")).refused(&[
            r#"spec.prefixes[0]: Invalid value: "198.51.100.1/27": has address bits beyond its prefix length; the network is 198.51.100.0/27"#,
        ]);
        world.create(with("198.51.100.0")).refused(&[
            r#"spec.prefixes[0]: Invalid value: "198.51.100.0": must be a network in CIDR notation, such as 198.51.100.0/24 or 2001:db8::/32"#,
        ]);
        world
            .create(destination(json!({"vrfRef": "m2m-enc"})))
            .warned(&["spec.prefixes is empty: nothing is reachable through this destination"]);
    }

    #[test]
    fn a_next_hop_is_an_address_of_each_family_in_use() {
        let with = |next_hop: Value, prefix: &str| destination(json!({"nextHop": next_hop, "prefixes": [prefix]}));
        let world = World::new([]);
        world.create(with(json!({"ipv4": "198.51.100.1", "ipv6": "2001:db8::1"}), "::/0")).taken();
        world
            .create(with(json!({}), "::/0"))
            .refused(&["spec.nextHop.ipv4: Required value: at least one of ipv4 and ipv6 must be given"]);
        world
            .create(with(json!({"ipv4": "198.51.100.1"}), "::/0"))
            .refused(&["spec.nextHop.ipv6: Required value: the prefix ::/0 needs a next hop of its family"]);
        world.create(with(json!({"ipv4": "198.51.100.1/24"}), "0.0.0.0/0")).refused(&[
            r#"spec.nextHop.ipv4: Invalid value: "198.51.100.1/24": must be an IP address without a prefix length"#,
        ]);
        world
            .create(with(json!({"ipv4": "2001:db8::1"}), "0.0.0.0/0"))
            .refused(&[r#"spec.nextHop.ipv4: Invalid value: "2001:db8::1": must be an IPv4 address"#]);
        world.create(with(json!({"ipv4": "224.0.0.1"}), "0.0.0.0/0")).refused(&[
            r#"spec.nextHop.ipv4: Invalid value: "224.0.0.1": must be the address of one station on a network"#,
        ]);
    }

    #[test]
    fn it_brings_no_intent_into_a_vrf_that_is_configured_manually() {
        let manual_object = |nodes: Value| {
            object(
                "VRFRouteConfiguration",
                "hand",
                json!({"vrf": "m2m_enc", "seq": 1, "import": [], "export": [], "nodeSelector": nodes}),
            )
        };
        let user = || {
            object(
                "PodNetwork",
                "pods",
                json!({"networkRef": "n", "destinations": {"matchLabels": {"zone": "secure"}}, "nodeSelector": {"matchLabels": {"pool": "a"}}}),
            )
        };
        let wanted = || {
            labelled(destination(json!({"vrfRef": "m2m-enc", "prefixes": ["192.0.2.0/24"]})), json!({"zone": "secure"}))
        };
        World::new([vrf(), user(), manual_object(json!({"matchLabels": {"pool": "b"}}))]).create(wanted()).taken();
        World::new([vrf(), user(), manual_object(json!({"matchLabels": {"pool": "a"}}))]).create(wanted()).refused(&[
            r#"spec.vrfRef: Forbidden: PodNetwork "pods" picks this destination, and VRF "m2m_enc" is configured manually in VRFRouteConfiguration "hand" on some of the same nodes; remove that first"#,
        ]);
    }

    #[test]
    fn it_brings_no_second_vrf_to_an_attachment_that_can_have_one() {
        let other = || object("VRF", "other", json!({"vrf": "other"}));
        let first = || {
            labelled(
                object("Destination", "first", json!({"vrfRef": "other", "prefixes": ["10.0.0.0/8"]})),
                json!({"zone": "secure"}),
            )
        };
        let user = |sriov: bool| {
            object(
                "Layer2Attachment",
                "l2",
                json!({"networkRef": "n", "interfaceName": "x", "sriov": {"enabled": sriov}, "destinations": {"matchLabels": {"zone": "secure"}}}),
            )
        };
        let wanted = |vrf: &str| {
            labelled(destination(json!({"vrfRef": vrf, "prefixes": ["192.0.2.0/24"]})), json!({"zone": "secure"}))
        };
        World::new([vrf(), other(), first(), user(false)]).create(wanted("m2m-enc")).taken();
        World::new([vrf(), other(), first(), user(true)]).create(wanted("other")).taken();
        World::new([vrf(), other(), first(), user(true)]).create(wanted("m2m-enc")).refused(&[
            r#"spec.vrfRef: Forbidden: Layer2Attachment "l2" picks this destination and has another VRF; with SR-IOV it can have only one"#,
        ]);
    }

    #[test]
    fn deleting_one_that_is_picked_is_worth_a_word() {
        let wanted = labelled(destination(json!({"vrfRef": "m2m-enc"})), json!({"zone": "secure"}));
        let picks = |zone: &str| {
            object(
                "Inbound",
                "in",
                json!({"networkRef": "n", "count": 1, "destinations": {"matchLabels": {"zone": zone}}}),
            )
        };
        World::new([wanted.clone(), picks("public")]).delete(wanted.clone()).taken();
        World::new([wanted.clone(), picks("secure")])
            .delete(wanted)
            .warned(&[r#"Destination "d" is still used by Inbound "in""#]);
    }
}
