//! Errors as a runtime reads them: a code, what happened, and where.

use serde_json::{Value, json};

use crate::Version;

/// Why a request failed, as far as a runtime tells reasons apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Code {
    /// The version of the configuration is not supported, or does not have the verb.
    Version,
    /// A field of the configuration is not supported.
    Unsupported,
    /// A variable is missing or wrong.
    Environment,
    /// Something could not be read or written.
    Io,
    /// The input is not JSON, or not of the form of the specification.
    Decode,
    /// The configuration is wrong.
    Config,
    /// The network namespace is not there, or is the node's own.
    Namespace,
    /// Not now: the same request may succeed later.
    TryLater,
    /// The plugin cannot serve ADD.
    Unavailable,
    /// The request is refused: annotation, network, tenant, name or static address.
    Refused,
    /// No address is free.
    NoAddress,
    /// No device of the pool is free.
    NoDevice,
    /// An interface could not be made: by the kernel, by a delegate, or in time.
    Interface,
}

impl Code {
    /// The number.
    pub const fn number(self) -> u32 {
        match self {
            Self::Version => 1,
            Self::Unsupported => 2,
            Self::Environment => 4,
            Self::Io => 5,
            Self::Decode => 6,
            Self::Config => 7,
            Self::Namespace => 8,
            Self::TryLater => 11,
            Self::Unavailable => 50,
            Self::Refused => 100,
            Self::NoAddress => 101,
            Self::NoDevice => 102,
            Self::Interface => 103,
        }
    }
}

/// An error for a runtime.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{msg}{}{details}", if details.is_empty() { "" } else { ": " })]
pub struct Failure {
    /// The reason.
    pub code: Code,
    /// One line.
    pub msg: String,
    /// More, where there is more to know.
    pub details: String,
}

impl Failure {
    /// An error without details.
    pub fn new(code: Code, msg: impl Into<String>) -> Self {
        Self { code, msg: msg.into(), details: String::new() }
    }

    /// The same error with details.
    #[must_use]
    pub fn with(mut self, details: impl Into<String>) -> Self {
        self.details = details.into();
        self
    }

    /// What is printed.
    pub fn to_json(&self, version: Version) -> Value {
        let mut value = json!({"cniVersion": version.name(), "code": self.code.number(), "msg": self.msg});
        if !self.details.is_empty() {
            value["details"] = self.details.clone().into();
        }
        value
    }
}
