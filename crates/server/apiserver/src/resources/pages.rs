//! The tokens that lead from one page of a list to the next.
//!
//! A token carries the revision of the first page and the key to go on after. It is opaque to
//! clients and trusted in nothing: whatever comes back is checked before it is used.

use base64::{
    DecodeError, Engine as _, alphabet,
    engine::general_purpose::{GeneralPurpose, NO_PAD, URL_SAFE_NO_PAD},
};
use serde::{Deserialize, Serialize};

use super::go_json;
use crate::status_error::{Outcome, Status};

/// The words with which an expired token is refused.
const TOO_OLD: &str = "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";

/// Reads what Go reads: bits beyond the last byte mean nothing.
const LENIENT: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, NO_PAD.with_decode_allow_trailing_bits(true));

/// Where a list goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    /// The snapshot; none for the newest state, offered when the snapshot is gone.
    pub(crate) revision: Option<u64>,
    /// The namespace of the last object sent; none for resources without.
    pub(crate) namespace: Option<String>,
    /// The name of the last object sent.
    pub(crate) name: String,
    /// How many objects follow in the snapshot, where that is known.
    pub(crate) left: Option<u64>,
}

#[derive(Serialize, Deserialize)]
struct Wire {
    v: String,
    rv: i64,
    start: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    left: Option<u64>,
}

impl Token {
    /// The text of it.
    pub(crate) fn encode(&self) -> String {
        let start = match &self.namespace {
            Some(namespace) => format!("{namespace}/{}\0", self.name),
            None => format!("{}\0", self.name),
        };
        let rv = self.revision.map_or(-1, |revision| i64::try_from(revision).unwrap_or(i64::MAX));
        let wire = Wire { v: "meta.k8s.io/v1".into(), rv, start, left: self.left };
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(&wire).unwrap_or_default())
    }

    /// Reads a token for a resource that is, or is not, in namespaces.
    pub(crate) fn decode(text: &str, namespaced: bool) -> Outcome<Self> {
        let broken = |why: &str| Status::bad_request(format!("invalid continue token: continue key is not valid{why}"));
        let bytes = LENIENT.decode(text).map_err(|error| {
            let at = match error {
                DecodeError::InvalidByte(at, _) | DecodeError::InvalidLastSymbol { offset: at, .. } => at,
                DecodeError::InvalidLength(_) => text.len().saturating_sub(1),
                DecodeError::InvalidPadding => text.find('=').unwrap_or_default(),
            };
            broken(&format!(": illegal base64 data at input byte {at}"))
        })?;
        let wire: Wire = serde_json::from_slice(&bytes).map_err(|error| {
            let why = go_json::error(&bytes).unwrap_or_else(|| error.to_string());
            broken(&format!(": {why}"))
        })?;
        if wire.v != "meta.k8s.io/v1" {
            return Err(broken(&format!(": server does not recognize this encoded version {}", wire.v)));
        }
        if wire.rv == 0 {
            return Err(broken(": incorrect encoded start resourceVersion (version meta.k8s.io/v1)"));
        }
        if wire.start.is_empty() {
            return Err(broken(": encoded start key empty (version meta.k8s.io/v1)"));
        }
        let key = wire.start.trim_end_matches('\0');
        if key.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(broken(&format!(": {}", wire.start)));
        }
        let (namespace, name) = match key.split_once('/') {
            Some((namespace, name)) if namespaced => (Some(namespace.to_owned()), name.to_owned()),
            _ => (None, key.to_owned()),
        };
        Ok(Self { revision: u64::try_from(wire.rv).ok(), namespace, name, left: wire.left })
    }

    /// The refusal of this token once its snapshot is gone; it offers the rest of the newest state.
    pub(crate) fn too_old(&self) -> Status {
        let newest = Self { revision: None, left: None, ..self.clone() };
        Status::expired(TOO_OLD).continued(newest.encode())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_token_leads_back_to_its_place() {
        for namespace in [None, Some("ns".to_owned())] {
            let token = Token { revision: Some(7), namespace: namespace.clone(), name: "a".into(), left: Some(3) };
            assert_eq!(Token::decode(&token.encode(), namespace.is_some()), Ok(token));
        }
    }

    #[test]
    fn an_expired_token_offers_the_newest_state() {
        let token = Token { revision: Some(7), namespace: None, name: "a".into(), left: None };
        let status = token.too_old();
        assert_eq!(status.code(), 410);
        let json = status.to_json();
        let offered = Token::decode(json["metadata"]["continue"].as_str().unwrap(), false).unwrap();
        assert_eq!(offered, Token { revision: None, ..token });
    }

    #[test]
    fn foreign_tokens_are_refused() {
        for text in ["", "!!", "e30", &URL_SAFE_NO_PAD.encode(br#"{"v":"x","rv":1,"start":"a"}"#)] {
            assert_eq!(Token::decode(text, true).unwrap_err().code(), 400, "{text}");
        }
        for (text, why) in [("e30x!", "4"), ("e30xx", "4"), ("!", "0"), ("e30=", "3"), ("e30x==", "4")] {
            let status = Token::decode(text, true).unwrap_err();
            let why =
                format!("invalid continue token: continue key is not valid: illegal base64 data at input byte {why}");
            assert_eq!(status.message(), why, "{text}");
        }
        let climbing = URL_SAFE_NO_PAD.encode(br#"{"v":"meta.k8s.io/v1","rv":1,"start":"../secrets/a"}"#);
        assert_eq!(Token::decode(&climbing, true).unwrap_err().code(), 400);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,80}") {
            let _ = Token::decode(&text, true);
        }
    }
}
