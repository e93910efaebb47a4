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
        let (link, mtu) = (unit.link()?, unit.mtu()?);
        let below = unit.carrier().and_then(|base| {
            let (kept, who) = self.claims.get(&(base, "mtu"))?;
            kept.as_u64().is_some_and(|kept| kept < mtu).then_some((base, *kept, *who))
        });
        let above = || {
            self.carried.get(link)?.iter().find_map(|(child, who)| {
                let (kept, _) = self.claims.get(&(*child, "mtu"))?;
                kept.as_u64().is_some_and(|kept| kept > mtu).then_some((*child, *kept, *who))
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
