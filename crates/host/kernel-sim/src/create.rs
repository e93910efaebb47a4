//! Making links.
//!
//! Everything that can be refused is checked before the first change. A port is made down, put under
//! its controller and then set up, because a bond takes no port that is up. A bridge gets its MTU
//! once it is there: only then does it keep it when ports come.

use netloom_model::{Attr, Attrs, Link, LinkKind, StepError, Value};
use netloom_types::{AltName, IfName, MacAddr};

use crate::{
    SimHost, bond,
    defaults::{is_vxlan_over_ipv6, mtu_of, mtu_range, vxlan_overhead},
    errno::{Done, refuse, refuse_if, refuse_plainly},
    mac::{generated_mac, is_passthru},
    mtu::check_range,
    vlan::default_membership,
};

const PASSTHRU: u64 = 8;
const SIT: u64 = 2;
/// How many packets may wait at a new macvtap, whose reader is a program; all other links start with the same number.
const MACVTAP_QUEUE: u64 = 500;

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
        if !given_not(attrs, Attr::Mtu) {
            self.check_new_mtu(&mut link, range)?;
        }
        if let Some(controller) = controller {
            self.check_join(&link, false, controller)?;
        }
        self.check_can_be_up(&link, up)?;
        self.check_unique(&link)?;
        let peer = if *kind == LinkKind::Veth { Some(self.check_peer(&link)?) } else { None };
        self.put_link(link, range, attrs);
        if let Some(peer) = peer {
            self.insert_link(peer, range);
        }
        if let Some(controller) = controller {
            self.join(name, controller);
        }
        if let (LinkKind::Bridge, Some(Value::Int(mtu))) = (kind, attrs.given(Attr::Mtu)) {
            self.set_mtu(name, *mtu);
        }
        if up {
            self.raise(name);
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

    /// The properties of the new link: what was given over what its kind starts with.
    fn initial_attrs(&self, name: IfName, kind: &LinkKind, given: &Attrs) -> Result<Attrs, StepError> {
        let mut attrs = Attrs::new();
        if let Some((attr, _)) = given.iter().find(|(attr, value)| !attr.applies_to(kind) || !attr.accepts(value)) {
            return refuse(StepError::EINVAL, &format!("{attr} is no property of a {kind}"));
        }
        for (attr, value) in given.iter().filter(|(_, value)| **value != Value::Unset) {
            attrs.set(attr, value.clone());
        }
        self.resolve_base(kind, &mut attrs)?;
        if *kind == LinkKind::Bond {
            attrs = bond::change(&attrs_without_bond(&attrs), given, false, false)?;
            attrs.remove(Attr::BondPrimary);
        }
        if *kind == LinkKind::Vxlan
            && attrs.bool(Attr::VxlanExternal) == Some(true)
            && given_not(given, Attr::VxlanLearning)
        {
            attrs.set(Attr::VxlanLearning, Value::Bool(false));
        }
        if attrs.int(Attr::TunnelMode) == Some(SIT) && *kind == LinkKind::IpTunnel && given_not(given, Attr::TunnelTtl)
        {
            attrs.set(Attr::TunnelTtl, Value::Int(64));
        }
        if *kind == LinkKind::MacVtap && given_not(given, Attr::TxQueueLength) {
            attrs.set(Attr::TxQueueLength, Value::Int(MACVTAP_QUEUE));
        }
        if given_not(given, Attr::Mtu) {
            attrs.set(Attr::Mtu, Value::Int(self.default_mtu(kind, &attrs)));
        }
        // A link that stands for its base has the base's address, whatever was given.
        let stands_for_base =
            matches!(kind, LinkKind::MacVlan | LinkKind::MacVtap) && attrs.int(Attr::MacvlanMode) == Some(PASSTHRU);
        if (given_not(given, Attr::Mac) || stands_for_base)
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

    fn initial_mac(&self, name: IfName, kind: &LinkKind, attrs: &Attrs) -> Option<MacAddr> {
        let inherited = match kind {
            LinkKind::Vlan | LinkKind::IpVlan => true,
            LinkKind::MacVlan | LinkKind::MacVtap => attrs.int(Attr::MacvlanMode) == Some(PASSTHRU),
            LinkKind::IpTunnel | LinkKind::Gre | LinkKind::Ip6gre => return None,
            _ => false,
        };
        if inherited { self.find(attrs.link(Attr::Base)?)?.attrs.mac(Attr::Mac) } else { Some(generated_mac(name)) }
    }

    fn base_mac(&self, link: &Link) -> Option<(IfName, MacAddr)> {
        let base = self.find(link.base()?)?;
        Some((base.name, base.attrs.mac(Attr::Mac)?))
    }

    fn check_base(&self, link: &Link) -> Done {
        let base = link.base().map(|base| self.link(base)).transpose()?;
        match link.kind {
            LinkKind::Vlan => {
                let Some(base) = base else { return refuse(StepError::EINVAL, "link not specified") };
                let takes_tags = is_ethernet_like(base) && base.kind != LinkKind::IpVlan;
                refuse_if(!takes_tags, StepError::EOPNOTSUPP, "8021q: VLANs not supported on device")?;
                refuse_if(link.attrs.int(Attr::VlanId).is_none(), StepError::EINVAL, "VLAN properties not specified")
            }
            LinkKind::MacVlan | LinkKind::MacVtap | LinkKind::IpVlan => {
                let Some(base) = base else { return refuse_plainly(StepError::EINVAL) };
                let ipvlan_below = base.kind == LinkKind::IpVlan && link.kind != LinkKind::IpVlan;
                if !is_ethernet_like(base) || ipvlan_below {
                    return refuse_plainly(StepError::EINVAL);
                }
                self.check_shares_base(link, base)
            }
            LinkKind::Vxlan => {
                let off = base.is_some_and(|base| base.attrs.bool(Attr::Ipv6Disabled) == Some(true));
                refuse_if(
                    off && is_vxlan_over_ipv6(&link.attrs),
                    StepError::EPERM,
                    "IPv6 support disabled by administrator",
                )
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
        if !self.index.is_taken(link) {
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

    fn put_link(&mut self, mut link: Link, range: (u32, u32), given: &Attrs) {
        let name = link.name;
        if given.mac(Attr::Mac).is_some() {
            self.hidden_mut().own_mac.insert(name);
        }
        if let Some(primary) = given.link(Attr::BondPrimary) {
            self.hidden_mut().primary.insert(name, primary);
        }
        if link.kind == LinkKind::Bridge {
            link.attrs.set(Attr::Mtu, Value::Int(self.default_mtu(&link.kind, &link.attrs)));
            link.vlans = default_membership(&link.attrs);
        }
        if is_passthru(&link)
            && let Some((base, mac)) = self.base_mac(&link)
        {
            self.hidden_mut().before_passthru.insert(base, mac);
        }
        let shared = (link.kind == LinkKind::IpVlan).then(|| link.attrs.clone());
        self.insert_link(link, range);
        if let Some(shared) = shared {
            self.share_ipvlan_mode(name, &shared, given);
        }
    }
}

/// Whether frames of the link carry Ethernet headers that other links can stand on.
pub(crate) fn is_ethernet_like(link: &Link) -> bool {
    !matches!(link.kind, LinkKind::Loopback | LinkKind::Vrf | LinkKind::IpTunnel | LinkKind::Gre | LinkKind::Ip6gre)
}

fn given_not(attrs: &Attrs, attr: Attr) -> bool {
    attrs.given(attr).is_none_or(|value| *value == Value::Unset)
}

fn attrs_without_bond(attrs: &Attrs) -> Attrs {
    attrs.iter().filter(|(attr, _)| !bond::is_option(*attr)).map(|(attr, value)| (attr, value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{
        addresses, all, attrs, create, delete, dummies, mac, n, no, on_base, set, touched, up, vlan, vrf, yes,
    };

    fn mtu(sim: &SimHost, name: &str) -> u64 {
        mtu_of(sim.link(n(name)).unwrap())
    }

    #[test]
    fn a_new_namespace_has_a_bare_loopback() {
        let sim = SimHost::new();
        let lo = sim.link(IfName::LO).unwrap();
        assert!(!lo.up && lo.addresses.is_empty());
        assert_eq!(mtu_of(lo), 65_536);
    }

    #[test]
    fn names_are_unique_with_further_names() {
        let mut sim = dummies(["d0"]);
        assert_eq!(no(&mut sim, &create("d0", LinkKind::Dummy, Attrs::new())), StepError::EEXIST);
        yes(&mut sim, &netloom_model::Step::AddAltName { name: n("d0"), alt_name: "foo".parse().unwrap() });
        assert_eq!(no(&mut sim, &create("foo", LinkKind::Dummy, Attrs::new())), StepError::EEXIST);
    }

    #[test]
    fn a_vlan_inherits_and_is_unique_on_its_base() {
        let mut sim = dummies(["d0"]);
        yes(&mut sim, &set("d0", Attr::Mtu, Value::Int(9000)));
        let changed = yes(&mut sim, &vlan("d0", 5));
        assert_eq!(touched(&changed), ["d0.5"]);
        assert_eq!(changed.links[&n("d0.5")], None);
        let link = sim.link(n("d0.5")).unwrap();
        assert_eq!(link.attrs.mac(Attr::Mac), Some(mac(1)));
        assert_eq!(mtu_of(link), 9000);
        let twin = attrs([(Attr::Base, Value::Link(n("d0"))), (Attr::VlanId, Value::Int(5))]);
        assert_eq!(no(&mut sim, &create("twin", LinkKind::Vlan, twin.clone())), StepError::EEXIST);
        let mut other_tag = twin;
        other_tag.require(Attr::VlanProtocol, Value::Int(0x88a8));
        yes(&mut sim, &create("twin", LinkKind::Vlan, other_tag));
    }

    #[test]
    fn a_vlan_above_its_base_is_refused_when_made() {
        let mut sim = dummies(["d0"]);
        let big =
            attrs([(Attr::Base, Value::Link(n("d0"))), (Attr::VlanId, Value::Int(6)), (Attr::Mtu, Value::Int(2000))]);
        assert_eq!(no(&mut sim, &create("d0.6", LinkKind::Vlan, big)), StepError::EINVAL);
        assert_eq!(no(&mut sim, &vlan("nope", 5)), StepError::ENODEV);
        assert_eq!(no(&mut sim, &vlan("lo", 5)), StepError::EOPNOTSUPP);
    }

    #[test]
    fn a_vlan_is_not_made_up_on_a_base_that_is_down() {
        let mut sim = dummies(["d0"]);
        let netloom_model::Step::CreateLink { name, kind, attrs, controller, .. } = vlan("d0", 5) else { panic!() };
        let step = netloom_model::Step::CreateLink { name, kind, attrs, controller, up: true };
        assert_eq!(no(&mut sim, &step), StepError::ENETDOWN);
        all(&mut sim, [up("d0"), step]);
        assert!(sim.is_up(name));
    }

    #[test]
    fn kinds_start_with_the_kernels_mtus() {
        let mut sim = dummies(["d0"]);
        yes(&mut sim, &set("d0", Attr::Mtu, Value::Int(9000)));
        let base = (Attr::Base, Value::Link(n("d0")));
        let vxlan = |id| (Attr::VxlanId, Value::Int(id));
        let v4 = |attr, last: u8| (attr, Value::Ip(std::net::Ipv4Addr::new(10, 0, 0, last).into()));
        let v6 = |attr, last: u16| (attr, Value::Ip(std::net::Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last).into()));
        let ends4 = attrs([v4(Attr::TunnelLocal, 1), v4(Attr::TunnelRemote, 2)]);
        let ends6 = attrs([v6(Attr::TunnelLocal, 1), v6(Attr::TunnelRemote, 2)]);
        let with = |attrs: &Attrs, more: (Attr, Value)| {
            let mut attrs = attrs.clone();
            attrs.require(more.0, more.1);
            attrs
        };
        let cases = [
            (LinkKind::Dummy, Attrs::new(), 1500),
            (LinkKind::Bond, Attrs::new(), 1500),
            (LinkKind::Bridge, Attrs::new(), 1500),
            (LinkKind::Vrf, attrs([(Attr::VrfTable, Value::Int(10))]), 65_575),
            (LinkKind::MacVlan, attrs([base.clone()]), 9000),
            (LinkKind::Vxlan, attrs([vxlan(1)]), 1500),
            (LinkKind::Vxlan, attrs([vxlan(2), base.clone()]), 8950),
            (LinkKind::Vxlan, attrs([vxlan(3), base.clone(), v6(Attr::VxlanLocal, 1)]), 8930),
            (LinkKind::Vxlan, attrs([vxlan(4), base.clone(), (Attr::Mtu, Value::Int(8990))]), 8950),
            (LinkKind::IpTunnel, with(&ends4, (Attr::TunnelMode, Value::Int(1))), 1480),
            (LinkKind::IpTunnel, with(&ends4, (Attr::TunnelMode, Value::Int(2))), 1480),
            (LinkKind::IpTunnel, with(&ends6, (Attr::TunnelMode, Value::Int(3))), 1452),
            (LinkKind::Gre, ends4.clone(), 1476),
            (LinkKind::Gre, with(&ends4, base.clone()), 8976),
            (LinkKind::Gretap, ends4.clone(), 1462),
            (LinkKind::Ip6gre, ends6.clone(), 1448),
            (LinkKind::Ip6gre, with(&ends6, base.clone()), 1448),
            (LinkKind::Ip6gretap, ends6, 1434),
        ];
        for (at, (kind, attrs, expected)) in cases.into_iter().enumerate() {
            let name = format!("x{at}");
            yes(&mut sim, &create(&name, kind.clone(), attrs.clone()));
            assert_eq!(mtu(&sim, &name), expected, "{kind} {attrs:?}");
        }
    }

    #[test]
    fn a_tunnel_takes_the_mtu_of_the_way_to_its_far_end() {
        let mut sim = dummies(["d0"]);
        yes(&mut sim, &set("d0", Attr::Mtu, Value::Int(9000)));
        all(&mut sim, [up("d0"), crate::testing::add("d0", "10.0.0.1/24")]);
        let ends = attrs([(Attr::TunnelRemote, Value::Ip("10.0.0.9".parse().unwrap()))]);
        yes(&mut sim, &create("g0", LinkKind::Gre, ends));
        assert_eq!(mtu(&sim, "g0"), 8976);
    }

    #[test]
    fn two_tunnels_never_have_the_same_ends() {
        let mut sim = SimHost::new();
        let ends = attrs([
            (Attr::TunnelLocal, Value::Ip("10.0.0.1".parse().unwrap())),
            (Attr::TunnelRemote, Value::Ip("10.0.0.2".parse().unwrap())),
        ]);
        yes(&mut sim, &create("g0", LinkKind::Gre, ends.clone()));
        assert_eq!(no(&mut sim, &create("g1", LinkKind::Gre, ends.clone())), StepError::EEXIST);
        let mut keyed = ends.clone();
        keyed.require(Attr::GreInputKey, Value::Int(5));
        yes(&mut sim, &create("g1", LinkKind::Gre, keyed));
        yes(&mut sim, &create("g2", LinkKind::Gretap, ends));
        let vxlan = attrs([(Attr::VxlanId, Value::Int(7))]);
        yes(&mut sim, &create("v0", LinkKind::Vxlan, vxlan.clone()));
        assert_eq!(no(&mut sim, &create("v1", LinkKind::Vxlan, vxlan)), StepError::EEXIST);
    }

    #[test]
    fn one_base_feeds_one_sort_of_link() {
        let mut sim = dummies(["d0", "d1", "d2"]);
        yes(&mut sim, &on_base("m0", LinkKind::MacVlan, "d0"));
        assert_eq!(no(&mut sim, &on_base("i0", LinkKind::IpVlan, "d0")), StepError::EBUSY);
        let passthru = |name: &str, base: &str| {
            let mode = (Attr::MacvlanMode, Value::Int(PASSTHRU));
            create(name, LinkKind::MacVlan, attrs([(Attr::Base, Value::Link(n(base))), mode]))
        };
        assert_eq!(no(&mut sim, &passthru("p0", "d0")), StepError::EINVAL);
        yes(&mut sim, &passthru("p1", "d1"));
        assert_eq!(sim.link(n("p1")).unwrap().attrs.mac(Attr::Mac), Some(mac(2)));
        assert_eq!(no(&mut sim, &on_base("m1", LinkKind::MacVlan, "d1")), StepError::EINVAL);
        all(&mut sim, [create("br0", LinkKind::Bridge, Attrs::new()), crate::testing::join("d2", "br0")]);
        assert_eq!(no(&mut sim, &on_base("m2", LinkKind::MacVlan, "d2")), StepError::EBUSY);
        yes(&mut sim, &on_base("m3", LinkKind::MacVlan, "m0"));
        assert_eq!(sim.link(n("m3")).unwrap().base(), Some(n("d0")));
    }

    #[test]
    fn ipvlans_of_one_base_share_their_mode() {
        let mut sim = dummies(["d0"]);
        let base = (Attr::Base, Value::Link(n("d0")));
        let private = attrs([base, (Attr::IpvlanMode, Value::Int(0)), (Attr::IpvlanPrivate, Value::Bool(true))]);
        yes(&mut sim, &create("i0", LinkKind::IpVlan, private));
        let changed = yes(&mut sim, &on_base("i1", LinkKind::IpVlan, "d0"));
        assert_eq!(touched(&changed), ["i0", "i1"]);
        for name in ["i0", "i1"] {
            let attrs = &sim.link(n(name)).unwrap().attrs;
            assert_eq!((attrs.int(Attr::IpvlanMode), attrs.bool(Attr::IpvlanPrivate)), (Some(1), Some(true)));
        }
        yes(&mut sim, &set("i1", Attr::IpvlanMode, Value::Int(2)));
        assert_eq!(sim.link(n("i0")).unwrap().attrs.int(Attr::IpvlanMode), Some(2));
    }

    #[test]
    fn a_pair_comes_and_goes_together() {
        let mut sim = dummies(["d0"]);
        let pair =
            |name: &str, peer: &str| create(name, LinkKind::Veth, attrs([(Attr::VethPeer, Value::Link(n(peer)))]));
        assert_eq!(no(&mut sim, &pair("v0", "d0")), StepError::EEXIST);
        assert_eq!(no(&mut sim, &pair("v0", "v0")), StepError::EEXIST);
        let changed = yes(&mut sim, &pair("v0", "v1"));
        assert_eq!(touched(&changed), ["v0", "v1"]);
        assert_eq!(sim.link(n("v1")).unwrap().attrs.link(Attr::VethPeer), Some(n("v0")));
        let changed = yes(&mut sim, &delete("v1"));
        assert_eq!(touched(&changed), ["v0", "v1"]);
        assert!(changed.links.values().all(Option::is_some));
    }

    #[test]
    fn cards_are_neither_made_nor_deleted() {
        let mut sim = SimHost::new();
        sim.add_ethernet(n("eth0"), mac(9));
        assert_eq!(no(&mut sim, &create("eth1", LinkKind::Ethernet, Attrs::new())), StepError::EOPNOTSUPP);
        assert_eq!(no(&mut sim, &delete("eth0")), StepError::EOPNOTSUPP);
        assert_eq!(no(&mut sim, &delete("lo")), StepError::EOPNOTSUPP);
        assert_eq!(no(&mut sim, &delete("eth7")), StepError::ENODEV);
    }

    #[test]
    fn a_link_can_be_made_as_a_port() {
        let mut sim = SimHost::new();
        all(&mut sim, [create("br0", LinkKind::Bridge, Attrs::new()), create("b0", LinkKind::Bond, Attrs::new())]);
        all(&mut sim, [vrf("red", 10)]);
        let port = |name: &str, controller: &str, up| netloom_model::Step::CreateLink {
            name: n(name),
            kind: LinkKind::Dummy,
            attrs: Attrs::new(),
            controller: Some(n(controller)),
            up,
        };
        all(&mut sim, [port("p0", "br0", true), port("p1", "red", true), port("p2", "b0", false)]);
        assert!(sim.is_up(n("p0")) && sim.is_up(n("p1")) && sim.is_up(n("p2")));
        yes(&mut sim, &port("p3", "b0", true));
        assert!(sim.is_up(n("p3")));
        assert_eq!(no(&mut sim, &port("p4", "p0", true)), StepError::EOPNOTSUPP);
        assert_eq!(addresses(&sim, "p0"), [""; 0]);
    }
}
