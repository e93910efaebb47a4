//! What a compiled configuration comes to on its node, worked out as the agent there does, without any host.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use netloom_agent_core::{DesiredState, prepare};
use netloom_api::pipeline::node_network_config::host::{HostBridgeVlan, HostConfig};
use netloom_compile::NodeTarget;
use netloom_nmstate::Document;
use netloom_render::Base;
use netloom_routing::RoutingConfig;

use crate::{commands::agent::read_base, failure::Failure};

/// What each node has before any fabric.
#[derive(Debug, Default)]
pub(crate) struct Bases {
    of: BTreeMap<String, Arc<Base>>,
    others: Option<Arc<Base>>,
}

impl Bases {
    /// Reads the files that were named, each as `NODE=FILE` or `FILE`.
    pub(crate) fn read(named: &[String]) -> Result<Self, Failure> {
        let mut bases = Self::default();
        for one in named {
            let (node, file) = one.split_once('=').map_or((None, one.as_str()), |(node, file)| (Some(node), file));
            let base = read_base(Path::new(file))?;
            let twice = match node {
                Some(node) => bases.of.insert(node.to_owned(), base).is_some(),
                None => bases.others.replace(base).is_some(),
            };
            if twice {
                let of = node.map_or_else(|| "all other nodes".to_owned(), |node| format!("node {node:?}"));
                return Err(Failure::usage(format_args!(
                    "--base {one}: there is a base file of {of} already; name one"
                )));
            }
        }
        Ok(bases)
    }

    fn get(&self, node: &str) -> Option<&Base> {
        self.of.get(node).or(self.others.as_ref()).map(AsRef::as_ref)
    }
}

/// What one node would have.
#[derive(Debug)]
pub(crate) struct Foreseen {
    pub(crate) node: String,
    /// All that a document can say.
    pub(crate) document: Document,
    /// VLANs of bridge ports, which a document has in other words.
    pub(crate) bridge_vlans: Vec<String>,
    /// What FRR would run with, beside lines of others; without passwords.
    pub(crate) routing: String,
    /// Whether its fabric was left out, for want of a base file.
    pub(crate) without_fabric: bool,
}

impl Foreseen {
    pub(crate) fn of(target: NodeTarget<'_>, bases: &Bases) -> Result<Self, Failure> {
        let node = target.node;
        let host = target.host_config().cloned();
        let bridge_vlans = host.iter().flat_map(|host: &HostConfig| &host.bridge_vlans).map(shown).collect();
        let base = bases.get(node);
        // Where nothing says what is there before a fabric, the fabric cannot be worked out.
        let without_fabric = base.is_none() && target.fabric_config().is_some();
        let fabric = target.fabric_config().filter(|_| base.is_some()).cloned().unwrap_or_default();
        let desired = DesiredState::compiled(node, target.desired.document.clone(), host, fabric);
        let prepared =
            prepare(desired, base).map_err(|why| Failure::refused(format_args!("node {node}: {}", why.message)))?;
        let mut routing = RoutingConfig::default();
        for wanted in prepared.routing() {
            let context: Vec<&str> = wanted.line.context().iter().map(AsRef::as_ref).collect();
            let added = routing.add(&context, wanted.line.text());
            added.map_err(|why| Failure::refused(format_args!("node {node}: {}: {why}", wanted.origin)))?;
        }
        let document = prepared.document().clone();
        let routing = routing.masked_text();
        Ok(Self { node: node.to_owned(), document, bridge_vlans, routing, without_fabric })
    }
}

/// For people.
fn shown(vlan: &HostBridgeVlan) -> String {
    let HostBridgeVlan { port, min, max, pvid, untagged, .. } = vlan;
    let range = if min == max { min.to_string() } else { format!("{min}-{max}") };
    let how = match (pvid, untagged) {
        (true, true) => "PVID, untagged",
        (true, false) => "PVID, tagged",
        (false, true) => "untagged",
        (false, false) => "tagged",
    };
    format!("{port}: VLAN {range}, {how}", port = port.0)
}
