//! `netloom state set`: the node transaction, from a file to a verified host.

use std::{
    cell::Cell,
    io::{self, BufRead, IsTerminal},
    path::Path,
    thread,
    time::Duration,
};

use netloom_journal::{
    Error, Fate, Outcome, ProbeTiming, Recovery, Request, Store, Summary, Transaction, UndoReport, Witness,
    wait_for_deadline,
};
use netloom_local_host::{KernelProbes, LocalHost};
use netloom_netlink::probe::Probe;
use serde_json::{Value as Json, json};

use crate::{
    args::{Format, SetArgs},
    commands::{
        diff::{self, differs},
        guard, result,
    },
    desired_document::{DesiredDocument, Resolved, warn_of},
    failure::{Exit, Failure},
    output::{self, Output},
    preview::Preview,
    probes,
    progress::{ReportingEngine, ReportingProbes},
    resident,
    session::{self, CLOCK, Session},
    signals::{Event, Signals},
    stopwatch::{Lap, Stopwatch},
};

/// Until when an open change may be confirmed, unless set otherwise.
const OPEN: Duration = Duration::from_mins(1);

/// Until when a change that confirms itself must have done so, beside the time in which it is watched: nobody waits for
/// it, and the largest ones take a minute on slow machines.
const UNATTENDED: Duration = Duration::from_mins(10);

/// Who ends a change that worked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// It confirms itself.
    Itself,
    /// The person in front, or a signal.
    Person,
    /// A later command.
    Later,
}

pub(crate) fn run(args: SetArgs, session: &Session) -> Result<Exit, Failure> {
    let SetArgs { desired, dry_run, timeout, no_commit, no_verify, probe, no_probe, timing, wait, stats, format } =
        args;
    let from_stdin = desired.file == Path::new("-");
    resident::stay();
    let watch = Stopwatch::start();
    let desired = watch.time(Lap::Document, || DesiredDocument::load(desired, session))?;
    if dry_run {
        return dry(&desired, session, format.asked());
    }
    let ending = match (timeout, no_commit) {
        (_, true) => Ending::Later,
        (Some(_), false) => Ending::Person,
        (None, false) => Ending::Itself,
    };
    let timeout = timeout.map(|seconds| Duration::from_secs(seconds.into()));
    let timing = probes::timing(timing);
    let unattended = UNATTENDED + timing.longest();
    let timeout = timeout.unwrap_or(if ending == Ending::Itself { unattended } else { OPEN });
    let probes = if no_probe { Vec::new() } else { probes::parse(&probe)? };
    let signals = Signals::take_over()?;
    let source = desired.source.clone();
    let change = Change { session, source, store: session.store()?, host: session.host()?, signals, timeout, watch };
    let how =
        How { ending, verify: !no_verify, wait: Duration::from_secs(wait.into()), from_stdin, probes, timing, stats };
    change.carry_out(desired, &how, format.asked())
}

/// Prints the plan and stops.
fn dry(desired: &DesiredDocument, session: &Session, format: Option<Format>) -> Result<Exit, Failure> {
    session.mention_open();
    let (observed, planned) = diff::planned(desired, session)?;
    let preview = Preview::of(&planned.plan, &observed);
    let text = result(&preview.json(), format).unwrap_or_else(|| preview.text(session.output, true));
    differs(&text, !planned.plan.is_empty())
}

/// How careful a change is.
#[derive(Debug)]
struct How {
    ending: Ending,
    verify: bool,
    wait: Duration,
    from_stdin: bool,
    probes: Vec<Probe>,
    timing: ProbeTiming,
    stats: bool,
}

/// Everything that one change needs.
struct Change<'a> {
    session: &'a Session,
    source: String,
    store: Store,
    host: LocalHost,
    signals: Signals,
    timeout: Duration,
    watch: Stopwatch,
}

impl Change<'_> {
    fn carry_out(mut self, desired: DesiredDocument, how: &How, format: Option<Format>) -> Result<Exit, Failure> {
        let (session, output) = (self.session, self.session.output);
        session.mention_failed(&self.store);
        // One turn for reading, planning and carrying out: nobody else may change the host in between.
        let steps = Cell::new(0);
        let guard = || guard::start(session);
        let (prepared, observed, done) = {
            let mut reported = ReportingEngine::new(&mut self.host, output, &steps, &self.watch);
            let mut earlier = session.probes();
            let mut transaction = session.transaction(&self.store, &mut reported, how.wait)?.with_probes(&mut earlier);
            if how.ending != Ending::Itself {
                transaction = transaction.with_guard(&guard);
            }
            session.make_way(&mut transaction)?;
            let Resolved { observed, owned, state, scope } = desired.on(&mut transaction, session)?;
            // A large document takes more room than anything that is made of it.
            let DesiredDocument { source, document, resolve: _, options, others } = desired;
            drop(document);
            let request = Request {
                options,
                scope,
                verify: how.verify,
                confirm: how.ending == Ending::Itself,
                timeout: self.timeout,
                timing: how.timing,
                stop: Some(&self.signals.stop),
                ..Request::new(&state, &source)
            };
            let prepared =
                transaction.prepare_on(&request, &observed, owned).map_err(|error| session::failure(&error))?;
            steps.set(prepared.planned.plan.steps.len());
            warn_of(&prepared.planned, &observed, &others, output);
            show(&Preview::of(&prepared.planned.plan, &observed), output, format);
            let mut probes = KernelProbes::new(session.place.namespace.clone(), &how.probes, &observed);
            let outcome = transaction
                .run(&prepared, &request, &mut ReportingProbes::new(&mut probes, output))
                .map_err(|error| session::failure(&error))?;
            // Held before anybody else can have the turn.
            (prepared, observed, Done::of(outcome, &self.store, how.verify)?)
        };
        let end = self.end(done, how)?;
        if how.stats {
            let counters = self.host.kernel.counters().map_err(|error| Failure::usage(&error))?;
            output.note(&format!("netlink: {counters}"));
            output.note(&format!("time: {}", self.watch));
        }
        let exit = self.report(&end, || Preview::of(&prepared.planned.plan, &observed).json(), format);
        // The process ends here; taking a large plan apart piece by piece would only delay that.
        std::mem::forget((prepared, observed));
        exit
    }

    /// What became of the change once nobody has to wait for it any more.
    fn end(&mut self, outcome: Done, how: &How) -> Result<End, Failure> {
        match (outcome, how.ending) {
            (Done::Ended(end), _) => Ok(end),
            (Done::Open(summary, _), Ending::Later) => Ok(End::Open(summary)),
            (Done::Open(summary, witness), Ending::Person | Ending::Itself) => self.attend(&summary, witness, how),
        }
    }

    /// Waits for a yes, a no, or the end of the time.
    fn attend(&mut self, summary: &Summary, mut witness: Witness, how: &How) -> Result<End, Failure> {
        let enter = !how.from_stdin && io::stdin().is_terminal();
        let by = if enter {
            "Enter keeps it, Ctrl-C takes it back".to_owned()
        } else {
            format!("SIGUSR1 or {} keeps it", self.session.hint("commit"))
        };
        // A yes from before there was anything to say yes to does not count; a no does.
        let mut event = self.signals.events.try_iter().find(|event| *event == Event::Stop);
        if event.is_none() {
            self.session.output.note(&format!("The change is in place until {}: {by}.", summary.deadline));
            self.listen(enter);
            event = self.signals.events.recv().ok();
        }
        let mut probes = self.session.probes();
        let mut transaction =
            self.session.transaction(&self.store, &mut self.host, UNATTENDED)?.with_probes(&mut probes);
        let interrupted = "it was interrupted before it was confirmed";
        let settled = match event {
            Some(Event::Confirm) => Self::confirm(&mut transaction, &self.store, &witness),
            Some(Event::Stop) => Self::take_back(&mut transaction, &self.store, &witness).map(|end| match end {
                Some(End::RolledBack { why: _, report }) => {
                    Some(End::RolledBack { why: interrupted.to_owned(), report })
                }
                end => end,
            }),
            Some(Event::Ended) | None => Self::time_is_over(&mut transaction, &witness),
        };
        drop(transaction);
        match settled.map_err(|error| session::failure(&error))? {
            Some(End::Confirmed { .. }) => Ok(End::Confirmed { verified: how.verify }),
            Some(end) => Ok(end),
            None => self.reported_by(&mut witness, summary, how.verify),
        }
    }

    /// Has everybody who may end the wait do so by an event.
    fn listen(&self, enter: bool) {
        if enter {
            let sender = self.signals.sender.clone();
            thread::spawn(move || {
                if io::stdin().lock().read_line(&mut String::new()).is_ok_and(|read| read > 0) {
                    // The receiver is gone when the answer comes too late; then it is not needed.
                    sender.send(Event::Confirm).ok();
                }
            });
        }
        let (sender, store) = (self.signals.sender.clone(), self.store.clone());
        thread::spawn(move || {
            // Whether it was settled, or its time is over, or cannot be known: the journal is asked next.
            wait_for_deadline(&store, CLOCK).ok();
            sender.send(Event::Ended).ok();
        });
    }

    /// Confirms the change, unless somebody else settled it.
    fn confirm(transaction: &mut Transaction<'_>, store: &Store, witness: &Witness) -> Result<Option<End>, Error> {
        if !is_pending(store, witness)? {
            return Ok(None);
        }
        transaction.commit().map(|_| Some(End::Confirmed { verified: true }))
    }

    /// Takes the change back, unless somebody else settled it.
    fn take_back(transaction: &mut Transaction<'_>, store: &Store, witness: &Witness) -> Result<Option<End>, Error> {
        if !is_pending(store, witness)? {
            return Ok(None);
        }
        transaction.rollback().map(|recovery| rolled_back(&recovery, witness))
    }

    /// Takes the change back when its time is over and nobody else did so yet.
    fn time_is_over(transaction: &mut Transaction<'_>, witness: &Witness) -> Result<Option<End>, Error> {
        transaction.recover().map(|recovery| rolled_back(&recovery, witness))
    }

    /// Somebody else settled the change: its journal knows how.
    fn reported_by(&mut self, witness: &mut Witness, summary: &Summary, verified: bool) -> Result<End, Failure> {
        let fate = witness.fate(&self.store).map_err(|error| session::failure(&error))?;
        match fate {
            Fate::Confirmed => Ok(End::Confirmed { verified }),
            Fate::Pending => Ok(End::Open(summary.clone())),
            Fate::RolledBack => {
                let why = "it was not confirmed in time, or rolled back elsewhere".to_owned();
                let mut probes = self.session.probes();
                let transaction = self.session.transaction(&self.store, &mut self.host, UNATTENDED)?;
                let unreached = transaction.with_probes(&mut probes).unreached(summary);
                Ok(End::RolledBack { why, report: UndoReport { unreached, ..UndoReport::default() } })
            }
            Fate::Unclear => {
                self.session.mention_failed(&self.store);
                let source = &self.source;
                Err(Failure::failed(format_args!(
                    "{source}: the change was not confirmed, and its journal does not say that all of it was taken back; \
                     {} tells what is left of it",
                    self.session.hint(&format!("diff {source}"))
                )))
            }
        }
    }

    fn report(&self, end: &End, plan: impl Fn() -> Json, format: Option<Format>) -> Result<Exit, Failure> {
        if let Some(format) = format.filter(|format| *format != Format::Table)
            && let Some(text) = result(&end.json(&self.source, &plan()), Some(format))
        {
            // The change is what it is, and its status must be reported, even when nobody reads the rest.
            output::data(&text).ok();
        }
        match end {
            End::Nothing => self.session.output.note("Nothing to do: the host is as the document says."),
            End::Confirmed { verified: true } => self.session.output.note("Done, verified and kept."),
            End::Confirmed { verified: false } => self.session.output.note("Done and kept; not verified."),
            End::Open(summary) => self.session.output.note(&format!(
                "The change is in place until {}; {} keeps it, {} takes it back at once.",
                summary.deadline,
                self.session.hint("commit"),
                self.session.hint("rollback")
            )),
            End::RolledBack { why, report } => {
                let source = &self.source;
                let undone = match report.unreached_text() {
                    None => "the host verified to be as it was".to_owned(),
                    Some(unreached) => format!("its configuration is as it was, but {unreached}"),
                };
                return Err(Failure::failed(format_args!("{source}: the change is undone and {undone}: {why}")));
            }
        }
        Ok(Exit::Done)
    }
}

/// Shows the plan. A reader that went away is no reason to leave the change undone.
fn show(preview: &Preview<'_>, output: Output, format: Option<Format>) {
    if preview.is_empty() {
        return;
    }
    let shown = preview.text(output, false);
    if format == Some(Format::Table) {
        output::data(&shown).ok();
    } else {
        output.block(&shown);
    }
}

/// Whether the change of a journal still waits.
fn is_pending(store: &Store, witness: &Witness) -> Result<bool, Error> {
    Ok(store.pending()?.is_some_and(|summary| summary.id == witness.id()))
}

/// The end of the change, when that is what a turn took back.
fn rolled_back(recovery: &Recovery, witness: &Witness) -> Option<End> {
    match recovery {
        Recovery::RolledBack { summary, why, report } if summary.id == witness.id() => {
            Some(End::RolledBack { why: why.to_string(), report: report.clone() })
        }
        Recovery::Nothing
        | Recovery::Dropped
        | Recovery::Finished(_)
        | Recovery::Open(_)
        | Recovery::RolledBack { .. }
        | Recovery::Rebooted { .. } => None,
    }
}

/// What the steps of a change came to.
#[derive(Debug)]
enum Done {
    /// It has ended.
    Ended(End),
    /// It waits, and its journal is held.
    Open(Summary, Witness),
}

impl Done {
    fn of(outcome: Outcome, store: &Store, verified: bool) -> Result<Self, Failure> {
        Ok(match outcome {
            Outcome::Nothing => Self::Ended(End::Nothing),
            Outcome::Confirmed => Self::Ended(End::Confirmed { verified }),
            Outcome::RolledBack { why, report } => Self::Ended(End::RolledBack { why: why.to_string(), report }),
            Outcome::Open(summary) => Self::Open(summary, store.witness().map_err(|error| session::failure(&error))?),
        })
    }
}

/// What became of a change.
#[derive(Debug)]
enum End {
    Nothing,
    Confirmed {
        /// Whether the host was read back.
        verified: bool,
    },
    Open(Summary),
    RolledBack {
        /// Why.
        why: String,
        /// What the undo came to.
        report: UndoReport,
    },
}

impl End {
    fn json(&self, source: &str, plan: &Json) -> Json {
        let (word, why, deadline) = match self {
            Self::Nothing => ("nothing", None, None),
            Self::Confirmed { verified: _ } => ("confirmed", None, None),
            Self::Open(summary) => ("open", None, Some(summary.deadline.to_string())),
            Self::RolledBack { why, report: _ } => ("rolled-back", Some(why), None),
        };
        let mut reported = json!({ "result": word, "source": source, "why": why, "deadline": deadline, "plan": plan });
        if let Self::RolledBack { why: _, report } = self {
            reported["unreached"] = json!(report.unreached_names());
        }
        reported
    }
}
