//! Writes down what roles that gather others have by that, so that people can read it there.
//!
//! Decisions do not wait for it: they are made from the parts themselves.

use std::{sync::Arc, time::Duration};

use http::{HeaderMap, HeaderValue, header::CONTENT_TYPE};
use netloom_admission::User;
use netloom_store::{Range, Store, WatchError};
use serde_json::{Value, json};

use crate::{
    rbac::{Access, GROUP, MASTERS, Rule},
    request::{Caller, Query, RequestInfo, Verb},
    resources::Api,
};

/// Who writes.
const MANAGER: &str = "clusterrole-aggregation-controller";

/// How long to wait after an error before it is tried again.
const PAUSE: Duration = Duration::from_secs(1);

/// Follows the roles of the cluster until it is stopped or the store is closed. A store that cannot be
/// read for a while holds it up and does not end it.
pub(super) async fn follow(store: Store, access: Arc<Access>, api: Arc<Api>) {
    loop {
        match watch(&store, &access, &api).await {
            WatchError::Closed => return,
            error @ (WatchError::Lagged { .. } | WatchError::Read(_)) => {
                tracing::warn!(%error, "roles that gather others are looked at again");
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Writes down what is gathered after each change; ends with the error that the store answers.
async fn watch(store: &Store, access: &Access, api: &Api) -> WatchError {
    let range = Range::resource(&format!("{GROUP}/clusterroles"));
    let mut watch = match store.watch(range, store.revision()) {
        Ok(watch) => watch,
        Err(error) => return error.into(),
    };
    loop {
        for (name, rules) in access.gathered() {
            write(api, &name, &rules).await;
        }
        if let Err(error) = watch.next().await {
            return error;
        }
    }
}

/// Writes the rules of one role, unless they are there.
async fn write(api: &Api, name: &str, rules: &[Rule]) {
    let wanted: Vec<Value> = rules.iter().map(Rule::to_json).collect();
    let stored = api.read(GROUP, "clusterroles", "", name).map(|role| role["rules"].clone()).unwrap_or_default();
    if stored.as_array().map_or(&[][..], Vec::as_slice) == wanted {
        return;
    }
    let user = User { name: format!("system:{MANAGER}"), groups: vec![MASTERS.to_owned()], ..User::default() };
    let info = RequestInfo {
        verb: Verb::Patch,
        group: GROUP.to_owned(),
        version: "v1".to_owned(),
        resource: "clusterroles".to_owned(),
        namespace: None,
        name: Some(name.to_owned()),
        subresource: None,
        query: Query::parse(&format!("fieldManager={MANAGER}&force=true")),
    };
    let role = json!({
        "apiVersion": format!("{GROUP}/v1"),
        "kind": "ClusterRole",
        "metadata": { "name": name },
        "rules": wanted,
    });
    let kind = HeaderValue::from_static("application/apply-patch+yaml");
    let headers = HeaderMap::from_iter([(CONTENT_TYPE, kind)]);
    let answer = api.handle(&Caller::new(user, MANAGER), info, &headers, role.to_string().into()).await;
    if !answer.status().is_success() {
        tracing::warn!(name, code = answer.status().as_u16(), "the rules that a role gathers cannot be written down");
    }
}
