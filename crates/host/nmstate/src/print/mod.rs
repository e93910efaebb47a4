//! Prints a [`Document`] in its canonical form: today's spelling, keys in one order, only what was
//! given. Reading the result gives the same document.

mod interface;
mod layer3;
mod value;

pub(crate) use interface::interface;

use serde_json::Value;

use crate::{
    document::{Dns, Document, Hostname, Interface, RouteEntry},
    raw::{Block, Raw},
};

/// An entry of `interfaces` as JSON.
pub(crate) fn interface_value(entry: &Interface) -> Value {
    value_of_raw(&interface::interface(entry))
}

/// An entry of `routes` as JSON.
pub(crate) fn route_value(entry: &RouteEntry) -> Value {
    value_of_raw(&layer3::route(entry))
}

/// A document as JSON.
pub(crate) fn value_of(document: &Document) -> Value {
    value_of_raw(&document.raw())
}

fn value_of_raw(raw: &Raw) -> Value {
    serde_json::to_value(raw).expect("a document has only text keys")
}

impl Document {
    /// The document as YAML.
    pub fn to_yaml(&self) -> String {
        netloom_yaml::print(&self.raw())
    }

    /// The document as indented JSON.
    ///
    /// # Panics
    /// Never: the values have text keys only.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(&self.raw()).expect("a document has only text keys");
        text.push('\n');
        text
    }

    fn raw(&self) -> Raw {
        let Self { places: _, description, hostname, dns_running, dns, rules, routes_running, routes, interfaces } =
            self;
        let mut top = Block::new();
        top.put_text("description", description.as_ref());
        top.put_block("hostname", hostname_block(hostname));
        let mut resolver = Block::new();
        resolver.put_some("running", dns_running.as_ref().map(dns_block));
        resolver.put_some("config", dns.as_ref().map(dns_block));
        top.put_block("dns-resolver", resolver);
        let mut block = Block::new();
        block.put_list("config", rules.iter().map(layer3::rule).collect());
        top.put_block("route-rules", block);
        let mut block = Block::new();
        block.put_list("running", routes_running.iter().map(layer3::route).collect());
        block.put_list("config", routes.iter().map(layer3::route).collect());
        top.put_block("routes", block);
        top.put_list("interfaces", interfaces.iter().map(interface::interface).collect());
        top.into()
    }
}

fn hostname_block(hostname: &Hostname) -> Block {
    let Hostname { running, config } = hostname;
    let mut block = Block::new();
    block.put_text("running", running.as_ref());
    block.put_text("config", config.as_ref());
    block
}

fn dns_block(dns: &Dns) -> Block {
    let Dns { server, search, options } = dns;
    let texts = |list: &[String]| list.iter().map(Raw::text).collect::<Vec<_>>();
    let mut block = Block::new();
    block.put_list("server", texts(server));
    block.put_list("search", texts(search));
    block.put_list("options", texts(options));
    block
}
