//! What tests of rules are written with: a world of stored objects, and writes to it.
//!
//! Every object that is written must have known fields only, and one that the rules take must also
//! keep its schema, so that no test passes because of a slip in its own text.

use std::{borrow::Borrow, collections::HashMap, sync::LazyLock};

use netloom_api::{GroupKind, fabric::GROUP, kinds};
use netloom_schema::{NoRules, Schema, apply_defaults, prune, validate};
use serde_json::{Value, json};

use crate::{Objects, Operation, PLANNED, Review, ReviewResult, User, View, complete, review};

static SCHEMAS: LazyLock<HashMap<&str, Schema>> = LazyLock::new(|| {
    let own = kinds().iter().filter(|kind| kind.group == GROUP);
    own.map(|kind| (kind.kind, Schema::parse(&kind.schema(), "schema").unwrap())).collect()
});

/// An object of one of our kinds.
pub(crate) fn object(kind: &str, name: &str, spec: Value) -> Value {
    let mut object = json!({"apiVersion": format!("{GROUP}/v1alpha1"), "kind": kind, "metadata": {"name": name}});
    object["spec"] = spec;
    object
}

/// `base` with the fields of `more` in place of its own.
pub(crate) fn merged(mut base: Value, more: Value) -> Value {
    let Value::Object(more) = more else { panic!("fields are merged from an object") };
    base.as_object_mut().expect("fields are merged into an object").extend(more);
    base
}

/// The same object with labels.
pub(crate) fn labelled(mut object: Value, labels: Value) -> Value {
    object["metadata"]["labels"] = labels;
    object
}

/// The stored objects, and who writes.
pub(crate) struct World {
    objects: Objects,
    user: User,
}

/// The answer to a write, and what the schema says of the object.
pub(crate) struct Answer {
    pub(crate) verdict: ReviewResult,
    broken: Vec<String>,
}

impl World {
    pub(crate) fn new<const N: usize>(objects: [Value; N]) -> Self {
        Self { objects: objects.into_iter().collect(), user: User::new("admin", &["system:masters"]) }
    }

    pub(crate) fn user(mut self, user: User) -> Self {
        self.user = user;
        self
    }

    pub(crate) fn create(&self, object: impl Borrow<Value>) -> Answer {
        self.write(Operation::Create, Some(object.borrow()), None)
    }

    pub(crate) fn update(&self, object: impl Borrow<Value>) -> Answer {
        let object = object.borrow();
        let kind = object["kind"].as_str().unwrap();
        let old = self.objects.get(GroupKind::new(GROUP, kind), None, object["metadata"]["name"].as_str().unwrap());
        let old = old.expect("the test stores what it updates");
        self.write(Operation::Update, Some(object), Some(&old))
    }

    pub(crate) fn delete(&self, object: impl Borrow<Value>) -> Answer {
        self.write(Operation::Delete, None, Some(object.borrow()))
    }

    fn write(&self, operation: Operation, object: Option<&Value>, old: Option<&Value>) -> Answer {
        let any = object.or(old).unwrap();
        let kind = any["kind"].as_str().unwrap();
        let request = Review {
            operation,
            kind: GroupKind::new(GROUP, kind),
            namespace: None,
            name: any["metadata"]["name"].as_str().unwrap(),
            subresource: None,
            object,
            old,
            user: &self.user,
            dry_run: false,
            view: &self.objects,
        };
        let broken = object.map(|object| broken(kind, object, complete(&request))).unwrap_or_default();
        Answer { verdict: review(&request), broken }
    }
}

/// What the schema has against an object once it is complete.
fn broken(kind: &str, object: &Value, patch: Option<Value>) -> Vec<String> {
    let mut object = object.clone();
    if let Some(patch) = patch {
        let patch: json_patch::Patch = serde_json::from_value(patch).unwrap();
        json_patch::patch(&mut object, &patch).unwrap();
    }
    let schema = &SCHEMAS[kind];
    assert_eq!(prune(schema, &mut object), [""; 0], "unknown fields");
    apply_defaults(schema, &mut object);
    validate(schema, &object, None, &NoRules).iter().map(ToString::to_string).collect()
}

impl Answer {
    fn errors(&self) -> Vec<String> {
        self.verdict.errors.iter().map(ToString::to_string).collect()
    }

    /// The write is taken without a word.
    #[track_caller]
    pub(crate) fn taken(&self) {
        self.warned(&[]);
    }

    /// The write is taken with exactly these warnings, besides that the kind waits for its front end.
    #[track_caller]
    pub(crate) fn warned(&self, warnings: &[&str]) {
        assert_eq!((self.errors(), &self.verdict.forbidden), (Vec::new(), &None));
        let given: Vec<&String> = self.verdict.warnings.iter().filter(|text| *text != PLANNED).collect();
        assert_eq!(given, warnings);
        assert_eq!(self.broken, [""; 0]);
    }

    /// The write is refused for exactly these reasons.
    #[track_caller]
    pub(crate) fn refused(&self, errors: &[&str]) {
        assert_eq!(self.errors(), errors);
    }

    /// This user may not do this.
    #[track_caller]
    pub(crate) fn forbidden(&self, reason: &str) {
        assert_eq!(self.verdict.forbidden.as_deref(), Some(reason));
    }
}
