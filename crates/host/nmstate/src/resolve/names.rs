//! Finds out which link each entry means.

use netloom_model::{Attr, Link, LinkKind};
use netloom_types::{IfName, MacAddr};

use super::Merge;
use crate::{
    document::{Identifier, Interface, State},
    errors::reason,
};

impl Merge<'_> {
    pub(super) fn names(&mut self) {
        for (i, interface) in self.doc.interfaces.iter().enumerate() {
            let Some(real) = self.identify(i, interface) else { continue };
            self.names.insert(interface.name, real);
            if let (Some(_), Some(Ok(profile))) =
                (interface.identifier, interface.profile_name.as_ref().map(|p| p.parse::<IfName>()))
            {
                self.names.insert(profile, real);
            }
            if interface.state == Some(State::Ignore) {
                self.ignored.insert(real);
                continue;
            }
            if let Some(&first) = self.entries.get(&real) {
                self.second_entry(i, first, real);
            } else {
                self.entries.insert(real, i);
            }
        }
    }

    /// Two entries for one link: the old one goes and one of another kind takes its name.
    fn second_entry(&mut self, second: usize, first: usize, real: IfName) {
        let (a, b) = (&self.doc.interfaces[first], &self.doc.interfaces[second]);
        if a.name != b.name {
            let message = format!("this is {real}, as interfaces[{first}] is too: merge the two");
            self.refuse(format!("interfaces[{second}].name"), reason::DUPLICATE, message);
            return;
        }
        let (old, new, index) = if a.state == Some(State::Absent) { (a, b, second) } else { (b, a, first) };
        self.entries.insert(real, index);
        let is = self.observed.links.get(&real).map(|link| &link.kind);
        // Once the new link is there the old one's entry is fulfilled.
        if is.is_some() && is == old.kind.as_ref() && is != new.kind.as_ref() {
            self.replaced.insert(real);
        }
    }

    fn identify(&mut self, i: usize, interface: &Interface) -> Option<IfName> {
        match interface.identifier {
            None => Some(interface.name),
            Some(Identifier::MacAddress) => {
                let Some(mac) = interface.attrs.mac(Attr::Mac) else {
                    let message = "identifier: mac-address needs mac-address to be set";
                    self.refuse(format!("interfaces[{i}].identifier"), reason::MISSING_KEY, message);
                    return None;
                };
                self.by_mac(i, interface, mac)
            }
            Some(Identifier::PciAddress) => {
                let Some(wanted) = &interface.pci_address else {
                    let message = "identifier: pci-address needs pci-address to be set";
                    self.refuse(format!("interfaces[{i}].identifier"), reason::MISSING_KEY, message);
                    return None;
                };
                let matches = |pci: &Option<String>| pci.as_ref().is_some_and(|p| p.eq_ignore_ascii_case(wanted));
                let found = self.observed.facts.iter().find(|(_, facts)| matches(&facts.pci_address)).map(|(n, _)| *n);
                if found.is_none() {
                    let message = format!("no link has the PCI address {wanted}; `netloom state show` lists them");
                    self.refuse(format!("interfaces[{i}].pci-address"), reason::LINK_NOT_FOUND, message);
                }
                found
            }
        }
    }

    /// VLANs, bonds and bridges share the address of the card below: a card is meant first.
    fn by_mac(&mut self, i: usize, interface: &Interface, mac: MacAddr) -> Option<IfName> {
        let permanent = |name: &IfName| self.observed.facts.get(name).and_then(|f| f.permanent_mac) == Some(mac);
        let has = |link: &&Link| permanent(&link.name) || link.attrs.mac(Attr::Mac) == Some(mac);
        let fits = |link: &&Link| interface.kind.as_ref().is_none_or(|kind| is_kind(&link.kind, kind));
        let all: Vec<&Link> = self.observed.links.values().filter(has).filter(fits).collect();
        let burnt_in: Vec<&Link> = all.iter().copied().filter(|link| permanent(&link.name)).collect();
        let cards: Vec<&Link> = all.iter().copied().filter(|link| !link.kind.is_virtual()).collect();
        let named: Vec<&Link> = all.iter().copied().filter(|link| link.name == interface.name).collect();
        let best = [&named, &burnt_in, &cards, &all].into_iter().find(|list| list.len() == 1);
        let path = format!("interfaces[{i}].mac-address");
        match (best, &all[..]) {
            (Some(one), _) => Some(one[0].name),
            (None, []) => {
                self.refuse(path, reason::LINK_NOT_FOUND, format!("no link has the address {mac}; check it"));
                None
            }
            (None, several) => {
                let words: Vec<String> = several.iter().map(|link| link.name.to_string()).collect();
                let message = format!("{mac} is the address of {}: say which one by name or type", words.join(", "));
                self.refuse(path, reason::CONTRADICTION, message);
                None
            }
        }
    }
}

/// Whether a link of kind `is` may be called `given`: one end of a pair is a card to who uses it.
pub(super) fn is_kind(is: &LinkKind, given: &LinkKind) -> bool {
    is == given || (*given == LinkKind::Ethernet && *is == LinkKind::Veth)
}
