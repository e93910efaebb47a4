//! `NodeNetworkConfig.spec.host` as typed entries, each with the object that asked for it.
//!
//! VLANs of bridge ports have no place in a document in the kernel's own terms, so they are laid over the desired
//! state afterwards.

use netloom_api::{
    hostnet::names,
    pipeline::node_network_config::host::{EntryOrigin, HostConfig, HostEntry},
};
use netloom_compile::host_document as document;
use netloom_model::Origin;
use netloom_nmstate::Interface;
use netloom_types::IfName;

use crate::{
    Failure, Reason,
    document::{Entries, Entry},
};

/// The part of a configuration of a node that a document can say.
pub(crate) fn entries(host: &HostConfig, node: &str) -> Result<Entries, Failure> {
    let mut all = Entries::default();
    for entry in host.entries() {
        add(&mut all, entry, node).map_err(|why| {
            let origin = entry.origin().origin();
            Failure::new(Reason::InvalidDesiredState, format_args!("{origin}: {why}"))
        })?;
    }
    Ok(all)
}

fn add(all: &mut Entries, entry: HostEntry<'_>, node: &str) -> Result<(), String> {
    let origin = entry.origin();
    match entry {
        HostEntry::Link(link) => all.interfaces.push(Entry::new(document::interface(link)?, origin.origin())),
        HostEntry::Address(address) => {
            let entry = entry_of(&mut all.interfaces, &address.link.0, origin)?;
            let part = document::add_address(&mut entry.value, address)?;
            entry.parts.insert(part, given_to(node, origin));
        }
        HostEntry::Dhcp(lease) => {
            let entry = entry_of(&mut all.interfaces, &lease.link.0, origin)?;
            let part = document::add_lease(&mut entry.value, lease);
            entry.parts.insert(part, origin.origin());
        }
        HostEntry::Route(route) => all.routes.push(Entry::new(document::route(route)?, origin.origin())),
        HostEntry::Rule(rule) => all.rules.push(Entry::new(document::rule(rule)?, origin.origin())),
        HostEntry::BridgeVlan(_) => {}
    }
    Ok(())
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
fn entry_of<'a>(
    interfaces: &'a mut Vec<Entry<Interface>>,
    link: &str,
    asker: &EntryOrigin,
) -> Result<&'a mut Entry<Interface>, String> {
    let name: IfName = link.parse().map_err(|error| format!("{link:?}: {error}"))?;
    let at = interfaces.iter().position(|entry| entry.value.name == name).unwrap_or_else(|| {
        interfaces.push(Entry::new(Interface::new(name), asker.origin()));
        interfaces.len() - 1
    });
    Ok(&mut interfaces[at])
}
