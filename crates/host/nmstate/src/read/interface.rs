//! Reads `interfaces`.

use std::collections::BTreeMap;

use netloom_model::{Attr, DesiredController, LinkKind, Presence, Section, Value};
use netloom_types::{AltName, IfName, spelling::nearest};

use super::{
    ip, layer2, ports,
    spot::{Fields, Spot},
    value,
};
use crate::{
    document::{Identifier, Interface, State},
    errors::reason,
    raw::Raw,
    table,
};

pub(super) fn list(spot: &Spot<'_>) -> Vec<Interface> {
    let mut interfaces: Vec<Interface> = Vec::new();
    let mut seen: BTreeMap<IfName, usize> = BTreeMap::new();
    for item in spot.items().into_iter().flatten() {
        let Some(read) = interface(&item) else { continue };
        if let Some(&first) = seen.get(&read.name)
            && !is_replacement(&interfaces[first], &read)
        {
            let message = format!(
                "{} is already in interfaces[{first}]: merge the two (a second entry is only taken next to `state: absent` of another type)",
                read.name
            );
            item.refuse_key("name", reason::DUPLICATE, message);
        }
        seen.insert(read.name, interfaces.len());
        interfaces.push(read);
    }
    interfaces
}

/// Whether the two entries of one name say "the old goes, a new one of another kind comes".
fn is_replacement(a: &Interface, b: &Interface) -> bool {
    let absent = |i: &Interface| i.state == Some(State::Absent);
    absent(a) != absent(b) && a.kind.is_some() && b.kind.is_some() && a.kind != b.kind
}

fn interface(spot: &Spot<'_>) -> Option<Interface> {
    let fields = spot.fields()?;
    let name = fields.required(&["name"]).and_then(|s| s.parse("link name"));
    let kind = fields.take(&["type"]).and_then(|s| kind(&s, &fields));
    let state = fields.take(&["state"]).and_then(|s| state(&s));
    let identifier = fields.take(&["identifier"]).and_then(|s| {
        s.word(&[
            ("name", None),
            ("mac-address", Some(Identifier::MacAddress)),
            ("pci-address", Some(Identifier::PciAddress)),
        ])
    });
    let mut interface = Interface { kind, state, identifier: identifier.flatten(), ..Interface::new(name?) };
    interface.profile_name = fields.text(&["profile-name"]);
    interface.pci_address = fields.text(&["pci-address"]);
    if state == Some(State::Absent) {
        // What is given of a link that shall go has no effect, so it cannot be wrong.
        if interface.identifier == Some(Identifier::MacAddress) {
            mac_only(&fields, &mut interface);
        }
        return Some(interface);
    }
    details(&fields, &mut interface);
    fields.finish();
    Some(interface)
}

fn mac_only(fields: &Fields<'_>, interface: &mut Interface) {
    if let Some(mac) = fields.take(table::keys(Attr::Mac)).and_then(|s| value::value(&s, Attr::Mac)) {
        interface.attrs.require(Attr::Mac, mac);
    }
}

fn details(fields: &Fields<'_>, interface: &mut Interface) {
    interface.description = fields.text(&["description"]);
    interface.copy_mac_from = fields.parse(&["copy-mac-from"], "link name");
    if let Some(spot) = fields.take(&["controller"]) {
        let named = || spot.parse("link name").map_or(DesiredController::Keep, DesiredController::Of);
        interface.controller = if spot.scalar() == Some("") { DesiredController::Detached } else { named() };
    }
    if let Some(spot) = fields.take(&["alt-names"]) {
        interface.alt_names = alt_names(&spot).unwrap_or_default();
    }
    value::section(fields, Section::Common, &mut interface.attrs);
    ip::block(fields, interface);
    sysctl(fields, interface);
    ethernet(fields, interface);
    ethtool(fields, interface);
    blocks(fields, interface);
    layer2::lists(fields, interface);
    if let Some(spot) = fields.take(&["lldp"]) {
        interface.lldp = lldp(&spot);
    }
    for &key in table::KEPT {
        keep(fields, key, key, interface);
    }
    for &key in table::READ_ONLY {
        if let Some(spot) = fields.take_named(key) {
            interface.facts.insert(key, Raw::of(spot.node));
        }
    }
    if let Some(spot) = fields.take(&["ovs-db"]) {
        spot.refuse(reason::NOT_SUPPORTED, "Open vSwitch is not supported; remove it");
    }
}

fn keep(fields: &Fields<'_>, key: &str, name: &'static str, interface: &mut Interface) {
    if let Some(spot) = fields.take_named(key) {
        interface.kept.insert(name, Raw::of(spot.node));
    }
}

/// The type of a link. One that the kernel may have and netloom only shows is taken; a slip of the pen is
/// not, and neither is one beside a block that says what the link really is.
fn kind(spot: &Spot<'_>, fields: &Fields<'_>) -> Option<LinkKind> {
    let text = spot.text()?;
    if let Some(kind) = LinkKind::KNOWN.iter().find(|kind| kind.name() == text) {
        return Some(kind.clone());
    }
    match text {
        "unknown" | "" => None,
        "ovs-bridge" | "ovs-interface" => {
            let message = format!("{text}: Open vSwitch is not supported; use linux-bridge");
            spot.refuse(reason::NOT_SUPPORTED, message);
            None
        }
        other => {
            let meant = meant_kind(other, fields);
            if let Some(meant) = meant {
                spot.refuse(reason::INVALID_VALUE, format!("unknown type {other}; did you mean {meant}?"));
                return None;
            }
            Some(LinkKind::Other(other.into()))
        }
    }
}

/// The type that somebody most likely meant by an unknown one: by its letters, by the kernel's own word for it,
/// or by the block that stands beside it.
fn meant_kind(text: &str, fields: &Fields<'_>) -> Option<&'static str> {
    /// Kinds of the kernel that look like a slip of the pen and are none.
    const REAL: &[&str] = &["vcan", "vxcan"];
    let known = || LinkKind::KNOWN.iter().map(LinkKind::name);
    let kernel_word = match text {
        "bridge" => Some(LinkKind::Bridge.name()),
        "ipip" | "sit" | "ip6tnl" => Some(LinkKind::IpTunnel.name()),
        _ => None,
    };
    let by_letters = || Some(text).filter(|text| !REAL.contains(text)).and_then(|text| nearest(text, known()));
    let by_block = || {
        let block = table::BLOCKS.iter().find(|block| fields.has(spellings(block)))?;
        table::kinds_of(block).next().map(LinkKind::name)
    };
    kernel_word.or_else(by_letters).or_else(by_block)
}

fn state(spot: &Spot<'_>) -> Option<State> {
    let words: Vec<(&str, Option<State>)> =
        State::ALL.iter().map(|s| (s.word(), Some(*s))).chain([("unknown", None)]).collect();
    spot.word(&words).flatten()
}

fn alt_names(spot: &Spot<'_>) -> Option<BTreeMap<AltName, Presence>> {
    let mut names = BTreeMap::new();
    for item in spot.items()? {
        let fields = item.fields()?;
        let name = fields.required(&["name"]).and_then(|s| s.parse::<AltName>("alternative name"));
        let state = fields.take(&["state"]).and_then(|s| s.word(&[("absent", Presence::Absent)]));
        fields.finish();
        let name = name?;
        if names.contains_key(&name) {
            item.refuse(reason::DUPLICATE, format!("{name} is already in the list: keep one"));
        }
        names.insert(name, state.unwrap_or(Presence::Present));
    }
    Some(names)
}

fn lldp(spot: &Spot<'_>) -> Option<bool> {
    let fields = spot.fields()?;
    let enabled = fields.bool(&["enabled"]);
    fields.take(&["neighbors"]);
    fields.finish();
    enabled
}

fn sysctl(fields: &Fields<'_>, interface: &mut Interface) {
    let Some(spot) = fields.take(&["sysctl"]) else { return };
    let Some(fields) = spot.fields() else { return };
    for (key, section) in [("ipv4", Section::SysctlIpv4), ("ipv6", Section::SysctlIpv6)] {
        let Some(spot) = fields.take_named(key) else { continue };
        let Some(fields) = spot.fields() else { continue };
        value::section(&fields, section, &mut interface.attrs);
        fields.finish();
    }
    fields.finish();
}

fn ethernet(fields: &Fields<'_>, interface: &mut Interface) {
    let Some(spot) = fields.take(&["ethernet"]) else { return };
    let Some(fields) = spot.fields() else { return };
    value::section(&fields, Section::Ethernet, &mut interface.attrs);
    for &(key, name) in table::KEPT_ETHERNET {
        keep(&fields, key, name, interface);
    }
    fields.finish();
}

fn ethtool(fields: &Fields<'_>, interface: &mut Interface) {
    // The spelling of 2018 knows only both directions at once.
    if let Some(flow_control) = fields.bool(&["flowControl"]) {
        interface.attrs.require(Attr::PauseRx, Value::Bool(flow_control));
        interface.attrs.require(Attr::PauseTx, Value::Bool(flow_control));
    }
    let Some(spot) = fields.take(&["ethtool"]) else { return };
    let Some(fields) = spot.fields() else { return };
    for (key, section) in [("pause", Section::Pause), ("ring", Section::Ring)] {
        let Some(spot) = fields.take_named(key) else { continue };
        let Some(fields) = spot.fields() else { continue };
        value::section(&fields, section, &mut interface.attrs);
        if section == Section::Ring {
            // The largest sizes are the driver's to say.
            for key in ["rx-max", "rx-jumbo-max", "rx-mini-max", "tx-max"] {
                fields.take_named(key);
            }
        }
        fields.finish();
    }
    if let Some(spot) = fields.take(&["feature"])
        && let Some(features) = spot.fields()
    {
        for (name, spot) in features.rest() {
            if let Some(on) = spot.bool() {
                interface.features.insert(name.into(), on);
            }
        }
    }
    for &(key, name) in table::KEPT_ETHTOOL {
        keep(&fields, key, name, interface);
    }
    fields.finish();
}

/// The block of the link's kind: at most one, and that of its type.
fn blocks(fields: &Fields<'_>, interface: &mut Interface) {
    let mut found: Option<&'static str> = None;
    for &block in table::BLOCKS {
        let Some(spot) = fields.take(spellings(block)) else { continue };
        let wrong = interface.kind.as_ref().is_some_and(|kind| kind.block() != block);
        if let (true, Some(kind)) = (wrong, &interface.kind) {
            spot.refuse(reason::CONTRADICTION, format!("this block is not for links of type {kind}; remove it"));
        } else if let Some(first) = found {
            spot.refuse(reason::CONTRADICTION, format!("a link has one kind, and {first} is here too; remove one"));
        } else if ports::block(&spot, block, interface).is_some() {
            found = Some(block);
        }
    }
    seed_vlan(fields, interface, &mut found);
    let says = |block: &str| {
        table::of_block(block).iter().any(|a| interface.attrs.given(*a).is_some())
            || interface.ports.is_some()
            || interface.vlans.is_some()
            || interface.allow_extra_ports.is_some()
            || ports::option_sections(block)
                .iter()
                .any(|s| table::of_section(*s).iter().any(|a| interface.attrs.given(*a).is_some()))
    };
    interface.block = found.filter(|block| says(block));
}

fn spellings(block: &str) -> &'static [&'static str] {
    match block {
        "link-aggregation" => &["link-aggregation", "bond", "linkaggregation"],
        other => table::BLOCKS.iter().position(|b| *b == other).map_or(&[], |i| &table::BLOCKS[i..=i]),
    }
}

/// `vlanID` and `vlanbase` of 2018 stand at the top of the interface.
fn seed_vlan(fields: &Fields<'_>, interface: &mut Interface, found: &mut Option<&'static str>) {
    for (keys, attr) in [(&["vlanID"], Attr::VlanId), (&["vlanbase"], Attr::Base)] {
        let Some(spot) = fields.take(keys) else { continue };
        let Some(value) = value::value(&spot, attr) else { continue };
        if found.is_some_and(|block| block != "vlan") || interface.kind.as_ref().is_some_and(|k| *k != LinkKind::Vlan) {
            spot.refuse(reason::CONTRADICTION, "only links of type vlan have this; remove it");
            continue;
        }
        match interface.attrs.given(attr) {
            Some(given) if *given != value => spot.refuse(
                reason::CONTRADICTION,
                format!("{} here and {} in the vlan block: keep one", value.display(attr), given.display(attr)),
            ),
            _ => interface.attrs.require(attr, value),
        }
        *found = Some("vlan");
    }
}
