//! What a `PodNetwork` must keep.

use netloom_api::fabric::PodNetwork;
use serde_json::Value;

use super::{
    consumer::Consumer,
    index, kind, raw,
    related::{self, Reference},
    space,
};
use crate::{Admitted, Findings, Index, Review, Write};

impl Admitted for PodNetwork {
    const INDEXES: &'static [Index] = index::OF_POD_NETWORK;

    fn admit(write: &Write<'_, Self>, findings: &mut Findings) {
        let Some(new) = related::to_judge(write) else { return };
        let spec = &new.spec;
        let consumer = Consumer {
            destinations: spec.destinations.as_ref(),
            nodes: spec.node_selector.as_ref(),
            communities: &spec.communities,
            routes: &spec.routes,
            must_match: false,
        };
        consumer.check(write.review, findings);
        let reference = Reference {
            kind: kind::NETWORK,
            path: "spec.networkRef".into(),
            name: &spec.network_ref,
            before: write.old.as_ref().map(|old| &*old.spec.network_ref),
        };
        if let Some(network) = reference.resolve(write.review, findings) {
            check_network(write.review, findings, &network);
        }
    }
}

/// All addresses of the network go to pods, so nobody else may use any.
fn check_network(review: &Review<'_>, findings: &mut Findings, network: &Value) {
    let name = raw::name(network);
    if space::networks(network).is_empty() {
        findings.invalid("spec.networkRef", name, format!("Network {name:?} has neither ipv4 nor ipv6"));
        return;
    }
    let users = related::users_of_network(review.view, name);
    let other = |user: &Value| raw::kind(user) != review.kind.kind || raw::name(user) != review.name;
    if let Some(user) = users.iter().find(|user| other(user) && takes_addresses(user)) {
        findings.invalid("spec.networkRef", name, format!("{} has addresses of this network", raw::shown(user)));
    }
}

fn takes_addresses(user: &Value) -> bool {
    if raw::kind(user) != kind::LAYER2_ATTACHMENT.kind {
        return true;
    }
    let over_fabric = raw::at(user, &["spec", "interfaceRef"]).is_none();
    let routed = raw::at(user, &["spec", "destinations"]).is_some() && !raw::flag(user, &["spec", "disableAnycast"]);
    raw::flag(user, &["spec", "nodeIPs", "enabled"]) || (over_fabric && routed)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::fabric::table::{World, merged, object};

    fn pods(more: Value) -> Value {
        object("PodNetwork", "pods", merged(json!({"networkRef": "pod-net"}), more))
    }

    fn net() -> Value {
        object("Network", "pod-net", json!({"ipv4": {"cidr": "198.51.100.0/24"}}))
    }

    #[test]
    fn the_network_exists_and_has_addresses() {
        World::new([net()]).create(pods(json!({}))).taken();
        World::new([])
            .create(pods(json!({})))
            .refused(&[r#"spec.networkRef: Not found: "pod-net": there is no Network of this name"#]);
        World::new([object("Network", "pod-net", json!({"vlan": 5}))])
            .create(pods(json!({})))
            .refused(&[r#"spec.networkRef: Invalid value: "pod-net": Network "pod-net" has neither ipv4 nor ipv6"#]);
    }

    #[test]
    fn nobody_else_has_addresses_of_the_network() {
        let user = |kind: &str, more: Value| object(kind, "user", merged(json!({"networkRef": "pod-net"}), more));
        World::new([net(), user("Layer2Attachment", json!({"interfaceRef": "bond0"}))]).create(pods(json!({}))).taken();
        for (kind, more) in [
            ("Inbound", json!({"count": 1})),
            ("Outbound", json!({"count": 2})),
            ("PodNetwork", json!({})),
            ("Layer2Attachment", json!({"interfaceRef": "bond0", "nodeIPs": {"enabled": true}})),
            ("Layer2Attachment", json!({"interfaceName": "x", "destinations": {}})),
        ] {
            World::new([net(), user(kind, more)]).create(pods(json!({}))).refused(&[&format!(
                r#"spec.networkRef: Invalid value: "pod-net": {kind} "user" has addresses of this network"#
            )]);
        }
    }

    #[test]
    fn shared_fields_are_checked() {
        let world = World::new([net()]);
        world.create(pods(json!({"communities": ["x"]}))).refused(&[
            r#"spec.communities[0]: Invalid value: "x": must be two numbers from 0 to 65535 joined by a colon, or a well-known name such as no-export"#,
        ]);
        world
            .create(pods(json!({"routes": [{"prefixes": ["198.51.100.64/26"]}]})))
            .warned(&["spec.routes has no effect without spec.destinations"]);
    }
}
