//! DELETE: one object goes, at once or when nothing holds it back any more.

use http::header::CONTENT_TYPE;
use netloom_store::{Change, Expect, Key, Object, WriteError};
use serde_json::{Value, json};

use super::{
    Api,
    answer::Answer,
    asked::Asked,
    clock, decode, metadata,
    options::{DeleteOptions, Propagation, Validation, WriteOptions},
    prepare::Part,
    stored,
    write::{Job, at, refused},
    write_slots::WriteSlot,
};
use crate::{
    catalogue::Resource,
    crds,
    negotiate::{self, Written},
    status_error::{MODIFIED, Outcome, Qualified, Status},
};

/// The finalizer that keeps an object until what it owns has forgotten it.
pub(crate) const ORPHAN: &str = "orphan";

/// The finalizer that keeps an object until what it owns is gone.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";

/// Namespaces that the server itself needs.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

/// How long a pod may still run when nobody says otherwise.
const POD_GRACE: i64 = 30;

/// How often a deletion is tried again when others change the object.
const ROUNDS: usize = 256;

/// What became of the object.
pub(crate) enum Gone {
    /// It is gone; this is what it was.
    Removed(Value),
    /// It stays until something releases it; this is what it is.
    Waiting(Value),
}

impl Api {
    pub(crate) async fn delete(&self, asked: &Asked<'_>) -> Outcome<Answer> {
        let name = asked.name()?;
        let options = Self::delete_options(asked)?;
        match self.delete_object(asked, name, &options).await? {
            Gone::Waiting(object) => {
                let code = if options.orphan == Some(false) { 202 } else { 200 };
                Ok(Answer::object(code, object))
            }
            Gone::Removed(object) if asked.resource.builtin.is_some_and(|row| row.habits.delete_answers_object) => {
                Ok(Answer::object(200, object))
            }
            Gone::Removed(object) => {
                let status = Status::deleted(asked.resource.qualified(), name, metadata::text(&object, "uid"));
                Ok(Answer::Status(status))
            }
        }
    }

    pub(crate) fn delete_options(asked: &Asked<'_>) -> Outcome<DeleteOptions> {
        if asked.body.is_empty() {
            return DeleteOptions::parse(&asked.info.query, None);
        }
        let body = match negotiate::input(asked.header(&CONTENT_TYPE), true)? {
            Written::Protobuf => decode::options_message(asked.body)?,
            Written::Text(media) => {
                let read = decode::bytes(media, asked.body);
                read.map_err(|why| Status::bad_request(decode::no_object(media, &why)))?.value
            }
        };
        let body = decode::options(body)?;
        DeleteOptions::parse(&asked.info.query, Some(&body))
    }

    /// Deletes one object of the resource that was asked for.
    pub(crate) async fn delete_object(&self, asked: &Asked<'_>, name: &str, options: &DeleteOptions) -> Outcome<Gone> {
        let resource = &asked.resource;
        if resource.is("", "namespaces") && IMMORTAL.contains(&name) {
            return Err(Status::forbidden(resource.qualified(), name, "this namespace may not be deleted"));
        }
        let key = asked.key(name)?;
        let write = WriteOptions {
            dry_run: options.dry_run,
            manager: String::new(),
            validation: Validation::Ignore,
            force: false,
        };
        let job = Job { asked, options: &write, part: Part::Main, creates: false };
        for _ in 0..ROUNDS {
            let Some(found) = self.stored(&key)? else { return Err(Status::not_found(resource.qualified(), name)) };
            let old = stored::decode(resource, &found)?;
            conditions(resource, &old, options)?;
            let write_slot = self.write_slot(&job, name).await;
            self.admit(&job, None, Some(&old))?;
            if let Some(gone) = self.try_delete(resource, &key, (&found, old), options, write_slot).await? {
                return Ok(gone);
            }
        }
        Err(Status::conflict(resource.qualified(), name, MODIFIED))
    }

    /// One round; none when somebody else was faster.
    pub(crate) async fn try_delete(
        &self,
        resource: &Resource,
        key: &Key,
        (found, old): (&Object, Value),
        options: &DeleteOptions,
        write_slot: WriteSlot,
    ) -> Outcome<Option<Gone>> {
        let now = clock::seconds(self.source.now());
        let mut new = old.clone();
        let waits = match lifecycle(resource) {
            Lifecycle::Namespace => {
                let held = old.pointer("/spec/finalizers").and_then(Value::as_array).is_some_and(|l| !l.is_empty());
                if !metadata::is_terminating(&old) {
                    terminate_namespace(&mut new, &old, options, &now);
                }
                held || !metadata::finalizers(&new).is_empty()
            }
            Lifecycle::Definition if !metadata::is_terminating(&old) => {
                crds::begin_termination(&mut new, &now);
                true
            }
            Lifecycle::Pod => self.terminate_pod(&mut new, &old, options),
            Lifecycle::Definition | Lifecycle::Plain => mark(&mut new, &old, resource, options, &now),
        };
        if !waits {
            // A pod is first notified that its time is over, also when that is now.
            let old = if resource.is("", "pods") { terminating(new, &old, &now) } else { old };
            if options.dry_run {
                return Ok(Some(Gone::Removed(old)));
            }
            let change = Change::delete(key.clone(), Expect::Revision(found.revision));
            return match self.commit(change, write_slot).await {
                Ok(revision) => Ok(Some(Gone::Removed(at(old, revision)))),
                Err(WriteError::Conflict { .. }) => Ok(None),
                Err(error) => Err(refused(&error)),
            };
        }
        if options.dry_run || new == old {
            return Ok(Some(Gone::Waiting(new)));
        }
        let change = Change::update(key.clone(), found.revision, stored::encode(resource, &new));
        match self.commit(change, write_slot).await {
            Ok(revision) => Ok(Some(Gone::Waiting(at(new, revision)))),
            Err(WriteError::Conflict { .. }) => Ok(None),
            Err(error) => Err(refused(&error)),
        }
    }

    /// A pod on a node is notified when it must be gone; whoever runs it deletes it then.
    fn terminate_pod(&self, new: &mut Value, old: &Value, options: &DeleteOptions) -> bool {
        let current = metadata::value(old, "deletionGracePeriodSeconds").and_then(Value::as_i64);
        let asked = options.grace.map(|grace| if grace < 0 { 1 } else { grace });
        let text = |pointer: &str| old.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let idle = text("/spec/nodeName").is_empty() || matches!(text("/status/phase"), "Succeeded" | "Failed");
        let own = old.pointer("/spec/terminationGracePeriodSeconds").and_then(Value::as_i64).unwrap_or(POD_GRACE);
        let grace = match (metadata::is_terminating(old), current) {
            (true, None | Some(0)) => 0,
            // Once reported, the time can only become shorter.
            (true, Some(current)) => asked.unwrap_or(current).min(current),
            (false, _) if idle => 0,
            (false, _) => asked.unwrap_or(own),
        };
        if !metadata::is_terminating(old) && metadata::generation(old) > 0 && grace > 0 {
            metadata::set(new, "generation", Some(json!(metadata::generation(old) + 1)));
        }
        if grace > 0 && current != Some(grace) {
            let span = jiff::SignedDuration::from_secs(grace);
            let end = self.source.now().checked_add(span).unwrap_or(jiff::Timestamp::MAX);
            metadata::set(new, "deletionTimestamp", Some(json!(clock::seconds(end))));
            metadata::set(new, "deletionGracePeriodSeconds", Some(json!(grace)));
        }
        let now = clock::seconds(self.source.now());
        let held = settle_finalizers(new, options);
        if grace == 0 && held {
            mark_terminating(new, old, &now);
        }
        grace > 0 || held
    }
}

enum Lifecycle {
    Namespace,
    Definition,
    Pod,
    Plain,
}

fn lifecycle(resource: &Resource) -> Lifecycle {
    if resource.is("", "namespaces") {
        Lifecycle::Namespace
    } else if resource.is("apiextensions.k8s.io", "customresourcedefinitions") {
        Lifecycle::Definition
    } else if resource.is("", "pods") {
        Lifecycle::Pod
    } else {
        Lifecycle::Plain
    }
}

/// Refuses to delete another object, or another state of it, than the one that was meant.
fn conditions(resource: &Resource, object: &Value, options: &DeleteOptions) -> Outcome<()> {
    let (uid, revision) = (metadata::text(object, "uid"), metadata::text(object, "resourceVersion"));
    let name = metadata::text(object, "name");
    let special = match lifecycle(resource) {
        Lifecycle::Namespace => Some("Precondition failed"),
        Lifecycle::Definition => Some("precondition failed"),
        Lifecycle::Pod | Lifecycle::Plain => None,
    };
    let refuse = |what: &str, wanted: &str, found: &str, maybe: &str| {
        if let Some(words) = special {
            let why = format!("{words}: {what} in precondition: {wanted}, {what} in object meta: {found}");
            return Status::conflict(resource.qualified(), name, &why);
        }
        let why = format!(
            "the {what} in the precondition ({wanted}) does not match the {what} in record ({found}). The object might have been {maybe}"
        );
        Status::conflict(Qualified::new(&resource.group, &resource.kind), name, &why)
    };
    if let Some(wanted) = options.uid.as_deref().filter(|wanted| *wanted != uid) {
        return Err(refuse("UID", wanted, uid, "deleted and then recreated"));
    }
    if let Some(wanted) = options.revision.as_deref().filter(|wanted| *wanted != revision) {
        return Err(refuse("ResourceVersion", wanted, revision, "modified"));
    }
    Ok(())
}

/// Marks an object that has something to wait for; says whether it has.
fn mark(new: &mut Value, old: &Value, resource: &Resource, options: &DeleteOptions, now: &str) -> bool {
    // Nobody owns anything through an event.
    let held =
        if resource.is_event() { !metadata::finalizers(new).is_empty() } else { settle_finalizers(new, options) };
    if held {
        mark_terminating(new, old, now);
    }
    held
}

fn mark_terminating(new: &mut Value, old: &Value, now: &str) {
    if !metadata::is_terminating(old) {
        if metadata::generation(old) > 0 {
            metadata::set(new, "generation", Some(json!(metadata::generation(old) + 1)));
        }
        metadata::set(new, "deletionTimestamp", Some(json!(now)));
    }
    metadata::set(new, "deletionGracePeriodSeconds", Some(json!(0)));
}

/// A pod whose time is over.
fn terminating(mut pod: Value, old: &Value, now: &str) -> Value {
    mark_terminating(&mut pod, old, now);
    pod
}

/// Adds or removes the finalizers that say what becomes of owned objects; says whether any is left.
fn settle_finalizers(object: &mut Value, options: &DeleteOptions) -> bool {
    let before = metadata::finalizers(object);
    let has = |name: &str| before.contains(&name);
    let (orphan, foreground) = match (options.orphan, options.propagation) {
        (Some(orphan), _) => (orphan, false),
        (None, Some(Propagation::Orphan)) => (true, false),
        (None, Some(Propagation::Foreground)) => (false, true),
        (None, Some(Propagation::Background)) => (false, false),
        (None, None) => (has(ORPHAN), has(FOREGROUND)),
    };
    let mut after: Vec<String> =
        before.iter().filter(|name| !matches!(**name, ORPHAN | FOREGROUND)).map(|&name| name.to_owned()).collect();
    if orphan {
        after.push(ORPHAN.into());
    }
    if foreground {
        after.push(FOREGROUND.into());
    }
    let same = after.len() == before.len() && after.iter().all(|name| has(name));
    let held = !after.is_empty();
    if !same {
        metadata::set_finalizers(object, &after);
    }
    held
}

fn terminate_namespace(new: &mut Value, old: &Value, options: &DeleteOptions, now: &str) {
    metadata::set(new, "deletionTimestamp", Some(json!(now)));
    settle_finalizers(new, options);
    let mut status = old.get("status").cloned().filter(Value::is_object).unwrap_or_else(|| json!({}));
    status["phase"] = json!("Terminating");
    new["status"] = status;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_decides_the_finalizers() {
        let with = |propagation| DeleteOptions { propagation: Some(propagation), ..DeleteOptions::default() };
        let table = [
            (json!([]), DeleteOptions::default(), json!([]), false),
            (json!(["a/b"]), DeleteOptions::default(), json!(["a/b"]), true),
            (json!(["a/b"]), with(Propagation::Foreground), json!(["a/b", "foregroundDeletion"]), true),
            (json!(["foregroundDeletion"]), with(Propagation::Background), Value::Null, false),
            (json!(["orphan"]), DeleteOptions::default(), json!(["orphan"]), true),
            (json!([]), with(Propagation::Orphan), json!(["orphan"]), true),
        ];
        for (before, options, after, held) in table {
            let mut object = json!({"metadata": {"finalizers": before}});
            assert_eq!(settle_finalizers(&mut object, &options), held, "{before}");
            assert_eq!(object["metadata"]["finalizers"], after, "{before}");
        }
    }
}
