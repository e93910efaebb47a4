//! Policy rules. A rule may name links that do not exist, so links never take rules with them.

use netloom_model::{Rule, RuleAction, StepError};

use crate::{
    SimHost,
    errno::{Done, refuse, refuse_plainly},
};

impl SimHost {
    pub(crate) fn add_rule(&mut self, rule: &Rule) -> Done {
        if let RuleAction::Goto(to) = rule.key.action
            && to <= rule.key.priority
        {
            return refuse(StepError::EINVAL, "Backward goto not supported");
        }
        if self.now.host.rules.contains_key(&rule.key) {
            return refuse_plainly(StepError::EEXIST);
        }
        self.note_rule(rule.key, None);
        self.now.host.rules.insert(rule.key, rule.protocol);
        Ok(())
    }

    pub(crate) fn remove_rule(&mut self, rule: &Rule) -> Done {
        let Some(before) = self.now.host.rules.remove(&rule.key) else {
            return refuse_plainly(StepError::ENOENT);
        };
        self.note_rule(rule.key, Some(before));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use netloom_model::{RuleKey, Step};
    use netloom_types::{Family, Protocol, RouteTable};

    use super::*;
    use crate::testing::{no, yes};

    #[test]
    fn a_rule_is_there_once_and_jumps_forward() {
        let mut sim = SimHost::new();
        let rule =
            |priority, action| Rule { key: RuleKey::new(Family::Ipv4, priority, action), protocol: Protocol::NETLOOM };
        let main = rule(100, RuleAction::Table(RouteTable::MAIN));
        let changed = yes(&mut sim, &Step::AddRule(main));
        assert_eq!(changed.rules[&main.key], None);
        assert_eq!(no(&mut sim, &Step::AddRule(main)), StepError::EEXIST);
        assert_eq!(no(&mut sim, &Step::AddRule(rule(100, RuleAction::Goto(99)))), StepError::EINVAL);
        yes(&mut sim, &Step::AddRule(rule(100, RuleAction::Goto(500))));
        let changed = yes(&mut sim, &Step::RemoveRule(main));
        assert_eq!(changed.rules[&main.key], Some(Protocol::NETLOOM));
        assert_eq!(no(&mut sim, &Step::RemoveRule(main)), StepError::ENOENT);
    }
}
