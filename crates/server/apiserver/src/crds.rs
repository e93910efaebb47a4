//! Definitions: from an object that describes a kind to a kind that is served.
//!
//! A definition first gets its names, then its resource joins the catalogue, and only then it is
//! reported established: who waits for that can use the kind at once. While it goes away its objects
//! are deleted and nothing new is taken; it is gone when they are.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

use netloom_schema::crd::Definition;
use netloom_store::{Key, Range, Revision};
use serde_json::{Value, json};

use crate::{
    catalogue::Resource,
    resources::{Api, clock, metadata, options::Propagation, owned, prepare::Part, stored},
    status_error::Outcome,
};

/// The name of definitions in the store.
pub(crate) const STORE_NAME: &str = "apiextensions.k8s.io/customresourcedefinitions";

/// The finalizer that holds a definition until its objects are gone.
const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Who writes the status of definitions.
const MANAGER: &str = "kube-apiserver";

/// What was made of the definitions so far.
pub(crate) struct Definitions {
    built_in: Vec<Arc<Resource>>,
    /// By name: the uid and generation that were read, and what was made of them.
    read: Mutex<BTreeMap<String, ReadDefinition>>,
    /// The revision at which the definitions were read that are served now.
    served: Mutex<Revision>,
}

#[derive(Clone)]
struct ReadDefinition {
    identity: (String, i64),
    definition: Arc<Definition>,
    /// From which revision on objects are written under it.
    since: Revision,
}

impl Definitions {
    pub(crate) fn new(built_in: Vec<Arc<Resource>>) -> Self {
        Self { built_in, read: Mutex::default(), served: Mutex::new(Revision(0)) }
    }

    /// The definition that an object describes; reading a schema takes long, so it is kept. One that another
    /// definition is in the place of counts from `now` on, one that is read for the first time from its last write.
    fn definition(&self, object: &Value, now: Revision) -> ReadDefinition {
        let name = metadata::text(object, "name").to_owned();
        let identity = (metadata::text(object, "uid").to_owned(), metadata::generation(object));
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let known = read.get(&name);
        if let Some(known) = known.filter(|known| known.identity == identity) {
            return known.clone();
        }
        let written = metadata::text(object, "resourceVersion").parse().map_or(now, Revision);
        // What is read may be newer than the revision that the store has reported so far.
        let since = if known.is_some() { now.max(written) } else { written };
        let fresh = ReadDefinition { identity, definition: Arc::new(Definition::read(object)), since };
        read.insert(name, fresh.clone());
        fresh
    }

    fn forget(&self, names: &BTreeSet<&str>) {
        self.read.lock().unwrap_or_else(PoisonError::into_inner).retain(|name, _| names.contains(name.as_str()));
    }
}

impl Api {
    /// Brings names, catalogue and conditions up to date after a definition (or at the start, all of
    /// them) changed.
    pub(crate) async fn definitions_changed(&self, changed: Option<&str>) -> Outcome<()> {
        let catalogue = self.catalogue();
        let Some(resource) = catalogue.lookup("apiextensions.k8s.io", "v1", "customresourcedefinitions") else {
            return Ok(());
        };
        let seen = self.store.revision();
        let mut objects = self.all_definitions(resource).await?;
        let gone = changed.is_some_and(|name| !objects.iter().any(|object| metadata::text(object, "name") == name));
        for at in 0..objects.len() {
            let own = changed.is_none_or(|name| metadata::text(&objects[at], "name") == name);
            // A name that became free may be what another one of the group waits for.
            if own || gone || !is_true(&objects[at], "NamesAccepted") {
                self.accept_names(resource, &mut objects, at).await?;
            }
        }
        self.rebuild(seen, &objects);
        for object in &objects {
            let ready = is_true(object, "NamesAccepted") && !is_true(object, "Established");
            if ready && !metadata::is_terminating(object) {
                let established =
                    condition("Established", "True", "InitialNamesAccepted", "the initial names have been accepted");
                self.write_status(resource, metadata::text(object, "name"), None, &[established]).await?;
            }
        }
        Ok(())
    }

    async fn all_definitions(&self, resource: &Resource) -> Outcome<Vec<Value>> {
        let mut objects = Vec::new();
        self.each(Range::resource(STORE_NAME), |_, object| objects.extend(stored::decode(resource, object))).await?;
        Ok(objects)
    }

    /// Gives a definition the names that nobody else of its group has.
    async fn accept_names(&self, resource: &Resource, objects: &mut [Value], at: usize) -> Outcome<()> {
        let object = &objects[at];
        if object.pointer("/spec/names") == object.pointer("/status/acceptedNames") {
            return Ok(());
        }
        let (accepted, conditions) = names(objects, at);
        let same = object.pointer("/status/acceptedNames") == Some(&accepted)
            && find_condition(object, "NamesAccepted").is_some_and(|found| equivalent(found, &conditions[0]));
        if same {
            return Ok(());
        }
        let name = metadata::text(object, "name").to_owned();
        if let Some(written) = self.write_status(resource, &name, Some(accepted), &conditions).await? {
            objects[at] = written;
        }
        Ok(())
    }

    /// Puts every definition whose names are accepted, or once were, into the catalogue, unless somebody who read them
    /// later has done so: of two that run at once, the one that began first may end last.
    fn rebuild(&self, seen: Revision, objects: &[Value]) {
        let mut served = self.definitions.served.lock().unwrap_or_else(PoisonError::into_inner);
        if seen < *served {
            return;
        }
        *served = seen;
        let mut resources = self.definitions.built_in.clone();
        for object in objects {
            if !is_true(object, "NamesAccepted") && !is_true(object, "Established") {
                continue;
            }
            let ReadDefinition { definition, since, .. } = self.definitions.definition(object, self.store.revision());
            let terminating = metadata::is_terminating(object);
            let mut definition = Definition::clone(&definition);
            take_accepted(&mut definition, object);
            let served = definition.versions.iter().filter(|version| version.served);
            resources.extend(served.map(|version| {
                let mut resource = Resource::from_version(&definition, version, terminating);
                resource.since = since;
                Arc::new(resource)
            }));
        }
        self.definitions.forget(&objects.iter().map(|object| metadata::text(object, "name")).collect());
        self.serve(resources);
    }

    async fn write_status(
        &self,
        resource: &Resource,
        name: &str,
        accepted: Option<Value>,
        conditions: &[Value],
    ) -> Outcome<Option<Value>> {
        let key = Key::new(STORE_NAME, "", name);
        let now = clock::seconds(self.source.now());
        self.modify(resource, &key, &|object| {
            let old = object.clone();
            if let Some(accepted) = &accepted {
                status(object)["acceptedNames"] = accepted.clone();
            }
            for condition in conditions {
                set_condition(object, condition, &now);
            }
            let changed = *object != old;
            if changed {
                owned::by_server(resource, Part::Status, MANAGER, &now, &old, object);
            }
            changed
        })
        .await
    }

    /// Deletes the objects of a definition that goes, then releases it; says whether it is done.
    pub(crate) async fn finish_definition(&self, name: &str) -> Outcome<bool> {
        let catalogue = self.catalogue();
        let Some(resource) = catalogue.lookup("apiextensions.k8s.io", "v1", "customresourcedefinitions") else {
            return Ok(true);
        };
        let under_way =
            condition("Terminating", "True", "InstanceDeletionInProgress", "CustomResource deletion is in progress");
        let Some(object) = self.write_status(resource, name, None, &[under_way]).await? else { return Ok(true) };
        let definition = self.definitions.definition(&object, self.store.revision()).definition;
        if let Some(version) = definition.versions.iter().find(|version| version.storage) {
            let instances = Resource::from_version(&definition, version, true);
            if !self.remove_all(&instances).await? {
                return Ok(false);
            }
        }
        let done = condition("Terminating", "False", "InstanceDeletionCompleted", "removed all instances");
        self.write_status(resource, name, None, &[done]).await?;
        let key = Key::new(STORE_NAME, "", name);
        self.modify(resource, &key, &|object| drop_finalizer(object, CLEANUP)).await?;
        Ok(true)
    }

    /// Deletes every object of a resource; says whether all are gone.
    async fn remove_all(&self, resource: &Resource) -> Outcome<bool> {
        let mut keys = Vec::new();
        self.each(Range::resource(&resource.store_name()), |key, _| keys.push(key.clone())).await?;
        let mut all = true;
        for key in keys {
            all &= self.remove(resource, &key, None, Some(Propagation::Background)).await?;
        }
        Ok(all)
    }
}

/// The status of a definition that nobody has looked at.
pub(crate) fn fresh_status(object: &mut Value) {
    let stored = storage_version(object).map(|name| json!([name])).unwrap_or_default();
    object["status"] =
        json!({"conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": stored});
}

/// Adds the version that objects are stored in from now on to those that they may be stored in.
pub(crate) fn keep_stored_versions(object: &mut Value) {
    let Some(name) = storage_version(object) else { return };
    let status = status(object);
    match status["storedVersions"].as_array_mut() {
        Some(list) if list.iter().any(|known| *known == name) => {}
        Some(list) => list.push(json!(name)),
        None => status["storedVersions"] = json!([name]),
    }
}

fn storage_version(object: &Value) -> Option<String> {
    let versions = object.pointer("/spec/versions")?.as_array()?;
    let stored = versions.iter().find(|version| version["storage"] == true)?;
    stored["name"].as_str().map(str::to_owned)
}

/// Marks a definition that was asked to go.
pub(crate) fn begin_termination(object: &mut Value, now: &str) {
    metadata::set(object, "deletionTimestamp", Some(json!(now)));
    let mut finalizers: Vec<String> = metadata::finalizers(object).into_iter().map(str::to_owned).collect();
    if !finalizers.iter().any(|name| name == CLEANUP) {
        finalizers.push(CLEANUP.into());
    }
    metadata::set_finalizers(object, &finalizers);
    let pending = condition(
        "Terminating",
        "True",
        "InstanceDeletionPending",
        "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    );
    set_condition(object, &pending, now);
}

/// Whether a definition waits for its objects to go.
pub(crate) fn is_going(object: &Value) -> bool {
    metadata::is_terminating(object) && metadata::finalizers(object).contains(&CLEANUP)
}

/// Takes one finalizer away; says whether it was there.
pub(crate) fn drop_finalizer(object: &mut Value, finalizer: &str) -> bool {
    let all = metadata::finalizers(object);
    let left: Vec<String> = all.iter().filter(|name| **name != finalizer).map(|&name| name.to_owned()).collect();
    let dropped = left.len() < all.len();
    if dropped {
        metadata::set_finalizers(object, &left);
    }
    dropped
}

/// Formats of values that a definition brings in and that nobody will check: worth a word to its author.
pub(crate) fn unknown_formats(new: &Value, old: Option<&Value>) -> Vec<String> {
    if old.is_some_and(|old| old.get("spec") == new.get("spec")) {
        return Vec::new();
    }
    let formats = |object: &Value| -> BTreeSet<String> {
        Definition::read(object).versions.iter().flat_map(|version| version.schema.unknown_formats()).collect()
    };
    let before = old.map(formats).unwrap_or_default();
    formats(new).difference(&before).map(|format| format!("unrecognized format {format:?}")).collect()
}

/// The names that a definition gets, and what is reported about them.
fn names(objects: &[Value], at: usize) -> (Value, Vec<Value>) {
    let object = &objects[at];
    let wanted = object.pointer("/spec/names").cloned().unwrap_or_else(|| json!({}));
    let had = object.pointer("/status/acceptedNames").cloned().unwrap_or_else(|| json!({}));
    let (resources, kinds) = taken(objects, object.pointer("/spec/group"));
    let mut accepted = had.clone();
    let mut problem: Option<(&str, String)> = None;
    let fields = [
        ("plural", "PluralConflict", &resources),
        ("singular", "SingularConflict", &resources),
        ("shortNames", "ShortNamesConflict", &resources),
        ("kind", "KindConflict", &kinds),
        ("listKind", "ListKindConflict", &kinds),
    ];
    for (field, reason, used) in fields {
        let (new, old) = (words(&wanted, field), words(&had, field));
        let clashes: Vec<String> = new
            .iter()
            .filter(|name| !old.contains(name) && used.contains(**name))
            .map(|name| format!("{name:?} is already in use"))
            .collect();
        match clashes.as_slice() {
            [] => copy(&mut accepted, &wanted, field),
            [one] => problem = Some((reason, one.clone())),
            several => problem = Some((reason, format!("[{}]", several.join(", ")))),
        }
    }
    copy(&mut accepted, &wanted, "categories");
    let free = problem.is_none();
    let accepting = match problem {
        None => condition("NamesAccepted", "True", "NoConflicts", "no conflicts found"),
        Some((reason, message)) => condition("NamesAccepted", "False", reason, &message),
    };
    let established = match find_condition(object, "Established") {
        Some(found) if is_true(object, "Established") => found.clone(),
        _ if free => condition("Established", "False", "Installing", "the initial names have been accepted"),
        Some(found) => found.clone(),
        None => condition("Established", "False", "NotAccepted", "not all names are accepted"),
    };
    (accepted, vec![accepting, established])
}

/// The names that are in use in a group: of resources, and of kinds.
fn taken<'a>(objects: &'a [Value], group: Option<&Value>) -> (BTreeSet<&'a str>, BTreeSet<&'a str>) {
    let (mut resources, mut kinds) = (BTreeSet::new(), BTreeSet::new());
    for object in objects.iter().filter(|object| object.pointer("/spec/group") == group) {
        let Some(names) = object.pointer("/status/acceptedNames") else { continue };
        resources.extend(["plural", "singular", "shortNames"].into_iter().flat_map(|field| words(names, field)));
        kinds.extend(["kind", "listKind"].into_iter().flat_map(|field| words(names, field)));
    }
    (resources, kinds)
}

/// One name or several.
fn words<'a>(names: &'a Value, field: &str) -> Vec<&'a str> {
    match names.get(field) {
        Some(Value::String(name)) => vec![name.as_str()],
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn copy(to: &mut Value, from: &Value, field: &str) {
    let Some(map) = to.as_object_mut() else { return };
    match from.get(field) {
        Some(value) => map.insert(field.into(), value.clone()),
        None => map.remove(field),
    };
}

/// Served names are the accepted ones: another definition may have the wanted ones.
fn take_accepted(definition: &mut Definition, object: &Value) {
    let Some(names) = object.pointer("/status/acceptedNames") else { return };
    let list = |field: &str| words(names, field).into_iter().map(str::to_owned).collect::<Vec<_>>();
    definition.names.short_names = list("shortNames");
    definition.names.categories = list("categories");
    if let Some(singular) = words(names, "singular").first() {
        (*singular).clone_into(&mut definition.names.singular);
    }
}

fn status(object: &mut Value) -> &mut Value {
    if !object["status"].is_object() {
        object["status"] = json!({});
    }
    &mut object["status"]
}

fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({"type": kind, "status": status, "reason": reason, "message": message})
}

fn find_condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    let list = object.pointer("/status/conditions")?.as_array()?;
    list.iter().find(|condition| condition["type"] == kind)
}

fn is_true(object: &Value, kind: &str) -> bool {
    find_condition(object, kind).is_some_and(|condition| condition["status"] == "True")
}

fn equivalent(a: &Value, b: &Value) -> bool {
    ["status", "reason", "message"].into_iter().all(|field| a[field] == b[field])
}

/// Sets a condition; the time of its last change stays while its status does.
fn set_condition(object: &mut Value, condition: &Value, now: &str) {
    let status = status(object);
    if !status["conditions"].is_array() {
        status["conditions"] = json!([]);
    }
    let Some(list) = status["conditions"].as_array_mut() else { return };
    let mut new = condition.clone();
    match list.iter_mut().find(|found| found["type"] == condition["type"]) {
        Some(found) if equivalent(found, condition) => {}
        Some(found) => {
            let same = found["status"] == condition["status"];
            new["lastTransitionTime"] = if same { found["lastTransitionTime"].clone() } else { json!(now) };
            *found = new;
        }
        None => {
            new["lastTransitionTime"] = json!(now);
            list.push(new);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(name: &str, short: &str, accepted: bool) -> Value {
        let names = json!({"plural": name, "singular": name, "kind": name, "listKind": format!("{name}List"),
            "shortNames": [short]});
        let mut object = json!({"metadata": {"name": name}, "spec": {"group": "g", "names": names}});
        if accepted {
            object["status"]["acceptedNames"] = names;
        }
        object
    }

    #[test]
    fn free_names_are_accepted() {
        let objects = [object("a", "x", true), object("b", "y", false)];
        let (accepted, conditions) = names(&objects, 1);
        assert_eq!(accepted, objects[1]["spec"]["names"]);
        assert_eq!(conditions[0]["reason"], "NoConflicts");
        assert_eq!(conditions[1]["reason"], "Installing");
    }

    #[test]
    fn a_short_name_belongs_to_whoever_was_first() {
        let objects = [object("a", "x", true), object("b", "x", false)];
        let (accepted, conditions) = names(&objects, 1);
        assert_eq!(accepted.get("shortNames"), None);
        assert_eq!(accepted["plural"], "b");
        assert_eq!(
            conditions[0],
            json!({"type": "NamesAccepted", "status": "False", "reason": "ShortNamesConflict",
                "message": "\"x\" is already in use"})
        );
        assert_eq!(conditions[1]["reason"], "NotAccepted");
    }

    #[test]
    fn only_new_unknown_formats_are_worth_a_word() {
        let definition = |formats: &[&str]| {
            let fields =
                formats.iter().map(|format| ((*format).to_owned(), json!({"type": "string", "format": format})));
            let schema = json!({"type": "object", "properties": fields.collect::<serde_json::Map<_, _>>()});
            json!({"spec": {"group": "g", "names": {"plural": "a", "kind": "A"}, "scope": "Cluster", "versions": [
                {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}})
        };
        let (old, new) = (definition(&["ipv4", "odd"]), definition(&["date-time", "odd", "odder"]));
        assert_eq!(unknown_formats(&old, None), [r#"unrecognized format "odd""#]);
        assert_eq!(unknown_formats(&new, Some(&old)), [r#"unrecognized format "odder""#]);
        assert_eq!(unknown_formats(&new, Some(&new)), Vec::<String>::new());
    }

    #[test]
    fn a_condition_keeps_its_time_while_its_status_stays() {
        let mut object = json!({});
        set_condition(&mut object, &condition("A", "False", "X", "x"), "1");
        set_condition(&mut object, &condition("A", "False", "Y", "y"), "2");
        assert_eq!(object["status"]["conditions"][0]["lastTransitionTime"], "1");
        set_condition(&mut object, &condition("A", "True", "Z", "z"), "3");
        assert_eq!(object["status"]["conditions"][0]["lastTransitionTime"], "3");
    }
}
