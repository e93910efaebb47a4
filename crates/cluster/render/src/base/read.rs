//! Values of a base file, each with its path: a tree of YAML in, values or a [`BaseError`] out.

use std::{fmt::Display, str::FromStr};

use netloom_types::spelling::nearest;
use netloom_yaml::{Data, Entry, Limits, Node};

use super::BaseError;

/// A base file has a few dozen values.
const LIMITS: Limits = Limits { depth: 16, values: 10_000 };

/// A value and its path.
pub(super) struct Spot<'a> {
    pub(super) path: String,
    line: u32,
    node: &'a Node,
}

/// A block whose keys are all known.
pub(super) struct Block<'a> {
    path: String,
    line: u32,
    entries: &'a [Entry],
}

/// The tree of a text that holds one document.
pub(super) fn root(text: &str) -> Result<Node, BaseError> {
    let broken = |error: netloom_yaml::Error| BaseError { path: String::new(), line: 0, message: error.to_string() };
    let text = netloom_yaml::text(text.as_bytes()).map_err(broken)?;
    let documents = netloom_yaml::documents(text, LIMITS).map_err(broken)?;
    if let [_, second, ..] = &documents[..] {
        let message = "a second document starts here; a node has one base file".to_owned();
        return Err(BaseError { path: String::new(), line: second.line, message });
    }
    let empty = || BaseError { path: String::new(), line: 0, message: "is empty".to_owned() };
    documents.into_iter().next().map(|document| document.root).filter(|root| root.data != Data::Null).ok_or_else(empty)
}

impl<'a> Block<'a> {
    /// The block of a value, when it has these keys only and each of them once.
    pub(super) fn of(spot: &Spot<'a>, known: &[&str]) -> Result<Self, BaseError> {
        let Data::Map(entries) = &spot.node.data else { return Err(spot.wrong("must be a block of keys")) };
        for (at, entry) in entries.iter().enumerate() {
            let here = || Spot { path: joined(&spot.path, &entry.key), line: entry.line, node: &entry.value };
            if !known.contains(&&*entry.key) {
                let hint = nearest(&entry.key, known.iter().copied());
                let hint = hint.map_or_else(String::new, |known| format!("; did you mean {known}?"));
                return Err(here().wrong(format!("there is no such key{hint}")));
            }
            if entries[..at].iter().any(|earlier| earlier.key == entry.key) {
                return Err(here().wrong("stands here twice; remove one"));
            }
        }
        Ok(Self { path: spot.path.clone(), line: spot.line, entries })
    }

    /// The value of a key, when it has one.
    pub(super) fn get(&self, key: &str) -> Option<Spot<'a>> {
        let entry = self.entries.iter().find(|entry| &*entry.key == key && entry.value.data != Data::Null)?;
        Some(Spot { path: joined(&self.path, key), line: entry.line, node: &entry.value })
    }

    /// The value of a key that must be there.
    pub(super) fn need(&self, key: &str) -> Result<Spot<'a>, BaseError> {
        self.get(key).ok_or_else(|| self.wrong(key, "is missing; add it"))
    }

    /// What is wrong with a key, also with one that is not there.
    pub(super) fn wrong(&self, key: &str, message: impl Into<String>) -> BaseError {
        let line = self.get(key).map_or(self.line, |spot| spot.line);
        BaseError { path: joined(&self.path, key), line, message: message.into() }
    }

    /// The value of a key, read by its type.
    pub(super) fn value<T: FromStr<Err: Display>>(&self, key: &str) -> Result<Option<T>, BaseError> {
        self.get(key).map(|spot| spot.value()).transpose()
    }

    /// Yes or no; no when nothing is given.
    pub(super) fn switch(&self, key: &str) -> Result<bool, BaseError> {
        let Some(spot) = self.get(key) else { return Ok(false) };
        match spot.text()? {
            "true" => Ok(true),
            "false" => Ok(false),
            other => Err(spot.wrong(format!("{other:?} must be true or false"))),
        }
    }

    /// The items of a list; none when nothing is given.
    pub(super) fn list(&self, key: &str) -> Result<Vec<Spot<'a>>, BaseError> {
        let Some(spot) = self.get(key) else { return Ok(Vec::new()) };
        let Data::List(items) = &spot.node.data else { return Err(spot.wrong("must be a list")) };
        let item = |(at, node): (usize, &'a Node)| Spot { path: format!("{}[{at}]", spot.path), line: node.line, node };
        Ok(items.iter().enumerate().map(item).collect())
    }
}

impl<'a> Spot<'a> {
    /// The whole file.
    pub(super) fn root(node: &'a Node) -> Self {
        Self { path: String::new(), line: node.line, node }
    }

    /// The text that stands here.
    pub(super) fn text(&self) -> Result<&'a str, BaseError> {
        match &self.node.data {
            Data::Scalar { text, .. } => Ok(text),
            Data::Null | Data::List(_) | Data::Map(_) => Err(self.wrong("must be a single value")),
        }
    }

    /// The value that stands here.
    pub(super) fn value<T: FromStr<Err: Display>>(&self) -> Result<T, BaseError> {
        let text = self.text()?;
        text.parse().map_err(|error| self.wrong(format!("{text:?}: {error}")))
    }

    /// What is wrong here.
    pub(super) fn wrong(&self, message: impl Into<String>) -> BaseError {
        BaseError { path: self.path.clone(), line: self.line, message: message.into() }
    }
}

fn joined(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
