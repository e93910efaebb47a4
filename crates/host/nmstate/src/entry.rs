//! Entries of a document that are made from types and not from a text: by whoever wants of a host what a document can say,
//! and has it typed already.

use std::net::IpAddr;

use netloom_model::{Attr, DesiredController, DesiredDhcp, LinkKind, Section};
use netloom_types::{Family, IfName};
use netloom_yaml::{Style, scalar};
use serde_json::Value;

use crate::{
    document::{AddressItem, Document, Identifier, Interface, Ip, Lease, Places, RouteEntry, RuleEntry},
    print,
    read::{
        spot::{Notes, Spot},
        value,
    },
    table,
};

impl Document {
    /// The document without its entries, and these.
    pub fn into_entries(mut self) -> (Self, Vec<Interface>, Vec<RouteEntry>, Vec<RuleEntry>) {
        use std::mem::take;
        let (interfaces, routes, rules) = (take(&mut self.interfaces), take(&mut self.routes), take(&mut self.rules));
        (self, interfaces, routes, rules)
    }

    /// The document with these entries. They need not stand in a text, so messages name no lines.
    #[must_use]
    pub fn with_entries(self, interfaces: Vec<Interface>, routes: Vec<RouteEntry>, rules: Vec<RuleEntry>) -> Self {
        let places = Places { tree: None, ..self.places };
        Self { places, rules, routes, interfaces, ..self }
    }
}

impl Interface {
    /// The entry of a link that is reported as of this kind.
    pub fn of_kind(name: IfName, kind: LinkKind) -> Self {
        Self { block: table::block_of(&kind), kind: Some(kind), ..Self::new(name) }
    }

    /// Says a property in the words that a text has for it.
    pub fn say(&mut self, attr: Attr, text: &str) -> Result<(), String> {
        let (notes, node) = (Notes::default(), scalar(text, Style::Plain, 0));
        let value = value::value(&Spot::root(&notes, &node), attr);
        match value {
            Some(value) => self.attrs.require(attr, value),
            None => return Err(notes.into_refusals().into_iter().map(|refusal| refusal.message).collect()),
        }
        Ok(())
    }

    /// Says an option of a bond or bridge, by its name.
    pub fn say_option(&mut self, name: &str, text: &str) -> Result<(), String> {
        let section = match &self.kind {
            Some(LinkKind::Bond) => Section::BondOptions,
            _ => Section::BridgeOptions,
        };
        let known = table::of_section(section).iter().find(|attr| table::keys(**attr).contains(&name));
        let attr = *known.ok_or_else(|| format!("there is no option {name}"))?;
        self.say(attr, text).map_err(|why| format!("option {name}: {why}"))
    }

    /// Adds an address; gives its path in the entry. Others may have addresses on what is there already; what is made has
    /// those that are given.
    pub fn add_address(&mut self, ip: IpAddr, prefix_len: u8) -> String {
        let (family, others_stay) = (Family::of(ip), self.kind.is_none());
        let block = self.ip_mut(family);
        block.enabled = Some(true);
        block.allow_extra_address = Some(others_stay);
        let list = block.addresses.get_or_insert_default();
        list.push(AddressItem::new(ip, prefix_len));
        format!("{family}.address[{}]", list.len() - 1)
    }

    /// Switches an offload feature of the link.
    pub fn switch_feature(&mut self, feature: &str, on: bool) {
        self.features.insert(feature.into(), on);
    }

    /// Asks for a lease; gives the path of that in the entry. As for addresses, those of others stay on what is there.
    pub fn ask_for_lease(&mut self, family: Family, desired: DesiredDhcp) -> String {
        let others_stay = self.kind.is_none();
        let block = self.ip_mut(family);
        block.enabled = Some(true);
        block.dhcp = Some(desired.enabled);
        block.allow_extra_address = Some(others_stay);
        block.lease = Lease::of(desired);
        format!("{family}.dhcp")
    }

    /// How a lease is asked for, when one is.
    pub fn lease(&self, family: Family) -> Option<DesiredDhcp> {
        let ip = self.ip(family);
        let asks = ip.dhcp == Some(true) && ip.enabled != Some(false);
        asks.then(|| ip.lease.clone().desired(true))
    }

    /// Whether the link is found by its hardware address, and not by its name.
    pub fn is_found_by_mac(&self) -> bool {
        self.identifier == Some(Identifier::MacAddress)
    }

    /// The entry as JSON, for people and for comparing.
    pub fn to_value(&self) -> Value {
        print::interface_value(self)
    }

    /// Says what another entry says and this one does not.
    pub fn lay_over(&mut self, other: Self) {
        let Self {
            name: _,
            kind,
            state,
            identifier,
            profile_name,
            description,
            pci_address,
            copy_mac_from,
            controller,
            alt_names,
            attrs,
            block,
            ports,
            allow_extra_ports,
            vlans,
            ipv4,
            ipv6,
            fdb,
            mirrors,
            features,
            lldp,
            kept,
            facts,
        } = other;
        lay(&mut self.kind, kind);
        lay(&mut self.state, state);
        lay(&mut self.identifier, identifier);
        lay(&mut self.profile_name, profile_name);
        lay(&mut self.description, description);
        lay(&mut self.pci_address, pci_address);
        lay(&mut self.copy_mac_from, copy_mac_from);
        lay(&mut self.block, block);
        lay(&mut self.ports, ports);
        lay(&mut self.allow_extra_ports, allow_extra_ports);
        lay(&mut self.vlans, vlans);
        lay(&mut self.lldp, lldp);
        if self.controller == DesiredController::Keep {
            self.controller = controller;
        }
        for (attr, value) in attrs.iter() {
            if self.attrs.given(attr).is_none() {
                self.attrs.require(attr, value.clone());
            }
        }
        self.ipv4.lay_over(ipv4);
        self.ipv6.lay_over(ipv6);
        // Where both have a list, it is the same one.
        self.alt_names.extend(alt_names);
        self.features.extend(features);
        self.kept.extend(kept);
        self.facts.extend(facts);
        if self.fdb.is_empty() {
            self.fdb = fdb;
        }
        if self.mirrors.is_empty() {
            self.mirrors = mirrors;
        }
    }
}

impl Ip {
    fn lay_over(&mut self, other: Self) {
        let Self { enabled, addresses, allow_extra_address, prefix_route_metric, neighbors, dhcp, lease } = other;
        lay(&mut self.enabled, enabled);
        lay(&mut self.addresses, addresses);
        lay(&mut self.allow_extra_address, allow_extra_address);
        lay(&mut self.prefix_route_metric, prefix_route_metric);
        lay(&mut self.neighbors, neighbors);
        lay(&mut self.dhcp, dhcp);
        let Lease {
            auto_dns,
            auto_gateway,
            auto_routes,
            route_table,
            route_metric,
            client_id,
            duid,
            send_hostname,
            custom_hostname,
        } = lease;
        lay(&mut self.lease.auto_dns, auto_dns);
        lay(&mut self.lease.auto_gateway, auto_gateway);
        lay(&mut self.lease.auto_routes, auto_routes);
        lay(&mut self.lease.route_table, route_table);
        lay(&mut self.lease.route_metric, route_metric);
        lay(&mut self.lease.client_id, client_id);
        lay(&mut self.lease.duid, duid);
        lay(&mut self.lease.send_hostname, send_hostname);
        lay(&mut self.lease.custom_hostname, custom_hostname);
    }
}

fn lay<T>(into: &mut Option<T>, from: Option<T>) {
    if into.is_none() {
        *into = from;
    }
}

impl RouteEntry {
    /// The entry as JSON, for people.
    pub fn to_value(&self) -> Value {
        print::route_value(self)
    }

    /// Whether the kernel could not tell the two apart.
    pub fn is_same_way(&self, other: &Self) -> bool {
        let key = |route: &Self| (route.destination, route.table_id, route.metric, route.state);
        key(self) == key(other)
    }
}
