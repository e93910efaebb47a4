//! `netloom gen kubeconfig`: an identity for one agent, or for the controller.

use std::path::Path;

use kube::config::Kubeconfig;
use netloom_apiserver::{
    ca::{Credentials, write_private},
    identity,
    server::IDENTITY_PATH,
};
use serde_json::Value;

use crate::{
    args::cluster::KubeconfigArgs,
    cluster::Cluster,
    connection::{asynchronously, named, read},
    failure::{Exit, Failure},
    output,
};

pub(crate) fn run(args: &KubeconfigArgs) -> Result<Exit, Failure> {
    let KubeconfigArgs { node, controller: _, kubeconfig, out } = args;
    // Without a node it is the controller's: one of the two is required.
    asynchronously(make(node.as_deref(), kubeconfig.as_deref(), out.as_deref()))
}

async fn make(node: Option<&str>, kubeconfig: Option<&Path>, out: Option<&Path>) -> Result<Exit, Failure> {
    let cluster = Cluster::connect(kubeconfig).await?;
    let text = identity(&cluster, &server(kubeconfig)?, node).await?;
    match out {
        Some(path) => write_private(path, text.as_bytes())
            .map_err(|error| Failure::usage(format_args!("cannot write {}: {error}", path.display())))?,
        None => output::data(&text)?,
    }
    Ok(Exit::Done)
}

/// Asks an embedded server for an identity, as its administrator; without a node it is the controller's. The kubeconfig
/// names the server by the address that is given.
pub(crate) async fn identity(cluster: &Cluster, server: &str, node: Option<&str>) -> Result<String, Failure> {
    let query = node.map_or_else(|| "controller=true".to_owned(), |node| format!("node={node}"));
    let request = http::Request::post(format!("{IDENTITY_PATH}?{query}"));
    let answer = cluster.send(request.body(Vec::new()).map_err(Failure::usage)?).await?;
    let text = |field: &str| answer[field].as_str().unwrap_or_default().to_owned();
    let credentials = Credentials { certificate: text("certificate"), key: text("key") };
    let config =
        identity::Kubeconfig { server, authority: &text("authority"), user: &text("user"), credentials: &credentials };
    Ok(config.text())
}

/// The address in a kubeconfig, as it is written there.
fn server(kubeconfig: Option<&Path>) -> Result<String, Failure> {
    let read = named(kubeconfig).map_or_else(|| Kubeconfig::read().map_err(Failure::usage), read)?;
    let config: Value = serde_json::to_value(&read).map_err(Failure::usage)?;
    let current = &config["current-context"];
    let named = |list: &str, name: &Value| -> Option<Value> {
        config[list].as_array()?.iter().find(|entry| entry["name"] == *name).cloned()
    };
    let context = named("contexts", current);
    let cluster = context.and_then(|context| named("clusters", &context["context"]["cluster"]));
    let server = cluster.and_then(|cluster| cluster["cluster"]["server"].as_str().map(str::to_owned));
    server.ok_or_else(|| Failure::usage("the kubeconfig names no server in its current context"))
}
