//! Addresses, neighbours and leases of one link.

use netloom_model::{Address, Attr, DesiredAddress, DesiredIp, DesiredLink, LinkKind, Value};
use netloom_types::{Family, IfName, Lifetime};

use super::Merge;
use crate::{
    document::{AddressItem, Interface, Ip},
    errors::reason,
};

impl Merge<'_> {
    pub(super) fn ip(&mut self, path: &str, desired: &mut DesiredLink, interface: &Interface) {
        for family in [Family::Ipv4, Family::Ipv6] {
            let path = format!("{path}.{family}");
            let ip = interface.ip(family);
            if ip.says_nothing() {
                continue;
            }
            self.check_loopback(&path, desired, ip);
            let of_family = self.desired_ip(&path, family, desired, ip);
            if family == Family::Ipv6 {
                self.ipv6_switch(&path, desired, of_family.enabled);
            }
            match family {
                Family::Ipv4 => desired.ipv4 = of_family,
                Family::Ipv6 => desired.ipv6 = of_family,
            }
        }
    }

    fn check_loopback(&mut self, path: &str, desired: &DesiredLink, ip: &Ip) {
        if desired.kind != LinkKind::Loopback {
            return;
        }
        if ip.enabled == Some(false) {
            let message = "the loopback link cannot do without; remove it";
            self.refuse(format!("{path}.enabled"), reason::NOT_SUPPORTED, message);
        }
        if ip.dhcp == Some(true) {
            let message = "nobody gives the loopback link a lease; remove it";
            self.refuse(format!("{path}.dhcp"), reason::NOT_SUPPORTED, message);
        }
    }

    fn desired_ip(&mut self, path: &str, family: Family, desired: &DesiredLink, ip: &Ip) -> DesiredIp {
        let has_some = ip.addresses.as_ref().is_some_and(|list| !list.is_empty()) || ip.dhcp == Some(true);
        let says_more = has_some || ip.neighbors.is_some() || !ip.lease.keys().is_empty();
        if ip.enabled == Some(false) && says_more {
            let message = "enabled: false removes everything of the family; other settings here are ignored";
            self.warn(path, message);
        }
        let enabled = ip.enabled.or(has_some.then_some(true));
        if enabled == Some(false) {
            return DesiredIp { enabled, ..DesiredIp::default() };
        }
        self.check_lease(path, family, desired, ip);
        self.check_prefix_metric(path, ip);
        let addresses = ip.addresses.as_ref().map(|list| {
            let one = |(j, item)| self.address(&format!("{path}.address[{j}]"), desired, ip, item);
            list.iter().enumerate().map(one).collect()
        });
        DesiredIp {
            enabled,
            addresses,
            keep_extra: ip.allow_extra_address.unwrap_or_default(),
            neighbours: ip.neighbors.as_ref().map(|list| list.iter().copied().collect()),
            dhcp: ip.dhcp.map(|on| Box::new(ip.lease.clone().desired(on))),
        }
    }

    /// What is given of a lease that nobody asks for would be without effect.
    fn check_lease(&mut self, path: &str, family: Family, desired: &DesiredLink, ip: &Ip) {
        if ip.dhcp == Some(true) {
            return;
        }
        let advertised = family == Family::Ipv6 && desired.attrs.given(Attr::Ipv6Autoconf) == Some(&Value::Bool(true));
        for key in ip.lease.keys() {
            let path = format!("{path}.{key}");
            if advertised && key.starts_with("auto-") {
                self.warn(path, "ignored: it goes for a lease, and the kernel itself takes what routers advertise");
            } else {
                self.refuse(path, reason::CONTRADICTION, "has no effect without dhcp: true; add that or remove this");
            }
        }
    }

    /// The metric stands for the addresses of the list.
    fn check_prefix_metric(&mut self, path: &str, ip: &Ip) {
        let without_effect = match (&ip.addresses, ip.prefix_route_metric) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(list), Some(metric)) => list.is_empty() && metric != 0,
        };
        if without_effect {
            let message = "has no effect without address: it goes for the addresses of that list; add them";
            self.refuse(format!("{path}.prefix-route-metric"), reason::MISSING_KEY, message);
        }
    }

    /// What the entry does not say of an address that is there already stays: its life times, and
    /// who put it there.
    fn address(&self, path: &str, desired: &DesiredLink, ip: &Ip, item: &AddressItem) -> DesiredAddress {
        let there = self
            .current(desired.name)
            .and_then(|link| link.addresses.iter().find(|a| a.key() == (item.ip, item.prefix_len)).copied());
        let mut address = there.unwrap_or_else(|| Address::new(item.ip, item.prefix_len, self.options.protocol));
        if let Some(valid) = item.valid {
            address.valid = valid;
            address.preferred = item.preferred.unwrap_or(valid);
        }
        if let Some(preferred) = item.preferred {
            address.preferred = preferred;
            // A preferred time alone may not outlast the valid one.
            if item.valid.is_none() && outlasts(preferred, address.valid) {
                address.valid = Lifetime::Forever;
            }
        }
        address.protocol = item.protocol.unwrap_or(address.protocol);
        address.route_metric = ip.prefix_route_metric.unwrap_or(address.route_metric);
        DesiredAddress { address, origin: self.origin(path) }
    }

    /// IPv6 is switched by a property of the link.
    fn ipv6_switch(&mut self, path: &str, desired: &mut DesiredLink, enabled: Option<bool>) {
        let Some(enabled) = enabled else { return };
        if let Some(Value::Bool(disabled)) = desired.attrs.given(Attr::Ipv6Disabled)
            && *disabled == enabled
        {
            let message = format!("enabled: {enabled}, and sysctl.ipv6.disable-ipv6: {disabled}: keep one");
            self.refuse(format!("{path}.enabled"), reason::CONTRADICTION, message);
        }
        desired.attrs.require(Attr::Ipv6Disabled, Value::Bool(!enabled));
    }

    /// A port of a bridge or bond has no addresses of its own.
    pub(super) fn check_port_ip(&mut self) {
        let names: Vec<_> = self.links.keys().copied().collect();
        for name in names {
            let Some(controller) = self.controller(name) else { continue };
            let bridged = matches!(self.kind(controller), Some(LinkKind::Bridge | LinkKind::Bond));
            if bridged && self.exists(name) {
                for family in [Family::Ipv4, Family::Ipv6] {
                    self.check_port_family(name, controller, family);
                }
            }
        }
    }

    fn check_port_family(&mut self, name: IfName, controller: IfName, family: Family) {
        let Some(desired) = self.links.get(&name) else { return };
        let current = self.current(name);
        let ip = desired.ip(family);
        let wanted: Vec<_> = ip.addresses.iter().flatten().map(|a| a.address.key()).collect();
        let has: Vec<_> = current.into_iter().flat_map(|l| l.addresses_of(family)).map(Address::key).collect();
        let stays_port = current.is_some_and(|l| l.controller == Some(controller));
        // What is so already is not a request: a report may be fed back.
        let as_it_is = stays_port && wanted == has && ip.dhcp.as_ref().is_none_or(|d| !d.enabled);
        if ip.enabled == Some(true) && !as_it_is {
            let path = self.entry(name).map(|(_, path)| path).unwrap_or_default();
            let message =
                format!("{name} is a port of {controller}, and such a port has no addresses; put them on {controller}");
            self.refuse(format!("{path}.{family}.enabled"), reason::CONTRADICTION, message);
        } else if ip.enabled.is_none() && ip.addresses.is_none() && !stays_port && !has.is_empty() {
            let path = desired.origin.path.to_string();
            let message = format!("{name} loses its {family} addresses: it becomes a port of {controller}");
            self.warn(path, message);
            if let Some(desired) = self.links.get_mut(&name) {
                let ip = match family {
                    Family::Ipv4 => &mut desired.ipv4,
                    Family::Ipv6 => &mut desired.ipv6,
                };
                ip.addresses = Some(Vec::new());
            }
        }
    }
}

fn outlasts(a: Lifetime, b: Lifetime) -> bool {
    match (a, b) {
        (_, Lifetime::Forever) => false,
        (Lifetime::Forever, Lifetime::Seconds(_)) => true,
        (Lifetime::Seconds(a), Lifetime::Seconds(b)) => a > b,
    }
}
