//! How each node is connected to each cluster network, as `VlanStatus` and `ClusterNetwork` tell it.
//!
//! There is one `VlanStatus` for each node and network. It stays until the node has reported that the network is gone
//! there, unless the node goes itself. A deleted `VlanConfig`, which owns it, is held for as long; a node that the cluster
//! has lost does not hold it, for it takes back what it still has when it is there again, nor does one that is left alone.
//! Where another `VlanConfig` takes over, the `VlanStatus` is about that one at once, and the deleted one goes when the node
//! is reported as such.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use netloom_api::{
    condition::Truth,
    hostnet::{ClusterNetworkStatus, GROUP, MGMT, VlanStatusStatus, names},
};
use netloom_compile::{
    Compiled, Meta, ObjectKey, Report as _,
    hostnet::{ClusterNetwork, NetworkReport, VlanConfig, VlanStatus},
    reason,
};
use netloom_object::{Action, ObjectRef};
use serde_json::json;

use super::{
    carried,
    condition::{self, Verdict},
    held,
    kinds::{CLUSTER_NETWORK, UPLINK, VLAN_STATUS},
    matched, nodes,
};
use crate::{
    answers::{self, NodeAnswer, Progress},
    index::{Index, Mark},
    work::Work,
};

/// The reason of a node that nobody waits for: what it shall have it gets when it is back, and it loses the rest.
pub const NODE_LOST: &str = "NodeLost";

/// Holds a deleted `VlanConfig` until every live node that it connected has released it.
pub const FINALIZER: &str = "netloom.dev/uplink";

/// How nodes are connected, by cluster network and node.
pub(super) type Connections = BTreeMap<String, BTreeMap<String, Connection>>;

/// How one node is connected to one network.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) uplink: String,
    pub(super) verdict: Verdict,
    /// The generation of the uplink that this is reported of; none while the uplink does not say yet which nodes it is
    /// for.
    generation: Option<i64>,
    /// Whether an object with precedence connects the node.
    displaced: bool,
    /// What the node has where it is not as the uplink wants it.
    otherwise: Otherwise,
    /// Whether it was connected before, as its label says.
    was: bool,
}

/// What a node has that is not as an uplink wants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Otherwise {
    /// Nothing that would connect it.
    Nothing,
    /// What connected it before, if anything did: nothing else is known to be there instead.
    AsBefore,
    /// What the uplink wants, but for some of the interfaces.
    InPart,
}

impl Connection {
    /// What is reported of a node, and nothing beside it.
    fn lone(uplink: &str, verdict: Verdict) -> Self {
        let uplink = uplink.to_owned();
        Self { uplink, verdict, generation: None, displaced: false, otherwise: Otherwise::Nothing, was: false }
    }

    /// Whether the node is connected by what was wanted before.
    pub(super) fn is_kept(&self) -> bool {
        !self.verdict.is_ready() && self.otherwise == Otherwise::AsBefore && self.was
    }

    /// Whether it is to be seen what becomes of the node.
    pub(super) fn is_open(&self) -> bool {
        !self.verdict.is_ready() && self.otherwise != Otherwise::Nothing
    }

    /// Whether the node is connected, by what the uplink wants now, by a part of that, or by what was wanted before.
    pub(super) fn is_connected(&self) -> bool {
        self.verdict.is_ready() || self.otherwise == Otherwise::InPart || self.is_kept()
    }
}

/// Every uplink, also those whose `spec` cannot be read.
fn all(index: &Index) -> impl Iterator<Item = (&Meta, &Mark)> {
    let snapshot = index.snapshot();
    let unreadable = snapshot.unreadable::<VlanConfig>().map(|object| &object.meta);
    let all = snapshot.iter::<VlanConfig>().map(|(_, object)| &object.meta).chain(unreadable);
    all.filter_map(|meta| Some((meta, index.mark(UPLINK, &meta.key)?)))
}

/// Whether an object only shows what the installer made: nothing comes of it on a node. One that cannot be read is
/// assigned by its name.
fn is_shown(index: &Index, key: &ObjectKey) -> bool {
    match index.snapshot().get::<VlanConfig>(key) {
        Some(object) => object.spec.cluster_network == MGMT,
        None => key.name.starts_with(names::MGMT_VLAN_CONFIG_PREFIX),
    }
}

/// Holds every uplink that stays, so that one which is deleted goes only when nodes have released it, and says which
/// nodes it is for.
pub(super) fn hold(index: &Index, compiled: &Compiled, work: &mut Work) {
    for (meta, mark) in all(index).filter(|(meta, _)| !meta.deleted && !is_shown(index, &meta.key)) {
        let Some(report) = compiled.reports.get::<NetworkReport>(&target(&meta.key)) else { continue };
        if let Some(patch) = held::metadata(mark, FINALIZER, report) {
            work.single(target(&meta.key), Action::Patch { patch });
        }
    }
}

/// Whether any uplink is deleted and still there.
pub(super) fn is_any_leaving(index: &Index) -> bool {
    all(index).any(|(meta, _)| meta.deleted)
}

/// Lets every uplink go that is deleted and that no node has any more.
pub(super) fn release(index: &Index, answers: &BTreeMap<&str, NodeAnswer<'_>>, work: &mut Work) {
    for (meta, mark) in all(index).filter(|(meta, mark)| meta.deleted && held::is_held(mark, FINALIZER)) {
        let (name, object) = (meta.key.name.as_str(), target(&meta.key));
        let known = index.snapshot().iter::<VlanStatus>().map(|(_, known)| known);
        let of_this = known.filter(|known| !known.meta.deleted && known.status.vlan_config == name);
        let reported: BTreeSet<&str> = of_this.map(|known| known.status.node.as_str()).collect();
        let live = answers.iter().filter(|(_, answer)| !answer.is_silent());
        let has = |(node, answer): (&&str, &NodeAnswer<'_>)| reported.contains(node) || answer.was_assigned(&object);
        if !live.into_iter().any(has) {
            work.single(object, held::let_go(mark, FINALIZER));
        }
    }
}

fn target(key: &ObjectKey) -> ObjectRef {
    ObjectRef { kind: UPLINK, key: key.clone() }
}

/// Tells how each node is connected.
pub(super) fn write_statuses(
    now: Timestamp,
    index: &Index,
    compiled: &Compiled,
    answers: &BTreeMap<&str, NodeAnswer<'_>>,
    work: &mut Work,
) -> Connections {
    let (connections, failed) = (connections(index, compiled, answers), answers::failed(index, compiled));
    for (network, nodes) in &connections {
        for (node, connection) in nodes {
            status(now, index, (network, node), connection, work);
        }
    }
    for (key, known) in index.snapshot().iter::<VlanStatus>() {
        let VlanStatusStatus { cluster_network, node, .. } = &known.status;
        let wanted = connections.get(cluster_network).is_some_and(|nodes| nodes.contains_key(node))
            && names::vlan_status(cluster_network, node) == key.name;
        let is_rid = |node: &NodeAnswer<'_>| node.is_unassigned() || is_off(node, cluster_network);
        let over = answers.get(node.as_str()).is_none_or(is_rid);
        if wanted || known.meta.deleted || cluster_network == MGMT {
            continue;
        }
        if over {
            work.delete(index, VLAN_STATUS, key);
        } else if names::vlan_status(cluster_network, node) == key.name {
            let verdict = leaving(answers.get(node.as_str()), failed.as_deref());
            let connection = Connection::lone(&known.status.vlan_config, verdict);
            status(now, index, (cluster_network, node), &connection, work);
        }
    }
    networks(now, index, compiled, &connections, work);
    connections
}

/// What is reported of a node that shall not be connected any more, and still is.
fn leaving(answer: Option<&NodeAnswer<'_>>, failed: Option<&str>) -> Verdict {
    if answer.is_some_and(NodeAnswer::is_lost) {
        return lost();
    }
    match answer.and_then(NodeAnswer::failure) {
        Some(why) => Verdict::new(Truth::False, "ApplyFailed", why),
        None => Verdict::waiting(Truth::Unknown, (failed, "is being taken back")),
    }
}

/// What is reported of a node that the cluster has not heard of for a while, whatever it shall have.
pub(super) fn lost() -> Verdict {
    Verdict::new(Truth::Unknown, NODE_LOST, "the cluster has not heard of the node for a while")
}

fn connections(index: &Index, compiled: &Compiled, answers: &BTreeMap<&str, NodeAnswer<'_>>) -> Connections {
    let mut connections = Connections::new();
    for (name, report) in super::reports(compiled, UPLINK) {
        let Some(network) = &report.cluster_network else { continue };
        let generation = generation(index, name, report);
        for node in report.matched.iter() {
            let Some(answer) = answers.get(node.as_str()) else { continue };
            let stands = stands(index, (network, node), name);
            let was = was_connected(index, (network, node));
            let connection = Connection { generation, was, ..connection(name, node, report, answer, stands) };
            let known = connections.entry(network.clone()).or_default();
            if known.get(node).is_none_or(|known| known.displaced) {
                known.insert(node.clone(), connection);
            }
        }
    }
    connections
}

/// The generation of an uplink that says which nodes it is for: whoever waits for it counts on these.
fn generation(index: &Index, uplink: &str, report: &NetworkReport) -> Option<i64> {
    let key = ObjectKey::global(uplink);
    index.mark(UPLINK, &key).filter(|mark| matched::annotations(mark, report).is_none())?;
    index.snapshot().get::<VlanConfig>(&key)?.meta.generation
}

/// Whether nothing of a cluster network is on the node any more, whichever object connected it.
fn is_off(answer: &NodeAnswer<'_>, cluster_network: &str) -> bool {
    let bridge = names::bridge(cluster_network);
    answer.is_done() && answer.assigned_links().all(|link| link.name.0 != bridge)
}

/// Whether the node shall have a cluster network, by one interface at least.
fn shall_be_on(answer: &NodeAnswer<'_>, cluster_network: &str) -> bool {
    let bond = names::bond(cluster_network);
    answer.wanted_links().any(|link| link.controller.as_ref().is_some_and(|controller| controller.0 == bond))
}

/// Whether the node is reported as connected by an uplink, or was when it was heard of last.
fn stands(index: &Index, (network, node): (&str, &str), uplink: &str) -> bool {
    let known = index.snapshot().get::<VlanStatus>(&ObjectKey::global(names::vlan_status(network, node)));
    known.is_some_and(|known| {
        let conditions = &known.status.conditions;
        let was = || condition::has_reason(conditions, &[NODE_LOST]) && was_connected(index, (network, node));
        known.status.vlan_config == uplink && (condition::is_ready(conditions) || was())
    })
}

/// Whether the node had the network when that was looked at last.
fn was_connected(index: &Index, (network, node): (&str, &str)) -> bool {
    let node = index.snapshot().nodes.get(&ObjectKey::global(node));
    node.is_some_and(|node| nodes::is_labelled(node, network))
}

fn connection(name: &str, node: &str, report: &NetworkReport, answer: &NodeAnswer<'_>, stands: bool) -> Connection {
    let refused = report.refused.get(node);
    let displaced = refused.is_some_and(|finding| finding.reason == reason::UPLINK_CONFLICT);
    let unknown = |message: &str| Verdict::new(Truth::Unknown, "Pending", message);
    let verdict = match (refused, answer.progress(&target(&ObjectKey::global(name)), stands)) {
        (Some(finding), _) if finding.reason != reason::NOT_REPORTED => {
            Verdict::new(Truth::False, finding.reason, finding.to_string())
        }
        _ if answer.is_lost() => lost(),
        (Some(finding), _) => unknown(&finding.message),
        (None, Progress::Unassigned) => Verdict::waiting(Truth::Unknown, answer.waits()),
        (None, Progress::Assigned) => unknown("the node is applying the configuration"),
        (None, Progress::Failed(why)) => Verdict::new(Truth::False, "ApplyFailed", why),
        // What was wanted before stands where the object breaks a rule now, and says so.
        (None, Progress::Done) => match report.verdicts().first() {
            Some(broken) if report.broken.is_some() => {
                Verdict::new(Truth::True, broken.reason, broken.message.as_str())
            }
            Some(_) | None => Verdict::applied(),
        },
    };
    let network = report.cluster_network.as_deref().unwrap_or_default();
    // One that could not have something else has what it had; one that shall lose it is not for anything new.
    let otherwise = match refused.filter(|finding| finding.reason != reason::NOT_REPORTED) {
        Some(_) if !shall_be_on(answer, network) => Otherwise::Nothing,
        Some(_) if answer.is_done() => Otherwise::InPart,
        Some(_) | None => Otherwise::AsBefore,
    };
    Connection { displaced, otherwise, ..Connection::lone(name, verdict) }
}

fn status(now: Timestamp, index: &Index, (network, node): (&str, &str), connection: &Connection, work: &mut Work) {
    let key = ObjectKey::global(names::vlan_status(network, node));
    let known = index.snapshot().get::<VlanStatus>(&key);
    let before = known.map(|known| known.status.clone()).unwrap_or_default();
    let observed = before.observed_generation.filter(|_| before.vlan_config == connection.uplink);
    let after = VlanStatusStatus {
        cluster_network: network.to_owned(),
        vlan_config: connection.uplink.clone(),
        link_monitor: network.to_owned(),
        node: node.to_owned(),
        observed_generation: connection.generation.or(observed),
        local_areas: before.local_areas.clone(),
        conditions: vec![connection.verdict.condition(now, &before.conditions)],
    };
    let leaving = known.is_some_and(|known| known.meta.deleted);
    let owner = index.mark(UPLINK, &ObjectKey::global(connection.uplink.as_str()));
    let Some(owner) = owner.filter(|_| !leaving && (known.is_none() || after != before)) else { return };
    let labels = [(names::CLUSTER_NETWORK, network), (names::VLAN_CONFIG, &connection.uplink), (names::NODE, node)];
    let labels: BTreeMap<&str, &str> =
        labels.into_iter().filter_map(|(key, value)| Some((key, names::label_value(value)?))).collect();
    let mut object = json!({
        "apiVersion": format!("{GROUP}/v1beta1"),
        "kind": "VlanStatus",
        "metadata": {
            "name": key.name,
            "labels": labels,
            "ownerReferences": [{
                "apiVersion": format!("{GROUP}/v1beta1"), "kind": "VlanConfig", "name": connection.uplink, "uid": owner.uid,
            }],
        },
        "status": after,
    });
    if let Some(mark) = index.mark(VLAN_STATUS, &key) {
        object["metadata"]["resourceVersion"] = json!(mark.resource_version);
    }
    work.single(ObjectRef { kind: VLAN_STATUS, key }, Action::Apply { object, late: None });
}

/// A cluster network is ready as soon as a node is connected, and as long as one is, also while its uplinks are changed; that
/// of the installer always is.
fn networks(now: Timestamp, index: &Index, compiled: &Compiled, connections: &Connections, work: &mut Work) {
    for (key, network) in index.snapshot().iter::<ClusterNetwork>().filter(|(_, network)| !network.meta.deleted) {
        let Some(mark) = index.mark(CLUSTER_NETWORK, key) else { continue };
        if let Some(annotations) = carried::annotations(index, compiled, &key.name, mark) {
            // The next turn tells the rest: every write is tied to the version that it was decided on.
            let patch = json!({"metadata": {"annotations": annotations, "resourceVersion": mark.resource_version}});
            work.single(ObjectRef { kind: CLUSTER_NETWORK, key: key.clone() }, Action::Patch { patch });
            continue;
        }
        let before: ClusterNetworkStatus = mark.status_as().cloned().unwrap_or_default();
        let verdict = verdict(&network.meta.key.name, connections.get(&key.name));
        let after = ClusterNetworkStatus { conditions: vec![verdict.condition(now, &before.conditions)] };
        if after != before {
            work.status(index, CLUSTER_NETWORK, key, &after);
        }
    }
}

fn verdict(network: &str, nodes: Option<&BTreeMap<String, Connection>>) -> Verdict {
    let connected = nodes.into_iter().flatten().filter(|(_, connection)| connection.is_connected()).count();
    if network == MGMT || connected > 0 {
        return Verdict::new(Truth::True, "Connected", "");
    }
    let message = match nodes.map_or(0, BTreeMap::len) {
        0 => "no node is connected; create a VlanConfig for it".to_owned(),
        nodes => format!("none of {nodes} nodes is connected yet"),
    };
    Verdict::new(Truth::False, "NotConnected", message)
}
