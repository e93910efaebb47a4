//! The form of a question and of its answer: `AdmissionReview` of `admission.k8s.io/v1`.
//!
//! Pure: bytes in, a value out. A question that cannot be read has no answer in this form, because
//! the answer must repeat an id that is not known.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use netloom_api::admission::{self, GroupKind, Operation, User, Verdict, View};
use serde::Deserialize;
use serde_json::{Value, json};

const VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// Not JSON, or not of the form.
    #[error("the body is no {KIND}: {0}")]
    Form(#[from] serde_json::Error),
    /// Another version or another kind.
    #[error("expected {VERSION} {KIND}, got {api_version} {kind}")]
    Version {
        /// What the body says.
        api_version: String,
        /// What the body says.
        kind: String,
    },
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Question {
    api_version: String,
    kind: String,
    request: Request,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    uid: String,
    kind: Kind,
    #[serde(default)]
    sub_resource: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    namespace: String,
    operation: Verb,
    user_info: User,
    object: Option<Value>,
    old_object: Option<Value>,
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Deserialize)]
struct Kind {
    group: String,
    kind: String,
}

impl Kind {
    /// The name with its group, as messages have it; kinds of the core have none.
    fn qualified(&self) -> String {
        if self.group.is_empty() { self.kind.clone() } else { format!("{}.{}", self.kind, self.group) }
    }
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum Verb {
    Create,
    Update,
    Delete,
    Connect,
}

impl From<Verb> for Operation {
    fn from(verb: Verb) -> Self {
        match verb {
            Verb::Create => Self::Create,
            Verb::Update => Self::Update,
            Verb::Delete => Self::Delete,
            Verb::Connect => Self::Connect,
        }
    }
}

/// Answers a question from what `view` holds.
pub fn answer(body: &[u8], view: &dyn View) -> Result<Value, Unreadable> {
    let Question { api_version, kind, request } = serde_json::from_slice(body)?;
    if api_version != VERSION || kind != KIND {
        return Err(Unreadable::Version { api_version, kind });
    }
    let verdict = admission::review(&admission::Review {
        operation: request.operation.into(),
        kind: GroupKind::new(&request.kind.group, &request.kind.kind),
        namespace: given(&request.namespace),
        name: &request.name,
        subresource: given(&request.sub_resource),
        object: request.object.as_ref(),
        old: request.old_object.as_ref(),
        user: &request.user_info,
        dry_run: request.dry_run,
        view,
    });
    Ok(json!({ "apiVersion": VERSION, "kind": KIND, "response": response(&request, &verdict) }))
}

/// The form leaves out what does not apply by an empty text.
fn given(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

fn response(request: &Request, verdict: &Verdict) -> Value {
    let mut response = json!({ "uid": request.uid, "allowed": verdict.is_allowed() });
    if !verdict.is_allowed() {
        response["status"] = refusal(request, verdict);
    } else if let Some(patch) = &verdict.patch {
        response["patchType"] = json!("JSONPatch");
        response["patch"] = json!(STANDARD.encode(patch.to_string()));
    }
    if !verdict.warnings.is_empty() {
        response["warnings"] = json!(verdict.warnings);
    }
    response
}

/// Why not, in the words of the embedded server: every broken rule, with its field.
fn refusal(request: &Request, verdict: &Verdict) -> Value {
    let Request { kind, name, .. } = request;
    if let Some(reason) = &verdict.forbidden {
        return json!({ "status": "Failure", "code": 403, "reason": "Forbidden", "message": reason });
    }
    let causes: Vec<Value> = verdict
        .errors
        .iter()
        .map(|error| json!({ "reason": error.cause.reason(), "field": error.path, "message": error.body() }))
        .collect();
    let words = netloom_schema::aggregate(&verdict.errors);
    json!({
        "status": "Failure",
        "code": 422,
        "reason": "Invalid",
        "message": format!("{} {name:?} is invalid: {words}", kind.qualified()),
        "details": { "name": name, "group": kind.group, "kind": kind.kind, "causes": causes },
    })
}

#[cfg(test)]
mod tests {
    use netloom_api::admission::Objects;

    use super::*;

    fn question(operation: &str, user: &str, object: &Value) -> Vec<u8> {
        let request = json!({
            "uid": "7f0b2891-916f-4ed6-b7cd-27bff1815a8c",
            "kind": { "group": "nmstate.io", "version": "v1", "kind": "NodeNetworkState" },
            "resource": { "group": "nmstate.io", "version": "v1", "resource": "nodenetworkstates" },
            "name": "a", "operation": operation, "userInfo": { "username": user, "groups": ["system:nodes"] },
            "object": object, "oldObject": null, "dryRun": false, "options": null,
        });
        json!({ "apiVersion": VERSION, "kind": KIND, "request": request }).to_string().into_bytes()
    }

    fn state_of(node: &str) -> Value {
        json!({
            "apiVersion": "nmstate.io/v1", "kind": "NodeNetworkState", "metadata": { "name": "a" },
            "spec": { "nodeName": node, "managed": false },
        })
    }

    #[test]
    fn the_rules_answer_and_the_id_comes_back() {
        let view = Objects::default();
        let own = answer(&question("CREATE", "system:node:a", &state_of("a")), &view).unwrap();
        assert_eq!(own["response"]["allowed"], true, "{own}");
        assert_eq!(own["response"]["uid"], "7f0b2891-916f-4ed6-b7cd-27bff1815a8c");
        let foreign = answer(&question("CREATE", "system:node:b", &state_of("a")), &view).unwrap();
        assert_eq!(foreign["response"]["allowed"], false, "{foreign}");
        assert_eq!(foreign["response"]["status"]["code"], 403);
    }

    #[test]
    fn kinds_of_the_core_have_no_group_in_messages() {
        let kind = |group: &str| Kind { group: group.to_owned(), kind: "Node".to_owned() };
        assert_eq!([kind("").qualified(), kind("g.io").qualified()], ["Node", "Node.g.io"]);
    }

    #[test]
    fn what_is_no_question_is_refused_in_words() {
        let view = Objects::default();
        for body in [&b""[..], b"[]", b"{", b"{\"apiVersion\":\"admission.k8s.io/v1\"}", b"\xff"] {
            assert!(matches!(answer(body, &view), Err(Unreadable::Form(_))));
        }
        let mut old: Value = serde_json::from_slice(&question("CREATE", "u", &state_of("a"))).unwrap();
        old["apiVersion"] = json!("admission.k8s.io/v1beta1");
        let why = answer(old.to_string().as_bytes(), &view).unwrap_err();
        assert!(why.to_string().contains("v1beta1"), "{why}");
    }
}
