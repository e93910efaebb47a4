//! Where the time of one change goes, for `state set --stats`.
//!
//! A clock is read around whole batches and dumps only, so it costs nothing that could be measured.

use std::{
    cell::Cell,
    fmt,
    time::{Duration, Instant},
};

/// What time is spent on besides planning and the journal.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Lap {
    /// Reading the document.
    Document,
    /// Reading the host, before and after.
    Host,
    /// Writing to the kernel, acknowledgements included.
    Writes,
}

/// A clock that was started with the command.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    started: Instant,
    document: Cell<Duration>,
    host: Cell<Duration>,
    writes: Cell<Duration>,
}

impl Stopwatch {
    /// Starts it.
    pub(crate) fn start() -> Self {
        let none = || Cell::new(Duration::ZERO);
        Self { started: now(), document: none(), host: none(), writes: none() }
    }

    /// Does something and counts its time.
    pub(crate) fn time<T>(&self, lap: Lap, work: impl FnOnce() -> T) -> T {
        let begun = now();
        let done = work();
        let lap = match lap {
            Lap::Document => &self.document,
            Lap::Host => &self.host,
            Lap::Writes => &self.writes,
        };
        lap.set(lap.get() + begun.elapsed());
        done
    }
}

impl fmt::Display for Stopwatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [document, host, writes] = [&self.document, &self.host, &self.writes].map(Cell::get);
        let all = self.started.elapsed();
        let rest = all.saturating_sub(document + host + writes);
        write!(
            f,
            "{} ms: document {}, reading the host {}, writing {}, planning and journal {}",
            all.as_millis(),
            document.as_millis(),
            host.as_millis(),
            writes.as_millis(),
            rest.as_millis()
        )
    }
}

#[expect(clippy::disallowed_methods, reason = "the outermost shell, and time is what is asked for")]
fn now() -> Instant {
    Instant::now()
}
