//! The last look at what was taken: a document that a node refuses as a whole must not come out.
//!
//! A link that is not there yet needs all that its type cannot do without. One policy may say a part
//! of it and another one the rest, so this can only be known when everybody was heard.

use netloom_model::{Attr, LinkKind};
use serde_json::{Map, Value};

use super::{
    between::USUAL_MTU,
    merge::{Desired, Merge, Who, entry_of},
    unit::{Unit, is_absent, refs},
};
use crate::{
    finding::{Finding, reason},
    state::{Link, document::kind_of},
};

impl Merge<'_> {
    /// Takes back what policies want of links that would be incomplete, and what stands on those.
    pub(super) fn settle(&mut self, desired: &mut Desired) {
        loop {
            let incomplete = self.links.iter().find_map(|(link, units)| {
                let by_policy = units.iter().any(|(_, who)| who.state().is_some());
                let new = by_policy && self.inventory.get(link).is_none();
                let missing = new.then(|| missing(&entry_of(units))).flatten()?;
                Some((*link, format!("{link} is new and {missing} is not set: it is left out")))
            });
            if let Some((link, message)) = incomplete {
                self.drop_units(desired, reason::MISSING_BASE, &message, |unit| unit.link() == Some(link));
                continue;
            }
            if let Some((link, message)) = self.too_large() {
                let wrong = |unit: &Unit| unit.link() == Some(&link) && unit.mtu().is_some();
                self.drop_units(desired, reason::CONTRADICTION, &message, wrong);
                continue;
            }
            if let Some((link, message)) = self.misplaced() {
                let wrong = |unit: &Unit| unit.link() == Some(&link) && unit.controller().is_some();
                self.drop_units(desired, reason::CONTRADICTION, &message, wrong);
                continue;
            }
            let all = self.links.values().flatten().chain(&self.taken).filter(|(_, who)| who.state().is_some());
            let lost = all.flat_map(|(unit, _)| &unit.needs).find(|need| !self.is_there(need)).cloned();
            let Some(need) = lost else { return };
            let message = format!("stands on {need}, which is not there or is left out: it is left out too");
            self.drop_units(desired, reason::MISSING_BASE, &message, |unit| unit.needs.contains(&need));
        }
    }

    /// A link that policies make larger than the one that carries it is, or shall be.
    fn too_large(&self) -> Option<(String, String)> {
        self.links.iter().find_map(|(link, units)| {
            let (wanted, _) = units.iter().find_map(|(unit, who)| Some((unit.mtu()?, who.state()?)))?;
            let given = units.iter().find_map(|(unit, _)| unit.carrier());
            let carried = |link: &&Link| matches!(link.kind.as_str(), "vlan" | "mac-vlan" | "mac-vtap");
            let base = given.or_else(|| self.inventory.get(link).filter(carried)?.base.as_deref())?;
            let most = self.mtu(base, 0)?;
            let message = format!("{link} cannot have an MTU of {wanted}: {base} has {most}; it is left out");
            (wanted > most).then(|| ((*link).to_owned(), message))
        })
    }

    /// The largest packet that a link sends, or shall send. A link that is new has what the kernel gives to it: a bridge
    /// as much as all of its ports, a VLAN as much as its base. A port takes over what its bond has, and the bridge of an
    /// uplink what the bond of the uplink has.
    fn mtu(&self, link: &str, depth: usize) -> Option<u64> {
        const DEEPEST: usize = 8;
        let entry = self.links.get(link).map(|units| entry_of(units));
        let given = entry.as_ref().and_then(|entry| entry.get("mtu")?.as_u64());
        let given = given.or_else(|| self.claimed_mtu(link).map(|(mtu, _)| mtu));
        let lower = self.bond_of(link).or_else(|| self.bond_in(link)).filter(|_| depth < DEEPEST);
        let followed = || self.mtu(lower?, depth + 1);
        let known = given.or_else(followed).or_else(|| self.found_mtu(link));
        let Some(entry) = entry.filter(|_| known.is_none() && depth < DEEPEST) else { return known };
        let below: Vec<u64> = refs(&entry).iter().filter_map(|below| self.mtu(below, depth + 1)).collect();
        match kind_of(&entry) {
            Some("linux-bridge" | "vlan" | "mac-vlan" | "mac-vtap") => {
                Some(below.into_iter().min().unwrap_or(USUAL_MTU))
            }
            _ => Some(USUAL_MTU),
        }
    }

    /// A link that policies make a port of what has no ports, or that has addresses as a port.
    fn misplaced(&self) -> Option<(String, String)> {
        self.links.iter().find_map(|(link, units)| {
            let (controller, _) = units.iter().find_map(|(unit, who)| Some((unit.controller()?, who.state()?)))?;
            let given = self.links.get(controller).map(|units| entry_of(units));
            let given = given.as_ref().and_then(kind_of);
            let kind = given.or_else(|| self.inventory.get(controller).map(|link| link.kind.as_str()))?;
            let message = match kind {
                "bond" | "linux-bridge" if units.iter().any(|(unit, _)| unit.has_addresses()) => {
                    format!("{link} has addresses of its own and cannot be a port of {controller}: it is left out")
                }
                "bond" | "linux-bridge" | "vrf" => return None,
                _ => format!("{controller} is of type {kind} and has no ports: it is left out"),
            };
            Some(((*link).to_owned(), message))
        })
    }

    /// The bond that the configuration makes a port of a bridge.
    fn bond_in(&self, bridge: &str) -> Option<&str> {
        let mut bonds = self.configured.iter().filter(|(unit, _)| unit.is_bond());
        bonds.find(|(unit, _)| unit.controller() == Some(bridge))?.0.link()
    }

    fn is_there(&self, link: &str) -> bool {
        self.links.contains_key(link) || self.inventory.get(link).is_some()
    }

    /// Takes back the units of policies that fit, and tells the policies.
    fn drop_units(&mut self, desired: &mut Desired, reason: &'static str, message: &str, fits: impl Fn(&Unit) -> bool) {
        let contributions = self.contributions;
        let mut keep = |unit: &Unit, who: Who| match who.state() {
            Some(who) if fits(unit) => {
                let finding = Finding::new(reason, &unit.place, message);
                desired.findings.entry(contributions[who].asker.clone()).or_default().push(finding);
                false
            }
            Some(_) | None => true,
        };
        self.taken.retain(|(unit, who)| keep(unit, *who));
        for units in self.links.values_mut() {
            units.retain(|(unit, who)| keep(unit, *who));
        }
        self.links.retain(|_, units| !units.is_empty());
    }
}

/// What a new link of the entry's type cannot do without and the entry does not say.
fn missing(entry: &Map<String, Value>) -> Option<String> {
    if is_absent(entry) {
        return None;
    }
    let kind = kind_of(entry);
    let Some(known) = kind.and_then(|kind| LinkKind::KNOWN.iter().find(|known| known.name() == kind)) else {
        return Some("a type that can be made".to_owned());
    };
    // The kernel would make these up; a node asks for them.
    let block = entry.get(known.block());
    let external = block.is_some_and(|block| block.get(Attr::VxlanExternal.key()) == Some(&Value::Bool(true)));
    let asked: &[Attr] = if *known == LinkKind::Bond {
        &[Attr::BondMode]
    } else if *known == LinkKind::Vxlan && !external {
        &[Attr::VxlanId]
    } else {
        &[]
    };
    let unspecified = |attr: &&Attr| block.and_then(|block| block.get(attr.key())).is_none();
    let first = known.required().iter().chain(asked).find(unspecified)?;
    Some(format!("{}.{}", known.block(), first.key()))
}
