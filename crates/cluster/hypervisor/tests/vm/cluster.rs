//! One machine, its instance, a migration and some nodes: what an API server, a controller and agents do to each other.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process,
    sync::mpsc::{Receiver, channel},
    time::{Duration, Instant},
};

use netloom_hypervisor::{Told, Word};
use netloom_machine::{
    control::{Ask, Deed, Kind, Libvirt, Node as Possible, Scene, decide},
    lane::Want,
};
use serde_json::{Value, json};

use crate::{
    guest::{Console, base},
    node::Node,
};

/// The longest that anything may take; an emulated guest on a busy machine is slow.
fn patience() -> Duration {
    let times = std::env::var("NETLOOM_PATIENCE").ok().and_then(|times| times.parse().ok());
    Duration::from_mins(1) * times.unwrap_or(1)
}

const NOW: &str = "2030-01-01T00:00:00Z";

pub(crate) struct Cluster {
    pub(crate) folder: PathBuf,
    pub(crate) nodes: Vec<Node>,
    told: Receiver<(usize, Told)>,
    ready: BTreeMap<usize, bool>,
    pub(crate) machine: Value,
    pub(crate) instance: Option<Value>,
    pub(crate) migration: Option<Value>,
    version: u64,
    /// How many writes there were, by kind and verb.
    pub(crate) writes: BTreeMap<&'static str, usize>,
    pub(crate) drifts: usize,
    pub(crate) console: Console,
}

/// A NIC: its name and its state.
pub(crate) fn nic(name: &str, state: &str) -> (Value, Value) {
    let mut nic = json!({"name": name, "bridge": {}});
    if !state.is_empty() {
        nic["state"] = state.into();
    }
    (nic, json!({"name": name, "multus": {"networkName": name}}))
}

impl Cluster {
    pub(crate) fn start(guest: &Path, name: &str, nodes: usize, nics: &[(Value, Value)]) -> Self {
        let folder = std::env::temp_dir().join(format!("netloom-vm-{}-{name}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        let console = Console(folder.join("console"));
        let (tell, told) = channel();
        let base = base(guest, &console.0);
        let all: Vec<Node> = (1..=nodes).map(|number| Node::start(number, &folder, &base, tell.clone())).collect();
        let interfaces: Vec<&Value> = nics.iter().map(|(nic, _)| nic).collect();
        let networks: Vec<&Value> = nics.iter().map(|(_, network)| network).collect();
        let machine = json!({
            "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
            "metadata": {"namespace": "default", "name": "a", "uid": "m-1", "resourceVersion": "1"},
            "spec": {"runStrategy": "Always", "template": {"spec": {
                "domain": {"devices": {"interfaces": interfaces}}, "networks": networks,
            }}},
        });
        let mut cluster = Self {
            folder,
            nodes: all,
            told,
            ready: BTreeMap::new(),
            machine,
            instance: None,
            migration: None,
            version: 1,
            writes: BTreeMap::new(),
            drifts: 0,
            console,
        };
        for node in &cluster.nodes {
            node.worker.say(Word::Listed(Vec::new()));
        }
        cluster.until("every daemon is there", |cluster| {
            (1..=nodes).all(|number| cluster.ready.get(&number).copied().unwrap_or_default())
        });
        cluster
    }

    /// Lets everything happen until something is so.
    #[expect(clippy::disallowed_methods, reason = "a limit for what must come")]
    pub(crate) fn until(&mut self, what: &str, is: impl Fn(&Self) -> bool) {
        let begun = Instant::now();
        loop {
            while self.decide() {}
            if is(self) {
                return;
            }
            assert!(begun.elapsed() < patience(), "not so in time: {what}\n{}", self.tell());
            if let Ok((number, told)) = self.told.recv_timeout(Duration::from_millis(20)) {
                self.take(number, told);
            }
        }
    }

    fn tell(&self) -> String {
        let logs: Vec<String> =
            self.nodes.iter().map(|node| fs::read_to_string(node.folder.join("log")).unwrap_or_default()).collect();
        format!(
            "instance {:#}\nmigration {:#}\nguest {:?}\nlogs {}",
            self.instance.clone().unwrap_or_default(),
            self.migration.clone().unwrap_or_default(),
            self.console.carriers(),
            logs.join("\n"),
        )
    }

    fn possible(&self) -> BTreeMap<String, Possible> {
        let node = |(number, node): (usize, &Node)| {
            let there = self.ready.get(&(number + 1)).copied().unwrap_or_default() && self.nodes.len() > number;
            let libvirt = Libvirt {
                migrate_in: Some(format!("qemu+unix:///system?socket={}/libvirt-sock", node.folder.display())),
                migrate_data: Some(format!("unix://{}/data", node.folder.display())),
            };
            (node.name.clone(), Possible { labels: BTreeMap::new(), libvirt: there.then_some(libvirt) })
        };
        self.nodes.iter().enumerate().map(node).collect()
    }

    /// What the controller does in one turn; whether it did anything.
    fn decide(&mut self) -> bool {
        let scene = Scene {
            machines: vec![&self.machine],
            instances: self.instance.iter().collect(),
            migrations: self.migration.iter().collect(),
            nodes: self.possible(),
            now: NOW.to_owned(),
        };
        let asks = decide(&scene);
        let any = !asks.is_empty();
        for ask in asks {
            self.carry_out(ask);
        }
        any
    }

    fn carry_out(&mut self, Ask { kind, deed, .. }: Ask) {
        self.version += 1;
        let version = self.version.to_string();
        let verb = match (kind, &deed) {
            (Kind::Instance, Deed::Patch(_)) => "instance patch",
            (Kind::Instance, _) => "instance other",
            (Kind::Machine, _) => "machine",
            (Kind::Migration, _) => "migration",
        };
        *self.writes.entry(verb).or_default() += 1;
        let object = match kind {
            Kind::Machine => Some(&mut self.machine),
            Kind::Instance => self.instance.as_mut(),
            Kind::Migration => self.migration.as_mut(),
        };
        match (deed, object) {
            (Deed::Create(mut created), _) => {
                created["metadata"]["uid"] = format!("i-{version}").into();
                self.instance = Some(created);
            }
            (Deed::Patch(patch), Some(object)) => json_patch(object, &patch),
            (Deed::Merge(patch), Some(object)) => merge(object, &patch),
            (Deed::Status(applied), Some(object)) => object["status"] = applied["status"].clone(),
            (Deed::Delete { .. }, Some(object)) => object["metadata"]["deletionTimestamp"] = NOW.into(),
            (_, None) => {}
        }
        if kind == Kind::Instance {
            self.published(&version);
        }
    }

    /// Every agent hears of what is its own.
    fn published(&mut self, version: &str) {
        let gone = self.instance.as_ref().is_some_and(|instance| {
            let held = instance["metadata"]["finalizers"].as_array().is_some_and(|all| !all.is_empty());
            instance["metadata"].get("deletionTimestamp").is_some() && !held
        });
        if gone {
            self.instance = None;
        }
        let key = ("default".to_owned(), "a".to_owned());
        if let Some(instance) = &mut self.instance {
            instance["metadata"]["resourceVersion"] = version.into();
        }
        for node in &self.nodes {
            let word = match &self.instance {
                Some(instance) if instance["status"]["nodeName"] == *node.name => Word::Put(instance.clone()),
                _ => Word::Gone(key.clone()),
            };
            node.worker.say(word);
        }
    }

    fn take(&mut self, number: usize, told: Told) {
        let worker = &self.nodes[number - 1].worker;
        match told {
            Told::Libvirt(state) => drop(self.ready.insert(number, state.is_ok())),
            Told::Want(Want::Look { key }) => worker.say(Word::Looked(key, self.instance.clone())),
            Told::Want(Want::Drift { .. }) => self.drifts += 1,
            Told::Want(Want::Move { .. }) => {}
            Told::Want(Want::Write { key, patch }) => {
                let current = self.instance.as_ref().map(|instance| &instance["metadata"]["resourceVersion"]);
                if current == Some(&patch["metadata"]["resourceVersion"]) {
                    *self.writes.entry("status").or_default() += 1;
                    self.version += 1;
                    let version = self.version.to_string();
                    merge(self.instance.as_mut().unwrap(), &patch);
                    self.published(&version);
                } else {
                    worker.say(Word::Refused(key));
                }
            }
        }
    }

    /// A person patches the machine.
    pub(crate) fn set(&mut self, name: &str, state: &str) {
        let nics = self.machine["spec"]["template"]["spec"]["domain"]["devices"]["interfaces"].as_array_mut().unwrap();
        let nic = nics.iter_mut().find(|nic| nic["name"] == name).unwrap();
        nic["state"] = state.into();
    }

    /// A person adds a NIC to the machine.
    pub(crate) fn plug(&mut self, (nic, network): (Value, Value)) {
        let spec = &mut self.machine["spec"]["template"]["spec"];
        spec["domain"]["devices"]["interfaces"].as_array_mut().unwrap().push(nic);
        spec["networks"].as_array_mut().unwrap().push(network);
    }

    pub(crate) fn migrate(&mut self, uid: &str) {
        self.migration = Some(json!({
            "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstanceMigration",
            "metadata": {"namespace": "default", "name": uid, "uid": uid, "resourceVersion": "1"},
            "spec": {"vmiName": "a"},
        }));
    }

    pub(crate) fn status(&self) -> &Value {
        self.instance.as_ref().map_or(&Value::Null, |instance| &instance["status"])
    }

    /// What is reported of the link of a NIC, and whether the guest sees a carrier there.
    pub(crate) fn link(&self, name: &str) -> Option<(String, bool)> {
        let entry = self.status()["interfaces"].as_array()?.iter().find(|entry| entry["name"] == name)?;
        let carrier = *self.console.carriers().get(entry["mac"].as_str()?)?;
        Some((entry["linkState"].as_str()?.to_owned(), carrier))
    }

    pub(crate) fn linked(&mut self, name: &str, state: &str) {
        let wanted = Some((state.to_owned(), state == "up"));
        self.until(&format!("{name} is {state}, in the status and in the guest"), |cluster| {
            cluster.link(name) == wanted
        });
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.nodes.clear();
        if !std::thread::panicking() {
            fs::remove_dir_all(&self.folder).ok();
        }
    }
}

fn merge(object: &mut Value, patch: &Value) {
    let Some(fields) = patch.as_object() else {
        *object = patch.clone();
        return;
    };
    if !object.is_object() {
        *object = json!({});
    }
    for (name, value) in fields {
        if value.is_null() {
            object.as_object_mut().unwrap().remove(name);
        } else {
            merge(&mut object[name.as_str()], value);
        }
    }
}

fn json_patch(object: &mut Value, patch: &Value) {
    for operation in patch.as_array().unwrap() {
        let (place, value) = (operation["path"].as_str().unwrap(), &operation["value"]);
        if operation["op"] == "test" {
            assert_eq!(object.pointer(place), Some(value), "nobody else writes here");
        } else {
            let (parent, field) = place.rsplit_once('/').unwrap();
            object.pointer_mut(parent).unwrap()[field] = value.clone();
        }
    }
}
