//! Who asked for something.

mod record;
pub(crate) mod text;

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

pub(crate) use record::Shared;

/// Who asks: an object of the cluster, or a document. Thousands of routes have one source, so it is shared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Source(Arc<Asker>);

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
enum Asker {
    Document(Arc<str>),
    Object(SourceObject),
}

/// An object of the cluster that asks for something.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
pub struct SourceObject {
    /// The group of its kind: two groups may have a kind of the same name.
    pub group: Box<str>,
    /// Its kind.
    pub kind: Box<str>,
    /// Its namespace; empty when it has none.
    pub namespace: Box<str>,
    /// Its name.
    pub name: Box<str>,
}

impl Source {
    /// An object; the namespace is empty when it has none.
    pub fn object((group, kind): (&str, &str), namespace: &str, name: &str) -> Self {
        let [group, kind, namespace, name] = [group, kind, namespace, name].map(Box::from);
        Self(Arc::new(Asker::Object(SourceObject { group, kind, namespace, name })))
    }

    /// The group of a kind that the first versions wrote without one.
    pub fn group_of(kind: &str) -> &'static str {
        text::known(kind).map_or("", |(group, _)| group)
    }

    /// The object, unless it is a document that asks.
    pub fn as_object(&self) -> Option<&SourceObject> {
        match &*self.0 {
            Asker::Document(_) => None,
            Asker::Object(object) => Some(object),
        }
    }

    /// Whether an object of this group and kind asks.
    pub fn is_of(&self, (group, kind): (&str, &str)) -> bool {
        self.as_object().is_some_and(|object| (&*object.group, &*object.kind) == (group, kind))
    }

    /// The name that stands for all that the source asks for.
    pub fn owner(&self) -> Arc<str> {
        match &*self.0 {
            Asker::Document(name) => Arc::clone(name),
            Asker::Object(_) => self.to_string().into(),
        }
    }
}

impl From<&str> for Source {
    /// A document, by the name that messages have for it.
    fn from(document: &str) -> Self {
        Self(Arc::new(Asker::Document(document.into())))
    }
}

/// The object or document, and the place in it, that asked for something.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "record::Written")]
pub struct Origin {
    /// Who asked.
    pub source: Source,
    /// The path of the field, such as `interfaces[3]`.
    pub path: Arc<str>,
    /// The line in the document, from 1; 0 when the source has no lines.
    pub line: u32,
    /// Everybody else who has a part in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub co_owners: Option<Arc<[CoOwner]>>,
}

/// Somebody else who has a part in what an origin asked for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CoOwner {
    /// The place that has a part in it.
    pub origin: Origin,
    /// Whether it asks for something that the others do not. Else it is one of those that a document was merged from, or
    /// asks for no more than the others do; what a link says of itself is the same with and without it.
    pub adds: bool,
}

impl Origin {
    /// A place in a source.
    pub fn new(source: impl Into<Source>, path: impl Into<Arc<str>>, line: u32) -> Self {
        Self { source: source.into(), path: path.into(), line, co_owners: None }
    }

    /// Two places that ask for one thing together.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let here = CoOwner { origin: self.alone(), adds: true };
        let with = other.co_owners(false).chain(self.co_owners(false)).cloned();
        other.alone().among(self.co_owners(true).cloned().chain([here]).chain(with))
    }

    /// The same place, in which others have a part too.
    #[must_use]
    pub fn beside(self, others: impl IntoIterator<Item = Self>) -> Self {
        let known = self.co_owners.clone();
        let others = others.into_iter().map(|origin| CoOwner { origin, adds: false });
        self.among(known.iter().flat_map(|known| known.iter().cloned()).chain(others))
    }

    /// The same place, whoever else has a part in it.
    #[must_use]
    pub fn alone(&self) -> Self {
        Self { co_owners: None, ..self.clone() }
    }

    /// Everybody who asks for something of it, in order.
    pub fn owners(&self) -> impl Iterator<Item = &Source> {
        self.co_owners(true).map(|other| &other.origin.source).chain([&self.source])
    }

    /// Those who have a part without asking for more.
    pub fn partakers(&self) -> impl Iterator<Item = &Self> {
        self.co_owners(false).map(|other| &other.origin)
    }

    fn co_owners(&self, adds: bool) -> impl Iterator<Item = &CoOwner> {
        self.co_owners.iter().flat_map(|all| all.iter()).filter(move |other| other.adds == adds)
    }

    fn among(mut self, others: impl Iterator<Item = CoOwner>) -> Self {
        let others: Arc<[CoOwner]> = others.collect();
        self.co_owners = (!others.is_empty()).then_some(others);
        self
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Asker::Document(name) => f.write_str(name),
            Asker::Object(object) if object.namespace.is_empty() => write!(f, "{} {}", object.kind, object.name),
            Asker::Object(object) => write!(f, "{} {}/{}", object.kind, object.namespace, object.name),
        }
    }
}

/// How an origin is shown to people, everywhere.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for other in self.co_owners(true) {
            write!(f, "{} and ", other.origin)?;
        }
        write!(f, "{}", self.source)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        if !self.path.is_empty() {
            write!(f, " ({})", self.path)?;
        }
        for (at, other) in self.partakers().enumerate() {
            write!(f, "{}{other}", if at == 0 { " with " } else { ", " })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str) -> Origin {
        text::place(text)
    }

    #[test]
    fn everybody_who_has_a_part_is_shown_and_reported_apart() {
        let (network, state) = (place("HostNetworkConfig h (spec.vlanID)"), place("NodeNetworkState d/n (spec)"));
        let policy = place("NodeNetConfPolicy d/p");
        let both = network.and(&state.clone().beside([policy.clone()]));
        let shown = "HostNetworkConfig h (spec.vlanID) and NodeNetworkState d/n (spec) with NodeNetConfPolicy d/p";
        assert_eq!(both.to_string(), shown);
        assert!(both.owners().eq([&network.source, &state.source]));
        assert_eq!(network.clone().beside([state, policy]).owners().collect::<Vec<_>>(), [&network.source]);
    }

    #[test]
    fn kinds_of_one_name_are_reported_apart_by_their_group() {
        let of = |group| Source::object((group, "ClusterNetwork"), "", "c");
        assert_eq!(of("danm.k8s.io").to_string(), of("network.harvesterhci.io").to_string());
        assert_ne!(of("danm.k8s.io"), of("network.harvesterhci.io"));
        assert!(of("danm.k8s.io").is_of(("danm.k8s.io", "ClusterNetwork")));
        assert!(!of("danm.k8s.io").is_of(("network.harvesterhci.io", "ClusterNetwork")));
    }
}
