//! The rules of virtual machines. What they are is in `netloom-machine`; here they meet the objects of a write.

mod instance;
mod migration;
mod virtual_machine;

use netloom_api::{dig, machine::InstanceSpec};
use netloom_machine::rules::{How, broken, warnings};
use serde_json::Value;

use crate::Findings;

/// Machines by the attachments that they use, as `namespace/name`.
pub(crate) const BY_ATTACHMENT: &str = "attachment";

/// Judges what an instance is to be; `prefix` is where that stands.
fn admit_spec(spec: &InstanceSpec, prefix: &str, findings: &mut Findings) {
    for rule in broken(spec, prefix) {
        match rule.how {
            How::Wrong => findings.invalid(rule.path, rule.value, rule.why),
            How::InFixedWords => findings.worded(rule.path, rule.why),
            How::Twice => findings.duplicate(rule.path, rule.value, rule.why),
        }
    }
    for warning in warnings(spec) {
        findings.warn(warning);
    }
}

/// The attachments of the networks at a path. A name without a namespace means one in the machine's own.
fn attachments(machine: &Value, networks: &str) -> Vec<String> {
    let namespace = dig::text(machine, "metadata.namespace").unwrap_or_default();
    let networks = dig::at(machine, networks).and_then(Value::as_array);
    let names = networks.into_iter().flatten().filter_map(|n| dig::text(n, "multus.networkName"));
    names.map(|name| if name.contains('/') { name.to_owned() } else { format!("{namespace}/{name}") }).collect()
}
