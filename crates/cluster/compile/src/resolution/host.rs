//! The entries of a node's configuration, as units: one for each link, with its addresses, and one for each route.

use std::collections::BTreeSet;

use netloom_api::{
    fabric::text::InterfaceAddress,
    pipeline::node_network_config::host::{EntryOrigin, HostConfig, HostEntry, HostLink, HostLinkKind},
};
use netloom_model::Source;
use netloom_nmstate::Interface;
use netloom_types::{IfName, IpNet};
use serde_json::{Value, json};

use super::{
    fabric,
    unit::{Unit, route_subject},
};
use crate::{contribution::Contribution, host_document, state::Inventory};

/// What one contribution wants, and who asks for each of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct HostUnits(pub(super) Vec<(Unit, Source)>);

impl HostUnits {
    /// What a contribution wants of nodes that report these links. Which address a node gets makes no difference: nobody
    /// else may say it.
    pub(crate) fn of(contribution: &Contribution, inventory: &Inventory) -> Self {
        let config = &contribution.host;
        let mut entries: Vec<(Interface, &EntryOrigin)> = Vec::new();
        let mut units = Vec::new();
        for entry in config.entries() {
            // What a configuration says is made here, so there is nothing wrong with it.
            match entry {
                HostEntry::Link(link) => {
                    entries.extend(host_document::interface(link).ok().map(|entry| (entry, &link.origin)));
                }
                HostEntry::Address(address) => {
                    let entry = entry_of(&mut entries, &address.link.0, &address.origin);
                    entry.map(|entry| host_document::add_address(entry, address));
                }
                HostEntry::Dhcp(lease) => {
                    let entry = entry_of(&mut entries, &lease.link.0, &lease.origin);
                    entry.map(|entry| host_document::add_lease(entry, lease));
                }
                HostEntry::Route(route) => {
                    if let Ok(read) = host_document::route(route) {
                        let value = read.to_value();
                        let unit = Unit::routes(&route_subject(&value), vec![value], &route.origin.path);
                        units.push((unit, route.origin.source()));
                    }
                }
                HostEntry::Rule(_) | HostEntry::BridgeVlan(_) => {}
            }
        }
        // What is in one of these has no addresses of its own.
        let has_ports = |link: &&HostLink| matches!(link.kind, HostLinkKind::Bond | HostLinkKind::Bridge);
        let bare: Vec<&str> = config.links.iter().filter(has_ports).map(|link| link.name.0.as_str()).collect();
        let named: BTreeSet<&str> = config.links.iter().map(|link| link.name.0.as_str()).collect();
        let links = entries.iter().map(|(entry, origin)| {
            let mut unit = unit(entry, origin, inventory);
            if unit.controller().is_some_and(|controller| bare.contains(&controller)) {
                unit.claim_as_port();
            }
            let name = entry.name.as_str();
            contribution.alone(name).for_each(|subject| unit.claim_alone(&subject));
            let source = origin.source();
            if named.contains(name) {
                unit.claim_for(&source);
            }
            (unit, source)
        });
        Self(links.chain(units).chain(fabric::units(&contribution.fabric, inventory)).collect())
    }
}

fn unit(entry: &Interface, origin: &EntryOrigin, inventory: &Inventory) -> Unit {
    let mut value = entry.to_value();
    for family in ["ipv4", "ipv6"] {
        if let Some(list) = value.pointer_mut(&format!("/{family}/address")) {
            *list = json!("what it lists for each node");
        }
    }
    let fields = match value {
        Value::Object(fields) => fields,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => serde_json::Map::new(),
    };
    Unit::interface(entry.name.as_str(), &fields, &origin.path, inventory)
}

impl Contribution {
    /// What a link has to itself: the routing table of a VRF, its fixed addresses, and what the front end says.
    fn alone<'a>(&'a self, link: &'a str) -> impl Iterator<Item = String> {
        let own = self.host.links.iter().filter(move |entry| entry.name.0 == link);
        let tables = own.filter_map(|entry| Some(format!("table {}", entry.table?)));
        let addresses = self.host.addresses.iter().filter(move |entry| entry.link.0 == link);
        let addresses = addresses.filter_map(|entry| fixed(&entry.address));
        let given = self.claims.iter().filter(move |(of, _)| of == link).map(|(_, subject)| subject.clone());
        tables.chain(addresses).chain(given)
    }
}

/// An address that is the same for all nodes of a class.
fn fixed(address: &InterfaceAddress) -> Option<String> {
    let net: IpNet = address.0.parse().ok()?;
    (!net.addr().is_unspecified()).then(|| format!("address {}", net.addr()))
}

/// A configuration without the links, and the routes by their subject, that were lost.
pub(crate) fn without(mut config: HostConfig, lost: &BTreeSet<String>) -> HostConfig {
    let HostConfig { links, addresses, dhcp, routes, rules: _, bridge_vlans } = &mut config;
    links.retain(|link| !lost.contains(&link.name.0));
    addresses.retain(|address| !lost.contains(&address.link.0));
    dhcp.retain(|lease| !lost.contains(&lease.link.0));
    bridge_vlans.retain(|vlan| !lost.contains(&vlan.port.0));
    routes.retain(|route| {
        let subject = host_document::route(route).map(|read| route_subject(&read.to_value()));
        let over = route.link.as_ref().is_some_and(|link| lost.contains(&link.0));
        !over && !subject.is_ok_and(|subject| lost.contains(&subject))
    });
    config
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
