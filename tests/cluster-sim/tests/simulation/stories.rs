//! Every file under `scenarios/stops` is a story. Each is run once for every step and every trouble, and nothing of
//! that may make a difference in the end.

use std::{fs, path::Path};

use netloom_cluster_sim::{Story, Trouble};
use netloom_schema::decode::{Limits, yaml_documents};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/stops");

/// The story of a name.
pub(crate) fn story(name: &str) -> Story {
    let file = Path::new(FOLDER).join(format!("{name}.yaml"));
    let bytes = fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let documents = yaml_documents(&bytes, Limits::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
    Story::read(&documents[0].decoded.value).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// One trouble of each kind: a death, a picture that is behind, a word that nobody hears. A death before a step is one
/// after the step before with an answer heard more, and nobody serves old lists in earnest; so two stories are enough
/// for the rest of them.
const USUAL: [Trouble; 3] = [Trouble::DiesAfter, Trouble::FallsBehind, Trouble::Unheard];

fn ends_the_same(name: &str, least: usize, troubles: &[Trouble]) {
    let result = story(name).play(troubles, None, 1).unwrap_or_else(|finding| panic!("{name}: {finding}"));
    if let Some(finding) = result.findings.first() {
        panic!("{name}: {finding}");
    }
    assert!(result.steps >= least, "{name}: {} steps", result.steps);
    let both = result.by_controllers > 0 && result.by_controllers < result.steps;
    assert!(
        both || name == "distributed",
        "{name}: {} of {} steps by controllers",
        result.by_controllers,
        result.steps
    );
    assert_eq!(result.runs, result.steps * troubles.len(), "{name}");
}

macro_rules! stories {
    ($($test:ident: $name:literal, $least:literal, $troubles:expr;)*) => {
        const NAMED: &[&str] = &[$($name),*];
        $(
        #[test]
        fn $test() {
            ends_the_same($name, $least, &$troubles);
        }
        )*
    };
}

stories! {
    desired_states_that_nobody_can_have_come_between: "wishes", 50, Trouble::ALL;
    a_second_desired_state_comes_over_the_first: "hurry", 50, USUAL;
    a_policy_comes_changes_and_goes: "policy", 50, Trouble::ALL;
    agents_merge_policies_themselves: "distributed", 40, USUAL;
    neighbours_make_vlans_and_a_bond: "auto", 40, USUAL;
    a_node_fails_and_all_return: "node-fails", 50, USUAL;
    a_rollout_is_paused_and_goes_on: "pause", 40, USUAL;
    nodes_return_to_a_pinned_revision: "pin", 60, USUAL;
    a_node_leaves_a_policy_and_comes_back: "labels", 50, USUAL;
    a_network_state_is_deleted: "state-deleted", 50, USUAL;
    a_node_is_left_alone_for_a_while: "unmanaged", 50, USUAL;
    a_host_network_comes_changes_and_goes: "host-network", 80, USUAL;
}

#[test]
fn no_story_is_left_out() {
    let paths = fs::read_dir(FOLDER).expect("there are stories").map(|entry| entry.expect("a file").path());
    // Those of machines, in a folder of their own, are told by `netloom-machine`.
    let names = paths
        .filter(|path| path.is_file())
        .map(|path| path.file_stem().and_then(|name| name.to_str()).expect("a name").to_owned());
    let mut left: Vec<String> = names.filter(|name| !NAMED.contains(&name.as_str())).collect();
    left.sort();
    assert_eq!(left, [""; 0]);
}
