//! Documents in today's spelling, and what their entries are about.

use serde_json::{Map, Value};

use crate::finding::{Finding, reason};

/// A document as its reader prints it: one spelling, one form, nothing that only a report says.
pub(crate) fn canonical(place: &str, document: &Value) -> Result<Value, Vec<Finding>> {
    let refused = |error: &netloom_nmstate::DocumentError| -> Vec<Finding> {
        let path = |path: &str| if path.is_empty() { place.to_owned() } else { format!("{place}.{path}") };
        let finding = |r: &netloom_nmstate::Refusal| Finding::new(r.reason, path(&r.path), &r.message);
        error.refusals().iter().map(finding).collect()
    };
    let read = netloom_nmstate::parse(place, document.to_string().as_bytes()).map_err(|error| refused(&error))?;
    let mut value: Value = serde_json::from_str(&read.to_json())
        .map_err(|error| vec![Finding::new(reason::UNREADABLE, place, error.to_string())])?;
    for entry in value.pointer_mut("/interfaces").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(entry) = entry.as_object_mut() {
            for key in REPORTED {
                entry.remove(*key);
            }
        }
    }
    Ok(value)
}

/// What only a report says of a link; in a desired state it means nothing.
const REPORTED: &[&str] = &[
    "adminStatus",
    "capabilities",
    "driver",
    "higherLayerInterface",
    "ifIndex",
    "linkStatus",
    "lowerLayerInterface",
    "madeBy",
    "madeFor",
    "max-mtu",
    "min-mtu",
    "permanent-mac-address",
    "physAddress",
    "statistics",
];

/// The items of a list; none where there is no list.
pub(crate) fn list<'a>(value: &'a Value, pointer: &str) -> Vec<&'a Value> {
    value.pointer(pointer).and_then(Value::as_array).map(|items| items.iter().collect()).unwrap_or_default()
}

/// Blocks that only one type of link has.
const BLOCKS: &[(&str, &str)] = &[
    ("vlan", "vlan"),
    ("bridge", "linux-bridge"),
    ("link-aggregation", "bond"),
    ("vrf", "vrf"),
    ("vxlan", "vxlan"),
    ("veth", "veth"),
    ("mac-vlan", "mac-vlan"),
    ("mac-vtap", "mac-vtap"),
    ("ipvlan", "ipvlan"),
    ("ip-tunnel", "ip-tunnel"),
    ("gre", "gre"),
];

/// What an entry is about, from its type or else from the block that only one type has.
pub(crate) fn kind_of(entry: &Map<String, Value>) -> Option<&str> {
    let given = entry.get("type").and_then(Value::as_str);
    given.or_else(|| BLOCKS.iter().find(|(block, _)| entry.contains_key(*block)).map(|(_, kind)| *kind))
}

/// Whether a key of an entry tells the type of the link.
pub(crate) fn tells_kind(key: &str) -> bool {
    key == "type" || BLOCKS.iter().any(|(block, _)| *block == key)
}

/// Whether links of this type are made by asking for them.
pub(crate) fn is_virtual(kind: &str) -> bool {
    !matches!(kind, "ethernet" | "loopback" | "unknown" | "infiniband" | "tun")
}
