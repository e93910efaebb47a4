//! What a `Layer2NetworkConfiguration` must keep.
//!
//! Rules between objects concern manually written ones: the generated ones follow from intents, whose
//! own rules have been kept.

use netloom_api::fabric::{
    Layer2NetworkConfiguration, layer2_network_configuration::Layer2NetworkConfigurationSpec, selector::nodes_meet,
    text::InterfaceAddress,
};
use serde_json::Value;

use super::{
    generated, index, kind, names, raw,
    related::{self, others_under},
    scope, selectors, value,
    vni::{self, Meaning},
};
use crate::{Admitted, Findings, Index, Operation, Review, Write};

impl Admitted for Layer2NetworkConfiguration {
    const INDEXES: &'static [Index] = index::OF_LAYER2_CONFIGURATION;

    fn admit(write: &Write<'_, Self>, findings: &mut Findings) {
        let review = write.review;
        generated::protect(review, findings);
        if review.operation == Operation::Delete {
            related::warn_in_use(review, findings, &users(review));
        }
        let Some(new) = related::to_judge(write) else { return };
        let spec = &new.spec;
        selectors::check(findings, "spec.nodeSelector", spec.node_selector.as_ref());
        if let Some(mac) = &spec.anycast_mac {
            value::station_mac(findings, "spec.anycastMac", mac);
        }
        if let Some(name) = &spec.interface_name {
            names::bridge(findings, "spec.interfaceName", name);
        }
        if spec.advertise_neighbors {
            findings.warn("spec.advertiseNeighbors changes nothing: EVPN announces neighbours of every segment anyway");
        }
        check_gateways(findings, &spec.anycast_gateways);
        if let Some(vrf) = spec.vrf.as_deref().filter(|vrf| *vrf != "cluster") {
            names::vrf(findings, "spec.vrf", vrf);
        }
        if review.object.is_some_and(|object| !generated::is_generated(object)) {
            check_others(review, findings, spec);
        }
    }
}

fn users(review: &Review<'_>) -> Vec<std::sync::Arc<Value>> {
    let mut users = review.view.lookup(kind::BGP_PEERING, index::VLAN, review.name);
    let source = index::source_key(review.kind.kind, review.name);
    users.extend(review.view.lookup(kind::MIRROR_SELECTOR, index::SOURCE, &source));
    users
}

fn check_gateways(findings: &mut Findings, gateways: &[InterfaceAddress]) {
    for (index, text) in gateways.iter().enumerate() {
        let path = format!("spec.anycastGateways[{index}]");
        let Some(net) = value::network(text) else {
            findings.invalid(path, &**text, "must be an address with a prefix length, such as 198.51.100.1/24");
            continue;
        };
        let bits = net.max_prefix_len() - net.prefix_len();
        if bits == 0 {
            findings.invalid(path, &**text, "leaves no room for a station beside the gateway");
        } else if bits > 1 && net.addr() == net.network() {
            findings.invalid(
                path,
                &**text,
                "is the address of the network itself; a gateway needs one of its stations",
            );
        } else if bits > 1 && net.addr().is_ipv4() && net.addr() == net.broadcast() {
            findings.invalid(path, &**text, "is the broadcast address of the network");
        }
    }
}

fn check_others(review: &Review<'_>, findings: &mut Findings, spec: &Layer2NetworkConfigurationSpec) {
    vni::check(review, findings, "spec.vni", spec.vni, Meaning::Segment(Some(spec.id)));
    let nodes = spec.node_selector.as_ref();
    let twins = others_under(review, kind::LAYER2_CONFIGURATION, index::VLAN, &spec.id.to_string());
    let on_same_nodes = |object: &Value| {
        !generated::is_generated(object) && nodes_meet(nodes, raw::selector(object, "nodeSelector").as_ref())
    };
    if let Some(twin) = twins.iter().find(|object| on_same_nodes(object)) {
        findings.duplicate("spec.id", spec.id, format!("{} has this VLAN on some of the same nodes", raw::shown(twin)));
    } else {
        check_bridge(review, findings, spec);
    }
    if !scope::keeps(review, &["id", "vni", "nodeSelector"])
        && let Some(intent) = scope::intent_on_segment(review.view, spec.id, spec.vni, nodes)
    {
        let detail = format!("the segment belongs to {} on some of the same nodes", raw::shown(&intent));
        findings.forbidden("spec.id", detail);
    }
}

/// A bridge has a name of its own on each node, be it given or follow from the VLAN.
fn check_bridge(review: &Review<'_>, findings: &mut Findings, spec: &Layer2NetworkConfigurationSpec) {
    let name = spec.interface_name.as_ref().map_or_else(|| format!("l2.{}", spec.id), |name| name.0.clone());
    let nodes = spec.node_selector.as_ref();
    let meets = |object: &Value| nodes_meet(nodes, raw::selector(object, "nodeSelector").as_ref());
    for kind in [kind::LAYER2_CONFIGURATION, kind::LAYER2_ATTACHMENT] {
        let others = others_under(review, kind, index::INTERFACE, &name);
        let other = others.into_iter().find(|object| !generated::is_generated(object) && meets(object));
        if let Some(other) = other {
            let detail = format!("{} has a bridge of this name on some of the same nodes", raw::shown(&other));
            findings.duplicate("spec.interfaceName", name, detail);
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::{
        User,
        fabric::table::{World, labelled, merged, object},
    };

    fn layer2(more: Value) -> Value {
        object("Layer2NetworkConfiguration", "l2", merged(json!({"id": 234, "mtu": 1500, "vni": 10234}), more))
    }

    fn pool(name: &str) -> Value {
        json!({"nodeSelector": {"matchLabels": {"pool": name}}})
    }

    fn renamed(mut object: Value) -> Value {
        object["metadata"]["name"] = json!("other");
        object
    }

    fn owned() -> Value {
        json!({"network.t-caas.telekom.com/owner-kind": "Layer2Attachment", "network.t-caas.telekom.com/owner-name": "a"})
    }

    #[test]
    fn gateways_are_stations() {
        let world = World::new([]);
        let with = |gateway: &str| world.create(layer2(json!({"anycastGateways": [gateway]})));
        with("198.51.100.129/25").taken();
        with("198.51.100.0/31").taken();
        let refused = |gateway: &str, why: &str| {
            with(gateway).refused(&[&format!("spec.anycastGateways[0]: Invalid value: {gateway:?}: {why}")]);
        };
        refused("198.51.100.128/25", "is the address of the network itself; a gateway needs one of its stations");
        refused("198.51.100.255/25", "is the broadcast address of the network");
        refused("198.51.100.1/32", "leaves no room for a station beside the gateway");
        refused("198.51.100.1", "must be an address with a prefix length, such as 198.51.100.1/24");
    }

    #[test]
    fn names_and_hardware_addresses_are_possible() {
        let world = World::new([]);
        world.create(layer2(json!({"vrf": "cluster", "anycastMac": "02:00:00:00:00:01"}))).taken();
        world
            .create(layer2(json!({"vrf": "hbn"})))
            .refused(&[r#"spec.vrf: Invalid value: "hbn": is the name of an interface that every node has already"#]);
        world.create(layer2(json!({"anycastMac": "00:00:00:00:00:00"}))).refused(&[
            r#"spec.anycastMac: Invalid value: "00:00:00:00:00:00": must be the hardware address of one station: not zero, and no group address"#,
        ]);
    }

    #[test]
    fn ids_are_unique_where_they_meet() {
        let world = World::new([renamed(layer2(pool("a")))]);
        world.create(layer2(pool("b"))).taken();
        world.create(layer2(pool("a"))).refused(&[
            r#"spec.id: Duplicate value: 234: Layer2NetworkConfiguration "other" has this VLAN on some of the same nodes"#,
        ]);
        let mut elsewhere = pool("b");
        elsewhere["id"] = json!(235);
        world.create(layer2(elsewhere)).refused(&[
            r#"spec.vni: Duplicate value: 10234: Layer2NetworkConfiguration "other" uses it for the segment of VLAN 234"#,
        ]);
    }

    #[test]
    fn announcing_neighbours_is_worth_a_word() {
        World::new([])
            .create(layer2(json!({"advertiseNeighbors": true})))
            .warned(&["spec.advertiseNeighbors changes nothing: EVPN announces neighbours of every segment anyway"]);
    }

    #[test]
    fn a_bridge_has_its_name_alone_on_a_node() {
        let default = || renamed(layer2(json!({"id": 235, "vni": 10235})));
        let named = |name: &str| layer2(json!({"interfaceName": name}));
        World::new([default()]).create(named("l2.prod")).taken();
        World::new([default()]).create(named("l2.235")).refused(&[
            r#"spec.interfaceName: Duplicate value: "l2.235": Layer2NetworkConfiguration "other" has a bridge of this name on some of the same nodes"#,
        ]);
        World::new([named("l2.235")]).create(default()).refused(&[
            r#"spec.interfaceName: Duplicate value: "l2.235": Layer2NetworkConfiguration "l2" has a bridge of this name on some of the same nodes"#,
        ]);
        World::new([]).create(named("prod")).refused(&[
            r#"spec.interfaceName: Invalid value: "prod": must begin with "l2.", as the bridges of all segments do"#,
        ]);
    }

    #[test]
    fn a_segment_is_configured_by_intents_or_manually() {
        let net = || object("Network", "n", json!({"vlan": 234, "vni": 10234}));
        let mut spec = pool("a");
        spec["networkRef"] = json!("n");
        spec["interfaceName"] = json!("x");
        let intent = || object("Layer2Attachment", "a", spec.clone());
        World::new([net(), intent()]).create(layer2(pool("b"))).taken();
        World::new([net(), intent()])
            .create(layer2(pool("a")))
            .refused(&[r#"spec.id: Forbidden: the segment belongs to Layer2Attachment "a" on some of the same nodes"#]);
        let controller = User::new("system:serviceaccount:netloom-system:netloom-controller", &[]);
        World::new([net(), intent()]).user(controller).create(labelled(layer2(pool("a")), owned())).taken();
        World::new([net(), intent(), layer2(pool("a"))])
            .update(layer2(json!({"nodeSelector": pool("a")["nodeSelector"], "mtu": 9000})))
            .taken();
    }

    #[test]
    fn what_is_generated_is_changed_by_the_controller_alone() {
        let stored = || labelled(layer2(json!({})), owned());
        let changed = || labelled(layer2(json!({"mtu": 9000})), owned());
        let controller = || User::new("netloom", &["netloom:controllers"]);
        World::new([stored()]).user(controller()).update(changed()).taken();
        World::new([stored()]).update(changed()).forbidden(
            r#"Layer2NetworkConfiguration "l2" is generated from Layer2Attachment "a"; change that object instead"#,
        );
        World::new([stored()]).update(layer2(json!({}))).forbidden(
            r#"Layer2NetworkConfiguration "l2" is generated from Layer2Attachment "a"; change that object instead"#,
        );
        World::new([])
            .create(stored())
            .forbidden("the label network.t-caas.telekom.com/owner-kind marks objects that the controller generates");
        World::new([]).delete(stored()).warned(&[
            r#"Layer2NetworkConfiguration "l2" is generated from Layer2Attachment "a" and will be recreated while that exists"#,
        ]);
    }

    #[test]
    fn deleting_one_that_is_used_is_worth_a_word() {
        let peering = object(
            "BGPPeering",
            "p",
            json!({"peeringVlan": {"name": "l2"}, "remoteASN": 1, "enableBFD": false, "import": [], "export": []}),
        );
        World::new([peering])
            .delete(layer2(json!({})))
            .warned(&[r#"Layer2NetworkConfiguration "l2" is still used by BGPPeering "p""#]);
    }
}
