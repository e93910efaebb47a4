//! Answers over HTTP, as both of the controller's listeners give them.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header::CONTENT_TYPE};
use http_body_util::{BodyExt as _, Full};
use netloom_https::Body;
use serde_json::Value;

/// A line of text.
pub(crate) fn text(status: StatusCode, text: &str) -> Response<Body> {
    answer(status, "text/plain; charset=utf-8", format!("{text}\n").into())
}

/// A document.
pub(crate) fn json(value: &Value) -> Response<Body> {
    answer(StatusCode::OK, "application/json", value.to_string().into())
}

/// Anything.
pub(crate) fn answer(status: StatusCode, kind: &'static str, content: Bytes) -> Response<Body> {
    let mut response = Response::new(Full::new(content).boxed_unsync());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
