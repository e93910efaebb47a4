//! An API server as far as the controller's requests go, and agents that answer.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};
use netloom_admission::{Objects, Operation, Review, User};
use netloom_api::GroupKind;
use netloom_controller_core::{Controller, ControllerActions, Index, Kinds, Leadership, Settings};
use netloom_object::{Action, Answer, Change, Request, with_late};
use serde_json::{Value, json};

/// What a server takes in one request.
const MOST: usize = 3 << 19;

/// Kind, namespace and name.
type Key = (String, String, String);

#[derive(Debug, Clone, Default)]
pub(crate) struct Api {
    pub(crate) objects: BTreeMap<Key, Value>,
    version: u64,
    /// Conditions of network states that the controller has applied, and so owns.
    owned: BTreeMap<Key, Vec<Value>>,
    /// Those of them that were there before, and so have another owner too.
    shared: BTreeMap<Key, Vec<Value>>,
    /// Every write that was carried out: verb, kind and name.
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
        self.complete(&key, &mut object);
        let before = self.objects.get(&key);
        let same = before.is_some_and(|before| before["spec"] == object["spec"]);
        let generation = before.and_then(|before| before.pointer("/metadata/generation")?.as_i64()).unwrap_or_default();
        let uid =
            before.map_or_else(|| json!(format!("u{}", self.version)), |before| before["metadata"]["uid"].clone());
        object["metadata"]["uid"] = uid;
        object["metadata"]["generation"] = json!(if same { generation } else { generation + 1 });
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.objects.insert(key, object.clone());
        object
    }

    /// What the rules of admission fill in, where they look at other objects.
    fn complete(&self, (kind, _, name): &Key, object: &mut Value) {
        let Some(kind) = ["HostNetworkConfig", "VlanConfig"].into_iter().find(|known| known == kind) else { return };
        // What revisions freeze is looked at by no rule of these kinds, and may be much.
        let seen = self.objects.iter().filter(|(key, _)| !key.0.starts_with("NetworkConfigRevision"));
        let view: Objects = seen.map(|(_, object)| object.clone()).collect();
        let old = self.objects.get(&key(object));
        let review = Review {
            operation: if old.is_some() { Operation::Update } else { Operation::Create },
            kind: GroupKind::new("network.harvesterhci.io", kind),
            namespace: None,
            name,
            subresource: None,
            object: Some(object),
            old,
            user: &User::new("somebody", &["system:masters"]),
            dry_run: false,
            view: &view,
        };
        if let Some(patch) = netloom_admission::complete(&review) {
            let patch: json_patch::Patch = serde_json::from_value(patch).unwrap();
            json_patch::patch(object, &patch).unwrap();
        }
    }

    pub(crate) fn get(&self, kind: &str, name: &str) -> Option<&Value> {
        self.objects.iter().find(|(key, _)| key.0 == kind && key.2 == name).map(|(_, object)| object)
    }

    pub(crate) fn list(&self, kind: &str) -> Vec<&Value> {
        self.objects.iter().filter(|(key, _)| key.0 == kind).map(|(_, object)| object).collect()
    }

    /// The controller shares this status with an agent: its conditions come and go, the rest stays. Says whether the
    /// server takes it: of a condition that another one applied too, that one's fields stay, and they are not enough.
    fn apply_conditions(&mut self, key: &Key, into: &mut Value, applied: &Value) -> bool {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let wanted = list(&applied["status"]["conditions"]);
        let types = |all: &[Value]| all.iter().map(|condition| condition["type"].clone()).collect::<Vec<_>>();
        let mut kept = list(&into["status"]["conditions"]);
        let owned = self.owned.get(key).cloned().unwrap_or_default();
        let shared = self.shared.entry(key.clone()).or_default();
        shared.extend(types(&kept).into_iter().filter(|kind| types(&wanted).contains(kind) && !owned.contains(kind)));
        if owned.iter().any(|kind| shared.contains(kind) && !types(&wanted).contains(kind)) {
            return false;
        }
        self.owned.insert(key.clone(), types(&wanted));
        kept.retain(|condition| !owned.contains(&condition["type"]) && !types(&wanted).contains(&condition["type"]));
        kept.extend(wanted);
        into["status"]["conditions"] = kept.into();
        true
    }

    /// Carries a request out; none when it is refused.
    fn perform(&mut self, request: &Request) -> Option<Change> {
        let target = &request.target;
        let key = (target.kind.kind.to_owned(), target.key.namespace.clone(), target.key.name.clone());
        let known = self.objects.get(&key).cloned();
        let wrong = |given: &Value| {
            let wanted = given.pointer("/metadata/resourceVersion");
            wanted.is_some() && wanted != known.as_ref().and_then(|known| known.pointer("/metadata/resourceVersion"))
        };
        let (verb, stored) = match &request.action {
            Action::Create { .. } if known.is_some() => ("same", known?),
            Action::Create { object } | Action::ApplyStatus { object } if object.to_string().len() > MOST => {
                return None;
            }
            Action::Create { object } => ("create", self.store(object.clone())),
            Action::Apply { object, late } if !wrong(object) => {
                let object = with_late(object, late.as_ref());
                let mut merged = known.unwrap_or_else(|| json!({}));
                merge(&mut merged, &object);
                // The controller is the only one who applies these, so what it leaves out goes.
                for part in ["spec", "status"] {
                    if object.get(part).is_some() {
                        merged[part] = object[part].clone();
                    }
                }
                ("apply", self.store(merged))
            }
            Action::ApplyStatus { object } if !wrong(object) => {
                let mut merged = known?;
                if key.0 == "NodeNetworkState" {
                    if !self.apply_conditions(&key, &mut merged, object) {
                        return None;
                    }
                } else {
                    merged["status"] = object["status"].clone();
                }
                ("status", self.store(merged))
            }
            Action::Patch { patch } if !wrong(patch) => {
                let mut merged = known?;
                merge(&mut merged, patch);
                ("patch", self.store(merged))
            }
            Action::PatchTested { patch } => {
                let mut patched = known?;
                let patch: json_patch::Patch = serde_json::from_value(patch.clone()).unwrap();
                json_patch::patch(&mut patched, &patch).ok()?;
                ("patch", self.store(patched))
            }
            Action::Absent { uid } => match known {
                Some(known) if known["metadata"]["uid"] == **uid => return None,
                Some(known) => ("same", known),
                None => {
                    let objects = self.list(&key.0).into_iter().cloned().map(Arc::new).collect();
                    return Some(Change::Listed { kind: target.kind, objects });
                }
            },
            Action::Delete { uid, resource_version } => {
                let known = known?;
                if known["metadata"]["uid"] != **uid || known["metadata"]["resourceVersion"] != **resource_version {
                    return None;
                }
                self.objects.remove(&key);
                self.version += 1;
                self.writes.push(("delete", key.0, key.2));
                return Some(Change::Gone(Arc::new(known)));
            }
            Action::Apply { .. } | Action::ApplyStatus { .. } | Action::Patch { .. } => return None,
        };
        if verb != "same" {
            self.writes.push((verb, key.0, key.2));
        }
        Some(Change::Put(Arc::new(stored)))
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

/// A cluster with a controller.
pub(crate) struct Rig {
    pub(crate) api: Api,
    pub(crate) index: Index,
    pub(crate) controller: Controller,
    pub(crate) now: Timestamp,
    /// How many writes the controller may carry out before it is killed and another takes over.
    pub(crate) lives: Option<usize>,
    /// Nodes that cannot have an address of a host network.
    pub(crate) refusing: BTreeSet<String>,
    /// What such an address begins with.
    pub(crate) refused_address: Option<&'static str>,
    /// The size of packets that they cannot have on a link of theirs.
    pub(crate) refused_mtu: Option<u64>,
    /// What the server does for nobody.
    pub(crate) refuses: Option<fn(&Request) -> bool>,
    /// How often it has refused that.
    pub(crate) refused: usize,
}

impl Rig {
    pub(crate) fn new(nodes: usize) -> Self {
        let mut api = Api::default();
        for i in 0..nodes {
            let name = format!("n{i}");
            api.store(json!({
                "apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
                "status": {"conditions": [{"type": "Ready", "status": "True"}]},
            }));
            api.store(json!({
                "apiVersion": "nmstate.io/v1", "kind": "NodeNetworkState",
                "metadata": {"namespace": "default", "name": name},
                "spec": {"managed": true, "nodeName": name},
                "status": {"currentState": {"interfaces": [{"name": "eth1", "type": "ethernet", "state": "up"}]}},
            }));
        }
        let now = "2030-01-01T00:00:00Z".parse().unwrap();
        let (index, controller, refusing) = (Index::default(), Controller::default(), BTreeSet::new());
        let mut rig = Self {
            api,
            index,
            controller,
            now,
            lives: None,
            refusing,
            refused_address: None,
            refused_mtu: None,
            refuses: None,
            refused: 0,
        };
        rig.restart();
        rig
    }

    /// Another controller takes over, with nothing but what the server has.
    pub(crate) fn restart(&mut self) {
        self.index = Index::default();
        self.controller = Controller::new(Settings::default());
        for kind in Kinds::built_in().all() {
            let objects = self.api.list(kind.kind).into_iter().cloned().map(Arc::new).collect();
            self.index.take(self.now, Change::Listed { kind: *kind, objects });
        }
    }

    /// Somebody writes an object.
    pub(crate) fn write(&mut self, object: Value) {
        let stored = self.api.store(object);
        self.index.take(self.now, Change::Put(Arc::new(stored)));
    }

    pub(crate) fn remove(&mut self, kind: GroupKind<'static>, name: &str) {
        let (key, object) = self.api.objects.iter().find(|(key, _)| key.0 == kind.kind && key.2 == name).unwrap();
        let (key, object) = (key.clone(), object.clone());
        self.api.objects.remove(&key);
        self.index.take(self.now, Change::Gone(Arc::new(object)));
    }

    pub(crate) fn policy(&mut self, name: &str, mtu: u32) {
        self.write(json!({
            "apiVersion": "nmstate.io/v1", "kind": "NodeNetConfPolicy",
            "metadata": {"namespace": "default", "name": name},
            "spec": {
                "matchRules": [{"name": "eth1"}],
                "desiredState": {"interfaces": [{"name": "eth1", "type": "ethernet", "state": "up", "mtu": mtu}]},
            },
        }));
    }

    pub(crate) fn turn(&mut self) -> ControllerActions {
        let until = self.now.checked_add(SignedDuration::from_secs(15)).unwrap();
        self.controller.decide(self.now, &self.index, Leadership::Leading { until })
    }

    /// Carries a turn out; false when the controller was killed on the way.
    pub(crate) fn carry_out(&mut self, turn: &ControllerActions) -> bool {
        for chain in &turn.chains {
            let mut broken = false;
            for request in &chain.0 {
                if broken {
                    self.controller.answered(self.now, request.id, &Answer::Skipped);
                    continue;
                }
                if self.lives == Some(0) {
                    self.lives = None;
                    self.restart();
                    return false;
                }
                let refused = self.refuses.is_some_and(|refuses| refuses(request));
                self.refused += usize::from(refused);
                let writes = self.api.writes.len();
                let done = if refused { None } else { self.api.perform(request) };
                // An event that is there already is no write to die after.
                self.lives = self.lives.map(|lives| lives - usize::from(self.api.writes.len() > writes));
                broken = done.is_none();
                let answer = if broken { Answer::Refused } else { Answer::Done };
                if let Some(change) = done {
                    self.index.take(self.now, change);
                }
                self.controller.answered(self.now, request.id, &answer);
            }
        }
        true
    }

    /// Agents do what they were assigned, once both of their objects belong together.
    fn agents(&mut self) -> bool {
        let mut acted = false;
        let configs: Vec<Value> = self.api.list("NodeNetworkConfig").into_iter().cloned().collect();
        for mut config in configs {
            let node = config["metadata"]["name"].as_str().unwrap().to_owned();
            let generation = config["metadata"]["generation"].clone();
            let state = self.api.get("NodeNetworkState", &node).unwrap();
            let digest = state["metadata"]["annotations"]["netloom.dev/digest"].as_str();
            let paired = digest.is_some() && digest == config["spec"]["stateDigest"].as_str();
            if config["status"]["observedGeneration"] == generation || !paired {
                continue;
            }
            let addresses = config.pointer("/spec/host/addresses").and_then(Value::as_array);
            let begin = self.refused_address.unwrap_or_default();
            let refused = addresses
                .into_iter()
                .flatten()
                .any(|entry| entry["address"].as_str().unwrap_or_default().starts_with(begin));
            let links = config.pointer("/spec/host/links").and_then(Value::as_array);
            let too_large = self.refused_mtu.is_some()
                && links.into_iter().flatten().any(|link| link["mtu"].as_u64() == self.refused_mtu);
            let bad = mtu(state) == Some(9999) || ((refused || too_large) && self.refusing.contains(&node));
            let leases = config["status"]["leases"].clone();
            // What could not be done was taken back.
            let in_place =
                if bad { config["status"]["inPlaceRevision"].clone() } else { config["spec"]["revision"].clone() };
            config["status"] = json!({
                "configStatus": if bad { "invalid" } else { "provisioned" },
                "errorMessage": if bad { "eth1: the driver takes at most 9000" } else { "" },
                "lastAppliedRevision": config["spec"]["revision"],
                "observedGeneration": generation,
            });
            for (name, value) in [("leases", leases), ("inPlaceRevision", in_place)] {
                if !value.is_null() {
                    config["status"][name] = value;
                }
            }
            self.write(config);
            acted = true;
        }
        acted
    }

    /// Whether nothing is waited for then but another attempt at what failed.
    fn is_retry(&self, moment: Timestamp) -> bool {
        let sequence = |revision: &&Value| {
            let number = revision["metadata"]["annotations"]["netloom.dev/sequence"].as_str();
            number.and_then(|number| number.parse::<u64>().ok())
        };
        let newest = self.api.list("NetworkConfigRevision").into_iter().max_by_key(sequence);
        let next = newest.and_then(|revision| revision["status"]["nextAttemptAt"].as_str()?.parse::<Timestamp>().ok());
        next == Some(moment)
    }

    /// Until nobody has anything to do but to try again what failed.
    pub(crate) fn run(&mut self) {
        for _ in 0..2000 {
            let turn = self.turn();
            if !turn.chains.is_empty() {
                self.carry_out(&turn);
            } else if !self.agents() {
                let Some(wake_at) = turn.wake_at.filter(|at| !self.is_retry(*at)) else { return };
                assert!(wake_at > self.now, "a wake-up in the past");
                self.now = wake_at;
            }
        }
        panic!("it never ends: {:?}", self.turn());
    }

    /// For some time, whether there is something to do or not.
    pub(crate) fn run_for(&mut self, time: SignedDuration) {
        let end = self.now.checked_add(time).unwrap();
        for _ in 0..2000 {
            let turn = self.turn();
            if turn.chains.is_empty() && turn.wake_at.is_none_or(|at| at > end) && !self.agents() {
                self.now = end;
                return;
            }
            assert!(turn.wake_at.is_none_or(|at| at > self.now), "a wake-up in the past");
            self.step(&turn);
        }
        panic!("it never ends: {:?}", self.turn());
    }

    /// One round of [`Rig::run`].
    pub(crate) fn step(&mut self, turn: &ControllerActions) {
        if !turn.chains.is_empty() {
            self.carry_out(turn);
        } else if !self.agents()
            && let Some(wake_at) = turn.wake_at
        {
            self.now = wake_at;
        }
    }

    /// Until the controller is killed.
    pub(crate) fn run_until_killed(&mut self) {
        while self.lives.is_some() {
            let turn = self.turn();
            self.step(&turn);
        }
    }

    /// The desired state that stands on each node.
    pub(crate) fn mtus(&self) -> Vec<Option<u64>> {
        self.api.list("NodeNetworkState").into_iter().map(mtu).collect()
    }
}

fn mtu(state: &Value) -> Option<u64> {
    state.pointer("/spec/desiredState/interfaces/0/mtu")?.as_u64()
}
