//! Thousands of nodes that do at once what they are assigned: a controller and a server, without hosts.
//!
//! The controller's decisions are the real ones. Nodes have no host and no agent of their own here, which would take more
//! memory than machines have: a node answers each configuration with success, as an agent does for which everything
//! works. The server keeps objects as text and refuses what is larger than a server stores. For figures of large clusters;
//! what may go wrong on the way is not looked at.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};
use netloom_agent_core::{CONFIG, STATE};
use netloom_api::GroupKind;
use netloom_compile::ObjectKey;
use netloom_controller_core::{Controller, Index, Kinds, Leadership, Settings};
use netloom_object::{Action, Answer, Change, ObjectRef, Request};
use serde_json::{Map, Value, json};

use crate::{process::server_clock, server::MOST, users};

/// Nodes, what the server has of them, and the one controller.
#[derive(Debug, Default)]
pub struct Fleet {
    objects: BTreeMap<ObjectRef, Box<str>>,
    version: u64,
    index: Index,
    controller: Controller,
    now: Timestamp,
    /// Requests that were carried out, by verb and kind.
    pub requests: BTreeMap<(&'static str, &'static str), usize>,
    /// Requests that were refused because an object would be too large.
    pub too_large: usize,
    /// How often each node was assigned something else about its host.
    pub changes: BTreeMap<String, usize>,
    /// The largest object that was stored since this was looked at last, and how many bytes it has.
    pub largest: (usize, String),
    /// How often the controller has decided.
    pub turns: usize,
    answers: BTreeSet<ObjectRef>,
}

impl Fleet {
    /// So many nodes that have reported their links, connected to one cluster network. After the first node all others
    /// are assigned at once: what is reported meanwhile is the most of the work.
    pub fn new(nodes: usize) -> Self {
        let mut fleet =
            Self { now: server_clock(0), controller: Controller::new(Settings::default()), ..Self::default() };
        for number in 0..nodes {
            let name = users::name(number);
            fleet.put(users::node(number), None);
            let state = json!({
                "apiVersion": "nmstate.io/v1", "kind": "NodeNetworkState",
                "metadata": {"namespace": users::NAMESPACE, "name": name},
                "spec": {"managed": true, "nodeName": name},
                "status": {"currentState": {"interfaces": [
                    {"name": users::UPLINK, "type": "ethernet", "state": "up", "mtu": 1500},
                ]}},
            });
            fleet.put(state, None);
        }
        let at_once = json!({"canary": {"nodes": 1, "soakSeconds": 0}, "waves": ["100%"], "maxUnavailable": "100%"});
        for object in users::host_networks(0, nodes).chain([users::rollout(&at_once)]) {
            fleet.put(object, None);
        }
        for kind in Kinds::built_in().all() {
            let objects = fleet.list(*kind).map(|object| Arc::new(read(object))).collect();
            fleet.index.take(fleet.now, Change::Listed { kind: *kind, objects });
        }
        fleet
    }

    /// So many host networks for all nodes come at once.
    pub fn add_host_networks(&mut self, networks: u16, nodes: usize) {
        for number in 0..networks {
            let address = |node: usize| format!("10.{}.{}.{}/16", number % 256, node / 250, 1 + node % 250);
            let ips: Map<String, Value> = (0..nodes).map(|node| (users::name(node), json!(address(node)))).collect();
            let spec = json!({"clusterNetwork": "cluster-1", "vlanID": 100 + number, "mode": "static", "ips": ips});
            let object = json!({
                "apiVersion": "network.harvesterhci.io/v1beta1", "kind": "HostNetworkConfig",
                "metadata": {"name": format!("h{number}")}, "spec": spec,
            });
            self.write(object, None);
        }
    }

    /// One node gets another address in one host network.
    pub fn move_address(&mut self, network: u16, node: usize, address: &str) {
        let key = ObjectKey::global(format!("h{network}"));
        let target = ObjectRef { kind: GroupKind::new("network.harvesterhci.io", "HostNetworkConfig"), key };
        let Some(mut object) = self.get(&target) else { return };
        object["spec"]["ips"][users::name(node)] = json!(address);
        let before = self.before(&target, &object);
        self.write(object, before);
    }

    /// How often nodes other than this one were assigned something else about their hosts.
    pub fn changes_but_of(&self, node: usize) -> usize {
        self.changes.iter().filter(|(name, _)| **name != users::name(node)).map(|(_, count)| count).sum()
    }

    /// Every object of a kind.
    pub fn all(&self, kind: &str) -> Vec<Value> {
        self.objects.iter().filter(|(target, _)| target.kind.kind == kind).map(|(_, text)| read(text)).collect()
    }

    /// Lets the controller and the nodes go on until nobody has anything to do, or for so many decisions.
    pub fn run(&mut self, most: usize) -> bool {
        for _ in 0..most {
            let until = self.now.checked_add(SignedDuration::from_secs(15)).unwrap_or(Timestamp::MAX);
            let turn = self.controller.decide(self.now, &self.index, Leadership::Leading { until });
            self.turns += 1;
            let is_idle = turn.chains.is_empty();
            for chain in turn.chains {
                let mut broken = false;
                for request in chain.0 {
                    let id = request.id;
                    let answer = if broken { Answer::Skipped } else { self.carry_out(request) };
                    broken |= answer != Answer::Done;
                    self.controller.answered(self.now, id, &answer);
                }
            }
            let acted = self.nodes_answer();
            if is_idle && !acted {
                let Some(wake_at) = turn.wake_at else { return true };
                self.now = wake_at;
            }
        }
        false
    }

    /// Every node that was assigned something has it, and says so.
    fn nodes_answer(&mut self) -> bool {
        let assigned = std::mem::take(&mut self.answers);
        for target in &assigned {
            let Some(mut config) = self.get(target) else { continue };
            let state = ObjectRef { kind: STATE, key: ObjectKey::new(users::NAMESPACE, target.key.name.as_str()) };
            let state = self.get(&state).unwrap_or_default();
            if state["metadata"]["annotations"]["netloom.dev/digest"] != config["spec"]["stateDigest"] {
                self.answers.insert(target.clone());
                continue;
            }
            let before = Before::of(&config, &config);
            config["status"] = json!({
                "configStatus": "provisioned", "lastAppliedRevision": config["spec"]["revision"],
                "inPlaceRevision": config["spec"]["revision"], "observedGeneration": config["metadata"]["generation"],
            });
            self.write(config, Some(before));
        }
        assigned.len() > self.answers.len()
    }

    fn carry_out(&mut self, Request { target, action, .. }: Request) -> Answer {
        let known = self.get(&target);
        let is_stale = |given: &Value| {
            let wanted = given.pointer("/metadata/resourceVersion");
            wanted.is_some() && wanted != known.as_ref().and_then(|known| known.pointer("/metadata/resourceVersion"))
        };
        let (verb, before, object) = match action {
            Action::Apply { object, .. } | Action::ApplyStatus { object } if is_stale(&object) => {
                return Answer::Refused;
            }
            Action::Patch { patch } if is_stale(&patch) => return Answer::Refused,
            Action::Create { object } => {
                let object = known.unwrap_or(object);
                ("create", self.before(&target, &object), object)
            }
            Action::Apply { object, late: None } => return self.apply(&target, known, object),
            Action::Apply { object, late: Some(late) } => {
                return self.apply(&target, known, late.written_into(object));
            }
            Action::ApplyStatus { mut object } => {
                let Some(mut all) = known else { return Answer::Refused };
                let before = Before::of(&all, &all);
                // Of a network state an agent tells the rest.
                if target.kind == STATE {
                    all["status"]["conditions"] = object["status"]["conditions"].take();
                } else {
                    all["status"] = object["status"].take();
                }
                ("status", Some(before), all)
            }
            Action::Patch { patch } => {
                let Some(known) = known else { return Answer::Refused };
                let Ok(all) = netloom_patch::merge_patch(&known, &patch) else { return Answer::Refused };
                ("patch", Some(Before::of(&known, &all)), all)
            }
            Action::PatchTested { .. } | Action::Absent { .. } => return Answer::Refused,
            Action::Delete { .. } => {
                let Some(gone) = known else { return Answer::Refused };
                *self.requests.entry(("delete", target.kind.kind)).or_default() += 1;
                self.objects.remove(&target);
                self.index.take(self.now, Change::Gone(Arc::new(gone)));
                return Answer::Done;
            }
        };
        self.answer(verb, &target, before, object)
    }

    /// The controller applies its part of an object.
    fn apply(&mut self, target: &ObjectRef, known: Option<Value>, given: Value) -> Answer {
        if target.kind == CONFIG {
            self.answers.insert(target.clone());
            if known.as_ref().map(|known| &known["spec"]["host"]) != Some(&given["spec"]["host"]) {
                *self.changes.entry(target.key.name.clone()).or_default() += 1;
            }
        }
        let before = known.as_ref().map(|known| {
            let same = given.get("spec").is_none_or(|spec| known.get("spec") == Some(spec));
            Before { same, ..Before::of(known, &Value::Null) }
        });
        self.answer("apply", target, before, applied(known, given))
    }

    fn answer(&mut self, verb: &'static str, target: &ObjectRef, before: Option<Before>, object: Value) -> Answer {
        if self.write(object, before) {
            *self.requests.entry((verb, target.kind.kind)).or_default() += 1;
            Answer::Done
        } else {
            self.too_large += 1;
            Answer::Refused
        }
    }

    /// Somebody writes an object, and the controller hears of it; says whether it is not too large.
    fn write(&mut self, object: Value, before: Option<Before>) -> bool {
        let Some(stored) = self.put(object, before) else { return false };
        self.index.take(self.now, Change::Put(Arc::new(stored)));
        true
    }

    /// Stores an object as a server does; none where a server would not.
    fn put(&mut self, mut object: Value, before: Option<Before>) -> Option<Value> {
        let target = crate::server::reference(&object).or_else(|| event(&object))?;
        self.version += 1;
        let before = before.unwrap_or_else(|| Before {
            generation: 0,
            same: false,
            uid: json!(format!("u{}", self.version)),
            created: json!(self.now),
        });
        object["metadata"]["generation"] = json!(before.generation + i64::from(!before.same));
        object["metadata"]["uid"] = before.uid;
        object["metadata"]["creationTimestamp"] = before.created;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let text = object.to_string();
        if text.len() > MOST {
            return None;
        }
        if text.len() > self.largest.0 {
            self.largest = (text.len(), format!("{} {}", target.kind.kind, target.key.name));
        }
        self.objects.insert(target, text.into());
        Some(object)
    }

    fn get(&self, target: &ObjectRef) -> Option<Value> {
        self.objects.get(target).map(|text| read(text))
    }

    /// What a server keeps of an object that is there when somebody writes it.
    fn before(&self, target: &ObjectRef, next: &Value) -> Option<Before> {
        self.get(target).map(|known| Before::of(&known, next))
    }

    fn list(&self, kind: GroupKind<'static>) -> impl Iterator<Item = &str> {
        self.objects.iter().filter(move |(target, _)| target.kind == kind).map(|(_, text)| text.as_ref())
    }
}

/// What a server keeps of an object when the next version of it is written. Objects are kept as text, and reading the large
/// ones more than once is most of what a server costs here.
#[derive(Debug)]
struct Before {
    generation: i64,
    uid: Value,
    created: Value,
    /// Whether the next version wants the same.
    same: bool,
}

impl Before {
    fn of(known: &Value, next: &Value) -> Self {
        let metadata = |name: &str| known["metadata"][name].clone();
        Self {
            generation: metadata("generation").as_i64().unwrap_or_default(),
            uid: metadata("uid"),
            created: metadata("creationTimestamp"),
            same: std::ptr::eq(known, next) || known["spec"] == next["spec"],
        }
    }
}

/// What an object is when the controller has applied its part: what it says of the specification is all there is.
fn applied(known: Option<Value>, mut given: Value) -> Value {
    let mut all = known.unwrap_or_else(|| json!({}));
    for field in ["apiVersion", "kind", "spec", "status"] {
        if let Some(value) = given.get_mut(field) {
            all[field] = value.take();
        }
    }
    let before = all.get("metadata").cloned().unwrap_or_else(|| json!({}));
    all["metadata"] = netloom_patch::merge_patch(&before, &given["metadata"]).unwrap_or(before);
    all
}

/// Events are of no kind that anybody follows.
fn event(object: &Value) -> Option<ObjectRef> {
    let key = ObjectKey::new("default", object.pointer("/metadata/name")?.as_str()?);
    Some(ObjectRef { kind: GroupKind::new("events.k8s.io", "Event"), key })
}

fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}
