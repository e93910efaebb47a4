//! What an `Inbound` must keep.

use netloom_api::fabric::{Inbound, inbound::InboundSpec, operator::Flavour};
use serde_json::Value;

use super::{
    consumer::Consumer,
    index, kind,
    pool::{self, PoolRequest},
    raw,
    related::{self, Reference, others_under},
    settings,
};
use crate::{Admitted, Findings, Index, Operation, Review, Write};

impl Admitted for Inbound {
    const INDEXES: &'static [Index] = index::OF_INBOUND;

    fn complete(_review: &Review<'_>, object: &mut Value) {
        pool::plain_addresses(object);
    }

    fn admit(write: &Write<'_, Self>, findings: &mut Findings) {
        let review = write.review;
        if review.operation == Operation::Delete {
            related::warn_in_use(review, findings, &users(review));
        }
        let Some(new) = related::to_judge(write) else { return };
        let spec = &new.spec;
        let consumer = Consumer {
            destinations: spec.destinations.as_ref(),
            nodes: spec.node_selector.as_ref(),
            communities: &spec.communities,
            routes: &[],
            must_match: false,
        };
        consumer.check(review, findings);
        if spec.disable_aggregation && spec.destinations.is_none() {
            findings.warn("spec.disableAggregation has no effect without spec.destinations");
        }
        check_load_balancer(review, findings, spec);
        let reference = Reference {
            kind: kind::NETWORK,
            path: "spec.networkRef".into(),
            name: &spec.network_ref,
            before: write.old.as_ref().map(|old| &*old.spec.network_ref),
        };
        let network = reference.resolve(review, findings);
        let pool_request = PoolRequest { count: spec.count, addresses: spec.addresses.as_ref() };
        pool::check(review, findings, &pool_request, network.as_ref());
    }
}

/// Everything that refers to this object.
fn users(review: &Review<'_>) -> Vec<std::sync::Arc<Value>> {
    let mut users = review.view.lookup(kind::BGP_NEIGHBOR, index::INBOUND, review.name);
    let source = index::source_key(review.kind.kind, review.name);
    users.extend(review.view.lookup(kind::TRAFFIC_MIRROR, index::SOURCE, &source));
    users
}

fn check_load_balancer(review: &Review<'_>, findings: &mut Findings, spec: &InboundSpec) {
    if spec.tenant_load_balancer_class.is_some() && settings::of(review.view).flavour != Flavour::LegacyFrr {
        findings.forbidden("spec.tenantLoadBalancerClass", "is only possible with the fabric flavour legacy-frr");
    }
    if spec.disable_load_balancer {
        if spec.pool_name.is_some() {
            findings.warn("spec.poolName has no effect when disableLoadBalancer is set");
        }
        return;
    }
    if let Some(neighbor) = review.view.lookup(kind::BGP_NEIGHBOR, index::INBOUND, review.name).first() {
        let detail = format!("must be true, because workloads announce the addresses through {}", raw::shown(neighbor));
        findings.invalid("spec.disableLoadBalancer", false, detail);
    }
    let pool = spec.pool_name.as_deref().unwrap_or(review.name);
    if let Some(other) = others_under(review, kind::INBOUND, index::POOL, pool).first() {
        findings.duplicate("spec.poolName", pool, format!("{} makes the pool of this name", raw::shown(other)));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use netloom_api::fabric::operator::OperatorConfig;

    use crate::fabric::table::{World, labelled, merged, object};

    fn inbound(spec: Value) -> Value {
        object("Inbound", "in", spec)
    }

    fn net() -> Value {
        object(
            "Network",
            "ingress-net",
            json!({"ipv4": {"cidr": "203.0.113.0/28"}, "ipv6": {"cidr": "2001:db8:200::/64"}, "vlan": 300}),
        )
    }

    fn counted(count: u32) -> Value {
        inbound(json!({"networkRef": "ingress-net", "count": count}))
    }

    fn explicit(v4: &[&str]) -> Value {
        inbound(json!({"networkRef": "ingress-net", "addresses": {"ipv4": v4}}))
    }

    fn other(kind: &str, spec: Value) -> Value {
        object(kind, "other", spec)
    }

    #[test]
    fn the_network_exists_and_has_addresses() {
        World::new([net()]).create(counted(2)).taken();
        World::new([])
            .create(counted(2))
            .refused(&[r#"spec.networkRef: Not found: "ingress-net": there is no Network of this name"#]);
        let bare = object("Network", "ingress-net", json!({"vlan": 300}));
        World::new([bare]).create(counted(2)).refused(&[
            r#"spec.networkRef: Invalid value: "ingress-net": Network "ingress-net" has neither ipv4 nor ipv6"#,
        ]);
    }

    #[test]
    fn addresses_are_asked_for_in_one_way() {
        let world = World::new([net()]);
        world.create(explicit(&["203.0.113.1"])).taken();
        world
            .create(inbound(json!({"networkRef": "ingress-net"})))
            .refused(&["spec.count: Required value: one of count and addresses must be given"]);
        world
            .create(inbound(json!({"networkRef": "ingress-net", "count": 1, "addresses": {"ipv4": ["203.0.113.1"]}})))
            .refused(&["spec.addresses: Forbidden: count and addresses exclude each other"]);
        world
            .create(inbound(json!({"networkRef": "ingress-net", "addresses": {}})))
            .refused(&["spec.addresses: Required value: must hold at least one address"]);
    }

    #[test]
    fn the_network_has_room_for_all_of_its_users() {
        World::new([net()]).create(counted(14)).taken();
        World::new([net()]).create(counted(15)).refused(&[
            r#"spec.count: Invalid value: 15: Network "ingress-net" has 14 usable IPv4 addresses, of which 0 are asked for already"#,
        ]);
        let out = || other("Outbound", json!({"networkRef": "ingress-net", "count": 10}));
        World::new([net(), out()]).create(counted(4)).taken();
        World::new([net(), out()]).create(counted(5)).refused(&[
            r#"spec.count: Invalid value: 5: Network "ingress-net" has 14 usable IPv4 addresses, of which 10 are asked for already"#,
        ]);
        let segment = || {
            other(
                "Layer2Attachment",
                json!({"networkRef": "ingress-net", "interfaceName": "x", "destinations": {}, "nodeIPs": {"enabled": true, "reservedForPods": 3}}),
            )
        };
        World::new([net(), segment()]).create(counted(10)).taken();
        World::new([net(), segment()]).create(counted(11)).refused(&[
            r#"spec.count: Invalid value: 11: Network "ingress-net" has 10 usable IPv4 addresses, of which 0 are asked for already"#,
        ]);
        let blocks = |v4: &[&str]| World::new([net(), out()]).create(explicit(v4));
        blocks(&["203.0.113.12/31", "203.0.113.10/31"]).taken();
        blocks(&["203.0.113.12/31", "203.0.113.10/31", "203.0.113.9"]).refused(&[
            r#"spec.addresses.ipv4: Invalid value: 5: Network "ingress-net" has 14 usable IPv4 addresses, of which 10 are asked for already"#,
        ]);
    }

    #[test]
    fn an_address_is_a_free_one_of_the_network() {
        let world = World::new([net()]);
        let refused = |text: &str, why: &str| {
            world
                .create(explicit(&[text]))
                .refused(&[&format!("spec.addresses.ipv4[0]: Invalid value: {text:?}: {why}")]);
        };
        refused("203.0.113.16", "is not in 203.0.113.0/28");
        refused("203.0.113.0", "is the address of the network 203.0.113.0/28 itself");
        refused("203.0.113.15", "is the broadcast address of 203.0.113.0/28");
        refused("2001:db8:200::1", "must be an IPv4 address");
        refused("nonsense", "must be an IP address without a prefix length");
        refused("203.0.113.9/29", "has address bits beyond its prefix length; the network is 203.0.113.8/29");
        world.create(explicit(&["203.0.113.8/30", "203.0.113.11"])).refused(&[
            r#"spec.addresses.ipv4[1]: Duplicate value: "203.0.113.11": overlaps 203.0.113.8/30 in the same list"#,
        ]);
        let v4_only = object("Network", "ingress-net", json!({"ipv4": {"cidr": "203.0.113.0/28"}}));
        World::new([v4_only])
            .create(inbound(json!({"networkRef": "ingress-net", "addresses": {"ipv6": ["2001:db8:200::1"]}})))
            .refused(&[
                r#"spec.addresses.ipv6[0]: Invalid value: "2001:db8:200::1": the network has no IPv6 addresses"#,
            ]);
        let segment =
            other("Layer2Attachment", json!({"networkRef": "ingress-net", "interfaceName": "x", "destinations": {}}));
        World::new([net(), segment]).create(explicit(&["203.0.113.1"])).refused(&[
            r#"spec.addresses.ipv4[0]: Invalid value: "203.0.113.1": the gateway 203.0.113.1 of the network is not free"#,
        ]);
    }

    #[test]
    fn an_address_has_one_user() {
        let mut out = other(
            "Outbound",
            json!({"networkRef": "ingress-net", "addresses": {"ipv4": ["203.0.113.4", "203.0.113.5"]}}),
        );
        World::new([net(), out.clone()]).create(explicit(&["203.0.113.6"])).taken();
        World::new([net(), out.clone()])
            .create(explicit(&["203.0.113.5"]))
            .refused(&[r#"spec.addresses.ipv4[0]: Duplicate value: "203.0.113.5": Outbound "other" has it already"#]);
        World::new([net(), out.clone()]).create(explicit(&["203.0.113.4/30"])).refused(&[
            r#"spec.addresses.ipv4[0]: Duplicate value: "203.0.113.4/30": Outbound "other" has it already"#,
        ]);
        out["spec"] = json!({"networkRef": "ingress-net", "count": 2});
        out["status"] = json!({"addresses": {"ipv4": ["203.0.113.1", "203.0.113.2"]}});
        World::new([net(), out])
            .create(explicit(&["203.0.113.2"]))
            .refused(&[r#"spec.addresses.ipv4[0]: Duplicate value: "203.0.113.2": Outbound "other" has it already"#]);
        let own = explicit(&["203.0.113.4"]);
        World::new([net(), own]).update(explicit(&["203.0.113.4", "203.0.113.5"])).taken();
    }

    #[test]
    fn what_was_taken_once_holds_nothing_up() {
        let gone = object("Network", "ingress-net", json!({"ipv4": {"cidr": "192.0.2.0/30"}}));
        let more = |addresses: &[&str]| {
            let mut object = explicit(addresses);
            object["spec"]["disableLoadBalancer"] = json!(true);
            object
        };
        let world = World::new([gone.clone(), explicit(&["203.0.113.4"])]);
        world.update(more(&["203.0.113.4"])).taken();
        world
            .update(more(&["203.0.113.4", "203.0.113.5"]))
            .refused(&[r#"spec.addresses.ipv4[1]: Invalid value: "203.0.113.5": is not in 192.0.2.0/30"#]);
        let world = World::new([gone, counted(5)]);
        world.update(counted(4)).taken();
        world.update(counted(6)).refused(&[
            r#"spec.count: Invalid value: 6: Network "ingress-net" has 2 usable IPv4 addresses, of which 0 are asked for already"#,
        ]);
    }

    #[test]
    fn host_networks_are_kept_as_plain_addresses() {
        let answer = World::new([net()]).create(explicit(&["203.0.113.1/32"]));
        answer.taken();
        let wanted = json!([{"op": "replace", "path": "/spec/addresses/ipv4/0", "value": "203.0.113.1"}]);
        assert_eq!(answer.verdict.patch, Some(wanted));
    }

    #[test]
    fn a_pool_is_made_once_and_only_when_it_is_wanted() {
        let with = |more: Value| inbound(merged(json!({"networkRef": "ingress-net", "count": 1}), more));
        let pooled = |name: &str| other("Inbound", json!({"networkRef": "ingress-net", "count": 1, "poolName": name}));
        World::new([net(), pooled("a")]).create(with(json!({"poolName": "b"}))).taken();
        World::new([net(), pooled("b")])
            .create(with(json!({"poolName": "b"})))
            .refused(&[r#"spec.poolName: Duplicate value: "b": Inbound "other" makes the pool of this name"#]);
        World::new([net(), pooled("in")])
            .create(with(json!({})))
            .refused(&[r#"spec.poolName: Duplicate value: "in": Inbound "other" makes the pool of this name"#]);
        World::new([net()])
            .create(with(json!({"poolName": "b", "disableLoadBalancer": true})))
            .warned(&["spec.poolName has no effect when disableLoadBalancer is set"]);
        World::new([net()])
            .create(with(json!({"tenantLoadBalancerClass": "kube-vip"})))
            .refused(&["spec.tenantLoadBalancerClass: Forbidden: is only possible with the fabric flavour legacy-frr"]);
        World::new([net(), OperatorConfig::config_map("flavour: legacy-frr")])
            .create(with(json!({"tenantLoadBalancerClass": "kube-vip"})))
            .taken();
        World::new([net()])
            .create(with(json!({"disableAggregation": true})))
            .warned(&["spec.disableAggregation has no effect without spec.destinations"]);
    }

    #[test]
    fn workloads_and_metallb_do_not_announce_the_same() {
        let before = inbound(json!({"networkRef": "ingress-net", "count": 1, "disableLoadBalancer": true}));
        let neighbor = other("BGPNeighbor", json!({"allowedInbounds": [{"name": "in"}]}));
        World::new([net(), before.clone()]).update(counted(1)).taken();
        World::new([net(), before, neighbor]).update(counted(1)).refused(&[
            r#"spec.disableLoadBalancer: Invalid value: false: must be true, because workloads announce the addresses through BGPNeighbor "other""#,
        ]);
    }

    #[test]
    fn a_vrf_is_configured_by_intents_or_manually() {
        let vrf = || object("VRF", "v", json!({"vrf": "m2m_enc"}));
        let destination = || labelled(object("Destination", "d", json!({"vrfRef": "v"})), json!({"zone": "secure"}));
        let manual_object = |labels: Value| {
            labelled(
                other("VRFRouteConfiguration", json!({"vrf": "m2m_enc", "seq": 1, "import": [], "export": []})),
                labels,
            )
        };
        let wanted = || {
            inbound(
                json!({"networkRef": "ingress-net", "count": 1, "destinations": {"matchLabels": {"zone": "secure"}}}),
            )
        };
        let generated = json!({"network.t-caas.telekom.com/owner-kind": "Inbound"});
        World::new([net(), vrf(), destination(), manual_object(generated)]).create(wanted()).taken();
        World::new([net(), vrf(), destination(), manual_object(json!({}))]).create(wanted()).refused(&[
            r#"spec.destinations: Forbidden: VRF "m2m_enc" is configured manually in VRFRouteConfiguration "other" on some of the same nodes; remove that first"#,
        ]);
    }

    #[test]
    fn pods_have_their_network_for_themselves() {
        let pods = other("PodNetwork", json!({"networkRef": "ingress-net"}));
        World::new([net(), pods]).create(counted(1)).refused(&[
            r#"spec.networkRef: Invalid value: "ingress-net": all of its addresses belong to the pods of PodNetwork "other""#,
        ]);
    }

    #[test]
    fn deleting_one_that_is_used_is_worth_a_word() {
        let neighbor = other("BGPNeighbor", json!({"allowedInbounds": [{"name": "in"}]}));
        World::new([net()]).delete(counted(1)).taken();
        World::new([net(), neighbor])
            .delete(counted(1))
            .warned(&[r#"Inbound "in" is still used by BGPNeighbor "other""#]);
    }
}
