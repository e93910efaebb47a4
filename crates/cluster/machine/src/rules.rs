//! What admission says of a machine or an instance: rules that do not depend on each other, several of which may be broken
//! by one NIC.

use netloom_domain::PciAddress;
use netloom_types::MacAddr;
use serde_json::{Value, json};

use crate::spec::{Binding, InstanceSpec, Interface};

/// A broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The field.
    pub path: String,
    /// What it says.
    pub value: Value,
    /// What is wrong with that.
    pub why: String,
    /// What kind of wrong it is.
    pub how: How,
}

/// A kind of wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// The value breaks a rule.
    Wrong,
    /// The same, in words that clients of `KubeVirt` know.
    InFixedWords,
    /// It is there twice.
    Twice,
}

/// All rules that a specification breaks; `prefix` is where it is in its object.
pub fn broken(spec: &InstanceSpec, prefix: &str) -> Vec<Broken> {
    let mut found = Vec::new();
    let nics = &spec.domain.devices.interfaces;
    let all =
        || nics.iter().enumerate().map(|(at, nic)| (at, nic, format!("{prefix}.domain.devices.interfaces[{at}]")));
    // One rule after the other, in the order of KubeVirt: the first cause is what most clients show.
    for (_, nic, place) in all() {
        state(spec, nic, &place, &mut found);
    }
    for (_, nic, place) in all().filter(|(_, nic, _)| nic.bindings() > 1) {
        push(&mut found, place, nic.name.as_str(), "names more than one binding; leave one".to_owned());
    }
    for (at, nic, place) in all() {
        if nics[..at].iter().any(|other| other.name == nic.name) {
            duplicate(&mut found, format!("{place}.name"), &nic.name);
        }
    }
    for (_, nic, place) in all() {
        if spec.networks.iter().all(|network| network.name != nic.name) {
            let why = format!("there is no network of this name; add one to {prefix}.networks");
            push(&mut found, format!("{place}.name"), nic.name.as_str(), why);
        }
    }
    for (at, network) in spec.networks.iter().enumerate() {
        let place = format!("{prefix}.networks[{at}].name");
        if spec.domain.devices.interfaces.iter().all(|nic| nic.name != network.name) {
            let why = format!("no interface is on this network; add one to {prefix}.domain.devices.interfaces");
            push(&mut found, place.clone(), network.name.as_str(), why);
        }
        if spec.networks[..at].iter().any(|other| other.name == network.name) {
            duplicate(&mut found, place, &network.name);
        }
    }
    for (_, nic, place) in all() {
        fields(nic, &place, &mut found);
    }
    if let Some(guest) = spec.domain.memory.as_ref().and_then(|memory| memory.guest.as_ref())
        && guest.bytes().is_none_or(|bytes| bytes == 0)
    {
        let why = "must be an amount of memory such as 64Mi".to_owned();
        push(&mut found, format!("{prefix}.domain.memory.guest"), json!(guest), why);
    }
    found
}

fn push(found: &mut Vec<Broken>, path: String, value: impl Into<Value>, why: String) {
    found.push(Broken { path, value: value.into(), why, how: How::Wrong });
}

fn duplicate(found: &mut Vec<Broken>, path: String, name: &str) {
    found.push(Broken { path, value: name.into(), why: "is there twice".to_owned(), how: How::Twice });
}

fn state(spec: &InstanceSpec, nic: &Interface, place: &str, found: &mut Vec<Broken>) {
    let (name, state, path) = (&nic.name, nic.state(), format!("{place}.state"));
    let mut refuse =
        |why: String| found.push(Broken { path: path.clone(), value: state.into(), why, how: How::InFixedWords });
    if !["", "absent", "up", "down"].contains(&state) {
        refuse(format!("logical {name} interface state value is unsupported: {state}"));
    }
    if nic.binding() == Binding::Sriov && ["up", "down"].contains(&state) {
        refuse(format!("{name:?} interface's state {state:?} is not supported for SR-IOV NICs"));
    }
    if state == "absent" {
        if nic.binding() != Binding::Bridge {
            refuse(format!("{name:?} interface's state {state:?} is supported only for bridge binding"));
        }
        if spec.networks.iter().any(|network| network.name == *name && network.is_default()) {
            refuse(format!("{name:?} interface's state {state:?} is not supported on default networks"));
        }
    }
}

/// What would get into a domain and not be what it seems, or not be taken by libvirt at all.
fn fields(nic: &Interface, place: &str, found: &mut Vec<Broken>) {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if nic.name.is_empty() || !nic.name.chars().all(is_plain) {
        let why = "must be letters, digits, dashes and underscores: the domain knows the interface by it".to_owned();
        push(found, format!("{place}.name"), nic.name.as_str(), why);
    }
    if let Some(mac) = &nic.mac_address
        && mac.parse::<MacAddr>().map_or(true, |mac| mac.is_multicast() || mac.is_zero())
    {
        let why = "must be the address of one station, such as 02:00:5e:00:00:01".to_owned();
        push(found, format!("{place}.macAddress"), mac.as_str(), why);
    }
    if let Some(address) = &nic.pci_address
        && PciAddress::parse(address).is_none()
    {
        push(found, format!("{place}.pciAddress"), address.as_str(), "must be like 0000:81:00.1".to_owned());
    }
    if let Some(index) = nic.acpi_index
        && !(1..=16383).contains(&index)
    {
        push(found, format!("{place}.acpiIndex"), index, "must be from 1 to 16383".to_owned());
    }
    if nic.boot_order == Some(0) {
        push(found, format!("{place}.bootOrder"), 0, "must be at least 1".to_owned());
    }
}

/// Why a machine may not be run like this.
pub fn run_strategy(strategy: Option<&str>) -> Option<String> {
    match strategy {
        None | Some("Always" | "Halted") => None,
        Some(other) => Some(format!(
            "run strategy {other} is not supported; Always keeps the machine running, Halted keeps it off"
        )),
    }
}

/// What a user should know although nothing is wrong: a probe that goes over a NIC without a link fails.
pub fn warnings(spec: &InstanceSpec) -> Vec<String> {
    let is_default = |name: &str| spec.networks.iter().any(|network| network.name == name && network.is_default());
    let primary = spec.domain.devices.interfaces.iter().find(|nic| is_default(&nic.name));
    let Some(nic) = primary.filter(|nic| nic.state() == "down") else { return Vec::new() };
    let remote = |probe: &Option<crate::spec::Probe>| probe.as_ref().is_some_and(crate::spec::Probe::is_remote);
    let mut found = Vec::new();
    if remote(&spec.readiness_probe) {
        let what = "the readiness probe goes over it, so the machine will not be ready";
        found.push(format!("interface {:?} is down: {what}", nic.name));
    }
    if remote(&spec.liveness_probe) {
        let what = "the liveness probe goes over it, so on platforms that run such probes the machine is started again";
        found.push(format!("interface {:?} is down: {what}", nic.name));
    }
    found
}
