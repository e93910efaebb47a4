//! Requests at the API: what the node's decisions ask for, carried out and answered.

use std::{sync::Arc, time::Duration};

use kube::Client;
use netloom_agent_core::{Event, MANAGER};
use netloom_client::{Ended, Writer};
use netloom_object::{Answer, Chain};
use tokio::sync::mpsc::UnboundedSender;

use crate::{kinds::resource, metrics::Metrics};

/// How long one request may take. The network may be the one that is being changed, and then there is no
/// answer at all.
const TIME_LIMIT: Duration = Duration::from_secs(15);

/// The API, for one agent.
#[derive(Clone)]
pub(crate) struct Api {
    writer: Writer,
    events: UnboundedSender<Event>,
    metrics: Arc<Metrics>,
}

impl Api {
    pub(crate) fn new(client: Client, events: UnboundedSender<Event>, metrics: Arc<Metrics>) -> Self {
        let resource = |kind| Some(resource(kind));
        Self { writer: Writer { client, manager: MANAGER, time_limit: TIME_LIMIT, resource }, events, metrics }
    }

    /// Carries out requests that follow each other, and tells what came of each.
    pub(crate) async fn ask(self, chain: Chain) {
        self.writer.carry(chain, || true, |ended| self.tell(ended)).await;
    }

    fn tell(&self, ended: Ended) {
        let Ended { request, outcome, change, why } = ended;
        let answer = outcome.answer();
        if let (Answer::Refused | Answer::Denied, Some(why)) = (&answer, why) {
            self.metrics.refused(&why);
        }
        self.metrics.request(&answer);
        let answered = Event::Answered { request: request.id, answer };
        for event in change.map(Event::Objects).into_iter().chain([answered]) {
            // Nobody listens any more only when the agent ends.
            self.events.send(event).ok();
        }
    }
}
