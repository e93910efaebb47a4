//! Documents about what is served, kept until something else is served.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use serde_json::Value;

use crate::{
    body::{self, Body},
    discovery::etag,
};

/// A document as it is sent.
#[derive(Debug)]
pub(super) struct Document {
    text: Bytes,
    tag: String,
}

/// The documents that were asked for since the catalogue last changed. There are as many as there
/// are versions of groups, so the number is bounded by what is served.
#[derive(Debug, Default)]
pub(super) struct Documents {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    generation: u64,
    kept: BTreeMap<String, Arc<Document>>,
}

impl Documents {
    /// The document of a name, made unless it is there; nothing when none can be made.
    pub(super) fn get(
        &self,
        generation: u64,
        name: &str,
        make: impl FnOnce() -> Option<Value>,
    ) -> Option<Arc<Document>> {
        self.get_bytes(generation, name, || serde_json::to_vec(&make()?).ok())
    }

    /// The same for one that is not JSON.
    pub(super) fn get_bytes(
        &self,
        generation: u64,
        name: &str,
        make: impl FnOnce() -> Option<Vec<u8>>,
    ) -> Option<Arc<Document>> {
        let lock = || self.state.lock().unwrap_or_else(PoisonError::into_inner);
        {
            let mut state = lock();
            if state.generation != generation {
                *state = State { generation, kept: BTreeMap::new() };
            }
            if let Some(document) = state.kept.get(name) {
                return Some(Arc::clone(document));
            }
        }
        // Made without holding the lock: a large one takes a while, and others ask for others.
        let text = Bytes::from(make()?);
        let document = Arc::new(Document { tag: etag(&text), text });
        let mut state = lock();
        if state.generation == generation {
            state.kept.insert(name.to_owned(), Arc::clone(&document));
        }
        Some(document)
    }
}

impl Document {
    /// The answer that shows it, or says that the client has it already.
    pub(super) fn response(
        &self,
        headers: &HeaderMap,
        content_type: &'static str,
        cache: &'static str,
    ) -> Response<Body> {
        let has = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok()).is_some_and(|value| {
            value.split(',').map(|tag| tag.trim().trim_start_matches("W/")).any(|tag| tag == self.tag || tag == "*")
        });
        let mut response =
            if has { Response::new(body::empty()) } else { Response::new(body::full(self.text.clone())) };
        if has {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        }
        let own = response.headers_mut();
        own.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        own.insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
        own.insert(header::VARY, HeaderValue::from_static("Accept"));
        if let Ok(tag) = HeaderValue::from_str(&self.tag) {
            own.insert(header::ETAG, tag);
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_document_is_made_once() {
        let documents = Documents::default();
        let first = documents.get(1, "a", || Some(json!({"a": 1}))).unwrap();
        let again = documents.get(1, "a", || panic!("it is there")).unwrap();
        assert_eq!(first.tag, again.tag);
        let other = documents.get(2, "a", || Some(json!({"a": 2}))).unwrap();
        assert_ne!(first.tag, other.tag);
        assert!(documents.get(2, "b", || None).is_none());
    }

    #[test]
    fn who_has_it_gets_nothing() {
        let documents = Documents::default();
        let document = documents.get(1, "a", || Some(json!({}))).unwrap();
        let tag = HeaderValue::from_str(&document.tag).unwrap();
        let response = document.response(&HeaderMap::from_iter([(header::IF_NONE_MATCH, tag)]), "text/x", "public");
        assert_eq!(response.status(), 304);
        let response = document.response(&HeaderMap::new(), "text/x", "public");
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()[header::CONTENT_TYPE], "text/x");
    }
}
