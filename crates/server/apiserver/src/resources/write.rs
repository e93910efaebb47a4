//! How every write ends: prepared, validated, admitted, compared with what is there, stored.
//!
//! A change is a function from what is stored to what shall be. When somebody else was faster the
//! function runs again on the newer state, so a write never loses another one's. An object that
//! ends up as it was is not written at all.

use netloom_store::{Change, Expect, Key, Object, Revision, WriteError};
use serde_json::{Value, json};

use super::{
    Api,
    asked::Asked,
    check, clock, metadata,
    options::WriteOptions,
    prepare::{self, Part},
    stored,
};
use crate::{
    catalogue::Resource,
    status_error::{MODIFIED, Outcome, Status},
};

/// How often a change is tried again when others write the same object. Each round one of them wins,
/// so this is how many may change one object at the same moment.
const ROUNDS: usize = 256;

/// The most bytes of one object: what etcd takes in one request unless set otherwise.
const LARGEST: usize = 3 << 19;

/// How many names are generated before giving up.
const NAMES: usize = 8;

/// A write on its way.
pub(crate) struct Job<'a> {
    pub(crate) asked: &'a Asked<'a>,
    pub(crate) options: &'a WriteOptions,
    pub(crate) part: Part,
    /// Whether an object that is not there is made.
    pub(crate) creates: bool,
}

/// What a write led to.
pub(crate) struct Changed {
    pub(crate) object: Value,
    pub(crate) created: bool,
}

/// From what is stored to what shall be.
pub(crate) type Make<'a> = dyn Fn(Option<&Value>) -> Outcome<Value> + Send + Sync + 'a;

impl Api {
    /// Makes a new object, under a generated name where it asks for one.
    pub(crate) async fn create_object(&self, job: &Job<'_>, object: Value) -> Outcome<Value> {
        let base = metadata::text(&object, "generateName").to_owned();
        if !metadata::text(&object, "name").is_empty() || base.is_empty() {
            return self.create_named(job, object).await;
        }
        let mut last = None;
        for _ in 0..NAMES {
            let name = clock::generated_name(&*self.source, &base);
            let mut named = object.clone();
            metadata::set(&mut named, "name", Some(json!(name)));
            match self.create_named(job, named).await {
                Err(status) if status.reason() == "AlreadyExists" => {
                    last = Some(Status::no_free_name(job.asked.resource.qualified(), &name));
                }
                done => return done,
            }
        }
        Err(last.unwrap_or_else(|| Status::internal("no name was generated")))
    }

    async fn create_named(&self, job: &Job<'_>, mut object: Value) -> Outcome<Value> {
        let resource = &job.asked.resource;
        if resource.terminating {
            let why = "create not allowed while custom resource definition is terminating";
            return Err(Status::forbidden(resource.qualified(), metadata::text(&object, "name"), why));
        }
        metadata::wipe(&mut object);
        metadata::fill(&mut object, &*self.source);
        prepare::create(resource, &mut object);
        check::create(self, resource, &object)?;
        check::warn(job, &object, None);
        self.may_create(job)?;
        let name = metadata::text(&object, "name").to_owned();
        let write_slot = self.write_slot(job, &name).await;
        self.admit(job, Some(&object), None)?;
        let key = job.asked.key(&name)?;
        if job.options.dry_run {
            return match self.stored(&key)? {
                Some(found) => Err(Self::taken(job.asked, &found, &name)),
                None => Ok(object),
            };
        }
        let bytes = stored::encode(resource, &object);
        fits(&bytes)?;
        match self.commit(Change::create(key.clone(), bytes.clone()), write_slot).await {
            Ok(revision) => written(resource, object, &bytes, revision),
            Err(WriteError::Conflict { .. }) => {
                let found = self.stored(&key)?;
                Err(found.map_or_else(
                    || Status::already_exists(resource.qualified(), &name),
                    |found| Self::taken(job.asked, &found, &name),
                ))
            }
            Err(error) => Err(refused(&error)),
        }
    }

    fn taken(asked: &Asked<'_>, found: &Object, name: &str) -> Status {
        let status = Status::already_exists(asked.resource.qualified(), name);
        let going = stored::decode(&asked.resource, found).is_ok_and(|object| metadata::is_terminating(&object));
        if going {
            let message = format!("object is being deleted: {}", status.message());
            return status.reworded(message);
        }
        status
    }

    /// Changes an object, or makes it where the job allows that.
    pub(crate) async fn change(&self, job: &Job<'_>, name: &str, make: &Make<'_>) -> Outcome<Changed> {
        let key = job.asked.key(name)?;
        let before = job.asked.warnings.count();
        for _ in 0..ROUNDS {
            job.asked.warnings.back_to(before);
            if let Some(changed) = self.try_change(job, name, &key, make).await? {
                return Ok(changed);
            }
        }
        Err(Status::conflict(job.asked.resource.qualified(), name, MODIFIED))
    }

    /// One round; none when somebody else was faster.
    async fn try_change(&self, job: &Job<'_>, name: &str, key: &Key, make: &Make<'_>) -> Outcome<Option<Changed>> {
        let resource = &job.asked.resource;
        let Some(found) = self.stored(key)? else {
            if !job.creates {
                return Err(Status::not_found(resource.qualified(), name));
            }
            let object = make(None)?;
            return match self.create_named(job, object).await {
                Ok(object) => Ok(Some(Changed { object, created: true })),
                Err(status) if status.reason() == "AlreadyExists" && !job.options.dry_run => Ok(None),
                Err(status) => Err(status),
            };
        };
        let old = stored::decode(resource, &found)?;
        let mut new = make(Some(&old))?;
        lock(job, name, &new, &old)?;
        let revision = metadata::value(&old, "resourceVersion").cloned();
        metadata::set(&mut new, "resourceVersion", revision);
        prepare::update(resource, job.part, &mut new, &old, job.asked.namespace())?;
        check::update(self, resource, job.part, &new, &old)?;
        check::warn(job, &new, Some(&old));
        prepare::keep_times(&mut new, &old);
        let write_slot = self.write_slot(job, name).await;
        self.admit(job, Some(&new), Some(&old))?;
        let gone = prepare::is_finished(resource, &new, &old);
        // What was written under another schema is written again, also when nothing else has changed.
        let current = || resource.is_current(found.revision) || stored::encode(resource, &new) == found.bytes;
        if job.options.dry_run || (!gone && new == old && current()) {
            return Ok(Some(Changed { object: new, created: false }));
        }
        let bytes = stored::encode(resource, &new);
        if !gone {
            fits(&bytes)?;
        }
        let change = if gone {
            Change::delete(key.clone(), Expect::Revision(found.revision))
        } else {
            Change::update(key.clone(), found.revision, bytes.clone())
        };
        match self.commit(change, write_slot).await {
            Ok(_) if gone => Ok(Some(Changed { object: new, created: false })),
            Ok(revision) => {
                let object = written(resource, new, &bytes, revision)?;
                Ok(Some(Changed { object, created: false }))
            }
            Err(WriteError::Conflict { .. }) => Ok(None),
            Err(error) => Err(refused(&error)),
        }
    }

    /// An object as it is stored.
    pub(crate) fn stored(&self, key: &Key) -> Outcome<Option<Object>> {
        self.store.get(key).map_err(|error| Status::internal(&error.to_string()))
    }
}

/// Refuses a write that was made from an older state than the stored one.
fn lock(job: &Job<'_>, name: &str, new: &Value, old: &Value) -> Outcome<()> {
    let resource = &job.asked.resource;
    let given = metadata::text(new, "resourceVersion");
    if given.is_empty() || given == "0" {
        let unconditional = resource.builtin.is_some_and(|row| row.habits.update_without_revision);
        if unconditional {
            return Ok(());
        }
        let error = netloom_schema::FieldError::invalid(
            "metadata.resourceVersion",
            &json!(0),
            "must be specified for an update",
        );
        return Err(Status::invalid(resource.qualified(), name, &[error]));
    }
    if given.parse::<u64>().is_err() {
        return Err(Status::bad_request(format!("strconv.ParseUint: parsing {given:?}: invalid syntax")));
    }
    if given != metadata::text(old, "resourceVersion") {
        return Err(Status::conflict(resource.qualified(), name, MODIFIED));
    }
    Ok(())
}

/// The object as readers will see it: what another version does not keep is gone.
fn written(resource: &Resource, object: Value, bytes: &[u8], revision: Revision) -> Outcome<Value> {
    if resource.version == resource.storage_version {
        return Ok(at(object, revision));
    }
    stored::decode_at(resource, bytes, revision)
}

/// The object with the revision of its commit.
pub(crate) fn at(mut object: Value, revision: Revision) -> Value {
    metadata::set(&mut object, "resourceVersion", Some(json!(revision.to_string())));
    object
}

/// Refuses an object that is larger than what a cluster stores, in the words of one: what is kept here must fit there.
fn fits(bytes: &[u8]) -> Outcome<()> {
    if bytes.len() <= LARGEST {
        return Ok(());
    }
    Err(Status::plain(500, "", "etcdserver: request is too large".to_owned()))
}

/// Why the store took nothing, for the client.
pub(crate) fn refused(error: &WriteError) -> Status {
    match error {
        WriteError::TooLarge { .. } => Status::too_large(&error.to_string()),
        WriteError::Full { .. } => Status::plain(507, "InsufficientStorage", error.to_string()),
        WriteError::Conflict { .. }
        | WriteError::Duplicate { .. }
        | WriteError::Unknown { .. }
        | WriteError::Unavailable { .. }
        | WriteError::Closed => Status::internal(&error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_that_no_cluster_stores_is_refused() {
        assert!(fits(&vec![0; LARGEST]).is_ok());
        let refused = fits(&vec![0; LARGEST + 1]).unwrap_err();
        assert_eq!((refused.code(), refused.message()), (500, "etcdserver: request is too large"));
    }

    #[test]
    fn a_full_disk_has_a_reason_of_its_own() {
        let full = refused(&WriteError::Full { why: "no space left".into() });
        assert_eq!((full.code(), full.reason()), (507, "InsufficientStorage"));
        assert!(full.message().contains("free some space and try again"), "{full}");
        assert_eq!(refused(&WriteError::Closed).code(), 500);
    }
}
