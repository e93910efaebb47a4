//! Whether a write is taken: pure functions of the write, its user and a view of the other objects.
//!
//! A server calls [`complete`] before it validates the schema and [`validate`] after; a webhook and
//! a command line that get both in one step call [`review`]. What agents may write is decided first
//! and for every kind, in [`agent`].
//!
//! The embedded server, the webhook and `netloom validate` call the same functions. The crate is pure. A kind has one
//! file that implements [`Admitted`] for it, and one line in `registry`.

pub mod agent;
mod completion;
mod fabric;
mod findings;
mod foreign;
mod hostnet;
mod keys;
mod machine;
mod nodestate;
mod packed;
mod pipeline;
mod podnet;
mod registry;
mod rollout;
pub mod selector;
pub mod taints;
mod user;
pub mod view;

use netloom_api::{Declared, GroupKind, Kind, dig, effects};
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use self::{
    findings::{Findings, ReviewResult},
    user::{CONTROLLER_GROUP, CONTROLLER_SERVICE_ACCOUNT, User},
    view::{Objects, View},
};

/// A question that rules ask of the view, answered without reading every object.
#[derive(Debug, Clone, Copy)]
pub struct Index {
    /// The name of the index, unique for its kind.
    pub name: &'static str,
    /// The keys under which an object is found.
    pub keys: fn(&Value) -> Vec<String>,
}

/// What admission asks of a kind: one file for each, in the folder of its front end.
pub trait Admitted: Declared {
    /// What rules of this or another kind look objects up by.
    const INDEXES: &'static [Index] = &[];

    /// Fills in what the schema's defaults cannot express; runs before validation.
    fn complete(_review: &Review<'_>, _object: &mut Value) {}

    /// Checks a write whose object already keeps the schema.
    ///
    /// Not called for writes to subresources, nor for updates of an object that is being deleted:
    /// those must not hold up the removal of a finalizer.
    fn admit(write: &Write<'_, Self>, findings: &mut Findings);
}

/// What the client wants done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// A new object.
    Create,
    /// Another content of an object that exists.
    Update,
    /// An object goes.
    Delete,
    /// A connection through an object; none of our kinds has such.
    Connect,
}

impl Operation {
    /// The word as in an `AdmissionReview`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }
}

/// One write to be judged.
#[derive(Clone, Copy)]
pub struct Review<'a> {
    /// What is to be done.
    pub operation: Operation,
    /// The kind of the object, ours or built in.
    pub kind: GroupKind<'a>,
    /// The namespace, for kinds that have one.
    pub namespace: Option<&'a str>,
    /// The name of the object.
    pub name: &'a str,
    /// The subresource that is written, such as `status`.
    pub subresource: Option<&'a str>,
    /// The object as it shall be; none for a delete.
    pub object: Option<&'a Value>,
    /// The object as it is; none for a create.
    pub old: Option<&'a Value>,
    /// Who asks.
    pub user: &'a User,
    /// Whether nothing will be stored. Our rules have no effects, so none reads it.
    pub dry_run: bool,
    /// All objects that are stored now, the one that is written included.
    pub view: &'a dyn View,
}

/// A write with its objects in the type of their kind.
pub struct Write<'a, T> {
    /// The write as it came.
    pub review: &'a Review<'a>,
    /// The object as it shall be; none for a delete.
    pub new: Option<T>,
    /// The object as it is; none for a create, and none when what is stored cannot be read.
    pub old: Option<T>,
}

impl<T> Write<'_, T> {
    /// The other stored objects: `found` without the one that is written.
    pub fn others(&self, mut found: Vec<std::sync::Arc<Value>>) -> Vec<std::sync::Arc<Value>> {
        found.retain(|object| {
            dig::name(object) != self.review.name || dig::text(object, "metadata.namespace") != self.review.namespace
        });
        found
    }

    /// Whether anything outside `metadata` and `status` differs from the stored object.
    pub fn changes_spec(&self) -> bool {
        let content = |object: Option<&Value>| {
            let mut fields = object.and_then(Value::as_object).cloned().unwrap_or_default();
            for key in ["apiVersion", "kind", "metadata", "status"] {
                fields.remove(key);
            }
            fields
        };
        content(self.review.object) != content(self.review.old)
    }
}

/// What the kind's rules fill in, as a JSON patch; none when nothing is missing.
///
/// Runs before the schema is checked, so it must take any object.
pub fn complete(review: &Review<'_>) -> Option<Value> {
    completion::completed(review).map(|(patch, _)| patch)
}

/// Judges a write whose object is complete and keeps its schema.
pub fn validate(review: &Review<'_>) -> ReviewResult {
    let mut findings = Findings::default();
    if let Some(reason) = agent::refusal(review) {
        findings.forbid(reason);
        return findings.into();
    }
    // What is stored decides: a client could claim that an object is going.
    let going = review.operation == Operation::Update && review.old.is_some_and(dig::is_terminating);
    if review.subresource.is_none() && !going {
        match registry::find(review.kind) {
            Some(rules) => {
                (rules.admit)(review, &mut findings);
                warn_of_planned(rules.kind, review.operation, &mut findings);
            }
            None => foreign::admit(review, &mut findings),
        }
    }
    findings.into()
}

/// What is given of an object whose kind waits for its front end.
pub const PLANNED: &str =
    "no front end of this version serves this kind: the object is checked and stored, and no node is configured by it";

/// Tells whoever writes an object that no front end serves, so that nobody waits for an effect.
fn warn_of_planned(kind: &Kind, operation: Operation, findings: &mut Findings) {
    let written = match operation {
        Operation::Create | Operation::Update => true,
        Operation::Delete | Operation::Connect => false,
    };
    if written && findings.is_clean() && effects::is_planned(kind.effects) {
        findings.warn(PLANNED);
    }
}

/// Completes and judges a write in one step.
pub fn review(review: &Review<'_>) -> ReviewResult {
    let (patch, filled) = completion::completed(review).unzip();
    let verdict = validate(&Review { object: filled.as_ref().or(review.object), ..*review });
    ReviewResult { patch, ..verdict }
}

/// Reads the objects of a write in their type and calls the kind's own rules.
pub(crate) fn admit<T: Admitted>(review: &Review<'_>, findings: &mut Findings) {
    let new = match review.object.map(read::<T>).transpose() {
        Ok(new) => new,
        Err(why) => return findings.invalid("", Value::Null, why),
    };
    // What is stored may be older than the schema; rules that compare then have nothing to compare.
    let old = review.old.and_then(|old| read::<T>(old).ok());
    T::admit(&Write { review, new, old }, findings);
}

fn read<T: DeserializeOwned>(object: &Value) -> Result<T, String> {
    T::deserialize(object).map_err(|error| error.to_string())
}
