//! A change that waits before it is judged: for the carrier of links, and for a server that restarts.

use std::{
    cell::RefCell,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use netloom_journal::{Cause, Outcome, Probes, Request, Verdict, Waiting};

use crate::bench::{Scratch, TestClock, Tiny, change, process, request, resets_card, wish};

const SECOND: Duration = Duration::from_secs(1);
/// How long probes are asked once more after an undo, as long as one of them fails. The host is as it was before that.
const REGAINED: Duration = Duration::from_secs(10);

/// Probes that answer by the time: the gateway from one moment on, the API from another.
struct ByTime<'a> {
    clock: TestClock,
    gateway_from: Duration,
    api_from: Duration,
    /// Whether the change was begun, so that times count.
    begun: bool,
    told: Vec<Waiting>,
    /// Raised when something is waited for.
    waits: &'a AtomicBool,
}

impl Probes for ByTime<'_> {
    fn names(&self) -> Vec<String> {
        vec!["gateway".to_owned(), "api".to_owned()]
    }

    fn run(&mut self, names: &[String], _: Duration) -> Vec<Verdict> {
        let (now, begun) = (self.clock.0.get(), std::mem::replace(&mut self.begun, true));
        let verdict = |name: &String| match name.as_str() {
            _ if !begun => Verdict::Passed,
            "api" if now >= self.gateway_from && now < self.api_from => Verdict::Refused("refused".to_owned()),
            _ if now < self.gateway_from => Verdict::Failed("no answer".to_owned()),
            _ => Verdict::Passed,
        };
        names.iter().map(verdict).collect()
    }

    fn waits(&mut self, what: &Waiting) {
        self.told.push(what.clone());
        self.waits.store(true, Ordering::Relaxed);
    }
}

/// What becomes of a change that resets a card, when that was, and what was said meanwhile.
fn run(carrier: Duration, api: Duration, ask: impl Fn(&mut Request<'_>)) -> (Outcome, Duration, Vec<Waiting>) {
    told_to_stop(carrier, api, ask, None)
}

/// The same; with `stop`, somebody tells it to stop when it waits.
fn told_to_stop(
    carrier: Duration,
    api: Duration,
    ask: impl Fn(&mut Request<'_>),
    stop: Option<&AtomicBool>,
) -> (Outcome, Duration, Vec<Waiting>) {
    let (scratch, host) = (Scratch::new(), RefCell::new(Tiny::new()));
    let clock = host.borrow().clock.clone();
    let waits = AtomicBool::new(false);
    let mut probes = ByTime {
        clock: clock.clone(),
        gateway_from: carrier,
        api_from: api,
        begun: false,
        told: Vec::new(),
        waits: stop.unwrap_or(&waits),
    };
    let mut prepared = change(&Tiny::new().seen);
    prepared.touched = resets_card(&Tiny::new().seen);
    host.borrow_mut().carrier_at = Some(carrier);
    let wish = wish();
    let mut request = request(&wish);
    (request.timeout, request.stop) = (Duration::from_mins(10), stop);
    ask(&mut request);
    let outcome = process(&scratch.store(), &host, "boot-1", |turn| turn.run(&prepared, &request, &mut probes));
    let outcome = outcome.unwrap();
    if matches!(outcome, Outcome::RolledBack { .. }) {
        assert_eq!(host.borrow().seen, Tiny::new().seen);
        assert_eq!(scratch.store().pending().unwrap(), None);
    }
    (outcome, clock.0.get(), probes.told)
}

fn why(outcome: Outcome) -> Cause {
    match outcome {
        Outcome::RolledBack { why, .. } => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_carrier_that_comes_after_twenty_seconds_is_waited_for_by_its_event() {
    let (outcome, at, told) = run(20 * SECOND, Duration::ZERO, |_| {});
    assert_eq!(outcome, Outcome::Confirmed);
    assert!(at >= 20 * SECOND && at < 21 * SECOND, "{at:?}");
    assert_eq!(told, [Waiting::Carrier(vec!["eth0".to_owned()])]);
}

#[test]
fn a_carrier_that_never_comes_is_waited_for_as_long_as_was_said() {
    let (outcome, at, _) = run(Duration::from_hours(1), Duration::ZERO, |_| {});
    assert!(matches!(why(outcome), Cause::Probe { .. }));
    assert!(at >= 45 * SECOND && at <= 50 * SECOND + REGAINED, "{at:?}");
    let (outcome, at, told) = run(Duration::from_hours(1), Duration::ZERO, |request| request.timing.carrier = SECOND);
    assert!(matches!(why(outcome), Cause::Probe { .. }) && at <= 6 * SECOND + REGAINED, "{at:?}");
    assert_eq!(told.len(), 1);
}

#[test]
fn a_server_that_is_away_for_fifteen_seconds_is_waited_for() {
    let (outcome, at, told) = run(Duration::ZERO, 15 * SECOND, |_| {});
    assert_eq!(outcome, Outcome::Confirmed);
    assert!(at >= 15 * SECOND && at <= 16 * SECOND, "{at:?}");
    assert_eq!(told, [Waiting::Restart("api".to_owned())]);
}

#[test]
fn a_server_that_stays_away_is_named_and_the_change_undone() {
    let (outcome, at, _) = run(Duration::ZERO, Duration::from_hours(1), |_| {});
    assert_eq!(why(outcome), Cause::Away { name: "api".to_owned(), waited: Duration::from_mins(1) });
    assert!(at <= Duration::from_secs(65) + REGAINED, "{at:?}");
}

#[test]
fn the_deadline_of_a_person_is_kept_and_says_what_was_waited_for() {
    for (carrier, api, what) in [
        (20 * SECOND, Duration::ZERO, "carrier on eth0"),
        (Duration::ZERO, 20 * SECOND, "api, which refuses connections while everything else is reached"),
    ] {
        let (outcome, at, _) = run(carrier, api, |request| request.timeout = 10 * SECOND);
        match why(outcome) {
            Cause::Unsettled { what: told, .. } => assert_eq!(told, what),
            other => panic!("{other}"),
        }
        assert!(at >= 10 * SECOND && at <= 11 * SECOND + REGAINED, "{at:?}");
    }
    let (outcome, ..) = run(5 * SECOND, Duration::ZERO, |request| {
        (request.timeout, request.confirm) = (10 * SECOND, false);
    });
    assert!(matches!(outcome, Outcome::Open(_)));
}

#[test]
fn who_tells_it_to_stop_does_not_wait_for_a_carrier() {
    let stop = AtomicBool::new(false);
    let (outcome, at, _) = told_to_stop(20 * SECOND, Duration::ZERO, |_| {}, Some(&stop));
    assert_eq!((why(outcome), at < 2 * SECOND), (Cause::Stopped, true));
}
