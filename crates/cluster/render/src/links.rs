//! The links of the fabric on a node.
//!
//! ```text
//! VRF red ── br.10100 ── vx.10100                        what is routed between nodes
//!        └── l2.2012 ─┬─ vx.12012                        a segment: between nodes,
//!                     └─ hbn.2012 ── trunk               and to the workloads of this one,
//!                         vlan.2012 ── its other end      of which the node itself may be one
//! ```
//!
//! The VRFs, the trunk and the tunnel's address that the base file names are there already: links refer to them, and
//! none of them gets an entry.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr},
};

use netloom_api::pipeline::node_network_config::{Irb, Layer2};
use netloom_model::{Attr, DesiredController, LinkKind, Value};
use netloom_nmstate::{Interface, State};
use netloom_types::{IfName, IpNet, MacAddr, VlanId, Vni};

use crate::{
    context::{Context, Made, parse, vni},
    error::RenderError,
    names, station,
};

/// The largest packet of what VRFs send to other nodes: no segment has larger ones.
const L3_MTU: u64 = 9000;
/// The port of VXLAN.
const VXLAN_PORT: u64 = 4789;
/// No address is made from the hardware address: the word's number in the kernel.
const ADDRESSES_NOT_MADE: u64 = 1;
/// Neighbours are learned from what they say unasked, when they are of a network of the link: the kernel's number.
const OF_OWN_NETWORKS: u64 = 2;
/// What segments without offloads have switched off.
const SEGMENTATION: &[&str] = &["rx-gro", "tx-generic-segmentation", "tx-tcp-segmentation", "tx-tcp6-segmentation"];

/// A segment that a VRF routes.
pub(crate) struct Gateway {
    pub(crate) vrf: IfName,
    pub(crate) bridge: IfName,
    pub(crate) addresses: Vec<IpNet>,
}

/// Makes the links of all VRFs and segments; gives the gateways among them.
pub(crate) fn links(cx: &Context<'_>, made: &mut Made) -> Result<Vec<Gateway>, RenderError> {
    let mut tunnels = BTreeMap::new();
    vrfs(cx, made, &mut tunnels)?;
    let mut gateways = Vec::new();
    for (key, layer2) in &cx.config.layer2s {
        gateways.extend(segment(cx, made, &mut tunnels, (key, layer2))?);
    }
    Ok(gateways)
}

/// Who has which tunnel: segments and VRFs share one space of numbers.
type Tunnels = BTreeMap<Vni, String>;

fn claim(tunnels: &mut Tunnels, vni: Vni, path: &str) -> Result<(), RenderError> {
    match tunnels.insert(vni, path.to_owned()) {
        None => Ok(()),
        Some(other) => Err(RenderError::conflict(format!("{path}.vni"), format!("{vni} is the VNI of {other} too"))),
    }
}

fn vrfs(cx: &Context<'_>, made: &mut Made, tunnels: &mut Tunnels) -> Result<(), RenderError> {
    for vrf in cx.base.vrfs() {
        if let Some(vni) = vrf.vni {
            claim(tunnels, vni, &format!("{} in the base file", vrf.name))?;
        }
    }
    for (path, name, vrf) in cx.vrfs().into_iter().filter(|(_, name, _)| *name != cx.base.cluster_vrf.name) {
        let origin = || cx.asked(vrf.origin.as_ref(), &path);
        let mut device = link(name, LinkKind::Vrf);
        let table = cx.table(|| path.clone(), name)?;
        device.attrs.require(Attr::VrfTable, Value::Int(table.into()));
        routes(&mut device);
        made.interfaces.push((device, origin()));
        let Some(fabric) = cx.config.fabric_vrfs.get(name.as_str()) else { continue };
        let vni = vni(|| format!("{path}.vni"), fabric.vni)?;
        claim(tunnels, vni, &path)?;
        let mac = router_mac(cx.base.vtep);
        let mut bridge = port(link(names::l3_bridge(vni), LinkKind::Bridge), name);
        routes(&mut bridge);
        let mut tunnel = tunnel(cx, vni, bridge.name);
        for link in [&mut bridge, &mut tunnel] {
            link.attrs.require(Attr::Mtu, Value::Int(L3_MTU));
            link.attrs.require(Attr::Mac, Value::Mac(mac));
        }
        made.interfaces.push((bridge, origin()));
        made.interfaces.push((tunnel, origin()));
    }
    Ok(())
}

fn segment(
    cx: &Context<'_>,
    made: &mut Made,
    tunnels: &mut Tunnels,
    (key, layer2): (&String, &Layer2),
) -> Result<Option<Gateway>, RenderError> {
    let path = format!("spec.layer2s.{key}");
    // The route target is for the routing daemon.
    let Layer2 {
        vni: number,
        vlan,
        route_target: _,
        mtu,
        irb,
        neigh_suppression,
        mirror_acls,
        disable_segmentation,
        interface_name,
        node_interface,
        origin,
    } = layer2;
    let field = |name: &str| format!("{path}.{name}");
    if !mirror_acls.is_empty() {
        return Err(RenderError::unsupported(field("mirrorAcls"), "traffic cannot be mirrored yet; remove it"));
    }
    let vlan = VlanId::try_from(*vlan).map_err(|error| RenderError::invalid(field("vlan"), error.to_string()))?;
    if *key != vlan.to_string() {
        return Err(RenderError::invalid(field("vlan"), format!("is {vlan}, and the segment is listed under {key}")));
    }
    let vni = vni(|| field("vni"), *number)?;
    claim(tunnels, vni, &path)?;
    let name = match interface_name {
        Some(name) => parse(|| field("interfaceName"), name)?,
        None => names::l2_bridge(vlan),
    };
    let (mut bridge, gateway) = match irb {
        Some(irb) => gateway(cx, (name, irb), &path)?,
        None => (link(name, LinkKind::Bridge), None),
    };
    let mut tunnel = tunnel(cx, vni, bridge.name);
    let suppress = neigh_suppression.unwrap_or(irb.is_some());
    tunnel.attrs.require(Attr::PortNeighSuppress, Value::Bool(suppress));
    let mut end = port(link(names::vlan_port(cx.base.trunk, vlan), LinkKind::Vlan), bridge.name);
    end.attrs.require(Attr::Base, Value::Link(cx.base.trunk));
    end.attrs.require(Attr::VlanId, Value::Int(vlan.get().into()));
    if *disable_segmentation {
        for feature in SEGMENTATION {
            end.switch_feature(feature, false);
        }
    }
    for link in [&mut bridge, &mut tunnel, &mut end] {
        link.attrs.require(Attr::Mtu, Value::Int((*mtu).into()));
    }
    made.interfaces.extend([bridge, tunnel, end].map(|link| (link, cx.asked(origin.as_ref(), &path))));
    if let Some(own) = node_interface {
        station::station(cx, made, (vlan, *mtu), own, &field("nodeInterface"))?;
    }
    Ok(gateway)
}

/// The bridge of a segment that the node routes.
fn gateway(
    cx: &Context<'_>,
    (name, irb): (IfName, &Irb),
    path: &str,
) -> Result<(Interface, Option<Gateway>), RenderError> {
    let Irb { vrf, mac_address, ip_addresses } = irb;
    let vrf = match vrf.as_str() {
        "" => cx.base.cluster_vrf.name,
        name => cx.vrf(|| format!("{path}.irb.vrf"), name)?,
    };
    let mut bridge = port(link(name, LinkKind::Bridge), vrf);
    routes(&mut bridge);
    let settings = [
        // The address is on every node: one that asked whether somebody has it would get an answer.
        (Attr::Ipv6DadTransmits, Value::Int(0)),
        (Attr::Ipv6AcceptDad, Value::Int(0)),
        // A workload that moves announces itself, and is known here before it is asked for. Strangers are not.
        (Attr::Ipv4ArpAccept, Value::Int(OF_OWN_NETWORKS)),
        (Attr::Ipv6AcceptUntrackedNa, Value::Int(OF_OWN_NETWORKS)),
    ];
    for (attr, value) in settings {
        bridge.attrs.require(attr, value);
    }
    if let Some(mac) = mac_address {
        let mac: MacAddr = parse(|| format!("{path}.irb.macAddress"), mac)?;
        bridge.attrs.require(Attr::Mac, Value::Mac(mac));
    }
    let mut addresses = Vec::new();
    for (at, text) in ip_addresses.iter().enumerate() {
        let address: IpNet = parse(|| format!("{path}.irb.ipAddresses[{at}]"), text)?;
        bridge.add_address(address.addr(), address.prefix_len());
        addresses.push(address);
    }
    let gateway = Gateway { vrf, bridge: bridge.name, addresses };
    Ok((bridge, Some(gateway)))
}

/// A link that is up, and that makes no addresses of its own.
fn link(name: IfName, kind: LinkKind) -> Interface {
    let mut link = Interface::of_kind(name, kind);
    link.state = Some(State::Up);
    link.attrs.require(Attr::Ipv6AddrGenMode, Value::Int(ADDRESSES_NOT_MADE));
    link
}

fn port(mut link: Interface, of: IfName) -> Interface {
    link.controller = DesiredController::Of(of);
    link
}

/// The tunnel of a network identifier. The routing daemon says who is behind it: nothing is learned from traffic.
fn tunnel(cx: &Context<'_>, vni: Vni, bridge: IfName) -> Interface {
    let mut tunnel = port(link(names::vxlan(vni), LinkKind::Vxlan), bridge);
    tunnel.attrs.require(Attr::VxlanId, Value::Int(vni.get().into()));
    tunnel.attrs.require(Attr::VxlanLocal, Value::Ip(IpAddr::V4(cx.base.vtep)));
    tunnel.attrs.require(Attr::VxlanPort, Value::Int(VXLAN_PORT));
    tunnel.attrs.require(Attr::VxlanLearning, Value::Bool(false));
    tunnel.attrs.require(Attr::PortLearning, Value::Bool(false));
    tunnel
}

/// Packets that come in by the link are routed, whatever way the answers take.
fn routes(link: &mut Interface) {
    let settings = [
        (Attr::Ipv4Forwarding, Value::Bool(true)),
        (Attr::Ipv6Forwarding, Value::Bool(true)),
        (Attr::Ipv6AcceptRa, Value::Int(0)),
        (Attr::Ipv4RpFilter, Value::Int(0)),
        (Attr::Ipv4SendRedirects, Value::Bool(false)),
    ];
    for (attr, value) in settings {
        link.attrs.require(attr, value);
    }
}

/// The hardware address by which other nodes reach what this one routes: its tunnel's address, which no other has.
fn router_mac(vtep: Ipv4Addr) -> MacAddr {
    let [a, b, c, d] = vtep.octets();
    MacAddr::new([0x02, 0x54, a, b, c, d])
}
