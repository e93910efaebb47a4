//! Something goes wrong for whoever takes a step: at every write that reaches the server and at everything that is
//! done to a host, one run for each, and one in which nothing does. In the end all must be as in that one.

use netloom_simulation::{Bug, Cluster, Finding, Micros, Misfortune, SECOND, Setup, Stop, Trouble, Wanted};
use serde_json::json;

/// Long enough for a wish, and for a lease that nobody gave back.
const CHAPTER: Micros = 40 * SECOND;

const WISHES: [Wanted; 4] = [Wanted::Mtu(1501), Wanted::Refused(1), Wanted::CutsPath(1300), Wanted::Mtu(1444)];

/// A good wish, one that no card takes, one that costs the way to the API, and a good one again.
fn story(stop: Option<Stop>, bug: Option<Bug>) -> Cluster {
    let rollout = Some(json!({"canary": {"soakSeconds": 2}}));
    let mut cluster = Cluster::new(Setup { stop, bug, rollout, ..Setup::of(11, 2) });
    for (number, wanted) in (1..).zip(WISHES) {
        let at = number * CHAPTER;
        cluster.strike(at, Misfortune::Policy(wanted));
        cluster.run_until(at + CHAPTER - 1);
    }
    cluster
}

/// The first step at which the trouble makes a difference in the end, and how many there are.
fn difference(trouble: Trouble, bug: Option<Bug>) -> (Option<Finding>, usize) {
    let whole = story(None, bug);
    assert_eq!(whole.violations(), [""; 0]);
    assert!(whole.missing(WISHES[3]).is_empty(), "{:?}", whole.missing(WISHES[3]));
    assert_eq!(whole.bad_reached(), [1, 1], "each bad wish was tried on one node");
    let wanted = whole.ending();
    let differs = |step| {
        let cluster = story(Some(Stop { step, trouble }), bug);
        let mut what = cluster.violations().to_vec();
        if cluster.ending() != wanted {
            what.push(format!("it ends with {:#}\ninstead of {wanted:#}", cluster.ending()));
        }
        if cluster.bad_reached().iter().any(|nodes| *nodes != 1) {
            what.push(format!("bad wishes reached so many nodes: {:?}", cluster.bad_reached()));
        }
        what.push(format!("{trouble:?} at step {step}"));
        (what.len() > 1).then(|| Finding::of(&cluster, 11, what))
    };
    ((0..whole.steps).find_map(differs), whole.steps)
}

fn ends_the_same(trouble: Trouble) {
    let (difference, steps) = difference(trouble, None);
    assert!(steps > 150, "{steps} steps");
    if let Some(finding) = difference {
        panic!("{finding}");
    }
}

#[test]
fn a_death_before_any_step_changes_nothing_in_the_end() {
    ends_the_same(Trouble::DiesBefore);
}

#[test]
fn a_death_after_any_step_changes_nothing_in_the_end() {
    ends_the_same(Trouble::DiesAfter);
}

#[test]
fn a_death_after_which_old_lists_are_served_changes_nothing_in_the_end() {
    ends_the_same(Trouble::DiesAndSeesThePast);
}

#[test]
fn one_who_falls_behind_at_any_step_changes_nothing_in_the_end() {
    ends_the_same(Trouble::FallsBehind);
}

#[test]
fn any_step_that_nobody_hears_of_changes_nothing_in_the_end() {
    ends_the_same(Trouble::Unheard);
}

/// Without such mistakes every test above could pass because it sees nothing.
fn makes_a_difference(bug: Bug, trouble: Trouble) {
    assert!(difference(trouble, Some(bug)).0.is_some(), "{bug:?} with {trouble:?} is not found");
}

#[test]
fn one_who_forgets_to_recover_makes_a_difference() {
    makes_a_difference(Bug::ForgetsToRecover, Trouble::DiesAfter);
}

#[test]
fn one_who_believes_old_lists_makes_a_difference() {
    makes_a_difference(Bug::WatchesFromNow, Trouble::DiesAndSeesThePast);
}

#[test]
fn one_who_does_not_list_anew_makes_a_difference() {
    makes_a_difference(Bug::MissesEvents, Trouble::Unheard);
}
