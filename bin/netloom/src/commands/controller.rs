//! `netloom controller`

use std::{net::SocketAddr, path::PathBuf, process, sync::Arc};

use jiff::{SignedDuration, Timestamp};
use kube::{Client, Config};
use netloom_api::foreign::CONTROLLER_LOCK;
use netloom_controller::{
    process::{Options, WebhookOptions, run as run_controller},
    webhook::{Callers, Own, Slot, TlsFiles, changing},
};
use netloom_controller_core::lease::Terms;
use netloom_generate::SERVICE;
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
    sync::oneshot,
};

use crate::{
    args::cluster::ControllerArgs,
    connection::{config, on_threads},
    failure::{Exit, Failure},
    logging, output, settings,
};

pub(crate) fn run(args: ControllerArgs) -> Result<Exit, Failure> {
    logging::start()?;
    // A decision that takes long must not hold the lease up.
    on_threads(control(args))
}

async fn control(args: ControllerArgs) -> Result<Exit, Failure> {
    let ControllerArgs {
        kubeconfig,
        config: config_file,
        install_crds: install_definitions,
        vms: machines,
        status_listen,
        namespace,
        lease_seconds,
        webhook_listen,
        webhook_cert,
        webhook_key,
        webhook_name,
        webhook_client_ca,
        webhook_client_name,
    } = args;
    // Before anything is open: a signal that comes early must not be lost.
    let stop = ended()?;
    // Files and addresses first: nothing is written to the cluster by a controller that cannot run.
    let settings = config_file.as_deref().map(settings::read).transpose()?;
    let status = match status_listen {
        Some(address) => Some(listen("status", "http", address).await?),
        None => None,
    };
    let webhook = match (webhook_listen, webhook_client_ca) {
        (Some(address), Some(client_authority)) => {
            let certificate = match webhook_cert.zip(webhook_key) {
                Some((certificate, key)) => Certificate::Files { certificate, key },
                None => Certificate::Own { namespace: namespace.clone(), names: webhook_name, on_request: machines },
            };
            let callers = Callers::named(webhook_client_name);
            Some(webhook(address, client_authority, callers, certificate).await?)
        }
        // One needs the other, so there is neither.
        _ => None,
    };
    let (reader, writer) = clients(config(kubeconfig.as_deref()).await?)?;
    let terms = terms(namespace, lease_seconds);
    let config = settings.map(Arc::new);
    let options = Options { reader, writer, terms, config, install_definitions, machines, status, webhook };
    let (ready, is_ready) = oneshot::channel();
    tokio::spawn(async move {
        // It fails only when the controller ends before it is ready.
        if is_ready.await.is_ok() {
            output::data("ready\n").ok();
        }
    });
    run_controller(options, stop, ready).await.map_err(Failure::failed)?;
    Ok(Exit::Done)
}

/// A client that tries again what it may, and one that leaves that to the controller.
pub(crate) fn clients(mut config: Config) -> Result<(Client, Client), Failure> {
    let reader = Client::try_from(config.clone()).map_err(Failure::usage)?;
    config.default_retry = false;
    Ok((reader, Client::try_from(config).map_err(Failure::usage)?))
}

/// What this process runs for the lead by.
pub(crate) fn terms(namespace: String, seconds: u16) -> Terms {
    let length = SignedDuration::from_secs(seconds.into());
    Terms { identity: identity(), namespace, name: CONTROLLER_LOCK.to_owned(), length }
}

/// Where the webhook's certificate comes from.
enum Certificate {
    Files { certificate: PathBuf, key: PathBuf },
    Own { namespace: String, names: Vec<String>, on_request: bool },
}

async fn webhook(
    address: SocketAddr,
    client_authority: PathBuf,
    callers: Callers,
    certificate: Certificate,
) -> Result<WebhookOptions, Failure> {
    let (tls, own) = match certificate {
        Certificate::Files { certificate, key } => {
            (TlsFiles { certificate, key, client_authority }.load().map_err(Failure::usage)?, None)
        }
        Certificate::Own { namespace, names, on_request } => {
            let slot = Arc::new(Slot::default());
            let tls = changing(&client_authority, slot.clone()).map_err(Failure::usage)?;
            let service =
                || vec![format!("{SERVICE}.{namespace}.svc"), format!("{SERVICE}.{namespace}.svc.cluster.local")];
            let names = if names.is_empty() { service() } else { names };
            (tls, Some(Own { slot, namespace, names, on_request }))
        }
    };
    Ok(WebhookOptions { listener: listen("webhook", "https", address).await?, tls, callers, own })
}

/// Listens, and says where.
async fn listen(what: &str, scheme: &str, address: SocketAddr) -> Result<TcpListener, Failure> {
    let cannot = |why| Failure::usage(format_args!("cannot listen on {address}: {why}"));
    let listener = TcpListener::bind(address).await.map_err(cannot)?;
    let address = listener.local_addr().map_err(cannot)?;
    output::data(&format!("{what} {scheme}://{address}\n"))?;
    Ok(listener)
}

/// A name that no other process has, and none had before: a process that begins again is another candidate.
fn identity() -> String {
    let host = nix::unistd::gethostname().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    format!("{host}_{}_{}", process::id(), Timestamp::now().as_nanosecond())
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
