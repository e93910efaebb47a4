//! Ports of bridges.

use netloom_model::{Link, LinkKind, StepError, VlanMembership};
use netloom_types::IfName;

use crate::{
    SimHost,
    create::is_ethernet_like,
    errno::{Done, ELOOP, refuse, refuse_plainly},
    vlan::default_membership,
};

impl SimHost {
    pub(super) fn check_bridge_join(&self, link: &Link, bridge: &Link) -> Done {
        if link.kind == LinkKind::Bridge || link.name == bridge.name {
            return refuse(ELOOP, "Can not enslave a bridge to a bridge");
        }
        if !is_ethernet_like(link) || link.kind == LinkKind::IpVlan {
            return refuse_plainly(StepError::EINVAL);
        }
        if self.feeds_children(link) {
            return refuse_plainly(StepError::EBUSY);
        }
        Ok(())
    }

    /// A new port is in the bridge's default VLAN; the bridge's own address and MTU follow.
    pub(super) fn joined_bridge(&mut self, name: IfName, bridge: IfName) {
        let Some(link) = self.find(bridge) else { return };
        let vlans = default_membership(&link.attrs);
        self.edit(name).vlans = vlans;
        self.follow_port_mac(bridge);
        self.follow_port_mtu(bridge);
    }

    /// The port's VLANs and its entries in the bridge's table go.
    pub(super) fn left_bridge(&mut self, name: IfName, bridge: IfName) {
        let link = self.edit(name);
        link.vlans = VlanMembership::default();
        link.fdb.retain(|_, entry| entry.on_device);
        self.follow_port_mac(bridge);
        self.follow_port_mtu(bridge);
    }
}
