//! The keys of a base file.

use std::net::IpAddr;

use netloom_types::{IfName, IpNet, Vni};

use super::{
    Base, BaseError, BaseNeighbor, BaseVrf, HostNextHop, Peer, RemoteAsn, Source,
    read::{Block, Spot, root},
};
use crate::value;

const KEYS: &[&str] = &[
    "vtepLoopbackIP",
    "trunkInterfaceName",
    "hostTrunkInterfaceName",
    "mgmtInterfaceName",
    "exportCIDRs",
    "managementVRF",
    "clusterVRF",
    "localASN",
    "underlayNeighbors",
    "clusterNeighbors",
    HOST_NEXT_HOP,
    "gracefulRestart",
];
const HOST_NEXT_HOP: &str = "hostNextHop";
const HOST_NEXT_HOP_KEYS: &[&str] = &["ipv4", "ipv6"];
const VRF_KEYS: &[&str] = &["name", "vni", "evpnRouteTarget", "table"];
/// The tables that the base VRFs have where nobody says otherwise.
const CLUSTER_TABLE: u32 = 10;
const MANAGEMENT_TABLE: u32 = 20;
/// Tables up to this one are free for VRFs of the base, but for those of the kernel.
const LAST_TABLE: u32 = 999_999_999;
const NEIGHBOR_KEYS: &[&str] = &[
    "ip",
    "interface",
    "updateSource",
    "remoteASN",
    "localASN",
    "keepaliveTime",
    "holdTime",
    "bfdMinTimer",
    "ipv4",
    "ipv6",
    "evpn",
];

/// Every key, with the blocks that it stands in.
pub(super) fn keys() -> Vec<String> {
    let below =
        |block: &'static str, keys: &'static [&'static str]| keys.iter().map(move |key| format!("{block}.{key}"));
    let is_plain = |key: &&&str| !(key.ends_with("VRF") || key.ends_with("Neighbors") || **key == HOST_NEXT_HOP);
    let vrfs = ["managementVRF", "clusterVRF"].into_iter().flat_map(|block| below(block, VRF_KEYS));
    let neighbors = ["underlayNeighbors", "clusterNeighbors"].into_iter().flat_map(|block| below(block, NEIGHBOR_KEYS));
    let plain = KEYS.iter().filter(is_plain).map(|key| (*key).to_owned());
    plain.chain(vrfs).chain(neighbors).chain(below(HOST_NEXT_HOP, HOST_NEXT_HOP_KEYS)).collect()
}

pub(super) fn base(text: &str) -> Result<Base, BaseError> {
    let root = root(text)?;
    let block = Block::of(&Spot::root(&root), KEYS)?;
    let vtep = block.need("vtepLoopbackIP")?;
    let vtep = match vtep.value()? {
        IpAddr::V4(ip) => ip,
        IpAddr::V6(_) => return Err(vtep.wrong("FRR 8.4 has tunnels over IPv4 only; give an IPv4 address")),
    };
    let cluster_vrf = vrf(&block.need("clusterVRF")?, CLUSTER_TABLE)?;
    let management_vrf = block.get("managementVRF").map(|spot| vrf(&spot, MANAGEMENT_TABLE)).transpose()?;
    if management_vrf.as_ref().is_some_and(|management| management.name == cluster_vrf.name) {
        return Err(block.wrong("managementVRF", "has the name of clusterVRF; they are two VRFs"));
    }
    if management_vrf.as_ref().is_some_and(|management| management.table == cluster_vrf.table) {
        return Err(block.wrong("managementVRF.table", "is the table of clusterVRF; each VRF has one of its own"));
    }
    let trunk = trunk(&block.need("trunkInterfaceName")?)?;
    let host_trunk = block.value("hostTrunkInterfaceName")?;
    if host_trunk == Some(trunk) {
        return Err(block.wrong("hostTrunkInterfaceName", "is trunkInterfaceName; the trunk has two ends"));
    }
    let base = Base {
        vtep,
        trunk,
        host_trunk,
        management_interface: block.value("mgmtInterfaceName")?,
        export_cidrs: block.list("exportCIDRs")?.iter().map(network).collect::<Result<_, _>>()?,
        cluster_vrf,
        management_vrf,
        local_asn: asn(&block.need("localASN")?)?,
        underlay_neighbors: neighbors(&block, "underlayNeighbors")?,
        cluster_neighbors: neighbors(&block, "clusterNeighbors")?,
        host_next_hop: block.get(HOST_NEXT_HOP).map_or(Ok(HostNextHop::default()), |spot| host_next_hop(&spot))?,
        graceful_restart: block.switch("gracefulRestart")?,
    };
    if let Some(at) = base.cluster_neighbors.iter().position(|neighbor| neighbor.evpn) {
        let path = format!("clusterNeighbors[{at}].evpn");
        return Err(block.wrong(&path, "routes of the fabric are exchanged in the underlay only; set it to false"));
    }
    Ok(base)
}

/// The end of the trunk: the names of its VLAN ports have to fit.
fn trunk(spot: &Spot<'_>) -> Result<IfName, BaseError> {
    let name: IfName = spot.value()?;
    let room = IfName::MAX - ".4094".len();
    if name.as_str().len() > room {
        return Err(spot.wrong(format!("{name}: the VLAN ports of the trunk are named {name}.4094 and the like; a name of {room} bytes at most leaves room for that")));
    }
    Ok(name)
}

fn network(spot: &Spot<'_>) -> Result<IpNet, BaseError> {
    let net: IpNet = spot.value()?;
    if net.trunc() != net {
        return Err(spot.wrong(format!("{net} has host bits; {} is the network", net.trunc())));
    }
    Ok(net)
}

fn asn(spot: &Spot<'_>) -> Result<u32, BaseError> {
    match spot.value()? {
        0 => Err(spot.wrong("0 is no autonomous system")),
        number => Ok(number),
    }
}

fn vrf(spot: &Spot<'_>, usual_table: u32) -> Result<BaseVrf, BaseError> {
    let block = Block::of(spot, VRF_KEYS)?;
    let name = block.need("name")?;
    let vni: Option<u32> = block.value("vni")?;
    let vni = vni.map(|vni| Vni::try_from(vni).map_err(|error| block.wrong("vni", error.to_string()))).transpose()?;
    let target = block.get("evpnRouteTarget");
    let route_target =
        target.map(|spot| value::route_target(spot.text()?).map_err(|why| spot.wrong(why))).transpose()?;
    if route_target.is_some() && vni.is_none() {
        return Err(block.wrong("evpnRouteTarget", "needs vni: the fabric knows a VRF by it"));
    }
    let name_of: IfName = name.value()?;
    value::check_vrf_name(name_of.as_str()).map_err(|why| name.wrong(why))?;
    let table = block.value("table")?.unwrap_or(usual_table);
    if !(1..=LAST_TABLE).contains(&table) || (253..=255).contains(&table) {
        let message =
            format!("{table}: give a number from 1 to {LAST_TABLE} that is none of the kernel's (253 to 255)");
        return Err(block.wrong("table", message));
    }
    Ok(BaseVrf { name: name_of, vni, route_target, table })
}

fn host_next_hop(spot: &Spot<'_>) -> Result<HostNextHop, BaseError> {
    let block = Block::of(spot, HOST_NEXT_HOP_KEYS)?;
    Ok(HostNextHop { ipv4: block.value("ipv4")?, ipv6: block.value("ipv6")? })
}

fn neighbors(block: &Block<'_>, key: &str) -> Result<Vec<BaseNeighbor>, BaseError> {
    let mut all: Vec<BaseNeighbor> = Vec::new();
    for spot in block.list(key)? {
        let neighbor = neighbor(&spot)?;
        if all.iter().any(|earlier| earlier.peer == neighbor.peer) {
            return Err(spot.wrong("this neighbour is listed already; remove one"));
        }
        all.push(neighbor);
    }
    Ok(all)
}

fn neighbor(spot: &Spot<'_>) -> Result<BaseNeighbor, BaseError> {
    let block = Block::of(spot, NEIGHBOR_KEYS)?;
    let (ip, link) = (block.value("ip")?, block.value("interface")?);
    let peer = match (ip, link) {
        (Some(ip), None) => Peer::Address(ip),
        (None, Some(link)) => Peer::Interface(link),
        (Some(_), Some(_)) => return Err(block.wrong("ip", "excludes interface; keep one of them")),
        (None, None) => return Err(spot.wrong("needs ip or interface")),
    };
    let remote_asn = match (block.get("remoteASN"), peer) {
        (Some(spot), _) => remote_asn(&spot)?,
        (None, Peer::Interface(_)) => RemoteAsn::External,
        (None, Peer::Address(_)) => return Err(block.wrong("remoteASN", "is missing; add it")),
    };
    let bfd = block.value("bfdMinTimer")?;
    if bfd.is_some_and(|timer: u32| !(50..=60_000).contains(&timer)) {
        return Err(block.wrong("bfdMinTimer", "must be 50 to 60000 milliseconds"));
    }
    Ok(BaseNeighbor {
        peer,
        update_source: block.get("updateSource").map(|spot| source(&spot)).transpose()?,
        remote_asn,
        local_asn: block.get("localASN").map(|spot| asn(&spot)).transpose()?,
        timers: timers(&block)?,
        bfd,
        ipv4: block.switch("ipv4")?,
        ipv6: block.switch("ipv6")?,
        evpn: block.switch("evpn")?,
    })
}

fn remote_asn(spot: &Spot<'_>) -> Result<RemoteAsn, BaseError> {
    match spot.text()? {
        "internal" => Ok(RemoteAsn::Internal),
        "external" => Ok(RemoteAsn::External),
        _ => asn(spot).map(RemoteAsn::Number),
    }
}

fn source(spot: &Spot<'_>) -> Result<Source, BaseError> {
    let text = spot.text()?;
    text.parse().map(Source::Address).or_else(|_| spot.value().map(Source::Interface))
}

/// Both timers, or none: what is not given is that of the routing daemon for one and would not fit the other.
fn timers(block: &Block<'_>) -> Result<Option<(u16, u16)>, BaseError> {
    let read = |key: &str| block.get(key).map(|spot| seconds(&spot)).transpose();
    match (read("keepaliveTime")?, read("holdTime")?) {
        (None, None) => Ok(None),
        (Some(keepalive), Some(hold)) => {
            value::check_timers(keepalive, hold).map_err(|why| block.wrong("holdTime", why))?;
            Ok(Some((keepalive, hold)))
        }
        (Some(_), None) => Err(block.wrong("holdTime", "is missing; keepaliveTime needs it")),
        (None, Some(_)) => Err(block.wrong("keepaliveTime", "is missing; holdTime needs it")),
    }
}

/// A number of seconds, or a time span such as `9s`.
fn seconds(spot: &Spot<'_>) -> Result<u16, BaseError> {
    let text = spot.text()?;
    text.parse().or_else(|_| value::seconds(text).map_err(|why| spot.wrong(why)))
}
