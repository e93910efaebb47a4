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
use netloom_node::{Agent, Event, Mode, NODE, POLICY, STATE};
use netloom_object::Change;
use serde_json::{Value, json};
use tokio::{sync::mpsc::UnboundedSender, task::JoinSet};

use crate::{kinds::served, whereabouts::Whereabouts};

/// What is followed, and who is told.
pub(crate) struct Follower<'a> {
    pub(crate) client: &'a Client,
    pub(crate) node: &'a str,
    pub(crate) mode: Mode,
    pub(crate) events: &'a UnboundedSender<Event>,
    /// Where the API is, when the node must not lose the way there.
    pub(crate) api: Option<Whereabouts>,
}

impl Follower<'_> {
    /// Follows every kind that the agent must know; the tasks end when `tasks` is dropped.
    pub(crate) fn follow(&self, tasks: &mut JoinSet<()>) {
        for kind in Agent::kinds(self.mode) {
            let resource = resource(*kind);
            let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource);
            let moving = self.api.clone().filter(Whereabouts::may_change);
            let one = One { kind: *kind, resource, events: self.events.clone(), moving };
            tasks.spawn(one.follow(api, selector(*kind, self.node)));
        }
    }
}

/// One kind that is followed.
struct One {
    kind: GroupKind<'static>,
    resource: ApiResource,
    events: UnboundedSender<Event>,
    /// Where the API is, when that may change.
    moving: Option<Whereabouts>,
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

impl One {
    async fn follow(self, api: Api<DynamicObject>, selector: Option<String>) {
        let Self { kind, resource, events, moving } = self;
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
            if let (Some(moving), Change::Listed { .. }) = (&moving, &change)
                && let Some(addresses) = moving.addresses().await
            {
                events.send(Event::Api(addresses)).ok();
            }
            if events.send(Event::Objects(change)).is_err() {
                return;
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A thousand agents that each followed everything would be a thousand times as much for the server to say.
    #[test]
    fn only_objects_of_the_own_node_are_asked_for() {
        for mode in [Mode::Centralized, Mode::Distributed] {
            for kind in Agent::kinds(mode) {
                let asked = selector(*kind, "n1");
                let wanted = match kind.kind {
                    "NodeNetworkState" => Some("spec.nodeName=n1"),
                    "NodeNetworkConfig" | "NodeNetworkStatus" | "Node" => Some("metadata.name=n1"),
                    // Whether a policy is for the node is told by more than a selector can say.
                    "NodeNetConfPolicy" => None,
                    other => panic!("{other} is followed, and nothing here says whose objects of it"),
                };
                assert_eq!(asked.as_deref(), wanted, "{}", kind.kind);
            }
        }
        let followed = |mode| Agent::kinds(mode).contains(&POLICY);
        assert!(!followed(Mode::Centralized) && followed(Mode::Distributed), "who does not merge needs no policies");
    }
}
