//! An instance as what its domain is to be.

use std::collections::BTreeMap;

use netloom_domain::{Attachment, DeviceNames, Instance, LinkState, Nic, PciAddress};
use serde::Deserialize as _;
use serde_json::Value;

use crate::{
    BASE_ANNOTATION,
    json::text,
    spec::{Binding, InstanceSpec, Interface},
};

/// The bindings of plugins that attach their NICs by a tap, by name, and whether a link is refreshed after a migration.
/// Others own their part of the domain.
pub type Plugins = BTreeMap<String, Refresh>;

/// Whether the link of a NIC is taken down and brought up again after a migration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Refresh {
    /// It is left alone.
    #[default]
    No,
    /// It is refreshed.
    Yes,
}

/// Reads `NAME=tap` or `NAME=tap,link-refresh`.
pub fn plugin(text: &str) -> Result<(String, Refresh), String> {
    const WHY: &str = "expected NAME=tap or NAME=tap,link-refresh";
    let (name, how) = text.split_once('=').ok_or(WHY)?;
    match how {
        _ if name.is_empty() => Err(WHY.to_owned()),
        "tap" => Ok((name.to_owned(), Refresh::No)),
        "tap,link-refresh" => Ok((name.to_owned(), Refresh::Yes)),
        _ => Err(WHY.to_owned()),
    }
}

/// What the domain of an instance is to be; `object` is the instance.
pub fn instance(object: &Value, plugins: &Plugins) -> Result<Instance, String> {
    let spec = object.get("spec").cloned().unwrap_or_default();
    let spec = InstanceSpec::deserialize(spec).map_err(|error| format!("the instance cannot be read: {error}"))?;
    let (namespace, name) = (text(object, "/metadata/namespace"), text(object, "/metadata/name"));
    let cores = spec.domain.cpu.as_ref().and_then(|cpu| cpu.cores);
    let multiqueue = spec.domain.devices.network_interface_multiqueue.unwrap_or_default();
    let queues = cores.filter(|_| multiqueue);
    let mut nics = Vec::new();
    for nic in &spec.domain.devices.interfaces {
        if nic.state() != "absent" && spec.networks.iter().all(|network| network.name != nic.name) {
            return Err(format!("failed to find network {}", nic.name));
        }
        nics.push(self::nic(nic, namespace, name, queues, plugins)?);
    }
    let guest = spec.domain.memory.as_ref().and_then(|memory| memory.guest.as_ref());
    Ok(Instance {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        uid: text(object, "/metadata/uid").to_owned(),
        memory: guest.and_then(crate::spec::Quantity::bytes),
        cores,
        nics,
    })
}

fn nic(nic: &Interface, namespace: &str, name: &str, queues: Option<u32>, plugins: &Plugins) -> Result<Nic, String> {
    let names = DeviceNames::of(namespace, name, &nic.name);
    let mac = match nic.mac_address.as_deref() {
        Some(mac) => mac.parse().map_err(|error| format!("interface {}: {error}", nic.name))?,
        None => names.mac,
    };
    let (attachment, refreshed) = match nic.binding() {
        Binding::Bridge | Binding::Masquerade => (Attachment::Tap, false),
        Binding::Passt => (Attachment::Passt, false),
        Binding::Sriov | Binding::Former => (Attachment::Elsewhere, false),
        Binding::Plugin(plugin) => match plugins.get(plugin) {
            Some(refresh) => (Attachment::Tap, *refresh == Refresh::Yes),
            None => (Attachment::Elsewhere, false),
        },
    };
    let virtio = nic.model.as_deref().is_none_or(|model| model.is_empty() || model.starts_with("virtio"));
    Ok(Nic {
        name: nic.name.clone(),
        attachment,
        state: match nic.state() {
            "absent" => None,
            "down" => Some(LinkState::Down),
            _ => Some(LinkState::Up),
        },
        model: nic.model.clone(),
        mac,
        tap: names.tap,
        boot_order: nic.boot_order,
        pci_address: nic.pci_address.as_deref().and_then(PciAddress::parse),
        acpi_index: nic.acpi_index,
        queues: queues.filter(|_| virtio && attachment == Attachment::Tap),
        refreshed,
    })
}

/// The file that the base of an instance is read from, without `.xml`. A name that could lead elsewhere is none.
pub fn base(object: &Value) -> Result<&str, String> {
    let annotations = object.pointer("/metadata/annotations");
    let named = annotations.and_then(|all| all.get(BASE_ANNOTATION)).and_then(Value::as_str);
    let name = named.unwrap_or("default");
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.starts_with('.') || name.len() > 64 || !name.chars().all(is_plain) {
        return Err(format!("annotation {BASE_ANNOTATION} is {name:?}; it must name a file of the node, without .xml"));
    }
    Ok(name)
}
