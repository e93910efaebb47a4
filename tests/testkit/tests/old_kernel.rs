//! Which kernels `./x test old-kernel` may run on: with `CI=true` the oldest that is supported and no other, because a
//! newer one keeps what the oldest does not and would hide what the tier is for.

use std::{path::Path, process::Command};

use netloom_model::KernelVersion;

/// What the function `old_kernels` of `./x` says.
fn kernels(ci: Option<&str>) -> Vec<String> {
    let mut bash = Command::new("bash");
    bash.args(["-euo", "pipefail", "-c"]);
    bash.arg("eval \"$(sed -n '/^OLD_KERNELS=/p; /^old_kernels()/,/^}/p' x)\"; old_kernels");
    bash.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).env_remove("CI");
    let output = bash.envs(ci.map(|value| ("CI", value))).output().expect("bash starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).split_whitespace().map(str::to_owned).collect()
}

#[test]
fn only_the_oldest_counts_in_continuous_integration() {
    let KernelVersion { major, minor } = KernelVersion::OLDEST;
    let oldest = format!("{major}.{minor}");
    assert_eq!(kernels(Some("true")).join(" "), oldest);
    let change_manually = kernels(None);
    assert!(change_manually.len() > 1 && change_manually[0] == oldest, "{change_manually:?}");
}
