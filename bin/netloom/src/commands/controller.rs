//! `netloom controller`

use std::sync::Arc;

use netloom_controller::{
    view::Current,
    webhook::{TlsFiles, Webhook},
};
use netloom_https::{Limits, serve};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
    task::JoinSet,
};

use crate::{
    args::cluster::ControllerArgs,
    cluster::{Cluster, asynchronously},
    commands::apply,
    failure::{Exit, Failure},
    manifests,
    output::Output,
};

pub(crate) fn run(args: ControllerArgs) -> Result<Exit, Failure> {
    asynchronously(control(args))
}

async fn control(args: ControllerArgs) -> Result<Exit, Failure> {
    let ControllerArgs { kubeconfig, install_crds, webhook_listen, webhook_cert, webhook_key, webhook_client_ca } =
        args;
    let output = Output::new(false);
    // Files and addresses first: nothing is written to the cluster by a controller that cannot run.
    let files = TlsFiles { certificate: webhook_cert, key: webhook_key, client_authority: webhook_client_ca };
    let tls = files.load().map_err(Failure::usage)?;
    let listener = TcpListener::bind(webhook_listen)
        .await
        .map_err(|why| Failure::usage(format_args!("cannot listen on {webhook_listen}: {why}")))?;
    let address = listener.local_addr().map_err(Failure::usage)?;
    let cluster = Cluster::connect(kubeconfig.as_deref()).await?;
    if install_crds {
        let definitions = netloom_api::kinds().iter().map(netloom_api::Kind::crd);
        apply::all(&cluster, &definitions.map(manifests::own).collect::<Vec<_>>()).await?;
    }
    let mut tasks = JoinSet::new();
    let mut view = Current::follow(cluster.client(), &mut tasks);
    let webhook = Arc::new(Webhook::new(view.clone()));
    // Before the words that it listens: whoever reads them may end it at once.
    let stop = ended()?;
    output.note(&format!("The webhook listens on https://{address}."));
    // Ends with the other tasks: a cluster that never answers must not keep the controller from stopping.
    tasks.spawn(async move {
        view.complete().await;
        output.note("Every kind is listed; the webhook answers.");
    });
    serve(listener, tls, Limits::default(), webhook, stop).await;
    Ok(Exit::Done)
}

/// Ends with the first SIGTERM or SIGINT.
fn ended() -> Result<impl Future<Output = ()>, Failure> {
    let cannot = |why| Failure::usage(format_args!("cannot wait for signals: {why}"));
    let mut terminate = signal(SignalKind::terminate()).map_err(cannot)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(cannot)?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
