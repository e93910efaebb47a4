//! The admission webhook: the rules of `netloom-api` for clusters whose API server is not ours.
//!
//! A server asks twice, as the embedded one does it: before it checks the schema what is to be filled
//! in, and after it whether the write is taken.
//!
//! It answers the API server and nobody else: the listener asks for a certificate of the authority
//! that it was given, and without one there is no connection. A view that is not complete yet answers
//! nothing either; the API server then does what its configuration says for a webhook that is not there.

mod authority;
mod keeper;
pub mod review;
mod tls;

use std::sync::Arc;

use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use netloom_api::generate::{COMPLETE_PATH, VALIDATE_PATH};
use netloom_https::{Body, Handler, Peer};
use serde_json::Value;

pub(crate) use self::keeper::Keeper;
use self::review::Part;
pub use self::{
    keeper::{Own, Slot},
    tls::{TlsError, TlsFiles, changing},
};
use crate::{
    answer::{json, text},
    metrics::Metrics,
    view::Current,
};

/// The largest question: two objects of the size that a server takes, and their frame.
const LARGEST: usize = 8 << 20;

/// Answers questions from a view.
#[derive(Debug)]
pub struct Webhook {
    view: Current,
    metrics: Arc<Metrics>,
}

impl Webhook {
    /// The webhook over that view.
    pub fn new(view: Current, metrics: Arc<Metrics>) -> Self {
        Self { view, metrics }
    }

    async fn review(&self, part: Part, body: Incoming) -> Response<Body> {
        if !self.view.is_complete() {
            return text(StatusCode::SERVICE_UNAVAILABLE, "not every kind has been listed yet; ask again");
        }
        let body = match Limited::new(body, LARGEST).collect().await {
            Ok(body) => body.to_bytes(),
            Err(why) => return text(StatusCode::PAYLOAD_TOO_LARGE, &format!("cannot read the question: {why}")),
        };
        match self.view.read(|objects| review::answer(&body, part, objects)) {
            Ok(answer) => {
                self.metrics.reviewed(part.word(), answer.pointer("/response/allowed") == Some(&Value::Bool(true)));
                json(&answer)
            }
            Err(why) => text(StatusCode::BAD_REQUEST, &why.to_string()),
        }
    }
}

impl Handler for Webhook {
    async fn answer(&self, peer: &Arc<Peer>, request: Request<Incoming>) -> Response<Body> {
        let (head, body) = request.into_parts();
        let answer = match (&head.method, head.uri.path()) {
            (&Method::POST, COMPLETE_PATH) => self.review(Part::Complete, body).await,
            (&Method::POST, VALIDATE_PATH) => self.review(Part::Validate, body).await,
            (&Method::GET, "/readyz") if self.view.is_complete() => text(StatusCode::OK, "ok"),
            (&Method::GET, "/readyz") => text(StatusCode::SERVICE_UNAVAILABLE, "not every kind has been listed yet"),
            (_, COMPLETE_PATH | VALIDATE_PATH) => text(StatusCode::METHOD_NOT_ALLOWED, "questions are posted"),
            _ => text(StatusCode::NOT_FOUND, "only /complete, /validate and /readyz are served here"),
        };
        tracing::debug!(from = %peer.address, method = %head.method, path = head.uri.path(), status = %answer.status(), "answered");
        answer
    }
}
