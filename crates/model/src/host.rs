//! A host's whole network configuration, and the two meanings that such a picture has.

use std::{collections::BTreeMap, ops::Deref};

use netloom_types::{IfName, MacAddr, Protocol};
use serde::{Deserialize, Serialize};

use crate::{KernelFeatures, Link, Resolver, Route, RouteKey, RuleKey};

/// A picture of a host: everything that somebody configured, nothing that the kernel derives.
///
/// Left out are what comes and goes by itself: connected and local routes, generated link-local
/// addresses, learned neighbours and forwarding entries, and routes of routing daemons.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Host {
    /// Links by name.
    pub links: BTreeMap<IfName, Link>,
    /// Routes that somebody configured, in all tables.
    #[serde(with = "crate::pairs")]
    pub routes: BTreeMap<RouteKey, Route>,
    /// Policy rules, with who made each; the kernel's own (local, main, default, l3mdev) left out.
    #[serde(with = "crate::pairs")]
    pub rules: BTreeMap<RuleKey, Protocol>,
    /// The resolver.
    pub resolver: Resolver,
    /// The host name that the kernel has.
    pub hostname_running: String,
    /// The host name that it gets at boot; empty when none is configured.
    pub hostname_config: String,
    /// Whether frames that a bridge passes on are shown to iptables; none where the kernel never does that.
    #[serde(default)]
    pub bridge_iptables: Option<bool>,
}

impl Host {
    /// The links whose controller is `name`.
    pub fn ports_of(&self, name: IfName) -> impl Iterator<Item = &Link> {
        self.links.values().filter(move |link| link.controller == Some(name))
    }

    /// The links that stand on `name`.
    pub fn children_of(&self, name: IfName) -> impl Iterator<Item = &Link> {
        self.links.values().filter(move |link| link.base() == Some(name))
    }
}

/// Whether a link can carry packets now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum OperState {
    /// The driver does not say.
    #[default]
    Unknown,
    /// It can.
    Up,
    /// It cannot.
    Down,
    /// A link below it cannot.
    LowerLayerDown,
    /// It waits for something, such as authentication.
    Dormant,
}

/// What the kernel says of a link that nobody can ask for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinkFacts {
    /// The kernel's number; changes when a link is made anew.
    pub index: u32,
    /// Whether a cable, or what stands for it, is there.
    pub carrier: bool,
    /// Whether packets can pass.
    pub oper: OperState,
    /// The address that is burnt in.
    pub permanent_mac: Option<MacAddr>,
    /// The lowest MTU that the driver takes.
    pub min_mtu: u32,
    /// The highest MTU that the driver takes; 0 when it does not say.
    pub max_mtu: u32,
    /// The driver, when it is known.
    pub driver: Option<String>,
    /// The place on the bus, when it is known.
    pub pci_address: Option<String>,
    /// Whether the base or peer is in another network namespace.
    pub elsewhere: bool,
}

/// What the kernel reported.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Observed {
    /// The configuration.
    pub host: Host,
    /// Facts of each link.
    pub facts: BTreeMap<IfName, LinkFacts>,
    /// Routes that the kernel, a routing daemon or a lease made, or that have what a [`Route`] cannot
    /// say: shown, looked up, and put back where a change takes them away, but never changed.
    pub derived_routes: Vec<Route>,
    /// Those of `derived_routes` that nobody can put back: with an encapsulation or a type of service,
    /// over a next hop object that a person made, the second of one key. What takes their link away or
    /// down loses them, and no undo brings them back.
    pub fragile_routes: Vec<Route>,
    /// The kernel that said all this.
    pub kernel: KernelFeatures,
}

impl Deref for Observed {
    type Target = Host;

    fn deref(&self) -> &Host {
        &self.host
    }
}

/// What the host shall be, for the objects that are concerned: present with this value, or absent.
///
/// The properties of a link in here are wishes: one that is not said may have any value.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Target {
    /// Links.
    pub links: BTreeMap<IfName, Option<Link>>,
    /// Routes.
    #[serde(with = "crate::pairs")]
    pub routes: BTreeMap<RouteKey, Option<Route>>,
    /// Rules.
    #[serde(with = "crate::pairs")]
    pub rules: BTreeMap<RuleKey, Option<Protocol>>,
    /// The resolver, when it is concerned.
    pub resolver: Option<Resolver>,
    /// The running host name, when it is concerned.
    pub hostname_running: Option<String>,
    /// The host name at boot, when it is concerned.
    pub hostname_config: Option<String>,
    /// Whether iptables sees the frames of bridges, when it is concerned.
    #[serde(default)]
    pub bridge_iptables: Option<bool>,
}

impl Target {
    /// How many objects are concerned.
    pub fn len(&self) -> usize {
        let Self { links, routes, rules, resolver, hostname_running, hostname_config, bridge_iptables } = self;
        let settings =
            [resolver.is_some(), hostname_running.is_some(), hostname_config.is_some(), bridge_iptables.is_some()];
        links.len() + routes.len() + rules.len() + settings.into_iter().filter(|setting| *setting).count()
    }

    /// Whether nothing is concerned.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
