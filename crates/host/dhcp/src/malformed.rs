//! What is wrong with bytes that claim to be a message.

/// Why bytes are no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The part that every message has is not there whole.
    #[error("the message has {0} bytes; every message has at least 240")]
    Short(usize),
    /// Longer than what a client says that it takes.
    #[error("the message has {0} bytes; more than 1500 were not asked for")]
    Long(usize),
    /// Neither a request nor a reply.
    #[error("the message is neither a request nor a reply (operation {0})")]
    Operation(u8),
    /// For another kind of link than Ethernet.
    #[error("the message is for hardware of type {kind} with addresses of {length} bytes; Ethernet is type 1 with 6")]
    Hardware {
        /// The type of hardware.
        kind: u8,
        /// The length of its addresses.
        length: u8,
    },
    /// The four bytes that tell DHCP from its predecessor are others.
    #[error("the message does not carry the mark of DHCP before its options")]
    Mark,
    /// An option says that it is longer than what is left.
    #[error("option {0} says that it is longer than the message")]
    Truncated(u8),
    /// The option that lets others stand in the place of names has no meaning.
    #[error("option 52 must be one byte of 1, 2 or 3")]
    Overload,
}

impl Malformed {
    /// The stable name of this failure.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Short(_) => "DhcpMessageShort",
            Self::Long(_) => "DhcpMessageLong",
            Self::Operation(_) => "DhcpOperation",
            Self::Hardware { .. } => "DhcpHardware",
            Self::Mark => "DhcpMark",
            Self::Truncated(_) => "DhcpOptionTruncated",
            Self::Overload => "DhcpOverload",
        }
    }
}
