//! Rules of bonds.

use std::net::IpAddr;

use netloom_model::{Attr, DesiredLink, LinkKind, Section, Value};
use netloom_types::Family;

use super::Merge;
use crate::{errors::reason, table};

const ACTIVE_BACKUP: u64 = 1;
/// The last mode.
const ALB: u64 = 6;

impl Merge<'_> {
    pub(super) fn check_bond(&mut self, path: &str, desired: &DesiredLink) {
        let path = format!("{path}.link-aggregation");
        self.check_bond_modes(&path, desired);
        self.check_bond_monitor(&path, desired);
        self.check_bond_targets(&path, desired);
        self.check_bond_primary(&path, desired);
        if let Some(system) = desired.attrs.mac(Attr::BondAdActorSystem)
            && system.is_multicast()
        {
            let message = format!("{system} is a group address; give that of one system");
            self.refuse(format!("{path}.options.ad_actor_system"), reason::INVALID_VALUE, message);
        }
        self.ignore_mac(desired);
    }

    fn check_bond_modes(&mut self, path: &str, desired: &DesiredLink) {
        let mode = self.int(desired.name, Attr::BondMode);
        let word = Value::Int(mode).display(Attr::BondMode);
        // A bond keeps options of a mode that it had before; a report of it may be fed back.
        let same_mode = self.current(desired.name).filter(|link| link.attrs.int(Attr::BondMode) == Some(mode));
        for &attr in table::of_section(Section::BondOptions).iter().filter(|attr| !attr.in_bond_mode(mode)) {
            let given = desired.attrs.given(attr);
            let as_it_is = same_mode.is_some_and(|link| link.attrs.given(attr) == given);
            if as_it_is || given.is_none() {
                continue;
            }
            if given.is_some_and(|value| asks(attr, value)) {
                let message = format!("a bond of mode {word} does not have it, only {}; remove it", modes_with(attr));
                self.refuse(format!("{path}.options.{attr}"), reason::CONTRADICTION, message);
            } else if let Some(desired) = self.links.get_mut(&desired.name) {
                // In this mode the option has no meaning, and the kernel does not let it be set.
                desired.attrs.remove(attr);
            }
        }
    }

    /// The priority of a port is an option of its bond's mode too.
    pub(super) fn check_bond_port(&mut self, desired: &DesiredLink) {
        const ATTR: Attr = Attr::BondPortPriority;
        let (Some(given), Some(bond)) = (desired.attrs.given(ATTR), self.controller(desired.name)) else { return };
        let mode = self.int(bond, Attr::BondMode);
        let is = self.current(desired.name).filter(|link| link.controller == Some(bond)).map(|link| &link.attrs);
        if self.kind(bond) != Some(&LinkKind::Bond)
            || ATTR.in_bond_mode(mode)
            || is.is_some_and(|is| is.get(ATTR).as_ref() == Some(given))
        {
            return;
        }
        if asks(ATTR, given) {
            let word = Value::Int(mode).display(Attr::BondMode);
            let message = format!(
                "{}: ports of a bond of mode {word} have no priority, only those of {}; remove it",
                desired.name,
                modes_with(ATTR)
            );
            let path = format!("{}.link-aggregation.ports-config", self.path_of(bond));
            self.refuse(path, reason::CONTRADICTION, message);
        } else if let Some(desired) = self.links.get_mut(&desired.name) {
            desired.attrs.remove(ATTR);
        }
    }

    fn check_bond_monitor(&mut self, path: &str, desired: &DesiredLink) {
        let given = |attr| desired.attrs.given(attr).is_some();
        let miimon = self.int(desired.name, Attr::BondMiimon);
        let arp = self.int(desired.name, Attr::BondArpInterval);
        if miimon > 0 && arp > 0 && (given(Attr::BondMiimon) || given(Attr::BondArpInterval)) {
            let message = format!("miimon {miimon} and arp_interval {arp} exclude each other; set one of them to 0");
            self.refuse(format!("{path}.options"), reason::CONTRADICTION, message);
        }
        for attr in [Attr::BondUpdelay, Attr::BondDowndelay] {
            let delay = self.int(desired.name, attr);
            if delay == 0 || !(given(attr) || given(Attr::BondMiimon)) {
                continue;
            }
            if miimon == 0 {
                let message = format!("{delay}: a delay needs miimon above 0");
                self.refuse(format!("{path}.options.{attr}"), reason::CONTRADICTION, message);
            } else if !delay.is_multiple_of(miimon) {
                let message = format!("{delay}: must be a multiple of miimon ({miimon}), or the kernel rounds it down");
                self.refuse(format!("{path}.options.{attr}"), reason::INVALID_VALUE, message);
            }
        }
    }

    fn check_bond_targets(&mut self, path: &str, desired: &DesiredLink) {
        /// What the kernel has room for.
        const MOST: usize = 16;
        for (attr, family) in [(Attr::BondArpIpTarget, Family::Ipv4), (Attr::BondNsIp6Target, Family::Ipv6)] {
            let Some(Value::Ips(targets)) = desired.attrs.given(attr).cloned() else { continue };
            let path = format!("{path}.options.{attr}");
            if let Some(ip) = targets.iter().find(|ip: &&IpAddr| Family::of(**ip) != family) {
                self.refuse(path.clone(), reason::INVALID_VALUE, format!("{ip} is no {family} address"));
            }
            if targets.len() > MOST {
                self.refuse(path.clone(), reason::INVALID_VALUE, format!("{} targets; at most {MOST}", targets.len()));
            }
            if !targets.is_empty() && self.int(desired.name, Attr::BondArpInterval) == 0 {
                self.refuse(path, reason::CONTRADICTION, "targets need arp_interval above 0");
            }
        }
    }

    fn check_bond_primary(&mut self, path: &str, desired: &DesiredLink) {
        let Some(primary) = desired.attrs.link(Attr::BondPrimary) else { return };
        let as_it_is = self.current(desired.name).and_then(|l| l.attrs.link(Attr::BondPrimary)) == Some(primary);
        if self.controller(primary) != Some(desired.name) && !as_it_is {
            let message = format!("{primary} is no port of {}; add it to the port list", desired.name);
            self.refuse(format!("{path}.options.primary"), reason::CONTRADICTION, message);
        }
    }

    /// With `fail_over_mac: active` the bond takes the address of its active port.
    fn ignore_mac(&mut self, desired: &DesiredLink) {
        const ACTIVE: u64 = 1;
        let follows = self.int(desired.name, Attr::BondMode) == ACTIVE_BACKUP
            && self.int(desired.name, Attr::BondFailOverMac) == ACTIVE;
        if !follows || desired.attrs.given(Attr::Mac).is_none() {
            return;
        }
        let path = format!("{}.mac-address", desired.origin.path);
        self.warn(path, "ignored: with fail_over_mac: active the bond has the address of its active port");
        if let Some(desired) = self.links.get_mut(&desired.name) {
            desired.attrs.remove(Attr::Mac);
        }
    }
}

/// Whether a value asks for something: the default, or nothing, does not.
fn asks(attr: Attr, value: &Value) -> bool {
    *value != Value::Unset && Some(value) != attr.default_value().as_ref()
}

/// The modes in which bonds have an option.
fn modes_with(attr: Attr) -> String {
    let modes = (0..=ALB).filter(|mode| attr.in_bond_mode(*mode));
    modes.map(|mode| Value::Int(mode).display(Attr::BondMode)).collect::<Vec<_>>().join(", ")
}
