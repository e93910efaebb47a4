//! Mistakes that somebody could make, one for each trouble and each who can have it. Without them every story could end
//! the same because nobody looks.

use netloom_cluster_sim::{Bug, Trouble};

use crate::stories::story;

fn is_found(bug: Bug, trouble: Trouble, name: &str, by: &str) {
    let finding = match story(name).play(&[trouble], Some(bug), 1) {
        Ok(mut result) => {
            result.findings.pop().unwrap_or_else(|| panic!("{bug:?} with {trouble:?} is not found in {name}"))
        }
        Err(finding) => {
            panic!("{bug:?} is found where nothing goes wrong, which says nothing of {trouble:?}: {finding}")
        }
    };
    let what = finding.what().join("; ");
    assert!(what.contains(by), "{bug:?} with {trouble:?} in {name}: {what}");
}

macro_rules! mistakes {
    ($($test:ident: $bug:ident, $trouble:ident in $name:literal by $by:literal;)*) => {$(
        #[test]
        fn $test() {
            is_found(Bug::$bug, Trouble::$trouble, $name, $by);
        }
    )*};
}

mistakes! {
    a_controller_that_dies_before_the_second_half: LeavesHalfAPair, DiesBefore in "policy" by "Controller";
    a_controller_that_dies_after_the_first_half: LeavesHalfAPair, DiesAfter in "policy" by "Controller";
    an_agent_that_dies_and_has_no_disk: LosesItsDisk, DiesBefore in "state-deleted" by "Agent";
    an_agent_that_dies_in_a_change_and_leaves_it: ForgetsToRecover, DiesAfter in "policy" by "Agent";
    an_agent_that_dies_and_has_not_noted_what_it_tries: ForgetsWhatItTries, DiesAfter in "policy" by "was changed";
    one_who_believes_an_old_list: WatchesFromNow, DiesAndSeesThePast in "policy" by "";
    a_controller_that_is_behind_and_writes_over_others: WritesBlindly, FallsBehind in "hurry" by "Controller";
    an_agent_that_is_behind_and_says_everything_again: ForgetsItsOwnWrites, FallsBehind in "policy" by "requests instead of";
    an_agent_that_does_not_list_again: MissesEvents, Unheard in "policy" by "";
    a_controller_that_does_not_list_again: ControllerMissesEvents, Unheard in "policy" by "";
}
