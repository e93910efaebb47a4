//! What evaluation may cost.

use kube_cel::cel::{
    Value,
    objects::{Key, OptionalValue},
};

/// The most that one rule may spend on one value.
pub const PER_RULE: u64 = 1_000_000;
/// The most that all rules of a schema may spend on one object.
pub const PER_OBJECT: u64 = 10_000_000;

/// Why an expression has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    /// An operator or function does not take these types.
    #[error("no such overload")]
    NoSuchOverload,
    /// The budget is spent.
    #[error("operation cancelled: actual cost limit exceeded")]
    TooExpensive,
    /// Anything else, in words.
    #[error("{0}")]
    Other(String),
}

impl Fault {
    pub(crate) fn other(text: impl Into<String>) -> Self {
        Self::Other(text.into())
    }
}

/// Counts down.
#[derive(Debug)]
pub(crate) struct Budget {
    left: u64,
}

impl Budget {
    pub(crate) fn new(limit: u64) -> Self {
        Self { left: limit }
    }

    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    pub(crate) fn spend(&mut self, cost: u64) -> Result<(), Fault> {
        let left = self.left.checked_sub(cost);
        self.left = left.unwrap_or(0);
        left.map(drop).ok_or(Fault::TooExpensive)
    }

    pub(crate) fn spend_bytes(&mut self, bytes: usize) -> Result<(), Fault> {
        self.spend(u64::try_from(bytes / 10).unwrap_or(u64::MAX))
    }

    /// Spends what it takes to look at all of a value. Parts that are shared count as often as they
    /// are there, so that the walk ends however the value was built.
    pub(crate) fn spend_on(&mut self, value: &Value) -> Result<(), Fault> {
        self.spend(1)?;
        match value {
            Value::String(text) => self.spend_bytes(text.len()),
            Value::Bytes(bytes) => self.spend_bytes(bytes.len()),
            Value::List(items) => items.iter().try_for_each(|item| self.spend_on(item)),
            Value::Map(map) => map.map.iter().try_for_each(|(key, value)| {
                if let Key::String(text) = key {
                    self.spend_bytes(text.len())?;
                }
                self.spend_on(value)
            }),
            Value::Opaque(_) => match <&OptionalValue>::try_from(value).ok().and_then(OptionalValue::value) {
                Some(inner) => self.spend_on(inner),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }
}
