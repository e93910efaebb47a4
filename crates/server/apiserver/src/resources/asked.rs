//! One request on its way: who asks for what, and the warnings that gather on the way.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::HeaderMap;
use netloom_store::Key;

use crate::{
    catalogue::Resource,
    negotiate::Output,
    request::{Caller, RequestInfo},
    status_error::{Outcome, Status},
};

/// The longest that all warnings of one answer may be, in bytes. Clients and proxies bound headers.
const WARNINGS: usize = 4096;

/// A request about a resource that is served.
pub(crate) struct Asked<'a> {
    pub(crate) caller: &'a Caller,
    pub(crate) info: &'a RequestInfo,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) body: &'a Bytes,
    pub(crate) resource: Arc<Resource>,
    pub(crate) output: Output,
    pub(crate) warnings: &'a Warnings,
}

impl Asked<'_> {
    /// The namespace of the path; none for resources without.
    pub(crate) fn namespace(&self) -> Option<&str> {
        self.info.namespace.as_deref().filter(|_| self.resource.namespaced)
    }

    /// The name of the path.
    pub(crate) fn name(&self) -> Outcome<&str> {
        self.info.name.as_deref().ok_or_else(|| Status::bad_request("Name parameter required."))
    }

    /// The key of an object in the namespace of the path.
    pub(crate) fn key(&self, name: &str) -> Outcome<Key> {
        let problems = netloom_schema::names::path_segment(name);
        if !problems.is_empty() {
            let list = problems.join(";");
            return Err(Status::bad_request(format!("Name parameter invalid: {name:?}: {list}")));
        }
        Ok(Key::new(&self.resource.store_name(), self.namespace().unwrap_or_default(), name))
    }

    /// A header as text; what is not text counts as absent.
    pub(crate) fn header(&self, name: &http::HeaderName) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Adds a warning to the answer.
    pub(crate) fn warn(&self, text: impl Into<String>) {
        self.warnings.add(text.into());
    }
}

/// What the client should know beside the answer; each text once.
#[derive(Debug, Default)]
pub(crate) struct Warnings(Mutex<Vec<String>>);

impl Warnings {
    fn add(&self, text: String) {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let used: usize = list.iter().map(String::len).sum();
        if used + text.len() <= WARNINGS && !list.contains(&text) {
            list.push(text);
        }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Takes the warnings back to so many: whatever is tried again tells its own again.
    pub(crate) fn back_to(&self, count: usize) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).truncate(count);
    }

    /// The values of the `Warning` headers.
    pub(crate) fn headers(&self) -> Vec<http::HeaderValue> {
        let list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        list.iter().filter_map(|text| warning(text)).collect()
    }
}

/// One warning as the value of a header.
pub(crate) fn warning(text: &str) -> Option<http::HeaderValue> {
    http::HeaderValue::from_str(&line(text)).ok()
}

/// One warning as a header has it: printable, in quotes, agent unknown.
fn line(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 10);
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            letter if letter.is_control() => quoted.push(' '),
            letter => quoted.push(letter),
        }
    }
    format!("299 - \"{quoted}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_reported_once_and_quoted() {
        let warnings = Warnings::default();
        warnings.add("unknown field \"spec.x\"".into());
        warnings.add("unknown field \"spec.x\"".into());
        warnings.add("x".repeat(WARNINGS));
        assert_eq!(warnings.headers(), [r#"299 - "unknown field \"spec.x\"""#]);
    }
}
