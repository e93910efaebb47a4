//! Contradictions between two links: each wish is sound alone, and no node can have both.

use serde_json::{Value, json};

use super::{
    claim::{Unit, lists},
    merge::{Merge, Who},
};
use crate::{finding::Conflict, key::ObjectKey};

impl<'a> Merge<'a> {
    /// What was taken of another link and cannot be together with a unit.
    pub(super) fn conflict_between(&self, unit: &Unit, policy: &ObjectKey) -> Option<Conflict> {
        self.outgrown(unit, policy).or_else(|| self.uninvited(unit, policy))
    }

    /// A link that would send larger frames than the one that carries it.
    fn outgrown(&self, unit: &Unit, policy: &ObjectKey) -> Option<Conflict> {
        let link = unit.link()?;
        let mtu = unit.mtu().or_else(|| self.claimed_mtu(link)?.0.as_u64())?;
        let below = unit.carrier().and_then(|base| {
            let (kept, who) = self.claimed_mtu(base).or_else(|| self.claimed_mtu(self.bond_of(base)?))?;
            kept.as_u64().is_some_and(|kept| kept < mtu).then_some((base, kept, who))
        });
        let above = || {
            let carriers = self.carried.iter().filter(|(base, _)| **base == link || self.would_follow(base, unit));
            carriers.flat_map(|(_, children)| children).find_map(|(child, who)| {
                let (kept, _) = self.claimed_mtu(child)?;
                kept.as_u64().is_some_and(|kept| kept > mtu).then_some((*child, kept, *who))
            })
        };
        let (subject, kept, who) = below.or_else(above)?;
        Some(Conflict {
            winner: self.asker(who),
            loser: policy.clone(),
            place: unit.place.clone(),
            subject: format!("{subject} and {link}"),
            path: "mtu".to_owned(),
            kept: kept.clone(),
            refused: json!(mtu),
        })
    }

    /// Whether a link takes over the MTU of a unit's link, as a port of a bond does that has none of its own.
    fn would_follow(&self, port: &str, unit: &Unit) -> bool {
        let listed = unit.claims.iter().any(|claim| claim.subject == port && claim.path == "controller");
        let bond = unit.link().filter(|link| listed && unit.is_bond() || self.bond_of(port) == Some(link));
        bond.is_some() && self.claimed_mtu(port).is_none()
    }

    /// The bond that somebody made a link a port of.
    pub(super) fn bond_of(&self, port: &str) -> Option<&'a str> {
        let (controller, _) = self.claims.get(&(port, "controller"))?;
        controller.as_str().filter(|controller| self.kind(controller) == Some("bond"))
    }

    fn kind(&self, link: &str) -> Option<&str> {
        let said = self.claims.get(&(link, "type")).and_then(|(kind, _)| kind.as_str());
        said.or_else(|| self.inventory.get(link).map(|link| link.kind.as_str()))
    }

    fn claimed_mtu(&self, link: &str) -> Option<(&'a Value, Who)> {
        self.claims.get(&(link, "mtu")).copied()
    }

    /// A port that the list of its controller leaves out: said from the one side or from the other.
    fn uninvited(&self, unit: &Unit, policy: &ObjectKey) -> Option<Conflict> {
        let link = unit.link()?;
        let of_list = unit.controller().and_then(|controller| {
            let (list, who) = self.port_list(controller)?;
            (!lists(list, link)).then(|| (controller, "port", list.clone(), json!(link), who))
        });
        let of_port = || {
            let list = unit.port_list()?;
            let ports = self.links.iter().filter(|(port, _)| !lists(list, port));
            ports.flat_map(|(port, units)| units.iter().map(move |said| (*port, said))).find_map(
                |(port, (said, who))| {
                    (said.controller() == Some(link)).then(|| (port, "controller", json!(link), list.clone(), *who))
                },
            )
        };
        let (subject, path, kept, refused, who) = of_list.or_else(of_port)?;
        Some(Conflict {
            winner: self.asker(who),
            loser: policy.clone(),
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
