//! What the tests of the transaction share: a folder, a clock that only moves when somebody waits,
//! and a host that knows host names, the resolver and rules, and can be made to fail or to die.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    rc::Rc,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use netloom_journal::{Clock, Incarnation, Moment, PreparedTransaction, Recovery, Request, Store, Transaction};
use netloom_model::{
    Attrs, Engine, EngineError, HostState, Link, LinkFacts, LinkKind, Observed, Origin, Ownership, Plan, PlannedStep,
    Resolver, Rule, RuleAction, RuleKey, Scope, Setting, SettingKey, Step, StepError, Target,
};
use netloom_plan::{Expected, Planned};
use netloom_probing::Touched;
use netloom_types::{Family, IfName, Protocol};

/// A folder that goes with the test.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("netloom-transaction-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        // In memory where the machine has such a place: a disk would be asked to sync thousands of times.
        let memory = PathBuf::from("/dev/shm");
        Self(if memory.is_dir() { memory } else { std::env::temp_dir() }.join(name))
    }

    pub(crate) fn store(&self) -> Store {
        Store::of_host(&self.0).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// A clock that stands still until somebody waits.
#[derive(Clone, Default)]
pub(crate) struct TestClock(pub(crate) Rc<Cell<Duration>>);

impl TestClock {
    pub(crate) fn advance(&self, time: Duration) {
        self.0.set(self.0.get() + time);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Moment {
        Moment { boot: self.0.get(), wall: 1_772_368_205 + self.0.get().as_secs() }
    }
}

/// A host that outlives the processes that change it.
#[derive(Default)]
pub(crate) struct Tiny {
    pub(crate) seen: Observed,
    /// Everything that was sent, with what came of it.
    pub(crate) sent: Vec<(Step, bool)>,
    /// Answers to the n-th step from now on, first one first.
    pub(crate) refuse: BTreeMap<usize, Vec<StepError>>,
    /// Steps that are acknowledged without being done.
    pub(crate) ignore: BTreeSet<usize>,
    /// Panics instead of carrying out the n-th step from now on.
    pub(crate) die_at: Option<usize>,
    /// Fails every call.
    pub(crate) deaf: bool,
    pub(crate) clock: TestClock,
    /// When its card gets its carrier back; it tells of that.
    pub(crate) carrier_at: Option<Duration>,
    pub(crate) observed: usize,
    /// When it was read last. An undo ends with a reading, and probes need none: this is when a change was undone, whatever
    /// is asked afterwards.
    pub(crate) read_at: Duration,
    count: usize,
}

impl Tiny {
    pub(crate) fn new() -> Self {
        let mut tiny = Self::default();
        let names = [Setting::HostnameRunning("old".into()), Setting::HostnameConfig("old".into())];
        tiny.seen.host.settings = names.into_iter().chain([resolver("192.0.2.1")]).collect();
        tiny
    }

    /// Starts counting steps again.
    pub(crate) fn count_again(&mut self) -> &mut Self {
        self.count = 0;
        (self.die_at, self.refuse, self.ignore) = (None, BTreeMap::new(), BTreeSet::new());
        self
    }

    fn apply(&mut self, step: &Step) -> Result<(), StepError> {
        let host = &mut self.seen.host;
        match step {
            Step::Set(setting) => host.settings.set(setting.clone()),
            Step::AddRule(rule) if host.rules.contains_key(&rule.key) => {
                return Err(StepError::new(StepError::EEXIST));
            }
            Step::AddRule(rule) => drop(host.rules.insert(rule.key, rule.protocol)),
            Step::RemoveRule(rule) => {
                host.rules.remove(&rule.key).ok_or(StepError::new(StepError::ENOENT))?;
            }
            other => panic!("this host knows no {other}"),
        }
        Ok(())
    }

    fn answer(&self) -> Result<(), EngineError> {
        if self.deaf { Err(EngineError { doing: "talk".into(), why: "deaf".into() }) } else { Ok(()) }
    }
}

impl Engine for Tiny {
    fn observe(&mut self, _: Scope) -> Result<Observed, EngineError> {
        self.answer()?;
        self.observed += 1;
        self.read_at = self.clock.0.get();
        let carrier = self.carrier_at.is_none_or(|at| self.clock.0.get() >= at);
        Ok(if self.carrier_at.is_some() { with_card(&self.seen, carrier) } else { self.seen.clone() })
    }

    fn execute(&mut self, steps: &[Step]) -> Result<Vec<Result<(), StepError>>, EngineError> {
        self.answer()?;
        let mut results = Vec::new();
        for step in steps {
            assert_ne!(self.die_at, Some(self.count), "killed");
            let number = self.count;
            self.count += 1;
            let refusal = self.refuse.get_mut(&number).filter(|list| !list.is_empty()).map(|list| list.remove(0));
            let result = match refusal {
                Some(error) => {
                    // The same step comes again under the same number.
                    if error.is_passing() {
                        self.count = number;
                    }
                    Err(error)
                }
                None if self.ignore.contains(&number) => Ok(()),
                None => self.apply(step),
            };
            self.sent.push((step.clone(), result.is_ok()));
            results.push(result);
        }
        Ok(results)
    }

    fn wait_for_change(&mut self, at_most: Duration) -> Result<bool, EngineError> {
        self.answer()?;
        let now = self.clock.0.get();
        let reported = self.carrier_at.filter(|at| now < *at && *at <= now + at_most);
        self.clock.advance(reported.map_or(at_most, |at| at.saturating_sub(now)));
        Ok(reported.is_some())
    }
}

/// The same host with a card that is up.
pub(crate) fn with_card(host: &Observed, carrier: bool) -> Observed {
    let name: IfName = "eth0".parse().unwrap();
    let mut host = host.clone();
    host.host.links.insert(name, Link { up: true, ..Link::new(name, LinkKind::Ethernet) });
    host.facts.insert(name, LinkFacts { carrier, ..LinkFacts::default() });
    host
}

/// What a change touches that resets that card.
pub(crate) fn resets_card(host: &Observed) -> Touched {
    let name = "eth0".parse().unwrap();
    let step = Step::SetAttrs { name, kind: LinkKind::Ethernet, attrs: Attrs::new() };
    Touched::of(&Plan { steps: vec![PlannedStep { step, undo: Vec::new(), origin: None }] }, &with_card(host, true))
}

/// A resolver with one server.
pub(crate) fn resolver(server: &str) -> Setting {
    Setting::Resolver(Resolver { servers: vec![server.to_owned()], ..Resolver::default() })
}

/// Rule number `n`.
pub(crate) fn rule(n: u32) -> Rule {
    Rule { key: RuleKey::new(Family::Ipv4, n, RuleAction::Blackhole), protocol: Protocol(99) }
}

/// A change of four steps, of every kind that the host knows.
pub(crate) fn change(host: &Observed) -> PreparedTransaction {
    let step = |step, undo| PlannedStep { step, undo: vec![undo], origin: None };
    let was = |setting: &Setting| host.settings.get(setting.key()).unwrap().into_owned();
    let (running, config) = (Setting::HostnameRunning("new".into()), Setting::HostnameConfig("new".into()));
    let set = [running.clone(), resolver("192.0.2.9"), config];
    let steps = [step(Step::AddRule(rule(7)), Step::RemoveRule(rule(7)))].into_iter();
    let steps = steps.chain(set.iter().map(|new| step(Step::Set(new.clone()), Step::Set(was(new))))).collect();
    let before = Target {
        rules: [(rule(7).key, None)].into(),
        settings: set.iter().map(|new| (new.key(), was(new))).collect(),
        ..Target::default()
    };
    let expected = Expected::exactly(&Target { settings: [(running.key(), running)].into(), ..Target::default() });
    let planned = Planned { plan: Plan { steps }, before, ownership: owned(), notes: Vec::new(), expected };
    let touched = Touched::default();
    PreparedTransaction { planned, owned: Ownership::default(), touched, recovered: Recovery::Nothing }
}

/// An ownership record that is not empty.
pub(crate) fn owned() -> Ownership {
    use netloom_model::{Claim, ClaimKey, Previous};
    let claim = Claim { origins: [].into(), before: Previous::Absent, ours: Previous::Present };
    Ownership { claims: [(ClaimKey::Setting(SettingKey::HostnameRunning), claim)].into() }
}

/// The desired state behind [`change`].
pub(crate) fn desired() -> HostState {
    let mut desired = HostState::default();
    desired.set(Setting::HostnameRunning("new".into()), Origin::new("site.yaml", "hostname", 0));
    desired
}

pub(crate) fn request(desired: &HostState) -> Request<'_> {
    Request::new(desired, "site.yaml")
}

/// One process with its turn at the host, steps sent one by one.
pub(crate) fn process<T>(
    store: &Store,
    host: &RefCell<Tiny>,
    boot: &str,
    body: impl FnOnce(&mut Transaction<'_>) -> T,
) -> T {
    let mut host = host.borrow_mut();
    let clock = host.clock.clone();
    let mut transaction =
        Transaction::take(store, &mut *host, &clock, Incarnation::named(boot), Duration::ZERO).unwrap();
    transaction = transaction.with_batch(1);
    body(&mut transaction)
}

/// The same, for a process that may be killed on the way.
pub(crate) fn killed<T>(
    store: &Store,
    host: &RefCell<Tiny>,
    body: impl FnOnce(&mut Transaction<'_>) -> T,
) -> Option<T> {
    let attempt = std::panic::AssertUnwindSafe(|| process(store, host, "boot-1", body));
    std::panic::catch_unwind(attempt).ok()
}
