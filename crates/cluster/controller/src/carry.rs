//! Carries requests of the control loop out.
//!
//! Nothing is sent by one who does not lead at that moment, and no request is waited for longer than the next leader
//! waits before it takes over. A write whose outcome is not known counts as refused; the object is read first, so that
//! the next decision starts from what there is.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use kube::Client;
use netloom_client::{Ended, Outcome, Writer};
use netloom_controller_core::MANAGER;
use netloom_object::{Action, Chain};
use tokio::sync::{Semaphore, mpsc};

use crate::{
    clock::Clock,
    definitions,
    elect::Leadership,
    metrics::{Carried, Metrics},
};

/// Requests at the same time. Enough to keep a server busy, too few to push others out.
const AT_ONCE: usize = 32;

/// Sends requests.
pub(crate) struct Carrier {
    writer: Writer,
    clock: Clock,
    leadership: Leadership,
    places: Semaphore,
    closed: AtomicBool,
    metrics: Arc<Metrics>,
}

impl Carrier {
    pub(crate) fn new(client: Client, clock: Clock, leadership: Leadership, metrics: Arc<Metrics>) -> Self {
        let (time_limit, resource) = (leadership.grace(), definitions::fixed_or_own);
        Self {
            writer: Writer { client, manager: MANAGER, time_limit, resource },
            clock,
            leadership,
            places: Semaphore::new(AT_ONCE),
            closed: AtomicBool::new(false),
            metrics,
        }
    }

    /// From now on nothing is sent any more.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    /// Carries a chain out, one request after the other, until one is not done.
    pub(crate) async fn carry(&self, chain: Chain, ended: mpsc::UnboundedSender<Ended>) {
        // It is never closed.
        let _place = self.places.acquire().await.ok();
        let may = || !self.closed.load(Ordering::Relaxed) && self.leadership.until(self.clock.now()).is_some();
        let tell = |done: Ended| {
            self.count(&done);
            // Nobody listens when the loop has ended.
            ended.send(done).ok();
        };
        self.writer.carry(chain, may, tell).await;
    }

    fn count(&self, Ended { request, outcome, .. }: &Ended) {
        let action = match request.action {
            Action::Create { .. } => "create",
            Action::Apply { .. } => "apply",
            Action::ApplyStatus { .. } => "apply_status",
            Action::Patch { .. } | Action::PatchTested { .. } => "patch",
            Action::Absent { .. } => "look",
            Action::Delete { .. } => "delete",
        };
        let outcome = match outcome {
            Outcome::Done => "done",
            Outcome::Already => "already",
            Outcome::Conflict => "conflict",
            Outcome::Denied => "refused",
            Outcome::Unknown => "unknown",
            Outcome::Withheld => "not_leading",
            Outcome::Skipped => return,
        };
        self.metrics.carried(&Carried { kind: request.target.kind.kind, action, outcome });
    }
}
