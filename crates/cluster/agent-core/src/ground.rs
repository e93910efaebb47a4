//! What a fabric stands on: the parts of the base file, compared with the host.
//!
//! They are there before any fabric and are never made or deleted, so a node where one is missing, or is another thing
//! than the file says, gets no part of the fabric: its kernel would not take it, or packets would go astray.

use std::net::IpAddr;

use netloom_api::{
    fabric::GROUP,
    pipeline::node_network_config::{Layer2, NodeNetworkConfigSpec, host::EntryOrigin},
};
use netloom_model::{Attr, Link, LinkKind, Observed, Origin, Source};
use netloom_render::{Base, BaseVrf, Peer};
use netloom_types::{IfName, IpNet};

/// What VXLAN over IPv4 puts before a packet.
const TUNNEL_OVERHEAD: u64 = 50;

/// The base of a node, and what a configuration wants of it.
#[derive(Debug, Clone)]
pub(crate) struct Ground {
    base: Base,
    /// The largest packets of each segment, and who asked for it.
    segments: Vec<(u64, Origin)>,
    /// Whether the node itself is a station of a segment.
    has_stations: bool,
    /// Who asked first for a segment that is routed in IPv6.
    ipv6: Option<Origin>,
}

impl Ground {
    /// What a configuration stands on.
    pub(crate) fn of(node: &str, spec: &NodeNetworkConfigSpec, base: &Base) -> Self {
        let own = |key: &str| {
            let source = Source::object((GROUP, "NodeNetworkConfig"), "", node);
            Origin::new(source, format!("spec.layer2s.{key}"), 0)
        };
        let asked = |key: &str, origin: Option<&EntryOrigin>| origin.map_or_else(|| own(key), EntryOrigin::origin);
        let segments = spec.layer2s.iter().map(|(key, one)| (one.mtu.into(), asked(key, one.origin.as_ref())));
        Self {
            base: base.clone(),
            segments: segments.collect(),
            ipv6: spec.layer2s.iter().find(|(_, one)| is_ipv6(one)).map(|(key, one)| asked(key, one.origin.as_ref())),
            has_stations: spec.layer2s.values().any(|one| one.node_interface.is_some()),
        }
    }

    /// Who asked first for a segment that is routed in IPv6: without the setting of the whole host nothing of it is passed on.
    pub(crate) fn routes_ipv6(&self) -> Option<Origin> {
        self.ipv6.clone()
    }

    /// What is wrong with a host as the ground of it, and what to do.
    pub(crate) fn wrong(&self, observed: &Observed) -> Option<String> {
        let host_trunk = self.base.host_trunk.filter(|_| self.has_stations);
        let trunks = [(Some(self.base.trunk), "trunkInterfaceName"), (host_trunk, "hostTrunkInterfaceName")];
        let trunk = trunks.into_iter().find_map(|(trunk, key)| missing(observed, trunk?, key));
        let vrfs = [(Some(&self.base.cluster_vrf), "clusterVRF"), (self.base.management_vrf.as_ref(), "managementVRF")];
        let vrf = || vrfs.into_iter().find_map(|(vrf, key)| wrong_vrf(observed, vrf?, key));
        trunk.or_else(vrf).or_else(|| self.no_own_end(observed)).or_else(|| self.too_large(observed))
    }

    /// That no link has the own end of the tunnels.
    fn no_own_end(&self, observed: &Observed) -> Option<String> {
        let vtep = IpAddr::V4(self.base.vtep);
        let has = observed.links.values().any(|link| link.addresses.iter().any(|address| address.ip == vtep));
        (!has).then(|| {
            format!(
                "no link has {vtep}, which the base file gives as vtepLoopbackIP; give it to one, or correct the file"
            )
        })
    }

    /// That packets of a segment do not fit through the underlay with what a tunnel puts before them.
    fn too_large(&self, observed: &Observed) -> Option<String> {
        let (link, carries) = self.underlay(observed).min_by_key(|(_, mtu)| *mtu)?;
        let most = carries.saturating_sub(TUNNEL_OVERHEAD);
        let (mtu, origin) = self.segments.iter().find(|(mtu, _)| *mtu > most)?;
        Some(format!(
            "{origin}: packets of {mtu} bytes do not fit through {link}, which leads to the other nodes and carries {carries}: a \
             tunnel takes {TUNNEL_OVERHEAD} of it; lower the MTU to {most}, or raise that of {link}"
        ))
    }

    /// The links that lead to neighbours of the underlay, and what they carry.
    fn underlay<'a>(&'a self, observed: &'a Observed) -> impl Iterator<Item = (IfName, u64)> {
        let leads_to = |link: &&Link, peer: Peer| match peer {
            Peer::Interface(name) => link.name == name,
            Peer::Address(ip) => {
                let reaches = |net: IpNet| net.prefix_len() != net.max_prefix_len() && net.contains(&ip);
                link.addresses.iter().any(|own| IpNet::new(own.ip, own.prefix_len).is_ok_and(reaches))
            }
        };
        let of = move |peer: Peer| observed.links.values().filter(move |link| leads_to(link, peer));
        let links = self.base.underlay_neighbors.iter().flat_map(move |neighbor| of(neighbor.peer));
        links.filter_map(|link| Some((link.name, link.attrs.int(Attr::Mtu)?)))
    }
}

fn is_ipv6(segment: &Layer2) -> bool {
    segment.irb.iter().flat_map(|irb| &irb.ip_addresses).any(|address| address.contains(':'))
}

fn missing(observed: &Observed, name: IfName, key: &str) -> Option<String> {
    let is_there = observed.links.contains_key(&name);
    (!is_there)
        .then(|| format!("there is no link {name}, which the base file gives as {key}; make it, or correct the file"))
}

fn wrong_vrf(observed: &Observed, vrf: &BaseVrf, key: &str) -> Option<String> {
    let BaseVrf { name, table, .. } = vrf;
    let Some(link) = observed.links.get(name) else { return missing(observed, *name, &format!("{key}.name")) };
    if link.kind != LinkKind::Vrf {
        return Some(format!(
            "{name} is a {}, and the base file gives it as {key}.name; a VRF is needed there",
            link.kind
        ));
    }
    let has = link.attrs.int(Attr::VrfTable)?;
    (has != u64::from(*table)).then(|| {
        format!("VRF {name} has table {has}, and {key}.table of the base file says {table}; correct one of them")
    })
}

#[cfg(test)]
mod tests {
    use netloom_model::{Address, Value};
    use netloom_types::Protocol;
    use serde_json::json;

    use super::*;

    const BASE: &str = "vtepLoopbackIP: 192.0.2.1\ntrunkInterfaceName: hbn\nhostTrunkInterfaceName: host0\n\
                        clusterVRF: {name: cluster}\nlocalASN: 64512\n\
                        underlayNeighbors: [{ip: 198.51.100.2, remoteASN: 65000, ipv4: true, evpn: true}]\n";

    fn link(name: &str, kind: LinkKind, attrs: &[(Attr, u64)], ip: Option<(&str, u8)>) -> Link {
        let mut link = Link::new(name.parse().unwrap(), kind);
        for (attr, value) in attrs {
            link.attrs.set(*attr, Value::Int(*value));
        }
        let address = |(ip, len): (&str, u8)| Address::new(ip.parse().unwrap(), len, Protocol::UNSPEC);
        link.addresses.extend(ip.map(address));
        link
    }

    /// What is wrong with a host with these links in the place of those of the same names, or without them.
    fn wrong(config: serde_json::Value, other: &[Link], without: &[&str]) -> Option<String> {
        let mut observed = Observed::default();
        let usual = [
            link("hbn", LinkKind::Veth, &[], None),
            link("host0", LinkKind::Veth, &[], None),
            link("cluster", LinkKind::Vrf, &[(Attr::VrfTable, 10)], None),
            link("underlay", LinkKind::Dummy, &[], Some(("192.0.2.1", 32))),
            link("eth1", LinkKind::Ethernet, &[(Attr::Mtu, 1500)], Some(("198.51.100.1", 24))),
        ];
        let links = usual.into_iter().chain(other.iter().cloned());
        observed.host.links.extend(links.map(|link| (link.name, link)));
        observed.host.links.retain(|name, _| !without.contains(&name.as_str()));
        let spec = serde_json::from_value(config).unwrap();
        Ground::of("n1", &spec, &Base::parse(BASE).unwrap()).wrong(&observed)
    }

    fn segment(mtu: u16) -> serde_json::Value {
        json!({"layer2s": {"7": {"vni": 70, "vlan": 7, "mtu": mtu}}})
    }

    #[test]
    fn a_base_file_that_the_kernel_contradicts_is_named() {
        let named = |other: &[Link], without: &[&str]| wrong(segment(1400), other, without).unwrap_or_default();
        assert_eq!(named(&[], &[]), "");
        assert!(
            named(&[], &["hbn"]).starts_with("there is no link hbn, which the base file gives as trunkInterfaceName")
        );
        assert!(named(&[], &["cluster"]).contains("gives as clusterVRF.name"));
        assert!(named(&[link("cluster", LinkKind::Dummy, &[], None)], &[]).contains("a VRF is needed there"));
        let other = link("cluster", LinkKind::Vrf, &[(Attr::VrfTable, 11)], None);
        assert_eq!(
            named(&[other], &[]),
            "VRF cluster has table 11, and clusterVRF.table of the base file says 10; correct one of them"
        );
        assert!(named(&[], &["underlay"]).starts_with("no link has 192.0.2.1, which the base file gives as vtep"));
    }

    #[test]
    fn the_other_end_of_the_trunk_is_needed_by_stations_only() {
        assert_eq!(wrong(segment(1400), &[], &["host0"]), None);
        let mut with_station = segment(1400);
        with_station["layer2s"]["7"]["nodeInterface"] = json!({});
        assert!(wrong(with_station, &[], &["host0"]).unwrap().contains("gives as hostTrunkInterfaceName"));
    }

    #[test]
    fn packets_of_a_segment_fit_through_the_underlay_with_what_a_tunnel_takes() {
        assert_eq!(wrong(segment(1450), &[], &[]), None);
        let why = wrong(segment(1451), &[], &[]).unwrap();
        assert!(why.starts_with("NodeNetworkConfig n1") && why.contains("lower the MTU to 1450"), "{why}");
        let wide = link("eth1", LinkKind::Ethernet, &[(Attr::Mtu, 9050)], Some(("198.51.100.1", 24)));
        assert_eq!(wrong(segment(9000), &[wide], &[]), None);
        assert_eq!(wrong(segment(9000), &[], &["eth1"]), None, "who knows by which link it goes");
    }
}
