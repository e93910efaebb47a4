//! An informer of Go's client library beside both servers: what Go controllers see, and how they ask.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    time::Duration,
};

use netloom_testkit::{
    runner::{Ended, Outcome},
    timeouts::stretched,
};
use serde_json::Value;

use crate::{Stage, perform::Performer, script, servers::Server};

/// What is watched, with which of Go's clients.
pub(crate) const WATCHES: &[(&str, &str)] =
    &[("typed", "v1/configmaps"), ("dynamic", "v1/configmaps"), ("metadata", "v1/configmaps")];

/// How long an informer may take to tell something.
const TIME_LIMIT: Duration = Duration::from_secs(30);

const BEFORE: &str = "\
### a namespace
POST /api/v1/namespaces

{apiVersion: v1, kind: Namespace, metadata: {name: \"{{ns}}\"}}

### one that is there
POST /api/v1/namespaces/{{ns}}/configmaps

{apiVersion: v1, kind: ConfigMap, metadata: {name: there, labels: {n: \"1\"}}}
";

const AFTER: &str = "\
### one that comes
POST /api/v1/namespaces/{{ns}}/configmaps

{apiVersion: v1, kind: ConfigMap, metadata: {name: comes}}

### one that changes
PATCH merge /api/v1/namespaces/{{ns}}/configmaps/there

{metadata: {labels: {n: \"2\"}}}

### one that goes
DELETE /api/v1/namespaces/{{ns}}/configmaps/comes
";

const EXPECTED: &[&str] = &["add there n=1", "synced", "add comes", "update there n=2", "delete comes"];

/// Runs one informer with each server.
pub(crate) fn watch(stage: &Stage, client: &str, resource: &str) -> Outcome {
    for (side, server) in &stage.servers {
        let seen = observe(stage, server, client, resource);
        seen.map_err(|why| format!("with the {} server: {why}", side.name()))?;
    }
    Ok(Ended::OK)
}

fn observe(stage: &Stage, server: &Server, client: &str, resource: &str) -> Result<(), String> {
    let namespace = format!("informer-{client}");
    change(stage, server, &namespace, BEFORE)?;
    let mut child = Command::new(stage.programs.peers.join("informer"))
        .args(["--client", client, "--resource", resource, "--namespace", &namespace, "--kubeconfig"])
        .arg(&server.kubeconfig)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("informer: {error}"))?;
    let reported = lines(&mut child)?;
    let seen = until(&reported, "synced", Vec::new()).and_then(|seen| {
        change(stage, server, &namespace, AFTER)?;
        until(&reported, "delete comes", seen)
    });
    // Its standard input ends, and so does it.
    drop(child.stdin.take());
    child.wait().map_err(|error| error.to_string())?;
    judge(&seen?)
}

fn change(stage: &Stage, server: &Server, namespace: &str, text: &str) -> Result<(), String> {
    let saved = [("ns".to_owned(), namespace.to_owned())].into();
    let steps = script::parse(text)?;
    let answers = stage.runtime.block_on(Performer::new(&server.wire, saved).run(&steps));
    match answers.iter().find(|answer| answer["code"].as_u64().is_none_or(|code| code >= 300)) {
        Some(answer) => Err(format!("could not set the scene: {answer}")),
        None => Ok(()),
    }
}

fn lines(child: &mut Child) -> Result<Receiver<Value>, String> {
    let output = child.stdout.take().ok_or("no standard output")?;
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            let sent = serde_json::from_str(&line).map(|event| sender.send(event));
            if !matches!(sent, Ok(Ok(()))) {
                break;
            }
        }
    });
    Ok(receiver)
}

/// Takes lines until one says the word.
fn until(reported: &Receiver<Value>, last: &str, mut seen: Vec<Value>) -> Result<Vec<Value>, String> {
    loop {
        match reported.recv_timeout(stretched(TIME_LIMIT)) {
            Ok(event) => {
                let found = words(&event) == last;
                seen.push(event);
                if found {
                    return Ok(seen);
                }
            }
            Err(_) => return Err(format!("it never reported {last:?}; it reported {seen:?}")),
        }
    }
}

fn words(event: &Value) -> String {
    let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
    let label = event["labels"]["n"].as_str().map(|n| format!("n={n}")).unwrap_or_default();
    [text("event"), text("name"), label].join(" ").trim().to_owned()
}

fn judge(seen: &[Value]) -> Result<(), String> {
    let (requests, events): (Vec<&Value>, Vec<&Value>) = seen.iter().partition(|event| event["event"] == "request");
    let events: Vec<String> = events.into_iter().map(words).collect();
    // The first object and the word that all are there are sent by two goroutines.
    let mut sorted = (events.clone(), EXPECTED.to_vec());
    sorted.0[..2.min(events.len())].sort();
    sorted.1[..2].sort_unstable();
    if sorted.0 != sorted.1 {
        return Err(format!("the informer saw {events:?}"));
    }
    let request = |event: &Value| event["request"].as_str().unwrap_or_default().to_owned();
    let streamed =
        requests.iter().any(|event| request(event).contains("sendInitialEvents=true") && event["status"] == 200);
    let listed = requests.iter().any(|event| !request(event).contains("watch=true"));
    if !streamed || listed {
        return Err(format!("the informer did not get its state as a stream: {requests:?}"));
    }
    Ok(())
}
