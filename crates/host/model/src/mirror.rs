//! Mirrors: copies of a link's traffic sent to another link.
//!
//! In the kernel a mirror is a `clsact` queue, one filter (`matchall` or `flower`) and one `mirred`
//! action. A filter of ours is known by the cookie of its action.

use ipnet::IpNet;
use netloom_types::{IfName, MacAddr, VlanId};
use serde::{Deserialize, Serialize};

/// Which way the traffic goes, as seen from the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Into the host.
    Ingress,
    /// Out of the host.
    Egress,
}

/// What happens to a matching packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MirrorAction {
    /// A copy goes to the target.
    Mirror,
    /// The packet itself goes to the target.
    Redirect,
}

/// Which packets are meant; everything that is `None` matches all. All `None` is `matchall`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct FlowMatch {
    /// The VLAN of the tag.
    pub vlan: Option<VlanId>,
    /// The sender's hardware address.
    pub src_mac: Option<MacAddr>,
    /// The receiver's hardware address.
    pub dst_mac: Option<MacAddr>,
    /// The sender's prefix.
    pub src: Option<IpNet>,
    /// The receiver's prefix; of the family of `src`.
    pub dst: Option<IpNet>,
    /// The protocol number inside IP.
    pub ip_proto: Option<u8>,
    /// The sender's port (TCP, UDP, SCTP).
    pub src_port: Option<u16>,
    /// The receiver's port (TCP, UDP, SCTP).
    pub dst_port: Option<u16>,
}

impl FlowMatch {
    /// Whether every packet matches.
    pub fn is_everything(&self) -> bool {
        *self == Self::default()
    }
}

/// What the kernel tells filters of one link apart by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MirrorKey {
    /// The direction.
    pub direction: Direction,
    /// Filters with lower numbers are asked first.
    pub priority: u16,
}

/// One mirror.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Mirror {
    /// Which packets.
    pub matches: FlowMatch,
    /// What happens to them.
    pub action: MirrorAction,
    /// The link that they go to.
    pub to: IfName,
    /// Whether netloom made it.
    pub ours: bool,
}
