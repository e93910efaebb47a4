//! Every rule of `NodeNetworkState` and `NodeNetConfPolicy`, with the nearest object that is taken.

use serde_json::{Value, json};

use crate::cluster::{Cluster, refusals, with};

fn state(document: &Value) -> Value {
    json!({
        "apiVersion": "nmstate.io/v1", "kind": "NodeNetworkState", "metadata": {"name": "n1", "namespace": "default"},
        "spec": {"managed": true, "nodeName": "n1", "desiredState": document},
    })
}

fn policy() -> Value {
    json!({
        "apiVersion": "nmstate.io/v1", "kind": "NodeNetConfPolicy", "metadata": {"name": "p", "namespace": "default"},
        "spec": {
            "matchRules": [{"name": "eth*"}],
            "desiredState": {"interfaces": [{"name": "eth1", "type": "ethernet", "state": "up"}]},
        },
    })
}

fn vlan(id: &Value) -> Value {
    json!({"interfaces": [
        {"name": "eth1", "type": "ethernet", "state": "up"},
        {"name": "eth1.7", "type": "vlan", "state": "up", "vlan": {"base-iface": "eth1", "id": id}},
    ]})
}

#[test]
fn the_desired_state_is_read_like_on_the_node() {
    let cluster = Cluster::default();
    for taken in [json!({}), json!({"interfaces": []}), vlan(&json!(7)), vlan(&json!(4094))] {
        assert_eq!(refusals(&cluster.create(&state(&taken))), [""; 0], "{taken}");
    }
    let old_spelling = json!({"interfaces": [{"name": "eth1.7", "type": "vlan", "state": "up", "vlanID": 7, "vlanbase": "eth1", "macAddress": "02:00:00:00:00:01"}]});
    assert_eq!(refusals(&cluster.create(&state(&old_spelling))), [""; 0]);

    let first = |document: Value| refusals(&cluster.create(&state(&document))).first().cloned().unwrap_or_default();
    let found = first(vlan(&json!(4095)));
    assert!(found.starts_with("spec.desiredState.interfaces[1].vlan.id: Invalid value: 4095: "), "{found}");
    let found = first(json!({"interfaces": [{"name": "eth1", "mtoo": 1500}]}));
    assert!(found.starts_with("spec.desiredState.interfaces[0].mtoo: Forbidden: "), "{found}");
    let found = first(json!({"interfaces": [{"type": "ethernet"}]}));
    assert!(found.starts_with("spec.desiredState.interfaces[0]"), "{found}");
    assert!(found.contains("Required value"), "{found}");
    let found = first(json!({"interfaces": [{"name": "a"}, {"name": "a"}]}));
    assert!(found.contains("Duplicate value"), "{found}");
    let found = first(json!({"interfaces": "all"}));
    assert!(found.starts_with(r#"spec.desiredState.interfaces: Invalid value: "all": "#), "{found}");
    let found = first(json!({"ovs-db": {}}));
    assert!(found.starts_with("spec.desiredState.ovs-db: Forbidden: "), "{found}");
}

#[test]
fn all_that_is_wrong_with_a_document_is_given_together() {
    let document = json!({"interfaces": [{"name": "eth1", "mtu": -1}, {"name": "a name that is too long"}]});
    assert_eq!(refusals(&Cluster::default().create(&state(&document))).len(), 2);
}

#[test]
fn names_that_differ_and_second_objects_are_warned_of() {
    let own = state(&json!({}));
    assert_eq!(Cluster::default().create(&own).warnings, [""; 0]);
    let other = with(&own, &[("/metadata/name", json!("other"))]);
    let named = r#"the object is called "other" and applies to node "n1": spec.nodeName decides"#;
    let verdict = Cluster::default().create(&other);
    assert!(verdict.is_allowed());
    assert_eq!(verdict.warnings, [named]);
    let verdict = Cluster::new([own.clone()]).create(&other);
    assert!(verdict.is_allowed());
    assert_eq!(
        verdict.warnings,
        [named, r#""n1" is for node "n1" too: only the object that is called like the node takes effect"#]
    );
    assert_eq!(Cluster::new([own.clone()]).update(&own).warnings, [""; 0], "it is not its own rival");
}

#[test]
fn a_policy_says_which_interfaces_it_is_for() {
    let rules = |rules: Value| with(&policy(), &[("/spec/matchRules", rules)]);
    let rows: &[(Value, &[&str])] = &[
        (json!([{"name": "eth*"}]), &[]),
        (json!([{"type": "vlan", "vlanID": 7}]), &[]),
        (json!([{"lldp": {"vlanIDList": [1, 4094]}}]), &[]),
        (
            json!([]),
            &["spec.matchRules: Required value: at least one rule must say which interfaces the policy is for"],
        ),
        (
            json!([{"name": ""}]),
            &[r#"spec.matchRules[0].name: Invalid value: "": must not be empty; leave it out to match every name"#],
        ),
        (
            json!([{"name": "eth 1"}]),
            &[r#"spec.matchRules[0].name: Invalid value: "eth 1": the name of a link has no space, slash or colon"#],
        ),
        (json!([{"name": "abcdefghijklmno"}]), &[]),
        (
            json!([{"name": "abcdefghijklmnop"}]),
            &[
                r#"spec.matchRules[0].name: Invalid value: "abcdefghijklmnop": the name of a link has at most 15 bytes, so this matches none"#,
            ],
        ),
        (json!([{"vlanID": 0}]), &["spec.matchRules[0].vlanID: Invalid value: 0: must be from 1 to 4094"]),
        (
            json!([{"name": "x"}, {"vlanID": 4095}]),
            &["spec.matchRules[1].vlanID: Invalid value: 4095: must be from 1 to 4094"],
        ),
        (
            json!([{"lldp": {"vlanIDList": [1, 4095]}}]),
            &["spec.matchRules[0].lldp.vlanIDList[1]: Invalid value: 4095: must be from 1 to 4094"],
        ),
        (
            json!([{"type": "bond", "vlanID": 7}]),
            &[
                r#"spec.matchRules[0].type: Invalid value: "bond": only an interface of type vlan has the vlanID that the rule asks for"#,
            ],
        ),
    ];
    for (value, wanted) in rows {
        assert_eq!(refusals(&Cluster::default().create(&rules(value.clone()))), *wanted, "{value}");
    }
    let warnings = |value: Value| Cluster::default().create(&rules(value)).warnings;
    assert_eq!(warnings(json!([{"type": "ethernet"}])), [""; 0]);
    assert!(
        warnings(json!([{"type": "ethernt"}]))[0]
            .starts_with(r#"spec.matchRules[0].type: no node of ours reports the type "ethernt""#)
    );
    assert_eq!(warnings(json!([{}])), ["spec.matchRules[0] asks for nothing, so it matches every interface"]);
}

#[test]
fn a_policy_has_a_desired_state_or_finds_it_out() {
    let cluster = Cluster::default();
    let auto = |auto: Value| with(&policy(), &[("/spec/desiredState", Value::Null), ("/spec/autoconfig", auto)]);
    assert_eq!(refusals(&cluster.create(&auto(json!({"autoBonding": true})))), [""; 0]);
    let both = with(&policy(), &[("/spec/autoconfig", json!({"autoVlan": true}))]);
    let wanted = ["spec.autoconfig: Forbidden: excludes spec.desiredState: a policy has one of them"];
    assert_eq!(refusals(&cluster.create(&both)), wanted);
    let idle = cluster.create(&auto(json!({})));
    assert_eq!(idle.warnings, ["spec.autoconfig switches nothing on, so the policy changes nothing"]);
    let empty = cluster.create(&with(&policy(), &[("/spec/desiredState", Value::Null)]));
    assert!(idle.is_allowed() && empty.is_allowed());
    assert_eq!(
        empty.warnings,
        ["neither spec.autoconfig nor spec.desiredState is given, so the policy changes nothing"]
    );
}

#[test]
fn the_desired_state_of_a_policy_may_have_templates() {
    let desired = |interfaces: Value| with(&policy(), &[("/spec/desiredState", json!({"interfaces": interfaces}))]);
    let cluster = Cluster::default();
    for taken in [
        json!([{"name": "*", "mtu": 9000}]),
        json!([{"name": "", "mtu": 9000}]),
        json!([{"mtu": 9000}]),
        json!([{"mtu": 9000}, {"name": "eth1", "mtu": 1500}]),
    ] {
        assert_eq!(refusals(&cluster.create(&desired(taken.clone()))), [""; 0], "{taken}");
    }
    let found = refusals(&cluster.create(&desired(json!([{"mtu": "large"}]))));
    assert!(found[0].starts_with(r#"spec.desiredState.interfaces[0].mtu: Invalid value: "large": "#), "{found:?}");
    let found = refusals(&cluster.create(&desired(json!([{"mtu": 9000}, {"name": "*", "mtu": 1500}]))));
    assert!(found[0].contains("Duplicate value"), "{found:?}");
}

#[test]
fn affinity_is_as_for_pods() {
    const PATH: &str = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    let terms = |terms: Value| {
        with(
            &policy(),
            &[(
                "/spec/affinity",
                json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}),
            )],
        )
    };
    let expression = |expression: Value| json!([{"matchExpressions": [expression]}]);
    let fields = |field: Value| json!([{"matchFields": [field]}]);
    let rows: &[(Value, Option<String>)] = &[
        (expression(json!({"key": "zone", "operator": "In", "values": ["a"]})), None),
        (expression(json!({"key": "zone", "operator": "Exists"})), None),
        (expression(json!({"key": "cores", "operator": "Gt", "values": ["8"]})), None),
        (fields(json!({"key": "metadata.name", "operator": "In", "values": ["n1"]})), None),
        (json!([]), Some(format!("{PATH}: Required value: at least one term must select nodes"))),
        (
            expression(json!({"key": "zone", "operator": "In"})),
            Some(format!(
                "{PATH}[0].matchExpressions[0].values: Required value: operators In and NotIn compare with values"
            )),
        ),
        (
            expression(json!({"key": "zone", "operator": "Exists", "values": ["a"]})),
            Some(format!(
                "{PATH}[0].matchExpressions[0].values: Forbidden: operators Exists and DoesNotExist compare with nothing"
            )),
        ),
        (
            expression(json!({"key": "cores", "operator": "Gt", "values": ["8", "9"]})),
            Some(format!(
                "{PATH}[0].matchExpressions[0].values: Required value: operators Gt and Lt compare with exactly one number"
            )),
        ),
        (
            expression(json!({"key": "cores", "operator": "Lt", "values": ["few"]})),
            Some(format!(
                "{PATH}[0].matchExpressions[0].values[0]: Invalid value: \"few\": operators Gt and Lt compare with a whole number"
            )),
        ),
        (
            expression(json!({"key": "zone", "operator": "Near"})),
            Some(format!(
                "{PATH}[0].matchExpressions[0].operator: Unsupported value: \"Near\": supported values: \"In\", \"NotIn\", \"Exists\", \"DoesNotExist\", \"Gt\", \"Lt\""
            )),
        ),
        (
            fields(json!({"key": "metadata.uid", "operator": "In", "values": ["x"]})),
            Some(format!(
                "{PATH}[0].matchFields[0].key: Unsupported value: \"metadata.uid\": supported values: \"metadata.name\""
            )),
        ),
        (
            fields(json!({"key": "metadata.name", "operator": "Exists"})),
            Some(format!(
                "{PATH}[0].matchFields[0].operator: Unsupported value: \"Exists\": supported values: \"In\", \"NotIn\""
            )),
        ),
        (
            fields(json!({"key": "metadata.name", "operator": "In", "values": []})),
            Some(format!("{PATH}[0].matchFields[0].values: Required value: must be one name")),
        ),
    ];
    for (value, wanted) in rows {
        assert_eq!(
            refusals(&Cluster::default().create(&terms(value.clone()))),
            wanted.iter().cloned().collect::<Vec<_>>(),
            "{value}"
        );
    }
    let found = refusals(&Cluster::default().create(&terms(expression(json!({"key": "a b", "operator": "Exists"})))));
    assert!(found[0].starts_with(&format!("{PATH}[0].matchExpressions[0].key: Invalid value: \"a b\": ")), "{found:?}");
}

#[test]
fn affinity_that_means_nothing_is_warned_of() {
    let affinity = |value: Value| Cluster::default().create(&with(&policy(), &[("/spec/affinity", value)]));
    let nodes = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]}}});
    assert_eq!(affinity(nodes).warnings, [""; 0]);
    let verdict = affinity(json!({
        "podAffinity": {},
        "podAntiAffinity": {},
        "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {}}]},
    }));
    assert!(verdict.is_allowed());
    assert_eq!(
        verdict.warnings,
        [
            "spec.affinity.podAffinity means nothing here: a policy selects nodes, not places for pods",
            "spec.affinity.podAntiAffinity means nothing here: a policy selects nodes, not places for pods",
            "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution means nothing here: a node is selected or it is not",
        ]
    );
}

#[test]
fn tolerations_are_as_for_pods() {
    let rows: &[(Value, &[&str])] = &[
        (json!({"key": "gpu", "operator": "Equal", "value": "yes", "effect": "NoSchedule"}), &[]),
        (json!({"operator": "Exists"}), &[]),
        (json!({"key": "gpu", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}), &[]),
        (
            json!({"value": "x"}),
            &[
                r#"spec.tolerations[0].operator: Invalid value: "Equal": must be Exists when no key is given, which tolerates every taint"#,
            ],
        ),
        (
            json!({"key": "gpu", "operator": "Exists", "value": "x"}),
            &[r#"spec.tolerations[0].value: Invalid value: "x": must be empty when the operator is Exists"#],
        ),
        (
            json!({"key": "gpu", "operator": "Maybe"}),
            &[r#"spec.tolerations[0].operator: Unsupported value: "Maybe": supported values: "Equal", "Exists""#],
        ),
        (
            json!({"key": "gpu", "effect": "Never"}),
            &[
                r#"spec.tolerations[0].effect: Unsupported value: "Never": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute""#,
            ],
        ),
        (
            json!({"key": "gpu", "effect": "NoSchedule", "tolerationSeconds": 5}),
            &[
                r#"spec.tolerations[0].effect: Invalid value: "NoSchedule": must be NoExecute when tolerationSeconds is set"#,
            ],
        ),
    ];
    for (value, wanted) in rows {
        let object = with(&policy(), &[("/spec/tolerations", json!([value]))]);
        assert_eq!(refusals(&Cluster::default().create(&object)), *wanted, "{value}");
    }
}
