//! Creation, replacement, status, scale, deletion.

use serde_json::{Value, json};

use super::{Bench, MAPS, WIDGETS, map, widget};

#[tokio::test]
async fn an_object_lives_and_goes() {
    let bench = Bench::new().await;
    let made = bench.post(MAPS, &map("a", &json!({"x": "1"}))).await.expect(201);
    assert_eq!(made["metadata"]["namespace"], "default");
    assert_eq!(made["metadata"]["creationTimestamp"], "2026-01-02T03:04:05Z");
    assert_eq!(made["metadata"]["managedFields"][0]["manager"], "tester");
    let uid = made["metadata"]["uid"].as_str().unwrap().to_owned();

    let one = format!("{MAPS}/a");
    assert_eq!(bench.get(&one).await.expect(200), made);
    bench.post(MAPS, &map("a", &json!({}))).await.refused(409, r#"configmaps "a" already exists"#);

    let mut changed = made.clone();
    changed["data"]["x"] = json!("2");
    let changed = bench.put(&one, &changed).await.expect(200);
    assert_ne!(changed["metadata"]["resourceVersion"], made["metadata"]["resourceVersion"]);
    bench.put(&one, &made).await.refused(
        409,
        "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your changes to the latest version and try again",
    );

    let gone = bench.delete(&one).await.expect(200);
    assert_eq!(gone["status"], "Success");
    assert_eq!(gone["details"], json!({"name": "a", "kind": "configmaps", "uid": uid}));
    bench.get(&one).await.refused(404, r#"configmaps "a" not found"#);
    bench.delete(&one).await.refused(404, r#"configmaps "a" not found"#);
}

#[tokio::test]
async fn a_write_without_a_change_is_none() {
    let bench = Bench::with_widgets().await;
    let made = bench.post(WIDGETS, &widget("a", &json!({"size": 1}))).await.expect(201);
    bench.clock.push(60);
    let same = bench.put(&format!("{WIDGETS}/a"), &made).await.expect(200);
    assert_eq!(same, made);
    let patched = bench.patch(&format!("{WIDGETS}/a"), "merge", &json!({"spec": {"size": 1}})).await.expect(200);
    assert_eq!(patched, made);
}

#[tokio::test]
async fn a_custom_object_is_pruned_filled_in_and_counted() {
    let bench = Bench::with_widgets().await;
    let mut object = widget("a", &json!({"size": 1, "unknown": true}));
    object["status"] = json!({"phase": "Big"});
    let answer = bench.post(WIDGETS, &object).await;
    assert_eq!(answer.warnings(), [r#"299 - "unknown field \"spec.unknown\"""#]);
    let made = answer.expect(201);
    assert_eq!(made["spec"], json!({"size": 1, "color": "red"}));
    assert_eq!(made.get("status"), None, "a status is written apart");
    assert_eq!(made["metadata"]["generation"], 1);

    let one = format!("{WIDGETS}/a");
    let labelled = bench.patch(&one, "merge", &json!({"metadata": {"labels": {"x": "y"}}})).await.expect(200);
    assert_eq!(labelled["metadata"]["generation"], 1);
    let grown = bench.patch(&one, "merge", &json!({"spec": {"size": 2}})).await.expect(200);
    assert_eq!(grown["metadata"]["generation"], 2);

    let mut status = grown.clone();
    status["status"] = json!({"phase": "Small"});
    status["spec"]["size"] = json!(9);
    status["metadata"]["labels"] = json!({"x": "z"});
    let reported = bench.put(&format!("{one}/status"), &status).await.expect(200);
    assert_eq!(reported["status"], json!({"phase": "Small"}));
    assert_eq!(reported["spec"]["size"], 2);
    assert_eq!(reported["metadata"]["labels"], json!({"x": "y"}));
    assert_eq!(reported["metadata"]["generation"], 2);
}

#[tokio::test]
async fn names_are_generated() {
    let bench = Bench::new().await;
    let mut object = map("", &json!({}));
    object["metadata"] = json!({"generateName": "map-"});
    let made = bench.post(MAPS, &object).await.expect(201);
    let name = made["metadata"]["name"].as_str().unwrap();
    assert!(name.starts_with("map-") && name.len() == 9, "{name}");
    assert_eq!(made["metadata"]["generateName"], "map-");
}

#[tokio::test]
async fn a_dry_run_changes_nothing() {
    let bench = Bench::new().await;
    let made = bench.post(&format!("{MAPS}?dryRun=All"), &map("a", &json!({}))).await.expect(201);
    assert!(made["metadata"]["uid"].is_string());
    assert_eq!(made["metadata"].get("resourceVersion"), None);
    assert_eq!(bench.get(&format!("{MAPS}/a")).await.code, 404);
    bench.post(MAPS, &map("a", &json!({}))).await.expect(201);
    bench.patch(&format!("{MAPS}/a?dryRun=All"), "merge", &json!({"data": {"x": "1"}})).await.expect(200);
    assert_eq!(bench.get(&format!("{MAPS}/a")).await.json().get("data"), None);
    bench.delete(&format!("{MAPS}/a?dryRun=All")).await.expect(200);
    assert_eq!(bench.get(&format!("{MAPS}/a")).await.code, 200);
}

#[tokio::test]
async fn some_kinds_are_made_by_a_replacement_and_some_need_a_revision() {
    let bench = Bench::with_widgets().await;
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "a"},
        "spec": {"holderIdentity": "me", "renewTime": "2026-01-02T03:04:05.123456Z"}});
    let uri = "/apis/coordination.k8s.io/v1/namespaces/default/leases/a";
    let made = bench.put(uri, &lease).await.expect(201);
    assert_eq!(made["spec"]["renewTime"], "2026-01-02T03:04:05.123456Z");
    bench.put(uri, &lease).await.refused(
        422,
        "leases.coordination.k8s.io \"a\" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update",
    );
    bench.put(&format!("{MAPS}/a"), &map("a", &json!({}))).await.refused(404, r#"configmaps "a" not found"#);
    bench.post(MAPS, &map("a", &json!({}))).await.expect(201);
    bench.put(&format!("{MAPS}/a"), &map("a", &json!({"x": "1"}))).await.expect(200);
    bench.post(WIDGETS, &widget("a", &json!({}))).await.expect(201);
    bench.put(&format!("{WIDGETS}/a"), &widget("a", &json!({}))).await.refused(
        422,
        "widgets.example.com \"a\" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update",
    );
}

#[tokio::test]
async fn finalizers_hold_an_object_back() {
    let bench = Bench::with_widgets().await;
    let mut object = widget("a", &json!({}));
    object["metadata"]["finalizers"] = json!(["example.com/x"]);
    bench.post(WIDGETS, &object).await.expect(201);
    let one = format!("{WIDGETS}/a");
    let going = bench.delete(&one).await.expect(200);
    assert_eq!(going["kind"], "Widget");
    assert_eq!(going["metadata"]["deletionTimestamp"], "2026-01-02T03:04:05Z");
    assert_eq!(going["metadata"]["deletionGracePeriodSeconds"], 0);
    assert_eq!(going["metadata"]["generation"], 2);
    let more =
        bench.patch(&one, "merge", &json!({"metadata": {"finalizers": ["example.com/x", "example.com/y"]}})).await;
    more.refused(
        422,
        "Widget.example.com \"a\" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{\"example.com/y\"}",
    );
    bench
        .post(WIDGETS, &object)
        .await
        .refused(409, "object is being deleted: widgets.example.com \"a\" already exists");
    bench.patch(&one, "merge", &json!({"metadata": {"finalizers": null}})).await.expect(200);
    assert_eq!(bench.get(&one).await.code, 404);
}

#[tokio::test]
async fn only_the_object_that_was_meant_goes() {
    let bench = Bench::new().await;
    let made = bench.post(MAPS, &map("a", &json!({}))).await.expect(201);
    let uid = made["metadata"]["uid"].as_str().unwrap();
    let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": "other"}});
    let headers = [("content-type", "application/json")];
    bench.raw("DELETE", &format!("{MAPS}/a"), &headers, &options.to_string()).await.refused(
        409,
        &format!("Operation cannot be fulfilled on ConfigMap \"a\": the UID in the precondition (other) does not match the UID in record ({uid}). The object might have been deleted and then recreated"),
    );
    // Options that are written otherwise than they must be are not left out: the object would go.
    for (options, field) in [
        (json!({"dryRun": "All"}), "DeleteOptions.dryRun"),
        (json!({"dryRun": [true]}), "DeleteOptions.dryRun"),
        (json!({"preconditions": {"uid": 5}}), "preconditions.uid"),
        (json!({"orphanDependents": "true"}), "DeleteOptions.orphanDependents"),
        (json!({"gracePeriodSeconds": u64::MAX}), "DeleteOptions.gracePeriodSeconds"),
        (json!([]), "v1.DeleteOptions"),
    ] {
        let refused = bench.raw("DELETE", &format!("{MAPS}/a"), &headers, &options.to_string()).await;
        assert!(refused.code == 400 && refused.message().contains(field), "{options}: {}", refused.text);
    }
    let options = json!({"preconditions": {"uid": uid}});
    bench.raw("DELETE", &format!("{MAPS}/a"), &headers, &options.to_string()).await.expect(200);
}

#[tokio::test]
async fn a_scale_is_read_and_written() {
    let bench = Bench::with_widgets().await;
    bench.post(WIDGETS, &widget("a", &json!({"replicas": 2}))).await.expect(201);
    let uri = format!("{WIDGETS}/a/scale");
    let scale = bench.get(&uri).await.expect(200);
    assert_eq!(scale["kind"], "Scale");
    assert_eq!(scale["spec"], json!({"replicas": 2}));
    let scaled = bench.patch(&uri, "merge", &json!({"spec": {"replicas": 5}})).await.expect(200);
    assert_eq!(scaled["spec"]["replicas"], 5);
    assert_eq!(bench.get(&format!("{WIDGETS}/a")).await.json()["spec"]["replicas"], 5);
    let mut scale = bench.get(&uri).await.json();
    scale["spec"]["replicas"] = json!(-1);
    assert_eq!(bench.put(&uri, &scale).await.code, 422);
    scale["spec"]["replicas"] = json!(7);
    bench.put(&uri, &scale).await.expect(200);
}

#[tokio::test]
async fn a_collection_goes_at_once() {
    let bench = Bench::new().await;
    for name in ["a", "b", "c"] {
        let mut object = map(name, &json!({}));
        object["metadata"]["labels"] = json!({"n": name});
        bench.post(MAPS, &object).await.expect(201);
    }
    let gone = bench.delete(&format!("{MAPS}?labelSelector=n+in+(a,b)")).await.expect(200);
    assert_eq!(gone["kind"], "ConfigMapList");
    assert_eq!(gone["items"].as_array().map(Vec::len), Some(2));
    let left = bench.get(MAPS).await.expect(200);
    assert_eq!(left["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn an_event_has_two_spellings() {
    let bench = Bench::new().await;
    let event = json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "a"},
        "eventTime": "2026-01-02T03:04:05.000000Z", "regarding": {"kind": "Pod", "name": "p", "namespace": "default"},
        "reason": "Made", "action": "Make", "type": "Normal", "note": "it is there",
        "reportingController": "example.com/c", "reportingInstance": "c-1"});
    bench.post("/apis/events.k8s.io/v1/namespaces/default/events", &event).await.expect(201);
    let core = bench.get("/api/v1/namespaces/default/events/a").await.expect(200);
    assert_eq!(core["apiVersion"], "v1");
    assert_eq!(core["message"], "it is there");
    assert_eq!(core["involvedObject"]["name"], "p");
    let found = bench.get("/api/v1/namespaces/default/events?fieldSelector=involvedObject.name=p").await.expect(200);
    assert_eq!(found["items"].as_array().unwrap().len(), 1);
    let other = bench.get("/apis/events.k8s.io/v1/events").await.expect(200);
    assert_eq!(other["items"][0]["note"], "it is there");
}

#[tokio::test]
async fn what_was_written_is_there_after_a_restart() {
    let bench = Bench::with_widgets().await;
    let made = bench.post(WIDGETS, &widget("a", &json!({"size": 3}))).await.expect(201);
    let bench = bench.restarted().await;
    assert_eq!(bench.get(&format!("{WIDGETS}/a")).await.expect(200), made);
    let list: Value = bench.get("/api/v1/namespaces").await.expect(200);
    assert_eq!(list["items"].as_array().unwrap().len(), 4);
}

#[tokio::test]
async fn only_what_rules_look_at_waits_for_its_turn() {
    const NODES: &str = "/api/v1/nodes";
    let bench = Bench::new().await;
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}});
    bench.post(NODES, &node).await.expect(201);
    let write_slot = bench.api.write_slots.judged.clone().lock_owned().await;
    let time_limit = std::time::Duration::from_secs(20);
    let free = async {
        bench.post(MAPS, &map("a", &json!({}))).await.expect(201);
        bench.patch(&format!("{NODES}/n/status"), "merge", &json!({"status": {"phase": "Running"}})).await.expect(200);
        bench.post(&format!("{NODES}?dryRun=All"), &json!({"metadata": {"name": "m"}})).await.expect(201);
    };
    tokio::time::timeout(time_limit, free).await.expect("nobody waits for them");
    let labels = json!({"metadata": {"labels": {"a": "b"}}});
    let one = format!("{NODES}/n");
    let mut judged = std::pin::pin!(bench.patch(&one, "merge", &labels));
    let early = tokio::time::timeout(std::time::Duration::from_millis(50), &mut judged).await;
    assert!(early.is_err(), "it does not wait for its turn");
    drop(write_slot);
    tokio::time::timeout(time_limit, judged).await.expect("it has its turn").expect(200);
}
