//! Requests and their answers, against a store in a temporary folder and without a connection.

mod bodies;
mod crds;
mod errors;
mod follow;
mod garbage;
mod lists;
mod patches;
mod watches;
mod writes;

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response};
use http_body_util::BodyExt as _;
use netloom_admission::User;
use netloom_store::{Options, switch::Switch};
use serde_json::{Value, json};

use super::{Api, clock::testing::Still};
use crate::{
    body::Body,
    rbac::{Asked, Decision},
    request::{self, Caller, Route},
};

/// Lets everybody create everything and write every role.
struct Everybody;

impl crate::rbac::WriteGuard for Everybody {
    fn decide(&self, _: &User, _: &Asked) -> Decision {
        Decision::Allowed(String::new())
    }

    fn refuse(&self, _: &User, _: (&str, &str), _: Option<&str>, _: Option<&Value>, _: &Value) -> Option<String> {
        None
    }
}

/// A server without connections, in a folder that goes with it.
pub(super) struct Bench {
    pub(super) api: Arc<Api>,
    pub(super) clock: Arc<Still>,
    /// Tells the disk whether to answer.
    pub(super) switch: Switch,
    folder: Folder,
}

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// An answer that was read to its end.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) code: u16,
    pub(super) headers: HeaderMap,
    pub(super) text: String,
}

impl Answer {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    pub(super) fn message(&self) -> String {
        self.json()["message"].as_str().unwrap_or_default().to_owned()
    }

    #[track_caller]
    pub(super) fn expect(self, code: u16) -> Value {
        assert_eq!(self.code, code, "{}", self.text);
        self.json()
    }

    #[track_caller]
    pub(super) fn refused(self, code: u16, message: &str) {
        assert_eq!((self.code, self.message().as_str()), (code, message), "{}", self.text);
    }

    pub(super) fn warnings(&self) -> Vec<String> {
        let all = self.headers.get_all(http::header::WARNING);
        all.iter().map(|value| value.to_str().unwrap().to_owned()).collect()
    }
}

impl Bench {
    pub(super) async fn new() -> Self {
        Self::on(Options::default()).await
    }

    /// With another store.
    pub(super) async fn on(options: Options) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("netloom-api-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = Folder(std::env::temp_dir().join(name));
        std::fs::create_dir_all(&folder.0).unwrap();
        let (store, switch) = netloom_store::switch::open(&folder.0.join("store"), options).unwrap();
        let clock = Arc::new(Still::default());
        let api = Api::open(store, clock.clone(), Some(Vec::new()), Arc::new(Everybody)).await.unwrap();
        Self { api, clock, switch, folder }
    }

    /// The same store, opened again.
    pub(super) async fn restarted(self) -> Self {
        let Self { api, clock, folder, .. } = self;
        drop(api);
        let path = folder.0.join("store");
        let (store, switch) = loop {
            // The tasks of the old one end one after the other.
            match netloom_store::switch::open(&path, Options::default()) {
                Ok(opened) => break opened,
                Err(netloom_store::OpenError::InUse { .. }) => tokio::task::yield_now().await,
                Err(error) => panic!("{error}"),
            }
        };
        let api = Api::open(store, clock.clone(), Some(Vec::new()), Arc::new(Everybody)).await.unwrap();
        Self { api, clock, switch, folder }
    }

    pub(super) async fn send(&self, method: &str, uri: &str, headers: &[(&str, &str)], body: &str) -> Response<Body> {
        let caller = Caller::new(User::new("admin", &["system:masters"]), "tester/1.0");
        let route = request::route(&method.parse().unwrap(), &uri.parse().unwrap());
        let Ok(Route::Resource(info)) = route else { panic!("{method} {uri} is no resource") };
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap());
        }
        self.api.handle(&caller, info, &map, Bytes::copy_from_slice(body.as_bytes())).await
    }

    pub(super) async fn raw(&self, method: &str, uri: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let response = self.send(method, uri, headers, body).await;
        let (parts, body) = response.into_parts();
        let text = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
        Answer { code: parts.status.as_u16(), headers: parts.headers, text }
    }

    pub(super) async fn get(&self, uri: &str) -> Answer {
        self.raw("GET", uri, &[], "").await
    }

    pub(super) async fn post(&self, uri: &str, body: &Value) -> Answer {
        self.raw("POST", uri, &[("content-type", "application/json")], &body.to_string()).await
    }

    pub(super) async fn put(&self, uri: &str, body: &Value) -> Answer {
        self.raw("PUT", uri, &[("content-type", "application/json")], &body.to_string()).await
    }

    pub(super) async fn patch(&self, uri: &str, kind: &str, body: &Value) -> Answer {
        let kind = match kind {
            "apply" => "application/apply-patch+yaml".to_owned(),
            other => format!("application/{other}-patch+json"),
        };
        self.raw("PATCH", uri, &[("content-type", &kind)], &body.to_string()).await
    }

    pub(super) async fn delete(&self, uri: &str) -> Answer {
        self.raw("DELETE", uri, &[], "").await
    }

    /// A bench with the kind of [`widgets`].
    pub(super) async fn with_widgets() -> Self {
        let bench = Self::new().await;
        bench.post(CRDS, &widgets()).await.expect(201);
        bench
    }

    /// Waits until a path is gone; the test's own time limit ends a wait for ever.
    pub(super) async fn gone(&self, uri: &str) {
        while self.get(uri).await.code != 404 {
            tokio::task::yield_now().await;
        }
    }
}

pub(super) const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
pub(super) const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";
pub(super) const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A kind with everything that a definition can have.
pub(super) fn widgets() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "shortNames": ["wd"]},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas",
                    "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector"}},
                "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
                "selectableFields": [{"jsonPath": ".spec.color"}],
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {
                        "size": {"type": "integer", "minimum": 0, "maximum": 100},
                        "color": {"type": "string", "default": "red"},
                        "replicas": {"type": "integer"},
                        "parts": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                            "items": {"type": "object", "required": ["name"], "properties": {
                                "name": {"type": "string"}, "count": {"type": "integer"}}}}
                    }},
                    "status": {"type": "object", "properties": {"phase": {"type": "string"},
                        "replicas": {"type": "integer"}, "selector": {"type": "string"}}}
                }}}
            }]
        }
    })
}

pub(super) fn widget(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec})
}

pub(super) fn map(name: &str, data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}
