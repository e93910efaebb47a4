//! Carries requests of the control loop out.
//!
//! What a server answers goes back as a change of objects, so that the next decision sees it before any watch
//! tells of it. Nothing is sent by one who does not lead at that moment, and no request is waited for longer
//! than the next leader waits before it takes over. A write whose outcome is not known counts as refused, but
//! first the object is read: the next decision then starts from what there is.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use kube::{
    Api, Client,
    api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams, Preconditions},
};
use netloom_control::MANAGER;
use netloom_object::{Action, Answer, Chain, Change, Request, RequestId, with_late};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc};

use crate::{
    clock::Clock,
    definitions,
    elect::Leadership,
    follow::value,
    metrics::{Carried, Metrics},
};

/// Requests at the same time. Enough to keep a server busy, too few to push others out.
const AT_ONCE: usize = 32;

/// What came of a request, and the object after it where it is known.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) id: RequestId,
    pub(crate) answer: Answer,
    pub(crate) change: Option<Change>,
}

/// Sends requests.
pub(crate) struct Carrier {
    client: Client,
    clock: Clock,
    leadership: Leadership,
    patience: Duration,
    places: Semaphore,
    closed: AtomicBool,
    metrics: Arc<Metrics>,
}

/// What came of a request, in one word for those who count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Done,
    /// It was there already, or gone already: as good as done.
    Already,
    /// The object was not as expected.
    Conflict,
    /// The server does not want it.
    Refused,
    /// Nobody knows.
    Unknown,
    /// It was not sent, because this process leads no more or is about to end.
    NotLeading,
}

impl Outcome {
    fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Already => "already",
            Self::Conflict => "conflict",
            Self::Refused => "refused",
            Self::Unknown => "unknown",
            Self::NotLeading => "not_leading",
        }
    }

    fn answer(self) -> Answer {
        match self {
            Self::Done | Self::Already => Answer::Done,
            Self::Conflict | Self::Refused | Self::Unknown | Self::NotLeading => Answer::Refused,
        }
    }
}

impl Carrier {
    pub(crate) fn new(client: Client, clock: Clock, leadership: Leadership, metrics: Arc<Metrics>) -> Self {
        let patience = leadership.grace();
        Self {
            client,
            clock,
            leadership,
            patience,
            places: Semaphore::new(AT_ONCE),
            closed: AtomicBool::new(false),
            metrics,
        }
    }

    /// From now on nothing is sent any more.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    /// Carries a chain out, one request after the other, until one is not done.
    pub(crate) async fn carry(&self, chain: Chain, ended: mpsc::UnboundedSender<Ended>) {
        // It is never closed.
        let _place = self.places.acquire().await.ok();
        let mut broken = false;
        for request in chain.0 {
            let (answer, change) = if broken { (Answer::Skipped, None) } else { self.one(&request).await };
            broken = answer != Answer::Done;
            // Nobody listens when the loop has ended.
            ended.send(Ended { id: request.id, answer, change }).ok();
        }
    }

    async fn one(&self, request: &Request) -> (Answer, Option<Change>) {
        let (outcome, change) = match definitions::fixed_or_own(request.target.kind) {
            Some(resource) => self.send(request, &resource).await,
            None => (Outcome::Refused, None),
        };
        let action = match request.action {
            Action::Create { .. } => "create",
            Action::Apply { .. } => "apply",
            Action::ApplyStatus { .. } => "apply_status",
            Action::Patch { .. } => "patch",
            Action::Delete { .. } => "delete",
        };
        self.metrics.carried(&Carried { kind: request.target.kind.kind, action, outcome: outcome.word() });
        (outcome.answer(), change)
    }

    async fn send(&self, request: &Request, resource: &ApiResource) -> (Outcome, Option<Change>) {
        let key = &request.target.key;
        let api: Api<DynamicObject> = match key.namespace.as_str() {
            "" => Api::all_with(self.client.clone(), resource),
            namespace => Api::namespaced_with(self.client.clone(), namespace, resource),
        };
        // The last thing before it goes out.
        if self.closed.load(Ordering::Relaxed) || self.leadership.until(self.clock.now()).is_none() {
            return (Outcome::NotLeading, None);
        }
        let sent = tokio::time::timeout(self.patience, perform(&api, request, resource)).await;
        let (outcome, change) = match sent {
            Ok(Ok(change)) => return (Outcome::Done, Some(change)),
            Ok(Err(why)) => judge(request, resource, &why),
            Err(_) => {
                tracing::warn!(kind = resource.kind, name = key.name, "no answer in time");
                (Outcome::Unknown, None)
            }
        };
        let must_look = match outcome {
            Outcome::Conflict | Outcome::Unknown => true,
            Outcome::Already => change.is_none(),
            Outcome::Done | Outcome::Refused | Outcome::NotLeading => false,
        };
        let change = if must_look { self.look(&api, &key.name, resource).await } else { change };
        (outcome, change)
    }

    /// The object as it is now. One that is not there is left to the watch, which knows since when.
    async fn look(&self, api: &Api<DynamicObject>, name: &str, resource: &ApiResource) -> Option<Change> {
        let found = tokio::time::timeout(self.patience, api.get_opt(name)).await;
        found.ok()?.ok()?.map(|object| Change::Put(value(object, resource)))
    }
}

/// One request to the server.
async fn perform(api: &Api<DynamicObject>, request: &Request, resource: &ApiResource) -> kube::Result<Change> {
    let name = request.target.key.name.as_str();
    let applying = PatchParams::apply(MANAGER).force();
    let stored = match &request.action {
        Action::Create { object } => {
            let object: DynamicObject = serde_json::from_value(object.clone()).map_err(kube::Error::SerdeError)?;
            let creating = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
            api.create(&creating, &object).await?
        }
        Action::Apply { object, late } => {
            api.patch(name, &applying, &Patch::Apply(with_late(object, late.as_ref()))).await?
        }
        Action::ApplyStatus { object } => api.patch_status(name, &applying, &Patch::Apply(object)).await?,
        Action::Patch { patch } => {
            let merging = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
            api.patch(name, &merging, &Patch::Merge(patch)).await?
        }
        Action::Delete { uid, resource_version } => {
            let expected = Preconditions { uid: Some(uid.clone()), resource_version: Some(resource_version.clone()) };
            let parameters = DeleteParams { preconditions: Some(expected), ..DeleteParams::default() };
            return Ok(match api.delete(name, &parameters).await?.left() {
                // Something still holds it.
                Some(object) if object.metadata.deletion_timestamp.is_some() => Change::Put(value(object, resource)),
                Some(_) | None => gone(request, resource, resource_version),
            });
        }
    };
    Ok(Change::Put(value(stored, resource)))
}

/// An object that went, in the version that was looked at.
fn gone(request: &Request, resource: &ApiResource, resource_version: &str) -> Change {
    let metadata = json!({"name": request.target.key.name, "resourceVersion": resource_version});
    Change::Gone(Arc::new(
        json!({"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}) as Value
    ))
}

/// What a failure means for a request.
fn judge(request: &Request, resource: &ApiResource, why: &kube::Error) -> (Outcome, Option<Change>) {
    let (kind, name) = (&resource.kind, &request.target.key.name);
    let kube::Error::Api(status) = why else {
        tracing::warn!(kind, name, %why, "the outcome of a request is not known");
        return (Outcome::Unknown, None);
    };
    match (&request.action, status.code, status.reason.as_str()) {
        (Action::Create { .. }, 409, "AlreadyExists") => (Outcome::Already, None),
        (Action::Delete { resource_version, .. }, 404, _) => {
            (Outcome::Already, Some(gone(request, resource, resource_version)))
        }
        (_, 409, _) => (Outcome::Conflict, None),
        (_, 429 | 500.., _) => {
            tracing::warn!(kind, name, message = status.message, "the server cannot answer now");
            (Outcome::Unknown, None)
        }
        _ => {
            tracing::warn!(kind, name, code = status.code, message = status.message, "a request was refused");
            (Outcome::Refused, None)
        }
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;
    use netloom_api::{admission::GroupKind, fabric};
    use netloom_object::{ObjectKey, ObjectRef};

    use super::*;

    fn judged(action: Action, code: u16, reason: &str) -> (Outcome, bool) {
        let target =
            ObjectRef { kind: GroupKind::new(fabric::GROUP, "NetworkConfigRevision"), key: ObjectKey::global("a") };
        let resource = definitions::fixed_or_own(target.kind).unwrap();
        let why = kube::Error::Api(Box::new(Status { code, reason: reason.to_owned(), ..Status::default() }));
        let (outcome, change) = judge(&Request { id: RequestId(1), target, action }, &resource, &why);
        (outcome, change.is_some())
    }

    #[test]
    fn failures_mean_what_they_mean_for_the_request() {
        let create = || Action::Create { object: json!({}) };
        let patch = || Action::Patch { patch: json!({}) };
        let delete = || Action::Delete { uid: "u".to_owned(), resource_version: "7".to_owned() };
        for (action, code, reason, wanted) in [
            (create(), 409, "AlreadyExists", (Outcome::Already, false)),
            (patch(), 409, "Conflict", (Outcome::Conflict, false)),
            (delete(), 409, "Conflict", (Outcome::Conflict, false)),
            (delete(), 404, "NotFound", (Outcome::Already, true)),
            (patch(), 404, "NotFound", (Outcome::Refused, false)),
            (patch(), 422, "Invalid", (Outcome::Refused, false)),
            (create(), 403, "Forbidden", (Outcome::Refused, false)),
            (create(), 500, "InternalError", (Outcome::Unknown, false)),
            (patch(), 429, "TooManyRequests", (Outcome::Unknown, false)),
        ] {
            assert_eq!(judged(action.clone(), code, reason), wanted, "{action:?} {code}");
        }
    }
}
