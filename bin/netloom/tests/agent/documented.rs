//! The pages about nodes are true: their commands print what they show, and what they name is there.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use netloom_testkit::page::Workshop;

use crate::{
    embedded::{NETLOOM, Server, empty_folder},
    site::{Agent, Node},
};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn page(name: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join("docs").join(name)).unwrap()
}

fn workshop(folder: PathBuf) -> Workshop {
    let program = Path::new(NETLOOM).parent().unwrap().to_owned();
    let variables = vec![
        ("KUBECONFIG".to_owned(), folder.join("kubeconfig").display().to_string()),
        ("NETLOOM_STATE_DIR".to_owned(), folder.join("state").display().to_string()),
    ];
    Workshop { folder, program, variables, otherwise: Vec::new() }
}

/// A controller that ends with this value.
struct Controller(Child);

impl Controller {
    fn start(server: &Server) -> Self {
        let mut process = Command::new(NETLOOM)
            .args(["controller", "--install-crds", "--lease-seconds", "3"])
            .env("KUBECONFIG", server.folder.join("kubeconfig"))
            .stdout(Stdio::piped())
            .stderr(fs::File::create(server.folder.join("controller.log")).unwrap())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Self(process)
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// A host with a card.
fn host(name: &str) -> Option<Node> {
    let node = Node::new(&format!("page-{name}"))?;
    let (status, text) = node.ip("link add eth1 up type veth peer name far1");
    assert_eq!(status, 0, "{text}");
    Some(node)
}

fn agent(server: &Server, node: &Node, name: &str) -> Agent {
    let identity = server.folder.join(format!("{name}.conf")).display().to_string();
    let (status, text) = server.run(&["gen", "kubeconfig", "--node", name, "--out", &identity]);
    assert_eq!(status, 0, "{text}");
    let folder = server.folder.join(name);
    fs::create_dir_all(&folder).unwrap();
    Agent::start_as(name, &identity, node, &folder)
}

#[test]
fn the_page_about_nodes_is_true() {
    let Some(n1) = host("n1") else { return };
    let (n2, n3) = (host("n2").unwrap(), host("n3").unwrap());
    let server = Server::start("agent-documented");
    let _controller = Controller::start(&server);
    let _agents = [agent(&server, &n1, "n1"), agent(&server, &n2, "n2")];
    let mut workshop = workshop(server.folder.clone());
    for (name, node) in [("n1", &n1), ("n2", &n2), ("n3", &n3)] {
        workshop.otherwise.push((format!("ip -n {name} "), format!("ip -n {} ", node.0)));
        workshop.otherwise.push((format!("--netns {name}"), format!("--netns {}", node.0)));
    }
    let ran = workshop.try_all(&page("nodes.md")).unwrap_or_else(|why| panic!("docs/nodes.md: {why}"));
    assert!(ran > 20, "{ran}");
}

#[test]
fn the_tutorial_is_true() {
    let Some(first) = host("t1") else { return };
    let nodes = [first, host("t2").unwrap(), host("t3").unwrap()];
    let server = Server::start("agent-tutorial");
    let _controller = Controller::start(&server);
    let agents: Vec<Agent> = nodes
        .iter()
        .zip(["node1", "node2", "node3"])
        .map(|(node, name)| {
            let object = format!("{{apiVersion: v1, kind: Node, metadata: {{name: {name}}}}}");
            let (status, text) = server.run(&["apply", "-f", &server.file("node.yaml", &object)]);
            assert_eq!(status, 0, "{text}");
            let identity = server.folder.join(format!("{name}.conf")).display().to_string();
            let (status, text) = server.run(&["gen", "kubeconfig", "--node", name, "--out", &identity]);
            assert_eq!(status, 0, "{text}");
            // All of them keep their state where `netloom state explain` looks for it.
            Agent::start_as(name, &identity, node, &server.folder)
        })
        .collect();
    let mut workshop = workshop(server.folder.clone());
    workshop.otherwise.push(("netloom-node1".to_owned(), nodes[0].0.clone()));
    let ran = workshop.try_all(&page("tutorial.md")).unwrap_or_else(|why| panic!("docs/tutorial.md: {why}"));
    assert!(ran > 20, "{ran}");
    drop(agents);
}

#[test]
fn the_page_about_policies_is_true() {
    let folder = empty_folder("documented-policies");
    let ran = workshop(folder).try_all(&page("node-policies.md"));
    let ran = ran.unwrap_or_else(|why| panic!("docs/node-policies.md: {why}"));
    assert!(ran >= 4, "{ran}");
}

#[test]
fn the_page_about_documents_is_true() {
    let ran = workshop(empty_folder("documented-state")).try_all(&page("node-state.md"));
    assert_ne!(ran.unwrap_or_else(|why| panic!("docs/node-state.md: {why}")), 0);
}

#[test]
fn what_the_page_about_nodes_names_is_there() {
    let (text, mut stories, mut tests) = (page("nodes.md"), 0, 0);
    for word in text.split('`').skip(1).step_by(2) {
        if let Some(story) = word.strip_prefix("nodestate/") {
            let path = Path::new(ROOT).join("scenarios/nodestate").join(story).join("story.yaml");
            assert!(path.exists(), "there is no story {word}");
            stories += 1;
        } else if let Some((file, function)) = word.split_once("::") {
            let code = fs::read_to_string(Path::new(ROOT).join(file)).unwrap_or_else(|why| panic!("{file}: {why}"));
            assert!(code.contains(&format!("fn {function}(")), "{file} has no {function}");
            tests += 1;
        }
    }
    assert!(stories > 40 && tests > 5, "{stories} stories, {tests} tests");
}
