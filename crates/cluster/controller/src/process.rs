//! The whole process: what runs beside what, and in which order it ends.

use std::sync::Arc;

use kube::Client;
use netloom_controller_core::lease::Terms;
use netloom_https::{Limits, serve, serve_plain};
use serde_json::Value;
use tokio::{
    net::TcpListener,
    sync::{mpsc, oneshot, watch},
    task::JoinSet,
};
use tokio_rustls::rustls::ServerConfig;

use crate::{
    addresses::AddressLane,
    clock::Clock,
    definitions::{Definitions, InstallError},
    drive::{Drive, QUEUE},
    duty,
    elect::{Election, Leadership},
    follow::{Outlets, follow},
    health::Health,
    metrics::Metrics,
    view::Current,
    webhook::{Callers, Keeper, Own, Webhook},
};

/// Those who watch over a process are few.
const WATCHERS: usize = 64;

/// What is sent to a controller.
pub struct Options {
    /// For reading.
    pub reader: Client,
    /// For writing; it must not repeat requests by itself, because nobody would ask whether it still may.
    pub writer: Client,
    /// How it stands for the lease.
    pub terms: Terms,
    /// The operator configuration as its `ConfigMap`, where it is out of a file.
    pub config: Option<Arc<Value>>,
    /// Whether to install the definitions of all kinds.
    pub install_definitions: bool,
    /// Whether virtual machines are served on a cluster that does not have them by itself.
    pub machines: bool,
    /// Where it tells how it is.
    pub status: Option<TcpListener>,
    /// Where API servers ask it.
    pub webhook: Option<WebhookOptions>,
}

/// How API servers ask.
#[derive(Debug)]
pub struct WebhookOptions {
    /// Where.
    pub listener: TcpListener,
    /// Its certificate, and the authority of those whom it answers.
    pub tls: Arc<ServerConfig>,
    /// Whom of these it answers.
    pub callers: Callers,
    /// How the certificate is kept, where it is the controller's own.
    pub own: Option<Own>,
}

/// Runs until `stop`, says `ready` when everything is known that it needs, and gives the lease back at the end.
pub async fn run(
    options: Options,
    stop: impl Future<Output = ()>,
    ready: oneshot::Sender<()>,
) -> Result<(), InstallError> {
    let Options { reader, writer, terms, config, install_definitions, machines, status, webhook } = options;
    let (clock, metrics) = (Clock::start(), Arc::new(Metrics::default()));
    // They end with this value, at the latest when everything else has.
    let mut tasks = JoinSet::new();
    let (definitions, following) = Definitions::follow(reader.clone(), Arc::clone(&metrics));
    tasks.spawn(following);
    let view = webhook.is_some().then(Current::awaiting);
    let ((changes, queue), (addresses, asked)) = (mpsc::channel(QUEUE), mpsc::channel(QUEUE));
    let outlets = Outlets { view: view.clone(), index: changes, addresses, config, requested: machines };
    follow(&reader, &definitions, &outlets, &metrics, &mut tasks);
    let (election, leadership) = Election::new(writer.clone(), terms, clock, Arc::clone(&metrics));
    let drive = Drive::new(writer.clone(), clock, leadership.clone(), Arc::clone(&metrics), queue);
    let lane = AddressLane::new(writer.clone(), clock, leadership.clone(), Arc::clone(&metrics), asked);

    let loop_health = drive.loop_health();
    let slot = webhook.as_ref().and_then(|webhook| webhook.own.as_ref()).map(|own| Arc::clone(&own.slot));
    if let Some(listener) = status {
        let health =
            Health { metrics: Arc::clone(&metrics), loop_health: drive.loop_health(), view: view.clone(), slot };
        let limits = Limits { connections: WATCHERS, ..Limits::default() };
        tasks.spawn(serve_plain(listener, limits, Arc::new(health), std::future::pending()));
    }
    if let (Some(WebhookOptions { listener, tls, callers, own }), Some(view)) = (webhook, view.clone()) {
        let webhook = Arc::new(Webhook::new(view, metrics, callers));
        tasks.spawn(serve(listener, tls, Limits::default(), webhook, std::future::pending()));
        if let Some(own) = own {
            tasks.spawn(Keeper::new(own, writer.clone(), clock, leadership.clone()).run());
        }
    }
    tasks.spawn(async move {
        loop_health.is_whole().await;
        if let Some(view) = view {
            view.complete().await;
        }
        // Whoever waited for it may have ended.
        ready.send(()).ok();
    });
    let duties = async {
        if install_definitions {
            duty::install(&writer, machines, &leadership, clock).await?;
        }
        std::future::pending::<Result<(), InstallError>>().await
    };
    elected(election, drive, lane, async {
        tokio::select! {
            () = stop => Ok(()),
            failed = duties => failed,
        }
    })
    .await
}

/// Runs the election, the loop and the address lane until `ended`; then ends them in the order that keeps others from
/// beginning before this process has stopped.
async fn elected<T>(election: Election, drive: Drive, lane: AddressLane, ended: impl Future<Output = T>) -> T {
    let ((resign, resigned), (idle, is_idle)) = (oneshot::channel(), oneshot::channel());
    let (finish, mut finished) = watch::channel(());
    let mut finish_lane = finished.clone();
    let election = tokio::spawn(election.run(resigned, is_idle));
    let drive = tokio::spawn(drive.run(async move { drop(finished.changed().await) }));
    let lane = tokio::spawn(lane.run(async move { drop(finish_lane.changed().await) }));
    let result = ended.await;
    // None of them can fail unless the task has panicked, and then there is nothing to wait for.
    finish.send(()).ok();
    resign.send(()).ok();
    drive.await.ok();
    lane.await.ok();
    idle.send(()).ok();
    election.await.ok();
    result
}

/// Waits until this process leads.
pub(crate) async fn leading(leadership: &mut Leadership, clock: Clock) {
    while leadership.until(clock.now()).is_none() {
        leadership.changed().await;
    }
}
