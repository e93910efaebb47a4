//! From a request to its answer: who asks, whether they may, and who knows the answer.

use std::{net::SocketAddr, sync::Arc};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method, Request, Response, header};
use http_body_util::BodyExt;
use hyper::body::{Body as _, Incoming};
use netloom_api::admission::User;
use netloom_https::{Handler, Peer};
use serde_json::Value;
use tokio::{
    sync::{Semaphore, SemaphorePermit, watch},
    time::{Instant, timeout},
};

use super::{Limits, about::about, answer, compress, documents::Documents, open};
use crate::{
    authn::{Authenticator, AuthnError, anonymous, forbidden, impersonated},
    body::Body,
    bootstrap::PUBLIC_PATHS,
    ca::Authority,
    metrics::{About, Metrics},
    negotiate::{self, Media, Output, Written},
    rbac::{Access, Asked, Decision, asked},
    request::{Caller, RequestInfo, Route, Verb, route},
    resources::{
        Api,
        clock::{Source, uid},
        decode, object_response, status_response,
    },
    reviews::{Review, Witnesses, issue_token},
    status_error::Status,
};

/// Of a body that is too large, so many times the limit is read before its sender is cut off.
const READ_ON: usize = 4;
/// Permits of the budget for bodies stand for so many bytes.
const PERMIT_BYTES: usize = 1 << 10;

/// Everything that a request can need.
pub(super) struct Front {
    pub(super) api: Arc<Api>,
    pub(super) access: Arc<Access>,
    pub(super) authenticator: Authenticator,
    pub(super) source: Arc<dyn Source>,
    pub(super) documents: Documents,
    pub(super) authority: Arc<Authority>,
    pub(super) address: SocketAddr,
    pub(super) metrics: Metrics,
    stopped: watch::Receiver<bool>,
    limits: Limits,
    requests: Semaphore,
    bodies: Semaphore,
}

/// What a front stands before.
pub(super) struct Parts {
    pub(super) api: Arc<Api>,
    pub(super) access: Arc<Access>,
    pub(super) authenticator: Authenticator,
    pub(super) authority: Arc<Authority>,
    pub(super) source: Arc<dyn Source>,
    /// Says when the server stops.
    pub(super) stopped: watch::Receiver<bool>,
}

/// A request whose sender is known and may.
pub(super) struct Admitted {
    pub(super) caller: Caller,
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
    pub(super) output: Output,
}

impl Handler for Front {
    async fn answer(&self, peer: &Arc<Peer>, request: Request<Incoming>) -> Response<Body> {
        self.whole(peer, request).await
    }
}

impl Front {
    pub(super) fn new(parts: Parts, address: SocketAddr, limits: Limits) -> Self {
        let Parts { api, access, authenticator, authority, source, stopped } = parts;
        let (requests, bodies) = (Semaphore::new(limits.requests), Semaphore::new(limits.bodies / PERMIT_BYTES));
        let documents = Documents::default();
        let metrics = Metrics::new(api.store().clone(), &api.refusals);
        Self {
            api,
            access,
            authenticator,
            source,
            documents,
            authority,
            address,
            metrics,
            stopped,
            limits,
            requests,
            bodies,
        }
    }

    /// The answer to a request, whatever it is.
    async fn whole(&self, peer: &Peer, request: Request<Incoming>) -> Response<Body> {
        let (begun, _running) = (Instant::now(), self.metrics.begin());
        let mut what = About::default();
        let head = *request.method() == Method::HEAD;
        let gzip = compress::accepts(request.headers());
        let output = output(request.headers(), request.uri().query());
        let answered = match timeout(self.limits.request_time, self.consider(peer, output, request, &mut what)).await {
            Ok(Ok(response)) => response,
            Ok(Err(status)) => status_response(&status, output),
            Err(_) => {
                let late =
                    Status::plain(504, "Timeout", "Timeout: request did not complete within the allotted timeout");
                status_response(&late, output)
            }
        };
        let watch = what.verb == "WATCH" && answered.status().is_success();
        self.metrics.answered(what, answered.status().as_u16(), (!watch).then(|| begun.elapsed()));
        if watch {
            return open::keep(answer::finish(answered, head, false).await, self.metrics.watch(), self.stopped.clone());
        }
        answer::finish(answered, head, gzip).await
    }

    async fn consider(
        &self,
        peer: &Peer,
        output: Output,
        request: Request<Incoming>,
        what: &mut About,
    ) -> Result<Response<Body>, Status> {
        let (parts, body) = request.into_parts();
        let route = match route(&parts.method, &parts.uri) {
            Ok(route) => {
                *what = about(&route, &parts.method, &self.api.catalogue());
                route
            }
            Err(error) => {
                // Strangers learn nothing, not even that a path leads nowhere.
                self.known(peer, &parts.headers, false)?;
                return Ok(answer::unroutable(error, output));
            }
        };
        let public = matches!(&route, Route::NonResource { path, .. } if PUBLIC_PATHS.contains(&path.as_str()));
        let user = self.known(peer, &parts.headers, public)?;
        let user = match impersonated(&user, &parts.headers, &self.access)? {
            Some(other) => {
                tracing::info!(peer = %peer.address, user = user.name, other = other.name, "somebody acts in another's name");
                other
            }
            None => user,
        };
        let question = match &route {
            Route::Resource(info) => asked(info),
            Route::NonResource { path, .. } => {
                Asked::Path { verb: parts.method.as_str().to_ascii_lowercase(), path: path.clone() }
            }
        };
        if let Decision::NotAllowed(why) = self.access.decide(&user, &question) {
            tracing::info!(peer = %peer.address, user = user.name, ?question, "refused");
            return Err(forbidden(&user, &question, &why));
        }
        let agent = parts.headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default();
        let caller = Caller::new(user, agent);
        let admitted = Admitted { caller, method: parts.method, headers: parts.headers, output };
        match route {
            Route::Resource(info) => self.resource(&admitted, info, body).await,
            Route::NonResource { path, query } => Ok(self.path(&admitted, &path, &query).await),
        }
    }

    /// Who asks. Those of whom nothing is known only get what is public.
    fn known(&self, peer: &Peer, headers: &HeaderMap, public: bool) -> Result<User, Status> {
        match self.authenticator.authenticate(&peer.certificates, headers, self.source.now()) {
            Ok(Some(user)) => Ok(user),
            Ok(None) if public => Ok(anonymous()),
            Ok(None) => {
                self.metrics.stranger();
                tracing::warn!(peer = %peer.address, reason = "NoCredential", "refused: no credential came with a request");
                Err(Status::unauthorized())
            }
            // Not 401: a client would throw a good credential away.
            Err(AuthnError::Unknown(error)) => {
                tracing::error!(peer = %peer.address, reason = error.reason(), %error, "an account cannot be read");
                Err(Status::unavailable(&error.to_string()))
            }
            Err(error @ (AuthnError::Certificate(_) | AuthnError::Token(_))) => {
                self.metrics.stranger();
                tracing::warn!(peer = %peer.address, reason = error.reason(), %error, "refused");
                Err(Status::unauthorized())
            }
        }
    }

    async fn resource(&self, admitted: &Admitted, info: RequestInfo, body: Incoming) -> Result<Response<Body>, Status> {
        let busy = || Status::too_many_requests("Too many requests, please try again later.", 1);
        let _turn = self.requests.try_acquire().map_err(|_| busy())?;
        let (bytes, _room) = self.body(body).await?;
        let token =
            info.group.is_empty() && info.resource == "serviceaccounts" && info.subresource.as_deref() == Some("token");
        if let Some(review) = Review::of(&info) {
            let answer = self.review(admitted, review, &info, &bytes)?;
            return Ok(object_response(201, &answer, admitted.output));
        }
        if token && info.verb == Verb::Create {
            let id = uid(&*self.source);
            let wish = decoded(&admitted.headers, &bytes, ("authentication.k8s.io", "TokenRequest"))?;
            let made = issue_token(self.api.store(), &info, wish, &id, &self.witnesses(admitted))?;
            tracing::info!(by = admitted.caller.user.name, account = info.name, id, "a token was issued");
            return Ok(object_response(201, &made, admitted.output));
        }
        Ok(self.api.handle(&admitted.caller, info, &admitted.headers, bytes).await)
    }

    fn review(&self, admitted: &Admitted, review: Review, info: &RequestInfo, bytes: &Bytes) -> Result<Value, Status> {
        let fits = info.version == "v1" && info.name.is_none() && info.namespace.is_some() == review.namespaced();
        if !fits {
            return Err(Status::generic(404, ""));
        }
        if info.verb != Verb::Create {
            return Err(Status::generic(405, ""));
        }
        let question = decoded(&admitted.headers, bytes, (review.resource().0, review.kind()))?;
        review.answer(question, info.namespace.as_deref(), &self.witnesses(admitted))
    }

    fn witnesses<'a>(&'a self, admitted: &'a Admitted) -> Witnesses<'a> {
        Witnesses {
            user: &admitted.caller.user,
            access: &self.access,
            authenticator: &self.authenticator,
            now: self.source.now(),
        }
    }

    /// Reads a body, and keeps room for it until it has been dealt with.
    async fn body(&self, body: Incoming) -> Result<(Bytes, Option<SemaphorePermit<'_>>), Status> {
        let hint = body.size_hint();
        if hint.exact() == Some(0) {
            return Ok((Bytes::new(), None));
        }
        let limit = u64::try_from(self.limits.body).unwrap_or(u64::MAX);
        // One that does not say how long it is gets room for the longest.
        let most = usize::try_from(hint.upper().unwrap_or(limit).min(limit)).unwrap_or(self.limits.body);
        let permits = u32::try_from(most.div_ceil(PERMIT_BYTES)).unwrap_or(u32::MAX);
        let room = self.bodies.acquire_many(permits).await.map_err(|error| Status::internal(&error.to_string()))?;
        let whole = read(body, self.limits.body).await?;
        Ok((whole, Some(room)))
    }
}

/// Reads a body up to a limit. One that is longer is read on for a while and thrown away: a client
/// that is still writing would not see the refusal if the connection were closed at once.
async fn read(mut body: Incoming, limit: usize) -> Result<Bytes, Status> {
    let mut whole = BytesMut::new();
    let mut length = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Status::bad_request(format!("the body could not be read: {error}")))?;
        let Some(piece) = frame.data_ref() else { continue };
        length += piece.len();
        if length <= limit {
            whole.extend_from_slice(piece);
        } else if length > limit.saturating_mul(READ_ON) {
            break;
        }
    }
    if length > limit { Err(Status::too_large(&format!("limit is {limit}"))) } else { Ok(whole.freeze()) }
}

/// How to answer; those who ask for what cannot be had are told so in plain JSON.
fn output(headers: &HeaderMap, query: Option<&str>) -> Output {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    let pretty =
        query.is_some_and(|query| query.split('&').any(|pair| matches!(pair, "pretty=true" | "pretty=1" | "pretty")));
    let chosen = negotiate::output(accept, pretty.then_some("true")).unwrap_or(Output::PLAIN);
    Output { form: Output::PLAIN.form, ..chosen }
}

/// The object in a body that is not about a stored kind but about one of these.
fn decoded(headers: &HeaderMap, bytes: &Bytes, (group, kind): (&str, &str)) -> Result<Value, Status> {
    let limits = netloom_schema::decode::Limits::default();
    let content = headers.get(header::CONTENT_TYPE).and_then(|content| content.to_str().ok());
    let read = match negotiate::input(content, true)? {
        Written::Text(Media::Json) => netloom_schema::decode::json(bytes, limits),
        Written::Text(Media::Yaml) => netloom_schema::decode::yaml(bytes, limits),
        Written::Protobuf => return decode::message(&format!("{group}/v1"), kind, bytes).map(|read| read.value),
    };
    read.map(|read| read.value).map_err(|error| Status::bad_request(error.to_string()))
}
