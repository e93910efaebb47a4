//! Ctrl-C while a verb waits for others to do what they were asked to: they go on, so that is reported before the end.
//!
//! The process ends by the signal itself, as it does without this: whoever started it sees that it was interrupted. One
//! that was asked not to listen to Ctrl-C, as a shell does with what it starts in the background, goes on.

use std::{
    fs,
    sync::{Arc, OnceLock},
    thread,
};

use nix::sys::signal::{SigSet, Signal, raise};

use crate::{failure::Failure, output::Output};

/// What is reported when the process is interrupted; nothing before there is something to say.
#[derive(Clone, Default)]
pub(crate) struct Farewell(Arc<OnceLock<&'static str>>);

impl Farewell {
    /// Takes Ctrl-C over. Must be called before other threads are started: a thread inherits which signals are held back.
    pub(crate) fn take_over() -> Result<Self, Failure> {
        let farewell = Self::default();
        if is_ignored(Signal::SIGINT) {
            return Ok(farewell);
        }
        let mut interrupt = SigSet::empty();
        interrupt.add(Signal::SIGINT);
        interrupt.thread_block().map_err(|error| Failure::usage(format_args!("cannot hold signals back: {error}")))?;
        let given = farewell.clone();
        let waiting = thread::Builder::new().spawn(move || {
            if interrupt.wait().is_ok() {
                if let Some(words) = given.0.get() {
                    Output::new(false).note(words);
                }
                // Not held back any more, it ends the process here.
                interrupt.thread_unblock().and_then(|()| raise(Signal::SIGINT)).ok();
            }
        });
        waiting.map_err(|error| Failure::usage(format_args!("cannot wait for signals: {error}")))?;
        Ok(farewell)
    }

    /// From now on this is reported.
    pub(crate) fn say(&self, words: &'static str) {
        // The first words stay.
        self.0.get_or_init(|| words);
    }
}

/// Whether the process was started with a signal ignored.
fn is_ignored(signal: Signal) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    mask >> (signal as i32 - 1) & 1 == 1
}
