//! `netloom apply`

use http::{Request, header::CONTENT_TYPE};
use serde_json::Value;

use crate::{
    args::cluster::ApplyArgs,
    cluster::{Cluster, Served},
    connection::asynchronously,
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
    let cluster = Cluster::connect(place.kubeconfig.as_deref()).await?;
    let options = Options { dry_run: *dry_run, force: *force_conflicts, namespace: place.namespace.as_deref() };
    each(&cluster, &manifests, &options).await
}

async fn each(cluster: &Cluster, manifests: &[Manifest], options: &Options<'_>) -> Result<Exit, Failure> {
    let output = Output::new(false);
    let mut failed = None;
    for manifest in manifests {
        match one(cluster, manifest, options).await {
            Ok(became) => {
                let dry = if options.dry_run { " (dry run)" } else { "" };
                output.note(&format!("{} {became}{dry}", manifest.title()));
            }
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
    Ok(match before.map(|before| content(before) == content(after)) {
        None => "created",
        Some(true) => "unchanged",
        Some(false) => "configured",
    })
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
    let own = Some(manifest.text("/metadata/namespace")).filter(|namespace| !namespace.is_empty());
    let namespace = own.or(namespace).unwrap_or(cluster.namespace());
    Ok(kind.path(Some(namespace), Some(name)))
}
