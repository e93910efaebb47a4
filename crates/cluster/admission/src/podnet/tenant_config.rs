//! The rules of what tenants may use.

use std::collections::BTreeSet;

use netloom_api::podnet::{Backend, HostDevice, TenantConfig, TenantConfigSpec, VniProblem};
use serde::Deserialize;
use serde_json::Value;

use crate::{Admitted, Findings, Operation, Review, Write};

/// The longest `NetworkID` of a type whose links nodes make.
const MAX_DYNAMIC_ID: usize = 11;

impl Admitted for TenantConfig {
    fn complete(review: &Review<'_>, object: &mut Value) {
        keep_masks(review, object);
    }

    fn admit(write: &Write<'_, Self>, findings: &mut Findings) {
        let Some(new) = &write.new else { return };
        content(&new.spec, findings);
        let old = write.old.as_ref().map(|old| old.spec.host_devices.as_slice()).unwrap_or_default();
        masks(write.review, &new.spec.host_devices, old, findings);
    }
}

fn same(one: &HostDevice, other: &HostDevice) -> bool {
    one.name == other.name && one.vni_type == other.vni_type
}

/// A write without the picture of used numbers keeps it.
fn keep_masks(review: &Review<'_>, object: &mut Value) {
    let read = |object: &Value| TenantConfigSpec::deserialize(object).ok();
    let Some(old) = review.old.and_then(read) else { return };
    let devices = object.get_mut("hostDevices").and_then(Value::as_array_mut).into_iter().flatten();
    for device in devices {
        let Ok(known) = HostDevice::deserialize(&*device) else { continue };
        if let Some(before) = old.host_devices.iter().find(|before| same(before, &known))
            && known.alloc.is_empty()
            && !before.alloc.is_empty()
        {
            device["alloc"] = before.alloc.clone().into();
        }
    }
}

fn masks(review: &Review<'_>, new: &[HostDevice], old: &[HostDevice], findings: &mut Findings) {
    if review.operation == Operation::Update && review.user.is_controller() {
        return;
    }
    for (at, device) in new.iter().enumerate() {
        let before = old.iter().find(|before| same(before, device)).map_or("", |before| before.alloc.as_str());
        if device.alloc != before {
            findings.forbidden(format!("hostDevices[{at}].alloc"), "is kept by the controller; leave it out");
        }
    }
}

fn content(spec: &TenantConfigSpec, findings: &mut Findings) {
    if spec.host_devices.is_empty() && spec.network_ids.is_empty() {
        findings.required("hostDevices", "a TenantConfig has hostDevices, networkIds or both");
    }
    let mut seen = BTreeSet::new();
    for (at, device) in spec.host_devices.iter().enumerate() {
        let path = |field: &str| format!("hostDevices[{at}].{field}");
        if device.name.is_empty() {
            findings.required(path("name"), "names an interface of nodes or a pool of devices");
        }
        if !seen.insert((&device.name, &device.vni_type)) {
            findings.duplicate(path("name"), device.name.as_str(), "is there already with the same vniType");
        }
        match device.numbers() {
            Ok(_) => {}
            Err(VniProblem::Half) if device.vni_type.is_empty() => {
                findings.required(path("vniType"), "is given together with vniRange: vlan or vxlan");
            }
            Err(VniProblem::Half) => findings.required(path("vniRange"), "is given together with vniType"),
            Err(VniProblem::Type) => {
                findings.not_supported(path("vniType"), device.vni_type.as_str(), &["vlan", "vxlan"]);
            }
            Err(VniProblem::Range(why)) => findings.invalid(path("vniRange"), device.vni_range.as_str(), why),
        }
    }
    for (kind, id) in &spec.network_ids {
        let path = format!("networkIds[{kind}]");
        if kind.is_empty() || id.is_empty() {
            findings.required(path, "both a NetworkType and its NetworkID are needed");
        } else if Backend::named(kind).is_dynamic() && id.len() > MAX_DYNAMIC_ID {
            let why = format!("has more than {MAX_DYNAMIC_ID} characters, the most for a network of type {kind}");
            findings.invalid(path, id.as_str(), why);
        }
    }
}
