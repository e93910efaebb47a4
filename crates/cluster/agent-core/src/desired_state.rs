//! What the node's objects want of it, before it is compared with the host.

use std::collections::BTreeSet;

use netloom_api::{
    pipeline::{
        NodeNetworkConfig,
        node_network_config::{NodeNetworkConfigSpec, fabric::FabricConfig, host::HostConfig},
    },
    rollout::annotation,
};
use netloom_compile::NodeState;
use netloom_model::Source;
use netloom_types::IfName;
use serde::{Deserialize, Serialize, de::IgnoredAny};
use serde_json::Value;

use crate::{fabric, objects::STATE};

/// Everything that the objects of a node want of it. Two that are equal need not be tried twice; which policies asked makes
/// no difference to that.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DesiredState {
    /// The uid of the node's network state.
    pub uid: String,
    /// Its generation.
    pub generation: i64,
    /// The object itself.
    pub source: Source,
    /// Records of earlier versions say when it was made.
    #[serde(default, skip_serializing)]
    pub created: IgnoredAny,
    /// The desired state, as it stands there.
    pub document: Option<Value>,
    /// Which policies asked for what of it, as the record beside it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<String>,
    /// What the controller has for the node, once both objects belong together.
    pub config: Option<ConfigPart>,
}

impl PartialEq for DesiredState {
    fn eq(&self, other: &Self) -> bool {
        let Self { uid, generation, source, created: _, document, provenance: _, config } = self;
        (uid, generation, source, document, config)
            == (&other.uid, &other.generation, &other.source, &other.document, &other.config)
    }
}

/// What the controller has for a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfigPart {
    /// The object's name.
    pub name: String,
    /// Its generation.
    pub generation: i64,
    /// The revision that it names.
    pub revision: String,
    /// The digest of all that the controller wrote with it.
    #[serde(default)]
    pub digest: String,
    /// The digest of the part that the network state has.
    #[serde(default)]
    pub state_digest: String,
    /// Records of earlier versions say when it was made.
    #[serde(default, skip_serializing)]
    pub created: IgnoredAny,
    /// Links, addresses and routes.
    pub host: Option<HostConfig>,
    /// What the fabric has on the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fabric: Option<Box<NodeNetworkConfigSpec>>,
}

/// What is kept on disk between two lives of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    /// The uid of the network state under which the host was last changed. When that object is gone, nothing
    /// of what it wanted is taken back any more.
    pub uid: String,
    /// The last desired state that was reached; none while the node is not managed.
    #[serde(rename = "wish")]
    pub desired: Option<DesiredState>,
    /// The desired state that is being applied, put here before the host is changed for it: a run that ends between the
    /// change and the word that it is good would else be followed by one that begins with the desired state before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trying: Option<DesiredState>,
}

impl Kept {
    /// The desired state that the node was turned to last.
    pub(crate) fn present(&self) -> Option<&DesiredState> {
        self.trying.as_ref().or(self.desired.as_ref())
    }
}

impl DesiredState {
    /// What a network state wants, together with what the controller has.
    pub(crate) fn of(state: &NodeState, raw: &Value, config: Option<ConfigPart>) -> Self {
        Self {
            uid: uid(raw),
            generation: state.meta.generation.unwrap_or_default(),
            source: Source::object((STATE.group, STATE.kind), &state.meta.key.namespace, &state.meta.key.name),
            created: IgnoredAny,
            document: state.desired.clone().filter(|document| !is_empty(document)),
            provenance: state.provenance.clone(),
            config,
        }
    }

    /// What a node would be told, before any of it is written: what was compiled for its two objects.
    pub fn compiled(node: &str, document: Option<Value>, host: Option<HostConfig>, fabric: FabricConfig) -> Self {
        let FabricConfig { layer2s, cluster_vrf, fabric_vrfs, local_vrfs } = fabric;
        let spec = NodeNetworkConfigSpec {
            host,
            layer2s,
            cluster_vrf,
            fabric_vrfs,
            local_vrfs,
            ..NodeNetworkConfigSpec::default()
        };
        Self {
            uid: String::new(),
            generation: 0,
            source: Source::object((STATE.group, STATE.kind), "", node),
            created: IgnoredAny,
            document: document.filter(|document| !is_empty(document)),
            provenance: None,
            config: Some(ConfigPart::of(&NodeNetworkConfig::new(node, spec))),
        }
    }

    /// The same with a document in which no policy has a part.
    pub(crate) fn with_document(self, document: Option<Value>) -> Self {
        Self { document: document.filter(|document| !is_empty(document)), provenance: None, ..self }
    }

    /// The links that it names.
    pub fn links(&self) -> BTreeSet<IfName> {
        let entries = self.document.as_ref().and_then(|document| document.get("interfaces")?.as_array());
        let named = entries.into_iter().flatten().filter_map(|entry| entry.get("name")?.as_str());
        let host = self.config.as_ref().and_then(|config| config.host.as_ref());
        let made = host.into_iter().flat_map(|host| &host.links).map(|link| link.name.0.as_str());
        named.chain(made).filter_map(|name| name.parse().ok()).collect()
    }

    /// Whether anything is wanted at all.
    pub fn is_empty(&self) -> bool {
        let host = self.config.as_ref().and_then(|config| config.host.as_ref());
        let fabric = self.config.as_ref().and_then(|config| config.fabric.as_ref());
        self.document.is_none() && host.is_none_or(|host| *host == HostConfig::default()) && fabric.is_none()
    }
}

impl ConfigPart {
    pub(crate) fn of(config: &NodeNetworkConfig) -> Self {
        Self {
            name: config.metadata.name.clone().unwrap_or_default(),
            generation: config.metadata.generation.unwrap_or_default(),
            revision: config.spec.revision.clone(),
            digest: config.spec.digest.clone(),
            state_digest: config.spec.state_digest.clone(),
            created: IgnoredAny,
            host: config.spec.host.clone(),
            fabric: fabric::part(&config.spec),
        }
    }
}

/// Whether both objects of a node belong together. The controller writes one after the other, and only
/// together they say what the node shall have. Where the node merges policies itself the controller writes only one.
pub(crate) fn is_pair(state: &Value, config: &NodeNetworkConfig) -> bool {
    is_merged_by_node(state) || config.spec.belongs_to(digest_of(state))
}

/// The digest that a network state carries; empty where no controller wrote it.
pub(crate) fn digest_of(state: &Value) -> &str {
    let annotations = state.pointer("/metadata/annotations");
    annotations.and_then(|all| all.get(annotation::DIGEST)?.as_str()).unwrap_or_default()
}

/// Whether a network state says that the node merges policies into it itself.
pub(crate) fn is_merged_by_node(state: &Value) -> bool {
    let annotations = state.pointer("/metadata/annotations");
    annotations.is_some_and(|all| all.get(annotation::MERGED_BY).is_some_and(|by| by == annotation::MERGED_BY_NODE))
}

/// The uid of an object.
pub(crate) fn uid(object: &Value) -> String {
    object.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Whether a document says nothing: only empty blocks and lists.
fn is_empty(document: &Value) -> bool {
    match document {
        Value::Object(fields) => fields.values().all(is_empty),
        Value::Array(items) => items.is_empty(),
        Value::Null => true,
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}
