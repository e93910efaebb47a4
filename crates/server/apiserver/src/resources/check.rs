//! Whether an object may be as it is: metadata, schema, the kind's own rules, then admission.

use netloom_admission::{Operation, Review};
use netloom_api::GroupKind;
use netloom_schema::{FieldError, crd};
use serde_json::{Value, json};

use super::{Api, metadata, prepare::Part, write::Job};
use crate::{
    authn,
    builtin::NameRule,
    catalogue::Resource,
    crds,
    metrics::Refused,
    rbac::{self, Decision},
    request::{RequestInfo, Verb},
    status_error::{Outcome, Qualified, Status, StatusCause},
};

/// Judges a new object.
pub(crate) fn create(api: &Api, resource: &Resource, object: &Value) -> Outcome<()> {
    if is_definition(resource) {
        return refuse(resource, object, &crd::check_create(object, &*api.rules));
    }
    let mut errors = kind_errors(resource, object);
    let none = json!({});
    let found = object.get("metadata").unwrap_or(&none);
    errors.extend(netloom_schema::metadata::check_create(found, resource.namespaced, name_rule(resource)));
    errors.extend(finalizer_errors(resource, found));
    errors.extend(content_errors(api, resource, Part::Main, object, None));
    refuse(resource, object, &errors)
}

/// What a client should know about an object that is taken.
pub(crate) fn warn(job: &Job<'_>, new: &Value, old: Option<&Value>) {
    if is_definition(&job.asked.resource) && job.part == Part::Main {
        for warning in crds::unknown_formats(new, old) {
            job.asked.warn(warning);
        }
    }
}

/// Judges a changed object.
pub(crate) fn update(api: &Api, resource: &Resource, part: Part, new: &Value, old: &Value) -> Outcome<()> {
    if is_definition(resource) && part == Part::Main {
        return refuse(resource, new, &crd::check_update(new, old, &*api.rules));
    }
    let none = json!({});
    let (after, before) = (new.get("metadata").unwrap_or(&none), old.get("metadata").unwrap_or(&none));
    let mut errors = netloom_schema::metadata::check_update(after, before);
    errors.extend(finalizer_errors(resource, after));
    errors.extend(kind_errors(resource, new));
    errors.extend(content_errors(api, resource, part, new, Some(old)));
    refuse(resource, new, &errors)
}

fn refuse(resource: &Resource, object: &Value, errors: &[FieldError]) -> Outcome<()> {
    if errors.is_empty() {
        return Ok(());
    }
    // A custom object is named by the kind that it says it is.
    let kind = object.get("kind").and_then(Value::as_str).filter(|_| resource.builtin.is_none());
    let kind = kind.map_or_else(|| resource.qualified_kind(), |kind| Qualified::new(&resource.group, kind));
    Err(Status::invalid(kind, metadata::text(object, "name"), errors))
}

fn name_rule(resource: &Resource) -> netloom_schema::metadata::NameRule {
    use netloom_schema::metadata::NameRule as Rule;
    match resource.builtin.map_or(NameRule::Subdomain, |row| row.names) {
        NameRule::Subdomain => Rule::Subdomain,
        NameRule::Label => Rule::Label,
        NameRule::PathSegment => Rule::PathSegment,
    }
}

/// Built-in kinds ask more of finalizers; the ones that are written all the time do not.
fn finalizer_errors(resource: &Resource, metadata: &Value) -> Vec<FieldError> {
    let spared = resource.builtin.is_none()
        || is_definition(resource)
        || resource.is("", "events")
        || resource.is("coordination.k8s.io", "leases");
    if spared { Vec::new() } else { netloom_schema::metadata::check_standard_finalizers(metadata) }
}

fn is_definition(resource: &Resource) -> bool {
    resource.is("apiextensions.k8s.io", "customresourcedefinitions")
}

fn content_errors(api: &Api, resource: &Resource, part: Part, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let schema = resource.schema();
    let mut errors = match (resource.builtin, part) {
        (Some(_), _) if is_definition(resource) => Vec::new(),
        (Some(row), _) => (row.validate)(new, old),
        (None, Part::Status) => netloom_schema::validate_status(&schema, new, old, &*api.rules),
        (None, Part::Main | Part::Finalize) => netloom_schema::validate(&schema, new, old, &*api.rules),
    };
    if let Some(scale) = &resource.scale {
        errors.extend(crd::check_scale(scale, new));
    }
    errors
}

/// A custom object says its kind and version itself; both must be those of the path.
fn kind_errors(resource: &Resource, object: &Value) -> Vec<FieldError> {
    if resource.builtin.is_some() {
        return Vec::new();
    }
    let expected = [("kind", resource.kind.clone()), ("apiVersion", resource.api_version())];
    let wrong = expected.into_iter().filter_map(|(key, expected)| {
        let found = object.get(key).and_then(Value::as_str).unwrap_or_default();
        (found != expected).then(|| FieldError::invalid_text(key, found, format!("must be {expected}")))
    });
    wrong.collect()
}

impl Api {
    /// Lets the kind's rules fill in what the client left out.
    pub(crate) fn complete(&self, job: &Job<'_>, object: &mut Value, old: Option<&Value>) -> Outcome<()> {
        if self.admission.is_none() {
            return Ok(());
        }
        let patch = {
            let view = self.follow.view();
            let review = Self::review(job, Some(object), old, &*view);
            netloom_admission::complete(&review)
        };
        let Some(patch) = patch else { return Ok(()) };
        let filled = netloom_patch::json_patch(object, &patch)
            .map_err(|error| Status::internal(&format!("a rule's own patch does not fit: {error}")))?;
        *object = filled;
        Ok(())
    }

    /// Whoever makes an object by an update or an apply needs the right to create it as well. The question carries
    /// the object's name, as that of a POST does not: so a role can grant it for some names only.
    pub(crate) fn may_create(&self, job: &Job<'_>) -> Outcome<()> {
        let (user, info) = (&job.asked.caller.user, job.asked.info);
        if info.verb == Verb::Create {
            return Ok(());
        }
        let question = rbac::asked(&RequestInfo { verb: Verb::Create, ..info.clone() });
        match self.guard.decide(user, &question) {
            Decision::Allowed(_) => Ok(()),
            Decision::NotAllowed(why) => {
                tracing::info!(user = user.name, ?question, "refused");
                Err(authn::forbidden(user, &question, &why))
            }
        }
    }

    /// Asks the rules whether the write is taken.
    pub(crate) fn admit(&self, job: &Job<'_>, new: Option<&Value>, old: Option<&Value>) -> Outcome<()> {
        let resource = &job.asked.resource;
        let name = new.or(old).map_or("", |object| metadata::text(object, "name"));
        if let Some(new) = new.filter(|_| job.part == Part::Main) {
            let user = &job.asked.caller.user;
            let place = (resource.group.as_str(), resource.plural.as_str());
            if let Some(why) = self.guard.refuse(user, place, job.asked.namespace(), old, new) {
                return Err(Status::forbidden(resource.qualified(), name, &why));
            }
        }
        let Some(taints) = &self.admission else { return Ok(()) };
        let verdict = {
            let view = self.follow.view();
            let review = Self::review(job, new, old, &*view);
            let mut verdict = netloom_admission::validate(&review);
            verdict.forbidden = verdict.forbidden.or_else(|| netloom_admission::taints::refusal(&review, taints));
            verdict
        };
        for warning in verdict.warnings {
            job.asked.warn(warning);
        }
        if let Some(why) = verdict.forbidden {
            let user = &job.asked.caller.user.name;
            tracing::info!(user, resource = %resource.qualified(), name, why, "a write was refused");
            self.count_refusal(resource, "Forbidden");
            return Err(Status::forbidden(resource.qualified(), name, &why));
        }
        if !verdict.errors.is_empty() {
            self.count_refusal(resource, "Invalid");
            return Err(Status::invalid(resource.qualified_kind(), name, &verdict.errors));
        }
        Ok(())
    }

    fn count_refusal(&self, resource: &Resource, reason: &'static str) {
        let (group, resource) = (resource.group.clone(), resource.plural.clone());
        self.refusals.get_or_create(&Refused { group, resource, reason }).inc();
    }

    fn review<'a>(
        job: &'a Job<'_>,
        new: Option<&'a Value>,
        old: Option<&'a Value>,
        view: &'a dyn netloom_admission::View,
    ) -> Review<'a> {
        let operation = match (new, old) {
            (Some(_), None) => Operation::Create,
            (None, _) => Operation::Delete,
            (Some(_), Some(_)) => Operation::Update,
        };
        let subresource = job.part.subresource();
        Review {
            operation,
            kind: GroupKind::new(&job.asked.resource.group, &job.asked.resource.kind),
            namespace: job.asked.namespace(),
            name: new.or(old).map_or("", |object| metadata::text(object, "name")),
            subresource: (!subresource.is_empty()).then_some(subresource),
            object: new,
            old,
            user: &job.asked.caller.user,
            dry_run: job.options.dry_run,
            view,
        }
    }

    /// Makes sure that the namespace of a new object is there and stays.
    pub(crate) fn namespace_open(&self, resource: &Resource, namespace: Option<&str>, name: &str) -> Outcome<()> {
        let Some(namespace) = namespace.filter(|_| resource.namespaced) else { return Ok(()) };
        let key = netloom_store::Key::new("/namespaces", "", namespace);
        let namespaces = Qualified::new("", "namespaces");
        let Some(found) = self.stored(&key)? else { return Err(Status::not_found(namespaces, namespace)) };
        let object: Value = serde_json::from_slice(&found.bytes).unwrap_or_else(|_| json!({}));
        if !metadata::is_terminating(&object) {
            return Ok(());
        }
        let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
        Err(Status::forbidden(resource.qualified(), name, &why).cause(StatusCause {
            reason: "NamespaceTerminating".into(),
            message: format!("namespace {namespace} is being terminated"),
            field: "metadata.namespace".into(),
        }))
    }
}
