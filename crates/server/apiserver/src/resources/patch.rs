//! PATCH: a part of an object changed, in four ways.
//!
//! A patch is applied to what is stored at that moment and tried again when somebody else was
//! faster; only a patch that carries a `resourceVersion` is refused then.

use http::header::CONTENT_TYPE;
use netloom_patch::PatchError;
use netloom_schema::{FieldError, decode::Decoded};
use serde_json::{Value, json};

use super::{
    Api,
    answer::Answer,
    asked::Asked,
    decode, metadata,
    options::{Validation, Write, WriteOptions},
    owned,
    prepare::Part,
    shown,
    write::Job,
};
use crate::{
    negotiate::{self, Media, PatchType},
    status_error::{Outcome, Qualified, Status},
};

/// What two equal owner references are answered with once rules filled in theirs.
const TWICE: &str = ".metadata.ownerReferences contains duplicate entries after mutating admission happens; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ";

/// A patch that was read.
pub(crate) struct Patch {
    kind: PatchType,
    value: Value,
    /// What is wrong with its fields; a matter of the client's choice.
    strict: Vec<String>,
}

impl Patch {
    /// Reads the patch of a request.
    pub(crate) fn parse(asked: &Asked<'_>) -> Outcome<(Self, WriteOptions)> {
        let kind = negotiate::patch(asked.header(&CONTENT_TYPE), asked.resource.builtin.is_some())?;
        let apply = kind == PatchType::Apply;
        let options = WriteOptions::parse(&asked.info.query, Write::Patch { apply })?;
        let media = if apply { Media::Yaml } else { Media::Json };
        let Decoded { value, duplicates } = decode::bytes(media, asked.body).map_err(|why| {
            Status::bad_request(if apply {
                format!("error decoding YAML: error converting YAML to JSON: {why}")
            } else {
                format!("error decoding patch: {why}")
            })
        })?;
        let strict = match kind {
            PatchType::Json => {
                let unknown = netloom_patch::json_patch_unknown_fields(&value);
                duplicates.into_iter().chain(unknown).map(|text| format!("json patch {text}")).collect()
            }
            PatchType::Merge | PatchType::Strategic | PatchType::Apply => duplicates,
        };
        Ok((Self { kind, value, strict }, options))
    }

    /// Whether it is an apply.
    pub(crate) fn is_apply(&self) -> bool {
        self.kind == PatchType::Apply
    }

    /// The configuration of an apply.
    pub(crate) fn config(&self) -> &Value {
        &self.value
    }

    /// What is wrong with its fields.
    pub(crate) fn strict(&self) -> &[String] {
        &self.strict
    }

    /// The object after the patch; not for an apply.
    pub(crate) fn applied(&self, asked: &Asked<'_>, object: &Value) -> Outcome<Value> {
        let patched = match self.kind {
            PatchType::Json => netloom_patch::json_patch(object, &self.value),
            PatchType::Merge => netloom_patch::merge_patch(object, &self.value),
            PatchType::Strategic => netloom_patch::strategic(object, &self.value, asked.resource.merge_keys()),
            PatchType::Apply => Ok(object.clone()),
        };
        patched.map_err(|error| refusal(&error))
    }

    /// What a refusal shows: the object after the patch, or for a strategic patch the patch itself.
    fn shown(&self, asked: &Asked<'_>, patched: &Value) -> String {
        match self.kind {
            PatchType::Strategic => netloom_schema::go_text::plain(&self.value),
            PatchType::Json | PatchType::Merge if asked.resource.builtin.is_some() && !self.touches_metadata() => {
                shown::with_untouched_metadata(patched)
            }
            PatchType::Json | PatchType::Merge | PatchType::Apply => patched.to_string(),
        }
    }

    fn touches_metadata(&self) -> bool {
        let below = |change: &Value| change["path"].as_str().is_some_and(|path| path.starts_with("/metadata"));
        self.value.get("metadata").is_some() || self.value.as_array().is_some_and(|changes| changes.iter().any(below))
    }
}

impl Api {
    pub(crate) async fn patch(&self, asked: &Asked<'_>, part: Part) -> Outcome<Answer> {
        let name = asked.name()?;
        let (patch, options) = Patch::parse(asked)?;
        let creates = patch.is_apply() && part == Part::Main;
        let job = Job { asked, options: &options, part, creates };
        let make = |old: Option<&Value>| {
            let mut new = if patch.is_apply() {
                self.applied(&job, &patch, old)?
            } else {
                self.patched(&job, &patch, old.ok_or_else(|| Status::not_found(asked.resource.qualified(), name))?)?
            };
            metadata::settle_namespace(&mut new, asked.namespace())?;
            metadata::check_name(&new, name)?;
            match old {
                Some(_) => self.complete(&job, &mut new, old)?,
                None => self.open_for(&job, &mut new)?,
            }
            if let Some(twice) = metadata::dedup_owners(&mut new) {
                asked.warn(format!("{TWICE}{twice}"));
            }
            Ok(new)
        };
        let changed = self.change(&job, name, &make).await?;
        Ok(Answer::object(if changed.created { 201 } else { 200 }, changed.object))
    }

    fn patched(&self, job: &Job<'_>, patch: &Patch, old: &Value) -> Outcome<Value> {
        let asked = job.asked;
        let mut new = patch.applied(asked, old)?;
        let shown = patch.shown(asked, &new);
        let refuse = |why: &str| {
            let error = FieldError::invalid_text("patch", &shown, why);
            Status::invalid(Qualified::new("", ""), "", &[error])
        };
        if !new.is_object() {
            return Err(refuse(&format!(
                "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
                decode::go_name(&new)
            )));
        }
        let text = |key: &str| new.get(key).and_then(Value::as_str).unwrap_or_default();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let resource = &asked.resource;
        if resource.builtin.is_some() && (kind != resource.kind || api_version != resource.api_version()) {
            return Err(refuse(&decode::no_conversion(resource, api_version, kind)));
        }
        let mut strict = patch.strict().to_vec();
        strict.extend(decode::shape(&asked.resource, &mut new).map_err(|why| refuse(&why))?);
        decode::report(asked, job.options.validation, &strict, |all| refuse(&format!("strict decoding error: {all}")))?;
        decode::default(&asked.resource, &mut new);
        owned::update(self, job, Some(old), &mut new);
        Ok(new)
    }

    /// Lays the configuration of an apply over what is stored.
    fn applied(&self, job: &Job<'_>, patch: &Patch, old: Option<&Value>) -> Outcome<Value> {
        let asked = job.asked;
        let mut new = owned::apply(self, job, old, patch.config())?;
        match job.options.validation {
            Validation::Strict if !patch.strict().is_empty() => {
                let all = patch.strict().join(", ");
                return Err(Status::bad_request(format!("error strict decoding patch: {all}")));
            }
            Validation::Strict | Validation::Warn | Validation::Ignore => {
                decode::report(asked, job.options.validation, patch.strict(), |all| Status::bad_request(all))?;
            }
        }
        let uid = metadata::text(&new, "uid");
        if old.is_none() && !uid.is_empty() {
            let why =
                format!("uid mismatch: the provided object specified uid {uid}, and no existing object was found");
            return Err(Status::conflict(asked.resource.qualified(), metadata::text(&new, "name"), &why));
        }
        if asked.resource.builtin.is_some() {
            decode::drop_empty(&asked.resource.schema(), &mut new);
        }
        decode::default_applied(&asked.resource, &mut new);
        if let (Some(old), true) = (old, metadata::text(&new, "resourceVersion").is_empty()) {
            let revision = metadata::text(old, "resourceVersion");
            metadata::set(&mut new, "resourceVersion", Some(json!(revision)));
        }
        Ok(new)
    }
}

/// Why a patch was not applied.
pub(crate) fn refusal(error: &PatchError) -> Status {
    match error.code() {
        413 => Status::too_large(&error.answer()),
        422 => Status::unprocessable(error.answer()),
        _ => Status::bad_request(error.answer()),
    }
}
