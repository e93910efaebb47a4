//! Which kinds the cluster serves, from its own definitions.
//!
//! A kind is served when its definition says `Established`. That is an event, so nobody asks again and again
//! for what is not there yet, and a definition that goes is heard of at once.

use std::{collections::BTreeMap, sync::Arc};

use futures_util::StreamExt as _;
use kube::{
    Api, Client, ResourceExt as _,
    api::{ApiResource, DynamicObject, GroupVersionKind},
    runtime::{
        WatchStreamExt as _,
        watcher::{self, Event},
    },
};
use netloom_api::{GroupKind, Kind, definition::INSTALLED, foreign, registry};
use serde_json::Value;
use tokio::sync::watch;

use crate::metrics::Metrics;

mod install;
mod standing;

pub use self::install::InstallError;
use self::standing::standing;
pub(crate) use self::{install::install, standing::Standing};

/// Definitions are large and only a few words of each are kept.
const PAGE: u32 = 50;

/// What a definition says, as far as it is needed to ask for its objects.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Definition {
    plural: String,
    /// Versions that are served, the server's favourite first.
    versions: Vec<String>,
    /// What says that it is ours.
    installed: Option<String>,
}

/// Definitions by group and kind; by name where they were read from, so that one that goes is found.
type Known = BTreeMap<(String, String), Definition>;

/// The definitions that are established, as they are now.
#[derive(Debug, Clone)]
pub struct Definitions(watch::Receiver<Option<Known>>);

impl Definitions {
    /// The definitions, and the task that follows them.
    pub fn follow(client: Client, metrics: Arc<Metrics>) -> (Self, impl Future<Output = ()>) {
        let (sender, receiver) = watch::channel(None);
        (Self(receiver), follow(client, metrics, sender))
    }

    /// How objects of a kind are asked for: none while it is not served, nothing at all before the
    /// definitions are known.
    pub fn resource(&self, kind: GroupKind<'static>) -> Option<Option<ApiResource>> {
        if let Some(fixed) = fixed(kind) {
            return Some(Some(fixed));
        }
        let known = self.0.borrow();
        let definition = known.as_ref()?.get(&(kind.group.to_owned(), kind.kind.to_owned()));
        Some(definition.and_then(|definition| definition.resource(kind)))
    }

    /// Whether objects of a kind are acted on. Those that a cluster has on request belong together: none of a group is
    /// unless the definitions of all are there and ours, and the front end was `requested` or the server has them by itself.
    pub(crate) fn standing(&self, kind: GroupKind<'_>, requested: bool) -> Standing {
        self.0.borrow().as_ref().map_or(Standing::Acted, |known| standing(known, kind, requested))
    }

    /// Waits for the next change.
    pub async fn changed(&mut self) {
        if self.0.changed().await.is_err() {
            // Nobody follows the definitions any more: the process is ending.
            std::future::pending::<()>().await;
        }
    }
}

/// What the definition of a kind is called.
fn definition_name(kind: &Kind) -> String {
    format!("{}.{}", kind.plural, kind.group)
}

impl Definition {
    fn of(object: &DynamicObject) -> Option<((String, String), Self)> {
        Self::read(&object.data, object.annotations().get(INSTALLED).cloned())
    }

    fn read(definition: &Value, installed: Option<String>) -> Option<((String, String), Self)> {
        let text = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let conditions = definition.pointer("/status/conditions")?.as_array()?;
        let established = conditions.iter().any(|found| found["type"] == "Established" && found["status"] == "True");
        let all = definition.pointer("/spec/versions")?.as_array()?;
        let served = all.iter().filter(|version| version["served"] == true);
        let mut versions: Vec<String> = served.filter_map(|version| version["name"].as_str()).map(Into::into).collect();
        versions.sort_by_key(|version| (version.contains("alpha"), version.contains("beta"), version.clone()));
        let names = (text("/spec/group")?, text("/spec/names/kind")?);
        established.then_some((names, Self { plural: text("/spec/names/plural")?, versions, installed }))
    }

    /// Kinds of ours are asked for in the version that the program knows, others in the best one.
    fn resource(&self, kind: GroupKind<'static>) -> Option<ApiResource> {
        let own = registry::find(kind.group, kind.kind).map(|kind| kind.version);
        let version = self.versions.iter().find(|served| own.is_none_or(|own| own == served.as_str()))?;
        Some(resource(kind, version, &self.plural))
    }
}

/// How objects of a kind are asked for that needs no definition or whose definition is ours.
pub fn fixed_or_own(kind: GroupKind<'static>) -> Option<ApiResource> {
    let own = || registry::find(kind.group, kind.kind).map(|own| resource(kind, own.version, own.plural));
    fixed(kind).or_else(own)
}

/// Kinds that every server has.
fn fixed(kind: GroupKind<'static>) -> Option<ApiResource> {
    match (kind.group, kind.kind) {
        ("", name) => Some(ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", name))),
        ("events.k8s.io", "Event") => Some(resource(kind, "v1", "events")),
        ("coordination.k8s.io", "Lease") => Some(lease()),
        _ => None,
    }
}

/// How leases are asked for.
pub(crate) fn lease() -> ApiResource {
    resource(foreign::LEASE, "v1", "leases")
}

fn resource(kind: GroupKind<'_>, version: &str, plural: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(kind.group, version, kind.kind), plural)
}

fn api(client: Client) -> Api<DynamicObject> {
    let kind = GroupKind::new("apiextensions.k8s.io", "CustomResourceDefinition");
    Api::all_with(client, &resource(kind, "v1", "customresourcedefinitions"))
}

async fn follow(client: Client, metrics: Arc<Metrics>, known: watch::Sender<Option<Known>>) {
    let config = watcher::Config::default().page_size(PAGE);
    let mut events = watcher::watcher(api(client), config).default_backoff().boxed();
    let mut fresh = Known::new();
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Init) => fresh.clear(),
            Ok(Event::InitApply(object)) => fresh.extend(Definition::of(&object)),
            Ok(Event::InitDone) => replace(&known, |known| *known = Some(std::mem::take(&mut fresh))),
            Ok(Event::Apply(object)) => {
                let read = Definition::of(&object);
                let names = names(&object.data);
                replace(&known, |known| {
                    let known = known.get_or_insert_default();
                    known.retain(|key, _| Some(key) != names.as_ref());
                    known.extend(read);
                });
            }
            Ok(Event::Delete(object)) => {
                let names = names(&object.data);
                replace(&known, |known| known.get_or_insert_default().retain(|key, _| Some(key) != names.as_ref()));
            }
            Err(why) => {
                metrics.interrupted("CustomResourceDefinition");
                tracing::warn!(%why, "the watch of definitions was interrupted");
            }
        }
    }
}

fn names(definition: &Value) -> Option<(String, String)> {
    let text = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    Some((text("/spec/group")?, text("/spec/names/kind")?))
}

/// Tells of a change only where there is one.
fn replace(known: &watch::Sender<Option<Known>>, change: impl FnOnce(&mut Option<Known>)) {
    known.send_if_modified(|known| {
        let before = known.clone();
        change(known);
        *known != before
    });
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    pub(super) fn definition(group: &str, kind: &str, established: &str, versions: &Value) -> Value {
        json!({
            "spec": {"group": group, "names": {"kind": kind, "plural": "things"}, "versions": versions},
            "status": {"conditions": [{"type": "Established", "status": established}]},
        })
    }

    #[test]
    fn only_what_is_established_and_served_counts() {
        let versions = json!([{"name": "v1beta1", "served": true}, {"name": "v1", "served": true}, {"name": "v2", "served": false}]);
        assert!(Definition::read(&definition("g.io", "Thing", "False", &versions), None).is_none());
        let (names, read) = Definition::read(&definition("g.io", "Thing", "True", &versions), None).unwrap();
        assert_eq!(names, ("g.io".to_owned(), "Thing".to_owned()));
        let resource = read.resource(GroupKind::new("g.io", "Thing")).unwrap();
        assert_eq!((resource.api_version.as_str(), resource.plural.as_str()), ("g.io/v1", "things"));
    }

    #[test]
    fn kinds_of_ours_are_asked_for_in_the_version_that_is_known_here() {
        let kind = GroupKind::new("nmstate.io", "NodeNetworkState");
        let newer = definition("nmstate.io", "NodeNetworkState", "True", &json!([{"name": "v9", "served": true}]));
        assert!(Definition::read(&newer, None).unwrap().1.resource(kind).is_none());
        assert_eq!(fixed_or_own(kind).unwrap().plural, "nodenetworkstates");
        assert_eq!(fixed_or_own(GroupKind::new("", "Node")).unwrap().plural, "nodes");
    }
}
