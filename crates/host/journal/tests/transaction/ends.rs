//! The transaction from outside: every way in which it can end.

use std::{
    cell::RefCell,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use crate::bench::{Scratch, Tiny, change, desired, owned, process, request, resolver, rule};
use netloom_journal::{Cause, Error, NoProbes, Outcome, Phase, ProbeResult, Probes, Recovery, Unreached};
use netloom_model::{Observed, Ownership, Setting, Step, StepError};

struct Bench {
    scratch: Scratch,
    host: RefCell<Tiny>,
}

impl Bench {
    fn new() -> Self {
        Self { scratch: Scratch::new(), host: RefCell::new(Tiny::new()) }
    }

    fn seen(&self) -> Observed {
        self.host.borrow().seen.clone()
    }

    /// Carries the change out with whatever the host was asked to do.
    fn run(&self, confirm: bool, probes: &mut dyn Probes) -> Result<Outcome, Error> {
        let prepared = change(&Tiny::new().seen);
        let desired = desired();
        let mut request = request(&desired);
        request.confirm = confirm;
        process(&self.scratch.store(), &self.host, "boot-1", |transaction| transaction.run(&prepared, &request, probes))
    }

    fn journal_is_gone(&self) {
        assert_eq!(self.scratch.store().pending().unwrap(), None);
        assert!(!self.scratch.store().dir().join("journal").exists());
    }

    /// The host is as at the start and nothing is left over.
    fn untouched(&self) {
        assert_eq!(self.seen(), Tiny::new().seen);
        assert_eq!(self.scratch.store().ownership().unwrap(), Ownership::default());
        self.journal_is_gone();
    }

    fn changed(&self) {
        assert_eq!(self.seen().settings.hostname_running(), "new");
        assert_eq!(self.seen().rules.len(), 1);
        assert_eq!(self.scratch.store().ownership().unwrap(), owned());
        self.journal_is_gone();
    }
}

fn rolled_back(outcome: Result<Outcome, Error>) -> Cause {
    match outcome.unwrap() {
        Outcome::RolledBack { why, .. } => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_good_change_is_confirmed_and_recorded() {
    let bench = Bench::new();
    assert_eq!(bench.run(true, &mut NoProbes).unwrap(), Outcome::Confirmed);
    bench.changed();
    assert_eq!(bench.host.borrow().sent.len(), 4);
}

#[test]
fn nothing_to_do_sends_nothing_and_still_records_who_asked() {
    let bench = Bench::new();
    let mut prepared = change(&bench.seen());
    prepared.planned.plan.steps.clear();
    let desired = desired();
    let store = bench.scratch.store();
    let outcome = process(&store, &bench.host, "boot-1", |transaction| {
        transaction.run(&prepared, &request(&desired), &mut NoProbes)
    })
    .unwrap();
    assert_eq!(outcome, Outcome::Nothing);
    assert!(bench.host.borrow().sent.is_empty());
    assert_eq!(store.ownership().unwrap(), owned());
}

#[test]
fn a_refused_step_takes_back_what_was_done_before_it() {
    for number in 0..4 {
        let bench = Bench::new();
        bench.host.borrow_mut().refuse.insert(number, vec![StepError::with(StepError::EINVAL, "no such thing")]);
        match rolled_back(bench.run(true, &mut NoProbes)) {
            Cause::Step { number: reported, of: 4, error, .. } => {
                assert_eq!((reported, error.errno), (number + 1, StepError::EINVAL));
            }
            other => panic!("{other}"),
        }
        bench.untouched();
    }
}

#[test]
fn a_busy_kernel_is_asked_three_times_more() {
    let bench = Bench::new();
    bench.host.borrow_mut().refuse.insert(1, vec![StepError::new(StepError::EBUSY); 3]);
    assert_eq!(bench.run(true, &mut NoProbes).unwrap(), Outcome::Confirmed);
    bench.changed();

    let bench = Bench::new();
    bench.host.borrow_mut().refuse.insert(1, vec![StepError::new(StepError::EBUSY); 4]);
    assert!(matches!(rolled_back(bench.run(true, &mut NoProbes)), Cause::Step { number: 2, .. }));
    bench.untouched();
    assert_eq!(bench.host.borrow().clock.0.get(), Duration::from_millis(150));
}

#[test]
fn somebody_elses_equal_object_counts_as_done_and_survives_an_undo() {
    for (confirm, refuse) in [(true, None), (true, Some(3))] {
        let bench = Bench::new();
        bench.host.borrow_mut().seen.host.rules.insert(rule(7).key, rule(7).protocol);
        if let Some(number) = refuse {
            bench.host.borrow_mut().refuse.insert(number, vec![StepError::new(StepError::EPERM)]);
        }
        let outcome = bench.run(confirm, &mut NoProbes).unwrap();
        assert_eq!(matches!(outcome, Outcome::Confirmed), refuse.is_none());
        assert_eq!(bench.seen().rules.len(), 1);
        bench.journal_is_gone();
    }
}

#[test]
fn somebody_elses_other_object_in_the_way_is_an_error_and_survives() {
    let bench = Bench::new();
    bench.host.borrow_mut().seen.host.rules.insert(rule(7).key, netloom_types::Protocol(4));
    let before = bench.seen();
    let why = rolled_back(bench.run(true, &mut NoProbes));
    assert!(matches!(why, Cause::Step { number: 1, ref error, .. } if error.errno == StepError::EEXIST), "{why}");
    assert_eq!(bench.seen(), before);
}

#[test]
fn a_host_that_is_not_as_desired_is_put_back() {
    let bench = Bench::new();
    bench.host.borrow_mut().ignore.insert(1);
    let why = rolled_back(bench.run(true, &mut NoProbes));
    assert!(matches!(&why, Cause::Unmet(list) if list[0].path == "hostname.running"), "{why}");
    assert_eq!(bench.host.borrow().clock.0.get(), Duration::from_secs(2));
    bench.untouched();
}

#[test]
fn without_reading_back_a_step_that_worked_is_believed() {
    let bench = Bench::new();
    bench.host.borrow_mut().ignore.insert(1);
    let prepared = change(&bench.seen());
    let desired = desired();
    let mut request = request(&desired);
    request.verify = false;
    let store = bench.scratch.store();
    let outcome =
        process(&store, &bench.host, "boot-1", |transaction| transaction.run(&prepared, &request, &mut NoProbes))
            .unwrap();
    assert_eq!(outcome, Outcome::Confirmed);
    assert_eq!(bench.host.borrow().observed, 0);
}

/// Probes whose answers are written down beforehand.
struct Script {
    answers: Vec<(&'static str, Vec<ProbeResult>)>,
    runs: usize,
}

impl Probes for Script {
    fn names(&self) -> Vec<String> {
        self.answers.iter().map(|(name, _)| (*name).to_owned()).collect()
    }

    fn run(&mut self, names: &[String], _: Duration) -> Vec<ProbeResult> {
        self.runs += 1;
        let mut next = |name: &String| {
            let (_, answers) = self.answers.iter_mut().find(|(known, _)| known == name).unwrap();
            if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() }
        };
        names.iter().map(&mut next).collect()
    }
}

fn no() -> ProbeResult {
    ProbeResult::Failed("no answer".into())
}

#[test]
fn a_probe_that_passed_before_and_fails_after_takes_the_change_back_in_time() {
    let bench = Bench::new();
    let mut probes = Script { answers: vec![("gateway", vec![ProbeResult::Passed, no()])], runs: 0 };
    let Outcome::RolledBack { why, report } = bench.run(true, &mut probes).unwrap() else { panic!("it stays") };
    assert_eq!(why, Cause::Probe { name: "gateway".into(), why: "no answer".into() });
    // Five seconds until the host is back, and ten more until it is notified that this did not help.
    let (undone, over) = (bench.host.borrow().read_at, bench.host.borrow().clock.0.get());
    assert!(undone <= Duration::from_secs(5), "{undone:?}");
    assert!(over > undone && over <= undone + Duration::from_secs(10), "{over:?}");
    let unreached = Unreached { name: "gateway".into(), why: "no answer".into() };
    assert_eq!(report.unreached, [unreached], "an undo that did not help is not called verified");
    assert!(probes.runs > 2, "it was given a second chance");
    bench.untouched();
}

#[test]
fn probes_that_failed_before_or_pass_in_the_end_do_not_matter() {
    let bench = Bench::new();
    let answers = vec![
        ("gateway", vec![no()]),
        ("api", vec![ProbeResult::NotApplicable, no()]),
        ("mine", vec![ProbeResult::Passed, no(), no(), ProbeResult::Passed]),
    ];
    let mut probes = Script { answers, runs: 0 };
    assert_eq!(bench.run(true, &mut probes).unwrap(), Outcome::Confirmed);
    assert_eq!(probes.runs, 4);
    bench.changed();
}

#[test]
fn what_must_be_reached_first_keeps_a_change_from_beginning() {
    let desired = desired();
    let mut request = request(&desired);
    request.first = vec!["api".to_owned(), "other api".to_owned()];
    let run = |bench: &Bench, other: ProbeResult| {
        let answers = vec![("gateway", vec![ProbeResult::Passed]), ("api", vec![no()]), ("other api", vec![other])];
        let (prepared, store) = (change(&bench.seen()), bench.scratch.store());
        let mut probes = Script { answers, runs: 0 };
        process(&store, &bench.host, "boot-1", |transaction| transaction.run(&prepared, &request, &mut probes))
    };
    let bench = Bench::new();
    let error = run(&bench, no()).unwrap_err();
    assert_eq!(error.reason(), "OutOfReach");
    assert!(error.to_string().contains("api, other api"), "{error}");
    bench.untouched();
    assert_eq!(run(&bench, ProbeResult::Passed).unwrap(), Outcome::Confirmed, "one of them is enough");
    bench.changed();
}

#[test]
fn the_deadline_and_a_stop_take_the_change_back() {
    let desired = desired();
    let store_of = |bench: &Bench| bench.scratch.store();
    let bench = Bench::new();
    let prepared = change(&bench.seen());
    let mut short = request(&desired);
    short.timeout = Duration::ZERO;
    let why = rolled_back(process(&store_of(&bench), &bench.host, "boot-1", |transaction| {
        transaction.run(&prepared, &short, &mut NoProbes)
    }));
    assert!(matches!(why, Cause::Deadline(_)));
    bench.untouched();

    let bench = Bench::new();
    let stop = AtomicBool::new(true);
    let mut stopped = request(&desired);
    stopped.stop = Some(&stop);
    let why = rolled_back(process(&store_of(&bench), &bench.host, "boot-1", |transaction| {
        transaction.run(&prepared, &stopped, &mut NoProbes)
    }));
    assert_eq!(why, Cause::Stopped);
    bench.untouched();
}

/// A probe that fails after the change, while somebody asks the process to end.
struct Interrupted<'a> {
    stop: &'a AtomicBool,
    runs: usize,
}

impl Probes for Interrupted<'_> {
    fn names(&self) -> Vec<String> {
        vec!["gateway".to_owned()]
    }

    fn run(&mut self, _: &[String], _: Duration) -> Vec<ProbeResult> {
        self.runs += 1;
        self.stop.store(self.runs > 1, Ordering::Relaxed);
        vec![if self.runs == 1 { ProbeResult::Passed } else { no() }]
    }
}

#[test]
fn a_stop_between_two_attempts_of_a_probe_is_a_stop() {
    let (bench, desired, stop) = (Bench::new(), desired(), AtomicBool::new(false));
    let (prepared, store) = (change(&bench.seen()), bench.scratch.store());
    let mut request = request(&desired);
    request.stop = Some(&stop);
    let mut probes = Interrupted { stop: &stop, runs: 0 };
    let why = rolled_back(process(&store, &bench.host, "boot-1", |transaction| {
        transaction.run(&prepared, &request, &mut probes)
    }));
    assert_eq!((why, probes.runs), (Cause::Stopped, 3), "once before, once after and once more after the undo");
    bench.untouched();
}

#[test]
fn an_open_change_waits_is_named_and_can_be_confirmed() {
    let bench = Bench::new();
    let store = bench.scratch.store();
    let Outcome::Open(summary) = bench.run(false, &mut NoProbes).unwrap() else { panic!() };
    assert_eq!((summary.phase, summary.steps, summary.sent), (Phase::Open, 4, 4));
    assert_eq!(store.pending().unwrap(), Some(summary));
    assert_eq!(store.ownership().unwrap(), Ownership::default());

    let desired = desired();
    let refused =
        process(&store, &bench.host, "boot-1", |transaction| transaction.prepare(&request(&desired))).unwrap_err();
    assert_eq!(refused.reason(), "ChangeUnconfirmed");
    assert!(refused.to_string().contains("site.yaml"), "{refused}");

    let committed = process(&store, &bench.host, "boot-1", |transaction| transaction.commit()).unwrap();
    assert_eq!(committed.phase, Phase::Confirmed);
    bench.changed();
    let again = process(&store, &bench.host, "boot-1", |transaction| transaction.commit()).unwrap_err();
    assert_eq!(again.reason(), "NothingToConfirm");
}

#[test]
fn an_open_change_can_be_rolled_back() {
    let bench = Bench::new();
    let store = bench.scratch.store();
    bench.run(false, &mut NoProbes).unwrap();
    let recovery = process(&store, &bench.host, "boot-1", |transaction| transaction.rollback()).unwrap();
    assert!(matches!(recovery, Recovery::RolledBack { why: Cause::Asked, .. }));
    bench.untouched();
    let again = process(&store, &bench.host, "boot-1", |transaction| transaction.rollback()).unwrap_err();
    assert_eq!(again.reason(), "NothingToConfirm");
}

#[test]
fn an_open_change_cannot_be_confirmed_after_its_deadline() {
    let bench = Bench::new();
    let store = bench.scratch.store();
    bench.run(false, &mut NoProbes).unwrap();
    bench.host.borrow().clock.advance(Duration::from_mins(1));
    let late = process(&store, &bench.host, "boot-1", |transaction| transaction.commit()).unwrap_err();
    assert_eq!(late.reason(), "NotConfirmedInTime");
    bench.untouched();
}

#[test]
fn after_a_reboot_only_files_are_put_back_and_only_if_nobody_wrote_them_since() {
    let start = Tiny::new().seen.host;
    for rewritten in [false, true] {
        let bench = Bench::new();
        let store = bench.scratch.store();
        bench.run(false, &mut NoProbes).unwrap();
        {
            let mut host = bench.host.borrow_mut();
            host.sent.clear();
            host.seen.host.rules.clear();
            host.seen.host.settings.set(Setting::HostnameRunning("fresh".into()));
            if rewritten {
                host.seen.host.settings.set(resolver("203.0.113.1"));
            }
        }
        let recovery = process(&store, &bench.host, "boot-2", |transaction| transaction.recover()).unwrap();
        assert!(matches!(recovery, Recovery::Rebooted { .. }));
        let seen = bench.seen();
        assert_eq!((seen.settings.hostname_running(), seen.settings.hostname_config()), ("fresh", "old"));
        let servers =
            if rewritten { vec!["203.0.113.1".to_owned()] } else { start.settings.resolver().servers.clone() };
        assert_eq!(seen.settings.resolver().servers, servers);
        assert!(bench.host.borrow().sent.iter().all(|(step, _)| step.is_persistent()));
        bench.journal_is_gone();
    }
}

#[test]
fn an_undo_that_cannot_put_everything_back_says_what_and_keeps_the_journal() {
    let bench = Bench::new();
    bench.host.borrow_mut().refuse.insert(2, vec![StepError::new(StepError::EPERM)]);
    // From then on the running host name does not change any more.
    bench.host.borrow_mut().ignore.extend(3..40);
    let error = bench.run(true, &mut NoProbes).unwrap_err();
    assert_eq!(error.reason(), "UndoIncomplete");
    let Error::UndoIncomplete(leftover) = error else { panic!() };
    assert!(matches!(leftover.why, Cause::Step { number: 3, .. }));
    assert_eq!(leftover.differences.len(), 2, "{:?}", leftover.differences);
    assert!(leftover.kept.exists());
    assert_eq!(bench.scratch.store().failed().unwrap(), [leftover.kept]);
    bench.journal_is_gone();
}

#[test]
fn undo_steps_that_do_not_take_are_followed_by_a_plan_that_does() {
    let bench = Bench::new();
    bench.host.borrow_mut().refuse.insert(3, vec![StepError::new(StepError::EPERM)]);
    // The undo steps themselves are acknowledged and lost.
    bench.host.borrow_mut().ignore.extend(4..8);
    rolled_back(bench.run(true, &mut NoProbes));
    bench.untouched();
}

#[test]
fn a_host_that_goes_deaf_is_put_back_by_the_next_turn() {
    let bench = Bench::new();
    bench.run(false, &mut NoProbes).unwrap();
    bench.host.borrow_mut().deaf = true;
    let store = bench.scratch.store();
    let lost = process(&store, &bench.host, "boot-1", |transaction| transaction.rollback()).unwrap_err();
    assert_eq!(lost.reason(), "UndoInterrupted");
    bench.host.borrow_mut().deaf = false;
    let recovery = process(&store, &bench.host, "boot-1", |transaction| transaction.recover()).unwrap();
    assert!(matches!(recovery, Recovery::RolledBack { why: Cause::Interrupted, .. }));
    bench.untouched();
}

#[test]
fn a_journal_that_is_not_ours_stops_everything_and_stays() {
    let bench = Bench::new();
    let store = bench.scratch.store();
    let path = store.dir().join("journal");
    std::fs::write(&path, "notes of somebody\n").unwrap();
    let desired = desired();
    let error =
        process(&store, &bench.host, "boot-1", |transaction| transaction.prepare(&request(&desired))).unwrap_err();
    assert_eq!(error.reason(), "StateDamaged");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "notes of somebody\n");
}

#[test]
fn undo_steps_come_in_reverse() {
    let bench = Bench::new();
    bench.run(false, &mut NoProbes).unwrap();
    bench.host.borrow_mut().sent.clear();
    process(&bench.scratch.store(), &bench.host, "boot-1", |transaction| transaction.rollback()).unwrap();
    let sent: Vec<Step> = bench.host.borrow().sent.iter().map(|(step, _)| step.clone()).collect();
    let expected: Vec<Step> =
        change(&Tiny::new().seen).planned.plan.steps.into_iter().rev().flat_map(|planned| planned.undo).collect();
    assert_eq!(sent, expected);
}

#[test]
fn a_plan_that_was_made_before_another_change_is_not_carried_out() {
    let bench = Bench::new();
    let store = bench.scratch.store();
    let stale = change(&bench.seen());
    bench.run(true, &mut NoProbes).unwrap();
    let seen = bench.seen();
    let desired = desired();
    let run = || {
        process(&store, &bench.host, "boot-1", |transaction| transaction.run(&stale, &request(&desired), &mut NoProbes))
    };
    assert_eq!(run().unwrap_err().reason(), "AnotherChangeAtWork");
    assert_eq!(bench.seen(), seen);
    assert_eq!(store.ownership().unwrap(), owned());

    let bench = Bench::new();
    bench.run(false, &mut NoProbes).unwrap();
    assert_eq!(bench.run(true, &mut NoProbes).unwrap_err().reason(), "ChangeUnconfirmed");
}
