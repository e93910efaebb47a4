//! A Kubernetes API, as far as the verbs for people need it.
//!
//! Thin on purpose: objects are taken and given as the server writes them, tables are made by the
//! server. What a kind is called is asked of the server too, so every kind works, ours or not.

use std::path::Path;

use futures_util::Stream;
use http_body_util::BodyExt as _;
use kube::{
    Client,
    client::Body,
    core::{Status, WatchEvent},
};
use netloom_api::{GroupKind, foreign};
use serde_json::Value;

use crate::{
    args::Format,
    connection::{config, named},
    failure::Failure,
    text::{self, push},
};

/// An object of a cluster as data.
pub(crate) fn object_text(object: &serde_json::Value, format: Format) -> String {
    match format {
        Format::Yaml | Format::Table => netloom_yaml::print(object),
        Format::Json => text::json(object),
    }
}

/// What happens to objects, as long as the server tells.
pub(crate) trait Events: Stream<Item = Result<WatchEvent<Value>, kube::Error>> + Unpin {}

impl<S: Stream<Item = Result<WatchEvent<Value>, kube::Error>> + Unpin> Events for S {}

/// A connection.
pub(crate) struct Cluster {
    client: Client,
    /// Its address, and where that is from.
    server: String,
}

/// A kind as the server serves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Served {
    /// The API group; empty for the core group.
    pub(crate) group: String,
    /// The version.
    pub(crate) version: String,
    /// The kind.
    pub(crate) kind: String,
    /// The name in URLs.
    pub(crate) plural: String,
    singular: String,
    short_names: Vec<String>,
    /// Whether its objects are in namespaces.
    pub(crate) namespaced: bool,
}

impl Served {
    /// A kind as a server has it that was given our definitions.
    pub(crate) fn of(kind: &netloom_api::Kind) -> Self {
        let crd = kind.crd();
        let names = &crd["spec"]["names"];
        let text = |name: &str| names[name].as_str().unwrap_or_default().to_owned();
        let short = names["shortNames"].as_array().into_iter().flatten();
        Self {
            group: kind.group.to_owned(),
            version: kind.version.to_owned(),
            kind: kind.kind.to_owned(),
            plural: text("plural"),
            singular: text("singular"),
            short_names: short.filter_map(Value::as_str).map(str::to_owned).collect(),
            namespaced: crd["spec"]["scope"] == "Namespaced",
        }
    }

    /// What makes interfaces for pods and machines, which is not ours.
    pub(crate) fn attachment() -> Self {
        Self {
            group: foreign::ATTACHMENT.group.to_owned(),
            version: "v1".to_owned(),
            kind: foreign::ATTACHMENT.kind.to_owned(),
            plural: "network-attachment-definitions".to_owned(),
            singular: "network-attachment-definition".to_owned(),
            short_names: vec!["net-attach-def".to_owned()],
            namespaced: true,
        }
    }

    /// The URL of all objects of a namespace, or of all namespaces, or of one object.
    pub(crate) fn path(&self, namespace: Option<&str>, name: Option<&str>) -> String {
        let Self { group, version, plural, .. } = self;
        let root = if group.is_empty() { "/api".to_owned() } else { format!("/apis/{group}") };
        let namespace = namespace.filter(|_| self.namespaced);
        let namespace = namespace.map(|namespace| format!("/namespaces/{}", escaped(namespace))).unwrap_or_default();
        let name = name.map(|name| format!("/{}", escaped(name))).unwrap_or_default();
        format!("{root}/{version}{namespace}/{plural}{name}")
    }

    /// Whether people mean this kind by `word`: `vrf`, `vrfs`, `vrfs.example.org`, a short name or the kind.
    pub(crate) fn is_called(&self, word: &str) -> bool {
        let (name, group) = word.split_once('.').map_or((word, None), |(name, group)| (name, Some(group)));
        let name = name.to_lowercase();
        let names = [&self.plural, &self.singular];
        group.is_none_or(|group| group == self.group || group == format!("{}.{}", self.version, self.group))
            && (names.into_iter().chain(&self.short_names).any(|known| *known == name)
                || self.kind.to_lowercase() == name)
    }
}

impl Cluster {
    /// Connects by a kubeconfig, or by what the environment says.
    pub(crate) async fn connect(kubeconfig: Option<&Path>) -> Result<Self, Failure> {
        let config = config(kubeconfig).await?;
        let from = named(kubeconfig).map(|file| format!(" (from {})", file.display())).unwrap_or_default();
        let server = format!("{}{from}", config.cluster_url.to_string().trim_end_matches('/'));
        let client = Client::try_from(config)
            .map_err(|error| Failure::usage(format_args!("cannot connect to the cluster: {error}")))?;
        Ok(Self { client, server })
    }

    /// The namespace of the kubeconfig.
    pub(crate) fn namespace(&self) -> &str {
        self.client.default_namespace()
    }

    /// One request, answered with an object; the answer to a refused one is what the server says.
    pub(crate) async fn send(&self, request: http::Request<Vec<u8>>) -> Result<Value, Failure> {
        let what = format!("{} {}", request.method(), request.uri().path());
        self.client.request(request).await.map_err(|error| self.refusal(&what, &error))
    }

    /// The same, with what the server warns of beside it.
    pub(crate) async fn send_and_hear(&self, request: http::Request<Vec<u8>>) -> Result<(Value, Vec<String>), Failure> {
        let what = format!("{} {}", request.method(), request.uri().path());
        let unclear = |error: &dyn std::fmt::Display| Failure::passing(format_args!("{what}: {error}"));
        // Manually, as a client gives the answer without its head.
        let answered = self.client.send(request.map(Body::from)).await.map_err(|error| self.refusal(&what, &error))?;
        let (head, body) = answered.into_parts();
        let body = body.collect().await.map_err(|error| unclear(&error))?.to_bytes();
        if !head.status.is_success() {
            let unread = || Status::failure(String::from_utf8_lossy(&body).trim(), "").with_code(head.status.as_u16());
            return Err(answer(&serde_json::from_slice(&body).unwrap_or_else(|_| unread())));
        }
        let object = serde_json::from_slice(&body).map_err(|error| unclear(&error))?;
        let warnings = head.headers.get_all(http::header::WARNING).iter();
        Ok((object, warnings.filter_map(|value| warning(&String::from_utf8_lossy(value.as_bytes()))).collect()))
    }

    /// Follows one object, from how it is now on.
    pub(crate) async fn watch(
        &self,
        kind: &Served,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<impl Stream<Item = Result<WatchEvent<Value>, kube::Error>> + use<>, Failure> {
        let query = format!("watch=true&fieldSelector=metadata.name%3D{}", escaped(name));
        let target = format!("{}?{query}", kind.path(namespace, None));
        let request = http::Request::get(target).body(Vec::new()).map_err(Failure::usage)?;
        self.client.request_events(request).await.map_err(|error| self.refusal("watch", &error))
    }

    /// Whether there is no such object; where the caller may not read it, none is missing.
    pub(crate) async fn is_missing(&self, kind: &Served, namespace: Option<&str>, name: &str) -> Result<bool, Failure> {
        const MISSING: u16 = 404;
        let request = http::Request::get(kind.path(namespace, Some(name))).body(Vec::new()).map_err(Failure::usage)?;
        match self.client.request::<Value>(request).await {
            Err(kube::Error::Api(status)) if status.code == MISSING => Ok(true),
            answer => self.unless_forbidden("get", answer).map(|_| false),
        }
    }

    /// Follows every object of a kind, from how they are now on; none where the caller may not.
    pub(crate) async fn watch_all(
        &self,
        kind: &Served,
    ) -> Result<Option<impl Stream<Item = Result<WatchEvent<Value>, kube::Error>> + use<>>, Failure> {
        let target = format!("{}?watch=true", kind.path(None, None));
        let request = http::Request::get(target).body(Vec::new()).map_err(Failure::usage)?;
        self.unless_forbidden("watch", self.client.request_events(request).await)
    }

    /// The kind that people call `word`.
    pub(crate) async fn find(&self, word: &str) -> Result<Served, Failure> {
        let known = self.kinds().await?;
        // Groups come in the server's order of preference, so the first one is meant.
        known.into_iter().find(|kind| kind.is_called(word)).ok_or_else(|| {
            Failure::refused(format_args!(
                "the server has no kind `{word}`; `kubectl api-resources` lists what it has, and `netloom gen crds` \
                 prints the definitions of Netloom's own kinds"
            ))
        })
    }

    /// The kind of an object.
    pub(crate) async fn kind_of(&self, api_version: &str, kind: &str) -> Result<Served, Failure> {
        let served = self.served(api_version, kind).await?;
        served.ok_or_else(|| Failure::refused(format_args!("the server has no kind {kind} in {api_version}")))
    }

    /// The kind of that name, where the server has it.
    pub(crate) async fn served(&self, api_version: &str, kind: &str) -> Result<Option<Served>, Failure> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let known = self.kinds().await?;
        Ok(known.into_iter().find(|served| served.group == group && served.version == version && served.kind == kind))
    }

    /// Every object of a kind; none where the server does not have the kind.
    pub(crate) async fn all(&self, api_version: &str, kind: &str) -> Result<Vec<Value>, Failure> {
        let Some(served) = self.served(api_version, kind).await? else { return Ok(Vec::new()) };
        let request = http::Request::get(served.path(None, None)).body(Vec::new()).map_err(Failure::usage)?;
        Ok(items(self.send(request).await?, api_version, kind))
    }

    /// The same; nothing where the caller may not read them.
    pub(crate) async fn all_readable(&self, api_version: &str, kind: &str) -> Result<Option<Vec<Value>>, Failure> {
        let Some(served) = self.served(api_version, kind).await? else { return Ok(Some(Vec::new())) };
        let request = http::Request::get(served.path(None, None)).body(Vec::new()).map_err(Failure::usage)?;
        let list = self.unless_forbidden("list", self.client.request(request).await)?;
        Ok(list.map(|list| items(list, api_version, kind)))
    }

    /// The only object of a kind of the core that is looked at; none where there is none, and where the caller may not read
    /// it.
    pub(crate) async fn only(&self, kind: GroupKind<'_>) -> Result<Option<Value>, Failure> {
        const MISSING: u16 = 404;
        let Some((namespace, name)) = foreign::only_one(kind) else { return Ok(None) };
        let Some(served) = self.served("v1", kind.kind).await? else { return Ok(None) };
        let path = served.path(Some(namespace), Some(name));
        let request = http::Request::get(path).body(Vec::new()).map_err(Failure::usage)?;
        match self.client.request(request).await {
            Err(kube::Error::Api(status)) if status.code == MISSING => Ok(None),
            answer => self.unless_forbidden("get", answer),
        }
    }

    fn unless_forbidden<T>(&self, what: &str, answer: Result<T, kube::Error>) -> Result<Option<T>, Failure> {
        const FORBIDDEN: u16 = 403;
        match answer {
            Ok(answer) => Ok(Some(answer)),
            Err(kube::Error::Api(status)) if status.code == FORBIDDEN => Ok(None),
            Err(error) => Err(self.refusal(what, &error)),
        }
    }

    async fn kinds(&self) -> Result<Vec<Served>, Failure> {
        let core = self.client.list_core_api_versions_aggregated().await;
        let named = self.client.list_api_groups_aggregated().await;
        let mut kinds = Vec::new();
        for list in [core, named] {
            let list = list.map_err(|error| self.refusal("the list of kinds", &error))?;
            let list = serde_json::to_value(list).map_err(Failure::failed)?;
            kinds.extend(served(&list));
        }
        Ok(kinds)
    }

    /// What the server or the way to it says, with a status for scripts.
    pub(crate) fn refusal(&self, what: &str, error: &kube::Error) -> Failure {
        match error {
            kube::Error::Api(status) => answer(status),
            kube::Error::Service(_) | kube::Error::HyperError(_) => Failure::passing(format_args!(
                "cannot reach {}: {}; is the server running?",
                self.server,
                deepest(error)
            )),
            kube::Error::ReadEvents(_) => Failure::passing(format_args!("{what}: {error}")),
            other => Failure::usage(format_args!("{what}: {other}")),
        }
    }
}

/// The text of a warning, which stands behind a number and an agent, in quotes.
fn warning(header: &str) -> Option<String> {
    let quoted = header.splitn(3, ' ').nth(2)?.trim().strip_prefix('"')?.strip_suffix('"')?;
    let mut escaped = false;
    let is_text = |letter: &char| {
        escaped = *letter == '\\' && !escaped;
        !escaped
    };
    Some(quoted.chars().filter(is_text).collect())
}

/// The objects of a list, which need not say themselves what they are.
fn items(mut list: Value, api_version: &str, kind: &str) -> Vec<Value> {
    let mut items = match list["items"].take() {
        Value::Array(items) => items,
        _ => Vec::new(),
    };
    for item in &mut items {
        item["apiVersion"] = api_version.into();
        item["kind"] = kind.into();
    }
    items
}

/// The kinds of an aggregated discovery document, without subresources.
fn served(list: &Value) -> Vec<Served> {
    let items = |value: &Value, key: &str| value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let text =
        |value: &Value, pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut kinds = Vec::new();
    for group in items(list, "items") {
        for version in items(&group, "versions") {
            kinds.extend(items(&version, "resources").iter().map(|resource| Served {
                group: text(&group, "/metadata/name"),
                version: text(&version, "/version"),
                kind: text(resource, "/responseKind/kind"),
                plural: text(resource, "/resource"),
                singular: text(resource, "/singularResource"),
                short_names:
                    items(resource, "shortNames").iter().filter_map(Value::as_str).map(str::to_owned).collect(),
                namespaced: text(resource, "/scope") == "Namespaced",
            }));
        }
    }
    kinds
}

/// What a server answers to a request that it does not fulfil. What is wrong with the request is a refusal; an
/// unknown caller or a server in trouble is no answer to it.
pub(crate) fn answer(status: &Status) -> Failure {
    match status.code {
        // Nobody was recognised: nothing was reported about the request itself.
        401 => Failure::usage(&status.message),
        // It took too long, what was followed is too far back, or there were too many.
        408 | 410 | 429 => Failure::passing(&status.message),
        400..500 => Failure::refused(&status.message),
        _ => Failure::passing(&status.message),
    }
}

/// What lies at the bottom of an error: the layers above only say that something below failed.
fn deepest(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

/// A text as a part of a path or of a query.
pub(crate) fn escaped(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut escaped, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~:".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            push(&mut escaped, format_args!("%{byte:02X}"));
        }
        escaped
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn known() -> Vec<Served> {
        served(&json!({"items": [{
            "metadata": {"name": "network.harvesterhci.io"},
            "versions": [{"version": "v1beta1", "resources": [{
                "resource": "hostnetworkconfigs", "singularResource": "hostnetworkconfig", "scope": "Cluster",
                "responseKind": {"kind": "HostNetworkConfig"}, "shortNames": ["hnc"],
            }]}],
        }]}))
    }

    #[test]
    fn a_kind_has_many_names() {
        let kind = &known()[0];
        for word in [
            "hnc",
            "hostnetworkconfig",
            "HostNetworkConfigs",
            "hnc.network.harvesterhci.io",
            "hostnetworkconfigs.v1beta1.network.harvesterhci.io",
        ] {
            assert!(kind.is_called(word), "{word}");
        }
        for word in ["", "hostnetwork", "hnc.nmstate.io"] {
            assert!(!kind.is_called(word), "{word}");
        }
    }

    #[test]
    fn a_warning_is_read_as_it_was_meant() {
        assert_eq!(warning(r#"299 - "a \"b\" \\ c""#).as_deref(), Some(r#"a "b" \ c"#));
        assert_eq!(warning("299 - \"\"").as_deref(), Some(""));
        for other in ["", "299", "299 - text", "299 - \""] {
            assert_eq!(warning(other), None, "{other}");
        }
    }

    #[test]
    fn names_do_not_leave_their_place_in_a_path() {
        let kind = &known()[0];
        assert_eq!(
            kind.path(Some("ignored"), Some("../a b")),
            "/apis/network.harvesterhci.io/v1beta1/hostnetworkconfigs/..%2Fa%20b"
        );
    }
}
