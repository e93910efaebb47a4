//! Changing properties of a link in place.
//!
//! All values are checked before the first one is set. Properties of which the kernel refuses a
//! change are refused here too; those that it takes and ignores (a VLAN's id) are ignored.

use netloom_model::{Attr, Attrs, Link, LinkKind, Section, StepError, Value};
use netloom_types::IfName;

use crate::{
    SimHost, bond,
    errno::{Done, EACCES, refuse, refuse_if, refuse_plainly},
    unique::Unique,
};

const PASSTHRU: u64 = 8;

impl SimHost {
    pub(crate) fn set_attrs(&mut self, name: IfName, attrs: &Attrs) -> Done {
        let link = self.link(name)?;
        for (attr, value) in attrs.iter() {
            self.check_attr(link, attr, value)?;
        }
        self.check_tunnel_ends(link, attrs)?;
        let before = attrs.iter().any(|(attr, _)| shapes_tunnel(attr)).then(|| link.clone());
        if link.kind == LinkKind::Bond {
            self.set_bond_options(name, attrs)?;
        }
        if let Some(before) = &before {
            self.index.remove_unique(before);
        }
        for (attr, value) in attrs.iter().filter(|(attr, _)| !bond::is_option(*attr)) {
            self.put_attr(name, attr, value);
        }
        if before.is_some() {
            self.rebind(name, attrs);
        }
        Ok(())
    }

    fn check_attr(&self, link: &Link, attr: Attr, value: &Value) -> Done {
        if !attr.applies_to(&link.kind) || !attr.accepts(value) {
            return refuse(StepError::EINVAL, &format!("{attr} of a {} cannot be {}", link.kind, value.display(attr)));
        }
        match attr.section() {
            Section::BridgePort => return self.check_port_of(link, &LinkKind::Bridge),
            Section::BondPort => return self.check_bond_port(link, attr),
            _ => {}
        }
        let same = attr.same(link.attrs.get(attr).as_ref(), Some(value));
        match (attr, value) {
            (Attr::Mac, Value::Mac(mac)) => self.check_mac(link, *mac),
            (Attr::Mtu, Value::Int(mtu)) => self.check_mtu(link, *mtu),
            (Attr::VrfTable | Attr::VethPeer, _) => refuse_plainly(StepError::EOPNOTSUPP),
            (Attr::VxlanId, _) => refuse_if(!same, StepError::EOPNOTSUPP, "Cannot change VNI"),
            (Attr::VxlanPort, _) => refuse_if(!same, StepError::EOPNOTSUPP, "Cannot change port"),
            (Attr::VxlanProxy, _) => refuse_if(!same, StepError::EOPNOTSUPP, "vxlan: cannot change PROXY flag"),
            (Attr::VxlanExternal | Attr::VxlanVnifilter, _) => {
                refuse_if(!same, StepError::EOPNOTSUPP, "vxlan: cannot change this flag")
            }
            (Attr::TunnelMode | Attr::GreExternal, _) => refuse_if(!same, StepError::EINVAL, "cannot change the mode"),
            (Attr::MacvlanMode, Value::Int(mode)) => {
                let before = link.attrs.int(attr);
                let passes = (before == Some(PASSTHRU)) != (*mode == PASSTHRU);
                if passes { refuse_plainly(StepError::EINVAL) } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }

    fn check_port_of(&self, link: &Link, kind: &LinkKind) -> Done {
        let fits = link.controller.and_then(|name| self.find(name)).is_some_and(|controller| controller.kind == *kind);
        if fits { Ok(()) } else { refuse_plainly(StepError::EOPNOTSUPP) }
    }

    fn check_bond_port(&self, link: &Link, attr: Attr) -> Done {
        self.check_port_of(link, &LinkKind::Bond)?;
        let mode = link.controller.and_then(|name| self.find(name)).and_then(|bond| bond.attrs.int(Attr::BondMode));
        let has_primary = mode.is_some_and(bond::uses_primary);
        refuse_if(attr == Attr::BondPortPriority && !has_primary, EACCES, "option not supported in mode")
    }

    fn put_attr(&mut self, name: IfName, attr: Attr, value: &Value) {
        match (attr, value) {
            (Attr::Mac, Value::Mac(mac)) => self.set_mac(name, *mac),
            (Attr::Mtu, Value::Int(mtu)) => self.set_mtu(name, *mtu),
            (Attr::VlanId | Attr::VlanProtocol, _) => {}
            (Attr::Base, _) => self.set_base(name, value),
            (Attr::IpvlanMode | Attr::IpvlanPrivate | Attr::IpvlanVepa, _) => {
                let said = [(attr, value.clone())].into_iter().collect();
                self.share_ipvlan_mode(name, &said, &said);
            }
            (Attr::Ipv6Disabled, Value::Bool(off)) => self.set_ipv6_disabled(name, *off),
            (Attr::BridgeDefaultPvid, Value::Int(pvid)) => self.set_default_pvid(name, *pvid),
            _ => self.edit(name).attrs.set(attr, value.clone()),
        }
    }

    /// Only VXLANs and tunnels can be put on another base; for VLANs and their like the kernel
    /// takes the request and does nothing.
    fn set_base(&mut self, name: IfName, value: &Value) {
        let Some(link) = self.find(name) else { return };
        if matches!(link.kind, LinkKind::Vlan | LinkKind::MacVlan | LinkKind::MacVtap | LinkKind::IpVlan) {
            return;
        }
        let before = link.base();
        let link = self.edit(name);
        link.attrs.set(Attr::Base, value.clone());
        let after = link.base();
        self.index.move_child(name, before, after);
    }

    fn set_ipv6_disabled(&mut self, name: IfName, off: bool) {
        self.edit(name).attrs.set(Attr::Ipv6Disabled, Value::Bool(off));
        if off {
            self.drop_ipv6(name);
        } else if name == IfName::LO && self.is_up(name) {
            self.give_loopback_addresses();
        }
    }

    /// All ipvlans on one base have the same mode and flags: the last word counts for all. A new one
    /// says its mode even when nobody did, its flags only when somebody did.
    pub(crate) fn share_ipvlan_mode(&mut self, name: IfName, attrs: &Attrs, said: &Attrs) {
        let Some(base) = self.find(name).and_then(Link::base) else { return };
        let new = attrs.said(Attr::Mac).is_some();
        let flags = [Attr::IpvlanPrivate, Attr::IpvlanVepa];
        let says_flags = flags.iter().any(|flag| said.said(*flag).is_some());
        let sibling = self
            .index
            .children_of(base)
            .into_iter()
            .find(|child| *child != name && self.find(*child).is_some_and(|link| link.kind == LinkKind::IpVlan));
        let mut shared = Attrs::new();
        if new || said.said(Attr::IpvlanMode).is_some() {
            shared.wish(Attr::IpvlanMode, Value::Int(attrs.int(Attr::IpvlanMode).unwrap_or(1)));
        }
        for flag in flags {
            if let Some(value) = said.said(flag) {
                shared.wish(flag, value.clone());
            } else if !says_flags
                && new
                && let Some(sibling) = sibling.and_then(|name| self.find(name))
            {
                shared.wish(flag, Value::Bool(sibling.attrs.bool(flag).unwrap_or(false)));
            }
        }
        for child in self.index.children_of(base) {
            if self.find(child).is_some_and(|link| link.kind == LinkKind::IpVlan) {
                let link = self.edit(child);
                shared.iter().for_each(|(attr, value)| link.attrs.set(attr, value.clone()));
            }
        }
    }

    /// A tunnel cannot take the ends of another one.
    fn check_tunnel_ends(&self, link: &Link, attrs: &Attrs) -> Done {
        if !attrs.iter().any(|(attr, _)| shapes_tunnel(attr)) {
            return Ok(());
        }
        let mut after = link.clone();
        attrs.iter().for_each(|(attr, value)| after.attrs.set(attr, value.clone()));
        let taken = Unique::of(&after)
            .and_then(|unique| self.index.unique.get(&unique))
            .is_some_and(|holder| *holder != link.name);
        if let Some(base) = attrs.link(Attr::Base) {
            self.link(base)?;
        }
        if taken && link.kind != LinkKind::Vlan { refuse_plainly(StepError::EEXIST) } else { Ok(()) }
    }

    /// Other ends of a tunnel may mean another MTU.
    fn rebind(&mut self, name: IfName, attrs: &Attrs) {
        let Some(link) = self.find(name) else { return };
        if let Some(unique) = Unique::of(link) {
            self.index.unique.insert(unique, name);
        }
        let Some(link) = self.find(name) else { return };
        let is_tunnel = matches!(
            link.kind,
            LinkKind::IpTunnel | LinkKind::Gre | LinkKind::Gretap | LinkKind::Ip6gre | LinkKind::Ip6gretap
        );
        if is_tunnel && attrs.said(Attr::Mtu).is_none() {
            let mtu = self.default_mtu(&link.kind, &link.attrs);
            self.take_mtu(name, mtu);
        }
    }
}

fn shapes_tunnel(attr: Attr) -> bool {
    matches!(
        attr,
        Attr::TunnelLocal
            | Attr::TunnelRemote
            | Attr::GreInputKey
            | Attr::GreOutputKey
            | Attr::Base
            | Attr::TunnelFlags
    )
}
