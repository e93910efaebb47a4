//! From a request to its answer: who asks, whether they may, and who knows the answer.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method, Request, Response, header};
use http_body_util::BodyExt;
use hyper::body::{Body as _, Incoming};
use netloom_admission::User;
use netloom_https::{Handler, Peer};
use serde_json::Value;
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout},
};

use super::{
    Limits,
    about::about,
    answer, compress,
    documents::Documents,
    open::{self, Ending},
    paths::BACKUP_PATH,
    places::{Place, Places},
};
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
/// For a copy of everything to be made.
const BACKUP_TIME: Duration = Duration::from_hours(1);
/// A body of unknown length gets so much room at a time.
const STEP: usize = 256 << 10;

/// Everything that a request can need.
pub(super) struct Front {
    pub(super) api: Arc<Api>,
    pub(super) access: Arc<Access>,
    pub(super) authenticator: Authenticator,
    pub(super) source: Arc<dyn Source>,
    pub(super) documents: Documents,
    pub(super) authority: Arc<Authority>,
    pub(super) address: SocketAddr,
    /// Where everything is kept.
    pub(super) folder: PathBuf,
    /// Taken while a backup is made and sent.
    pub(super) backups: Arc<Semaphore>,
    pub(super) metrics: Metrics,
    ending: Ending,
    limits: Limits,
    requests: Places,
    watches: Places,
    bodies: Places,
}

/// What a front stands before.
pub(super) struct Parts {
    pub(super) api: Arc<Api>,
    pub(super) access: Arc<Access>,
    pub(super) authenticator: Authenticator,
    pub(super) authority: Arc<Authority>,
    pub(super) source: Arc<dyn Source>,
    /// Where everything is kept.
    pub(super) folder: PathBuf,
    /// Says when the server stops.
    pub(super) ending: Ending,
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
        let Parts { api, access, authenticator, authority, source, folder, ending } = parts;
        let requests = Places::new(limits.requests, limits.requests / 4);
        let watches = Places::new(limits.watches, limits.watches / 4 * 3);
        // Every body has room in the share of its sender.
        let bodies = Places::new(limits.bodies / PERMIT_BYTES, limits.bodies.max(limits.body * 4) / 4 / PERMIT_BYTES);
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
            folder,
            backups: Arc::new(Semaphore::new(1)),
            metrics,
            ending,
            limits,
            requests,
            watches,
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
        // How long a copy of everything takes is a matter of how much there is.
        let time = if request.uri().path() == BACKUP_PATH { BACKUP_TIME } else { self.limits.request_time };
        let considered = timeout(time, self.consider(peer, output, request, &mut what)).await;
        let (answered, place) = match considered {
            Ok(Ok(answered)) => answered,
            Ok(Err(status)) => (status_response(&status, output), None),
            Err(_) => {
                let late =
                    Status::plain(504, "Timeout", "Timeout: request did not complete within the allotted timeout");
                (status_response(&late, output), None)
            }
        };
        let watch = what.verb == "WATCH" && answered.status().is_success();
        self.metrics.answered(what, answered.status().as_u16(), (!watch).then(|| begun.elapsed()));
        if watch {
            let answer = answer::finish(answered, head, false).await;
            return open::keep(answer, self.metrics.watch(), place, &self.ending);
        }
        let answer = answer::finish(answered, head, gzip).await;
        match place {
            Some(place) => open::hold(answer, place),
            None => answer,
        }
    }

    async fn consider(
        &self,
        peer: &Peer,
        output: Output,
        request: Request<Incoming>,
        what: &mut About,
    ) -> Result<(Response<Body>, Option<Place>), Status> {
        let (parts, body) = request.into_parts();
        let route = match route(&parts.method, &parts.uri) {
            Ok(route) => {
                *what = about(&route, &parts.method, &self.api.catalogue());
                route
            }
            Err(error) => {
                // Strangers learn nothing, not even that a path leads nowhere.
                self.known(peer, &parts.headers, false)?;
                return Ok((answer::unroutable(error, output), None));
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
            Route::Resource(info) => {
                let place = self.place(&admitted, &info)?;
                Ok((self.resource(&admitted, info, body).await?, Some(place)))
            }
            Route::NonResource { path, query } => Ok((self.path(&admitted, &path, &query).await, None)),
        }
    }

    /// Who asks. Those of whom nothing is known only get what is public.
    fn known(&self, peer: &Peer, headers: &HeaderMap, public: bool) -> Result<User, Status> {
        match self.authenticator.authenticate(&peer.certificates, headers, self.source.now()) {
            Ok(Some(user)) => {
                peer.authenticated();
                Ok(user)
            }
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

    /// The place of a request until it was answered, and of a watch until it ends.
    fn place(&self, admitted: &Admitted, info: &RequestInfo) -> Result<Place, Status> {
        let places = if info.verb == Verb::Watch { &self.watches } else { &self.requests };
        let user = &admitted.caller.user.name;
        places.try_take(user, 1).ok_or_else(|| {
            tracing::warn!(
                user,
                verb = info.verb.word(),
                share = places.share(),
                "too many at once: one is turned away"
            );
            busy()
        })
    }

    async fn resource(&self, admitted: &Admitted, info: RequestInfo, body: Incoming) -> Result<Response<Body>, Status> {
        let (bytes, _room) = self.body(&admitted.caller.user.name, body).await?;
        let token =
            info.group.is_empty() && info.resource == "serviceaccounts" && info.subresource.as_deref() == Some("token");
        if let Some(review) = Review::of(&info) {
            let answer = self.review(admitted, review, &info, &bytes)?;
            return Ok(object_response(201, &answer, admitted.output));
        }
        if token && info.verb == Verb::Create {
            let id = uid(&*self.source);
            let token_request = decoded(&admitted.headers, &bytes, ("authentication.k8s.io", "TokenRequest"))?;
            let made = issue_token(self.api.store(), &info, token_request, &id, &self.witnesses(admitted))?;
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
    async fn body(&self, user: &str, body: Incoming) -> Result<(Bytes, Vec<Place>), Status> {
        match body.size_hint().exact() {
            Some(0) => Ok((Bytes::new(), Vec::new())),
            Some(length) => {
                let length = usize::try_from(length).unwrap_or(usize::MAX).min(self.limits.body);
                let room = self.bodies.take(user, permits(length)).await;
                Ok((self.read(body, &mut |_| Ok(())).await?, vec![room]))
            }
            // One that does not say how long it is gets room as it comes. It does not wait for more while
            // it holds some: those who do could wait for each other.
            None => {
                let mut room = vec![self.bodies.take(user, permits(STEP)).await];
                let mut grow = |length| {
                    while room.len() * STEP < length {
                        room.push(self.bodies.try_take(user, permits(STEP)).ok_or_else(busy)?);
                    }
                    Ok(())
                };
                let whole = self.read(body, &mut grow).await?;
                Ok((whole, room))
            }
        }
    }

    /// Reads a body up to the limit; `make_room` is notified how long it is so far. One that is longer is read
    /// on for a while and thrown away: a client that is still writing would not see the refusal if the
    /// connection were closed at once.
    async fn read(
        &self,
        mut body: Incoming,
        make_room: &mut (dyn FnMut(usize) -> Result<(), Status> + Send),
    ) -> Result<Bytes, Status> {
        let limit = self.limits.body;
        let mut whole = BytesMut::new();
        let mut length = 0;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| Status::bad_request(format!("the body could not be read: {error}")))?;
            let Some(piece) = frame.data_ref() else { continue };
            length += piece.len();
            if length <= limit {
                make_room(length)?;
                whole.extend_from_slice(piece);
            } else if length > limit.saturating_mul(READ_ON) {
                break;
            }
        }
        if length > limit { Err(Status::too_large(&format!("limit is {limit}"))) } else { Ok(whole.freeze()) }
    }
}

fn busy() -> Status {
    Status::too_many_requests("Too many requests, please try again later.", 1)
}

/// How many permits so many bytes need.
fn permits(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(PERMIT_BYTES)).unwrap_or(u32::MAX)
}

/// How to answer; those who ask for what cannot be had are reported as such in plain JSON.
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
