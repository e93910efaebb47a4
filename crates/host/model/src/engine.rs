//! The seam between decisions and effects: what a host must be able to do.
//!
//! Two things implement it: the kernel engine, with the other media of its host beside it
//! ([`Composite`](crate::Composite)), and the simulated host. Nothing else is replaced in tests.

use std::time::Duration;

use crate::{Observed, Step};

/// How much is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Scope {
    /// Ring, pause, speed and offload features too; costs requests for each link.
    pub ethtool: bool,
    /// Configuration only: [`derived_routes`](Observed::derived_routes) stay empty. A host with many links has several
    /// for each, and whoever compares a host with a desired state does not look at them.
    pub without_derived_routes: bool,
    /// What routing daemons report of their sessions and VNIs too; costs a question to each daemon.
    pub sessions: bool,
}

/// When a failed attempt is worth another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Never: the same input fails again.
    Never,
    /// After this time.
    After(Duration),
    /// When the host or the desired state changed.
    OnChange,
}

/// A host that can be looked at and changed.
pub trait Engine {
    /// Reads the whole configuration.
    fn observe(&mut self, scope: Scope) -> Result<Observed, EngineError>;

    /// Carries out steps in order and says for each whether it worked. A failed step does not stop
    /// the later ones: the caller decides what to undo.
    fn execute(&mut self, steps: &[Step]) -> Result<Vec<Result<(), StepError>>, EngineError>;

    /// Waits until the host reports a change, at most this long; whether there was one.
    fn wait_for_change(&mut self, at_most: Duration) -> Result<bool, EngineError>;
}

/// Why a host could not be talked to at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{doing}: {why}")]
pub struct EngineError {
    /// What was attempted.
    pub doing: String,
    /// What the system answered.
    pub why: String,
}

impl EngineError {
    /// The stable name of this failure.
    pub const fn reason(&self) -> &'static str {
        "HostUnavailable"
    }

    /// When to try again.
    pub const fn retry(&self) -> Retry {
        Retry::After(Duration::from_secs(1))
    }
}

/// Why the kernel refused one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepError {
    /// The error number.
    pub errno: i32,
    /// The kernel's own explanation, where it gave one.
    pub text: Option<String>,
}

impl StepError {
    /// `EPERM`
    pub const EPERM: i32 = 1;
    /// `ENOENT`
    pub const ENOENT: i32 = 2;
    /// `ESRCH`
    pub const ESRCH: i32 = 3;
    /// `EBUSY`
    pub const EBUSY: i32 = 16;
    /// `EEXIST`
    pub const EEXIST: i32 = 17;
    /// `ENODEV`
    pub const ENODEV: i32 = 19;
    /// `EINVAL`
    pub const EINVAL: i32 = 22;
    /// `ERANGE`
    pub const ERANGE: i32 = 34;
    /// `EOPNOTSUPP`
    pub const EOPNOTSUPP: i32 = 95;
    /// `EADDRNOTAVAIL`
    pub const EADDRNOTAVAIL: i32 = 99;
    /// `ENETDOWN`
    pub const ENETDOWN: i32 = 100;
    /// `ENETUNREACH`
    pub const ENETUNREACH: i32 = 101;
    /// `EHOSTUNREACH`
    pub const EHOSTUNREACH: i32 = 113;

    /// An error number without an explanation.
    pub fn new(errno: i32) -> Self {
        Self { errno, text: None }
    }

    /// An error number with an explanation.
    pub fn with(errno: i32, text: &str) -> Self {
        Self { errno, text: Some(text.to_owned()) }
    }

    /// Whether the object of a removal was not there.
    pub fn is_gone(&self) -> bool {
        matches!(self.errno, Self::ENOENT | Self::ESRCH | Self::ENODEV | Self::EADDRNOTAVAIL)
    }

    /// Whether the same step may work a moment later.
    pub fn is_passing(&self) -> bool {
        matches!(self.errno, Self::EBUSY | Self::ENETDOWN)
    }
}

impl std::error::Error for StepError {}

impl std::fmt::Display for StepError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let number = std::io::Error::from_raw_os_error(self.errno);
        match &self.text {
            Some(text) => write!(f, "{text} ({number})"),
            None => write!(f, "{number}"),
        }
    }
}
