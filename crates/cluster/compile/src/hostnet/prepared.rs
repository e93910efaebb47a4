//! Uplinks and host networks, read once and compared with the rules of admission again: they may have been written
//! while nobody enforced them.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use netloom_admission::{Findings, Objects, Operation, Review, ReviewResult, User};
use netloom_api::{
    GroupKind,
    fabric::text::ObjectName,
    hostnet::{GROUP, HostNetworkConfigSpec, MGMT, Mode, VlanConfigSpec, names},
    pipeline::network_config_revision::FrozenObject,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::objects::{HostNetworkConfig, VlanConfig};
use crate::{
    digest,
    finding::{Finding, reason, too_large},
    key::{Meta, ObjectKey, ObjectRef},
    layout::{Weighed, frozen},
    objects::Node,
    snapshot::{Readable as _, plain},
};

/// An uplink that keeps its rules.
#[derive(Debug, Clone)]
pub(crate) struct Uplink {
    /// Who asks, and how old it is.
    pub(crate) source: Meta,
    pub(crate) spec: VlanConfigSpec,
    pub(super) frozen: Weighed,
    /// Equal for equal objects.
    pub(crate) id: u64,
}

/// A host network that keeps its rules.
#[derive(Debug, Clone)]
pub(crate) struct HostNetwork {
    /// Who asks, and how old it is.
    pub(crate) source: Meta,
    pub(crate) spec: HostNetworkConfigSpec,
    /// What the interface is called.
    pub(crate) interface: String,
    pub(super) frozen: Weighed,
    /// Equal for equal objects.
    pub(crate) id: u64,
    /// Equal for objects that differ in nothing but addresses: these are for one node each.
    pub(crate) shape: u64,
}

impl Uplink {
    /// Reads a live object.
    pub(super) fn live(object: &VlanConfig) -> Result<Self, Vec<Finding>> {
        let spec = value_of(&object.spec)?;
        too_large(&spec)?;
        let name = &object.meta.key.name;
        let world = [well_network(&object.spec.cluster_network)];
        let broken = broken_rules("VlanConfig", name, &spec, world);
        if broken.is_empty() { Ok(Self::new(&object.meta, object.spec.clone(), spec)) } else { Err(broken) }
    }

    /// Reads one out of a revision.
    pub(super) fn frozen(frozen: &FrozenObject) -> Result<Self, Vec<Finding>> {
        let spec: VlanConfigSpec = plain(&frozen.spec.0).map_err(|why| unreadable(&why))?;
        Ok(Self::new(&meta(&frozen.name, frozen.created.as_ref()), spec, frozen.spec.0.clone()))
    }

    fn new(source: &Meta, spec: VlanConfigSpec, value: Value) -> Self {
        let frozen = frozen::<VlanConfig>(source, BTreeMap::new(), value);
        Self { source: source.clone(), spec, id: frozen.id(), frozen }
    }

    /// The object.
    pub(super) fn object(&self) -> ObjectRef {
        VlanConfig::object(&self.source.key)
    }

    /// Whether it connects a node.
    pub(crate) fn selects(&self, node: &Node) -> bool {
        let has = |(key, value): (&String, &String)| node.labels.get(key) == Some(value);
        !is_witness(node) && self.spec.node_selector.iter().all(has)
    }

    /// The labels that decide.
    pub(crate) fn labels(&self) -> impl Iterator<Item = &str> {
        self.spec.node_selector.keys().map(String::as_str).chain([names::WITNESS])
    }
}

impl HostNetwork {
    /// Checks a live object.
    pub(super) fn check(object: &HostNetworkConfig) -> Result<(), Vec<Finding>> {
        too_large(&value_of(&object.spec)?)?;
        let mut findings = Findings::default();
        if let Some(selector) = &object.spec.node_selector {
            netloom_admission::selector::check("spec.nodeSelector", selector, &mut findings);
        }
        let mut broken: Vec<Finding> =
            ReviewResult::from(findings).errors.into_iter().map(|error| invalid(&error.to_string())).collect();
        // Which nodes there are, and what reaches them, is no matter of the object alone.
        let alone = HostNetworkConfigSpec { node_selector: None, underlay: false, ..object.spec.clone() };
        let network = &object.spec.cluster_network;
        let nodes =
            object.spec.ips.keys().map(|node| json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}}));
        let world = nodes.chain([well_network(network), well_status(network), everywhere(network)]);
        broken.extend(broken_rules("HostNetworkConfig", &object.meta.key.name, &value_of(&alone)?, world));
        if broken.is_empty() { Ok(()) } else { Err(broken) }
    }

    /// The object under the name of its interface.
    pub(super) fn live(object: &HostNetworkConfig, interface: &str) -> Result<Self, Vec<Finding>> {
        Ok(Self::new(&object.meta, object.spec.clone(), interface, value_of(&object.spec)?))
    }

    /// Reads one out of a revision.
    pub(super) fn frozen(frozen: &FrozenObject) -> Result<Self, Vec<Finding>> {
        let spec: HostNetworkConfigSpec = plain(&frozen.spec.0).map_err(|why| unreadable(&why))?;
        let meta = meta(&frozen.name, frozen.created.as_ref());
        Ok(Self::new(&meta, spec, interface_of(frozen), frozen.spec.0.clone()))
    }

    fn new(source: &Meta, spec: HostNetworkConfigSpec, interface: &str, value: Value) -> Self {
        let shape = shape(source, interface, &value);
        let given = BTreeMap::from([(INTERFACE.to_owned(), interface.to_owned())]);
        let frozen = frozen::<HostNetworkConfig>(source, given, value);
        Self { source: source.clone(), spec, interface: interface.to_owned(), id: frozen.id(), frozen, shape }
    }

    /// The object.
    pub(super) fn object(&self) -> ObjectRef {
        HostNetworkConfig::object(&self.source.key)
    }

    /// Whether it selects a node, be it reached or not.
    pub(crate) fn selects(&self, node: &Node) -> bool {
        let labels: Map<String, Value> =
            node.labels.iter().map(|(key, value)| (key.clone(), value.as_str().into())).collect();
        self.spec.node_selector.as_ref().is_none_or(|selector| netloom_api::selector::matches(selector, Some(&labels)))
    }

    /// The labels that decide.
    pub(crate) fn labels(&self) -> impl Iterator<Item = &str> {
        let empty = const { &LabelSelector { match_expressions: None, match_labels: None } };
        let selector = self.spec.node_selector.as_ref().unwrap_or(empty);
        let equal = selector.match_labels.iter().flatten().map(|(key, _)| key.as_str());
        equal.chain(selector.match_expressions.iter().flatten().map(|one| one.key.as_str()))
    }

    /// The address that it gives to a node; none where a server does.
    pub(crate) fn address_of(&self, node: &str) -> Option<&str> {
        match self.spec.mode {
            Mode::Static => self.spec.ips.get(node).map(|address| address.0.as_str()),
            Mode::Dhcp => None,
        }
    }

    pub(crate) fn is_on_mgmt(&self) -> bool {
        self.spec.cluster_network == MGMT
    }
}

/// What the name of an interface is called where revisions keep it.
const INTERFACE: &str = "interface";

/// What the interface of a frozen host network is called.
pub(super) fn interface_of(frozen: &FrozenObject) -> &str {
    frozen.given.get(INTERFACE).map_or("", String::as_str)
}

/// A node that takes no workload, and so no uplink.
fn is_witness(node: &Node) -> bool {
    node.labels.contains_key(names::WITNESS)
}

/// A number for everything in an object but its addresses.
fn shape(source: &Meta, interface: &str, spec: &Value) -> u64 {
    let fields = spec.as_object().into_iter().flatten().filter(|(name, _)| *name != "ips");
    let spec: Map<String, Value> = fields.map(|(name, value)| (name.clone(), value.clone())).collect();
    digest::number(&json!({"shape": [source.key.name, source.created, interface, spec]}))
}

fn meta(name: &ObjectName, created: Option<&k8s_openapi::apimachinery::pkg::apis::meta::v1::Time>) -> Meta {
    Meta { key: ObjectKey::global(&name.0), created: created.cloned(), ..Meta::default() }
}

pub(super) fn unreadable(why: &str) -> Vec<Finding> {
    vec![Finding::new(reason::UNREADABLE, "", why)]
}

fn invalid(why: &str) -> Finding {
    Finding::new(reason::INVALID_NETWORK, "", why)
}

fn value_of(spec: &impl Serialize) -> Result<Value, Vec<Finding>> {
    serde_json::to_value(spec).map_err(|error| unreadable(&error.to_string()))
}

/// The rules that an object breaks in a world where everything that it refers to is well.
fn broken_rules(kind: &str, name: &str, spec: &Value, world: impl IntoIterator<Item = Value>) -> Vec<Finding> {
    let object =
        json!({"apiVersion": format!("{GROUP}/v1beta1"), "kind": kind, "metadata": {"name": name}, "spec": spec});
    let view: Objects = world.into_iter().collect();
    let verdict = netloom_admission::review(&Review {
        operation: Operation::Create,
        kind: GroupKind::new(GROUP, kind),
        namespace: None,
        name,
        subresource: None,
        object: Some(&object),
        old: None,
        user: &User::new("netloom-compile", &["system:masters"]),
        dry_run: true,
        view: &view,
    });
    verdict.errors.into_iter().map(|error| invalid(&error.to_string())).collect()
}

fn well_network(name: &str) -> Value {
    let ready = json!([{"type": "ready", "status": "True"}]);
    json!({"apiVersion": format!("{GROUP}/v1beta1"), "kind": "ClusterNetwork", "metadata": {"name": name}, "status": {"conditions": ready}})
}

fn well_status(network: &str) -> Value {
    json!({"apiVersion": format!("{GROUP}/v1beta1"), "kind": "VlanStatus", "metadata": {"name": "x"}, "status": {"clusterNetwork": network}})
}

fn everywhere(network: &str) -> Value {
    json!({"apiVersion": format!("{GROUP}/v1beta1"), "kind": "VlanConfig", "metadata": {"name": "x"}, "spec": {"clusterNetwork": network}})
}
