//! What a `Network` must keep, also towards those that use it already.

use std::sync::Arc;

use ipnet::IpNet;
use netloom_api::fabric::{
    Network,
    network::{IpPool, NetworkSpec},
};
use netloom_types::Family;
use serde_json::Value;

use super::{
    index, kind, pool, raw,
    related::{self, others_under},
    scope, space, value,
    vni::{self, Meaning},
};
use crate::{Admitted, Findings, Index, Operation, Review, Write};

impl Admitted for Network {
    const INDEXES: &'static [Index] = index::OF_NETWORK;

    fn admit(write: &Write<'_, Self>, findings: &mut Findings) {
        let review = write.review;
        if review.operation == Operation::Delete {
            related::warn_in_use(review, findings, &related::users_of_network(review.view, review.name));
        }
        let Some(new) = related::to_judge(write) else { return };
        let spec = &new.spec;
        if spec.ipv4.is_none() && spec.ipv6.is_none() && spec.vlan.is_none() {
            findings.required("spec", "at least one of ipv4, ipv6 and vlan must be given");
        }
        for (family, pool) in [(Family::Ipv4, &spec.ipv4), (Family::Ipv6, &spec.ipv6)] {
            if let Some(net) = pool.as_ref().and_then(|pool| check_pool(findings, pool, family)) {
                warn_overlap(review, findings, net);
            }
        }
        if spec.allocation_pool.is_some() {
            findings.warn("spec.allocationPool is kept for automatic allocation and has no effect now");
        }
        if let Some(vni) = spec.vni {
            check_vni(review, findings, spec, vni);
        }
        if review.operation == Operation::Update && findings.is_clean() {
            check_users(review, findings, spec);
        }
    }
}

fn check_pool(findings: &mut Findings, pool: &IpPool, family: Family) -> Option<IpNet> {
    let path = format!("spec.{family}.cidr");
    let net = value::prefix_of(findings, &path, &pool.cidr, family)?;
    let first = net.network();
    if net.prefix_len() == 0 || first.is_multicast() || first.is_loopback() || first.is_unspecified() {
        findings.invalid(path, &*pool.cidr, "must be a network whose addresses stations can have");
        return None;
    }
    if let Some(length) = pool.prefix_length {
        let path = format!("spec.{family}.prefixLength");
        if length > family.max_prefix_len() {
            findings.invalid(path, length, format!("must be at most {}", family.max_prefix_len()));
        } else if length < net.prefix_len() {
            findings.invalid(path, length, format!("must be at least {}, the length of {net}", net.prefix_len()));
        }
    }
    Some(net)
}

/// Two VRFs may use the same addresses, so an overlap is not always a mistake.
fn warn_overlap(review: &Review<'_>, findings: &mut Findings, net: IpNet) {
    let found = related::others(review, kind::NETWORK, space::candidates(review.view, kind::NETWORK, net));
    let overlapping = |object: &Value| space::networks(object).into_iter().find(|other| space::overlap(*other, net));
    if let Some((other, theirs)) = found.iter().find_map(|object| Some((object, overlapping(object)?))) {
        findings.warn(format!("{net} overlaps {theirs} of {}", raw::shown(other)));
    }
}

/// The same segment may be described twice, but not with two VLANs.
fn check_vni(review: &Review<'_>, findings: &mut Findings, spec: &NetworkSpec, vni: u32) {
    vni::check(review, findings, "spec.vni", vni, Meaning::Segment(spec.vlan));
    if let (true, Some(twin)) =
        (findings.is_clean(), others_under(review, kind::NETWORK, index::VNI, &vni.to_string()).first())
    {
        findings.warn(format!("spec.vni: {} describes the same segment", raw::shown(twin)));
    }
}

/// A change must not take away what users of the network need.
fn check_users(review: &Review<'_>, findings: &mut Findings, spec: &NetworkSpec) {
    let users = related::users_of_network(review.view, review.name);
    let attachments = users.iter().filter(|user| raw::kind(user) == kind::LAYER2_ATTACHMENT.kind);
    for attachment in attachments {
        let on_interface = raw::at(attachment, &["spec", "interfaceRef"]).is_some();
        if on_interface && spec.vni.is_some() {
            let detail = format!(
                "{} brings this network to an existing interface, where there is no VNI",
                raw::shown(attachment)
            );
            findings.forbidden("spec.vni", detail);
        }
        if spec.vlan.is_none() {
            findings.required("spec.vlan", format!("{} needs it", raw::shown(attachment)));
        }
    }
    let needs_addresses = |user: &&Arc<Value>| raw::kind(user) != kind::LAYER2_ATTACHMENT.kind;
    if let (None, None, Some(user)) = (&spec.ipv4, &spec.ipv6, users.iter().find(needs_addresses)) {
        findings.required("spec.ipv4", format!("{} needs addresses of this network", raw::shown(user)));
        return;
    }
    if !scope::keeps(review, &["ipv4", "ipv6"]) {
        check_addresses(review, findings, spec, &users);
    }
}

fn check_addresses(review: &Review<'_>, findings: &mut Findings, spec: &NetworkSpec, users: &[Arc<Value>]) {
    let Some(object) = review.object else { return };
    let nets = space::networks(object);
    let outside = |user: &Value| {
        let mut blocks = space::blocks(user).into_iter();
        blocks.find(|block| !nets.iter().any(|net| net.contains(block)))
    };
    if let Some((user, block)) = users.iter().find_map(|user| Some((user, outside(user)?))) {
        let (path, cidr) = match (Family::of_net(block), &spec.ipv4, &spec.ipv6) {
            (Family::Ipv4, pool, _) => ("spec.ipv4.cidr", pool),
            (Family::Ipv6, _, pool) => ("spec.ipv6.cidr", pool),
        };
        let cidr = cidr.as_ref().map(|pool| pool.cidr.to_string());
        findings.invalid(path, cidr, format!("{} has {block}, which would be outside", raw::shown(user)));
    } else if let Some((family, asked, room)) = pool::overflow(review.view, object) {
        let detail = format!("{asked} {} addresses are asked for, and only {room} would be left", value::shown(family));
        findings.forbidden(format!("spec.{family}.cidr"), detail);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::fabric::table::{World, object};

    fn network(spec: Value) -> Value {
        object("Network", "net", spec)
    }

    #[test]
    fn it_has_addresses_or_a_vlan() {
        let world = World::new([]);
        world.create(network(json!({"vlan": 1520}))).taken();
        world.create(network(json!({"ipv6": {"cidr": "2001:db8::/64"}}))).taken();
        world
            .create(network(json!({"vni": 7})))
            .refused(&["spec: Required value: at least one of ipv4, ipv6 and vlan must be given"]);
    }

    #[test]
    fn a_pool_is_a_network_of_its_family() {
        let v4 = |pool: Value| network(json!({"ipv4": pool}));
        let world = World::new([]);
        world.create(v4(json!({"cidr": "198.51.100.0/24", "prefixLength": 28}))).taken();
        world.create(v4(json!({"cidr": "198.51.100.0/24", "prefixLength": 24}))).taken();
        world.create(v4(json!({"cidr": "198.51.100.0/24", "prefixLength": 23}))).refused(&[
            "spec.ipv4.prefixLength: Invalid value: 23: must be at least 24, the length of 198.51.100.0/24",
        ]);
        world
            .create(v4(json!({"cidr": "198.51.100.0/24", "prefixLength": 33})))
            .refused(&["spec.ipv4.prefixLength: Invalid value: 33: must be at most 32"]);
        world.create(v4(json!({"cidr": "198.51.100.7/24"}))).refused(&[
            r#"spec.ipv4.cidr: Invalid value: "198.51.100.7/24": has address bits beyond its prefix length; the network is 198.51.100.0/24"#,
        ]);
        world
            .create(v4(json!({"cidr": "2001:db8::/64"})))
            .refused(&[r#"spec.ipv4.cidr: Invalid value: "2001:db8::/64": must be an IPv4 network"#]);
        world.create(v4(json!({"cidr": "224.0.0.0/8"}))).refused(&[
            r#"spec.ipv4.cidr: Invalid value: "224.0.0.0/8": must be a network whose addresses stations can have"#,
        ]);
    }

    #[test]
    fn overlaps_and_reserved_fields_are_worth_a_word() {
        let other = object("Network", "other", json!({"ipv4": {"cidr": "198.51.100.128/25"}}));
        let world = World::new([other]);
        world.create(network(json!({"ipv4": {"cidr": "198.51.100.0/25"}}))).taken();
        world
            .create(network(json!({"ipv4": {"cidr": "198.51.100.0/24"}})))
            .warned(&[r#"198.51.100.0/24 overlaps 198.51.100.128/25 of Network "other""#]);
        world
            .create(network(json!({"vlan": 1, "allocationPool": {"ipv4": "private/x"}})))
            .warned(&["spec.allocationPool is kept for automatic allocation and has no effect now"]);
    }

    #[test]
    fn an_identifier_names_one_segment() {
        let other = object("Network", "other", json!({"vlan": 234, "vni": 10234}));
        let world = World::new([other]);
        world.create(network(json!({"vlan": 234, "vni": 10235}))).taken();
        world
            .create(network(json!({"vlan": 234, "vni": 10234})))
            .warned(&[r#"spec.vni: Network "other" describes the same segment"#]);
        world
            .create(network(json!({"vlan": 235, "vni": 10234})))
            .refused(&[r#"spec.vni: Duplicate value: 10234: Network "other" uses it for the segment of VLAN 234"#]);
    }

    #[test]
    fn a_change_takes_nothing_from_its_users() {
        let before = || network(json!({"vlan": 300, "ipv4": {"cidr": "203.0.113.0/28"}}));
        let inbound = |spec: Value| object("Inbound", "in", spec);
        let counted = || inbound(json!({"networkRef": "net", "count": 5}));
        let explicit = || inbound(json!({"networkRef": "net", "addresses": {"ipv4": ["203.0.113.9"]}}));

        let world = World::new([before(), counted()]);
        world.update(network(json!({"vlan": 300, "ipv4": {"cidr": "203.0.113.0/29"}}))).taken();
        world
            .update(network(json!({"vlan": 300, "ipv4": {"cidr": "203.0.113.0/30"}})))
            .refused(&["spec.ipv4.cidr: Forbidden: 5 IPv4 addresses are asked for, and only 2 would be left"]);
        world
            .update(network(json!({"vlan": 300})))
            .refused(&[r#"spec.ipv4: Required value: Inbound "in" needs addresses of this network"#]);
        World::new([before(), explicit()]).update(network(json!({"vlan": 300, "ipv4": {"cidr": "203.0.113.0/29"}}))).refused(&[
            r#"spec.ipv4.cidr: Invalid value: "203.0.113.0/29": Inbound "in" has 203.0.113.9/32, which would be outside"#,
        ]);
        let attachment = object("Layer2Attachment", "l2", json!({"networkRef": "net", "interfaceRef": "bond0"}));
        let world = World::new([before(), attachment]);
        world.update(network(json!({"vlan": 301}))).taken();
        world.update(network(json!({"vlan": 300, "vni": 5}))).refused(&[
            r#"spec.vni: Forbidden: Layer2Attachment "l2" brings this network to an existing interface, where there is no VNI"#,
        ]);
        world
            .update(network(json!({"ipv4": {"cidr": "203.0.113.0/28"}})))
            .refused(&[r#"spec.vlan: Required value: Layer2Attachment "l2" needs it"#]);
    }

    #[test]
    fn deleting_one_that_is_used_is_worth_a_word() {
        let net = network(json!({"vlan": 1}));
        let user = |n: u8| {
            object("Layer2Attachment", &format!("l2-{n}"), json!({"networkRef": "net", "interfaceRef": "bond0"}))
        };
        World::new([net.clone()]).delete(net.clone()).taken();
        World::new([net.clone(), user(1), user(2), user(3), user(4)]).delete(net).warned(&[
            r#"Network "net" is still used by Layer2Attachment "l2-1", Layer2Attachment "l2-2", Layer2Attachment "l2-3" and 1 more"#,
        ]);
    }
}
