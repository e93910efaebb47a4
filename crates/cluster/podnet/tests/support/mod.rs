//! An API that is a map, and the objects of these tests.

use std::{collections::BTreeMap, sync::Arc};

use netloom_api::podnet::DANM_NET;
use netloom_object::{Action, Answer, Chain, Change, GroupKind, ObjectRef, Request, RequestId};
use serde_json::{Value, json};

/// The API: objects by kind and names, each with a version, a generation and a UID.
#[derive(Default)]
pub struct Api {
    pub objects: BTreeMap<ObjectRef, Value>,
    version: u64,
    pub writes: usize,
    /// Writes of networks.
    pub pictures: usize,
    /// What happened, for those who hear of it one by one.
    pub log: Vec<Change>,
}

/// Lays a merge patch over an object.
fn merge(under: &mut Value, patch: Value) {
    match patch {
        Value::Object(fields) => {
            if !under.is_object() {
                *under = json!({});
            }
            for (key, value) in fields {
                if value.is_null() {
                    under.as_object_mut().expect("an object").remove(&key);
                } else {
                    merge(&mut under[key], value);
                }
            }
        }
        other => *under = other,
    }
}

impl Api {
    pub fn put(&mut self, kind: GroupKind<'static>, object: Value) {
        let reference = ObjectRef::among([kind].into_iter(), &object).expect("an object of the kind");
        let mut object = object;
        self.version += 1;
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        if object["metadata"]["uid"].is_null() {
            object["metadata"]["uid"] =
                format!("uid-{}", object["metadata"]["name"].as_str().unwrap_or_default()).into();
        }
        self.log.push(Change::Put(Arc::new(object.clone())));
        self.objects.insert(reference, object);
    }

    /// Takes an object out, if it is there.
    pub fn remove(&mut self, reference: &ObjectRef) {
        if let Some(mut object) = self.objects.remove(reference) {
            self.version += 1;
            object["metadata"]["resourceVersion"] = self.version.to_string().into();
            self.log.push(Change::Gone(Arc::new(object)));
        }
    }

    pub fn list(&self, kind: GroupKind<'static>) -> Vec<Arc<Value>> {
        let own = self.objects.iter().filter(|(reference, _)| reference.kind == kind);
        own.map(|(_, object)| Arc::new(object.clone())).collect()
    }

    /// Carries requests out as a server would.
    pub fn perform(&mut self, chain: Chain) -> Vec<(RequestId, Answer)> {
        chain.0.into_iter().map(|request| (request.id, self.execute(&request).0)).collect()
    }

    /// Carries a request out, and gives what is known after it.
    pub fn execute(&mut self, request: &Request) -> (Answer, Option<Change>) {
        *(if request.target.kind == DANM_NET { &mut self.pictures } else { &mut self.writes }) += 1;
        let stored = self.objects.get(&request.target).cloned();
        let fits =
            |version: &Value| stored.as_ref().is_some_and(|stored| stored["metadata"]["resourceVersion"] == *version);
        let kind = request.target.kind;
        let answer = match request.action.clone() {
            Action::Create { mut object } => {
                if stored.is_none() {
                    object["metadata"]["generation"] = 1.into();
                    self.put(kind, object);
                }
                Answer::Done
            }
            Action::Patch { patch } if fits(&patch["metadata"]["resourceVersion"]) => {
                let mut object = stored.unwrap_or_default();
                merge(&mut object, patch);
                let generation = object["metadata"]["generation"].as_i64().unwrap_or_default();
                object["metadata"]["generation"] = (generation + 1).into();
                self.put(kind, object);
                Answer::Done
            }
            Action::ApplyStatus { object } if fits(&object["metadata"]["resourceVersion"]) => {
                let mut stored = stored.unwrap_or_default();
                stored["status"] = object["status"].clone();
                self.put(kind, stored);
                Answer::Done
            }
            Action::Delete { resource_version, .. } if fits(&json!(resource_version)) => {
                self.remove(&request.target);
                return (Answer::Done, self.log.last().cloned());
            }
            _ => Answer::Refused,
        };
        let after = self.objects.get(&request.target).cloned();
        (answer, after.map(|object| Change::Put(Arc::new(object))))
    }
}

pub fn network(options: &Value) -> Value {
    json!({
        "apiVersion": "danm.k8s.io/v1", "kind": "DanmNet", "metadata": {"namespace": "default", "name": "n1", "uid": "u-n1"},
        "spec": {"NetworkID": "n1", "NetworkType": "ipvlan", "Options": options},
    })
}

pub fn pod(name: &str, node: &str, interfaces: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"namespace": "default", "name": name, "labels": {"app": name}, "annotations": {"danm.k8s.io/interfaces": interfaces}},
        "spec": {"nodeName": node},
    })
}
