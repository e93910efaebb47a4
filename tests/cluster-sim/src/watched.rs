//! How a node watches a change before it keeps it: the very decisions of an agent, in the time of the simulation.
//!
//! All cards of a node are one piece of hardware: while a change resets it, none of them has carrier and nothing is
//! reached.

use std::time::Duration;

use netloom_probing::{Course, Ending, Next, ProbeResult, ProbeTiming};

use crate::{
    Cluster, Micros,
    host::{Begun, Resume},
};

const GATEWAY: &str = "gateway";
const API: &str = "api";

/// How far the verdict about a change is.
pub(crate) enum Watched {
    /// It has fallen.
    Over(Ending),
    /// It is asked for again then.
    Until(Micros),
}

impl Cluster {
    /// Goes on with a change that was carried out, until its verdict or the next wait.
    pub(crate) fn watch_change(&mut self, number: usize, begun: &mut Begun, timing: ProbeTiming) -> Watched {
        if !begun.changed || !begun.reached {
            return Watched::Over(Ending::Passed);
        }
        let now = Duration::from_micros(self.now);
        let (mut course, mut next) = match begun.way.take() {
            None => {
                let names = [GATEWAY, API].map(str::to_owned).to_vec();
                let mut course = Course::new(timing, names, !begun.touched.is_empty(), now);
                let next = course.begin(now);
                (course, next)
            }
            Some((course, Resume::Look)) => (course, Next::Look),
            Some((mut course, Resume::Probe)) => {
                let next = course.waited(now);
                (course, next)
            }
        };
        loop {
            next = match next {
                Next::Look => {
                    let node = &self.nodes[number];
                    let dark = self.now < node.dark_until;
                    course.looked(now, if dark { node.host.missing(&begun.touched) } else { Vec::new() })
                }
                Next::Run { names, limit: _ } => {
                    let verdicts = names.iter().map(|name| self.probed(number, name)).collect();
                    course.answered(now, verdicts)
                }
                Next::Carrier { missing: _, until } => {
                    begun.way = Some((course, Resume::Look));
                    // The kernel tells when there is carrier.
                    return Watched::Until(micros(until).min(self.nodes[number].dark_until));
                }
                Next::Pause { until, .. } => {
                    begun.way = Some((course, Resume::Probe));
                    return Watched::Until(micros(until));
                }
                Next::End(ending) => return Watched::Over(ending),
            };
        }
    }

    fn probed(&self, number: usize, name: &str) -> ProbeResult {
        let node = &self.nodes[number];
        let lost = self.now < node.dark_until || !node.host.has_path();
        if lost {
            ProbeResult::Failed("no answer in time".to_owned())
        } else if name == GATEWAY {
            ProbeResult::Passed
        } else if self.now < self.away_until {
            ProbeResult::Refused("connection refused".to_owned())
        } else if node.shell.is_cut(self.now) {
            ProbeResult::Failed("no answer in time".to_owned())
        } else {
            ProbeResult::Passed
        }
    }
}

fn micros(time: Duration) -> Micros {
    Micros::try_from(time.as_micros()).unwrap_or(Micros::MAX)
}
