//! The loop: events in, decisions, effects out.

use std::{net::IpAddr, sync::Arc, time::Duration};

use jiff::SignedDuration;
use kube::{Client, Config};
use netloom_agent_core::{Agent, Effect, Event, Failure, Kept, Settings, Standing};
use netloom_cni_server::Server;
use netloom_local_host::{Place, PlaceError};
use netloom_model::EngineError;
use netloom_netlink::Namespace;
use tokio::{
    net::TcpListener,
    sync::{
        mpsc::{self, UnboundedReceiver},
        watch,
    },
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use crate::{
    api::Api,
    api_address::ApiAddress,
    clock::Clock,
    companion::{Companion, Parting},
    file::DesiredStateFile,
    health::AgentHealth,
    heartbeat::{Heartbeat, Owner},
    host_worker::{HostWorker, StartError, Tools},
    leases::{self, Leasing},
    lldp_listener::LldpListener,
    machines,
    metrics::Metrics,
    notices::Changes,
    options::{Options, PodNetworks, Task},
    serve::serve,
    sockets, watches,
};

/// How long a change that is under way may take to end when the agent is asked to stop.
const ENDING: Duration = Duration::from_secs(15);

/// How an agent ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Ended {
    /// It was asked to stop.
    Stopped,
    /// What was to be done once is done.
    Settled,
    /// The desired state was not reached; that is reported in the status.
    Failed(Failure),
    /// The API did not do its part in time.
    Unanswered(String),
    /// There is nothing that the task could be about.
    Unknown(String),
}

/// Why an agent cannot run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no state folder.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The kernel cannot be talked to.
    #[error(transparent)]
    Host(#[from] EngineError),
    /// The kept desired state cannot be read or put aside.
    #[error("cannot read the last good desired state in {folder}: {source}")]
    DesiredState {
        /// The state folder.
        folder: String,
        /// What the system answered.
        source: std::io::Error,
    },
    /// The API cannot be talked to at all.
    #[error("cannot reach the API: {0}")]
    Api(#[source] kube::Error),
    /// Somebody else wrote at the same time, again and again.
    #[error("somebody else wrote network states at the same time, {0} times in a row; try again when it is quieter")]
    Overtaken(usize),
    /// The address for metrics cannot be had.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: std::net::SocketAddr,
        /// What the system answered.
        source: std::io::Error,
    },
    /// A thread cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
    /// Plugins cannot be served.
    #[error(transparent)]
    PodNetworks(#[from] netloom_cni_server::StartError),
}

impl Error {
    /// The stable name of this failure.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Place(error) => error.reason(),
            Self::Host(error) => error.reason(),
            Self::DesiredState { .. } => "StateUnreadable",
            Self::Api(_) => "ApiUnavailable",
            Self::Overtaken(_) => "Conflict",
            Self::Listen { .. } => "AddressUnavailable",
            Self::Thread(_) => "NoThread",
            Self::PodNetworks(_) => "SocketUnavailable",
        }
    }
}

impl From<StartError> for Error {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Host(error) => Self::Host(error),
            StartError::Thread(error) => Self::Thread(error),
        }
    }
}

/// Runs an agent until it is asked to stop, or its task is done.
pub async fn run(options: Options, config: Config, stop: impl Future<Output = ()>) -> Result<Ended, Error> {
    let (metrics, health) = (Arc::new(Metrics::new()), Arc::new(AgentHealth::default()));
    let mut tasks = JoinSet::new();
    if let Some(address) = options.listen {
        let listen = |source| Error::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(listen)?;
        tracing::info!(address = %listener.local_addr().map_err(listen)?, "status is served");
        tasks.spawn(serve(listener, Arc::clone(&metrics), Arc::clone(&health)));
    }
    // An agent that works in another namespace than its own does not reach the API through that one.
    let api_address = ApiAddress::of(&config).filter(|_| options.netns.is_none());
    let reached = match &api_address {
        // A name that cannot be looked up yet is looked up again when the API is reached.
        Some(api_address) => api_address.addresses().await,
        None => Some(Vec::new()),
    };
    let protected = reached.clone().unwrap_or_default();
    let client = Client::try_from(config).map_err(Error::Api)?;
    let (events, queue) = mpsc::unbounded_channel();
    let changed = Arc::new(Changes::default());
    let clock = Clock::start();
    let mut companions: Vec<Box<dyn Companion>> = Vec::new();
    let (host_worker, kept) = match options.task {
        Task::PolicyOnce => (None, None),
        Task::Daemon | Task::StateOnce => {
            let way = leases::Way::default();
            let (tools, kept) = tools(&options, clock, api_address.as_ref().map_or(0, |api| api.port), way.clone())?;
            let lldp_listener = LldpListener::start(tools.place.clone(), events.clone()).map_err(Error::Thread)?;
            let leasing = leases::Tools {
                place: tools.place.clone(),
                folder: tools.store.dir().to_owned(),
                node: options.node.clone(),
                clock,
                events: events.clone(),
            };
            companions = vec![Box::new(lldp_listener), Box::new(Leasing::new(leasing, reached, way))];
            if let Some(folder) = options.frr.clone() {
                sockets::follow(folder, Arc::clone(&changed)).map_err(Error::Thread)?;
            }
            (Some(HostWorker::start(tools, events.clone(), &changed, &metrics)?), kept)
        }
    };
    if options.task != Task::Daemon {
        client.apiserver_version().await.map_err(Error::Api)?;
    }
    let (node_owner, owner) = watch::channel(Owner::default());
    let (node, mode) = (options.node.as_str(), options.mode);
    watches::Follower { client: &client, node, mode, events: &events, api: api_address, node_owner }.follow(&mut tasks);
    if options.task == Task::Daemon {
        let (client, node, health) = (client.clone(), options.node.clone(), Arc::clone(&health));
        tasks.spawn(Heartbeat { client, node, every: options.heartbeat, clock, health, owner }.run());
    }
    if let Some(machines) = options.machines.clone().filter(|_| options.task == Task::Daemon) {
        let poll = options.poll;
        let lane = machines::Lane { client: client.clone(), node: options.node.clone(), machines, poll, clock };
        tasks.spawn(lane.start(events.clone()).map_err(Error::Thread)?);
    }
    // Until the end: pods come and go while a change of the host is under way.
    let _attaching = attaching(&options, &client)?;
    let api = Api::new(client, events, Arc::clone(&metrics));
    let agent = Agent::new(settings(&options, protected), kept);
    let mut shell =
        Shell { agent, api, host_worker, companions, clock, metrics, health, options, queue, changed, worked: false };
    let ended = tokio::select! {
        ended = shell.work(&mut tasks) => ended,
        () = stop => Ended::Stopped,
    };
    if let Some(host_worker) = shell.host_worker.take() {
        // The change under way ends by itself or is taken back; either needs no network.
        tokio::task::spawn_blocking(move || host_worker.end(ENDING)).await.ok();
    }
    Ok(ended)
}

/// Begins to serve plugins, where that was asked for.
fn attaching(options: &Options, client: &Client) -> Result<Option<Server>, Error> {
    let Some(PodNetworks { socket, timeout, queue }) =
        options.pod_networks.clone().filter(|_| options.task == Task::Daemon)
    else {
        return Ok(None);
    };
    let netns = options.netns.as_deref().map_or(Namespace::Host, Namespace::from_text);
    let serving = netloom_cni_server::Options { node: options.node.clone(), netns, socket, timeout, queue };
    Ok(Some(Server::start(&serving, client)?))
}

/// What the host worker work with, and what an earlier life kept.
fn tools(options: &Options, clock: Clock, api_port: u16, way: leases::Way) -> Result<(Tools, Option<Kept>), Error> {
    let place = Place::new(options.netns.as_deref(), &options.state_dir);
    let store = place.store()?;
    let host = place.routing_host(options.frr.as_deref())?;
    let unreadable = |source| Error::DesiredState { folder: store.dir().display().to_string(), source };
    let kept = DesiredStateFile::in_folder(store.dir()).load().map_err(unreadable)?;
    let (probes, partings) = (options.probes.clone(), Arc::new([Box::new(way) as Box<dyn Parting>]));
    let run_files = place.run_files(options.run_dir.as_deref());
    Ok((Tools { place, store, host, probes, clock, partings, api_port, run_files }, kept))
}

fn settings(options: &Options, protected: Vec<IpAddr>) -> Settings {
    let seed = options
        .node
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    Settings {
        timing: options.timing,
        base: options.base.clone(),
        namespace: options.namespace.clone(),
        mode: options.mode,
        enforce: options.task != Task::PolicyOnce,
        resident: options.task == Task::Daemon,
        drift: options.drift,
        poll: SignedDuration::try_from(options.poll).unwrap_or(SignedDuration::MAX),
        leaving: SignedDuration::try_from(options.leaving).unwrap_or(SignedDuration::MAX),
        protected,
        taints: options.taints.clone(),
        seed,
        ..Settings::of(options.node.as_str())
    }
}

struct Shell {
    agent: Agent,
    api: Api,
    host_worker: Option<HostWorker>,
    /// What runs beside the host worker.
    companions: Vec<Box<dyn Companion>>,
    clock: Clock,
    metrics: Arc<Metrics>,
    health: Arc<AgentHealth>,
    options: Options,
    queue: UnboundedReceiver<Event>,
    changed: Arc<Changes>,
    /// Whether anything was done since memory was given back.
    worked: bool,
}

impl Shell {
    async fn work(&mut self, tasks: &mut JoinSet<()>) -> Ended {
        if self.options.task == Task::Daemon {
            return self.turns(tasks).await;
        }
        let limit = self.options.timeout;
        let once = async {
            // Without the objects the agent would begin with what it kept, as one that is cut off does.
            self.objects().await;
            self.turns(tasks).await
        };
        if let Ok(ended) = timeout(limit, once).await {
            return ended;
        }
        let why = self.metrics.refusal().unwrap_or_else(|| "the API did not answer".to_owned());
        Ended::Unanswered(format!("not done within {} seconds: {why}", limit.as_secs()))
    }

    /// Waits until every kind was listed.
    async fn objects(&mut self) {
        let kinds = Agent::kinds(self.options.mode);
        let mut listed = std::collections::BTreeSet::new();
        while listed.len() < kinds.len() {
            let Some(event) = self.queue.recv().await else { return };
            if let Event::Objects(netloom_object::Change::Listed { kind, .. }) = &event {
                listed.insert(*kind);
            }
            self.take(event);
        }
    }

    async fn turns(&mut self, tasks: &mut JoinSet<()>) -> Ended {
        loop {
            self.health.turn(Some(Instant::now()));
            let turn = self.agent.decide(self.clock.now());
            let idle = turn.effects.is_empty();
            self.worked |= !idle;
            for effect in turn.effects {
                self.carry_out(effect, tasks);
            }
            self.metrics.drifted(self.agent.drift().len());
            if let Some(ended) = self.ended().filter(|_| idle) {
                self.health.reported();
                if self.options.task != Task::Daemon && !self.waits_for_companions() {
                    return ended;
                }
                self.rest();
            }
            self.health.turn(None);
            // What has happened meanwhile is taken together: one decision for all of it.
            let wake = turn.wake_at.map(|at| self.clock.until(at));
            tokio::select! {
                event = self.queue.recv() => match event {
                    Some(event) => self.take(event),
                    None => return Ended::Stopped,
                },
                change = self.changed.next() => self.take(Event::HostChanged(change)),
                () = async { sleep(wake.unwrap_or_default()).await }, if wake.is_some() => {}
            }
            while let Ok(event) = self.queue.try_recv() {
                self.take(event);
            }
            while tasks.try_join_next().is_some() {}
        }
    }

    /// A node's memory is for its workloads: what the work that has just ended took is theirs again.
    fn rest(&mut self) {
        if std::mem::take(&mut self.worked) {
            netloom_malloc_trim::give_back();
        }
    }

    /// How it would end now; none while there is something to do.
    fn ended(&self) -> Option<Ended> {
        match self.agent.standing() {
            Standing::AtWork => None,
            Standing::Settled if self.options.task == Task::PolicyOnce => {
                Some(self.agent.unknown().map_or(Ended::Settled, Ended::Unknown))
            }
            Standing::Settled => Some(Ended::Settled),
            Standing::Failed(failure) => Some(Ended::Failed(failure)),
        }
    }

    /// Whether a companion may yet tell something for the first time, or has and is not heard.
    fn waits_for_companions(&self) -> bool {
        self.companions.iter().any(|companion| companion.is_early())
            || !self.companions.is_empty() && !self.queue.is_empty()
    }

    fn take(&mut self, event: Event) {
        match &event {
            Event::Transacted(outcome) => {
                self.metrics.transaction(outcome);
                match outcome {
                    Ok(done) if done.changed => tracing::info!(took = %done.took, "the desired state is in place"),
                    Ok(_) => tracing::debug!("the desired state was in place"),
                    Err(failure) => {
                        tracing::warn!(reason = failure.reason(), %failure, "failed to apply the desired state");
                    }
                }
            }
            Event::Observed(seen) => {
                self.metrics.observation();
                if let Ok(observed) = seen {
                    self.companions.iter_mut().for_each(|companion| companion.seen(observed));
                }
            }
            Event::Api(addresses) => {
                self.companions.iter_mut().for_each(|companion| companion.reach(addresses));
            }
            Event::Objects(netloom_object::Change::Listed { .. }) => {
                self.metrics.listed();
                self.health.read();
            }
            Event::Objects(_)
            | Event::HostChanged(_)
            | Event::Recovered(_)
            | Event::Found(_)
            | Event::Foreseen(_)
            | Event::Kept(_)
            | Event::Abandoned(_)
            | Event::Companion(_)
            | Event::Managers(_)
            | Event::Answered { .. } => {}
        }
        if let Event::Recovered(_) | Event::Observed(_) | Event::Transacted(_) | Event::Kept(_) | Event::Abandoned(_) =
            &event
        {
            self.health.work(None);
        }
        self.agent.take(self.clock.now(), event);
    }

    fn carry_out(&mut self, effect: Effect, tasks: &mut JoinSet<()>) {
        match effect {
            Effect::Ask(chain) => {
                tasks.spawn(self.api.clone().ask(chain));
            }
            Effect::Companion(order) => self.companions.iter_mut().for_each(|companion| companion.order(&order)),
            Effect::Recover | Effect::Observe | Effect::Transact { .. } | Effect::Keep(_) | Effect::Abandon => {
                if let Some(host_worker) = &self.host_worker {
                    self.health.work(Some(Instant::now()));
                    host_worker.take(effect);
                }
            }
        }
    }
}
