//! What a bridge keeps per port: VLANs and forwarding entries.

use std::net::IpAddr;

use netloom_types::{MacAddr, VlanId, VlanSet, Vni};
use serde::{Deserialize, Serialize};

/// The VLANs of a bridge port, or of the bridge itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct VlanMembership {
    /// VLANs that frames leave with their tag.
    pub tagged: VlanSet,
    /// VLANs that frames leave without a tag.
    pub untagged: VlanSet,
    /// The VLAN of frames that come without a tag; it is also in one of the two sets.
    pub pvid: Option<VlanId>,
}

impl VlanMembership {
    /// One VLAN, untagged both ways, as an access port has it.
    pub fn access(vlan: VlanId) -> Self {
        Self { tagged: VlanSet::new(), untagged: [vlan].into_iter().collect(), pvid: Some(vlan) }
    }

    /// Every VLAN of the port.
    pub fn all(&self) -> VlanSet {
        self.tagged.plus(&self.untagged)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.tagged.is_empty() && self.untagged.is_empty()
    }
}

/// What the kernel tells forwarding entries of one link apart by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FdbKey {
    /// The station.
    pub mac: MacAddr,
    /// The VLAN that it is in, when the bridge filters.
    pub vlan: Option<VlanId>,
    /// The tunnel end behind which it is (VXLAN).
    pub dst: Option<IpAddr>,
    /// The network identifier to use on the way there (VXLAN).
    pub vni: Option<Vni>,
}

/// A forwarding entry that does not age.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FdbEntry {
    /// Whether the entry is in the device's own table (`self`) rather than in its bridge's (`master`).
    pub on_device: bool,
    /// Whether the address is the bridge's own (`permanent`, kernel word `local`) rather than a
    /// station behind the port (`static`).
    pub local: bool,
    /// Whether something outside the kernel, such as netloom, keeps the entry (`extern_learn`).
    pub external: bool,
}
