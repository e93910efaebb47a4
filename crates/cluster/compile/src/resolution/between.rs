//! Contradictions between two links: each desired state is sound alone, and no node can have both.

use netloom_model::Source;
use serde_json::{Value, json};

use super::{
    merge::{Merge, Who},
    unit::{Unit, lists},
};
use crate::finding::Conflict;

/// What the kernel gives to a new link.
pub(super) const USUAL_MTU: u64 = 1500;
const CONTROLLER: &str = "controller";

impl<'a> Merge<'a> {
    /// What was taken of another link and cannot be together with a unit.
    pub(super) fn conflict_between(&self, unit: &Unit, asker: &Source) -> Option<Conflict> {
        self.outgrown(unit, asker).or_else(|| self.uninvited(unit, asker))
    }

    /// A link that would send larger frames than the one that carries it.
    fn outgrown(&self, unit: &Unit, asker: &Source) -> Option<Conflict> {
        let link = unit.link()?;
        let mtu = unit.mtu().or_else(|| Some(self.claimed_mtu(link)?.0));
        let below = mtu.and_then(|mtu| {
            let (carrier, most, who) = self.carrier(unit.carrier()?)?;
            (most < mtu).then_some((carrier, most, mtu, who))
        });
        let above = || {
            self.carried.iter().find_map(|(base, children)| {
                let most = if *base == link { mtu.or_else(|| self.joined(unit)) } else { self.followed(base, unit) }?;
                children.iter().find_map(|(child, who)| {
                    let (wanted, _) = self.claimed_mtu(child)?;
                    (wanted > most).then_some((*child, wanted, most, *who))
                })
            })
        };
        let (subject, kept, refused, who) = below.or_else(above)?;
        Some(Conflict {
            winner: self.asker(who),
            loser: asker.clone(),
            place: unit.place.clone(),
            subject: format!("{subject} and {link}"),
            path: "mtu".to_owned(),
            kept: json!(kept),
            refused: json!(refused),
        })
    }

    /// The link that says how large frames over a base can be, how large, and who wants it so: the base itself, or the
    /// bond that it is a port of.
    fn carrier<'l>(&self, base: &'l str) -> Option<(&'l str, u64, Who)>
    where
        'a: 'l,
    {
        if let Some((mtu, who)) = self.claimed_mtu(base) {
            return Some((base, mtu, who));
        }
        let bond = self.bond_of(base)?;
        if let Some((mtu, who)) = self.claimed_mtu(bond) {
            return Some((bond, mtu, who));
        }
        let (_, who) = self.claims.get(&(base, CONTROLLER))?;
        Some((bond, self.unspecified_mtu(bond), *who))
    }

    /// The MTU that a unit's link takes over from a bond that the unit makes it a port of.
    fn joined(&self, unit: &Unit) -> Option<u64> {
        let bond = unit.controller().filter(|controller| self.is_bond(controller))?;
        Some(self.claimed_mtu(bond).map_or_else(|| self.unspecified_mtu(bond), |(mtu, _)| mtu))
    }

    /// The MTU that a port without one of its own takes over from a unit's link, where that is a bond.
    fn followed(&self, port: &str, unit: &Unit) -> Option<u64> {
        let bond = unit.link()?;
        let listed = unit.claims.iter().any(|claim| claim.subject == port && claim.path == CONTROLLER);
        let is_port = (listed && unit.is_bond()) || self.bond_of(port) == Some(bond);
        if !is_port || self.claimed_mtu(port).is_some() {
            return None;
        }
        let given = unit.mtu().or_else(|| Some(self.claimed_mtu(bond)?.0));
        // A bond that is there already, and is not spoken of otherwise, has what it had.
        given.or_else(|| listed.then(|| self.unspecified_mtu(bond)))
    }

    /// The bond that somebody made a link a port of, or that it is a port of on the node.
    pub(super) fn bond_of(&self, port: &str) -> Option<&'a str> {
        let given = self.claims.get(&(port, CONTROLLER)).map(|(controller, _)| controller.as_str().unwrap_or_default());
        let found = || {
            let there = self.inventory.get(port)?.controller.as_deref()?;
            self.port_list(there).is_none_or(|(list, _)| lists(list, port)).then_some(there)
        };
        given.or_else(found).filter(|controller| self.is_bond(controller))
    }

    fn is_bond(&self, link: &str) -> bool {
        let claimed = self.claims.get(&(link, "type")).is_some_and(|(kind, _)| **kind == "bond");
        let given = self.links.get(link).is_some_and(|units| units.iter().any(|(unit, _)| unit.is_bond()));
        claimed || given || self.inventory.get(link).is_some_and(|link| link.kind == "bond")
    }

    pub(super) fn claimed_mtu(&self, link: &str) -> Option<(u64, Who)> {
        let (mtu, who) = self.claims.get(&(link, "mtu"))?;
        Some((mtu.as_u64()?, *who))
    }

    /// The MTU of a link for which nobody says one.
    fn unspecified_mtu(&self, link: &str) -> u64 {
        self.found_mtu(link).unwrap_or(USUAL_MTU)
    }

    /// The MTU that a link has, and keeps when nobody says another. A bond of the configuration is made as usual then.
    pub(super) fn found_mtu(&self, link: &str) -> Option<u64> {
        let configured = self.configured.iter().any(|(unit, _)| unit.link() == Some(link) && unit.is_bond());
        if configured { Some(USUAL_MTU) } else { self.inventory.get(link)?.mtu }
    }

    /// A port that the list of its controller leaves out: reported from the one side or from the other.
    fn uninvited(&self, unit: &Unit, asker: &Source) -> Option<Conflict> {
        let link = unit.link()?;
        let of_list = unit.controller().and_then(|controller| {
            let (list, who) = self.port_list(controller)?;
            (!lists(list, link)).then(|| (controller, "port", list.clone(), json!(link), who))
        });
        let of_port = || {
            let list = unit.port_list()?;
            let given = self.links.values().flatten().chain(&self.configured);
            given.filter(|(given, _)| given.controller() == Some(link)).find_map(|(given, who)| {
                let port = given.link().filter(|port| !lists(list, port))?;
                Some((port, CONTROLLER, json!(link), list.clone(), *who))
            })
        };
        let (subject, path, kept, refused, who) = of_list.or_else(of_port)?;
        Some(Conflict {
            winner: self.asker(who),
            loser: asker.clone(),
            place: unit.place.clone(),
            subject: subject.to_owned(),
            path: path.to_owned(),
            kept,
            refused,
        })
    }

    /// The list of all ports that somebody gave to a link.
    fn port_list(&self, controller: &str) -> Option<(&'a Value, Who)> {
        self.links.get(controller)?.iter().find_map(|(unit, who)| Some((unit.port_list()?, *who)))
    }
}
