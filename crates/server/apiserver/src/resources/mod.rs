//! Objects: everything that can be done to them, one verb to a file.
//!
//! ```text
//! handle ─► negotiate ─► decode ─► complete ─► prepare ─► check ─► admit ─► write ─► answer
//! ```
//!
//! [`Api`] is the whole of it and knows nothing of connections: a request comes in as a
//! [`RequestInfo`], headers and bytes, and who sends it is already known and already allowed to.

mod answer;
pub(crate) mod asked;
mod check;
mod chunks;
pub mod clock;
mod create;
pub(crate) mod decode;
pub(crate) mod delete;
mod delete_collection;
mod follow;
mod get;
mod go_json;
mod list;
pub(crate) mod metadata;
pub(crate) mod options;
pub(crate) mod owned;
mod pages;
mod patch;
pub(crate) mod prepare;
mod raw;
mod scale;
mod selection;
mod shown;
pub(crate) mod stored;
mod typed;
mod update;
mod watch;
mod write;
mod write_slots;

#[cfg(test)]
mod tests;

use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use http::{HeaderMap, Response, header::ACCEPT};
use netloom_admission::taints::TaintKey;
use netloom_cel::Cel;
use netloom_schema::Rules;
use netloom_store::{Change, Key, Range, Store};
use serde_json::{Value, json};

pub use self::answer::{nowhere, object_response, status_response};
use self::{
    answer::Answer,
    asked::{Asked, Warnings},
    clock::Source,
    follow::Follow,
    prepare::Part,
    write_slots::WriteSlots,
};

use crate::{
    body::Body,
    builtin,
    catalogue::{Catalogue, Resource},
    crds::Definitions,
    gc::Collector,
    metrics::Refusals,
    namespaces::Lifecycles,
    negotiate::{self, Output},
    rbac::WriteGuard,
    request::{Caller, RequestInfo, Verb},
    status_error::{Outcome, Status},
    tables::Shaper,
};

/// Namespaces that are always there.
const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// All objects, and what can be done to them.
pub struct Api {
    pub(crate) store: Store,
    pub(crate) source: Arc<dyn Source>,
    pub(crate) rules: Box<dyn Rules>,
    /// The rules of our own kinds hold where this says which taints agents may take off.
    pub(crate) admission: Option<Vec<TaintKey>>,
    pub(crate) guard: Arc<dyn WriteGuard>,
    pub(crate) follow: Arc<Follow>,
    write_slots: WriteSlots,
    pub(crate) gc: Arc<Collector>,
    pub(crate) lifecycles: Lifecycles,
    pub(crate) definitions: Definitions,
    pub(crate) refusals: Refusals,
    catalogue: RwLock<Arc<Catalogue>>,
    changes: tokio::sync::watch::Sender<u64>,
}

impl Api {
    /// Opens the objects of a store. With `admission` the rules of our own kinds hold, and agents may take taints
    /// of these keys off their Nodes; `guard` looks at writes of roles and bindings.
    ///
    /// The parts that follow the store run as tasks until the last reference is dropped.
    pub async fn open(
        store: Store,
        source: Arc<dyn Source>,
        admission: Option<Vec<TaintKey>>,
        guard: Arc<dyn WriteGuard>,
    ) -> Outcome<Arc<Self>> {
        let built_in: Vec<Arc<Resource>> =
            builtin::all().iter().map(|row| Arc::new(Resource::from_builtin(row))).collect();
        let catalogue = Arc::new(Catalogue::new(built_in.iter().cloned(), 1));
        let api = Arc::new(Self {
            store,
            source,
            rules: Box::new(Cel::new()),
            admission,
            guard,
            follow: Arc::new(Follow::new()),
            write_slots: WriteSlots::default(),
            gc: Arc::default(),
            lifecycles: Lifecycles::default(),
            definitions: Definitions::new(built_in),
            refusals: Refusals::default(),
            catalogue: RwLock::new(catalogue),
            changes: tokio::sync::watch::Sender::new(1),
        });
        api.make_namespaces().await?;
        api.start_following().await?;
        api.start_tasks().await;
        Ok(api)
    }

    /// What is served now.
    pub fn catalogue(&self) -> Arc<Catalogue> {
        self.catalogue.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Tells whenever something else is served; the value is the catalogue's generation.
    pub fn catalogue_changes(&self) -> tokio::sync::watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Puts another catalogue in the place of the present one.
    pub(crate) fn serve(&self, resources: Vec<Arc<Resource>>) {
        let mut current = self.catalogue.write().unwrap_or_else(PoisonError::into_inner);
        let generation = current.generation + 1;
        *current = Arc::new(Catalogue::new(resources, generation));
        drop(current);
        self.changes.send_replace(generation);
    }

    /// Reads one object, for parts of the server that have no client behind them.
    pub fn read(&self, group: &str, plural: &str, namespace: &str, name: &str) -> Option<Value> {
        let catalogue = self.catalogue();
        let resource = catalogue.any_version(group, plural)?;
        let found = self.stored(&Key::new(&resource.store_name(), namespace, name)).ok()??;
        stored::decode(resource, &found).ok()
    }

    /// Reads all objects of a resource, for parts of the server that have no client behind them.
    pub async fn list_all(&self, group: &str, plural: &str) -> Vec<Value> {
        let catalogue = self.catalogue();
        let Some(resource) = catalogue.any_version(group, plural) else { return Vec::new() };
        let mut objects = Vec::new();
        let visited = self.each(Range::resource(&resource.store_name()), |_, object| {
            objects.extend(stored::decode(resource, object));
        });
        if let Err(status) = visited.await {
            tracing::error!(error = %status, plural, "objects cannot be read");
        }
        objects
    }

    /// Why rules and the catalogue do not follow the store at the moment; none when all is well.
    pub fn problem(&self) -> Option<String> {
        self.follow.problem()
    }

    /// The store beneath.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Answers a request about a resource.
    pub async fn handle(&self, caller: &Caller, info: RequestInfo, headers: &HeaderMap, body: Bytes) -> Response<Body> {
        let catalogue = self.catalogue();
        let Some(resource) = catalogue.lookup(&info.group, &info.version, &info.resource).cloned() else {
            let known = catalogue.iter().any(|resource| {
                resource.builtin.is_some() && resource.group == info.group && resource.version == info.version
            });
            return unknown(known);
        };
        drop(catalogue);
        if let Some(refused) = unroutable(&resource, &info) {
            return refused;
        }
        let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
        let pretty = info.query.get("pretty");
        let produces = if resource.builtin.is_some() { negotiate::produces(accept) } else { Ok(()) };
        let output = match produces.and_then(|()| negotiate::output(accept, pretty)) {
            Ok(output) => output,
            Err(status) => return status_response(&status, Output::PLAIN),
        };
        let warnings = Warnings::default();
        let asked = Asked { caller, info: &info, headers, body: &body, resource, output, warnings: &warnings };
        let Some(outcome) = self.dispatch(&asked).await else { return unknown(true) };
        answer::warned(self.respond(&asked, outcome), asked.resource.deprecated.as_deref(), &warnings)
    }

    /// Does what is asked for; none when the path leads nowhere.
    async fn dispatch(&self, asked: &Asked<'_>) -> Option<Outcome<Answer>> {
        let resource = &asked.resource;
        let verb = asked.info.verb;
        let outcome = match (asked.info.subresource.as_deref(), verb) {
            (None, verb) if !resource.takes(verb.word()) => Err(unsupported(resource, verb)),
            (None, Verb::Get) => self.get(asked).await,
            (None, Verb::List) => self.list(asked).await,
            (None, Verb::Watch) => self.watch(asked).await,
            (None, Verb::Update | Verb::Patch) if asked.info.name.is_none() => Err(unsupported(resource, verb)),
            (None, Verb::Create) if asked.info.name.is_some() => Err(unsupported(resource, verb)),
            (None, Verb::Create) => self.create(asked).await,
            (None, Verb::Update) => self.update(asked, Part::Main).await,
            (None, Verb::Patch) => self.patch(asked, Part::Main).await,
            (None, Verb::Delete) => self.delete(asked).await,
            (None, Verb::DeleteCollection) => self.delete_collection(asked).await,
            (Some("status"), verb) if resource.status => match verb {
                Verb::Get => self.get(asked).await,
                Verb::Update => self.update(asked, Part::Status).await,
                Verb::Patch => self.patch(asked, Part::Status).await,
                Verb::List | Verb::Watch | Verb::Create | Verb::Delete | Verb::DeleteCollection => {
                    Err(unsupported(resource, verb))
                }
            },
            (Some("scale"), _) if resource.scale.is_some() => self.scale(asked).await,
            (Some("finalize"), Verb::Update) if resource.is("", "namespaces") => {
                self.update(asked, Part::Finalize).await
            }
            (Some(_), _) if resource.builtin.is_some() => return None,
            // A custom kind without this subresource says that the object is not there.
            (Some(_), _) => {
                Err(Status::not_found(resource.qualified(), asked.info.name.as_deref().unwrap_or_default()))
            }
        };
        Some(outcome)
    }

    fn respond(&self, asked: &Asked<'_>, outcome: Outcome<Answer>) -> Response<Body> {
        let output = asked.output;
        match outcome {
            Ok(Answer::Object { code, object }) => {
                let form = Shaper::single(&asked.resource, output, &asked.info.query, self.source.now());
                match form {
                    Ok(mut shaper) => object_response(code, &shaper.object(object), output),
                    Err(status) => status_response(&status, output),
                }
            }
            Ok(Answer::Text { code, text }) => answer::text_response(code, text, output),
            Ok(Answer::Stream { body }) => answer::stream_response(body),
            Ok(Answer::Status(status)) | Err(status) => status_response(&status, output),
        }
    }

    /// Makes the namespaces that are always there.
    async fn make_namespaces(&self) -> Outcome<()> {
        let catalogue = self.catalogue();
        let Some(resource) = catalogue.lookup("", "v1", "namespaces") else { return Ok(()) };
        let mut changes = Vec::new();
        for name in NAMESPACES {
            let key = Key::new(&resource.store_name(), "", name);
            if self.stored(&key)?.is_none() {
                let mut object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
                decode::default(resource, &mut object);
                metadata::fill(&mut object, &*self.source);
                prepare::create(resource, &mut object);
                changes.push(Change::create(key, stored::encode(resource, &object)));
            }
        }
        if !changes.is_empty() {
            self.store.write(changes).await.map_err(|error| write::refused(&error))?;
        }
        Ok(())
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        // Its task waits for work and finds that there is no server any more.
        self.gc.rescan();
    }
}

/// The refusal of a path that fits no resource in this form.
fn unroutable(resource: &Resource, info: &RequestInfo) -> Option<Response<Body>> {
    let inside = info.namespace.is_some();
    if inside && !resource.namespaced {
        return Some(nowhere());
    }
    let across = matches!(info.verb, Verb::List | Verb::Watch);
    if resource.namespaced && !inside && !across {
        let collection = info.name.is_none() && resource.builtin.is_some();
        return Some(if collection { status_response(&Status::generic(405, ""), Output::PLAIN) } else { nowhere() });
    }
    None
}

/// The answer to a path that fits nothing; groups of built-in kinds say it in their own way.
fn unknown(builtin: bool) -> Response<Body> {
    if builtin { status_response(&Status::generic(404, ""), Output::PLAIN) } else { nowhere() }
}

fn unsupported(resource: &Resource, verb: Verb) -> Status {
    if resource.builtin.is_some() {
        Status::generic(405, "")
    } else {
        Status::method_not_supported(resource.qualified(), verb.word())
    }
}
