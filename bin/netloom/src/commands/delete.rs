//! `netloom delete`

use http::{Request, header::CONTENT_TYPE};
use serde_json::json;

use crate::{
    args::cluster::DeleteArgs,
    cluster::Cluster,
    commands::apply::path_of,
    connection::asynchronously,
    failure::{Exit, Failure},
    manifests,
    output::Output,
};

pub(crate) fn run(args: &DeleteArgs) -> Result<Exit, Failure> {
    asynchronously(delete(args))
}

async fn delete(args: &DeleteArgs) -> Result<Exit, Failure> {
    let DeleteArgs { kind, names, files, place } = args;
    let cluster = Cluster::connect(place.kubeconfig.as_deref()).await?;
    let namespace = place.namespace.as_deref();
    let mut targets: Vec<(String, String)> = Vec::new();
    for manifest in manifests::read(files)? {
        let kind = cluster.kind_of(manifest.text("/apiVersion"), manifest.text("/kind")).await?;
        targets.push((manifest.title(), path_of(&cluster, &kind, &manifest, namespace)?));
    }
    if let Some(kind) = kind {
        let served = cluster.find(kind).await?;
        let namespace = namespace.unwrap_or(cluster.namespace());
        let paths =
            names.iter().map(|name| (format!("{} {name:?}", served.kind), served.path(Some(namespace), Some(name))));
        targets.extend(paths);
    }
    if targets.is_empty() {
        return Err(Failure::usage("nothing to delete: give KIND NAME, or -f FILE with objects in it"));
    }
    let output = Output::new(false);
    // The last one of a file was made last and may stand on those before it.
    for (title, path) in targets.into_iter().rev() {
        let options = json!({ "propagationPolicy": "Background" }).to_string().into_bytes();
        let request = Request::delete(path).header(CONTENT_TYPE, "application/json").body(options);
        cluster.send(request.map_err(Failure::usage)?).await?;
        output.note(&format!("{title} deleted"));
    }
    Ok(Exit::Done)
}
