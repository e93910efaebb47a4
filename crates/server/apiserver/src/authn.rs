//! Who asks: a client certificate, a token, somebody else in whose name it is asked, or nobody.
//!
//! A credential that is shown and does not count is an error, also where none would be needed:
//! otherwise somebody with an expired certificate would not learn why they may do so little.

use http::{HeaderMap, header::AUTHORIZATION};
use jiff::Timestamp;
use netloom_admission::User;
use netloom_store::{Key, ReadError, Store};
use serde_json::Value;
use tokio_rustls::rustls::pki_types::CertificateDer;

use crate::{
    identity::{ANONYMOUS, AUTHENTICATED, CREDENTIAL_ID, Certificates, UNAUTHENTICATED},
    rbac::{Access, Asked, Decision, refusal},
    status_error::{Qualified, Status},
    tokens::{AUDIENCE, Bound, Claims, Tokens},
};

const ACCOUNT_PREFIX: &str = "system:serviceaccount:";

/// Why a credential does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthnError {
    /// The certificate is not ours, or its time is over.
    #[error("the client certificate does not count: {0}")]
    Certificate(String),
    /// The token is not ours, its time is over, or its account is gone.
    #[error("the token does not count: {0}")]
    Token(String),
    /// Whether the token counts cannot be found out at the moment.
    #[error("the account of a token cannot be read: {0}")]
    Unknown(ReadError),
}

impl AuthnError {
    /// A stable word for it.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Certificate(_) => "BadCertificate",
            Self::Token(_) => "BadToken",
            Self::Unknown(error) => error.reason(),
        }
    }
}

/// Finds out who asks.
#[derive(Debug, Clone)]
pub struct Authenticator {
    certificates: Certificates,
    tokens: Tokens,
    store: Store,
}

impl Authenticator {
    /// Certificates are checked against an authority, tokens against a key and the accounts of a store.
    pub fn new(certificates: Certificates, tokens: Tokens, store: Store) -> Self {
        Self { certificates, tokens, store }
    }

    /// The key of tokens.
    pub fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// Who sent a request, by the certificates of its connection or by a token; nobody in particular
    /// when no credential came with it.
    pub fn authenticate(
        &self,
        chain: &[CertificateDer<'_>],
        headers: &HeaderMap,
        now: Timestamp,
    ) -> Result<Option<User>, AuthnError> {
        let mut bad = None;
        if !chain.is_empty() {
            match self.certificates.identify(chain, now) {
                Ok(found) => return Ok(Some(found.user)),
                Err(why) => bad = Some(AuthnError::Certificate(why)),
            }
        }
        if let Some(token) = bearer(headers) {
            match self.user_of(token, &[AUDIENCE], now) {
                Ok((user, _)) => return Ok(Some(user)),
                Err(error) => bad = Some(error),
            }
        }
        bad.map_or(Ok(None), Err)
    }

    /// Who a token stands for, and what it says.
    pub fn user_of(&self, token: &str, audiences: &[&str], now: Timestamp) -> Result<(User, Claims), AuthnError> {
        let claims = self.tokens.verify(token, audiences, now).map_err(|error| AuthnError::Token(error.to_string()))?;
        self.check_uid("/serviceaccounts", &claims.namespace, &claims.account, &claims.uid)?;
        if let Some(Bound { kind, name, uid }) = &claims.bound {
            match kind.as_str() {
                "Pod" => self.check_uid("/pods", &claims.namespace, name, uid)?,
                "Secret" => self.check_uid("/secrets", &claims.namespace, name, uid)?,
                _ => self.check_uid("/nodes", "", name, uid)?,
            }
        }
        Ok((account_user(&claims), claims))
    }

    /// An object counts only as the one that it was when the token was issued.
    fn check_uid(&self, resource: &str, namespace: &str, name: &str, uid: &str) -> Result<(), AuthnError> {
        let found = self.store.get(&Key::new(resource, namespace, name)).map_err(AuthnError::Unknown)?;
        let object: Option<Value> = found.and_then(|object| serde_json::from_slice(&object.bytes).ok());
        let metadata = object.as_ref().map(|object| &object["metadata"]);
        match metadata {
            Some(metadata) if metadata["uid"] == uid && metadata.get("deletionTimestamp").is_none() => Ok(()),
            _ => Err(AuthnError::Token(format!(
                "its {} {namespace}/{name} is gone",
                resource.trim_start_matches('/').trim_end_matches('s')
            ))),
        }
    }
}

/// Somebody of whom nothing is known.
pub fn anonymous() -> User {
    User { name: ANONYMOUS.to_owned(), groups: vec![UNAUTHENTICATED.to_owned()], ..User::default() }
}

/// In whose name a request is made, where that is not the one who sent it.
pub fn impersonated(user: &User, headers: &HeaderMap, access: &Access) -> Result<Option<User>, Status> {
    let Some(asked_user) = impersonation(headers)? else { return Ok(None) };
    for asked in questions(&asked_user) {
        if let Decision::NotAllowed(why) = access.decide(user, &asked) {
            return Err(forbidden(user, &asked, &why));
        }
    }
    Ok(Some(completed(asked_user)))
}

/// The answer to somebody who may not.
pub fn forbidden(user: &User, asked: &Asked, why: &str) -> Status {
    let mut text = refusal(user, asked);
    if !why.is_empty() {
        text = format!("{text}: {why}");
    }
    match asked {
        Asked::Resource { group, resource, name, .. } => {
            Status::forbidden(Qualified::new(group, resource), name, &text)
        }
        Asked::Path { .. } => Status::forbidden(Qualified::new("", ""), "", &text),
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.trim().split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

fn account_user(claims: &Claims) -> User {
    let mut user = User {
        name: format!("{ACCOUNT_PREFIX}{}:{}", claims.namespace, claims.account),
        uid: claims.uid.clone(),
        groups: account_groups(&claims.namespace),
        ..User::default()
    };
    user.groups.push(AUTHENTICATED.to_owned());
    user.extra.insert(CREDENTIAL_ID.to_owned(), vec![format!("JTI={}", claims.id)]);
    for bound in claims.bound.iter().chain(&claims.node) {
        let kind = bound.kind.to_lowercase();
        user.extra.insert(format!("authentication.kubernetes.io/{kind}-name"), vec![bound.name.clone()]);
        user.extra.insert(format!("authentication.kubernetes.io/{kind}-uid"), vec![bound.uid.clone()]);
    }
    user
}

fn account_groups(namespace: &str) -> Vec<String> {
    vec!["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")]
}

/// What the headers ask for.
fn impersonation(headers: &HeaderMap) -> Result<Option<User>, Status> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let all = |name: &str| {
        let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        values.map(str::to_owned).collect::<Vec<_>>()
    };
    let mut asked_user = User {
        name: text("impersonate-user"),
        uid: text("impersonate-uid"),
        groups: all("impersonate-group"),
        ..User::default()
    };
    for name in headers.keys() {
        if let Some(key) = name.as_str().strip_prefix("impersonate-extra-") {
            let key = key.replace("%2f", "/").replace("%2F", "/");
            asked_user.extra.insert(key, all(name.as_str()));
        }
    }
    if !asked_user.name.is_empty() {
        return Ok(Some(asked_user));
    }
    if asked_user.uid.is_empty() && asked_user.groups.is_empty() && asked_user.extra.is_empty() {
        return Ok(None);
    }
    Err(Status::bad_request(nameless(&asked_user)))
}

/// Why an impersonation without a name is not fulfilled, with the request as a real server shows it.
fn nameless(asked_user: &User) -> String {
    let list = |texts: &[String]| {
        let all: Vec<String> = texts.iter().map(|text| format!("{text:?}")).collect();
        format!("[]string{{{}}}", all.join(", "))
    };
    let groups = if asked_user.groups.is_empty() { "[]string(nil)".to_owned() } else { list(&asked_user.groups) };
    let entries: Vec<String> =
        asked_user.extra.iter().map(|(key, values)| format!("{key:?}:{}", list(values))).collect();
    let extra = if entries.is_empty() { "(nil)".to_owned() } else { format!("{{{}}}", entries.join(", ")) };
    let uid = &asked_user.uid;
    format!(
        "requested &user.DefaultInfo{{Name:\"\", UID:{uid:?}, Groups:{groups}, Extra:map[string][]string{extra}}} \
         without impersonating a user name"
    )
}

/// What must be allowed for a request.
fn questions(asked_user: &User) -> Vec<Asked> {
    const AUTHENTICATION: &str = "authentication.k8s.io";
    let ask = |group: &str, resource: &str, subresource: &str, namespace: &str, name: &str| Asked::Resource {
        verb: "impersonate".to_owned(),
        group: group.to_owned(),
        resource: resource.to_owned(),
        subresource: subresource.to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    };
    let account = asked_user.name.strip_prefix(ACCOUNT_PREFIX).and_then(|rest| rest.split_once(':'));
    let mut all = vec![match account {
        Some((namespace, name)) => ask("", "serviceaccounts", "", namespace, name),
        None => ask("", "users", "", "", &asked_user.name),
    }];
    all.extend(asked_user.groups.iter().map(|group| ask("", "groups", "", "", group)));
    if !asked_user.uid.is_empty() {
        all.push(ask(AUTHENTICATION, "uids", "", "", &asked_user.uid));
    }
    for (key, values) in &asked_user.extra {
        all.extend(values.iter().map(|value| ask(AUTHENTICATION, "userextras", key, "", value)));
    }
    all
}

/// An impersonated user with the groups that go with its name.
fn completed(mut asked_user: User) -> User {
    let account = asked_user.name.strip_prefix(ACCOUNT_PREFIX).and_then(|rest| rest.split_once(':'));
    if let (Some((namespace, _)), true) = (account, asked_user.groups.is_empty()) {
        asked_user.groups = account_groups(namespace);
    }
    let own = if asked_user.name == ANONYMOUS { UNAUTHENTICATED } else { AUTHENTICATED };
    if !asked_user.groups.iter().any(|group| group == own) {
        asked_user.groups.push(own.to_owned());
    }
    asked_user
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for &(name, value) in pairs {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn a_token_follows_its_scheme() {
        for (value, expected) in
            [("Bearer a.b", Some("a.b")), ("bearer  x ", Some("x")), ("Basic x", None), ("Bearer ", None)]
        {
            assert_eq!(bearer(&headers(&[("authorization", value)])), expected, "{value}");
        }
    }

    #[test]
    fn a_desired_state_names_a_user() {
        assert!(impersonation(&HeaderMap::new()).unwrap().is_none());
        let refused = impersonation(&headers(&[("impersonate-group", "readers")])).unwrap_err();
        let expected = "requested &user.DefaultInfo{Name:\"\", UID:\"\", Groups:[]string{\"readers\"}, \
                        Extra:map[string][]string(nil)} without impersonating a user name";
        assert_eq!(refused.message(), expected);
        let asked_user = impersonation(&headers(&[
            ("impersonate-user", "ann"),
            ("impersonate-group", "a"),
            ("impersonate-group", "b"),
            ("impersonate-extra-scopes%2fx", "s"),
        ]));
        let asked_user = asked_user.unwrap().unwrap();
        assert_eq!(asked_user.groups, ["a", "b"]);
        assert_eq!(asked_user.extra["scopes/x"], ["s"]);
        let asked = questions(&asked_user);
        assert_eq!(asked.len(), 4);
        assert!(matches!(&asked[3], Asked::Resource { resource, subresource, .. }
            if resource == "userextras" && subresource == "scopes/x"));
        assert_eq!(completed(asked_user).groups, ["a", "b", AUTHENTICATED]);
    }

    #[test]
    fn an_account_brings_its_groups() {
        let account = User { name: "system:serviceaccount:a:s".into(), ..User::default() };
        assert!(matches!(&questions(&account)[0], Asked::Resource { resource, namespace, name, .. }
            if resource == "serviceaccounts" && namespace == "a" && name == "s"));
        assert_eq!(completed(account).groups, ["system:serviceaccounts", "system:serviceaccounts:a", AUTHENTICATED]);
        assert_eq!(completed(anonymous()).groups, [UNAUTHENTICATED]);
    }
}
