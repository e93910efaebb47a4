//! What a node decides about its pods: names, addresses and records, and what it asks the API for.

mod addresses;
mod names;
mod plan;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use netloom_api::{
    dig,
    podnet::{self, Counts, DANM_EP, Family, IP_BLOCK, IPBlock, Network, NetworkRef, Ranges},
};
use netloom_cnispec::{Attached, Code, Failure};
use netloom_ipam::{Numbers, number};
use netloom_object::{Action, Answer, Chain, Change, Ledger, ObjectKey, ObjectRef, RequestId, Version};
use serde::Deserialize;
use serde_json::{Value, json};

use self::addresses::{Addresses, Owner};
use crate::{Ask, Pod, Record, State, Wanted, blocks::read_network, endpoint::endpoint, flight::Flight, pod::POD};

/// What is decided about an ADD.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// It was done before: the same answer.
    Same(Attached),
    /// These containers of the same pod, or this one half made, are released first; then it is asked again.
    ReleaseFirst(Vec<String>),
    /// Not now; the time to wait is the caller's.
    Wait(Waiting),
    /// It is refused.
    Refused(Failure),
    /// The record to write before anything is made.
    Make(Box<Record>),
}

/// What is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Waiting {
    /// The pod, or its binding to this node.
    Pod(String),
    /// Whether there is such a network.
    Network(String),
    /// An address.
    Address(String),
}

impl Waiting {
    /// What a runtime is answered that does not want to wait any longer.
    pub fn failure(&self) -> Failure {
        match self {
            Self::Pod(what) | Self::Network(what) | Self::Address(what) => Failure::new(Code::TryLater, what.clone()),
        }
    }
}

/// What is known of a network.
#[derive(Debug, Clone)]
enum Known {
    /// It was asked for, and nothing is known yet.
    Asked,
    /// There is none.
    Missing,
    /// What it is, or why it cannot be used.
    There { uid: String, network: Result<Arc<Network>, String> },
}

/// The pods of one node.
#[derive(Debug, Clone)]
pub struct Node {
    name: String,
    /// Tells this process from those before it: a block is used only after it was written by this one, so that nothing
    /// that an earlier one has sent can still be done to it.
    session: String,
    pods: Ledger<Pod>,
    networks: BTreeMap<NetworkRef, Known>,
    blocks: Ledger<IPBlock>,
    endpoints: Ledger<Arc<Value>>,
    records: BTreeMap<String, Record>,
    addresses: BTreeMap<(NetworkRef, String), Addresses>,
    flight: Flight,
}

impl Node {
    /// A node with the records that it has on disk; no other process ever has the same `session`.
    pub fn new(name: &str, session: &str, records: Vec<Record>) -> Self {
        let mut node = Self {
            name: name.to_owned(),
            session: session.to_owned(),
            pods: Ledger::default(),
            networks: BTreeMap::new(),
            blocks: Ledger::default(),
            endpoints: Ledger::default(),
            records: BTreeMap::new(),
            addresses: BTreeMap::new(),
            flight: Flight::default(),
        };
        for record in records {
            node.take_addresses(&record);
            node.records.insert(record.container.clone(), record);
        }
        node
    }

    /// Takes note of pods, blocks and interfaces.
    pub fn take(&mut self, change: &Change) {
        match change {
            Change::Put(object) => self.put(object),
            Change::Gone(object) => self.gone(object),
            Change::Listed { kind, objects } => {
                let listed = objects.iter().filter_map(|object| reference(object)).collect();
                match *kind {
                    POD => drop(self.pods.listed(POD, &listed)),
                    DANM_EP => drop(self.endpoints.listed(DANM_EP, &listed)),
                    kind => {
                        let lost: Vec<IPBlock> = self.blocks.of_kind(kind).map(|(_, block)| block.clone()).collect();
                        self.blocks.listed(kind, &listed);
                        for block in &lost {
                            self.lost(block);
                        }
                    }
                }
                for object in objects {
                    self.put(object);
                }
            }
        }
    }

    fn put(&mut self, object: &Arc<Value>) {
        let Some(reference) = reference(object) else { return };
        let version = Version::of(object);
        match reference.kind {
            POD => {
                if self.pods.is_news(&reference, version)
                    && let Some(pod) = Pod::read(object)
                {
                    self.pods.put(reference, version, pod);
                }
            }
            IP_BLOCK => {
                if self.blocks.is_news(&reference, version)
                    && let Ok(block) = IPBlock::deserialize(object.as_ref())
                    && block.spec.node == self.name
                {
                    self.given(&block);
                    self.blocks.put(reference, version, block);
                }
            }
            _ => {
                if self.endpoints.is_news(&reference, version) {
                    self.endpoints.put(reference, version, Arc::clone(object));
                }
            }
        }
    }

    fn gone(&mut self, object: &Value) {
        let Some(reference) = reference(object) else { return };
        let version = Version::of(object);
        match reference.kind {
            POD => drop(self.pods.gone(reference, version)),
            DANM_EP => drop(self.endpoints.gone(reference, version)),
            kind => {
                let block = self.blocks.get(kind, &reference.key).cloned();
                self.blocks.gone(reference, version);
                if let Some(block) = block {
                    self.lost(&block);
                }
            }
        }
    }

    /// Without its block a node has nothing to give: whoever is asked next may have it. What pods have they keep.
    fn lost(&mut self, block: &IPBlock) {
        let name = block.metadata.name.clone().unwrap_or_default();
        let is_there = self.blocks.get(IP_BLOCK, &ObjectKey::global(name)).is_some();
        if let Some(network) = block.spec.network.reference().filter(|_| !is_there)
            && let Some(addresses) = self.addresses.get_mut(&(network, block.spec.network.uid.clone()))
        {
            addresses.lost();
        }
    }

    /// Takes note of what the API has under the name of a network; none when there is no such object, or no such kind.
    pub fn network(&mut self, reference: &NetworkRef, object: Option<&Value>) {
        let known = match object {
            None => Known::Missing,
            Some(object) => {
                let uid = dig::text(object, "metadata.uid").unwrap_or_default().to_owned();
                let network = match read_network(reference.kind.group_kind(), object) {
                    Some(Ok(network)) => Ok(Arc::new(network)),
                    Some(Err(problems)) => Err(problems
                        .first()
                        .map(|problem| format!("{} {:?} {}", problem.path, problem.value, problem.why))
                        .unwrap_or_default()),
                    None => Err("it does not have the form of a network".to_owned()),
                };
                Known::There { uid, network }
            }
        };
        self.networks.insert(reference.clone(), known);
    }

    /// The networks that must be followed: those of the pods of this node, and the default networks of pods that name
    /// none.
    pub fn follows(&mut self) -> BTreeSet<NetworkRef> {
        let mut follows = BTreeSet::new();
        for (_, pod) in self.pods.of_kind(POD).filter(|(_, pod)| pod.node == self.name) {
            match &pod.wanted {
                Ok(Some(wanted)) => follows.extend(wanted.iter().map(|wanted| wanted.network.clone())),
                Ok(None) => follows.extend(defaults(&pod.namespace)),
                Err(_) => {}
            }
        }
        for reference in &follows {
            self.networks.entry(reference.clone()).or_insert(Known::Asked);
        }
        self.networks.retain(|known, _| follows.contains(known));
        follows
    }

    /// The record of a container.
    pub fn record(&self, container: &str) -> Option<&Record> {
        self.records.get(container)
    }

    /// All records.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.records.values()
    }

    /// All interfaces of a container are made.
    pub fn made(&mut self, container: &str, attached: Attached) -> Option<&Record> {
        let record = self.records.get_mut(container)?;
        record.state = State::Made(attached);
        Some(record)
    }

    /// Nothing of a container is left: its addresses are free.
    pub fn released(&mut self, container: &str) {
        let Some(record) = self.records.remove(container) else { return };
        for interface in &record.interfaces {
            let Some(network) =
                NetworkRef::new(&interface.network_kind, &record.pod_namespace, &interface.network_name)
            else {
                continue;
            };
            let owner = Owner { container: container.to_owned(), ifname: interface.name.clone() };
            if let Some(addresses) = self.addresses.get_mut(&(network, interface.network_uid.clone())) {
                interface.addresses().for_each(|address| addresses.release(address.addr(), &owner));
            }
        }
    }

    /// Whether the API has told of everything that a first decision needs.
    pub fn is_whole(&self) -> bool {
        self.pods.is_listed(POD) && self.blocks.is_listed(IP_BLOCK) && self.endpoints.is_listed(DANM_EP)
    }

    fn take_addresses(&mut self, record: &Record) {
        for interface in &record.interfaces {
            let Some(network) =
                NetworkRef::new(&interface.network_kind, &record.pod_namespace, &interface.network_name)
            else {
                continue;
            };
            let owner = Owner { container: record.container.clone(), ifname: interface.name.clone() };
            let addresses = self.addresses.entry((network, interface.network_uid.clone())).or_default();
            interface.addresses().for_each(|address| addresses.take(address.addr(), &owner));
        }
    }

    /// Takes over the ranges of a block.
    fn given(&mut self, block: &IPBlock) {
        let Some(network) = block.spec.network.reference() else { return };
        let (waiting, _) = self.waiting(&network);
        let is_ours = block.session() == Some(&self.session);
        let addresses = self.addresses.entry((network, block.spec.network.uid.clone())).or_default();
        addresses.given(block, waiting, is_ours);
    }

    /// How many addresses of a network pods of this node wait for, and which of them by name.
    fn waiting(&self, network: &NetworkRef) -> (Counts, Ranges) {
        let attached: BTreeSet<&str> = self.records.values().map(|record| record.pod_uid.as_str()).collect();
        let mut counts = Counts::default();
        let mut asked: [Numbers; 2] = Default::default();
        let pods = self.pods.of_kind(POD).map(|(_, pod)| pod);
        for pod in pods.filter(|pod| pod.node == self.name && !pod.ended && !attached.contains(pod.uid.as_str())) {
            for wanted in self.wanted(pod).unwrap_or_default().iter().filter(|wanted| wanted.network == *network) {
                for ((family, ask), asked) in FAMILIES.into_iter().zip([wanted.ipv4, wanted.ipv6]).zip(&mut asked) {
                    match ask {
                        Ask::Absent | Ask::Without => {}
                        Ask::Dynamic => *counts.of_mut(family) += 1,
                        Ask::Static(address) => {
                            *counts.of_mut(family) += 1;
                            asked.insert(number(address), number(address));
                        }
                    }
                }
            }
        }
        let mut ranges = Ranges::default();
        for (family, asked) in FAMILIES.into_iter().zip(asked) {
            *ranges.of_mut(family) = asked.to_addresses(family.everything().addr());
        }
        (counts, ranges)
    }

    /// The interfaces of a pod, with the default network where it names none; what is missing when that is not known.
    fn wanted(&self, pod: &Pod) -> Result<Vec<Wanted>, plan::Unwanted> {
        plan::wanted(pod, &self.networks)
    }

    /// What to ask the API for; `now` is in milliseconds. Also when to look again though nothing happens.
    pub fn requests(&mut self, now: u64) -> (Vec<Chain>, Option<u64>) {
        self.flight.at(now);
        let mut chains = Vec::new();
        if self.blocks.is_listed(IP_BLOCK) && self.pods.is_listed(POD) {
            chains.extend(self.block_requests(now));
        }
        if self.endpoints.is_listed(DANM_EP) {
            chains.extend(self.endpoint_requests(now));
        }
        (chains, self.flight.wake_at())
    }

    /// Takes note of what came of a request.
    pub fn answered(&mut self, now: u64, id: RequestId, answer: &Answer) {
        self.flight.answered(now, id, answer);
    }

    fn block_requests(&mut self, now: u64) -> Vec<Chain> {
        let mut chains = Vec::new();
        let mut keys: BTreeSet<(NetworkRef, String)> = self.addresses.keys().cloned().collect();
        for (reference, known) in &self.networks {
            if let Known::There { uid, network: Ok(network) } = known
                && (network.ipv4.is_some() || network.ipv6.is_some())
            {
                keys.insert((reference.clone(), uid.clone()));
            }
        }
        for (network, uid) in keys {
            let known = match self.networks.get(&network) {
                Some(Known::There { uid: known, network: Ok(network) }) if *known == uid => Some(Arc::clone(network)),
                _ => None,
            };
            let (waiting, asked) =
                if known.is_some() { self.waiting(&network) } else { (Counts::default(), Ranges::default()) };
            let addresses = self.addresses.entry((network.clone(), uid.clone())).or_default();
            addresses.reserve(&asked, FAMILIES.map(|family| known.as_ref().and_then(|known| known.pool(family))));
            let (needed, wanted) = addresses.demand(waiting);
            addresses.give_back(wanted);
            let returned = addresses.returned();
            let name = IPBlock::name_for(&network, &uid, &self.name);
            let target = ObjectRef { kind: IP_BLOCK, key: ObjectKey::global(name.as_str()) };
            let Some(block) = self.blocks.get(IP_BLOCK, &target.key) else {
                if wanted == Counts::default() {
                    self.addresses.remove(&(network, uid));
                    continue;
                }
                let block = IPBlock::asking(&network, &uid, &self.name, (needed, wanted), asked, &self.session);
                let object = serde_json::to_value(block).unwrap_or_default();
                chains.extend(self.flight.ask(now, target, Action::Create { object }));
                continue;
            };
            let spec = &block.spec;
            let is_ours = block.session() == Some(&self.session);
            if is_ours && (spec.needed, spec.wanted, &spec.asked, &spec.returned) == (needed, wanted, &asked, &returned)
            {
                continue;
            }
            let annotations = json!({IPBlock::SESSION: self.session});
            let patch = json!({
                "metadata": {
                    "resourceVersion": block.metadata.resource_version, "uid": block.metadata.uid,
                    "annotations": annotations,
                },
                "spec": {
                    "needed": {"ipv4": needed.ipv4, "ipv6": needed.ipv6},
                    "wanted": {"ipv4": wanted.ipv4, "ipv6": wanted.ipv6},
                    "asked": {"ipv4": asked.ipv4, "ipv6": asked.ipv6},
                    "returned": {"ipv4": returned.ipv4, "ipv6": returned.ipv6},
                },
            });
            chains.extend(self.flight.ask(now, target, Action::Patch { patch }));
        }
        chains
    }

    fn endpoint_requests(&mut self, now: u64) -> Vec<Chain> {
        let mut chains = Vec::new();
        let mut wanted = BTreeSet::new();
        for record in self.records.values() {
            let key = ObjectKey::new(record.pod_namespace.as_str(), record.pod_name.as_str());
            let there = self.pods.get(POD, &key).filter(|pod| pod.uid == record.pod_uid);
            let labels = there.map(|pod| pod.labels.clone()).unwrap_or_default();
            for interface in &record.interfaces {
                let key = ObjectKey::new(record.pod_namespace.as_str(), interface.endpoint.as_str());
                wanted.insert(key.clone());
                // A pod that is gone gets no new objects: nobody would see them.
                let missing = self.endpoints.get(DANM_EP, &key).is_none();
                let target = ObjectRef { kind: DANM_EP, key };
                if let Some(object) = endpoint(record, interface, &self.name, &labels).filter(|_| missing) {
                    let object = serde_json::to_value(object).unwrap_or_default();
                    chains.extend(self.flight.ask(now, target, Action::Create { object }));
                } else if let Some(patch) = there
                    .zip(self.endpoints.get(DANM_EP, &target.key))
                    .and_then(|(_, known)| relabelled(known, &labels))
                {
                    chains.extend(self.flight.ask(now, target, Action::Patch { patch }));
                }
            }
        }
        for (key, object) in self.endpoints.of_kind(DANM_EP) {
            if wanted.contains(key) || dig::text(object, "spec.Host") != Some(&self.name) || dig::is_terminating(object)
            {
                continue;
            }
            let text = |path: &str| dig::text(object, path).unwrap_or_default().to_owned();
            let action =
                Action::Delete { uid: text("metadata.uid"), resource_version: text("metadata.resourceVersion") };
            let target = ObjectRef { kind: DANM_EP, key: key.clone() };
            chains.extend(self.flight.ask(now, target, action));
        }
        chains
    }
}

/// The change that gives an interface the labels of its pod; none when it has them.
fn relabelled(known: &Value, labels: &BTreeMap<String, String>) -> Option<Value> {
    let empty = serde_json::Map::new();
    let has = dig::at(known, "metadata.labels").and_then(Value::as_object).unwrap_or(&empty);
    let surplus = has.keys().filter(|key| !labels.contains_key(*key)).map(|key| (key.clone(), Value::Null));
    let missing = labels.iter().filter(|(key, value)| has.get(*key).and_then(Value::as_str) != Some(value));
    let changed: serde_json::Map<String, Value> =
        surplus.chain(missing.map(|(key, value)| (key.clone(), value.as_str().into()))).collect();
    let text = |path: &str| dig::text(known, path).unwrap_or_default();
    let metadata = json!({
        "resourceVersion": text("metadata.resourceVersion"), "uid": text("metadata.uid"), "labels": changed,
    });
    (!changed.is_empty()).then(|| json!({"metadata": metadata}))
}

/// The networks that a pod without an annotation is attached to; the first that is there.
fn defaults(namespace: &str) -> [NetworkRef; 3] {
    podnet::NetworkKind::ALL.map(|kind| NetworkRef {
        kind,
        namespace: if kind.is_namespaced() { namespace.to_owned() } else { String::new() },
        name: "default".to_owned(),
    })
}

fn reference(object: &Value) -> Option<ObjectRef> {
    ObjectRef::among([POD, IP_BLOCK, DANM_EP].into_iter(), object)
}

/// Both families.
const FAMILIES: [Family; 2] = [Family::Ipv4, Family::Ipv6];
