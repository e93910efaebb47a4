//! What a neighbour says of itself in one frame.

use std::{collections::BTreeMap, net::IpAddr};

/// A chassis or a port: what kind of name it is, by the protocol's number, and the name as text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id {
    /// The kind.
    pub kind: u8,
    /// The name: hardware and network addresses as people write them, texts without what cannot be
    /// printed.
    pub name: String,
}

/// What a neighbour can be and is, as bits by the protocol's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// What it can be.
    pub supported: u16,
    /// What it is now.
    pub enabled: u16,
}

/// An address by which a neighbour can be managed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManagementAddress {
    /// The family by its assigned number: 1 for IPv4, 2 for IPv6, 6 for a hardware address.
    pub family: u8,
    /// The address as text.
    pub address: String,
    /// How the interface is numbered.
    pub interface_kind: u8,
    /// The number of the interface.
    pub interface: u32,
}

/// How fast a neighbour's port is, by the protocol's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MacPhy {
    /// Bit 0: it can agree on a speed; bit 1: it does.
    pub autoneg: u8,
    /// What it can agree on.
    pub advertised: u16,
    /// What it uses.
    pub mau_type: u16,
}

/// One announcement. What was not specified is none or empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announcement {
    /// The machine.
    pub chassis: Id,
    /// Its port on this wire.
    pub port: Id,
    /// For how many seconds this holds; 0 takes it back.
    pub ttl: u16,
    /// What the port is for.
    pub port_description: Option<String>,
    /// The name of the machine.
    pub system_name: Option<String>,
    /// What the machine is.
    pub system_description: Option<String>,
    /// What it does.
    pub capabilities: Option<Capabilities>,
    /// How to reach it.
    pub management: Vec<ManagementAddress>,
    /// The VLAN of frames without a tag; 0 for none.
    pub port_vlan: Option<u16>,
    /// VLANs that are distinguished by protocol; 0 for none.
    pub protocol_vlans: Vec<u16>,
    /// VLANs by id, with their names.
    pub vlans: BTreeMap<u16, String>,
    /// How fast the port is.
    pub mac_phy: Option<MacPhy>,
    /// The largest frame.
    pub max_frame_size: Option<u16>,
}

impl Announcement {
    /// An announcement that says only what it must.
    pub fn new(chassis: Id, port: Id, ttl: u16) -> Self {
        Self {
            chassis,
            port,
            ttl,
            port_description: None,
            system_name: None,
            system_description: None,
            capabilities: None,
            management: Vec::new(),
            port_vlan: None,
            protocol_vlans: Vec::new(),
            vlans: BTreeMap::new(),
            mac_phy: None,
            max_frame_size: None,
        }
    }
}

/// A network address by its family's assigned number.
pub(crate) fn network_address(family: u8, bytes: &[u8]) -> Option<String> {
    let ip = match family {
        1 => IpAddr::from(<[u8; 4]>::try_from(bytes).ok()?),
        2 => IpAddr::from(<[u8; 16]>::try_from(bytes).ok()?),
        _ => return None,
    };
    Some(ip.to_string())
}
