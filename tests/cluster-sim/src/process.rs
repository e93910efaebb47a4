//! What controllers and agents have in common: they live and die, have clocks of their own, and see the
//! server through watches that break.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use netloom_api::GroupKind;

use crate::Micros;

/// A process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Process {
    /// One of the controllers.
    Controller(usize),
    /// The agent of a node.
    Agent(usize),
}

/// What goes wrong at a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// The process is killed before the step is carried out.
    DiesBefore,
    /// It is killed after that, and before it hears of it.
    DiesAfter,
    /// The same, and who takes over is first given what the server had some time ago.
    DiesAndSeesThePast,
    /// It goes on, and nothing that happens reaches it for some time but the answers to its own requests.
    FallsBehind,
    /// Nobody hears of the step: watches break over it, and the kernel's word is lost.
    Unheard,
}

impl Trouble {
    /// Every trouble.
    pub const ALL: [Self; 5] =
        [Self::DiesBefore, Self::DiesAfter, Self::DiesAndSeesThePast, Self::FallsBehind, Self::Unheard];
}

/// The step at which something goes wrong for the process that takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop {
    /// The number of the step: every write that reaches the server and everything done to a host counts.
    pub step: usize,
    /// What goes wrong.
    pub trouble: Trouble,
}

/// When every run begins.
const BEGIN: Timestamp = Timestamp::constant(1_893_456_000, 0);

/// A process, as far as it does not matter which.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shell {
    /// Grows with every death; what was meant for an earlier life is not heard.
    pub(crate) life: u32,
    pub(crate) alive: bool,
    /// The server is not reached before then.
    pub(crate) cut_until: Micros,
    /// How far its clock is ahead.
    pub(crate) ahead: i64,
    /// When it wants to be asked again.
    pub(crate) wake: Option<Micros>,
    pub(crate) streams: BTreeMap<GroupKind<'static>, Stream>,
    /// Whether the next lists are old ones.
    pub(crate) stale: bool,
    /// The newest version that it has heard of: a list that it asks for later is not older than that.
    pub(crate) seen: u64,
}

/// A watch on one kind.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stream {
    /// Grows with every list; events of an earlier watch are not heard.
    pub(crate) number: u32,
    pub(crate) open: bool,
    /// Events arrive in their order.
    pub(crate) last: Micros,
}

impl Shell {
    /// The time on its clock.
    pub(crate) fn clock(&self, now: Micros) -> Timestamp {
        let micros = i64::try_from(now).unwrap_or(i64::MAX).saturating_add(self.ahead);
        BEGIN.checked_add(SignedDuration::from_micros(micros)).unwrap_or(Timestamp::MAX)
    }

    /// The moment at which its clock shows a time, not earlier than that.
    pub(crate) fn moment(&self, time: Timestamp) -> Micros {
        let nanos = time.duration_since(BEGIN).as_nanos();
        let micros = nanos.div_euclid(1000) + i128::from(nanos.rem_euclid(1000) > 0) - i128::from(self.ahead);
        Micros::try_from(micros.max(0)).unwrap_or(Micros::MAX)
    }

    pub(crate) fn is_cut(&self, now: Micros) -> bool {
        now < self.cut_until
    }
}

/// The time of the server.
pub(crate) fn server_clock(now: Micros) -> Timestamp {
    Shell::default().clock(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_differ_and_moments_do_not() {
        for ahead in [0, 5_000_000, -3_000_000] {
            let shell = Shell { ahead, ..Shell::default() };
            assert_eq!(shell.moment(shell.clock(7_000_000)), 7_000_000);
            let between = shell.clock(7_000_000).checked_add(SignedDuration::from_nanos(1)).unwrap();
            assert_eq!(shell.moment(between), 7_000_001, "never too early");
        }
    }
}
