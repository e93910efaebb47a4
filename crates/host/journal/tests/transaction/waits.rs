//! A change that waits before it is judged: for the carrier of links, and for a server that restarts.

use std::{
    cell::RefCell,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use netloom_journal::{Cause, Outcome, ProbeResult, Probes, Request, Waiting};

use crate::bench::{Scratch, TestClock, Tiny, change, desired, process, request, resets_card};

const SECOND: Duration = Duration::from_secs(1);
/// How long it may take from a failed verdict until the change is undone.
const UNDO: Duration = Duration::from_secs(5);

/// Probes that answer by the time: the gateway from one moment on, the API from another.
struct ByTime<'a> {
    clock: TestClock,
    gateway_from: Duration,
    api_from: Duration,
    /// Whether the change was begun, so that times count.
    begun: bool,
    reported: Vec<Waiting>,
    /// Raised when something is waited for.
    waits: &'a AtomicBool,
}

impl Probes for ByTime<'_> {
    fn names(&self) -> Vec<String> {
        vec!["gateway".to_owned(), "api".to_owned()]
    }

    fn run(&mut self, names: &[String], _: Duration) -> Vec<ProbeResult> {
        let (now, begun) = (self.clock.0.get(), std::mem::replace(&mut self.begun, true));
        let verdict = |name: &String| match name.as_str() {
            _ if !begun => ProbeResult::Passed,
            "api" if now >= self.gateway_from && now < self.api_from => ProbeResult::Refused("refused".to_owned()),
            _ if now < self.gateway_from => ProbeResult::Failed("no answer".to_owned()),
            _ => ProbeResult::Passed,
        };
        names.iter().map(verdict).collect()
    }

    fn waits(&mut self, what: &Waiting) {
        self.reported.push(what.clone());
        self.waits.store(true, Ordering::Relaxed);
    }
}

/// How a change went.
struct Run {
    outcome: Outcome,
    /// What was reported meanwhile.
    reported: Vec<Waiting>,
    /// When the host was as it was before, of a change that was undone. Probes are asked once more after that.
    undone: Duration,
    /// When all was over.
    over: Duration,
}

impl Run {
    fn why(self) -> Cause {
        match self.outcome {
            Outcome::RolledBack { why, .. } => why,
            other => panic!("{other:?}"),
        }
    }
}

/// What becomes of a change that resets a card.
fn run(carrier: Duration, api: Duration, ask: impl Fn(&mut Request<'_>)) -> Run {
    reported_to_stop(carrier, api, ask, None)
}

/// The same; with `stop`, somebody tells it to stop when it waits.
fn reported_to_stop(
    carrier: Duration,
    api: Duration,
    ask: impl Fn(&mut Request<'_>),
    stop: Option<&AtomicBool>,
) -> Run {
    let (scratch, host) = (Scratch::new(), RefCell::new(Tiny::new()));
    let clock = host.borrow().clock.clone();
    let waits = AtomicBool::new(false);
    let mut probes = ByTime {
        clock: clock.clone(),
        gateway_from: carrier,
        api_from: api,
        begun: false,
        reported: Vec::new(),
        waits: stop.unwrap_or(&waits),
    };
    let mut prepared = change(&Tiny::new().seen);
    prepared.touched = resets_card(&Tiny::new().seen);
    host.borrow_mut().carrier_at = Some(carrier);
    let desired = desired();
    let mut request = request(&desired);
    (request.timeout, request.stop) = (Duration::from_mins(10), stop);
    ask(&mut request);
    let outcome =
        process(&scratch.store(), &host, "boot-1", |transaction| transaction.run(&prepared, &request, &mut probes));
    let outcome = outcome.unwrap();
    if matches!(outcome, Outcome::RolledBack { .. }) {
        assert_eq!(host.borrow().seen, Tiny::new().seen);
        assert_eq!(scratch.store().pending().unwrap(), None);
    }
    let undone = host.borrow().read_at;
    Run { outcome, reported: probes.reported, undone, over: clock.0.get() }
}

#[test]
fn a_carrier_that_comes_after_twenty_seconds_is_waited_for_by_its_event() {
    let Run { outcome, reported, over, .. } = run(20 * SECOND, Duration::ZERO, |_| {});
    assert_eq!(outcome, Outcome::Confirmed);
    assert!(over >= 20 * SECOND && over < 21 * SECOND, "{over:?}");
    assert_eq!(reported, [Waiting::Carrier(vec!["eth0".to_owned()])]);
}

#[test]
fn a_carrier_that_never_comes_is_waited_for_as_long_as_was_reported() {
    let never = Duration::from_hours(1);
    let long = run(never, Duration::ZERO, |_| {});
    assert!(long.undone >= 45 * SECOND && long.undone <= 45 * SECOND + UNDO, "{:?}", long.undone);
    assert!(long.over > long.undone, "it was given a second chance");
    assert!(matches!(long.why(), Cause::Probe { .. }));
    let short = run(never, Duration::ZERO, |request| request.timing.carrier = SECOND);
    assert!(short.undone >= SECOND && short.undone <= SECOND + UNDO, "{:?}", short.undone);
    assert_eq!(short.reported.len(), 1);
    assert!(matches!(short.why(), Cause::Probe { .. }));
}

#[test]
fn a_server_that_is_away_for_fifteen_seconds_is_waited_for() {
    let Run { outcome, reported, over, .. } = run(Duration::ZERO, 15 * SECOND, |_| {});
    assert_eq!(outcome, Outcome::Confirmed);
    assert!(over >= 15 * SECOND && over <= 16 * SECOND, "{over:?}");
    assert_eq!(reported, [Waiting::Restart("api".to_owned())]);
}

#[test]
fn a_server_that_stays_away_is_named_and_the_change_undone() {
    let away = run(Duration::ZERO, Duration::from_hours(1), |_| {});
    assert!(away.undone >= 60 * SECOND && away.undone <= 60 * SECOND + UNDO, "{:?}", away.undone);
    assert_eq!(away.why(), Cause::Away { name: "api".to_owned(), waited: Duration::from_mins(1) });
}

#[test]
fn the_deadline_of_a_person_is_kept_and_says_what_was_waited_for() {
    for (carrier, api, what) in [
        (20 * SECOND, Duration::ZERO, "carrier on eth0"),
        (Duration::ZERO, 20 * SECOND, "api, which refuses connections while everything else is reached"),
    ] {
        let late = run(carrier, api, |request| request.timeout = 10 * SECOND);
        assert!(late.undone >= 10 * SECOND && late.undone <= 11 * SECOND, "{:?}", late.undone);
        match late.why() {
            Cause::Unsettled { what: reported, .. } => assert_eq!(reported, what),
            other => panic!("{other}"),
        }
    }
    let Run { outcome, .. } = run(5 * SECOND, Duration::ZERO, |request| {
        (request.timeout, request.confirm) = (10 * SECOND, false);
    });
    assert!(matches!(outcome, Outcome::Open(_)));
}

#[test]
fn who_tells_it_to_stop_does_not_wait_for_a_carrier() {
    let stop = AtomicBool::new(false);
    let stopped = reported_to_stop(20 * SECOND, Duration::ZERO, |_| {}, Some(&stop));
    assert!(stopped.over < 2 * SECOND, "{:?}", stopped.over);
    assert_eq!(stopped.why(), Cause::Stopped);
}
