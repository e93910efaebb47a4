//! Requests at the API: what the node's decisions ask for, carried out and answered.

use std::{sync::Arc, time::Duration};

use http::{Method, Request as HttpRequest};
use kube::Client;
use netloom_node::{Event, MANAGER};
use netloom_object::{Action, Answer, Chain, Change, ObjectRef, Request, with_late};
use serde_json::Value;
use tokio::{sync::mpsc::UnboundedSender, time::timeout};

use crate::{kinds::served, metrics::Metrics};

/// How long one request may take. The network may be the one that is being changed, and then there is no
/// answer at all.
const PATIENCE: Duration = Duration::from_secs(15);

/// The API, for one agent.
#[derive(Clone)]
pub(crate) struct Api {
    pub(crate) client: Client,
    pub(crate) events: UnboundedSender<Event>,
    pub(crate) metrics: Arc<Metrics>,
}

impl Api {
    /// Carries out requests that follow each other, and tells what came of each.
    pub(crate) async fn ask(self, chain: Chain) {
        let mut broken = false;
        for request in chain.0 {
            let answer = if broken { Answer::Skipped } else { self.one(&request).await };
            broken |= matches!(answer, Answer::Refused | Answer::Denied);
            self.metrics.request(&answer);
            self.tell(Event::Answered { request: request.id, answer });
        }
    }

    async fn one(&self, request: &Request) -> Answer {
        let Refusal { why, conflict, last } = match self.send(&request.target, &request.action).await {
            Ok(object) => {
                self.put(object);
                return Answer::Done;
            }
            Err(refusal) => refusal,
        };
        // What is there now: it may be newer than what the request was made from, or the very object that was
        // to be made, or a write whose answer was lost.
        let found = self.request(Method::GET, &path(&request.target), "", &Value::Null).await;
        let there = conflict || found.is_ok();
        if let Ok(object) = found {
            self.put(object);
        }
        if there && matches!(request.action, Action::Create { .. }) {
            return Answer::Done;
        }
        tracing::warn!(object = %request.target.key, kind = request.target.kind.kind, why, "a request was refused");
        self.metrics.refused(&why);
        if last { Answer::Denied } else { Answer::Refused }
    }

    async fn send(&self, target: &ObjectRef, action: &Action) -> Result<Value, Refusal> {
        let path = path(target);
        let owned = format!("?fieldManager={MANAGER}&force=true");
        match action {
            Action::Create { object } => {
                let collection = path.rsplit_once('/').map_or(path.as_str(), |(collection, _)| collection);
                let target = format!("{collection}?fieldManager={MANAGER}");
                self.request(Method::POST, &target, "application/json", object).await
            }
            Action::Apply { object, late } => {
                let object = with_late(object, late.as_ref());
                self.request(Method::PATCH, &format!("{path}{owned}"), "application/apply-patch+yaml", &object).await
            }
            Action::ApplyStatus { object } => {
                let target = format!("{path}/status{owned}");
                self.request(Method::PATCH, &target, "application/apply-patch+yaml", object).await
            }
            Action::Patch { patch } => {
                let target = format!("{path}?fieldManager={MANAGER}");
                self.request(Method::PATCH, &target, "application/merge-patch+json", patch).await
            }
            Action::Delete { uid, resource_version } => {
                let conditions =
                    serde_json::json!({"preconditions": {"uid": uid, "resourceVersion": resource_version}});
                self.request(Method::DELETE, &path, "application/json", &conditions).await
            }
        }
    }

    async fn request(&self, method: Method, target: &str, content: &str, body: &Value) -> Result<Value, Refusal> {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let request = HttpRequest::builder().method(method).uri(target);
        let request = if content.is_empty() { request } else { request.header("content-type", content) };
        let request = request.body(body).map_err(kube::Error::HttpError)?;
        match timeout(PATIENCE, self.client.request::<Value>(request)).await {
            Ok(answer) => Ok(answer?),
            Err(_) => Err(Refusal { why: format!("no answer within {PATIENCE:?}"), conflict: false, last: false }),
        }
    }

    fn put(&self, object: Value) {
        self.tell(Event::Objects(Change::Put(Arc::new(object))));
    }

    fn tell(&self, event: Event) {
        // Nobody listens any more only when the agent ends.
        self.events.send(event).ok();
    }
}

/// Why a request came to nothing.
struct Refusal {
    why: String,
    /// Whether something that is there stands in the way.
    conflict: bool,
    /// Whether it would be refused again.
    last: bool,
}

impl From<kube::Error> for Refusal {
    fn from(error: kube::Error) -> Self {
        let code = if let kube::Error::Api(status) = &error { status.code } else { 0 };
        Self { why: error.to_string(), conflict: code == 409, last: is_last(code) }
    }
}

/// Whether a status of the server is its last word about a request: not that of one that is busy, or of two who write
/// at the same time.
fn is_last(code: u16) -> bool {
    (400..500).contains(&code) && ![401, 408, 409, 429].contains(&code)
}

/// Where an object is.
fn path(target: &ObjectRef) -> String {
    let group = target.kind.group;
    let (version, plural) = served(target.kind);
    let root = if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
    let (namespace, name) = (&target.key.namespace, &target.key.name);
    if namespace.is_empty() {
        format!("{root}/{plural}/{name}")
    } else {
        format!("{root}/namespaces/{namespace}/{plural}/{name}")
    }
}

#[cfg(test)]
mod tests {
    use netloom_api::admission::GroupKind;
    use netloom_compile::ObjectKey;
    use netloom_node::{CONFIG, LINKS, NODE, STATE};

    use super::*;

    #[test]
    fn what_is_forbidden_is_the_last_word_and_what_is_busy_is_not() {
        let last = [400, 403, 404, 422];
        let not_yet = [0, 401, 408, 409, 429, 500, 503];
        assert!(last.into_iter().all(is_last) && !not_yet.into_iter().any(is_last));
    }

    #[test]
    fn every_kind_that_an_agent_writes_has_its_place() {
        let at = |kind, key| path(&ObjectRef { kind, key });
        assert_eq!(at(STATE, ObjectKey::new("d", "n")), "/apis/nmstate.io/v1/namespaces/d/nodenetworkstates/n");
        let config = "/apis/network.t-caas.telekom.com/v1alpha1/nodenetworkconfigs/n";
        assert_eq!(at(CONFIG, ObjectKey::global("n")), config);
        let links = "/apis/network.t-caas.telekom.com/v1alpha1/nodenetworkstatuses/n";
        assert_eq!(at(LINKS, ObjectKey::global("n")), links);
        assert_eq!(at(NODE, ObjectKey::global("n")), "/api/v1/nodes/n");
        let event = GroupKind::new("events.k8s.io", "Event");
        assert_eq!(at(event, ObjectKey::new("d", "e")), "/apis/events.k8s.io/v1/namespaces/d/events/e");
    }
}
