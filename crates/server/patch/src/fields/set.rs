//! The set itself and its algebra.
//!
//! Invariant: no child set is empty, so a set is empty exactly if it has neither members nor children.

use super::element::{Element, Path};
use std::collections::{BTreeMap, BTreeSet};

/// A set of places in an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Set {
    pub(super) members: BTreeSet<Element>,
    pub(super) children: BTreeMap<Element, Set>,
}

impl Set {
    /// A set with nothing in it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a place. Its parents are not added; the empty path is ignored.
    pub fn insert(&mut self, path: &[Element]) {
        match path {
            [] => {}
            [last] => {
                self.members.insert(last.clone());
            }
            [first, rest @ ..] => self.children.entry(first.clone()).or_default().insert(rest),
        }
    }

    /// Whether the place itself is a member.
    pub fn has(&self, path: &[Element]) -> bool {
        match path {
            [] => false,
            [last] => self.members.contains(last),
            [first, rest @ ..] => self.children.get(first).is_some_and(|child| child.has(rest)),
        }
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.is_empty()
    }

    /// Every place, parents before what is below them.
    pub fn paths(&self) -> Vec<Path> {
        let mut found = Vec::new();
        self.collect(&mut Vec::new(), &mut found);
        found
    }

    fn collect(&self, prefix: &mut Path, found: &mut Vec<Path>) {
        for member in &self.members {
            let mut path = prefix.clone();
            path.push(member.clone());
            found.push(path);
        }
        for (element, child) in &self.children {
            prefix.push(element.clone());
            child.collect(prefix, found);
            prefix.pop();
        }
    }

    /// What is in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut sum = self.clone();
        sum.absorb(other);
        sum
    }

    fn absorb(&mut self, other: &Self) {
        self.members.extend(other.members.iter().cloned());
        for (element, theirs) in &other.children {
            self.children.entry(element.clone()).or_default().absorb(theirs);
        }
    }

    /// What is in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let children = self.children.iter().filter_map(|(element, ours)| {
            let both = ours.intersection(other.children.get(element)?);
            (!both.is_empty()).then(|| (element.clone(), both))
        });
        Self { members: self.members.intersection(&other.members).cloned().collect(), children: children.collect() }
    }

    /// What is in this set and not in the other. A member of the other does not take what is below it along.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let children = self.children.iter().filter_map(|(element, ours)| {
            let rest = match other.children.get(element) {
                Some(theirs) => ours.difference(theirs),
                None => ours.clone(),
            };
            (!rest.is_empty()).then(|| (element.clone(), rest))
        });
        Self { members: self.members.difference(&other.members).cloned().collect(), children: children.collect() }
    }

    /// As [`Set::difference`], and a member of the other takes everything below it along.
    #[must_use]
    pub fn without_subtrees(&self, other: &Self) -> Self {
        let children = self.children.iter().filter_map(|(element, ours)| {
            if other.members.contains(element) {
                return None;
            }
            let rest = match other.children.get(element) {
                Some(theirs) => ours.without_subtrees(theirs),
                None => ours.clone(),
            };
            (!rest.is_empty()).then(|| (element.clone(), rest))
        });
        Self { members: self.members.difference(&other.members).cloned().collect(), children: children.collect() }
    }

    /// The members right here.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Element> {
        self.members.iter()
    }

    /// The places right here that have members below them, with those.
    pub(crate) fn children(&self) -> impl Iterator<Item = (&Element, &Set)> {
        self.children.iter()
    }

    /// What is below one place.
    pub(crate) fn below(&self, element: &Element) -> Option<&Set> {
        self.children.get(element)
    }

    /// Whether a place right here is a member.
    pub(crate) fn has_member(&self, element: &Element) -> bool {
        self.members.contains(element)
    }

    pub(crate) fn insert_member(&mut self, element: Element) {
        self.members.insert(element);
    }

    /// Puts a whole set below a place; an empty one leaves no trace.
    pub(crate) fn insert_child(&mut self, element: Element, child: &Set) {
        if !child.is_empty() {
            self.children.entry(element).or_default().absorb(child);
        }
    }
}

impl FromIterator<Path> for Set {
    fn from_iter<I: IntoIterator<Item = Path>>(paths: I) -> Self {
        let mut set = Self::new();
        for path in paths {
            set.insert(&path);
        }
        set
    }
}
