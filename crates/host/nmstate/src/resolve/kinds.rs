//! Rules of single link kinds.

use std::net::IpAddr;

use netloom_model::{Attr, DesiredLink, LinkKind, Value};
use netloom_types::{Family, IfName, RouteTable};

use super::Merge;
use crate::errors::reason;

impl Merge<'_> {
    pub(super) fn check_kind(&mut self, path: &str, desired: &DesiredLink) {
        match &desired.kind {
            LinkKind::Bond => self.check_bond(path, desired),
            LinkKind::MacVlan | LinkKind::MacVtap => self.check_macvlan(path, desired),
            LinkKind::IpVlan => self.check_ipvlan(path, desired.name),
            LinkKind::Vrf => self.check_vrf(path, desired),
            LinkKind::Vxlan => self.check_vxlan(path, desired.name),
            LinkKind::IpTunnel => self.check_ip_tunnel(path, desired),
            LinkKind::Gre | LinkKind::Gretap => self.check_ends(path, "gre", desired.name, Family::Ipv4),
            LinkKind::Ip6gre | LinkKind::Ip6gretap => self.check_ends(path, "gre", desired.name, Family::Ipv6),
            LinkKind::Ethernet
            | LinkKind::Loopback
            | LinkKind::Dummy
            | LinkKind::Vlan
            | LinkKind::Bridge
            | LinkKind::Veth
            | LinkKind::Other(_) => {}
        }
        if let Some(Value::Ip(token)) = desired.attrs.given(Attr::Ipv6Token) {
            self.check_token(path, *token);
        }
    }

    fn check_token(&mut self, path: &str, token: IpAddr) {
        let upper_is_zero = match token {
            IpAddr::V4(_) => false,
            IpAddr::V6(ip) => ip.segments()[..4].iter().all(|part| *part == 0) && !ip.is_unspecified(),
        };
        if !upper_is_zero {
            let message = format!("{token}: must be the lower half of an IPv6 address, such as ::1");
            self.refuse(format!("{path}.ipv6.token"), reason::INVALID_VALUE, message);
        }
    }

    fn check_vrf(&mut self, path: &str, desired: &DesiredLink) {
        if desired.attrs.given(Attr::VrfTable) == Some(&Value::Int(RouteTable::LOCAL.get().into())) {
            let message = "255 is the kernel's own table of local addresses; take another one";
            self.refuse(format!("{path}.vrf.route-table-id"), reason::INVALID_VALUE, message);
        }
    }

    fn check_macvlan(&mut self, path: &str, desired: &DesiredLink) {
        const PASSTHRU: u64 = 8;
        let given_no = desired.attrs.given(Attr::MacvlanPromiscuous) == Some(&Value::Bool(false));
        if given_no && self.int(desired.name, Attr::MacvlanMode) != PASSTHRU {
            let message = "false is only possible with mode: passthru";
            self.refuse(format!("{path}.{}.promiscuous", desired.kind.block()), reason::CONTRADICTION, message);
        }
    }

    fn check_ipvlan(&mut self, path: &str, name: IfName) {
        if self.bool(name, Attr::IpvlanPrivate) && self.bool(name, Attr::IpvlanVepa) {
            let message = "private and vepa exclude each other; set one of them to false";
            self.refuse(format!("{path}.ipvlan"), reason::CONTRADICTION, message);
        }
    }

    fn ip_attr(&self, name: IfName, attr: Attr) -> Option<IpAddr> {
        match self.attr(name, attr) {
            Some(Value::Ip(ip)) => Some(ip),
            _ => None,
        }
    }

    fn check_vxlan(&mut self, path: &str, name: IfName) {
        let path = format!("{path}.vxlan");
        let (local, remote) = (self.ip_attr(name, Attr::VxlanLocal), self.ip_attr(name, Attr::VxlanRemote));
        if let (Some(local), Some(remote)) = (local, remote)
            && Family::of(local) != Family::of(remote)
        {
            let message = format!("local {local} and remote {remote} are of different families");
            self.refuse(path.clone(), reason::CONTRADICTION, message);
        }
        if remote.is_some_and(|ip| ip.is_multicast()) && self.base(name).is_none() {
            self.refuse(path.clone(), reason::MISSING_KEY, "a multicast remote needs base-iface; add it");
        }
        if self.bool(name, Attr::VxlanVnifilter) && !self.bool(name, Attr::VxlanExternal) {
            self.refuse(format!("{path}.vnifilter"), reason::CONTRADICTION, "vnifilter needs external: true");
        }
    }

    fn check_ends(&mut self, path: &str, block: &str, name: IfName, family: Family) {
        for attr in [Attr::TunnelLocal, Attr::TunnelRemote] {
            if let Some(ip) = self.ip_attr(name, attr).filter(|ip| Family::of(*ip) != family) {
                let message = format!("{ip}: a tunnel of this kind has {family} ends");
                self.refuse(format!("{path}.{block}.{attr}"), reason::INVALID_VALUE, message);
            }
        }
        // The outer packet of a tunnel over IPv4 may only be cut when its hop limit is inherited.
        let fixed_ttl = self.int(name, Attr::TunnelTtl) != 0;
        if family == Family::Ipv4 && fixed_ttl && !self.bool(name, Attr::TunnelPmtuDisc) {
            let message = "ttl needs pmtu-disc: true; set ttl to 0 or remove pmtu-disc";
            self.refuse(format!("{path}.{block}.ttl"), reason::CONTRADICTION, message);
        }
    }

    fn check_ip_tunnel(&mut self, path: &str, desired: &DesiredLink) {
        const IPIP: u64 = 1;
        const SIT: u64 = 2;
        let over_v4 = matches!(self.int(desired.name, Attr::TunnelMode), IPIP | SIT);
        self.check_ends(path, "ip-tunnel", desired.name, if over_v4 { Family::Ipv4 } else { Family::Ipv6 });
        let (foreign, which): (&[Attr], &str) = if over_v4 {
            (&[Attr::TunnelFlowLabel, Attr::TunnelFlags, Attr::TunnelEncapLimit], "ip6ip6 and ipip6")
        } else {
            (&[Attr::TunnelPmtuDisc], "ipip and sit")
        };
        for attr in foreign {
            if desired.attrs.given(*attr).is_some_and(|value| Some(value) != attr.default_value().as_ref()) {
                let message = format!("only tunnels of mode {which} have it; remove it");
                self.refuse(format!("{path}.ip-tunnel.{attr}"), reason::CONTRADICTION, message);
            }
        }
    }
}
