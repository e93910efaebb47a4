//! A cluster of nodes that are only objects, and what happens in it.

use std::{cell::RefCell, collections::BTreeSet, path::Path, time::Duration};

use futures_util::{StreamExt as _, TryStreamExt as _};
use kube::{
    Api, Client, Config,
    api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
    runtime::{WatchStreamExt as _, watcher},
};
use serde_json::{Value, json};
use tokio::time::timeout;

pub(crate) const FABRIC: &str = "network.t-caas.telekom.com/v1alpha1";
/// Nothing here takes longer, on a machine that does other things too.
pub(crate) const TIME_LIMIT: Duration = Duration::from_mins(2);

/// An administrator's view of the cluster.
#[derive(Clone)]
pub(crate) struct Cluster {
    pub(crate) client: Client,
}

impl Cluster {
    /// The cluster of an administrator's kubeconfig.
    pub(crate) async fn of(kubeconfig: &Path) -> Self {
        let read = Kubeconfig::read_from(kubeconfig).unwrap();
        let config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await.unwrap();
        Self { client: Client::try_from(config).unwrap() }
    }

    /// Adds so many nodes, all of them ready, and steps in which a change reaches them.
    pub(crate) async fn with_nodes(self, nodes: usize) -> Self {
        for number in 0..nodes {
            self.node(&format!("n{number}")).await;
        }
        // As usual, without the time that people want to watch them.
        let spec = json!({"canary": {"soakSeconds": 0}, "waves": ["25%", "50%"], "maxUnavailable": "100%"});
        let policy = json!({"apiVersion": "netloom.dev/v1alpha1", "kind": "RolloutPolicy", "metadata": {"name": "all"}, "spec": spec});
        self.create(policy).await;
        self
    }

    pub(crate) async fn node(&self, name: &str) {
        self.create(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})).await;
        let ready = json!({"type": "Ready", "status": "True", "reason": "Test", "message": ""});
        self.status("v1", "Node", name, json!({"conditions": [ready]})).await;
        self.create(json!({
            "apiVersion": "nmstate.io/v1", "kind": "NodeNetworkState", "metadata": {"name": name},
            "spec": {"nodeName": name, "managed": true},
        }))
        .await;
        let link = json!({"name": "eth1", "type": "ethernet", "state": "up"});
        self.status("nmstate.io/v1", "NodeNetworkState", name, json!({"currentState": {"interfaces": [link]}})).await;
    }

    /// All nodes shall have this MTU on their second link.
    pub(crate) async fn policy(&self, mtu: u32) {
        let link = json!({"name": "eth1", "type": "ethernet", "state": "up", "mtu": mtu});
        let object = json!({
            "apiVersion": "nmstate.io/v1", "kind": "NodeNetConfPolicy", "metadata": {"name": "jumbo"},
            "spec": {"matchRules": [{"name": "eth1"}], "desiredState": {"interfaces": [link]}},
        });
        let api = self.api("nmstate.io/v1", "NodeNetConfPolicy");
        api.patch("jumbo", &PatchParams::apply("test"), &Patch::Apply(object)).await.unwrap();
    }

    pub(crate) fn api(&self, api_version: &str, kind: &str) -> Api<DynamicObject> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let gvk = GroupVersionKind::gvk(group, version, kind);
        let resource = match kind {
            "RolloutPolicy" => ApiResource::from_gvk_with_plural(&gvk, "rolloutpolicies"),
            "NodeNetConfPolicy" => ApiResource::from_gvk_with_plural(&gvk, "nodenetconfpolicies"),
            "VlanStatus" => ApiResource::from_gvk_with_plural(&gvk, "vlanstatuses"),
            _ => ApiResource::from_gvk(&gvk),
        };
        match kind {
            "NodeNetworkState" | "NodeNetConfPolicy" | "Event" => {
                Api::namespaced_with(self.client.clone(), "default", &resource)
            }
            "Lease" => Api::namespaced_with(self.client.clone(), "netloom-system", &resource),
            _ => Api::all_with(self.client.clone(), &resource),
        }
    }

    async fn create(&self, object: Value) {
        let (version, kind) = (object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
        let typed: DynamicObject = serde_json::from_value(object.clone()).unwrap();
        self.api(version, kind).create(&PostParams::default(), &typed).await.unwrap();
    }

    pub(crate) async fn status(&self, version: &str, kind: &str, name: &str, status: Value) {
        let patch = Patch::Merge(json!({"status": status}));
        self.api(version, kind).patch_status(name, &PatchParams::default(), &patch).await.unwrap();
    }

    pub(crate) async fn list(&self, version: &str, kind: &str) -> Vec<Value> {
        let found = self.api(version, kind).list(&ListParams::default()).await.unwrap();
        found.items.into_iter().map(|object| serde_json::to_value(object).unwrap()).collect()
    }

    /// The MTU that stands on each node.
    pub(crate) async fn mtus(&self) -> Vec<Option<u64>> {
        self.list("nmstate.io/v1", "NodeNetworkState").await.iter().map(mtu).collect()
    }

    /// Follows objects of a kind until one is as wanted.
    pub(crate) async fn until(&self, version: &str, kind: &str, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let events = watcher::watcher(self.api(version, kind), watcher::Config::default());
        let mut objects = events.applied_objects().map_ok(|object| serde_json::to_value(object).unwrap()).boxed();
        let found = async {
            loop {
                match objects.next().await.unwrap() {
                    Ok(object) if wanted(&object) => return object,
                    Ok(_) | Err(_) => {}
                }
            }
        };
        timeout(TIME_LIMIT, found).await.unwrap_or_else(|_| panic!("it never comes to: {what}"))
    }

    /// Waits until a revision is everywhere.
    pub(crate) async fn everywhere(&self, mtu: u64) -> Value {
        self.until(FABRIC, "NetworkConfigRevision", "a revision is everywhere", |revision| {
            let desired = revision.pointer("/spec/objects/0/spec/desiredState/interfaces/0/mtu");
            let status = &revision["status"];
            desired == Some(&json!(mtu)) && status["phase"] == "Active" && status["ready"] == status["total"]
        })
        .await
    }

    /// Writes that the server has taken or refused, but for those of leases.
    pub(crate) async fn writes(&self) -> u64 {
        let request = http::Request::get("/metrics").body(Vec::new()).unwrap();
        let text = self.client.request_text(request).await.unwrap();
        let counted = text.lines().filter(|line| line.starts_with("apiserver_request_total{"));
        let writes = counted.filter(|line| {
            ["POST", "PUT", "PATCH", "APPLY", "DELETE"].iter().any(|verb| line.contains(&format!("verb=\"{verb}\"")))
                && !line.contains("resource=\"leases\"")
        });
        writes.filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok()).sum()
    }

    /// Waits until the leader has renewed its lease so often.
    pub(crate) async fn renewals(&self, count: usize) {
        let seen = RefCell::new(BTreeSet::new());
        self.until("coordination.k8s.io/v1", "Lease", "a lease is renewed", |lease| {
            seen.borrow_mut().insert(lease["metadata"]["resourceVersion"].to_string());
            seen.borrow().len() > count
        })
        .await;
    }

    /// Waits until somebody for whom `wanted` holds has the lease.
    pub(crate) async fn leader(&self, wanted: impl Fn(&str) -> bool) -> String {
        let lease = self
            .until("coordination.k8s.io/v1", "Lease", "a leader", |lease| {
                lease.pointer("/spec/holderIdentity").and_then(Value::as_str).is_some_and(&wanted)
            })
            .await;
        lease["spec"]["holderIdentity"].as_str().unwrap().to_owned()
    }
}

pub(crate) fn mtu(state: &Value) -> Option<u64> {
    state.pointer("/spec/desiredState/interfaces/0/mtu")?.as_u64()
}
