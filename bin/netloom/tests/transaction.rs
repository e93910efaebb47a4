//! Whole transactions through the built program, in a network namespace of their own that has only
//! `lo`: any Linux will do, without root where user namespaces are allowed. The stories are functions
//! of `transaction.bash`.

use std::{
    path::Path,
    process::{Command, Output},
};

/// Enters fresh namespaces: root in there, nobody outside, and no process outlives the story.
fn unshare() -> Command {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]);
    command
}

fn story(name: &str) -> Option<Output> {
    let possible = unshare().arg("true").output().is_ok_and(|output| output.status.success());
    if !possible {
        assert!(std::env::var_os("CI").is_none(), "unshare does not make namespaces here");
        return None;
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let work = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("transaction-{name}"));
    std::fs::remove_dir_all(&work).ok();
    std::fs::create_dir_all(&work).expect("a folder for the test");
    let output = unshare()
        .arg("bash")
        .arg(here.join("transaction.bash"))
        .arg(name)
        .env("NETLOOM", env!("CARGO_BIN_EXE_netloom"))
        .env("NETLOOM_STATE_DIR", work.join("state"))
        .env_remove("SSH_CONNECTION")
        .current_dir(&work)
        .output()
        .expect("unshare starts");
    Some(output)
}

macro_rules! stories {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            let Some(output) = story(stringify!($name)) else {
                println!("not run: unshare does not make namespaces here");
                return;
            };
            let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            assert!(output.status.success(), "{}\n{out}\n{err}", output.status);
        }
    )*};
}

stories! {
    a_document_is_set_once
    a_kernel_that_is_too_old_is_left_alone
    a_feature_that_was_carried_back_is_used
    an_open_change_is_committed
    an_open_change_is_rolled_back
    an_open_change_goes_back_by_itself
    an_open_change_bars_the_next_one
    a_waiting_change_is_confirmed_by_a_signal
    a_waiting_change_is_confirmed_from_elsewhere
    a_waiting_change_is_interrupted
    a_waiting_change_runs_out_of_time
    a_failed_probe_takes_the_change_back
    the_route_of_a_lease_comes_back_with_an_undo
    a_probe_that_failed_before_does_not_count
    a_killed_change_is_taken_back_by_the_next_command
    a_killed_change_whose_undo_does_not_help_is_not_called_verified
    an_undo_that_does_not_help_is_reported_as_data
    the_far_end_of_the_session_is_not_cut_off
    an_owner_that_wants_less_gives_the_rest_back
    an_explanation_names_the_line
    results_come_as_data
    a_repair_that_runs_out_of_time_is_no_success
    a_repair_is_confirmed_from_elsewhere
    a_yes_from_before_does_not_count
    a_change_killed_in_its_middle_is_taken_back_at_once
    a_change_killed_at_its_very_end_leaves_no_journal
    a_namespace_without_a_name_has_its_own_records
    a_named_namespace_is_the_same_from_within
    a_namespace_has_no_host_name
    a_feature_is_given_back
    what_could_not_be_undone_is_mentioned
    what_was_not_verified_is_not_called_so
}
