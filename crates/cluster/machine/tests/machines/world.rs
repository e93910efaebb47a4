//! The API as the controller and other writers see it: objects with versions, and writes that are refused where what they
//! were decided by is not so any more.

use std::collections::BTreeMap;

use netloom_machine::control::{Ask, Deed, Kind, Libvirt, Node, Scene, decide};
use netloom_patch::{json_patch, merge_patch};
use serde_json::{Value, json};

use crate::instance;

/// A write came too late.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Conflict;

/// Objects of one namespace.
#[derive(Debug, Clone, Default)]
pub(crate) struct World {
    objects: BTreeMap<(Kind, String), Value>,
    version: u64,
    uids: u64,
}

impl World {
    pub(crate) fn with(objects: impl IntoIterator<Item = (Kind, Value)>) -> Self {
        let mut world = Self::default();
        for (kind, object) in objects {
            world.put(kind, object);
        }
        world
    }

    pub(crate) fn get(&self, kind: Kind) -> Option<&Value> {
        self.objects.get(&(kind, "a".to_owned()))
    }

    /// Writes an object in a new version; one that nothing holds any more goes.
    pub(crate) fn put(&mut self, kind: Kind, mut object: Value) {
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        let held = object.pointer("/metadata/finalizers").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
        if object.pointer("/metadata/deletionTimestamp").is_some() && !held {
            self.objects.remove(&(kind, name));
            return;
        }
        self.version += 1;
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        self.objects.insert((kind, name), object);
    }

    /// Somebody writes without looking at what others do.
    pub(crate) fn edit(&mut self, kind: Kind, change: impl FnOnce(&mut Value)) {
        let Some(mut object) = self.get(kind).cloned() else { return };
        let before = object.clone();
        change(&mut object);
        if object != before {
            self.put(kind, object);
        }
    }

    /// A merge patch that names the version it was decided by.
    pub(crate) fn merge(&mut self, kind: Kind, name: &str, patch: &Value) -> Result<(), Conflict> {
        let object = self.objects.get(&(kind, name.to_owned())).ok_or(Conflict)?;
        if patch.pointer("/metadata/resourceVersion") != object.pointer("/metadata/resourceVersion") {
            return Err(Conflict);
        }
        let patched = merge_patch(object, patch).unwrap();
        self.put(kind, patched);
        Ok(())
    }

    /// What the controller asks for now.
    pub(crate) fn asks(&self) -> Vec<Ask> {
        let all = |kind| self.objects.iter().filter(|((of, _), _)| *of == kind).map(|(_, object)| object).collect();
        let libvirt = Some(Libvirt { migrate_in: Some("qemu+unix:///system".to_owned()), migrate_data: None });
        let nodes = BTreeMap::from([("n1".to_owned(), Node { labels: BTreeMap::new(), libvirt })]);
        let (machines, instances, migrations) = (all(Kind::Machine), all(Kind::Instance), all(Kind::Migration));
        decide(&Scene { machines, instances, migrations, nodes, now: "t".to_owned() })
    }

    /// Carries one of them out.
    pub(crate) fn carry(&mut self, ask: &Ask) -> Result<(), Conflict> {
        let place = (ask.kind, ask.name.clone());
        let known = self.objects.get(&place).cloned();
        match (&ask.deed, known) {
            (Deed::Create(created), None) => {
                let mut created = created.clone();
                self.uids += 1;
                created["metadata"]["uid"] = format!("u-{}", self.uids).into();
                self.put(ask.kind, created);
            }
            (Deed::Patch(patch), Some(object)) => {
                let patched = json_patch(&object, patch).map_err(|_| Conflict)?;
                self.put(ask.kind, patched);
            }
            (Deed::Merge(patch), Some(_)) => self.merge(ask.kind, &ask.name, patch)?,
            (Deed::Status(applied), Some(mut object)) => {
                if applied["metadata"]["resourceVersion"] != object["metadata"]["resourceVersion"] {
                    return Err(Conflict);
                }
                object["status"] = applied["status"].clone();
                self.put(ask.kind, object);
            }
            (
                Deed::Delete { uid, resource_version } | Deed::DeleteOrphan { uid, resource_version, .. },
                Some(mut object),
            ) => {
                if json!([uid, resource_version])
                    != json!([object["metadata"]["uid"], object["metadata"]["resourceVersion"]])
                {
                    return Err(Conflict);
                }
                object["metadata"]["deletionTimestamp"] = "t".into();
                self.put(ask.kind, object);
            }
            (Deed::Create(_), Some(_)) | (_, None) => return Err(Conflict),
        }
        Ok(())
    }

    /// Lets the controller do what it asks for until it asks for nothing more.
    pub(crate) fn settle(&mut self) {
        for _ in 0..20 {
            let asks = self.asks();
            if asks.is_empty() {
                return;
            }
            for ask in &asks {
                // What was refused is decided again.
                self.carry(ask).ok();
            }
        }
        panic!("it never rests: {:?}", self.asks());
    }
}

/// An instance that runs with these NICs, all of which are reported.
pub(crate) fn running(nics: &[(&str, &str, &str)]) -> Value {
    let entries: Vec<Value> = nics.iter().map(|(name, ..)| json!({"name": name, "infoSource": "domain"})).collect();
    instance(nics, json!({"phase": "Running", "nodeName": "n1", "interfaces": entries}))
}
