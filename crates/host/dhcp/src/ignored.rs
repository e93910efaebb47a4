//! Why a frame had no effect.

use std::net::Ipv4Addr;

use crate::{datagram::Unfit, malformed::Malformed, terms::Refusal};

/// Why a frame had no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Ignored {
    /// The frame cannot be read.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// The frame or packet is for somebody else.
    #[error("the packet is for somebody else")]
    ForOthers,
    /// Nothing was asked for.
    #[error("nothing was asked for")]
    Unasked,
    /// It answers another question.
    #[error("the answer is to somebody else's question")]
    OtherQuestion,
    /// The message cannot be read.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// It is no answer, or of a kind that does not belong here.
    #[error("the message is of a kind that does not belong here")]
    Kind,
    /// It is for another hardware address or identifier.
    #[error("the answer is to another client")]
    OtherClient,
    /// It comes from another server than the one that was asked.
    #[error("the answer is from {0}, which was not asked")]
    OtherServer(Ipv4Addr),
    /// It is about another address than the one that was asked for.
    #[error("the answer is about {0}, which was not asked for")]
    OtherAddress(Ipv4Addr),
    /// What it gives cannot be used.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// What it gives is over already.
    #[error("the answer came too late")]
    Late,
}

impl Ignored {
    /// The stable name of this reason.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Unfit(unfit) => unfit.reason(),
            Self::ForOthers => "ForOthers",
            Self::Unasked => "Unasked",
            Self::OtherQuestion => "OtherQuestion",
            Self::Malformed(malformed) => malformed.reason(),
            Self::Kind => "UnexpectedKind",
            Self::OtherClient => "OtherClient",
            Self::OtherServer(_) => "OtherServer",
            Self::OtherAddress(_) => "OtherAddress",
            Self::Refused(refusal) => refusal.reason(),
            Self::Late => "LateAnswer",
        }
    }
}

/// How many frames came, and what became of them. Nothing else is kept of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Frames that came.
    pub heard: u64,
    /// Those of them without effect.
    pub ignored: u64,
    /// Why the last of those had none.
    pub last: Option<Ignored>,
}
