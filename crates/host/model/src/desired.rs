//! What is wanted on one host.
//!
//! A desired state is partial: what it does not name stays as it is. By the time a `HostState` exists every
//! name is resolved and every value valid; it holds no wildcard and no reference to a document.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use netloom_types::{AltName, Family, IfName};
use serde::{Deserialize, Serialize};

use crate::{
    Address, Attrs, FdbEntry, FdbKey, LinkKind, Mirror, MirrorKey, Neighbour, Origin, Route, RouteKey, RoutingLine,
    RuleKey, Setting, SettingKey, VlanMembership,
};

/// Everything wanted on one host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HostState {
    /// Links, at most one entry for each name.
    pub links: BTreeMap<IfName, DesiredLink>,
    /// Routes that shall be there.
    pub routes: Vec<DesiredRoute>,
    /// Routes that shall go, each one that exists.
    pub absent_routes: Vec<RouteKey>,
    /// Rules that shall be there.
    pub rules: Vec<DesiredRule>,
    /// Rules that shall go, each one that exists.
    pub absent_rules: Vec<RuleKey>,
    /// Settings of the whole host.
    pub settings: BTreeMap<SettingKey, DesiredSetting>,
    /// Lines of routing daemons.
    pub routing: Vec<DesiredRoutingLine>,
    /// Set when this is all that one source wants: what it wanted before and no longer names is
    /// taken back.
    pub whole_of: Option<Arc<str>>,
    /// Set when this is a part of what one source wants: it is that source's, and nothing else of it is touched.
    pub part_of: Option<Arc<str>>,
}

impl HostState {
    /// Wants a setting.
    pub fn set(&mut self, setting: Setting, origin: Origin) {
        self.settings.insert(setting.key(), DesiredSetting { setting, origin });
    }
}

/// Whether a thing shall be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Presence {
    /// It shall.
    Present,
    /// It shall not: a virtual link is deleted, a card gets back what it had before.
    Absent,
}

/// Whether a desired state may take over a link that somebody else made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Adoption {
    /// A person named the link: the named properties are changed.
    ByName,
    /// A controller generated the desired state: a foreign link of that name is an error.
    Never,
}

/// What a desired state says about a link's controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DesiredController {
    /// Nothing.
    Keep,
    /// It shall be no port.
    Detached,
    /// It shall be a port of this link.
    Of(IfName),
}

/// What is wanted of one link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesiredLink {
    /// Its name.
    pub name: IfName,
    /// Its kind; for a link that exists, the kind that it has.
    pub kind: LinkKind,
    /// Whether it shall exist.
    pub presence: Presence,
    /// Whether it may be somebody else's.
    pub adoption: Adoption,
    /// Whether it shall be up; a new link without a word is made up.
    pub up: Option<bool>,
    /// The controller.
    pub controller: DesiredController,
    /// Named properties, those of its port role included.
    pub attrs: Attrs,
    /// A person's text; kept in the alias.
    pub description: Option<Box<str>>,
    /// Further names that shall come or go.
    pub alt_names: BTreeMap<AltName, Presence>,
    /// IPv4.
    pub ipv4: DesiredIp,
    /// IPv6.
    pub ipv6: DesiredIp,
    /// All VLANs of the port, or of the bridge itself.
    pub vlans: Option<VlanMembership>,
    /// Forwarding entries that shall come, or go (`None`).
    pub fdb: BTreeMap<FdbKey, Option<FdbEntry>>,
    /// Mirrors that shall come, or go (`None`).
    pub mirrors: BTreeMap<MirrorKey, Option<Mirror>>,
    /// Offload features.
    pub features: BTreeMap<Box<str>, bool>,
    /// Who asked.
    pub origin: Origin,
}

impl DesiredLink {
    /// A desired state that the link exists, and nothing more.
    pub fn new(name: IfName, kind: LinkKind, origin: Origin) -> Self {
        Self {
            name,
            kind,
            presence: Presence::Present,
            adoption: Adoption::ByName,
            up: None,
            controller: DesiredController::Keep,
            attrs: Attrs::new(),
            description: None,
            alt_names: BTreeMap::new(),
            ipv4: DesiredIp::default(),
            ipv6: DesiredIp::default(),
            vlans: None,
            fdb: BTreeMap::new(),
            mirrors: BTreeMap::new(),
            features: BTreeMap::new(),
            origin,
        }
    }

    /// The desired state for one family.
    pub fn ip(&self, family: Family) -> &DesiredIp {
        match family {
            Family::Ipv4 => &self.ipv4,
            Family::Ipv6 => &self.ipv6,
        }
    }
}

/// What is wanted of one address family of a link.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DesiredIp {
    /// `false` removes the family's addresses and routes from the link.
    pub enabled: Option<bool>,
    /// The addresses, in order; replaces the list.
    pub addresses: Option<Vec<DesiredAddress>>,
    /// Keeps addresses of others beside the listed ones.
    pub keep_extra: bool,
    /// The permanent neighbours; replaces the list.
    pub neighbours: Option<BTreeSet<Neighbour>>,
    /// A lease.
    pub dhcp: Option<Box<DesiredDhcp>>,
}

/// One wanted address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesiredAddress {
    /// The address.
    pub address: Address,
    /// Who asked.
    pub origin: Origin,
}

/// How a lease shall be asked for; the client reads this, the kernel engine does not.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DesiredDhcp {
    /// Whether a lease is wanted at all.
    pub enabled: bool,
    /// Takes name servers from the lease.
    pub auto_dns: Option<bool>,
    /// Takes the default route from the lease.
    pub auto_gateway: Option<bool>,
    /// Takes other routes from the lease.
    pub auto_routes: Option<bool>,
    /// The table that routes go to.
    pub route_table: Option<u32>,
    /// The metric of routes.
    pub route_metric: Option<u32>,
    /// The client identifier: `ll`, `iaid+duid` or text.
    pub client_id: Option<String>,
    /// The DHCP unique identifier (IPv6): `llt`, `en`, `ll`, `uuid` or text.
    pub duid: Option<String>,
    /// Sends the host name.
    pub send_hostname: Option<bool>,
    /// Sends this name instead of the host's.
    pub custom_hostname: Option<String>,
}

/// One wanted route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesiredRoute {
    /// The route.
    pub route: Route,
    /// Who asked.
    pub origin: Origin,
}

/// One wanted rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesiredRule {
    /// The rule.
    pub rule: crate::Rule,
    /// Who asked.
    pub origin: Origin,
}

/// One wanted setting of the whole host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesiredSetting {
    /// The setting.
    pub setting: Setting,
    /// Who asked.
    pub origin: Origin,
}

/// One wanted line of a routing daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesiredRoutingLine {
    /// The line.
    pub line: RoutingLine,
    /// Who asked.
    pub origin: Origin,
}
