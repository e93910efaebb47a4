//! What uplinks and host networks want of the links of a node, for policies to give way to.
//!
//! It is not part of the desired state, and nodes get it beside that. A policy that wants something else is left out
//! before nodes see it, since they could only refuse what contradicts itself.

use netloom_api::pipeline::node_network_config::host::{EntryOrigin, HostConfig, HostEntry, HostLink, HostLinkKind};
use netloom_nmyaml::Interface;
use netloom_types::IfName;
use serde_json::json;

use super::{claim::Unit, inventory::Inventory, merge::Who};
use crate::{digest, finding::Asker, hostnet::document};

/// What is claimed, and by whom.
#[derive(Debug, Clone, Default)]
pub(crate) struct Claimed {
    pub(super) units: Vec<(Unit, Asker)>,
    /// Equal for equal claims; zero for none.
    pub(crate) id: u64,
}

impl Claimed {
    /// Whether one of them makes or uses a link of that name.
    pub(super) fn has(&self, link: &str) -> bool {
        self.units.iter().any(|(unit, _)| unit.link() == Some(link))
    }

    /// The bond of the uplink that a bridge is for.
    pub(super) fn uplink_of(&self, bridge: &str) -> Option<&str> {
        let bond = |unit: &&Unit| unit.controller() == Some(bridge) && unit.is_bond();
        self.units.iter().map(|(unit, _)| unit).find(bond)?.link()
    }

    /// Who claims what.
    pub(super) fn claimants(&self) -> impl Iterator<Item = (&Unit, Who)> {
        self.units.iter().enumerate().map(|(place, (unit, _))| (unit, Who::Network(place)))
    }

    /// What a configuration claims of the links of nodes that report these. Which address a node gets makes no
    /// difference: nobody else may say it.
    pub(crate) fn of(config: &HostConfig, inventory: &Inventory) -> Self {
        let mut entries: Vec<(Interface, &EntryOrigin)> = Vec::new();
        for entry in config.entries() {
            // What a configuration says is made here, so there is nothing wrong with it.
            match entry {
                HostEntry::Link(link) => {
                    entries.extend(document::interface(link).ok().map(|entry| (entry, &link.origin)));
                }
                HostEntry::Address(address) => {
                    let entry = entry_of(&mut entries, &address.link.0, &address.origin);
                    entry.map(|entry| document::add_address(entry, address));
                }
                HostEntry::Dhcp(lease) => {
                    let entry = entry_of(&mut entries, &lease.link.0, &lease.origin);
                    entry.map(|entry| document::add_lease(entry, lease));
                }
                HostEntry::Route(_) | HostEntry::Rule(_) | HostEntry::BridgeVlan(_) => {}
            }
        }
        // What is in one of these has no addresses of its own.
        let has_ports = |link: &&HostLink| matches!(link.kind, HostLinkKind::Bond | HostLinkKind::Bridge);
        let bare: Vec<&str> = config.links.iter().filter(has_ports).map(|link| link.name.0.as_str()).collect();
        let mut id = Vec::new();
        let mut units = Vec::new();
        for (entry, origin) in &entries {
            let mut value = entry.to_value();
            for family in ["ipv4", "ipv6"] {
                if let Some(list) = value.pointer_mut(&format!("/{family}/address")) {
                    *list = json!("what it lists for each node");
                }
            }
            let Some(fields) = value.as_object() else { continue };
            let mut unit = Unit::interface(entry.name.as_str(), fields, &origin.path, inventory);
            if unit.controller().is_some_and(|controller| bare.contains(&controller)) {
                unit.claim_as_port();
            }
            let source = origin.source();
            id.push(json!([source, value]));
            units.push((unit, Asker::Network(source)));
        }
        Self { id: if id.is_empty() { 0 } else { digest::number(&json!(id)) }, units }
    }
}

fn entry_of<'v, 'o>(
    entries: &'v mut Vec<(Interface, &'o EntryOrigin)>,
    link: &str,
    asker: &'o EntryOrigin,
) -> Option<&'v mut Interface> {
    let link: IfName = link.parse().ok()?;
    let at = entries.iter().position(|(entry, _)| entry.name == link).unwrap_or_else(|| {
        entries.push((Interface::new(link), asker));
        entries.len() - 1
    });
    Some(&mut entries[at].0)
}
