//! `netloom state set`: the node transaction, from a file to a verified host.

use std::{
    cell::Cell,
    io::{self, BufRead, IsTerminal},
    path::Path,
    thread,
    time::Duration,
};

use netloom_journal::{Ended, Outcome, Prepared, Request, Store, Summary, wait_for_deadline};
use netloom_model::Ownership;
use netloom_netlink::{KernelHost, probe::Probe};
use serde_json::{Value as Json, json};

use crate::{
    args::{Format, SetArgs},
    commands::{commit::PATIENCE, diff, guard, result},
    failure::{Exit, Failure},
    output::{self, Output},
    preview::Preview,
    probes::{self, KernelProbes},
    progress::{Told, ToldProbes},
    session::{self, CLOCK, Session},
    signals::{Event, Signals},
    wish::{Resolved, Wish},
};

/// Until when an open change may be confirmed, unless told otherwise.
const OPEN: Duration = Duration::from_mins(1);

/// Until when a change that confirms itself must have done so: nobody waits for it, and the largest
/// ones take a minute on slow machines.
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
    let SetArgs { wish, dry_run, timeout, no_commit, no_verify, probe, no_probe, wait, stats, format } = args;
    let from_stdin = wish.file == Path::new("-");
    let wish = Wish::load(wish, session)?;
    if dry_run {
        return dry(&wish, session, format.asked());
    }
    let ending = match (timeout, no_commit) {
        (_, true) => Ending::Later,
        (Some(_), false) => Ending::Person,
        (None, false) => Ending::Itself,
    };
    let timeout = timeout.map(|seconds| Duration::from_secs(seconds.into()));
    let timeout = timeout.unwrap_or(if ending == Ending::Itself { UNATTENDED } else { OPEN });
    let probes = if no_probe { Vec::new() } else { probes::parse(&probe)? };
    let signals = Signals::take_over()?;
    let change = Change { session, wish: &wish, store: session.store()?, host: session.host()?, signals, timeout };
    let how = How { ending, verify: !no_verify, wait: Duration::from_secs(wait.into()), from_stdin, probes, stats };
    change.carry_out(&how, format.asked())
}

/// Prints the plan and stops.
fn dry(wish: &Wish, session: &Session, format: Option<Format>) -> Result<Exit, Failure> {
    session.mention_open();
    let (observed, planned) = diff::planned(wish, session)?;
    let preview = Preview::of(&planned.plan, &observed);
    let text = result(&preview.json(), format).unwrap_or_else(|| preview.text(session.output, true));
    output::data(&text)?;
    Ok(if planned.plan.is_empty() { Exit::Done } else { Exit::Refused })
}

/// How careful a change is.
#[derive(Debug)]
struct How {
    ending: Ending,
    verify: bool,
    wait: Duration,
    from_stdin: bool,
    probes: Vec<Probe>,
    stats: bool,
}

/// Everything that one change needs.
struct Change<'a> {
    session: &'a Session,
    wish: &'a Wish,
    store: Store,
    host: KernelHost,
    signals: Signals,
    timeout: Duration,
}

impl Change<'_> {
    fn carry_out(mut self, how: &How, format: Option<Format>) -> Result<Exit, Failure> {
        let (session, output) = (self.session, self.session.output);
        session.recover(&mut session.turn(&self.store, &mut self.host, how.wait)?)?;
        let Resolved { observed, state, scope } = self.wish.on(&mut self.host, session)?;
        let request = Request {
            options: self.wish.options.clone(),
            scope,
            verify: how.verify,
            confirm: how.ending == Ending::Itself,
            timeout: self.timeout,
            stop: Some(&self.signals.stop),
            ..Request::new(&state, &self.wish.source)
        };
        // One turn for planning and carrying out: nobody else may change the host between the two.
        let steps = Cell::new(0);
        let (prepared, outcome) = {
            let mut told = Told::new(&mut self.host, output, &steps);
            let mut turn = session.turn(&self.store, &mut told, how.wait)?;
            let prepared = turn.prepare(&request).map_err(|error| session::failure(&error))?;
            steps.set(prepared.planned.plan.steps.len());
            show(&prepared, &Preview::of(&prepared.planned.plan, &observed), output, format);
            let mut probes = KernelProbes::new(session.namespace.clone(), &how.probes, &observed);
            let outcome = turn
                .run(&prepared, &request, &mut ToldProbes::new(&mut probes, output))
                .map_err(|error| session::failure(&error))?;
            (prepared, outcome)
        };
        let end = self.end(outcome, how, &prepared)?;
        if how.stats {
            let counters = self.host.counters().map_err(|error| Failure::usage(&error))?;
            output.note(&format!("netlink: {counters}"));
        }
        self.report(&end, || Preview::of(&prepared.planned.plan, &observed).json(), format)
    }

    /// What became of the change once nobody has to wait for it any more.
    fn end(&mut self, outcome: Outcome, how: &How, prepared: &Prepared) -> Result<End, Failure> {
        match outcome {
            Outcome::Nothing => Ok(End::Nothing),
            Outcome::Confirmed => Ok(End::Confirmed),
            Outcome::RolledBack { why, report: _ } => Ok(End::RolledBack(why.to_string())),
            Outcome::Open(summary) => {
                if let Err(failure) = guard::start(self.session) {
                    // An open change that nobody would take back in time is no safe one.
                    self.roll_back()?;
                    return Err(failure);
                }
                match how.ending {
                    Ending::Later => Ok(End::Open(summary)),
                    Ending::Person | Ending::Itself => {
                        self.attend(&summary, how.from_stdin, &prepared.planned.ownership)
                    }
                }
            }
        }
    }

    /// Waits for a yes, a no, or the end of the time.
    fn attend(&mut self, summary: &Summary, from_stdin: bool, confirmed: &Ownership) -> Result<End, Failure> {
        let enter = !from_stdin && io::stdin().is_terminal();
        let how =
            if enter { "Enter keeps it, Ctrl-C takes it back" } else { "SIGUSR1 or `netloom state commit` keeps it" };
        self.session.output.note(&format!("The change is in place until {}: {how}.", summary.deadline));
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
            let ended = wait_for_deadline(&store, CLOCK);
            debug_assert!(matches!(ended, Ok(Ended::Settled | Ended::Expired) | Err(_)));
            sender.send(Event::Ended).ok();
        });
        match self.signals.events.recv() {
            Ok(Event::Confirm) => {
                let mut turn = self.session.turn(&self.store, &mut self.host, PATIENCE)?;
                turn.commit().map_err(|error| session::failure(&error))?;
                Ok(End::Confirmed)
            }
            Ok(Event::Stop) => {
                self.roll_back()?;
                Ok(End::RolledBack("it was interrupted before it was confirmed".to_owned()))
            }
            Ok(Event::Ended) | Err(_) => self.after_the_end(confirmed),
        }
    }

    /// Somebody else settled the change, or its time is over.
    fn after_the_end(&mut self, confirmed: &Ownership) -> Result<End, Failure> {
        let mut turn = self.session.turn(&self.store, &mut self.host, PATIENCE)?;
        turn.recover().map_err(|error| session::failure(&error))?;
        let owned = self.store.ownership().map_err(|error| session::failure(&error))?;
        if owned == *confirmed {
            Ok(End::Confirmed)
        } else {
            Ok(End::RolledBack("it was not confirmed in time, or rolled back elsewhere".to_owned()))
        }
    }

    fn roll_back(&mut self) -> Result<(), Failure> {
        let mut turn = self.session.turn(&self.store, &mut self.host, PATIENCE)?;
        turn.rollback().map_err(|error| session::failure(&error))?;
        Ok(())
    }

    fn report(&self, end: &End, plan: impl Fn() -> Json, format: Option<Format>) -> Result<Exit, Failure> {
        if let Some(format) = format.filter(|format| *format != Format::Table)
            && let Some(text) = result(&end.json(&self.wish.source, &plan()), Some(format))
        {
            // The change is what it is, and its status must be told, even when nobody reads the rest.
            output::data(&text).ok();
        }
        match end {
            End::Nothing => self.session.output.note("Nothing to do: the host is as the document says."),
            End::Confirmed => self.session.output.note("Done, verified and kept."),
            End::Open(summary) => self.session.output.note(&format!(
                "The change is in place until {}; `netloom state commit` keeps it, `netloom state rollback` takes it back at once.",
                summary.deadline
            )),
            End::RolledBack(why) => {
                let source = &self.wish.source;
                return Err(Failure::failed(format_args!(
                    "{source}: the change is undone and the host verified to be as it was: {why}"
                )));
            }
        }
        Ok(Exit::Done)
    }
}

/// Shows the plan and what a person should know about it. A reader that went away is no reason to
/// leave the change undone.
fn show(prepared: &Prepared, preview: &Preview<'_>, output: Output, format: Option<Format>) {
    prepared.planned.notes.iter().for_each(|note| output.warn(note));
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

/// What became of a change.
#[derive(Debug)]
enum End {
    Nothing,
    Confirmed,
    Open(Summary),
    RolledBack(String),
}

impl End {
    fn json(&self, source: &str, plan: &Json) -> Json {
        let (word, why, deadline) = match self {
            Self::Nothing => ("nothing", None, None),
            Self::Confirmed => ("confirmed", None, None),
            Self::Open(summary) => ("open", None, Some(summary.deadline.to_string())),
            Self::RolledBack(why) => ("rolled-back", Some(why), None),
        };
        json!({ "result": word, "source": source, "why": why, "deadline": deadline, "plan": plan })
    }
}
