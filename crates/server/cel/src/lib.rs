//! The rules of `x-kubernetes-validations`: expressions in CEL that a value must meet.
//!
//! The parser and the library of Kubernetes functions (addresses, quantities, versions, formats) come
//! from `kube-cel`. What is here is what rules need and that library does not have: an evaluator whose
//! every step is counted, the walk over schema and value with the old value matched by key, Kubernetes'
//! way to write field names, and its messages.
//!
//! # The bound on run-away rules
//!
//! Every node of an expression costs one when it is evaluated, and every value that is built, compared
//! or handed to a function costs one for each entry and one for each ten bytes, before the work is
//! done. One rule on one value may spend [`PER_RULE`], all rules on one object [`PER_OBJECT`]: the
//! figures of Kubernetes, in a currency that is close to its own. What is not counted is the work inside
//! of one library function, which is linear in what it is handed. Kubernetes also estimates the cost of
//! rules when a definition is written; that is not done here.

mod budget;
mod calls;
mod check;
mod compile;
mod escape;
mod eval;
mod loops;
mod operators;
mod quantities;
mod rules;
mod values;

use netloom_schema::{FieldError, Place, Rules, Schema};
use serde_json::Value;

pub use self::budget::{PER_OBJECT, PER_RULE};

/// Evaluates validation rules. Holds nothing: what is compiled is kept in the schema.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cel;

impl Cel {
    /// An evaluator.
    pub fn new() -> Self {
        Self
    }
}

impl Rules for Cel {
    fn check(&self, schema: &Schema, path: &str) -> Vec<FieldError> {
        check::check(schema, path)
    }

    fn evaluate(&self, schema: &Schema, new: &Value, old: Option<&Value>, place: Place<'_>) -> Vec<FieldError> {
        rules::evaluate(schema, new, old, place)
    }
}

#[cfg(test)]
mod tests;
