//! Reads the lists of our own on an interface: `fdb` and `mirrors`.

use ipnet::IpNet;
use netloom_model::{Direction, FdbEntry, FdbKey, FlowMatch, MirrorAction, MirrorKey};
use netloom_types::{Family, IfName, VlanId, Vni};

use super::spot::{Fields, Spot, number};
use crate::{
    document::{FdbItem, Interface, MirrorItem},
    errors::reason,
    words::IP_PROTOCOLS,
};

pub(super) fn lists(fields: &Fields<'_>, interface: &mut Interface) {
    if let Some(spot) = fields.take(&["fdb"]) {
        for item in spot.items().into_iter().flatten() {
            let Some(read) = fdb(&item) else { continue };
            if interface.fdb.iter().any(|f| f.key == read.key) {
                item.refuse(reason::DUPLICATE, format!("{} is already in the list; keep one", read.key.mac));
            }
            interface.fdb.push(read);
        }
    }
    if let Some(spot) = fields.take(&["mirrors"]) {
        for item in spot.items().into_iter().flatten() {
            let Some(read) = mirror(&item) else { continue };
            if interface.mirrors.iter().any(|m| m.key == read.key) {
                let message = format!("priority {} is already taken in this direction", read.key.priority);
                item.refuse(reason::DUPLICATE, message);
            }
            interface.mirrors.push(read);
        }
    }
}

fn absent(fields: &Fields<'_>) -> bool {
    fields.take(&["state"]).and_then(|s| s.word(&[("absent", true)])).unwrap_or_default()
}

fn vlan(fields: &Fields<'_>) -> Option<VlanId> {
    VlanId::try_from(fields.int::<u16>(&["vlan"], 1, 4094)?).ok()
}

fn fdb(spot: &Spot<'_>) -> Option<FdbItem> {
    let fields = spot.fields()?;
    let mac = fields.required(&["mac-address"]).and_then(|s| s.parse("MAC address"));
    let vlan = vlan(&fields);
    let dst = fields.parse(&["dst"], "IP address");
    let vni = fields.int::<u32>(&["vni"], 0, 0xff_ffff).and_then(|n| Vni::try_from(n).ok());
    let entry = FdbEntry {
        // An entry with a tunnel end can only be in the tunnel's own table.
        on_device: fields.bool(&["on-device"]).unwrap_or(dst.is_some()),
        local: fields.bool(&["local"]).unwrap_or_default(),
        external: fields.bool(&["external"]).unwrap_or_default(),
    };
    let absent = absent(&fields);
    fields.finish();
    if dst.is_some() && !entry.on_device {
        spot.refuse(reason::CONTRADICTION, "an entry with dst is always on the device; remove on-device: false");
    }
    Some(FdbItem { key: FdbKey { mac: mac?, vlan, dst, vni }, entry: (!absent).then_some(entry) })
}

fn mirror(spot: &Spot<'_>) -> Option<MirrorItem> {
    let fields = spot.fields()?;
    let direction = fields
        .required(&["direction"])
        .and_then(|s| s.word(&[("ingress", Direction::Ingress), ("egress", Direction::Egress)]));
    let priority = fields.required(&["priority"]).and_then(|s| s.int(1, 0xffff));
    let absent = absent(&fields);
    let action = fields
        .take(&["action"])
        .and_then(|s| s.word(&[("mirror", MirrorAction::Mirror), ("redirect", MirrorAction::Redirect)]));
    let to = if absent { fields.take(&["to"]) } else { fields.required(&["to"]) };
    let to = to.and_then(|s| s.parse::<IfName>("link name"));
    let matches = fields.take(&["match"]).map(|s| flow(&s));
    fields.finish();
    let key = MirrorKey { direction: direction?, priority: priority? };
    if absent {
        return Some(MirrorItem { key, mirror: None });
    }
    let matches = matches.unwrap_or(Some(FlowMatch::default()))?;
    Some(MirrorItem { key, mirror: Some((matches, action.unwrap_or(MirrorAction::Mirror), to?)) })
}

fn flow(spot: &Spot<'_>) -> Option<FlowMatch> {
    let fields = spot.fields()?;
    let net = |keys| {
        let spot: Spot<'_> = fields.take(keys)?;
        prefix(&spot)
    };
    let flow = FlowMatch {
        vlan: vlan(&fields),
        src_mac: fields.parse(&["source-mac"], "MAC address"),
        dst_mac: fields.parse(&["destination-mac"], "MAC address"),
        src: net(&["source"]),
        dst: net(&["destination"]),
        ip_proto: fields.take(&["ip-protocol"]).and_then(|s| ip_protocol(&s)),
        src_port: fields.int(&["source-port"], 1, 0xffff),
        dst_port: fields.int(&["destination-port"], 1, 0xffff),
    };
    fields.finish();
    if let (Some(src), Some(dst)) = (flow.src, flow.dst)
        && Family::of_net(src) != Family::of_net(dst)
    {
        spot.refuse(reason::CONTRADICTION, "source and destination are of different families");
    }
    if (flow.src_port.is_some() || flow.dst_port.is_some()) && !matches!(flow.ip_proto, Some(6 | 17 | 132)) {
        spot.refuse(reason::MISSING_KEY, "ports need ip-protocol: tcp, udp or sctp");
    }
    Some(flow)
}

/// A prefix or a bare address; host bits are cleared.
fn prefix(spot: &Spot<'_>) -> Option<IpNet> {
    let text = spot.text()?;
    if let Ok(ip) = text.parse::<std::net::IpAddr>() {
        return Some(ip.into());
    }
    spot.parse::<IpNet>("prefix").map(|net| net.trunc())
}

/// A protocol inside of IP, by number or name.
pub(super) fn ip_protocol(spot: &Spot<'_>) -> Option<u8> {
    if spot.scalar().and_then(number).is_some() { spot.int(0, 255) } else { spot.word(IP_PROTOCOLS) }
}
