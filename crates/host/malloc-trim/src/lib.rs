//! Freed memory goes back to the kernel.
//!
//! The allocator of glibc keeps what was freed below the newest piece that is still in use. A process that
//! works in bursts, as the agent of a node does, would so keep the memory of its largest burst for good.
//!
//! This crate does nothing else: it is the only one in the workspace with `unsafe`, and has one such line.

/// Gives all whole pages that nothing lives in back to the kernel.
///
/// Takes about a millisecond for some megabytes, and the next burst asks for its pages again: for a process
/// that is about to wait. With an allocator other than glibc's it does nothing.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    trim();
}

#[cfg(target_env = "gnu")]
#[allow(unsafe_code, reason = "neither the standard library nor a safe crate offers this call")]
fn trim() {
    // SAFETY: may be called at any time and from any thread; it takes the allocator's own locks and no
    // pointer, and touches only memory that is not in use.
    unsafe { libc::malloc_trim(0) };
}
