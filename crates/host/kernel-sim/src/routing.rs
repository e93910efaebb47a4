//! What routing daemons are configured with. They take every line that is one; which they would refuse is theirs to say.

use netloom_model::{RoutingChange, StepError};

use crate::SimHost;

impl SimHost {
    /// Adds and removes lines, where there is a daemon that answers.
    pub(crate) fn change_routing(&mut self, change: &RoutingChange) -> Result<(), StepError> {
        let Some(lines) = &mut self.now.host.routing else {
            return Err(StepError::with(StepError::ENOENT, "no routing daemon answers on this host"));
        };
        let before: Vec<_> =
            change.add.iter().chain(&change.remove).map(|line| (line.clone(), lines.contains(line))).collect();
        *lines = change.applied_to(lines);
        for (line, was_there) in before {
            self.journal().routing.entry(line).or_insert(was_there);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use netloom_model::{RoutingLine, Step};

    use super::*;
    use crate::testing::yes;

    fn line(text: &str) -> RoutingLine {
        RoutingLine::new(["vrf blue"], text).unwrap()
    }

    #[test]
    fn lines_come_and_go_where_a_daemon_answers() {
        let change = RoutingChange { add: [line("vni 1")].into(), remove: [line("vni 2")].into() };
        let step = Step::ChangeRouting(change);
        let mut sim = SimHost::new();
        assert!(sim.apply(&step).is_err());
        let mut observed = sim.into_observed();
        observed.host.routing = Some([line("vni 2"), line("vni 3")].into());
        let mut sim = SimHost::from_observed(observed);
        assert_eq!(yes(&mut sim, &step).routing, [(line("vni 1"), false), (line("vni 2"), true)].into());
        assert_eq!(sim.observed().routing, Some([line("vni 1"), line("vni 3")].into()));
        assert!(yes(&mut sim, &step).routing.is_empty(), "nothing changes the second time");
    }
}
