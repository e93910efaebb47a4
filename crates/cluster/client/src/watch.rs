//! Objects of one kind, as a stream of changes.
//!
//! Lists in pages, then watches with bookmarks; a watch that is too far behind is listed again. What fails is tried
//! again after a pause that grows.

use std::sync::Arc;

use futures_util::{Stream, StreamExt as _};
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject},
    runtime::{
        WatchStreamExt as _,
        watcher::{self, Event},
    },
};
use netloom_object::{Change, GroupKind};
use serde_json::Value;

use crate::whole::read;

/// Which objects are followed.
#[derive(Debug, Clone)]
pub struct Watch {
    /// Their kind.
    pub kind: GroupKind<'static>,
    /// Where it is served.
    pub resource: ApiResource,
    /// Their namespace; none for those of all namespaces, and of kinds that have none.
    pub namespace: Option<String>,
    /// What their fields must say, as `metadata.name=node1`: the server leaves all others out.
    pub fields: Option<String>,
    /// What their labels must say, in the same way.
    pub labels: Option<String>,
}

impl Watch {
    /// All objects of a kind.
    pub fn all(kind: GroupKind<'static>, resource: ApiResource) -> Self {
        Self { kind, resource, namespace: None, fields: None, labels: None }
    }

    /// Follows them: first the list of all, then each change. An interruption is reported, and the stream goes on.
    pub fn follow(self, client: Client) -> impl Stream<Item = Result<Change, watcher::Error>> + Send + Unpin {
        let Self { kind, resource, namespace, fields, labels } = self;
        let api: Api<DynamicObject> = match namespace {
            Some(namespace) => Api::namespaced_with(client, &namespace, &resource),
            None => Api::all_with(client, &resource),
        };
        let config = fields.iter().fold(watcher::Config::default(), |config, fields| config.fields(fields));
        let config = labels.iter().fold(config, |config, labels| config.labels(labels));
        let mut listing = Listing { kind, resource, fresh: Vec::new() };
        let events = watcher::watcher(api, config).default_backoff();
        events.filter_map(move |event| std::future::ready(event.map(|event| listing.change(event)).transpose())).boxed()
    }
}

/// A list that is being read.
struct Listing {
    kind: GroupKind<'static>,
    resource: ApiResource,
    fresh: Vec<Arc<Value>>,
}

impl Listing {
    fn change(&mut self, event: Event<DynamicObject>) -> Option<Change> {
        match event {
            Event::Init => {
                self.fresh.clear();
                None
            }
            Event::InitApply(object) => {
                self.fresh.push(read(object, &self.resource));
                None
            }
            Event::InitDone => Some(Change::Listed { kind: self.kind, objects: std::mem::take(&mut self.fresh) }),
            Event::Apply(object) => Some(Change::Put(read(object, &self.resource))),
            Event::Delete(object) => Some(Change::Gone(read(object, &self.resource))),
        }
    }
}

#[cfg(test)]
mod tests {
    use kube::api::GroupVersionKind;
    use serde_json::json;

    use super::*;

    fn object(name: &str) -> DynamicObject {
        let metadata = json!({"name": name, "managedFields": [{"manager": "m"}]});
        serde_json::from_value(json!({"metadata": metadata, "spec": {"a": 1}})).unwrap()
    }

    #[test]
    fn a_list_is_reported_once_it_is_whole_and_begun_again_when_it_was_cut_off() {
        let kind = GroupKind::new("g.io", "Thing");
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("g.io", "v1", "Thing"));
        let mut listing = Listing { kind, resource, fresh: Vec::new() };
        for event in [Event::Init, Event::InitApply(object("old")), Event::Init, Event::InitApply(object("new"))] {
            assert!(listing.change(event).is_none());
        }
        let Some(Change::Listed { kind: of, objects }) = listing.change(Event::InitDone) else { panic!("a list") };
        let wanted = json!({"apiVersion": "g.io/v1", "kind": "Thing", "metadata": {"name": "new"}, "spec": {"a": 1}});
        assert_eq!((of, objects.len(), objects[0].as_ref()), (kind, 1, &wanted));
        assert!(matches!(listing.change(Event::Delete(object("new"))), Some(Change::Gone(_))));
    }
}
