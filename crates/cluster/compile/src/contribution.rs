//! What is wanted of nodes that nothing tells apart, before anybody else is heard.

use netloom_api::pipeline::node_network_config::{
    fabric::FabricConfig,
    host::{EntryOrigin, HostConfig},
};
use netloom_model::Source;
use netloom_object::ObjectRef;
use serde_json::json;

use crate::{digest, finding::Finding, resolution::Unit};

/// What one object, or several that ask together, want of a class of nodes.
#[derive(Debug, Clone, Default)]
pub struct Contribution {
    /// Entries for the node's configuration, each with who asks for it.
    pub(crate) host: HostConfig,
    /// Segments and VRFs for the node's configuration.
    pub(crate) fabric: FabricConfig,
    /// What links need to themselves, beside what follows from their entries: the link, and what it needs.
    pub(crate) claims: Vec<(String, String)>,
    /// What nodes cannot have, or not all of it, and who asked for it.
    pub(crate) findings: Vec<(ObjectRef, Finding)>,
    /// Whether a node must first report its links: until then it keeps the configuration that it has.
    pub(crate) waits: bool,
    /// Entries for the node's desired state; all of one object.
    pub(crate) state: Option<StatePart>,
}

/// What an object wants of the desired state.
#[derive(Debug, Clone)]
pub(crate) struct StatePart {
    pub(crate) asker: Source,
    /// The links that its rules match.
    pub(crate) matched: Vec<String>,
    pub(crate) units: Vec<Unit>,
    pub(crate) findings: Vec<Finding>,
}

impl Contribution {
    /// Entries for the configuration of nodes.
    pub fn new(host: HostConfig) -> Self {
        Self { host, ..Self::default() }
    }

    /// Adds segments and VRFs to it.
    #[must_use]
    pub fn with_fabric(self, fabric: FabricConfig) -> Self {
        Self { fabric, ..self }
    }

    /// Says that a link needs something to itself, such as `table 100`. Names, VLANs of a base, ports, tables of VRFs and
    /// fixed addresses follow from the entries.
    pub fn claim(&mut self, link: impl Into<String>, what: impl Into<String>) {
        self.claims.push((link.into(), what.into()));
    }

    /// Says what nodes cannot have, or not all of it.
    pub fn refuse(&mut self, asker: ObjectRef, finding: Finding) {
        self.findings.push((asker, finding));
    }

    /// Says that nodes must first report their links.
    pub fn wait(&mut self) {
        self.waits = true;
    }
}

/// A place in an object, as entries of the configuration name it.
pub fn origin(ObjectRef { kind, key }: &ObjectRef, path: &str) -> EntryOrigin {
    let [group, kind, name, path] = [kind.group, kind.kind, &key.name, path].map(str::to_owned);
    EntryOrigin { group, kind, namespace: Some(key.namespace.clone()).filter(|own| !own.is_empty()), name, path }
}

/// What one node gets for its configuration, and what it does not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostPart {
    /// What is wanted of the host itself; none when nothing is.
    pub config: Option<HostConfig>,
    /// The segments and VRFs that are wanted.
    pub fabric: FabricConfig,
    /// What was left out, or not all of it done, and who asked for it.
    pub refusals: Vec<(ObjectRef, Finding)>,
    /// A short name for the configuration; empty when there is none.
    pub digest: String,
}

impl HostPart {
    pub(crate) fn new(config: Option<HostConfig>, fabric: FabricConfig, refusals: Vec<(ObjectRef, Finding)>) -> Self {
        let digest = match &config {
            Some(config) if fabric.is_empty() => digest::short(&json!(config)),
            None if fabric.is_empty() => String::new(),
            config => digest::short(&json!([config, fabric])),
        };
        Self { config, fabric, refusals, digest }
    }
}
