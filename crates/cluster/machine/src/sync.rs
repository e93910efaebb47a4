//! From a machine to its instance: what of a change reaches one that runs, and what waits until it is started again.

use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::{
    BASE_ANNOTATION,
    json::{list, named, text},
    spec::{Binding, Interface},
};

const NICS: &str = "/spec/domain/devices/interfaces";
const NETWORKS: &str = "/spec/networks";
const TEMPLATE: &str = "/spec/template";

/// The NICs and networks of an object that may be another one's template.
#[derive(Debug, Clone, PartialEq)]
struct Wiring {
    nics: Vec<Value>,
    networks: Vec<Value>,
}

impl Wiring {
    fn of(object: &Value, prefix: &str) -> Self {
        Self {
            nics: list(object, &format!("{prefix}{NICS}")).to_vec(),
            networks: list(object, &format!("{prefix}{NETWORKS}")).to_vec(),
        }
    }

    fn drop(&mut self, name: &str) {
        self.nics.retain(|nic| text(nic, "/name") != name);
        self.networks.retain(|network| text(network, "/name") != name);
    }

    /// The JSON patch from what an object has to this; it fails where somebody else has changed either meanwhile.
    fn patch(&self, object: &Value, prefix: &str) -> Option<Value> {
        let before = Self::of(object, prefix);
        if before == *self {
            return None;
        }
        let places = [(format!("{prefix}{NETWORKS}"), &self.networks), (format!("{prefix}{NICS}"), &self.nics)];
        let version = || json!({"op": "test", "path": "/metadata/resourceVersion", "value": text(object, "/metadata/resourceVersion")});
        let tests = places.iter().map(|(path, _)| match object.pointer(path) {
            Some(old) => json!({"op": "test", "path": path, "value": old}),
            // What is not there cannot be tested.
            None => version(),
        });
        let mut operations: Vec<Value> = tests.collect();
        for (path, new) in &places {
            if object.pointer(path).is_none() && new.is_empty() {
                continue;
            }
            operations.extend(parents(object, path));
            operations.push(json!({"op": "add", "path": path, "value": new}));
        }
        Some(operations.into())
    }
}

/// What must be made before something can be put at a place.
fn parents(object: &Value, path: &str) -> Vec<Value> {
    let ends = path.match_indices('/').skip(1).map(|(end, _)| &path[..end]);
    let missing = ends.filter(|parent| object.pointer(parent).is_none());
    missing.map(|parent| json!({"op": "add", "path": parent, "value": {}})).collect()
}

/// The patch that brings a running instance to its machine; none where nothing has to be brought over.
pub fn to_instance(machine: &Value, instance: &Value) -> Option<Value> {
    let wanted = Wiring::of(machine, TEMPLATE);
    let mut wiring = Wiring::of(instance, "");
    for nic in &wanted.nics {
        let (name, state) = (text(nic, "/name"), text(nic, "/state"));
        let known = wiring.nics.iter_mut().find(|known| text(known, "/name") == name);
        match known {
            // Once absent, it has to be gone before it can come again.
            Some(known) if text(known, "/state") == state || text(known, "/state") == "absent" => {}
            Some(known) => set_state(known, nic.get("state")),
            None => {
                if let Some(network) = named(&wanted.networks, name).filter(|_| state != "absent" && is_pluggable(nic))
                {
                    wiring.nics.push(nic.clone());
                    wiring.networks.push(network.clone());
                }
            }
        }
    }
    for name in unplugged(instance) {
        wiring.drop(name);
    }
    wiring.patch(instance, "")
}

/// The patch that takes NICs out of a machine that are unplugged for good.
pub fn to_machine(machine: &Value, instance: &Value) -> Option<Value> {
    let mut wiring = Wiring::of(machine, TEMPLATE);
    let absent: Vec<String> = wiring.nics.iter().filter(|nic| text(nic, "/state") == "absent").map(name).collect();
    for name in absent {
        let asked = named(list(instance, NICS), &name).is_some();
        let reported = named(list(instance, "/status/interfaces"), &name).is_some();
        if !asked && !reported && runs(instance) {
            wiring.drop(&name);
        }
    }
    wiring.patch(machine, TEMPLATE)
}

fn name(nic: &Value) -> String {
    text(nic, "/name").to_owned()
}

/// The NICs of an instance that were asked to go and are gone. Before it runs nobody reports NICs.
fn unplugged(instance: &Value) -> Vec<&str> {
    let absent =
        list(instance, NICS).iter().filter(|nic| text(nic, "/state") == "absent").map(|nic| text(nic, "/name"));
    let reported = list(instance, "/status/interfaces");
    absent.filter(|name| runs(instance) && named(reported, name).is_none()).collect()
}

fn runs(instance: &Value) -> bool {
    text(instance, "/status/phase") == "Running"
}

fn set_state(nic: &mut Value, state: Option<&Value>) {
    let Some(fields) = nic.as_object_mut() else { return };
    match state {
        Some(state) => drop(fields.insert("state".to_owned(), state.clone())),
        None => drop(fields.remove("state")),
    }
}

fn is_pluggable(nic: &Value) -> bool {
    Interface::deserialize(nic).is_ok_and(|nic| match nic.binding() {
        Binding::Bridge | Binding::Sriov => true,
        Binding::Masquerade | Binding::Passt | Binding::Plugin(_) | Binding::Former => false,
    })
}

/// What of a machine reaches its instance only when that is started again, by field; empty when nothing does.
pub fn needs_restart(machine: &Value, instance: &Value) -> Vec<String> {
    let empty = Value::Null;
    let (wanted, has) =
        (machine.pointer("/spec/template/spec").unwrap_or(&empty), instance.get("spec").unwrap_or(&empty));
    let mut found = Vec::new();
    differences(&without_wiring(wanted), &without_wiring(has), "spec.template.spec", &mut found);
    let named_base = instance.pointer("/metadata/annotations").and_then(|all| all.get(BASE_ANNOTATION));
    if base_of(machine) != named_base {
        found.push(format!("annotation {BASE_ANNOTATION}"));
    }
    let (wanted, has) = (Wiring::of(machine, TEMPLATE), Wiring::of(instance, ""));
    let names = has.nics.iter().chain(wanted.nics.iter().filter(|nic| named(&has.nics, text(nic, "/name")).is_none()));
    let left = names.map(|nic| text(nic, "/name")).filter(|name| is_left(&wanted, &has, name));
    found.extend(left.map(|name| format!("interface {name}")));
    found
}

/// The base that an instance of a machine gets.
pub(crate) fn base_of(machine: &Value) -> Option<&Value> {
    let own = ["/spec/template/metadata/annotations", "/metadata/annotations"];
    own.into_iter().find_map(|place| machine.pointer(place)?.get(BASE_ANNOTATION))
}

/// Whether what a machine says of a NIC is not what its instance has, nor is going to have while it runs.
fn is_left(wanted: &Wiring, has: &Wiring, name: &str) -> bool {
    let is_absent = |nic: &Value| text(nic, "/state") == "absent";
    let bare = |nic: &Value| {
        let mut nic = nic.clone();
        set_state(&mut nic, None);
        nic
    };
    match (named(&wanted.nics, name), named(&has.nics, name)) {
        // One that goes is on its way, and so is one that the machine has no more.
        (Some(nic), _) if is_absent(nic) => false,
        (None, Some(nic)) => !is_absent(nic),
        // It has to be gone before it can come again, by being plugged in.
        (Some(new), Some(nic)) if is_absent(nic) => !is_pluggable(new),
        (Some(new), Some(nic)) => bare(new) != bare(nic) || named(&wanted.networks, name) != named(&has.networks, name),
        (Some(new), None) => !is_pluggable(new),
        (None, None) => false,
    }
}

fn without_wiring(spec: &Value) -> Value {
    let mut spec = spec.clone();
    if let Some(fields) = spec.as_object_mut() {
        fields.remove("networks");
    }
    if let Some(devices) = spec.pointer_mut("/domain/devices").and_then(Value::as_object_mut) {
        devices.remove("interfaces");
    }
    spec
}

/// Where two values differ; what is empty is as good as missing.
fn differences(a: &Value, b: &Value, path: &str, found: &mut Vec<String>) {
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    };
    match (a, b) {
        _ if is_empty(a) && is_empty(b) => {}
        (Value::Object(_) | Value::Null, Value::Object(_) | Value::Null) => {
            let keys = |value: &Value| value.as_object().map(|fields| fields.keys().cloned().collect::<Vec<_>>());
            let mut all: Vec<String> = [keys(a), keys(b)].into_iter().flatten().flatten().collect();
            all.sort();
            all.dedup();
            for key in all {
                let of = |value: &Value| value.get(&key).cloned().unwrap_or_default();
                differences(&of(a), &of(b), &format!("{path}.{key}"), found);
            }
        }
        _ if a == b => {}
        _ => found.push(path.to_owned()),
    }
}
