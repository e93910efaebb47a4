//! What an `Outbound` must keep.

use netloom_api::fabric::{Outbound, outbound::OutboundSpec};
use netloom_types::Family;
use serde_json::Value;

use super::{
    consumer::Consumer,
    index, kind,
    pool::{self, PoolRequest},
    related::{self, Reference},
    value,
};
use crate::{Admitted, Findings, Index, Operation, Review, Write};

impl Admitted for Outbound {
    const INDEXES: &'static [Index] = index::OF_OUTBOUND;

    fn complete(_review: &Review<'_>, object: &mut Value) {
        pool::plain_addresses(object);
    }

    fn admit(write: &Write<'_, Self>, findings: &mut Findings) {
        let review = write.review;
        if review.operation == Operation::Delete {
            let source = index::source_key(review.kind.kind, review.name);
            related::warn_in_use(review, findings, &review.view.lookup(kind::TRAFFIC_MIRROR, index::SOURCE, &source));
        }
        let Some(new) = related::to_judge(write) else { return };
        let spec = &new.spec;
        let consumer = Consumer {
            destinations: spec.destinations.as_ref(),
            nodes: spec.node_selector.as_ref(),
            communities: &spec.communities,
            routes: &[],
            must_match: true,
        };
        consumer.check(review, findings);
        if spec.disable_aggregation && spec.destinations.is_none() {
            findings.warn("spec.disableAggregation has no effect without spec.destinations");
        }
        value::prefixes(findings, "spec.egressDestinations", &spec.egress_destinations);
        check_replicas(findings, spec);
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

/// A gateway that is being replaced needs an address beside those that run.
fn check_replicas(findings: &mut Findings, spec: &OutboundSpec) {
    let replicas = spec.replicas;
    if let Some(count) = spec.count.filter(|count| *count <= replicas) {
        findings.invalid("spec.count", count, format!("must be more than the {replicas} of replicas"));
    }
    for family in [Family::Ipv4, Family::Ipv6] {
        let listed = spec.addresses.as_ref().map_or(0, |addresses| pool::listed(addresses, family));
        if listed > 0 && listed <= replicas.into() {
            let shown = u64::try_from(listed).unwrap_or(u64::MAX);
            findings.invalid(
                format!("spec.addresses.{family}"),
                shown,
                format!("must be more than the {replicas} of replicas"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::fabric::table::{World, labelled, merged, object};

    fn outbound(more: Value) -> Value {
        object("Outbound", "out", merged(json!({"networkRef": "egress-net"}), more))
    }

    fn net() -> Value {
        object("Network", "egress-net", json!({"ipv4": {"cidr": "203.0.113.16/28"}, "vlan": 301}))
    }

    #[test]
    fn the_network_exists_and_has_addresses() {
        World::new([net()]).create(outbound(json!({"count": 2}))).taken();
        World::new([])
            .create(outbound(json!({"count": 2})))
            .refused(&[r#"spec.networkRef: Not found: "egress-net": there is no Network of this name"#]);
        World::new([object("Network", "egress-net", json!({"vlan": 301}))])
            .create(outbound(json!({"count": 2})))
            .refused(&[
                r#"spec.networkRef: Invalid value: "egress-net": Network "egress-net" has neither ipv4 nor ipv6"#,
            ]);
    }

    #[test]
    fn there_is_an_address_more_than_gateways() {
        let world = World::new([net()]);
        world.create(outbound(json!({"count": 3, "replicas": 2}))).taken();
        world
            .create(outbound(json!({"count": 2, "replicas": 2})))
            .refused(&["spec.count: Invalid value: 2: must be more than the 2 of replicas"]);
        world
            .create(outbound(json!({"count": 1})))
            .refused(&["spec.count: Invalid value: 1: must be more than the 1 of replicas"]);
        world.create(outbound(json!({"addresses": {"ipv4": ["203.0.113.17", "203.0.113.18"]}}))).taken();
        world.create(outbound(json!({"addresses": {"ipv4": ["203.0.113.18/31"]}}))).taken();
        world
            .create(outbound(json!({"addresses": {"ipv4": ["203.0.113.17"]}})))
            .refused(&["spec.addresses.ipv4: Invalid value: 1: must be more than the 1 of replicas"]);
    }

    #[test]
    fn addresses_are_asked_for_in_one_way() {
        World::new([net()])
            .create(outbound(json!({})))
            .refused(&["spec.count: Required value: one of count and addresses must be given"]);
        World::new([net()])
            .create(outbound(json!({"count": 2, "addresses": {"ipv4": ["203.0.113.18/31"]}})))
            .refused(&["spec.addresses: Forbidden: count and addresses exclude each other"]);
    }

    #[test]
    fn something_is_picked_when_something_is_selected() {
        let wanted = || outbound(json!({"count": 2, "destinations": {"matchLabels": {"zone": "secure"}}}));
        let destination = labelled(object("Destination", "d", json!({"vrfRef": "v"})), json!({"zone": "secure"}));
        World::new([net(), destination]).create(wanted()).taken();
        World::new([net()]).create(wanted()).refused(&[
            r#"spec.destinations: Invalid value: {"matchLabels":{"zone":"secure"}}: must match at least one Destination"#,
        ]);
        let more = outbound(json!({"count": 3, "destinations": {"matchLabels": {"zone": "secure"}}}));
        World::new([net(), wanted()]).update(more).warned(&["spec.destinations matches no Destination yet"]);
    }

    #[test]
    fn what_is_reached_is_a_list_of_networks() {
        let with = |cidr: &str| outbound(json!({"count": 2, "egressDestinations": [cidr]}));
        World::new([net()]).create(with("198.51.100.0/24")).taken();
        World::new([net()]).create(with("198.51.100.9/24")).refused(&[
            r#"spec.egressDestinations[0]: Invalid value: "198.51.100.9/24": has address bits beyond its prefix length; the network is 198.51.100.0/24"#,
        ]);
    }

    #[test]
    fn deleting_one_whose_traffic_is_copied_is_worth_a_word() {
        let mirror = object(
            "TrafficMirror",
            "m",
            json!({"source": {"kind": "Outbound", "name": "out"}, "collector": "c", "direction": "egress"}),
        );
        World::new([mirror])
            .delete(outbound(json!({"count": 2})))
            .warned(&[r#"Outbound "out" is still used by TrafficMirror "m""#]);
    }
}
