//! A network with every value in its type.

use std::{fmt, net::IpAddr, str::FromStr};

use ipnet::IpNet;
use netloom_ipam::Pool;
pub use netloom_types::Family;
use netloom_types::{IfName, RouteTable, VlanId, Vni};

use crate::{GroupKind, podnet};

/// A kind of network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NetworkKind {
    /// Of a namespace, without tenants.
    DanmNet,
    /// Of a namespace, within what a TenantConfig allows.
    TenantNetwork,
    /// Of all namespaces.
    ClusterNetwork,
}

/// A network by kind and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NetworkRef {
    /// Its kind.
    pub kind: NetworkKind,
    /// Its namespace; empty for one that has none.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// Who makes the interfaces of a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Backend {
    /// The agent, as ipvlan links.
    Ipvlan,
    /// The agent, as macvlan links.
    Macvlan,
    /// The plugin of this name, which gets its configuration from the network.
    Sriov,
    /// The plugin of this name, with a configuration file.
    Plugin(String),
}

/// The number that separates a network from others on the same device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkId {
    /// A VLAN.
    Vlan(VlanId),
    /// A VXLAN network.
    Vxlan(Vni),
}

/// A route of all pods of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Static {
    /// Where to.
    pub to: IpNet,
    /// Over whom.
    pub via: IpAddr,
}

/// What a network is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// Its `NetworkID`.
    pub id: String,
    /// Who makes the interfaces.
    pub backend: Backend,
    /// Namespaces that may use it; empty: all.
    pub allowed_tenants: Vec<String>,
    /// The interface of nodes.
    pub host_device: Option<IfName>,
    /// The resource of a device plugin.
    pub device_pool: Option<String>,
    /// What names start with.
    pub prefix: Option<String>,
    /// Addresses of IPv4.
    pub ipv4: Option<Pool>,
    /// Addresses of IPv6.
    pub ipv6: Option<Pool>,
    /// The part of the IPv6 network that DANM's mask is about.
    pub tracked6: Option<IpNet>,
    /// Routes of every pod.
    pub routes: Vec<Static>,
    /// The table for routes of single pods.
    pub table: Option<RouteTable>,
    /// The number of the network on its device.
    pub link_id: Option<LinkId>,
    /// The MTU of interfaces, where it is given.
    pub mtu: Option<u32>,
}

/// What is wrong in a specification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The field.
    pub path: &'static str,
    /// What stands there.
    pub value: String,
    /// Why it cannot stay so.
    pub why: String,
}

impl NetworkKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::DanmNet, Self::TenantNetwork, Self::ClusterNetwork];

    /// Its name.
    pub const fn name(self) -> &'static str {
        self.group_kind().kind
    }

    /// The kind of its objects.
    pub const fn group_kind(self) -> GroupKind<'static> {
        match self {
            Self::DanmNet => podnet::DANM_NET,
            Self::TenantNetwork => podnet::TENANT_NETWORK,
            Self::ClusterNetwork => podnet::CLUSTER_NETWORK,
        }
    }

    /// Its name in URLs.
    pub const fn plural(self) -> &'static str {
        match self {
            Self::DanmNet => "danmnets",
            Self::TenantNetwork => "tenantnetworks",
            Self::ClusterNetwork => "clusternetworks",
        }
    }

    /// The kind of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether such networks are of a namespace.
    pub const fn is_namespaced(self) -> bool {
        !matches!(self, Self::ClusterNetwork)
    }
}

impl NetworkRef {
    /// The network of a kind by its name.
    pub fn new(kind: &str, namespace: &str, name: &str) -> Option<Self> {
        let kind = NetworkKind::named(kind)?;
        let namespace = if kind.is_namespaced() { namespace.to_owned() } else { String::new() };
        Some(Self { kind, namespace, name: name.to_owned() })
    }
}

impl fmt::Display for NetworkRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/", self.kind.name())?;
        if !self.namespace.is_empty() {
            write!(f, "{}/", self.namespace)?;
        }
        f.write_str(&self.name)
    }
}

impl Backend {
    /// The back end of a `NetworkType`; in any case of letters, since DANM compares it so in most places.
    pub fn named(name: &str) -> Self {
        match name.to_ascii_lowercase().as_str() {
            "" | "ipvlan" => Self::Ipvlan,
            "macvlan" => Self::Macvlan,
            "sriov" => Self::Sriov,
            _ => Self::Plugin(name.to_owned()),
        }
    }

    /// Whether its interfaces are made from the network alone.
    pub fn is_dynamic(&self) -> bool {
        !matches!(self, Self::Plugin(_))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Ipvlan => "ipvlan",
            Self::Macvlan => "macvlan",
            Self::Sriov => "sriov",
            Self::Plugin(name) => name,
        }
    }
}

impl LinkId {
    /// The name of the link of nodes that has the number. It may be too long for a link.
    pub fn link_name(self, network_id: &str) -> String {
        match self {
            Self::Vlan(vlan) => format!("{network_id}.{vlan}"),
            Self::Vxlan(_) => format!("vx_{network_id}"),
        }
    }
}

impl Network {
    /// The addresses of a family.
    pub fn pool(&self, family: Family) -> Option<&Pool> {
        match family {
            Family::Ipv4 => self.ipv4.as_ref(),
            Family::Ipv6 => self.ipv6.as_ref(),
        }
    }

    /// The link of nodes that carries the interfaces; none where the network names no device.
    pub fn carrier(&self) -> Option<IfName> {
        let device = self.host_device?;
        match self.link_id {
            Some(link_id) => IfName::from_str(&link_id.link_name(&self.id)).ok(),
            None => Some(device),
        }
    }
}
