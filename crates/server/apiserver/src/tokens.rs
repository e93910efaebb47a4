//! Tokens of service accounts: signed by a key in the data folder, each with an end.
//!
//! The form is that of JSON web tokens with the claims that clients of service accounts expect. A
//! token names its account by uid, so it dies with the account; whether the account (and the object
//! that the token is bound to) still exists is the caller's to look up.

use std::{fs, path::Path};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::ca::{CaError, file, refuse_exposed, write_private};

/// Who issues tokens, and for whom those are that name no audience.
pub const AUDIENCE: &str = "https://kubernetes.default.svc.cluster.local";
const KEY_FILE: &str = "token.key";
const KEY_BYTES: usize = 32;
/// Longer ones are not even looked at.
const MOST_BYTES: usize = 16 << 10;
/// The block of the hash function.
const BLOCK: usize = 64;

/// Why a token does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// It is no token of ours.
    #[error("it is not a token of this server")]
    Malformed,
    /// Somebody else signed it, or it was changed.
    #[error("its signature is wrong")]
    Signature,
    /// Its time is over.
    #[error("it has expired")]
    Expired,
    /// Its time has not come.
    #[error("it is not valid yet")]
    Early,
    /// It is for somebody else.
    #[error("it is for another audience")]
    Audience,
}

impl TokenError {
    /// A stable word for it.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Malformed => "TokenMalformed",
            Self::Signature => "TokenSignature",
            Self::Expired => "TokenExpired",
            Self::Early => "TokenEarly",
            Self::Audience => "TokenAudience",
        }
    }
}

/// What a token says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Claims {
    /// The account's namespace.
    pub namespace: String,
    /// The account's name.
    pub account: String,
    /// The account's uid.
    pub uid: String,
    /// For whom it is.
    pub audiences: Vec<String>,
    /// The object that it lives and dies with.
    pub bound: Option<Bound>,
    /// The node of the pod that it is bound to, when the pod had one.
    pub node: Option<Bound>,
    /// Its own id.
    pub id: String,
}

/// An object that a token is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    /// `Pod`, `Secret` or `Node`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
}

/// The key that signs tokens.
#[derive(Clone)]
pub struct Tokens {
    key: [u8; KEY_BYTES],
}

impl Tokens {
    /// Reads the key of a folder, or writes `fresh` there as a new one.
    pub fn open(folder: &Path, fresh: [u8; KEY_BYTES]) -> Result<Self, CaError> {
        let path = folder.join(KEY_FILE);
        if !path.exists() {
            write_private(&path, &fresh).map_err(|source| file("write", &path, source))?;
            return Ok(Self { key: fresh });
        }
        refuse_exposed(&path)?;
        let read = fs::read(&path).map_err(|source| file("read", &path, source))?;
        let key =
            read.try_into().map_err(|_| CaError::Content { path, why: format!("it is not {KEY_BYTES} bytes") })?;
        Ok(Self { key })
    }

    /// A token that says this, from now on for a time.
    pub fn issue(&self, claims: &Claims, now: Timestamp, lifetime: SignedDuration) -> String {
        let mut account = json!({
            "namespace": claims.namespace,
            "serviceaccount": { "name": claims.account, "uid": claims.uid },
        });
        for bound in claims.bound.iter().chain(&claims.node) {
            account[bound.kind.to_lowercase()] = json!({ "name": bound.name, "uid": bound.uid });
        }
        let (from, until) = (now.as_second(), now.as_second().saturating_add(lifetime.as_secs()));
        let body = json!({
            "aud": claims.audiences,
            "exp": until,
            "iat": from,
            "iss": AUDIENCE,
            "jti": claims.id,
            "kubernetes.io": account,
            "nbf": from,
            "sub": format!("system:serviceaccount:{}:{}", claims.namespace, claims.account),
        });
        let header = json!({ "alg": "HS256", "typ": "JWT" });
        let signed = format!("{}.{}", encode(header.to_string()), encode(body.to_string()));
        let signature = encode(self.sign(signed.as_bytes()));
        format!("{signed}.{signature}")
    }

    /// What a token says, when it is one of ours, in time, and for one of these audiences.
    pub fn verify(&self, token: &str, audiences: &[&str], now: Timestamp) -> Result<Claims, TokenError> {
        if token.len() > MOST_BYTES {
            return Err(TokenError::Malformed);
        }
        let (signed, signature) = token.rsplit_once('.').ok_or(TokenError::Malformed)?;
        let (_, body) = signed.split_once('.').ok_or(TokenError::Malformed)?;
        let signature = decode(signature)?;
        if !same(&signature, &self.sign(signed.as_bytes())) {
            return Err(TokenError::Signature);
        }
        let body: Value = serde_json::from_slice(&decode(body)?).map_err(|_| TokenError::Malformed)?;
        let (Some(from), Some(until)) = (body["nbf"].as_i64(), body["exp"].as_i64()) else {
            return Err(TokenError::Malformed);
        };
        if now.as_second() >= until {
            return Err(TokenError::Expired);
        }
        // A minute, for clocks that went back a little.
        if now.as_second().saturating_add(60) < from {
            return Err(TokenError::Early);
        }
        let claims = claims(&body).ok_or(TokenError::Malformed)?;
        let meant = claims.audiences.iter().any(|audience| audiences.contains(&audience.as_str()));
        if meant { Ok(claims) } else { Err(TokenError::Audience) }
    }

    /// The keyed hash of RFC 2104 over SHA-256.
    fn sign(&self, message: &[u8]) -> [u8; 32] {
        let pad = |byte: u8| {
            let mut block = [byte; BLOCK];
            block.iter_mut().zip(self.key).for_each(|(block, key)| *block ^= key);
            block
        };
        let inner = Sha256::new().chain_update(pad(0x36)).chain_update(message).finalize();
        Sha256::new().chain_update(pad(0x5c)).chain_update(inner).finalize().into()
    }
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokens").finish_non_exhaustive()
    }
}

fn claims(body: &Value) -> Option<Claims> {
    let own = &body["kubernetes.io"];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let named = |kind: &str| {
        let object = own.get(kind.to_lowercase())?;
        Some(Bound { kind: kind.to_owned(), name: text(&object["name"])?, uid: text(&object["uid"])? })
    };
    let bound = ["Pod", "Secret", "Node"].into_iter().find_map(named);
    let node = if bound.as_ref().is_some_and(|bound| bound.kind == "Pod") { named("Node") } else { None };
    Some(Claims {
        namespace: text(&own["namespace"])?,
        account: text(&own["serviceaccount"]["name"])?,
        uid: text(&own["serviceaccount"]["uid"])?,
        audiences: body["aud"].as_array()?.iter().filter_map(text).collect(),
        bound,
        node,
        id: text(&body["jti"])?,
    })
}

/// Compares in a time that does not tell where the two differ.
fn same(left: &[u8], right: &[u8]) -> bool {
    left.len() == right.len() && left.iter().zip(right).fold(0, |sum, (l, r)| sum | (l ^ r)) == 0
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn decode(text: &str) -> Result<Vec<u8>, TokenError> {
    URL_SAFE_NO_PAD.decode(text).map_err(|_| TokenError::Malformed)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::identity::hex;

    const HOUR: SignedDuration = SignedDuration::from_hours(1);

    fn now() -> Timestamp {
        "2026-01-01T00:00:00Z".parse().unwrap()
    }

    fn tokens() -> Tokens {
        Tokens { key: [7; KEY_BYTES] }
    }

    fn some() -> Claims {
        Claims {
            namespace: "a".into(),
            account: "s".into(),
            uid: "u".into(),
            audiences: vec![AUDIENCE.into()],
            bound: Some(Bound { kind: "Pod".into(), name: "p".into(), uid: "q".into() }),
            node: Some(Bound { kind: "Node".into(), name: "n".into(), uid: "m".into() }),
            id: "j".into(),
        }
    }

    #[test]
    fn the_hash_is_the_published_one() {
        // The second test case of RFC 4231, whose key is shorter than ours and so padded with zeros.
        let mut key = [0; KEY_BYTES];
        key[..4].copy_from_slice(b"Jefe");
        let sum = Tokens { key }.sign(b"what do ya want for nothing?");
        assert_eq!(hex(&sum), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    }

    #[test]
    fn a_token_says_what_was_put_into_it() {
        let token = tokens().issue(&some(), now(), HOUR);
        assert_eq!(tokens().verify(&token, &[AUDIENCE], now()), Ok(some()));
    }

    #[test]
    fn tokens_end() {
        let token = tokens().issue(&some(), now(), HOUR);
        let at = |hours: i64| now().saturating_add(SignedDuration::from_hours(hours)).unwrap();
        assert_eq!(tokens().verify(&token, &[AUDIENCE], at(1)), Err(TokenError::Expired));
        assert_eq!(tokens().verify(&token, &[AUDIENCE], at(-1)), Err(TokenError::Early));
        assert_eq!(tokens().verify(&token, &["other"], now()), Err(TokenError::Audience));
    }

    #[test]
    fn changed_tokens_are_seen() {
        let token = tokens().issue(&some(), now(), HOUR);
        assert_eq!(Tokens { key: [8; KEY_BYTES] }.verify(&token, &[AUDIENCE], now()), Err(TokenError::Signature));
        let mut parts: Vec<&str> = token.split('.').collect();
        let other = encode(r#"{"sub":"root"}"#);
        parts[1] = &other;
        assert_eq!(tokens().verify(&parts.join("."), &[AUDIENCE], now()), Err(TokenError::Signature));
        let unsigned = format!("{}.{}.", encode(r#"{"alg":"none"}"#), parts[1]);
        assert_eq!(tokens().verify(&unsigned, &[AUDIENCE], now()), Err(TokenError::Signature));
    }

    proptest! {
        #[test]
        fn any_text_is_refused(text in "\\PC{0,64}(\\.\\PC{0,16}){0,3}") {
            prop_assert!(tokens().verify(&text, &[AUDIENCE], now()).is_err());
        }
    }
}
