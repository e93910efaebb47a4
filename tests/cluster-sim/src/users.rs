//! What people and others write.

use netloom_agent_core::{CONFIG, NODE, POLICY, STATE};
use netloom_api::GroupKind;
use netloom_compile::ObjectKey;
use netloom_object::ObjectRef;
use serde_json::{Value, json};

use crate::host::{PATH, WIRE};

/// The namespace of everything that has one.
pub(crate) const NAMESPACE: &str = "default";
/// The revisions of configurations.
pub(crate) const REVISION: GroupKind<'static> = GroupKind::new(netloom_api::fabric::GROUP, "NetworkConfigRevision");
/// How changes reach nodes.
pub(crate) const ROLLOUT: GroupKind<'static> = GroupKind::new("netloom.dev", "RolloutPolicy");
/// The link that a person adds on one node alone.
pub(crate) const MANUAL: &str = "hand0";

/// What a policy wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// An MTU of the wire that every node can have.
    Mtu(u64),
    /// One that no card takes; the number only tells desired states apart.
    Refused(u64),
    /// An MTU of the path with which the API is not reached any more.
    CutsPath(u64),
}

impl Wanted {
    /// The policy's specification.
    fn spec(self) -> Value {
        let (link, mtu) = match self {
            Self::Mtu(mtu) => (WIRE, mtu),
            Self::Refused(number) => (WIRE, 20_000 + number),
            Self::CutsPath(mtu) => (PATH, mtu),
        };
        json!({
            "matchRules": [{"name": link}],
            "desiredState": {"interfaces": [{"name": link, "type": "ethernet", "state": "up", "mtu": mtu}]},
        })
    }

    /// The policy.
    pub(crate) fn policy(self) -> Value {
        json!({
            "apiVersion": "nmstate.io/v1", "kind": "NodeNetConfPolicy",
            "metadata": {"namespace": NAMESPACE, "name": "wires"},
            "spec": self.spec(),
        })
    }
}

/// The policy that people change.
pub(crate) fn policy() -> ObjectRef {
    ObjectRef { kind: POLICY, key: ObjectKey::new(NAMESPACE, "wires") }
}

/// The link and the MTU that the frozen policy wants.
pub(crate) fn frozen(revision: &Value) -> Option<(&str, u64)> {
    let policies = revision.pointer("/spec/objects").and_then(Value::as_array);
    let ours = policies.into_iter().flatten().find(|policy| policy["name"] == "wires")?;
    let wanted = ours.pointer("/spec/desiredState/interfaces/0")?;
    Some((wanted.get("name")?.as_str()?, wanted.get("mtu")?.as_u64()?))
}

/// Whether no node can have what a revision says.
pub(crate) fn is_bad(revision: &Value) -> bool {
    frozen(revision).is_some_and(|(link, mtu)| link == PATH || mtu > 9000)
}

/// The name of a node.
pub(crate) fn name(number: usize) -> String {
    format!("n{number:04}")
}

/// A node that is ready.
pub(crate) fn node(number: usize) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name(number), "labels": {"kubernetes.io/hostname": name(number)}},
        "spec": {}, "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    })
}

pub(crate) fn node_of(number: usize) -> ObjectRef {
    ObjectRef { kind: NODE, key: ObjectKey::global(name(number)) }
}

pub(crate) fn state_of(number: usize) -> ObjectRef {
    ObjectRef { kind: STATE, key: ObjectKey::new(NAMESPACE, name(number)) }
}

pub(crate) fn config_of(number: usize) -> ObjectRef {
    ObjectRef { kind: CONFIG, key: ObjectKey::global(name(number)) }
}

/// The policy of the rollout.
pub(crate) fn rollout(spec: &Value) -> Value {
    json!({
        "apiVersion": "netloom.dev/v1alpha1", "kind": "RolloutPolicy", "metadata": {"name": "all"}, "spec": spec,
    })
}

/// The link that nodes of a rack have.
pub(crate) const RACK: &str = "rack0";

/// The policy for the nodes of a rack, which wants another link there.
pub(crate) fn racks() -> Value {
    json!({
        "apiVersion": "nmstate.io/v1", "kind": "NodeNetConfPolicy",
        "metadata": {"namespace": NAMESPACE, "name": "racks"},
        "spec": {
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "rack", "operator": "In", "values": ["a"]}]}],
            }}},
            "matchRules": [{"name": WIRE}],
            "desiredState": {"interfaces": [{"name": RACK, "type": "dummy", "state": "up"}]},
        },
    })
}

/// The card over which host networks go, where a node has one.
pub(crate) const UPLINK: &str = "eth2";
/// The host network that people change.
pub(crate) const NETWORK: &str = "h1";

/// The first of many host networks.
pub(crate) const FIRST_OF_MANY: &str = "h0";

/// A host network in a VLAN, with all that it needs.
pub(crate) fn host_network(vlan: u16, nodes: usize) -> [Value; 3] {
    let [network, uplink] = uplink();
    [network, uplink, in_vlan(NETWORK, vlan, (0..nodes).map(|number| (name(number), address(number))))]
}

/// So many host networks, each in a VLAN and with addresses of its own, and all that they need.
pub(crate) fn host_networks(networks: u16, nodes: usize) -> impl Iterator<Item = Value> {
    let one = move |number: u16| {
        let [high, low] = number.to_be_bytes();
        let addresses = (0..nodes).map(move |node| (name(node), format!("10.{high}.{low}.{}", node + 10)));
        in_vlan(&format!("h{number}"), 100 + number, addresses)
    };
    uplink().into_iter().chain((0..networks).map(one))
}

/// The address of a node in the host network.
pub(crate) fn address(number: usize) -> String {
    format!("192.0.2.{}", number + 10)
}

fn uplink() -> [Value; 2] {
    [
        of_networks("ClusterNetwork", "cluster-1"),
        with_spec(
            of_networks("VlanConfig", "uplink-1"),
            json!({"clusterNetwork": "cluster-1", "uplink": {"nics": [UPLINK]}}),
        ),
    ]
}

fn in_vlan(name: &str, vlan: u16, addresses: impl Iterator<Item = (String, String)>) -> Value {
    let ips: serde_json::Map<String, Value> =
        addresses.map(|(node, address)| (node, json!(format!("{address}/24")))).collect();
    let spec = json!({"clusterNetwork": "cluster-1", "vlanID": vlan, "mode": "static", "ips": ips});
    with_spec(of_networks("HostNetworkConfig", name), spec)
}

fn of_networks(kind: &str, name: &str) -> Value {
    json!({"apiVersion": "network.harvesterhci.io/v1beta1", "kind": kind, "metadata": {"name": name}})
}

fn with_spec(mut object: Value, spec: Value) -> Value {
    object["spec"] = spec;
    object
}

/// Puts the desired state of a person beside whatever else is desired.
pub(crate) fn add_manual_link(state: &mut Value) {
    let link = json!({"name": MANUAL, "type": "dummy", "state": "up", "mtu": 1350});
    let document = &mut state["spec"]["desiredState"];
    match document["interfaces"].as_array_mut() {
        Some(links) if links.iter().any(|known| known["name"] == MANUAL) => {}
        Some(links) => links.push(link),
        None => document["interfaces"] = json!([link]),
    }
}

/// Adds a condition that none of ours knows.
pub(crate) fn add_condition(state: &mut Value) {
    let condition = json!({
        "type": "Inspected", "status": "True", "reason": "Seen", "message": "",
        "lastTransitionTime": "2030-01-01T00:00:00Z",
    });
    match state["status"]["conditions"].as_array_mut() {
        Some(conditions) if conditions.iter().any(|known| known["type"] == "Inspected") => {}
        Some(conditions) => conditions.push(condition),
        None => state["status"]["conditions"] = json!([condition]),
    }
}
