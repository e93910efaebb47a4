//! The control loop: changes into the index, decisions out of it, requests carried out, answers back.
//!
//! What happens is decided in `netloom-controller-core`; this runs it. The loop waits for something to happen (a change,
//! an answer, the lease, a moment that the last decision named) and for nothing else, so an idle cluster costs
//! nothing. While a decision is made, changes wait in their queue and requests go on.

use std::sync::Arc;

use jiff::Timestamp;
use kube::Client;
use netloom_client::Ended;
use netloom_controller_core::{Controller, ControllerActions, Index, Leadership as Leads, Settings};
use netloom_object::Change;
use tokio::{
    sync::mpsc,
    task::JoinSet,
    time::{Instant, sleep_until},
};

use crate::{carry::Carrier, clock::Clock, elect::Leadership, health::LoopHealth, metrics::Metrics};

/// Changes that wait for the loop. More of them wait in the watches, and there in the server.
pub const QUEUE: usize = 1024;

/// Runs the control loop.
pub struct Drive {
    clock: Clock,
    leadership: Leadership,
    carrier: Arc<Carrier>,
    metrics: Arc<Metrics>,
    loop_health: Arc<LoopHealth>,
    changes: mpsc::Receiver<Change>,
    index: Index,
    controller: Controller,
}

impl Drive {
    /// A loop that has heard of nothing yet.
    pub fn new(
        client: Client,
        clock: Clock,
        leadership: Leadership,
        metrics: Arc<Metrics>,
        changes: mpsc::Receiver<Change>,
    ) -> Self {
        let carrier = Arc::new(Carrier::new(client, clock, leadership.clone(), Arc::clone(&metrics)));
        let (index, controller) = (Index::default(), Controller::new(Settings::default()));
        Self { clock, leadership, carrier, metrics, loop_health: Arc::default(), changes, index, controller }
    }

    /// How the loop is.
    pub fn loop_health(&self) -> Arc<LoopHealth> {
        Arc::clone(&self.loop_health)
    }

    /// Runs until `stop`, then until what was begun has ended. Nothing is sent after `stop`.
    pub async fn run(mut self, stop: impl Future<Output = ()>) {
        let (answers, mut ended) = mpsc::unbounded_channel();
        let mut running = JoinSet::new();
        tokio::pin!(stop);
        loop {
            let wake_at = self.decide(&answers, &mut running);
            tokio::select! {
                () = &mut stop => break,
                Some(change) = self.changes.recv() => self.take(change),
                Some(answer) = ended.recv() => self.answered(answer),
                Some(_) = running.join_next() => {}
                () = self.leadership.changed() => {}
                () = until(wake_at) => {}
            }
            // What is there already is one change for the decision.
            while let Ok(change) = self.changes.try_recv() {
                self.take(change);
            }
            while let Ok(answer) = ended.try_recv() {
                self.answered(answer);
            }
        }
        self.carrier.close();
        while running.join_next().await.is_some() {}
    }

    /// Decides, and begins what follows; says when to look again though nothing happens.
    fn decide(&mut self, answers: &mpsc::UnboundedSender<Ended>, running: &mut JoinSet<()>) -> Option<Instant> {
        let now = self.clock.now();
        let leads = match self.leadership.until(now) {
            Some(until) => Leads::Leading { until },
            None => Leads::Following,
        };
        self.loop_health.busy(true);
        let (controller, index) = (&mut self.controller, &self.index);
        let began = Instant::now();
        // From nothing, in a large cluster, it takes seconds: others must go on meanwhile, the lease above all.
        let ControllerActions { chains, wake_at } =
            tokio::task::block_in_place(|| controller.decide(now.wall, index, leads));
        self.loop_health.busy(false);
        self.metrics.decided(began.elapsed(), !chains.is_empty());
        for chain in chains {
            let (carrier, answers) = (Arc::clone(&self.carrier), answers.clone());
            running.spawn(async move { carrier.carry(chain, answers).await });
        }
        wake_at.map(|wake_at: Timestamp| Clock::at_wall(wake_at))
    }

    fn take(&mut self, change: Change) {
        self.index.take(self.clock.now().wall, change);
        self.loop_health.whole(self.index.is_whole());
    }

    fn answered(&mut self, ended: Ended) {
        let now = self.clock.now().wall;
        let Ended { request, outcome, change, .. } = ended;
        if let Some(change) = change {
            self.index.take(now, change);
        }
        self.controller.answered(now, request.id, &outcome.answer());
    }
}

/// Waits for a moment, or for ever.
pub(crate) async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
