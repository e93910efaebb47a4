//! `netloom apply --wait` of policies: it ends when nodes have them, when a node failed, or when there is nothing to do.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    process::{Command, Stdio},
    sync::Arc,
    thread,
};

use serde_json::Value;

use crate::{
    agents::Agents,
    cluster::{Cluster, FABRIC},
    embedded::{NETLOOM, Server, ended},
    process::{Controller, cluster},
    way::Way,
};

/// Frames of this size on a link of every node.
fn policy(link: &str, mtu: u32) -> String {
    format!(
        "{{apiVersion: nmstate.io/v1, kind: NodeNetConfPolicy, metadata: {{name: jumbo}}, spec: {{matchRules: \
         [{{name: {link}}}], desiredState: {{interfaces: [{{name: {link}, type: ethernet, state: up, mtu: {mtu}}}]}}}}}}"
    )
}

fn apply(server: &Server, text: &str) -> (i32, String) {
    let file = server.file("policy.yaml", text);
    server.run(&["apply", "--wait", "--timeout", "100", "-f", &file])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_is_waited_for_until_nodes_have_it() {
    let server = Arc::new(Server::start("controller-waits"));
    let cluster = cluster(&server, 4).await;
    let agents = Agents::start(&cluster);
    let _controller = Controller::start(&server, "controller.log");
    agents.answer(false);
    let applying = thread::spawn({
        let server = Arc::clone(&server);
        move || apply(&server, &policy("eth1", 8000))
    });
    cluster
        .until("netloom.dev/v1alpha1", "RolloutPolicy", "the canary is asked", |policy| {
            policy["status"]["phase"] == "Canary" && policy["status"]["nodes"]["updated"] == 1
        })
        .await;
    cluster.renewals(2).await;
    assert!(!applying.is_finished(), "the policy is compiled, and no node has it");
    agents.answer(true);
    let (status, printed) = applying.join().unwrap();
    assert_eq!(status, 0, "{printed}");
    assert!(printed.contains(": Rolling, ") && printed.ends_with(": Active, 4 of 4 nodes have it\n"), "{printed}");
    assert_eq!(cluster.mtus().await, [Some(8000); 4]);

    let (status, printed) = apply(&server, &policy("eth1", 9999));
    assert_eq!(status, 1, "{printed}");
    assert!(printed.contains("failed on node n0: eth1: the driver takes at most 9000"), "{printed}");

    // What is asked for no more is gone from the nodes, too, when the command ends.
    let (status, printed) = apply(&server, &policy("eth9", 8000));
    assert_eq!(status, 0, "{printed}");
    assert!(
        printed.contains("NoMatchingInterface") && printed.ends_with(": Active, 4 of 4 nodes have it\n"),
        "{printed}"
    );
    assert_eq!(cluster.mtus().await, [None; 4]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_with_nothing_to_do_is_not_waited_for() {
    let server = Server::start("controller-waits-for-nobody");
    let cluster = Cluster::of(&server.folder.join("kubeconfig")).await;
    let _controller = Controller::start(&server, "controller.log");
    let (status, printed) = apply(&server, &policy("eth1", 8000));
    assert_eq!(status, 0, "{printed}");
    assert!(
        printed.contains("NoMatchingNode") && printed.contains("nothing of it is rolled out to nodes"),
        "{printed}"
    );
    assert_eq!(apply(&server, &policy("eth9", 8000)).0, 0);
    // Nobody answers for the node, so that no revision is everywhere.
    cluster.node("n0").await;
    cluster
        .until("nmstate.io/v1", "NodeNetConfPolicy", "the node is seen", |policy| {
            policy["status"]["conditions"][0]["reason"] == "NoMatchingInterface"
        })
        .await;
    let (status, printed) = apply(&server, &policy("eth9", 8000));
    assert_eq!(status, 0, "{printed}");
    assert!(
        printed.contains("NoMatchingInterface") && printed.contains("nothing of it is rolled out to nodes"),
        "{printed}"
    );
    assert!(cluster.list(FABRIC, "NetworkConfigRevision").await.iter().all(|one| one["status"]["phase"] != "Active"));
}

/// The second link of every node leads into a network.
const UPLINK: &str = "\
{apiVersion: network.harvesterhci.io/v1beta1, kind: ClusterNetwork, metadata: {name: lan}}
---
{apiVersion: network.harvesterhci.io/v1beta1, kind: VlanConfig, metadata: {name: uplink}, spec: {clusterNetwork: lan, uplink: {nics: [eth1]}}}
";

#[tokio::test(flavor = "multi_thread")]
async fn an_uplink_is_waited_for_until_its_nodes_are_connected() {
    let server = Arc::new(Server::start("controller-waits-for-uplinks"));
    let cluster = cluster(&server, 2).await;
    let agents = Agents::start(&cluster);
    let _controller = Controller::start(&server, "controller.log");
    agents.answer(false);
    let uplink = UPLINK.split("---").nth(1).unwrap();
    assert_eq!(server.run(&["apply", "-f", &server.file("network.yaml", UPLINK.split("---").next().unwrap())]).0, 0);
    let waiting = |text: String| {
        let server = Arc::clone(&server);
        thread::spawn(move || apply(&server, &text))
    };
    let applying = waiting(uplink.to_owned());
    cluster.until(HOST_NETWORKS, "VlanStatus", "a node is applying it", |status| is_ready(status, "Unknown")).await;
    cluster.renewals(2).await;
    assert!(!applying.is_finished(), "no node is connected");
    agents.answer(true);
    let (status, printed) = applying.join().unwrap();
    assert_eq!(status, 0, "{printed}");
    assert!(
        printed.contains(", n0: not ready: Pending, the node ") && printed.contains(", n1: ready: Applied\n"),
        "{printed}"
    );
    assert!(printed.contains(": 2 of 2 nodes are connected\n"), "{printed}");

    // What was so before the edit does not count for it.
    agents.answer(false);
    let edited = uplink.replace("nics: [eth1]", "nics: [eth1], linkAttributes: {mtu: 8000}");
    let applying = waiting(edited.clone());
    cluster.until(HOST_NETWORKS, "VlanStatus", "a node is at the edit", |status| is_ready(status, "Unknown")).await;
    cluster.renewals(2).await;
    assert!(!applying.is_finished(), "no node has the edit");
    agents.answer(true);
    let (status, printed) = applying.join().unwrap();
    assert_eq!(status, 0, "{printed}");

    let failing = edited.replace("8000", "7000");
    let (status, printed) = apply(&server, &format!("{failing}\n---\n{}\n", policy("eth1", 9999)));
    assert_eq!(status, 1, "{printed}");
    assert!(
        printed.lines().last().unwrap().starts_with("netloom: VlanConfig \"uplink\" does not come to be"),
        "{printed}"
    );

    let nobodys = failing.replace("clusterNetwork: lan", "clusterNetwork: lan, nodeSelector: {rack: none}");
    let (status, printed) = apply(&server, &nobodys.replace("name: uplink", "name: nobodys"));
    assert_eq!(status, 0, "{printed}");
    assert!(printed.contains("VlanConfig \"nobodys\": no node is selected\n"), "{printed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_network_whose_uplink_fails_is_not_waited_for() {
    let server = Server::start("controller-waits-for-no-link");
    let cluster = cluster(&server, 2).await;
    let _agents = Agents::start(&cluster);
    let _controller = Controller::start(&server, "controller.log");
    let (status, printed) = apply(&server, &UPLINK.replace("eth1", "eth9"));
    assert_eq!(status, 1, "{printed}");
    let last = printed.lines().last().unwrap();
    assert!(last.starts_with("netloom: VlanConfig \"uplink\" does not come to be in place, n0: NoLink, "), "{printed}");
}

const HOST_NETWORKS: &str = "network.harvesterhci.io/v1beta1";

fn is_ready(status: &Value, truth: &str) -> bool {
    status["status"]["conditions"][0]["status"] == truth
}

/// A VLAN of that network, with an address for the first of two nodes or for both.
fn host_network(ips: &str) -> String {
    format!(
        "{{apiVersion: network.harvesterhci.io/v1beta1, kind: HostNetworkConfig, metadata: {{name: storage}}, spec: \
         {{clusterNetwork: lan, vlanID: 2012, mode: static, ips: {{{ips}}}}}}}"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_network_that_a_node_could_not_have_is_not_waited_for() {
    let server = Server::start("controller-waits-for-the-failed");
    let cluster = cluster(&server, 2).await;
    let _agents = Agents::start(&cluster);
    let _controller = Controller::start(&server, "controller.log");
    let (status, printed) = apply(&server, UPLINK);
    assert_eq!(status, 0, "{printed}");
    let whole = host_network("n0: 10.0.0.1/24, n1: 10.0.0.2/24");
    let (status, printed) = apply(&server, &whole);
    assert_eq!(status, 0, "{printed}");

    // What else is in the revision is to blame.
    let with_a_bad_policy = format!("{}\n---\n{}\n", whole.replace("2012", "2013"), policy("eth1", 9999));
    let (status, printed) = apply(&server, &with_a_bad_policy);
    assert_eq!(status, 1, "{printed}");
    let last = printed.lines().last().unwrap();
    assert!(last.starts_with("netloom: HostNetworkConfig \"storage\" does not come to be in place, n"), "{printed}");
    assert!(last.contains("the driver takes at most 9000") && !last.contains("is worked on"), "{printed}");

    // What fixes it is applied together with what says that it failed.
    let fixed = format!("{}\n---\n{}\n", whole.replace("2012", "2013"), policy("eth1", 8000));
    let (status, printed) = apply(&server, &fixed);
    assert_eq!(status, 0, "{printed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_host_network_is_gone_when_nodes_have_release_it() {
    let server = Arc::new(Server::start("controller-waits-until-gone"));
    let cluster = cluster(&server, 2).await;
    let agents = Agents::start(&cluster);
    let _controller = Controller::start(&server, "controller.log");
    for text in [UPLINK, &host_network("n0: 10.0.0.1/24, n1: 10.0.0.2/24")] {
        let (status, printed) = apply(&server, text);
        assert_eq!(status, 0, "{printed}");
    }
    agents.answer(false);
    let deleting = thread::spawn({
        let server = Arc::clone(&server);
        move || server.run(&["delete", "hnc", "storage", "--wait", "--timeout", "100"])
    });
    cluster
        .until(HOST_NETWORKS, "HostNetworkConfig", "it is being deleted", |network| {
            network["status"]["conditions"][0]["message"]
                .as_str()
                .is_some_and(|printed| printed.starts_with("is being deleted"))
        })
        .await;
    cluster.renewals(2).await;
    assert!(!deleting.is_finished(), "nodes still have it");
    agents.answer(true);
    let (status, printed) = deleting.join().unwrap();
    assert_eq!(status, 0, "{printed}");
    let held = "is being deleted; held by netloom.dev/host-network; nodes that still have it: 2\n";
    assert!(printed.starts_with(&format!("HostNetworkConfig \"storage\" {held}")), "{printed}");
    assert!(printed.contains(": is being deleted; nodes that still have it: 2\n"), "{printed}");
    assert!(printed.ends_with("HostNetworkConfig \"storage\" deleted\n"), "{printed}");
    assert!(cluster.list(HOST_NETWORKS, "HostNetworkConfig").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_does_not_end_the_wait() {
    let printed = applied_over("controller-waits-through-a-cut", Way::cut).await;
    assert!(printed.contains("cannot reach "), "{printed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn packets_that_get_lost_do_not_end_the_wait() {
    let printed = applied_over("controller-waits-through-loss", Way::lose).await;
    assert!(printed.contains("sent nothing for 30 seconds"), "{printed}");
}

/// What is reported by whoever waits for a policy while the way to the server does not lead there for some time.
async fn applied_over(name: &str, interrupt: fn(&Way)) -> String {
    let server = Server::start(name);
    let cluster = cluster(&server, 1).await;
    let agents = Agents::start(&cluster);
    let _controller = Controller::start(&server, "controller.log");
    agents.answer(false);
    let (way, mut applying) = applying_over_a_way(&server).await;
    let mut applying = applying.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(applying.stderr.take().unwrap()).lines().map(Result::unwrap);
    cluster
        .until("netloom.dev/v1alpha1", "RolloutPolicy", "the node is asked", |policy| {
            policy["status"]["nodes"]["updated"] == 1
        })
        .await;
    interrupt(&way);
    // One try that fails may be made again before anything is reported of it.
    let mut printed = Vec::new();
    while !printed.last().is_some_and(|line: &String| line.contains("asking again")) {
        printed.push(lines.next().unwrap_or_else(|| panic!("it ended: {printed:?}")));
    }
    agents.answer(true);
    way.fix();
    printed.extend(lines);
    let (status, printed) = (applying.wait().unwrap(), printed.join("\n"));
    assert!(status.success() && printed.ends_with(": Active, 1 of 1 nodes have it"), "{status}: {printed}");
    printed
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_deleted_during_a_cut_is_not_waited_for() {
    // Without a controller nobody says that it is in place.
    let server = Server::start("controller-waits-for-the-deleted");
    let (way, mut applying) = applying_over_a_way(&server).await;
    let mut applying = applying.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut printed = BufReader::new(applying.stderr.take().unwrap()).lines();
    assert!(printed.next().unwrap().unwrap().ends_with(" created"));
    way.cut();
    way.tried().await;
    let (status, answer) = server.run(&["delete", "nodenetconfpolicies", "jumbo"]);
    assert_eq!(status, 0, "{answer}");
    way.fix();
    let printed: Vec<String> = printed.map(Result::unwrap).collect();
    assert!(printed.last().unwrap().ends_with("was deleted meanwhile"), "{printed:?}");
    assert_eq!(applying.wait().unwrap().code(), Some(1));
}

/// A way to the server, and a command that applies a policy over it and waits.
async fn applying_over_a_way(server: &Server) -> (Way, Command) {
    let kubeconfig = fs::read_to_string(server.folder.join("kubeconfig")).unwrap();
    let url = kubeconfig.lines().find_map(|line| line.trim().strip_prefix("server: https://")).unwrap();
    let address: SocketAddr = url.trim_end_matches('/').parse().unwrap();
    let way = Way::to(address).await;
    let kubeconfig = server.file("way", &kubeconfig.replace(&address.to_string(), &way.address.to_string()));
    let mut command = Command::new(NETLOOM);
    command.args(["apply", "--wait", "--timeout", "200", "-f", &server.file("policy.yaml", &policy("eth1", 8000))]);
    command.env("KUBECONFIG", kubeconfig);
    (way, command)
}

/// Lets somebody do these things with objects of `nmstate.io`.
fn allow(server: &Server, resource: &str, verbs: &str) {
    let text = format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {{name: ann-{resource}}}\n\
         rules: [{{apiGroups: [nmstate.io], resources: [{resource}], verbs: [{verbs}]}}]\n---\n\
         apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {{name: ann-{resource}}}\n\
         roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ann-{resource}}}\n\
         subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: ann}}]\n"
    );
    let (status, printed) = server.run(&["apply", "-f", &server.file("rights.yaml", &text)]);
    assert_eq!(status, 0, "{printed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_only_write_policies_does_not_wait_for_nodes() {
    let server = Server::start("controller-waits-without-rights");
    // One node that nobody answers for, so that the wait for it would not end.
    let _cluster = cluster(&server, 1).await;
    let _controller = Controller::start(&server, "controller.log");
    let whole = fs::read_to_string(server.folder.join("kubeconfig")).unwrap();
    let ann = server.file("ann", &whole.replace("client-key-data:", "as: ann\n    client-key-data:"));
    let file = server.file("policy.yaml", &policy("eth1", 8000));
    let words = ["apply", "--wait", "--timeout", "100", "-f", &file];
    let apply = || ended(Command::new(NETLOOM).args(words).env("KUBECONFIG", &ann));
    let (status, printed) = apply();
    assert!(status == 3 && printed.contains("User \"ann\" cannot"), "{status} {printed}");

    allow(&server, "nodenetconfpolicies", "get, list, watch, create, patch");
    let (status, printed) = apply();
    assert_eq!(status, 0, "{printed}");
    assert!(printed.contains("objects of kind NodeNetworkState may not be read"), "{printed}");

    allow(&server, "nodenetworkstates", "list");
    let (status, printed) = apply();
    assert_eq!(status, 0, "{printed}");
    assert!(printed.contains("objects of kind NetworkConfigRevision may not be read"), "{printed}");
}
