//! The node's objects, followed at the API: only those of this node are asked for.

use std::sync::Arc;

use futures_util::StreamExt as _;
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, GroupVersionKind},
    runtime::{
        WatchStreamExt as _,
        watcher::{self, Event as Watched},
    },
};
use netloom_api::admission::GroupKind;
use netloom_node::{Agent, Change, Event, Mode, NODE, POLICY, STATE};
use serde_json::{Value, json};
use tokio::{sync::mpsc::UnboundedSender, task::JoinSet};

use crate::kinds::served;

/// Follows every kind that the agent must know; the tasks end when `tasks` is dropped.
pub(crate) fn follow(
    client: &Client,
    node: &str,
    mode: Mode,
    events: &UnboundedSender<Event>,
    tasks: &mut JoinSet<()>,
) {
    for kind in Agent::kinds(mode) {
        let resource = resource(*kind);
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        tasks.spawn(one(api, *kind, resource, selector(*kind, node), events.clone()));
    }
}

/// What the server shall leave out.
fn selector(kind: GroupKind<'static>, node: &str) -> Option<String> {
    match kind {
        STATE => Some(format!("spec.nodeName={node}")),
        POLICY => None,
        _ => Some(format!("metadata.name={node}")),
    }
}

fn resource(kind: GroupKind<'static>) -> ApiResource {
    let (version, plural) = served(kind);
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(kind.group, &version, kind.kind), &plural)
}

async fn one(
    api: Api<DynamicObject>,
    kind: GroupKind<'static>,
    resource: ApiResource,
    selector: Option<String>,
    events: UnboundedSender<Event>,
) {
    let config = selector.iter().fold(watcher::Config::default(), |config, selector| config.fields(selector));
    let mut stream = watcher::watcher(api, config).default_backoff().boxed();
    let mut listed = Vec::new();
    while let Some(event) = stream.next().await {
        let change = match event {
            Ok(Watched::Init) => {
                listed.clear();
                continue;
            }
            Ok(Watched::InitApply(object)) => {
                listed.push(whole(object, &resource));
                continue;
            }
            Ok(Watched::InitDone) => Change::Listed { kind, objects: std::mem::take(&mut listed) },
            Ok(Watched::Apply(object)) => Change::Put(whole(object, &resource)),
            Ok(Watched::Delete(object)) => Change::Gone(whole(object, &resource)),
            Err(why) => {
                tracing::warn!(kind = kind.kind, %why, "the watch was interrupted");
                continue;
            }
        };
        if events.send(Event::Objects(change)).is_err() {
            return;
        }
    }
}

/// An object with its kind, which lists leave out, and without what nothing here reads.
fn whole(object: DynamicObject, resource: &ApiResource) -> Arc<Value> {
    let DynamicObject { types: _, mut metadata, data: mut value } = object;
    metadata.managed_fields = None;
    value["metadata"] = json!(metadata);
    value["apiVersion"] = json!(resource.api_version);
    value["kind"] = json!(resource.kind);
    if resource.kind == NODE.kind {
        // Images and the like are most of a node, and change all the time.
        value.as_object_mut().map(|node| node.remove("status"));
    }
    Arc::new(value)
}
