//! Large answers, packed for clients that can unpack them.

use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use http::{HeaderMap, HeaderValue, Response, header};
use http_body_util::BodyExt;
use hyper::body::Body as _;

use crate::body::{self, Body};

/// Smaller ones go as they are: packing would cost more than it saves.
const LEAST: u64 = 128 << 10;

/// Whether a client can unpack.
pub(super) fn accepts(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        name.trim().eq_ignore_ascii_case("gzip") && !matches!(weight.trim(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000")
    })
}

/// Packs an answer that is there as a whole and large enough.
pub(super) async fn shrink(response: Response<Body>) -> Response<Body> {
    // A stream has no exact size; each of its frames must go at once.
    if response.body().size_hint().exact().is_none_or(|size| size < LEAST) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let bytes = match body.collect().await {
        Ok(whole) => whole.to_bytes(),
        Err(never) => match never {},
    };
    let original = bytes.clone();
    let packed = tokio::task::spawn_blocking(move || {
        let mut packer = GzEncoder::new(Vec::with_capacity(bytes.len() / 8), Compression::fast());
        packer.write_all(&bytes)?;
        packer.finish()
    });
    let Ok(Ok(packed)) = packed.await else {
        return Response::from_parts(parts, body::full(original));
    };
    parts.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    parts.headers.append(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, body::full(packed))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn headers(value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static(value))])
    }

    #[test]
    fn a_client_says_that_it_can_unpack() {
        for (value, expected) in [("gzip", true), ("deflate, GZIP;q=0.5", true), ("gzip;q=0", false), ("br", false)] {
            assert_eq!(accepts(&headers(value)), expected, "{value}");
        }
    }

    #[tokio::test]
    async fn only_large_answers_are_packed() {
        let small = shrink(Response::new(body::full("x"))).await;
        assert!(!small.headers().contains_key(header::CONTENT_ENCODING));
        let text = "netloom ".repeat(100_000);
        let large = shrink(Response::new(body::full(text.clone()))).await;
        assert_eq!(large.headers()[header::CONTENT_ENCODING], "gzip");
        let packed = large.into_body().collect().await.unwrap().to_bytes();
        let mut unpacked = String::new();
        flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut unpacked).unwrap();
        assert_eq!(unpacked, text);
    }

    #[tokio::test]
    async fn streams_go_as_they_are() {
        let (sender, stream) = body::stream();
        let response = shrink(Response::new(stream)).await;
        assert!(!response.headers().contains_key(header::CONTENT_ENCODING));
        drop(sender);
    }
}
