//! What takes its time to go: namespaces with their content, definitions with their objects, and
//! events that nobody deletes.
//!
//! Each namespace and each definition that goes has one task, which is woken when something that
//! held it back is gone.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use netloom_store::{Event, EventKind, Key, Range};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::{
    crds, events,
    resources::{Api, metadata, options::Propagation, stored},
    status_error::Outcome,
};

/// The finalizer of the server in the specification of namespaces.
const FINALIZER: &str = "kubernetes";

/// The name of namespaces in the store.
const STORE_NAME: &str = "/namespaces";

/// How long to wait before the content of a namespace is looked at again, should no event come.
const AGAIN: Duration = Duration::from_secs(30);

/// How long to wait after an error.
const PAUSE: Duration = Duration::from_secs(1);

/// The tasks under way, by store name and name of what goes.
#[derive(Default)]
pub(crate) struct Lifecycles {
    going: Mutex<BTreeMap<(&'static str, String), Arc<Notify>>>,
}

impl Lifecycles {
    /// Adds a task; none when there is one already, which is woken instead.
    fn begin(&self, kind: &'static str, name: &str) -> Option<Arc<Notify>> {
        let mut going = self.going.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = going.get(&(kind, name.to_owned())) {
            known.notify_one();
            return None;
        }
        let notify = Arc::new(Notify::new());
        going.insert((kind, name.to_owned()), notify.clone());
        Some(notify)
    }

    fn end(&self, kind: &'static str, name: &str) {
        self.going.lock().unwrap_or_else(PoisonError::into_inner).remove(&(kind, name.to_owned()));
    }

    /// Wakes every task: an object is gone that may be the last one of some.
    fn wake(&self) {
        let going = self.going.lock().unwrap_or_else(PoisonError::into_inner);
        going.values().for_each(|notify| notify.notify_one());
    }
}

impl Api {
    /// Starts what runs for as long as the server does.
    pub(crate) async fn start_tasks(self: &Arc<Self>) {
        self.start_collector();
        tokio::spawn(sweep(Arc::downgrade(self)));
        self.find_lifecycles().await;
    }

    /// Looks for everything that is on its way out, as at the start or after events were missed.
    pub(crate) async fn find_lifecycles(self: &Arc<Self>) {
        for (store_name, plural) in [(STORE_NAME, "namespaces"), (crds::STORE_NAME, "customresourcedefinitions")] {
            let group = store_name.split('/').next().unwrap_or_default();
            for object in self.list_all(group, plural).await {
                self.lifecycle(store_name, &object);
            }
        }
    }

    /// Looks at one change for what it starts or releases it.
    pub(crate) fn lifecycle_passed(self: &Arc<Self>, event: &Event) {
        match &event.kind {
            EventKind::Delete { .. } => self.lifecycles.wake(),
            EventKind::Put { object, .. } => {
                let store_name = match event.key.resource() {
                    STORE_NAME => STORE_NAME,
                    crds::STORE_NAME => crds::STORE_NAME,
                    _ => return,
                };
                if let Ok(object) = serde_json::from_slice::<Value>(&object.bytes) {
                    self.lifecycle(store_name, &object);
                }
            }
        }
    }

    fn lifecycle(self: &Arc<Self>, kind: &'static str, object: &Value) {
        let going = match kind {
            STORE_NAME => metadata::is_terminating(object) && is_held(object),
            _ => crds::is_going(object),
        };
        let name = metadata::text(object, "name").to_owned();
        let Some(woken) = self.lifecycles.begin_if(going, kind, &name) else { return };
        let api = Arc::downgrade(self);
        tokio::spawn(async move {
            run(&api, kind, &name, &woken).await;
            if let Some(api) = api.upgrade() {
                api.lifecycles.end(kind, &name);
            }
        });
    }

    /// Deletes what is in a namespace; says whether that was everything and the namespace may go.
    async fn empty_namespace(&self, name: &str) -> Outcome<bool> {
        let catalogue = self.catalogue();
        let mut empty = true;
        for resource in catalogue.once().into_iter().filter(|resource| resource.namespaced) {
            let mut keys = Vec::new();
            let range = Range::resource(&resource.store_name()).in_namespace(name);
            self.each(range, |key, _| keys.push(key.clone())).await?;
            for key in keys {
                empty &= self.remove(&resource, &key, None, Some(Propagation::Background)).await?;
            }
        }
        Ok(empty)
    }

    async fn release_namespace(&self, name: &str) -> Outcome<()> {
        let catalogue = self.catalogue();
        let Some(resource) = catalogue.lookup("", "v1", "namespaces") else { return Ok(()) };
        let key = Key::new(STORE_NAME, "", name);
        let release = |object: &mut Value| {
            let Some(list) = object.pointer_mut("/spec/finalizers").and_then(Value::as_array_mut) else { return false };
            let before = list.len();
            list.retain(|name| name != FINALIZER);
            let changed = list.len() < before;
            if list.is_empty() {
                object["spec"] = json!({});
            }
            changed
        };
        self.modify(resource, &key, &release).await?;
        Ok(())
    }

    /// Deletes events that are over.
    async fn sweep_events(&self) -> Outcome<()> {
        let catalogue = self.catalogue();
        let Some(resource) = catalogue.lookup("", "v1", "events") else { return Ok(()) };
        let now = self.source.now();
        let mut keys = Vec::new();
        self.each(Range::resource("/events"), |key, object| {
            let over = stored::decode(resource, object).is_ok_and(|event| events::is_over(&event, now));
            if over {
                keys.push(key.clone());
            }
        })
        .await?;
        for key in keys {
            self.remove(resource, &key, None, None).await?;
        }
        Ok(())
    }
}

impl Lifecycles {
    fn begin_if(&self, going: bool, kind: &'static str, name: &str) -> Option<Arc<Notify>> {
        if going { self.begin(kind, name) } else { None }
    }
}

/// Whether the server itself holds a namespace back.
fn is_held(object: &Value) -> bool {
    let list = object.pointer("/spec/finalizers").and_then(Value::as_array);
    list.is_some_and(|list| list.iter().any(|name| name == FINALIZER))
}

/// Brings one thing to its end. Errors are those of the store; it is tried again.
async fn run(api: &Weak<Api>, kind: &'static str, name: &str, woken: &Notify) {
    loop {
        let Some(current) = api.upgrade() else { return };
        let outcome = if kind == STORE_NAME {
            match current.empty_namespace(name).await {
                Ok(true) => current.release_namespace(name).await.map(|()| true),
                other => other,
            }
        } else {
            current.finish_definition(name).await
        };
        drop(current);
        match outcome {
            Ok(true) => return,
            Ok(false) => _ = tokio::time::timeout(AGAIN, woken.notified()).await,
            Err(status) => {
                tracing::warn!(error = %status, name, "a removal is tried again");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

async fn sweep(api: Weak<Api>) {
    loop {
        tokio::time::sleep(events::SWEEP).await;
        let Some(api) = api.upgrade() else { return };
        if let Err(status) = api.sweep_events().await {
            tracing::warn!(error = %status, "old events stay for now");
        }
    }
}
