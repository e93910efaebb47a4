//! Making links.
//!
//! Everything that can be refused is checked before the first change: the kernel makes a link, puts
//! it under its controller and sets it up in one request, and takes it all back when one part fails.

use netloom_model::{Attr, Attrs, Link, LinkKind, StepError, Value};
use netloom_types::{AltName, IfName};

use crate::{
    SimHost, bond,
    defaults::{mtu_of, mtu_range, vxlan_overhead},
    errno::{Done, refuse, refuse_if, refuse_plainly},
    mac::generated_mac,
    mtu::check_range,
    unique::Unique,
    vlan::default_membership,
};

const PASSTHRU: u64 = 8;

impl SimHost {
    pub(crate) fn create_link(
        &mut self,
        name: IfName,
        kind: &LinkKind,
        attrs: &Attrs,
        controller: Option<IfName>,
        up: bool,
    ) -> Done {
        self.check_name_is_free(name)?;
        if !kind.is_virtual() {
            return refuse(StepError::EOPNOTSUPP, "Unknown device type");
        }
        let mut link = Link::new(name, kind.clone());
        link.attrs = self.initial_attrs(name, kind, attrs)?;
        self.check_base(&link)?;
        let range = mtu_range(kind, &link.attrs);
        self.check_new_mtu(&mut link, range)?;
        if let Some(controller) = controller {
            self.check_join(&link, up, controller)?;
        }
        self.check_can_be_up(&link, up)?;
        self.check_unique(&link)?;
        let peer = if *kind == LinkKind::Veth { Some(self.check_peer(&link)?) } else { None };
        self.put_link(link, range, attrs);
        if let Some(peer) = peer {
            self.insert_link(peer, range);
        }
        if up {
            self.raise(name);
        }
        if let Some(controller) = controller {
            self.join(name, controller);
        }
        Ok(())
    }

    /// A name that neither a link nor a further name has.
    pub(crate) fn check_name_is_free(&self, name: IfName) -> Done {
        let as_alt_name: Option<AltName> = name.as_str().parse().ok();
        let taken = self.find(name).is_some()
            || as_alt_name.is_some_and(|alt_name| self.index.alt_names.contains_key(&alt_name));
        if taken { refuse_plainly(StepError::EEXIST) } else { Ok(()) }
    }

    /// The properties of the new link: what was said over what its kind starts with.
    fn initial_attrs(&self, name: IfName, kind: &LinkKind, said: &Attrs) -> Result<Attrs, StepError> {
        let mut attrs = Attrs::new();
        if let Some((attr, _)) = said.iter().find(|(attr, value)| !attr.applies_to(kind) || !attr.accepts(value)) {
            return refuse(StepError::EINVAL, &format!("{attr} is no property of a {kind}"));
        }
        for (attr, value) in said.iter().filter(|(_, value)| **value != Value::Unset) {
            attrs.set(attr, value.clone());
        }
        self.resolve_base(kind, &mut attrs)?;
        if *kind == LinkKind::Bond {
            attrs = bond::change(&attrs_without_bond(&attrs), said, false, false)?;
            attrs.remove(Attr::BondPrimary);
        }
        if *kind == LinkKind::Vxlan
            && attrs.bool(Attr::VxlanExternal) == Some(true)
            && said_not(said, Attr::VxlanLearning)
        {
            attrs.set(Attr::VxlanLearning, Value::Bool(false));
        }
        if said_not(said, Attr::Mtu) {
            attrs.set(Attr::Mtu, Value::Int(self.default_mtu(kind, &attrs)));
        }
        if said_not(said, Attr::Mac)
            && let Some(mac) = self.initial_mac(name, kind, &attrs)
        {
            attrs.set(Attr::Mac, Value::Mac(mac));
        }
        Ok(attrs)
    }

    /// Links on a macvlan or ipvlan of the same sort really stand on its base.
    fn resolve_base(&self, kind: &LinkKind, attrs: &mut Attrs) -> Done {
        let Some(base) = attrs.link(Attr::Base) else { return Ok(()) };
        let base = self.link(base)?;
        let same_sort = match kind {
            LinkKind::MacVlan | LinkKind::MacVtap => matches!(base.kind, LinkKind::MacVlan | LinkKind::MacVtap),
            LinkKind::IpVlan => base.kind == LinkKind::IpVlan,
            _ => false,
        };
        if same_sort && let Some(below) = base.base() {
            attrs.set(Attr::Base, Value::Link(below));
        }
        Ok(())
    }

    fn initial_mac(&self, name: IfName, kind: &LinkKind, attrs: &Attrs) -> Option<netloom_types::MacAddr> {
        let inherited = match kind {
            LinkKind::Vlan | LinkKind::IpVlan => true,
            LinkKind::MacVlan | LinkKind::MacVtap => attrs.int(Attr::MacvlanMode) == Some(PASSTHRU),
            LinkKind::IpTunnel | LinkKind::Gre | LinkKind::Ip6gre => return None,
            _ => false,
        };
        if inherited {
            attrs.link(Attr::Base).and_then(|base| self.find(base)).and_then(|base| base.attrs.mac(Attr::Mac))
        } else {
            Some(generated_mac(name))
        }
    }

    fn check_base(&self, link: &Link) -> Done {
        let base = link.base().map(|base| self.link(base)).transpose()?;
        match link.kind {
            LinkKind::Vlan => {
                let Some(base) = base else { return refuse(StepError::EINVAL, "link not specified") };
                refuse_if(!is_ethernet_like(base), StepError::EOPNOTSUPP, "8021q: VLANs not supported on device")?;
                refuse_if(link.attrs.int(Attr::VlanId).is_none(), StepError::EINVAL, "VLAN properties not specified")
            }
            LinkKind::MacVlan | LinkKind::MacVtap | LinkKind::IpVlan => {
                let Some(base) = base else { return refuse_plainly(StepError::EINVAL) };
                if !is_ethernet_like(base) {
                    return refuse_plainly(StepError::EINVAL);
                }
                self.check_shares_base(link, base)
            }
            LinkKind::Vrf => {
                refuse_if(link.attrs.int(Attr::VrfTable).is_none(), StepError::EINVAL, "VRF table id is missing")
            }
            LinkKind::IpTunnel => {
                refuse_if(link.attrs.int(Attr::TunnelMode).is_none(), StepError::EINVAL, "tunnel mode is missing")
            }
            _ => Ok(()),
        }
    }

    /// A base hands its frames to one taker: a bridge, a bond, macvlans or ipvlans.
    fn check_shares_base(&self, link: &Link, base: &Link) -> Done {
        if self.hands_frames_to_controller(base) {
            return refuse_plainly(StepError::EBUSY);
        }
        let ipvlan = link.kind == LinkKind::IpVlan;
        for sibling in self.index.children.of(&base.name).filter_map(|name| self.find(*name)) {
            match sibling.kind {
                LinkKind::IpVlan if !ipvlan => return refuse_plainly(StepError::EBUSY),
                LinkKind::MacVlan | LinkKind::MacVtap if ipvlan => return refuse_plainly(StepError::EBUSY),
                LinkKind::MacVlan | LinkKind::MacVtap => {
                    if [link, sibling].iter().any(|l| l.attrs.int(Attr::MacvlanMode) == Some(PASSTHRU)) {
                        return refuse_plainly(StepError::EINVAL);
                    }
                    // Siblings agree among themselves: one look is enough.
                    return Ok(());
                }
                LinkKind::IpVlan => return Ok(()),
                _ => {}
            }
        }
        Ok(())
    }

    fn check_new_mtu(&self, link: &mut Link, range: (u32, u32)) -> Done {
        let mtu = mtu_of(link);
        check_range(mtu, range)?;
        let Some(base) = link.base().and_then(|base| self.find(base)).map(mtu_of) else { return Ok(()) };
        match link.kind {
            LinkKind::Vlan | LinkKind::MacVlan | LinkKind::MacVtap if mtu > base => refuse_plainly(StepError::EINVAL),
            LinkKind::Vxlan => {
                let most = base.saturating_sub(vxlan_overhead(&link.attrs));
                link.attrs.set(Attr::Mtu, Value::Int(mtu.min(most)));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn check_unique(&self, link: &Link) -> Done {
        let Some(unique) = Unique::of(link) else { return Ok(()) };
        if self.index.unique.get(&unique).is_none_or(|holder| *holder == link.name) {
            return Ok(());
        }
        match link.kind {
            LinkKind::Vlan => refuse(StepError::EEXIST, "8021q: VLAN device already exists"),
            LinkKind::Vxlan => refuse(StepError::EEXIST, "A VXLAN device with the specified VNI already exists"),
            _ => refuse_plainly(StepError::EEXIST),
        }
    }

    /// The other end of a pair, which comes with the first one.
    fn check_peer(&self, link: &Link) -> Result<Link, StepError> {
        let Some(name) = link.attrs.link(Attr::VethPeer) else { return refuse_plainly(StepError::EINVAL) };
        self.check_name_is_free(name)?;
        if name == link.name {
            return refuse_plainly(StepError::EEXIST);
        }
        let mut peer = Link::new(name, LinkKind::Veth);
        peer.attrs.set(Attr::Mac, Value::Mac(generated_mac(name)));
        peer.attrs.set(Attr::Mtu, Value::Int(1500));
        peer.attrs.set(Attr::VethPeer, Value::Link(link.name));
        Ok(peer)
    }

    fn put_link(&mut self, mut link: Link, range: (u32, u32), said: &Attrs) {
        let name = link.name;
        if said.mac(Attr::Mac).is_some() {
            self.hidden.own_mac.insert(name);
        }
        if let Some(primary) = said.link(Attr::BondPrimary) {
            self.hidden.primary.insert(name, primary);
        }
        if link.kind == LinkKind::Bridge {
            link.vlans = default_membership(&link.attrs);
        }
        let shared = (link.kind == LinkKind::IpVlan).then(|| link.attrs.clone());
        self.insert_link(link, range);
        if let Some(shared) = shared {
            self.share_ipvlan_mode(name, &shared, said);
        }
    }
}

/// Whether frames of the link carry Ethernet headers that other links can stand on.
pub(crate) fn is_ethernet_like(link: &Link) -> bool {
    !matches!(link.kind, LinkKind::Loopback | LinkKind::Vrf | LinkKind::IpTunnel | LinkKind::Gre | LinkKind::Ip6gre)
}

fn said_not(attrs: &Attrs, attr: Attr) -> bool {
    attrs.said(attr).is_none_or(|value| *value == Value::Unset)
}

fn attrs_without_bond(attrs: &Attrs) -> Attrs {
    attrs.iter().filter(|(attr, _)| !bond::is_option(*attr)).map(|(attr, value)| (attr, value.clone())).collect()
}
