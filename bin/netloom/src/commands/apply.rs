//! `netloom apply`

use http::{Request, header::CONTENT_TYPE};
use serde_json::Value;

use crate::{
    args::cluster::ApplyArgs,
    cluster::{Cluster, Served, asynchronously},
    failure::{Exit, Failure},
    manifests::{self, Manifest},
    output::Output,
};

/// The name under which this program owns fields.
const MANAGER: &str = "netloom-cli";

pub(crate) fn run(args: &ApplyArgs) -> Result<Exit, Failure> {
    asynchronously(apply(args))
}

async fn apply(args: &ApplyArgs) -> Result<Exit, Failure> {
    let ApplyArgs { files, place, dry_run, force_conflicts } = args;
    // Everything is read before anything is written.
    let manifests = manifests::read(files)?;
    if manifests.is_empty() {
        return Err(Failure::refused("there is no object in these files"));
    }
    let cluster = Cluster::connect(place.kubeconfig.as_deref()).await?;
    let options = Options { dry_run: *dry_run, force: *force_conflicts, namespace: place.namespace.as_deref() };
    each(&cluster, &manifests, &options).await
}

async fn each(cluster: &Cluster, manifests: &[Manifest], options: &Options<'_>) -> Result<Exit, Failure> {
    let output = Output::new(false);
    let mut failed = None;
    for manifest in manifests {
        match one(cluster, manifest, options).await {
            Ok(became) => output.note(&format!("{} {became}", manifest.title())),
            Err(failure) => {
                let place = format!("{}:{}: {}", manifest.file, manifest.line, manifest.title());
                output.warn(&format!("{place}: {}", failure.message));
                failed.get_or_insert(failure.exit);
            }
        }
    }
    match failed {
        None => Ok(Exit::Done),
        Some(exit) => {
            Err(Failure { exit, message: "not every object was applied; the lines above say why".to_owned() })
        }
    }
}

struct Options<'a> {
    dry_run: bool,
    force: bool,
    namespace: Option<&'a str>,
}

/// Applies one object and says what became of it.
async fn one(cluster: &Cluster, manifest: &Manifest, options: &Options<'_>) -> Result<&'static str, Failure> {
    let kind = cluster.kind_of(manifest.text("/apiVersion"), manifest.text("/kind")).await?;
    let path = path_of(cluster, &kind, manifest, options.namespace)?;
    let before = cluster.send(Request::get(&path).body(Vec::new()).map_err(Failure::usage)?).await.ok();
    let (force, dry_run) = (options.force, if options.dry_run { "&dryRun=All" } else { "" });
    let target = format!("{path}?fieldManager={MANAGER}&fieldValidation=Strict&force={force}{dry_run}");
    let request = Request::patch(target)
        .header(CONTENT_TYPE, "application/apply-patch+yaml")
        .body(manifest.object.to_string().into_bytes())
        .map_err(Failure::usage)?;
    let after = cluster.send(request).await?;
    let revision = |object: &Value| object.pointer("/metadata/resourceVersion").cloned();
    Ok(match before {
        None => "created",
        Some(before) if revision(&before) == revision(&after) && !options.dry_run => "unchanged",
        Some(_) => "configured",
    })
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
    let own = Some(manifest.text("/metadata/namespace")).filter(|namespace| !namespace.is_empty());
    let namespace = own.or(namespace).unwrap_or(cluster.namespace());
    Ok(kind.path(Some(namespace), Some(name)))
}
