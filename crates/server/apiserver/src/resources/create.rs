//! POST: a new object.

use serde_json::Value;

use super::{
    Api,
    answer::Answer,
    asked::Asked,
    decode, metadata,
    options::{Write, WriteOptions},
    owned,
    prepare::Part,
    write::Job,
};
use crate::status_error::{Outcome, Status};

/// What two equal owner references are answered with, before and after rules filled in more.
pub(crate) const TWICE: &str = ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ";

impl Api {
    pub(crate) async fn create(&self, asked: &Asked<'_>) -> Outcome<Answer> {
        let options = WriteOptions::parse(&asked.info.query, Write::Create)?;
        let mut object = decode::object(asked, options.validation)?;
        let job = Job { asked, options: &options, part: Part::Main, creates: true };
        metadata::wipe(&mut object);
        metadata::settle_namespace(&mut object, asked.namespace())?;
        if let Some(twice) = metadata::dedup_owners(&mut object) {
            asked.warn(format!("{TWICE}{twice}"));
        }
        owned::update(self, &job, None, &mut object);
        let object = self.create_checked(&job, object).await?;
        Ok(Answer::object(201, object))
    }

    /// Fills in, checks the namespace and makes the object.
    pub(crate) async fn create_checked(&self, job: &Job<'_>, mut object: Value) -> Outcome<Value> {
        self.open_for(job, &mut object)?;
        if !metadata::text(&object, "resourceVersion").is_empty() {
            return Err(Status::bad_request("resourceVersion should not be set on objects to be created"));
        }
        self.create_object(job, object).await
    }

    /// What happens to a new object before it is judged.
    pub(crate) fn open_for(&self, job: &Job<'_>, object: &mut Value) -> Outcome<()> {
        let name = metadata::text(object, "name").to_owned();
        self.namespace_open(&job.asked.resource, job.asked.namespace(), &name)?;
        self.complete(job, object, None)
    }
}
