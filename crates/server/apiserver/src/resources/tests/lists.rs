//! Lists: selectors, pages, revisions, tables.

use serde_json::json;

use super::{Bench, MAPS, WIDGETS, map, widget};

async fn five() -> Bench {
    let bench = Bench::new().await;
    for name in ["a", "b", "c", "d", "e"] {
        let mut object = map(name, &json!({}));
        object["metadata"]["labels"] = json!({"even": (name == "b" || name == "d").to_string()});
        bench.post(MAPS, &object).await.expect(201);
    }
    bench
}

fn names(list: &serde_json::Value) -> Vec<&str> {
    list["items"].as_array().unwrap().iter().map(|item| item["metadata"]["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn pages_show_one_moment() {
    let bench = five().await;
    let first = bench.get(&format!("{MAPS}?limit=2")).await.expect(200);
    assert_eq!(names(&first), ["a", "b"]);
    assert_eq!(first["metadata"]["remainingItemCount"], 3);
    assert_eq!(first["items"][0].get("kind"), None, "lists of built-in kinds tell the kind once");
    bench.delete(&format!("{MAPS}/c")).await.expect(200);
    let token = first["metadata"]["continue"].as_str().unwrap();
    let second = bench.get(&format!("{MAPS}?limit=2&continue={token}")).await.expect(200);
    assert_eq!(names(&second), ["c", "d"]);
    assert_eq!(second["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
    let token = second["metadata"]["continue"].as_str().unwrap();
    let last = bench.get(&format!("{MAPS}?limit=2&continue={token}")).await.expect(200);
    assert_eq!(names(&last), ["e"]);
    assert_eq!(last["metadata"].get("continue"), None);
    bench
        .get(&format!("{MAPS}?continue={token}&resourceVersion=5"))
        .await
        .refused(400, "specifying resource version is not allowed when using continue");
    let across = bench.get("/api/v1/configmaps?limit=1").await.expect(200);
    let token = across["metadata"]["continue"].as_str().unwrap();
    assert_eq!(names(&bench.get(&format!("/api/v1/configmaps?limit=1&continue={token}")).await.json()), ["b"]);
}

#[tokio::test]
async fn an_expired_token_is_reported_with_another_one() {
    let bench = five().await;
    let first = bench.get(&format!("{MAPS}?limit=2")).await.expect(200);
    bench.delete(&format!("{MAPS}/c")).await.expect(200);
    bench.api.store().compact(bench.api.store().revision()).await.unwrap();
    let token = first["metadata"]["continue"].as_str().unwrap();
    let answer = bench.get(&format!("{MAPS}?limit=2&continue={token}")).await;
    assert_eq!(answer.code, 410);
    let status = answer.json();
    assert_eq!(status["reason"], "Expired");
    let token = status["metadata"]["continue"].as_str().unwrap();
    let rest = bench.get(&format!("{MAPS}?limit=9&continue={token}")).await.expect(200);
    assert_eq!(names(&rest), ["d", "e"]);
}

#[tokio::test]
async fn a_revision_is_met_exactly_or_at_least() {
    let bench = five().await;
    let before = bench.get(MAPS).await.expect(200);
    let revision = before["metadata"]["resourceVersion"].as_str().unwrap();
    bench.delete(&format!("{MAPS}/a")).await.expect(200);
    let exact = bench.get(&format!("{MAPS}?resourceVersion={revision}&resourceVersionMatch=Exact")).await.expect(200);
    assert_eq!(names(&exact).len(), 5);
    let newer = bench.get(&format!("{MAPS}?resourceVersion={revision}&resourceVersionMatch=NotOlderThan")).await;
    assert_eq!(names(&newer.expect(200)).len(), 4);
    assert_eq!(bench.get(&format!("{MAPS}?resourceVersion=abc")).await.code, 400);
    assert_eq!(bench.get(&format!("{MAPS}?resourceVersionMatch=Exact")).await.code, 422);
}

#[tokio::test]
async fn labels_and_fields_select() {
    let bench = five().await;
    let even = bench.get(&format!("{MAPS}?labelSelector=even%3Dtrue&limit=1")).await.expect(200);
    assert_eq!(names(&even), ["b"]);
    assert_eq!(even["metadata"].get("remainingItemCount"), None);
    let one = bench.get("/api/v1/configmaps?fieldSelector=metadata.name=c").await.expect(200);
    assert_eq!(names(&one), ["c"]);
    let bench = Bench::with_widgets().await;
    bench.post(WIDGETS, &widget("a", &json!({"color": "blue"}))).await.expect(201);
    bench.post(WIDGETS, &widget("b", &json!({}))).await.expect(201);
    let red = bench.get(&format!("{WIDGETS}?fieldSelector=spec.color=red")).await.expect(200);
    assert_eq!(names(&red), ["b"]);
    assert_eq!(red["kind"], "WidgetList");
    assert_eq!(red["items"][0]["kind"], "Widget");
}

#[tokio::test]
async fn a_long_list_is_whole() {
    let bench = Bench::new().await;
    let posts = (0..1201).map(|at| {
        let bench = &bench;
        async move { bench.post(MAPS, &map(&format!("m{at:05}"), &json!({}))).await.expect(201) }
    });
    let mut set = Vec::new();
    for post in posts {
        set.push(post);
    }
    // In groups, so that they share commits.
    for post in set {
        post.await;
    }
    let list = bench.get(MAPS).await.expect(200);
    let names = names(&list);
    assert_eq!(names.len(), 1201);
    assert!(names.is_sorted());
}

#[tokio::test]
async fn tables_have_rows_for_people() {
    let bench = Bench::with_widgets().await;
    bench.post(WIDGETS, &widget("a", &json!({"size": 7}))).await.expect(201);
    let accept = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json")];
    let table = bench.raw("GET", WIDGETS, &accept, "").await.expect(200);
    assert_eq!(table["kind"], "Table");
    let columns: Vec<&str> =
        table["columnDefinitions"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
    assert_eq!(columns, ["Name", "Size"]);
    assert_eq!(table["rows"][0]["cells"], json!(["a", 7]));
    assert_eq!(table["rows"][0]["object"]["kind"], "PartialObjectMetadata");
    let bare = bench.raw("GET", &format!("{WIDGETS}?includeObject=None"), &accept, "").await.expect(200);
    assert_eq!(bare["rows"][0]["object"], json!(null));
    assert_eq!(bench.raw("GET", &format!("{WIDGETS}?includeObject=x"), &accept, "").await.code, 400);
    let one = bench.raw("GET", &format!("{WIDGETS}/a"), &accept, "").await.expect(200);
    assert_eq!(one["rows"].as_array().unwrap().len(), 1);
    let maps = bench.raw("GET", "/api/v1/namespaces", &accept, "").await.expect(200);
    assert_eq!(maps["rows"].as_array().unwrap().len(), 4);
}

#[tokio::test]
async fn a_list_that_finds_little_in_much_lets_others_have_their_turn() {
    let bench = Bench::new().await;
    let changes = (0..3_000).map(|number| {
        let key = netloom_store::Key::new("/configmaps", "default", &format!("n{number}"));
        netloom_store::Change::create(key, format!(r#"{{"metadata":{{"name":"n{number}"}}}}"#))
    });
    bench.api.store().write(changes.collect()).await.unwrap();
    let write_slots = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = write_slots.clone();
    let other = tokio::spawn(async move {
        loop {
            counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            tokio::task::yield_now().await;
        }
    });
    tokio::task::yield_now().await;
    for query in ["labelSelector=x%3Dy&limit=1", "labelSelector=x%3Dy", "labelSelector=x%3Dy&pretty=true"] {
        let before = write_slots.load(std::sync::atomic::Ordering::Relaxed);
        let found = bench.get(&format!("{MAPS}?{query}")).await.expect(200);
        assert_eq!(names(&found), [""; 0]);
        let had = write_slots.load(std::sync::atomic::Ordering::Relaxed) - before;
        assert!(had >= 4, "{query}: another task had {had} turns during six chunks");
    }
    other.abort();
}
