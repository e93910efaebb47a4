//! `Status`: the one form that every refusal, and the success of a removal, is reported in.
//!
//! Texts, reasons and codes are those of the Kubernetes API, because clients act on them. Nothing
//! here decides anything; each constructor names a situation and words it.

use std::fmt;

use netloom_schema::FieldError;
use serde_json::{Map, Value, json};

/// A group and the plural name of a resource (or, in messages about validity, a kind).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Qualified<'a> {
    /// The group; empty for the core one.
    pub group: &'a str,
    /// The plural, or the kind.
    pub name: &'a str,
}

impl<'a> Qualified<'a> {
    /// A name in a group.
    pub fn new(group: &'a str, name: &'a str) -> Self {
        Self { group, name }
    }
}

impl fmt::Display for Qualified<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() { f.write_str(self.name) } else { write!(f, "{}.{}", self.name, self.group) }
    }
}

/// One reason among several why a request failed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StatusCause {
    /// A stable word; may be empty.
    pub reason: String,
    /// A sentence for users.
    pub message: String,
    /// The field that it is about; may be empty.
    pub field: String,
}

/// What a status is about.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Details {
    /// The object's name.
    pub name: String,
    /// The group.
    pub group: String,
    /// The plural or the kind.
    pub kind: String,
    /// The object's uid.
    pub uid: String,
    /// Every cause.
    pub causes: Vec<StatusCause>,
    /// When to try again, in seconds; 0 if not set.
    pub retry_after: u32,
}

/// The outcome of a request that has no object to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    code: u16,
    reason: &'static str,
    message: String,
    details: Option<Box<Details>>,
    /// A token to go on with a list whose snapshot is gone.
    token: Option<Box<str>>,
}

/// Either a value or the refusal that is sent instead of it.
pub type Outcome<T> = Result<T, Status>;

/// The words of an optimistic lock that failed.
pub const MODIFIED: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

impl Status {
    /// A refusal without details.
    pub fn plain(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: None, token: None }
    }

    fn about(code: u16, reason: &'static str, what: Qualified<'_>, name: &str, message: String) -> Self {
        let details =
            Details { name: name.into(), group: what.group.into(), kind: what.name.into(), ..Details::default() };
        Self { details: Some(Box::new(details)), ..Self::plain(code, reason, message) }
    }

    /// 400: the request makes no sense.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::plain(400, "BadRequest", message)
    }

    /// 401: nobody knows who asks.
    pub fn unauthorized() -> Self {
        Self::plain(401, "Unauthorized", "Unauthorized")
    }

    /// 403: not allowed, for the reason given.
    pub fn forbidden(resource: Qualified<'_>, name: &str, why: &str) -> Self {
        let message = if resource.name.is_empty() {
            format!("forbidden: {why}")
        } else if name.is_empty() {
            format!("{resource} is forbidden: {why}")
        } else {
            format!("{resource} {name:?} is forbidden: {why}")
        };
        Self::about(403, "Forbidden", resource, name, message)
    }

    /// 404: no such object.
    pub fn not_found(resource: Qualified<'_>, name: &str) -> Self {
        Self::about(404, "NotFound", resource, name, format!("{resource} {name:?} not found"))
    }

    /// 405: the verb means nothing for the resource.
    pub fn method_not_supported(resource: Qualified<'_>, verb: &str) -> Self {
        let message = format!("{verb} is not supported on resources of kind \"{resource}\"");
        Self::about(405, "MethodNotAllowed", resource, "", message)
    }

    /// 406: the client accepts nothing that can be sent.
    pub fn not_acceptable(message: impl Into<String>) -> Self {
        Self::plain(406, "NotAcceptable", message)
    }

    /// 409: the name is taken.
    pub fn already_exists(resource: Qualified<'_>, name: &str) -> Self {
        Self::about(409, "AlreadyExists", resource, name, format!("{resource} {name:?} already exists"))
    }

    /// 409: every generated name was taken.
    pub fn no_free_name(resource: Qualified<'_>, name: &str) -> Self {
        let message = format!(
            "{resource} {name:?} already exists, the server was not able to generate a unique name for the object"
        );
        Self::about(409, "AlreadyExists", resource, name, message).retry_after(1)
    }

    /// 409: the object is not as the request expects it.
    pub fn conflict(resource: Qualified<'_>, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {resource} {name:?}: {why}");
        Self::about(409, "Conflict", resource, name, message)
    }

    /// 409: fields of an apply belong to others.
    pub fn apply_conflict(message: String, causes: Vec<StatusCause>) -> Self {
        let details = Details { causes, ..Details::default() };
        Self { details: Some(Box::new(details)), ..Self::plain(409, "Conflict", message) }
    }

    /// 410: the revision asked for is no longer kept.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::plain(410, "Expired", message)
    }

    /// 413: the body (or what it asks for) is too large.
    pub fn too_large(message: &str) -> Self {
        Self::plain(413, "RequestEntityTooLarge", format!("Request entity too large: {message}"))
    }

    /// 415: the body's type is not known.
    pub fn unsupported_media_type(accepted: &[&str]) -> Self {
        let list = accepted.join(", ");
        let message =
            format!("the body of the request was in an unknown format - accepted media types include: {list}");
        Self::plain(415, "UnsupportedMediaType", message)
    }

    /// 422: the object breaks rules, each with its field.
    pub fn invalid(kind: Qualified<'_>, name: &str, errors: &[FieldError]) -> Self {
        let message = match summary(errors) {
            None => format!("{kind} {name:?} is invalid"),
            Some(errors) => format!("{kind} {name:?} is invalid: {errors}"),
        };
        let mut status = Self::about(422, "Invalid", kind, name, message);
        let mut causes: Vec<StatusCause> = Vec::new();
        for error in errors {
            let cause =
                StatusCause { reason: error.cause.reason().into(), message: error.body(), field: error.path.clone() };
            // Found twice is still one error, as in the message.
            if !causes.contains(&cause) {
                causes.push(cause);
            }
        }
        if let Some(details) = &mut status.details {
            details.causes = causes;
        }
        status
    }

    /// 422: the request could be read but not carried out.
    pub fn unprocessable(message: impl Into<String>) -> Self {
        let details = Some(Box::default());
        Self { details, ..Self::plain(422, "Invalid", message) }
    }

    /// 429: ask again later.
    pub fn too_many_requests(message: impl Into<String>, seconds: u32) -> Self {
        Self::plain(429, "TooManyRequests", message).retry_after(seconds)
    }

    /// 503: it may be possible in a moment.
    pub fn unavailable(why: &str) -> Self {
        let message = format!("the server is currently unable to handle the request: {why}");
        Self::plain(503, "ServiceUnavailable", message).retry_after(1)
    }

    /// 500: our fault.
    pub fn internal(why: &str) -> Self {
        let causes = vec![StatusCause { message: why.into(), ..StatusCause::default() }];
        let details = Details { causes, ..Details::default() };
        Self {
            details: Some(Box::new(details)),
            ..Self::plain(500, "InternalError", format!("Internal error occurred: {why}"))
        }
    }

    /// 504: the revision asked for did not come in time.
    pub fn revision_too_large(asked: u64, current: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
        let cause = StatusCause {
            reason: "ResourceVersionTooLarge".into(),
            message: "Too large resource version".into(),
            field: String::new(),
        };
        Self::plain(504, "Timeout", message).retry_after(1).cause(cause)
    }

    /// A refusal that comes from the way a path is served, before anything knows the resource.
    /// `given` is shown only where clients print it.
    pub fn generic(code: u16, given: &str) -> Self {
        let (reason, message) = match code {
            401 => ("Unauthorized", "the server has asked for the client to provide credentials"),
            404 => ("NotFound", "the server could not find the requested resource"),
            405 => ("MethodNotAllowed", "the server does not allow this method on the requested resource"),
            406 => ("NotAcceptable", given),
            415 => ("UnsupportedMediaType", given),
            422 => ("Invalid", "the server rejected our request due to an error in our request"),
            _ => ("", given),
        };
        Self { details: Some(Box::default()), ..Self::plain(code, reason, message) }
    }

    /// 200: the object is gone.
    pub fn deleted(resource: Qualified<'_>, name: &str, uid: &str) -> Self {
        let mut status = Self::about(200, "", resource, name, String::new());
        if let Some(details) = &mut status.details {
            details.uid = uid.into();
        }
        status
    }

    /// The same with one more cause.
    #[must_use]
    pub fn cause(mut self, cause: StatusCause) -> Self {
        self.details.get_or_insert_default().causes.push(cause);
        self
    }

    /// The same with a time after which to try again.
    #[must_use]
    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.details.get_or_insert_default().retry_after = seconds;
        self
    }

    /// The same with a token for the rest of a list.
    #[must_use]
    pub fn continued(mut self, token: String) -> Self {
        self.token = Some(token.into());
        self
    }

    /// The same with another message.
    #[must_use]
    pub fn reworded(mut self, message: String) -> Self {
        self.message = message;
        self
    }

    /// The HTTP code.
    pub fn code(&self) -> u16 {
        self.code
    }

    /// The stable word for what happened; empty for success.
    pub fn reason(&self) -> &'static str {
        self.reason
    }

    /// The sentence for people.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Seconds to wait before trying again; 0 if not set.
    pub fn retry(&self) -> u32 {
        self.details.as_ref().map_or(0, |details| details.retry_after)
    }

    /// The object that is sent.
    pub fn to_json(&self) -> Value {
        let word = if self.code < 400 { "Success" } else { "Failure" };
        let mut metadata = Map::new();
        if let Some(token) = &self.token {
            metadata.insert("continue".into(), json!(token));
        }
        let mut object = json!({"kind": "Status", "apiVersion": "v1", "metadata": metadata, "status": word});
        let set = |object: &mut Value, key: &str, value: Value| {
            if let Value::Object(map) = object {
                map.insert(key.into(), value);
            }
        };
        if !self.message.is_empty() {
            set(&mut object, "message", json!(self.message));
        }
        if !self.reason.is_empty() {
            set(&mut object, "reason", json!(self.reason));
        }
        if let Some(details) = &self.details {
            set(&mut object, "details", details.to_json());
        }
        // A success carries no code: the line of the answer says it.
        if self.code >= 400 {
            set(&mut object, "code", json!(self.code));
        }
        object
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Status {}

impl Details {
    fn to_json(&self) -> Value {
        let mut map = Map::new();
        for (key, text) in [("name", &self.name), ("group", &self.group), ("kind", &self.kind), ("uid", &self.uid)] {
            if !text.is_empty() {
                map.insert(key.into(), json!(text));
            }
        }
        if !self.causes.is_empty() {
            map.insert("causes".into(), self.causes.iter().map(StatusCause::to_json).collect());
        }
        if self.retry_after > 0 {
            map.insert("retryAfterSeconds".into(), json!(self.retry_after));
        }
        Value::Object(map)
    }
}

impl StatusCause {
    fn to_json(&self) -> Value {
        let mut map = Map::new();
        for (key, text) in [("reason", &self.reason), ("message", &self.message), ("field", &self.field)] {
            if !text.is_empty() {
                map.insert(key.into(), json!(text));
            }
        }
        Value::Object(map)
    }
}

/// All errors in one text, where there are any.
pub fn summary(errors: &[FieldError]) -> Option<String> {
    (!errors.is_empty()).then(|| netloom_schema::aggregate(errors))
}

#[cfg(test)]
mod tests {
    use netloom_schema::Cause;

    use super::*;

    #[test]
    fn each_situation_has_its_words() {
        let pods = Qualified::new("", "pods");
        let things = Qualified::new("g.io", "things");
        let table = [
            (Status::not_found(pods, "a"), 404, "NotFound", r#"pods "a" not found"#),
            (Status::already_exists(things, "a"), 409, "AlreadyExists", r#"things.g.io "a" already exists"#),
            (
                Status::conflict(things, "a", MODIFIED),
                409,
                "Conflict",
                "Operation cannot be fulfilled on things.g.io \"a\": the object has been modified; please apply your changes to the latest version and try again",
            ),
            (Status::forbidden(pods, "", "no"), 403, "Forbidden", "pods is forbidden: no"),
            (Status::forbidden(pods, "a", "no"), 403, "Forbidden", r#"pods "a" is forbidden: no"#),
            (
                Status::method_not_supported(things, "create"),
                405,
                "MethodNotAllowed",
                r#"create is not supported on resources of kind "things.g.io""#,
            ),
            (Status::internal("x"), 500, "InternalError", "Internal error occurred: x"),
            (Status::revision_too_large(9, 3), 504, "Timeout", "Timeout: Too large resource version: 9, current: 3"),
        ];
        for (status, code, reason, message) in table {
            let json = status.to_json();
            assert_eq!(json["code"], code);
            assert_eq!(json["reason"], reason);
            assert_eq!(json["message"], message);
            assert_eq!(json["status"], "Failure");
        }
    }

    #[test]
    fn an_invalid_object_lists_every_cause_once() {
        let error =
            |path: &str| FieldError { path: path.into(), cause: Cause::Required, value: None, detail: String::new() };
        let kind = Qualified::new("g.io", "Thing");
        let one = Status::invalid(kind, "a", &[error("spec.x")]).to_json();
        assert_eq!(one["message"], r#"Thing.g.io "a" is invalid: spec.x: Required value"#);
        assert_eq!(
            one["details"],
            json!({"name": "a", "group": "g.io", "kind": "Thing", "causes": [
                {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.x"}]})
        );
        let same = Status::invalid(kind, "a", &[error("spec.x"), error("spec.x")]).to_json();
        assert_eq!(same, one);
        let two = Status::invalid(kind, "a", &[error("spec.x"), error("spec.y"), error("spec.x")]).to_json();
        assert_eq!(two["message"], r#"Thing.g.io "a" is invalid: [spec.x: Required value, spec.y: Required value]"#);
        assert_eq!(two["details"]["causes"].as_array().unwrap().len(), 2);
    }

    #[test]
    fn a_removal_is_a_success_without_a_code() {
        let json = Status::deleted(Qualified::new("", "pods"), "a", "u").to_json();
        assert_eq!(
            json,
            json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
                "details": {"name": "a", "kind": "pods", "uid": "u"}})
        );
    }
}
