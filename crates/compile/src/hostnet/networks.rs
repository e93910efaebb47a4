//! All uplinks, host networks and attachments that are in force together, live or as a revision froze them.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use netloom_api::{
    fabric::text::ObjectName,
    hostnet::MGMT,
    pipeline::network_config_revision::{AttachmentRevision, HostNetworkConfigRevision},
};
use serde_json::json;

use super::{
    naming::{self, Chosen},
    objects::{HostNetworkConfig, VlanConfig},
    prepared::{HostNetwork, Uplink, unreadable},
};
use crate::{
    digest,
    finding::{Finding, reason},
    frozen::Frozen,
    key::{Meta, ObjectKey},
    layout::{Piece, Weighed},
    revision::{newest, newest_sound},
    snapshot::Snapshot,
};

/// The kind of an object of this front end that wants something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Asking {
    /// A `VlanConfig`.
    VlanConfig,
    /// A `HostNetworkConfig`.
    HostNetworkConfig,
}

impl Asking {
    /// The name of the kind.
    pub fn kind(self) -> &'static str {
        match self {
            Self::VlanConfig => "VlanConfig",
            Self::HostNetworkConfig => "HostNetworkConfig",
        }
    }

    /// The group of the kind, and its name.
    pub fn group_kind(self) -> (&'static str, &'static str) {
        (netloom_api::hostnet::GROUP, self.kind())
    }
}

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
    pub(crate) attachments: BTreeMap<String, Carried>,
    pub(crate) broken: BTreeMap<(Asking, String), Broken>,
}

/// The attachments of one cluster network.
#[derive(Debug, Clone, Default)]
pub(crate) struct Carried {
    pub(crate) all: Vec<AttachmentRevision>,
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

    fn find(&self, frozen: &HostNetworkConfigRevision) -> Option<&Arc<HostNetwork>> {
        self.0.get(&frozen.name.0)?.iter().find(|known| *known.frozen == *frozen)
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
        let chosen = Chosen::in_revision(newest(snapshot).map(|revision| snapshot.frozen(revision)));
        networks.name(&good, &chosen, readings);
        // What no uplink carries is nobody's here: others use that kind too.
        let ours: BTreeSet<String> =
            networks.uplinks.iter().map(|uplink| uplink.spec.cluster_network.clone()).collect();
        let carried =
            |network: &Option<String>| network.as_ref().is_some_and(|name| name == MGMT || ours.contains(name));
        let attachments = snapshot.attachments.iter();
        let attachments = attachments.filter(|(_, one)| !one.meta.deleted && carried(&one.cluster_network));
        networks.carry(attachments.filter_map(|(key, attachment)| {
            let frozen = AttachmentRevision {
                namespace: key.namespace.clone(),
                name: ObjectName(key.name.clone()),
                cluster_network: attachment.cluster_network.clone()?,
                vlans: attachment.vlans.clone(),
            };
            (!frozen.vlans.is_empty()).then_some(frozen)
        }));
        networks.sort();
        networks
    }

    /// The objects that a revision froze.
    pub(crate) fn frozen(revision: &Frozen<'_>, known: &Known) -> Self {
        let mut networks = Self::default();
        networks.thaw(revision, known, |_, _| true);
        networks.carry(revision.attachments.iter().copied().cloned());
        networks.sort();
        networks
    }

    /// Whether nothing is wanted.
    pub(crate) fn is_empty(&self) -> bool {
        self.uplinks.is_empty() && self.hosts.is_empty() && self.attachments.is_empty()
    }

    /// The labels of nodes that decide.
    pub(crate) fn labels(&self) -> impl Iterator<Item = &str> {
        let uplinks = self.uplinks.iter().flat_map(|uplink| uplink.labels());
        uplinks.chain(self.hosts.iter().flat_map(|host| host.labels()))
    }

    /// The objects as a revision holds them.
    pub(crate) fn freeze(&self) -> impl Iterator<Item = Weighed> {
        let uplinks = self.uplinks.iter().map(|uplink| Piece::Uplink(Arc::new(uplink.frozen.clone())).weighed());
        let hosts = self.hosts.iter().map(|host| host.weighed());
        let attachments = self.attachments.values().flat_map(|carried| &carried.all);
        let attachments = attachments.map(|one| Piece::Attachment(Arc::new(one.clone())).weighed());
        uplinks.chain(hosts).chain(attachments)
    }

    /// Numbers that are equal for equal sets.
    pub(crate) fn ids(&self) -> Vec<u64> {
        let uplinks = self.uplinks.iter().map(|uplink| uplink.id);
        let hosts = self.hosts.iter().map(|host| host.id);
        uplinks.chain(hosts).chain(self.attachments.values().map(|carried| carried.id)).collect()
    }

    fn read_uplinks(&mut self, snapshot: &Snapshot, readings: &mut Readings) {
        readings.uplinks.retain(|name, _| snapshot.uplinks.get(&ObjectKey::global(name)).is_some());
        for (key, object) in snapshot.uplinks.iter().filter(|(_, object)| !object.meta.deleted) {
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
                Err(findings) => self.break_off(Asking::VlanConfig, &key.name, findings),
            }
        }
        for object in snapshot.uplinks.unreadable().filter(|object| !object.meta.deleted) {
            self.break_off(Asking::VlanConfig, &object.meta.key.name, unreadable(&object.why));
        }
    }

    /// Host networks that keep their rules, in the order in which they win against each other.
    fn read_hosts(&mut self, snapshot: &Snapshot, readings: &mut Readings) -> Vec<Arc<HostNetworkConfig>> {
        readings.checks.retain(|name, _| snapshot.host_networks.get(&ObjectKey::global(name)).is_some());
        readings.hosts.retain(|name, _| snapshot.host_networks.get(&ObjectKey::global(name)).is_some());
        let mut good = Vec::new();
        for (key, object) in snapshot.host_networks.iter().filter(|(_, object)| !object.meta.deleted) {
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
                Err(findings) => self.break_off(Asking::HostNetworkConfig, &key.name, findings),
            }
        }
        for object in snapshot.host_networks.unreadable().filter(|object| !object.meta.deleted) {
            self.break_off(Asking::HostNetworkConfig, &object.meta.key.name, unreadable(&object.why));
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
                self.break_off(Asking::HostNetworkConfig, name, vec![finding]);
            } else {
                places.insert(place, name.clone());
                kept.push(object);
            }
        }
        kept
    }

    fn break_off(&mut self, asking: Asking, name: &str, findings: Vec<Finding>) {
        self.broken.insert((asking, name.to_owned()), Broken { findings, stays: false });
    }

    fn fall_back(&mut self, revision: Option<Frozen<'_>>) {
        let Some(revision) = revision else { return };
        let broken: BTreeSet<(Asking, String)> = self.broken.keys().cloned().collect();
        self.thaw(&revision, &Known::default(), |asking, name| broken.contains(&(asking, name.to_owned())));
        let back = self.uplinks.iter().map(|uplink| (Asking::VlanConfig, uplink.source.key.name.clone()));
        let hosts = self.hosts.iter().map(|host| (Asking::HostNetworkConfig, host.source.key.name.clone()));
        for object in back.chain(hosts).collect::<Vec<_>>() {
            if let Some(broken) = self.broken.get_mut(&object) {
                broken.stays = true;
            }
        }
    }

    fn thaw(&mut self, revision: &Frozen<'_>, known: &Known, wanted: impl Fn(Asking, &str) -> bool) {
        for frozen in revision.vlan_configs.iter().filter(|frozen| wanted(Asking::VlanConfig, &frozen.name.0)) {
            match Uplink::frozen(frozen) {
                Ok(uplink) => self.uplinks.push(Arc::new(uplink)),
                Err(findings) => self.break_off(Asking::VlanConfig, &frozen.name.0, findings),
            }
        }
        let hosts = revision.host_network_configs.iter();
        for frozen in hosts.filter(|frozen| wanted(Asking::HostNetworkConfig, &frozen.name.0)) {
            if let Some(host) = known.find(frozen) {
                self.hosts.push(host.clone());
                continue;
            }
            match HostNetwork::frozen(frozen) {
                Ok(host) => self.hosts.push(Arc::new(host)),
                Err(findings) => self.break_off(Asking::HostNetworkConfig, &frozen.name.0, findings),
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
                self.break_off(Asking::HostNetworkConfig, &object.meta.key.name, vec![finding]);
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
                Err(findings) => self.break_off(Asking::HostNetworkConfig, name, findings),
            }
        }
    }

    fn carry(&mut self, attachments: impl Iterator<Item = AttachmentRevision>) {
        for attachment in attachments {
            self.attachments.entry(attachment.cluster_network.clone()).or_default().all.push(attachment);
        }
        for carried in self.attachments.values_mut() {
            carried.all.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
            carried.id = digest::number(&json!({"attachments": carried.all}));
        }
    }

    fn sort(&mut self) {
        let order = |a: &Meta, b: &Meta| a.precedence().cmp(&b.precedence());
        self.uplinks.sort_by(|a, b| order(&a.source, &b.source));
        self.hosts.sort_by(|a, b| order(&a.source, &b.source));
    }
}

/// A cluster network must be there; that of the installer is, whether an object shows it or not.
fn known_network(snapshot: &Snapshot, name: &str) -> Result<(), Vec<Finding>> {
    let there = snapshot.cluster_networks.get(&ObjectKey::global(name)).is_some_and(|network| !network.meta.deleted);
    if there || name == MGMT {
        return Ok(());
    }
    let why = format!("there is no cluster network {name:?}; create it first");
    Err(vec![Finding::new(reason::NO_NETWORK, "spec.clusterNetwork", why)])
}
