//! Who may write: one holder of a `Lease` at a time.
//!
//! The decision only: what to ask of the API next, from what it answered, with times as values. Clocks of
//! different machines are compared with nothing. A candidate counts a lease as left when *it* has seen no
//! change of it for its whole length; a holder counts its own term from the moment at which it sent the
//! renewal, which is before anybody can have seen it, and ends it a third of the length earlier. What the
//! holder has sent by then has that third to arrive or to be given up.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use serde_json::{Value, json};

/// The present, by two clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// By a clock that is never set. Decisions go by this one.
    pub steady: Timestamp,
    /// As people tell it. Only written down.
    pub wall: Timestamp,
}

/// Who stands for the lease, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// The name of this candidate; no other one, and no earlier life of this one, has it.
    pub identity: String,
    /// The namespace of the lease.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its length, in whole seconds.
    pub length: SignedDuration,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum LeaseAction {
    /// Read the lease.
    Read,
    /// Make it.
    Create(Value),
    /// Replace it; the version that was looked at is in it.
    Replace(Value),
    /// Nothing before then.
    Wait(Timestamp),
}

/// What came of a step.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The lease as it is now.
    Found(Value),
    /// There is none.
    Missing,
    /// Somebody else was faster.
    Conflict,
    /// It is not known; the write may have been taken.
    Unknown,
}

/// One who wants the lease, or has it.
#[derive(Debug, Clone)]
pub struct Candidate {
    terms: Terms,
    look: Look,
    known: Option<Known>,
    /// The last write that was asked for: when, and the time of renewal in it.
    attempt: Option<(Timestamp, Timestamp)>,
    /// When the renewal that counts was sent.
    held_since: Option<Timestamp>,
    /// Nothing is asked for before.
    not_before: Option<Timestamp>,
}

/// What the last answer leaves to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    /// The lease must be read.
    Needed,
    /// There is no lease.
    Missing,
    /// What is known is what there was.
    Done,
}

/// A lease as it was last read. Kept when a later answer fails: a holder that is gone must not gain time by that.
#[derive(Debug, Clone, PartialEq)]
struct Known {
    object: Value,
    /// Since when it is known in this version.
    since: Timestamp,
    /// When it was last looked at.
    looked: Timestamp,
}

impl Candidate {
    /// One that has asked for nothing yet.
    pub fn new(terms: Terms) -> Self {
        Self { terms, look: Look::Needed, known: None, attempt: None, held_since: None, not_before: None }
    }

    /// Until when this one may write; none when it may not.
    pub fn leads_until(&self, now: Timestamp) -> Option<Timestamp> {
        let until = after(self.held_since?, self.terms.length * 2 / 3);
        (now < until).then_some(until)
    }

    /// When the lease was acquired that this one holds. It stays while the lease is renewed, and tells this leadership
    /// from an earlier one: somebody else may have led in between.
    pub fn acquired(&self) -> Option<Timestamp> {
        let lease = &self.known.as_ref()?.object;
        let text =
            lease.pointer("/spec/acquireTime").and_then(Value::as_str).filter(|_| holder(lease) == self.terms.identity);
        text?.parse().ok()
    }

    /// What to do now.
    pub fn next(&mut self, now: Moment) -> LeaseAction {
        if let Some(not_before) = self.not_before.filter(|not_before| now.steady < *not_before) {
            return LeaseAction::Wait(not_before);
        }
        match (self.look, self.known.clone()) {
            (Look::Needed, _) | (Look::Done, None) => LeaseAction::Read,
            (Look::Missing, _) => {
                let metadata = json!({"namespace": self.terms.namespace, "name": self.terms.name});
                let spec = self.claim(now, 0);
                LeaseAction::Create(
                    json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}),
                )
            }
            (Look::Done, Some(known)) if holder(&known.object) == self.terms.identity => self.keep(now, known.object),
            (Look::Done, Some(known)) => self.covet(now, known),
        }
    }

    /// Takes note of what came of a step.
    pub fn answered(&mut self, now: Timestamp, outcome: Outcome) {
        match outcome {
            Outcome::Found(object) => self.found(now, object),
            Outcome::Missing => self.look = Look::Missing,
            Outcome::Conflict => self.look = Look::Needed,
            Outcome::Unknown => {
                self.look = Look::Needed;
                // Several tries fit into the time that a holder has left after a renewal was due.
                self.not_before = Some(after(now, self.terms.length / 15));
            }
        }
    }

    /// The write with which a holder leaves the lease to others. It must have stopped writing before.
    pub fn leave(&mut self, now: Moment) -> Option<Value> {
        self.leads_until(now.steady)?;
        self.held_since = None;
        self.look = Look::Needed;
        let mut object = self.known.take()?.object;
        object["spec"]["holderIdentity"] = json!("");
        object["spec"]["leaseDurationSeconds"] = json!(1);
        object["spec"]["renewTime"] = json!(MicroTime(now.wall));
        Some(object)
    }

    /// What a holder does.
    fn keep(&mut self, now: Moment, mut object: Value) -> LeaseAction {
        let due = self.held_since.map_or(now.steady, |held| after(held, self.terms.length / 3));
        if now.steady < due {
            return LeaseAction::Wait(due);
        }
        let mut spec = self.claim(now, transitions(&object));
        if let Some(acquired) = object.pointer("/spec/acquireTime") {
            spec["acquireTime"] = acquired.clone();
        }
        object["spec"] = spec;
        LeaseAction::Replace(object)
    }

    /// What the others do: wait, with a look now and then for a holder that leaves early.
    fn covet(&mut self, now: Moment, known: Known) -> LeaseAction {
        let Known { mut object, since, looked } = known;
        let free = match holder(&object) {
            "" => since,
            _ => after(since, length(&object).unwrap_or(self.terms.length)),
        };
        let look = after(looked, self.terms.length / 15);
        if free <= now.steady {
            let spec = self.claim(now, transitions(&object).saturating_add(1));
            object["spec"] = spec;
            LeaseAction::Replace(object)
        } else if look <= now.steady {
            LeaseAction::Read
        } else {
            LeaseAction::Wait(free.min(look))
        }
    }

    /// What a lease says that this one holds from now on.
    fn claim(&mut self, now: Moment, transitions: i64) -> Value {
        self.attempt = Some((now.steady, now.wall));
        json!({
            "holderIdentity": self.terms.identity,
            "leaseDurationSeconds": self.terms.length.as_secs(),
            "acquireTime": MicroTime(now.wall),
            "renewTime": MicroTime(now.wall),
            "leaseTransitions": transitions,
        })
    }

    fn found(&mut self, now: Timestamp, object: Value) {
        if holder(&object) != self.terms.identity {
            self.held_since = None;
        } else if let Some((sent, renewal)) = self.attempt
            && renewed(&object).is_some_and(|time| time.as_microsecond() == renewal.as_microsecond())
        {
            self.held_since = Some(sent);
        }
        let same = self.known.as_ref().filter(|known| version(&known.object) == version(&object));
        let since = same.map_or(now, |known| known.since);
        self.known = Some(Known { object, since, looked: now });
        self.look = Look::Done;
    }
}

fn holder(lease: &Value) -> &str {
    lease.pointer("/spec/holderIdentity").and_then(Value::as_str).unwrap_or_default()
}

fn version(lease: &Value) -> Option<&str> {
    lease.pointer("/metadata/resourceVersion")?.as_str()
}

fn renewed(lease: &Value) -> Option<Timestamp> {
    lease.pointer("/spec/renewTime")?.as_str()?.parse().ok()
}

fn length(lease: &Value) -> Option<SignedDuration> {
    let seconds = lease.pointer("/spec/leaseDurationSeconds")?.as_i64()?;
    (seconds > 0).then(|| SignedDuration::from_secs(seconds))
}

fn transitions(lease: &Value) -> i64 {
    lease.pointer("/spec/leaseTransitions").and_then(Value::as_i64).unwrap_or_default()
}

fn after(time: Timestamp, wait: SignedDuration) -> Timestamp {
    time.checked_add(wait).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: i64 = 15;

    /// One lease, as a server keeps it.
    #[derive(Default)]
    struct Api {
        lease: Option<Value>,
        version: u64,
    }

    impl Api {
        fn perform(&mut self, step: &LeaseAction) -> Outcome {
            let (object, expected) = match step {
                LeaseAction::Read => return self.lease.clone().map_or(Outcome::Missing, Outcome::Found),
                LeaseAction::Create(_) if self.lease.is_some() => return Outcome::Conflict,
                LeaseAction::Create(object) => (object, None),
                LeaseAction::Replace(object) => (object, version(object)),
                LeaseAction::Wait(_) => panic!("nothing to do"),
            };
            if expected != self.lease.as_ref().and_then(version) {
                return Outcome::Conflict;
            }
            self.version += 1;
            let mut stored = object.clone();
            stored["metadata"]["resourceVersion"] = json!(self.version.to_string());
            self.lease = Some(stored.clone());
            Outcome::Found(stored)
        }
    }

    fn candidate(identity: &str) -> Candidate {
        Candidate::new(Terms {
            identity: identity.to_owned(),
            namespace: "n".to_owned(),
            name: "l".to_owned(),
            length: SignedDuration::from_secs(LENGTH),
        })
    }

    fn at(milliseconds: i64) -> Moment {
        let steady = Timestamp::from_millisecond(milliseconds).unwrap();
        // A clock that somebody set wrong must not matter.
        Moment { steady, wall: steady - SignedDuration::from_hours(9) }
    }

    /// Lets a candidate do what it can without waiting; says when it wants to go on.
    fn run(candidate: &mut Candidate, api: &mut Api, now: i64) -> i64 {
        for _ in 0..10 {
            match candidate.next(at(now)) {
                LeaseAction::Wait(until) => return until.as_millisecond(),
                step => {
                    let outcome = api.perform(&step);
                    candidate.answered(at(now).steady, outcome);
                }
            }
        }
        panic!("it never waits");
    }

    fn leads(candidate: &Candidate, now: i64) -> bool {
        candidate.leads_until(at(now).steady).is_some()
    }

    #[test]
    fn the_first_one_leads_and_renews_in_time() {
        let (mut api, mut one, mut two) = (Api::default(), candidate("one"), candidate("two"));
        let mut now = 0;
        for _ in 0..50 {
            now = run(&mut one, &mut api, now).min(run(&mut two, &mut api, now));
            assert!(leads(&one, now) && !leads(&two, now), "{now}");
        }
        assert!(now > 30_000, "the time of many lengths has passed: {now}");
        assert_eq!(api.lease.unwrap()["spec"]["leaseTransitions"], 0);
    }

    #[test]
    fn a_leadership_is_told_from_an_earlier_one_when_another_led_in_between() {
        let (mut api, mut first, mut second) = (Api::default(), candidate("a"), candidate("b"));
        let mut now = run(&mut first, &mut api, 0);
        let began = first.acquired();
        assert!(began.is_some());
        now = run(&mut first, &mut api, now);
        assert_eq!(first.acquired(), began, "renewed");
        run(&mut second, &mut api, now);
        assert_eq!(second.acquired(), None);
        now += LENGTH * 1000;
        run(&mut second, &mut api, now);
        assert!(leads(&second, now) && second.acquired() > began);
        run(&mut first, &mut api, now);
        assert_eq!(first.acquired(), None);
        now += LENGTH * 1000;
        run(&mut first, &mut api, now);
        assert!(leads(&first, now) && first.acquired() > second.acquired());
    }

    #[test]
    fn a_silent_holder_is_followed_after_the_whole_length() {
        let (mut api, mut one, mut two) = (Api::default(), candidate("one"), candidate("two"));
        run(&mut one, &mut api, 0);
        let mut now = 1;
        while !leads(&two, now) {
            now = run(&mut two, &mut api, now);
            assert!(now < 40_000, "it never takes the lease");
        }
        assert!(now > 15_000, "{now}");
        assert!(!leads(&one, 10_000), "the holder stops a third of the length before");
        run(&mut one, &mut api, now);
        assert!(!leads(&one, now), "one that wakes up late finds the other");
        assert_eq!(api.lease.unwrap()["spec"]["leaseTransitions"], 1);
    }

    #[test]
    fn a_lease_that_is_left_is_taken_at_the_next_look() {
        let (mut api, mut one, mut two) = (Api::default(), candidate("one"), candidate("two"));
        run(&mut one, &mut api, 0);
        let look = run(&mut two, &mut api, 0);
        let left = one.leave(at(500)).unwrap();
        assert!(!leads(&one, 500));
        assert!(matches!(api.perform(&LeaseAction::Replace(left)), Outcome::Found(_)));
        run(&mut two, &mut api, look);
        assert!(leads(&two, look) && look <= 1000, "{look}");
        assert_eq!(two.leave(at(look + LENGTH * 1000)), None, "what has ended is not left");
    }

    #[test]
    fn a_write_whose_answer_is_lost_is_recognised() {
        let (mut api, mut one) = (Api::default(), candidate("one"));
        assert_eq!(one.next(at(0)), LeaseAction::Read);
        one.answered(at(0).steady, Outcome::Missing);
        let step = one.next(at(0));
        api.perform(&step);
        one.answered(at(400).steady, Outcome::Unknown);
        assert!(!leads(&one, 400));
        let next = run(&mut one, &mut api, 1400);
        assert_eq!(one.leads_until(at(1400).steady), Some(at(10_000).steady), "counted from when it was sent");
        assert_eq!(next, 5000);
    }

    #[test]
    fn failing_reads_give_a_dead_holder_no_time() {
        let (mut api, mut one, mut two) = (Api::default(), candidate("one"), candidate("two"));
        run(&mut one, &mut api, 0);
        run(&mut two, &mut api, 0);
        for (number, now) in (1000..=15_000).step_by(1000).enumerate() {
            let step = two.next(at(now));
            let lost = number % 2 == 0;
            match step {
                LeaseAction::Wait(_) => {}
                LeaseAction::Read if lost => two.answered(at(now).steady, Outcome::Unknown),
                step => two.answered(at(now).steady, api.perform(&step)),
            }
        }
        run(&mut two, &mut api, 17_000);
        assert!(leads(&two, 17_000));
    }

    #[test]
    fn a_lease_without_sense_is_waited_for_and_then_taken() {
        let mut api = Api::default();
        api.perform(&LeaseAction::Create(
            json!({"metadata": {}, "spec": {"holderIdentity": "x", "leaseDurationSeconds": -4}}),
        ));
        let mut one = candidate("one");
        run(&mut one, &mut api, 0);
        assert!(!leads(&one, 0));
        for now in (0..=15_000).step_by(500) {
            run(&mut one, &mut api, now);
        }
        assert!(leads(&one, 15_000));
    }

    /// Two candidates whose requests and answers take their time or get lost, and who are stopped at any
    /// moment: never do both hold that they lead.
    #[test]
    fn never_do_two_lead_at_once() {
        let mut random = 1_u64;
        let mut below = move |limit: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % limit
        };
        let (mut changes, mut last) = (0, None);
        for _ in 0..40 {
            let mut api = Api::default();
            let mut both = [candidate("one"), candidate("two")];
            // What is on its way for each: when it arrives, the step, when its answer does.
            let mut on_the_way: [Option<(i64, LeaseAction, Option<Outcome>)>; 2] = [None, None];
            let mut asleep = [0_i64; 2];
            for now in (0_i64..300_000).step_by(100) {
                for who in 0..2 {
                    match on_the_way[who].take() {
                        Some((arrives, step, None)) if arrives <= now => {
                            let outcome = if below(8) == 0 { Outcome::Unknown } else { api.perform(&step) };
                            // Sometimes it is done and nobody hears of it.
                            let outcome = if below(8) == 0 { Outcome::Unknown } else { outcome };
                            on_the_way[who] = Some((now + i64::try_from(below(3000)).unwrap(), step, Some(outcome)));
                        }
                        Some((arrives, _, Some(outcome))) if arrives <= now && asleep[who] <= now => {
                            both[who].answered(at(now).steady, outcome);
                        }
                        other => on_the_way[who] = other,
                    }
                    if on_the_way[who].is_none() && asleep[who] <= now {
                        if below(400) == 0 {
                            asleep[who] = now + i64::try_from(below(60_000)).unwrap();
                        }
                        match both[who].next(at(now)) {
                            LeaseAction::Wait(_) => {}
                            step => on_the_way[who] = Some((now + i64::try_from(below(3000)).unwrap(), step, None)),
                        }
                    }
                }
                let leading = [0, 1].map(|who| leads(&both[who], now));
                assert_ne!(leading, [true, true], "at {now}");
                if let Some(who) = leading.iter().position(|leads| *leads) {
                    changes += usize::from(last.replace(who).is_some_and(|last| last != who));
                }
            }
        }
        assert!(changes > 20, "the lease changes hands: {changes}");
    }
}
