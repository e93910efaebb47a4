//! Selectors of lists and watches: by label and by field, with the parse errors of Kubernetes.
//!
//! A label selector is a list of requirements that must all hold. A field selector is a list of
//! comparisons; which fields may be asked for is the caller's knowledge.

mod field;
mod label;
mod lexer;

pub use self::{
    field::{FieldSelector, FieldTerm},
    label::{LabelSelector, Operator, Requirement},
};

/// Why a text is no selector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SelectorError {
    message: String,
}

impl SelectorError {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }

    /// A stable name for metrics and tests.
    pub fn reason(&self) -> &'static str {
        "InvalidSelector"
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn no_text_breaks_a_parser(text in any::<String>(), signs in "[a-c!=<>(), \\\\\tin]{0,40}") {
            for text in [text, signs] {
                let _ = FieldSelector::parse(&text);
                if let Ok(selector) = LabelSelector::parse(&text) {
                    // What it prints is a selector that prints the same again.
                    let printed = selector.to_string();
                    prop_assert_eq!(LabelSelector::parse(&printed).map(|s| s.to_string()), Ok(printed));
                }
            }
        }
    }
}
