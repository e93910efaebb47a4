//! Signs of life of agents: the `Lease` that each renews under the name of its node.
//!
//! Whether an agent is there is counted on one's own clock, from when a renewal was heard of; the time that it carries is
//! only compared with the one before. So a `Lease` that was there before anybody watched says nothing until it is renewed
//! or has stood for its whole length. A renewal is no change that anything follows from, unless the agent was not there.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};
use netloom_api::{NAMESPACE, foreign};
use netloom_rollout::Liveness;
use serde_json::Value;

use crate::controller::later;

/// The agents of which anything was heard, by node.
#[derive(Debug, Clone, Default)]
pub(crate) struct Signs(BTreeMap<String, Sign>);

#[derive(Debug, Clone)]
struct Sign {
    renewed: String,
    seconds: u32,
    /// When that renewal was heard of.
    since: Timestamp,
    /// Whether it came while somebody listened.
    heard: bool,
}

impl Sign {
    fn read(lease: &Value, since: Timestamp, heard: bool) -> Self {
        let renewed = lease.pointer("/spec/renewTime").and_then(Value::as_str).unwrap_or_default().to_owned();
        let seconds = lease.pointer("/spec/leaseDurationSeconds").and_then(Value::as_u64);
        let seconds = seconds.and_then(|seconds| u32::try_from(seconds).ok()).unwrap_or_default();
        Self { renewed, seconds, since, heard }
    }

    fn ends(&self) -> Timestamp {
        later(self.since, SignedDuration::from_secs(self.seconds.into()))
    }

    fn liveness(&self, now: Timestamp) -> Liveness {
        match (self.ends() <= now, self.heard) {
            (true, _) => Liveness::Gone { seconds: self.seconds },
            (false, true) => Liveness::Alive,
            (false, false) => Liveness::Unknown,
        }
    }
}

impl Signs {
    /// Whether the agent of a node is there.
    pub(crate) fn liveness(&self, now: Timestamp, node: &str) -> Liveness {
        self.0.get(node).map_or(Liveness::Silent, |sign| sign.liveness(now))
    }

    /// When the next agent counts as gone, of those that did not at `then`.
    pub(crate) fn next_end(&self, then: Timestamp) -> Option<Timestamp> {
        self.0.values().map(Sign::ends).filter(|end| *end > then).min()
    }

    /// Takes note of an object; says whether anything follows from it.
    pub(crate) fn renewed(&mut self, now: Timestamp, object: &Value) -> bool {
        let Some(node) = node_of(object) else { return false };
        self.note(now, node, Sign::read(object, now, true))
    }

    /// Takes note of all of them.
    pub(crate) fn listed(&mut self, now: Timestamp, objects: &[Arc<Value>]) -> bool {
        let there: BTreeSet<&str> = objects.iter().filter_map(|object| node_of(object)).collect();
        let before = self.0.len();
        self.0.retain(|node, _| there.contains(node.as_str()));
        let mut changed = self.0.len() != before;
        for object in objects {
            if let Some(node) = node_of(object) {
                let heard = self.0.contains_key(node);
                changed |= self.note(now, node, Sign::read(object, now, heard));
            }
        }
        changed
    }

    /// Takes note that an object is gone.
    pub(crate) fn gone(&mut self, object: &Value) -> bool {
        node_of(object).is_some_and(|node| self.0.remove(node).is_some())
    }

    fn note(&mut self, now: Timestamp, node: &str, sign: Sign) -> bool {
        let known = self.0.get(node);
        if known.is_some_and(|known| known.renewed == sign.renewed && known.seconds == sign.seconds) {
            return false;
        }
        let changed = known.map(|known| known.liveness(now)) != Some(sign.liveness(now));
        self.0.insert(node.to_owned(), sign);
        changed
    }
}

/// The node whose agent a `Lease` is of.
fn node_of(object: &Value) -> Option<&str> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let is_lease = text("/kind") == foreign::LEASE.kind && text("/apiVersion").starts_with(foreign::LEASE.group);
    // The lock of controllers lies there too, and is nobody's sign of life.
    let is_one =
        is_lease && text("/metadata/namespace") == NAMESPACE && text("/metadata/name") != foreign::CONTROLLER_LOCK;
    is_one.then(|| text("/metadata/name")).filter(|node| !node.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lease(node: &str, renewed: &str) -> Arc<Value> {
        Arc::new(json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"namespace": NAMESPACE, "name": node},
            "spec": {"holderIdentity": node, "leaseDurationSeconds": 30, "renewTime": renewed},
        }))
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn an_agent_is_there_as_long_as_it_renews() {
        let mut signs = Signs::default();
        assert_eq!(signs.liveness(at(0), "n1"), Liveness::Silent);
        assert!(signs.renewed(at(0), &lease("n1", "a")), "one that is new");
        assert!(!signs.renewed(at(20), &lease("n1", "b")), "a renewal is nothing new");
        assert!(!signs.renewed(at(40), &lease("n1", "b")), "nor is the same once more, and it gives no time");
        assert_eq!((signs.liveness(at(49), "n1"), signs.next_end(at(20))), (Liveness::Alive, Some(at(50))));
        assert_eq!(signs.liveness(at(50), "n1"), Liveness::Gone { seconds: 30 });
        assert_eq!(signs.next_end(at(50)), None);
        assert!(signs.renewed(at(60), &lease("n1", "c")), "one that comes back");
        assert!(signs.gone(&lease("n1", "c")) && !signs.gone(&lease("n1", "c")));
    }

    #[test]
    fn what_was_there_before_anybody_listened_says_nothing_at_first() {
        let mut signs = Signs::default();
        assert!(signs.listed(at(0), &[lease("n1", "a"), lease("n2", "a")]));
        assert_eq!(signs.liveness(at(0), "n1"), Liveness::Unknown);
        assert!(signs.renewed(at(5), &lease("n1", "b")));
        assert_eq!(signs.liveness(at(5), "n1"), Liveness::Alive);
        assert_eq!(signs.liveness(at(30), "n2"), Liveness::Gone { seconds: 30 });
        assert!(!signs.listed(at(31), &[lease("n1", "c"), lease("n2", "a")]), "renewed while the watch was broken");
        assert_eq!(signs.liveness(at(40), "n1"), Liveness::Alive);
        assert!(signs.listed(at(41), &[lease("n1", "c")]));
    }

    #[test]
    fn other_leases_are_nobodys_signs() {
        let mut signs = Signs::default();
        let mut kubelet = Value::clone(&lease("n1", "a"));
        kubelet["metadata"]["namespace"] = json!("kube-node-lease");
        assert!(!signs.renewed(at(0), &kubelet) && !signs.renewed(at(0), &lease(foreign::CONTROLLER_LOCK, "a")));
    }
}
