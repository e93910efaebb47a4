//! Watches.

use std::time::Duration;

use http_body_util::BodyExt as _;
use netloom_store::Options;
use serde_json::{Value, json};

use super::{Bench, MAPS, WIDGETS, map, widget};
use crate::body::Body;

/// Reads a watch event by event.
struct Events {
    body: Body,
    ready: std::collections::VecDeque<Value>,
}

impl Events {
    async fn of(bench: &Bench, uri: &str) -> Self {
        Self::in_form(bench, uri, "application/json").await
    }

    async fn in_form(bench: &Bench, uri: &str, accept: &str) -> Self {
        let response = bench.send("GET", uri, &[("accept", accept)], "").await;
        assert_eq!(response.status(), 200, "{uri}");
        Self { body: response.into_body(), ready: std::collections::VecDeque::new() }
    }

    async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            let frame = self.body.frame().await?.unwrap().into_data().unwrap();
            let text = String::from_utf8(frame.to_vec()).unwrap();
            self.ready.extend(text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()));
        }
    }

    /// The next event as `TYPE name`.
    async fn reported(&mut self) -> String {
        let event = self.next().await.unwrap();
        format!("{} {}", event["type"].as_str().unwrap(), event["object"]["metadata"]["name"].as_str().unwrap_or("-"))
    }
}

#[tokio::test]
async fn what_is_there_comes_first_and_then_every_change() {
    let bench = Bench::new().await;
    bench.post(MAPS, &map("a", &json!({}))).await.expect(201);
    let mut events = Events::of(&bench, &format!("{MAPS}?watch=true")).await;
    assert_eq!(events.reported().await, "ADDED a");
    bench.post(MAPS, &map("b", &json!({}))).await.expect(201);
    assert_eq!(events.reported().await, "ADDED b");
    bench.patch(&format!("{MAPS}/b"), "merge", &json!({"data": {"x": "1"}})).await.expect(200);
    assert_eq!(events.reported().await, "MODIFIED b");
    bench.delete(&format!("{MAPS}/b")).await.expect(200);
    let gone = events.next().await.unwrap();
    assert_eq!(gone["type"], "DELETED");
    assert_eq!(gone["object"]["data"], json!({"x": "1"}));
    let revision = bench.get(MAPS).await.json()["metadata"]["resourceVersion"].clone();
    assert_eq!(gone["object"]["metadata"]["resourceVersion"], revision, "that of the removal");
}

#[tokio::test]
async fn who_reads_too_slowly_is_reported_to_start_again() {
    let short =
        Options { window: Duration::ZERO, window_events: 4, queue_events: 2, recent_events: 2, ..Options::default() };
    let bench = Bench::on(short).await;
    let mut events = Events::of(&bench, &format!("{MAPS}?watch=true")).await;
    bench.post(MAPS, &map("a", &json!({}))).await.expect(201);
    assert_eq!(events.reported().await, "ADDED a");
    for number in 0..40 {
        bench.patch(&format!("{MAPS}/a"), "merge", &json!({"data": {"x": number.to_string()}})).await.expect(200);
    }
    let reported = events.next().await.unwrap();
    assert_eq!((&reported["type"], &reported["object"]["code"]), (&json!("ERROR"), &json!(410)), "{reported}");
    assert_eq!(reported["object"]["reason"], "Expired");
    assert!(reported["object"]["message"].as_str().unwrap().starts_with("too old resource version: "), "{reported}");
    assert_eq!(events.next().await, None);
}

#[tokio::test]
async fn a_watch_goes_on_behind_a_revision() {
    let bench = Bench::with_widgets().await;
    bench.post(WIDGETS, &widget("a", &json!({}))).await.expect(201);
    let list = bench.get(WIDGETS).await.json();
    let revision = list["metadata"]["resourceVersion"].as_str().unwrap();
    bench.post(WIDGETS, &widget("b", &json!({}))).await.expect(201);
    let mut events = Events::of(&bench, &format!("{WIDGETS}?watch=true&resourceVersion={revision}")).await;
    assert_eq!(events.reported().await, "ADDED b");
}

#[tokio::test]
async fn a_selector_makes_objects_come_and_go() {
    let bench = Bench::new().await;
    let mut events = Events::of(&bench, &format!("{MAPS}?watch=true&labelSelector=x=1")).await;
    bench.post(MAPS, &map("a", &json!({}))).await.expect(201);
    let label = |value: &str| json!({"metadata": {"labels": {"x": value}}});
    bench.patch(&format!("{MAPS}/a"), "merge", &label("1")).await.expect(200);
    assert_eq!(events.reported().await, "ADDED a");
    bench.patch(&format!("{MAPS}/a"), "merge", &json!({"data": {"k": "v"}})).await.expect(200);
    assert_eq!(events.reported().await, "MODIFIED a");
    bench.patch(&format!("{MAPS}/a"), "merge", &label("2")).await.expect(200);
    let gone = events.next().await.unwrap();
    assert_eq!(gone["type"], "DELETED");
    assert_eq!(gone["object"]["metadata"]["labels"]["x"], "1", "what it was when it was last meant");
}

#[tokio::test]
async fn a_watch_of_one_name_sees_only_that_one() {
    let bench = Bench::new().await;
    for name in ["a", "b"] {
        bench.post(MAPS, &map(name, &json!({}))).await.expect(201);
    }
    let uri = format!("{MAPS}?watch=true&fieldSelector=metadata.name=b");
    let mut events = Events::of(&bench, &uri).await;
    let mut across = Events::of(&bench, "/api/v1/configmaps?watch=true&fieldSelector=metadata.name=b").await;
    for events in [&mut events, &mut across] {
        assert_eq!(events.reported().await, "ADDED b");
    }
    for name in ["a", "b"] {
        bench.delete(&format!("{MAPS}/{name}")).await.expect(200);
    }
    for events in [&mut events, &mut across] {
        assert_eq!(events.reported().await, "DELETED b");
    }
}

#[tokio::test]
async fn a_watch_list_marks_the_end_of_what_was_there() {
    let bench = Bench::new().await;
    bench.post(MAPS, &map("a", &json!({}))).await.expect(201);
    let uri =
        format!("{MAPS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true");
    let mut events = Events::of(&bench, &uri).await;
    assert_eq!(events.reported().await, "ADDED a");
    let mark = events.next().await.unwrap();
    assert_eq!(mark["type"], "BOOKMARK");
    assert_eq!(mark["object"]["kind"], "ConfigMap");
    assert_eq!(mark["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
    bench.post(MAPS, &map("b", &json!({}))).await.expect(201);
    assert_eq!(events.reported().await, "ADDED b");
}

#[tokio::test]
async fn a_place_that_is_gone_is_reported_in_the_stream() {
    let bench = Bench::new().await;
    for name in ["a", "b"] {
        bench.post(MAPS, &map(name, &json!({}))).await.expect(201);
    }
    let now = bench.api.store().revision();
    bench.api.store().compact(now).await.unwrap();
    let mut events = Events::of(&bench, &format!("{MAPS}?watch=true&resourceVersion=1")).await;
    let error = events.next().await.unwrap();
    assert_eq!(error["type"], "ERROR");
    assert_eq!(error["object"]["code"], 410);
    assert_eq!(error["object"]["reason"], "Expired");
    assert!(events.next().await.is_none());
}

#[tokio::test]
async fn a_watch_ends_in_time_with_a_bookmark_before() {
    let bench = Bench::new().await;
    let uri = format!("{MAPS}?watch=true&timeoutSeconds=3&allowWatchBookmarks=true&resourceVersion=1");
    let mut events = Events::of(&bench, &uri).await;
    assert_eq!(events.next().await.unwrap()["type"], "BOOKMARK");
    assert!(events.next().await.is_none());
}

#[tokio::test]
async fn rows_are_announced_once() {
    let bench = Bench::with_widgets().await;
    bench.post(WIDGETS, &widget("a", &json!({"size": 1}))).await.expect(201);
    let accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let mut events = Events::in_form(&bench, &format!("{WIDGETS}?watch=true"), accept).await;
    let first = events.next().await.unwrap();
    assert_eq!(first["object"]["columnDefinitions"].as_array().unwrap().len(), 2);
    bench.post(WIDGETS, &widget("b", &json!({"size": 2}))).await.expect(201);
    let second = events.next().await.unwrap();
    assert_eq!(second["object"]["rows"][0]["cells"], json!(["b", 2]));
    assert_eq!(second["object"]["columnDefinitions"], json!(null));
}

#[tokio::test]
async fn a_watch_that_fell_out_of_the_history_is_reported_so_and_closed() {
    let bench = Bench::new().await;
    let mut events = Events::of(&bench, &format!("{MAPS}?watch=true")).await;
    bench.post(MAPS, &map("a", &json!({}))).await.expect(201);
    assert_eq!(events.reported().await, "ADDED a");
    // More than are kept for one watch, and none of them is read.
    for number in 0..200 {
        let key = netloom_store::Key::new("/configmaps", "default", &format!("n{number}"));
        let change = netloom_store::Change::create(key, r#"{"metadata":{"name":"n"}}"#);
        bench.api.store().write(vec![change]).await.unwrap();
    }
    bench.api.store().compact(bench.api.store().revision()).await.unwrap();
    let last = loop {
        let event = events.next().await.unwrap();
        if event["type"] != "ADDED" {
            break event;
        }
    };
    assert_eq!((&last["type"], &last["object"]["code"]), (&json!("ERROR"), &json!(410)));
    assert_eq!(last["object"]["reason"], "Expired");
    assert_eq!(events.next().await, None);
}
