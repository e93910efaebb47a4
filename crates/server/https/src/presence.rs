//! Whether a connection still has a reason to be open.
//!
//! One that has authenticated may wait for as long as the protocol's own limits say. One that has not must
//! ask something: it ends when nothing was asked for a while. A request that is being answered is no silence,
//! and one whose head is still on its way is.

use std::{sync::Arc, time::Duration};

use tokio::{sync::watch, time::timeout};

use crate::places::Place;

/// What is known about one connection.
#[derive(Debug)]
pub(crate) struct Presence {
    place: Place,
    standing: watch::Sender<Standing>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Standing {
    known: bool,
    /// Requests that are being answered.
    running: usize,
}

/// One request that is being answered, until this is dropped.
#[derive(Debug)]
pub(crate) struct Running(Arc<Presence>);

impl Presence {
    pub(crate) fn new(place: Place) -> Arc<Self> {
        Arc::new(Self { place, standing: watch::Sender::default() })
    }

    /// The connection has authenticated.
    pub(crate) fn know(&self) {
        self.place.know();
        self.standing.send_if_modified(|standing| !std::mem::replace(&mut standing.known, true));
    }

    /// A request came.
    pub(crate) fn begin(self: &Arc<Self>) -> Running {
        self.standing.send_modify(|standing| standing.running += 1);
        Running(Arc::clone(self))
    }

    /// Returns once a connection that has not authenticated asked nothing for so long.
    pub(crate) async fn silent(&self, time_limit: Duration) {
        let mut standing = self.standing.subscribe();
        loop {
            let now = *standing.borrow_and_update();
            if now.known {
                return std::future::pending().await;
            }
            // The sender is ours, so there is always somebody to tell of a change.
            if now.running > 0 {
                standing.changed().await.ok();
            } else if timeout(time_limit, standing.changed()).await.is_err() {
                return;
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.standing.send_modify(|standing| standing.running -= 1);
    }
}
