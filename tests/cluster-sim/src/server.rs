//! An API server as far as anybody's requests go: versions, generations, uids, preconditions, fields by
//! writer, deletion with what belongs to the deleted, and a log of everything for those who watch.
//!
//! It is not a model of admission. Of storage it has what a writer meets: an object that is larger than what a server
//! stores is refused. A write that changes nothing makes no version and no event.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use netloom_api::GroupKind;
use netloom_compile::ObjectKey;
use netloom_controller_core::Kinds;
use netloom_object::{Action, Change, ObjectRef, Request, with_late};
use serde_json::{Value, json};

use crate::fields::{self, Path};

/// Why a request was not carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such object.
    NotFound,
    /// It is not the object, or not the version, that the request is about.
    Conflict,
    /// It is no patch.
    Malformed,
    /// It is more than a server stores in one object.
    TooLarge,
}

/// The most bytes of one object: what etcd takes in one request unless set otherwise.
pub(crate) const MOST: usize = 3 << 19;

/// Something that happened to an object.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The version that it made.
    pub version: u64,
    /// The object.
    pub object: ObjectRef,
    /// What happened; never a list.
    pub change: Change,
}

/// Who has which fields of an object, and in which part of it.
type Owner = (ObjectRef, String, bool);

/// Everything that the server has.
#[derive(Debug, Clone, Default)]
pub struct Server {
    objects: BTreeMap<ObjectRef, Arc<Value>>,
    owned: BTreeMap<Owner, BTreeSet<Path>>,
    version: u64,
    log: Vec<Entry>,
}

impl Server {
    /// The version of the last change.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Everything that happened.
    pub fn log(&self) -> &[Entry] {
        &self.log
    }

    /// An object.
    pub fn get(&self, object: &ObjectRef) -> Option<&Arc<Value>> {
        self.objects.get(object)
    }

    /// Every object of a kind.
    pub fn list(&self, kind: GroupKind<'static>) -> impl Iterator<Item = &Arc<Value>> {
        let first = ObjectRef { kind, key: ObjectKey::new("", "") };
        self.objects.range(first..).take_while(move |(object, _)| object.kind == kind).map(|(_, value)| value)
    }

    /// Every object of a kind as it was at a version.
    pub fn list_at(&self, kind: GroupKind<'_>, version: u64) -> Vec<Arc<Value>> {
        let mut objects: BTreeMap<&ObjectRef, Arc<Value>> = BTreeMap::new();
        for entry in self.log.iter().take_while(|entry| entry.version <= version) {
            match &entry.change {
                Change::Put(object) if entry.object.kind == kind => {
                    objects.insert(&entry.object, object.clone());
                }
                Change::Gone(_) => {
                    objects.remove(&entry.object);
                }
                Change::Put(_) | Change::Listed { .. } => {}
            }
        }
        objects.into_values().collect()
    }

    /// Carries a request out, and answers with what the object is then.
    pub fn perform(&mut self, now: Timestamp, manager: &str, request: &Request) -> Result<Change, Refusal> {
        let target = &request.target;
        let known = self.objects.get(target).cloned();
        match &request.action {
            Action::Create { object } => {
                if let Some(known) = known {
                    return Ok(Change::Put(known));
                }
                self.fits(target, object)?;
                Ok(self.store(now, target, object.clone()))
            }
            Action::Apply { object, late } => {
                self.expect(target, object)?;
                self.apply(now, target, manager, false, &with_late(object, late.as_ref()))
            }
            Action::ApplyStatus { object } => {
                known.ok_or(Refusal::NotFound)?;
                self.expect(target, object)?;
                self.apply(now, target, manager, true, object)
            }
            Action::Patch { patch } => {
                let known = known.ok_or(Refusal::NotFound)?;
                self.expect(target, patch)?;
                let object = netloom_patch::merge_patch(&known, patch).map_err(|_| Refusal::Malformed)?;
                self.fits(target, &object)?;
                Ok(self.store(now, target, object))
            }
            Action::PatchTested { patch } => {
                let known = known.ok_or(Refusal::NotFound)?;
                let object = netloom_patch::json_patch(&known, patch).map_err(|_| Refusal::Conflict)?;
                self.fits(target, &object)?;
                Ok(self.store(now, target, object))
            }
            // What follows would be right; nobody who is simulated asks.
            Action::Absent { .. } => known.map(Change::Put).ok_or(Refusal::NotFound),
            Action::Delete { uid, resource_version } => {
                known.ok_or(Refusal::NotFound)?;
                self.expect(target, &json!({"metadata": {"uid": uid, "resourceVersion": resource_version}}))?;
                self.remove(now, target).ok_or(Refusal::NotFound)
            }
        }
    }

    /// Somebody who is not ours writes an object; of one that is there the status and what others noted on it stay.
    pub fn write(&mut self, now: Timestamp, object: Value) {
        let Some(target) = reference(&object) else { return };
        let Some(known) = self.objects.get(&target).cloned() else {
            self.store(now, &target, object);
            return;
        };
        let mut all = (*known).clone();
        all["metadata"] = netloom_patch::merge_patch(&known["metadata"], &object["metadata"]).unwrap_or_default();
        for (field, value) in object.as_object().into_iter().flatten().filter(|(field, _)| *field != "metadata") {
            all[field] = value.clone();
        }
        self.store(now, &target, all);
    }

    /// Somebody who is not ours changes an object that is there; says whether it is.
    pub fn edit(&mut self, now: Timestamp, target: &ObjectRef, change: impl FnOnce(&mut Value)) -> bool {
        let Some(known) = self.objects.get(target) else { return false };
        let mut object = (**known).clone();
        change(&mut object);
        self.store(now, target, object);
        true
    }

    /// Removes an object, or marks it as deleted while something holds it.
    pub fn remove(&mut self, now: Timestamp, target: &ObjectRef) -> Option<Change> {
        let known = self.objects.get(target)?;
        if !is_held(known) {
            return self.forget(target);
        }
        let mut object = (**known).clone();
        if object["metadata"].get("deletionTimestamp").is_none() {
            object["metadata"]["deletionTimestamp"] = json!(whole_seconds(now));
        }
        Some(self.store(now, target, object))
    }

    /// Takes an object away, and what belongs to it.
    fn forget(&mut self, target: &ObjectRef) -> Option<Change> {
        let mut last = (*self.objects.remove(target)?).clone();
        self.owned.retain(|(object, ..), _| object != target);
        self.version += 1;
        let uid = last["metadata"]["uid"].clone();
        last["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let change = Change::Gone(Arc::new(last));
        self.log.push(Entry { version: self.version, object: target.clone(), change: change.clone() });
        let belongs = |object: &Value| {
            let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
            owners.into_iter().flatten().any(|owner| owner["uid"] == uid)
        };
        let orphans: Vec<ObjectRef> =
            self.objects.iter().filter(|(_, object)| belongs(object)).map(|(object, _)| object.clone()).collect();
        for orphan in orphans {
            self.forget(&orphan);
        }
        Some(change)
    }

    /// Whether the object is the one that a write was made for.
    fn expect(&self, target: &ObjectRef, given: &Value) -> Result<(), Refusal> {
        let known = self.objects.get(target);
        for field in ["/metadata/uid", "/metadata/resourceVersion"] {
            let wanted = given.pointer(field).filter(|wanted| wanted.as_str().is_some_and(|text| !text.is_empty()));
            if wanted.is_some() && wanted != known.and_then(|known| known.pointer(field)) {
                return Err(Refusal::Conflict);
            }
        }
        Ok(())
    }

    /// Whether a server stores an object of that size: what it says, and who manages which of its fields.
    fn fits(&self, target: &ObjectRef, object: &Value) -> Result<(), Refusal> {
        let first = (target.clone(), String::new(), false);
        let managed = self.owned.range(first..).take_while(|(other, _)| other.0 == *target).flat_map(|(_, all)| all);
        // Written as `"f:name":{},`.
        let managed: usize = managed.filter_map(|path| path.last()).map(|name| name.len() + 8).sum();
        let mut reported = Counted(0);
        serde_json::to_writer(&mut reported, object).map_err(|_| Refusal::Malformed)?;
        if reported.0 + managed > MOST { Err(Refusal::TooLarge) } else { Ok(()) }
    }

    fn apply(
        &mut self,
        now: Timestamp,
        target: &ObjectRef,
        manager: &str,
        status: bool,
        applied: &Value,
    ) -> Result<Change, Refusal> {
        let mut applied = applied.clone();
        if let Some(metadata) = applied["metadata"].as_object_mut() {
            metadata
                .retain(|name, _| !status && (name == "annotations" || name == "labels" || name == "ownerReferences"));
        }
        let ours = fields::leaves(&applied);
        let owner = (target.clone(), manager.to_owned(), status);
        let before = self.owned.insert(owner.clone(), ours.clone()).unwrap_or_default();
        let first = (target.clone(), String::new(), false);
        let of_object = self.owned.range(first..).take_while(|(other, _)| other.0 == *target);
        let others: BTreeSet<&Path> =
            of_object.filter(|(other, _)| **other != owner).flat_map(|(_, all)| all).collect();
        let mut object = self.objects.get(target).map_or_else(|| json!({}), |known| (**known).clone());
        for path in before.difference(&ours).filter(|path| !others.contains(path)) {
            fields::remove(&mut object, path);
        }
        fields::lay_over(&mut object, &applied, false);
        if let Err(refusal) = self.fits(target, &object) {
            self.owned.insert(owner, before);
            return Err(refusal);
        }
        Ok(self.store(now, target, object))
    }

    /// Keeps an object as a server does.
    fn store(&mut self, now: Timestamp, target: &ObjectRef, mut object: Value) -> Change {
        let before = self.objects.get(target);
        let meta = |name: &str| before.map(|before| before["metadata"][name].clone()).unwrap_or_default();
        let next = self.version + 1;
        let leaving = object["metadata"].get("deletionTimestamp").is_some();
        let left = leaving && meta("deletionTimestamp").is_null();
        let spec_differs = before.is_none_or(|before| before.get("spec") != object.get("spec"));
        let generation = meta("generation").as_i64().unwrap_or_default() + i64::from(spec_differs || left);
        if !target.key.namespace.is_empty() {
            object["metadata"]["namespace"] = json!(target.key.namespace);
        }
        object["metadata"]["name"] = json!(target.key.name);
        object["metadata"]["generation"] = json!(generation);
        object["metadata"]["resourceVersion"] = meta("resourceVersion");
        let (uid, created) = match before {
            Some(_) => (meta("uid"), meta("creationTimestamp")),
            None => (json!(format!("u{next}")), json!(whole_seconds(now))),
        };
        object["metadata"]["uid"] = uid;
        object["metadata"]["creationTimestamp"] = created;
        if let Some(before) = before.filter(|before| ***before == object) {
            return Change::Put(before.clone());
        }
        if leaving && !is_held(&object) {
            self.objects.insert(target.clone(), Arc::new(object));
            return self.forget(target).expect("it was put there");
        }
        self.version = next;
        object["metadata"]["resourceVersion"] = json!(next.to_string());
        let object = Arc::new(object);
        self.objects.insert(target.clone(), object.clone());
        let change = Change::Put(object);
        self.log.push(Entry { version: next, object: target.clone(), change: change.clone() });
        change
    }
}

/// Counts what is written to it.
struct Counted(usize);

impl std::io::Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Whether somebody has to release an object before it can be gone.
fn is_held(object: &Value) -> bool {
    object.pointer("/metadata/finalizers").and_then(Value::as_array).is_some_and(|all| !all.is_empty())
}

fn whole_seconds(now: Timestamp) -> String {
    Timestamp::from_second(now.as_second()).unwrap_or(now).to_string()
}

/// Kind and names of an object that somebody follows.
pub(crate) fn reference(object: &Value) -> Option<ObjectRef> {
    Kinds::built_in().reference(object)
}

#[cfg(test)]
mod tests {
    use netloom_agent_core::STATE;
    use netloom_object::RequestId;

    use super::*;

    fn target() -> ObjectRef {
        ObjectRef { kind: STATE, key: ObjectKey::new("default", "n") }
    }

    fn ask(server: &mut Server, manager: &str, action: Action) -> Result<Value, Refusal> {
        let request = Request { id: RequestId(1), target: target(), action };
        server.perform(Timestamp::UNIX_EPOCH, manager, &request).map(|change| match change {
            Change::Put(object) | Change::Gone(object) => (*object).clone(),
            Change::Listed { .. } => Value::Null,
        })
    }

    fn object(status: &Value) -> Value {
        json!({"apiVersion": "nmstate.io/v1", "kind": "NodeNetworkState", "spec": {"managed": true}, "status": status})
    }

    fn condition(kind: &str) -> Value {
        json!({"conditions": [{"type": kind}]})
    }

    #[test]
    fn a_writer_takes_back_only_its_own_fields() {
        let mut server = Server::default();
        ask(&mut server, "a", Action::Create { object: object(&json!({})) }).unwrap();
        ask(&mut server, "a", Action::ApplyStatus { object: object(&condition("A")) }).unwrap();
        let both = ask(&mut server, "b", Action::ApplyStatus { object: object(&condition("B")) }).unwrap();
        assert_eq!(both["status"]["conditions"].as_array().unwrap().len(), 2);
        let left = ask(&mut server, "a", Action::ApplyStatus { object: object(&json!({})) }).unwrap();
        assert_eq!(left["status"], condition("B"));
    }

    #[test]
    fn versions_grow_with_changes_only_and_generations_with_the_spec() {
        let mut server = Server::default();
        let made = ask(&mut server, "a", Action::Create { object: object(&json!({})) }).unwrap();
        let apply = || Action::ApplyStatus { object: object(&condition("A")) };
        let once = ask(&mut server, "a", apply()).unwrap();
        assert_eq!(ask(&mut server, "a", apply()).unwrap(), once);
        assert_eq!((server.version(), server.log().len()), (2, 2));
        assert_eq!(made["metadata"]["generation"], once["metadata"]["generation"]);
        let patched = ask(&mut server, "a", Action::Patch { patch: json!({"spec": {"managed": false}}) }).unwrap();
        assert_eq!(patched["metadata"]["generation"], 2);
        assert_eq!(server.list_at(STATE, 1).len(), 1);
        assert_eq!(server.list_at(STATE, 1)[0]["status"], json!({}));
    }

    #[test]
    fn who_holds_an_object_decides_when_it_goes() {
        let mut server = Server::default();
        let held = json!({"metadata": {"finalizers": ["f"]}});
        ask(&mut server, "a", Action::Create { object: object(&json!({})) }).unwrap();
        ask(&mut server, "a", Action::Patch { patch: held }).unwrap();
        server.remove(Timestamp::UNIX_EPOCH, &target());
        let left = server.get(&target()).expect("it is held");
        assert_eq!(
            (&left["metadata"]["generation"], left["metadata"]["deletionTimestamp"].is_null()),
            (&json!(2), false)
        );
        ask(&mut server, "a", Action::Patch { patch: json!({"metadata": {"finalizers": []}}) }).unwrap();
        assert!(server.get(&target()).is_none());
        assert!(matches!(server.log().last().map(|entry| &entry.change), Some(Change::Gone(_))));
    }

    #[test]
    fn what_others_reported_of_an_object_outlasts_a_write_of_it() {
        let mut server = Server::default();
        ask(&mut server, "a", Action::Create { object: object(&condition("A")) }).unwrap();
        let written = json!({
            "apiVersion": "nmstate.io/v1", "kind": "NodeNetworkState",
            "metadata": {"namespace": "default", "name": "n"}, "spec": {"managed": false},
        });
        server.write(Timestamp::UNIX_EPOCH, written);
        let found = server.get(&target()).unwrap();
        assert_eq!((&found["spec"], &found["status"]), (&json!({"managed": false}), &condition("A")));
    }

    #[test]
    fn writes_for_another_version_or_object_are_refused() {
        let mut server = Server::default();
        let stale = json!({"metadata": {"resourceVersion": "7"}});
        assert_eq!(ask(&mut server, "a", Action::Patch { patch: stale.clone() }), Err(Refusal::NotFound));
        ask(&mut server, "a", Action::Create { object: object(&json!({})) }).unwrap();
        assert_eq!(ask(&mut server, "a", Action::Patch { patch: stale }), Err(Refusal::Conflict));
        let delete = |uid: &str| Action::Delete { uid: uid.to_owned(), resource_version: "1".to_owned() };
        assert_eq!(ask(&mut server, "a", delete("u0")), Err(Refusal::Conflict));
        assert!(ask(&mut server, "a", delete("u1")).is_ok());
        assert!(server.get(&target()).is_none());
    }
}
