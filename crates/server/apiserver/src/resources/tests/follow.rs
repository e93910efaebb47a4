//! What follows the store: it survives a disk that does not answer for a while.

use std::{sync::Arc, time::Duration};

use netloom_admission::View as _;
use netloom_api::GroupKind;
use serde_json::json;
use tokio::time::timeout;

use super::{Bench, MAPS, map};
use crate::resources::follow;

const NODES: &str = "/api/v1/nodes";

#[tokio::test]
async fn a_store_that_fails_for_a_while_is_followed_again() {
    let bench = Bench::new().await;
    bench.switch.fail(true);
    let refused = bench.post(MAPS, &map("a", &json!({}))).await;
    assert!(refused.code >= 500, "{}", refused.text);
    let weak = Arc::downgrade(&bench.api);
    let resumed = tokio::spawn(async move { follow::resume(&weak).await.is_some() });
    let known = async {
        while bench.api.problem().is_none() {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(20), known).await.expect("the problem is reported");
    assert!(!resumed.is_finished(), "it has not given up");
    bench.switch.fail(false);
    assert!(timeout(Duration::from_secs(20), resumed).await.expect("it goes on").unwrap());
    assert_eq!(bench.api.problem(), None);
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}});
    bench.post(NODES, &node).await.expect(201);
    let seen = bench.api.follow.view().get(GroupKind::new("", "Node"), None, "n");
    assert!(seen.is_some(), "the view has what is written from then on");
}
