//! Bodies in protobuf. These happen to be text: every length is a sign of its own.

use serde_json::json;

use super::{Bench, MAPS, WIDGETS};

const PROTOBUF: [(&str, &str); 1] = [("content-type", "application/vnd.kubernetes.protobuf")];

/// A config map `a` with `k: v`.
const MAP: &str = "k8s\0\n\x0f\n\x02v1\x12\x09ConfigMap\x12\x0d\n\x03\n\x01a\x12\x06\n\x01k\x12\x01v";

#[tokio::test]
async fn objects_of_built_in_kinds_are_read() {
    let bench = Bench::with_widgets().await;
    let made = bench.raw("POST", MAPS, &PROTOBUF, MAP).await.expect(201);
    assert_eq!(made["data"], json!({ "k": "v" }));
    assert_eq!(made["metadata"]["managedFields"][0]["manager"], "tester");
    bench.raw("POST", MAPS, &PROTOBUF, MAP).await.refused(409, "configmaps \"a\" already exists");
    let secrets = MAPS.replace("configmaps", "secrets");
    bench.raw("POST", &secrets, &PROTOBUF, MAP).await.refused(
        400,
        "ConfigMap in version \"v1\" cannot be handled as a Secret: converting (v1.ConfigMap) to (core.Secret): unknown conversion",
    );
    let cut = &MAP[..MAP.len() - 1];
    bench.raw("POST", MAPS, &PROTOBUF, cut).await.refused(
        400,
        "the object provided is unrecognized (must be of type ConfigMap): unexpected EOF (6b3873000a0f0a0276311209436f6e6669674d6170120d0a030a01611206 ...)",
    );
}

#[tokio::test]
async fn custom_kinds_have_no_messages() {
    let bench = Bench::with_widgets().await;
    let refused = bench.raw("POST", WIDGETS, &PROTOBUF, MAP).await;
    assert_eq!(refused.code, 415);
    assert!(refused.message().ends_with("application/json, application/yaml"), "{}", refused.message());
}

#[tokio::test]
async fn options_of_removals_are_read() {
    let bench = Bench::with_widgets().await;
    bench.raw("POST", MAPS, &PROTOBUF, MAP).await.expect(201);
    // A removal of the object with the uid `x`, which is another one.
    let options = "k8s\0\n\x13\n\x02v1\x12\x0dDeleteOptions\x12\x05\x12\x03\n\x01x";
    let conflict = bench.raw("DELETE", &format!("{MAPS}/a"), &PROTOBUF, options).await;
    assert_eq!(conflict.code, 409, "{}", conflict.text);
    bench
        .raw("DELETE", &format!("{MAPS}/a"), &PROTOBUF, "abc")
        .await
        .refused(400, "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]");
}
