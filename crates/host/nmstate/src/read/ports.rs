//! Reads the block of a link's kind, with the ports and options of controllers.

use netloom_model::{Attr, Attrs, Section};
use netloom_types::{IfName, VlanId};

use super::{
    spot::{Fields, Spot},
    value,
};
use crate::{
    document::{Interface, Port, PortVlan, VlanEntry},
    errors::reason,
    table,
};

/// The sections that stand inside of a kind's block.
pub(super) fn option_sections(block: &str) -> &'static [Section] {
    match block {
        "bridge" => &[Section::BridgeOptions, Section::BridgeStp],
        "link-aggregation" => &[Section::BondOptions],
        _ => &[],
    }
}

/// Reads the block; `None` when it is no block at all.
pub(super) fn block(spot: &Spot<'_>, block: &str, interface: &mut Interface) -> Option<()> {
    let fields = spot.fields()?;
    if block == "gre" {
        gre(&fields, interface);
    }
    value::block(&fields, block, &mut interface.attrs);
    match block {
        "bridge" => bridge(&fields, interface),
        "link-aggregation" => bond(&fields, interface),
        "vrf" => interface.ports = fields.take(&["port", "ports"]).and_then(|s| names(&s)),
        _ => {}
    }
    fields.finish();
    Some(())
}

/// `key` is both keys at once; `mode` repeats the type.
fn gre(fields: &Fields<'_>, interface: &mut Interface) {
    if let Some(spot) = fields.take(&["key"]) {
        for attr in [Attr::GreInputKey, Attr::GreOutputKey] {
            if let Some(value) = value::value(&spot, attr) {
                interface.attrs.require(attr, value);
            }
        }
    }
    let Some(spot) = fields.take(&["mode"]) else { return };
    let words: Vec<(&str, usize)> = table::kinds_of("gre").enumerate().map(|(i, k)| (k.name(), i)).collect();
    let Some(mode) = spot.word(&words).and_then(|i| table::kinds_of("gre").nth(i)) else { return };
    match &interface.kind {
        Some(kind) if kind != mode => {
            spot.refuse(reason::CONTRADICTION, format!("{mode} here and type {kind}: keep one"));
        }
        _ => interface.kind = Some(mode.clone()),
    }
}

fn bridge(fields: &Fields<'_>, interface: &mut Interface) {
    interface.allow_extra_ports = fields.bool(&["allow-extra-ports"]);
    interface.ports = fields.take(&["port", "ports"]).and_then(|s| bridge_ports(&s));
    interface.vlans = fields.take(&["vlans"]).and_then(|s| vlan_entries(&s));
    let Some(spot) = fields.take(&["options"]) else { return };
    let Some(options) = spot.fields() else { return };
    value::section(&options, Section::BridgeOptions, &mut interface.attrs);
    for key in ["gc-timer", "hello-timer"] {
        // Only reports have them.
        options.take_named(key);
    }
    if let Some(spot) = options.take(&["stp"])
        && let Some(stp) = spot.fields()
    {
        value::section(&stp, Section::BridgeStp, &mut interface.attrs);
        stp.finish();
    }
    options.finish();
}

fn bridge_ports(spot: &Spot<'_>) -> Option<Vec<Port>> {
    let mut ports: Vec<Port> = Vec::new();
    for item in spot.items()? {
        let Some(port) = bridge_port(&item) else { continue };
        no_twin(&item, &ports, port.name);
        ports.push(port);
    }
    Some(ports)
}

fn bridge_port(spot: &Spot<'_>) -> Option<Port> {
    if spot.scalar().is_some() {
        return spot.parse("link name").map(Port::new);
    }
    let fields = spot.fields()?;
    let name = fields.required(&["name"]).and_then(|s| s.parse("link name"));
    let mut port = Port::new(name?);
    // The type of a port is its own business; 2018's reports repeat it here.
    fields.take(&["type"]);
    value::section(&fields, Section::BridgePort, &mut port.attrs);
    port.vlan = fields.take_named("vlan").and_then(|s| port_vlan(&s));
    port.vlans = fields.take(&["vlans"]).and_then(|s| vlan_entries(&s));
    seed_port_vlan(&fields, &mut port);
    if port.vlan.is_some() && port.vlans.is_some() {
        spot.refuse(reason::CONTRADICTION, "vlan and vlans both say which VLANs the port has; keep one");
    }
    fields.finish();
    Some(port)
}

/// `vlanMode` and `accessTag` of 2018.
fn seed_port_vlan(fields: &Fields<'_>, port: &mut Port) {
    let trunk = fields.take(&["vlanMode"]).and_then(|s| s.word(&[("access", false), ("trunk", true)]));
    let tag = fields.int(&["accessTag"], 0, 4094);
    if trunk.is_some() || tag.is_some() {
        let vlan = port.vlan.get_or_insert_default();
        vlan.trunk = vlan.trunk.or(trunk).or(Some(false));
        vlan.tag = vlan.tag.or(tag);
    }
}

fn port_vlan(spot: &Spot<'_>) -> Option<PortVlan> {
    let fields = spot.fields()?;
    let vlan = PortVlan {
        trunk: fields.take(&["mode"]).and_then(|s| s.word(&[("access", false), ("trunk", true)])),
        tag: fields.int(&["tag"], 0, 4094),
        enable_native: fields.bool(&["enable-native"]),
        trunk_tags: fields.take(&["trunk-tags"]).and_then(|s| trunk_tags(&s)),
    };
    fields.finish();
    check_port_vlan(spot, &vlan);
    Some(vlan)
}

fn check_port_vlan(spot: &Spot<'_>, vlan: &PortVlan) {
    let PortVlan { trunk, tag, enable_native, trunk_tags } = vlan;
    let native = *enable_native == Some(true);
    let tags = trunk_tags.as_ref().is_some_and(|tags| !tags.is_empty());
    let problem = match trunk {
        None if *vlan == PortVlan::default() => None,
        None => Some("say mode: access or trunk"),
        Some(false) if tags || native => {
            Some("an access port has neither trunk-tags nor enable-native; use mode: trunk")
        }
        Some(false) if tag.is_none_or(|t| t == 0) => Some("an access port needs a tag between 1 and 4094"),
        Some(true) if !tags => Some("a trunk port needs trunk-tags"),
        Some(true) if native && tag.is_none_or(|t| t == 0) => Some("enable-native needs a tag between 1 and 4094"),
        Some(true) if !native && tag.is_some_and(|t| t != 0) => Some("a tag on a trunk port needs enable-native: true"),
        Some(_) => None,
    };
    if let Some(problem) = problem {
        spot.refuse(reason::INVALID_VALUE, problem);
    }
}

fn trunk_tags(spot: &Spot<'_>) -> Option<Vec<(VlanId, VlanId)>> {
    let mut ranges: Vec<(VlanId, VlanId)> = Vec::new();
    for item in spot.items()? {
        let fields = item.fields()?;
        let range = id_or_range(&fields);
        fields.finish();
        let (first, last) = range?;
        no_overlap(&item, &ranges, first, last);
        ranges.push((first, last));
    }
    Some(ranges)
}

fn no_overlap(item: &Spot<'_>, ranges: &[(VlanId, VlanId)], first: VlanId, last: VlanId) {
    if let Some((a, b)) = ranges.iter().find(|(a, b)| first <= *b && *a <= last) {
        item.refuse(reason::DUPLICATE, format!("{first}-{last} overlaps {a}-{b} of the same list"));
    }
}

fn id_or_range(fields: &Fields<'_>) -> Option<(VlanId, VlanId)> {
    let vlan = |spot: Spot<'_>| VlanId::try_from(spot.int::<u16>(1, 4094)?).ok();
    let id = fields.take(&["id"]).map(vlan);
    let range = fields.take(&["id-range"]);
    match (id, range) {
        (Some(id), None) => id.map(|id| (id, id)),
        (None, Some(spot)) => {
            let fields = spot.fields()?;
            let min = fields.required(&["min"]).and_then(vlan);
            let max = fields.required(&["max"]).and_then(vlan);
            fields.finish();
            let (min, max) = (min?, max?);
            if min > max {
                spot.refuse(reason::INVALID_VALUE, format!("min {min} is above max {max}"));
            }
            Some((min, max))
        }
        _ => {
            fields.spot.refuse(reason::MISSING_KEY, "say either id or id-range");
            None
        }
    }
}

fn vlan_entries(spot: &Spot<'_>) -> Option<Vec<VlanEntry>> {
    let mut entries: Vec<VlanEntry> = Vec::new();
    for item in spot.items()? {
        let fields = item.fields()?;
        let range = id_or_range(&fields);
        let untagged = fields.bool(&["untagged"]).unwrap_or_default();
        let pvid = fields.bool(&["pvid"]).unwrap_or_default();
        fields.finish();
        let (first, last) = range?;
        let earlier: Vec<_> = entries.iter().map(|e| (e.first, e.last)).collect();
        no_overlap(&item, &earlier, first, last);
        if pvid && (first != last || entries.iter().any(|e| e.pvid)) {
            item.refuse(reason::CONTRADICTION, "a port has one pvid");
        }
        entries.push(VlanEntry { first, last, untagged, pvid });
    }
    Some(entries)
}

fn bond(fields: &Fields<'_>, interface: &mut Interface) {
    let listed = fields.take(&["port", "ports", "slaves"]).and_then(|s| names(&s));
    let configured = fields.take(&["ports-config"]).map(|spot| (bond_ports(&spot), spot));
    interface.ports = match (listed, configured) {
        (listed, None) => listed,
        (None, Some((configured, _))) => configured,
        (Some(listed), Some((configured, spot))) => merge(&spot, listed, configured.unwrap_or_default()),
    };
    let Some(spot) = fields.take(&["options"]) else { return };
    let Some(options) = spot.fields() else { return };
    value::section(&options, Section::BondOptions, &mut interface.attrs);
    if let Some(spot) = options.take(&["balance_slb"]) {
        let message = "source load balancing is a mode of NetworkManager, not of the kernel's bonding; remove it";
        spot.refuse(reason::NOT_SUPPORTED, message);
    }
    for key in ["stp", "rstp", "failMode", "mcastSnoopingEnabled"] {
        if let Some(spot) = options.take_named(key) {
            spot.refuse(reason::NOT_SUPPORTED, "an option of Open vSwitch bonds, not of the kernel's; remove it");
        }
    }
    options.finish();
}

/// `port` and `ports-config` in one block must name the same links.
fn merge(spot: &Spot<'_>, mut listed: Vec<Port>, configured: Vec<Port>) -> Option<Vec<Port>> {
    for port in &listed {
        if !configured.iter().any(|c| c.name == port.name) {
            spot.refuse(
                reason::CONTRADICTION,
                format!("{} is in the port list and not here; name the same ports", port.name),
            );
        }
    }
    for port in configured {
        let Some(same) = listed.iter_mut().find(|l| l.name == port.name) else {
            spot.refuse(reason::CONTRADICTION, format!("{} is not in the port list; name the same ports", port.name));
            return None;
        };
        same.attrs = port.attrs;
    }
    Some(listed)
}

fn bond_ports(spot: &Spot<'_>) -> Option<Vec<Port>> {
    let mut ports: Vec<Port> = Vec::new();
    for item in spot.items()? {
        let fields = item.fields()?;
        let name = fields.required(&["name"]).and_then(|s| s.parse::<IfName>("link name"));
        let mut attrs = Attrs::new();
        value::section(&fields, Section::BondPort, &mut attrs);
        fields.finish();
        let port = Port { attrs, ..Port::new(name?) };
        no_twin(&item, &ports, port.name);
        ports.push(port);
    }
    Some(ports)
}

fn names(spot: &Spot<'_>) -> Option<Vec<Port>> {
    let mut ports: Vec<Port> = Vec::new();
    for item in spot.items()? {
        let Some(name) = item.parse::<IfName>("link name") else { continue };
        no_twin(&item, &ports, name);
        ports.push(Port::new(name));
    }
    Some(ports)
}

fn no_twin(spot: &Spot<'_>, ports: &[Port], name: IfName) {
    if ports.iter().any(|p| p.name == name) {
        spot.refuse(reason::DUPLICATE, format!("{name} is already in the list; keep one"));
    }
}
