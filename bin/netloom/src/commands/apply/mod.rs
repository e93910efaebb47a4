//! `netloom apply`

mod arriving;
mod waiting;

use std::time::Duration;

use http::{Request, header::CONTENT_TYPE};
use serde_json::Value;

use crate::{
    args::cluster::ApplyArgs,
    arrival,
    cluster::{Cluster, Served},
    commands::validate,
    connection::asynchronously,
    failure::{Exit, Failure},
    farewell::Farewell,
    manifests::{self, Manifest},
    output::Output,
    readiness::uplinks,
};

use self::waiting::Awaited;

/// The name under which this program owns fields.
const MANAGER: &str = "netloom-cli";

/// What becomes of a wait that somebody ended.
const UNWATCHED: &str = "interrupted: what was applied stays, and goes on without being watched";

pub(crate) fn run(args: &ApplyArgs) -> Result<Exit, Failure> {
    let farewell = args.wait.then(Farewell::take_over).transpose()?.unwrap_or_default();
    asynchronously(apply(args, &farewell))
}

async fn apply(args: &ApplyArgs, farewell: &Farewell) -> Result<Exit, Failure> {
    let ApplyArgs { files, place, dry_run, force_conflicts, wait, timeout } = args;
    // Everything is read before anything is written.
    let manifests = manifests::read(files)?;
    let cluster = Cluster::connect(place.kubeconfig.as_deref()).await?;
    let wait = wait.then(|| Duration::from_secs((*timeout).into()));
    let options = Options { dry_run: *dry_run, force: *force_conflicts, namespace: place.namespace.as_deref(), wait };
    each(&cluster, &manifests, &options, farewell).await
}

async fn each(
    cluster: &Cluster,
    manifests: &[Manifest],
    options: &Options<'_>,
    farewell: &Farewell,
) -> Result<Exit, Failure> {
    let output = Output::new(false);
    let mut failed = None;
    let mut applied = Vec::new();
    for manifest in manifests {
        match one(cluster, manifest, options).await {
            Ok(Applied { kind, became, warnings }) => {
                for warning in warnings {
                    output.warn(&format!("{}: {warning}", place(manifest)));
                }
                let dry = if options.dry_run { " (dry run)" } else { "" };
                output.note(&format!("{} {became}{dry}", manifest.title()));
                applied.push((kind, manifest));
            }
            Err(failure) => {
                for line in refusal(manifest, &failure) {
                    output.refuse(&line);
                }
                failed.get_or_insert(failure.exit);
            }
        }
    }
    if let Some(exit) = failed {
        return Err(Failure::with(exit, "not every object was applied; the lines above say why"));
    }
    // After all of them: one may need another that comes later.
    if let Some(limit) = options.wait {
        farewell.say(UNWATCHED);
        wait_for(cluster, &applied, options.namespace, limit).await?;
    }
    Ok(Exit::Done)
}

/// Waits for each object, then for the nodes: policies that were applied together reach them in one revision.
async fn wait_for(
    cluster: &Cluster,
    applied: &[(Served, &Manifest)],
    namespace: Option<&str>,
    limit: Duration,
) -> Result<(), Failure> {
    let mut policies = Vec::new();
    let is_uplink =
        |kind: &Served, manifest: &Manifest| uplinks::is_reported(&kind.group, &kind.kind, &manifest.object);
    // Uplinks first: a network that waits for them does not say why they fail.
    let (uplinks, others): (Vec<_>, Vec<_>) = applied.iter().partition(|(kind, manifest)| is_uplink(kind, manifest));
    for (kind, manifest) in uplinks.into_iter().chain(others) {
        let namespace = Some(namespace_of(cluster, manifest, namespace));
        let (name, title) = (manifest.text("/metadata/name"), manifest.title());
        let awaited = Awaited { kind, namespace, name, title: title.clone(), is_uplink: is_uplink(kind, manifest) };
        let last = awaited.until_done(cluster, limit).await?;
        if let Some(policy) = last.filter(|_| arrival::is_rolled_out(&kind.group, &kind.kind)) {
            policies.push((title, policy));
        }
    }
    arriving::until_everywhere(cluster, &policies, limit).await
}

struct Options<'a> {
    dry_run: bool,
    force: bool,
    namespace: Option<&'a str>,
    /// How long each object is waited for, once all are applied.
    wait: Option<Duration>,
}

/// What became of an object.
struct Applied {
    kind: Served,
    became: &'static str,
    /// What the server answered beside it.
    warnings: Vec<String>,
}

/// Where people find an object.
fn place(manifest: &Manifest) -> String {
    format!("{}:{}: {}", manifest.file, manifest.line, manifest.title())
}

/// Why an object was not applied, with the lines of what is wrong where that is known.
fn refusal(manifest: &Manifest, failure: &Failure) -> Vec<String> {
    let flaws = if failure.exit == Exit::Refused { validate::flaws(manifest) } else { Vec::new() };
    if !flaws.is_empty() {
        return flaws;
    }
    let line = field(&failure.message).map_or(manifest.line, |path| manifest.line_of(path));
    vec![format!("{}:{line}: {}: {}", manifest.file, manifest.title(), failure.message)]
}

/// The first field that a server's refusal is about.
fn field(message: &str) -> Option<&str> {
    let (_, causes) = message.split_once(" is invalid: ")?;
    let (path, _) = causes.trim_start_matches('[').split_once(": ")?;
    (!path.contains(char::is_whitespace)).then_some(path)
}

/// Applies one object.
async fn one(cluster: &Cluster, manifest: &Manifest, options: &Options<'_>) -> Result<Applied, Failure> {
    let kind = cluster.kind_of(manifest.text("/apiVersion"), manifest.text("/kind")).await?;
    let path = path_of(cluster, &kind, manifest, options.namespace)?;
    let before = cluster.send(Request::get(&path).body(Vec::new()).map_err(Failure::usage)?).await.ok();
    let (force, dry_run) = (options.force, if options.dry_run { "&dryRun=All" } else { "" });
    let target = format!("{path}?fieldManager={MANAGER}&fieldValidation=Strict&force={force}{dry_run}");
    let request = Request::patch(target)
        .header(CONTENT_TYPE, "application/apply-patch+yaml")
        .body(manifest.object.to_string().into_bytes())
        .map_err(Failure::usage)?;
    let (after, mut warnings) = cluster.send_and_hear(request).await.map_err(with_a_way_out)?;
    if after["metadata"].get("deletionTimestamp").is_some() {
        warnings.push("is being deleted, and this goes with it; apply it again when it is gone".to_owned());
    }
    let became = match before.map(|before| content(before) == content(after)) {
        None => "created",
        Some(true) => "unchanged",
        Some(false) => "configured",
    };
    Ok(Applied { kind, became, warnings })
}

/// Says what to do about fields that somebody else owns.
fn with_a_way_out(mut failure: Failure) -> Failure {
    if failure.message.contains("conflict with ") {
        failure.message.push_str("; leave these fields out, or take them over with --force-conflicts");
    }
    failure
}

/// An object without what a server writes down at every write. A dry run has no revision of its own, so the
/// rest is what tells whether anything changes.
fn content(mut object: Value) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("resourceVersion");
        metadata.remove("generation");
        for entry in metadata.get_mut("managedFields").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(entry) = entry.as_object_mut() {
                entry.remove("time");
            }
        }
    }
    object
}

/// The URL of the object that a manifest means.
pub(super) fn path_of(
    cluster: &Cluster,
    kind: &Served,
    manifest: &Manifest,
    namespace: Option<&str>,
) -> Result<String, Failure> {
    let name = manifest.text("/metadata/name");
    if name.is_empty() {
        return Err(Failure::refused("metadata.name is missing"));
    }
    Ok(kind.path(Some(namespace_of(cluster, manifest, namespace)), Some(name)))
}

pub(super) fn namespace_of<'a>(cluster: &'a Cluster, manifest: &'a Manifest, given: Option<&'a str>) -> &'a str {
    let own = Some(manifest.text("/metadata/namespace")).filter(|namespace| !namespace.is_empty());
    own.or(given).unwrap_or(cluster.namespace())
}
