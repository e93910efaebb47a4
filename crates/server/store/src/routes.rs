//! Which watches want an event: found by its key, never by asking every watch.
//!
//! A watch names a resource, a namespace and a name, or leaves out any of them. An event therefore
//! concerns the watches under at most four places of its resource, plus those of everything.

use std::collections::HashMap;

use crate::{Key, Range};

/// The number of a watch.
pub(crate) type WatchId = usize;

/// The watches by what they want.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    by_resource: HashMap<String, Places>,
    /// What names no resource is rare, and asked one by one.
    others: Vec<(Range, WatchId)>,
}

/// The watches of one resource.
#[derive(Debug, Default)]
struct Places {
    all: Vec<WatchId>,
    by_namespace: HashMap<String, Vec<WatchId>>,
    by_name: HashMap<String, Vec<WatchId>>,
    by_both: HashMap<String, HashMap<String, Vec<WatchId>>>,
}

impl Routes {
    /// Adds a watch.
    pub(crate) fn insert(&mut self, range: &Range, id: WatchId) {
        let (Some(resource), namespace, name) = range.parts() else {
            self.others.push((range.clone(), id));
            return;
        };
        let places = self.by_resource.entry(resource.to_owned()).or_default();
        let place = match (namespace, name) {
            (None, None) => &mut places.all,
            (Some(namespace), None) => places.by_namespace.entry(namespace.to_owned()).or_default(),
            (None, Some(name)) => places.by_name.entry(name.to_owned()).or_default(),
            (Some(namespace), Some(name)) => {
                places.by_both.entry(namespace.to_owned()).or_default().entry(name.to_owned()).or_default()
            }
        };
        place.push(id);
    }

    /// Removes a watch.
    pub(crate) fn remove(&mut self, range: &Range, id: WatchId) {
        let (Some(resource), namespace, name) = range.parts() else {
            self.others.retain(|(_, other)| *other != id);
            return;
        };
        let Some(places) = self.by_resource.get_mut(resource) else { return };
        match (namespace, name) {
            (None, None) => forget(&mut places.all, id),
            (Some(namespace), None) => forget_in(&mut places.by_namespace, namespace, id),
            (None, Some(name)) => forget_in(&mut places.by_name, name, id),
            (Some(namespace), Some(name)) => {
                if let Some(names) = places.by_both.get_mut(namespace) {
                    forget_in(names, name, id);
                    if names.is_empty() {
                        places.by_both.remove(namespace);
                    }
                }
            }
        }
        if places.is_empty() {
            self.by_resource.remove(resource);
        }
    }

    /// Calls `visit` with every watch that wants events of this key.
    pub(crate) fn matching(&self, key: &Key, mut visit: impl FnMut(WatchId)) {
        if let Some(places) = self.by_resource.get(key.resource()) {
            let both = places.by_both.get(key.namespace()).and_then(|names| names.get(key.name()));
            let found =
                [Some(&places.all), places.by_namespace.get(key.namespace()), places.by_name.get(key.name()), both];
            found.into_iter().flatten().flatten().for_each(|id| visit(*id));
        }
        self.others.iter().filter(|(range, _)| range.contains(key)).for_each(|(_, id)| visit(*id));
    }
}

impl Places {
    fn is_empty(&self) -> bool {
        self.all.is_empty() && self.by_namespace.is_empty() && self.by_name.is_empty() && self.by_both.is_empty()
    }
}

fn forget(ids: &mut Vec<WatchId>, id: WatchId) {
    if let Some(index) = ids.iter().position(|other| *other == id) {
        ids.swap_remove(index);
    }
}

fn forget_in(places: &mut HashMap<String, Vec<WatchId>>, place: &str, id: WatchId) {
    if let Some(ids) = places.get_mut(place) {
        forget(ids, id);
        if ids.is_empty() {
            places.remove(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(routes: &Routes, key: &Key) -> Vec<WatchId> {
        let mut ids = Vec::new();
        routes.matching(key, |id| ids.push(id));
        ids.sort_unstable();
        ids
    }

    #[test]
    fn an_event_reaches_exactly_the_ranges_that_hold_its_key() {
        let pods = || Range::resource("/pods");
        let ranges = [
            Range::everything(),
            Range::everything().in_namespace("a"),
            pods(),
            pods().in_namespace("a"),
            pods().named("x"),
            pods().in_namespace("a").named("x"),
            pods().in_namespace("b").named("x"),
            Range::resource("/nodes"),
        ];
        let mut routes = Routes::default();
        for (id, range) in ranges.iter().enumerate() {
            routes.insert(range, id);
        }
        for key in [Key::new("/pods", "a", "x"), Key::new("/pods", "b", "y"), Key::new("/nodes", "", "x")] {
            let expected: Vec<_> = (0..ranges.len()).filter(|id| ranges[*id].contains(&key)).collect();
            assert_eq!(found(&routes, &key), expected, "{key}");
        }
        for (id, range) in ranges.iter().enumerate() {
            routes.remove(range, id);
        }
        assert!(routes.by_resource.is_empty() && routes.others.is_empty());
    }
}
