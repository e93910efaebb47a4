//! What the controller decides about addresses: which node has which part of which pool.
//!
//! Beside the control loop, because a pod that waits for an address waits for no revision.

use std::{collections::BTreeMap, sync::Arc};

use netloom_api::{
    GroupKind,
    podnet::{
        ClusterNetwork, DanmNet, Family, IP_BLOCK, IPBlock, IPBlockStatus, NETWORKS, Network, NetworkKind, NetworkRef,
        NetworkSpec, TenantNetwork,
    },
};
use netloom_ipam::{Holding, Numbers, share};
use netloom_object::{Action, Answer, Chain, Change, Ledger, ObjectKey, ObjectRef, RequestId, Version};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::flight::Flight;

/// Networks and the blocks of nodes.
#[derive(Debug, Clone, Default)]
pub struct Blocks {
    networks: Ledger<Known>,
    held: Ledger<IPBlock>,
    flight: Flight,
}

#[derive(Debug, Clone)]
struct Known {
    uid: String,
    network: Option<Arc<Network>>,
}

/// The kinds that are followed.
const ALL: [GroupKind<'static>; 4] = [NETWORKS[0], NETWORKS[1], NETWORKS[2], IP_BLOCK];

impl Blocks {
    /// The kinds whose objects it must know. One that a cluster does not have counts as empty.
    pub fn kinds() -> [GroupKind<'static>; 4] {
        ALL
    }

    /// Takes note of objects.
    pub fn take(&mut self, change: &Change) {
        match change {
            Change::Put(object) => self.put(object),
            Change::Gone(object) => {
                if let Some(reference) = reference(object) {
                    let version = Version::of(object);
                    if reference.kind == IP_BLOCK {
                        self.held.gone(reference, version);
                    } else {
                        self.networks.gone(reference, version);
                    }
                }
            }
            Change::Listed { kind, objects } => {
                let listed = objects.iter().filter_map(|object| reference(object)).collect();
                if *kind == IP_BLOCK {
                    self.held.listed(*kind, &listed);
                } else {
                    self.networks.listed(*kind, &listed);
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
        } else if self.networks.is_news(&reference, version)
            && let Some(known) = known(reference.kind, object)
        {
            self.networks.put(reference, version, known);
        }
    }

    /// Takes note of what came of a request; `now` is in milliseconds.
    pub fn answered(&mut self, now: u64, id: RequestId, answer: &Answer) {
        self.flight.answered(now, id, answer);
    }

    /// Whether all kinds were listed: before that nobody gets anything.
    fn is_whole(&self) -> bool {
        self.held.is_listed(IP_BLOCK) && NETWORKS.iter().all(|kind| self.networks.is_listed(*kind))
    }

    /// What to ask for now, and when to look again though nothing happens.
    pub fn decide(&mut self, now: u64) -> (Vec<Chain>, Option<u64>) {
        self.flight.at(now);
        if !self.is_whole() {
            return (Vec::new(), None);
        }
        let mut groups: BTreeMap<(NetworkRef, String), Vec<IPBlock>> = BTreeMap::new();
        for (_, block) in self.held.of_kind(IP_BLOCK) {
            if let Some(network) = block.spec.network.reference() {
                let key = (network, block.spec.network.uid.clone());
                groups.entry(key).or_default().push(block.clone());
            }
        }
        let mut chains = Vec::new();
        for ((network, uid), blocks) in groups {
            let key = ObjectKey::new(network.namespace.as_str(), network.name.as_str());
            let known = self.networks.get(network.kind.group_kind(), &key);
            let pools = known.filter(|known| known.uid == uid).and_then(|known| known.network.clone());
            for (block, status) in blocks.iter().zip(statuses(pools.as_deref(), &blocks)) {
                chains.extend(self.write(now, block, &status));
            }
        }
        (chains, self.flight.wake_at())
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
        self.flight.ask(now, target, Action::ApplyStatus { object })
    }
}

/// A block of which nothing is left, and nothing is wanted.
fn is_over(block: &IPBlock, status: &IPBlockStatus) -> bool {
    let nothing = |counts: netloom_api::podnet::Counts| counts.ipv4 == 0 && counts.ipv6 == 0;
    let before = block.status.clone().unwrap_or_default();
    nothing(block.spec.wanted) && nothing(block.spec.needed) && status.ranges.is_empty() && before.ranges.is_empty()
}

/// What each block is to have. Without a network what is there stays until it is returned, and nothing is added.
fn statuses(network: Option<&Network>, blocks: &[IPBlock]) -> Vec<IPBlockStatus> {
    let mut statuses: Vec<IPBlockStatus> = blocks
        .iter()
        .map(|block| IPBlockStatus { observed_generation: block.metadata.generation, ..IPBlockStatus::default() })
        .collect();
    for family in [Family::Ipv4, Family::Ipv6] {
        let pool = network.and_then(|network| network.pool(family));
        let like = family.everything().addr();
        let holdings: Vec<Holding> = blocks.iter().map(|block| holding(block, family, pool.is_some())).collect();
        let all = pool.map(netloom_ipam::Pool::dynamic).unwrap_or_default();
        for (status, given) in statuses.iter_mut().zip(share(&all, &holdings)) {
            *status.ranges.of_mut(family) = given.ranges.to_addresses(like);
            *status.spare.of_mut(family) = given.spare.map(|spare| u32::try_from(spare).unwrap_or(u32::MAX));
        }
    }
    statuses
}

fn holding(block: &IPBlock, family: Family, has_pool: bool) -> Holding {
    let read = |texts: &[String]| Numbers::of_addresses(texts.iter().map(String::as_str)).unwrap_or_default();
    let given = block.status.as_ref().map(|status| read(status.ranges.of(family))).unwrap_or_default();
    let asked = |number: u32| if has_pool { u128::from(number) } else { 0 };
    Holding {
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
    let uid = netloom_api::dig::text(object, "metadata.uid")?.to_owned();
    Some(Known { uid, network: read_network(kind, object).and_then(Result::ok).map(Arc::new) })
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
