//! The address lane: which node has which part of which pool.
//!
//! What is decided is in `netloom_podnet`. It has watches, requests and a task of its own, because a pod that waits for an
//! address waits for no revision, for no rollout, and for no decision of the control loop.

use std::sync::Arc;

use jiff::Timestamp;
use kube::Client;
use netloom_client::Ended;
use netloom_object::Change;
use netloom_podnet::Blocks;
use tokio::{
    sync::mpsc,
    task::JoinSet,
    time::{Duration, Instant},
};

use crate::{carry::Carrier, clock::Clock, drive::until, elect::Leadership, metrics::Metrics};

/// Gives nodes their blocks of addresses.
pub(crate) struct AddressLane {
    clock: Clock,
    leadership: Leadership,
    carrier: Arc<Carrier>,
    changes: mpsc::Receiver<Change>,
    blocks: Blocks,
}

impl AddressLane {
    /// One that has heard of nothing yet.
    pub(crate) fn new(
        client: Client,
        clock: Clock,
        leadership: Leadership,
        metrics: Arc<Metrics>,
        changes: mpsc::Receiver<Change>,
    ) -> Self {
        let carrier = Arc::new(Carrier::new(client, clock, leadership.clone(), metrics));
        Self { clock, leadership, carrier, changes, blocks: Blocks::default() }
    }

    /// Runs until `stop`, then until what was begun has ended. Nothing is sent after `stop`.
    pub(crate) async fn run(mut self, stop: impl Future<Output = ()>) {
        let (answers, mut ended) = mpsc::unbounded_channel();
        let mut running = JoinSet::new();
        tokio::pin!(stop);
        loop {
            let leads = self.leadership.until(self.clock.now()).is_some();
            let wake_at = if leads { self.decide(&answers, &mut running) } else { None };
            tokio::select! {
                () = &mut stop => break,
                Some(change) = self.changes.recv() => self.blocks.take(&change),
                Some(answer) = ended.recv() => self.answered(&answer),
                Some(_) = running.join_next() => {}
                // One that leads is told every few seconds that it still does.
                () = self.leadership.changed(), if !leads => {}
                () = until(wake_at) => {}
            }
            // What is there already is one change for the decision.
            while let Ok(change) = self.changes.try_recv() {
                self.blocks.take(&change);
            }
            while let Ok(answer) = ended.try_recv() {
                self.answered(&answer);
            }
        }
        self.carrier.close();
        while running.join_next().await.is_some() {}
    }

    fn decide(&mut self, answers: &mpsc::UnboundedSender<Ended>, running: &mut JoinSet<()>) -> Option<Instant> {
        let (chains, wake_at) = self.blocks.decide(self.now());
        for chain in chains {
            let (carrier, answers) = (Arc::clone(&self.carrier), answers.clone());
            running.spawn(async move { carrier.carry(chain, answers).await });
        }
        let passed = wake_at.map(|at| Duration::from_millis(at.saturating_sub(self.now())));
        passed.map(|passed| Instant::now() + passed)
    }

    fn answered(&mut self, Ended { request, outcome, change, .. }: &Ended) {
        if let Some(change) = change {
            self.blocks.take(change);
        }
        self.blocks.answered(self.now(), request.id, &outcome.answer());
    }

    /// Milliseconds since the beginning, for decisions.
    fn now(&self) -> u64 {
        let passed = self.clock.now().steady.duration_since(Timestamp::UNIX_EPOCH);
        u64::try_from(passed.as_millis()).unwrap_or_default()
    }
}
