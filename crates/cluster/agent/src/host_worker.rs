//! Kernel, journal and files, on a thread of their own: one effect at a time, each answered by its event.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::{
        Arc,
        atomic::AtomicBool,
        mpsc::{Receiver, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use jiff::SignedDuration;
use netloom_agent_core::{Done, Effect, Event, Failure, Leases, OWNER, Prepared, Reason, cut_off};
use netloom_journal::{Error, Outcome, ProbeResult, Probes, Request, Store, SystemClock, Transaction, Waiting};
use netloom_local_host::{KernelProbes, LocalHost, NamedProbes, Place, RunFiles, possible_in};
use netloom_model::{Engine as _, EngineError, Ownership, Scope};
use netloom_netlink::{events::EVENT_BUFFER, probe::Probe};
use netloom_plan::{Planned, named, needs_drivers};
use netloom_probing::ProbeTiming;
use tokio::sync::mpsc::UnboundedSender;
use tracing::info;

use crate::{
    clock::Clock,
    companion::Parting,
    file::DesiredStateFile,
    managers::Managers,
    metrics::Metrics,
    notices::{self, Changes},
    outcome,
};

/// How long a change of somebody else is waited for.
const WAIT: Duration = Duration::from_secs(10);
/// Until when a change must have confirmed itself, beside the time in which it is watched; the largest ones take a minute
/// on slow machines.
const UNATTENDED: Duration = Duration::from_mins(10);

/// The host worker of an agent.
#[derive(Debug)]
pub(crate) struct HostWorker {
    jobs: Option<Sender<Effect>>,
    thread: Option<JoinHandle<()>>,
    /// Raised to have a change under way taken back.
    stop: Arc<AtomicBool>,
}

/// What the host worker need.
pub(crate) struct Tools {
    pub(crate) place: Place,
    pub(crate) store: Store,
    pub(crate) host: LocalHost,
    /// What must be reached after a change if it was before.
    pub(crate) probes: Vec<Probe>,
    /// The clock that decisions are made with.
    pub(crate) clock: Clock,
    /// Who has something to say over links before they are cut off.
    pub(crate) partings: Arc<[Box<dyn Parting>]>,
    /// The port of the API, which must be reached after a change too, unless the change may cut it off.
    pub(crate) api_port: u16,
    /// What other programs say of the links.
    pub(crate) run_files: RunFiles,
}

impl HostWorker {
    /// Starts them. Answers go to `events`; `changed` is notified of every change of the host.
    pub(crate) fn start(
        tools: Tools,
        events: UnboundedSender<Event>,
        changed: &Arc<Changes>,
        metrics: &Arc<Metrics>,
    ) -> Result<Self, StartError> {
        let watch = tools.host.kernel.watch(EVENT_BUFFER)?;
        notices::follow(tools.place.clone(), watch, Arc::clone(changed), Arc::clone(metrics))?;
        let (jobs, work) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let file = DesiredStateFile::in_folder(tools.store.dir());
        let managers = Managers::new(tools.run_files.clone(), events.clone());
        let (scope, foreseen) = (Scope { sessions: true, ..Scope::default() }, Vec::new());
        let worker = Worker { file, tools, scope, stop: Arc::clone(&stop), events, foreseen, managers };
        let thread = thread::Builder::new().name("hands".to_owned()).spawn(move || worker.run(&work))?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread), stop })
    }

    /// Hands over an effect on host or disk.
    pub(crate) fn take(&self, effect: Effect) {
        // The thread ends only after this end is dropped.
        self.jobs.as_ref().map(|jobs| jobs.send(effect).ok());
    }

    /// Lets what is under way end; after `time_limit` it is taken back. Blocks.
    pub(crate) fn end(mut self, time_limit: Duration) {
        drop(self.jobs.take());
        let Some(thread) = self.thread.take() else { return };
        let stop = Arc::clone(&self.stop);
        let (ended, waits) = channel();
        thread::spawn(move || {
            thread.join().ok();
            ended.send(()).ok();
        });
        if waits.recv_timeout(time_limit).is_err() {
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            waits.recv().ok();
        }
    }
}

/// Why the host worker cannot work.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    #[error(transparent)]
    Host(#[from] EngineError),
    #[error("cannot start a thread: {0}")]
    Thread(#[from] io::Error),
}

/// Probes that say in the log what a change waits for.
struct Logged<'a>(KernelProbes<'a>);

impl Probes for Logged<'_> {
    fn names(&self) -> Vec<String> {
        self.0.names()
    }

    fn run(&mut self, names: &[String], limit: Duration) -> Vec<ProbeResult> {
        self.0.run(names, limit)
    }

    fn waits(&mut self, what: &Waiting) {
        info!("the change is made and waits for {what}");
    }
}

struct Worker {
    tools: Tools,
    file: DesiredStateFile,
    /// How much of the host is looked at: all that the last desired state is about, or what it sets would seem to be
    /// gone.
    scope: Scope,
    stop: Arc<AtomicBool>,
    /// Where answers go.
    events: UnboundedSender<Event>,
    /// What was reported last about what a change costs: the same is not reported again with each try.
    foreseen: Vec<String>,
    managers: Managers,
}

impl Worker {
    fn run(mut self, jobs: &Receiver<Effect>) {
        while let Ok(effect) = jobs.recv() {
            let event = match effect {
                Effect::Recover => Event::Recovered(self.recover()),
                Effect::Observe => {
                    let seen = self.tools.host.observe(self.scope);
                    if let Ok(observed) = &seen {
                        self.managers.look(observed);
                    }
                    Event::Observed(seen.map(Box::new).map_err(|error| error.to_string()))
                }
                Effect::Transact { desired, leases, protected, reach, timing } => {
                    Event::Transacted(self.transact((&desired, &leases), protected, reach, timing))
                }
                Effect::Keep(kept) => Event::Kept(self.file.write(&kept).map_err(|error| error.to_string())),
                Effect::Abandon => Event::Abandoned(self.abandon()),
                Effect::Companion(_) | Effect::Ask(_) => continue,
            };
            if self.events.send(event).is_err() {
                return;
            }
        }
    }

    fn transaction(tools: &mut Tools) -> Result<Transaction<'_>, Failure> {
        let incarnation = tools.place.incarnation().map_err(|error| outcome::failed(&error))?;
        Transaction::take(&tools.store, &mut tools.host, &SystemClock, incarnation, WAIT)
            .map_err(|error| outcome::failed(&error))
    }

    /// The probes that an earlier change names, to be asked after its undo.
    fn probes(&self) -> NamedProbes {
        NamedProbes(self.tools.place.namespace.clone())
    }

    fn recover(&mut self) -> Result<Option<String>, Failure> {
        let mut probes = self.probes();
        let mut transaction = Self::transaction(&mut self.tools)?.with_probes(&mut probes);
        let recovery = transaction.recover().map_err(|error| outcome::failed(&error))?;
        Ok(outcome::recovered(&recovery))
    }

    fn abandon(&mut self) -> Result<(), String> {
        let (mut probes, events) = (self.probes(), self.events.clone());
        let mut transaction =
            Self::transaction(&mut self.tools).map_err(|failure| failure.message)?.with_probes(&mut probes);
        make_way(&mut transaction, &events).map_err(|error| error.to_string())?;
        transaction.forget(OWNER).map_err(|error| error.to_string())?;
        drop(transaction);
        self.file.remove().map_err(|error| error.to_string())
    }

    #[expect(clippy::disallowed_methods, reason = "the outermost shell measures how long a change takes")]
    fn transact(
        &mut self,
        desired: (&Prepared, &Leases),
        protected: Vec<IpAddr>,
        reach: bool,
        timing: ProbeTiming,
    ) -> Result<Done, Failure> {
        let began = Instant::now();
        let mut foreseen = std::mem::take(&mut self.foreseen);
        let ended = self.change(desired, protected, reach, timing, &mut foreseen);
        self.foreseen = foreseen;
        let (changed, drivers) = ended?;
        self.scope.ethtool = drivers;
        let took = SignedDuration::try_from(began.elapsed()).unwrap_or(SignedDuration::MAX);
        Ok(Done { changed, took })
    }

    /// The transaction; says whether anything had to be changed, and whether the desired state is about drivers.
    fn change(
        &mut self,
        (desired, leases): (&Prepared, &Leases),
        protected: Vec<IpAddr>,
        reach: bool,
        timing: ProbeTiming,
        foreseen: &mut Vec<String>,
    ) -> Result<(bool, bool), Failure> {
        let (clock, events) = (self.tools.clock, self.events.clone());
        let (namespace, mut probes, stop) =
            (self.tools.place.namespace.clone(), self.tools.probes.clone(), Arc::clone(&self.stop));
        let (port, partings) = (self.tools.api_port, Arc::clone(&self.tools.partings));
        let api: Vec<Probe> = protected.iter().map(|ip| Probe::Tcp(SocketAddr::new(*ip, port))).collect();
        let first = if reach { api.iter().map(ToString::to_string).collect() } else { Vec::new() };
        probes.extend(api);
        let failed = |error| outcome::failed(&error);
        // One turn for reading, planning and carrying out: nobody else may change the host in between.
        let mut earlier = self.probes();
        let mut transaction = Self::transaction(&mut self.tools)?.with_probes(&mut earlier);
        make_way(&mut transaction, &events).map_err(failed)?;
        let known = transaction.ownership().map_err(failed)?;
        let owned = desired.revised(known.clone());
        if owned != known {
            transaction.correct(&owned).map_err(failed)?;
        }
        let mut scope = Scope::default();
        let (observed, state, waits) = loop {
            let observed = transaction.observe(scope).map_err(failed)?;
            let (state, waits) = desired.resolve_for_now(&observed, &owned, leases, clock.now())?;
            if scope.ethtool || !needs_drivers(&state, &owned) {
                break (observed, state, waits);
            }
            scope.ethtool = true;
        };
        possible_in(&namespace, &state).map_err(|error| Failure::new(Reason::InvalidDesiredState, error))?;
        let source = desired.source();
        let request = Request {
            options: netloom_plan::Options { protected, allow_cut: false },
            scope,
            timeout: UNATTENDED + timing.longest(),
            timing,
            stop: Some(&stop),
            first,
            ..Request::new(&state, &source)
        };
        let drivers = needs_drivers(&state, &Ownership::default());
        // Who else manages a link is reported before it is changed, and stops nothing.
        self.managers.attend(named(&state), &observed);
        let prepared = transaction.prepare_on(&request, &observed, owned).map_err(failed)?;
        foresee(&prepared.planned, foreseen, &events);
        let mut probes = Logged(KernelProbes::new(namespace, &probes, &observed));
        let cut = cut_off(&prepared.planned.plan, &observed);
        partings.iter().for_each(|companion| companion.part(&cut));
        let ended = transaction.run(&prepared, &request, &mut probes).map_err(failed);
        if !matches!(ended, Ok(Outcome::Nothing | Outcome::Confirmed)) {
            partings.iter().for_each(|companion| companion.stay());
        }
        match ended? {
            Outcome::Nothing => waits.map_or(Ok((false, drivers)), Err),
            Outcome::Confirmed => waits.map_or(Ok((true, drivers)), Err),
            Outcome::RolledBack { why, report } => Err(outcome::undone(&why, &report)),
            // Such a request confirms itself.
            Outcome::Open(summary) => Err(Failure::new(Reason::ApplyFailed, summary)),
        }
    }
}

/// Finishes an earlier change that was left behind since this agent began, and tells of it.
fn make_way(transaction: &mut Transaction<'_>, events: &UnboundedSender<Event>) -> Result<(), Error> {
    if let Some(what) = outcome::recovered(&transaction.make_way()?) {
        events.send(Event::Found(what)).ok();
    }
    Ok(())
}

/// Tells what a change costs beside what was asked for, before it begins. Nobody who listens is no reason not to change.
fn foresee(planned: &Planned, reported: &mut Vec<String>, events: &UnboundedSender<Event>) {
    if !planned.plan.is_empty() && *reported != planned.notes {
        reported.clone_from(&planned.notes);
        if !reported.is_empty() {
            events.send(Event::Foreseen(reported.join("; "))).ok();
        }
    }
}
