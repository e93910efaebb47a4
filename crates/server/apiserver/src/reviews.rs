//! Questions about access and identity, asked as objects that are never stored.
//!
//! `kubectl auth can-i` and `whoami`, servers that let this one decide about their own callers, and
//! the tokens of service accounts.

use jiff::{SignedDuration, Timestamp};
use netloom_admission::User;
use netloom_schema::FieldError;
use netloom_store::{Key, Store};
use serde_json::{Value, json};

use crate::{
    authn::{Authenticator, AuthnError},
    builtin::published,
    rbac::{Access, Asked, Decision, Rule},
    request::RequestInfo,
    resources::{clock::seconds, decode},
    status_error::{Qualified, Status},
    tokens::{AUDIENCE, Bound, Claims},
};

const AUTHENTICATION: &str = "authentication.k8s.io";
const AUTHORIZATION: &str = "authorization.k8s.io";
const TOKEN_REQUEST: &str = "TokenRequest";
/// How long a token lasts when nobody says, at least, and at most.
const TOKEN_SECONDS: i64 = 3600;
const LEAST_SECONDS: i64 = 600;
const MOST_SECONDS: i64 = 1 << 32;

/// A kind of question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Review {
    /// Who am I?
    SelfSubject,
    /// Whose token is this?
    Token,
    /// May they, in one namespace?
    LocalAccess,
    /// May I?
    SelfAccess,
    /// What may I?
    SelfRules,
    /// May they?
    Access,
}

/// What answers are made of.
#[derive(Debug, Clone, Copy)]
pub struct Witnesses<'a> {
    /// Who asks.
    pub user: &'a User,
    /// Who may do what.
    pub access: &'a Access,
    /// Who is who.
    pub authenticator: &'a Authenticator,
    /// The time.
    pub now: Timestamp,
}

impl Review {
    /// All of them, ordered by group and plural.
    pub const ALL: [Self; 6] =
        [Self::SelfSubject, Self::Token, Self::LocalAccess, Self::SelfAccess, Self::SelfRules, Self::Access];

    /// The kind of question that a request asks.
    pub fn of(info: &RequestInfo) -> Option<Self> {
        Self::ALL.into_iter().find(|review| review.resource() == (info.group.as_str(), info.resource.as_str()))
    }

    /// The group and the plural name.
    pub fn resource(self) -> (&'static str, &'static str) {
        match self {
            Self::SelfSubject => (AUTHENTICATION, "selfsubjectreviews"),
            Self::Token => (AUTHENTICATION, "tokenreviews"),
            Self::LocalAccess => (AUTHORIZATION, "localsubjectaccessreviews"),
            Self::SelfAccess => (AUTHORIZATION, "selfsubjectaccessreviews"),
            Self::SelfRules => (AUTHORIZATION, "selfsubjectrulesreviews"),
            Self::Access => (AUTHORIZATION, "subjectaccessreviews"),
        }
    }

    /// The kind.
    pub fn kind(self) -> &'static str {
        match self {
            Self::SelfSubject => "SelfSubjectReview",
            Self::Token => "TokenReview",
            Self::LocalAccess => "LocalSubjectAccessReview",
            Self::SelfAccess => "SelfSubjectAccessReview",
            Self::SelfRules => "SelfSubjectRulesReview",
            Self::Access => "SubjectAccessReview",
        }
    }

    /// Whether it is asked in a namespace.
    pub fn namespaced(self) -> bool {
        self == Self::LocalAccess
    }

    /// The group with its version.
    pub fn api_version(self) -> String {
        format!("{}/v1", self.resource().0)
    }

    /// The name of the kind's definition in documents.
    pub(crate) fn type_name(self) -> String {
        published::type_name(self.resource().0, "v1", self.kind())
    }

    /// The question with its answer.
    pub fn answer(self, mut question: Value, namespace: Option<&str>, by: &Witnesses<'_>) -> Result<Value, Status> {
        question = decode::passing((&self.api_version(), self.kind()), &self.type_name(), question)?;
        let spec = question.get("spec").cloned().unwrap_or_else(|| json!({}));
        let status = match self {
            Self::SelfSubject => json!({ "userInfo": by.user }),
            Self::Token => token_status(&spec, by)?,
            Self::SelfAccess => self.access_status(&spec, by.user, by)?,
            Self::Access => self.access_status(&spec, &subject(&spec), by)?,
            Self::LocalAccess => {
                if spec["resourceAttributes"]["namespace"].as_str() != namespace {
                    let why = "must match metadata.namespace";
                    let path = "spec.resourceAttributes.namespace";
                    let error = FieldError::invalid(path, &spec["resourceAttributes"]["namespace"], why);
                    return Err(self.invalid(&[error]));
                }
                self.access_status(&spec, &subject(&spec), by)?
            }
            Self::SelfRules => match spec["namespace"].as_str() {
                None | Some("") => return Err(Status::bad_request("no namespace on request")),
                Some(namespace) => rules_status(&by.access.rules_for(by.user, namespace)),
            },
        };
        if !question["metadata"].is_object() {
            question["metadata"] = json!({});
        }
        if self == Self::SelfSubject {
            question["metadata"]["creationTimestamp"] = json!(seconds(by.now));
        } else {
            question["spec"] = spec;
        }
        question["status"] = status;
        Ok(question)
    }

    fn access_status(self, spec: &Value, user: &User, by: &Witnesses<'_>) -> Result<Value, Status> {
        let asked = self.asked(spec)?;
        if self != Self::SelfAccess && user.name.is_empty() && user.groups.is_empty() {
            let why = "at least one of user or group must be specified";
            return Err(self.invalid(&[FieldError::invalid("spec.user", &json!(""), why)]));
        }
        let (allowed, reason) = match by.access.decide(user, &asked) {
            Decision::Allowed(reason) => (true, reason),
            Decision::NotAllowed(reason) => (false, reason),
        };
        let mut status = json!({ "allowed": allowed });
        if !reason.is_empty() {
            status["reason"] = json!(reason);
        }
        Ok(status)
    }

    fn asked(self, spec: &Value) -> Result<Asked, Status> {
        let resource = spec.get("resourceAttributes").filter(|value| !value.is_null());
        let path = spec.get("nonResourceAttributes").filter(|value| !value.is_null());
        let text = |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
        match (resource, path) {
            (Some(resource), None) => Ok(Asked::Resource {
                verb: text(resource, "verb"),
                group: text(resource, "group"),
                resource: text(resource, "resource"),
                subresource: text(resource, "subresource"),
                namespace: text(resource, "namespace"),
                name: text(resource, "name"),
            }),
            (None, Some(other)) => Ok(Asked::Path { verb: text(other, "verb"), path: text(other, "path") }),
            (Some(_), Some(_)) => {
                let why = "cannot be specified in combination with resourceAttributes";
                Err(self.invalid(&[FieldError::invalid(
                    "spec.nonResourceAttributes",
                    &spec["nonResourceAttributes"],
                    why,
                )]))
            }
            (None, None) => {
                let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
                Err(self.invalid(&[FieldError::invalid("spec.resourceAttributes", &Value::Null, why)]))
            }
        }
    }

    fn invalid(self, errors: &[FieldError]) -> Status {
        // A real server leaves the kind out here.
        let (group, _) = self.resource();
        Status::invalid(Qualified::new(group, ""), "", errors)
    }
}

/// How long a token shall last and for whom it is, of a request that has the types of its kind.
fn token_terms(request: &Value) -> Result<(i64, Vec<String>), Status> {
    let seconds = request["spec"]["expirationSeconds"].as_i64().unwrap_or(TOKEN_SECONDS);
    let refuse = |why: &str| {
        let error = FieldError::invalid("spec.expirationSeconds", &json!(seconds), why);
        Err(Status::invalid(Qualified::new(AUTHENTICATION, TOKEN_REQUEST), "", &[error]))
    };
    if seconds < LEAST_SECONDS {
        return refuse("may not specify a duration less than 10 minutes");
    }
    if seconds > MOST_SECONDS {
        return refuse("may not specify a duration larger than 2^32 seconds");
    }
    let given = request["spec"]["audiences"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut audiences: Vec<String> = given.map(str::to_owned).collect();
    if audiences.is_empty() {
        audiences.push(AUDIENCE.to_owned());
    }
    Ok((seconds, audiences))
}

/// A token for the account that a request names.
pub fn issue_token(
    store: &Store,
    info: &RequestInfo,
    request: Value,
    id: &str,
    by: &Witnesses<'_>,
) -> Result<Value, Status> {
    let kind = (format!("{AUTHENTICATION}/v1"), published::type_name(AUTHENTICATION, "v1", TOKEN_REQUEST));
    let mut request = decode::passing((&kind.0, TOKEN_REQUEST), &kind.1, request)?;
    let (namespace, name) = (info.namespace.as_deref().unwrap_or_default(), info.name.as_deref().unwrap_or_default());
    let uid = uid_of(store, "/serviceaccounts", namespace, name)?
        .ok_or_else(|| Status::not_found(Qualified::new("", "serviceaccounts"), name))?;
    let (seconds, audiences) = token_terms(&request)?;
    let bound = bound(store, &request["spec"]["boundObjectRef"], namespace)?;
    let node = node_of(store, bound.as_ref(), namespace)?;
    let claims = Claims {
        namespace: namespace.to_owned(),
        account: name.to_owned(),
        uid,
        audiences,
        bound,
        node,
        id: id.to_owned(),
    };
    let token = by.authenticator.tokens().issue(&claims, by.now, SignedDuration::from_secs(seconds));
    let until = by.now.as_second().saturating_add(seconds);
    let until = Timestamp::from_second(until).map_err(|error| Status::bad_request(error.to_string()))?;
    request["metadata"] = json!({ "name": name, "namespace": namespace });
    request["spec"]["audiences"] = json!(claims.audiences);
    request["spec"]["expirationSeconds"] = json!(seconds);
    request["status"] = json!({ "token": token, "expirationTimestamp": until.to_string() });
    Ok(request)
}

/// The object that a token is to live and die with.
fn bound(store: &Store, reference: &Value, namespace: &str) -> Result<Option<Bound>, Status> {
    let text = |field: &str| reference[field].as_str().unwrap_or_default();
    let (kind, name) = (text("kind"), text("name"));
    let (resource, place) = match kind {
        "" => return Ok(None),
        "Pod" => ("pods", namespace),
        "Secret" => ("secrets", namespace),
        "Node" => ("nodes", ""),
        other => return Err(Status::bad_request(format!("cannot bind token to object of type {other}"))),
    };
    let qualified = Qualified::new("", resource);
    let uid = uid_of(store, &format!("/{resource}"), place, name)?.ok_or_else(|| Status::not_found(qualified, name))?;
    let wanted = text("uid");
    if !wanted.is_empty() && wanted != uid {
        let why = format!(
            "the UID in the bound object reference ({wanted}) does not match the UID in record. The object might have been deleted and then recreated"
        );
        return Err(Status::conflict(qualified, name, &why));
    }
    Ok(Some(Bound { kind: kind.to_owned(), name: name.to_owned(), uid }))
}

/// The node that the pod of a token is on. It says which agent holds the token.
fn node_of(store: &Store, bound: Option<&Bound>, namespace: &str) -> Result<Option<Bound>, Status> {
    let Some(pod) = bound.filter(|bound| bound.kind == "Pod") else { return Ok(None) };
    let pod = read(store, "/pods", namespace, &pod.name)?.unwrap_or_default();
    let Some(name) = pod["spec"]["nodeName"].as_str().filter(|name| !name.is_empty()) else { return Ok(None) };
    // A node that is gone has no id any more; its name counts all the same.
    let uid = uid_of(store, "/nodes", "", name)?.unwrap_or_default();
    Ok(Some(Bound { kind: "Node".to_owned(), name: name.to_owned(), uid }))
}

fn uid_of(store: &Store, resource: &str, namespace: &str, name: &str) -> Result<Option<String>, Status> {
    let object = read(store, resource, namespace, name)?;
    Ok(object.and_then(|object| object["metadata"]["uid"].as_str().map(str::to_owned)))
}

fn read(store: &Store, resource: &str, namespace: &str, name: &str) -> Result<Option<Value>, Status> {
    let found =
        store.get(&Key::new(resource, namespace, name)).map_err(|error| Status::internal(&error.to_string()))?;
    let Some(found) = found else { return Ok(None) };
    serde_json::from_slice(&found.bytes).map(Some).map_err(|error| Status::internal(&error.to_string()))
}

/// Whom a question is about.
fn subject(spec: &Value) -> User {
    let texts = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let text = |field: &str| spec[field].as_str().unwrap_or_default().to_owned();
    User { name: text("user"), uid: text("uid"), groups: texts(&spec["groups"]), ..User::default() }
}

fn token_status(spec: &Value, by: &Witnesses<'_>) -> Result<Value, Status> {
    let given = spec["audiences"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut audiences: Vec<&str> = given.collect();
    if audiences.is_empty() {
        audiences.push(AUDIENCE);
    }
    match by.authenticator.user_of(spec["token"].as_str().unwrap_or_default(), &audiences, by.now) {
        Ok((user, claims)) => {
            let meant: Vec<&str> =
                audiences.into_iter().filter(|audience| claims.audiences.iter().any(|own| own == audience)).collect();
            Ok(json!({ "authenticated": true, "user": user, "audiences": meant }))
        }
        Err(AuthnError::Unknown(error)) => Err(Status::unavailable(&error.to_string())),
        Err(AuthnError::Token(why) | AuthnError::Certificate(why)) => {
            Ok(json!({ "error": format!("[invalid bearer token, {why}]") , "user": {} }))
        }
    }
}

fn rules_status(rules: &[Rule]) -> Value {
    let resources = rules.iter().filter(|rule| !rule.resources.is_empty()).map(|rule| {
        let mut entry = json!({ "verbs": rule.verbs, "apiGroups": rule.groups, "resources": rule.resources });
        if !rule.names.is_empty() {
            entry["resourceNames"] = json!(rule.names);
        }
        entry
    });
    let paths = rules.iter().filter(|rule| !rule.paths.is_empty());
    json!({
        "resourceRules": resources.collect::<Vec<_>>(),
        "nonResourceRules": paths.map(|rule| json!({ "verbs": rule.verbs, "nonResourceURLs": rule.paths })).collect::<Vec<_>>(),
        "incomplete": false,
    })
}

#[cfg(test)]
mod tests;
