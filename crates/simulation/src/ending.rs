//! How a run ends: whether every node has what was wished for and says so, and whether all is quiet then.

use serde_json::{Value, json};

use crate::{Cluster, Micros, WIRE, Wanted, people};

/// The conditions of a node that has what it shall have.
const WELL: [(&str, &str); 4] =
    [("Managed", "True"), ("Available", "True"), ("Progressing", "False"), ("Degraded", "False")];

impl Cluster {
    /// Everything that is not yet as the last wish of a person has it.
    pub fn missing(&self, wanted: Wanted) -> Vec<String> {
        let mut missing = Vec::new();
        for number in 0..self.nodes.len() {
            missing.extend(self.missing_on(number, wanted));
        }
        let total = self.nodes.len();
        let revisions = self.server.list(people::REVISION);
        let active = revisions.filter(|revision| revision["status"]["phase"] == "Active").count();
        if active != 1 {
            missing.push(format!("{active} revisions are active"));
        }
        let policy = self.server.get(&people::policy());
        let matched = policy.map(|policy| &policy["status"]["matchedNodes"]);
        if matched != Some(&json!(total)) {
            missing.push(format!("the policy says that it is for {matched:?} nodes"));
        }
        missing
    }

    fn missing_on(&self, number: usize, wanted: Wanted) -> Vec<String> {
        let mut missing = Vec::new();
        let mut miss = |what: String| missing.push(format!("{}: {what}", people::name(number)));
        let Wanted::Mtu(mtu) = wanted else { return vec!["nobody can have that".to_owned()] };
        if self.host(number).mtu(WIRE) != Some(mtu) {
            miss(format!("{WIRE} has MTU {:?}", self.host(number).mtu(WIRE)));
        }
        let Some(state) = self.server.get(&people::state_of(number)) else {
            miss("has no network state".to_owned());
            return missing;
        };
        for (kind, status) in WELL {
            let found = condition(state, kind);
            if found["status"] != status {
                miss(format!("{kind} is {found}"));
            }
        }
        let Some(config) = self.server.get(&people::config_of(number)) else {
            miss("has no configuration".to_owned());
            return missing;
        };
        let (spec, status) = (&config["spec"], &config["status"]);
        let answered = status["configStatus"] == "provisioned"
            && status["lastAppliedRevision"] == spec["revision"]
            && status["observedGeneration"] == config["metadata"]["generation"];
        if !answered {
            miss(format!("was told {spec} and answered {status}"));
        }
        missing
    }

    /// Runs until everything is as wished for, at most until `end`; says when that was.
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
            let state = self.server.get(&people::state_of(number));
            let config = self.server.get(&people::config_of(number));
            let said = WELL.map(|(kind, _)| {
                let found = state.map(|state| condition(state, kind)).unwrap_or_default();
                json!([kind, found["status"], found["reason"]])
            });
            json!({
                "links": links,
                "wish": state.map(|state| &state["spec"]),
                "said": said,
                "told": config.map(|config| &config["spec"]),
                "answered": config.map(|config| json!([config["status"]["configStatus"], config["status"]["lastAppliedRevision"]])),
                "disk": self.nodes[number].disk.as_ref().and_then(|kept| kept.wish.as_ref()).map(|wish| &wish.document),
            })
        });
        let revisions = self.server.list(people::REVISION).map(|revision| {
            let status = &revision["status"];
            json!([revision["metadata"]["name"], status["isInvalid"], status["failedNode"], status["phase"]])
        });
        json!({"nodes": nodes.collect::<Vec<_>>(), "revisions": revisions.collect::<Vec<_>>()})
    }
}

fn condition(object: &Value, kind: &str) -> Value {
    let all = object.pointer("/status/conditions").and_then(Value::as_array);
    all.into_iter().flatten().find(|condition| condition["type"] == kind).cloned().unwrap_or_default()
}
