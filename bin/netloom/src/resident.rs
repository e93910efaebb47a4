//! Keeps a change in memory.
//!
//! The disk of a machine may be behind the very network that a change interrupts. So a process that
//! changes it must not be paged out, and the memory that it gets is there at once. That is also
//! faster than getting it page by page.

use nix::sys::{
    mman::{MlockAllFlags, mlockall},
    resource::{RLIM_INFINITY, Resource, setrlimit},
};

/// Keeps all memory that is taken from now on, where this is allowed without a limit: under a limit
/// the process would be refused memory half way. Elsewhere nothing changes.
pub(crate) fn stay() {
    if setrlimit(Resource::RLIMIT_MEMLOCK, RLIM_INFINITY, RLIM_INFINITY).is_ok() {
        // Without it everything works as well, only not on a disk behind the network.
        mlockall(MlockAllFlags::MCL_FUTURE).ok();
    }
}
