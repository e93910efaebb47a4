//! The kernel's notifications, for as long as the agent lives.
//!
//! A socket that cannot be read any more is opened again, after growing pauses. What happens meanwhile is found by the
//! poll; and since nobody can say what was missed, the host counts as changed whenever listening begins again.

use std::{
    ops::ControlFlow,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use netloom_agent_core::HostChange;
use netloom_local_host::Place;
use netloom_model::EngineError;
use netloom_netlink::events::{EVENT_BUFFER, Notice, Watch};
use tokio::sync::Notify;

use crate::metrics::Metrics;

/// How long the kernel may be silent before it is listened to again. Events end the wait, and what is lost is
/// found by the poll, so it only bounds the call.
const SILENCE: Duration = Duration::from_hours(24);
/// So many links are reported by name; who has to look at more reads everything anyway.
const MOST: usize = 256;
/// The pause after the first failure, and the longest.
const PAUSE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_mins(1));

/// What the kernel reported and nobody has taken yet.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    reported: Mutex<Option<HostChange>>,
    bell: Notify,
}

impl Changes {
    pub(crate) fn add(&self, change: HostChange) {
        {
            let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
            *reported = Some(match (reported.take(), change) {
                (None, change) => change,
                (Some(HostChange::Links(mut links)), HostChange::Links(more)) if links.len() < MOST => {
                    links.extend(more);
                    HostChange::Links(links)
                }
                (Some(_), _) => HostChange::Anything,
            });
        }
        self.bell.notify_one();
    }

    /// Waits for a change; what comes until it is taken is one with it.
    pub(crate) async fn next(&self) -> HostChange {
        self.bell.notified().await;
        self.reported.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or(HostChange::Anything)
    }
}

/// What a notification means for the agent.
fn meaning(notice: &Notice) -> HostChange {
    match notice {
        Notice::Change(change) => {
            change.concerns().map_or(HostChange::Anything, |links| HostChange::Links(links.collect()))
        }
        Notice::Overrun => HostChange::Anything,
    }
}

/// Tells `changed` of every change of the host, from a thread of its own.
pub(crate) fn follow(place: Place, first: Watch, changed: Arc<Changes>, metrics: Arc<Metrics>) -> std::io::Result<()> {
    let follow = move || {
        let open = || -> Result<Watch, EngineError> { place.kernel()?.watch(EVENT_BUFFER) };
        let mut kernel = Kernel {
            hear: |watch: &mut Watch| {
                watch.next(SILENCE).map(|notice| notice.as_ref().map(meaning)).map_err(|why| why.to_string())
            },
            open: || open().map_err(|why| why.to_string()),
            pause: |pause| {
                wait(pause);
                ControlFlow::Continue(())
            },
            changed: |change| changed.add(change),
            deaf: |deaf: bool| metrics.deaf(deaf),
        };
        kernel.listen(first);
    };
    thread::Builder::new().name("netlink-events".to_owned()).spawn(follow).map(drop)
}

#[expect(clippy::disallowed_methods, reason = "nothing tells when the kernel has room for a socket again")]
fn wait(pause: Duration) {
    thread::sleep(pause);
}

/// Everything that listening does to the world.
struct Kernel<H, O, P, C, D> {
    /// Waits for a notification; says what changed, if anything.
    hear: H,
    /// Begins to listen again.
    open: O,
    /// Waits; says whether to go on.
    pause: P,
    /// Tells what of the host may have changed.
    changed: C,
    /// Tells whether nothing is heard.
    deaf: D,
}

impl<H, O, P, C, D> Kernel<H, O, P, C, D> {
    /// Listens until asked to end.
    fn listen<W>(&mut self, mut watch: W)
    where
        H: FnMut(&mut W) -> Result<Option<HostChange>, String>,
        O: FnMut() -> Result<W, String>,
        P: FnMut(Duration) -> ControlFlow<()>,
        C: FnMut(HostChange),
        D: FnMut(bool),
    {
        let mut failures = 0;
        loop {
            match (self.hear)(&mut watch) {
                Ok(heard) => {
                    failures = 0;
                    if let Some(change) = heard {
                        (self.changed)(change);
                    }
                }
                Err(why) => {
                    tracing::error!(why, "the kernel's notifications cannot be read; they are asked for again");
                    (self.deaf)(true);
                    let Some(again) = self.reopen(&mut failures) else { return };
                    watch = again;
                    (self.deaf)(false);
                    tracing::info!("the kernel's notifications are read again");
                }
            }
        }
    }

    /// Opens until it works; none when asked to end.
    fn reopen<W>(&mut self, failures: &mut u32) -> Option<W>
    where
        O: FnMut() -> Result<W, String>,
        P: FnMut(Duration) -> ControlFlow<()>,
        C: FnMut(HostChange),
    {
        loop {
            // A socket that opens and then fails at once must not be opened all the time either.
            let pause = PAUSE.0.saturating_mul(2_u32.saturating_pow((*failures).min(16))).min(PAUSE.1);
            *failures = failures.saturating_add(1);
            if (self.pause)(pause).is_break() {
                return None;
            }
            match (self.open)() {
                Ok(watch) => {
                    (self.changed)(HostChange::Anything);
                    return Some(watch);
                }
                Err(why) => tracing::warn!(why, "the kernel's notifications cannot be had; drift is found by the poll"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use super::*;

    #[test]
    fn a_socket_that_fails_is_opened_again_with_growing_pauses() {
        let (opened, reported, pauses, deaf) =
            (Cell::new(0), Cell::new(0), RefCell::new(Vec::new()), RefCell::default());
        let mut kernel = Kernel {
            // Each socket hears one thing and then fails; the first one fails at once.
            hear: |left: &mut u32| match left.checked_sub(1) {
                Some(rest) => {
                    *left = rest;
                    Ok(Some(HostChange::Anything))
                }
                None => Err("gone".to_owned()),
            },
            // The second attempt does not work.
            open: || {
                opened.set(opened.get() + 1);
                if opened.get() == 2 { Err("no room".to_owned()) } else { Ok(1) }
            },
            pause: |pause: Duration| {
                pauses.borrow_mut().push(pause.as_millis());
                if pauses.borrow().len() > 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            },
            changed: |_| reported.set(reported.get() + 1),
            deaf: |is: bool| RefCell::<Vec<bool>>::borrow_mut(&deaf).push(is),
        };
        kernel.listen(0);
        assert_eq!(*pauses.borrow(), [100, 100, 200, 100, 100]);
        assert_eq!(reported.get(), 6, "once for each notification, and once for each socket");
        assert_eq!(*deaf.borrow(), [true, false, true, false, true, false, true]);
    }
}
