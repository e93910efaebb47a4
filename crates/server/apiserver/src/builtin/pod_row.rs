//! The row of a pod: one word for the state of all its containers.

use jiff::Timestamp;
use serde_json::Value;

use super::{
    columns::{made, name, since},
    json::{at, items, number, text, text_or, truth},
};

/// What the containers say so far.
#[derive(Debug, Default)]
struct Tally {
    reason: String,
    ready: usize,
    restarts: i64,
    last_restart: String,
}

impl Tally {
    fn count_restarts(&mut self, container: &Value) {
        self.restarts += number(container, &["restartCount"]);
        let ended = text(container, &["lastState", "terminated", "finishedAt"]);
        // Times of one form and one zone sort as texts.
        if ended > self.last_restart.as_str() {
            ended.clone_into(&mut self.last_restart);
        }
    }
}

pub(super) fn cells(pod: &Value, now: Timestamp) -> Vec<Value> {
    let sidecars = items(pod, &["spec", "initContainers"]).iter().filter(|one| restarts_always(one)).count();
    let total = items(pod, &["spec", "containers"]).len() + sidecars;
    let tally = tally(pod);
    let restarts = match (tally.restarts, tally.last_restart.as_str()) {
        (0, _) | (_, "") => tally.restarts.to_string(),
        (restarts, last) => format!("{restarts} ({} ago)", since(last, now)),
    };
    let address = items(pod, &["status", "podIPs"]).first().map_or("", |address| text(address, &["ip"]));
    let address = if address.is_empty() { "<none>" } else { address };
    vec![
        name(pod),
        format!("{}/{total}", tally.ready).into(),
        state(pod, tally.reason).into(),
        restarts.into(),
        made(pod, now),
        address.into(),
        text_or(pod, &["spec", "nodeName"], "<none>").into(),
        text_or(pod, &["status", "nominatedNodeName"], "<none>").into(),
        gates(pod).into(),
    ]
}

/// The word of the containers, unless the pod as a whole is going.
fn state(pod: &Value, reason: String) -> String {
    let going = at(pod, &["metadata", "deletionTimestamp"]).is_some();
    let over = matches!(text(pod, &["status", "phase"]), "Succeeded" | "Failed");
    if going && text(pod, &["status", "reason"]) == "NodeLost" {
        "Unknown".to_owned()
    } else if going && !over {
        "Terminating".to_owned()
    } else {
        reason
    }
}

fn tally(pod: &Value) -> Tally {
    let reason = match text(pod, &["status", "reason"]) {
        "" => text(pod, &["status", "phase"]).to_owned(),
        reason => reason.to_owned(),
    };
    let gated = items(pod, &["status", "conditions"])
        .iter()
        .any(|one| one["type"] == "PodScheduled" && one["reason"] == "SchedulingGated");
    let reason = if gated { "SchedulingGated".to_owned() } else { reason };
    let mut tally = Tally { reason, ..Tally::default() };
    let mut sidecars = Tally::default();
    let initializing = initializing(pod, &mut tally, &mut sidecars);
    if !initializing || condition(pod, "Initialized") {
        tally.restarts = sidecars.restarts;
        tally.last_restart = sidecars.last_restart;
        running(pod, &mut tally);
    }
    tally
}

/// Goes through the containers that run first; says whether one of them is not done.
fn initializing(pod: &Value, tally: &mut Tally, sidecars: &mut Tally) -> bool {
    let specified = items(pod, &["spec", "initContainers"]);
    for (index, container) in items(pod, &["status", "initContainerStatuses"]).iter().enumerate() {
        tally.count_restarts(container);
        let sidecar = specified.iter().any(|one| one["name"] == container["name"] && restarts_always(one));
        if sidecar {
            sidecars.count_restarts(container);
        }
        let ended = at(container, &["state", "terminated"]);
        let waiting = text(container, &["state", "waiting", "reason"]);
        tally.reason = match ended {
            Some(ended) if number(ended, &["exitCode"]) == 0 => continue,
            _ if sidecar && truth(container, &["started"]) => {
                tally.ready += usize::from(truth(container, &["ready"]));
                continue;
            }
            Some(ended) => format!("Init:{}", end(ended)),
            None if !waiting.is_empty() && waiting != "PodInitializing" => format!("Init:{waiting}"),
            None => format!("Init:{index}/{}", specified.len()),
        };
        return true;
    }
    false
}

/// Goes through the containers proper, the first one last: its word counts.
fn running(pod: &Value, tally: &mut Tally) {
    let (mut any_running, mut failure) = (false, String::new());
    for container in items(pod, &["status", "containerStatuses"]).iter().rev() {
        tally.count_restarts(container);
        let waiting = text(container, &["state", "waiting", "reason"]);
        if !waiting.is_empty() {
            waiting.clone_into(&mut tally.reason);
        } else if let Some(ended) = at(container, &["state", "terminated"]) {
            tally.reason = end(ended);
            if number(ended, &["exitCode"]) != 0 {
                tally.reason.clone_into(&mut failure);
            }
        } else if truth(container, &["ready"]) && at(container, &["state", "running"]).is_some() {
            any_running = true;
            tally.ready += 1;
        }
    }
    if tally.reason == "Completed" {
        if any_running && condition(pod, "Ready") {
            "Running".clone_into(&mut tally.reason);
        } else if !failure.is_empty() {
            tally.reason = failure;
        } else if any_running {
            "NotReady".clone_into(&mut tally.reason);
        }
    }
}

/// Why a container ended, in a word.
fn end(ended: &Value) -> String {
    match (text(ended, &["reason"]), number(ended, &["signal"])) {
        ("", 0) => format!("ExitCode:{}", number(ended, &["exitCode"])),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

fn gates(pod: &Value) -> String {
    let gates = items(pod, &["spec", "readinessGates"]);
    let open = gates.iter().filter(|gate| condition(pod, text(gate, &["conditionType"]))).count();
    if gates.is_empty() { "<none>".to_owned() } else { format!("{open}/{}", gates.len()) }
}

fn condition(pod: &Value, kind: &str) -> bool {
    items(pod, &["status", "conditions"]).iter().any(|one| one["type"] == kind && one["status"] == "True")
}

fn restarts_always(container: &Value) -> bool {
    container["restartPolicy"] == "Always"
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(pod: &Value) -> [String; 3] {
        let cells = cells(pod, "2026-01-01T00:02:00Z".parse().unwrap());
        [1, 2, 3].map(|index: usize| cells[index].as_str().unwrap().to_owned())
    }

    #[test]
    fn states_have_one_word() {
        let ready = json!([{"type": "Ready", "status": "True"}]);
        let spec = json!({"containers": [{"name": "a"}, {"name": "b"}]});
        let up = json!({"ready": true, "state": {"running": {}}});
        let done = json!({"state": {"terminated": {"exitCode": 0, "reason": "Completed"}}});
        let failed = json!({"state": {"terminated": {"exitCode": 1, "reason": "Error"}}});
        let restarted = json!({"ready": true, "state": {"running": {}}, "restartCount": 2,
            "lastState": {"terminated": {"finishedAt": "2026-01-01T00:01:00Z"}}});
        let pulling = json!({"state": {"waiting": {"reason": "ImagePullBackOff"}}});
        let table = [
            (json!([up, restarted]), ["2/2", "Running", "2 (60s ago)"]),
            (json!([pulling, up]), ["1/2", "ImagePullBackOff", "0"]),
            (json!([done, up]), ["1/2", "Running", "0"]),
            (json!([done, failed]), ["0/2", "Error", "0"]),
        ];
        for (statuses, expected) in table {
            let status = json!({"phase": "Running", "conditions": ready, "containerStatuses": statuses});
            assert_eq!(row(&json!({"spec": spec, "status": status})), expected, "{statuses}");
        }
    }

    #[test]
    fn first_containers_come_first() {
        let pod = json!({
            "spec": {"initContainers": [{"name": "i"}, {"name": "j"}], "containers": [{"name": "a"}]},
            "status": {"phase": "Pending", "initContainerStatuses": [
                {"name": "i", "state": {"terminated": {"exitCode": 0}}},
                {"name": "j", "state": {"running": {}}},
            ]},
        });
        assert_eq!(row(&pod), ["0/1", "Init:1/2", "0"]);
    }

    #[test]
    fn a_deleted_pod_is_terminating() {
        let pod = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "status": {"phase": "Running"}});
        assert_eq!(row(&pod), ["0/0", "Terminating", "0"]);
    }
}
