//! Rules of bonds.

use std::net::IpAddr;

use netloom_model::{Attr, LinkKind, LinkWish, Section, Value};
use netloom_types::Family;

use super::Merge;
use crate::{errors::reason, table};

const ACTIVE_BACKUP: u64 = 1;
/// The last mode.
const ALB: u64 = 6;

impl Merge<'_> {
    pub(super) fn check_bond(&mut self, path: &str, wish: &LinkWish) {
        let path = format!("{path}.link-aggregation");
        self.check_bond_modes(&path, wish);
        self.check_bond_monitor(&path, wish);
        self.check_bond_targets(&path, wish);
        self.check_bond_primary(&path, wish);
        if let Some(system) = wish.attrs.mac(Attr::BondAdActorSystem)
            && system.is_multicast()
        {
            let message = format!("{system} is a group address; give that of one system");
            self.refuse(format!("{path}.options.ad_actor_system"), reason::INVALID_VALUE, message);
        }
        self.ignore_mac(wish);
    }

    fn check_bond_modes(&mut self, path: &str, wish: &LinkWish) {
        let mode = self.int(wish.name, Attr::BondMode);
        let word = Value::Int(mode).display(Attr::BondMode);
        // A bond keeps options of a mode that it had before; a report of it may be fed back.
        let same_mode = self.current(wish.name).filter(|link| link.attrs.int(Attr::BondMode) == Some(mode));
        for &attr in table::of_section(Section::BondOptions).iter().filter(|attr| !attr.in_bond_mode(mode)) {
            let said = wish.attrs.said(attr);
            let as_it_is = same_mode.is_some_and(|link| link.attrs.said(attr) == said);
            if as_it_is || said.is_none() {
                continue;
            }
            if said.is_some_and(|value| asks(attr, value)) {
                let message = format!("a bond of mode {word} does not have it, only {}; remove it", modes_with(attr));
                self.refuse(format!("{path}.options.{attr}"), reason::CONTRADICTION, message);
            } else if let Some(wish) = self.links.get_mut(&wish.name) {
                // In this mode the option has no meaning, and the kernel does not let it be set.
                wish.attrs.remove(attr);
            }
        }
    }

    /// The priority of a port is an option of its bond's mode too.
    pub(super) fn check_bond_port(&mut self, wish: &LinkWish) {
        const ATTR: Attr = Attr::BondPortPriority;
        let (Some(said), Some(bond)) = (wish.attrs.said(ATTR), self.controller(wish.name)) else { return };
        let mode = self.int(bond, Attr::BondMode);
        let is = self.current(wish.name).filter(|link| link.controller == Some(bond)).map(|link| &link.attrs);
        if self.kind(bond) != Some(&LinkKind::Bond)
            || ATTR.in_bond_mode(mode)
            || is.is_some_and(|is| is.get(ATTR).as_ref() == Some(said))
        {
            return;
        }
        if asks(ATTR, said) {
            let word = Value::Int(mode).display(Attr::BondMode);
            let message = format!(
                "{}: ports of a bond of mode {word} have no priority, only those of {}; remove it",
                wish.name,
                modes_with(ATTR)
            );
            let path = format!("{}.link-aggregation.ports-config", self.path_of(bond));
            self.refuse(path, reason::CONTRADICTION, message);
        } else if let Some(wish) = self.links.get_mut(&wish.name) {
            wish.attrs.remove(ATTR);
        }
    }

    fn check_bond_monitor(&mut self, path: &str, wish: &LinkWish) {
        let said = |attr| wish.attrs.said(attr).is_some();
        let miimon = self.int(wish.name, Attr::BondMiimon);
        let arp = self.int(wish.name, Attr::BondArpInterval);
        if miimon > 0 && arp > 0 && (said(Attr::BondMiimon) || said(Attr::BondArpInterval)) {
            let message = format!("miimon {miimon} and arp_interval {arp} exclude each other; set one of them to 0");
            self.refuse(format!("{path}.options"), reason::CONTRADICTION, message);
        }
        for attr in [Attr::BondUpdelay, Attr::BondDowndelay] {
            let delay = self.int(wish.name, attr);
            if delay == 0 || !(said(attr) || said(Attr::BondMiimon)) {
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

    fn check_bond_targets(&mut self, path: &str, wish: &LinkWish) {
        /// What the kernel has room for.
        const MOST: usize = 16;
        for (attr, family) in [(Attr::BondArpIpTarget, Family::Ipv4), (Attr::BondNsIp6Target, Family::Ipv6)] {
            let Some(Value::Ips(targets)) = wish.attrs.said(attr).cloned() else { continue };
            let path = format!("{path}.options.{attr}");
            if let Some(ip) = targets.iter().find(|ip: &&IpAddr| Family::of(**ip) != family) {
                self.refuse(path.clone(), reason::INVALID_VALUE, format!("{ip} is no {family} address"));
            }
            if targets.len() > MOST {
                self.refuse(path.clone(), reason::INVALID_VALUE, format!("{} targets; at most {MOST}", targets.len()));
            }
            if !targets.is_empty() && self.int(wish.name, Attr::BondArpInterval) == 0 {
                self.refuse(path, reason::CONTRADICTION, "targets need arp_interval above 0");
            }
        }
    }

    fn check_bond_primary(&mut self, path: &str, wish: &LinkWish) {
        let Some(primary) = wish.attrs.link(Attr::BondPrimary) else { return };
        let as_it_is = self.current(wish.name).and_then(|l| l.attrs.link(Attr::BondPrimary)) == Some(primary);
        if self.controller(primary) != Some(wish.name) && !as_it_is {
            let message = format!("{primary} is no port of {}; add it to the port list", wish.name);
            self.refuse(format!("{path}.options.primary"), reason::CONTRADICTION, message);
        }
    }

    /// With `fail_over_mac: active` the bond takes the address of its active port.
    fn ignore_mac(&mut self, wish: &LinkWish) {
        const ACTIVE: u64 = 1;
        let follows = self.int(wish.name, Attr::BondMode) == ACTIVE_BACKUP
            && self.int(wish.name, Attr::BondFailOverMac) == ACTIVE;
        if !follows || wish.attrs.said(Attr::Mac).is_none() {
            return;
        }
        let path = format!("{}.mac-address", wish.origin.path);
        self.warn(path, "ignored: with fail_over_mac: active the bond has the address of its active port");
        if let Some(wish) = self.links.get_mut(&wish.name) {
            wish.attrs.remove(Attr::Mac);
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
