//! What each node was assigned, and how far it says to have got with it, for every object that wants something of it.
//!
//! Every entry of what a node is assigned names the object that asked for it, so the answers are the same for all front
//! ends.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use jiff::Timestamp;
use netloom_api::pipeline::{
    NodeNetworkConfig,
    node_network_config::{
        ConfigStatus, HostDrift, HostLease, NodeNetworkConfigStatus,
        fabric::{FabricConfig, FabricEntry, FabricView},
        host::{EntryOrigin, HostConfig, HostEntry, HostLink},
    },
};
use netloom_compile::{Compiled, NodeTarget, ObjectKey};
use netloom_object::ObjectRef;
use netloom_rollout::Liveness;

use crate::{front_end::Assigned, index::Index, rollout_view};

/// How far a node is with one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Progress {
    /// It was not assigned yet what the object wants now.
    Unassigned,
    /// It was assigned, and has not answered.
    Assigned,
    /// It tried, and could not.
    Failed(String),
    /// It has done it.
    Done,
}

/// One node.
#[derive(Debug)]
pub(crate) struct NodeAnswer<'a> {
    given: Option<&'a HostConfig>,
    /// Segments and VRFs that it was assigned.
    given_fabric: Option<FabricView<'a>>,
    answered: Progress,
    /// What it had in place when it was assigned the next thing, and has until that is done.
    had: Option<NodeTarget<'a>>,
    node_target: Option<NodeTarget<'a>>,
    /// Objects that want something else of the node than it was assigned.
    changed: HashSet<Asker<'a>>,
    /// The addresses that it shall have, by link.
    addresses: HashMap<&'a str, &'a str>,
    leases: &'a [HostLease],
    /// What is not as it was set there, and left so.
    drift: &'a [HostDrift],
    /// Whether it is assigned in this turn what is wanted now.
    is_assigned_now: bool,
    /// Why nobody else is assigned what is wanted now, when it failed somewhere.
    stopped: Option<Arc<str>>,
    /// Why it was not assigned yet what is wanted now, when it did not.
    waits: Arc<str>,
    /// Whether the cluster has not heard of it for a while.
    is_lost: bool,
    /// Whether the node is left alone: it neither acts nor reports.
    is_alone: bool,
}

/// Every node of the cluster that stays, by name.
pub(crate) fn all<'a>(
    now: Timestamp,
    index: &'a Index,
    compiled: &'a Compiled,
    assigned: Assigned<'a>,
) -> BTreeMap<&'a str, NodeAnswer<'a>> {
    let snapshot = index.snapshot();
    let newest =
        assigned.decision.assignments.iter().filter(|assignment| assignment.revision == compiled.revision.name);
    let assigned_now: BTreeSet<&str> = newest.map(|assignment| assignment.node.as_str()).collect();
    let failed = failed(index, compiled);
    let in_turn: Arc<str> = "the node waits for its turn".into();
    let unmanaged = snapshot.states.iter().filter(|(_, state)| !state.managed && !state.meta.deleted);
    let alone: BTreeSet<&str> = unmanaged.map(|(_, state)| state.node_name.as_str()).collect();
    let nodes = snapshot.nodes.iter().filter(|(_, node)| !node.meta.deleted);
    nodes
        .map(|(key, node)| {
            let config = snapshot.configs.get(key);
            let status: Option<&NodeNetworkConfigStatus> = config.and_then(|config| config.status.as_ref());
            let before = config.and_then(|config| rollout_view::in_place_before(config));
            let host = config.and_then(|config| config.spec.host.as_ref());
            let node_target = compiled.nodes.get(node.name());
            let wanted = node_target.as_ref().and_then(NodeTarget::host_config);
            let given_fabric = config.map(|config| config.spec.fabric());
            let fabric = node_target.as_ref().and_then(NodeTarget::fabric_config).map(FabricConfig::view);
            let addresses = wanted.into_iter().flat_map(|wanted| wanted.addresses.iter().rev());
            let answer = NodeAnswer {
                given: host,
                changed: changed((host, given_fabric), (wanted, fabric)),
                given_fabric,
                addresses: addresses.map(|entry| (entry.link.0.as_str(), entry.address.0.as_str())).collect(),
                answered: config.map_or(Progress::Unassigned, |config| answered(config)),
                had: before.and_then(|revision| assigned.earlier.get(revision)?.get(node.name())),
                node_target,
                leases: status.map_or(&[], |status| &status.leases),
                drift: status.map_or(&[], |status| &status.drift),
                is_assigned_now: assigned_now.contains(node.name()),
                stopped: failed.clone(),
                waits: Arc::clone(assigned.decision.held_up.get(node.name()).unwrap_or(&in_turn)),
                // A node whose kubelet is silent and whose agent is not answers for itself.
                is_lost: node.lost && index.signs().liveness(now, node.name()) != Liveness::Alive,
                is_alone: alone.contains(node.name()),
            };
            (node.name(), answer)
        })
        .collect()
}

/// Why nobody else is assigned what is wanted now, when it failed somewhere: whichever of its objects was to blame.
pub(crate) fn failed(index: &Index, compiled: &Compiled) -> Option<Arc<str>> {
    let name = compiled.revision.name.as_str();
    let revision = index.snapshot().revisions.get(&ObjectKey::global(name))?;
    let status = revision.status.as_ref().filter(|status| status.is_invalid)?;
    let (node, why) = (status.failed_node.as_deref(), status.failed_message.as_deref());
    let (node, why) = (node.unwrap_or("a node"), why.unwrap_or("it did not say why"));
    Some(
        format!(
            "rollout of revision {name} stopped: {node} failed ({why}); fix this and run `netloom rollout retry {name}`"
        )
        .into(),
    )
}

/// What a node says about what it was assigned now; what it reported about an earlier desired state does not count.
fn answered(config: &NodeNetworkConfig) -> Progress {
    let Some(status) = &config.status else { return Progress::Assigned };
    let revision = status.last_applied_revision.as_deref().unwrap_or_default();
    if revision != config.spec.revision || status.observed_generation != config.metadata.generation {
        return Progress::Assigned;
    }
    match status.config_status {
        ConfigStatus::Unseen | ConfigStatus::Provisioning => Progress::Assigned,
        ConfigStatus::Provisioned => Progress::Done,
        ConfigStatus::Invalid => Progress::Failed(status.error_message.clone().unwrap_or_default()),
    }
}

impl NodeAnswer<'_> {
    /// How far the node is with what an object wants of it now. What it is reported to have by now (`stands`) it keeps
    /// while it is at something else, and when it could not have that.
    pub(crate) fn progress(&self, object: &ObjectRef, stands: bool) -> Progress {
        // A node that takes no part is assigned nothing.
        if self.node_target.is_none() {
            return Progress::Unassigned;
        }
        if self.changed.contains(&Asker::from(object)) {
            return if self.is_assigned_now { Progress::Assigned } else { Progress::Unassigned };
        }
        match &self.answered {
            Progress::Assigned | Progress::Failed(_) if stands && self.keeps(object) => Progress::Done,
            answered => answered.clone(),
        }
    }

    /// Whether what the node is at leaves alone what an object has there. That is what its last revision says of the node
    /// as it is today, so it does not tell whether the node ever had it.
    fn keeps(&self, object: &ObjectRef) -> bool {
        self.had.as_ref().is_some_and(|had| {
            let fabric = had.fabric_config().map(FabricConfig::view);
            same((had.host_config(), fabric), (self.given, self.given_fabric), object.into())
        })
    }

    /// Whether nothing of an object is on the node any more, as far as it was assigned and has answered.
    pub(crate) fn is_rid_of(&self, object: &ObjectRef) -> bool {
        !self.was_assigned(object) && self.answered == Progress::Done
    }

    /// The links that the node was assigned to have.
    pub(crate) fn assigned_links(&self) -> impl Iterator<Item = &HostLink> {
        self.given.into_iter().flat_map(|given| &given.links)
    }

    /// The links that it shall have.
    pub(crate) fn wanted_links(&self) -> impl Iterator<Item = &HostLink> {
        let wanted = self.node_target.as_ref().and_then(NodeTarget::host_config);
        wanted.into_iter().flat_map(|wanted| &wanted.links)
    }

    /// Whether the node was assigned anything that an object asked for.
    pub(crate) fn was_assigned(&self, object: &ObjectRef) -> bool {
        asked((self.given, self.given_fabric), object.into()).next().is_some()
    }

    /// Why the node was not assigned yet what is wanted now: because that failed somewhere, or else for a reason of its
    /// own.
    pub(crate) fn waits(&self) -> (Option<&str>, &str) {
        (self.stopped.as_deref(), &self.waits)
    }

    /// Whether the node was never assigned anything.
    pub(crate) fn is_unassigned(&self) -> bool {
        self.given.is_none() && self.answered == Progress::Unassigned
    }

    /// Whether the cluster has not heard of the node for a while.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Whether nobody can wait for an answer of the node: it is lost, or left alone.
    pub(crate) fn is_silent(&self) -> bool {
        self.is_lost || self.is_alone
    }

    /// Whether the node has what it was assigned.
    pub(crate) fn is_done(&self) -> bool {
        self.answered == Progress::Done
    }

    /// Why the node does not have what it was assigned.
    pub(crate) fn failure(&self) -> Option<&str> {
        match &self.answered {
            Progress::Failed(why) => Some(why),
            Progress::Unassigned | Progress::Assigned | Progress::Done => None,
        }
    }

    /// What the node says about the lease of a link.
    pub(crate) fn lease(&self, link: &str) -> Option<&HostLease> {
        self.leases.iter().find(|lease| lease.link.0 == link)
    }

    /// What of an object's links is not as it was set, as far as the node leaves it so.
    pub(crate) fn drift(&self, object: &ObjectRef) -> Option<&HostDrift> {
        let links = || {
            asked((self.given, None), object.into()).filter_map(|entry| match entry {
                Entry::Host(entry) => entry.link(),
                Entry::Fabric(_) => None,
            })
        };
        let is_asked = |drift: &HostDrift| links().any(|link| *link == drift.link);
        self.drift.iter().find(|drift| is_asked(drift))
    }

    /// Whether there is an address for a link: a fixed one, or one that a server lent.
    pub(crate) fn has_address(&self, link: &str) -> bool {
        self.address(link).is_some() || self.lease(link).is_some_and(|lease| lease.address.is_some())
    }

    /// The address that the node shall have on a link.
    pub(crate) fn address(&self, link: &str) -> Option<&str> {
        self.addresses.get(link).copied()
    }
}

/// An object that asks for something, as entries name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Asker<'a> {
    group_kind: (&'a str, &'a str),
    namespace: &'a str,
    name: &'a str,
}

impl<'a> From<&'a EntryOrigin> for Asker<'a> {
    fn from(origin: &'a EntryOrigin) -> Self {
        let namespace = origin.namespace.as_deref().unwrap_or_default();
        Self { group_kind: origin.group_kind(), namespace, name: &origin.name }
    }
}

impl<'a> From<&'a ObjectRef> for Asker<'a> {
    fn from(object: &'a ObjectRef) -> Self {
        let (kind, key) = (object.kind, &object.key);
        Self { group_kind: (kind.group, kind.kind), namespace: &key.namespace, name: &key.name }
    }
}

/// What a configuration has for the host itself, and for the fabric.
type Both<'a> = (Option<&'a HostConfig>, Option<FabricView<'a>>);

/// One entry of a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entry<'a> {
    Host(HostEntry<'a>),
    Fabric(FabricEntry<'a>),
}

/// Every entry, with who asked for it. What says not who asked is nobody's.
fn entries((host, fabric): Both<'_>) -> impl Iterator<Item = (Asker<'_>, Entry<'_>)> {
    let host = host.into_iter().flat_map(HostConfig::entries);
    let host = host.map(|entry| (Asker::from(entry.origin()), Entry::Host(entry)));
    let fabric = fabric.into_iter().flat_map(FabricView::entries);
    host.chain(fabric.filter_map(|entry| Some((Asker::from(entry.origin()?), Entry::Fabric(entry)))))
}

/// What an object asked for, in order.
fn asked<'a>(config: Both<'a>, asker: Asker<'a>) -> impl Iterator<Item = Entry<'a>> {
    entries(config).filter(move |(by, _)| *by == asker).map(|(_, entry)| entry)
}

/// The objects of which two configurations do not have the same.
fn changed<'a>(one: Both<'a>, other: Both<'a>) -> HashSet<Asker<'a>> {
    if one == other {
        return HashSet::new();
    }
    let mut both: HashMap<Asker<'a>, [Vec<Entry<'a>>; 2]> = HashMap::new();
    for (at, config) in [one, other].into_iter().enumerate() {
        for (asker, entry) in entries(config) {
            both.entry(asker).or_default()[at].push(entry);
        }
    }
    both.into_iter().filter(|(_, [one, other])| one != other).map(|(key, _)| key).collect()
}

/// Whether two configurations have the same of what one object asked for.
fn same(one: Both<'_>, other: Both<'_>, asker: Asker<'_>) -> bool {
    asked(one, asker).eq(asked(other, asker))
}
