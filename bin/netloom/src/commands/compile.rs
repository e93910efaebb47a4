//! `netloom compile`: what the controller would write for the objects of some files.
//!
//! Runs the controller's own functions and reaches nothing but the files: no cluster, no clock.

use std::{collections::BTreeSet, path::Path};

use netloom_compile::{Compiler, Snapshot, settle};
use serde_json::{Value, json};

use crate::{
    args::{Format, cluster::CompileArgs},
    failure::{Exit, Failure},
    foreseen::{Bases, Foreseen},
    manifests::{self, Manifest},
    output::{self, Output},
    settings, text, wanted,
};

pub(crate) fn run(args: &CompileArgs) -> Result<Exit, Failure> {
    let CompileArgs { files, config, node, host, frr, domain, base, binding, format } = args;
    if !base.is_empty() && !host && !frr && !domain {
        return Err(Failure::usage(
            "--base is what nodes have before a fabric, or what domains are made of: print --frr, --host or --domain with it",
        ));
    }
    let manifests = manifests::read(files)?;
    if *domain {
        let [base, more @ ..] = base.as_slice() else {
            return super::domain::run(&manifests, None, &binding.iter().cloned().collect());
        };
        if !more.is_empty() {
            return Err(Failure::usage("--base is named more than once: domains are made of one file"));
        }
        return super::domain::run(&manifests, Some(Path::new(base)), &binding.iter().cloned().collect());
    }
    let bases = Bases::read(base)?;
    let config = config.as_deref().map(settings::read).transpose()?;
    let output = Output::new(format.asked().is_some());
    let mut snapshot = snapshot(&manifests, config, output);
    let silent = stand_in(&manifests, &mut snapshot);
    // What is generated of intents is there before nodes are compiled for, as the controller brings it about.
    let compiled = settle(&mut Compiler::default(), &mut snapshot, &mut BTreeSet::new());
    if let Some(node) = node
        && compiled.nodes.get(node).is_none()
    {
        return Err(Failure::refused(format_args!("no node {node:?} to compile for: no file has the Node")));
    }
    mention_silent(&silent, output);
    let only = node.as_deref();
    let mut objects = compiled.objects(&snapshot, only);
    objects.retain(|object| !is_stand_in(object, &silent));
    let mut hosts = Vec::new();
    if *host || *frr {
        let wanted = compiled.nodes.iter().filter(|node_target| only.is_none_or(|node| node == node_target.node));
        hosts = wanted.map(|node_target| Foreseen::of(node_target, &bases)).collect::<Result<_, _>>()?;
        mention_left_out(&hosts, *frr, output)?;
    }
    let printed = match format.or_yaml() {
        Format::Yaml | Format::Table => stream(&objects, &hosts, (*host, *frr)),
        Format::Json => text::json(&list(&objects, &hosts, (*host, *frr))?),
    };
    output::data(&output::plain(&printed))?;
    Ok(Exit::Done)
}

/// Puts an empty network state in for each node that has none, as its agent would report it before it knows any link; gives
/// these nodes. What is asked of links comes to nothing there.
fn stand_in(manifests: &[Manifest], snapshot: &mut Snapshot) -> BTreeSet<String> {
    let named = |kind: &'static str, pointer: &'static str| {
        let of_kind = manifests.iter().filter(move |manifest| manifest.text("/kind") == kind);
        of_kind.map(move |manifest| manifest.text(pointer).to_owned())
    };
    let known: BTreeSet<String> = named("NodeNetworkState", "/spec/nodeName").collect();
    let silent: BTreeSet<String> = named("Node", "/metadata/name").filter(|node| !known.contains(node)).collect();
    for node in &silent {
        snapshot.put(&json!({
            "apiVersion": "nmstate.io/v1", "kind": "NodeNetworkState",
            "metadata": {"namespace": "default", "name": node}, "spec": {"managed": true, "nodeName": node},
        }));
    }
    silent
}

fn is_stand_in(object: &Value, silent: &BTreeSet<String>) -> bool {
    object["kind"] == "NodeNetworkState"
        && object["metadata"]["name"].as_str().is_some_and(|name| silent.contains(name))
}

fn mention_silent(silent: &BTreeSet<String>, output: Output) {
    if !silent.is_empty() {
        let nodes: Vec<&str> = silent.iter().map(String::as_str).collect();
        output.note(&format!(
            "nothing that is about links is compiled for nodes without a NodeNetworkState, which says what links they have: {}",
            nodes.join(", ")
        ));
    }
}

/// The objects of the files; those that nothing is compiled from are named once.
fn snapshot(manifests: &[Manifest], config: Option<Value>, output: Output) -> Snapshot {
    let objects: Vec<Value> = manifests.iter().map(|manifest| wanted::placed(&manifest.object)).chain(config).collect();
    let (snapshot, idle) = wanted::snapshot(&objects);
    if !idle.is_empty() {
        output.note(&format!("nothing is compiled from objects of these kinds yet: {}", idle.join(", ")));
    }
    snapshot
}

/// Nodes have a fabric and no base file is named for them: a document goes without it, lines of FRR would be none.
fn mention_left_out(hosts: &[Foreseen], frr: bool, output: Output) -> Result<(), Failure> {
    let nodes: Vec<&str> = hosts.iter().filter(|host| host.without_fabric).map(|host| host.node.as_str()).collect();
    if nodes.is_empty() {
        return Ok(());
    }
    let nodes = nodes.join(", ");
    if frr {
        return Err(Failure::refused(format_args!(
            "no base file for nodes with a fabric: {nodes}; name one with --base NODE=FILE, or one for all with --base FILE"
        )));
    }
    output.note(&format!(
        "the documents are without the fabric, whose base is not known (--base [NODE=]FILE), on: {nodes}"
    ));
    Ok(())
}

fn stream(objects: &[Value], hosts: &[Foreseen], (host, frr): (bool, bool)) -> String {
    let mut printed = netloom_yaml::print_stream(objects);
    for Foreseen { node, document, bridge_vlans, routing, without_fabric: _ } in hosts {
        if host {
            text::push(&mut printed, format_args!("---\n# The nmstate document of {node}.\n{}", document.to_yaml()));
            for vlan in bridge_vlans {
                text::push(&mut printed, format_args!("# {vlan}\n"));
            }
        }
        if frr {
            // A text in a stream of documents: a block of lines, each as it is.
            text::push(&mut printed, format_args!("---\n# What FRR runs with on {node}.\nfrr: |\n"));
            for line in routing.lines() {
                text::push(&mut printed, format_args!("  {line}\n"));
            }
        }
    }
    printed
}

fn list(items: &[Value], hosts: &[Foreseen], (host, frr): (bool, bool)) -> Result<Value, Failure> {
    let mut list = json!({"apiVersion": "v1", "kind": "List", "items": items});
    for Foreseen { node, document, bridge_vlans, routing, without_fabric: _ } in hosts {
        if host {
            let read: Value = serde_json::from_str(&document.to_json()).map_err(Failure::failed)?;
            list["hosts"][node] = read;
            if !bridge_vlans.is_empty() {
                list["bridgeVlans"][node] = json!(bridge_vlans);
            }
        }
        if frr {
            list["frr"][node] = json!(routing);
        }
    }
    Ok(list)
}
