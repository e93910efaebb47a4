//! Refusals, in the kernel's numbers and words.

use netloom_model::StepError;

/// The result of one step or of a part of it.
pub(crate) type Done = Result<(), StepError>;

/// `EACCES`
pub(crate) const EACCES: i32 = 13;
/// `ENOTEMPTY`
pub(crate) const ENOTEMPTY: i32 = 39;
/// `ELOOP`
pub(crate) const ELOOP: i32 = 40;
/// `EAFNOSUPPORT`
pub(crate) const EAFNOSUPPORT: i32 = 97;
/// `EADDRINUSE`
pub(crate) const EADDRINUSE: i32 = 98;

/// A refusal with the kernel's explanation.
pub(crate) fn refuse<T>(errno: i32, text: &str) -> Result<T, StepError> {
    Err(StepError::with(errno, text))
}

/// A refusal that the kernel does not explain.
pub(crate) fn refuse_plainly<T>(errno: i32) -> Result<T, StepError> {
    Err(StepError::new(errno))
}

/// Refuses when `wrong` holds.
pub(crate) fn refuse_if(wrong: bool, errno: i32, text: &str) -> Done {
    if wrong { refuse(errno, text) } else { Ok(()) }
}
