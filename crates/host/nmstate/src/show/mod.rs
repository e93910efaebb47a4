//! The current state of a host as a document.
//!
//! Compact: what has its default is left out, and so is what the kernel makes by itself. Invariant:
//! the document, fed back through `resolve`, asks for nothing that is not so already.

mod glob;
mod link;
mod route;

use netloom_model::{Observed, RouteType};
use netloom_types::{Family, IfName, RouteTable};

use crate::document::{Dns, Document, Hostname};

pub(crate) use glob::matches;
pub(crate) use link::{View, port_vlans, vlan_entries};
pub(crate) use route::{route_entries, rule_entry};

impl Document {
    /// The host as a document; with names, only those links (`*` and `?` match any text and any
    /// character) and the routes out of them.
    pub fn show(observed: &Observed, names: &[String]) -> Self {
        let wanted = |name: IfName| names.is_empty() || names.iter().any(|p| glob::matches(p, name.as_str()));
        let view = View::new(observed);
        let interfaces = observed.links.values().filter(|link| wanted(link.name));
        let mut document =
            Self { interfaces: interfaces.map(|link| view.interface(link)).collect(), ..Self::default() };
        let shown = |route: &&netloom_model::Route| {
            names.is_empty() || route.next_hops.iter().any(|hop| hop.link.is_some_and(wanted))
        };
        let running = observed.derived_routes.iter().chain(observed.routes.values());
        document.routes_running = running.filter(shown).flat_map(|r| route_entries(r, true)).collect();
        let config = observed.routes.values().filter(shown).filter(|r| can_be_asked_for(r));
        document.routes = config.flat_map(|r| route_entries(r, false)).collect();
        if names.is_empty() {
            let Self { rules, dns_running, dns, hostname, .. } = Self::show_settings(observed);
            document = Self { hostname, dns_running, dns, rules, ..document };
        }
        document
    }

    /// What a host has beside links and routes: rules, resolver and host name.
    pub(crate) fn show_settings(observed: &Observed) -> Self {
        let mut document = Self {
            rules: observed.rules.iter().map(|(key, protocol)| rule_entry(key, *protocol)).collect(),
            ..Self::default()
        };
        let settings = &observed.settings;
        let resolver = settings.resolver();
        if !resolver.is_empty() {
            let dns = Dns {
                server: resolver.servers.clone(),
                search: resolver.search.clone(),
                options: resolver.options.clone(),
            };
            document.dns_running = Some(dns.clone());
            document.dns = Some(dns);
        }
        let given = |name: &str| Some(name.to_owned()).filter(|name| !name.is_empty());
        document.hostname =
            Hostname { running: given(settings.hostname_running()), config: given(settings.hostname_config()) };
        document
    }
}

/// Whether a document may ask for the route: some that others made it may not.
pub(crate) fn can_be_asked_for(route: &netloom_model::Route) -> bool {
    let family = route.family();
    let one_family = route.next_hops.iter().filter_map(|hop| hop.via).all(|via| Family::of(via) == family);
    let this_network = match route.destination {
        ipnet::IpNet::V4(net) => net.prefix_len() >= 8 && net.addr().octets()[0] == 0,
        ipnet::IpNet::V6(_) => false,
    };
    let leads_somewhere = route.kind != RouteType::Unicast || route.next_hops.iter().any(|h| h.link.is_some());
    route.table != RouteTable::LOCAL && one_family && !this_network && leads_somewhere
}
