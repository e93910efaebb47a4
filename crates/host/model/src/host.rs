//! A host's whole network configuration, and the two meanings that such a picture has.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    ops::Deref,
};

use netloom_types::{IfName, MacAddr, Protocol};
use serde::{Deserialize, Serialize};

use crate::{
    HostSettings, KernelFeatures, Link, Route, RouteKey, RoutingLine, RoutingReport, RuleKey, Setting, SettingKey,
};

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
    /// What it has once.
    pub settings: HostSettings,
    /// What its routing daemons are configured with; none where there are none, or none that answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routing: Option<BTreeSet<RoutingLine>>,
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
    /// The kernel's number; changes when a link is recreated.
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
    /// Why its routing daemons could not be read, where there should be some.
    pub routing_away: Option<Box<str>>,
    /// What its routing daemons report of sessions and VNIs, where that was asked for and they answered.
    pub routing_report: Option<RoutingReport>,
    /// Addresses in VRFs that the routing daemons have not heard of, though the kernel has them: nothing is announced for
    /// them until they come again.
    pub unheard: BTreeSet<(IfName, IpAddr)>,
    /// The kernel that reported all this.
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
/// The properties of a link in here are what is desired: one that is not specified may have any value.
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
    /// Settings of the whole host; an empty one is given.
    pub settings: BTreeMap<SettingKey, Setting>,
    /// Lines of routing daemons, and whether each is there.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", with = "crate::pairs")]
    pub routing: BTreeMap<RoutingLine, bool>,
}

impl Target {
    /// How many objects are concerned.
    pub fn len(&self) -> usize {
        let Self { links, routes, rules, settings, routing } = self;
        links.len() + routes.len() + rules.len() + settings.len() + routing.len()
    }

    /// Whether nothing is concerned.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
