//! `netloom plan`: what would change for each node if some objects were applied or deleted, or a revision restored.
//!
//! Runs the controller's own functions on the objects of a cluster or of files, once without and once
//! with the change, and prints the difference. Nothing is written anywhere.

mod deletion;
mod machines;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use netloom_api::{GroupKind, condition::Truth, foreign, pipeline::network_config_revision::RevisionPhase};
use netloom_compile::{
    Compiled, Compiler, Frozen, NodeState, ObjectKey, ObjectRef, Readable as _, Snapshot,
    difference::{ChangeKind, Entry, NodeDifference, differences},
    reason, settle,
};
use netloom_controller_core::{GENERATED_BY, Kinds};
use serde_json::{Value, json};

use crate::{
    args::cluster::PlanArgs,
    cluster::Cluster,
    commands::{
        diff::differs,
        result,
        validate::{self, Verdict},
    },
    connection::asynchronously,
    failure::{Exit, Failure},
    manifests::{self, Manifest},
    output::{Colour, Output, plain},
    text::push,
    wanted,
};

/// How many names of nodes with the same changes are printed before the rest is only counted.
const NAMED: usize = 5;

pub(crate) fn run(args: &PlanArgs) -> Result<Exit, Failure> {
    let PlanArgs { files, deleted, revision, against, kubeconfig, node, format } = args;
    let output = Output::new(format.asked().is_some());
    let (base, home) = if against.is_empty() { of_cluster(kubeconfig.as_deref())? } else { of_files(against)? };
    let mut changed_machines = Vec::new();
    let mut compiler = Compiler::default();
    // What is generated of other objects is planned as it will be, also where it stands as it was.
    let mut now = snapshot(&base, output);
    let before = settle(&mut compiler, &mut now, &mut generated(&base));
    mention_failure(&now, &before, output);
    mention_holds(&base, output);
    mention_passed_over(&now, output);
    let node_targets = if let Some(name) = revision {
        let found = now.revisions.iter().find(|(key, _)| key.name == *name);
        let (_, frozen) = found.ok_or_else(|| unknown(name, &now))?;
        compiler.node_targets(&now, frozen).ok_or_else(|| incomplete(name, &now.frozen(frozen)))?
    } else {
        let (left, gone) = deletion::without(&base, &home, deleted)?;
        allowed(&gone, output)?;
        // Once: standard input cannot be read again.
        let manifests = manifests::read(files)?;
        let given = placed(&manifests);
        allowed(&validate::verdict(manifests, &left), output)?;
        let all = wanted::overlaid(&left, &given);
        changed_machines = machines::changes(&left, &all);
        let mut then = snapshot(&all, output);
        let after = settle(&mut compiler, &mut then, &mut generated(&left));
        mention_trouble(&given, &before, &after, output);
        after.nodes
    };
    let nodes = if node.is_some() { 1 } else { node_targets.len() };
    if let Some(node) = node
        && node_targets.get(node).is_none()
        && before.nodes.get(node).is_none()
    {
        return Err(Failure::refused(format_args!("there is no node {node:?} with a NodeNetworkState")));
    }
    let mut found = differences(&before.nodes, &node_targets);
    if let Some(node) = node {
        found.retain_mut(|difference| {
            difference.nodes.retain(|known| known == node);
            !difference.nodes.is_empty()
        });
    }
    let asked = format.asked();
    let mut data = data(&found, nodes);
    if !changed_machines.is_empty() {
        data["machines"] = machines::data(&changed_machines);
    }
    let for_users = || for_users(&found, nodes, output) + &plain(&machines::text(&changed_machines));
    let printed = result(&data, asked).unwrap_or_else(for_users);
    differs(&printed, !found.is_empty() || !changed_machines.is_empty())
}

/// The objects that were generated of others and stand there.
fn generated(objects: &[Value]) -> BTreeSet<ObjectRef> {
    let is_generated = |object: &&Value| object["metadata"]["labels"][GENERATED_BY].is_string();
    let reference = |object: &Value| {
        let kind = object["kind"].as_str()?;
        let group = object["apiVersion"].as_str()?.split_once('/').map_or("", |(group, _)| group);
        let kind = netloom_api::registry::find(group, kind).map(|kind| GroupKind::new(kind.group, kind.kind))?;
        let text = |name: &str| object["metadata"][name].as_str().unwrap_or_default();
        Some(ObjectRef { kind, key: ObjectKey::new(text("namespace"), text("name")) })
    };
    objects.iter().filter(is_generated).filter_map(reference).collect()
}

/// Says what a server would, and ends where it would refuse something.
fn allowed(Verdict { refusals, warnings }: &Verdict, output: Output) -> Result<(), Failure> {
    for line in refusals {
        output.refuse(line);
    }
    for line in warnings {
        output.warn(line);
    }
    if refusals.is_empty() {
        return Ok(());
    }
    Err(Failure::refused("a server would refuse this, so nothing is planned; the lines above say why"))
}

fn unknown(name: &str, snapshot: &Snapshot) -> Failure {
    let known: Vec<&str> = snapshot.revisions.iter().map(|(key, _)| key.name.as_str()).collect();
    let known = if known.is_empty() { "there is none".to_owned() } else { format!("there are {}", known.join(", ")) };
    Failure::refused(format_args!("there is no NetworkConfigRevision {name:?}; {known}"))
}

fn incomplete(name: &str, frozen: &Frozen<'_>) -> Failure {
    Failure::refused(format_args!(
        "NetworkConfigRevision {name:?} cannot be read whole: these NetworkConfigRevisionPart objects are missing: {}",
        frozen.missing.join(", ")
    ))
}

/// The objects of files, where a server would put them, and the namespace of those that name none.
fn of_files(files: &[PathBuf]) -> Result<(Vec<Value>, String), Failure> {
    Ok((placed(&manifests::read(files)?), "default".to_owned()))
}

/// Objects where a server would put them.
fn placed(manifests: &[Manifest]) -> Vec<Value> {
    manifests.iter().map(|manifest| wanted::placed(&manifest.object)).collect()
}

/// Every object of a cluster that decisions are made from or rules look at, and the namespace of its kubeconfig.
fn of_cluster(kubeconfig: Option<&Path>) -> Result<(Vec<Value>, String), Failure> {
    let (mut objects, mut home) = (Vec::new(), String::new());
    asynchronously(async {
        let cluster = Cluster::connect(kubeconfig).await?;
        cluster.namespace().clone_into(&mut home);
        let viewed = foreign::VIEWED.iter().filter(|kind| !Kinds::built_in().has(**kind));
        // Who may plan need not be allowed to look into the namespace of agents; what a revision says of them is enough.
        for kind in Kinds::built_in().all().iter().chain(viewed).filter(|kind| **kind != foreign::LEASE) {
            if foreign::only_one(*kind).is_some() {
                objects.extend(cluster.only(*kind).await?);
                continue;
            }
            let version = netloom_api::registry::find(kind.group, kind.kind).map(netloom_api::Kind::api_version);
            let foreign = if kind.group.is_empty() { "v1".to_owned() } else { format!("{}/v1", kind.group) };
            objects.extend(cluster.all(&version.unwrap_or(foreign), kind.kind).await?);
        }
        Ok(Exit::Done)
    })?;
    Ok((objects, home))
}

fn snapshot(objects: &[Value], output: Output) -> Snapshot {
    let (snapshot, mut idle) = wanted::snapshot(objects);
    // Those that only rules look at were not asked about.
    idle.retain(|kind| !foreign::VIEWED.iter().any(|viewed| viewed.kind == *kind));
    idle.retain(|kind| !netloom_api::registry::on_request().any(|own| own.kind == *kind));
    if !idle.is_empty() {
        output.note(&format!("nothing is planned for objects of these kinds yet: {}", idle.join(", ")));
    }
    snapshot
}

/// Says that nodes do not have what the objects want already, where that failed: a plan starts from what is wanted.
fn mention_failure(now: &Snapshot, before: &Compiled, output: Output) {
    let wanted = now.revisions.iter().find(|(key, _)| key.name == before.revision.name);
    let Some(status) = wanted.and_then(|(_, revision)| revision.status.as_ref()) else { return };
    if status.phase == Some(RevisionPhase::Failed) {
        let (name, node) = (&before.revision.name, status.failed_node.as_deref().unwrap_or("a node"));
        let why = status.failed_message.as_deref().unwrap_or_default();
        output.warn(&format!(
            "revision {name}, which is what the objects want already, failed on {node} and is taken back from nodes ({why}): \
             what is planned comes on top of it, and nodes get both"
        ));
    }
}

/// Says which nodes would get nothing now, as the controller found when it looked last.
fn mention_passed_over(now: &Snapshot, output: Output) {
    let newest = now.revisions.iter().map(|(_, revision)| revision).max_by_key(|revision| revision.sequence());
    let Some(status) = newest.and_then(|revision| revision.status.as_ref()) else { return };
    for passed in &status.passed_over {
        output.warn(&format!("node {:?} is passed over: it {}", passed.node, passed.reason));
    }
}

/// Says of nodes that shall have another revision, or get none now, that a plan is not for now.
fn mention_holds(base: &[Value], output: Output) {
    for policy in base.iter().filter(|object| object["kind"] == "RolloutPolicy") {
        let (name, spec) = (policy["metadata"]["name"].as_str().unwrap_or_default(), &policy["spec"]);
        let held = match spec["pinnedRevision"].as_str().filter(|revision| !revision.is_empty()) {
            Some(revision) => format!("pins its nodes to revision {revision}"),
            None if spec["paused"] == true => "is paused".to_owned(),
            None => continue,
        };
        output.warn(&format!(
            "RolloutPolicy {name:?} {held}: its nodes may have something else than what is compared here"
        ));
    }
}

/// Says what would be wrong with objects that are planned, and with others that are fine now or wrong in another way.
fn mention_trouble(given: &[Value], before: &Compiled, after: &Compiled, output: Output) {
    let is_given = |ObjectRef { kind, key }: &ObjectRef| {
        let part = |object: &Value, name: &str| object["metadata"][name].as_str().unwrap_or_default().to_owned();
        let is_it = |object: &Value| object["kind"] == kind.kind && part(object, "name") == key.name;
        given.iter().any(|object| is_it(object) && part(object, "namespace") == key.namespace)
    };
    // Two conditions can say the same, as both of a conflict do.
    let mut reported = BTreeSet::new();
    for (object, report) in after.reports.iter().filter(|(object, _)| object.kind != NodeState::KIND) {
        let known = before.reports.iter().find(|(known, _)| *known == object && !is_given(object));
        let known = known.map(|(_, report)| report.foreseen()).unwrap_or_default();
        for verdict in report.foreseen() {
            let idle = [reason::NO_MATCHING_NODE, reason::NO_MATCHING_INTERFACE].contains(&verdict.reason);
            let bad = idle || verdict.kind.eq_ignore_ascii_case("ready") == (verdict.status == Truth::False);
            let line = format!("{} \"{}\": {}: {}", object.kind.kind, object.key, verdict.reason, verdict.message);
            if bad && !known.contains(&verdict) && reported.insert(line.clone()) {
                output.warn(&line);
            }
        }
    }
}

fn data(found: &[NodeDifference], nodes: usize) -> Value {
    let word = |change: ChangeKind| match change {
        ChangeKind::Added => "add",
        ChangeKind::Changed => "change",
        ChangeKind::Removed => "remove",
    };
    let entry = |entry: &Entry| {
        let fields: Vec<Value> = entry
            .fields
            .iter()
            .map(|field| json!({"path": field.path, "before": field.before, "after": field.after}))
            .collect();
        json!({"action": word(entry.change), "what": entry.thing, "fields": fields, "policies": entry.policies})
    };
    let groups: Vec<Value> = found
        .iter()
        .map(|one| {
            let changes: Vec<Value> = one.entries.iter().map(entry).collect();
            json!({"nodes": one.nodes, "changes": changes, "gained": one.gained, "lost": one.lost})
        })
        .collect();
    json!({"nodes": nodes, "touched": touched(found), "groups": groups})
}

fn touched(found: &[NodeDifference]) -> usize {
    found.iter().map(|difference| difference.nodes.len()).sum()
}

fn for_users(found: &[NodeDifference], nodes: usize, output: Output) -> String {
    let mut text = String::new();
    for difference in found {
        push(&mut text, format_args!("{}\n", plain(&names(&difference.nodes))));
        for entry in &difference.entries {
            let (symbol, colour) = match entry.change {
                ChangeKind::Added => ("  +", Colour::Green),
                ChangeKind::Changed => ("  ~", Colour::Yellow),
                ChangeKind::Removed => ("  -", Colour::Red),
            };
            push(
                &mut text,
                format_args!("{} {}\n", output.paint(colour, symbol), plain(&line(entry)).replace('\n', " ")),
            );
        }
        for (word, networks) in [("reaches", &difference.gained), ("no longer reaches", &difference.lost)] {
            for network in networks {
                push(&mut text, format_args!("    {word} {}\n", plain(network)));
            }
        }
    }
    text + &summary(found, nodes)
}

fn names(nodes: &[String]) -> String {
    let shown = nodes.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match nodes.len() {
        more if more > NAMED => format!("{shown} and {} more", more - NAMED),
        _ => shown,
    }
}

/// One line for a thing: its values, old and new, and who asks for it.
fn line(entry: &Entry) -> String {
    let shown = |value: &Option<Value>| match value {
        None => "(not set)".to_owned(),
        Some(Value::String(value)) => value.clone(),
        Some(value) => value.to_string(),
    };
    let fields: Vec<String> = entry
        .fields
        .iter()
        .map(|field| match entry.change {
            ChangeKind::Added => format!("{} {}", field.path, shown(&field.after)),
            ChangeKind::Removed => format!("{} {}", field.path, shown(&field.before)),
            ChangeKind::Changed => format!("{} {} -> {}", field.path, shown(&field.before), shown(&field.after)),
        })
        .collect();
    let fields = if fields.is_empty() { String::new() } else { format!(": {}", fields.join(", ")) };
    let by = if entry.policies.is_empty() { "manual".to_owned() } else { entry.policies.join(", ") };
    format!("{}{fields} ({by})", entry.thing)
}

fn summary(found: &[NodeDifference], nodes: usize) -> String {
    if found.is_empty() {
        return format!("Nothing would change for {}.\n", counted(nodes, "node"));
    }
    let count = |change: ChangeKind| {
        let of =
            |one: &NodeDifference| one.nodes.len() * one.entries.iter().filter(|entry| entry.change == change).count();
        found.iter().map(of).sum::<usize>()
    };
    format!(
        "Plan: {} of {} touched; {} to add, {} to change, {} to remove.\n",
        touched(found),
        counted(nodes, "node"),
        count(ChangeKind::Added),
        count(ChangeKind::Changed),
        count(ChangeKind::Removed)
    )
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
