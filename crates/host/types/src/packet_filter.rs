//! The kernel's classic packet filter: what a program consists of.

/// One instruction, field by field as the kernel wants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilterInstruction {
    /// What to do.
    pub code: u16,
    /// How many instructions to pass over if the test holds.
    pub if_true: u8,
    /// How many if it does not.
    pub if_false: u8,
    /// The number that goes with it.
    pub k: u32,
}
