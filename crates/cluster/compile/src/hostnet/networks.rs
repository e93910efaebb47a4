//! All uplinks, host networks and attachments that are in force together, live or as a revision froze them.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use netloom_api::{hostnet::MGMT, pipeline::network_config_revision::FrozenObject};
use netloom_object::ObjectRef;
use serde_json::json;

use super::{
    naming::{self, Chosen},
    objects::{Attachment, ClusterNetwork, HostNetworkConfig, Needs, VlanConfig},
    prepared::{HostNetwork, Uplink, unreadable},
};
use crate::{
    digest,
    finding::{Finding, reason},
    frozen::Frozen,
    key::{Meta, ObjectKey},
    layout::{Weighed, frozen},
    revision::{newest, newest_sound},
    snapshot::{Readable as _, Snapshot, plain},
};

/// An object that cannot be used as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// Why.
    pub findings: Vec<Finding>,
    /// Whether an earlier version stays in effect.
    pub stays: bool,
}

/// Everything that is in force, in the order in which objects win against each other.
#[derive(Debug, Clone, Default)]
pub(crate) struct Networks {
    pub(crate) uplinks: Vec<Arc<Uplink>>,
    pub(crate) hosts: Vec<Arc<HostNetwork>>,
    /// By cluster network.
    pub(crate) attachments: Arc<BTreeMap<String, Carried>>,
    pub(crate) broken: BTreeMap<ObjectRef, Broken>,
}

/// The attachments of one cluster network.
#[derive(Debug, Clone, Default)]
pub(crate) struct Carried {
    pub(super) all: Vec<(ObjectKey, Needs)>,
    /// The same as a revision holds them.
    pub(super) frozen: Vec<Weighed>,
    /// Equal for equal attachments.
    pub(crate) id: u64,
}

/// What came of objects, by name, with the version that it came of.
type Read<T, R> = HashMap<String, (Arc<T>, R)>;

/// Host networks that were read before, by name: revisions mostly have the same, and each may have thousands of addresses.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known(HashMap<String, Vec<Arc<HostNetwork>>>);

impl Known {
    /// All of these.
    pub(crate) fn of<'a>(networks: impl Iterator<Item = &'a Networks>) -> Self {
        let mut known = Self::default();
        for host in networks.flat_map(|networks| &networks.hosts) {
            let same_name = known.0.entry(host.source.key.name.clone()).or_default();
            if !same_name.iter().any(|other| Arc::ptr_eq(other, host)) {
                same_name.push(host.clone());
            }
        }
        known
    }

    fn find(&self, frozen: &FrozenObject) -> Option<&Arc<HostNetwork>> {
        self.0.get(&frozen.name.0)?.iter().find(|known| *known.frozen.object == *frozen)
    }
}

/// What was read of live objects before.
#[derive(Debug, Clone, Default)]
pub(crate) struct Readings {
    uplinks: Read<VlanConfig, Result<Arc<Uplink>, Vec<Finding>>>,
    checks: Read<HostNetworkConfig, Result<(), Vec<Finding>>>,
    hosts: Read<HostNetworkConfig, Arc<HostNetwork>>,
    /// How many objects were read in all.
    pub(crate) read: usize,
}

impl Networks {
    /// The objects of a snapshot. In the place of one that cannot be used stands its version in the newest
    /// revision that no node has refused.
    pub(crate) fn live(snapshot: &Snapshot, readings: &mut Readings) -> Self {
        let mut networks = Self::default();
        networks.read_uplinks(snapshot, readings);
        let good = networks.read_hosts(snapshot, readings);
        networks.fall_back(newest_sound(snapshot).map(|revision| snapshot.frozen(revision)));
        let chosen = Chosen::in_revision(newest(snapshot).map(|revision| snapshot.frozen(revision)).as_ref());
        networks.name(&good, &chosen, readings);
        // What no uplink carries is nobody's here: others use that kind too.
        let ours: BTreeSet<String> =
            networks.uplinks.iter().map(|uplink| uplink.spec.cluster_network.clone()).collect();
        let carried =
            |network: &Option<String>| network.as_ref().is_some_and(|name| name == MGMT || ours.contains(name));
        let attachments = snapshot.iter::<Attachment>();
        let attachments = attachments.filter(|(_, one)| !one.meta.deleted && carried(&one.cluster_network));
        networks.carry(attachments.filter_map(|(key, attachment)| {
            let needs = Needs { cluster_network: attachment.cluster_network.clone()?, vlans: attachment.vlans.clone() };
            (!needs.vlans.is_empty()).then(|| (key.clone(), needs))
        }));
        networks.sort();
        networks
    }

    /// The objects that a revision froze.
    pub(crate) fn frozen(revision: &Frozen<'_>, known: &Known) -> Self {
        let mut networks = Self::default();
        networks.thaw(revision, known, |_| true);
        networks.carry(revision.of_kind(Attachment::KIND).filter_map(|frozen| {
            let key = ObjectKey::new(&frozen.namespace, &frozen.name.0);
            Some((key, plain(&frozen.spec.0).ok()?))
        }));
        networks.sort();
        networks
    }

    /// Whether nothing is wanted.
    pub(crate) fn is_empty(&self) -> bool {
        self.uplinks.is_empty() && self.hosts.is_empty() && self.attachments.is_empty()
    }

    fn read_uplinks(&mut self, snapshot: &Snapshot, readings: &mut Readings) {
        readings.uplinks.retain(|name, _| snapshot.get::<VlanConfig>(&ObjectKey::global(name)).is_some());
        for (key, object) in snapshot.iter::<VlanConfig>().filter(|(_, object)| !object.meta.deleted) {
            // Objects of the installer's network only show what is there.
            if object.spec.cluster_network == MGMT {
                continue;
            }
            let read = match readings.uplinks.get(&key.name) {
                Some((known, read)) if Arc::ptr_eq(known, object) => read.clone(),
                Some(_) | None => {
                    readings.read += 1;
                    let read = Uplink::live(object).map(Arc::new);
                    readings.uplinks.insert(key.name.clone(), (object.clone(), read.clone()));
                    read
                }
            };
            match read.and_then(|uplink| known_network(snapshot, &uplink.spec.cluster_network).map(|()| uplink)) {
                Ok(uplink) => self.uplinks.push(uplink),
                Err(findings) => self.break_off(VlanConfig::object(key), findings),
            }
        }
        for object in snapshot.unreadable::<VlanConfig>().filter(|object| !object.meta.deleted) {
            self.break_off(VlanConfig::object(&object.meta.key), unreadable(&object.why));
        }
    }

    /// Host networks that keep their rules, in the order in which they win against each other.
    fn read_hosts(&mut self, snapshot: &Snapshot, readings: &mut Readings) -> Vec<Arc<HostNetworkConfig>> {
        readings.checks.retain(|name, _| snapshot.get::<HostNetworkConfig>(&ObjectKey::global(name)).is_some());
        readings.hosts.retain(|name, _| snapshot.get::<HostNetworkConfig>(&ObjectKey::global(name)).is_some());
        let mut good = Vec::new();
        for (key, object) in snapshot.iter::<HostNetworkConfig>().filter(|(_, object)| !object.meta.deleted) {
            let check = match readings.checks.get(&key.name) {
                Some((known, check)) if Arc::ptr_eq(known, object) => check.clone(),
                Some(_) | None => {
                    readings.read += 1;
                    let check = HostNetwork::check(object);
                    readings.checks.insert(key.name.clone(), (object.clone(), check.clone()));
                    check
                }
            };
            match check.and_then(|()| known_network(snapshot, &object.spec.cluster_network)) {
                Ok(()) => good.push(object.clone()),
                Err(findings) => self.break_off(HostNetworkConfig::object(key), findings),
            }
        }
        for object in snapshot.unreadable::<HostNetworkConfig>().filter(|object| !object.meta.deleted) {
            self.break_off(HostNetworkConfig::object(&object.meta.key), unreadable(&object.why));
        }
        good.sort_by(|a, b| a.meta.precedence().cmp(&b.meta.precedence()));
        self.only_one_in_each_place(good)
    }

    /// A VLAN of a cluster network is for one object: the oldest.
    fn only_one_in_each_place(&mut self, all: Vec<Arc<HostNetworkConfig>>) -> Vec<Arc<HostNetworkConfig>> {
        let mut places: BTreeMap<(String, u16), String> = BTreeMap::new();
        let mut kept = Vec::new();
        for object in all {
            let place = (object.spec.cluster_network.clone(), object.spec.vlan_id);
            let name = &object.meta.key.name;
            if let Some(first) = places.get(&place) {
                let (network, vlan) = &place;
                let why = format!("{first:?} has VLAN {vlan} of cluster network {network:?} already and is older");
                let finding = Finding::new(reason::INVALID_NETWORK, "spec.vlanID", why);
                self.break_off(HostNetworkConfig::object(&object.meta.key), vec![finding]);
            } else {
                places.insert(place, name.clone());
                kept.push(object);
            }
        }
        kept
    }

    fn break_off(&mut self, object: ObjectRef, findings: Vec<Finding>) {
        self.broken.insert(object, Broken { findings, stays: false });
    }

    fn fall_back(&mut self, revision: Option<Frozen<'_>>) {
        let Some(revision) = revision else { return };
        let broken: BTreeSet<ObjectRef> = self.broken.keys().cloned().collect();
        self.thaw(&revision, &Known::default(), |object| broken.contains(object));
        let back = self.uplinks.iter().map(|uplink| uplink.object());
        let hosts = self.hosts.iter().map(|host| host.object());
        for object in back.chain(hosts).collect::<Vec<_>>() {
            if let Some(broken) = self.broken.get_mut(&object) {
                broken.stays = true;
            }
        }
    }

    fn thaw(&mut self, revision: &Frozen<'_>, known: &Known, wanted: impl Fn(&ObjectRef) -> bool) {
        let of = |frozen: &FrozenObject| ObjectKey::global(&frozen.name.0);
        let uplinks = revision.of_kind(VlanConfig::KIND).map(|frozen| (VlanConfig::object(&of(frozen)), frozen));
        for (object, frozen) in uplinks.filter(|(object, _)| wanted(object)) {
            match Uplink::frozen(frozen) {
                Ok(uplink) => self.uplinks.push(Arc::new(uplink)),
                Err(findings) => self.break_off(object, findings),
            }
        }
        let hosts = revision.of_kind(HostNetworkConfig::KIND);
        let hosts = hosts.map(|frozen| (HostNetworkConfig::object(&of(frozen)), frozen));
        for (object, frozen) in hosts.filter(|(object, _)| wanted(object)) {
            match known.find(frozen).cloned().map_or_else(|| HostNetwork::frozen(frozen).map(Arc::new), Ok) {
                Ok(host) => self.hosts.push(host),
                Err(findings) => self.break_off(object, findings),
            }
        }
    }

    /// Gives each interface its name: the one that it has, else the first that is free.
    fn name(&mut self, good: &[Arc<HostNetworkConfig>], chosen: &Chosen, readings: &mut Readings) {
        let known = |object: &HostNetworkConfig| {
            chosen.get(&object.meta.key.name, &object.spec.cluster_network, object.spec.vlan_id).map(str::to_owned)
        };
        let mut taken: BTreeSet<String> = self.hosts.iter().map(|host| host.interface.clone()).collect();
        taken.extend(good.iter().filter_map(|object| known(object)));
        let held: BTreeSet<(String, u16)> =
            self.hosts.iter().map(|host| (host.spec.cluster_network.clone(), host.spec.vlan_id)).collect();
        for object in good {
            let (network, vlan) = (&object.spec.cluster_network, object.spec.vlan_id);
            if held.contains(&(network.clone(), vlan)) {
                let why = "the last good version of another object has this VLAN of the cluster network";
                let finding = Finding::new(reason::INVALID_NETWORK, "spec.vlanID", why);
                self.break_off(HostNetworkConfig::object(&object.meta.key), vec![finding]);
                continue;
            }
            let interface = known(object).unwrap_or_else(|| naming::choose(network, vlan, &taken));
            taken.insert(interface.clone());
            let name = &object.meta.key.name;
            let before =
                readings.hosts.get(name).filter(|(it, host)| Arc::ptr_eq(it, object) && host.interface == interface);
            if let Some((_, host)) = before {
                self.hosts.push(host.clone());
                continue;
            }
            match HostNetwork::live(object, &interface).map(Arc::new) {
                Ok(host) => {
                    readings.hosts.insert(name.clone(), (object.clone(), host.clone()));
                    self.hosts.push(host);
                }
                Err(findings) => self.break_off(HostNetworkConfig::object(&object.meta.key), findings),
            }
        }
    }

    fn carry(&mut self, attachments: impl Iterator<Item = (ObjectKey, Needs)>) {
        let mut by_network: BTreeMap<String, Carried> = BTreeMap::new();
        for attachment in attachments {
            by_network.entry(attachment.1.cluster_network.clone()).or_default().all.push(attachment);
        }
        for carried in by_network.values_mut() {
            carried.all.sort_by(|a, b| a.0.cmp(&b.0));
            let frozen = |(key, needs): &(ObjectKey, Needs)| {
                frozen::<Attachment>(&Meta { key: key.clone(), ..Meta::default() }, BTreeMap::new(), json!(needs))
            };
            carried.frozen = carried.all.iter().map(frozen).collect();
            carried.id = digest::number(&json!(carried.frozen.iter().map(Weighed::id).collect::<Vec<_>>()));
        }
        self.attachments = Arc::new(by_network);
    }

    fn sort(&mut self) {
        let order = |a: &Meta, b: &Meta| a.precedence().cmp(&b.precedence());
        self.uplinks.sort_by(|a, b| order(&a.source, &b.source));
        self.hosts.sort_by(|a, b| order(&a.source, &b.source));
    }
}

/// A cluster network must be there; that of the installer is, whether an object shows it or not.
fn known_network(snapshot: &Snapshot, name: &str) -> Result<(), Vec<Finding>> {
    let found = snapshot.get::<ClusterNetwork>(&ObjectKey::global(name));
    let there = found.is_some_and(|network| !network.meta.deleted);
    if there || name == MGMT {
        return Ok(());
    }
    let why = format!("there is no cluster network {name:?}; create it first");
    Err(vec![Finding::new(reason::NO_NETWORK, "spec.clusterNetwork", why)])
}
