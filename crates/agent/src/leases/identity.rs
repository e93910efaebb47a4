//! What tells this node, and this life of its machine, from all others.

use std::{fs, hash::BuildHasher as _, io};

/// A node for good, whatever runs on it.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    /// What client identifiers are made of. Several nodes may share a machine, so the name of the node is part of it.
    pub(crate) machine: String,
    /// This life of the machine.
    pub(crate) boot: String,
}

impl Identity {
    /// Reads what the system knows. A machine without an identifier is known by the name of its node.
    pub(crate) fn of(node: &str) -> io::Result<Self> {
        let machine = fs::read_to_string("/etc/machine-id").unwrap_or_default();
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
        Ok(Self { machine: format!("{} {node}", machine.trim()), boot: boot.trim().to_owned() })
    }
}

/// A number that nobody foresees: what a hash table of the standard library begins with.
pub(crate) fn chance() -> u64 {
    std::hash::RandomState::new().hash_one(0)
}
