//! Nodes and the controller with an API between them that is a map: what pods get, what is refused, and that nothing
//! stays.

use std::{collections::BTreeMap, sync::Arc};

use netloom_api::podnet::{DANM_EP, DANM_NET, IP_BLOCK, NetworkRef};
use netloom_cnispec::{Attached, Attachment, Code, Config, PodArguments};
use netloom_object::{Change, GroupKind};
use netloom_podnet::{Blocks, Decision, Node, POD, Record, State, Waiting, endpoint_id};
use serde_json::{Value, json};

#[expect(unreachable_pub, reason = "a module of each test that uses it")]
mod support;

use support::{Api, network, pod};

struct Cluster {
    api: Api,
    controller: Blocks,
    nodes: BTreeMap<String, Node>,
    now: u64,
}

const DYNAMIC: &str = r#"[{"network":"n1","ip":"dynamic"}]"#;

impl Cluster {
    fn new(nodes: &[&str]) -> Self {
        let nodes = nodes.iter().map(|name| ((*name).to_owned(), Node::new(name, "s1", Vec::new()))).collect();
        Self { api: Api::default(), controller: Blocks::default(), nodes, now: 0 }
    }

    /// Everybody hears everything and asks, until nobody asks any more.
    fn settle(&mut self) {
        for _ in 0..50 {
            self.now += 1000;
            let before = self.api.writes + self.api.pictures;
            for kind in Blocks::kinds() {
                self.controller.take(&Change::Listed { kind, objects: self.api.list(kind) });
            }
            for chain in self.controller.decide(self.now).0 {
                for (id, answer) in self.api.perform(chain) {
                    self.controller.answered(self.now, id, &answer);
                }
            }
            for (name, node) in &mut self.nodes {
                let of_node = |path: &str, objects: Vec<Arc<Value>>| -> Vec<Arc<Value>> {
                    objects
                        .into_iter()
                        .filter(|object| object.pointer(path).and_then(Value::as_str) == Some(name))
                        .collect()
                };
                for (kind, path) in [(POD, "/spec/nodeName"), (IP_BLOCK, "/spec/node"), (DANM_EP, "/spec/Host")] {
                    node.take(&Change::Listed { kind, objects: of_node(path, self.api.list(kind)) });
                }
                for reference in node.follows() {
                    let objects = self.api.list(reference.kind.group_kind());
                    let object =
                        objects.into_iter().find(|object| object["metadata"]["name"] == reference.name.as_str());
                    node.network(&reference, object.as_deref());
                }
                for chain in node.requests(self.now).0 {
                    for (id, answer) in self.api.perform(chain) {
                        node.answered(self.now, id, &answer);
                    }
                }
            }
            if self.api.writes + self.api.pictures == before {
                return;
            }
        }
        panic!("it never settles");
    }

    fn add(&mut self, node: &str, pod: &str) -> Decision {
        self.add_as(node, pod, pod)
    }

    fn add_as(&mut self, node: &str, pod: &str, container: &str) -> Decision {
        let attachment = Attachment {
            container: container.to_owned(),
            netns: Some(format!("/run/netns/{pod}")),
            ifname: "eth0".to_owned(),
            pod: Ok(PodArguments { namespace: "default".to_owned(), name: pod.to_owned(), uid: None }),
        };
        let config = Config::read(br#"{"cniVersion":"1.1.0","name":"netloom"}"#).expect("a configuration");
        self.nodes.get_mut(node).expect("a node").add(&attachment, &config)
    }

    /// Adds a pod and makes its links.
    fn attach(&mut self, node: &str, pod: &str) -> Record {
        let Decision::Make(record) = self.add(node, pod) else { panic!("{pod} cannot be attached") };
        self.node(node).made(&record.container, Attached::default());
        *record
    }

    fn node(&mut self, name: &str) -> &mut Node {
        self.nodes.get_mut(name).expect("a node")
    }

    fn count(&self, kind: GroupKind<'static>) -> usize {
        self.api.list(kind).len()
    }
}

fn address(record: &Record) -> String {
    record.interfaces[0].ipv4.expect("an address").to_string()
}

#[test]
fn pods_of_two_nodes_get_addresses_and_give_everything_back() {
    let mut cluster = Cluster::new(&["node1", "node2"]);
    cluster.api.put(DANM_NET, network(&json!({"host_device": "ens4", "cidr": "192.0.2.0/24"})));
    for (name, node) in [("a", "node1"), ("b", "node2"), ("c", "node1")] {
        cluster.api.put(POD, pod(name, node, DYNAMIC));
    }
    cluster.settle();
    let (a, c, b) = (cluster.attach("node1", "a"), cluster.attach("node1", "c"), cluster.attach("node2", "b"));
    assert_eq!((address(&a), address(&c)), ("192.0.2.1/24".to_owned(), "192.0.2.2/24".to_owned()), "ascending");
    assert_ne!(address(&b), address(&a));
    assert_eq!((a.interfaces[0].parent.as_str(), a.state == State::Making), ("ens4", true));
    let before = cluster.api.writes;
    cluster.settle();
    assert_eq!(cluster.api.writes - before, 3, "one write for each interface, and none for addresses");
    let endpoints = cluster.api.list(DANM_EP);
    let of_a = endpoints.iter().find(|object| object["spec"]["Pod"] == "a").expect("an interface");
    assert_eq!(of_a["spec"]["Interface"]["Address"], "192.0.2.1/24");
    assert_eq!((&of_a["spec"]["Host"], &of_a["spec"]["PodUID"]), (&json!("node1"), &json!("uid-a")));
    assert_eq!(of_a["metadata"]["labels"], json!({"app": "a"}));
    assert_eq!(of_a["metadata"]["name"], endpoint_id("uid-a", "a", "eth0"));

    for (node, pod) in [("node1", "a"), ("node1", "c"), ("node2", "b")] {
        cluster.node(node).released(pod);
        cluster.api.objects.retain(|reference, _| reference.kind != POD || reference.key.name != pod);
    }
    cluster.settle();
    assert_eq!((cluster.count(DANM_EP), cluster.count(IP_BLOCK)), (0, 0), "nothing stays");
}

#[test]
fn every_address_of_a_pool_can_be_used_wherever_pods_are() {
    let mut cluster = Cluster::new(&["node1", "node2", "node3"]);
    cluster.api.put(DANM_NET, network(&json!({"host_device": "ens4", "cidr": "192.0.2.0/28"})));
    let places: Vec<(String, &str)> = (0..14)
        .map(|number| {
            (
                format!("p{number}"),
                if number < 1 {
                    "node1"
                } else if number < 3 {
                    "node2"
                } else {
                    "node3"
                },
            )
        })
        .collect();
    let mut given = std::collections::BTreeSet::new();
    for (name, node) in &places {
        cluster.api.put(POD, pod(name, node, DYNAMIC));
        cluster.settle();
        let record = cluster.attach(node, name);
        assert!(given.insert(address(&record)), "{} is given twice", address(&record));
    }
    assert_eq!(given.len(), 14);
    cluster.api.put(POD, pod("late", "node1", DYNAMIC));
    cluster.settle();
    assert!(matches!(cluster.add("node1", "late"), Decision::Wait(Waiting::Address(_))));
    cluster.node("node3").released("p9");
    cluster.api.objects.retain(|reference, _| reference.key.name != "p9");
    cluster.settle();
    assert!(matches!(cluster.add("node1", "late"), Decision::Make(_)), "the address of another node came over");
}

#[test]
fn asking_again_gives_the_same_and_an_older_container_goes_first() {
    let mut cluster = Cluster::new(&["node1"]);
    cluster.api.put(DANM_NET, network(&json!({"host_device": "ens4", "cidr": "192.0.2.0/24"})));
    cluster.api.put(POD, pod("a", "node1", DYNAMIC));
    cluster.settle();
    let Decision::Make(_) = cluster.add("node1", "a") else { panic!("it can be attached") };
    assert_eq!(cluster.add("node1", "a"), Decision::ReleaseFirst(vec!["a".to_owned()]), "half made");
    cluster.node("node1").made("a", Attached::default());
    assert_eq!(cluster.add("node1", "a"), Decision::Same(Attached::default()));
    assert_eq!(cluster.add_as("node1", "a", "later"), Decision::ReleaseFirst(vec!["a".to_owned()]));
    cluster.node("node1").released("a");
    assert!(matches!(cluster.add_as("node1", "a", "later"), Decision::Make(_)));
}

#[test]
fn what_a_restart_finds_on_disk_is_in_use() {
    let mut cluster = Cluster::new(&["node1"]);
    cluster.api.put(DANM_NET, network(&json!({"host_device": "ens4", "cidr": "192.0.2.0/24"})));
    cluster.api.put(POD, pod("a", "node1", DYNAMIC));
    cluster.settle();
    let record = cluster.attach("node1", "a");
    let text = serde_json::to_string(cluster.node("node1").record("a").expect("a record")).expect("JSON");
    let record_again: Record = serde_json::from_str(&text).expect("own text");
    cluster.nodes.insert("node1".to_owned(), Node::new("node1", "s2", vec![record_again]));
    cluster.api.put(POD, pod("b", "node1", DYNAMIC));
    cluster.settle();
    let b = cluster.attach("node1", "b");
    assert_eq!((address(&record), address(&b)), ("192.0.2.1/24".to_owned(), "192.0.2.2/24".to_owned()));
    // An address that is in use is the same one after another restart, and its interface is not written twice.
    cluster.settle();
    assert_eq!(cluster.count(DANM_EP), 2);
}

#[test]
fn what_is_not_known_yet_is_waited_for_and_what_is_wrong_is_refused() {
    let wait = |decision: Decision| match decision {
        Decision::Wait(waiting) => waiting.failure().code,
        other => panic!("{other:?}"),
    };
    let mut cluster = Cluster::new(&["node1"]);
    cluster.api.put(DANM_NET, network(&json!({"host_device": "ens4", "cidr": "192.0.2.0/24"})));
    assert_eq!(wait(cluster.add("node1", "a")), Code::TryLater, "no such pod");
    let rows = [
        ("[1]", "interface 0"),
        ("{}", "is not a JSON list of interfaces"),
        (r#"[{"network":"n1","ip":"dynamic","Device":"0000:01:00.0"}]"#, "unknown field"),
        (r#"[{"network":"n1","clusterNetwork":"n1"}]"#, "exactly one"),
        (r#"[{"ip":"dynamic"}]"#, "exactly one"),
        (r#"[{"network":"n1","ip":"2001:db8::1"}]"#, "IPv4"),
        (r#"[{"network":"n1","ip6":"dynamic"}]"#, "no ipv6 network"),
        (r#"[{"network":"n1","proutes":{"10.0.0.0/8":"192.0.2.1"}}]"#, "rt_tables"),
        (r#"[{"network":"n1","proutes":{"10.0.0.0":"x"}}]"#, "route"),
        (r#"[{"network":"none"}]"#, "there is no DanmNet/default/none"),
        ("[]", "names no network"),
    ];
    for (at, (interfaces, words)) in rows.iter().enumerate() {
        let name = format!("p{at}");
        cluster.api.put(POD, pod(&name, "node1", interfaces));
        cluster.settle();
        let Decision::Refused(failure) = cluster.add("node1", &name) else { panic!("{interfaces}") };
        assert_eq!(failure.code, Code::Refused);
        assert!(failure.msg.contains(words), "{interfaces}: {failure}");
    }
    assert_eq!(cluster.count(DANM_EP), 0);
    let follows = cluster.node("node1").follows();
    assert!(follows.contains(&NetworkRef::new("DanmNet", "default", "n1").expect("a network")));
}

#[test]
fn networks_show_which_addresses_are_used_and_interfaces_have_the_labels_of_their_pods() {
    let mut cluster = Cluster::new(&["node1"]);
    let options = json!({"host_device": "ens4", "cidr": "192.0.2.0/28", "net6": "2001:db8::/120", "routes": {"10.0.0.0/8": "192.0.2.14"}});
    cluster.api.put(DANM_NET, network(&options));
    let shown = |cluster: &Cluster| cluster.api.list(DANM_NET)[0]["spec"]["Options"].clone();
    cluster.api.put(POD, pod("a", "node1", r#"[{"network":"n1","ip":"dynamic","ip6":"dynamic"}]"#));
    cluster.api.put(POD, pod("b", "node1", DYNAMIC));
    cluster.settle();
    assert_eq!(shown(&cluster)["alloc"], "gAM=", "the first address, the gateway and the last");
    cluster.attach("node1", "a");
    cluster.attach("node1", "b");
    let before = cluster.api.pictures;
    cluster.settle();
    assert!(cluster.api.pictures - before <= 2, "it is written seldom");
    let now = shown(&cluster);
    assert_eq!((&now["alloc"], &now["allocation_pool"]["lastIp"]), (&json!("4AM="), &json!("192.0.2.2/28")));
    assert!(now["alloc6"].as_str().is_some_and(|bits| bits.starts_with('w')), "{now}");
    assert_eq!(now["cidr"], "192.0.2.0/28", "nothing else is written");

    let mut again = pod("a", "node1", r#"[{"network":"n1","ip":"dynamic","ip6":"dynamic"}]"#);
    again["metadata"]["labels"] = json!({"tier": "web"});
    cluster.api.put(POD, again);
    let before = cluster.api.writes;
    cluster.settle();
    let endpoints = cluster.api.list(DANM_EP);
    let of_a = endpoints.iter().find(|object| object["spec"]["Pod"] == "a").expect("an interface");
    assert_eq!((&of_a["metadata"]["labels"], cluster.api.writes - before), (&json!({"tier": "web"}), 1));

    for name in ["a", "b"] {
        cluster.node("node1").released(name);
        cluster.api.objects.retain(|reference, _| reference.kind != POD || reference.key.name != name);
    }
    cluster.settle();
    assert_eq!(shown(&cluster)["alloc"], "gAM=");
}

#[test]
fn an_address_that_is_asked_for_by_name_comes_from_anywhere_in_the_network_unless_a_pod_has_it() {
    let asks = |address: &str| format!(r#"[{{"network":"n1","ip":"{address}"}}]"#);
    let mut cluster = Cluster::new(&["node1", "node2"]);
    let options = json!({
        "host_device": "ens4", "cidr": "192.0.2.0/24", "routes": {"10.0.0.0/8": "192.0.2.14"},
        "allocation_pool": {"start": "192.0.2.1", "end": "192.0.2.9"},
    });
    cluster.api.put(DANM_NET, network(&options));
    for number in 0..4 {
        let name = format!("p{number}");
        cluster.api.put(POD, pod(&name, "node1", DYNAMIC));
        cluster.settle();
        cluster.attach("node1", &name);
    }
    cluster.settle();
    // Outside of the pool, in the own block, and free in the block of another node.
    for (name, node, wanted) in
        [("s1", "node1", "192.0.2.200"), ("s2", "node1", "192.0.2.5/16"), ("s3", "node2", "192.0.2.6")]
    {
        cluster.api.put(POD, pod(name, node, &asks(wanted)));
        cluster.settle();
        let record = cluster.attach(node, name);
        let bare = wanted.split('/').next().expect("an address");
        assert_eq!(address(&record), format!("{bare}/24"), "with the prefix length of the network");
        cluster.settle();
    }
    let wrong = [
        ("w1", "node1", "192.0.2.200", "in use by another interface on this node"),
        ("w2", "node2", "192.0.2.200", "in use by a pod of another node"),
        ("w3", "node2", "192.0.2.1", "in use by a pod of another node"),
        ("w4", "node1", "198.51.100.1", "outside of 192.0.2.0/24"),
        ("w5", "node1", "192.0.2.0", "no pod gets"),
        ("w6", "node1", "192.0.2.255", "no pod gets"),
        ("w7", "node1", "192.0.2.14", "no pod gets"),
    ];
    for (name, node, wanted, words) in wrong {
        cluster.api.put(POD, pod(name, node, &asks(wanted)));
        cluster.settle();
        let decision = cluster.add(node, name);
        let Decision::Refused(failure) = decision else { panic!("{wanted} on {node}: {decision:?}") };
        assert_eq!(failure.code, Code::Refused);
        assert!(failure.msg.contains(words), "{failure}");
        cluster.api.objects.retain(|reference, _| reference.key.name != name);
    }
    // What is released is free for others, and is no dynamic address.
    cluster.node("node1").released("s1");
    cluster.api.objects.retain(|reference, _| reference.key.name != "s1");
    cluster.settle();
    cluster.api.put(POD, pod("next", "node1", DYNAMIC));
    cluster.settle();
    assert!(address(&cluster.attach("node1", "next")).ends_with("2.7/24"));
    cluster.api.put(POD, pod("again", "node2", &asks("192.0.2.200")));
    cluster.settle();
    assert_eq!(address(&cluster.attach("node2", "again")), "192.0.2.200/24");
}
