//! How much of its nodes a host network lists: an object has no room for thousands of entries.
//!
//! What is not listed is counted, and the condition says so. Nodes that are not ready are listed first. What is not listed
//! was not forgotten: nodes are asked instead, by what they were assigned and have answered.

use std::collections::BTreeMap;

use netloom_api::hostnet::{HostNetworkConfigStatus, NodeStatus, Unlisted};

use super::condition::{self, Verdict};

/// The most bytes of entries. Who manages their fields takes nearly as much again, and addresses and names of the same
/// nodes stand in the object too: together they stay below 1 MiB with five thousand nodes.
const MOST: usize = 224 << 10;

/// Something that is reported of a node, written or not.
pub(super) trait Readiness {
    /// Whether the node has what it shall have.
    fn is_ready(&self) -> bool;
}

impl Readiness for NodeStatus {
    fn is_ready(&self) -> bool {
        condition::is_ready(&self.conditions)
    }
}

/// As many entries as there is room for, and how many nodes have none. Only what is listed is written.
pub(super) fn bounded<E: Readiness>(
    all: BTreeMap<&str, E>,
    generation: Option<i64>,
    write: impl Fn(&str, E) -> NodeStatus,
) -> (BTreeMap<String, NodeStatus>, Option<Unlisted>) {
    // A thousand bytes are more than an entry takes, so few nodes need not be measured.
    if all.len() <= MOST / 1000 {
        return (all.into_iter().map(|(node, entry)| (node.to_owned(), write(node, entry))).collect(), None);
    }
    let (ready, waiting): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, entry)| entry.is_ready());
    let (mut room, mut listed) = (MOST, BTreeMap::new());
    let mut unlisted = Unlisted { observed_generation: generation, ..Unlisted::default() };
    for (node, entry) in waiting.into_iter().chain(ready) {
        let is_ready = entry.is_ready();
        if room > 0 {
            let entry = write(node, entry);
            room = room.saturating_sub(node.len() + size(&entry));
            if room > 0 {
                listed.insert(node.to_owned(), entry);
                continue;
            }
        }
        if is_ready {
            unlisted.ready += 1;
        } else {
            unlisted.waiting += 1;
        }
    }
    let counted = unlisted.ready + unlisted.waiting > 0;
    (listed, counted.then_some(unlisted))
}

/// How many bytes an entry takes at most: what it says, and the names of its fields. Writing each of thousands of entries
/// only to measure it takes longer than all the rest.
fn size(entry: &NodeStatus) -> usize {
    /// All names of fields, the punctuation between them, numbers and times.
    const FIELDS: usize = 320;
    /// The same of a lease.
    const LEASE: usize = 320;
    let NodeStatus {
        cluster_network,
        vlan_id: _,
        mode: _,
        interface,
        addresses,
        lease,
        observed_generation: _,
        conditions,
    } = entry;
    let reported = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let conditions: usize = conditions.iter().map(|one| reported(&one.reason) + reported(&one.message)).sum();
    let lease = lease.as_ref().map_or(0, |lease| {
        let servers: usize = lease.name_servers.iter().map(|server| server.len() + 3).sum();
        LEASE + lease.server.len() + servers + reported(&lease.domain)
    });
    let addresses: usize = addresses.iter().map(|address| address.len() + 3).sum();
    FIELDS + cluster_network.len() + reported(interface) + addresses + conditions + lease
}

/// The verdict, with what is not listed.
pub(super) fn with_room(verdict: Verdict, listed: usize, unlisted: Option<&Unlisted>) -> Verdict {
    let Some(unlisted) = unlisted else { return verdict };
    let count = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    let all = listed + count(unlisted.ready) + count(unlisted.waiting);
    let before = if verdict.message.is_empty() { String::new() } else { format!("{}; ", verdict.message) };
    let message = format!("{before}nodeStatus has room for {listed} of {all} nodes, those that are not ready first");
    Verdict { message, ..verdict }
}

/// Whether a node without an entry had the object in this generation: all that are not listed had.
pub(super) fn stood_unlisted(before: &HostNetworkConfigStatus, generation: Option<i64>) -> bool {
    before.unlisted.as_ref().is_some_and(|it| it.waiting == 0 && it.observed_generation == generation)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn entries(nodes: usize, waiting: usize) -> BTreeMap<String, NodeStatus> {
        let entry = |number: usize| {
            let verdict = if number < waiting {
                Verdict::pending("the node is applying the configuration")
            } else {
                Verdict::applied()
            };
            NodeStatus { conditions: vec![verdict.condition(Timestamp::UNIX_EPOCH, &[])], ..NodeStatus::default() }
        };
        (0..nodes).map(|number| (format!("n{:05}", nodes - number), entry(number))).collect()
    }

    fn fitted(
        all: &BTreeMap<String, NodeStatus>,
        generation: Option<i64>,
    ) -> (BTreeMap<String, NodeStatus>, Option<Unlisted>) {
        let all = all.iter().map(|(node, entry)| (node.as_str(), entry.clone())).collect();
        bounded(all, generation, |_, entry| entry)
    }

    #[test]
    fn few_nodes_are_all_listed() {
        assert_eq!(fitted(&entries(200, 3), Some(1)), (entries(200, 3), None));
    }

    #[test]
    fn of_many_those_that_are_not_ready_are_listed_and_the_rest_is_counted() {
        let (listed, unlisted) = fitted(&entries(5000, 3), Some(7));
        let counted = unlisted.clone().unwrap();
        assert_eq!((counted.ready as usize, counted.waiting), (5000 - listed.len(), 0));
        assert_eq!(listed.values().filter(|entry| !condition::is_ready(&entry.conditions)).count(), 3);
        let text = serde_json::to_string(&listed).unwrap();
        assert!(text.len() < MOST, "{} bytes are more than was thought", text.len());
        let verdict = with_room(Verdict::applied(), listed.len(), unlisted.as_ref());
        let words = format!("nodeStatus has room for {} of 5000 nodes, those that are not ready first", listed.len());
        assert_eq!(verdict.message, words);
        let status = HostNetworkConfigStatus { unlisted, ..HostNetworkConfigStatus::default() };
        assert!(stood_unlisted(&status, Some(7)) && !stood_unlisted(&status, Some(8)));
    }
}
