//! Questions of any form: answered or refused in words, and never read otherwise than they are written.

use std::path::PathBuf;

use http::{HeaderMap, HeaderValue, header::AUTHORIZATION};
use netloom_store::{Change, Options, switch::Switch};
use proptest::prelude::*;

use super::*;
use crate::{
    builtin::shape,
    ca::Authority,
    identity::Certificates,
    request::{Query, Verb},
    tokens::Tokens,
};

/// Everything that an answer is made of, in a folder that goes with it.
struct Scene {
    folder: PathBuf,
    store: Store,
    switch: Switch,
    access: Access,
    authenticator: Authenticator,
    user: User,
}

impl Scene {
    fn open(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("netloom-reviews-{name}-{}", std::process::id()));
        drop(std::fs::remove_dir_all(&folder));
        std::fs::create_dir_all(&folder).unwrap();
        let now = Timestamp::UNIX_EPOCH;
        let authority = Authority::open(&folder, now).unwrap();
        let certificates = Certificates::of(authority.certificate_der().unwrap()).unwrap();
        let (store, switch) = netloom_store::switch::open(&folder.join("store"), Options::default()).unwrap();
        let access = Access::open(store.clone()).unwrap();
        let authenticator = Authenticator::new(certificates, Tokens::open(&folder, [7; 32]).unwrap(), store.clone());
        Self { folder, store, switch, access, authenticator, user: User::new("somebody", &["system:masters"]) }
    }

    fn by(&self) -> Witnesses<'_> {
        let Self { user, access, authenticator, .. } = self;
        Witnesses { user, access, authenticator, now: Timestamp::UNIX_EPOCH }
    }

    fn token(&self, request: Value) -> Result<Value, Status> {
        let info = RequestInfo {
            verb: Verb::Create,
            group: String::new(),
            version: "v1".to_owned(),
            resource: "serviceaccounts".to_owned(),
            namespace: Some("default".to_owned()),
            name: Some("robot".to_owned()),
            subresource: Some("token".to_owned()),
            query: Query::parse(""),
        };
        issue_token(&self.store, &info, request, "1", &self.by())
    }

    async fn with_account(self) -> Self {
        let account = json!({"metadata": {"name": "robot", "namespace": "default", "uid": "u"}}).to_string();
        let key = Key::new("/serviceaccounts", "default", "robot");
        self.store.write(vec![Change::create(key, account.into_bytes())]).await.unwrap();
        self
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

/// Any JSON, with the words of questions as keys so that it gets deep into them.
fn anything() -> impl Strategy<Value = Value> {
    let key = prop::sample::select(vec![
        "apiVersion",
        "kind",
        "metadata",
        "spec",
        "status",
        "audiences",
        "expirationSeconds",
        "boundObjectRef",
        "token",
        "resourceAttributes",
        "nonResourceAttributes",
        "namespace",
        "name",
        "verb",
        "path",
        "user",
        "groups",
        "uid",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        "[a-zP]{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key.clone().prop_map(str::to_owned), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

#[tokio::test]
async fn every_question_is_answered_or_refused() {
    let scene = Scene::open("any").with_account().await;
    let config = ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let tried = runner.run(&(anything(), anything(), any::<bool>()), |(whole, spec, inside)| {
        let question = if inside { json!({ "spec": spec }) } else { whole };
        for review in Review::ALL {
            let namespace = review.namespaced().then_some("default");
            if let Err(status) = review.answer(question.clone(), namespace, &scene.by()) {
                prop_assert!((400..500).contains(&status.code()), "{status}");
            }
        }
        if let Err(status) = scene.token(question) {
            prop_assert!((400..500).contains(&status.code()), "{status}");
        }
        Ok(())
    });
    tried.unwrap();
}

#[tokio::test]
async fn what_has_another_type_is_refused_and_not_left_out() {
    let scene = Scene::open("types").with_account().await;
    for (spec, expected) in [
        (json!("x"), "cannot unmarshal string into Go struct field TokenRequest.spec of type v1.TokenRequestSpec"),
        (json!(["x"]), "cannot unmarshal array into Go struct field TokenRequest.spec of type v1.TokenRequestSpec"),
        (json!({"expirationSeconds": "60"}), "field TokenRequestSpec.spec.expirationSeconds of type int64"),
        (json!({"expirationSeconds": u64::MAX}), "cannot unmarshal number 18446744073709551615"),
        (json!({"audiences": ["a", 5]}), "field TokenRequestSpec.spec.audiences of type string"),
        (json!({"boundObjectRef": {"kind": 1}}), "field BoundObjectRef.spec.boundObjectRef.kind of type string"),
    ] {
        let refused = scene.token(json!({ "spec": spec })).unwrap_err();
        assert_eq!(refused.code(), 400, "{spec}: {refused}");
        assert!(refused.message().contains(expected), "{spec}: {refused}");
        let prefix = "TokenRequest in version \"v1\" cannot be handled as a TokenRequest: json: ";
        assert!(refused.message().starts_with(prefix), "{refused}");
    }
    for (review, spec, field) in [
        (Review::Access, json!({"user": "u", "resourceAttributes": {"namespace": 5}}), "resourceAttributes.namespace"),
        (Review::Access, json!({"user": "u", "groups": "g", "resourceAttributes": {}}), "spec.groups"),
        (Review::SelfAccess, json!({"nonResourceAttributes": {"path": ["/"]}}), "nonResourceAttributes.path"),
        (Review::SelfRules, json!({"namespace": {}}), "spec.namespace"),
        (Review::Token, json!({"token": 1}), "spec.token"),
    ] {
        let refused = review.answer(json!({ "spec": spec }), None, &scene.by()).unwrap_err();
        assert_eq!(refused.code(), 400, "{spec}: {refused}");
        assert!(refused.message().contains(field), "{spec}: {refused}");
    }
    let made = scene.token(json!({"spec": {"expirationSeconds": 700, "more": 1}})).unwrap();
    assert_eq!(made["spec"], json!({"audiences": [AUDIENCE], "expirationSeconds": 700}));
}

#[test]
fn every_kind_has_a_definition() {
    for review in Review::ALL {
        let name = review.type_name();
        assert!(shape::components([name.clone()]).contains_key(&name), "{name}");
    }
}

#[test]
fn a_question_is_about_one_thing() {
    let path = json!({"nonResourceAttributes": {"verb": "get", "path": "/x"}});
    let resource = json!({"resourceAttributes": {"verb": "get", "resource": "pods"}});
    assert!(matches!(Review::Access.asked(&path), Ok(Asked::Path { .. })));
    assert!(matches!(Review::Access.asked(&resource), Ok(Asked::Resource { .. })));
    let both = json!({"nonResourceAttributes": {}, "resourceAttributes": {}});
    assert_eq!(Review::Access.asked(&both).unwrap_err().code(), 422);
    assert_eq!(Review::Access.asked(&json!({})).unwrap_err().code(), 422);
}

#[test]
fn rules_are_sorted_by_what_they_are_about() {
    let rules = [
        Rule::parse(&json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"]})),
        Rule::parse(&json!({"verbs": ["get"], "nonResourceURLs": ["/x"]})),
    ];
    let status = rules_status(&rules);
    assert_eq!(status["resourceRules"][0]["resourceNames"], json!(["a"]));
    assert_eq!(status["nonResourceRules"], json!([{"verbs": ["get"], "nonResourceURLs": ["/x"]}]));
}

#[tokio::test]
async fn a_token_whose_account_cannot_be_read_is_not_called_bad() {
    let scene = Scene::open("unread").with_account().await;
    let token = scene.token(json!({})).unwrap()["status"]["token"].as_str().unwrap().to_owned();
    let bearer = HeaderValue::from_str(&format!("Bearer {token}")).unwrap();
    let headers = HeaderMap::from_iter([(AUTHORIZATION, bearer)]);
    let authenticate = || scene.authenticator.authenticate(&[], &headers, Timestamp::UNIX_EPOCH);
    assert!(authenticate().is_ok_and(|user| user.is_some()));
    scene.switch.fail(true);
    let change = Change::put(Key::new("/configmaps", "default", "a"), "{}");
    scene.store.write(vec![change]).await.unwrap_err();
    let refused = authenticate().unwrap_err();
    assert!(matches!(refused, AuthnError::Unknown(_)), "{refused}");
    let review = Review::Token.answer(json!({"spec": {"token": token}}), None, &scene.by()).unwrap_err();
    assert_eq!((review.code(), review.reason()), (503, "ServiceUnavailable"));
}
