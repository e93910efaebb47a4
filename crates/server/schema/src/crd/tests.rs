//! Definitions, accepted and refused.

use serde_json::{Value, json};

use super::*;

fn widget() -> Value {
    let mut crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.dev"},
        "spec": {
            "group": "example.dev",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {"size": {"type": "integer"}, "color": {"type": "string"}}},
                    "status": {"type": "object", "properties": {"size": {"type": "integer"}}},
                }}},
                "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}},
                "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
                "selectableFields": [{"jsonPath": ".spec.color"}],
            }],
        },
    });
    default_crd(&mut crd);
    crd
}

fn reported(change: impl FnOnce(&mut Value)) -> Vec<String> {
    let mut crd = widget();
    change(&mut crd);
    parse(&crd).err().unwrap_or_default().iter().map(ToString::to_string).collect()
}

#[test]
fn a_definition_is_filled_in_and_read() {
    let crd = widget();
    assert_eq!(crd["spec"]["names"]["listKind"], "WidgetList");
    assert_eq!(crd["status"]["storedVersions"], json!(["v1"]));
    assert_eq!(crd["spec"]["conversion"], json!({"strategy": "None"}));
    let definition = parse(&crd).unwrap();
    assert_eq!(definition.names.singular, "widget");
    assert_eq!(definition.scope, Scope::Namespaced);
    let version = definition.storage().unwrap();
    assert!(version.status);
    assert_eq!(version.scale.as_ref().unwrap().spec_replicas, ".spec.size");
    assert_eq!(version.columns.len(), 1);
    assert_eq!(version.selectable, [".spec.color"]);
}

#[test]
fn every_rule_has_its_words() {
    let set = |pointer: &'static str, value: Value| move |crd: &mut Value| *crd.pointer_mut(pointer).unwrap() = value;
    let table = [
        (
            reported(set("/metadata/name", json!("x.example.dev"))),
            "metadata.name: Invalid value: \"x.example.dev\": must be spec.names.plural+\".\"+spec.group",
        ),
        (
            reported(set("/spec/scope", json!("Galaxy"))),
            "spec.scope: Unsupported value: \"Galaxy\": supported values: \"Cluster\", \"Namespaced\"",
        ),
        (
            reported(set("/spec/names/listKind", json!("Widget"))),
            "spec.names.listKind: Invalid value: \"Widget\": kind and listKind may not be the same",
        ),
        (
            reported(set("/spec/versions/0/subresources/scale/specReplicasPath", json!(".status.x"))),
            "spec.subresources.scale.specReplicasPath: Invalid value: \".status.x\": should be a json path under .spec",
        ),
        (
            reported(set("/spec/versions/0/additionalPrinterColumns/0/type", json!("text"))),
            "spec.additionalPrinterColumns[0].type: Invalid value: \"text\": must be one of boolean,date,integer,number,string",
        ),
        (
            reported(set("/spec/versions/0/additionalPrinterColumns/0/jsonPath", json!("spec"))),
            "spec.additionalPrinterColumns[0].JSONPath: Invalid value: \"spec\": must be a simple json path starting with .",
        ),
        (
            reported(set("/spec/versions/0/selectableFields/0/jsonPath", json!(".spec.none"))),
            "spec.selectableFields[0].jsonPath: Invalid value: \".spec.none\": is an invalid path: does not refer to a valid field",
        ),
        (
            reported(set("/spec/versions/0/selectableFields/0/jsonPath", json!(".spec"))),
            "spec.selectableFields[0].jsonPath: Invalid value: \".spec\": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.",
        ),
        (
            reported(set("/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/size", json!({}))),
            "spec.validation.openAPIV3Schema.properties[spec].properties[size].type: Required value: must not be empty for specified object fields",
        ),
        (
            reported(set("/spec/versions/0/schema", json!({}))),
            "spec.versions[0].schema.openAPIV3Schema: Required value",
        ),
        (
            reported(set("/spec/conversion/strategy", json!("Magic"))),
            "spec.conversion.strategy: Unsupported value: \"Magic\": supported values: \"None\", \"Webhook\"",
        ),
        (
            reported(set("/status/storedVersions", json!([]))),
            "status.storedVersions: Invalid value: null: must have at least one stored version",
        ),
        (
            reported(|crd| crd["spec"]["preserveUnknownFields"] = json!(true)),
            "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
        ),
        (
            reported(|crd| crd["spec"]["versions"][0]["deprecationWarning"] = json!("x")),
            "spec.versions[0].deprecationWarning: Invalid value: \"x\": can only be set for deprecated versions",
        ),
    ];
    for (reported, message) in table {
        assert!(reported.iter().any(|s| s == message), "{message}\n{reported:#?}");
    }
}

#[test]
fn one_version_is_stored_and_names_are_unique() {
    let reported = reported(|crd| {
        let mut second = crd["spec"]["versions"][0].clone();
        second["storage"] = json!(true);
        crd["spec"]["versions"].as_array_mut().unwrap().push(second);
    });
    assert_eq!(reported.len(), 3);
    assert!(reported[0].ends_with("must contain unique version names"), "{reported:?}");
    assert!(reported[1].starts_with("spec.versions: Invalid value: [{\"Name\":\"v1\",\"Served\":true,\"Storage\":true,\"Deprecated\":false,\"DeprecationWarning\":null,\"Schema\":null,"), "{reported:?}");
    assert!(reported[1].ends_with("must have exactly one version marked as storage version"), "{reported:?}");
}

#[test]
fn versions_that_differ_are_named() {
    let reported = reported(|crd| {
        let mut second = crd["spec"]["versions"][0].clone();
        second["name"] = json!("v2");
        second["storage"] = json!(false);
        second["schema"]["openAPIV3Schema"]["properties"]["spec"] = json!({"type": "nothing"});
        crd["spec"]["versions"].as_array_mut().unwrap().push(second);
    });
    assert!(
        reported
            .iter()
            .any(|s| s.starts_with("spec.versions[1].schema.openAPIV3Schema.properties[spec].type: Unsupported value")),
        "{reported:?}"
    );
}

#[test]
fn what_is_established_keeps_its_kind() {
    let mut old = widget();
    old["metadata"]["resourceVersion"] = json!("1");
    old["status"]["conditions"] = json!([{"type": "Established", "status": "True"}]);
    let mut new = old.clone();
    assert_eq!(check_update(&new, &old, &NoRules), []);
    new["spec"]["names"]["kind"] = json!("Gadget");
    new["spec"]["scope"] = json!("Cluster");
    let reported: Vec<String> = check_update(&new, &old, &NoRules).iter().map(ToString::to_string).collect();
    assert_eq!(
        reported,
        [
            "spec.scope: Invalid value: \"Cluster\": field is immutable",
            "spec.names.kind: Invalid value: \"Gadget\": field is immutable",
        ]
    );
}

#[test]
fn protected_groups_need_approval() {
    let reported = reported(|crd| {
        crd["spec"]["group"] = json!("x.k8s.io");
        crd["metadata"]["name"] = json!("widgets.x.k8s.io");
    });
    assert_eq!(
        reported,
        [
            "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation \"api-approved.kubernetes.io\", see https://github.com/kubernetes/enhancements/pull/1111"
        ]
    );
}

#[test]
fn scale_needs_whole_numbers() {
    let definition = parse(&widget()).unwrap();
    let paths = definition.storage().unwrap().scale.clone().unwrap();
    let reported = |object: Value| check_scale(&paths, &object).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(reported(json!({"spec": {"size": 2}})), Vec::<String>::new());
    assert_eq!(
        reported(json!({"spec": {"size": -2}})),
        [".spec.size: Invalid value: -2: should be a non-negative integer"]
    );
    assert_eq!(
        reported(json!({"spec": {"size": "x"}})),
        [".spec.size: Invalid value: 0: .spec.size accessor error: x is of the type string, expected int64"]
    );
}
