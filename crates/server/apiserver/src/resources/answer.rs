//! From an outcome to the bytes and headers of a response.

use bytes::Bytes;
use http::{
    HeaderValue, Response, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER},
};
use serde_json::Value;

use super::asked::{self, Warnings};
use crate::{
    body::{self, Body},
    negotiate::{Media, Output},
    status_error::Status,
};

/// What a request led to.
pub(crate) enum Answer {
    /// One object, still in its own form.
    Object {
        /// The code.
        code: u16,
        /// The object.
        object: Value,
    },
    /// JSON that is already in the form asked for.
    Text {
        /// The code.
        code: u16,
        /// The JSON.
        text: Bytes,
    },
    /// JSON that is still being written.
    Stream {
        /// Its reading end.
        body: Body,
    },
    /// A success without an object.
    Status(Status),
}

impl Answer {
    /// One object.
    pub(crate) fn object(code: u16, object: Value) -> Self {
        Self::Object { code, object }
    }
}

/// The response that tells a status.
pub fn status_response(status: &Status, output: Output) -> Response<Body> {
    let mut response = object_response(status.code(), &status.to_json(), output);
    if status.retry() > 0
        && let Ok(value) = HeaderValue::from_str(&status.retry().to_string())
    {
        response.headers_mut().insert(RETRY_AFTER, value);
    }
    response
}

/// The response that shows an object.
pub fn object_response(code: u16, object: &Value, output: Output) -> Response<Body> {
    let text = match (output.media, output.pretty) {
        (Media::Yaml, _) => netloom_yaml::print(object).into_bytes(),
        (Media::Json, true) => serde_json::to_vec_pretty(object).unwrap_or_default(),
        (Media::Json, false) => {
            let mut text = serde_json::to_vec(object).unwrap_or_default();
            text.push(b'\n');
            text
        }
    };
    response(code, output.media, body::full(text))
}

/// The response that shows JSON that is there as text.
pub(crate) fn text_response(code: u16, text: Bytes, output: Output) -> Response<Body> {
    if output.media == Media::Json && !output.pretty {
        return response(code, Media::Json, body::full(text));
    }
    match serde_json::from_slice::<Value>(&text) {
        Ok(object) => object_response(code, &object, output),
        Err(error) => status_response(&Status::internal(&error.to_string()), Output::PLAIN),
    }
}

/// The response that streams JSON.
pub(crate) fn stream_response(body: Body) -> Response<Body> {
    response(200, Media::Json, body)
}

/// The response to a path that leads nowhere.
pub fn nowhere() -> Response<Body> {
    let mut response = Response::new(body::full("404 page not found\n"));
    *response.status_mut() = StatusCode::NOT_FOUND;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}

/// Adds the warnings that gathered, that of a deprecated version first.
pub(crate) fn warned(mut response: Response<Body>, deprecated: Option<&str>, warnings: &Warnings) -> Response<Body> {
    for value in deprecated.and_then(asked::warning).into_iter().chain(warnings.headers()) {
        response.headers_mut().append(http::header::WARNING, value);
    }
    response
}

fn response(code: u16, media: Media, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media.name()));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}
