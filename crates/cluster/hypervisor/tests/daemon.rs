//! The lane of a node with a daemon in memory at a real socket, an API in memory and the controller's decisions: how much is
//! asked of whom, and what a daemon that misbehaves costs.
#![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    sync::mpsc::{Receiver, channel},
    time::Duration,
};

use netloom_hypervisor::{Options, Told, Word, Worker};
use netloom_libvirt::procedure;
use netloom_libvirt_fake::{Call, Daemon, Fault};
use netloom_machine::{
    FINALIZER, NODE_LABEL,
    control::{Deed, Kind, Node, Scene, decide},
    domain::Plugins,
    lane::Want,
};
use netloom_patch::{json_patch, merge_patch};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_mins(1);
/// Long enough that it does not happen in a test.
const NEVER: Duration = Duration::from_hours(1);
const BASE: &str = "<domain type='qemu'><memory unit='MiB'>64</memory><devices/></domain>";
const NICS: [&str; 3] = ["blue", "green", "red"];

struct Rig {
    folder: PathBuf,
    daemon: Daemon,
    worker: Worker,
    told: Receiver<Told>,
    /// The instances, by name.
    objects: BTreeMap<String, Value>,
    version: u64,
    /// The writes that the agent asked for, by instance.
    writes: Vec<String>,
    drifts: Vec<Vec<String>>,
    libvirt: Option<Result<(), String>>,
}

fn spec(states: &[&str]) -> Value {
    let nics = NICS.iter().zip(states);
    let interfaces: Vec<Value> =
        nics.clone().map(|(name, state)| json!({"name": name, "bridge": {}, "state": state})).collect();
    let networks: Vec<Value> = nics.map(|(name, _)| json!({"name": name, "multus": {"networkName": name}})).collect();
    json!({"domain": {"devices": {"interfaces": interfaces}}, "networks": networks})
}

fn instance(name: &str) -> Value {
    json!({
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
        "metadata": {
            "namespace": "default", "name": name, "uid": format!("i-{name}"), "resourceVersion": "1",
            "labels": {NODE_LABEL: "n1"}, "finalizers": [FINALIZER],
            "ownerReferences": [{"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "uid": format!("m-{name}")}],
        },
        "spec": spec(&["up", "up", "up"]), "status": {"nodeName": "n1", "phase": "Scheduled"},
    })
}

impl Rig {
    fn start(name: &str, poll: Duration, names: &[&str]) -> Self {
        let folder = std::env::temp_dir().join(format!("netloom-daemon-{name}-{}", std::process::id()));
        fs::remove_dir_all(&folder).ok();
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("default.xml"), BASE).unwrap();
        let socket = folder.join("sock");
        let daemon = Daemon::start(&socket).unwrap();
        let (tell, told) = channel();
        let options = Options {
            node: "n1".to_owned(),
            socket,
            domains: folder.clone(),
            plugins: Plugins::new(),
            poll,
            clock: || "2030-01-01T00:00:00Z".to_owned(),
        };
        let worker = Worker::start(options, move |said| drop(tell.send(said))).unwrap();
        let objects: BTreeMap<String, Value> = names.iter().map(|name| ((*name).to_owned(), instance(name))).collect();
        worker.say(Word::Listed(objects.values().cloned().collect()));
        let (writes, drifts) = (Vec::new(), Vec::new());
        Self { folder, daemon, worker, told, objects, version: 1, writes, drifts, libvirt: None }
    }

    /// Carries out what the agent wants until something is so.
    fn until(&mut self, what: &str, is: impl Fn(&Self) -> bool) {
        while !is(self) {
            let told = self.told.recv_timeout(PATIENCE);
            match told.unwrap_or_else(|_| panic!("not so in time: {what}; {:?}", self.objects)) {
                Told::Want(Want::Write { key, patch }) => self.write(&key.1, &patch),
                Told::Want(Want::Drift { nics, .. }) => self.drifts.push(nics),
                Told::Want(_) => {}
                Told::Libvirt(state) => self.libvirt = Some(state),
            }
        }
    }

    fn write(&mut self, name: &str, patch: &Value) {
        self.writes.push(name.to_owned());
        let written = merge_patch(&self.objects[name], patch).unwrap();
        self.put(name, written);
    }

    fn put(&mut self, name: &str, mut object: Value) {
        self.version += 1;
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        self.objects.insert(name.to_owned(), object.clone());
        self.worker.say(Word::Put(object));
    }

    fn links(&self, name: &str) -> Vec<&str> {
        let all = self.objects[name]["status"]["interfaces"].as_array().map(Vec::as_slice).unwrap_or_default();
        all.iter().map(|entry| entry["linkState"].as_str().unwrap_or("-")).collect()
    }

    fn linked(&mut self, name: &str, links: [&str; 3]) {
        self.until(&format!("{name} has {links:?}"), |rig| rig.links(name) == links);
    }

    /// The machine of an instance asks for these links; what the controller does about that, until it asks for nothing.
    fn machine_patched(&mut self, name: &str, states: [&str; 3]) -> Vec<(Kind, Deed)> {
        let machine = json!({
            "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
            "metadata": {"namespace": "default", "name": name, "uid": format!("m-{name}"), "resourceVersion": "1"},
            "spec": {"runStrategy": "Always", "template": {"spec": spec(&states)}},
            "status": {"created": true, "ready": true},
        });
        let mut done = Vec::new();
        loop {
            let (nodes, now) = (BTreeMap::from([("n1".to_owned(), Node::default())]), String::new());
            let (machines, instances) = (vec![&machine], vec![&self.objects[name]]);
            let asks = decide(&Scene { machines, instances, migrations: Vec::new(), nodes, now });
            if asks.is_empty() {
                return done;
            }
            for ask in asks {
                if let (Kind::Instance, Deed::Patch(patch)) = (ask.kind, &ask.deed) {
                    let patched = json_patch(&self.objects[name], patch).unwrap();
                    self.put(name, patched);
                }
                done.push((ask.kind, ask.deed));
            }
            assert!(done.len() < 10, "it never rests: {done:?}");
        }
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.folder).ok();
    }
}

fn count(calls: &[Call], procedure: u32) -> usize {
    calls.iter().filter(|call| call.procedure == procedure).count()
}

#[test]
fn a_patch_of_n_nics_is_one_patch_of_the_instance_n_updates_and_one_status() {
    let mut rig = Rig::start("counts", NEVER, &["a"]);
    rig.linked("a", ["up", "up", "up"]);
    for (states, changed) in [(["down", "up", "up"], 1), (["up", "down", "up"], 2), (["down", "up", "down"], 3)] {
        rig.daemon.take_calls();
        rig.writes.clear();
        let done = rig.machine_patched("a", states);
        assert!(matches!(&done[..], [(Kind::Instance, Deed::Patch(_))]), "{done:?}");
        rig.linked("a", states);
        // What is asked for next is done after everything that this has led to.
        let calls = rig.daemon.take_calls();
        assert_eq!(count(&calls, procedure::DOMAIN_UPDATE_DEVICE_FLAGS), changed, "{calls:?}");
        assert_eq!(rig.writes, ["a"]);
        let done = rig.machine_patched("a", states);
        assert_eq!(done, [], "the controller has nothing to write either");
    }
    rig.writes.clear();
    rig.machine_patched("a", ["up", "up", "up"]);
    rig.linked("a", ["up", "up", "up"]);
    assert_eq!(rig.writes, ["a"], "nothing was left over from before");
}

#[test]
fn a_poll_without_a_change_is_a_call_for_each_domain_and_one_more_and_no_write() {
    let names = ["a", "b", "c", "d", "e"];
    let mut rig = Rig::start("poll", Duration::from_millis(200), &names);
    for name in names {
        rig.linked(name, ["up", "up", "up"]);
    }
    let lists = |calls: &[Call]| count(calls, procedure::CONNECT_LIST_ALL_DOMAINS);
    // What follows from the last write may still be under way.
    rig.daemon.take_calls();
    assert!(rig.daemon.wait(PATIENCE, |calls| lists(calls) == 2));
    rig.writes.clear();
    rig.daemon.take_calls();
    assert!(rig.daemon.wait(PATIENCE, |calls| lists(calls) == 6));
    let calls = rig.daemon.take_calls();
    let first = calls.iter().position(|call| call.procedure == procedure::CONNECT_LIST_ALL_DOMAINS).unwrap();
    let last = calls.iter().rposition(|call| call.procedure == procedure::CONNECT_LIST_ALL_DOMAINS).unwrap();
    let (polls, calls) = (lists(&calls[first..last]), &calls[first..last]);
    assert!(calls.len() <= polls * (names.len() + 1), "{polls} polls: {calls:?}");
    assert_eq!(count(calls, procedure::DOMAIN_UPDATE_DEVICE_FLAGS), 0);
    let is_write = |told: Told| matches!(told, Told::Want(Want::Write { .. } | Want::Drift { .. }));
    assert!(!rig.told.try_iter().any(is_write));
}

#[test]
fn what_somebody_else_did_to_a_link_is_found_by_an_event_and_by_the_poll_put_right_and_told() {
    for (name, poll) in [("event", NEVER), ("polled", Duration::from_millis(200))] {
        let mut rig = Rig::start(name, poll, &["a"]);
        rig.linked("a", ["up", "up", "up"]);
        rig.machine_patched("a", ["down", "up", "up"]);
        rig.linked("a", ["down", "up", "up"]);
        rig.daemon.take_calls();
        rig.daemon.change("default_a", |text| text.replace("<link state='down'/>", ""));
        if poll == NEVER {
            rig.daemon.tell("default_a");
        }
        rig.until("it is told", |rig| rig.drifts == [["blue"]]);
        assert!(rig.daemon.wait(PATIENCE, |calls| count(calls, procedure::DOMAIN_UPDATE_DEVICE_FLAGS) == 1), "{name}");
        assert!(rig.daemon.text("default_a").unwrap().contains("<link state='down'/>"), "{name}");
    }
}

#[test]
fn a_restarted_agent_takes_domains_up_without_changing_them() {
    let mut rig = Rig::start("restart", NEVER, &["a", "b"]);
    for name in ["a", "b"] {
        rig.linked(name, ["up", "up", "up"]);
    }
    rig.daemon.take_calls();
    rig.daemon.break_by(|_| Some(Fault::Gone));
    rig.daemon.tell("default_a");
    rig.until("it is told that nobody answers", |rig| matches!(rig.libvirt, Some(Err(_))));
    rig.daemon.mend();
    rig.until("it answers again", |rig| rig.libvirt == Some(Ok(())));
    let all_read = |calls: &[Call]| {
        let after = calls.iter().rposition(|call| call.procedure == procedure::CONNECT_LIST_ALL_DOMAINS);
        after.is_some_and(|at| count(&calls[at..], procedure::DOMAIN_GET_XML_DESC) == 2)
    };
    assert!(rig.daemon.wait(PATIENCE, all_read));
    let reads = [
        procedure::AUTH_LIST,
        procedure::CONNECT_OPEN,
        procedure::CONNECT_CLOSE,
        procedure::CONNECT_DOMAIN_EVENT_CALLBACK_REGISTER_ANY,
        procedure::CONNECT_LIST_ALL_DOMAINS,
        procedure::DOMAIN_LOOKUP_BY_NAME,
        procedure::DOMAIN_GET_XML_DESC,
        procedure::DOMAIN_GET_STATE,
    ];
    let calls = rig.daemon.take_calls();
    assert!(calls.iter().all(|call| reads.contains(&call.procedure)), "{calls:?}");
}

/// A daemon that is not what it should be is told as what it is, and everything goes on once it answers again.
#[test]
fn a_daemon_that_goes_or_talks_nonsense_in_a_call_is_told_and_heals() {
    for (name, fault, says) in [("gone", Fault::Gone, "went away"), ("nonsense", Fault::Nonsense, "sent nonsense")] {
        let mut rig = Rig::start(name, NEVER, &["a", "b"]);
        for name in ["a", "b"] {
            rig.linked(name, ["up", "up", "up"]);
        }
        let met = move |call: &Call| (call.procedure == procedure::DOMAIN_UPDATE_DEVICE_FLAGS).then_some(fault);
        rig.daemon.break_by(met);
        rig.machine_patched("a", ["down", "up", "up"]);
        rig.until("it is told", |rig| matches!(&rig.libvirt, Some(Err(why)) if why.contains(says)));
        rig.daemon.mend();
        rig.linked("a", ["down", "up", "up"]);
        rig.machine_patched("b", ["up", "down", "up"]);
        rig.linked("b", ["up", "down", "up"]);
        assert_eq!(rig.daemon.running(), ["default_a", "default_b"]);
    }
}

/// A daemon that says nothing about one domain: the other one does not wait for longer than that one call.
#[test]
fn a_daemon_that_is_silent_about_one_domain_is_told_and_the_other_domain_gets_its_links() {
    let mut rig = Rig::start("silent", NEVER, &["a", "b"]);
    for name in ["a", "b"] {
        rig.linked(name, ["up", "up", "up"]);
    }
    let met = |call: &Call| {
        (call.procedure == procedure::DOMAIN_GET_XML_DESC && call.domain == "default_a").then_some(Fault::Silence)
    };
    rig.daemon.break_by(met);
    rig.machine_patched("a", ["down", "up", "up"]);
    rig.until("it is told", |rig| matches!(&rig.libvirt, Some(Err(why)) if why.contains("did not answer within 10 s")));
    rig.machine_patched("b", ["up", "down", "up"]);
    rig.linked("b", ["up", "down", "up"]);
    assert_eq!(rig.links("a"), ["up", "up", "up"], "what was known of it stays");
    rig.daemon.mend();
    rig.linked("a", ["down", "up", "up"]);
}
