//! What follows a change before it is kept: how long it is watched, for which links it waits, and what a
//! failed probe means. Pure: no probe is run here and no clock is read.
//!
//! ```text
//! timing    the waits, with their defaults and bounds: the only place for both
//! touched   the links that must have carrier before a probe counts
//! course    from the last step to the verdict, one look and one round of probes at a time
//! ```
//!
//! Invariant: a course ends. Each wait in it has a bound of its own, and a round that changes nothing uses
//! up one of a limited number.

mod course;
mod timing;
mod touched;

pub use course::{Course, Ending, Next, PauseReason, ProbeResult};
pub use timing::{ProbeTimes, ProbeTiming, Wait};
pub use touched::Touched;
