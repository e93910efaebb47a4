//! The facts about protobuf that the API server is built with, against the types of Kubernetes.
//!
//! Both files are what the peer program prints; to renew them, write its words over them. The kinds
//! are those that the table itself names.

use std::{path::PathBuf, process::Command};

use netloom_testkit::runner::{Ended, Outcome};

use crate::Stage;

/// Objects of each kind among the samples.
const SAMPLES: &str = "4";

/// The table of messages is the one that Kubernetes has.
pub(crate) fn table(stage: &Stage) -> Outcome {
    let path = folder().join("messages.txt");
    let kept = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let kinds = kinds(&kept);
    let printed = print(stage, &[], &kinds)?;
    same(&kept, &printed, &path)?;
    Ok(Ended::Passed(Some(format!("{} kinds", kinds.len()))))
}

/// The samples that the server's own tests read are what Kubernetes writes.
pub(crate) fn samples(stage: &Stage) -> Outcome {
    let table = std::fs::read_to_string(folder().join("messages.txt")).map_err(|error| error.to_string())?;
    let path = folder().join("samples.gz");
    let kept = output(Command::new("gzip").arg("-dc").arg(&path))?;
    let printed = print(stage, &["--samples", SAMPLES], &kinds(&table))?;
    same(&kept, &printed, &path)?;
    Ok(Ended::Passed(Some(format!("{} objects", kept.lines().count()))))
}

fn folder() -> PathBuf {
    netloom_testkit::scenarios().join("../crates/server/apiserver/src/protobuf")
}

fn kinds(table: &str) -> Vec<&str> {
    table.lines().filter_map(|line| line.strip_prefix("kind ")?.split(' ').next()).collect()
}

fn print(stage: &Stage, options: &[&str], kinds: &[&str]) -> Result<String, String> {
    output(Command::new(stage.programs.peers.join("kube")).arg("wire").args(options).args(kinds))
}

fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    String::from_utf8(output.stdout).map_err(|error| error.to_string())
}

fn same(kept: &str, printed: &str, path: &std::path::Path) -> Result<(), String> {
    if kept == printed {
        return Ok(());
    }
    let differs = kept.lines().zip(printed.lines()).find(|(kept, printed)| kept != printed);
    let (kept, printed) = differs.unwrap_or(("the end", "the end"));
    Err(format!("{} is not current:\nit says        {kept}\nKubernetes says {printed}", path.display()))
}
