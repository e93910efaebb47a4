//! When the host is looked at, and what was seen last.

use std::collections::BTreeSet;

use jiff::Timestamp;
use netloom_managers::Managed;
use netloom_model::Observed;
use netloom_types::IfName;

use crate::{
    Heard, HostChange, Settings,
    backoff::{later, spread},
    bystanders::Bystanders,
    pace::Pace,
    report::{self, ReportText},
};

/// What is known of the host.
#[derive(Debug, Clone, Default)]
pub(crate) struct HostView {
    /// The last report.
    pub(crate) current: Option<ReportText>,
    /// How often that is reported when nothing but the host is the reason.
    pub(crate) pace: Pace,
    /// Why there is none newer.
    pub(crate) blind: Option<String>,
    /// Whether the host must be read before anything is reported of it.
    pub(crate) must: bool,
    /// The first and the last change of the host that was not looked at.
    dirty: Option<(Timestamp, Timestamp)>,
    /// Links that nobody asked for.
    bystanders: Bystanders,
    poll_at: Option<Timestamp>,
    polls: u64,
    /// The links of the desired state that other programs manage.
    pub(crate) managed: Vec<Managed>,
}

impl HostView {
    /// Nothing was seen yet.
    pub(crate) fn new() -> Self {
        Self { must: true, ..Self::default() }
    }

    /// The host has changed.
    pub(crate) fn changed(&mut self, now: Timestamp, change: &HostChange) {
        if self.bystanders.are_all_of(change) {
            return self.bystanders.changed(now);
        }
        self.dirty = Some((self.dirty.map_or(now, |(first, _)| first), now));
    }

    /// When the host is to be read.
    pub(crate) fn due(&self, settings: &Settings) -> Option<Timestamp> {
        if self.must {
            return Some(Timestamp::MIN);
        }
        let dirty = self.dirty.map(|(first, last)| later(last, settings.quiet).min(later(first, settings.longest)));
        [dirty, self.bystanders.due(settings), self.poll_at].into_iter().flatten().min()
    }

    /// The host is being read: what changes from now on is another look's.
    pub(crate) fn begin(&mut self, now: Timestamp, settings: &Settings) {
        let polled = self.poll_at.is_some_and(|at| at <= now);
        let (dirty, must) = (self.dirty.take(), std::mem::take(&mut self.must));
        self.bystanders.begin(now, dirty.is_none() && !must && !polled, settings);
    }

    /// The host was read.
    pub(crate) fn ended(
        &mut self,
        now: Timestamp,
        result: Result<&Observed, &str>,
        (named, heard): (BTreeSet<IfName>, &Heard),
        settings: &Settings,
    ) {
        self.polls += 1;
        let daemons = matches!(result, Ok(observed) if observed.host.routing.is_some());
        let every = if daemons { settings.poll.min(settings.poll_daemons) } else { settings.poll };
        self.poll_at = Some(later(now, spread(every, settings.seed, self.polls)));
        match result {
            Err(why) => self.blind = Some(why.to_owned()),
            Ok(observed) => {
                self.blind = None;
                self.bystanders.saw(observed, &named);
                let current = Some(ReportText::of(&report::current_state(observed, heard, named)));
                if current != self.current {
                    self.pace.changed(now);
                }
                self.current = current;
            }
        }
    }
}
