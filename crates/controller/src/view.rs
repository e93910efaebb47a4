//! What the admission rules look at, kept current from the API.
//!
//! One watch for each kind of ours and each foreign kind that rules look at. A kind that the cluster
//! does not have counts as empty and is asked for again when definitions change. Nobody sees the view
//! before every kind was listed once: rules that find nothing would let everything pass.
//!
//! The view is a moment behind the store, as with every webhook: two writes at the same moment can
//! pass a rule that only one of them should. The compiler meets the same objects again and gives the
//! later one its condition, so nothing on a node depends on this gap being closed.

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use futures_util::{StreamExt as _, stream::BoxStream};
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, GroupVersionKind},
    core::PartialObjectMeta,
    discovery,
    runtime::{
        WatchStreamExt as _,
        watcher::{self, Event},
    },
};
use netloom_api::{
    admission::{GroupKind, Objects},
    foreign,
    registry::kinds,
};
use tokio::{sync::watch, task::JoinSet};

/// How long a kind that the cluster does not have is left alone while no definition changes.
const AGAIN: Duration = Duration::from_secs(30);

/// How long a cluster takes to serve a kind after its definition is there.
const MOMENT: Duration = Duration::from_secs(1);

/// The objects, and whether every kind has been listed.
#[derive(Debug, Clone)]
pub struct Current {
    objects: Arc<RwLock<Objects>>,
    listed: watch::Receiver<usize>,
    kinds: usize,
}

impl Current {
    /// Starts to follow the API; the tasks end when `tasks` is dropped.
    pub fn follow(client: &Client, tasks: &mut JoinSet<()>) -> Self {
        let objects = Arc::new(RwLock::new(Objects::default()));
        let (count, listed) = watch::channel(0);
        let viewed: Vec<(GroupKind<'static>, Option<&'static str>)> = kinds()
            .iter()
            .map(|kind| (GroupKind::new(kind.group, kind.kind), Some(kind.version)))
            .chain(foreign::VIEWED.iter().map(|kind| (*kind, None)))
            .collect();
        let kinds = viewed.len();
        let (changes, definitions) = watch::channel(());
        tasks.spawn(follow_definitions(client.clone(), changes));
        for (kind, version) in viewed {
            let shelf = Shelf {
                kind,
                objects: Arc::clone(&objects),
                definitions: definitions.clone(),
                count: count.clone(),
                counted: false,
            };
            tasks.spawn(shelf.follow(client.clone(), version));
        }
        Self { objects, listed, kinds }
    }

    /// A complete view that does not change.
    pub fn of(objects: Objects) -> Self {
        let (_, listed) = watch::channel(0);
        Self { objects: Arc::new(RwLock::new(objects)), listed, kinds: 0 }
    }

    /// Whether every kind has been listed.
    pub fn is_complete(&self) -> bool {
        *self.listed.borrow() == self.kinds
    }

    /// Waits until every kind has been listed.
    pub async fn complete(&mut self) {
        let kinds = self.kinds;
        // An error means that all tasks are gone, and with them the process.
        self.listed.wait_for(|listed| *listed == kinds).await.ok();
    }

    /// Reads the objects.
    pub fn read<T>(&self, with: impl FnOnce(&Objects) -> T) -> T {
        with(&self.objects.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Tells whoever waits for a kind that definitions have changed.
async fn follow_definitions(client: Client, changes: watch::Sender<()>) {
    let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let api: Api<PartialObjectMeta<DynamicObject>> = Api::all_with(client, &ApiResource::from_gvk(&kind));
    let mut events = watcher::watcher(api, watcher::Config::default()).default_backoff().boxed();
    while let Some(event) = events.next().await {
        match event {
            Ok(_) => changes.send_replace(()),
            // Without them kinds are still found, only later.
            Err(why) => tracing::warn!(%why, "the watch of definitions was interrupted"),
        }
    }
}

/// One kind in the view.
struct Shelf {
    kind: GroupKind<'static>,
    objects: Arc<RwLock<Objects>>,
    definitions: watch::Receiver<()>,
    count: watch::Sender<usize>,
    counted: bool,
}

impl Shelf {
    async fn follow(mut self, client: Client, version: Option<&'static str>) {
        loop {
            match self.resource(&client, version).await {
                Ok(Some(resource)) => {
                    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
                    let events = watcher::watcher(api, watcher::Config::default()).default_backoff().boxed();
                    self.take(events, &resource).await;
                }
                Ok(None) => self.listed(),
                // Not the same as empty: without an answer the view stays incomplete.
                Err(why) => tracing::warn!(kind = self.kind.kind, %why, "cannot ask the API which kinds it serves"),
            }
            self.pause().await;
        }
    }

    /// Waits until it is worth asking again.
    async fn pause(&mut self) {
        tokio::select! {
            () = tokio::time::sleep(AGAIN) => {}
            // An error means that nobody watches definitions: then only time passes.
            Ok(()) = self.definitions.changed() => tokio::time::sleep(MOMENT).await,
        }
    }

    /// How the cluster serves the kind; none where it does not.
    async fn resource(&self, client: &Client, version: Option<&'static str>) -> kube::Result<Option<ApiResource>> {
        let GroupKind { group, kind } = self.kind;
        let version = version.or(group.is_empty().then_some("v1"));
        let found = match version {
            Some(version) => discovery::pinned_kind(client, &GroupVersionKind::gvk(group, version, kind))
                .await
                .map(|(resource, _)| Some(resource)),
            None => discovery::group(client, group)
                .await
                .map(|served| served.recommended_kind(kind).map(|(resource, _)| resource)),
        };
        match found {
            Err(kube::Error::Discovery(_)) => Ok(None),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            answer => answer,
        }
    }

    /// Takes what the watch says until it ends, or until the kind is gone.
    async fn take(&mut self, mut events: BoxStream<'_, watcher::Result<Event<DynamicObject>>>, resource: &ApiResource) {
        let mut fresh: Option<Vec<Arc<serde_json::Value>>> = None;
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Init) => fresh = Some(Vec::new()),
                Ok(Event::InitApply(object)) => fresh.get_or_insert_default().push(value(&object, resource)),
                Ok(Event::InitDone) => {
                    self.replace(fresh.take().unwrap_or_default());
                    self.listed();
                }
                Ok(Event::Apply(object)) => {
                    self.objects.write().unwrap_or_else(PoisonError::into_inner).put(value(&object, resource));
                }
                Ok(Event::Delete(object)) => {
                    let (namespace, name) = (object.metadata.namespace, object.metadata.name.unwrap_or_default());
                    let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
                    objects.remove(self.kind, namespace.as_deref(), &name);
                }
                Err(why) => {
                    tracing::warn!(kind = self.kind.kind, %why, "the watch of a kind was interrupted");
                    if is_gone(&why) {
                        self.replace(Vec::new());
                        return;
                    }
                }
            }
        }
    }

    fn replace(&self, fresh: Vec<Arc<serde_json::Value>>) {
        self.objects.write().unwrap_or_else(PoisonError::into_inner).replace(self.kind, fresh);
    }

    /// Counts the kind as listed, once.
    fn listed(&mut self) {
        if !std::mem::replace(&mut self.counted, true) {
            self.count.send_modify(|count| *count += 1);
        }
    }
}

/// Items of a list may come without the names of their kind.
fn value(object: &DynamicObject, resource: &ApiResource) -> Arc<serde_json::Value> {
    let mut value = serde_json::to_value(object).unwrap_or_default();
    value["apiVersion"] = resource.api_version.clone().into();
    value["kind"] = resource.kind.clone().into();
    Arc::new(value)
}

/// Whether the cluster no longer serves what is watched.
fn is_gone(why: &watcher::Error) -> bool {
    let (watcher::Error::InitialListFailed(error)
    | watcher::Error::WatchStartFailed(error)
    | watcher::Error::WatchFailed(error)) = why
    else {
        return false;
    };
    matches!(error, kube::Error::Api(status) if status.code == 404)
}
