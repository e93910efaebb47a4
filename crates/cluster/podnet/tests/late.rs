//! Nodes and controllers whose watches lag, whose requests are done late, twice or never, and whose answers are lost: no
//! address is ever with two pods, and nothing stays when all pods are gone.

use std::{collections::BTreeMap, sync::Arc};

use netloom_api::podnet::{DANM_EP, DANM_NET, IP_BLOCK};
use netloom_cnispec::{Attached, Attachment, Config, PodArguments};
use netloom_ipam::Numbers;
use netloom_object::{Answer, Chain, Change, ObjectKey, ObjectRef, Request};
use netloom_podnet::{Blocks, Decision, Node, POD, Record};
use serde_json::{Value, json};

#[expect(unreachable_pub, dead_code, reason = "other tests use the rest of it")]
mod support;

use support::{Api, network, pod};

/// Numbers out of a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or_default() % bound.max(1)
    }
}

/// A request on its way: not done yet, or done and not answered yet.
enum Sent {
    Waits(Request),
    Done(Request, Answer, Option<Change>),
}

/// Who asks the API: what is heard of it, and what was asked.
struct Party<T> {
    mind: T,
    heard: usize,
    sent: Vec<Sent>,
}

impl<T> Party<T> {
    fn new(mind: T, heard: usize) -> Self {
        Self { mind, heard, sent: Vec::new() }
    }

    fn ask(&mut self, chains: Vec<Chain>) {
        self.sent.extend(chains.into_iter().flat_map(|chain| chain.0).map(Sent::Waits));
    }

    /// Something happens to one of the requests; what is answered comes back.
    fn go_on(&mut self, api: &mut Api, dice: &mut Dice) -> Option<(Request, Answer, Option<Change>)> {
        if self.sent.is_empty() {
            return None;
        }
        let at = dice.below(self.sent.len());
        match self.sent.swap_remove(at) {
            // Nobody hears of it again, done or not.
            Sent::Waits(request) if dice.below(10) == 0 => Some((request, Answer::Refused, None)),
            Sent::Waits(request) => {
                let (answer, change) = api.execute(&request);
                self.sent.push(Sent::Done(request, answer, change));
                None
            }
            Sent::Done(request, ..) if dice.below(8) == 0 => Some((request, Answer::Refused, None)),
            Sent::Done(request, answer, change) => Some((request, answer, change)),
        }
    }
}

/// What is planted, to see that it is found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Plant {
    Nothing,
    /// A controller that takes over does not read the blocks.
    NoReading,
}

struct World {
    api: Api,
    dice: Dice,
    plant: Plant,
    controllers: Vec<Party<Blocks>>,
    leader: usize,
    acquired: i64,
    nodes: BTreeMap<String, Party<Node>>,
    /// What is attached, by container.
    attached: BTreeMap<String, (String, Record)>,
    now: u64,
    made: usize,
    /// Requests of processes that have ended, which may still be done.
    orphaned: Vec<Request>,
    processes: usize,
}

/// What a node hears of.
fn concerns(change: &Change, node: &str) -> bool {
    let (Change::Put(object) | Change::Gone(object)) = change else { return true };
    ["/spec/nodeName", "/spec/node", "/spec/Host"]
        .iter()
        .any(|path| object.pointer(path).and_then(Value::as_str) == Some(node))
}

impl World {
    fn new(seed: u64, plant: Plant) -> Self {
        let mut api = Api::default();
        let options = json!({"host_device": "ens4", "cidr": "192.0.2.0/28"});
        api.put(DANM_NET, network(&options));
        let controllers = (0..2).map(|_| Party::new(Blocks::default(), 0)).collect();
        let mut world = Self {
            api,
            dice: Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
            plant,
            controllers,
            leader: 0,
            acquired: 1,
            nodes: BTreeMap::new(),
            attached: BTreeMap::new(),
            now: 0,
            made: 0,
            orphaned: Vec::new(),
            processes: 0,
        };
        for at in 0..2 {
            for kind in Blocks::kinds() {
                world.controllers[at].mind.take(&Change::Listed { kind, objects: Vec::new() });
            }
        }
        world.controllers[0].mind.read_anew(1, &[]);
        for name in ["node1", "node2", "node3"] {
            world.begin(name);
        }
        world
    }

    /// A node begins, with its records and a list of what there is.
    fn begin(&mut self, name: &str) {
        let own = self.attached.values().filter(|(node, _)| node == name);
        self.processes += 1;
        let session = format!("process {}", self.processes);
        let mut node = Node::new(name, &session, own.map(|(_, record)| record.clone()).collect());
        for kind in [POD, IP_BLOCK, DANM_EP] {
            let objects = self.api.list(kind).into_iter();
            let objects = objects.filter(|object| concerns(&Change::Put(Arc::clone(object)), name)).collect();
            node.take(&Change::Listed { kind, objects });
        }
        // What an earlier process has sent may still be done.
        for sent in self.nodes.remove(name).map(|before| before.sent).unwrap_or_default() {
            if let Sent::Waits(request) = sent {
                self.orphaned.push(request);
            }
        }
        let heard = self.api.log.len();
        let party = Party::new(node, heard);
        self.nodes.insert(name.to_owned(), party);
    }

    fn hear(&mut self, name: &str, most: usize) {
        let Some(party) = self.nodes.get_mut(name) else { return };
        let until = self.api.log.len().min(party.heard + most);
        for change in &self.api.log[party.heard..until] {
            if concerns(change, name) {
                party.mind.take(change);
            }
        }
        party.heard = until;
        for reference in party.mind.follows() {
            let network = self.api.list(reference.kind.group_kind());
            let network = network.into_iter().find(|object| object["metadata"]["name"] == reference.name.as_str());
            party.mind.network(&reference, network.as_deref());
        }
    }

    fn hear_controller(&mut self, at: usize, most: usize) {
        let party = &mut self.controllers[at];
        let until = self.api.log.len().min(party.heard + most);
        for change in &self.api.log[party.heard..until] {
            party.mind.take(change);
        }
        party.heard = until;
    }

    fn decide(&mut self) {
        let leader = &mut self.controllers[self.leader];
        if self.plant == Plant::NoReading || !leader.mind.must_read(self.acquired) {
            let chains = leader.mind.decide(self.now).0;
            leader.ask(chains);
        }
    }

    /// Another controller takes over. What the one before has not sent yet it does not send any more.
    fn change_leaders(&mut self) {
        for sent in &mut self.controllers[self.leader].sent {
            if let Sent::Waits(request) = sent {
                *sent = Sent::Done(request.clone(), Answer::Refused, None);
            }
        }
        self.leader = 1 - self.leader;
        self.acquired += 1;
        if self.plant == Plant::Nothing {
            let blocks = self.api.list(IP_BLOCK);
            self.controllers[self.leader].mind.read_anew(self.acquired, &blocks);
        }
    }

    fn go_on(&mut self, name: Option<&str>) {
        match name.and_then(|name| self.nodes.get_mut(name)) {
            Some(party) => {
                if let Some((request, answer, change)) = party.go_on(&mut self.api, &mut self.dice) {
                    if let Some(change) = &change {
                        party.mind.take(change);
                    }
                    party.mind.answered(self.now, request.id, &answer);
                }
            }
            None => {
                for party in &mut self.controllers {
                    if let Some((request, answer, change)) = party.go_on(&mut self.api, &mut self.dice) {
                        if let Some(change) = &change {
                            party.mind.take(change);
                        }
                        party.mind.answered(self.now, request.id, &answer);
                    }
                }
            }
        }
    }

    fn new_pod(&mut self, node: &str) {
        if self.api.list(POD).len() < 16 {
            self.made += 1;
            let ip = match self.dice.below(4) {
                0 => format!("192.0.2.{}", 1 + self.dice.below(14)),
                _ => "dynamic".to_owned(),
            };
            let asks = format!(r#"[{{"network":"n1","ip":"{ip}"}}]"#);
            self.api.put(POD, pod(&format!("p{}", self.made), node, &asks));
        }
    }

    /// The runtime detaches a pod, and the pod goes, in either order.
    fn end_pod(&mut self) {
        let pods = self.api.list(POD);
        if pods.is_empty() {
            return;
        }
        let name = pods[self.dice.below(pods.len())]["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        if self.dice.below(3) == 0 {
            self.api.remove(&ObjectRef { kind: POD, key: ObjectKey::new("default", name.as_str()) });
            return;
        }
        self.detach(&name);
        self.api.remove(&ObjectRef { kind: POD, key: ObjectKey::new("default", name) });
    }

    fn detach(&mut self, container: &str) {
        if let Some((node, _)) = self.attached.remove(container)
            && let Some(party) = self.nodes.get_mut(&node)
        {
            party.mind.released(container);
        }
    }

    /// A container whose pod is gone is detached at last.
    fn detach_late(&mut self) {
        let pods = self.api.list(POD);
        let gone = |name: &&String| pods.iter().all(|pod| pod["metadata"]["name"] != name.as_str());
        if let Some(name) = self.attached.keys().find(gone).cloned() {
            self.detach(&name);
        }
    }

    fn attach(&mut self, node: &str) {
        let pods = self.api.list(POD);
        let own = |pod: &&Arc<Value>| {
            let name = pod["metadata"]["name"].as_str().unwrap_or_default();
            pod["spec"]["nodeName"] == node && !self.attached.contains_key(name)
        };
        let Some(pod) = pods.iter().find(own) else { return };
        let name = pod["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let attachment = Attachment {
            container: name.clone(),
            netns: Some(format!("/run/netns/{name}")),
            ifname: "eth0".to_owned(),
            pod: Ok(PodArguments { namespace: "default".to_owned(), name: name.clone(), uid: None }),
        };
        let config = Config::read(br#"{"cniVersion":"1.1.0","name":"netloom"}"#).expect("a configuration");
        let Some(party) = self.nodes.get_mut(node) else { return };
        if let Decision::Make(record) = party.mind.add(&attachment, &config) {
            let made = party.mind.made(&name, Attached::default()).cloned().expect("a record");
            let address = record.interfaces[0].ipv4.expect("an address");
            for (other, (_, known)) in &self.attached {
                assert_ne!(known.interfaces[0].ipv4, Some(address), "{name} on {node} has the address of {other}");
            }
            self.attached.insert(name, (node.to_owned(), made));
        }
    }

    /// No address is with two nodes, as the API has it.
    fn check(&self) {
        let read = |object: &Value, path: &str| {
            let texts = object.pointer(path).and_then(Value::as_array).cloned().unwrap_or_default();
            Numbers::of_addresses(texts.iter().filter_map(Value::as_str)).expect("ranges")
        };
        let mut all = Numbers::new();
        for block in self.api.list(IP_BLOCK) {
            let has = read(&block, "/status/ranges/ipv4").without(&read(&block, "/spec/returned/ipv4"));
            let node = &block["spec"]["node"];
            assert!(has.both(&all).is_empty(), "{has} of {node} is another node's too\n{}", self.history());
            all.add(&has);
        }
    }

    /// How the blocks came to be as they are.
    fn history(&self) -> String {
        let from = self.api.log.len().saturating_sub(60);
        let line = |change: &Change| {
            let (word, object) = match change {
                Change::Put(object) => ("", object),
                Change::Gone(object) => ("gone", object),
                Change::Listed { .. } => return None,
            };
            let (spec, metadata) = (&object["spec"], &object["metadata"]);
            let asked = [&spec["needed"], &spec["wanted"], &spec["asked"], &spec["returned"]].map(Value::to_string);
            let (version, session) = (&metadata["resourceVersion"], &metadata["annotations"]);
            let (node, asked, status) = (&spec["node"], asked.join(" "), &object["status"]);
            (object["kind"] == "IPBlock").then(|| format!("{version} {word} {node} {session} {asked} -> {status}"))
        };
        self.api.log[from..].iter().filter_map(line).collect::<Vec<_>>().join("\n")
    }

    fn step(&mut self) {
        self.now += 100;
        let name = ["node1", "node2", "node3"][self.dice.below(3)];
        match self.dice.below(41) {
            0 => self.new_pod(name),
            1 => self.end_pod(),
            2 => self.detach_late(),
            3 => {
                if self.dice.below(3) == 0 {
                    self.change_leaders();
                }
            }
            4 => {
                if self.dice.below(8) == 0 {
                    self.begin(name);
                }
            }
            5..=12 => self.attach(name),
            13..=18 => {
                let most = self.dice.below(6);
                self.hear(name, most);
            }
            19..=22 => {
                // One that does not lead may be far behind.
                let at = if self.dice.below(6) == 0 { 1 - self.leader } else { self.leader };
                let most = self.dice.below(8);
                self.hear_controller(at, most);
            }
            23..=26 => self.decide(),
            27..=31 => {
                if let Some(party) = self.nodes.get_mut(name) {
                    let chains = party.mind.requests(self.now).0;
                    party.ask(chains);
                }
            }
            32 => {
                if !self.orphaned.is_empty() {
                    let at = self.dice.below(self.orphaned.len());
                    let request = self.orphaned.swap_remove(at);
                    self.api.execute(&request);
                }
            }
            33..=36 => self.go_on(Some(name)),
            _ => self.go_on(None),
        }
        self.check();
    }

    /// All pods go and everybody hears everything: nothing is left.
    fn end(&mut self) {
        for pod in self.api.list(POD) {
            let name = pod["metadata"]["name"].as_str().unwrap_or_default();
            self.api.remove(&ObjectRef { kind: POD, key: ObjectKey::new("default", name) });
        }
        let containers: Vec<String> = self.attached.keys().cloned().collect();
        for container in containers {
            self.detach(&container);
        }
        for _ in 0..200 {
            self.now += 1000;
            for name in ["node1", "node2", "node3"] {
                self.hear(name, usize::MAX / 2);
                let Some(party) = self.nodes.get_mut(name) else { continue };
                let chains = party.mind.requests(self.now).0;
                party.ask(chains);
                self.go_on(Some(name));
                self.go_on(Some(name));
            }
            (0..2).for_each(|at| self.hear_controller(at, usize::MAX / 2));
            self.decide();
            self.go_on(None);
            self.go_on(None);
            self.check();
        }
        assert_eq!((self.api.list(DANM_EP).len(), self.api.list(IP_BLOCK).len()), (0, 0), "something stays");
    }
}

fn run(seed: u64, plant: Plant, steps: usize) -> usize {
    let mut world = World::new(seed, plant);
    for _ in 0..steps {
        world.step();
    }
    let made = world.made;
    world.end();
    made
}

#[test]
fn no_address_is_with_two_pods_however_late_everything_is() {
    let made: usize = (1..=20).map(|seed| run(seed, Plant::Nothing, 1500)).sum();
    assert!(made > 150, "{made} pods");
}

#[test]
fn a_controller_that_takes_over_without_reading_the_blocks_is_found() {
    let found = (1..=20).any(|seed| std::panic::catch_unwind(|| run(seed, Plant::NoReading, 1500)).is_err());
    assert!(found, "it gives addresses twice");
}
