//! What the controller decides about addresses: which node has which part of which pool.
//!
//! Beside the control loop, because a pod that waits for an address waits for no revision.

use std::{collections::BTreeMap, net::IpAddr, sync::Arc};

use netloom_api::{
    GroupKind, dig,
    podnet::{
        ClusterNetwork, DANM_EP, DanmEp, DanmNet, Family, IP_BLOCK, IPBlock, IPBlockStatus, NETWORKS, Network,
        NetworkKind, NetworkOptions, NetworkRef, NetworkSpec, TenantNetwork,
    },
};
use netloom_ipam::{Holding, Numbers, Pool, number, share};
use netloom_object::{Action, Answer, Chain, Change, Ledger, ObjectKey, ObjectRef, RequestId, Version};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    flight::Flight,
    picture::{self, Picture, Pictures, Used},
};

/// Networks and the blocks of nodes.
#[derive(Debug, Clone, Default)]
pub struct Blocks {
    networks: Ledger<Known>,
    held: Ledger<IPBlock>,
    used: Ledger<Used>,
    pictures: Pictures,
    promised: BTreeMap<String, Promise>,
    /// The leadership for which the blocks were read.
    read_for: Option<i64>,
    flight: Flight,
}

/// What a block was being given when it was asked for last. Whatever is heard of that request, it may have been done: it
/// counts as given until the block is seen in another version, which tells what came of it.
#[derive(Debug, Clone, Default)]
struct Promise {
    base: String,
    ranges: BTreeMap<Family, Numbers>,
}

/// A block with what it may have been given beside what it says.
struct Held {
    block: IPBlock,
    promised: BTreeMap<Family, Numbers>,
}

#[derive(Debug, Clone)]
struct Known {
    uid: String,
    resource_version: String,
    terminating: bool,
    network: Option<Arc<Network>>,
    picture: Picture,
}

/// The kinds that are followed.
const ALL: [GroupKind<'static>; 5] = [NETWORKS[0], NETWORKS[1], NETWORKS[2], IP_BLOCK, DANM_EP];

impl Blocks {
    /// The kinds whose objects it must know. One that a cluster does not have counts as empty.
    pub fn kinds() -> [GroupKind<'static>; 5] {
        ALL
    }

    /// Takes note of objects.
    pub fn take(&mut self, change: &Change) {
        match change {
            Change::Put(object) => self.put(object),
            Change::Gone(object) => {
                if let Some(reference) = reference(object) {
                    let version = Version::of(object);
                    match reference.kind {
                        IP_BLOCK => self.held.gone(reference, version),
                        DANM_EP => self.used.gone(reference, version),
                        _ => self.networks.gone(reference, version),
                    };
                }
            }
            Change::Listed { kind, objects } => {
                let listed = objects.iter().filter_map(|object| reference(object)).collect();
                match *kind {
                    IP_BLOCK => drop(self.held.listed(*kind, &listed)),
                    DANM_EP => drop(self.used.listed(*kind, &listed)),
                    _ => drop(self.networks.listed(*kind, &listed)),
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
        if reference.kind == IP_BLOCK {
            if self.held.is_news(&reference, version)
                && let Ok(block) = IPBlock::deserialize(object.as_ref())
            {
                self.held.put(reference, version, block);
            }
        } else if reference.kind == DANM_EP {
            if self.used.is_news(&reference, version)
                && let Some(used) = DanmEp::deserialize(object.as_ref()).ok().and_then(|object| Used::read(&object))
            {
                self.pictures.seen(&used);
                self.used.put(reference, version, used);
            }
        } else if self.networks.is_news(&reference, version)
            && let Some(known) = known(reference.kind, object)
        {
            self.networks.put(reference, version, known);
        }
    }

    /// Whether the blocks must be read before one who has led since `acquired` decides: who led before may have given
    /// what no watch has told of yet.
    pub fn must_read(&self, acquired: i64) -> bool {
        self.read_for != Some(acquired)
    }

    /// Takes over all blocks as they were read after the lead was acquired. What is not among them is left to the watch,
    /// which knows since when it is gone. What was asked for before is done by now or never will be, and others may have
    /// given since what it would have given.
    pub fn read_anew(&mut self, acquired: i64, blocks: &[Arc<Value>]) {
        for object in blocks {
            self.put(object);
        }
        self.promised.clear();
        self.read_for = Some(acquired);
    }

    /// Takes note of what came of a request; `now` is in milliseconds.
    pub fn answered(&mut self, now: u64, id: RequestId, answer: &Answer) {
        self.flight.answered(now, id, answer);
    }

    /// Whether all kinds were listed: before that nobody gets anything.
    fn is_whole(&self) -> bool {
        self.held.is_listed(IP_BLOCK)
            && self.used.is_listed(DANM_EP)
            && NETWORKS.iter().all(|kind| self.networks.is_listed(*kind))
    }

    /// What to ask for now, and when to look again though nothing happens.
    pub fn decide(&mut self, now: u64) -> (Vec<Chain>, Option<u64>) {
        self.flight.at(now);
        if !self.is_whole() {
            return (Vec::new(), None);
        }
        self.forget_promises();
        let mut groups: BTreeMap<(NetworkRef, String), Vec<Held>> = BTreeMap::new();
        for (key, block) in self.held.of_kind(IP_BLOCK) {
            if let Some(network) = block.spec.network.reference() {
                let promised = self.promised.get(&key.name).map(|promise| promise.ranges.clone()).unwrap_or_default();
                let held = Held { block: block.clone(), promised };
                groups.entry((network, block.spec.network.uid.clone())).or_default().push(held);
            }
        }
        let mut chains = Vec::new();
        let used = picture::by_network(self.used.of_kind(DANM_EP).map(|(_, used)| used));
        for ((network, uid), blocks) in groups {
            let key = ObjectKey::new(network.namespace.as_str(), network.name.as_str());
            let known = self.networks.get(network.kind.group_kind(), &key);
            let pools = known.filter(|known| known.uid == uid).and_then(|known| known.network.clone());
            let used = used.get(&network).map_or(&[][..], Vec::as_slice);
            for (held, status) in blocks.iter().zip(statuses(pools.as_deref(), &blocks, used)) {
                chains.extend(self.write(now, &held.block, &status));
            }
        }
        let (pictures, later) = self.paint(now, &used);
        chains.extend(pictures);
        let wake_at = self.flight.wake_at().into_iter().chain(later).min();
        (chains, wake_at)
    }

    /// What a block says in a later version than that which a promise was tied to is what there is.
    fn forget_promises(&mut self) {
        let held = &self.held;
        self.promised.retain(|name, promise| {
            let block = held.get(IP_BLOCK, &ObjectKey::global(name.as_str()));
            block.is_some_and(|block| block.metadata.resource_version.as_ref() == Some(&promise.base))
        });
    }

    /// Brings the pictures of used addresses up to date; also when one is due that was written a moment ago.
    fn paint(&mut self, now: u64, used: &BTreeMap<NetworkRef, Vec<IpAddr>>) -> (Vec<Chain>, Option<u64>) {
        let (mut chains, mut later) = (Vec::new(), None::<u64>);
        let all = NETWORKS
            .into_iter()
            .flat_map(|kind| self.networks.of_kind(kind).map(move |(key, known)| (kind, key, known)));
        for (kind, key, known) in all {
            let reference = NetworkRef::new(kind.kind, &key.namespace, &key.name);
            let Some((reference, network)) = reference.zip(known.network.as_ref()).filter(|_| !known.terminating)
            else {
                continue;
            };
            let used = used.get(&reference).map_or(&[][..], Vec::as_slice);
            let wanted = self.pictures.wanted(&reference, network, used);
            let target = ObjectRef { kind, key: key.clone() };
            if known.picture.says(&wanted) || self.flight.is_under_way(&target) {
                continue;
            }
            if let Err(at) = self.pictures.may_write(now, &reference) {
                later = Some(later.map_or(at, |later| later.min(at)));
                continue;
            }
            let metadata = json!({"resourceVersion": known.resource_version, "uid": known.uid});
            let patch = json!({"metadata": metadata, "spec": {"Options": wanted.options()}});
            chains.extend(self.flight.ask(now, target, Action::Patch { patch }));
        }
        self.pictures.retain(|network| {
            let key = ObjectKey::new(network.namespace.as_str(), network.name.as_str());
            self.networks.get(network.kind.group_kind(), &key).is_some()
        });
        (chains, later)
    }

    fn write(&mut self, now: u64, block: &IPBlock, status: &IPBlockStatus) -> Option<Chain> {
        let name = block.metadata.name.clone().unwrap_or_default();
        let target = ObjectRef { kind: IP_BLOCK, key: ObjectKey::global(name.as_str()) };
        let resource_version = block.metadata.resource_version.clone().unwrap_or_default();
        if is_over(block, status) {
            let uid = block.metadata.uid.clone().unwrap_or_default();
            return self.flight.ask(now, target, Action::Delete { uid, resource_version });
        }
        if block.status.as_ref() == Some(status) || block.metadata.deletion_timestamp.is_some() {
            return None;
        }
        // Tied to the version whose requests it answers.
        let object = json!({
            "apiVersion": "netloom.dev/v1alpha1", "kind": IP_BLOCK.kind,
            "metadata": {"name": name, "resourceVersion": resource_version}, "status": status,
        });
        let chain = self.flight.ask(now, target, Action::ApplyStatus { object })?;
        let promise = self.promised.entry(name).or_default();
        promise.base = resource_version;
        for family in [Family::Ipv4, Family::Ipv6] {
            promise.ranges.entry(family).or_default().add(&read(status.ranges.of(family)));
        }
        Some(chain)
    }
}

/// A block of which nothing is left, and nothing is wanted.
fn is_over(block: &IPBlock, status: &IPBlockStatus) -> bool {
    let nothing = |counts: netloom_api::podnet::Counts| counts.ipv4 == 0 && counts.ipv6 == 0;
    let before = block.status.clone().unwrap_or_default();
    nothing(block.spec.wanted) && nothing(block.spec.needed) && status.ranges.is_empty() && before.ranges.is_empty()
}

/// What each block is to have. Without a network what is there stays until it is returned, and nothing is added.
fn statuses(network: Option<&Network>, blocks: &[Held], used: &[IpAddr]) -> Vec<IPBlockStatus> {
    let mut statuses: Vec<IPBlockStatus> = blocks
        .iter()
        .map(|held| IPBlockStatus { observed_generation: held.block.metadata.generation, ..IPBlockStatus::default() })
        .collect();
    for family in [Family::Ipv4, Family::Ipv6] {
        let pool = network.and_then(|network| network.pool(family));
        let like = family.everything().addr();
        let mut in_use = Numbers::new();
        for address in used.iter().filter(|address| Family::of(**address) == family) {
            in_use.insert(number(*address), number(*address));
        }
        let holdings: Vec<Holding> = blocks.iter().map(|held| holding(held, family, pool, &in_use)).collect();
        // What a pod has is nobody's to give, though no block has it: one that was deleted, or of an earlier network of
        // the same name.
        let all = pool.map(Pool::dynamic).unwrap_or_default().without(&in_use);
        for ((status, given), held) in statuses.iter_mut().zip(share(&all, &holdings)).zip(blocks) {
            let refused = named(&held.block, family, pool).without(&given.ranges).both(&in_use);
            *status.refused.of_mut(family) = refused.to_addresses(like);
            // A pod that has an address keeps it, whoever asks.
            *status.back.of_mut(family) = given.back.without(&in_use).to_addresses(like);
            *status.ranges.of_mut(family) = given.ranges.to_addresses(like);
            *status.spare.of_mut(family) = given.spare.map(|spare| u32::try_from(spare).unwrap_or(u32::MAX));
        }
    }
    statuses
}

fn read(texts: &[String]) -> Numbers {
    Numbers::of_addresses(texts.iter().map(String::as_str)).unwrap_or_default()
}

/// What a block asks for by name, as far as any pod may have it.
fn named(block: &IPBlock, family: Family, pool: Option<&Pool>) -> Numbers {
    read(block.spec.asked.of(family)).both(&pool.map(Pool::nameable).unwrap_or_default())
}

fn holding(held: &Held, family: Family, pool: Option<&Pool>, in_use: &Numbers) -> Holding {
    let Held { block, promised } = held;
    let mut given = block.status.as_ref().map(|status| read(status.ranges.of(family))).unwrap_or_default();
    given.add(&promised.get(&family).cloned().unwrap_or_default());
    let asked = |number: u32| if pool.is_some() { u128::from(number) } else { 0 };
    Holding {
        asked: named(block, family, pool).without(&in_use.without(&given)),
        given,
        returned: read(block.spec.returned.of(family)),
        needed: asked(block.spec.needed.of(family)),
        wanted: asked(block.spec.wanted.of(family)),
    }
}

fn reference(object: &Value) -> Option<ObjectRef> {
    ObjectRef::among(ALL.into_iter(), object)
}

fn known(kind: GroupKind<'static>, object: &Value) -> Option<Known> {
    let text = |path: &str| dig::text(object, path).unwrap_or_default().to_owned();
    let uid = dig::text(object, "metadata.uid")?.to_owned();
    let options = object.pointer("/spec/Options").and_then(|options| NetworkOptions::deserialize(options).ok());
    Some(Known {
        uid,
        resource_version: text("metadata.resourceVersion"),
        terminating: dig::is_terminating(object),
        network: read_network(kind, object).and_then(Result::ok).map(Arc::new),
        picture: Picture::of(&options.unwrap_or_default()),
    })
}

/// What an object of one of the kinds of networks means; none when it cannot be read at all.
pub(crate) fn read_network(
    kind: GroupKind<'static>,
    object: &Value,
) -> Option<Result<Network, Vec<netloom_api::podnet::Problem>>> {
    let kind = NetworkKind::named(kind.kind)?;
    let spec: NetworkSpec = match kind {
        NetworkKind::DanmNet => DanmNet::deserialize(object).ok()?.spec.0,
        NetworkKind::TenantNetwork => TenantNetwork::deserialize(object).ok()?.spec.0,
        NetworkKind::ClusterNetwork => ClusterNetwork::deserialize(object).ok()?.spec.0,
    };
    Some(spec.read(kind))
}
