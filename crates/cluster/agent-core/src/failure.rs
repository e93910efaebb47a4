//! Why a desired state was not reached.

use std::fmt;

use netloom_api::nodestate::Checkpoint;
use netloom_nmstate::DocumentError;
use netloom_plan::PlanError;

/// A stable word for it, used in conditions, events and metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// The desired state cannot be fulfilled as it stands; nothing was touched.
    InvalidDesiredState,
    /// The kernel refused a step, or the host could not be changed at all.
    ApplyFailed,
    /// The steps were carried out, and the host differs from the desired state.
    VerificationFailed,
    /// Something that the node reached before is not reached any more.
    ProbeFailed,
    /// The change did not end by itself and was taken back.
    RolledBack,
    /// The API is not reached, so nobody could tell whether a change costs the way to it; nothing was touched. That
    /// says nothing against the desired state.
    OutOfReach,
}

impl Reason {
    /// The word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::InvalidDesiredState => "InvalidDesiredState",
            Self::ApplyFailed => "ApplyFailed",
            Self::VerificationFailed => "VerificationFailed",
            Self::ProbeFailed => "ProbeFailed",
            Self::RolledBack => "RolledBack",
            Self::OutOfReach => "OutOfReach",
        }
    }
}

/// Why a desired state was not reached, in words for users.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// The stable word.
    pub reason: Reason,
    /// What was attempted, on what, why it failed and what to do.
    pub message: String,
    /// Whether the host was changed and put back.
    pub undone: bool,
    /// Whether the host may be neither as it was nor as desired.
    pub torn: bool,
    /// Whether only the fabric waits, and everything else is as desired.
    pub fabric_waits: bool,
    /// The change of a person that stands in the way until it is confirmed or taken back.
    pub waits_for: Option<Checkpoint>,
}

impl Failure {
    /// A failure before which nothing was touched.
    pub fn new(reason: Reason, message: impl fmt::Display) -> Self {
        Self { reason, message: message.to_string(), undone: false, torn: false, fabric_waits: false, waits_for: None }
    }

    /// A document that cannot be read, or not on this host.
    pub fn refused(error: &DocumentError) -> Self {
        // Objects have no lines, so places are paths alone.
        let reported = error.refusals().iter().map(|refusal| format!("{}: {}", refusal.path, refusal.message));
        let reported: Vec<String> = reported.collect();
        Self::new(Reason::InvalidDesiredState, format_args!("{}: {}", error.document(), reported.join("; ")))
    }

    /// A desired state for which there is no plan.
    pub fn unplanned(error: &PlanError) -> Self {
        match error {
            PlanError::CutsProtected { .. } => Self::new(
                Reason::InvalidDesiredState,
                format_args!("{error}, or allow it by limits.allowLossOfManagement of the node's RolloutPolicy"),
            ),
            // The desired state is not at fault, and the daemon may be back a moment later.
            PlanError::NoRouting { .. } => Self::new(Reason::ApplyFailed, error),
            PlanError::OldKernel { .. }
            | PlanError::NoAddressProtocol { .. }
            | PlanError::ForeignLink { .. }
            | PlanError::ForeignObject { .. }
            | PlanError::NotCreatable { .. }
            | PlanError::KeptKind { .. }
            | PlanError::MissingProperty { .. }
            | PlanError::NeedsAgent { .. }
            | PlanError::Cycle { .. }
            | PlanError::BaseDown { .. }
            | PlanError::Refused { .. }
            | PlanError::Unsettled { .. } => Self::new(Reason::InvalidDesiredState, error),
        }
    }

    /// The stable name of this failure.
    pub const fn reason(&self) -> &'static str {
        self.reason.word()
    }
}
