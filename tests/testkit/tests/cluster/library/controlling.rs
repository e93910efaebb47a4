//! Watching and reconciling: the three ways to watch, and a controller with a finalizer and children.

use std::{collections::BTreeMap, pin::pin, sync::Arc};

use futures_util::{Stream, StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{
    Api, Resource as _, ResourceExt as _,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
    core::{Expression, PartialObjectMeta},
    runtime::{
        Controller,
        controller::Action,
        finalizer::{Event as Finalizing, finalizer},
        wait::{await_condition, conditions},
        watcher::{self, Event},
    },
};
use serde_json::json;

use super::{Scene, expect, object, text};

/// Lists, then watches.
pub(super) async fn watcher(scene: Scene) -> Result<(), String> {
    let maps: Api<ConfigMap> = Api::namespaced(scene.client.clone(), &scene.namespace);
    let config = watcher::Config::default().page_size(1);
    watched(&maps, watcher::watcher(maps.clone(), config), ConfigMap::name_any).await
}

/// Gets the state as events.
pub(super) async fn watcher_streaming(scene: Scene) -> Result<(), String> {
    let maps: Api<ConfigMap> = Api::namespaced(scene.client.clone(), &scene.namespace);
    let config = watcher::Config::default().streaming_lists();
    watched(&maps, watcher::watcher(maps.clone(), config), ConfigMap::name_any).await
}

/// Asks for metadata only.
pub(super) async fn watcher_metadata(scene: Scene) -> Result<(), String> {
    let maps: Api<ConfigMap> = Api::namespaced(scene.client.clone(), &scene.namespace);
    let config = watcher::Config::default().labels_from(&Expression::DoesNotExist("hidden".to_owned()).into());
    let partial: Api<PartialObjectMeta<ConfigMap>> = Api::namespaced(scene.client.clone(), &scene.namespace);
    watched(&maps, watcher::watcher(partial, config), PartialObjectMeta::name_any).await
}

/// What a watch of config maps must show while they come, change and go.
async fn watched<K>(
    maps: &Api<ConfigMap>,
    events: impl Stream<Item = watcher::Result<Event<K>>>,
    name: impl Fn(&K) -> String,
) -> Result<(), String> {
    for known in ["a", "b"] {
        let map = object(json!({ "metadata": { "name": known } }))?;
        maps.create(&PostParams::default(), &map).await.map_err(text)?;
    }
    // A watch may begin with what a cache of the server has, and a list of the newest has the cache catch up.
    maps.list(&ListParams::default()).await.map_err(text)?;
    let mut events = pin!(events);
    let mut seen = Vec::new();
    while let Some(event) = events.try_next().await.map_err(text)? {
        let done = match event {
            Event::Init => None,
            Event::InitApply(object) => Some(format!("was {}", name(&object))),
            Event::InitDone => {
                let change = Patch::Merge(json!({ "data": { "k": "v" } }));
                maps.patch("a", &PatchParams::default(), &change).await.map_err(text)?;
                maps.delete("b", &DeleteParams::default()).await.map_err(text)?;
                Some("complete".to_owned())
            }
            Event::Apply(object) => Some(format!("changed {}", name(&object))),
            Event::Delete(object) => Some(format!("deleted {}", name(&object))),
        };
        seen.extend(done);
        if seen.last().is_some_and(|last| last.starts_with("deleted")) {
            break;
        }
    }
    let right = ["was a", "was b", "complete", "changed a", "deleted b"];
    expect(seen == right, || format!("the watch showed {seen:?}"))
}

/// A controller makes a child for each of its objects and clears up after them.
pub(super) async fn controller(scene: Scene) -> Result<(), String> {
    let parents: Api<ConfigMap> = Api::namespaced(scene.client.clone(), &scene.namespace);
    let children: Api<Secret> = Api::namespaced(scene.client.clone(), &scene.namespace);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let ours = watcher::Config::default().labels("role=parent");
    let run = Controller::new(parents.clone(), ours)
        .owns(children.clone(), watcher::Config::default())
        .graceful_shutdown_on(async { stopped.await.unwrap_or_default() })
        .run(reconcile, |_, _, _| Action::await_change(), Arc::new(scene.clone()));
    let running = tokio::spawn(run.for_each(async |_| ()));

    let labels = BTreeMap::from([("role", "parent")]);
    let parent: ConfigMap = object(json!({ "metadata": { "name": "p", "labels": labels }, "data": { "k": "1" } }))?;
    let parent = parents.create(&PostParams::default(), &parent).await.map_err(text)?;
    let made = await_condition(children.clone(), "child-of-p", conditions::is_created()).await.map_err(text)?;
    let child = made.and_then(|child| child.uid()).unwrap_or_default();
    // Somebody takes the child away; the controller sees it and makes another.
    children.delete("child-of-p", &DeleteParams::default()).await.map_err(text)?;
    let another = |secret: Option<&Secret>| secret.is_some_and(|secret| secret.uid().is_some_and(|uid| uid != child));
    let made = await_condition(children.clone(), "child-of-p", another).await.map_err(text)?;
    let child = made.and_then(|child| child.uid()).unwrap_or_default();

    parents.delete("p", &DeleteParams::default()).await.map_err(text)?;
    let uid = parent.uid().unwrap_or_default();
    await_condition(parents.clone(), "p", conditions::is_deleted(&uid)).await.map_err(text)?;
    await_condition(children, "child-of-p", conditions::is_deleted(&child)).await.map_err(text)?;
    let cleared = parents.get_opt("cleared-after-p").await.map_err(text)?;
    expect(cleared.is_some(), || "the finalizer's work was not done".to_owned())?;
    stop.send(()).ok();
    running.await.map_err(text)
}

async fn reconcile(
    parent: Arc<ConfigMap>,
    scene: Arc<Scene>,
) -> Result<Action, kube::runtime::finalizer::Error<kube::Error>> {
    let parents: Api<ConfigMap> = Api::namespaced(scene.client.clone(), &scene.namespace);
    finalizer(&parents.clone(), "example.dev/story", parent, async |event| {
        let apply = PatchParams::apply("story").force();
        match event {
            Finalizing::Apply(parent) => {
                let name = format!("child-of-{}", parent.name_any());
                let children: Api<Secret> = Api::namespaced(scene.client.clone(), &scene.namespace);
                let desired = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name,
                    "ownerReferences": [parent.controller_owner_ref(&())] }, "stringData": parent.data });
                children.patch(&name, &apply, &Patch::Apply(desired)).await?;
            }
            Finalizing::Cleanup(parent) => {
                let name = format!("cleared-after-{}", parent.name_any());
                let desired = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } });
                parents.patch(&name, &apply, &Patch::Apply(desired)).await?;
            }
        }
        Ok(Action::await_change())
    })
    .await
}
