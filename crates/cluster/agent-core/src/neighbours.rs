//! Who is on the other end of the wires: where the agent listens, and what it heard there.

use std::collections::{BTreeMap, BTreeSet};

use netloom_types::IfName;
use serde_json::Value;

use crate::{
    Heard,
    companion::{Companion, CompanionNews, CompanionOrder, Desired},
};

/// What is known of neighbours.
#[derive(Debug, Clone, Default)]
pub(crate) struct Neighbours {
    links: BTreeSet<IfName>,
    heard: Heard,
}

impl Neighbours {
    /// Whether nobody is listened for.
    pub(crate) fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// What is known on every link that is listened on. As long as it is too early to say, what the last life reported
    /// stands: else policies that go by neighbours would take their part back with every restart.
    pub(crate) fn report(&self, reported: &BTreeMap<IfName, Vec<Value>>) -> Heard {
        let known = |link: &IfName| self.heard.get(link).and_then(|heard| heard.neighbours.clone());
        let on = |link: &IfName| known(link).or_else(|| reported.get(link).cloned());
        self.links.iter().map(|link| (*link, netloom_nmstate::Heard { neighbours: on(link) })).collect()
    }
}

impl Companion for Neighbours {
    fn order(&mut self, desired: Desired<'_>) -> Option<(CompanionOrder, bool)> {
        let links = match desired {
            Desired::Wanted { desired, .. } => desired.listen.clone(),
            Desired::Unknown => return None,
            Desired::Nothing => BTreeSet::new(),
        };
        if links == self.links {
            return None;
        }
        self.links.clone_from(&links);
        let look = !links.is_empty();
        Some((CompanionOrder::Listen(links), look))
    }

    fn take_news(&mut self, news: &CompanionNews) -> bool {
        let CompanionNews::Heard(heard) = news else { return false };
        let differs = *heard != self.heard;
        self.heard.clone_from(heard);
        differs
    }
}
