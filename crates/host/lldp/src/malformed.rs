//! Why a frame is refused.

/// The rule that a frame breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Too short, or of another protocol, or not to one of the protocol's groups.
    #[error("not a frame of the Link Layer Discovery Protocol")]
    Foreign,
    /// A part says that it is longer than what is left.
    #[error("a part of type {0} is longer than the frame")]
    Truncated(u8),
    /// The first three parts are not the chassis, the port and the time to live.
    #[error("part {0} is not the one that every announcement has in its place")]
    Mandatory(u8),
    /// A part that may be there once is there again.
    #[error("a part of type {0} is there twice")]
    Twice(u8),
    /// The contents of a part are too short or too long, or contradict its length.
    #[error("the contents of a part of type {0} cannot be")]
    Contents(u8),
}

impl Malformed {
    /// The stable name of this reason.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Foreign => "LldpForeign",
            Self::Truncated(_) => "LldpTruncated",
            Self::Mandatory(_) => "LldpMandatoryPart",
            Self::Twice(_) => "LldpRepeatedPart",
            Self::Contents(_) => "LldpContents",
        }
    }
}
