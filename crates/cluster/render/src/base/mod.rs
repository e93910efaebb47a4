//! The base file of a node: what was there before the first object of the cluster, and is never made or deleted.
//!
//! It says how the node reaches the underlay, how the cluster's own VRF and that of the management are called, and by
//! which link the segments leave for the workloads. A [`Base`] is valid as a whole: its addresses, names and numbers
//! were read once. It does not know the kernel; whether the links are there is for others to find out.

mod parse;
mod read;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use netloom_types::{IfName, IpNet, Vni};

use crate::value::RouteTarget;

/// The base file of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    /// `vtepLoopbackIP`: the own end of every tunnel, and the router id.
    pub vtep: Ipv4Addr,
    /// `trunkInterfaceName`: the end of the trunk that carries a VLAN port for each segment.
    pub trunk: IfName,
    /// `hostTrunkInterfaceName`: the other end of the trunk, by which the node itself is a station of segments.
    pub host_trunk: Option<IfName>,
    /// `mgmtInterfaceName`: the link by which the host's own packets enter the cluster VRF, where it is not the trunk.
    pub management_interface: Option<IfName>,
    /// `exportCIDRs`: networks that the cluster VRF announces as a whole.
    pub export_cidrs: Vec<IpNet>,
    /// `clusterVRF`.
    pub cluster_vrf: BaseVrf,
    /// `managementVRF`.
    pub management_vrf: Option<BaseVrf>,
    /// `localASN`: the autonomous system of the node.
    pub local_asn: u32,
    /// `underlayNeighbors`.
    pub underlay_neighbors: Vec<BaseNeighbor>,
    /// `clusterNeighbors`: sessions in the cluster VRF.
    pub cluster_neighbors: Vec<BaseNeighbor>,
    /// `hostNextHop`.
    pub host_next_hop: HostNextHop,
    /// `gracefulRestart`: whether forwarding goes on while the routing daemon is away.
    pub graceful_restart: bool,
}

/// A VRF that was there before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseVrf {
    /// Its device.
    pub name: IfName,
    /// Its VXLAN network identifier, when the fabric knows it.
    pub vni: Option<Vni>,
    /// What its routes carry and what is taken; without it the routing daemon derives it.
    pub route_target: Option<RouteTarget>,
    /// `table`: its routing table; 10 for the cluster's and 20 for that of the management when nothing is given.
    pub table: u32,
}

/// The addresses by which the cluster VRF reaches the host: the next hops of routes to addresses of the host itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HostNextHop {
    /// For IPv4.
    pub ipv4: Option<Ipv4Addr>,
    /// For IPv6.
    pub ipv6: Option<Ipv6Addr>,
}

/// A neighbour that was there before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseNeighbor {
    /// Where it is.
    pub peer: Peer,
    /// The own address of the session.
    pub update_source: Option<Source>,
    /// The autonomous system of the other side.
    pub remote_asn: RemoteAsn,
    /// The autonomous system that the node shows to it, when it is another one.
    pub local_asn: Option<u32>,
    /// Seconds between signs of life, and for how long a session lasts without one.
    pub timers: Option<(u16, u16)>,
    /// Milliseconds between packets that find out whether it is there.
    pub bfd: Option<u32>,
    /// Whether IPv4 routes are exchanged.
    pub ipv4: bool,
    /// Whether IPv6 routes are exchanged.
    pub ipv6: bool,
    /// Whether routes of the fabric are exchanged.
    pub evpn: bool,
}

/// Where a neighbour is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// At an address.
    Address(IpAddr),
    /// At the other end of a link.
    Interface(IfName),
}

/// The own end of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// An address.
    Address(IpAddr),
    /// The address of a link.
    Interface(IfName),
}

/// The autonomous system of a neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoteAsn {
    /// This one.
    Number(u32),
    /// That of the node.
    Internal,
    /// Any other than that of the node.
    External,
}

/// What is wrong with a base file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("base file{}{}: {message}", place(*line), field(path))]
pub struct BaseError {
    /// The path of the key, such as `underlayNeighbors[0].remoteASN`; empty for the file as a whole.
    pub path: String,
    /// The line, from 1; 0 when there is none.
    pub line: u32,
    /// What is wrong, and what to do.
    pub message: String,
}

impl BaseError {
    /// A stable word for conditions and events.
    pub fn reason(&self) -> &'static str {
        "InvalidBaseFile"
    }
}

fn place(line: u32) -> String {
    if line == 0 { String::new() } else { format!(" line {line}") }
}

fn field(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!(": {path}") }
}

impl Base {
    /// Reads the text of a base file.
    pub fn parse(text: &str) -> Result<Self, BaseError> {
        parse::base(text)
    }

    /// Every key that a base file can have, such as `clusterVRF.table`.
    pub fn keys() -> Vec<String> {
        parse::keys()
    }

    /// The VRFs that were there before.
    pub fn vrfs(&self) -> impl Iterator<Item = &BaseVrf> {
        std::iter::once(&self.cluster_vrf).chain(&self.management_vrf)
    }
}
