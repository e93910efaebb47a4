//! The node's objects, followed at the API: only those of this node are asked for.

use std::sync::Arc;

use futures_util::StreamExt as _;
use kube::Client;
use netloom_agent_core::{Agent, Event, Mode, NODE, owner};
use netloom_client::Watch;
use netloom_object::Change;
use serde_json::Value;
use tokio::{
    sync::{mpsc::UnboundedSender, watch},
    task::JoinSet,
};

use crate::{api_address::ApiAddress, heartbeat::Owner, kinds::resource};

/// What is followed, and who is reported.
pub(crate) struct Follower<'a> {
    pub(crate) client: &'a Client,
    pub(crate) node: &'a str,
    pub(crate) mode: Mode,
    pub(crate) events: &'a UnboundedSender<Event>,
    /// Where the API is, when the node must not lose the way there.
    pub(crate) api: Option<ApiAddress>,
    /// Which `Node` is there, for the sign of life.
    pub(crate) node_owner: watch::Sender<Owner>,
}

impl Follower<'_> {
    /// Follows every kind that the agent must know; the tasks end when `tasks` is dropped.
    pub(crate) fn follow(&self, tasks: &mut JoinSet<()>) {
        for kind in Agent::kinds(self.mode) {
            let fields = owner(*kind).selector(self.node);
            let watch = Watch { fields, ..Watch::all(*kind, resource(*kind)) };
            let moving = self.api.clone().filter(ApiAddress::may_change);
            let node_owner = (*kind == NODE).then(|| self.node_owner.clone());
            tasks.spawn(One { watch, events: self.events.clone(), moving, node_owner }.follow(self.client.clone()));
        }
    }
}

/// One kind that is followed.
struct One {
    watch: Watch,
    events: UnboundedSender<Event>,
    /// Where the API is, when that may change.
    moving: Option<ApiAddress>,
    /// Who wants to know which `Node` is there, where this is that kind.
    node_owner: Option<watch::Sender<Owner>>,
}

impl One {
    async fn follow(self, client: Client) {
        let Self { watch, events, moving, node_owner } = self;
        let kind = watch.kind;
        let mut changes = watch.follow(client);
        while let Some(change) = changes.next().await {
            let change = match change {
                Ok(change) => change,
                Err(why) => {
                    tracing::warn!(kind = kind.kind, %why, "the watch was interrupted");
                    continue;
                }
            };
            let change = match &node_owner {
                Some(node_owner) => {
                    Owner::of(&change).show(node_owner);
                    without_status(change)
                }
                None => change,
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

/// Images and the like are most of a node, change all the time, and nothing here reads them.
fn without_status(change: Change) -> Change {
    let bare = |mut node: Arc<Value>| {
        Arc::make_mut(&mut node).as_object_mut().map(|node| node.remove("status"));
        node
    };
    match change {
        Change::Put(node) => Change::Put(bare(node)),
        Change::Gone(node) => Change::Gone(bare(node)),
        Change::Listed { kind, objects } => Change::Listed { kind, objects: objects.into_iter().map(bare).collect() },
    }
}

#[cfg(test)]
mod tests {
    use netloom_agent_core::POLICY;

    use super::*;

    /// A thousand agents that each followed everything would be a thousand times as much for the server to say.
    #[test]
    fn only_objects_of_the_own_node_are_asked_for() {
        for mode in [Mode::Centralized, Mode::Distributed] {
            for kind in Agent::kinds(mode) {
                let asked = owner(*kind).selector("n1");
                let wanted = match kind.kind {
                    "NodeNetworkState" => Some("spec.nodeName=n1"),
                    "NodeNetworkConfig" | "NodeNetworkStatus" | "Node" => Some("metadata.name=n1"),
                    // Whether a policy is for the node depends on more than a selector can say.
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
