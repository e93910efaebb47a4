//! `netloom server` and the identities that it gives out, as people use them: copies while others
//! write, new folders made of them, and kubeconfigs for agents and the controller.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod embedded;

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::Command,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use http_body_util::BodyExt as _;
use kube::{
    Client, Config,
    client::Body,
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::{Value, json};
use tokio::time::timeout;

use self::embedded::{NETLOOM, Server, empty_folder, ended};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
/// How many writes are there before the copy is made, and how many after.
const ENOUGH: usize = 20;
const TIME_LIMIT: Duration = Duration::from_mins(1);

async fn client(kubeconfig: &str) -> Client {
    let read = Kubeconfig::from_yaml(kubeconfig).unwrap();
    let config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

async fn create(client: &Client, name: &str) -> Value {
    let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } });
    let request = http::Request::post(MAPS).header("content-type", "application/json");
    client.request(request.body(object.to_string().into_bytes()).unwrap()).await.unwrap()
}

async fn list(client: &Client) -> Value {
    client.request(http::Request::get(MAPS).body(Vec::new()).unwrap()).await.unwrap()
}

/// The first event of a watch from a version.
async fn first_event(client: &Client, version: &str) -> Value {
    let target = format!("{MAPS}?watch=true&resourceVersion={version}");
    let answer = client.send(http::Request::get(target).body(Body::empty()).unwrap()).await.unwrap();
    let mut body = answer.into_body();
    let frame = timeout(TIME_LIMIT, body.frame()).await.expect("an event").unwrap().unwrap();
    serde_json::from_slice(&frame.into_data().unwrap()).unwrap()
}

fn version(object: &Value) -> &str {
    object["metadata"]["resourceVersion"].as_str().unwrap()
}

/// Somebody who writes one object after the other until asked to stop.
struct Writer {
    written: Arc<Mutex<Vec<Value>>>,
    stop: Arc<AtomicBool>,
    task: tokio::task::JoinHandle<()>,
}

impl Writer {
    fn start(client: Client) -> Self {
        let (written, stop) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (own, stopped) = (Arc::clone(&written), Arc::clone(&stop));
        let task = tokio::spawn(async move {
            for number in 0.. {
                let made = create(&client, &format!("w-{number:05}")).await;
                own.lock().unwrap().push(made);
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        Self { written, stop, task }
    }

    /// What has been acknowledged, as soon as it is so much.
    async fn at_least(&self, count: usize) -> usize {
        let enough = async {
            loop {
                let found = self.written.lock().unwrap().len();
                if found >= count {
                    return found;
                }
                tokio::task::yield_now().await;
            }
        };
        timeout(TIME_LIMIT, enough).await.expect("the writer goes on")
    }

    async fn end(self) -> Vec<Value> {
        self.stop.store(true, Ordering::Relaxed);
        self.task.await.unwrap();
        Arc::into_inner(self.written).unwrap().into_inner().unwrap()
    }
}

/// Runs a command without holding up the writer.
async fn beside(words: Vec<String>) -> (i32, String) {
    tokio::task::spawn_blocking(move || ended(Command::new(NETLOOM).args(words))).await.unwrap()
}

fn words(data: &Path, verb: &str, file: &Path) -> Vec<String> {
    let path = |path: &Path| path.display().to_string();
    vec!["server".to_owned(), "--data-dir".to_owned(), path(data), verb.to_owned(), path(file)]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_made_under_writes_is_whole_and_clients_go_on_from_it() {
    let old = Server::start("server-copied");
    let kubeconfig = fs::read_to_string(old.folder.join("kubeconfig")).unwrap();
    let admin = client(&kubeconfig).await;
    let writer = Writer::start(admin.clone());
    let before = writer.at_least(ENOUGH).await;
    let copy = old.folder.join("copy");
    let (status, printed) = beside(words(&old.folder.join("data"), "backup", &copy)).await;
    assert_eq!((status, printed), (0, format!("{}\n", copy.display())));
    let count = writer.at_least(0).await;
    writer.at_least(count + ENOUGH).await;
    let written = writer.end().await;

    let folder = empty_folder("server-restored");
    let data = folder.join("data");
    let (status, printed) = ended(Command::new(NETLOOM).args(words(&data, "restore", &copy)));
    assert!(status == 0 && printed.starts_with("revision "), "{printed}");
    // With the keys of the old server its clients are known to the new one.
    let keys = data.join("pki");
    fs::create_dir_all(&keys).unwrap();
    for entry in fs::read_dir(old.folder.join("data/pki")).unwrap() {
        let from = entry.unwrap().path();
        fs::copy(&from, keys.join(from.file_name().unwrap())).unwrap();
    }
    let new = Server::start_on(folder);
    let url = |server: &Server| fs::read_to_string(server.folder.join("data/address")).unwrap();
    let client = client(&kubeconfig.replace(&url(&old), &url(&new))).await;

    let restored = list(&client).await;
    let found: Vec<(&str, &str)> = restored["items"].as_array().unwrap().iter().map(name_and_version).collect();
    let wanted: Vec<(&str, &str)> = written.iter().map(name_and_version).collect();
    let ours: Vec<(&str, &str)> = found.iter().copied().filter(|(name, _)| name.starts_with("w-")).collect();
    assert!(ours.len() >= before, "{} of {before} that were acknowledged before the copy", ours.len());
    assert_eq!(ours, wanted[..ours.len()], "a copy is of one moment, with every version as it was");

    let gone = first_event(&client, version(&written[0])).await;
    assert_eq!((&gone["type"], &gone["object"]["code"]), (&json!("ERROR"), &json!(410)), "{gone}");
    let made = create(&client, "after").await;
    let event = first_event(&client, version(&restored)).await;
    assert_eq!((&event["type"], &event["object"]["metadata"]["name"]), (&json!("ADDED"), &json!("after")), "{event}");
    let number = |object: &Value| version(object).parse::<u64>().unwrap();
    assert!(
        number(&made) > number(written.last().unwrap()),
        "versions never repeat, not those lost with the old folder"
    );
}

fn name_and_version(object: &Value) -> (&str, &str) {
    (object["metadata"]["name"].as_str().unwrap(), version(object))
}

#[test]
fn nothing_is_written_over_and_no_other_file_is_taken() {
    let server = Server::start("server-refused");
    let data = server.folder.join("data");
    let copy = server.folder.join("copy");
    let run = |words: Vec<String>| ended(Command::new(NETLOOM).args(words));
    assert_eq!(run(words(&data, "backup", &copy)).0, 0);
    let (status, printed) = run(words(&data, "backup", &copy));
    assert!(status == 3 && printed.contains("is there already"), "{status} {printed}");
    // A server runs on it; then one has run on it.
    for stopped in [false, true] {
        let (status, printed) = run(words(&data, "restore", &copy));
        assert!(
            status == 3 && printed.contains("store.redb exists: nothing is overwritten"),
            "{stopped}: {status} {printed}"
        );
        nix::sys::signal::kill(
            nix::unistd::Pid::from_raw(server.process.id().try_into().unwrap()),
            nix::sys::signal::Signal::SIGTERM,
        )
        .ok();
    }
    let whole = fs::read(&copy).unwrap();
    for (name, bytes, text) in [
        ("cut", &whole[..whole.len() / 2], "cut"),
        ("foreign", b"something else entirely".as_slice(), "foreign is not a backup"),
        ("empty", b"".as_slice(), "empty"),
    ] {
        let file = server.folder.join(name);
        fs::write(&file, bytes).unwrap();
        let (status, printed) = run(words(&server.folder.join("new"), "restore", &file));
        assert!(status == 3 && printed.contains(text), "{name}: {status} {printed}");
        assert!(!server.folder.join("new").exists(), "{name} left a folder behind");
    }
    let (status, printed) = run(words(&server.folder.join("new"), "restore", &server.folder.join("nowhere")));
    assert!(status == 2 && printed.contains("nowhere"), "{status} {printed}");
    assert!(!server.folder.join("new").exists());
    assert_eq!(run(words(&server.folder.join("new"), "restore", &copy)).0, 0);
    for folder in ["new", "data", "data/pki"] {
        let mode = fs::metadata(server.folder.join(folder)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o700, "{folder}");
    }
    let (status, printed) = run(words(&server.folder.join("nothing"), "backup", &server.folder.join("other")));
    assert!(status == 2 && printed.contains("does not exist"), "{status} {printed}");
    assert!(!server.folder.join("other").exists());
}

#[test]
fn a_second_server_on_a_folder_is_refused() {
    let server = Server::start("server-second");
    let second = ended(
        Command::new(NETLOOM).args(["server", "--listen", "127.0.0.1:0", "--data-dir"]).arg(server.folder.join("data")),
    );
    assert!(second.0 == 2 && second.1.contains("in use"), "{second:?}");
}

#[test]
fn a_server_that_does_not_start_says_what_helps_and_leaves_nothing() {
    let server = Server::start("server-not-started");
    let address = fs::read_to_string(server.folder.join("kubeconfig")).unwrap();
    let port = address.split("https://").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    let data = server.folder.join("other");
    let nowhere = server.folder.join("none/admin.conf").display().to_string();
    for (more, word) in [
        (vec!["--listen", port.trim_matches('"')], "--listen"),
        (vec!["--listen", "0.0.0.0:0"], "--allow-remote"),
        (vec!["--listen", "localhost:7443"], "must be an IP address"),
        (vec!["--listen", "127.0.0.1:0", "--kubeconfig-out", &nowhere], "is no folder"),
    ] {
        let (status, printed) = ended(Command::new(NETLOOM).arg("server").args(&more).arg("--data-dir").arg(&data));
        assert!(status == 2 && printed.contains(word), "{more:?}: {status} {printed}");
        assert!(!data.exists(), "{more:?} left a folder behind");
    }
    let (status, printed) = ended(Command::new(NETLOOM).args(["gen", "kubeconfig"]));
    assert!(status == 2 && printed.contains("--node <NAME>|--controller"), "{printed}");
}

const STATE: &str = "apiVersion: nmstate.io/v1\nkind: NodeNetworkState\nmetadata:\n  name: NAME\nspec:\n  nodeName: NAME\n  managed: false\n";

#[test]
fn an_agent_has_an_identity_of_its_own() {
    let server = Server::start("server-agent");
    let agent = server.folder.join("agent.kubeconfig");
    let out = agent.display().to_string();
    assert_eq!(server.run(&["gen", "kubeconfig", "--node", "node1", "--out", &out]), (0, String::new()));
    assert_eq!(fs::metadata(&agent).unwrap().permissions().mode() & 0o777, 0o600);
    let as_agent = |words: &[&str]| ended(Command::new(NETLOOM).args(words).env("KUBECONFIG", &agent));
    let own = server.file("own.yaml", &STATE.replace("NAME", "node1"));
    assert_eq!(as_agent(&["apply", "-f", &own]).0, 0);
    let foreign = server.file("foreign.yaml", &STATE.replace("NAME", "node2"));
    let (status, printed) = as_agent(&["apply", "-f", &foreign]);
    assert!(status == 3 && printed.contains("the agent of node \"node1\" may write only"), "{status} {printed}");
    let (status, printed) = as_agent(&["gen", "kubeconfig", "--node", "node2"]);
    assert!(status != 0 && printed.contains("forbidden") && !printed.contains("PRIVATE KEY"), "{status} {printed}");
    let log = fs::read_to_string(server.folder.join("log")).unwrap();
    assert!(log.lines().any(|line| line.contains("refused") && line.contains("netloom:agent:node1")), "{log}");
    let (status, printed) = server.run(&["gen", "kubeconfig", "--node", "Not/A/Node"]);
    assert!(status != 0 && printed.contains("not the name of a node"), "{status} {printed}");
}

#[test]
fn strangers_are_refused_and_logged() {
    let server = Server::start("server-strangers");
    let whole = fs::read_to_string(server.folder.join("kubeconfig")).unwrap();
    let without = |credential: &str| -> String {
        let lines = whole.lines().map(|line| match line.trim_start().split_once(':') {
            Some(("client-certificate-data", _)) => line.replace(line.trim_start(), credential),
            Some(("client-key-data", _)) => String::new(),
            Some(_) | None => line.to_owned(),
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    for (name, credential, reason) in [("nothing", "", "NoCredential"), ("forged", "token: a.forged.token", "BadToken")]
    {
        let file = server.file(name, &without(credential));
        let (status, printed) = ended(Command::new(NETLOOM).args(["get", "nodes"]).env("KUBECONFIG", &file));
        assert!(status == 2 && printed.contains("Unauthorized"), "{name}: {status} {printed}");
        let log = fs::read_to_string(server.folder.join("log")).unwrap();
        assert!(log.lines().any(|line| line.contains("refused") && line.contains(reason)), "{name}: {log}");
    }
}

#[test]
fn the_controller_has_one_too() {
    let server = Server::start("server-controller");
    let (status, text) = server.run(&["gen", "kubeconfig", "--controller"]);
    assert!(status == 0 && text.contains("client-key-data"), "{text}");
    let controller = server.file("controller.kubeconfig", &text);
    let as_controller = |words: &[&str]| ended(Command::new(NETLOOM).args(words).env("KUBECONFIG", &controller));
    let object = server.file("state.yaml", &STATE.replace("NAME", "node2"));
    assert_eq!(as_controller(&["apply", "-f", &object]).0, 0, "it writes objects of every node");
    let (status, printed) = as_controller(&["get", "secrets"]);
    assert!(status != 0 && printed.contains("forbidden"), "{status} {printed}");
    assert_eq!(server.run(&["gen", "kubeconfig"]).0, 2, "whose it shall be must be reported");
    assert_eq!(server.run(&["gen", "kubeconfig", "--controller", "--node", "a"]).0, 2);
}
