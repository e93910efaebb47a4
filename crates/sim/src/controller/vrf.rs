//! Ports of VRFs.

use netloom_model::{Link, LinkKind, StepError};
use netloom_types::IfName;

use crate::{
    SimHost,
    errno::{Done, refuse},
};

/// Whether a link may become a port of a VRF.
pub(super) fn check_join(link: &Link) -> Done {
    match link.kind {
        LinkKind::Loopback => refuse(StepError::EOPNOTSUPP, "Can not enslave loopback device to a VRF"),
        LinkKind::Vrf => refuse(StepError::EINVAL, "Can not enslave an L3 master device to a VRF"),
        _ => Ok(()),
    }
}

impl SimHost {
    /// The link's routes change their table, so the kernel sets it down and up again: routes through
    /// it go whatever their table, IPv6 addresses too, and its VLANs go through the same.
    pub(super) fn changed_vrf(&mut self, name: IfName) {
        self.drop_ipv6_addresses(name);
        if self.is_up(name) {
            self.lower(name);
            self.raise(name);
        }
    }
}
