//! The address lane: which node has which part of which pool.
//!
//! What is decided is in `netloom_podnet`. It has watches, requests and a task of its own, because a pod that waits for an
//! address waits for no revision, for no rollout, and for no decision of the control loop.

use std::sync::Arc;

use jiff::Timestamp;
use kube::Client;
use netloom_api::podnet::IP_BLOCK;
use netloom_client::{Ended, list};
use netloom_object::Change;
use netloom_podnet::Blocks;
use serde_json::Value;
use tokio::{
    sync::mpsc,
    task::JoinSet,
    time::{Duration, Instant},
};

use crate::{carry::Carrier, clock::Clock, definitions, drive::until, elect::Leadership, metrics::Metrics};

/// After blocks could not be read: nothing tells when they can.
const AGAIN: Duration = Duration::from_secs(2);

/// The blocks as they were read for a leadership; none when they could not be.
type Reading = (i64, Option<Vec<Arc<Value>>>);

/// Gives nodes their blocks of addresses.
pub(crate) struct AddressLane {
    client: Client,
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
        let carrier = Arc::new(Carrier::new(client.clone(), clock, leadership.clone(), metrics));
        Self { client, clock, leadership, carrier, changes, blocks: Blocks::default() }
    }

    /// Runs until `stop`, then until what was begun has ended. Nothing is sent after `stop`.
    pub(crate) async fn run(mut self, stop: impl Future<Output = ()>) {
        let (answers, mut ended) = mpsc::unbounded_channel();
        let (mut running, mut reading) = (JoinSet::new(), JoinSet::new());
        tokio::pin!(stop);
        loop {
            let acquired = self.leadership.acquired(self.clock.now()).map(Timestamp::as_microsecond);
            let leads = acquired.is_some();
            let wake_at = match acquired {
                Some(acquired) if self.blocks.must_read(acquired) => {
                    if reading.is_empty() {
                        reading.spawn(read(self.client.clone(), acquired));
                    }
                    None
                }
                Some(_) => self.decide(&answers, &mut running),
                None => None,
            };
            tokio::select! {
                () = &mut stop => break,
                Some(change) = self.changes.recv() => self.blocks.take(&change),
                Some(answer) = ended.recv() => self.answered(&answer),
                Some(_) = running.join_next() => {}
                Some(read) = reading.join_next() => self.read(read.ok()),
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

    fn read(&mut self, read: Option<Reading>) {
        if let Some((acquired, Some(blocks))) = read {
            self.blocks.read_anew(acquired, &blocks);
        }
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

/// Reads all blocks for one who has acquired the lead.
async fn read(client: Client, acquired: i64) -> Reading {
    let Some(resource) = definitions::fixed_or_own(IP_BLOCK) else { return (acquired, Some(Vec::new())) };
    match list(client, &resource).await {
        Ok(blocks) => (acquired, Some(blocks)),
        Err(why) => {
            tracing::warn!(%why, "the blocks of addresses cannot be read; trying again");
            tokio::time::sleep(AGAIN).await;
            (acquired, None)
        }
    }
}
