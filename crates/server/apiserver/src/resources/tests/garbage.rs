//! Owners, namespaces and events: what goes without anybody deleting it.

use serde_json::{Value, json};

use super::{Bench, MAPS, map};

async fn owned(bench: &Bench, name: &str, owner: &Value, block: bool) -> Value {
    let mut object = map(name, &json!({}));
    object["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "ConfigMap",
        "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"], "blockOwnerDeletion": block}]);
    bench.post(MAPS, &object).await.expect(201)
}

async fn delete(bench: &Bench, name: &str, policy: &str) -> Value {
    bench.delete(&format!("{MAPS}/{name}?propagationPolicy={policy}")).await.expect(200)
}

#[tokio::test]
async fn owned_objects_go_after_their_owner() {
    let bench = Bench::new().await;
    let owner = bench.post(MAPS, &map("owner", &json!({}))).await.expect(201);
    let child = owned(&bench, "child", &owner, false).await;
    owned(&bench, "grandchild", &child, false).await;
    delete(&bench, "owner", "Background").await;
    bench.gone(&format!("{MAPS}/child")).await;
    bench.gone(&format!("{MAPS}/grandchild")).await;
}

#[tokio::test]
async fn owned_objects_go_before_their_owner() {
    let bench = Bench::new().await;
    let owner = bench.post(MAPS, &map("owner", &json!({}))).await.expect(201);
    owned(&bench, "child", &owner, true).await;
    let going = delete(&bench, "owner", "Foreground").await;
    assert_eq!(going["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    bench.gone(&format!("{MAPS}/owner")).await;
    assert_eq!(bench.get(&format!("{MAPS}/child")).await.code, 404);
}

#[tokio::test]
async fn orphans_forget_their_owner() {
    let bench = Bench::new().await;
    let owner = bench.post(MAPS, &map("owner", &json!({}))).await.expect(201);
    owned(&bench, "child", &owner, false).await;
    delete(&bench, "owner", "Orphan").await;
    bench.gone(&format!("{MAPS}/owner")).await;
    let child = bench.get(&format!("{MAPS}/child")).await.expect(200);
    assert_eq!(child["metadata"].get("ownerReferences"), None);
}

#[tokio::test]
async fn an_owner_is_known_by_its_uid_and_one_is_enough() {
    let bench = Bench::new().await;
    let owner = bench.post(MAPS, &map("owner", &json!({}))).await.expect(201);
    let second = bench.post(MAPS, &map("second", &json!({}))).await.expect(201);
    let mut stranger = owner.clone();
    stranger["metadata"]["uid"] = json!("somebody-else");
    owned(&bench, "child", &stranger, false).await;
    bench.gone(&format!("{MAPS}/child")).await;
    let mut object = map("shared", &json!({}));
    let reference = |owner: &Value| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"]})
    };
    object["metadata"]["ownerReferences"] = json!([reference(&owner), reference(&second)]);
    bench.post(MAPS, &object).await.expect(201);
    delete(&bench, "owner", "Background").await;
    loop {
        let shared = bench.get(&format!("{MAPS}/shared")).await.expect(200);
        let owners = shared["metadata"]["ownerReferences"].as_array().unwrap();
        if owners.len() == 1 {
            assert_eq!(owners[0]["name"], "second");
            break;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_namespace_goes_with_everything_in_it() {
    let bench = Bench::new().await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}});
    let made = bench.post("/api/v1/namespaces", &namespace).await.expect(201);
    assert_eq!(made["spec"]["finalizers"], json!(["kubernetes"]));
    assert_eq!(made["metadata"]["labels"]["kubernetes.io/metadata.name"], "x");
    let mut held = map("held", &json!({}));
    held["metadata"]["finalizers"] = json!(["example.com/x"]);
    bench.post("/api/v1/namespaces/x/configmaps", &held).await.expect(201);
    let going = bench.delete("/api/v1/namespaces/x").await.expect(200);
    assert_eq!(going["status"]["phase"], "Terminating");
    let late = bench.post("/api/v1/namespaces/x/configmaps", &map("late", &json!({}))).await;
    assert_eq!(late.code, 403);
    assert_eq!(late.json()["details"]["causes"][0]["reason"], "NamespaceTerminating");
    let uri = "/api/v1/namespaces/x/configmaps/held";
    while bench.get(uri).await.json()["metadata"].get("deletionTimestamp").is_none() {
        tokio::task::yield_now().await;
    }
    bench.patch(uri, "merge", &json!({"metadata": {"finalizers": null}})).await.expect(200);
    bench.gone("/api/v1/namespaces/x").await;
}

#[tokio::test]
async fn what_cannot_be_collected_holds_up_nothing_else() {
    let bench = Bench::new().await;
    let owner = bench.post(MAPS, &map("owner", &json!({}))).await.expect(201);
    // It has an owner that is gone, and a number that cannot be read, so removing it always fails. Its
    // name is the first of all.
    let damaged = r#"{"metadata":{"name":"a","namespace":"default","uid":"x","ownerReferences":[{"apiVersion":"v1",
        "kind":"ConfigMap","name":"nobody","uid":"gone"}]},"data":1e999}"#;
    let key = netloom_store::Key::new("/configmaps", "default", "a");
    bench.api.store().write(vec![netloom_store::Change::create(key.clone(), damaged)]).await.unwrap();
    owned(&bench, "child", &owner, false).await;
    delete(&bench, "owner", "Background").await;
    let child = format!("{MAPS}/child");
    tokio::time::timeout(std::time::Duration::from_secs(20), bench.gone(&child))
        .await
        .expect("the others are collected");
    assert!(bench.api.store().get(&key).unwrap().is_some(), "nobody can remove the damaged one");
}
