//! Stories with the `kube` library, the way controllers in Rust use a server.
//!
//! Each runs against both servers: what the real one does proves the story, what ours does proves us.

mod controlling;
mod writing;

use std::{path::Path, time::Duration};

use futures_util::future::BoxFuture;
use k8s_openapi::api::core::v1::Namespace;
use kube::{
    Api, Client, Config,
    api::{DeleteParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use netloom_testkit::{
    runner::{Ended, Outcome},
    timeouts::stretched,
};
use serde_json::json;

use crate::{Stage, perform::within};

/// What a story is given: a client, and a namespace of its own.
#[derive(Clone)]
pub(crate) struct Scene {
    client: Client,
    namespace: String,
}

type Story = fn(Scene) -> BoxFuture<'static, Result<(), String>>;

/// All stories.
pub(crate) const STORIES: &[(&str, Story)] = &[
    ("discovery", |scene| Box::pin(writing::discovery(scene))),
    ("definitions", |scene| Box::pin(writing::definitions(scene))),
    ("apply", |scene| Box::pin(writing::apply(scene))),
    ("leases", |scene| Box::pin(writing::leases(scene))),
    ("events", |scene| Box::pin(writing::events(scene))),
    ("pages", |scene| Box::pin(writing::pages(scene))),
    ("watcher", |scene| Box::pin(controlling::watcher(scene))),
    ("watcher-streaming", |scene| Box::pin(controlling::watcher_streaming(scene))),
    ("watcher-metadata", |scene| Box::pin(controlling::watcher_metadata(scene))),
    ("controller", |scene| Box::pin(controlling::controller(scene))),
];

/// No story takes longer, on a machine that does other things too.
const TIME_LIMIT: Duration = Duration::from_mins(1);

/// Tells one story to each server.
pub(crate) fn tell(stage: &Stage, name: &str, story: Story) -> Outcome {
    for (side, server) in &stage.servers {
        let reported = stage.runtime.block_on(async {
            let scene = Scene::open(&server.kubeconfig, &format!("library-{name}")).await?;
            within(stretched(TIME_LIMIT), "the story", story(scene.clone())).await??;
            scene.close().await
        });
        reported.map_err(|why| format!("with the {} server: {why}", side.name()))?;
    }
    Ok(Ended::OK)
}

impl Scene {
    async fn open(kubeconfig: &Path, namespace: &str) -> Result<Self, String> {
        let config = Kubeconfig::read_from(kubeconfig).map_err(text)?;
        let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await.map_err(text)?;
        let client = Client::try_from(config).map_err(text)?;
        let object = object(json!({ "metadata": { "name": namespace } }))?;
        Api::<Namespace>::all(client.clone()).create(&PostParams::default(), &object).await.map_err(text)?;
        Ok(Self { client, namespace: namespace.to_owned() })
    }

    async fn close(self) -> Result<(), String> {
        let namespaces = Api::<Namespace>::all(self.client.clone());
        namespaces.delete(&self.namespace, &DeleteParams::background()).await.map(drop).map_err(text)
    }
}

/// A typed object from JSON.
fn object<K: serde::de::DeserializeOwned>(json: serde_json::Value) -> Result<K, String> {
    serde_json::from_value(json).map_err(text)
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// An expectation with words for when it does not hold.
fn expect(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}

/// The reason of a refusal by the server.
fn refused<T: std::fmt::Debug>(answer: kube::Result<T>) -> Result<String, String> {
    match answer {
        Err(kube::Error::Api(status)) => Ok(status.reason),
        other => Err(format!("a refusal was expected: {other:?}")),
    }
}
