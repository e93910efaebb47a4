//! The four kinds of patches.

use serde_json::json;

use super::{Bench, MAPS, WIDGETS, map, widget};

#[tokio::test]
async fn json_patches_test_and_replace() {
    let bench = Bench::new().await;
    bench.post(MAPS, &map("a", &json!({"x": "1"}))).await.expect(201);
    let uri = format!("{MAPS}/a");
    let patch =
        json!([{"op": "test", "path": "/data/x", "value": "1"}, {"op": "add", "path": "/data/y", "value": "2"}]);
    let patched = bench.patch(&uri, "json", &patch).await.expect(200);
    assert_eq!(patched["data"], json!({"x": "1", "y": "2"}));
    let failed = json!([{"op": "test", "path": "/data/x", "value": "9"}]);
    bench
        .patch(&uri, "json", &failed)
        .await
        .refused(422, "the server rejected our request due to an error in our request");
    bench.patch(&format!("{MAPS}/none"), "json", &failed).await.refused(404, r#"configmaps "none" not found"#);
}

#[tokio::test]
async fn strategic_patches_are_for_built_in_kinds() {
    let bench = Bench::with_widgets().await;
    bench.post(WIDGETS, &widget("a", &json!({}))).await.expect(201);
    bench.patch(&format!("{WIDGETS}/a"), "strategic-merge", &json!({})).await.refused(
        415,
        "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
    );
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"},
        "spec": {"ports": [{"name": "a", "port": 80}, {"name": "b", "port": 81}]}});
    bench.post("/api/v1/namespaces/default/services", &service).await.expect(201);
    let patch = json!({"spec": {"ports": [{"port": 81, "targetPort": 8081}]}});
    let patched = bench.patch("/api/v1/namespaces/default/services/s", "strategic-merge", &patch).await.expect(200);
    assert_eq!(patched["spec"]["ports"].as_array().unwrap().len(), 2);
    assert_eq!(patched["spec"]["ports"][1]["targetPort"], 8081);
}

#[tokio::test]
async fn an_apply_makes_merges_and_conflicts() {
    let bench = Bench::with_widgets().await;
    let uri = format!("{WIDGETS}/a");
    let config = |size: i64| widget("a", &json!({"size": size}));
    let made = bench.patch(&format!("{uri}?fieldManager=one"), "apply", &config(1)).await.expect(201);
    assert_eq!(made["spec"], json!({"size": 1, "color": "red"}));
    assert_eq!(made["metadata"]["managedFields"][0]["operation"], "Apply");
    let again = bench.patch(&format!("{uri}?fieldManager=one"), "apply", &config(1)).await.expect(200);
    assert_eq!(again["metadata"]["resourceVersion"], made["metadata"]["resourceVersion"]);
    let conflict = bench.patch(&format!("{uri}?fieldManager=two"), "apply", &config(2)).await;
    assert_eq!(conflict.code, 409);
    let status = conflict.json();
    assert_eq!(status["details"]["causes"][0]["reason"], "FieldManagerConflict");
    assert_eq!(status["details"]["causes"][0]["field"], ".spec.size");
    let forced = bench.patch(&format!("{uri}?fieldManager=two&force=true"), "apply", &config(2)).await.expect(200);
    assert_eq!(forced["spec"]["size"], 2);
    bench.patch(&uri, "apply", &config(2)).await.refused(
        422,
        "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch",
    );
    let unknown = bench.patch(&format!("{uri}?fieldManager=one"), "apply", &widget("a", &json!({"nope": 1}))).await;
    assert_eq!(unknown.code, 400);
    assert!(unknown.message().contains(".spec.nope: field not declared in schema"), "{}", unknown.message());
}

#[tokio::test]
async fn a_patch_of_metadata_cannot_take_another_identity() {
    let bench = Bench::new().await;
    bench.post(MAPS, &map("a", &json!({}))).await.expect(201);
    let uri = format!("{MAPS}/a");
    let uid = bench.patch(&uri, "merge", &json!({"metadata": {"uid": "other"}})).await;
    assert_eq!(uid.code, 422);
    assert_eq!(uid.json()["details"]["causes"][0]["field"], "metadata.uid");
    bench
        .patch(&uri, "merge", &json!({"metadata": {"name": "b"}}))
        .await
        .refused(400, "the name of the object (b) does not match the name on the URL (a)");
    bench.patch(&uri, "merge", &json!({"metadata": {"resourceVersion": "1"}})).await.refused(
        409,
        "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your changes to the latest version and try again",
    );
}

#[tokio::test]
async fn patches_at_the_same_time_all_arrive() {
    let bench = Bench::new().await;
    bench.post(MAPS, &map("a", &json!({}))).await.expect(201);
    let bench = std::sync::Arc::new(bench);
    let tasks: Vec<_> = (0..16)
        .map(|at| {
            let bench = bench.clone();
            tokio::spawn(async move {
                let patch = json!({"data": {format!("k{at}"): "x"}});
                bench.patch(&format!("{MAPS}/a"), "merge", &patch).await.expect(200)
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(bench.get(&format!("{MAPS}/a")).await.json()["data"].as_object().unwrap().len(), 16);
}
