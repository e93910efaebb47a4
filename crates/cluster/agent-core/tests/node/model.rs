//! One node: an API server as far as the agent's requests go, a simulated host, a disk, and a clock.

use std::{collections::BTreeMap, net::IpAddr, sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use netloom_agent_core::{
    Agent, CompanionNews, CompanionOrder, Done, Effect, Event, Failure, HostChange, Kept, LeaseOrder, Leased, Leases,
    Others, Prepared, Reason, Settings,
};
use netloom_kernel_sim::SimHost;
use netloom_model::{Attr, Attrs, KernelFeatures, Ownership, Step, Value as AttrValue};
use netloom_object::{Action, Answer, Chain, Change, Request};
use netloom_plan::{Options, plan};
use netloom_probing::ProbeTiming;
use netloom_types::IfName;
use serde_json::{Value, json};

/// Kind, namespace and name.
type Key = (String, String, String);

/// Everything that the server has.
#[derive(Debug, Clone, Default)]
pub(crate) struct Api {
    pub(crate) objects: BTreeMap<Key, Value>,
    version: u64,
    /// Every write that changed something: verb, kind and name.
    pub(crate) writes: Vec<(&'static str, String, String)>,
}

fn key(object: &Value) -> Key {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    (text("/kind"), text("/metadata/namespace"), text("/metadata/name"))
}

impl Api {
    /// Stores an object as a server would.
    pub(crate) fn store(&mut self, mut object: Value) -> Value {
        let key = key(&object);
        self.version += 1;
        let before = self.objects.get(&key);
        let same = before.is_some_and(|before| before["spec"] == object["spec"]);
        let generation = before.and_then(|before| before.pointer("/metadata/generation")?.as_i64()).unwrap_or_default();
        let uid =
            before.map_or_else(|| json!(format!("u{}", self.version)), |before| before["metadata"]["uid"].clone());
        object["metadata"]["uid"] = uid;
        object["metadata"]["generation"] = json!(if same { generation } else { generation + 1 });
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        if object["metadata"].get("creationTimestamp").is_none() {
            object["metadata"]["creationTimestamp"] = json!(format!("2030-01-01T00:00:{:02}Z", self.version % 60));
        }
        self.objects.insert(key, object.clone());
        object
    }

    pub(crate) fn get(&self, kind: &str, name: &str) -> Option<&Value> {
        self.objects.iter().find(|(key, _)| key.0 == kind && key.2 == name).map(|(_, object)| object)
    }

    pub(crate) fn list(&self, kind: &str) -> Vec<Arc<Value>> {
        self.objects.iter().filter(|(key, _)| key.0 == kind).map(|(_, object)| Arc::new(object.clone())).collect()
    }

    /// Carries a request out; none when it is refused.
    fn perform(&mut self, request: &Request) -> Option<Value> {
        let target = &request.target;
        let key = (target.kind.kind.to_owned(), target.key.namespace.clone(), target.key.name.clone());
        let known = self.objects.get(&key).cloned();
        let differs = |given: &Value, field: &str| {
            let wanted = given.pointer(field);
            wanted.is_some() && wanted != known.as_ref().and_then(|known| known.pointer(field))
        };
        let (verb, stored) = match &request.action {
            Action::Create { .. } if known.is_some() => return known,
            Action::Create { object } => ("create", self.store(object.clone())),
            Action::ApplyStatus { object } if !differs(object, "/metadata/uid") => {
                let mut merged = known?;
                merged["status"] = object["status"].clone();
                ("status", self.store(merged))
            }
            Action::Patch { patch } if !differs(patch, "/metadata/resourceVersion") => {
                let mut merged = known?;
                merge(&mut merged, patch);
                ("patch", self.store(merged))
            }
            Action::Apply { .. } | Action::PatchTested { .. } | Action::Absent { .. } | Action::Delete { .. } => {
                panic!("an agent does not ask for {request:?}")
            }
            Action::ApplyStatus { .. } | Action::Patch { .. } => return None,
        };
        self.writes.push((verb, key.0, key.2));
        Some(stored)
    }
}

fn merge(into: &mut Value, patch: &Value) {
    let Some(patch) = patch.as_object() else {
        *into = patch.clone();
        return;
    };
    if !into.is_object() {
        *into = json!({});
    }
    for (key, value) in patch {
        if value.is_null() {
            into.as_object_mut().unwrap().remove(key);
        } else {
            merge(&mut into[key], value);
        }
    }
}

/// A host, and who asked for what on it.
#[derive(Debug, Clone)]
pub(crate) struct Host {
    pub(crate) sim: SimHost,
    pub(crate) owned: Ownership,
    /// A link that the kernel refuses to make, for the sake of the test.
    pub(crate) cursed: Option<&'static str>,
    /// How many transactions changed something.
    pub(crate) changes: usize,
    /// Until when the kernel has counted down what ends.
    pub(crate) counted: Timestamp,
}

impl Host {
    /// The transaction, without its journal.
    fn transact(
        &mut self,
        desired: &Prepared,
        leases: &Leases,
        protected: Vec<IpAddr>,
        may_change: bool,
    ) -> Result<Done, Failure> {
        let observed = self.sim.observed().clone();
        self.owned = desired.revised(self.owned.clone());
        let owned = self.owned.clone();
        let state = desired.resolve(&observed, &owned, leases, self.counted)?;
        let planned = plan(&state, &observed, &owned, &Options { protected, allow_cut: false })
            .map_err(|error| Failure::unplanned(&error))?;
        if !may_change && !planned.plan.is_empty() {
            return Err(Failure::new(Reason::OutOfReach, "the API is not reached"));
        }
        let before = self.sim.clone();
        for planned in &planned.plan.steps {
            let cursed = matches!(&planned.step, Step::CreateLink { name, .. } if Some(name.as_str()) == self.cursed);
            if cursed || self.sim.apply(&planned.step).is_err() {
                self.sim = before;
                let failure = Failure::new(Reason::ApplyFailed, format_args!("{}: refused", planned.step));
                return Err(Failure { undone: true, ..failure });
            }
        }
        let changed = !planned.plan.is_empty();
        self.changes += usize::from(changed);
        self.owned = planned.ownership;
        Ok(Done { changed, took: SignedDuration::from_millis(7) })
    }

    /// Lets the kernel count down until then; what has ended goes.
    fn count_down(&mut self, now: Timestamp) {
        let passed = Duration::from_secs(u64::try_from(now.duration_since(self.counted).as_secs()).unwrap());
        self.counted = self.counted.checked_add(passed).unwrap();
        let all: Vec<_> = self.sim.observed().links.values().map(|link| (link.name, link.addresses.clone())).collect();
        for (name, address) in all.into_iter().flat_map(|(name, list)| list.into_iter().map(move |one| (name, one))) {
            let step = match address.after(passed) {
                Some(address) => Step::AddAddress { name, address },
                None => Step::RemoveAddress { name, address },
            };
            self.sim.apply(&step).unwrap();
        }
    }

    fn abandon(&mut self) {
        self.owned.forget(netloom_agent_core::OWNER);
    }
}

/// A host with one card and nothing else.
fn booted(kernel: KernelFeatures) -> SimHost {
    let mut sim = SimHost::with_kernel(kernel);
    sim.add_ethernet("eth0".parse().unwrap(), "02:00:00:00:00:01".parse().unwrap());
    sim
}

/// A mistake that an agent could have, to see that it would be noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mistake {
    /// It takes a desired state for kept that is not on disk.
    ForgetsToKeep,
    /// It leaves what a deleted object wanted recorded as its own.
    ForgetsToAbandon,
    /// It answers for a revision before it has tried it.
    AnswersEarly,
}

/// Where an agent is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Death {
    /// Before an effect is carried out.
    Before,
    /// After it, but before the agent hears of it.
    After,
}

/// Who takes over from an agent that died.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heir {
    ReachesTheApi,
    Orphaned,
}

/// One node.
pub(crate) struct Rig {
    pub(crate) api: Api,
    pub(crate) host: Host,
    pub(crate) disk: Option<Kept>,
    pub(crate) agent: Agent,
    pub(crate) settings: Settings,
    pub(crate) now: Timestamp,
    /// Whether the API can be reached.
    pub(crate) online: bool,
    /// Whether watch events arrive.
    pub(crate) hears: bool,
    /// A kind of which the agent may make nothing.
    pub(crate) forbidden: Option<&'static str>,
    /// Whether every request is refused, although the API can be reached.
    pub(crate) unheard: bool,
    /// How many effects are left until the agent is killed, and how.
    pub(crate) life: Option<(usize, Death)>,
    pub(crate) heir: Heir,
    /// Every effect, by a word.
    pub(crate) effects: Vec<&'static str>,
    /// What a newly started agent is given first, in the place of what the server has.
    pub(crate) stale: Option<Api>,
    pub(crate) listening: Vec<String>,
    /// What servers gave to links, and what is wrong there.
    pub(crate) leases: BTreeMap<String, Leased>,
    /// The links that ask for leases; none before the first order.
    pub(crate) leasing: Option<LeaseOrder>,
    /// Links that gave back what they had, and whether its address was still there.
    pub(crate) given_back: Vec<(String, bool)>,
    pub(crate) mistake: Option<Mistake>,
    /// Revisions and generations whose desired state was brought about on the host.
    verified: Vec<(String, i64)>,
    /// How long the last change was to be watched.
    pub(crate) timing: Option<ProbeTiming>,
    /// Everything that must never happen and did.
    pub(crate) violations: Vec<String>,
}

impl Rig {
    pub(crate) fn new(settings: Settings) -> Self {
        let now = "2030-01-01T00:00:00Z".parse().unwrap();
        let host = Host {
            sim: booted(KernelFeatures::default()),
            owned: Ownership::default(),
            cursed: None,
            changes: 0,
            counted: now,
        };
        let agent = Agent::new(settings.clone(), None);
        let mut rig = Self {
            api: Api::default(),
            host,
            disk: None,
            agent,
            settings,
            now,
            online: true,
            hears: true,
            forbidden: None,
            unheard: false,
            life: None,
            heir: Heir::ReachesTheApi,
            effects: Vec::new(),
            stale: None,
            listening: Vec::new(),
            leases: BTreeMap::new(),
            leasing: None,
            given_back: Vec::new(),
            mistake: None,
            verified: Vec::new(),
            timing: None,
            violations: Vec::new(),
        };
        rig.relist();
        rig
    }

    /// The node is restarted: what the kernel had is gone, what is on disk is not.
    pub(crate) fn boot(&mut self) {
        self.host.sim = booted(self.host.sim.observed().kernel);
        self.restart();
    }

    /// The same on another kernel.
    pub(crate) fn on_kernel(mut self, kernel: KernelFeatures) -> Self {
        self.host.sim = booted(kernel);
        self
    }

    /// The usual agent of node `n`.
    pub(crate) fn usual() -> Self {
        Self::new(Settings::of("n"))
    }

    /// Another agent takes over, with nothing but what disk, host and server have.
    pub(crate) fn restart(&mut self) {
        self.online &= self.heir == Heir::ReachesTheApi;
        self.agent = Agent::new(self.settings.clone(), self.disk.clone());
        if let Some(stale) = self.stale.take() {
            let now = std::mem::replace(&mut self.api, stale);
            self.relist();
            self.api = now;
        }
        self.relist();
    }

    /// All objects are listed again, as after a watch that broke.
    pub(crate) fn relist(&mut self) {
        if !self.online {
            return;
        }
        for kind in Agent::kinds(self.settings.mode) {
            let objects = self.api.list(kind.kind);
            self.agent.take(self.now, Event::Objects(Change::Listed { kind: *kind, objects }));
        }
    }

    /// Somebody writes an object.
    pub(crate) fn write(&mut self, object: Value) {
        let stored = self.api.store(object);
        self.tell(Change::Put(Arc::new(stored)));
    }

    /// Somebody changes a part of an object.
    pub(crate) fn edit(&mut self, kind: &str, patch: &Value) {
        let mut object = self.api.get(kind, "n").unwrap().clone();
        merge(&mut object, patch);
        self.write(object);
    }

    /// Somebody deletes an object.
    pub(crate) fn delete(&mut self, kind: &str) {
        let (key, object) = self.api.objects.iter().find(|(key, _)| key.0 == kind && key.2 == "n").unwrap();
        let (key, object) = (key.clone(), object.clone());
        self.api.objects.remove(&key);
        self.tell(Change::Gone(Arc::new(object)));
    }

    fn tell(&mut self, change: Change) {
        if self.online && self.hears {
            self.agent.take(self.now, Event::Objects(change));
        }
    }

    /// Somebody else changes the host.
    pub(crate) fn meddle(&mut self, step: &Step) {
        self.host.sim.apply(step).unwrap();
        self.agent.take(self.now, Event::HostChanged(HostChange::Anything));
    }

    /// Somebody else changes a link of the host, and the kernel names it.
    pub(crate) fn meddle_on(&mut self, link: &str, step: &Step) {
        self.host.sim.apply(step).unwrap();
        self.agent.take(self.now, Event::HostChanged(HostChange::Links([link.parse().unwrap()].into())));
    }

    /// The agent is notified who is heard on each link that it listens on; nobody can tell yet when that is none.
    pub(crate) fn hear(&mut self, neighbours: Option<&[Value]>) {
        self.run();
        let links = self.listening.iter().map(|link| link.parse().unwrap());
        let heard = links
            .map(|link| (link, netloom_nmstate::Heard { neighbours: neighbours.map(<[Value]>::to_vec) }))
            .collect();
        self.agent.take(self.now, Event::Companion(CompanionNews::Heard(heard)));
        self.run();
    }

    /// Lets time pass; everything that is due happens.
    pub(crate) fn run_for(&mut self, time: SignedDuration) {
        let end = self.now.checked_add(time).unwrap();
        for _ in 0..10_000 {
            let turn = self.agent.decide(self.now);
            let busy = !turn.effects.is_empty();
            for effect in turn.effects {
                if !self.perform(effect) {
                    break;
                }
            }
            if busy {
                continue;
            }
            let Some(at) = turn.wake_at.filter(|at| *at <= end) else {
                self.now = end;
                self.host.count_down(end);
                return;
            };
            assert!(at > self.now, "a wake-up for now with nothing to do");
            self.now = at;
        }
        panic!("the agent does not come to rest: {:?}", &self.effects[self.effects.len() - 20..]);
    }

    /// Lets everything happen that needs no waiting but a moment.
    pub(crate) fn run(&mut self) {
        self.run_for(SignedDuration::from_millis(900));
    }

    /// Carries an effect out; false when the agent died over it.
    fn perform(&mut self, effect: Effect) -> bool {
        let death = match &mut self.life {
            Some((0, death)) => Some(*death),
            Some((left, _)) => {
                *left -= 1;
                None
            }
            None => None,
        };
        if death == Some(Death::Before) {
            self.life = None;
            self.restart();
            return false;
        }
        let events = self.carry_out(effect);
        if death == Some(Death::After) {
            self.life = None;
            self.restart();
            return false;
        }
        for event in events {
            self.agent.take(self.now, event);
        }
        true
    }

    fn carry_out(&mut self, effect: Effect) -> Vec<Event> {
        self.host.count_down(self.now);
        let (word, events) = match effect {
            Effect::Recover => ("recover", vec![Event::Recovered(Ok(None))]),
            Effect::Observe => ("observe", vec![Event::Observed(Ok(Box::new(self.host.sim.observed().clone())))]),
            Effect::Transact { desired, leases, protected, reach, timing } => {
                self.timing = Some(timing);
                let outcome = self.host.transact(&desired, &leases, protected, !reach || self.online);
                if let (Ok(_), Some(config)) = (&outcome, &desired.desired.config) {
                    self.verified.push((config.revision.clone(), config.generation));
                }
                ("transact", vec![Event::Transacted(outcome)])
            }
            Effect::Keep(_) if self.mistake == Some(Mistake::ForgetsToKeep) => ("keep", vec![Event::Kept(Ok(()))]),
            Effect::Keep(kept) => {
                // As on a real disk: it comes back as it was written.
                let text = serde_json::to_string(&*kept).unwrap();
                self.disk = Some(serde_json::from_str(&text).unwrap());
                ("keep", vec![Event::Kept(Ok(()))])
            }
            Effect::Abandon => {
                if self.mistake != Some(Mistake::ForgetsToAbandon) {
                    self.host.abandon();
                }
                self.disk = None;
                ("abandon", vec![Event::Abandoned(Ok(()))])
            }
            Effect::Companion(CompanionOrder::Listen(links)) => {
                self.listening = links.iter().map(ToString::to_string).collect();
                ("listen", Vec::new())
            }
            Effect::Companion(CompanionOrder::Lease(order)) => ("lease", vec![self.lease(order)]),
            Effect::Ask(chain) => ("ask", self.ask(chain)),
        };
        self.effects.push(word);
        events
    }

    /// The clients of the node: links that are not asked for any more give back what they have.
    fn lease(&mut self, order: LeaseOrder) -> Event {
        let asks = |link: &IfName| order.links.contains_key(link);
        let links = self.leases.keys().map(|link| link.parse::<IfName>().unwrap());
        let others: Vec<IfName> = links.filter(|link| !asks(link)).collect();
        for link in &others {
            if order.others == Others::Keep {
                continue;
            }
            let given = self.leases.remove(link.as_str()).and_then(|had| had.given);
            if order.others == Others::Leave {
                continue;
            }
            let there = self.host.sim.observed().links.get(link).is_some_and(|link| {
                let ip = given.as_ref().map(|given| given.lease.address.addr().into());
                link.addresses.iter().any(|address| Some(address.ip) == ip)
            });
            self.given_back.push((link.to_string(), there));
        }
        self.leasing = Some(order);
        self.leased()
    }

    fn leased(&self) -> Event {
        let asked = self.leasing.iter().flat_map(|order| order.links.keys()).map(|link| (*link, Leased::default()));
        let has = self.leases.iter().map(|(link, has)| (link.parse().unwrap(), has.clone()));
        let order = self.leasing.as_ref().map_or(0, |order| order.number);
        Event::Companion(CompanionNews::Leases { order, links: asked.chain(has).collect() })
    }

    /// Something happens between a link and its server.
    pub(crate) fn serve(&mut self, link: &str, leased: Leased) {
        self.leases.insert(link.to_owned(), leased);
        let event = self.leased();
        self.agent.take(self.now, event);
        self.run();
    }

    fn ask(&mut self, chain: Chain) -> Vec<Event> {
        let mut events = Vec::new();
        let mut broken = false;
        for request in chain.0 {
            self.check(&request);
            let forbidden = self.forbidden == Some(request.target.kind.kind);
            let reached = self.online && !self.unheard && !forbidden;
            let done = if reached && !broken { self.api.perform(&request) } else { None };
            let answer = match &done {
                Some(_) => Answer::Done,
                None if broken => Answer::Skipped,
                None if forbidden && self.online && !self.unheard => Answer::Denied,
                None => Answer::Refused,
            };
            broken |= done.is_none();
            events.extend(done.map(|object| Event::Objects(Change::Put(Arc::new(object)))));
            events.push(Event::Answered { request: request.id, answer });
        }
        events
    }

    /// A revision is answered for only after its desired state was brought about, by whichever agent.
    fn check(&mut self, request: &Request) {
        let Action::ApplyStatus { object } = &request.action else { return };
        let status = &object["status"];
        if object["kind"] != "NodeNetworkConfig" || status["configStatus"] != "provisioned" {
            return;
        }
        let revision = status["lastAppliedRevision"].as_str().unwrap_or_default().to_owned();
        let generation = status["observedGeneration"].as_i64().unwrap_or_default();
        if !self.verified.contains(&(revision.clone(), generation)) {
            self.violations.push(format!("{revision} was answered for and never tried"));
        }
    }

    /// What an agent with that mistake would ask for.
    pub(crate) fn answer_early(&mut self) {
        let Some(config) =
            self.api.get("NodeNetworkConfig", "n").filter(|_| self.mistake == Some(Mistake::AnswersEarly))
        else {
            return;
        };
        let (spec, meta) = (&config["spec"], &config["metadata"]);
        let object = json!({"kind": "NodeNetworkConfig", "status": {"configStatus": "provisioned",
            "lastAppliedRevision": spec["revision"], "observedGeneration": meta["generation"]}});
        let target = netloom_object::ObjectRef {
            kind: netloom_agent_core::CONFIG,
            key: netloom_compile::ObjectKey::global("n"),
        };
        self.check(&Request { id: netloom_object::RequestId(0), target, action: Action::ApplyStatus { object } });
    }

    pub(crate) fn state(&self) -> &Value {
        self.api.get("NodeNetworkState", "n").unwrap()
    }

    /// Status, reason and message of a condition of the node's state.
    pub(crate) fn condition(&self, kind: &str) -> (String, String, String) {
        condition(self.state(), kind)
    }

    /// The MTU of a link; none when there is no such link.
    pub(crate) fn mtu(&self, link: &str) -> Option<u64> {
        let link = self.host.sim.observed().links.get(&link.parse().unwrap())?;
        link.attrs.int(netloom_model::Attr::Mtu)
    }

    pub(crate) fn count(&self, effect: &str) -> usize {
        self.effects.iter().filter(|word| **word == effect).count()
    }

    /// Reasons of all events for people.
    pub(crate) fn reported(&self) -> Vec<String> {
        self.api.list("Event").iter().map(|event| event["reason"].as_str().unwrap().to_owned()).collect()
    }
}

pub(crate) fn condition(object: &Value, kind: &str) -> (String, String, String) {
    let all = object.pointer("/status/conditions").and_then(Value::as_array);
    let found = all.into_iter().flatten().find(|condition| condition["type"] == kind);
    let text = |key: &str| found.and_then(|found| found[key].as_str()).unwrap_or_default().to_owned();
    (text("status"), text("reason"), text("message"))
}

/// A desired state with one dummy link.
pub(crate) fn dummy(name: &str, mtu: u64) -> Value {
    json!({"interfaces": [{"name": name, "type": "dummy", "state": "up", "mtu": mtu}]})
}

pub(crate) const HOUR: SignedDuration = SignedDuration::from_hours(1);

pub(crate) fn desire(rig: &mut Rig, document: &Value) {
    rig.edit("NodeNetworkState", &json!({"spec": {"desiredState": document}}));
}

pub(crate) fn set_mtu(link: &str, mtu: u64) -> Step {
    let mut attrs = Attrs::new();
    attrs.set(Attr::Mtu, AttrValue::Int(mtu));
    let kind = netloom_model::LinkKind::Dummy;
    Step::SetAttrs { name: link.parse().unwrap(), kind, attrs }
}

/// A node with an object, and one dummy link in place.
pub(crate) fn with_dummy() -> Rig {
    let mut rig = Rig::usual();
    rig.run();
    desire(&mut rig, &dummy("d0", 1400));
    rig.run();
    assert_eq!(rig.mtu("d0"), Some(1400));
    rig
}
