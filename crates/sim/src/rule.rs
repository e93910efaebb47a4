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
