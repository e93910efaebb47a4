//! Links of the desired state that other programs manage: reported, and nothing else.
//!
//! Two programs that manage one link undo each other's changes. The node goes on all the same: its condition says so as
//! long as it is so, and an event when it begins, with the lines of configuration that hand the link over.

use netloom_api::condition::Observation;
use netloom_managers::Managed;

use crate::{Agent, condition::seen, kube_event::KubeEvent};

/// The condition that is there as long as another program manages a link of the desired state.
pub(crate) const CONDITION: &str = "OtherManager";

/// How many links are named with what to do; of the others it is reported how many there are.
const NAMED: usize = 3;

/// The condition, when there is something to say.
pub(crate) fn observation(managed: &[Managed]) -> Option<Observation> {
    (!managed.is_empty()).then(|| seen(CONDITION, true, "LinkManagedElsewhere", message(managed)))
}

fn message(managed: &[Managed]) -> String {
    let named: Vec<String> = managed.iter().take(NAMED).map(ToString::to_string).collect();
    let more = managed.len().saturating_sub(NAMED);
    let more = if more > 0 { format!("; and {more} more links") } else { String::new() };
    format!("{}{more}", named.join("; "))
}

impl Agent {
    /// Takes note of who manages links of the desired state, and tells people of those that nobody was notified of.
    pub(crate) fn found(&mut self, managed: Vec<Managed>) {
        let new: Vec<Managed> = managed.iter().filter(|one| !self.host_view.managed.contains(one)).cloned().collect();
        if !new.is_empty() {
            self.record_event(KubeEvent::new(CONDITION, message(&new)));
        }
        self.host_view.managed = managed;
    }
}

#[cfg(test)]
mod tests {
    use netloom_managers::Manager;

    use super::*;

    #[test]
    fn many_links_are_counted() {
        let managed: Vec<Managed> = (0..5)
            .map(|n| Managed { link: format!("eth{n}").parse().unwrap(), manager: Manager::Ifupdown, file: None })
            .collect();
        let text = message(&managed);
        assert!(text.starts_with("eth0 is managed by ifupdown") && text.ends_with("; and 2 more links"), "{text}");
        assert!(observation(&[]).is_none());
    }
}
