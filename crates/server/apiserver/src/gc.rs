//! The collector of garbage: objects go when all that own them are gone.
//!
//! An owner is known by its uid; one of the same name that was made later is not the owner. The
//! collector keeps, in memory, only which objects name which owners; everything else it reads when
//! it needs it, so what it decides on is always what is stored.
//!
//! What fails is put aside and looked at again later: it holds up nothing else.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use netloom_store::{Event, EventKind, Key, Range};
use serde::Deserialize;
use serde_json::Value;
use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};

use crate::{
    catalogue::{Catalogue, Resource},
    crds::drop_finalizer,
    resources::{
        Api, clock,
        delete::{FOREGROUND, ORPHAN},
        metadata,
        options::Propagation,
        owned,
        prepare::Part,
    },
    status_error::Outcome,
};

/// Who changes objects here.
const MANAGER: &str = "garbage-collector";

/// How long to wait after an error before it is tried again.
const PAUSE: Duration = Duration::from_secs(1);

/// What is to be looked at. Ordered, so that equal ones are one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Work {
    /// Whether an object still has an owner.
    Check(Key),
    /// Whether an object that goes after its dependents may go.
    Foreground(Key),
    /// Whether an object's dependents have forgotten it.
    Orphan(Key),
    /// Whether an owner, of which only the reference is known, may go.
    Owner {
        /// Its group and version.
        api_version: String,
        /// Its kind.
        kind: String,
        /// The namespace of what named it.
        namespace: String,
        /// Its name.
        name: String,
    },
}

/// Who names whom.
#[derive(Debug, Default)]
struct Graph {
    /// By uid of the owner: the objects that name it.
    dependents: HashMap<String, BTreeSet<Key>>,
    /// The owners that an object names.
    owners: HashMap<Key, Vec<String>>,
}

impl Graph {
    fn put(&mut self, key: &Key, owners: Vec<String>) {
        self.remove(key);
        for owner in &owners {
            self.dependents.entry(owner.clone()).or_default().insert(key.clone());
        }
        if !owners.is_empty() {
            self.owners.insert(key.clone(), owners);
        }
    }

    fn remove(&mut self, key: &Key) {
        for owner in self.owners.remove(key).unwrap_or_default() {
            if let Some(all) = self.dependents.get_mut(&owner) {
                all.remove(key);
                if all.is_empty() {
                    self.dependents.remove(&owner);
                }
            }
        }
    }

    fn of(&self, uid: &str) -> Vec<Key> {
        self.dependents.get(uid).into_iter().flatten().cloned().collect()
    }
}

/// What is to be done.
#[derive(Debug, Default)]
struct Queue {
    ready: BTreeSet<Work>,
    /// What has failed and waits until the rest was tried.
    failed: BTreeSet<Work>,
}

/// What the collector knows and has to do. Both are bounded by the number of objects.
#[derive(Default)]
pub(crate) struct Collector {
    graph: Mutex<Graph>,
    queue: Mutex<Queue>,
    woken: Notify,
    rescan: AtomicBool,
}

/// The part of an object that matters here.
#[derive(Debug, Default, Deserialize)]
struct Seen {
    #[serde(default)]
    metadata: SeenMetadata,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SeenMetadata {
    #[serde(default)]
    uid: String,
    #[serde(default)]
    deletion_timestamp: Option<String>,
    #[serde(default)]
    finalizers: Vec<String>,
    #[serde(default)]
    owner_references: Vec<Reference>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reference {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    uid: String,
    #[serde(default)]
    block_owner_deletion: bool,
}

/// What an owner is to its dependent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    /// It is there.
    Solid,
    /// It is there and goes once its dependents are gone.
    Waiting,
    /// It is gone.
    Absent,
}

impl Collector {
    /// Looks at one change.
    pub(crate) fn passed(&self, event: &Event) {
        match &event.kind {
            EventKind::Put { object, .. } => self.put(&event.key, &object.bytes),
            EventKind::Delete { previous } => {
                let seen = read(&previous.bytes).metadata;
                let mut graph = self.graph.lock().unwrap_or_else(PoisonError::into_inner);
                graph.remove(&event.key);
                let left = graph.of(&seen.uid);
                drop(graph);
                self.add(left.into_iter().map(Work::Check));
                // An owner may wait for exactly this one.
                let namespace = event.key.namespace();
                self.add(seen.owner_references.into_iter().map(|owner| Work::Owner {
                    api_version: owner.api_version,
                    kind: owner.kind,
                    namespace: namespace.to_owned(),
                    name: owner.name,
                }));
            }
        }
    }

    /// Takes note of one object.
    fn put(&self, key: &Key, bytes: &[u8]) {
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        let owned = text.contains("\"ownerReferences\"");
        let held = text.contains("\"deletionTimestamp\"") && (text.contains(FOREGROUND) || text.contains(ORPHAN));
        let mut graph = self.graph.lock().unwrap_or_else(PoisonError::into_inner);
        let known = graph.owners.contains_key(key);
        if !owned && !held && !known {
            return;
        }
        let seen = read(bytes).metadata;
        let owners: Vec<String> = seen.owner_references.iter().map(|owner| owner.uid.clone()).collect();
        let check = !owners.is_empty();
        graph.put(key, owners);
        drop(graph);
        if check {
            self.add([Work::Check(key.clone())]);
        }
        if seen.deletion_timestamp.is_some() {
            for finalizer in &seen.finalizers {
                match finalizer.as_str() {
                    FOREGROUND => self.add([Work::Foreground(key.clone())]),
                    ORPHAN => self.add([Work::Orphan(key.clone())]),
                    _ => {}
                }
            }
        }
    }

    /// Has everything looked at again: events were missed.
    pub(crate) fn rescan(&self) {
        self.rescan.store(true, Ordering::Release);
        self.woken.notify_one();
    }

    fn add(&self, work: impl IntoIterator<Item = Work>) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).ready.extend(work);
        self.woken.notify_one();
    }

    fn take(&self) -> Option<Work> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).ready.pop_first()
    }

    /// Puts work aside that has failed.
    fn put_aside(&self, work: Work) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).failed.insert(work);
    }

    /// Has everything that was put aside tried again.
    fn try_again(&self) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let mut failed = std::mem::take(&mut queue.failed);
        queue.ready.append(&mut failed);
    }

    fn dependents(&self, uid: &str) -> Vec<Key> {
        self.graph.lock().unwrap_or_else(PoisonError::into_inner).of(uid)
    }
}

impl Api {
    pub(crate) fn start_collector(self: &Arc<Self>) {
        self.gc.rescan();
        tokio::spawn(collect(Arc::downgrade(self), self.gc.clone()));
    }

    /// Looks at every object once.
    async fn scan(&self) -> Outcome<()> {
        self.each(Range::everything(), |key, object| self.gc.put(key, &object.bytes)).await
    }

    async fn collect_one(&self, work: &Work) -> Outcome<()> {
        let catalogue = self.catalogue();
        let Some((resource, key)) = place_of(&catalogue, work) else { return Ok(()) };
        let Some(found) = self.stored(&key)? else {
            self.gc.graph.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
            return Ok(());
        };
        let seen = read(&found.bytes).metadata;
        match work {
            Work::Check(_) => self.check_owners(&catalogue, &resource, &key, &seen).await,
            Work::Foreground(_) | Work::Owner { .. } => self.let_go(&resource, &key, &seen).await,
            Work::Orphan(_) => self.orphan(&catalogue, &resource, &key, &seen).await,
        }
    }

    /// Deletes an object without owners; takes references to owners that are gone from one with
    /// others.
    async fn check_owners(
        &self,
        catalogue: &Catalogue,
        resource: &Resource,
        key: &Key,
        seen: &SeenMetadata,
    ) -> Outcome<()> {
        if seen.owner_references.is_empty() || seen.deletion_timestamp.is_some() {
            return Ok(());
        }
        let mut gone = Vec::new();
        let (mut solid, mut waiting) = (false, false);
        for owner in &seen.owner_references {
            match self.presence(catalogue, resource, key, owner)? {
                Presence::Solid => solid = true,
                Presence::Waiting => {
                    waiting = true;
                    gone.push(owner.uid.clone());
                }
                Presence::Absent => gone.push(owner.uid.clone()),
            }
        }
        if solid {
            if !gone.is_empty() {
                self.forget(resource, key, &gone).await?;
            }
            return Ok(());
        }
        let owns = !self.gc.dependents(&seen.uid).is_empty();
        let has = |finalizer: &str| seen.finalizers.iter().any(|name| name == finalizer);
        let propagation = if waiting && owns {
            Propagation::Foreground
        } else if has(ORPHAN) {
            Propagation::Orphan
        } else if has(FOREGROUND) {
            Propagation::Foreground
        } else {
            Propagation::Background
        };
        self.remove(resource, key, Some(&seen.uid), Some(propagation)).await?;
        Ok(())
    }

    /// What an owner is now. One whose kind is not served may be anything; its dependents stay.
    fn presence(&self, catalogue: &Catalogue, resource: &Resource, key: &Key, owner: &Reference) -> Outcome<Presence> {
        let Some(kind) = catalogue.by_kind(&owner.api_version, &owner.kind) else { return Ok(Presence::Solid) };
        if kind.namespaced && !resource.namespaced {
            tracing::warn!(object = %key, owner = owner.name, reason = "OwnerRefInvalidNamespace",
                "an object without a namespace cannot be owned by one with");
            return Ok(Presence::Absent);
        }
        let namespace = if kind.namespaced { key.namespace() } else { "" };
        let Some(found) = self.stored(&Key::new(&kind.store_name(), namespace, &owner.name))? else {
            return Ok(Presence::Absent);
        };
        let seen = read(&found.bytes).metadata;
        let foreground = seen.finalizers.iter().any(|name| name == FOREGROUND);
        Ok(match (seen.uid == owner.uid, seen.deletion_timestamp.is_some() && foreground) {
            (false, _) => Presence::Absent,
            (true, true) => Presence::Waiting,
            (true, false) => Presence::Solid,
        })
    }

    /// Lets an object go whose dependents had to go first, once those that block it are gone.
    async fn let_go(&self, resource: &Resource, key: &Key, seen: &SeenMetadata) -> Outcome<()> {
        if seen.deletion_timestamp.is_none() || !seen.finalizers.iter().any(|name| name == FOREGROUND) {
            return Ok(());
        }
        let mut blocked = false;
        let mut work = Vec::new();
        for dependent in self.gc.dependents(&seen.uid) {
            let Some(found) = self.stored(&dependent)? else { continue };
            let other = read(&found.bytes).metadata;
            blocked |= other.owner_references.iter().any(|owner| owner.uid == seen.uid && owner.block_owner_deletion);
            if other.deletion_timestamp.is_none() {
                work.push(Work::Check(dependent));
            }
        }
        self.gc.add(work);
        if !blocked {
            self.modify(resource, key, &|object| drop_finalizer(object, FOREGROUND)).await?;
        }
        Ok(())
    }

    /// Takes references to these owners from an object, and from the record of who set them.
    async fn forget(&self, resource: &Resource, key: &Key, owners: &[String]) -> Outcome<()> {
        let now = clock::seconds(self.source.now());
        let change = |object: &mut Value| {
            let old = object.clone();
            let changed = drop_owners(object, owners);
            if changed {
                owned::by_server(resource, Part::Main, MANAGER, &now, &old, object);
            }
            changed
        };
        self.modify(resource, key, &change).await?;
        Ok(())
    }

    /// Makes the dependents of an object forget it, then releases it.
    async fn orphan(&self, catalogue: &Catalogue, resource: &Resource, key: &Key, seen: &SeenMetadata) -> Outcome<()> {
        if seen.deletion_timestamp.is_none() {
            return Ok(());
        }
        let owner = [seen.uid.clone()];
        for dependent in self.gc.dependents(&seen.uid) {
            if let Some(other) = resource_of(catalogue, &dependent) {
                self.forget(&other, &dependent, &owner).await?;
            }
        }
        self.modify(resource, key, &|object| drop_finalizer(object, ORPHAN)).await?;
        Ok(())
    }
}

async fn collect(api: Weak<Api>, gc: Arc<Collector>) {
    // When what has failed is tried again.
    let mut again: Option<Instant> = None;
    loop {
        // Not held while waiting: the server ends when nobody else has it.
        let Some(current) = api.upgrade() else { return };
        if again.is_none_or(|at| at <= Instant::now()) {
            again = None;
            gc.try_again();
            if gc.rescan.swap(false, Ordering::AcqRel)
                && let Err(status) = current.scan().await
            {
                tracing::error!(error = %status, "garbage cannot be looked for; it is tried again");
                gc.rescan.store(true, Ordering::Release);
                again = Some(Instant::now() + PAUSE);
            }
        }
        let Some(work) = gc.take() else {
            drop(current);
            let woken = gc.woken.notified();
            match again {
                Some(at) => drop(timeout_at(at, woken).await),
                None => woken.await,
            }
            continue;
        };
        if let Err(status) = current.collect_one(&work).await {
            // A store that cannot be read fails everything; one line a round tells as much as all.
            if again.is_none() {
                tracing::warn!(error = %status, ?work, "garbage is looked at again later");
            }
            gc.put_aside(work);
            again.get_or_insert_with(|| Instant::now() + PAUSE);
        }
    }
}

/// Which object a piece of work is about.
fn place_of(catalogue: &Catalogue, work: &Work) -> Option<(Arc<Resource>, Key)> {
    match work {
        Work::Check(key) | Work::Foreground(key) | Work::Orphan(key) => {
            resource_of(catalogue, key).map(|resource| (resource, key.clone()))
        }
        Work::Owner { api_version, kind, namespace, name } => {
            let resource = catalogue.by_kind(api_version, kind)?.clone();
            let namespace = if resource.namespaced { namespace } else { "" };
            let key = Key::new(&resource.store_name(), namespace, name);
            Some((resource, key))
        }
    }
}

/// The resource whose objects a key names.
fn resource_of(catalogue: &Catalogue, key: &Key) -> Option<Arc<Resource>> {
    let (group, plural) = key.resource().split_once('/')?;
    catalogue.any_version(group, plural).cloned()
}

/// Takes references to these owners away; says whether there were any.
fn drop_owners(object: &mut Value, uids: &[String]) -> bool {
    let Some(list) = metadata::entry(object).get_mut("ownerReferences").and_then(Value::as_array_mut) else {
        return false;
    };
    let before = list.len();
    list.retain(|owner| !uids.iter().any(|uid| owner["uid"] == uid.as_str()));
    let (left, changed) = (list.len(), list.len() < before);
    if left == 0 {
        metadata::set(object, "ownerReferences", None);
    }
    changed
}

fn read(bytes: &[u8]) -> Seen {
    serde_json::from_slice(bytes).unwrap_or_default()
}
