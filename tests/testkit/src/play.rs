//! Plays a scenario on a host, through the same transaction that people use.
//!
//! Every document is set twice: once left open and rolled back, which must give back the earlier
//! host exactly, and once for good. Then the same document again must plan nothing and write nothing,
//! and everything that is somebody else's must be as it was.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use netloom_journal::{
    Incarnation, NoProbes, Outcome, PreparedTransaction, Recovery, Request, Store, SystemClock, Transaction,
};
use netloom_model::{Adoption, Engine, Host, HostState, Observed, Scope, Step};
use netloom_plan::{Options as PlanOptions, text, unmet};
use netloom_types::{IfName, MacAddr};

use crate::{
    compare, foreign, probed,
    scenario::{Options, Round, Scenario},
};

/// A host that counts what it was asked to change.
pub trait Stage: Engine {
    /// How often something was written, since the beginning.
    fn writes(&self) -> u64;
}

/// The state folder of one test; gone when it ends.
#[derive(Debug)]
pub struct StateFolder(PathBuf);

impl StateFolder {
    /// An empty folder, in memory where the machine has such a place.
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let memory = Path::new("/dev/shm");
        let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(base.join(format!("netloom-test-{}-{number}", std::process::id())))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The store in it.
    pub fn store(&self) -> Result<Store, String> {
        Store::of_host(&self.0).map_err(|error| error.to_string())
    }
}

impl Default for StateFolder {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for StateFolder {
    fn drop(&mut self) {
        // What cannot be removed is only a folder in memory.
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// One host in the middle of a scenario.
pub struct Player<'a, S: Stage> {
    /// The host.
    pub stage: &'a mut S,
    /// Its state folder.
    pub store: Store,
    /// Which life of the kernel it is.
    pub incarnation: Incarnation,
    /// The hardware addresses that the scenario asks for.
    pub asked: BTreeSet<MacAddr>,
}

/// What a document came to.
#[derive(Debug, Clone)]
pub struct Played {
    /// The plan, as people read it; empty when the document was refused.
    pub plan: String,
    /// The host afterwards.
    pub observed: Observed,
}

impl<'a, S: Stage> Player<'a, S> {
    /// A host with somebody else's things on it, those of the scenario included.
    pub fn begin(stage: &'a mut S, folder: &StateFolder, scenario: &Scenario) -> Result<Self, String> {
        let asked = compare::asked_for(scenario.texts());
        let mut player = Self { stage, store: folder.store()?, incarnation: Incarnation::named("test"), asked };
        if !scenario.fresh_loopback() {
            player.execute(&[Step::SetUp { name: IfName::LO, up: true }])?;
        }
        player.execute(&foreign::neighbours())?;
        if let Some(host) = &scenario.host {
            player.change_manually(host).map_err(|why| format!("host.yaml: {why}"))?;
        }
        let routes: Vec<Step> = scenario.routes.iter().cloned().map(Step::AddRoute).collect();
        player.execute(&routes).map_err(|why| format!("host-routes.yaml: {why}"))?;
        Ok(player)
    }

    /// The host as it is.
    pub fn observe(&mut self) -> Result<Observed, String> {
        self.stage.observe(Scope::default()).map_err(|error| error.to_string())
    }

    /// Does what a document says as somebody else would: without our marks, record or transaction.
    pub fn change_manually(&mut self, document: &[u8]) -> Result<(), String> {
        let observed = self.observe()?;
        let desired = desired("by-hand.yaml", document, &observed)?;
        let planned =
            netloom_plan::plan(&desired, &observed, &netloom_model::Ownership::default(), &PlanOptions::default())
                .map_err(|error| error.to_string())?;
        let steps: Vec<Step> =
            planned.plan.steps.iter().filter_map(|planned| foreign::disowned(&planned.step)).collect();
        self.execute(&steps)
    }

    /// Sets one document and checks everything that must hold for any document.
    pub fn play(&mut self, round: &Round) -> Result<Played, String> {
        if let Some(manual) = &round.manual {
            self.change_manually(manual).map_err(|why| format!("{}-hand.yaml: {why}", round.number))?;
        }
        let before = self.observe()?;
        let written = self.stage.writes();
        let desired = desired_of_round(round, &before);
        let prepared = desired.and_then(|desired| self.prepare(round, &desired).map(|prepared| (desired, prepared)));
        let (desired, prepared) = match (&round.refused, prepared) {
            (None, Err(why)) => return Err(format!("it was refused: {why}")),
            (Some(_), Ok((_, prepared))) => {
                return Err(format!("it was not refused; the plan is\n{}", plan_text(&prepared)));
            }
            (Some(words), Err(why)) => {
                let after = self.observe()?;
                expect_words(words, &why)?;
                if self.stage.writes() != written || after.host != before.host {
                    return Err(format!("it was refused, but the host was touched: {why}"));
                }
                return Ok(Played { plan: String::new(), observed: after });
            }
            (None, Ok(done)) => done,
        };
        let after = self.tried_and_taken_back(round, &desired, &before)?;
        if !compare::dynamic_routes(&before).is_empty() {
            probed::fails_and_is_taken_back(self, round, &desired)?;
        }
        self.for_good(round, &desired, &after)?;
        let observed = self.observe()?;
        self.settled(round, &observed)?;
        same("somebody else's things", &foreign::part_of(&before.host), &foreign::part_of(&observed.host))?;
        if let Some(expect) = &round.expect {
            expect_met(expect, &observed).map_err(|why| format!("{}-expect.yaml: {why}", round.number))?;
        }
        Ok(Played { plan: plan_text(&prepared), observed })
    }

    /// Sets one document for good and checks nothing more than that it worked.
    pub fn set(&mut self, round: &Round) -> Result<(), String> {
        if let Some(manual) = &round.manual {
            self.change_manually(manual)?;
        }
        let observed = self.observe()?;
        let desired = desired_of_round(round, &observed)?;
        let request = request(round, &desired);
        let mut transaction = self.transaction()?;
        let prepared = transaction.prepare(&request).map_err(|error| error.to_string())?;
        match transaction.run(&prepared, &request, &mut NoProbes).map_err(|error| error.to_string())? {
            Outcome::Nothing | Outcome::Confirmed => Ok(()),
            other => Err(format!("{}-set.yaml ended otherwise: {other:?}", round.number)),
        }
    }

    /// How many steps a round's document takes.
    pub fn steps(&mut self, round: &Round) -> Result<usize, String> {
        let observed = self.observe()?;
        let desired = desired_of_round(round, &observed)?;
        Ok(self.prepare(round, &desired)?.planned.plan.steps.len())
    }

    /// Plans a desired state.
    pub fn prepare(&mut self, round: &Round, desired: &HostState) -> Result<PreparedTransaction, String> {
        let request = request(round, desired);
        self.transaction()?.prepare(&request).map_err(|error| match &error {
            netloom_journal::Error::Plan(why) => format!("{}: {why}", why.reason()),
            other => format!("{}: {other}", other.reason()),
        })
    }

    fn transaction(&mut self) -> Result<Transaction<'_>, String> {
        Transaction::take(&self.store, self.stage, &SystemClock, self.incarnation.clone(), Duration::ZERO)
            .map_err(|error| error.to_string())
    }

    /// Sets the document, leaves it open, and rolls it back: the host must be what it was.
    fn tried_and_taken_back(&mut self, round: &Round, desired: &HostState, before: &Observed) -> Result<Host, String> {
        let request = Request { confirm: false, ..request(round, desired) };
        let mut transaction = self.transaction()?;
        let prepared = transaction.prepare(&request).map_err(|error| error.to_string())?;
        match transaction.run(&prepared, &request, &mut NoProbes).map_err(|error| error.to_string())? {
            Outcome::Nothing => return Ok(before.host.clone()),
            Outcome::Open(_) => {}
            Outcome::Confirmed => return Err("it was confirmed although nobody asked for that".to_owned()),
            Outcome::RolledBack { why, .. } => {
                return Err(format!("it was rolled back: {why}\nthe plan was\n{}", plan_text(&prepared)));
            }
        }
        drop(transaction);
        let after = self.observe()?;
        let undone = self.transaction()?.rollback().map_err(|error| format!("the rollback failed: {error}"))?;
        if !matches!(undone, Recovery::RolledBack { .. }) {
            return Err(format!("the rollback did something else: {undone:?}"));
        }
        let back = self.observe()?;
        let plan = || format!("\nthe plan was\n{}", plan_text(&prepared));
        let unordered = |host: &Host| compare::unordered(&compare::canonical(host, &self.asked));
        same("the host after the rollback", &unordered(&before.host), &unordered(&back.host))
            .map_err(|why| why + &plan())?;
        compare::given_back(before, &back).map_err(|why| why + &plan())?;
        Ok(after.host)
    }

    fn for_good(&mut self, round: &Round, desired: &HostState, tried: &Host) -> Result<(), String> {
        let request = request(round, desired);
        let mut transaction = self.transaction()?;
        let prepared = transaction.prepare(&request).map_err(|error| error.to_string())?;
        match transaction.run(&prepared, &request, &mut NoProbes).map_err(|error| error.to_string())? {
            Outcome::Nothing | Outcome::Confirmed => {}
            other => return Err(format!("the second time it ended otherwise: {other:?}")),
        }
        drop(transaction);
        let now = self.observe()?;
        let unordered = |host: &Host| compare::unordered(&compare::canonical(host, &self.asked));
        same("the host, set a second time", &unordered(tried), &unordered(&now.host))
    }

    /// The same document again: nothing to plan, nothing written.
    fn settled(&mut self, round: &Round, observed: &Observed) -> Result<(), String> {
        let written = self.stage.writes();
        let desired = desired_of_round(round, observed).map_err(|why| format!("the same document again: {why}"))?;
        let request = request(round, &desired);
        let mut transaction = self.transaction()?;
        let prepared = transaction.prepare(&request).map_err(|error| format!("the same document again: {error}"))?;
        if !prepared.planned.plan.is_empty() {
            return Err(format!("the same document again is not settled:\n{}", plan_text(&prepared)));
        }
        let outcome = transaction.run(&prepared, &request, &mut NoProbes).map_err(|error| error.to_string())?;
        drop(transaction);
        let extra = self.stage.writes() - written;
        if outcome == Outcome::Nothing && extra == 0 {
            Ok(())
        } else {
            Err(format!("the same document again wrote {extra} times: {outcome:?}"))
        }
    }

    /// Carries steps out, all of which must work.
    pub fn execute(&mut self, steps: &[Step]) -> Result<(), String> {
        let results = self.stage.execute(steps).map_err(|error| error.to_string())?;
        let mut failed = String::new();
        for (step, result) in steps.iter().zip(results) {
            if let Err(error) = result {
                writeln!(failed, "{step}: {error}").expect("writing to a string works");
            }
        }
        if failed.is_empty() { Ok(()) } else { Err(failed) }
    }
}

/// How a round's document is asked for.
pub fn request<'a>(round: &'a Round, desired: &'a HostState) -> Request<'a> {
    let Options { source, whole: _, generated: _, protect, allow_cut } = &round.options;
    let options = PlanOptions { protected: protect.clone(), allow_cut: *allow_cut };
    Request { options, ..Request::new(desired, source) }
}

/// What a round's document wants on a host, or why it is refused.
pub fn desired_of_round(round: &Round, observed: &Observed) -> Result<HostState, String> {
    let mut desired = desired(&round.options.source, &round.set, observed)?;
    if round.options.whole {
        desired.whole_of = Some(round.options.source.as_str().into());
    }
    if round.options.generated {
        desired.links.values_mut().for_each(|link| link.adoption = Adoption::Never);
    }
    Ok(desired)
}

/// What a document wants on a host, or why it is refused: for every rule its name and the sentence.
pub fn desired(source: &str, document: &[u8], observed: &Observed) -> Result<HostState, String> {
    let refused = |error: netloom_nmstate::DocumentError| {
        let reasons: Vec<&str> = error.refusals().iter().map(|refusal| refusal.reason).collect();
        format!("{}: {error}", reasons.join(", "))
    };
    let document = netloom_nmstate::parse(source, document).map_err(refused)?;
    let options = netloom_nmstate::ResolveOptions::default();
    document.resolve(observed, &options).map(|resolved| resolved.state).map_err(refused)
}

/// The plan as people read it, with its notes.
pub fn plan_text(prepared: &PreparedTransaction) -> String {
    let plan = &prepared.planned.plan;
    let mut out = String::new();
    for line in text::lines(plan) {
        writeln!(out, "{}", line.to_string().trim_end()).expect("writing to a string works");
    }
    for note in &prepared.planned.notes {
        writeln!(out, "note: {note}").expect("writing to a string works");
    }
    writeln!(out, "{}", text::summary(plan)).expect("writing to a string works");
    out
}

/// Fails with every field in which two hosts differ.
pub fn same(what: &str, wanted: &Host, got: &Host) -> Result<(), String> {
    let found = compare::differences(wanted, got);
    if found.is_empty() { Ok(()) } else { Err(format!("{what} differs (wanted | got):\n  {}", found.join("\n  "))) }
}

fn expect_words(words: &[String], error: &str) -> Result<(), String> {
    let missing: Vec<&String> = words.iter().filter(|word| !error.contains(word.as_str())).collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("the error does not say {missing:?}:\n{error}")) }
}

fn expect_met(document: &[u8], observed: &Observed) -> Result<(), String> {
    let desired = desired("expect.yaml", document, observed)?;
    let found = unmet(&desired, observed).map_err(|error| error.to_string())?;
    if found.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
    Err(format!("not as expected:\n  {}", lines.join("\n  ")))
}
