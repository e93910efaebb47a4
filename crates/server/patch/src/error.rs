//! Why a patch was refused.
//!
//! One error type for the three kinds of patch that change an object directly. The variants are the classes of answer
//! the API knows, so that the server needs no table of texts. Server-side apply has its own error beside it.

use thiserror::Error;

/// What the API says instead of the details when a well-formed patch does not fit the object.
pub const UNPROCESSABLE: &str = "the server rejected our request due to an error in our request";

/// A patch that was refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PatchError {
    /// The patch itself is malformed: status 400, and the text is the message of the answer.
    #[error("{0}")]
    Malformed(String),
    /// The patch is well formed but cannot be carried out on this object, for example because a `test` failed: status
    /// 422 with the fixed message [`UNPROCESSABLE`]; the text here is for the log.
    #[error("{0}")]
    Unprocessable(String),
    /// More operations than one request may carry: status 413, and the text is the message of the answer.
    #[error("The allowed maximum operations in a JSON patch is {limit}, got {found}")]
    TooManyOperations {
        /// How many are allowed.
        limit: usize,
        /// How many were sent.
        found: usize,
    },
    /// A strategic merge patch that contradicts the kind's lists. Kubernetes answers 500 here; we say 400.
    #[error("{0}")]
    Contradictory(String),
}

impl PatchError {
    /// A stable name for logs and metrics.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "PatchMalformed",
            Self::Unprocessable(_) => "PatchUnprocessable",
            Self::TooManyOperations { .. } => "PatchTooLarge",
            Self::Contradictory(_) => "PatchContradictory",
        }
    }

    /// The status code of the answer.
    pub fn code(&self) -> u16 {
        match self {
            Self::Malformed(_) | Self::Contradictory(_) => 400,
            Self::Unprocessable(_) => 422,
            Self::TooManyOperations { .. } => 413,
        }
    }

    /// The message of the answer, which hides the details of an unprocessable patch as Kubernetes does.
    pub fn answer(&self) -> String {
        match self {
            Self::Unprocessable(_) => UNPROCESSABLE.to_owned(),
            Self::Malformed(_) | Self::TooManyOperations { .. } | Self::Contradictory(_) => self.to_string(),
        }
    }
}
