//! Origins as records on disk have them, those of the first versions among them.

use std::{collections::BTreeSet, fmt, sync::Arc};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, MapAccess, Visitor, value::MapAccessDeserializer},
};

use super::{Asker, CoOwner, Origin, Source, SourceObject, text};

/// An origin as it is read. The first versions had one text for all who ask, and one for those beside them.
#[derive(Deserialize)]
pub(super) struct Written {
    source: Owners,
    path: Arc<str>,
    line: u32,
    #[serde(default)]
    co_owners: Option<Arc<[CoOwner]>>,
    #[serde(default)]
    with: Option<String>,
}

enum Owners {
    One(Source),
    Text(String),
}

impl From<Written> for Origin {
    fn from(written: Written) -> Self {
        let Written { source, path, line, co_owners, with } = written;
        let text = match source {
            Owners::One(source) => return Self { source, path, line, co_owners },
            Owners::Text(text) => text,
        };
        let mut places: Vec<Self> = text.split(text::AND).map(text::place).collect();
        let last = places.pop().map(|place| Self { path, line, ..place });
        let asked = places.into_iter().chain(last).reduce(|first, second| first.and(&second));
        let with = with.iter().flat_map(|with| with.split(", ")).map(text::place);
        asked.expect("a text has at least one part").beside(with)
    }
}

impl<'de> Deserialize<'de> for Owners {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = Owners;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a source, or a text of the first versions")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Owners, E> {
                Ok(Owners::Text(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Owners, A::Error> {
                let asker = Asker::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Owners::One(Source(Arc::new(asker))))
            }
        }

        from.deserialize_any(Either)
    }
}

impl<'de> Deserialize<'de> for Source {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(match Owners::deserialize(from)? {
            Owners::One(source) => source,
            Owners::Text(text) => text::place(&text).source,
        })
    }
}

/// Without the names of its fields: there may be one for each of many routes.
impl Serialize for SourceObject {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        (&self.group, &self.kind, &self.namespace, &self.name).serialize(to)
    }
}

/// Gives equal sources and owners of a record one place in memory while it is read.
#[derive(Default)]
pub(crate) struct Shared {
    sources: BTreeSet<Source>,
    owners: BTreeSet<Arc<str>>,
}

impl Shared {
    pub(crate) fn share(&mut self, owner: &mut Arc<str>, origin: &mut Origin) {
        known(&mut self.owners, owner);
        known(&mut self.sources, &mut origin.source);
    }
}

fn known<T: Ord + Clone>(all: &mut BTreeSet<T>, one: &mut T) {
    match all.get(one) {
        Some(known) => *one = known.clone(),
        None => drop(all.insert(one.clone())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let state = Source::object(("nmstate.io", "NodeNetworkState"), "default", "n1");
        let asked = Origin::new(state, "spec.desiredState.interfaces[0]", 0);
        let file = Origin::new("VlanConfig u", "interfaces[0]", 4);
        for origin in [asked.clone(), file.clone(), file.and(&asked).beside([file.clone()])] {
            assert_eq!(serde_json::from_value::<Origin>(json!(origin)).unwrap(), origin);
        }
        let object = ["nmstate.io", "NodeNetworkState", "default", "n1"];
        assert_eq!(json!(asked)["source"], json!({"Object": object}));
    }

    #[test]
    fn texts_of_the_first_versions_are_read() {
        let text = |source: &str, with: Option<&str>| {
            let written = json!({"source": source, "path": "spec", "line": 0, "with": with});
            serde_json::from_value::<Origin>(written).unwrap()
        };
        let both = text("HostNetworkConfig h (spec.vlanID) and NodeNetworkState default/n1", None);
        assert_eq!(both.to_string(), "HostNetworkConfig h (spec.vlanID) and NodeNetworkState default/n1 (spec)");
        assert!(both.owners().all(|owner| owner.as_object().is_some()));
        let with = text("VlanConfig u", Some("NodeNetworkState default/n1 (spec.x), NodeNetConfPolicy p"));
        let shown = "VlanConfig u (spec) with NodeNetworkState default/n1 (spec.x), NodeNetConfPolicy p";
        assert_eq!(with.to_string(), shown);
        assert!(with.partakers().all(|other| other.source.as_object().is_some()));
        assert_eq!(text("site.yaml", None), Origin::new("site.yaml", "spec", 0));
    }
}
