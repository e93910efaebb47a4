//! Definitions come, are served, and go.

use serde_json::{Value, json};

use super::{Bench, CRDS, WIDGETS, widget, widgets};

fn condition<'a>(object: &'a Value, kind: &str) -> &'a Value {
    let list = object["status"]["conditions"].as_array().unwrap();
    list.iter().find(|condition| condition["type"] == kind).unwrap_or(&Value::Null)
}

#[tokio::test]
async fn a_kind_is_served_once_its_definition_is_established() {
    let bench = Bench::new().await;
    assert_eq!(bench.get(WIDGETS).await.code, 404);
    bench.post(CRDS, &widgets()).await.expect(201);
    let object = bench.get(&format!("{CRDS}/widgets.example.com")).await.expect(200);
    assert_eq!(condition(&object, "Established")["status"], "True");
    assert_eq!(condition(&object, "NamesAccepted")["reason"], "NoConflicts");
    assert_eq!(object["status"]["storedVersions"], json!(["v1"]));
    assert_eq!(object["status"]["acceptedNames"]["listKind"], "WidgetList");
    assert_eq!(bench.get(WIDGETS).await.expect(200)["items"], json!([]));
    let catalogue = bench.api.catalogue();
    let resource = catalogue.lookup("example.com", "v1", "widgets").unwrap();
    assert_eq!(resource.short_names, ["wd"]);
}

#[tokio::test]
async fn a_definition_goes_with_its_objects() {
    let bench = Bench::with_widgets().await;
    let mut held = widget("held", &json!({}));
    held["metadata"]["finalizers"] = json!(["example.com/x"]);
    bench.post(WIDGETS, &held).await.expect(201);
    bench.post(WIDGETS, &widget("free", &json!({}))).await.expect(201);
    let crd = format!("{CRDS}/widgets.example.com");
    let going = bench.delete(&crd).await.expect(200);
    assert_eq!(going["metadata"]["finalizers"], json!(["customresourcecleanup.apiextensions.k8s.io"]));
    bench.post(WIDGETS, &widget("late", &json!({}))).await.refused(
        403,
        "widgets.example.com \"late\" is forbidden: create not allowed while custom resource definition is terminating",
    );
    bench.gone(&format!("{WIDGETS}/free")).await;
    assert_eq!(condition(&bench.get(&crd).await.json(), "Terminating")["status"], "True");
    bench.patch(&format!("{WIDGETS}/held"), "merge", &json!({"metadata": {"finalizers": null}})).await.expect(200);
    bench.gone(&crd).await;
    bench.gone(WIDGETS).await;
    // The name is free again, and so are the objects' names.
    bench.post(CRDS, &widgets()).await.expect(201);
    assert_eq!(bench.get(WIDGETS).await.expect(200)["items"], json!([]));
}

#[tokio::test]
async fn a_taken_short_name_waits_until_it_is_free() {
    let bench = Bench::with_widgets().await;
    let mut other = widgets();
    other["metadata"]["name"] = json!("gadgets.example.com");
    other["spec"]["names"] = json!({"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "shortNames": ["wd"]});
    bench.post(CRDS, &other).await.expect(201);
    let gadgets = format!("{CRDS}/gadgets.example.com");
    let waiting = bench.get(&gadgets).await.expect(200);
    assert_eq!(condition(&waiting, "NamesAccepted")["reason"], "ShortNamesConflict");
    assert_eq!(condition(&waiting, "NamesAccepted")["message"], "\"wd\" is already in use");
    assert_eq!(condition(&waiting, "Established")["reason"], "NotAccepted");
    bench.delete(&format!("{CRDS}/widgets.example.com")).await.expect(200);
    bench.gone(&format!("{CRDS}/widgets.example.com")).await;
    while condition(&bench.get(&gadgets).await.json(), "Established")["status"] != "True" {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn two_versions_show_the_same_objects() {
    let bench = Bench::new().await;
    let mut crd = widgets();
    let mut second = crd["spec"]["versions"][0].clone();
    second["name"] = json!("v2");
    second["storage"] = json!(false);
    crd["spec"]["versions"][0]["deprecated"] = json!(true);
    crd["spec"]["versions"].as_array_mut().unwrap().push(second);
    bench.post(CRDS, &crd).await.expect(201);
    let old = bench.post(WIDGETS, &widget("a", &json!({"size": 1}))).await;
    assert_eq!(old.warnings(), [r#"299 - "example.com/v1 Widget is deprecated; use example.com/v2 Widget""#]);
    old.expect(201);
    let other = WIDGETS.replace("/v1/", "/v2/");
    let seen = bench.get(&format!("{other}/a")).await.expect(200);
    assert_eq!(seen["apiVersion"], "example.com/v2");
    assert_eq!(seen["spec"]["size"], 1);
    let patched = bench.patch(&format!("{other}/a"), "merge", &json!({"spec": {"size": 2}})).await.expect(200);
    assert_eq!(patched["apiVersion"], "example.com/v2");
    assert_eq!(bench.get(&format!("{WIDGETS}/a")).await.json()["spec"]["size"], 2);
}

#[tokio::test]
async fn what_a_schema_lost_is_not_read_any_more_and_goes_with_the_next_write() {
    let bench = Bench::new().await;
    let fields = |properties: Value| json!({"type": "object", "properties": properties});
    let mut crd = widgets();
    crd["spec"]["versions"][0].as_object_mut().unwrap().remove("subresources");
    crd["spec"]["versions"][0].as_object_mut().unwrap().remove("selectableFields");
    let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec";
    *crd.pointer_mut(spec).unwrap() = fields(json!({"size": {"type": "integer"}, "color": {"type": "string"}}));
    bench.post(CRDS, &crd).await.expect(201);
    let first = bench.post(WIDGETS, &widget("a", &json!({"size": 1, "color": "red"}))).await.expect(201);
    let change = |properties: Value| json!([{"op": "replace", "path": spec, "value": fields(properties)}]);
    let definition = format!("{CRDS}/widgets.example.com");
    bench.patch(&definition, "json", &change(json!({"size": {"type": "integer"}}))).await.expect(200);
    let path = format!("{WIDGETS}/a");
    assert_eq!(bench.get(&path).await.json()["spec"], json!({"size": 1}));
    assert_eq!(bench.get(WIDGETS).await.json()["items"][0]["spec"], json!({"size": 1}));
    let both = change(json!({"size": {"type": "integer"}, "color": {"type": "string"}}));
    bench.patch(&definition, "json", &both).await.expect(200);
    assert_eq!(bench.get(&path).await.json()["spec"]["color"], "red", "nothing was written meanwhile");
    bench.patch(&definition, "json", &change(json!({"size": {"type": "integer"}}))).await.expect(200);
    let same = bench.patch(&path, "merge", &json!({"spec": {"size": 1}})).await.expect(200);
    assert_ne!(same["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"], "it is written again");
    let bench = bench.restarted().await;
    bench.patch(&definition, "json", &both).await.expect(200);
    assert_eq!(bench.get(&path).await.json()["spec"], json!({"size": 1}));
}
