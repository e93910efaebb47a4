//! Keeps an eye on the run-time files of other network managers, for the links of the last desired state.

use std::collections::BTreeSet;

use netloom_agent_core::Event;
use netloom_local_host::RunFiles;
use netloom_managers::Managed;
use netloom_model::Observed;
use netloom_types::IfName;
use tokio::sync::mpsc::UnboundedSender;

/// Who manages links of the desired state beside this agent.
pub(crate) struct Managers {
    files: RunFiles,
    events: UnboundedSender<Event>,
    /// The links of the last desired state.
    links: BTreeSet<IfName>,
    /// What was reported last.
    reported: Vec<Managed>,
}

impl Managers {
    pub(crate) fn new(files: RunFiles, events: UnboundedSender<Event>) -> Self {
        Self { files, events, links: BTreeSet::new(), reported: Vec::new() }
    }

    /// Looks on behalf of these links from now on.
    pub(crate) fn attend(&mut self, links: BTreeSet<IfName>, observed: &Observed) {
        self.links = links;
        self.look(observed);
    }

    /// Looks again, and tells what is not as it was.
    pub(crate) fn look(&mut self, observed: &Observed) {
        let found = self.files.managed(self.links.iter().copied(), observed);
        if found == self.reported {
            return;
        }
        for managed in found.iter().filter(|managed| !self.reported.contains(managed)) {
            tracing::warn!(link = %managed.link, manager = managed.manager.name(), "{managed}");
        }
        self.reported.clone_from(&found);
        // Nobody listens any more only when the agent ends.
        self.events.send(Event::Managers(found)).ok();
    }
}
