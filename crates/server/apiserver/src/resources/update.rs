//! PUT: an object replaced, or one part of it.

use serde_json::Value;

use super::{
    Api,
    answer::Answer,
    asked::Asked,
    create::TWICE,
    decode, metadata,
    options::{Write, WriteOptions},
    owned,
    prepare::Part,
    write::Job,
};
use crate::status_error::{Outcome, Status};

impl Api {
    pub(crate) async fn update(&self, asked: &Asked<'_>, part: Part) -> Outcome<Answer> {
        let name = asked.name()?;
        let options = WriteOptions::parse(&asked.info.query, Write::Update)?;
        let mut object = decode::object(asked, options.validation)?;
        metadata::settle_namespace(&mut object, asked.namespace())?;
        metadata::check_name(&object, name)?;
        let creates = part == Part::Main && asked.resource.builtin.is_some_and(|row| row.habits.update_creates);
        let job = Job { asked, options: &options, part, creates };
        if let Some(twice) = metadata::dedup_owners(&mut object) {
            asked.warn(format!("{TWICE}{twice}"));
        }
        let make = |old: Option<&Value>| {
            same_identity(asked, name, &object, old)?;
            let mut new = object.clone();
            owned::update(self, &job, old, &mut new);
            match old {
                Some(_) => self.complete(&job, &mut new, old)?,
                None => self.open_for(&job, &mut new)?,
            }
            Ok(new)
        };
        let changed = self.change(&job, name, &make).await?;
        Ok(Answer::object(if changed.created { 201 } else { 200 }, changed.object))
    }
}

/// A replacement that names a uid is for that object only.
pub(crate) fn same_identity(asked: &Asked<'_>, name: &str, new: &Value, old: Option<&Value>) -> Outcome<()> {
    let wanted = metadata::text(new, "uid");
    let found = old.map_or("", |old| metadata::text(old, "uid"));
    if wanted.is_empty() || wanted == found {
        return Ok(());
    }
    let resource = &asked.resource;
    let why = precondition(asked, name, &format!("UID in precondition: {wanted}, UID in object meta: {found}"));
    Err(Status::conflict(resource.qualified(), name, &why))
}

/// How a failed precondition reads: clients have seen these words since the first versions.
pub(crate) fn precondition(asked: &Asked<'_>, name: &str, what: &str) -> String {
    let resource = &asked.resource;
    let place = match resource.builtin {
        Some(row) if row.group != "apiextensions.k8s.io" => resource.plural.clone(),
        Some(_) | None => format!("{}/{}", resource.group, resource.plural),
    };
    let namespace = asked.namespace().map(|namespace| format!("{namespace}/")).unwrap_or_default();
    format!(
        "StorageError: invalid object, Code: 4, Key: /registry/{place}/{namespace}{name}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: {what}"
    )
}
