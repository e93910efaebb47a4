//! Signals, as values instead of interruptions.
//!
//! A change must not be cut off in its middle, so from here on the signals that usually end a
//! process only raise a flag or arrive as a message; the transaction looks at the flag between its
//! steps and undoes what it did.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread,
};

use nix::sys::signal::{SigSet, Signal};

use crate::failure::Failure;

/// What happened to a waiting process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    /// A person or a program says yes: SIGUSR1, or Enter.
    Confirm,
    /// SIGINT, SIGTERM or SIGHUP: the terminal is gone, or somebody changed their mind.
    Stop,
    /// The open change was settled elsewhere, or its time is over.
    Ended,
}

/// Signals of this process, taken in by a thread of their own.
#[derive(Debug)]
pub(crate) struct Signals {
    /// Raised by the first signal to stop.
    pub(crate) stop: Arc<AtomicBool>,
    /// For other threads that have something to tell.
    pub(crate) sender: Sender<Event>,
    /// Everything that happened, in order.
    pub(crate) events: Receiver<Event>,
}

impl Signals {
    /// Takes the signals over. Must be called before other threads are started: a thread inherits
    /// which signals are held back.
    pub(crate) fn take_over() -> Result<Self, Failure> {
        let mut set = SigSet::empty();
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGUSR1] {
            set.add(signal);
        }
        set.thread_block().map_err(|error| Failure::usage(format_args!("cannot hold signals back: {error}")))?;
        let (sender, events) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let (flag, to) = (Arc::clone(&stop), sender.clone());
        // Memory of a change is there at once (see `resident`), a stack of the usual size as well.
        let waiting = thread::Builder::new().stack_size(64 << 10).spawn(move || {
            while let Ok(signal) = set.wait() {
                let event = if signal == Signal::SIGUSR1 { Event::Confirm } else { Event::Stop };
                if event == Event::Stop {
                    flag.store(true, Ordering::Relaxed);
                }
                if to.send(event).is_err() {
                    break;
                }
            }
        });
        waiting.map_err(|error| Failure::usage(format_args!("cannot wait for signals: {error}")))?;
        Ok(Self { stop, sender, events })
    }
}
