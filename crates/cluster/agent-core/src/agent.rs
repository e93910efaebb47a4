//! The agent itself: what happened goes in, what to do comes out.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use netloom_api::GroupKind;
use netloom_compile::ObjectKey;
use netloom_model::{Observed, Ownership};
use netloom_object::{Answer, Chain, RequestId};

use crate::{
    AgentActions, CONFIG, DesiredState, Effect, Event, Failure, Heard, Kept, LINKS, Mode, NODE, Prepared, Reason,
    STATE, Settings, Standing,
    api_requests::ApiRequests,
    attempt::{Attempt, Stage},
    backoff::{later, spread},
    host_view::HostView,
    kube_event::{EVENT, KubeEvent},
    leasing::Leasing,
    links,
    listing::Listing,
    neighbours::Neighbours,
    objects::Objects,
    policy::Merged,
    prepared::prepare,
    report,
    settings::Drift,
    status,
    target::{Leaving, PartialUpdate, Target, chosen},
};

/// How many events are put aside: as many as people read after a node was cut off.
const MOST_EVENTS: usize = 32;

/// What is being done to the host.
#[derive(Debug, Clone)]
pub(crate) enum Work {
    Recover,
    Observe,
    Transact,
    /// The last good desired state is brought about while the present one waits for the API.
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
    /// It reached a desired state.
    Converged,
}

/// The agent of one node.
#[derive(Debug, Clone)]
pub struct Agent {
    pub(crate) settings: Settings,
    pub(crate) objects: Objects,
    /// What is on disk.
    pub(crate) kept: Option<Kept>,
    pub(crate) life: Life,
    pub(crate) current_work: Option<Work>,
    /// After a failure at disk or host that belongs to no desired state.
    pub(crate) not_before: Option<Timestamp>,
    pub(crate) target: Target,
    /// A network state that came before the other object of its pair.
    pub(crate) partial_update: Option<PartialUpdate>,
    /// That the node has left the cluster.
    leaving: Option<Leaving>,
    pub(crate) attempt: Attempt,
    pub(crate) host_view: HostView,
    pub(crate) neighbours: Neighbours,
    pub(crate) leasing: Leasing,
    pub(crate) listing: Listing,
    pub(crate) api_requests: ApiRequests,
    /// Events that are not reported yet.
    pub(crate) unsent_events: Vec<KubeEvent>,
    /// Events that are on their way to the API.
    pub(crate) events_in_flight: BTreeMap<RequestId, KubeEvent>,
    /// What policies come to, for the objects of that count.
    pub(crate) merged: (u64, Merged),
    /// Whether the last turn found nothing to do.
    pub(crate) idle: bool,
    /// Whether objects or disk changed since the target was made.
    pub(crate) stale: bool,
}

impl Agent {
    /// An agent that begins its life, with what an earlier one kept on disk.
    pub fn new(settings: Settings, kept: Option<Kept>) -> Self {
        Self {
            objects: Objects::of(&settings.node, settings.mode),
            life: if settings.enforce { Life::Begun } else { Life::Recovered },
            settings,
            kept,
            current_work: None,
            not_before: None,
            target: Target::default(),
            partial_update: None,
            leaving: None,
            attempt: Attempt::default(),
            host_view: HostView::new(),
            neighbours: Neighbours::default(),
            leasing: Leasing::default(),
            listing: Listing::default(),
            api_requests: ApiRequests::default(),
            unsent_events: Vec::new(),
            events_in_flight: BTreeMap::new(),
            merged: (0, Merged::default()),
            idle: false,
            stale: true,
        }
    }

    /// Takes note of something that happened.
    pub fn take(&mut self, now: Timestamp, event: Event) {
        self.idle = false;
        match event {
            Event::Objects(change) => {
                let knew = self.objects.is_whole();
                self.objects.take(change);
                self.stale = true;
                // What was seen before lacks the neighbours that the object tells of.
                let knows = self.objects.is_whole();
                self.host_view.must |= knows && !knew && !self.neighbours.is_empty();
            }
            Event::Api(addresses) => self.settings.protected = addresses,
            Event::HostChanged(change) => self.host_view.changed(now, &change),
            Event::Managers(managed) => self.found(managed),
            Event::Companion(news) => self.heard_from(&news),
            Event::Answered { request, answer } => {
                self.event_answered(request, &answer);
                self.api_requests.answered(now, request, &answer, self.settings.seed);
            }
            Event::Recovered(result) => self.recovered(result),
            Event::Observed(result) => self.observed(now, result.as_deref().map_err(String::as_str)),
            Event::Found(what) => self.record_event(KubeEvent::new("RolledBack", what)),
            Event::Foreseen(what) => self.record_event(KubeEvent::new("SideEffects", what)),
            Event::Transacted(result) => self.transacted(now, result),
            Event::Kept(result) => {
                if let Some(Work::Keep(kept)) = self.current_work.take() {
                    self.filed(now, result.map(|()| Some(*kept)));
                }
            }
            Event::Abandoned(result) => {
                self.current_work = None;
                self.filed(now, result.map(|()| None));
            }
        }
    }

    /// What to do now.
    pub fn decide(&mut self, now: Timestamp) -> AgentActions {
        self.aim(now);
        let mut effects = self.orders();
        effects.extend(self.next_work(now));
        if self.api_requests.is_free(now) {
            self.api_requests.resume();
            for requests in self.requests(now) {
                let chain = self.api_requests.chain(requests);
                self.sent(&chain);
                effects.push(Effect::Ask(chain));
            }
            // What waited to be reported before it is tried again, and turned out to need no telling.
            effects.extend(self.next_work(now));
        }
        self.idle = effects.is_empty();
        AgentActions { effects, wake_at: self.wake_at(now) }
    }

    /// How the agent stands after the last [`decide`](Self::decide).
    pub fn standing(&self) -> Standing {
        let whole = self.objects.is_whole();
        let free = self.current_work.is_none() && self.not_before.is_none() && self.api_requests.is_clear();
        let missing = self.settings.enforce && matches!(self.target, Target::Nothing);
        // A list of links that waits for its time is no work: nobody waits for it.
        if !self.idle || !whole || !free || self.life == Life::Begun || missing || self.waits_for_other_object() {
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

    /// The kinds that must be followed, and those of other nodes left out.
    pub fn kinds(mode: Mode) -> &'static [GroupKind<'static>] {
        match mode {
            Mode::Centralized => &[STATE, CONFIG, NODE, LINKS],
            Mode::Distributed => &[STATE, CONFIG, NODE, LINKS, crate::POLICY],
        }
    }

    /// Whether the last desired state is held for the other object of a pair.
    pub(crate) fn waits_for_other_object(&self) -> bool {
        self.partial_update.as_ref().is_some_and(|partial_update| partial_update.waits)
    }

    /// Until when the node holds on to what it has although the objects say otherwise.
    fn held_until(&self) -> impl Iterator<Item = Timestamp> + use<> {
        let pair = self
            .partial_update
            .as_ref()
            .filter(|partial_update| partial_update.waits)
            .map(|partial_update| partial_update.until);
        let leaves = self.leaving.as_ref().filter(|leaving| leaving.waits).map(|leaving| leaving.until);
        pair.into_iter().chain(leaves)
    }

    /// Notes whether the node has left the cluster, and says what follows.
    fn leave(&mut self, now: Timestamp) {
        let stayed = self.leaving.is_none();
        self.leaving = Leaving::of(now, &self.settings, &self.objects, self.leaving.take());
        let has = self.kept.as_ref().and_then(Kept::present).is_some_and(|desired| desired.config.is_some());
        if let Some(Leaving { until, waits: true }) = &self.leaving
            && stayed
            && has
        {
            let message = format!("its Node is gone; what it was assigned stays until {until:.0}");
            self.record_event(KubeEvent::new("NodeGone", message));
        }
    }

    /// Turns to what is wanted now.
    fn aim(&mut self, now: Timestamp) {
        let late = self.held_until().any(|until| until <= now);
        if !std::mem::take(&mut self.stale) && !late {
            return;
        }
        self.partial_update =
            PartialUpdate::of(now, &self.settings, &self.objects, self.kept.as_ref(), self.partial_update.take());
        self.leave(now);
        let left = self.leaving.as_ref().is_some_and(|leaving| !leaving.waits);
        let target =
            Target::of(&self.settings, &self.objects, self.kept.as_ref(), (self.waits_for_other_object(), left));
        let before = std::mem::replace(&mut self.target, target);
        if matches!(self.target, Target::Nothing) && before.uid().is_some() {
            self.host_view.must = true;
            self.record_event(KubeEvent::new(
                "Recreated",
                "the object was deleted; it is recreated with the current state only",
            ));
        }
        match self.target.desired() {
            Some(desired) => {
                if self.attempt.turn_to(desired)
                    && let Target::Unreadable { failure, .. } = &self.target
                {
                    let (failure, message) = (failure.clone(), failure.message.clone());
                    self.attempt.unreadable(failure);
                    self.record_event(KubeEvent::new("SyncFailed", message));
                }
            }
            None => self.attempt.drop_desired(),
        }
    }

    /// Puts an event aside until it can be reported. Only the last ones are worth it.
    pub(crate) fn record_event(&mut self, event_answered: KubeEvent) {
        if self.unsent_events.len() == MOST_EVENTS {
            self.unsent_events.remove(0);
        }
        self.unsent_events.push(event_answered);
    }

    /// Takes note of an event that is on its way: requests for events come first, and in their order.
    fn sent(&mut self, chain: &Chain) {
        let event = chain.0.first().filter(|request| request.target.kind == EVENT && !self.unsent_events.is_empty());
        if let Some(request) = event {
            self.events_in_flight.insert(request.id, self.unsent_events.remove(0));
        }
    }

    /// An event that did not arrive is reported again; one that the API does not take is not, for nobody waits for it.
    fn event_answered(&mut self, request: RequestId, answer: &Answer) {
        let Some(event_answered) = self.events_in_flight.remove(&request) else { return };
        match answer {
            Answer::Refused | Answer::Skipped if self.unsent_events.len() < MOST_EVENTS => {
                self.unsent_events.insert(0, event_answered);
            }
            Answer::Refused | Answer::Skipped | Answer::Done | Answer::Denied => {}
        }
    }

    /// What the host needs next, when nothing is done to it now.
    fn next_work(&mut self, now: Timestamp) -> Option<Effect> {
        if self.current_work.is_some() || self.not_before.is_some_and(|not_before| not_before > now) {
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
        if let Some(desired) = self.last_good() {
            let (protected, leases) = (self.settings.protected.clone(), self.leasing.given());
            let effect = Effect::Transact { desired, leases, protected, reach: false, timing: self.timing() };
            return Some(self.start(Work::Return, effect));
        }
        if let Target::Wanted(prepared) = &self.target {
            let desired = prepared.clone();
            if self.attempt_at(now).is_some_and(|due| due <= now) {
                self.attempt.begin(now);
            }
            if matches!(self.attempt.stage, Stage::Running { .. }) {
                return Some(self.bring_about(desired));
            }
        }
        if self.look_at().is_some_and(|at| at <= now) {
            self.host_view.begin(now, &self.settings);
            return Some(self.start(Work::Observe, Effect::Observe));
        }
        None
    }

    /// A desired state that was not in place before is on disk before the host is changed for it.
    fn bring_about(&mut self, desired: Arc<Prepared>) -> Effect {
        let is_new = !self.is_kept(&desired.desired);
        let filed = self.kept.as_ref().is_some_and(|kept| kept.trying.as_ref() == Some(&desired.desired));
        if is_new && !filed {
            let before = self.kept.as_ref().and_then(|kept| kept.desired.clone());
            return self.keep(Kept {
                uid: desired.desired.uid.clone(),
                desired: before,
                trying: Some(desired.desired.clone()),
            });
        }
        let careful = !self.may_be_cut_off();
        let protected = if careful { self.settings.protected.clone() } else { Vec::new() };
        let (renewed, leases) = (self.leasing.begin(), self.leasing.given());
        // Where drift is only reported, nobody's lease is an occasion to repair it.
        let alone = self.attempt.renews() && self.after_drift() == Drift::Report;
        let desired = if alone { Arc::new(Prepared::clone(&desired).of_leases(renewed)) } else { desired };
        let (reach, timing) = (careful && is_new, self.timing());
        self.start(Work::Transact, Effect::Transact { desired, leases, protected, reach, timing })
    }

    fn keep(&mut self, kept: Kept) -> Effect {
        self.start(Work::Keep(Box::new(kept.clone())), Effect::Keep(Box::new(kept)))
    }

    fn start(&mut self, work: Work, effect: Effect) -> Effect {
        self.not_before = None;
        self.current_work = Some(work);
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
            (Target::Unmanaged { uid }, _) => kept.map(|_| Kept { uid: uid.clone(), desired: None, trying: None }),
            (Target::Wanted(prepared), Stage::Reached { .. }) => {
                Some(Kept { uid: prepared.desired.uid.clone(), desired: Some(prepared.desired.clone()), trying: None })
            }
            (Target::Wanted(_) | Target::Unreadable { .. }, stage) => {
                kept.filter(|kept| self.is_given_up(kept, stage)).map(|kept| Kept { trying: None, ..kept.clone() })
            }
            (Target::Nothing | Target::Unknown, _) => None,
        };
        let next = next.filter(|next| kept != Some(next))?;
        Some(self.keep(next))
    }

    /// Whether the desired state on disk that was being brought about is not any more: it failed, or something else is
    /// wanted. The next life does not begin with it then.
    fn is_given_up(&self, kept: &Kept, stage: &Stage) -> bool {
        let Some(trying) = &kept.trying else { return false };
        let waits = |failure: &Failure| failure.reason == Reason::OutOfReach;
        let failed = matches!(stage, Stage::Failed { failure, .. } if !waits(failure));
        failed || self.target.desired() != Some(trying)
    }

    /// Whether the desired state has to be compared with the host: one that wants nothing and follows none that did
    /// is only reported on.
    pub(crate) fn needs_transaction(&self) -> bool {
        let Target::Wanted(prepared) = &self.target else { return false };
        let desired = &prepared.desired;
        !desired.is_empty()
            || desired.config.is_some()
            || self.kept.as_ref().is_some_and(|kept| kept.uid == desired.uid)
    }

    /// When the desired state is brought about (again). What failed is reported before it is tried again, if it can be
    /// reported at all: a desired state that costs the way to the API for as long as it is tried would never be heard
    /// of.
    fn attempt_at(&self, now: Timestamp) -> Option<Timestamp> {
        if self.leasing.waits {
            return None;
        }
        let renewed = self.leasing.is_stale().then_some(now);
        let due = self.attempt.due(now, renewed).filter(|_| self.needs_transaction())?;
        let news = matches!(&self.attempt.stage, Stage::Failed { failure, .. } if failure.reason != Reason::OutOfReach);
        let unsent_events = news && !self.api_requests.is_clear();
        Some(if unsent_events { later(due, self.settings.reconnect) } else { due })
    }

    /// Whether the present desired state is in place.
    pub(crate) fn is_in_place(&self) -> bool {
        let about = self.target.desired().is_some_and(|desired| self.attempt.is_about(desired));
        about && matches!(self.attempt.stage, Stage::Reached { .. })
    }

    /// Whether a desired state was in place before. Such a one did not cost the way to the API, and a node that lost it
    /// may need the desired state to find it again.
    fn is_kept(&self, desired: &DesiredState) -> bool {
        self.kept.as_ref().and_then(|kept| kept.desired.as_ref()) == Some(desired)
    }

    /// The last good desired state, when the node is to be compared with it: what keeps it from the API may be a change
    /// that this takes back.
    fn last_good(&mut self) -> Option<Arc<Prepared>> {
        let Target::Wanted(wanted) = &self.target else { return None };
        let falls_back = std::mem::take(&mut self.attempt.falls_back) && !self.is_kept(&wanted.desired);
        let desired = self.kept.as_ref().filter(|_| falls_back)?.desired.clone()?;
        prepare(desired.clone(), self.settings.base.as_deref())
            .ok()
            .map(|prepared| Arc::new(prepared.following([&wanted.desired]).after(Some(&desired))))
    }

    /// When the host is to be read; none when it is not.
    fn look_at(&self) -> Option<Timestamp> {
        if matches!(self.target, Target::Unmanaged { .. }) {
            return None;
        }
        self.host_view.due(&self.settings)
    }

    fn recovered(&mut self, result: Result<Option<String>, Failure>) {
        self.current_work = None;
        self.life = self.life.max(Life::Recovered);
        match result {
            Ok(Some(what)) => self.record_event(KubeEvent::new("RolledBack", what)),
            Ok(None) => {}
            // Every transaction tries it again, and fails as long as it does.
            Err(failure) => self.record_event(KubeEvent::new("SyncFailed", failure.message)),
        }
    }

    fn observed(&mut self, now: Timestamp, result: Result<&Observed, &str>) {
        self.current_work = None;
        if let Ok(observed) = result {
            self.compare(now, observed);
        }
        let named = self.target.desired().map(DesiredState::links).unwrap_or_default();
        let heard = self.heard();
        if let Ok(observed) = result {
            self.listing.saw(now, links::list(now, observed, &heard, named.clone()), self.standing_list());
        }
        self.host_view.ended(now, result, (named, &heard), &self.settings);
    }

    /// What is known of neighbours on every link that is listened on.
    fn heard(&self) -> Heard {
        if self.neighbours.is_empty() {
            return Heard::new();
        }
        let reported = chosen(&self.objects).and_then(|(state, _)| self.objects.report(&state.meta.key));
        self.neighbours.report(&reported.map(|report| report::neighbours(&report.value())).unwrap_or_default())
    }

    /// Compares the host with the desired state that was verified.
    fn compare(&mut self, now: Timestamp, observed: &Observed) {
        let Target::Wanted(prepared) = &self.target else { return };
        if !matches!(self.attempt.stage, Stage::Reached { .. }) || !self.attempt.is_about(&prepared.desired) {
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
                    self.record_event(KubeEvent::new("Drifted", note));
                }
            }
            // What was in place cannot even be asked for any more, such as when a card is gone.
            Err(failure) => self.fail(now, failure),
        }
    }

    fn transacted(&mut self, now: Timestamp, result: Result<crate::Done, Failure>) {
        let work = self.current_work.take();
        self.host_view.must = true;
        if result.is_ok() {
            self.life = Life::Converged;
        }
        if matches!(work, Some(Work::Return)) {
            let good =
                self.kept.as_ref().filter(|_| result.is_ok()).and_then(|kept| kept.desired.as_ref()?.config.as_ref());
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
                    self.record_event(KubeEvent::synced());
                }
            }
            Ok(done) => {
                if done.changed || self.attempt.failure().is_some() {
                    self.record_event(KubeEvent::synced());
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
            self.record_event(KubeEvent::new(reason, failure.message.clone()));
        }
        // After a start the host may be without anything, as it is after a boot: it is given what was good.
        let without_anything = self.life != Life::Converged && !failure.fabric_waits;
        self.attempt.failed(now, failure, &self.settings);
        self.attempt.falls_back |= without_anything;
    }

    fn filed(&mut self, now: Timestamp, result: Result<Option<Kept>, String>) {
        self.stale = true;
        match result {
            Ok(kept) => {
                if kept.is_none() && self.kept.is_some() {
                    self.attempt.drop_desired();
                }
                self.kept = kept;
            }
            Err(why) => {
                self.record_event(KubeEvent::new("SyncFailed", format!("cannot write to the state folder: {why}")));
                self.not_before = Some(later(now, spread(self.settings.retry_first, self.settings.seed, 0)));
            }
        }
    }

    /// When time alone makes a difference.
    fn wake_at(&self, now: Timestamp) -> Option<Timestamp> {
        let free = self.current_work.is_none() && self.life != Life::Begun && self.settings.enforce;
        let slow = self.attempt.slow_at(&self.settings).filter(|at| *at > now);
        let host = [self.attempt_at(now), self.look_at()].into_iter().flatten().filter(|_| free);
        // After a failure at disk or host everything there waits.
        let host = host.map(|at| self.not_before.map_or(at, |not_before| at.max(not_before)));
        host.chain(self.not_before.filter(|_| free))
            .chain(self.api_requests.resumes_at())
            .chain(slow)
            .chain(self.held_until())
            .chain(self.list_at(now))
            .chain(self.report_at(now))
            .min()
    }
}
