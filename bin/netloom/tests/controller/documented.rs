//! The examples of docs/rollout.md, run in their order.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::{
    agents::Agents,
    cluster::{Cluster, FABRIC},
    embedded::Server,
    process::Controller,
};

/// A name in the page that stands for one that only a running cluster knows.
const PLACEHOLDER: &str = "0123456789";
const NODES: usize = 4;

/// The page, of which sections are run one by one.
struct Page<'a> {
    text: String,
    server: &'a Server,
}

impl<'a> Page<'a> {
    fn open(server: &'a Server) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rollout.md");
        Self { text: fs::read_to_string(path).unwrap(), server }
    }

    /// What is between three backquotes of a kind, under a title.
    fn blocks(&self, title: &str) -> Vec<(&str, &str)> {
        let (_, section) = self.text.split_once(&format!("\n## {title}\n")).unwrap_or_else(|| panic!("no {title}"));
        let section = section.split("\n## ").next().unwrap();
        let fenced = section.split("```").skip(1).step_by(2);
        fenced.map(|block| block.split_once('\n').unwrap()).collect()
    }

    /// Writes the files of a section.
    fn write_files(&self, title: &str, revision: &str) {
        for (kind, text) in self.blocks(title) {
            if kind == "yaml" {
                let name = text.lines().next().unwrap().strip_prefix("# ").expect("a file has its name first");
                self.server.file(name, &text.replace(PLACEHOLDER, revision));
            }
        }
    }

    /// Runs the commands of one of a section's consoles; gives what each printed.
    fn run(&self, title: &str, console: usize) -> Vec<String> {
        let consoles: Vec<&str> =
            self.blocks(title).into_iter().filter(|block| block.0 == "console").map(|block| block.1).collect();
        let commands = consoles[console].lines().filter_map(|line| line.strip_prefix("$ netloom "));
        commands
            .map(|command| {
                let words: Vec<String> = command.split(' ').map(|word| self.word(word)).collect();
                let (status, printed) = self.server.run(&words.iter().map(String::as_str).collect::<Vec<_>>());
                assert_eq!(status, 0, "netloom {command}: {printed}");
                printed
            })
            .collect()
    }

    /// Files of the page are in the folder of the server.
    fn word(&self, word: &str) -> String {
        let is_file = Path::new(word).extension().is_some_and(|end| end == "yaml");
        if is_file { self.server.folder.join(word).display().to_string() } else { word.to_owned() }
    }
}

async fn phase(cluster: &Cluster, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    cluster.until("netloom.dev/v1alpha1", "RolloutPolicy", what, |policy| wanted(&policy["status"])).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_about_rollouts_is_true() {
    let server = Server::start("controller-documented");
    let cluster = Cluster::of(&server.folder.join("kubeconfig")).await;
    for number in 0..NODES {
        cluster.node(&format!("n{number}")).await;
    }
    let _agents = Agents::start(&cluster);
    let _controller = Controller::start(&server, "controller.log");
    let page = Page::open(&server);

    let title = "First one node, then the others";
    page.write_files(title, "");
    let printed = page.run(title, 0);
    assert!(printed[2].contains("everywhere"), "{printed:?}");
    let first = cluster.everywhere(8000).await;
    let first = first["metadata"]["name"].as_str().unwrap();

    let title = "Pausing and resuming";
    page.write_files(title, "");
    page.run(title, 0);
    phase(&cluster, "a pause", |status| status["phase"] == "Paused").await;
    cluster
        .until(FABRIC, "NetworkConfigRevision", "the next revision", |found| found["metadata"]["name"] != first)
        .await;
    assert_eq!(cluster.mtus().await, [Some(8000); NODES], "what is changed meanwhile waits");
    page.run(title, 1);
    cluster.everywhere(9000).await;

    let title = "Returning to an earlier revision";
    page.write_files(title, first);
    page.run(title, 0);
    phase(&cluster, "the earlier one everywhere", |status| {
        status["targetRevision"] == first && status["nodes"]["ready"] == json!(NODES)
    })
    .await;
    assert_eq!(cluster.mtus().await, [Some(8000); NODES]);
    page.run(title, 1);
    let last = phase(&cluster, "the newest one everywhere", |status| {
        status["targetRevision"] != first && status["nodes"]["ready"] == json!(NODES) && status["phase"] == "Done"
    })
    .await;
    assert_eq!(cluster.mtus().await, [Some(9000); NODES]);

    let title = "When a node fails";
    page.write_files(title, "");
    page.run(title, 0);
    let failed = cluster
        .until(FABRIC, "NetworkConfigRevision", "a failure", |revision| revision["status"]["isInvalid"] == true)
        .await;
    assert_eq!(failed["status"]["failedNode"], "n0");
    phase(&cluster, "the way back", |status| {
        status["targetRevision"] == last["status"]["targetRevision"] && status["nodes"]["ready"] == json!(NODES)
    })
    .await;
    assert_eq!(cluster.mtus().await, [Some(9000); NODES]);
    assert!(page.server.run(&["get", "events"]).1.contains("RolloutFailed"));
}
