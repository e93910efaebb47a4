//! `NodeNetworkConfig.spec.host` as a document, each entry with the object that asked for it.
//!
//! VLANs of bridge ports have no place in a document in the kernel's own terms, so they are laid over the
//! wish afterwards.

use netloom_api::{
    fabric::node_network_config::host::{EntryOrigin, HostConfig, HostLink},
    hostnet::names,
};
use netloom_compile::hostnet::document;
use netloom_model::Origin;
use serde_json::{Map, json};

use crate::document::{Entries, Entry};

/// The part of a configuration of a node that a document can say.
pub(crate) fn entries(host: &HostConfig, node: &str) -> Entries {
    let HostConfig { links, addresses, dhcp, routes, rules, bridge_vlans: _ } = host;
    let link = |link: &HostLink| Entry::new(document::interface(link), link.origin.origin());
    let mut interfaces: Vec<Entry> = links.iter().map(link).collect();
    for address in addresses {
        let entry = entry_of(&mut interfaces, &address.link.0, &address.origin);
        let part = document::add_address(&mut entry.value, address);
        entry.parts.insert(part, given_to(node, &address.origin));
    }
    for lease in dhcp {
        let entry = entry_of(&mut interfaces, &lease.link.0, &lease.origin);
        let part = document::add_lease(&mut entry.value, lease);
        entry.parts.insert(part, lease.origin.origin());
    }
    Entries {
        interfaces,
        routes: routes.iter().map(|one| Entry::new(document::route(one), one.origin.origin())).collect(),
        rules: rules.iter().map(|one| Entry::new(document::rule(one), one.origin.origin())).collect(),
        rest: Map::new(),
    }
}

/// Who gave an address to a node. Objects list such addresses by node; what is written for a node says only the list.
fn given_to(node: &str, asker: &EntryOrigin) -> Origin {
    let mut origin = asker.origin();
    if asker.path == names::ADDRESSES && !node.is_empty() {
        origin.path = format!("{}.{node}", names::ADDRESSES).into();
    }
    origin
}

/// The entry of a link; made when only its addresses are spoken of.
fn entry_of<'a>(interfaces: &'a mut Vec<Entry>, link: &str, asker: &EntryOrigin) -> &'a mut Entry {
    let at = interfaces.iter().position(|entry| entry.value["name"] == *link).unwrap_or_else(|| {
        interfaces.push(Entry::new(json!({"name": link}), asker.origin()));
        interfaces.len() - 1
    });
    &mut interfaces[at]
}
