//! `netloom compile`: what the controller would write for the objects of some files.
//!
//! Runs the controller's own functions and reaches nothing but the files: no cluster, no clock.

use std::collections::BTreeSet;

use netloom_compile::{Compiled, Compiler, NodeTarget, Snapshot, settle};
use serde_json::{Value, json};

use crate::{
    args::{Format, cluster::CompileArgs},
    failure::{Exit, Failure},
    manifests::{self, Manifest},
    output::{self, Output},
    settings, text, wanted,
};

pub(crate) fn run(args: &CompileArgs) -> Result<Exit, Failure> {
    let CompileArgs { files, config, node, host, domain, base, binding, format } = args;
    let manifests = manifests::read(files)?;
    if *domain {
        return super::domain::run(&manifests, base.as_deref(), &binding.iter().cloned().collect());
    }
    let config = config.as_deref().map(settings::read).transpose()?;
    let mut snapshot = snapshot(&manifests, config, Output::new(format.asked().is_some()));
    // What is generated of intents is there before nodes are compiled for, as the controller brings it about.
    let compiled = settle(&mut Compiler::default(), &mut snapshot, &mut BTreeSet::new());
    if let Some(node) = node
        && compiled.nodes.get(node).is_none()
    {
        return Err(Failure::refused(format_args!(
            "no node {node:?} to compile for: the files need both the Node and a NodeNetworkState for it"
        )));
    }
    mention_silent(&manifests, &compiled, Output::new(format.asked().is_some()));
    let only = node.as_deref();
    let objects = compiled.objects(&snapshot, only);
    let documents = if *host { documents(&compiled, only)? } else { Vec::new() };
    let printed = match format.or_yaml() {
        Format::Yaml | Format::Table => stream(&objects, &documents),
        Format::Json => text::json(&list(&objects, &documents)?),
    };
    output::data(&output::plain(&printed))?;
    Ok(Exit::Done)
}

/// Nodes of which nothing was reported have no links to match, so nothing is compiled for them.
fn mention_silent(manifests: &[Manifest], compiled: &Compiled, output: Output) {
    let nodes = manifests.iter().filter(|manifest| manifest.text("/kind") == "Node");
    let silent: Vec<&str> =
        nodes.map(|node| node.text("/metadata/name")).filter(|name| compiled.nodes.get(name).is_none()).collect();
    if !silent.is_empty() {
        output.note(&format!(
            "nothing is compiled for nodes without a NodeNetworkState, which says what links they have: {}",
            silent.join(", ")
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

/// The nmstate document of each node, as its agent reads it.
fn documents(compiled: &Compiled, only: Option<&str>) -> Result<Vec<(String, netloom_nmstate::Document)>, Failure> {
    let wanted = compiled.nodes.iter().filter(|node_target| only.is_none_or(|node| node == node_target.node));
    wanted.map(document).collect()
}

fn document(node_target: NodeTarget<'_>) -> Result<(String, netloom_nmstate::Document), Failure> {
    let text = node_target.desired.document.as_ref().map(Value::to_string).unwrap_or_default();
    let read = netloom_nmstate::parse(node_target.node, text.as_bytes()).map_err(Failure::failed)?;
    Ok((node_target.node.to_owned(), read))
}

fn stream(objects: &[Value], documents: &[(String, netloom_nmstate::Document)]) -> String {
    let mut printed = netloom_yaml::print_stream(objects);
    for (node, document) in documents {
        text::push(&mut printed, format_args!("---\n# The nmstate document of {node}.\n{}", document.to_yaml()));
    }
    printed
}

fn list(items: &[Value], documents: &[(String, netloom_nmstate::Document)]) -> Result<Value, Failure> {
    let mut list = json!({"apiVersion": "v1", "kind": "List", "items": items});
    for (node, document) in documents {
        let read: Value = serde_json::from_str(&document.to_json()).map_err(Failure::failed)?;
        list["hosts"][node] = read;
    }
    Ok(list)
}
