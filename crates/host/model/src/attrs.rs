//! Properties with their values: the desired values for a link, or the facts of one.
//!
//! Invariant of facts: a value equal to the row's default is not stored, so two sets can be compared
//! with `==`; read through [`Attrs::get`] to see defaults.

use netloom_types::{IfName, MacAddr};
use serde::{Deserialize, Serialize};

use crate::{Attr, Value};

/// Properties with their values, sorted by property.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Attrs(Vec<(Attr, Value)>);

impl Attrs {
    /// No property at all.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Sets a desired value: stores `value` even when it is the default, because a request for the default is
    /// not the same as no desired state.
    pub fn require(&mut self, attr: Attr, value: Value) {
        debug_assert!(attr.accepts(&value), "{attr:?} does not take {value:?}");
        match self.0.binary_search_by_key(&attr, |(a, _)| *a) {
            Ok(at) => self.0[at].1 = value,
            Err(at) => {
                // Most links say two or three things, and there are thousands of links.
                if self.0.len() < 4 {
                    self.0.reserve_exact(1);
                }
                self.0.insert(at, (attr, value));
            }
        }
    }

    /// States a fact: the default and `Unset` are stored by not storing anything.
    pub fn set(&mut self, attr: Attr, value: Value) {
        if value == Value::Unset || attr.default_value().as_ref() == Some(&value) {
            self.remove(attr);
        } else {
            self.require(attr, value);
        }
    }

    /// Forgets a property.
    pub fn remove(&mut self, attr: Attr) -> Option<Value> {
        let at = self.0.binary_search_by_key(&attr, |(a, _)| *a).ok()?;
        Some(self.0.remove(at).1)
    }

    /// What was given of the property, and nothing else.
    pub fn given(&self, attr: Attr) -> Option<&Value> {
        let at = self.0.binary_search_by_key(&attr, |(a, _)| *a).ok()?;
        Some(&self.0[at].1)
    }

    /// The value of the property: what was stored, else the default.
    pub fn get(&self, attr: Attr) -> Option<Value> {
        self.given(attr).cloned().or_else(|| attr.default_value())
    }

    /// The value as a number.
    pub fn int(&self, attr: Attr) -> Option<u64> {
        match self.get(attr) {
            Some(Value::Int(v)) => Some(v),
            _ => None,
        }
    }

    /// The value as yes or no.
    pub fn bool(&self, attr: Attr) -> Option<bool> {
        match self.get(attr) {
            Some(Value::Bool(v)) => Some(v),
            _ => None,
        }
    }

    /// The value as the name of a link.
    pub fn link(&self, attr: Attr) -> Option<IfName> {
        match self.given(attr) {
            Some(Value::Link(v)) => Some(*v),
            _ => None,
        }
    }

    /// The value as a hardware address.
    pub fn mac(&self, attr: Attr) -> Option<MacAddr> {
        match self.given(attr) {
            Some(Value::Mac(v)) => Some(*v),
            _ => None,
        }
    }

    /// What is stored, in the order of the table.
    pub fn iter(&self) -> impl Iterator<Item = (Attr, &Value)> {
        self.0.iter().map(|(attr, value)| (*attr, value))
    }

    /// Whether nothing is stored.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many properties are stored.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The desired values in `self` that `fact` does not fulfil.
    #[must_use]
    pub fn unmet_by(&self, fact: &Self) -> Self {
        Self(self.0.iter().filter(|(attr, value)| !attr.same(Some(value), fact.get(*attr).as_ref())).cloned().collect())
    }
}

impl FromIterator<(Attr, Value)> for Attrs {
    /// Collects desired values.
    fn from_iter<I: IntoIterator<Item = (Attr, Value)>>(pairs: I) -> Self {
        let mut attrs = Self::new();
        for (attr, value) in pairs {
            attrs.require(attr, value);
        }
        attrs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_never_stores_its_default() {
        let mut attrs = Attrs::new();
        attrs.set(Attr::BridgeStp, Value::Bool(true));
        assert_eq!(attrs.len(), 1);
        attrs.set(Attr::BridgeStp, Value::Bool(false));
        assert!(attrs.is_empty());
        assert_eq!(attrs.bool(Attr::BridgeStp), Some(false));
    }
}
