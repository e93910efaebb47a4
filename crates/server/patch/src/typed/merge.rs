//! An applied configuration laid over the stored object.
//!
//! Nothing is removed here: a field is in the result if it is in either object, and the configuration wins. Items of a
//! list keep the stored order as far as the configuration does not ask for another one.

use super::compare::names;
use super::lists;
use super::types::{Fields, List, Part, Relation, Type};
use crate::fields::Element;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The stored object with the configuration laid over it.
pub(crate) fn merge(ty: Type<'_>, live: &Value, config: &Value) -> Value {
    node(ty, Some(live), Some(config)).unwrap_or(Value::Null)
}

fn node(ty: Type<'_>, live: Option<&Value>, config: Option<&Value>) -> Option<Value> {
    let atom = ty.atom();
    // Where the two are of different kinds the configuration's kind decides.
    match atom.part(config.or(live)?) {
        Part::Map(fields) => map(fields, live, config),
        Part::List(list) => merge_list(list, live, config),
        Part::Scalar(_) | Part::Nothing => config.or(live).cloned(),
    }
}

fn map(fields: &Fields<'_>, live: Option<&Value>, config: Option<&Value>) -> Option<Value> {
    let stored = live.and_then(Value::as_object).filter(|map| !map.is_empty());
    let applied = config.and_then(Value::as_object).filter(|map| !map.is_empty());
    if fields.atomic || (stored.is_none() && applied.is_none()) {
        return config.or(live).cloned();
    }
    let merged: Map<String, Value> = names(stored, applied)
        .filter_map(|name| {
            let (was, is) = (stored.and_then(|map| map.get(name)), applied.and_then(|map| map.get(name)));
            let value = node(fields.of(name).unwrap_or(Type::deduced()), was, is)?;
            Some((name.clone(), value))
        })
        .collect();
    (!merged.is_empty()).then_some(Value::Object(merged))
}

fn merge_list(list: &List<'_>, live: Option<&Value>, config: Option<&Value>) -> Option<Value> {
    let stored = live.and_then(Value::as_array).filter(|items| !items.is_empty());
    let applied = config.and_then(Value::as_array).filter(|items| !items.is_empty());
    if matches!(list.relation, Relation::Atomic) || (stored.is_none() && applied.is_none()) {
        return config.or(live).cloned();
    }
    let merged = Weave::new(list, stored, applied).run();
    (!merged.is_empty()).then_some(Value::Array(merged))
}

/// Both lists on their way into one.
///
/// Items only one side has keep their place relative to their neighbours; items both sides have come in the order of
/// the configuration.
struct Weave<'a> {
    list: &'a List<'a>,
    stored: Vec<(Element, &'a Value)>,
    applied: Vec<(Element, &'a Value)>,
    stored_index: BTreeMap<Element, &'a Value>,
    applied_index: BTreeMap<Element, &'a Value>,
    /// Items of both sides that are still to come, in the order of the configuration.
    shared: VecDeque<Element>,
    done: BTreeSet<Element>,
    out: Vec<Value>,
}

/// A stored item that occurs more than once is not merged with the configuration's, it makes way for it.
const NOTHING: Value = Value::Null;

impl<'a> Weave<'a> {
    fn new(list: &'a List<'a>, stored: Option<&'a Vec<Value>>, applied: Option<&'a Vec<Value>>) -> Self {
        let (stored, applied) = (with_elements(list, stored), with_elements(list, applied));
        let mut stored_index: BTreeMap<Element, &'a Value> = BTreeMap::new();
        for (element, item) in &stored {
            stored_index.entry(element.clone()).and_modify(|first| *first = &NOTHING).or_insert(item);
        }
        let applied_index = applied.iter().cloned().collect();
        let shared = applied.iter().map(|(element, _)| element);
        let shared = shared.filter(|element| stored_index.contains_key(element)).cloned().collect();
        Self { list, stored, applied, stored_index, applied_index, shared, done: BTreeSet::new(), out: Vec::new() }
    }

    fn run(mut self) -> Vec<Value> {
        let (mut left, mut right) = (0, 0);
        while left < self.stored.len() || right < self.applied.len() {
            if let (Some((stored, _)), Some((applied, _))) = (self.stored.get(left), self.applied.get(right)) {
                if stored == applied {
                    self.take_both(right);
                    self.shared.pop_front();
                    left += 1;
                    right += 1;
                    continue;
                }
                let later = self.shared.front().is_some_and(|next| next != stored);
                if later && self.applied_index.contains_key(stored) {
                    left += 1;
                    continue;
                }
            }
            if let Some((stored, item)) = self.stored.get(left) {
                if !self.applied_index.contains_key(stored) {
                    self.out.extend(node(self.list.item, Some(item), None));
                    left += 1;
                    continue;
                }
                if self.done.contains(stored) {
                    left += 1;
                }
            }
            if right < self.applied.len() {
                self.take_both(right);
                if self.shared.front() == Some(&self.applied[right].0) {
                    self.shared.pop_front();
                }
                right += 1;
            }
        }
        self.out
    }

    fn take_both(&mut self, position: usize) {
        let element = &self.applied[position].0;
        let stored = self.stored_index.get(element).copied();
        let applied = self.applied_index.get(element).copied();
        self.out.extend(node(self.list.item, stored, applied));
        self.done.insert(element.clone());
    }
}

fn with_elements<'a>(list: &List<'_>, items: Option<&'a Vec<Value>>) -> Vec<(Element, &'a Value)> {
    items.into_iter().flatten().filter_map(|item| Some((lists::element(list, item).ok()?, item))).collect()
}
