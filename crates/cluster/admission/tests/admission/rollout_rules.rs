//! Every rule of `RolloutPolicy`, with the nearest object that is taken.

use serde_json::{Value, json};

use crate::cluster::{Cluster, refusals, with};

fn policy(spec: &Value) -> Value {
    json!({"apiVersion": "netloom.dev/v1alpha1", "kind": "RolloutPolicy", "metadata": {"name": "default"}, "spec": spec})
}

#[test]
fn shares_are_at_least_one_node() {
    let cluster = Cluster::default();
    for path in ["canary.nodes", "maxUnavailable", "limits.maxAffectedNodes"] {
        let pointer = format!("/spec/{}", path.replace('.', "/"));
        let object = |value: &Value| with(&policy(&json!({})), &[(&pointer, value.clone())]);
        for taken in [json!(1), json!("1%"), json!("100%")] {
            assert_eq!(refusals(&cluster.create(&object(&taken))), [""; 0], "{path} {taken}");
        }
        for refused in [json!(0), json!("0%"), json!("101%"), json!("half"), json!("5")] {
            let wanted =
                format!("spec.{path}: Invalid value: {refused}: must be at least 1, or a percentage from 1% to 100%");
            assert_eq!(refusals(&cluster.create(&object(&refused))), [wanted]);
        }
    }
}

#[test]
fn waves_grow() {
    let waves = |waves: Value| refusals(&Cluster::default().create(&policy(&json!({"waves": waves}))));
    for taken in [json!(["5%", "25%", "50%"]), json!([1, 5, 20]), json!([5, "10%"]), json!(["100%"])] {
        assert_eq!(waves(taken), [""; 0]);
    }
    assert_eq!(
        waves(json!(["25%", "25%"])),
        [r#"spec.waves[1]: Invalid value: "25%": must be larger than the wave before it"#]
    );
    assert_eq!(waves(json!([5, 4])), ["spec.waves[1]: Invalid value: 4: must be larger than the wave before it"]);
    assert_eq!(
        waves(json!([0])),
        ["spec.waves[0]: Invalid value: 0: must be at least 1, or a percentage from 1% to 100%"]
    );
}

#[test]
fn a_pinned_revision_is_there_when_it_is_pinned() {
    let revision = json!({"apiVersion": "network.t-caas.telekom.com/v1alpha1", "kind": "NetworkConfigRevision", "metadata": {"name": "abc"}});
    let pinned = |name: &str| policy(&json!({"pinnedRevision": name}));
    let cluster = Cluster::new([revision]);
    assert_eq!(refusals(&cluster.create(&pinned("abc"))), [""; 0]);
    let wanted = [
        r#"spec.pinnedRevision: Not found: "xyz": there is no such revision; it may have been removed with the history"#,
    ];
    assert_eq!(refusals(&cluster.create(&pinned("xyz"))), wanted);
    let gone = Cluster::new([pinned("xyz")]);
    let paused = with(&pinned("xyz"), &[("/spec/paused", json!(true))]);
    assert_eq!(refusals(&gone.update(&paused)), [""; 0], "it went later");
}

#[test]
fn selectors_and_zones_are_labels() {
    let cluster = Cluster::default();
    let object = |pointer: &str, value: Value| with(&policy(&json!({})), &[(pointer, value)]);
    for path in ["nodeSelector", "canary.nodeSelector"] {
        let pointer = format!("/spec/{}", path.replace('.', "/"));
        let requirement = |operator: &str| json!({"matchExpressions": [{"key": "zone", "operator": operator}]});
        assert_eq!(refusals(&cluster.create(&object(&pointer, requirement("Exists")))), [""; 0]);
        let wanted = format!(
            "spec.{path}.matchExpressions[0].values: Required value: operators In and NotIn compare with values"
        );
        assert_eq!(refusals(&cluster.create(&object(&pointer, requirement("In")))), [wanted]);
    }
    assert_eq!(refusals(&cluster.create(&object("/spec/zoneKey", json!("topology.kubernetes.io/zone")))), [""; 0]);
    let found = refusals(&cluster.create(&object("/spec/zoneKey", json!("a b"))));
    assert!(found[0].starts_with(r#"spec.zoneKey: Invalid value: "a b": "#), "{found:?}");
}

#[test]
fn two_policies_that_cannot_be_reported_apart_are_warned_of() {
    let other = with(&policy(&json!({})), &[("/metadata/name", json!("other"))]);
    let cluster = Cluster::new([other]);
    let warnings = cluster.create(&policy(&json!({}))).warnings;
    assert_eq!(warnings, [r#""other" has the same selector and priority: for each node the first name of both wins"#]);
    assert_eq!(cluster.create(&policy(&json!({"priority": 1}))).warnings, [""; 0]);
    assert_eq!(cluster.create(&policy(&json!({"nodeSelector": {"matchLabels": {"zone": "a"}}}))).warnings, [""; 0]);
}

#[test]
fn gates_are_types_of_conditions() {
    let cluster = Cluster::default();
    let gates = |gates: Value| refusals(&cluster.create(&policy(&json!({"healthGates": gates}))));
    assert_eq!(gates(json!([])), [""; 0], "no gate");
    assert_eq!(gates(json!(["Ready", "example.com/NetworkReady"])), [""; 0]);
    let found = gates(json!(["Ready", "not ready"]));
    assert!(found[0].starts_with(r#"spec.healthGates[1]: Invalid value: "not ready": "#), "{found:?}");
}

#[test]
fn a_policy_whose_nodes_may_wait_for_longer_than_they_have_is_warned_of() {
    let cluster = Cluster::default();
    let warned = |spec: Value| cluster.create(&policy(&spec)).warnings;
    assert_eq!(warned(json!({})), [""; 0], "the defaults go together");
    assert_eq!(warned(json!({"probes": {}})), [""; 0]);
    assert_eq!(warned(json!({"timeoutSeconds": 300, "probes": {"carrierSeconds": 200}})), [""; 0]);
    let why = " seconds, and counts as failed after spec.timeoutSeconds, which are ";
    let found = warned(json!({"probes": {"carrierSeconds": 200}}));
    assert_eq!(found, [format!("a node may watch a change for 293{why}180")]);
    let found = warned(json!({"timeoutSeconds": 60}));
    assert_eq!(found, [format!("a node may watch a change for 138{why}60")], "also with nothing reported of probes");
    let quick = json!({"carrierSeconds": 0, "restartSeconds": 0, "windowSeconds": 2});
    assert_eq!(warned(json!({"timeoutSeconds": 9, "probes": quick})), [""; 0], "three windows and 3 s before");
}

#[test]
fn the_delay_before_another_attempt_does_not_shrink() {
    let cluster = Cluster::default();
    let retry = |first: u32, most: u32| {
        refusals(&cluster.create(&policy(&json!({"retry": {"firstSeconds": first, "mostSeconds": most}}))))
    };
    assert_eq!(retry(60, 60), [""; 0]);
    let found = retry(60, 59);
    assert_eq!(found, ["spec.retry.mostSeconds: Invalid value: 59: must not be less than firstSeconds"]);
}
