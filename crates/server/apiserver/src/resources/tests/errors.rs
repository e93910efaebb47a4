//! Refusals, to the letter.

use serde_json::json;

use super::{Bench, MAPS, WIDGETS, map, widget};

#[tokio::test]
async fn bodies_that_are_not_understood() {
    let bench = Bench::with_widgets().await;
    let json = [("content-type", "application/json")];
    let empty = bench.raw("POST", WIDGETS, &json, "").await;
    empty.refused(
        400,
        "the object provided is unrecognized (must be of type Widget): couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)",
    );
    assert_eq!(bench.raw("POST", WIDGETS, &json, "{").await.code, 400);
    assert_eq!(bench.raw("POST", WIDGETS, &json, "[]").await.code, 400);
    bench.raw("POST", WIDGETS, &json, "{\"a\":1}").await.refused(
        400,
        "the object provided is unrecognized (must be of type Widget): Object 'Kind' is missing in '{\"a\":1}' ({\"a\":1})",
    );
    let mut other = widget("a", &json!({}));
    other["apiVersion"] = json!("example.com/v2");
    bench.post(WIDGETS, &other).await.refused(
        400,
        "the API version in the data (example.com/v2) does not match the expected API version (example.com/v1)",
    );
    let text = [("content-type", "text/plain")];
    let refused = bench.raw("POST", WIDGETS, &text, "{}").await;
    assert_eq!(refused.json()["reason"], "UnsupportedMediaType");
}

#[tokio::test]
async fn strict_and_ignoring_clients() {
    let bench = Bench::with_widgets().await;
    let object = widget("a", &json!({"size": 1, "nope": 1}));
    bench.post(&format!("{WIDGETS}?fieldValidation=Strict"), &object).await.refused(
        400,
        "Widget in version \"v1\" cannot be handled as a Widget: strict decoding error: unknown field \"spec.nope\"",
    );
    let twice = r#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"size":1,"size":2}}"#;
    let json = [("content-type", "application/json")];
    bench.raw("POST", &format!("{WIDGETS}?fieldValidation=Strict"), &json, twice).await.refused(
        400,
        "Widget in version \"v1\" cannot be handled as a Widget: strict decoding error: duplicate field \"spec.size\"",
    );
    let quiet = bench.post(&format!("{WIDGETS}?fieldValidation=Ignore"), &object).await;
    assert_eq!(quiet.warnings().len(), 0);
    quiet.expect(201);
    let answer =
        bench.patch(&format!("{WIDGETS}/a?fieldValidation=Strict"), "merge", &json!({"spec": {"nope": 2}})).await;
    assert_eq!(answer.code, 422);
    assert_eq!(answer.json()["details"]["causes"][0]["field"], "patch");
    assert!(answer.message().contains("strict decoding error: unknown field"), "{}", answer.message());
}

#[tokio::test]
async fn invalid_objects_list_every_cause() {
    let bench = Bench::with_widgets().await;
    bench.post(WIDGETS, &widget("a", &json!({"size": 200}))).await.refused(
        422,
        "Widget.example.com \"a\" is invalid: spec.size: Invalid value: 200: spec.size in body should be less than or equal to 100",
    );
    let answer = bench.post(WIDGETS, &widget("A_b", &json!({"size": 1}))).await;
    assert_eq!(answer.code, 422);
    assert_eq!(answer.json()["details"]["causes"][0]["field"], "metadata.name");
    let mut kind = widget("a", &json!({}));
    kind["kind"] = json!("Gadget");
    bench
        .post(WIDGETS, &kind)
        .await
        .refused(422, "Gadget.example.com \"a\" is invalid: kind: Invalid value: \"Gadget\": must be Widget");
}

#[tokio::test]
async fn names_and_namespaces_must_fit_the_path() {
    let bench = Bench::new().await;
    let mut object = map("a", &json!({}));
    object["metadata"]["namespace"] = json!("kube-system");
    bench
        .post(MAPS, &object)
        .await
        .refused(400, "the namespace of the provided object does not match the namespace sent on the request");
    bench
        .put(&format!("{MAPS}/b"), &map("a", &json!({})))
        .await
        .refused(400, "the name of the object (a) does not match the name on the URL (b)");
    bench
        .post("/api/v1/namespaces/nowhere/configmaps", &map("a", &json!({})))
        .await
        .refused(404, r#"namespaces "nowhere" not found"#);
    bench
        .delete("/api/v1/namespaces/default")
        .await
        .refused(403, r#"namespaces "default" is forbidden: this namespace may not be deleted"#);
}

#[tokio::test]
async fn paths_that_lead_nowhere() {
    let bench = Bench::with_widgets().await;
    for uri in ["/apis/example.com/v2/widgets", "/api/v1/namespaces/default/nodes", "/apis/example.com/v1/widgets/a"] {
        let answer = bench.get(uri).await;
        assert_eq!((answer.code, answer.text.as_str()), (404, "404 page not found\n"), "{uri}");
    }
    assert_eq!(bench.post("/api/v1/configmaps", &map("a", &json!({}))).await.code, 405);
    bench.get(&format!("{WIDGETS}/a/nope")).await.refused(404, r#"widgets.example.com "a" not found"#);
}

#[tokio::test]
async fn selectors_name_known_fields() {
    let bench = Bench::with_widgets().await;
    bench
        .get(&format!("{WIDGETS}?fieldSelector=spec.size=1"))
        .await
        .refused(400, "field label not supported: spec.size");
    bench
        .get(&format!("{MAPS}?fieldSelector=data.x=1"))
        .await
        .refused(400, "\"data.x\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"");
    assert_eq!(bench.get(&format!("{MAPS}?labelSelector=a=(")).await.code, 400);
}

#[tokio::test]
async fn answers_come_in_a_form_that_is_accepted() {
    let bench = Bench::new().await;
    bench.post(MAPS, &map("a", &json!({"x": "1"}))).await.expect(201);
    let yaml = bench.raw("GET", &format!("{MAPS}/a"), &[("accept", "application/yaml")], "").await;
    assert_eq!(yaml.headers["content-type"], "application/yaml");
    assert!(yaml.text.starts_with("apiVersion: v1\ndata:\n  x: \"1\"\nkind: ConfigMap\n"), "{}", yaml.text);
    let none = bench.raw("GET", &format!("{MAPS}/a"), &[("accept", "text/html")], "").await;
    assert_eq!(none.json()["reason"], "NotAcceptable");
    let partial = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    let answer = bench.raw("GET", &format!("{MAPS}/a"), &[("accept", partial)], "").await.expect(200);
    assert_eq!(answer["kind"], "PartialObjectMetadata");
    assert_eq!(answer.get("data"), None);
}
