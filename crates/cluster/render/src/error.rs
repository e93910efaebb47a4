//! Why a configuration of a node cannot be rendered.

/// A field of a `NodeNetworkConfig` that cannot be rendered, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct RenderError {
    /// The path of the field, such as `spec.fabricVRFs.red.staticRoutes[0].bfdProfile`.
    pub field: String,
    /// A stable word.
    reason: &'static str,
    /// What is wrong, and what to do.
    pub message: String,
}

impl RenderError {
    /// The field has a value that means nothing here.
    pub(crate) fn invalid(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), reason: "InvalidValue", message: message.into() }
    }

    /// The field asks for what nobody can do yet.
    pub(crate) fn unsupported(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), reason: "Unsupported", message: message.into() }
    }

    /// Two fields ask for what excludes each other.
    pub(crate) fn conflict(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), reason: "Conflict", message: message.into() }
    }

    /// A stable word for conditions and events.
    pub fn reason(&self) -> &'static str {
        self.reason
    }
}
