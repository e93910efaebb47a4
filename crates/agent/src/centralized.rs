//! Merging policies for every node of a cluster once, without a controller and without a rollout.
//!
//! What comes out is what every agent would come to by itself: it is the same function.

use kube::{Client, Config};
use netloom_api::rollout::annotation;
use netloom_compile::{NodeWish, Snapshot, compile};
use netloom_node::{MANAGER, NODE, POLICY, STATE};
use serde_json::Value;

use crate::run::Error;

/// How many objects a list gives at once; a cluster may have thousands, each as large as its node's network.
const PAGE: usize = 100;

/// What was done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Merged {
    /// Desired states that were written.
    pub written: usize,
    /// Those that were as they shall be, or are not ours to change.
    pub unchanged: usize,
}

/// Merges policies into the desired state of every node.
pub async fn merge_all(config: Config) -> Result<Merged, Error> {
    let client = Client::try_from(config).map_err(Error::Api)?;
    let mut snapshot = Snapshot::default();
    for (path, kind, version) in [
        ("/api/v1/nodes", NODE.kind, "v1"),
        ("/apis/nmstate.io/v1/nodenetconfpolicies", POLICY.kind, "nmstate.io/v1"),
        ("/apis/nmstate.io/v1/nodenetworkstates", STATE.kind, "nmstate.io/v1"),
    ] {
        read(&client, path, kind, version, &mut snapshot).await?;
    }
    let compiled = compile(&snapshot);
    let mut merged = Merged::default();
    for wish in compiled.wishes.iter() {
        let state = snapshot.states.get(wish.object);
        if !wish.desired.held.is_empty() || state.is_none_or(|state| wish.is_content_of(state)) {
            merged.unchanged += 1;
        } else {
            write(&client, &snapshot, wish).await?;
            merged.written += 1;
        }
    }
    Ok(merged)
}

async fn read(client: &Client, path: &str, kind: &str, version: &str, snapshot: &mut Snapshot) -> Result<(), Error> {
    let mut next = String::new();
    loop {
        let target = format!("{path}?limit={PAGE}{next}");
        let request =
            http::Request::get(target).body(Vec::new()).map_err(|error| Error::Api(kube::Error::HttpError(error)))?;
        let mut page: Value = client.request(request).await.map_err(Error::Api)?;
        for object in page["items"].as_array_mut().into_iter().flatten() {
            object["kind"] = kind.into();
            object["apiVersion"] = version.into();
            snapshot.put(object);
        }
        match page.pointer("/metadata/continue").and_then(Value::as_str).filter(|token| !token.is_empty()) {
            Some(token) => next = format!("&continue={token}"),
            None => return Ok(()),
        }
    }
}

async fn write(client: &Client, snapshot: &Snapshot, wish: NodeWish<'_>) -> Result<(), Error> {
    let mut patch = wish.patch(snapshot, "");
    // No revision stands behind this.
    patch["metadata"]["annotations"][annotation::REVISION] = Value::Null;
    patch["metadata"]["annotations"][annotation::DIGEST] = Value::Null;
    let (namespace, name) = (&wish.object.namespace, &wish.object.name);
    let target = format!("/apis/nmstate.io/v1/namespaces/{namespace}/nodenetworkstates/{name}?fieldManager={MANAGER}");
    let request = http::Request::patch(target)
        .header("content-type", "application/merge-patch+json")
        .body(patch.to_string().into_bytes())
        .map_err(|error| Error::Api(kube::Error::HttpError(error)))?;
    client.request::<Value>(request).await.map(drop).map_err(Error::Api)
}
