//! The form of a question and of its answer: `AdmissionReview` of `admission.k8s.io/v1`.
//!
//! Pure: bytes in, a value out. A question that cannot be read has no answer in this form, because
//! the answer must repeat an id that is not known.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use netloom_admission::{Operation, ReviewResult, User, View};
use netloom_api::GroupKind;
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
    resource: Resource,
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
struct Resource {
    group: String,
    resource: String,
}

#[derive(Debug, Deserialize)]
struct Kind {
    group: String,
    kind: String,
}

/// A name with its group, as messages have it; the core has none.
fn qualified(group: &str, name: &str) -> String {
    if group.is_empty() { name.to_owned() } else { format!("{name}.{group}") }
}

/// Which part of the rules is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// What they fill in before the schema is checked.
    Complete,
    /// Whether the write is taken, when its schema has been kept.
    Validate,
}

impl Part {
    /// The word for those who count.
    pub fn word(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Validate => "validate",
        }
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
pub fn answer(body: &[u8], part: Part, view: &dyn View) -> Result<Value, Unreadable> {
    let Question { api_version, kind, request } = serde_json::from_slice(body)?;
    if api_version != VERSION || kind != KIND {
        return Err(Unreadable::Version { api_version, kind });
    }
    let review = netloom_admission::Review {
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
    };
    let verdict = match part {
        Part::Complete => ReviewResult { patch: netloom_admission::complete(&review), ..ReviewResult::default() },
        Part::Validate => netloom_admission::validate(&review),
    };
    Ok(json!({ "apiVersion": VERSION, "kind": KIND, "response": response(&request, &verdict) }))
}

/// The form leaves out what does not apply by an empty text.
fn given(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

fn response(request: &Request, verdict: &ReviewResult) -> Value {
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
fn refusal(request: &Request, verdict: &ReviewResult) -> Value {
    let Request { kind, name, .. } = request;
    if let Some(reason) = &verdict.forbidden {
        let Resource { group, resource } = &request.resource;
        return json!({
            "status": "Failure",
            "code": 403,
            "reason": "Forbidden",
            "message": format!("{} {name:?} is forbidden: {reason}", qualified(group, resource)),
            "details": { "name": name, "group": group, "kind": resource },
        });
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
        "message": format!("{} {name:?} is invalid: {words}", qualified(&kind.group, &kind.kind)),
        "details": { "name": name, "group": kind.group, "kind": kind.kind, "causes": causes },
    })
}

#[cfg(test)]
mod tests {
    use netloom_admission::Objects;

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
        let own = answer(&question("CREATE", "system:node:a", &state_of("a")), Part::Validate, &view).unwrap();
        assert_eq!(own["response"]["allowed"], true, "{own}");
        assert_eq!(own["response"]["uid"], "7f0b2891-916f-4ed6-b7cd-27bff1815a8c");
        let foreign = answer(&question("CREATE", "system:node:b", &state_of("a")), Part::Validate, &view).unwrap();
        assert_eq!(foreign["response"]["allowed"], false, "{foreign}");
        let status = &foreign["response"]["status"];
        let words = "nodenetworkstates.nmstate.io \"a\" is forbidden: the agent of node \"b\" may";
        assert!(status["code"] == 403 && status["message"].as_str().unwrap().starts_with(words), "{status}");
    }

    #[test]
    fn kinds_of_the_core_have_no_group_in_messages() {
        assert_eq!([qualified("", "Node"), qualified("g.io", "Node")], ["Node", "Node.g.io"]);
    }

    #[test]
    fn filling_in_and_judging_are_asked_apart() {
        let mut body: Value = serde_json::from_slice(&question("CREATE", "u", &state_of("a"))).unwrap();
        body["request"]["kind"] =
            json!({ "group": "network.t-caas.telekom.com", "version": "v1alpha1", "kind": "Layer2Attachment" });
        body["request"]["object"] = json!({
            "apiVersion": "network.t-caas.telekom.com/v1alpha1", "kind": "Layer2Attachment",
            "metadata": { "name": "a" }, "spec": { "networkRef": "missing", "interfaceRef": "eth0", "sriov": false },
        });
        let ask = |part| answer(body.to_string().as_bytes(), part, &Objects::default()).unwrap()["response"].clone();
        let filled = ask(Part::Complete);
        assert_eq!((&filled["allowed"], &filled["patchType"]), (&json!(true), &json!("JSONPatch")), "{filled}");
        let patch = STANDARD.decode(filled["patch"].as_str().unwrap()).unwrap();
        let patch: Value = serde_json::from_slice(&patch).unwrap();
        assert_eq!(patch[0]["path"], "/spec/sriov", "{patch}");
        let judged = ask(Part::Validate);
        assert_eq!((&judged["allowed"], &judged["patch"]), (&json!(false), &Value::Null), "{judged}");
    }

    #[test]
    fn what_is_no_question_is_refused_in_words() {
        let view = Objects::default();
        for body in [&b""[..], b"[]", b"{", b"{\"apiVersion\":\"admission.k8s.io/v1\"}", b"\xff"] {
            assert!(matches!(answer(body, Part::Validate, &view), Err(Unreadable::Form(_))));
        }
        let mut old: Value = serde_json::from_slice(&question("CREATE", "u", &state_of("a"))).unwrap();
        old["apiVersion"] = json!("admission.k8s.io/v1beta1");
        let why = answer(old.to_string().as_bytes(), Part::Validate, &view).unwrap_err();
        assert!(why.to_string().contains("v1beta1"), "{why}");
    }
}
