//! The status of host networks, and when one that is deleted may go.
//!
//! The finalizer is there before a node is assigned anything. An entry of `nodeStatus` is what is remembered of a node:
//! it is made when the object is for the node, at the latest in the turn in which the node is assigned, and goes when
//! the node has reported that nothing of the object is left there, or is gone itself. So the finalizer goes with the
//! last entry. A node that the cluster has lost does not hold it: when it is back it takes back what it still has,
//! whether the object is there or not. One that says itself that it is not ready is alive, and holds it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use netloom_api::{
    condition::Truth,
    hostnet::{HostNetworkConfigSpec, HostNetworkConfigStatus, Lease, Mode, NodeStatus},
    pipeline::node_network_config::{HostDrift, HostLease, LINK_DOWN, NO_SOCKET, NO_THREAD},
};
use netloom_compile::{
    Compiled, Meta, ObjectKey, Report as _,
    hostnet::{HostNetworkConfig, NetworkReport},
    reason,
};
use netloom_object::{Action, ObjectRef};

use super::{
    condition::{self, Verdict},
    held,
    kinds::HOST_NETWORK,
    room::{self, Readiness as _},
    uplinks,
};
use crate::{
    answers::{self, NodeAnswer, Progress},
    index::{Index, Mark},
    work::Work,
};

/// Holds a deleted object until every live node that had it has released it.
pub const FINALIZER: &str = "netloom.dev/host-network";

/// What is known beside the objects.
struct Scene<'a> {
    now: Timestamp,
    index: &'a Index,
    answers: &'a BTreeMap<&'a str, NodeAnswer<'a>>,
    /// Why nodes are not assigned what is wanted now, when that failed somewhere.
    failed: Option<Arc<str>>,
}

/// What is to be reported of a node. Most of thousands of entries have no room and are only counted, so they are
/// written last.
enum Entry<'a> {
    Whole(Box<NodeStatus>),
    Judged(Judged<'a>),
}

/// How a node is, and what there is to say of it.
struct Judged<'a> {
    verdict: Verdict,
    /// What the node answered, where that tells which addresses it has.
    answer: Option<&'a NodeAnswer<'a>>,
    /// Its lease, as far as it is done.
    lease: Option<&'a HostLease>,
}

impl room::Readiness for Entry<'_> {
    fn is_ready(&self) -> bool {
        match self {
            Self::Whole(entry) => entry.is_ready(),
            Self::Judged(judged) => judged.verdict.is_ready(),
        }
    }
}

/// Every host network, also those whose `spec` cannot be read.
fn all(index: &Index) -> impl Iterator<Item = (&Meta, Option<&HostNetworkConfigSpec>, &Mark)> {
    let snapshot = index.snapshot();
    let readable = snapshot.iter::<HostNetworkConfig>().map(|(_, object)| (&object.meta, Some(&object.spec)));
    let all = readable.chain(snapshot.unreadable::<HostNetworkConfig>().map(|object| (&object.meta, None)));
    all.filter_map(|(meta, spec)| Some((meta, spec, index.mark(HOST_NETWORK, &meta.key)?)))
}

fn report<'a>(compiled: &'a Compiled, meta: &Meta) -> Option<&'a NetworkReport> {
    compiled.reports.get(&target(&meta.key))
}

/// Holds every host network that stays, so that one which is deleted goes only when nodes have released it, and says
/// which nodes it is for.
pub(super) fn hold(index: &Index, compiled: &Compiled, work: &mut Work) {
    let nothing = NetworkReport::default();
    for (meta, _, mark) in all(index).filter(|(meta, ..)| !meta.deleted) {
        if let Some(patch) = held::metadata(mark, FINALIZER, report(compiled, meta).unwrap_or(&nothing)) {
            work.single(target(&meta.key), Action::Patch { patch });
        }
    }
}

/// Whether any host network is deleted and still there.
pub(super) fn is_any_leaving(index: &Index) -> bool {
    all(index).any(|(meta, ..)| meta.deleted)
}

/// Lets every host network go that is deleted and that no node has any more.
pub(super) fn release(
    now: Timestamp,
    index: &Index,
    compiled: &Compiled,
    answers: &BTreeMap<&str, NodeAnswer<'_>>,
    work: &mut Work,
) {
    let scene = Scene { now, index, answers, failed: answers::failed(index, compiled) };
    for (meta, _, mark) in all(index).filter(|(meta, ..)| meta.deleted) {
        scene.release(meta, mark, work);
    }
}

/// Tells about every host network that stays.
pub(super) fn write_statuses(
    now: Timestamp,
    index: &Index,
    compiled: &Compiled,
    answers: &BTreeMap<&str, NodeAnswer<'_>>,
    work: &mut Work,
) {
    let scene = Scene { now, index, answers, failed: answers::failed(index, compiled) };
    let (nothing, unspecified) = (NetworkReport::default(), HostNetworkConfigStatus::default());
    for (meta, spec, mark) in all(index).filter(|(meta, ..)| !meta.deleted) {
        let report = report(compiled, meta).unwrap_or(&nothing);
        // Every write is tied to the version that it was decided on, so the next turn tells the rest.
        if held::metadata(mark, FINALIZER, report).is_some() {
            continue;
        }
        let before = mark.status_as().unwrap_or(&unspecified);
        let after = scene.status(meta, spec, report, before);
        scene.write(meta, before, &after, work);
    }
}

/// The interfaces that an object is reported to have on nodes.
pub(super) fn interfaces<'a>(index: &'a Index, key: &ObjectKey) -> impl Iterator<Item = &'a str> {
    let status = index.mark(HOST_NETWORK, key).and_then(Mark::status_as::<HostNetworkConfigStatus>);
    status.into_iter().flat_map(|status| status.node_status.values()).filter_map(|entry| entry.interface.as_deref())
}

fn target(key: &ObjectKey) -> ObjectRef {
    ObjectRef { kind: HOST_NETWORK, key: key.clone() }
}

impl Scene<'_> {
    fn status(
        &self,
        meta: &Meta,
        spec: Option<&HostNetworkConfigSpec>,
        report: &NetworkReport,
        before: &HostNetworkConfigStatus,
    ) -> HostNetworkConfigStatus {
        let left = self.left_over(meta, before, &report.matched);
        let mut entries: BTreeMap<&str, Entry<'_>> =
            left.into_iter().map(|(node, entry)| (node, Entry::Whole(Box::new(entry)))).collect();
        let mut ready = 0;
        if let Some(spec) = spec {
            for node in report.matched.iter() {
                let known = before.node_status.get(node);
                let stood = known.map_or_else(
                    || room::stood_unlisted(before, meta.generation),
                    |known| stood_at(known, meta.generation),
                );
                let entry = self.entry(meta, spec, (report, stood), node, known);
                ready += usize::from(entry.is_ready());
                entries.insert(node, entry);
            }
            if report.matched.is_empty() {
                for node in report.stranded.iter() {
                    let why = format!("the node has no uplink into cluster network {:?}", spec.cluster_network);
                    let verdict = Verdict::new(Truth::False, "NoUplink", why);
                    let known = before.node_status.get(node);
                    let bare = || Entry::Whole(Box::new(self.bare(meta, spec, &verdict, known)));
                    entries.entry(node).or_insert_with(bare);
                }
            }
        }
        let verdict = overall(report, ready);
        let write = |node: &str, entry: Entry<'_>| match (entry, spec) {
            (Entry::Whole(entry), _) => *entry,
            (Entry::Judged(judged), Some(spec)) => {
                self.written(meta, spec, report, judged, before.node_status.get(node))
            }
            (Entry::Judged(_), None) => NodeStatus::default(),
        };
        self.summed(meta, verdict, entries, before, write)
    }

    /// The status, with as many nodes as there is room for.
    fn summed<E: room::Readiness>(
        &self,
        meta: &Meta,
        verdict: Verdict,
        all: BTreeMap<&str, E>,
        before: &HostNetworkConfigStatus,
        write: impl Fn(&str, E) -> NodeStatus,
    ) -> HostNetworkConfigStatus {
        let (node_status, unlisted) = room::bounded(all, meta.generation, write);
        let verdict = room::with_room(verdict, node_status.len(), unlisted.as_ref());
        let conditions = vec![verdict.condition(self.now, &before.conditions)];
        HostNetworkConfigStatus { conditions, node_status, unlisted }
    }

    /// Entries of nodes that the object is not for any more and that have not reported to be rid of it.
    fn left_over<'n>(
        &'n self,
        meta: &Meta,
        before: &'n HostNetworkConfigStatus,
        matched: &BTreeSet<String>,
    ) -> BTreeMap<&'n str, NodeStatus> {
        let object = target(&meta.key);
        let has_it = |node: &str| {
            let answer = self.answers.get(node);
            answer.is_some_and(|answer| !answer.is_unassigned() && !answer.is_rid_of(&object))
        };
        let listed = before.node_status.iter().map(|(node, entry)| (node.as_str(), Some(entry)));
        // Which nodes were not listed is not known, so it may have been any.
        let unlisted =
            self.answers.keys().filter(|node| before.unlisted.is_some() && !before.node_status.contains_key(**node));
        let others = listed.chain(unlisted.map(|node| (*node, None))).filter(|(node, _)| !matched.contains(*node));
        let held = others.filter(|(node, _)| has_it(node));
        held.map(|(node, entry)| (node, self.taken_back(node, entry.cloned().unwrap_or_default()))).collect()
    }

    /// The entry of a node that shall not have the object any more.
    fn taken_back(&self, node: &str, entry: NodeStatus) -> NodeStatus {
        let waiting = || Verdict::waiting(Truth::False, (self.failed.as_deref(), "is being taken back"));
        let verdict = if self.is_lost(node) { uplinks::lost() } else { waiting() };
        let conditions = vec![verdict.condition(self.now, &entry.conditions)];
        NodeStatus { conditions, ..entry }
    }

    /// Whether the cluster has not heard of a node for a while.
    fn is_lost(&self, node: &str) -> bool {
        self.answers.get(node).is_some_and(NodeAnswer::is_lost)
    }

    /// The entry of a node that is lost: what it had last it may still have, and nobody knows.
    fn last_known(&self, meta: &Meta, spec: &HostNetworkConfigSpec, before: Option<&NodeStatus>) -> NodeStatus {
        let bare = self.bare(meta, spec, &uplinks::lost(), before);
        match before.cloned() {
            Some(before) => {
                let NodeStatus { observed_generation, conditions, .. } = bare;
                NodeStatus { observed_generation, conditions, ..before }
            }
            None => bare,
        }
    }

    fn entry<'n>(
        &'n self,
        meta: &Meta,
        spec: &HostNetworkConfigSpec,
        (report, stood): (&NetworkReport, bool),
        node: &str,
        before: Option<&NodeStatus>,
    ) -> Entry<'n> {
        let refused = report.refused.get(node);
        let is_open = refused.is_none_or(|finding| finding.reason == reason::NOT_REPORTED);
        let answer = self.answers.get(node);
        if is_open && answer.is_some_and(NodeAnswer::is_lost) {
            return Entry::Whole(Box::new(self.last_known(meta, spec, before)));
        }
        let interface = report.interface.as_deref().unwrap_or_default();
        let lease = answer.and_then(|answer| answer.lease(interface)).filter(|_| spec.mode == Mode::Dhcp);
        let lent = lease.and_then(|lease| lease.address.as_ref()).map(|address| &address.0);
        // What the node is at, or could not do, may be to put the address of a new lease in place.
        let is_other = |before: &NodeStatus| lent.is_some_and(|address| !before.addresses.contains(address));
        let stands = stood && !before.is_some_and(is_other);
        let object = target(&meta.key);
        let progress = answer.map_or(Progress::Unassigned, |answer| answer.progress(&object, stands));
        let drift = answer.and_then(|answer| answer.drift(&object));
        let verdict = match (refused, &progress) {
            (Some(finding), _) => Verdict::new(Truth::False, word(finding.reason), finding.to_string()),
            (None, Progress::Unassigned) => {
                let gone = || Verdict::pending("the node is not in the cluster");
                answer.map_or_else(gone, |answer| Verdict::waiting(Truth::False, answer.waits()))
            }
            (None, Progress::Assigned) => Verdict::pending("the node is applying the configuration"),
            (None, Progress::Failed(why)) => {
                let message = format!("setup l3 connectivity failed: {why}");
                Verdict::new(Truth::False, "ApplyFailed", message)
            }
            (None, Progress::Done) => match drift {
                Some(drift) => drifted(drift),
                None if spec.mode == Mode::Dhcp => leased(lease),
                None => Verdict::applied(),
            },
        };
        let done = progress == Progress::Done && refused.is_none();
        // Of a link that somebody changed nobody says which addresses it has.
        let known = done && drift.is_none();
        Entry::Judged(Judged { verdict, answer: answer.filter(|_| known), lease: lease.filter(|_| done) })
    }

    /// The entry as it is written.
    fn written(
        &self,
        meta: &Meta,
        spec: &HostNetworkConfigSpec,
        report: &NetworkReport,
        Judged { verdict, answer, lease }: Judged<'_>,
        before: Option<&NodeStatus>,
    ) -> NodeStatus {
        let interface = report.interface.clone().unwrap_or_default();
        let fixed = answer.and_then(|answer| answer.address(&interface)).map(str::to_owned);
        let lent = answer.and(lease).and_then(|lease| lease.address.as_ref()).map(|address| address.0.clone());
        NodeStatus {
            interface: Some(interface),
            addresses: fixed.into_iter().chain(lent).collect(),
            lease: lease.and_then(assigned_lease),
            ..self.bare(meta, spec, &verdict, before)
        }
    }

    fn bare(
        &self,
        meta: &Meta,
        spec: &HostNetworkConfigSpec,
        verdict: &Verdict,
        before: Option<&NodeStatus>,
    ) -> NodeStatus {
        let known = before.map(|before| before.conditions.as_slice()).unwrap_or_default();
        NodeStatus {
            cluster_network: spec.cluster_network.clone(),
            vlan_id: Some(spec.vlan_id),
            mode: Some(spec.mode),
            observed_generation: meta.generation,
            conditions: vec![verdict.condition(self.now, known)],
            ..NodeStatus::default()
        }
    }

    /// A deleted object waits for nodes, and for nothing else.
    fn release(&self, meta: &Meta, mark: &Mark, work: &mut Work) {
        let unspecified = HostNetworkConfigStatus::default();
        let before = mark.status_as().unwrap_or(&unspecified);
        let mut node_status = self.left_over(meta, before, &BTreeSet::new());
        let object = target(&meta.key);
        for (node, _) in self.answers.iter().filter(|(_, answer)| answer.was_assigned(&object)) {
            // One that was assigned while its entry could not be written.
            node_status.entry(*node).or_insert_with(|| self.taken_back(node, NodeStatus::default()));
        }
        node_status.retain(|node, _| self.answers.get(node).is_some_and(|answer| !answer.is_silent()));
        if !held::is_held(mark, FINALIZER) {
            return;
        }
        if node_status.is_empty() {
            return work.single(object, held::let_go(mark, FINALIZER));
        }
        let mut message = format!("is being deleted; nodes that still have it: {}", node_status.len());
        if let Some(failed) = &self.failed {
            message = format!("{message}; {failed}");
        }
        let after = self.summed(meta, Verdict::pending(&message), node_status, before, |_, entry| entry);
        self.write(meta, before, &after, work);
    }

    fn write(&self, meta: &Meta, before: &HostNetworkConfigStatus, after: &HostNetworkConfigStatus, work: &mut Work) {
        debug_assert!(self.index.mark(HOST_NETWORK, &meta.key).is_some(), "only what is there has a status");
        if before != after {
            work.status(self.index, HOST_NETWORK, &meta.key, after);
        }
    }
}

/// Whether the object as a whole is ready: when all of its nodes are.
fn overall(report: &NetworkReport, ready: usize) -> Verdict {
    if report.broken.is_some()
        && let Some(first) = report.verdicts().first()
    {
        return Verdict::new(first.status, first.reason, first.message.as_str());
    }
    let nodes = report.matched.len();
    match (nodes, ready) {
        (0, _) if report.stranded.is_empty() => {
            Verdict::new(Truth::True, reason::NO_MATCHING_NODE, "no node is selected")
        }
        (0, _) => {
            let why = "cluster network is down: no selected node has an uplink into it";
            Verdict::new(Truth::False, "NoUplink", why)
        }
        (nodes, ready) if nodes == ready => Verdict::applied(),
        (nodes, ready) => Verdict::pending(&format!("{ready} of {nodes} nodes are ready")),
    }
}

/// The word that status has for what was found.
fn word(found: &str) -> &'static str {
    match found {
        reason::NO_UPLINK => "NoUplink",
        reason::NO_STATIC_IP => "NoStaticIP",
        reason::NOT_REPORTED => "Pending",
        _ => "ApplyFailed",
    }
}

/// The reason of a node on which somebody changed what an object has there.
const DRIFTED: &str = "Drifted";

/// A node where somebody changed what it had, and where that is only reported.
fn drifted(drift: &HostDrift) -> Verdict {
    let message = format!("changed by somebody else, it is left as it is: {}", drift.message);
    Verdict::new(Truth::False, DRIFTED, message)
}

/// What the node says of a lease whose address is of no use, or that it cannot look after at all.
const USELESS: [&str; 3] = [LINK_DOWN, NO_SOCKET, NO_THREAD];

/// Whether an entry says that of this generation of the object.
fn stood_at(entry: &NodeStatus, generation: Option<i64>) -> bool {
    entry.observed_generation == generation && stood(entry)
}

/// Whether an entry says that the node has the object, whatever else is wrong there.
fn stood(entry: &NodeStatus) -> bool {
    let reason = |reasons: &[&str]| condition::has_reason(&entry.conditions, reasons);
    let lost = reason(&[uplinks::NODE_LOST]) && !entry.addresses.is_empty();
    condition::is_ready(&entry.conditions) || lost || reason(&USELESS) || reason(&[DRIFTED])
}

/// A node with an address is ready, also while a server gives it trouble to keep it; the trouble is reported.
fn leased(lease: Option<&HostLease>) -> Verdict {
    let Some(lease) = lease else { return Verdict::pending("the node asks for a lease") };
    let useless = lease.problem.as_ref().is_some_and(|problem| USELESS.contains(&problem.reason.as_str()));
    let truth = if lease.address.is_some() && !useless { Truth::True } else { Truth::False };
    match &lease.problem {
        Some(problem) => Verdict::new(truth, problem.reason.as_str(), problem.message.as_str()),
        None if truth == Truth::True => Verdict::applied(),
        None => Verdict::pending("the node asks for a lease"),
    }
}

fn assigned_lease(lease: &HostLease) -> Option<Lease> {
    let text = |time: &Option<k8s_openapi::apimachinery::pkg::apis::meta::v1::Time>| {
        time.as_ref().map(|time| time.0.to_string())
    };
    Some(Lease {
        server: lease.server.as_ref()?.0.clone(),
        acquired: text(&lease.acquired)?,
        renew_at: text(&lease.renew_at),
        rebind_at: text(&lease.rebind_at),
        expires_at: text(&lease.expires_at),
        name_servers: lease.name_servers.iter().map(|server| server.0.clone()).collect(),
        domain: lease.domain.clone(),
    })
}
