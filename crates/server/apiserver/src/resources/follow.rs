//! Everything inside the server that follows what is committed.
//!
//! One watch over the whole store feeds, in the order of commits: the objects that admission rules
//! look at, the catalogue, the collector of garbage and the removal of namespaces. A write to
//! something that is followed is answered only after this watch has passed it, so whoever gets the
//! answer sees its effects.
//!
//! A store that cannot be read for a while holds this up and does not end it: it begins again from
//! what is stored then. Until then the server is not ready.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, Weak},
    time::Duration,
};

use netloom_admission::Objects;
use netloom_api::{GroupKind, foreign, registry};
use netloom_store::{Event, EventKind, Key, Object, Range, Revision, Watch, WatchError};
use tokio::sync::watch;

use super::{Api, chunks::Chunks, stored};
use crate::{crds, status_error::Outcome};

/// How long a write waits to be passed. It is passed in less than a millisecond; if the watch hangs,
/// writers must not.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// How long to wait after an error before it is tried again.
const PAUSE: Duration = Duration::from_secs(1);

/// Where the followers stand and what they gathered.
pub(crate) struct Follow {
    view: RwLock<Objects>,
    /// The store names of the kinds in the view.
    viewed: RwLock<BTreeMap<String, GroupKind<'static>>>,
    seen: watch::Sender<u64>,
    /// Why nothing is followed at the moment.
    problem: RwLock<Option<String>>,
}

impl Follow {
    pub(crate) fn new() -> Self {
        let seen = watch::Sender::new(0);
        Self { view: RwLock::default(), viewed: RwLock::default(), seen, problem: RwLock::default() }
    }

    /// The objects that rules look at.
    pub(crate) fn view(&self) -> RwLockReadGuard<'_, Objects> {
        self.view.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether writes of a resource wait until they were passed.
    pub(crate) fn follows(&self, resource: &str) -> bool {
        resource == crds::STORE_NAME || self.kind_of(resource).is_some()
    }

    /// Whether rules look at an object of a resource. Of some kinds they know one object only, and all others are not their
    /// concern.
    pub(crate) fn shows(&self, resource: &str, namespace: Option<&str>, name: &str) -> bool {
        self.kind_of(resource).is_some_and(|kind| foreign::is_looked_at(kind, namespace, name))
    }

    fn kind_of(&self, resource: &str) -> Option<GroupKind<'static>> {
        self.viewed.read().unwrap_or_else(PoisonError::into_inner).get(resource).copied()
    }

    /// Waits until everything up to a revision was passed.
    pub(crate) async fn reached(&self, revision: Revision) {
        let mut seen = self.seen.subscribe();
        let passed = tokio::time::timeout(TIME_LIMIT, seen.wait_for(|seen| *seen >= revision.0)).await;
        if passed.is_err() {
            tracing::error!(
                %revision,
                "a write is answered before rules and the catalogue have seen it: what follows the store is held up. \
                 Look for an earlier error about the store, and restart the server if there is none"
            );
        }
    }

    /// Why nothing is followed at the moment; none when all is well.
    pub(crate) fn problem(&self) -> Option<String> {
        self.problem.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_problem(&self, problem: Option<String>) {
        *self.problem.write().unwrap_or_else(PoisonError::into_inner) = problem;
    }

    fn pass(&self, revision: Revision) {
        self.seen.send_replace(revision.0);
    }
}

impl Api {
    /// Reads what is to be followed and goes on from there in a task.
    pub(crate) async fn start_following(self: &Arc<Self>) -> Outcome<()> {
        let watch = self.catch_up().await?;
        let api = Arc::downgrade(self);
        tokio::spawn(follow(api, watch));
        Ok(())
    }

    /// Brings everything to the present state; the watch goes on behind it.
    async fn catch_up(&self) -> Outcome<Watch> {
        let from = self.store.revision();
        let internal = |error: netloom_store::ReadError| crate::status_error::Status::internal(&error.to_string());
        let watch = self.store.watch(Range::everything(), from).map_err(internal)?;
        self.definitions_changed(None).await?;
        self.load_view().await?;
        self.follow.pass(from);
        Ok(watch)
    }

    /// Reads all objects that rules look at.
    async fn load_view(&self) -> Outcome<()> {
        let mut objects = Objects::default();
        let mut viewed = BTreeMap::new();
        if self.admission.is_some() {
            let own = registry::kinds().iter().map(|kind| (kind.group, kind.kind, Some(kind.plural)));
            let others = foreign::VIEWED.iter().map(|kind| (kind.group, kind.kind, None));
            for (group, kind, plural) in own.chain(others) {
                let catalogue = self.catalogue();
                let served = catalogue.iter().find(|found| found.group == group && found.kind == kind);
                let name = match (served, plural) {
                    (Some(served), _) => served.store_name(),
                    (None, Some(plural)) => format!("{group}/{plural}"),
                    (None, None) => continue,
                };
                viewed.insert(name, GroupKind::new(group, kind));
            }
            for name in viewed.keys() {
                self.each(Range::resource(name), |key, object| self.show(&mut objects, key, object)).await?;
            }
        }
        *self.follow.viewed.write().unwrap_or_else(PoisonError::into_inner) = viewed;
        *self.follow.view.write().unwrap_or_else(PoisonError::into_inner) = objects;
        Ok(())
    }

    fn show(&self, objects: &mut Objects, key: &Key, object: &Object) {
        let catalogue = self.catalogue();
        let Some((group, plural)) = key.resource().split_once('/') else { return };
        let Some(resource) = catalogue.any_version(group, plural) else { return };
        let namespace = Some(key.namespace()).filter(|namespace| !namespace.is_empty());
        if !foreign::is_looked_at(GroupKind::new(group, &resource.kind), namespace, key.name()) {
            return;
        }
        if let Ok(object) = stored::decode(resource, object) {
            objects.put(object);
        }
    }

    /// Visits every object of a range; others have their turn meanwhile.
    pub(crate) async fn each(&self, range: Range, mut visit: impl FnMut(&Key, &Object) + Send) -> Outcome<()> {
        let mut chunks = Chunks::new(range);
        let internal = |error: netloom_store::ReadError| crate::status_error::Status::internal(&error.to_string());
        while let Some(page) = chunks.next(&self.store, usize::MAX).await.map_err(internal)? {
            for (key, object) in &page.items {
                visit(key, object);
            }
        }
        Ok(())
    }

    async fn passed(self: &Arc<Self>, event: &Event) {
        if let Some(kind) = self.follow.kind_of(event.key.resource()) {
            let mut objects = self.follow.view.write().unwrap_or_else(PoisonError::into_inner);
            match &event.kind {
                EventKind::Put { object, .. } => self.show(&mut objects, &event.key, object),
                EventKind::Delete { .. } => {
                    let namespace = Some(event.key.namespace()).filter(|namespace| !namespace.is_empty());
                    objects.remove(kind, namespace, event.key.name());
                }
            }
        }
        if event.key.resource() == crds::STORE_NAME {
            if let Err(status) = self.definitions_changed(Some(event.key.name())).await {
                tracing::error!(error = %status, name = event.key.name(), "a definition cannot be served");
            }
            if let Err(status) = self.viewed_changed().await {
                tracing::error!(error = %status, "the objects that rules look at cannot be read");
            }
        }
        self.gc.passed(event);
        self.lifecycle_passed(event);
        self.follow.pass(event.revision);
    }

    /// A definition may bring a kind that rules look at and that was not served before.
    async fn viewed_changed(&self) -> Outcome<()> {
        let known = self.follow.viewed.read().unwrap_or_else(PoisonError::into_inner).len();
        let wanted = registry::kinds().len() + foreign::VIEWED.len();
        if self.admission.is_some() && known < wanted { self.load_view().await } else { Ok(()) }
    }
}

async fn follow(api: Weak<Api>, mut watch: Watch) {
    loop {
        match watch.next().await {
            Ok(event) => {
                let Some(api) = api.upgrade() else { return };
                api.passed(&event).await;
            }
            Err(WatchError::Closed) => return,
            Err(WatchError::Lagged { .. } | WatchError::Read(_)) => match resume(&api).await {
                Some(again) => watch = again,
                None => return,
            },
        }
    }
}

/// Begins again from what is stored, as soon as that can be read; none when the server is gone.
pub(super) async fn resume(api: &Weak<Api>) -> Option<Watch> {
    loop {
        let current = api.upgrade()?;
        match current.catch_up().await {
            Ok(watch) => {
                current.follow.set_problem(None);
                current.gc.rescan();
                current.find_lifecycles().await;
                return Some(watch);
            }
            Err(status) => {
                tracing::error!(error = %status, "the store cannot be followed; it is tried again");
                current.follow.set_problem(Some(status.message().to_owned()));
            }
        }
        // Not held while waiting: the server ends when nobody else has it.
        drop(current);
        tokio::time::sleep(PAUSE).await;
    }
}
