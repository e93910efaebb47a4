//! The agent's sign of life: a `Lease` under the name of its node, renewed while the agent is well.
//!
//! Rollouts go by it: a node whose agent is there can take a change whatever its `Node` says, and one whose agent is
//! gone is passed over. It is a task of its own, so that a node which is busy with a long change does not seem to be
//! gone; an agent whose loop is stuck gives no sign.
//!
//! The lease goes with its `Node`, so it names the uid that the agent's watch showed last. A `Node` that was deleted and
//! created again has another one: then the lease is renewed at once, for the server removes one whose owner is gone.
//! While there is no `Node`, nobody goes by the lease, and none is written that would be left behind.

use std::{sync::Arc, time::Duration};

use http::Request;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::Client;
use netloom_agent_core::MANAGER;
use netloom_api::NAMESPACE;
use netloom_object::Change;
use serde_json::{Value, json};
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};

use crate::{clock::Clock, health::AgentHealth};

/// How many renewals may be lost before the agent counts as gone, and the one that comes then.
const TIMES: u32 = 3;
/// How long one request may take.
const TIME_LIMIT: Duration = Duration::from_secs(15);

/// Whether the node's `Node` is there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Owner {
    /// It was not listed yet.
    #[default]
    Unknown,
    /// It is not there.
    Absent,
    /// It is, under this uid.
    Present(String),
}

impl Owner {
    /// What a change of the watch of the `Node` shows.
    pub(crate) fn of(change: &Change) -> Self {
        let object = match change {
            Change::Put(node) => Some(node),
            Change::Gone(_) => None,
            Change::Listed { objects, .. } => objects.first(),
        };
        let uid = object.and_then(|node| node.pointer("/metadata/uid")).and_then(Value::as_str);
        uid.map_or(Self::Absent, |uid| Self::Present(uid.to_owned()))
    }

    /// Notifies the heartbeat, if this is another one.
    pub(crate) fn show(self, owner: &watch::Sender<Self>) {
        owner.send_if_modified(|known| {
            *known != self && {
                *known = self;
                true
            }
        });
    }
}

/// Renews the lease of one node.
pub(crate) struct Heartbeat {
    pub(crate) client: Client,
    pub(crate) node: String,
    pub(crate) every: Duration,
    pub(crate) clock: Clock,
    pub(crate) health: Arc<AgentHealth>,
    /// With what the lease goes.
    pub(crate) owner: watch::Receiver<Owner>,
}

impl Heartbeat {
    /// Renews it until the task is dropped.
    pub(crate) async fn run(mut self) {
        let mut reported = false;
        // An agent that cannot read its Node gives a sign of life all the same.
        timeout(TIME_LIMIT, self.owner.wait_for(|owner| *owner != Owner::Unknown)).await.ok();
        loop {
            let mut wait = self.every;
            let owner = self.owner.borrow_and_update().clone();
            if self.health.stuck(Instant::now()).is_none() && owner != Owner::Absent {
                match self.renew(&owner).await {
                    Ok(()) => reported = false,
                    Err(why) => {
                        wait = self.every / (2 * TIMES);
                        // Once: who may not write it will not be allowed to a moment later.
                        if !std::mem::replace(&mut reported, true) {
                            tracing::warn!(%why, "the sign of life of this agent could not be renewed");
                        }
                    }
                }
            }
            // The watches end with the agent, and so does this task.
            tokio::select! {
                () = sleep(wait) => {}
                Ok(()) = self.owner.changed() => {}
            }
        }
    }

    async fn renew(&self, owner: &Owner) -> Result<(), String> {
        let lease = lease(&self.node, owner, self.every, self.clock.now());
        let path = format!("/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{}", self.node);
        let target = format!("{path}?fieldManager={MANAGER}&force=true");
        let request = Request::patch(target).header("content-type", "application/apply-patch+yaml");
        let request = request.body(lease.to_string().into_bytes()).map_err(|error| error.to_string())?;
        match timeout(TIME_LIMIT, self.client.request::<Value>(request)).await {
            Ok(answer) => answer.map(drop).map_err(|error| error.to_string()),
            Err(_) => Err(format!("no answer within {TIME_LIMIT:?}")),
        }
    }
}

/// What the lease says.
fn lease(node: &str, owner: &Owner, every: Duration, now: Timestamp) -> Value {
    let seconds = every.as_secs().saturating_mul(TIMES.into()).max(1);
    let mut lease = json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"namespace": NAMESPACE, "name": node},
        "spec": {"holderIdentity": node, "leaseDurationSeconds": seconds, "renewTime": MicroTime(now)},
    });
    if let Owner::Present(uid) = owner {
        lease["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid}]);
    }
    lease
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http_body_util::{BodyExt as _, Full};
    use hyper::{Response, body::Incoming, server::conn::http1, service::service_fn};
    use hyper_util::rt::TokioIo;
    use kube::Config;
    use netloom_agent_core::NODE;
    use tokio::{
        net::TcpListener,
        sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    };

    use super::*;

    #[test]
    fn a_lease_lasts_for_three_renewals_and_goes_with_its_node() {
        let lease = lease("n1", &Owner::Present("u".to_owned()), Duration::from_mins(1), Timestamp::UNIX_EPOCH);
        assert_eq!(lease["spec"]["leaseDurationSeconds"], 180);
        assert_eq!(lease["spec"]["renewTime"], "1970-01-01T00:00:00.000000Z");
        assert_eq!(lease["metadata"]["ownerReferences"][0]["uid"], "u");
    }

    /// An API server that takes leases, and tells which.
    async fn server(leases: UnboundedSender<Value>) -> Client {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let leases = leases.clone();
                let service = service_fn(move |request: Request<Incoming>| {
                    let leases = leases.clone();
                    async move {
                        let body = request.into_body().collect().await.unwrap().to_bytes();
                        leases.send(serde_json::from_slice(&body).unwrap()).ok();
                        let answer = Response::builder().header("content-type", "application/json");
                        answer.body(Full::new(Bytes::from_static(b"{}")))
                    }
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        Client::try_from(Config::new(at.parse().unwrap())).unwrap()
    }

    /// The owners of the lease that was written next.
    async fn next(leases: &mut UnboundedReceiver<Value>) -> Value {
        let lease = timeout(Duration::from_secs(20), leases.recv()).await.expect("a lease").unwrap();
        lease.pointer("/metadata/ownerReferences/0/uid").cloned().unwrap_or_default()
    }

    #[tokio::test]
    async fn a_node_that_is_created_again_has_its_lease_at_once() {
        let node = |uid: &str| Arc::new(json!({"metadata": {"name": "n1", "uid": uid}}));
        let (leases, mut written) = unbounded_channel();
        let (show, owner) = watch::channel(Owner::default());
        let heartbeat = Heartbeat {
            client: server(leases).await,
            node: "n1".to_owned(),
            every: Duration::from_hours(1),
            clock: Clock::start(),
            health: Arc::new(AgentHealth::default()),
            owner,
        };
        let task = tokio::spawn(heartbeat.run());
        Owner::of(&Change::Listed { kind: NODE, objects: vec![node("first")] }).show(&show);
        assert_eq!(next(&mut written).await, "first");
        Owner::of(&Change::Put(node("first"))).show(&show);
        Owner::of(&Change::Gone(node("first"))).show(&show);
        tokio::task::yield_now().await;
        Owner::of(&Change::Put(node("second"))).show(&show);
        assert_eq!(next(&mut written).await, "second", "and nothing in between");
        // The same is found when the watch had to be begun again.
        Owner::of(&Change::Listed { kind: NODE, objects: vec![node("third")] }).show(&show);
        assert_eq!(next(&mut written).await, "third");
        task.abort();
    }
}
