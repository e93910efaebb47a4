//! Merging policies for every node of a cluster once, without a controller and without a rollout.
//!
//! What comes out is what every agent would come to by itself: it is the same function.

use kube::{
    Client, Config, Resource,
    api::{ApiResource, DynamicObject},
};
use netloom_agent_core::{MANAGER, NODE, POLICY, STATE};
use netloom_api::rollout::annotation;
use netloom_compile::{NodeTarget, Snapshot, compile};
use serde_json::Value;

use crate::{kinds::resource, run::Error};

/// How many objects a list gives at once; a cluster may have thousands, each as large as its node's network.
const PAGE: usize = 100;

/// How often everything is read again when somebody else wrote at the same time.
const ROUNDS: usize = 5;

/// What was done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Merged {
    /// Desired states that were written.
    pub written: usize,
    /// Those that were as they shall be, or are not ours to change.
    pub unchanged: usize,
    /// Those of nodes that merge policies themselves; they are left alone.
    pub left: usize,
}

/// Merges policies into the desired state of every node.
pub async fn merge_all(config: Config) -> Result<Merged, Error> {
    let client = Client::try_from(config).map_err(Error::Api)?;
    let mut written = 0;
    for _ in 0..ROUNDS {
        let (merged, overtaken) = round(&client).await?;
        written += merged.written;
        // What was written in an earlier round is as it shall be in a later one.
        let unchanged = (merged.written + merged.unchanged).saturating_sub(written);
        if overtaken == 0 {
            return Ok(Merged { written, unchanged, ..merged });
        }
    }
    Err(Error::Overtaken(ROUNDS))
}

/// Merges for every node by what there is now; says also how many were written by somebody else at the same time.
async fn round(client: &Client) -> Result<(Merged, usize), Error> {
    let mut snapshot = Snapshot::default();
    for kind in [NODE, POLICY, STATE] {
        read(client, &resource(kind), &mut snapshot).await?;
    }
    let compiled = compile(&snapshot);
    let (mut merged, mut overtaken) = (Merged::default(), 0);
    for node_target in compiled.nodes.iter() {
        let state = snapshot.states.get(node_target.object);
        if state.is_some_and(|state| state.merges_itself) {
            merged.left += 1;
        } else if !node_target.desired.held.is_empty() || state.is_none_or(|state| node_target.is_content_of(state)) {
            merged.unchanged += 1;
        } else {
            match write(client, &snapshot, node_target).await {
                Ok(()) => merged.written += 1,
                Err(kube::Error::Api(status)) if status.code == 409 => overtaken += 1,
                Err(error) => return Err(Error::Api(error)),
            }
        }
    }
    Ok((merged, overtaken))
}

async fn read(client: &Client, resource: &ApiResource, snapshot: &mut Snapshot) -> Result<(), Error> {
    let path = DynamicObject::url_path(resource, None);
    let mut next = String::new();
    loop {
        let target = format!("{path}?limit={PAGE}{next}");
        let request =
            http::Request::get(target).body(Vec::new()).map_err(|error| Error::Api(kube::Error::HttpError(error)))?;
        let mut page: Value = client.request(request).await.map_err(Error::Api)?;
        for object in page["items"].as_array_mut().into_iter().flatten() {
            object["kind"] = resource.kind.as_str().into();
            object["apiVersion"] = resource.api_version.as_str().into();
            snapshot.put(object);
        }
        match page.pointer("/metadata/continue").and_then(Value::as_str).filter(|token| !token.is_empty()) {
            Some(token) => next = format!("&continue={token}"),
            None => return Ok(()),
        }
    }
}

async fn write(client: &Client, snapshot: &Snapshot, node_target: NodeTarget<'_>) -> Result<(), kube::Error> {
    let mut patch = node_target.patch(snapshot, "");
    // No revision stands behind this.
    patch["metadata"]["annotations"][annotation::REVISION] = Value::Null;
    patch["metadata"]["annotations"][annotation::DIGEST] = Value::Null;
    let (namespace, name) = (&node_target.object.namespace, &node_target.object.name);
    let states = DynamicObject::url_path(&resource(STATE), Some(namespace));
    let target = format!("{states}/{name}?fieldManager={MANAGER}");
    let request = http::Request::patch(target)
        .header("content-type", "application/merge-patch+json")
        .body(patch.to_string().into_bytes())
        .map_err(kube::Error::HttpError)?;
    client.request::<Value>(request).await.map(drop)
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use bytes::Bytes;
    use http_body_util::Full;
    use hyper::{Method, Response, body::Incoming, server::conn::http1, service::service_fn};
    use hyper_util::rt::TokioIo;
    use serde_json::json;
    use tokio::net::TcpListener;

    use super::*;

    /// What a cluster of one node with one policy answers; the first writes are overtaken by somebody else.
    fn answer(method: &Method, path: &str, overtaken: usize, writes: &AtomicUsize) -> (u16, Value) {
        let items = match path.rsplit('/').next().unwrap_or_default() {
            _ if *method == Method::PATCH => {
                let number = writes.fetch_add(1, Ordering::Relaxed);
                let conflict =
                    json!({"kind": "Status", "status": "Failure", "reason": "Conflict", "message": "", "code": 409});
                return if number < overtaken { (409, conflict) } else { (200, json!({})) };
            }
            "nodes" => json!([{"metadata": {"name": "n"}}]),
            "nodenetconfpolicies" => json!([{
                "metadata": {"namespace": "default", "name": "p"},
                "spec": {"matchRules": [{"name": "eth0"}], "desiredState": {"interfaces": [{"name": "eth0", "mtu": 1400}]}},
            }]),
            _ => json!([{
                "metadata": {"namespace": "default", "name": "n", "resourceVersion": "1"},
                "spec": {"managed": true, "nodeName": "n"},
                "status": {"currentState": {"interfaces": [{"name": "eth0", "type": "ethernet", "state": "up"}]}},
            }]),
        };
        (200, json!({"items": items, "metadata": {}}))
    }

    async fn merged(overtaken: usize) -> (Result<Merged, Error>, usize) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = format!("http://{}", listener.local_addr().unwrap());
        let writes = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&writes);
        let server = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let counted = Arc::clone(&counted);
                let service = service_fn(move |request: http::Request<Incoming>| {
                    let (code, body) = answer(request.method(), request.uri().path(), overtaken, &counted);
                    let body = Full::new(Bytes::from(body.to_string()));
                    async move { Response::builder().status(code).header("content-type", "application/json").body(body) }
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        let merged = merge_all(Config::new(at.parse().unwrap())).await;
        server.abort();
        (merged, writes.load(Ordering::Relaxed))
    }

    #[tokio::test]
    async fn whoever_is_overtaken_reads_again_and_goes_on_but_not_for_ever() {
        let (done, writes) = merged(2).await;
        assert_eq!((done.unwrap(), writes), (Merged { written: 1, unchanged: 0, left: 0 }, 3));
        let (done, writes) = merged(usize::MAX).await;
        assert!(matches!(done, Err(Error::Overtaken(ROUNDS))), "{done:?}");
        assert_eq!(writes, ROUNDS);
    }
}
