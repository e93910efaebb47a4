//! `netloom compile --domain`: the libvirt domains of the machines in some files, as an agent would define them.

use std::path::Path;

use netloom_api::machine::{INSTANCE, MACHINE};
use netloom_domain::{Base, domain};
use netloom_machine::{
    control::{Deed, Scene, decide},
    domain::{Plugins, instance},
};
use serde_json::{Value, json};

use crate::{
    failure::{Exit, Failure},
    manifests::Manifest,
    output, wanted,
};

/// Where no base is given: a domain with nothing but its NICs.
const BARE: &str = "<domain type='kvm'><memory unit='MiB'>64</memory><vcpu>1</vcpu><os><type>hvm</type></os></domain>";

/// Prints the domain of every machine and instance.
pub(crate) fn run(manifests: &[Manifest], base: Option<&Path>, plugins: &Plugins) -> Result<Exit, Failure> {
    let base = match base {
        Some(file) => {
            let cannot = |why: &dyn std::fmt::Display| Failure::usage(format_args!("--base {}: {why}", file.display()));
            let read = std::fs::read_to_string(file).map_err(|error| cannot(&error))?;
            Base::parse(&read).map_err(|error| cannot(&error))?
        }
        None => Base::parse(BARE).map_err(Failure::failed)?,
    };
    let group = |manifest: &Manifest| manifest.text("/apiVersion").starts_with(&format!("{}/", MACHINE.group));
    let mut printed = Vec::new();
    for manifest in manifests.iter().filter(|manifest| group(manifest)) {
        let object: Value = match manifest.text("/kind") {
            kind if kind == MACHINE.kind => created(wanted::placed(&manifest.object)),
            kind if kind == INSTANCE.kind => wanted::placed(&manifest.object),
            _ => continue,
        };
        let name = manifest.text("/metadata/name");
        let wanted = instance(&object, plugins).map_err(|why| Failure::refused(format_args!("{name}: {why}")))?;
        printed.push(domain(&wanted, &base));
    }
    if printed.is_empty() {
        return Err(Failure::refused("there is no virtual machine in the files; give one to print its domain"));
    }
    let printed: Vec<&str> = printed.iter().map(|text| text.trim_end()).collect();
    output::data(&output::plain(&(printed.join("\n") + "\n")))?;
    Ok(Exit::Done)
}

/// The instance that the controller would make of a machine, whether it is to run or not.
pub(super) fn created(mut machine: Value) -> Value {
    if let Some(spec) = machine.get_mut("spec").and_then(Value::as_object_mut) {
        spec.remove("running");
        spec.insert("runStrategy".to_owned(), json!("Always"));
    }
    // What it is at is of no interest, such as an instance that ended a moment ago.
    drop(machine.as_object_mut().map(|fields| fields.remove("status")));
    let asks = decide(&Scene { machines: vec![&machine], ..Scene::default() });
    let made = asks.into_iter().find_map(|ask| match ask.deed {
        Deed::Create(instance) => Some(instance),
        Deed::Patch(_) | Deed::Merge(_) | Deed::Status(_) | Deed::Delete { .. } | Deed::DeleteOrphan { .. } => None,
    });
    made.unwrap_or_default()
}
