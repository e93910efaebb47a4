//! What a request asks for: its method and path taken apart, and nothing of whether it may.
//!
//! Pure. A path is either that of a resource, which is served from the catalogue and guarded by
//! rules about resources, or any other, guarded by rules about paths.

use std::fmt;

use http::{Method, Uri};
use netloom_admission::User;

/// Who asks.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The authenticated (or impersonated) user.
    pub user: User,
    /// The first word of `User-Agent` up to its slash: the field manager of those who name none.
    pub agent: String,
}

impl Caller {
    /// A caller whose agent is the program named in a `User-Agent` header.
    pub fn new(user: User, user_agent: &str) -> Self {
        let name = user_agent.split('/').next().unwrap_or_default();
        let agent: String = name.chars().filter(|c| !c.is_control()).take(128).collect();
        Self { user, agent }
    }
}

/// What is done to a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verb {
    /// Read one object.
    Get,
    /// Read all objects.
    List,
    /// Follow changes.
    Watch,
    /// Make an object.
    Create,
    /// Replace an object.
    Update,
    /// Change a part of an object.
    Patch,
    /// Remove an object.
    Delete,
    /// Remove all objects.
    DeleteCollection,
}

impl Verb {
    /// The word of access rules and of discovery.
    pub fn word(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
        }
    }

    /// Whether nothing is changed by it.
    pub fn reads(self) -> bool {
        match self {
            Self::Get | Self::List | Self::Watch => true,
            Self::Create | Self::Update | Self::Patch | Self::Delete | Self::DeleteCollection => false,
        }
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// The parameters of a request, in order, each as often as it was given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Takes a query string apart. Broken percent signs stay as they are.
    pub fn parse(text: &str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (unescape(key, true), unescape(value, true))
        });
        Self(pairs.collect())
    }

    /// The first value of a parameter.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// Every value of a parameter.
    pub fn all(&self, key: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// Whether a switch is on: present and not one of the words for no. An empty value counts as on,
    /// as in `?watch`.
    pub fn flag(&self, key: &str) -> bool {
        self.get(key).is_some_and(|value| !matches!(value.to_ascii_lowercase().as_str(), "false" | "0"))
    }

    /// The parameters in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }
}

/// A request about a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestInfo {
    /// What is to be done.
    pub verb: Verb,
    /// The group; empty for the core one.
    pub group: String,
    /// The version of the group.
    pub version: String,
    /// The plural name of the resource.
    pub resource: String,
    /// The namespace of the path. A `Namespace` itself is in none.
    pub namespace: Option<String>,
    /// The object's name.
    pub name: Option<String>,
    /// What follows the name.
    pub subresource: Option<String>,
    /// Parameters.
    pub query: Query,
}

impl RequestInfo {
    /// The namespace that access rules see: a `Namespace` counts as being inside itself, so that a
    /// role in it may allow reading it.
    pub fn rule_namespace(&self) -> Option<&str> {
        let own = self.group.is_empty() && self.resource == "namespaces";
        if own { self.name.as_deref() } else { self.namespace.as_deref() }
    }

    /// The name that access rules see: that of the path, or the only one that a field selector lets
    /// through.
    pub fn rule_name(&self) -> Option<String> {
        if self.name.is_some() {
            return self.name.clone();
        }
        let selector = self.query.get("fieldSelector")?;
        let names = selector.split(',').filter_map(|part| part.split_once('=')).filter_map(|(field, value)| {
            let value = value.strip_prefix('=').unwrap_or(value);
            (field.trim() == "metadata.name" && !value.is_empty()).then(|| value.trim().to_owned())
        });
        names.reduce(|_, last| last)
    }
}

/// Where a request leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// To objects.
    Resource(RequestInfo),
    /// To anything else.
    NonResource {
        /// The path, without its last slash.
        path: String,
        /// Parameters.
        query: Query,
    },
}

/// Why a request leads nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// The path has an empty part, or is not text.
    #[error("the server could not find the requested resource")]
    Path,
    /// The method means nothing for resources.
    #[error("the server does not allow this method on the requested resource")]
    Method,
}

impl RouteError {
    /// A stable word for it.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Path => "NotFound",
            Self::Method => "MethodNotAllowed",
        }
    }
}

/// Takes a request apart.
pub fn route(method: &Method, uri: &Uri) -> Result<Route, RouteError> {
    let query = Query::parse(uri.query().unwrap_or_default());
    let raw = uri.path();
    let path = raw.strip_suffix('/').unwrap_or(raw);
    let parts: Vec<String> = path.split('/').skip(1).map(|part| unescape(part, false)).collect();
    if parts.iter().any(String::is_empty) {
        return Err(RouteError::Path);
    }
    let words: Vec<&str> = parts.iter().map(String::as_str).collect();
    let (group, version, rest) = match *words.as_slice() {
        ["api", version, ref rest @ ..] if !rest.is_empty() => ("", version, rest),
        ["apis", group, version, ref rest @ ..] if !rest.is_empty() => (group, version, rest),
        _ => return Ok(Route::NonResource { path: format!("/{}", words.join("/")), query }),
    };
    let (namespace, rest) = match *rest {
        // These two are subresources of the namespace itself, not resources inside it.
        ["namespaces", _, "status" | "finalize"] => (None, rest),
        ["namespaces", namespace, ref inner @ ..] if !inner.is_empty() => (Some(namespace.to_owned()), inner),
        _ => (None, rest),
    };
    let name = rest.get(1).map(|&name| name.to_owned());
    let subresource = (rest.len() > 2).then(|| rest[2..].join("/"));
    let verb = verb(method, name.is_some(), &query)?;
    let resource = rest.first().map(|&resource| resource.to_owned()).unwrap_or_default();
    let (group, version) = (group.to_owned(), version.to_owned());
    Ok(Route::Resource(RequestInfo { verb, group, version, resource, namespace, name, subresource, query }))
}

fn verb(method: &Method, named: bool, query: &Query) -> Result<Verb, RouteError> {
    Ok(match *method {
        Method::GET | Method::HEAD if named => Verb::Get,
        Method::GET | Method::HEAD if query.flag("watch") => Verb::Watch,
        Method::GET | Method::HEAD => Verb::List,
        Method::POST => Verb::Create,
        Method::PUT => Verb::Update,
        Method::PATCH => Verb::Patch,
        Method::DELETE if named => Verb::Delete,
        Method::DELETE => Verb::DeleteCollection,
        _ => return Err(RouteError::Method),
    })
}

/// Percent signs (and, in queries, plus signs) turned into what they stand for.
fn unescape(text: &str, plus_is_space: bool) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let (byte, tail) = match (first, after) {
            (b'%', [high, low, tail @ ..]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                (digit(*high) << 4 | digit(*low), tail)
            }
            (b'+', tail) if plus_is_space => (b' ', tail),
            (byte, tail) => (byte, tail),
        };
        bytes.push(byte);
        rest = tail;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn digit(byte: u8) -> u8 {
    match byte {
        b'0'..=b'9' => byte - b'0',
        b'a'..=b'f' => byte - b'a' + 10,
        _ => byte.wrapping_sub(b'A').wrapping_add(10),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ask(method: &str, uri: &str) -> Result<Route, RouteError> {
        route(&method.parse().unwrap(), &uri.parse().unwrap())
    }

    fn resource(method: &str, uri: &str) -> RequestInfo {
        match ask(method, uri) {
            Ok(Route::Resource(info)) => info,
            other => panic!("{method} {uri}: {other:?}"),
        }
    }

    #[test]
    fn paths_are_taken_apart() {
        let table = [
            ("GET", "/api/v1/namespaces", "list  v1 namespaces - - -"),
            ("GET", "/api/v1/namespaces/", "list  v1 namespaces - - -"),
            ("GET", "/api/v1/namespaces/a", "get  v1 namespaces - a -"),
            ("PUT", "/api/v1/namespaces/a/finalize", "update  v1 namespaces - a finalize"),
            ("PATCH", "/api/v1/namespaces/a/status", "patch  v1 namespaces - a status"),
            ("GET", "/api/v1/namespaces/a/pods", "list  v1 pods a - -"),
            ("GET", "/api/v1/pods?watch=true", "watch  v1 pods - - -"),
            ("GET", "/api/v1/pods?watch", "watch  v1 pods - - -"),
            ("GET", "/api/v1/pods?watch=0", "list  v1 pods - - -"),
            ("DELETE", "/api/v1/namespaces/a/pods", "deletecollection  v1 pods a - -"),
            ("POST", "/api/v1/namespaces/a/serviceaccounts/b/token", "create  v1 serviceaccounts a b token"),
            ("DELETE", "/apis/g.io/v2/namespaces/a/things/system%3Ab", "delete g.io v2 things a system:b -"),
            ("HEAD", "/apis/g.io/v2/things/b/x/y", "get g.io v2 things - b x/y"),
        ];
        for (method, uri, expected) in table {
            let info = resource(method, uri);
            let dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".into());
            let seen = format!(
                "{} {} {} {} {} {} {}",
                info.verb,
                info.group,
                info.version,
                info.resource,
                dash(&info.namespace),
                dash(&info.name),
                dash(&info.subresource)
            );
            assert_eq!(seen, expected, "{method} {uri}");
        }
    }

    #[test]
    fn other_paths_keep_their_query() {
        for (uri, expected) in
            [("/", "/"), ("/api", "/api"), ("/apis/g/v1/", "/apis/g/v1"), ("/readyz?verbose", "/readyz")]
        {
            assert!(matches!(ask("GET", uri), Ok(Route::NonResource { path, .. }) if path == expected), "{uri}");
        }
        let Ok(Route::NonResource { query, .. }) = ask("GET", "/readyz?verbose&exclude=a&exclude=b%20c") else {
            panic!()
        };
        assert!(query.flag("verbose"));
        assert_eq!(query.all("exclude").collect::<Vec<_>>(), ["a", "b c"]);
    }

    #[test]
    fn nothing_is_found_behind_an_empty_part() {
        assert_eq!(ask("GET", "/api//v1/pods"), Err(RouteError::Path));
        assert_eq!(ask("GET", "/api/v1/pods//"), Err(RouteError::Path));
        assert_eq!(ask("OPTIONS", "/api/v1/pods"), Err(RouteError::Method));
    }

    #[test]
    fn rules_see_a_selected_name_and_a_namespace_inside_itself() {
        let info = resource("GET", "/api/v1/nodes?watch=1&fieldSelector=metadata.name%3Dn1");
        assert_eq!(info.rule_name().as_deref(), Some("n1"));
        assert_eq!(resource("GET", "/api/v1/nodes?fieldSelector=metadata.name!=n1").rule_name(), None);
        assert_eq!(resource("GET", "/api/v1/namespaces/a").rule_namespace(), Some("a"));
        assert_eq!(resource("GET", "/api/v1/namespaces").rule_namespace(), None);
    }

    #[test]
    fn an_agent_is_the_first_word() {
        let user = User { name: "u".into(), ..User::default() };
        assert_eq!(Caller::new(user.clone(), "kubectl/v1.36.0 (linux)").agent, "kubectl");
        assert_eq!(Caller::new(user, "").agent, "");
    }

    proptest! {
        #[test]
        fn any_query_is_taken_apart(text in "\\PC{0,64}") {
            let query = Query::parse(&text);
            prop_assert!(query.iter().count() <= text.len() + 1);
        }
    }
}
