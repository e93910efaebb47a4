//! `/scale`: the number of replicas of any kind that declares where it keeps it.

use http::header::CONTENT_TYPE;
use netloom_patch::managed::{self, Manager, Shape};
use serde_json::{Value, json};

use super::{
    Api,
    answer::Answer,
    asked::Asked,
    clock, decode, metadata,
    options::{Write, WriteOptions},
    patch::Patch,
    prepare::Part,
    update::same_identity,
    write::Job,
};
use crate::{
    negotiate::{self, Written},
    request::Verb,
    status_error::{Outcome, Status},
};

/// How a scale is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    Replaced,
    Patched,
    Applied,
}

impl Api {
    pub(crate) async fn scale(&self, asked: &Asked<'_>) -> Outcome<Answer> {
        let name = asked.name()?;
        match asked.info.verb {
            Verb::Get => {
                let object = self.found(asked, &asked.key(name)?)?;
                let path = Self::spec_path(asked)?;
                let replicas = whole_number(&object, path)
                    .ok_or_else(|| Status::internal(&format!("the spec replicas field {path:?} does not exist")))?;
                Ok(Answer::object(200, scale_of(asked, &object, replicas)?))
            }
            Verb::Update => self.replace_scale(asked, name).await,
            Verb::Patch => self.patch_scale(asked, name).await,
            Verb::List | Verb::Watch | Verb::Create | Verb::Delete | Verb::DeleteCollection => {
                Err(Status::method_not_supported(asked.resource.qualified(), asked.info.verb.word()))
            }
        }
    }

    async fn replace_scale(&self, asked: &Asked<'_>, name: &str) -> Outcome<Answer> {
        let options = WriteOptions::parse(&asked.info.query, Write::Update)?;
        let foreign = || {
            Status::bad_request("no kind is registered for the type v1.Scale in scheme \"pkg/runtime/scheme.go:111\"")
        };
        let scale = match negotiate::input(asked.header(&CONTENT_TYPE), true)? {
            Written::Protobuf => {
                let read = decode::message(managed::scale::API_VERSION, "Scale", asked.body);
                read.map_err(|_| foreign())?.value
            }
            Written::Text(media) => decode::bytes(media, asked.body).map_err(Status::bad_request)?.value,
        };
        let kind = scale.get("kind").and_then(Value::as_str).unwrap_or("Scale");
        if kind != "Scale" {
            return Err(foreign());
        }
        metadata::check_name(&scale, name)?;
        self.write_scale(asked, name, &options, How::Replaced, &|_| Ok(scale.clone())).await
    }

    async fn patch_scale(&self, asked: &Asked<'_>, name: &str) -> Outcome<Answer> {
        let (patch, options) = Patch::parse(asked)?;
        let make = |current: &Value| {
            if !patch.is_apply() {
                return patch.applied(asked, current);
            }
            let time = clock::seconds(self.source.now());
            let manager = Manager {
                name: &options.manager,
                api_version: managed::scale::API_VERSION,
                subresource: "scale",
                time: &time,
            };
            let shape = Shape::new(managed::scale::schema(), "Scale").ignoring(&["status"]);
            managed::apply(Some(current), patch.config(), &manager, options.force, &shape)
                .map_err(super::owned::refusal)
        };
        let how = if patch.is_apply() { How::Applied } else { How::Patched };
        self.write_scale(asked, name, &options, how, &make).await
    }

    async fn write_scale(
        &self,
        asked: &Asked<'_>,
        name: &str,
        options: &WriteOptions,
        how: How,
        make: &(dyn Fn(&Value) -> Outcome<Value> + Send + Sync),
    ) -> Outcome<Answer> {
        let job = Job { asked, options, part: Part::Main, creates: false };
        let change = |old: Option<&Value>| {
            let old = old.ok_or_else(|| Status::not_found(asked.resource.qualified(), name))?;
            let path = Self::spec_path(asked)?;
            let known = whole_number(old, path);
            let current = self.owned_scale(asked, old, known)?;
            let mut scale = make(&current)?;
            same_identity(asked, name, &scale, Some(old))?;
            if known.is_none() && how != How::Replaced && scale.pointer("/spec/replicas").is_none() {
                return Err(Status::bad_request(format!("the spec replicas field {path:?} cannot be empty")));
            }
            let replicas = replicas(&scale)?;
            if how != How::Applied {
                self.own_scale(&job, &current, &mut scale);
            }
            let mut new = old.clone();
            set_path(&mut new, path, json!(replicas));
            let version = asked.resource.api_version();
            let paths = self.replica_paths(asked);
            let paths: Vec<(&str, Option<&str>)> =
                paths.iter().map(|(version, path)| (version.as_str(), path.as_deref())).collect();
            let fields = managed::scale::to_parent(old, &scale, &version, &paths);
            metadata::set(&mut new, "managedFields", fields);
            let given = metadata::text(&scale, "resourceVersion");
            if !given.is_empty() {
                metadata::set(&mut new, "resourceVersion", Some(json!(given)));
            }
            Ok(new)
        };
        let changed = self.change(&job, name, &change).await?;
        let replicas = whole_number(&changed.object, Self::spec_path(asked)?).unwrap_or_default();
        Ok(Answer::object(200, scale_of(asked, &changed.object, replicas)?))
    }

    /// Records who changed the number.
    fn own_scale(&self, job: &Job<'_>, current: &Value, scale: &mut Value) {
        let time = clock::seconds(self.source.now());
        let manager = Manager {
            name: job.options.manager_or(&job.asked.caller.agent),
            api_version: managed::scale::API_VERSION,
            subresource: "scale",
            time: &time,
        };
        let shape = Shape::new(managed::scale::schema(), "Scale").ignoring(&["status"]);
        managed::update(Some(current), scale, &manager, &shape);
    }

    fn spec_path<'a>(asked: &'a Asked<'_>) -> Outcome<&'a str> {
        let scale = asked.resource.scale.as_ref();
        scale.map(|scale| scale.spec_replicas.as_str()).ok_or_else(|| Status::generic(404, ""))
    }

    fn replica_paths(&self, asked: &Asked<'_>) -> Vec<(String, Option<String>)> {
        let catalogue = self.catalogue();
        let same = catalogue
            .iter()
            .filter(|other| other.group == asked.resource.group && other.plural == asked.resource.plural);
        same.map(|other| (other.api_version(), other.scale.as_ref().map(|scale| scale.spec_replicas.clone()))).collect()
    }

    /// The scale that a write begins with: who owns the number stands in it, for the record alone.
    fn owned_scale(&self, asked: &Asked<'_>, object: &Value, replicas: Option<i64>) -> Outcome<Value> {
        let mut scale = scale_of(asked, object, replicas.unwrap_or_default())?;
        let versions = self.replica_paths(asked);
        let versions: Vec<(&str, Option<&str>)> =
            versions.iter().map(|(version, path)| (version.as_str(), path.as_deref())).collect();
        if let Some(fields) = managed::scale::to_scale(object, &versions) {
            scale["metadata"]["managedFields"] = fields;
        }
        Ok(scale)
    }
}

/// The scale of an object, as clients see it.
fn scale_of(asked: &Asked<'_>, object: &Value, replicas: i64) -> Outcome<Value> {
    let paths = asked.resource.scale.as_ref().ok_or_else(|| Status::generic(404, ""))?;
    let mut status = json!({"replicas": whole_number(object, &paths.status_replicas).unwrap_or_default()});
    if let Some(selector) = paths.label_selector.as_deref().and_then(|path| find(object, path)).and_then(Value::as_str)
    {
        status["selector"] = json!(selector);
    }
    let mut metadata = json!({});
    for key in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = metadata::value(object, key) {
            metadata[key] = value.clone();
        }
    }
    // A number that was never written is none, as with every whole number that may be left out.
    let spec = if replicas == 0 { json!({}) } else { json!({"replicas": replicas}) };
    Ok(json!({"kind": "Scale", "apiVersion": managed::scale::API_VERSION, "metadata": metadata, "spec": spec,
        "status": status}))
}

fn replicas(scale: &Value) -> Outcome<i64> {
    let value = scale.pointer("/spec/replicas").filter(|value| !value.is_null());
    let Some(value) = value else { return Ok(0) };
    let Some(number) = value.as_i64() else {
        let kind = decode::go_name(value);
        return Err(Status::bad_request(format!(
            "Scale in version \"v1\" cannot be handled as a Scale: json: cannot unmarshal {kind} into Go struct field ScaleSpec.spec.replicas of type int32"
        )));
    };
    Ok(number)
}

fn whole_number(object: &Value, path: &str) -> Option<i64> {
    find(object, path).and_then(Value::as_i64)
}

fn find<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.trim_start_matches('.').split('.').try_fold(object, |value, key| value.get(key))
}

fn set_path(object: &mut Value, path: &str, value: Value) {
    let mut at = object;
    for key in path.trim_start_matches('.').split('.') {
        if !at.is_object() {
            *at = json!({});
        }
        at = &mut at[key];
    }
    *at = value;
}
