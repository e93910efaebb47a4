//! How two objects differ, place by place.

use super::lists;
use super::types::{Fields, List, Part, Relation, Type};
use crate::fields::{Element, Path, Set, same};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::mem::discriminant;

/// The places that differ; no place is in more than one of the sets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Comparison {
    /// Only in the old object.
    pub(crate) removed: Set,
    /// In both, with different values.
    pub(crate) modified: Set,
    /// Only in the new object.
    pub(crate) added: Set,
}

impl Comparison {
    /// The comparison without these subtrees.
    pub(crate) fn ignoring(self, ignored: &Set) -> Self {
        Self {
            removed: self.removed.without_subtrees(ignored),
            modified: self.modified.without_subtrees(ignored),
            added: self.added.without_subtrees(ignored),
        }
    }
}

/// Compares an old with a new object.
pub(crate) fn compare(ty: Type<'_>, old: &Value, new: &Value) -> Comparison {
    let mut walk = Walk { path: Vec::new(), found: Comparison::default() };
    walk.node(ty, Some(old), Some(new));
    walk.found
}

struct Walk {
    path: Path,
    found: Comparison,
}

impl Walk {
    fn node(&mut self, ty: Type<'_>, old: Option<&Value>, new: Option<&Value>) {
        // Most of an object stays as it is: one look at the whole spares the walk through it.
        if let (Some(before), Some(after)) = (old, new)
            && before == after
        {
            return;
        }
        let atom = ty.atom();
        let visit = |walk: &mut Self, part: Part<'_, '_>| match part {
            Part::Map(fields) => walk.map(fields, old, new),
            Part::List(list) => walk.list(list, old, new),
            Part::Scalar(_) | Part::Nothing => walk.leaf(old, new),
        };
        let leaf = match (old, new) {
            (None, None) => return,
            (Some(only), None) | (None, Some(only)) => visit(self, atom.part(only)),
            (Some(before), Some(after)) => {
                let (was, is) = (atom.part(before), atom.part(after));
                // A place that changed its kind is compared as both: the old parts go and the new parts come.
                if discriminant(&was) != discriminant(&is) {
                    visit(self, was);
                }
                visit(self, is)
            }
        };
        if leaf {
            return;
        }
        if old.is_none() {
            self.found.added.insert(&self.path);
        } else if new.is_none() {
            self.found.removed.insert(&self.path);
        }
    }

    /// Compares a place as one piece; always true, so that callers can hand it on as "this was a leaf".
    fn leaf(&mut self, old: Option<&Value>, new: Option<&Value>) -> bool {
        match (old, new) {
            (None, _) => self.found.added.insert(&self.path),
            (_, None) => self.found.removed.insert(&self.path),
            (Some(old), Some(new)) => {
                if !same(old, new) {
                    self.found.modified.insert(&self.path);
                }
            }
        }
        true
    }

    fn map(&mut self, fields: &Fields<'_>, old: Option<&Value>, new: Option<&Value>) -> bool {
        let before = old.and_then(Value::as_object).filter(|map| !map.is_empty());
        let after = new.and_then(Value::as_object).filter(|map| !map.is_empty());
        // Two empty objects are one piece, which keeps the difference between null and empty.
        if fields.atomic || (before.is_none() && after.is_none()) {
            return self.leaf(old, new);
        }
        for name in names(before, after) {
            let (was, is) = (before.and_then(|map| map.get(name)), after.and_then(|map| map.get(name)));
            self.path.push(Element::field(name));
            self.node(fields.of(name).unwrap_or(Type::deduced()), was, is);
            self.path.pop();
        }
        false
    }

    fn list(&mut self, list: &List<'_>, old: Option<&Value>, new: Option<&Value>) -> bool {
        let before = old.and_then(Value::as_array).filter(|items| !items.is_empty());
        let after = new.and_then(Value::as_array).filter(|items| !items.is_empty());
        if matches!(list.relation, Relation::Atomic) || (before.is_none() && after.is_none()) {
            return self.leaf(old, new);
        }
        let (before, after) = (by_element(list, before), by_element(list, after));
        for (element, was) in &before {
            let is = after.get(element).map_or(&[][..], Vec::as_slice);
            self.items(list, element, was, is);
        }
        for (element, is) in &after {
            if !before.contains_key(element) {
                self.items(list, element, &[], is);
            }
        }
        false
    }

    /// Items with the same element. Repeated ones are compared as one piece, and turning from one into many or back
    /// is the end of one and the start of the other.
    fn items(&mut self, list: &List<'_>, element: &Element, was: &[&Value], is: &[&Value]) {
        self.path.push(element.clone());
        match (was, is) {
            ([] | [_], [] | [_]) => self.node(list.item, was.first().copied(), is.first().copied()),
            ([_, _, ..], [_, _, ..]) => {
                let unchanged = was.len() == is.len() && was.iter().zip(is).all(|(old, new)| same(old, new));
                if !unchanged {
                    self.found.modified.insert(&self.path);
                }
            }
            ([_, _, ..], [] | [_]) => {
                self.node(list.item, None, is.first().copied());
                self.found.removed.insert(&self.path);
            }
            ([] | [_], [_, _, ..]) => {
                self.node(list.item, was.first().copied(), None);
                self.found.added.insert(&self.path);
            }
        }
        self.path.pop();
    }
}

/// The names of both objects, each once, in order.
pub(super) fn names<'a>(
    left: Option<&'a Map<String, Value>>,
    right: Option<&'a Map<String, Value>>,
) -> impl Iterator<Item = &'a String> {
    let both: std::collections::BTreeSet<&String> = left.into_iter().chain(right).flat_map(Map::keys).collect();
    both.into_iter()
}

fn by_element<'a>(list: &List<'_>, items: Option<&'a Vec<Value>>) -> BTreeMap<Element, Vec<&'a Value>> {
    let mut found: BTreeMap<Element, Vec<&Value>> = BTreeMap::new();
    for item in items.into_iter().flatten() {
        if let Ok(element) = lists::element(list, item) {
            found.entry(element).or_default().push(item);
        }
    }
    found
}
