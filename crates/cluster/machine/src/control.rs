//! What the controller of a cluster asks for next about its virtual machines.
//!
//! A pure function of the objects and the nodes: nothing is remembered between two calls. Every write is tied to the
//! version that was read, so what was overtaken is refused and decided again.

mod again;
mod migration;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::{
    API_VERSION, FINALIZER, NODE_LABEL,
    json::{is_going, is_true, key, list, text},
    status::{has_ended, put},
    sync,
};

/// The kinds that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A machine.
    Machine,
    /// An instance.
    Instance,
    /// A migration.
    Migration,
}

impl Kind {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Machine => "VirtualMachine",
            Self::Instance => "VirtualMachineInstance",
            Self::Migration => "VirtualMachineInstanceMigration",
        }
    }
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Deed {
    /// Make it.
    Create(Value),
    /// Change it by a JSON patch whose tests must hold.
    Patch(Value),
    /// Change it by a merge patch.
    Merge(Value),
    /// Write its status, through the subresource, with this version.
    Status(Value),
    /// Delete it unless the machine that made it is there: it is not known of, which may be because it was not heard of yet.
    DeleteOrphan {
        /// The name of that machine, and its uid.
        machine: (String, String),
        /// Its uid.
        uid: String,
        /// Its version.
        resource_version: String,
    },
    /// Delete it.
    Delete {
        /// Its uid.
        uid: String,
        /// Its version.
        resource_version: String,
    },
}

/// One write.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// The kind of the object.
    pub kind: Kind,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// What is to be done.
    pub deed: Deed,
}

/// A node that could have machines.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Node {
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// What its agent says of libvirt there; none without one.
    pub libvirt: Option<Libvirt>,
}

/// What an agent says of libvirt on its node.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Libvirt {
    /// Where other daemons reach it for a migration; none where none may come.
    pub migrate_in: Option<String>,
    /// Where the memory goes.
    pub migrate_data: Option<String>,
}

/// What there is.
#[derive(Debug, Default)]
pub struct Scene<'a> {
    /// All machines.
    pub machines: Vec<&'a Value>,
    /// All instances.
    pub instances: Vec<&'a Value>,
    /// All migrations.
    pub migrations: Vec<&'a Value>,
    /// All nodes, by name.
    pub nodes: BTreeMap<String, Node>,
    /// The time, as objects have it.
    pub now: String,
}

type Key = (String, String);

/// What to ask for.
pub fn decide(scene: &Scene<'_>) -> Vec<Ask> {
    let mut turn = Turn { scene, asks: Vec::new(), load: load(scene), taken: BTreeSet::new() };
    let instances: BTreeMap<Key, &Value> = scene.instances.iter().map(|instance| (key(instance), *instance)).collect();
    for migration in &scene.migrations {
        turn.migration(migration, &instances);
    }
    for machine in &scene.machines {
        turn.machine(machine, instances.get(&key(machine)).copied());
    }
    for instance in &scene.instances {
        turn.instance(instance);
    }
    turn.asks
}

/// When to decide again though nothing happens: when an instance may be made again.
pub fn wake_at(scene: &Scene<'_>) -> Option<String> {
    let waiting = scene.machines.iter().filter(|machine| is_wanted(machine) && again::waits(machine, &scene.now));
    waiting.map(|machine| text(machine, again::AFTER).to_owned()).min()
}

/// How many instances each node has, or is about to have.
fn load(scene: &Scene<'_>) -> BTreeMap<String, usize> {
    let mut load = BTreeMap::new();
    for instance in scene.instances.iter().filter(|instance| !has_ended(instance)) {
        for node in [Some(text(instance, "/status/nodeName")), migration::leads_to(instance)].into_iter().flatten() {
            *load.entry(node.to_owned()).or_default() += 1;
        }
    }
    load
}

struct Turn<'a> {
    scene: &'a Scene<'a>,
    asks: Vec<Ask>,
    load: BTreeMap<String, usize>,
    /// Instances that are written in this turn: once is enough, the next turn sees what came of it.
    taken: BTreeSet<Key>,
}

impl Turn<'_> {
    fn ask(&mut self, kind: Kind, (namespace, name): Key, deed: Deed) {
        self.asks.push(Ask { kind, namespace, name, deed });
    }

    fn ask_instance(&mut self, instance: &Value, deed: Deed) {
        if self.taken.insert(key(instance)) {
            self.ask(Kind::Instance, key(instance), deed);
        }
    }

    fn machine(&mut self, machine: &Value, instance: Option<&Value>) {
        let wanted = is_wanted(machine);
        let uid = text(machine, "/metadata/uid");
        let own = instance.filter(|instance| owner(instance).is_some_and(|machine| text(machine, "/uid") == uid));
        match (instance, own) {
            (None, _) if wanted && !again::waits(machine, &self.scene.now) => {
                let created = instance_of(machine);
                self.taken.insert(key(machine));
                self.ask(Kind::Instance, key(machine), Deed::Create(created));
            }
            // That it ended is noted before it goes.
            (_, Some(own)) if !is_going(own) && wanted && has_ended(own) && !again::is_noted(machine, own) => {}
            (_, Some(own)) if !is_going(own) && (!wanted || has_ended(own)) => self.ask_instance(own, delete(own)),
            (_, Some(own)) if !is_going(own) => {
                if let Some(patch) = sync::to_instance(machine, own) {
                    self.ask_instance(own, Deed::Patch(patch));
                } else if let Some(patch) = sync::to_machine(machine, own) {
                    self.ask(Kind::Machine, key(machine), Deed::Patch(patch));
                    return;
                }
            }
            _ => {}
        }
        self.machine_status(machine, own);
    }

    fn machine_status(&mut self, machine: &Value, own: Option<&Value>) {
        let mut status = machine.get("status").cloned().filter(Value::is_object).unwrap_or_else(|| json!({}));
        status["created"] = own.is_some().into();
        status["ready"] = own.is_some_and(|own| text(own, "/status/phase") == "Running" && !is_going(own)).into();
        again::note(machine, own, &mut status, (is_wanted(machine), &self.scene.now));
        let mut conditions = list(machine, "/status/conditions").to_vec();
        let lives = own.filter(|own| !is_going(own) && !has_ended(own));
        let waiting = lives.map(|own| sync::needs_restart(machine, own)).unwrap_or_default();
        if waiting.is_empty() {
            conditions.retain(|condition| text(condition, "/type") != "RestartRequired");
        } else {
            let message = format!("reaches the machine when it is started again: {}", waiting.join(", "));
            put(&mut conditions, "RestartRequired", "True", "RestartRequired", &message, &self.scene.now);
        }
        if conditions.is_empty() {
            drop(status.as_object_mut().map(|fields| fields.remove("conditions")));
        } else {
            status["conditions"] = conditions.into();
        }
        if machine.get("status") != Some(&status) {
            self.ask(Kind::Machine, key(machine), Deed::Status(with_status(machine, Kind::Machine, &status)));
        }
    }

    fn instance(&mut self, instance: &Value) {
        let node = migration::arrived(instance).unwrap_or_else(|| text(instance, "/status/nodeName"));
        let lost = !node.is_empty() && !self.scene.nodes.contains_key(node);
        if is_going(instance) && is_held(instance) && (node.is_empty() || lost || has_ended(instance)) {
            return self.ask_instance(instance, release(instance));
        }
        let is_known = |uid: &str| self.scene.machines.iter().any(|machine| text(machine, "/metadata/uid") == uid);
        if !is_going(instance)
            && let Some(machine) = owner(instance).filter(|machine| !is_known(text(machine, "/uid")))
        {
            let text = |pointer| text(instance, pointer).to_owned();
            let deed = Deed::DeleteOrphan {
                machine: (
                    crate::json::text(machine, "/name").to_owned(),
                    crate::json::text(machine, "/uid").to_owned(),
                ),
                uid: text("/metadata/uid"),
                resource_version: text("/metadata/resourceVersion"),
            };
            return self.ask_instance(instance, deed);
        }
        if !node.is_empty()
            && let Some(patch) = settled(instance, node)
        {
            return self.ask_instance(instance, Deed::Merge(patch));
        }
        if is_going(instance) || has_ended(instance) {
            return;
        }
        if lost {
            let why = format!("node {node} is gone");
            return self.fail(instance, &why);
        }
        if node.is_empty() {
            self.place(instance);
        }
    }

    fn fail(&mut self, instance: &Value, why: &str) {
        let mut conditions = list(instance, "/status/conditions").to_vec();
        put(&mut conditions, crate::status::SYNCHRONIZED, "False", "NodeGone", why, &self.scene.now);
        let patch = json!({
            "metadata": {"resourceVersion": text(instance, "/metadata/resourceVersion")},
            "status": {"phase": "Failed", "conditions": conditions},
        });
        self.ask_instance(instance, Deed::Merge(patch));
    }

    fn place(&mut self, instance: &Value) {
        let version = text(instance, "/metadata/resourceVersion");
        let Some(node) = self.choose(instance, |_, _| true) else {
            let mut conditions = list(instance, "/status/conditions").to_vec();
            let why = "no node has the labels that it asks for and an agent with libvirt";
            put(&mut conditions, "Scheduled", "False", "Unschedulable", why, &self.scene.now);
            if list(instance, "/status/conditions") != conditions {
                let status = json!({"phase": "Pending", "conditions": conditions});
                let patch = json!({"metadata": {"resourceVersion": version}, "status": status});
                self.ask_instance(instance, Deed::Merge(patch));
            }
            return;
        };
        *self.load.entry(node.clone()).or_default() += 1;
        let mut conditions = list(instance, "/status/conditions").to_vec();
        conditions.retain(|condition| text(condition, "/type") != "Scheduled");
        let mut status = json!({"nodeName": node, "phase": "Scheduled"});
        if list(instance, "/status/conditions") != conditions {
            status["conditions"] = conditions.into();
        }
        let patch = json!({
            "metadata": {"resourceVersion": version, "labels": {NODE_LABEL: node}, "finalizers": held(instance)},
            "status": status,
        });
        self.ask_instance(instance, Deed::Merge(patch));
    }

    /// The node with fewest instances, then the first by name, of those that may have it.
    fn choose(&self, instance: &Value, may: impl Fn(&str, &Libvirt) -> bool) -> Option<String> {
        let asked = instance.pointer("/spec/nodeSelector").and_then(Value::as_object);
        let matches = |node: &Node| {
            let mut asked = asked.into_iter().flatten();
            asked.all(|(key, value)| node.labels.get(key).map(String::as_str) == value.as_str())
        };
        let fits =
            self.scene.nodes.iter().filter(|(name, node)| {
                matches(node) && node.libvirt.as_ref().is_some_and(|libvirt| may(name, libvirt))
            });
        fits.map(|(name, _)| (self.load.get(name).copied().unwrap_or_default(), name))
            .min()
            .map(|(_, name)| name.clone())
    }
}

/// Whether a machine is to run.
fn is_wanted(machine: &Value) -> bool {
    let strategy = text(machine, "/spec/runStrategy");
    !is_going(machine) && (strategy == "Always" || strategy.is_empty() && is_true(machine, "/spec/running"))
}

/// The reference to the machine that made an instance.
fn owner(instance: &Value) -> Option<&Value> {
    let mut owners = list(instance, "/metadata/ownerReferences").iter();
    owners.find(|owner| {
        text(owner, "/kind") == Kind::Machine.as_str() && text(owner, "/apiVersion").starts_with("kubevirt.io/")
    })
}

/// The patch by which an instance says that it is at this node and is found by its agent, and held for it; none where it
/// says so.
fn settled(instance: &Value, node: &str) -> Option<Value> {
    let mut patch = json!({"metadata": {"resourceVersion": text(instance, "/metadata/resourceVersion")}});
    let before = patch.clone();
    if text(instance, "/status/nodeName") != node {
        patch["status"] = json!({"nodeName": node});
    }
    let label = instance.pointer("/metadata/labels").and_then(|labels| labels.get(NODE_LABEL));
    if label.and_then(Value::as_str) != Some(node) {
        patch["metadata"]["labels"] = json!({NODE_LABEL: node});
    }
    // Nothing can be held any more that is on its way out.
    if !is_held(instance) && !is_going(instance) && !has_ended(instance) {
        patch["metadata"]["finalizers"] = held(instance);
    }
    (patch != before).then_some(patch)
}

/// The finalizers of an instance with ours.
fn held(instance: &Value) -> Value {
    let others = list(instance, "/metadata/finalizers").iter().filter(|finalizer| *finalizer != FINALIZER);
    others.cloned().chain([FINALIZER.into()]).collect()
}

fn is_held(instance: &Value) -> bool {
    list(instance, "/metadata/finalizers").iter().any(|finalizer| finalizer == FINALIZER)
}

fn delete(object: &Value) -> Deed {
    let text = |pointer| text(object, pointer).to_owned();
    Deed::Delete { uid: text("/metadata/uid"), resource_version: text("/metadata/resourceVersion") }
}

fn release(instance: &Value) -> Deed {
    let all = list(instance, "/metadata/finalizers").iter();
    let rest: Vec<&Value> = all.filter(|finalizer| *finalizer != FINALIZER).collect();
    let version = text(instance, "/metadata/resourceVersion");
    Deed::Merge(json!({"metadata": {"resourceVersion": version, "finalizers": rest}}))
}

/// The object of a status, as it is applied.
fn with_status(object: &Value, kind: Kind, status: &Value) -> Value {
    let (namespace, name) = key(object);
    json!({
        "apiVersion": API_VERSION, "kind": kind.as_str(), "status": status,
        "metadata": {
            "namespace": namespace, "name": name, "resourceVersion": text(object, "/metadata/resourceVersion"),
        },
    })
}

/// The instance that a machine asks for.
fn instance_of(machine: &Value) -> Value {
    let (namespace, name) = key(machine);
    let template = machine.pointer("/spec/template").cloned().unwrap_or_default();
    let mut annotations = template.pointer("/metadata/annotations").cloned().unwrap_or_else(|| json!({}));
    if let (Some(base), Some(annotations)) = (sync::base_of(machine), annotations.as_object_mut()) {
        annotations.insert(crate::BASE_ANNOTATION.to_owned(), base.clone());
    }
    json!({
        "apiVersion": API_VERSION,
        "kind": Kind::Instance.as_str(),
        "metadata": {
            "namespace": namespace,
            "name": name,
            "labels": template.pointer("/metadata/labels").cloned().unwrap_or_else(|| json!({})),
            "annotations": annotations,
            "finalizers": [FINALIZER],
            "ownerReferences": [{
                "apiVersion": API_VERSION, "kind": Kind::Machine.as_str(), "name": text(machine, "/metadata/name"),
                "uid": text(machine, "/metadata/uid"), "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "spec": template.get("spec").cloned().unwrap_or_else(|| json!({})),
    })
}
