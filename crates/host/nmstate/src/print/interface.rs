//! Prints one entry of `interfaces`.

use netloom_model::{DesiredController, Direction, FdbKey, FlowMatch, MirrorAction, Presence, Section};
use netloom_types::VlanId;

use super::{layer3, value};
use crate::{
    document::{FdbItem, Identifier, Interface, MirrorItem, Port, PortVlan, State, VlanEntry},
    raw::{Block, Raw},
    table,
    words::{IP_PROTOCOLS, word_of},
};

pub(crate) fn interface(interface: &Interface) -> Raw {
    let mut block = Block::new();
    identity(&mut block, interface);
    value::section(&mut block, Section::Common, &interface.attrs);
    block.put_text("copy-mac-from", interface.copy_mac_from);
    match interface.controller {
        DesiredController::Keep => {}
        DesiredController::Detached => block.put("controller", ""),
        DesiredController::Of(name) => block.put("controller", Raw::text(name)),
    }
    block.put_list("alt-names", interface.alt_names.iter().map(|(name, state)| alt_name(name, *state)).collect());
    layer3::ip(&mut block, "ipv4", &interface.ipv4, Section::Ipv4, &interface.attrs);
    layer3::ip(&mut block, "ipv6", &interface.ipv6, Section::Ipv6, &interface.attrs);
    if let Some(name) = interface.block {
        block.put(name, kind(name, interface));
    }
    hardware(&mut block, interface);
    let mut sysctl = Block::new();
    for (key, section) in [("ipv4", Section::SysctlIpv4), ("ipv6", Section::SysctlIpv6)] {
        let mut family = Block::new();
        value::section(&mut family, section, &interface.attrs);
        sysctl.put_block(key, family);
    }
    block.put_block("sysctl", sysctl);
    block.put_list("fdb", interface.fdb.iter().map(fdb).collect());
    block.put_list("mirrors", interface.mirrors.iter().map(mirror).collect());
    if let Some(enabled) = interface.lldp {
        let mut lldp = Block::new();
        lldp.put("enabled", enabled);
        block.put("lldp", lldp);
    }
    for &key in table::KEPT {
        block.put_some(key, interface.kept.get(key).cloned());
    }
    for &key in table::READ_ONLY {
        block.put_some(key, interface.facts.get(key).cloned());
    }
    block.into()
}

fn identity(block: &mut Block, interface: &Interface) {
    block.put("name", Raw::text(interface.name));
    block.put_text("type", interface.kind.as_ref());
    block.put_some("state", interface.state.map(State::word));
    block.put_some("identifier", interface.identifier.map(Identifier::word));
    block.put_text("profile-name", interface.profile_name.as_ref());
    block.put_text("pci-address", interface.pci_address.as_ref());
    block.put_text("description", interface.description.as_ref());
}

fn alt_name(name: &netloom_types::AltName, state: Presence) -> Raw {
    let mut block = Block::new();
    block.put("name", Raw::text(name));
    block.put_some("state", (state == Presence::Absent).then_some("absent"));
    block.into()
}

fn hardware(block: &mut Block, interface: &Interface) {
    let mut ethernet = Block::new();
    value::section(&mut ethernet, Section::Ethernet, &interface.attrs);
    for &(key, name) in table::KEPT_ETHERNET {
        ethernet.put_some(key, interface.kept.get(name).cloned());
    }
    block.put_block("ethernet", ethernet);
    let mut ethtool = Block::new();
    for (key, section) in [("pause", Section::Pause), ("ring", Section::Ring)] {
        let mut part = Block::new();
        value::section(&mut part, section, &interface.attrs);
        ethtool.put_block(key, part);
    }
    let mut features = Block::new();
    for (name, on) in &interface.features {
        features.put(name, *on);
    }
    ethtool.put_block("feature", features);
    for &(key, name) in table::KEPT_ETHTOOL {
        ethtool.put_some(key, interface.kept.get(name).cloned());
    }
    block.put_block("ethtool", ethtool);
}

fn kind(name: &str, interface: &Interface) -> Block {
    let mut block = Block::new();
    value::kind_block(&mut block, name, &interface.attrs);
    let mut options = Block::new();
    match name {
        "bridge" => {
            value::section(&mut options, Section::BridgeOptions, &interface.attrs);
            let mut stp = Block::new();
            value::section(&mut stp, Section::BridgeStp, &interface.attrs);
            options.put_block("stp", stp);
        }
        "link-aggregation" => value::section(&mut options, Section::BondOptions, &interface.attrs),
        _ => {}
    }
    block.put_block("options", options);
    block.put_some("allow-extra-ports", interface.allow_extra_ports);
    if let Some(ports) = &interface.ports {
        put_ports(&mut block, name, ports);
    }
    block.put_some(
        "vlans",
        interface.vlans.as_ref().map(|list| list.iter().copied().map(vlan_entry).collect::<Vec<_>>()),
    );
    block
}

fn put_ports(block: &mut Block, name: &str, ports: &[Port]) {
    if name == "bridge" {
        block.put("port", ports.iter().map(bridge_port).collect::<Vec<_>>());
        return;
    }
    block.put("port", ports.iter().map(|p| Raw::text(p.name)).collect::<Vec<_>>());
    if ports.iter().any(|p| !p.attrs.is_empty()) {
        let config = |port: &Port| {
            let mut block = Block::new();
            block.put("name", Raw::text(port.name));
            value::section(&mut block, Section::BondPort, &port.attrs);
            block.into()
        };
        block.put("ports-config", ports.iter().map(config).collect::<Vec<_>>());
    }
}

fn bridge_port(port: &Port) -> Raw {
    let Port { name, attrs, vlan, vlans } = port;
    let mut block = Block::new();
    block.put("name", Raw::text(name));
    value::section(&mut block, Section::BridgePort, attrs);
    block.put_some("vlan", vlan.as_ref().map(port_vlan));
    block.put_some("vlans", vlans.as_ref().map(|list| list.iter().copied().map(vlan_entry).collect::<Vec<_>>()));
    block.into()
}

fn port_vlan(vlan: &PortVlan) -> Block {
    let PortVlan { trunk, tag, enable_native, trunk_tags } = vlan;
    let mut block = Block::new();
    block.put_some("mode", trunk.map(|trunk| if trunk { "trunk" } else { "access" }));
    block.put_some("tag", *tag);
    block.put_some("enable-native", *enable_native);
    let tags = |tags: &Vec<(VlanId, VlanId)>| {
        let tag = |(first, last): &(VlanId, VlanId)| {
            let mut block = Block::new();
            put_range(&mut block, *first, *last);
            block.into()
        };
        tags.iter().map(tag).collect::<Vec<Raw>>()
    };
    block.put_some("trunk-tags", trunk_tags.as_ref().map(tags));
    block
}

fn put_range(block: &mut Block, first: VlanId, last: VlanId) {
    if first == last {
        block.put("id", first.get());
        return;
    }
    let mut range = Block::new();
    range.put("min", first.get());
    range.put("max", last.get());
    block.put("id-range", range);
}

fn vlan_entry(entry: VlanEntry) -> Raw {
    let VlanEntry { first, last, untagged, pvid } = entry;
    let mut block = Block::new();
    put_range(&mut block, first, last);
    block.put_some("untagged", untagged.then_some(true));
    block.put_some("pvid", pvid.then_some(true));
    block.into()
}

fn fdb(item: &FdbItem) -> Raw {
    let FdbItem { key: FdbKey { mac, vlan, dst, vni }, entry } = *item;
    let mut block = Block::new();
    block.put("mac-address", Raw::text(mac));
    block.put_some("vlan", vlan.map(VlanId::get));
    block.put_text("dst", dst);
    block.put_some("vni", vni.map(netloom_types::Vni::get));
    match entry {
        None => block.put("state", "absent"),
        Some(entry) => {
            block.put_some("on-device", (entry.on_device && dst.is_none()).then_some(true));
            block.put_some("local", entry.local.then_some(true));
            block.put_some("external", entry.external.then_some(true));
        }
    }
    block.into()
}

fn mirror(item: &MirrorItem) -> Raw {
    let mut block = Block::new();
    block.put(
        "direction",
        match item.key.direction {
            Direction::Ingress => "ingress",
            Direction::Egress => "egress",
        },
    );
    block.put("priority", item.key.priority);
    let Some((matches, action, to)) = item.mirror else {
        block.put("state", "absent");
        return block.into();
    };
    block.put("to", Raw::text(to));
    match action {
        MirrorAction::Mirror => {}
        MirrorAction::Redirect => block.put("action", "redirect"),
    }
    block.put_block("match", flow(&matches));
    block.into()
}

fn flow(flow: &FlowMatch) -> Block {
    let FlowMatch { vlan, src_mac, dst_mac, src, dst, ip_proto, src_port, dst_port } = *flow;
    let mut block = Block::new();
    block.put_some("vlan", vlan.map(VlanId::get));
    block.put_text("source-mac", src_mac);
    block.put_text("destination-mac", dst_mac);
    block.put_text("source", src);
    block.put_text("destination", dst);
    block.put_some("ip-protocol", ip_proto.map(ip_protocol));
    block.put_some("source-port", src_port);
    block.put_some("destination-port", dst_port);
    block
}

pub(super) fn ip_protocol(number: u8) -> Raw {
    word_of(IP_PROTOCOLS, &number).map_or_else(|| number.into(), Raw::from)
}
