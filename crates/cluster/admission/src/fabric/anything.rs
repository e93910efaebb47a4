//! Whatever JSON comes in, rules and indexes answer; they never panic.

use std::{collections::BTreeSet, sync::LazyLock};

use netloom_api::{GroupKind, fabric::GROUP, fields, kinds};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::{Objects, Operation, Review, User, review};

/// The names of all fields, so that what is generated reaches deep into the rules.
static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let own = kinds().iter().filter(|kind| kind.group == GROUP);
    let paths = own.flat_map(|kind| fields::of(&kind.schema())).map(|field| field.path);
    let last =
        |path: String| path.rsplit('.').next().map(|name| name.trim_end_matches(['[', ']', '{', '}']).to_owned());
    let names: BTreeSet<String> = paths.filter_map(last).collect();
    names.into_iter().collect()
});

fn any_value() -> impl Strategy<Value = Value> {
    const TEXTS: [&str; 16] = [
        "",
        "o",
        "0.0.0.0/0",
        "::/0",
        "10.0.0.1/32",
        "10.0.0.0/8",
        "2001:db8::1",
        "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128",
        "255.255.255.255",
        "64500:1",
        "99999999999h",
        "1.7976931348623157e309s",
        "vlan.1",
        "In",
        "VRF",
        "é/:\u{0}",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        prop_oneof![Just(0), Just(1), Just(-1), Just(4094), Just(i64::MAX), any::<i64>()].prop_map(Value::from),
        Just(json!(u64::MAX)),
        proptest::sample::select(TEXTS.to_vec()).prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 64, 6, |inner| {
        let field = proptest::sample::select(NAMES.as_slice());
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((field, inner), 0..6)
                .prop_map(|fields| Value::from(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn every_review_comes_to_an_end(one in any_value(), two in any_value(), labels in any_value()) {
        let user = User::new("anybody", &[]);
        let stored: Vec<Value> = kinds().iter().filter(|kind| kind.group == GROUP).map(|kind| {
            json!({"apiVersion": kind.api_version(), "kind": kind.kind, "metadata": {"name": "other", "labels": labels}, "spec": one, "status": two})
        }).collect();
        for kind in kinds().iter().filter(|kind| kind.group == GROUP) {
            let object = |spec: &Value| json!({"apiVersion": kind.api_version(), "kind": kind.kind, "metadata": {"name": "o", "labels": labels}, "spec": spec, "status": two});
            let (old, new) = (object(&one), object(&two));
            let mut view: Objects = stored.iter().cloned().collect();
            view.put(old.clone());
            for (operation, object, old) in [
                (Operation::Create, Some(&new), None),
                (Operation::Update, Some(&new), Some(&old)),
                (Operation::Delete, None, Some(&old)),
            ] {
                review(&Review { operation, kind: GroupKind::new(GROUP, kind.kind), namespace: None, name: "o", subresource: None, object, old, user: &user, dry_run: false, view: &view });
            }
        }
    }
}
