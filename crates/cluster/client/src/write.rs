//! Requests carried out, one after the other.
//!
//! What a server answers goes back as a change of objects, so that the next decision sees it before any watch tells of
//! it. A write that was not done is followed by a look at the object: what is there may be newer than what the
//! request was made from, or the very object that was to be made, or a write whose answer was lost.

use std::{sync::Arc, time::Duration};

use kube::{
    Client, Resource as _,
    api::{ApiResource, DeleteParams, DynamicObject, GetParams, Patch, PatchParams, PostParams, Preconditions},
    core::{Request as Builder, request::Error as BuildError},
};
use netloom_object::{Action, Answer, Chain, Change, GroupKind, ObjectRef, Request, with_late};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::whole::whole;

/// Writes objects under one name.
#[derive(Clone)]
pub struct Writer {
    /// The way to the API. It must not repeat requests by itself, because nobody would ask whether it still may.
    pub client: Client,
    /// The name under which fields are owned.
    pub manager: &'static str,
    /// How long one request may take.
    pub time_limit: Duration,
    /// Where a kind is served; none for one that is never written.
    pub resource: fn(GroupKind<'static>) -> Option<ApiResource>,
}

/// What came of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It is done.
    Done,
    /// It was there already, or gone already: as good as done.
    Already,
    /// The object was not as expected.
    Conflict,
    /// The server does not want it, and will not want it.
    Denied,
    /// Nobody knows, or the server cannot answer now.
    Unknown,
    /// It was not sent, because the one who asked may not write any more.
    Withheld,
    /// It was not sent, because one before it was not done.
    Skipped,
}

impl Outcome {
    /// What it means to the one who asked.
    pub fn answer(self) -> Answer {
        match self {
            Self::Done | Self::Already => Answer::Done,
            Self::Conflict | Self::Unknown | Self::Withheld => Answer::Refused,
            Self::Denied => Answer::Denied,
            Self::Skipped => Answer::Skipped,
        }
    }
}

/// What came of a request, and what is known after it.
#[derive(Debug)]
pub struct Ended {
    /// The request.
    pub request: Request,
    /// What came of it.
    pub outcome: Outcome,
    /// The object after it, where it is known.
    pub change: Option<Change>,
    /// Why it was not done, in the server's words.
    pub why: Option<String>,
}

impl Writer {
    /// Carries a chain out, one request after the other, until one is not done. Nothing is sent by one who `may` not
    /// at that moment.
    pub async fn carry(&self, chain: Chain, may: impl Fn() -> bool, mut ended: impl FnMut(Ended)) {
        let mut broken = false;
        for request in chain.0 {
            let (outcome, change, why) = if broken {
                (Outcome::Skipped, None, None)
            } else if may() {
                self.send(&request).await
            } else {
                (Outcome::Withheld, None, None)
            };
            broken = outcome.answer() != Answer::Done;
            ended(Ended { request, outcome, change, why });
        }
    }

    async fn send(&self, request: &Request) -> (Outcome, Option<Change>, Option<String>) {
        let Request { target, action, .. } = request;
        let Some(resource) = (self.resource)(target.kind) else {
            return (Outcome::Denied, None, Some(format!("nobody knows where {} is served", target.kind.kind)));
        };
        let place = Builder::new(path(&resource, target));
        let answer = self.perform(written(&place, self.manager, request)).await;
        if let Action::Absent { uid } = action {
            let (outcome, why) = absence(&answer, &target.key.name, uid);
            return (outcome, answer.ok().map(|object| Change::Put(whole(object, &resource))), why);
        }
        let failure = match answer {
            Ok(answer) => return (Outcome::Done, Some(done(request, &resource, answer)), None),
            Err(failure) => failure,
        };
        let outcome = judge(action, &failure);
        let (found, why) = (self.look(&place, &target.key.name).await, failure.to_string());
        let outcome = match (action, found.is_some()) {
            (Action::Create { .. }, true) => Outcome::Already,
            _ => outcome,
        };
        let change = match action {
            Action::Delete { resource_version, .. } if outcome == Outcome::Already => {
                Some(gone(request, &resource, resource_version))
            }
            // One that is not there is left to the watch, which knows since when.
            _ => found.map(|object| Change::Put(whole(object, &resource))),
        };
        let (kind, object) = (target.kind.kind, &target.key);
        match outcome {
            Outcome::Denied => tracing::warn!(kind, %object, why, "a request was refused"),
            Outcome::Unknown => tracing::warn!(kind, %object, why, "the outcome of a request is not known"),
            Outcome::Done | Outcome::Already | Outcome::Conflict | Outcome::Withheld | Outcome::Skipped => {
                tracing::debug!(kind, %object, why, "a request was overtaken");
            }
        }
        (outcome, change, Some(why))
    }

    /// The object as it is now.
    async fn look(&self, place: &Builder, name: &str) -> Option<Value> {
        self.perform(place.get(name, &GetParams::default())).await.ok()
    }

    async fn perform(&self, request: Result<http::Request<Vec<u8>>, BuildError>) -> Result<Value, Failure> {
        let request = request.map_err(kube::Error::BuildRequest)?;
        match timeout(self.time_limit, self.client.request::<Value>(request)).await {
            Ok(answer) => Ok(answer?),
            Err(_) => Err(Failure::Silence(self.time_limit)),
        }
    }
}

/// Why a request came to nothing.
#[derive(Debug)]
enum Failure {
    Api(Box<kube::Error>),
    /// There was no answer in time.
    Silence(Duration),
}

impl From<kube::Error> for Failure {
    fn from(error: kube::Error) -> Self {
        Self::Api(Box::new(error))
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Api(error) => error.fmt(f),
            Self::Silence(time_limit) => write!(f, "no answer within {time_limit:?}"),
        }
    }
}

/// Where objects of a kind are.
fn path(resource: &ApiResource, target: &ObjectRef) -> String {
    let namespace = Some(target.key.namespace.as_str()).filter(|namespace| !namespace.is_empty());
    DynamicObject::url_path(resource, namespace)
}

/// A write as the server gets it.
fn written(place: &Builder, manager: &str, request: &Request) -> Result<http::Request<Vec<u8>>, BuildError> {
    let name = request.target.key.name.as_str();
    let applying = PatchParams::apply(manager).force();
    match &request.action {
        Action::Create { object } => {
            let creating = PostParams { field_manager: Some(manager.to_owned()), ..PostParams::default() };
            place.create(&creating, object.to_string().into_bytes())
        }
        Action::Apply { object, late } => place.patch(name, &applying, &Patch::Apply(with_late(object, late.as_ref()))),
        Action::ApplyStatus { object } => place.patch_subresource("status", name, &applying, &Patch::Apply(object)),
        Action::Patch { patch } => {
            let merging = PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
            place.patch(name, &merging, &Patch::Merge(patch))
        }
        Action::PatchTested { patch } => {
            let patching = PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
            place.patch(name, &patching, &Patch::Json::<Value>(operations(patch)?))
        }
        Action::Absent { .. } => place.get(name, &GetParams::default()),
        Action::Delete { uid, resource_version } => {
            let expected = Preconditions { uid: Some(uid.clone()), resource_version: Some(resource_version.clone()) };
            place.delete(name, &DeleteParams { preconditions: Some(expected), ..DeleteParams::default() })
        }
    }
}

/// A JSON patch as the client has it.
fn operations(patch: &Value) -> Result<json_patch::Patch, BuildError> {
    serde::Deserialize::deserialize(patch).map_err(BuildError::SerializeBody)
}

/// What a write that was done has changed.
fn done(request: &Request, resource: &ApiResource, answer: Value) -> Change {
    match &request.action {
        // Something may still hold it.
        Action::Delete { resource_version, .. } if answer.pointer("/metadata/deletionTimestamp").is_none() => {
            gone(request, resource, resource_version)
        }
        _ => Change::Put(whole(answer, resource)),
    }
}

/// An object that went, in the version that was looked at.
fn gone(request: &Request, resource: &ApiResource, resource_version: &str) -> Change {
    let ObjectRef { key, .. } = &request.target;
    let mut metadata = json!({"name": key.name, "resourceVersion": resource_version});
    if !key.namespace.is_empty() {
        metadata["namespace"] = json!(key.namespace);
    }
    Change::Gone(Arc::new(json!({"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata})))
}

/// Whether there is no object of this uid, by what a server answers about its name. That a server does not know the kind
/// says nothing.
fn absence(answer: &Result<Value, Failure>, name: &str, uid: &str) -> (Outcome, Option<String>) {
    match answer {
        Ok(found) if found.pointer("/metadata/uid").and_then(Value::as_str) == Some(uid) => {
            (Outcome::Conflict, Some(format!("{name} is there")))
        }
        Ok(_) => (Outcome::Done, None),
        Err(Failure::Api(error)) => match error.as_ref() {
            kube::Error::Api(status)
                if status.code == 404 && status.details.as_ref().is_some_and(|details| details.name == name) =>
            {
                (Outcome::Done, None)
            }
            other => (Outcome::Unknown, Some(other.to_string())),
        },
        Err(failure @ Failure::Silence(_)) => (Outcome::Unknown, Some(failure.to_string())),
    }
}

/// What a failure means for a request.
fn judge(action: &Action, failure: &Failure) -> Outcome {
    let Failure::Api(error) = failure else { return Outcome::Unknown };
    let kube::Error::Api(status) = error.as_ref() else { return Outcome::Unknown };
    match (action, status.code) {
        (Action::Create { .. }, 409) if status.reason == "AlreadyExists" => Outcome::Already,
        (Action::Delete { .. }, 404) => Outcome::Already,
        // Servers have no better word for a test that failed: what was looked at is not so any more.
        (_, 409) | (Action::PatchTested { .. }, 422) => Outcome::Conflict,
        // Not the last word of a server that is busy, or that does not know yet who asks.
        (_, 401 | 408 | 429) => Outcome::Unknown,
        (_, 400..500) => Outcome::Denied,
        _ => Outcome::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use kube::{api::GroupVersionKind, core::Status};
    use netloom_object::{ObjectKey, RequestId};

    use super::*;

    const THING: GroupKind<'static> = GroupKind::new("g.io", "Thing");

    fn things() -> ApiResource {
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("g.io", "v1", "Thing"), "things")
    }

    fn create() -> Action {
        Action::Create { object: json!({}) }
    }

    fn patch() -> Action {
        Action::Patch { patch: json!({}) }
    }

    fn tested() -> Action {
        Action::PatchTested { patch: json!([{"op": "test", "path": "/spec", "value": 1}]) }
    }

    fn delete() -> Action {
        Action::Delete { uid: "u".to_owned(), resource_version: "7".to_owned() }
    }

    #[test]
    fn failures_mean_what_they_mean_for_the_request() {
        for (action, code, reason, wanted) in [
            (create(), 409, "AlreadyExists", Outcome::Already),
            (patch(), 409, "Conflict", Outcome::Conflict),
            (delete(), 409, "Conflict", Outcome::Conflict),
            (delete(), 404, "NotFound", Outcome::Already),
            (patch(), 404, "NotFound", Outcome::Denied),
            (patch(), 422, "Invalid", Outcome::Denied),
            (tested(), 422, "Invalid", Outcome::Conflict),
            (tested(), 403, "Forbidden", Outcome::Denied),
            (create(), 403, "Forbidden", Outcome::Denied),
            (create(), 400, "BadRequest", Outcome::Denied),
            (create(), 401, "Unauthorized", Outcome::Unknown),
            (patch(), 408, "Timeout", Outcome::Unknown),
            (create(), 500, "InternalError", Outcome::Unknown),
            (patch(), 503, "ServiceUnavailable", Outcome::Unknown),
            (patch(), 429, "TooManyRequests", Outcome::Unknown),
        ] {
            let status = Status { code, reason: reason.to_owned(), ..Status::default() };
            let failure = Failure::from(kube::Error::Api(Box::new(status)));
            assert_eq!(judge(&action, &failure), wanted, "{action:?} {code}");
        }
        assert_eq!(judge(&create(), &Failure::Silence(Duration::from_secs(1))), Outcome::Unknown);
    }

    #[test]
    fn only_a_server_that_knows_the_kind_can_say_that_nothing_is_there() {
        let found = |uid: &str| Ok(json!({"metadata": {"name": "a", "uid": uid}}));
        let status = |code: u16, name: Option<&str>| {
            let details = name.map(|name| serde_json::from_value(json!({"name": name})).unwrap());
            let status = Status { code, reason: "NotFound".to_owned(), details, ..Status::default() };
            Err(Failure::from(kube::Error::Api(Box::new(status))))
        };
        for (answer, wanted) in [
            (found("u"), Outcome::Conflict),
            (found("v"), Outcome::Done),
            (status(404, Some("a")), Outcome::Done),
            (status(404, None), Outcome::Unknown),
            (status(404, Some("")), Outcome::Unknown),
            (status(403, Some("a")), Outcome::Unknown),
            (status(503, None), Outcome::Unknown),
            (Err(Failure::Silence(Duration::from_secs(1))), Outcome::Unknown),
        ] {
            assert_eq!(absence(&answer, "a", "u").0, wanted, "{answer:?}");
        }
    }

    #[test]
    fn requests_go_to_the_place_of_their_object_under_the_name_of_the_one_who_asks() {
        let asked = |namespace: &str, action: Action| {
            let target = ObjectRef { kind: THING, key: ObjectKey::new(namespace, "a") };
            let place = Builder::new(path(&things(), &target));
            let request = Request { id: RequestId(1), target, action };
            let request = written(&place, "me", &request).unwrap();
            format!("{} {}", request.method(), request.uri())
        };
        let apply = || Action::Apply { object: json!({}), late: None };
        let status = Action::ApplyStatus { object: json!({}) };
        assert_eq!(asked("", create()), "POST /apis/g.io/v1/things?&fieldManager=me");
        assert_eq!(asked("n", apply()), "PATCH /apis/g.io/v1/namespaces/n/things/a?&force=true&fieldManager=me");
        assert_eq!(asked("", status), "PATCH /apis/g.io/v1/things/a/status?&force=true&fieldManager=me");
        assert_eq!(asked("", patch()), "PATCH /apis/g.io/v1/things/a?&fieldManager=me");
        assert_eq!(asked("n", tested()), "PATCH /apis/g.io/v1/namespaces/n/things/a?&fieldManager=me");
        assert_eq!(asked("n", Action::Absent { uid: "u".to_owned() }), "GET /apis/g.io/v1/namespaces/n/things/a");
        assert_eq!(asked("", delete()), "DELETE /apis/g.io/v1/things/a?");
    }

    #[test]
    fn what_was_deleted_is_gone_unless_something_holds_it() {
        let target = ObjectRef { kind: THING, key: ObjectKey::new("n", "a") };
        let request = Request { id: RequestId(1), target, action: delete() };
        let Change::Gone(went) = done(&request, &things(), json!({"kind": "Status", "metadata": {}})) else {
            panic!("it is gone")
        };
        let metadata = json!({"namespace": "n", "name": "a", "resourceVersion": "7"});
        assert_eq!(*went, json!({"apiVersion": "g.io/v1", "kind": "Thing", "metadata": metadata}));
        let held = json!({"metadata": {"name": "a", "deletionTimestamp": "2030-01-01T00:00:00Z", "managedFields": []}});
        let Change::Put(held) = done(&request, &things(), held) else { panic!("it is held") };
        assert_eq!(held["metadata"].get("managedFields"), None);
    }
}
