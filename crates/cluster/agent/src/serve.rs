//! `/healthz`, `/readyz` and `/metrics` of an agent, for those who watch over it.
//!
//! Plain HTTP and nothing to write: what is served here is no secret of the node, and the address is given by
//! who starts the agent.

use std::{convert::Infallible, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Request, Response, StatusCode, header::CONTENT_TYPE};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{net::TcpListener, sync::Semaphore, time::Instant};

use crate::{health::AgentHealth, metrics::Metrics};

/// The content type of the text.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Connections at one time: a scraper, a kubelet and a person.
const PLACES: usize = 16;
/// How long a client may take over its request's head.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// Serves until it is dropped.
pub(crate) async fn serve(listener: TcpListener, metrics: Arc<Metrics>, health: Arc<AgentHealth>) {
    let places = Arc::new(Semaphore::new(PLACES));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                continue;
            }
        };
        let (metrics, health) = (Arc::clone(&metrics), Arc::clone(&health));
        tokio::spawn(async move {
            let service = service_fn(|request: Request<Incoming>| {
                let answer = answer(request.uri().path(), &metrics, &health);
                async move { Ok::<_, Infallible>(answer) }
            });
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(TIME_LIMIT).keep_alive(false);
            // A client that goes away in the middle is its own business.
            http.serve_connection(TokioIo::new(stream), service).await.ok();
            drop(place);
        });
    }
}

fn answer(path: &str, metrics: &Metrics, health: &AgentHealth) -> Response<Full<Bytes>> {
    let (status, kind, text) = match path {
        "/metrics" => match metrics.text() {
            Ok(text) => (StatusCode::OK, OPEN_METRICS, text),
            Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, "text/plain", error.to_string()),
        },
        "/healthz" => match health.stuck(Instant::now()) {
            None => (StatusCode::OK, "text/plain", "ok".to_owned()),
            Some(why) => (StatusCode::INTERNAL_SERVER_ERROR, "text/plain", why.to_owned()),
        },
        "/readyz" => match health.missing() {
            None => (StatusCode::OK, "text/plain", "ok".to_owned()),
            Some(what) => (StatusCode::SERVICE_UNAVAILABLE, "text/plain", what.to_owned()),
        },
        _ => (StatusCode::NOT_FOUND, "text/plain", "only /healthz, /readyz and /metrics are served here".to_owned()),
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static(kind));
    response
}
