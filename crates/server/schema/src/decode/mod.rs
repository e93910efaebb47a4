//! Bytes of a request to a JSON value, with the keys that were there twice.
//!
//! Knows JSON and the YAML that Kubernetes reads, and nothing of kinds or fields. Bounded in depth and
//! in the number of values, every use of an alias counted, so that no body takes more memory than a
//! small multiple of the largest honest one. The last of two equal keys wins; whether that is an error,
//! a warning or nothing is the caller's choice (`fieldValidation`).
//!
//! Numbers follow Go: what is whole and fits 64 bits with a sign is an integer, `1.0` included; all
//! else is a float.

mod json;
mod place;
mod resolve;
mod yaml;

use serde_json::{Number, Value};

pub use self::{
    json::json,
    place::line_of,
    yaml::{yaml, yaml_documents, yaml_stream},
};

/// How large a decoded value may become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The deepest nesting of lists and objects; never more than 120, whatever is asked for.
    pub depth: usize,
    /// The most values: every scalar, list and object counts one, and so does every key.
    pub nodes: usize,
}

impl Default for Limits {
    /// Room for every object that fits into a request of 3 MiB.
    fn default() -> Self {
        Self { depth: 100, nodes: 1_000_000 }
    }
}

impl Limits {
    /// The JSON reader beneath has a limit of its own, a little above this one.
    const DEEPEST: usize = 120;

    fn depth(self) -> usize {
        self.depth.min(Self::DEEPEST)
    }

    fn of_yaml(self) -> netloom_yaml::Limits {
        netloom_yaml::Limits { depth: self.depth(), values: self.nodes }
    }
}

/// A decoded body.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
    /// What the body says.
    pub value: Value,
    /// A message for keys that were there more than once, as strict decoding reports them: one for
    /// each path in JSON, one for all of them in YAML.
    pub duplicates: Vec<String>,
}

/// A document of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The line where its content starts, from 1.
    pub line: usize,
    /// What it says.
    pub decoded: Decoded,
}

/// Why bytes are not a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The body is not UTF-8.
    #[error("the body is not valid UTF-8: byte {at} starts no character")]
    NotUtf8 {
        /// Where the first wrong byte is.
        at: usize,
    },
    /// The body is not JSON.
    #[error("json: {message}")]
    Json {
        /// What the reader expected and where.
        message: String,
    },
    /// The body is not YAML, or not YAML that JSON can hold.
    #[error("yaml: line {line}: {message}")]
    Yaml {
        /// The line, from 1.
        line: usize,
        /// What is wrong there.
        message: String,
    },
    /// Lists and objects lie too deep in each other.
    #[error("the body is nested deeper than {limit} levels")]
    TooDeep {
        /// The limit that was passed.
        limit: usize,
    },
    /// There are too many values.
    #[error("the body has more than {limit} values")]
    TooMany {
        /// The limit that was passed.
        limit: usize,
    },
    /// There is no value at all.
    #[error("the body is empty")]
    Empty,
}

impl DecodeError {
    /// A stable name for conditions, metrics and tests.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::NotUtf8 { .. } => "NotUtf8",
            Self::Json { .. } => "NotJson",
            Self::Yaml { .. } => "NotYaml",
            Self::TooDeep { .. } => "TooDeep",
            Self::TooMany { .. } => "TooManyValues",
            Self::Empty => "Empty",
        }
    }
}

/// Counts values while they are read.
struct Budget {
    limits: Limits,
    used: usize,
}

impl Budget {
    fn new(limits: Limits) -> Self {
        Self { limits, used: 0 }
    }

    fn take(&mut self, nodes: usize) -> Result<(), DecodeError> {
        self.used = self.used.saturating_add(nodes);
        if self.used > self.limits.nodes {
            return Err(DecodeError::TooMany { limit: self.limits.nodes });
        }
        Ok(())
    }

    fn check_depth(&self, depth: usize) -> Result<(), DecodeError> {
        let limit = self.limits.depth();
        if depth > limit { Err(DecodeError::TooDeep { limit }) } else { Ok(()) }
    }
}

/// A float as the number that Go would write down: whole ones become integers.
fn number(value: f64) -> Option<Number> {
    // Above this, a float no longer holds every integer and Go would print other digits.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let whole = value.fract() == 0.0 && value.abs() <= EXACT;
    if whole {
        #[expect(clippy::cast_possible_truncation, reason = "whole and within 53 bits, checked above")]
        let integer = value as i64;
        return Some(Number::from(integer));
    }
    Number::from_f64(value)
}

/// A number beyond 63 bits becomes a float, as it does in Go.
fn unsigned(value: u64) -> Number {
    #[expect(clippy::cast_precision_loss, reason = "Go loses the same digits")]
    i64::try_from(value)
        .map(Number::from)
        .ok()
        .or_else(|| Number::from_f64(value as f64))
        .unwrap_or_else(|| Number::from(value))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn no_bytes_break_a_reader(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let limits = Limits { depth: 10, nodes: 100 };
            let _ = json(&bytes, limits);
            let _ = yaml(&bytes, limits);
            let _ = yaml_stream(&bytes, limits);
        }

        #[test]
        fn no_text_of_yaml_signs_breaks_the_reader(text in "[-a-c:&*{}\\[\\], \n#!<>|?'\"%01.~yn]{0,80}") {
            let _ = yaml(text.as_bytes(), Limits::default());
            let _ = yaml_stream(text.as_bytes(), Limits::default());
        }

        #[test]
        fn what_json_reads_yaml_reads_alike(text in "[a-z0-9 ]{0,10}", number in any::<i32>(), flag in any::<bool>()) {
            let value = serde_json::json!({"a": text, "b": [number, flag, null], "c": {"d": {}}});
            let bytes = value.to_string().into_bytes();
            prop_assert_eq!(&json(&bytes, Limits::default()).unwrap().value, &value);
            prop_assert_eq!(&yaml(&bytes, Limits::default()).unwrap().value, &value);
        }
    }
}
