//! `netloom delete`

mod leaving;

use std::time::Duration;

use http::{Request, header::CONTENT_TYPE};
use serde_json::json;

use crate::{
    args::cluster::DeleteArgs,
    cluster::{Cluster, Served},
    commands::apply::{namespace_of, path_of},
    connection::asynchronously,
    failure::{Exit, Failure},
    farewell::Farewell,
    manifests,
    output::Output,
};

use self::leaving::Leaving;

/// An object that shall go.
struct Target {
    title: String,
    kind: Served,
    namespace: String,
    name: String,
    path: String,
}

/// What becomes of a wait that somebody ended.
const UNWATCHED: &str = "interrupted: what is being deleted goes on without being watched";

pub(crate) fn run(args: &DeleteArgs) -> Result<Exit, Failure> {
    let farewell = args.wait.then(Farewell::take_over).transpose()?.unwrap_or_default();
    asynchronously(delete(args, &farewell))
}

async fn delete(args: &DeleteArgs, farewell: &Farewell) -> Result<Exit, Failure> {
    let cluster = Cluster::connect(args.place.kubeconfig.as_deref()).await?;
    let targets = targets(&cluster, args).await?;
    if targets.is_empty() {
        return Err(Failure::usage("nothing to delete: give KIND NAME, or -f FILE with objects in it"));
    }
    let output = Output::new(false);
    let mut leaving = Vec::new();
    // The last one of a file was made last and may stand on those before it.
    for target in targets.iter().rev() {
        let options = json!({ "propagationPolicy": "Background" }).to_string().into_bytes();
        let request = Request::delete(&target.path).header(CONTENT_TYPE, "application/json").body(options);
        let answer = cluster.send(request.map_err(Failure::usage)?).await?;
        match leaving::what_holds(&answer) {
            None => output.note(&format!("{} deleted", target.title)),
            Some(held) => {
                output.note(&format!("{} is being deleted{held}", target.title));
                leaving.push(Leaving::new(target, &answer));
            }
        }
    }
    farewell.say(UNWATCHED);
    // After all of them: one may hold another.
    for one in leaving.iter().filter(|_| args.wait) {
        one.until_gone(&cluster, Duration::from_secs(args.timeout.into()), output).await?;
    }
    Ok(Exit::Done)
}

async fn targets(cluster: &Cluster, args: &DeleteArgs) -> Result<Vec<Target>, Failure> {
    let DeleteArgs { kind, names, files, place, wait: _, timeout: _ } = args;
    let namespace = place.namespace.as_deref();
    let mut targets = Vec::new();
    for manifest in manifests::read(files)? {
        let kind = cluster.kind_of(manifest.text("/apiVersion"), manifest.text("/kind")).await?;
        let path = path_of(cluster, &kind, &manifest, namespace)?;
        let namespace = namespace_of(cluster, &manifest, namespace).to_owned();
        let name = manifest.text("/metadata/name").to_owned();
        targets.push(Target { title: manifest.title(), kind, namespace, name, path });
    }
    if let Some(kind) = kind {
        let kind = cluster.find(kind).await?;
        let namespace = namespace.unwrap_or(cluster.namespace());
        targets.extend(names.iter().map(|name| Target {
            title: format!("{} {name:?}", kind.kind),
            kind: kind.clone(),
            namespace: namespace.to_owned(),
            name: name.clone(),
            path: kind.path(Some(namespace), Some(name)),
        }));
    }
    Ok(targets)
}
