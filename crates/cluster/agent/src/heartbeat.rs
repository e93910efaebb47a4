//! The agent's sign of life: a `Lease` under the name of its node, renewed while the agent is well.
//!
//! Rollouts go by it: a node whose agent is there can take a change whatever its `Node` says, and one whose agent is
//! gone is passed over. It is a task of its own, so that a node which is busy with a long change does not seem to be
//! gone; an agent whose loop is stuck gives no sign.

use std::{sync::Arc, time::Duration};

use http::{Method, Request};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::Client;
use netloom_agent_core::MANAGER;
use netloom_api::NAMESPACE;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use crate::{clock::Clock, health::AgentHealth};

/// How many renewals may be lost before the agent counts as gone, and the one that comes then.
const TIMES: u32 = 3;
/// How long one request may take.
const TIME_LIMIT: Duration = Duration::from_secs(15);

/// Renews the lease of one node.
pub(crate) struct Heartbeat {
    pub(crate) client: Client,
    pub(crate) node: String,
    pub(crate) every: Duration,
    pub(crate) clock: Clock,
    pub(crate) health: Arc<AgentHealth>,
}

impl Heartbeat {
    /// Renews it until the task is dropped.
    pub(crate) async fn run(self) {
        let mut owner = None;
        let mut reported = false;
        loop {
            let mut wait = self.every;
            if self.health.stuck(Instant::now()).is_none() {
                if owner.is_none() {
                    owner = self.owner().await;
                }
                match self.renew(owner.as_deref()).await {
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
            sleep(wait).await;
        }
    }

    /// The uid of the Node, with which the lease goes.
    async fn owner(&self) -> Option<String> {
        let node = self.ask(Method::GET, &format!("/api/v1/nodes/{}", self.node), Vec::new()).await.ok()?;
        node.pointer("/metadata/uid").and_then(Value::as_str).map(str::to_owned)
    }

    async fn renew(&self, owner: Option<&str>) -> Result<(), String> {
        let lease = lease(&self.node, owner, self.every, self.clock.now());
        let path = format!("/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{}", self.node);
        let target = format!("{path}?fieldManager={MANAGER}&force=true");
        self.ask(Method::PATCH, &target, lease.to_string().into_bytes()).await.map(drop)
    }

    async fn ask(&self, method: Method, target: &str, body: Vec<u8>) -> Result<Value, String> {
        let request =
            Request::builder().method(method).uri(target).header("content-type", "application/apply-patch+yaml");
        let request = request.body(body).map_err(|error| error.to_string())?;
        match timeout(TIME_LIMIT, self.client.request::<Value>(request)).await {
            Ok(answer) => answer.map_err(|error| error.to_string()),
            Err(_) => Err(format!("no answer within {TIME_LIMIT:?}")),
        }
    }
}

/// What the lease says.
fn lease(node: &str, owner: Option<&str>, every: Duration, now: Timestamp) -> Value {
    let seconds = every.as_secs().saturating_mul(TIMES.into()).max(1);
    let mut lease = json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"namespace": NAMESPACE, "name": node},
        "spec": {"holderIdentity": node, "leaseDurationSeconds": seconds, "renewTime": MicroTime(now)},
    });
    if let Some(uid) = owner {
        lease["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid}]);
    }
    lease
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_lasts_for_three_renewals_and_goes_with_its_node() {
        let lease = lease("n1", Some("u"), Duration::from_mins(1), Timestamp::UNIX_EPOCH);
        assert_eq!(lease["spec"]["leaseDurationSeconds"], 180);
        assert_eq!(lease["spec"]["renewTime"], "1970-01-01T00:00:00.000000Z");
        assert_eq!(lease["metadata"]["ownerReferences"][0]["uid"], "u");
    }
}
