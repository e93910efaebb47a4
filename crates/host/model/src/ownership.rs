//! Who asked for what on a host, and what was there before.
//!
//! The kernel itself carries the mark of what netloom made (link alias, protocol numbers). This
//! record adds what the kernel has no room for: the place in the document that asked, and the value
//! that a property of somebody else's link had before, to be put back when the last origin goes. An old kernel
//! has no room for the mark of an address either; there this record alone knows which are ours.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use netloom_types::{AltName, Family, IfName, Protocol};
use serde::{Deserialize, Serialize};

use crate::{
    Address, Alias, Attr, FdbEntry, FdbKey, KernelFeatures, Medium, Mirror, MirrorKey, Neighbour, Origin, Route,
    RouteKey, RoutingLine, RuleKey, Setting, SettingKey, Value, VlanMembership, origin::Shared,
};

/// One thing on a host that somebody can ask for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ClaimKey {
    /// The link itself.
    Link(IfName),
    /// Its administrative state.
    Up(IfName),
    /// The controller that it is a port of.
    Controller(IfName),
    /// One property.
    Attr(IfName, Attr),
    /// Its alias.
    Alias(IfName),
    /// One further name.
    AltName(IfName, AltName),
    /// All its addresses of one family, as a list.
    Addresses(IfName, Family),
    /// One of its addresses; says who asked, while the list says what was there before.
    Address(IfName, IpAddr),
    /// Its VLANs.
    Vlans(IfName),
    /// One forwarding entry.
    Fdb(IfName, FdbKey),
    /// All its permanent neighbours of one family, as a list.
    Neighbours(IfName, Family),
    /// One mirror.
    Mirror(IfName, MirrorKey),
    /// One offload feature.
    Feature(IfName, Box<str>),
    /// One route.
    Route(RouteKey),
    /// One rule; by far the largest key, and the rarest.
    Rule(Box<RuleKey>),
    /// One setting of the whole host.
    Setting(SettingKey),
    /// One line of a routing daemon.
    Routing(RoutingLine),
}

impl ClaimKey {
    /// The link that the object belongs to.
    pub fn link(&self) -> Option<IfName> {
        match self {
            Self::Link(name)
            | Self::Up(name)
            | Self::Controller(name)
            | Self::Attr(name, _)
            | Self::Alias(name)
            | Self::AltName(name, _)
            | Self::Addresses(name, _)
            | Self::Address(name, _)
            | Self::Vlans(name)
            | Self::Fdb(name, _)
            | Self::Neighbours(name, _)
            | Self::Mirror(name, _)
            | Self::Feature(name, _) => Some(*name),
            Self::Route(_) | Self::Rule(_) | Self::Setting(_) | Self::Routing(_) => None,
        }
    }
}

/// The value of a [`ClaimKey`] at some moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Previous {
    /// It was not there.
    Absent,
    /// It was there and is of a kind that has no further value (links, further names,
    /// single addresses, lines of routing daemons).
    Present,
    /// An administrative state.
    Up(bool),
    /// A controller.
    Controller(Option<IfName>),
    /// The value of a property.
    Attr(Value),
    /// An alias.
    Alias(Alias),
    /// Addresses.
    Addresses(Vec<Address>),
    /// VLANs.
    Vlans(VlanMembership),
    /// A forwarding entry.
    Fdb(FdbEntry),
    /// Neighbours.
    Neighbours(BTreeSet<Neighbour>),
    /// A mirror.
    Mirror(Box<Mirror>),
    /// An offload feature.
    Feature(bool),
    /// A route.
    Route(Box<Route>),
    /// A rule's maker.
    Rule(Protocol),
    /// A setting of the whole host.
    Setting(Setting),
}

/// Who asked for one object, each with the place. Nearly always one, and there are as many of these
/// as objects, so this is a sorted list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Origins(Vec<(Arc<str>, Origin)>);

impl Origins {
    /// Notes who asked, in place of what they asked before.
    pub fn insert(&mut self, owner: Arc<str>, origin: Origin) {
        match self.find(&owner) {
            Ok(at) => self.0[at].1 = origin,
            Err(at) => {
                // No room for more than there are: most never get a second one.
                self.0.reserve_exact(1);
                self.0.insert(at, (owner, origin));
            }
        }
    }

    /// Forgets one who asked.
    pub fn remove(&mut self, owner: &str) {
        if let Ok(at) = self.find(owner) {
            self.0.remove(at);
        }
    }

    /// Whether somebody asked.
    pub fn contains_key(&self, owner: &str) -> bool {
        self.find(owner).is_ok()
    }

    /// All who asked, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Origin)> {
        self.0.iter().map(|(owner, origin)| (owner, origin))
    }

    /// How many asked.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nobody asks any more.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn find(&self, owner: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(other, _)| (**other).cmp(owner))
    }
}

impl<const N: usize> From<[(Arc<str>, Origin); N]> for Origins {
    fn from(all: [(Arc<str>, Origin); N]) -> Self {
        all.into_iter().collect()
    }
}

impl FromIterator<(Arc<str>, Origin)> for Origins {
    fn from_iter<I: IntoIterator<Item = (Arc<str>, Origin)>>(all: I) -> Self {
        let mut origins = Self::default();
        all.into_iter().for_each(|(owner, origin)| origins.insert(owner, origin));
        origins
    }
}

impl Serialize for Origins {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Origins {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(BTreeMap::<Arc<str>, Origin>::deserialize(from)?.into_iter().collect())
    }
}

/// One object that somebody asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Who asked, and where; when the last one goes, `before` is put back.
    pub origins: Origins,
    /// The value before the first of them asked. VLANs are shared with others: what those did since is part of it.
    pub before: Previous,
    /// The value that was set; when the host has another one by then, somebody changed it manually
    /// and it is left alone. Of VLANs only those are that were changed.
    pub ours: Previous,
}

impl Claim {
    /// Whether netloom put the address of this claim there.
    pub fn made_address(&self, kernel: KernelFeatures, address: &Address) -> bool {
        if kernel.address_protocol { is_marked(address) } else { self.was_absent() }
    }

    fn was_absent(&self) -> bool {
        self.before == Previous::Absent
    }
}

fn is_marked(address: &Address) -> bool {
    address.protocol == Protocol::NETLOOM
}

/// Everything that somebody asked for on one host.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Ownership {
    /// Claims by object.
    #[serde(serialize_with = "crate::pairs::serialize", deserialize_with = "shared")]
    pub claims: BTreeMap<ClaimKey, Claim>,
}

/// Reads claims, of which many have one owner and one source.
fn shared<'de, D: serde::Deserializer<'de>>(from: D) -> Result<BTreeMap<ClaimKey, Claim>, D::Error> {
    let mut shared = Shared::default();
    crate::pairs::deserialize_each(from, |claim: &mut Claim| {
        claim.origins.0.iter_mut().for_each(|(owner, origin)| shared.share(owner, origin));
    })
}

impl Ownership {
    /// The claims on a link and on what stands on it.
    pub fn of_link(&self, name: IfName) -> impl Iterator<Item = (&ClaimKey, &Claim)> {
        self.claims.iter().filter(move |(key, _)| key.link() == Some(name))
    }

    /// Whether netloom put this address there: by the kernel's own mark, or by this record where the kernel keeps none. An
    /// address that was there before anybody asked for it is not ours.
    pub fn made_address(&self, kernel: KernelFeatures, link: IfName, address: &Address) -> bool {
        let claim = self.claims.get(&ClaimKey::Address(link, address.ip));
        if kernel.address_protocol { is_marked(address) } else { claim.is_some_and(Claim::was_absent) }
    }

    /// Forgets what went with an earlier life of the namespace: everything but what is kept in files.
    pub fn forget_kernel(&mut self) {
        self.claims.retain(|key, _| matches!(key, ClaimKey::Setting(setting) if setting.medium() == Medium::File));
    }

    /// Forgets that one owner ever asked for anything. What nobody else asked for stays on the host as it is
    /// and is nobody's any more.
    pub fn forget(&mut self, owner: &str) {
        self.claims.retain(|_, claim| {
            let asked = claim.origins.contains_key(owner);
            claim.origins.remove(owner);
            !asked || !claim.origins.is_empty()
        });
    }
}

impl std::fmt::Display for ClaimKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Link(name) => write!(f, "link {name}"),
            Self::Up(name) => write!(f, "state of link {name}"),
            Self::Controller(name) => write!(f, "controller of link {name}"),
            Self::Attr(name, attr) => write!(f, "{attr} of link {name}"),
            Self::Alias(name) => write!(f, "alias of link {name}"),
            Self::AltName(name, alt) => write!(f, "further name {alt} of link {name}"),
            Self::Addresses(name, family) => write!(f, "{family} addresses of link {name}"),
            Self::Address(name, ip) => write!(f, "address {ip} on link {name}"),
            Self::Vlans(name) => write!(f, "VLANs of link {name}"),
            Self::Fdb(name, key) => write!(f, "forwarding entry {} on link {name}", key.mac),
            Self::Neighbours(name, family) => write!(f, "{family} neighbours of link {name}"),
            Self::Mirror(name, key) => write!(f, "mirror {} of link {name}", key.priority),
            Self::Feature(name, feature) => write!(f, "feature {feature} of link {name}"),
            Self::Route(key) => write!(f, "route {} table {} metric {}", key.destination, key.table, key.metric),
            Self::Rule(key) => write!(f, "rule {key}"),
            Self::Setting(key) => key.fmt(f),
            Self::Routing(line) => write!(f, "line \"{line}\" of the routing daemons"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forgetting_an_owner_leaves_what_others_asked_for() {
        let origin = || Origin::new("x", "", 0);
        let claim = |owners: &[&str]| Claim {
            origins: owners.iter().map(|owner| (Arc::from(*owner), origin())).collect(),
            before: Previous::Absent,
            ours: Previous::Absent,
        };
        let mut owned = Ownership::default();
        let [both, first, second] = [SettingKey::Resolver, SettingKey::HostnameRunning, SettingKey::HostnameConfig];
        owned.claims.insert(ClaimKey::Setting(both), claim(&["a", "b"]));
        owned.claims.insert(ClaimKey::Setting(first), claim(&["a"]));
        owned.claims.insert(ClaimKey::Setting(second), claim(&["b"]));
        owned.forget("a");
        let left: Vec<_> = owned.claims.iter().map(|(key, claim)| (key.clone(), claim.origins.len())).collect();
        assert_eq!(left, [(ClaimKey::Setting(both), 1), (ClaimKey::Setting(second), 1)]);
    }
}
