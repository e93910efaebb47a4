//! `netloom explain`: which NIC of which virtual machine a tap of a node is.
//!
//! The name of a tap is made of names of the instance and of the network, and does not lead back to them; so the NICs of all
//! instances are gone through. Nothing is asked of the node.

use std::path::Path;

use netloom_api::machine::{INSTANCE, MACHINE};
use netloom_machine::{API_VERSION, preview::of_tap};
use serde_json::{Value, json};

use super::{domain::created, result};
use crate::{
    args::cluster::ExplainArgs,
    cluster::Cluster,
    connection::asynchronously,
    failure::{Exit, Failure},
    manifests, output,
    text::push,
    wanted,
};

pub(crate) fn run(args: &ExplainArgs) -> Result<Exit, Failure> {
    let ExplainArgs { tap, against, kubeconfig, format } = args;
    let instances = if against.is_empty() { of_cluster(kubeconfig.as_deref())? } else { of_files(against)? };
    let Some((instance, nic)) = of_tap(tap, &instances) else {
        return Err(Failure::refused(format_args!(
            "{tap:?} is the tap of no virtual machine here, of {} that were looked at; `netloom state explain {tap}` on the \
             node says who asked for a link",
            instances.len()
        )));
    };
    let data = explained(tap, instance, nic);
    let printed = result(&data, format.asked()).unwrap_or_else(|| output::plain(&for_users(&data)).into_owned());
    output::data(&printed)?;
    Ok(Exit::Done)
}

/// The instances of a cluster.
fn of_cluster(kubeconfig: Option<&Path>) -> Result<Vec<Value>, Failure> {
    let mut instances = Vec::new();
    asynchronously(async {
        let cluster = Cluster::connect(kubeconfig).await?;
        instances = cluster.all(API_VERSION, INSTANCE.kind).await?;
        Ok(Exit::Done)
    })?;
    Ok(instances)
}

/// The instances of files, and those that the controller would make of machines there.
fn of_files(files: &[std::path::PathBuf]) -> Result<Vec<Value>, Failure> {
    let (mut instances, mut made) = (Vec::new(), Vec::new());
    for object in manifests::read(files)?.iter().map(|manifest| wanted::placed(&manifest.object)) {
        match object["kind"].as_str() {
            _ if object["apiVersion"] != API_VERSION => {}
            Some(kind) if kind == INSTANCE.kind => instances.push(object),
            Some(kind) if kind == MACHINE.kind => made.push(created(object)),
            _ => {}
        }
    }
    instances.append(&mut made);
    Ok(instances)
}

fn item<'a>(object: &'a Value, list: &str, name: &str) -> Option<&'a Value> {
    object.pointer(list)?.as_array()?.iter().find(|item| item["name"] == name)
}

/// What is known of a NIC: who has it, where it is, what it is on, and its link as it is wanted and as it was reported.
fn explained(tap: &str, instance: &Value, nic: &str) -> Value {
    let wanted = item(instance, "/spec/domain/devices/interfaces", nic).cloned().unwrap_or_default();
    let network = item(instance, "/spec/networks", nic).cloned().unwrap_or_default();
    let reported = item(instance, "/status/interfaces", nic).cloned().unwrap_or_default();
    let state = wanted["state"].as_str().filter(|state| !state.is_empty()).unwrap_or("up");
    json!({
        "tap": tap,
        "instance": {"namespace": instance["metadata"]["namespace"], "name": instance["metadata"]["name"]},
        "node": instance.pointer("/status/nodeName"),
        "interface": nic,
        "network": network.pointer("/multus/networkName").cloned().unwrap_or_else(|| json!("pod")),
        "wanted": state,
        "linkState": reported["linkState"],
        "mac": reported["mac"],
    })
}

fn for_users(data: &Value) -> String {
    let text = |pointer: &str| data.pointer(pointer).and_then(Value::as_str);
    let or = |pointer: &str, otherwise: &'static str| text(pointer).unwrap_or(otherwise).to_owned();
    let (namespace, name) = (or("/instance/namespace", ""), or("/instance/name", ""));
    let mut printed = format!(
        "tap {}: interface {} of {} \"{namespace}/{name}\"\n",
        or("/tap", ""),
        or("/interface", ""),
        INSTANCE.kind
    );
    push(&mut printed, format_args!("  node: {}\n", or("/node", "none yet")));
    let network = match text("/network") {
        Some("pod") | None => "pod network".to_owned(),
        Some(network) => format!("network {network}"),
    };
    push(&mut printed, format_args!("  on: {network}\n"));
    let link = or("/linkState", "not in the domain");
    push(&mut printed, format_args!("  link: wanted {}, reported {link}\n", or("/wanted", "up")));
    if let Some(mac) = text("/mac") {
        push(&mut printed, format_args!("  address in the guest: {mac}\n"));
    }
    printed
}
