//! The admission webhook: the rules of `netloom-api` for clusters whose API server is not ours.
//!
//! A server asks twice, as the embedded one does it: before it checks the schema what is to be filled
//! in, and after it whether the write is taken.
//!
//! It answers the API server and nobody else: the listener asks for a certificate of the authority
//! that it was given, and without one there is no connection; where names were given too, it must
//! bear one of them. How many questions are read at once and how long each may take is bounded. A view that is not complete yet answers
//! nothing either; the API server then does what its configuration says for a webhook that is not there.

mod authority;
mod callers;
mod keeper;
pub mod review;
mod tls;

use std::{sync::Arc, time::Duration};

use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use netloom_generate::{COMPLETE_PATH, VALIDATE_PATH};
use netloom_https::{Body, Handler, Peer};
use serde_json::Value;
use tokio::{sync::Semaphore, time::timeout};

pub(crate) use self::keeper::Keeper;
use self::review::Part;
pub use self::{
    callers::Callers,
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

/// How many questions are read and answered at once; with the largest, a quarter of a gigabyte.
const AT_ONCE: usize = 32;

/// How long a question may take to arrive and to be answered: API servers wait no longer by default.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// Answers questions from a view.
#[derive(Debug)]
pub struct Webhook {
    view: Current,
    metrics: Arc<Metrics>,
    callers: Callers,
    places: Semaphore,
    time_limit: Duration,
}

impl Webhook {
    /// The webhook over that view.
    pub fn new(view: Current, metrics: Arc<Metrics>, callers: Callers) -> Self {
        Self { view, metrics, callers, places: Semaphore::new(AT_ONCE), time_limit: TIME_LIMIT }
    }

    /// The same, which ends questions that take longer than this.
    #[must_use]
    pub fn patient_for(self, time_limit: Duration) -> Self {
        Self { time_limit, ..self }
    }

    async fn in_time(&self, part: Part, peer: &Peer, body: Incoming) -> Response<Body> {
        if let Some(why) = self.callers.refusal(peer) {
            tracing::warn!(from = %peer.address, %why, "a question is refused");
            return text(StatusCode::FORBIDDEN, &why);
        }
        peer.authenticated();
        let answered = timeout(self.time_limit, async {
            // The semaphore is never closed, so nobody goes without a place.
            let _place = self.places.acquire().await;
            self.review(part, body).await
        });
        let late = format!("the question did not arrive and find an answer within {:?}", self.time_limit);
        answered.await.unwrap_or_else(|_| text(StatusCode::REQUEST_TIMEOUT, &late))
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
            (&Method::POST, COMPLETE_PATH) => self.in_time(Part::Complete, peer, body).await,
            (&Method::POST, VALIDATE_PATH) => self.in_time(Part::Validate, peer, body).await,
            (&Method::GET, "/readyz") if self.view.is_complete() => text(StatusCode::OK, "ok"),
            (&Method::GET, "/readyz") => text(StatusCode::SERVICE_UNAVAILABLE, "not every kind has been listed yet"),
            (_, COMPLETE_PATH | VALIDATE_PATH) => text(StatusCode::METHOD_NOT_ALLOWED, "questions are posted"),
            _ => text(StatusCode::NOT_FOUND, "only /complete, /validate and /readyz are served here"),
        };
        tracing::debug!(from = %peer.address, method = %head.method, path = head.uri.path(), status = %answer.status(), "answered");
        answer
    }
}
