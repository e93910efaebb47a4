//! How a run ends: whether every node has what was desired and says so, and whether all is quiet then.

use std::collections::BTreeSet;

use netloom_agent_core::Mode;
use netloom_controller_core::Kinds;
use serde_json::{Map, Value, json};

use crate::{Cluster, Host, Micros, WIRE, Wanted, story::target, users};

/// The conditions of a node that has what it shall have.
const WELL: [(&str, &str); 4] =
    [("Managed", "True"), ("Available", "True"), ("Progressing", "False"), ("Degraded", "False")];

impl Cluster {
    /// Everything that is not yet as the last desired state of a person has it.
    pub fn missing(&self, wanted: Wanted) -> Vec<String> {
        let mut missing = Vec::new();
        for number in 0..self.nodes.len() {
            missing.extend(self.missing_on(number, wanted));
        }
        let total = self.nodes.len();
        let revisions = self.server.list(users::REVISION);
        let active = revisions.filter(|revision| revision["status"]["phase"] == "Active").count();
        // Where all merge policies themselves nobody takes a revision, unless there is a host network in it.
        let taken = self.nodes.iter().any(|node| node.mode == Mode::Centralized);
        if active > 1 || (taken && active != 1) {
            missing.push(format!("{active} revisions are active"));
        }
        let policy = self.server.get(&users::policy());
        let matched = policy.map(|policy| &policy["status"]["matchedNodes"]);
        if matched != Some(&json!(total)) {
            missing.push(format!("the policy says that it is for {matched:?} nodes"));
        }
        missing.extend(self.missing_networks());
        missing
    }

    /// What nodes of racks and of the host network lack.
    fn missing_networks(&self) -> Vec<String> {
        let mut missing = Vec::new();
        let network = target("HostNetworkConfig", users::NETWORK).and_then(|target| self.server.get(&target));
        let ready = network.map(|network| network["status"]["conditions"][0]["status"].clone());
        if ready.is_some_and(|ready| ready != "True") || network.is_some_and(|it| is_leaving(it)) {
            missing.push(format!("the host network is {network:?}"));
        }
        for number in 0..self.nodes.len() {
            let has = |link: &str| self.host(number).mtu(link).is_some();
            let node = self.server.get(&users::node_of(number));
            let inside = node.is_some_and(|node| node["metadata"]["labels"]["rack"] == "a");
            if inside && !has(users::RACK) {
                missing.push(format!("{}: {} is missing", users::name(number), users::RACK));
            }
            let report = network.map(|_| reported(self.host(number)).to_string());
            if report.is_some_and(|report| !report.contains(&users::address(number))) {
                missing.push(format!("{}: it is not in the host network", users::name(number)));
            }
        }
        missing
    }

    fn missing_on(&self, number: usize, wanted: Wanted) -> Vec<String> {
        let mut missing = Vec::new();
        let mut miss = |what: String| missing.push(format!("{}: {what}", users::name(number)));
        let Wanted::Mtu(mtu) = wanted else { return vec!["nobody can have that".to_owned()] };
        if self.host(number).mtu(WIRE) != Some(mtu) {
            miss(format!("{WIRE} has MTU {:?}", self.host(number).mtu(WIRE)));
        }
        let Some(state) = self.server.get(&users::state_of(number)) else {
            miss("has no network state".to_owned());
            return missing;
        };
        for (kind, status) in WELL {
            let found = condition(state, kind);
            if found["status"] != status {
                miss(format!("{kind} is {found}"));
            }
        }
        let Some(config) = self.server.get(&users::config_of(number)) else {
            miss("has no configuration".to_owned());
            return missing;
        };
        let (spec, status) = (&config["spec"], &config["status"]);
        let answered = status["configStatus"] == "provisioned"
            && status["lastAppliedRevision"] == spec["revision"]
            && status["observedGeneration"] == config["metadata"]["generation"];
        if !answered {
            miss(format!("was assigned {spec} and answered {status}"));
        }
        missing
    }

    /// Runs until everything is as desired, at most until `end`; says when that was.
    pub fn run_until_reached(&mut self, wanted: Wanted, end: Micros) -> Option<Micros> {
        while self.violations().is_empty() && self.now() < end {
            if self.missing(wanted).is_empty() {
                return Some(self.now());
            }
            self.run_until(self.now() + crate::SECOND / 4);
        }
        None
    }

    /// Everything that counts in the end, without times and numbers that a death may change.
    pub fn ending(&self) -> Value {
        let nodes = (0..self.nodes.len()).map(|number| {
            let links = &self.host(number).observed().links;
            let links: Vec<Value> = links.keys().map(|name| json!([name.as_str(), self.host(number).mtu(name.as_str())])).collect();
            let state = self.server.get(&users::state_of(number));
            let config = self.server.get(&users::config_of(number));
            let conditions = WELL.map(|(kind, _)| {
                let found = state.map(|state| condition(state, kind)).unwrap_or_default();
                json!([kind, found["status"], found["reason"]])
            });
            json!({
                "links": links,
                "wish": state.map(|state| &state["spec"]),
                "said": conditions,
                "told": config.map(|config| &config["spec"]),
                "answered": config.map(|config| json!([config["status"]["configStatus"], config["status"]["lastAppliedRevision"]])),
                "disk": self.nodes[number].disk.as_ref().and_then(|kept| kept.desired.as_ref()).map(|desired| &desired.document),
            })
        });
        let revisions = self.server.list(users::REVISION).map(|revision| {
            let status = &revision["status"];
            json!([revision["metadata"]["name"], status["isInvalid"], status["failedNode"], status["phase"]])
        });
        json!({"nodes": nodes.collect::<Vec<_>>(), "revisions": revisions.collect::<Vec<_>>()})
    }
}

impl Cluster {
    /// Everything that there is in the end, on the server and on nodes, without times and numbers that a death may
    /// change.
    pub(crate) fn everything(&self) -> Value {
        let objects = Kinds::built_in().all().iter().flat_map(|kind| self.server.list(*kind));
        // A desired state that another one followed at once may never have become a revision.
        let objects = objects.filter(|object| object["status"]["phase"] != "Superseded");
        let objects = objects.map(|object| {
            let (kind, name) = (text(object, "/kind"), text(object, "/metadata/name"));
            (format!("{kind} {name}"), timeless(object, object["metadata"]["generation"].as_i64()))
        });
        let nodes = self.nodes.iter().enumerate().map(|(number, node)| {
            let desired = node.disk.as_ref().and_then(|kept| kept.desired.as_ref());
            let assigned = desired.and_then(|desired| desired.config.as_ref());
            let host = json!({
                "links": timeless(&reported(&node.host), None),
                "owned": format!("{:?}", node.host.owned()),
                "listening": node.listening.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "kept": desired.map(|desired| json!([desired.document, assigned.map(|assigned| &assigned.host), assigned.map(|assigned| &assigned.revision)])),
            });
            (users::name(number), host)
        });
        let (objects, nodes): (Map<String, Value>, Map<String, Value>) = (objects.collect(), nodes.collect());
        json!({"objects": objects, "nodes": nodes})
    }
}

/// A host as its node would report it.
pub(crate) fn reported(host: &Host) -> Value {
    netloom_agent_core::current_state(host.observed(), &netloom_agent_core::Heard::new(), BTreeSet::new())
}

/// Fields that two runs with the same end do not have in common. A digest names what a node was assigned when its
/// objects were first written; that the two belong together follows from the node's answer.
const FLEETING: [&str; 14] = [
    "uid",
    "resourceVersion",
    "generation",
    "durationMs",
    "count",
    "ifIndex",
    "index",
    "masterIndex",
    "netloom.dev/sequence",
    "digest",
    "netloom.dev/digest",
    "attempt",
    "attempts",
    "failedUnder",
];

/// An object without what is another one with each run: times, versions and counts. Of what it says about its
/// generation, it stays whether that is the present one.
fn timeless(value: &Value, generation: Option<i64>) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(name, _)| !FLEETING.contains(&name.as_str()));
            let known = kept.map(|(name, value)| {
                let current = name == "observedGeneration" && value.as_i64().is_some();
                let value = if current { json!(value.as_i64() == generation) } else { timeless(value, generation) };
                (name.clone(), value)
            });
            known.collect::<Map<_, _>>().into()
        }
        Value::Array(items) => {
            let mut items: Vec<Value> = items.iter().map(|item| timeless(item, generation)).collect();
            if items.iter().all(|item| item.get("type").is_some()) {
                items.sort_by_key(|item| item["type"].to_string());
            }
            items.into()
        }
        Value::String(text) if text.parse::<jiff::Timestamp>().is_ok() => json!("(time)"),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Where two values differ.
pub(crate) fn differences(found: &Value, wanted: &Value) -> Vec<String> {
    let mut all = Vec::new();
    compare("", found, wanted, &mut all);
    all
}

fn compare(path: &str, found: &Value, wanted: &Value, all: &mut Vec<String>) {
    match (found, wanted) {
        (Value::Object(one), Value::Object(other)) => {
            let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            for name in names {
                let of = |fields: &Map<String, Value>| fields.get(name).cloned().unwrap_or_default();
                compare(&format!("{path}/{name}"), &of(one), &of(other), all);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (place, (found, wanted)) in one.iter().zip(other).enumerate() {
                compare(&format!("{path}/{place}"), found, wanted, all);
            }
        }
        (found, wanted) if found != wanted => all.push(format!("{path} is {found} instead of {wanted}")),
        (_, _) => {}
    }
}

fn is_leaving(object: &Value) -> bool {
    object["metadata"].get("deletionTimestamp").is_some()
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn condition(object: &Value, kind: &str) -> Value {
    let all = object.pointer("/status/conditions").and_then(Value::as_array);
    all.into_iter().flatten().find(|condition| condition["type"] == kind).cloned().unwrap_or_default()
}
