//! One watch for each kind, the same code for all.
//!
//! What comes of it goes to those who asked: the view of the admission rules, the index of the control loop. Both are fed
//! by the same watch.
//!
//! A kind that the cluster does not serve is empty for the rules. For the control loop it is not known:
//! without it nothing is decided.

use std::sync::Arc;

use futures_util::StreamExt as _;
use kube::{Client, api::ApiResource};
use netloom_api::{GroupKind, NAMESPACE, foreign, registry};
use netloom_client::Watch;
use netloom_controller_core::Kinds;
use netloom_object::Change;
use netloom_podnet::Blocks;
use serde_json::Value;
use tokio::{sync::mpsc, task::JoinSet};

use crate::{
    definitions::{Definitions, Standing},
    metrics::Metrics,
    view::Current,
};

/// Who is notified of changes.
#[derive(Debug, Clone)]
pub struct Outlets {
    /// What admission rules look at; only where there is a webhook.
    pub view: Option<Current>,
    /// The control loop. When it is busy, watches wait.
    pub index: mpsc::Sender<Change>,
    /// The address lane; watches wait for it too.
    pub addresses: mpsc::Sender<Change>,
    /// The operator configuration as its `ConfigMap`, where it is out of a file: then that of the cluster is not followed.
    pub config: Option<Arc<Value>>,
    /// Whether kinds that a cluster has on request are acted on.
    pub requested: bool,
}

/// Starts to follow every kind that somebody looks at; the tasks end when `tasks` is dropped.
pub fn follow(
    client: &Client,
    definitions: &Definitions,
    outlets: &Outlets,
    metrics: &Arc<Metrics>,
    tasks: &mut JoinSet<()>,
) {
    let mut all = viewed();
    all.push(foreign::LEASE);
    if outlets.view.is_none() {
        all.retain(|kind| Kinds::built_in().has(*kind) || Blocks::kinds().contains(kind));
    }
    for kind in &all {
        let follower = Follower {
            kind: *kind,
            definitions: definitions.clone(),
            outlets: outlets.clone(),
            metrics: Arc::clone(metrics),
            standing: Standing::Acted,
        };
        tasks.spawn(follower.run(client.clone()));
    }
}

/// Every kind that rules look at. The control loop looks at some of them, and at signs of life besides.
pub(crate) fn viewed() -> Vec<GroupKind<'static>> {
    let own = registry::kinds().iter().map(|kind| GroupKind::new(kind.group, kind.kind));
    own.chain(foreign::VIEWED.iter().copied()).collect()
}

/// Follows one kind.
struct Follower {
    kind: GroupKind<'static>,
    definitions: Definitions,
    outlets: Outlets,
    metrics: Arc<Metrics>,
    /// Whether the control loop hears of it. What is somebody else's is looked at by rules alone.
    standing: Standing,
}

impl Follower {
    async fn run(mut self, client: Client) {
        if self.kind == foreign::CONFIG_MAP
            && let Some(config) = self.outlets.config.take()
        {
            return self.tell(Change::Listed { kind: self.kind, objects: vec![config] }).await;
        }
        loop {
            match self.definitions.resource(self.kind) {
                Some(Some(resource)) => {
                    let now = self.current();
                    let before = std::mem::replace(&mut self.standing, now);
                    if self.standing != Standing::Acted {
                        self.leave_alone(&before).await;
                    }
                    if self.standing == Standing::Acted || self.outlets.view.is_some() {
                        self.watch(client.clone(), resource).await;
                    } else {
                        self.definitions.changed().await;
                    }
                }
                Some(None) => {
                    if let Some(view) = &self.outlets.view {
                        view.absent(self.kind);
                    }
                    self.standing = Standing::Acted;
                    if Kinds::built_in().is_optional(self.kind) || Blocks::kinds().contains(&self.kind) {
                        self.tell(Change::Listed { kind: self.kind, objects: Vec::new() }).await;
                    }
                    self.definitions.changed().await;
                }
                None => self.definitions.changed().await,
            }
        }
    }

    /// Whether the control loop is to hear of the kind.
    fn current(&self) -> Standing {
        self.definitions.standing(self.kind, self.outlets.requested)
    }

    /// For the control loop there is nothing of the kind.
    async fn leave_alone(&self, before: &Standing) {
        let (kind, why) = (self.kind.kind, self.standing.why().unwrap_or_default());
        match &self.standing {
            now if now == before => {}
            Standing::Missing(_) | Standing::Foreign(_) => {
                tracing::warn!(kind, why, "objects of this kind are left alone");
            }
            Standing::Acted | Standing::NotRequested => {
                tracing::info!(kind, why, "objects of this kind are left alone");
            }
        }
        self.send(Change::Listed { kind: self.kind, objects: Vec::new() }).await;
    }

    /// Watches until the cluster serves the kind no more, or otherwise.
    async fn watch(&mut self, client: Client, resource: ApiResource) {
        // Leases of kubelets are renewed all the time, and say nothing about agents.
        let namespace = (self.kind == foreign::LEASE).then_some(NAMESPACE);
        let only = foreign::only_one(self.kind);
        let namespace = namespace.or(only.map(|(namespace, _)| namespace)).map(str::to_owned);
        let fields = only.map(|(_, name)| format!("metadata.name={name}"));
        let mut changes = Watch { namespace, fields, ..Watch::all(self.kind, resource.clone()) }.follow(client);
        loop {
            let change = tokio::select! {
                change = changes.next() => change,
                () = self.definitions.changed() => {
                    if self.definitions.resource(self.kind) == Some(Some(resource.clone())) && self.current() == self.standing {
                        continue;
                    }
                    return;
                }
            };
            match change {
                Some(Ok(change)) => {
                    if matches!(change, Change::Listed { .. }) {
                        self.metrics.listed(self.kind.kind);
                    }
                    self.tell(change).await;
                }
                Some(Err(why)) => {
                    self.metrics.interrupted(self.kind.kind);
                    tracing::warn!(kind = self.kind.kind, %why, "the watch of a kind was interrupted");
                }
                None => return,
            }
        }
    }

    async fn tell(&self, change: Change) {
        if let Some(view) = self.outlets.view.as_ref().filter(|_| foreign::is_viewed(self.kind)) {
            view.take(self.kind, &change);
        }
        if self.standing == Standing::Acted {
            self.send(change).await;
        }
    }

    async fn send(&self, change: Change) {
        let is_of_addresses = Blocks::kinds().contains(&self.kind);
        let mut ended = is_of_addresses && self.outlets.addresses.send(change.clone()).await.is_err();
        ended |= Kinds::built_in().has(self.kind) && self.outlets.index.send(change).await.is_err();
        if ended {
            // The loop has ended, and with it the process: there is nothing left to follow for.
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_see_all_that_the_loop_sees() {
        let viewed = viewed();
        for kind in Kinds::built_in().all() {
            assert!(viewed.contains(kind) || *kind == foreign::LEASE, "{kind:?}");
        }
    }
}
