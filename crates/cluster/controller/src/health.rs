//! Whether the process is well, for those who watch over it: `/healthz`, `/readyz` and `/metrics`.
//!
//! Well is one whose loop goes round; one that does not is best restarted. Ready is one that knows
//! everything that it needs. It need not lead: one that follows is ready to take over.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use netloom_https::{Body, Handler, Peer};
use tokio::{sync::watch, time::Instant};

use crate::{
    answer,
    metrics::{self, Metrics},
    view::Current,
    webhook::Slot,
};

/// A round of the loop takes milliseconds, and seconds in the largest cluster. One that takes this long never ends.
const STUCK: Duration = Duration::from_mins(1);

/// What the loop tells about itself.
#[derive(Debug)]
pub struct LoopHealth {
    busy_since: Mutex<Option<Instant>>,
    whole: watch::Sender<bool>,
}

impl Default for LoopHealth {
    fn default() -> Self {
        Self { busy_since: Mutex::default(), whole: watch::Sender::new(false) }
    }
}

impl LoopHealth {
    /// A round begins, or ends.
    pub(crate) fn busy(&self, busy: bool) {
        *self.busy_since.lock().unwrap_or_else(PoisonError::into_inner) = busy.then(Instant::now);
    }

    /// Every kind has been listed, or not.
    pub(crate) fn whole(&self, whole: bool) {
        self.whole.send_if_modified(|known| std::mem::replace(known, whole) != whole);
    }

    /// Waits until every kind has been listed.
    pub async fn is_whole(&self) {
        // It cannot fail: this value holds the other end.
        self.whole.subscribe().wait_for(|whole| *whole).await.ok();
    }

    fn is_stuck(&self, now: Instant) -> bool {
        let since = *self.busy_since.lock().unwrap_or_else(PoisonError::into_inner);
        since.is_some_and(|since| now.duration_since(since) > STUCK)
    }
}

/// Answers those who watch over the process.
#[derive(Debug)]
pub struct Health {
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// The loop.
    pub loop_health: Arc<LoopHealth>,
    /// What the webhook looks at, where there is one.
    pub view: Option<Current>,
    /// The webhook's own certificate, where it keeps one.
    pub slot: Option<Arc<Slot>>,
}

impl Health {
    /// What is missing before the process can do its work.
    fn missing(&self) -> Vec<&'static str> {
        let loops = (!*self.loop_health.whole.borrow()).then_some("the control loop has not seen every kind yet");
        let view = self.view.as_ref().is_some_and(|view| !view.is_complete());
        let view = view.then_some("the webhook has not seen every kind yet");
        let slot = self.slot.as_ref().is_some_and(|slot| !slot.is_filled());
        let slot = slot.then_some("the webhook has no certificate yet");
        loops.into_iter().chain(view).chain(slot).collect()
    }
}

impl Handler for Health {
    async fn answer(&self, peer: &Arc<Peer>, request: Request<Incoming>) -> Response<Body> {
        // Everybody is notified.
        peer.authenticated();
        match (request.method(), request.uri().path()) {
            (&Method::GET, "/healthz") if self.loop_health.is_stuck(Instant::now()) => {
                answer::text(StatusCode::INTERNAL_SERVER_ERROR, "the control loop is stuck")
            }
            (&Method::GET, "/healthz") => answer::text(StatusCode::OK, "ok"),
            (&Method::GET, "/readyz") => match self.missing() {
                missing if missing.is_empty() => answer::text(StatusCode::OK, "ok"),
                missing => answer::text(StatusCode::SERVICE_UNAVAILABLE, &missing.join("\n")),
            },
            (&Method::GET, "/metrics") => match self.metrics.text() {
                Ok(text) => answer::answer(StatusCode::OK, metrics::CONTENT_TYPE, text.into()),
                Err(why) => answer::text(StatusCode::INTERNAL_SERVER_ERROR, &why.to_string()),
            },
            (&Method::GET, _) => {
                answer::text(StatusCode::NOT_FOUND, "only /healthz, /readyz and /metrics are served here")
            }
            _ => answer::text(StatusCode::METHOD_NOT_ALLOWED, "only GET is served here"),
        }
    }
}

#[cfg(test)]
mod tests {
    use netloom_admission::Objects;

    use super::*;

    #[test]
    fn ready_is_who_knows_everything() {
        let loop_health = Arc::new(LoopHealth::default());
        let mut health = Health {
            metrics: Arc::default(),
            loop_health: Arc::clone(&loop_health),
            view: Some(Current::awaiting()),
            slot: Some(Arc::default()),
        };
        assert_eq!(health.missing().len(), 3);
        health.slot = None;
        loop_health.whole(true);
        assert_eq!(health.missing(), ["the webhook has not seen every kind yet"]);
        health.view = Some(Current::of(Objects::default()));
        assert!(health.missing().is_empty());
    }

    #[test]
    fn a_round_that_does_not_end_is_reported() {
        let loop_health = LoopHealth::default();
        loop_health.busy(true);
        assert!(!loop_health.is_stuck(Instant::now()));
        assert!(loop_health.is_stuck(Instant::now() + STUCK * 2));
        loop_health.busy(false);
        assert!(!loop_health.is_stuck(Instant::now() + STUCK * 2));
    }
}
