//! A few stored objects, and writes to them.

use netloom_admission::{Objects, Operation, Review, ReviewResult, User, View, review};
use netloom_api::GroupKind;
use serde_json::{Value, json};

/// Stored objects and the user who writes.
#[derive(Default)]
pub(crate) struct Cluster {
    objects: Objects,
    user: User,
}

impl Cluster {
    pub(crate) fn new(objects: impl IntoIterator<Item = Value>) -> Self {
        Self { objects: objects.into_iter().collect(), user: User::new("alice", &["system:authenticated"]) }
    }

    pub(crate) fn and(mut self, objects: impl IntoIterator<Item = Value>) -> Self {
        for object in objects {
            assert!(self.objects.put(object), "an object without kind or name");
        }
        self
    }

    pub(crate) fn by(mut self, user: User) -> Self {
        self.user = user;
        self
    }

    pub(crate) fn create(&self, object: &Value) -> ReviewResult {
        self.judge(Operation::Create, object, Some(object), None, None)
    }

    /// Writes `object` in the place of what is stored under its names.
    pub(crate) fn update(&self, object: &Value) -> ReviewResult {
        let old = self.stored(object);
        self.judge(Operation::Update, object, Some(object), Some(&old), None)
    }

    /// An update of an object of which the view keeps less than the server.
    pub(crate) fn replace(&self, old: &Value, new: &Value) -> ReviewResult {
        self.judge(Operation::Update, new, Some(new), Some(old), None)
    }

    pub(crate) fn update_status(&self, object: &Value) -> ReviewResult {
        let old = self.stored(object);
        self.judge(Operation::Update, object, Some(object), Some(&old), Some("status"))
    }

    pub(crate) fn delete(&self, object: &Value) -> ReviewResult {
        let old = self.stored(object);
        self.judge(Operation::Delete, object, None, Some(&old), None)
    }

    fn stored(&self, object: &Value) -> Value {
        let (kind, namespace, name) = names(object);
        let stored = self.objects.get(kind, namespace, name);
        stored.unwrap_or_else(|| panic!("{name} is not stored")).as_ref().clone()
    }

    fn judge(
        &self,
        operation: Operation,
        names_of: &Value,
        object: Option<&Value>,
        old: Option<&Value>,
        subresource: Option<&str>,
    ) -> ReviewResult {
        let (kind, namespace, name) = names(names_of);
        review(&Review {
            operation,
            kind,
            namespace,
            name,
            subresource,
            object,
            old,
            user: &self.user,
            dry_run: false,
            view: &self.objects,
        })
    }
}

fn names(object: &Value) -> (GroupKind<'_>, Option<&str>, &str) {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let group = text("/apiVersion").and_then(|version| version.split_once('/')).map_or("", |(group, _)| group);
    (
        GroupKind::new(group, text("/kind").expect("objects have a kind")),
        text("/metadata/namespace"),
        text("/metadata/name").expect("objects have a name"),
    )
}

/// What a verdict refuses, one line each.
pub(crate) fn refusals(verdict: &ReviewResult) -> Vec<String> {
    verdict.errors.iter().map(ToString::to_string).chain(verdict.forbidden.clone()).collect()
}

/// The object with the values at these places set, or taken out where they are null.
pub(crate) fn with(object: &Value, changes: &[(&str, Value)]) -> Value {
    let mut object = object.clone();
    for (pointer, value) in changes {
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer starts with a slash");
        let key = key.replace("~1", "/");
        let parent = ensure(&mut object, parent);
        if value.is_null() {
            parent.as_object_mut().expect("only fields are taken out").remove(&key);
        } else if let Some(items) = parent.as_array_mut() {
            items[key.parse::<usize>().expect("lists have numbers")] = value.clone();
        } else {
            parent[key] = value.clone();
        }
    }
    object
}

fn ensure<'a>(object: &'a mut Value, pointer: &str) -> &'a mut Value {
    pointer.split('/').skip(1).fold(object, |value, key| {
        if value.is_array() {
            return &mut value[key.parse::<usize>().expect("lists have numbers")];
        }
        if value.get(key).is_none() {
            value[key] = json!({});
        }
        &mut value[key]
    })
}

pub(crate) fn node(name: &str, labels: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}})
}
