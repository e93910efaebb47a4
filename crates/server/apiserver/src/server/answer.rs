//! The last touch to an answer, and the first words to those who are lost.

use http::{
    HeaderValue, Response, StatusCode,
    header::{self, CONTENT_TYPE},
};

use super::compress;
use crate::{
    body::{self, Body},
    negotiate::Output,
    request::RouteError,
    resources::status_response,
    status_error::Status,
};

/// Makes an answer ready to go: without a body for those who want only the headers, smaller for
/// those who can unpack it.
pub(super) async fn finish(response: Response<Body>, head: bool, gzip: bool) -> Response<Body> {
    let mut response = if gzip && !head { compress::shrink(response).await } else { response };
    let headers = response.headers_mut();
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    }
    if head { response.map(|_| body::empty()) } else { response }
}

/// The answer to a request that leads nowhere.
pub(super) fn unroutable(error: RouteError, output: Output) -> Response<Body> {
    match error {
        RouteError::Path => status_response(&Status::generic(404, ""), output),
        RouteError::Method => status_response(&Status::generic(405, ""), output),
    }
}

/// A plain text.
pub(super) fn text(code: u16, text: impl Into<bytes::Bytes>) -> Response<Body> {
    let mut response = Response::new(body::full(text));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
