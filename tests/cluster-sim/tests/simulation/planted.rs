//! Mistakes that somebody could make: each is found within a few seeds, or the checks are worth nothing.

use netloom_cluster_sim::{Bug, Cluster, Finding, breezy, stormy};

type Run = fn(u64, Option<Bug>) -> Result<Cluster, Finding>;

fn is_found(bug: Bug, run: Run, by: &str) {
    let found = (0..60).find_map(|seed| run(seed, Some(bug)).err());
    let finding = found.unwrap_or_else(|| panic!("{bug:?} is not found"));
    let what = &finding.what()[0];
    assert!(what.contains(by), "{bug:?}, seed {}: {what}", finding.seed());
}

#[test]
fn an_agent_that_reports_before_it_has_verified_is_found() {
    is_found(Bug::ReportsEarly, stormy, "is reported and not in place");
}

#[test]
fn a_controller_that_forgets_who_is_in_flight_is_found() {
    is_found(Bug::ForgetsWhoIsInFlight, stormy, "are allowed");
}

#[test]
fn a_controller_that_writes_without_the_lease_is_found() {
    is_found(Bug::IgnoresTheLease, stormy, "has the lease");
}

#[test]
fn an_agent_that_does_not_list_again_is_found() {
    // A node has longer to answer than a breeze lasts, so nothing has failed by its end.
    is_found(Bug::MissesEvents, breezy, "is not reached");
}
