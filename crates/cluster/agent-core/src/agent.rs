//! The agent itself: what happened goes in, what to do comes out.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use netloom_api::GroupKind;
use netloom_compile::ObjectKey;
use netloom_model::{Observed, Ownership};
use netloom_object::{Answer, Chain, RequestId};

use crate::{
    CONFIG, Effect, Event, Failure, Heard, Kept, LINKS, Mode, NODE, Prepared, Reason, STATE, Settings, Standing, Turn,
    Wish,
    asking::Asking,
    attempt::{Attempt, Stage},
    backoff::{later, spread},
    leasing::Leasing,
    links,
    listing::Listing,
    looking::Looking,
    neighbours::Neighbours,
    objects::Objects,
    people::{EVENT, Told},
    policy::Merged,
    prepared::prepare,
    report,
    settings::Drift,
    status,
    target::{Half, Leaving, Target, chosen},
};

/// How many events are put aside: as many as people read after a node was cut off.
const MOST_EVENTS: usize = 32;

/// What is being done to the host.
#[derive(Debug, Clone)]
pub(crate) enum Work {
    Recover,
    Observe,
    Transact,
    /// The last good wish is brought about while the present one waits for the API.
    Return,
    Keep(Box<Kept>),
    Abandon,
}

/// How far this life of an agent has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Life {
    /// It may have been left something half done by the one before.
    Begun,
    /// It was not, or that is done.
    Recovered,
    /// It fulfilled a wish.
    Stood,
}

/// The agent of one node.
#[derive(Debug, Clone)]
pub struct Agent {
    pub(crate) settings: Settings,
    pub(crate) objects: Objects,
    /// What is on disk.
    pub(crate) kept: Option<Kept>,
    pub(crate) life: Life,
    pub(crate) at_work: Option<Work>,
    /// After a failure at disk or host that belongs to no wish.
    pub(crate) not_before: Option<Timestamp>,
    pub(crate) target: Target,
    /// A network state that came before the other object of its pair.
    pub(crate) half: Option<Half>,
    /// That the node has left the cluster.
    leaving: Option<Leaving>,
    pub(crate) attempt: Attempt,
    pub(crate) looking: Looking,
    pub(crate) neighbours: Neighbours,
    pub(crate) leasing: Leasing,
    pub(crate) listing: Listing,
    pub(crate) asking: Asking,
    /// Events that nobody was told yet.
    pub(crate) untold: Vec<Told>,
    /// Events that are on their way to the API.
    pub(crate) telling: BTreeMap<RequestId, Told>,
    /// What policies come to, for the objects of that count.
    pub(crate) merged: (u64, Merged),
    /// Whether the last turn found nothing to do.
    pub(crate) idle: bool,
    /// Whether objects or disk changed since the target was made.
    pub(crate) astray: bool,
}

impl Agent {
    /// An agent that begins its life, with what an earlier one kept on disk.
    pub fn new(settings: Settings, kept: Option<Kept>) -> Self {
        Self {
            objects: Objects::of(&settings.node, settings.mode),
            life: if settings.enforce { Life::Begun } else { Life::Recovered },
            settings,
            kept,
            at_work: None,
            not_before: None,
            target: Target::default(),
            half: None,
            leaving: None,
            attempt: Attempt::default(),
            looking: Looking::new(),
            neighbours: Neighbours::default(),
            leasing: Leasing::default(),
            listing: Listing::default(),
            asking: Asking::default(),
            untold: Vec::new(),
            telling: BTreeMap::new(),
            merged: (0, Merged::default()),
            idle: false,
            astray: true,
        }
    }

    /// Takes note of something that happened.
    pub fn take(&mut self, now: Timestamp, event: Event) {
        self.idle = false;
        match event {
            Event::Objects(change) => {
                let knew = self.objects.is_whole();
                self.objects.take(change);
                self.astray = true;
                // What was seen before lacks the neighbours that the object tells of.
                let knows = self.objects.is_whole();
                self.looking.must |= knows && !knew && !self.neighbours.is_empty();
            }
            Event::Api(addresses) => self.settings.protected = addresses,
            Event::HostChanged(change) => self.looking.changed(now, &change),
            Event::Managers(managed) => self.found(managed),
            Event::Companion(news) => self.heard_from(&news),
            Event::Answered { request, answer } => {
                self.told(request, &answer);
                self.asking.answered(now, request, &answer, self.settings.seed);
            }
            Event::Recovered(result) => self.recovered(result),
            Event::Observed(result) => self.observed(now, result.as_deref().map_err(String::as_str)),
            Event::Found(what) => self.tell(Told::new("RolledBack", what)),
            Event::Foreseen(what) => self.tell(Told::new("SideEffects", what)),
            Event::Transacted(result) => self.transacted(now, result),
            Event::Kept(result) => {
                if let Some(Work::Keep(kept)) = self.at_work.take() {
                    self.filed(now, result.map(|()| Some(*kept)));
                }
            }
            Event::Abandoned(result) => {
                self.at_work = None;
                self.filed(now, result.map(|()| None));
            }
        }
    }

    /// What to do now.
    pub fn decide(&mut self, now: Timestamp) -> Turn {
        self.aim(now);
        let mut effects = self.orders();
        effects.extend(self.next_work(now));
        if self.asking.is_free(now) {
            self.asking.resume();
            for requests in self.requests(now) {
                let chain = self.asking.chain(requests);
                self.sent(&chain);
                effects.push(Effect::Ask(chain));
            }
            // What waited to be told before it is tried again, and turned out to need no telling.
            effects.extend(self.next_work(now));
        }
        self.idle = effects.is_empty();
        Turn { effects, wake_at: self.wake_at(now) }
    }

    /// How the agent stands after the last [`decide`](Self::decide).
    pub fn standing(&self) -> Standing {
        let whole = self.objects.is_whole();
        let free = self.at_work.is_none() && self.not_before.is_none() && self.asking.is_clear();
        let missing = self.settings.enforce && matches!(self.target, Target::Nothing);
        // A list of links that waits for its time is no work: nobody waits for it.
        if !self.idle || !whole || !free || self.life == Life::Begun || missing || self.waits_for_half() {
            return Standing::AtWork;
        }
        match self.attempt.failure() {
            Some((failure, ..)) if self.settings.enforce => Standing::Failed(failure.clone()),
            Some(_) | None => Standing::Settled,
        }
    }

    /// Why there is nothing to merge policies into, in words.
    pub fn unknown(&self) -> Option<String> {
        let node = &self.settings.node;
        let key = ObjectKey::global(node.as_str());
        if self.objects.snapshot().nodes.get(&key).is_none() {
            return Some(format!("there is no Node {node:?} in the cluster; `netloom get nodes` lists those that are"));
        }
        chosen(&self.objects).is_none().then(|| {
            format!("node {node:?} has no NodeNetworkState yet; its agent, or `netloom client state` there, makes one")
        })
    }

    /// Where the host is not as it was verified to be, field by field.
    pub fn drift(&self) -> &[netloom_plan::Difference] {
        &self.attempt.drift
    }

    /// The kinds whose objects must be told, and those of other nodes left out.
    pub fn kinds(mode: Mode) -> &'static [GroupKind<'static>] {
        match mode {
            Mode::Centralized => &[STATE, CONFIG, NODE, LINKS],
            Mode::Distributed => &[STATE, CONFIG, NODE, LINKS, crate::POLICY],
        }
    }

    /// Whether the last wish is held for the other object of a pair.
    pub(crate) fn waits_for_half(&self) -> bool {
        self.half.as_ref().is_some_and(|half| half.waits)
    }

    /// Until when the node holds on to what it has although the objects say otherwise.
    fn held_until(&self) -> impl Iterator<Item = Timestamp> + use<> {
        let pair = self.half.as_ref().filter(|half| half.waits).map(|half| half.until);
        let leaves = self.leaving.as_ref().filter(|leaving| leaving.waits).map(|leaving| leaving.until);
        pair.into_iter().chain(leaves)
    }

    /// Notes whether the node has left the cluster, and says what follows.
    fn leave(&mut self, now: Timestamp) {
        let stayed = self.leaving.is_none();
        self.leaving = Leaving::of(now, &self.settings, &self.objects, self.leaving.take());
        let has = self.kept.as_ref().and_then(Kept::present).is_some_and(|wish| wish.config.is_some());
        if let Some(Leaving { until, waits: true }) = &self.leaving
            && stayed
            && has
        {
            let message = format!("its Node is gone; what the controller gave it stays until {until:.0}");
            self.tell(Told::new("NodeGone", message));
        }
    }

    /// Turns to what is wanted now.
    fn aim(&mut self, now: Timestamp) {
        let late = self.held_until().any(|until| until <= now);
        if !std::mem::take(&mut self.astray) && !late {
            return;
        }
        self.half = Half::of(now, &self.settings, &self.objects, self.kept.as_ref(), self.half.take());
        self.leave(now);
        let left = self.leaving.as_ref().is_some_and(|leaving| !leaving.waits);
        let target = Target::of(&self.settings, &self.objects, self.kept.as_ref(), (self.waits_for_half(), left));
        let before = std::mem::replace(&mut self.target, target);
        if matches!(self.target, Target::Nothing) && before.uid().is_some() {
            self.looking.must = true;
            self.tell(Told::new("Recreated", "the object was deleted; it is made anew with the current state only"));
        }
        match self.target.wish() {
            Some(wish) => {
                if self.attempt.turn_to(wish)
                    && let Target::Unreadable { failure, .. } = &self.target
                {
                    let (failure, message) = (failure.clone(), failure.message.clone());
                    self.attempt.unreadable(failure);
                    self.tell(Told::new("SyncFailed", message));
                }
            }
            None => self.attempt.drop_wish(),
        }
    }

    /// Puts an event aside until it can be told. Only the last ones are worth it.
    pub(crate) fn tell(&mut self, told: Told) {
        if self.untold.len() == MOST_EVENTS {
            self.untold.remove(0);
        }
        self.untold.push(told);
    }

    /// Takes note of an event that is on its way: requests for events come first, and in their order.
    fn sent(&mut self, chain: &Chain) {
        let event = chain.0.first().filter(|request| request.target.kind == EVENT && !self.untold.is_empty());
        if let Some(request) = event {
            self.telling.insert(request.id, self.untold.remove(0));
        }
    }

    /// An event that did not arrive is told again; one that the API does not take is not, for nobody waits for it.
    fn told(&mut self, request: RequestId, answer: &Answer) {
        let Some(told) = self.telling.remove(&request) else { return };
        match answer {
            Answer::Refused | Answer::Skipped if self.untold.len() < MOST_EVENTS => self.untold.insert(0, told),
            Answer::Refused | Answer::Skipped | Answer::Done | Answer::Denied => {}
        }
    }

    /// What the host needs next, when nothing is done to it now.
    fn next_work(&mut self, now: Timestamp) -> Option<Effect> {
        if self.at_work.is_some() || self.not_before.is_some_and(|not_before| not_before > now) {
            return None;
        }
        if self.life == Life::Begun {
            return Some(self.start(Work::Recover, Effect::Recover));
        }
        if !self.settings.enforce {
            return None;
        }
        if let Some(effect) = self.next_filing() {
            return Some(effect);
        }
        if let Some(wish) = self.last_good() {
            let (protected, leases) = (self.settings.protected.clone(), self.leasing.given());
            let effect = Effect::Transact { wish, leases, protected, reach: false, timing: self.timing() };
            return Some(self.start(Work::Return, effect));
        }
        if let Target::Wanted(prepared) = &self.target {
            let wish = prepared.clone();
            if self.attempt_at(now).is_some_and(|due| due <= now) {
                self.attempt.begin(now);
            }
            if matches!(self.attempt.stage, Stage::Running { .. }) {
                return Some(self.bring_about(wish));
            }
        }
        if self.look_at().is_some_and(|at| at <= now) {
            self.looking.begin(now, &self.settings);
            return Some(self.start(Work::Observe, Effect::Observe));
        }
        None
    }

    /// A wish that was not in place before is on disk before the host is changed for it.
    fn bring_about(&mut self, wish: Arc<Prepared>) -> Effect {
        let is_new = !self.is_kept(&wish.wish);
        let filed = self.kept.as_ref().is_some_and(|kept| kept.trying.as_ref() == Some(&wish.wish));
        if is_new && !filed {
            let before = self.kept.as_ref().and_then(|kept| kept.wish.clone());
            return self.keep(Kept { uid: wish.wish.uid.clone(), wish: before, trying: Some(wish.wish.clone()) });
        }
        let careful = !self.may_be_cut_off();
        let protected = if careful { self.settings.protected.clone() } else { Vec::new() };
        let (renewed, leases) = (self.leasing.begin(), self.leasing.given());
        // Where drift is only reported, nobody's lease is an occasion to repair it.
        let alone = self.attempt.renews() && self.after_drift() == Drift::Report;
        let wish = if alone { Arc::new(Prepared::clone(&wish).of_leases(renewed)) } else { wish };
        let (reach, timing) = (careful && is_new, self.timing());
        self.start(Work::Transact, Effect::Transact { wish, leases, protected, reach, timing })
    }

    fn keep(&mut self, kept: Kept) -> Effect {
        self.start(Work::Keep(Box::new(kept.clone())), Effect::Keep(Box::new(kept)))
    }

    fn start(&mut self, work: Work, effect: Effect) -> Effect {
        self.not_before = None;
        self.at_work = Some(work);
        effect
    }

    /// What must be put on disk, or taken from it, before anything else.
    fn next_filing(&mut self) -> Option<Effect> {
        let kept = self.kept.as_ref();
        if matches!(self.target, Target::Unknown) {
            return None;
        }
        // The object under which the host was changed is gone, so nothing of that is taken back any more.
        if kept.is_some_and(|kept| Some(kept.uid.as_str()) != self.target.uid()) {
            return Some(self.start(Work::Abandon, Effect::Abandon));
        }
        let next = match (&self.target, &self.attempt.stage) {
            (Target::Unmanaged { uid }, _) => kept.map(|_| Kept { uid: uid.clone(), wish: None, trying: None }),
            (Target::Wanted(prepared), Stage::Reached { .. }) => {
                Some(Kept { uid: prepared.wish.uid.clone(), wish: Some(prepared.wish.clone()), trying: None })
            }
            (Target::Wanted(_) | Target::Unreadable { .. }, stage) => {
                kept.filter(|kept| self.is_given_up(kept, stage)).map(|kept| Kept { trying: None, ..kept.clone() })
            }
            (Target::Nothing | Target::Unknown, _) => None,
        };
        let next = next.filter(|next| kept != Some(next))?;
        Some(self.keep(next))
    }

    /// Whether the wish on disk that was being brought about is not any more: it failed, or something else is wanted.
    /// The next life does not begin with it then.
    fn is_given_up(&self, kept: &Kept, stage: &Stage) -> bool {
        let Some(trying) = &kept.trying else { return false };
        let waits = |failure: &Failure| failure.reason == Reason::OutOfReach;
        let failed = matches!(stage, Stage::Failed { failure, .. } if !waits(failure));
        failed || self.target.wish() != Some(trying)
    }

    /// Whether the wish has to be held against the host: one that wants nothing and follows none that did
    /// is only reported on.
    pub(crate) fn needs_transaction(&self) -> bool {
        let Target::Wanted(prepared) = &self.target else { return false };
        let wish = &prepared.wish;
        !wish.is_empty() || wish.config.is_some() || self.kept.as_ref().is_some_and(|kept| kept.uid == wish.uid)
    }

    /// When the wish is brought about (again). What failed is told before it is tried again, if it can be told
    /// at all: a wish that costs the way to the API for as long as it is tried would never be heard of.
    fn attempt_at(&self, now: Timestamp) -> Option<Timestamp> {
        if self.leasing.waits {
            return None;
        }
        let renewed = self.leasing.is_stale().then_some(now);
        let due = self.attempt.due(now, renewed).filter(|_| self.needs_transaction())?;
        let news = matches!(&self.attempt.stage, Stage::Failed { failure, .. } if failure.reason != Reason::OutOfReach);
        let untold = news && !self.asking.is_clear();
        Some(if untold { later(due, self.settings.reconnect) } else { due })
    }

    /// Whether the present wish is in place.
    pub(crate) fn is_in_place(&self) -> bool {
        let about = self.target.wish().is_some_and(|wish| self.attempt.is_about(wish));
        about && matches!(self.attempt.stage, Stage::Reached { .. })
    }

    /// Whether a wish was in place before. Such a one did not cost the way to the API, and a node that lost it may
    /// need the wish to find it again.
    fn is_kept(&self, wish: &Wish) -> bool {
        self.kept.as_ref().and_then(|kept| kept.wish.as_ref()) == Some(wish)
    }

    /// The last good wish, when the node is to be held against it: what keeps it from the API may be a change that
    /// this takes back.
    fn last_good(&mut self) -> Option<Arc<Prepared>> {
        let Target::Wanted(wanted) = &self.target else { return None };
        let falls_back = std::mem::take(&mut self.attempt.falls_back) && !self.is_kept(&wanted.wish);
        let wish = self.kept.as_ref().filter(|_| falls_back)?.wish.clone()?;
        prepare(wish).ok().map(|prepared| Arc::new(prepared.following([&wanted.wish])))
    }

    /// When the host is to be read; none when it is not.
    fn look_at(&self) -> Option<Timestamp> {
        if matches!(self.target, Target::Unmanaged { .. }) {
            return None;
        }
        self.looking.due(&self.settings)
    }

    fn recovered(&mut self, result: Result<Option<String>, Failure>) {
        self.at_work = None;
        self.life = self.life.max(Life::Recovered);
        match result {
            Ok(Some(what)) => self.tell(Told::new("RolledBack", what)),
            Ok(None) => {}
            // Every transaction tries it again, and fails as long as it does.
            Err(failure) => self.tell(Told::new("SyncFailed", failure.message)),
        }
    }

    fn observed(&mut self, now: Timestamp, result: Result<&Observed, &str>) {
        self.at_work = None;
        if let Ok(observed) = result {
            self.compare(now, observed);
        }
        let named = self.target.wish().map(Wish::links).unwrap_or_default();
        let heard = self.heard();
        if let Ok(observed) = result {
            self.listing.saw(now, &links::list(observed, &heard, named.clone()), self.standing_list());
        }
        self.looking.ended(now, result, (named, &heard), &self.settings);
    }

    /// What is known of neighbours on every link that is listened on.
    fn heard(&self) -> Heard {
        if self.neighbours.is_empty() {
            return Heard::new();
        }
        let reported = chosen(&self.objects).and_then(|(state, _)| self.objects.report(&state.meta.key));
        self.neighbours.report(&reported.map(|report| report::neighbours(&report.value())).unwrap_or_default())
    }

    /// Holds the host against the wish that was verified.
    fn compare(&mut self, now: Timestamp, observed: &Observed) {
        let Target::Wanted(prepared) = &self.target else { return };
        if !matches!(self.attempt.stage, Stage::Reached { .. }) || !self.attempt.is_about(&prepared.wish) {
            return;
        }
        // What a lease brought or took since is not on the host yet, and nobody's fault.
        if self.leasing.is_stale() || self.leasing.waits {
            return;
        }
        let found = prepared
            .resolve(observed, &Ownership::default(), &self.leasing.given(), now)
            .and_then(|state| netloom_plan::unmet(&state, observed).map_err(|error| Failure::unplanned(&error)));
        match found {
            Ok(drift) => {
                let then = self.after_drift();
                if self.attempt.drifted(now, drift, then, &self.settings) {
                    let note = status::named(&self.attempt.drift, then);
                    self.tell(Told::new("Drifted", note));
                }
            }
            // What was in place cannot even be asked for any more, such as when a card is gone.
            Err(failure) => self.fail(now, failure),
        }
    }

    fn transacted(&mut self, now: Timestamp, result: Result<crate::Done, Failure>) {
        let work = self.at_work.take();
        self.looking.must = true;
        if result.is_ok() {
            self.life = Life::Stood;
        }
        if matches!(work, Some(Work::Return)) {
            let good =
                self.kept.as_ref().filter(|_| result.is_ok()).and_then(|kept| kept.wish.as_ref()?.config.as_ref());
            self.attempt.returned(good.map(|config| config.revision.as_str()));
            return;
        }
        self.leasing.ended(result.is_ok());
        let Stage::Running { was, before, .. } = &self.attempt.stage else { return };
        match result {
            // A lease that is renewed is no news, unless it could not be before.
            Ok(_) if let Some((at, done)) = *was => {
                let failed = before.is_some();
                self.attempt.renewed(at, done);
                if failed {
                    self.tell(Told::synced());
                }
            }
            Ok(done) => {
                if done.changed || self.attempt.failure().is_some() {
                    self.tell(Told::synced());
                }
                self.attempt.reached(now, done);
            }
            Err(failure) => self.fail(now, failure),
        }
    }

    fn fail(&mut self, now: Timestamp, failure: Failure) {
        let known = self.attempt.failure().is_some_and(|(known, ..)| *known == failure);
        if !known {
            let reason = if failure.undone { "RolledBack" } else { "SyncFailed" };
            self.tell(Told::new(reason, failure.message.clone()));
        }
        self.attempt.failed(now, failure, &self.settings);
        // After a start the host may be without anything, as it is after a boot: it is given what was good.
        self.attempt.falls_back |= self.life != Life::Stood;
    }

    fn filed(&mut self, now: Timestamp, result: Result<Option<Kept>, String>) {
        self.astray = true;
        match result {
            Ok(kept) => {
                if kept.is_none() && self.kept.is_some() {
                    self.attempt.drop_wish();
                }
                self.kept = kept;
            }
            Err(why) => {
                self.tell(Told::new("SyncFailed", format!("cannot write to the state folder: {why}")));
                self.not_before = Some(later(now, spread(self.settings.retry_first, self.settings.seed, 0)));
            }
        }
    }

    /// When time alone makes a difference.
    fn wake_at(&self, now: Timestamp) -> Option<Timestamp> {
        let free = self.at_work.is_none() && self.life != Life::Begun && self.settings.enforce;
        let slow = self.attempt.slow_at(&self.settings).filter(|at| *at > now);
        let host = [self.attempt_at(now), self.look_at()].into_iter().flatten().filter(|_| free);
        // After a failure at disk or host everything there waits.
        let host = host.map(|at| self.not_before.map_or(at, |not_before| at.max(not_before)));
        host.chain(self.not_before.filter(|_| free))
            .chain(self.asking.resumes_at())
            .chain(slow)
            .chain(self.held_until())
            .chain(self.list_at(now))
            .chain(self.report_at(now))
            .min()
    }
}
