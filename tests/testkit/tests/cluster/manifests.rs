//! What is shipped for real clusters, given to both servers: definitions, rights, and every example.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use netloom_testkit::runner::{Ended, Outcome};

use crate::{Stage, servers::Server};

/// The definitions are accepted and established.
pub(crate) fn definitions(stage: &Stage) -> Outcome {
    let files = definition_files()?;
    for (side, server) in &stage.servers {
        let run = |words: &[&str]| {
            kubectl(stage, server, words).map_err(|why| format!("with the {} server: {why}", side.name()))
        };
        for file in &files {
            run(&["apply", "--server-side", "--force-conflicts", "-f", &file.to_string_lossy()])?;
        }
        for condition in ["--for=condition=Established", "--for=condition=NamesAccepted"] {
            let files = files.iter().flat_map(|file| ["-f".to_owned(), file.to_string_lossy().into_owned()]);
            let files: Vec<String> = files.collect();
            let words = ["wait", condition, "--timeout=60s"].into_iter().chain(files.iter().map(String::as_str));
            run(&words.collect::<Vec<_>>())?;
        }
    }
    Ok(Ended::Passed(Some(format!("{} definitions", files.len()))))
}

/// Roles, accounts and the restriction of agents are accepted by the real server.
pub(crate) fn rights(stage: &Stage) -> Outcome {
    for (side, server) in &stage.servers {
        let mut files = vec![root().join("deploy/rbac.yaml"), root().join("deploy/vms/rbac.yaml")];
        if *side == crate::servers::Side::Real {
            files.push(root().join("deploy/node-restriction.yaml"));
            files.push(root().join("deploy/vms/node-restriction.yaml"));
        }
        for file in files {
            let words = ["apply", "--server-side", "--force-conflicts", "-f", &file.to_string_lossy()];
            kubectl(stage, server, &words).map_err(|why| format!("with the {} server: {why}", side.name()))?;
        }
    }
    Ok(Ended::OK)
}

/// Every example is accepted, strictly and without a warning.
pub(crate) fn examples(stage: &Stage) -> Outcome {
    let files = yaml_files(&root().join("examples/objects"))?;
    let mut wrong = Vec::new();
    for (side, server) in &stage.servers {
        for file in &files {
            let shown = file.strip_prefix(root()).unwrap_or(file).display();
            let words = ["apply", "--server-side", "--validate=strict", "-f", &file.to_string_lossy()];
            match kubectl(stage, server, &words) {
                Ok(printed) if printed.lines().any(is_warned_of) => {
                    wrong.push(format!("{} {shown}: {printed}", side.name()));
                }
                Ok(_) => {}
                Err(why) => wrong.push(format!("{} {shown}: {why}", side.name())),
            }
        }
    }
    if wrong.is_empty() { Ok(Ended::Passed(Some(format!("{} files", files.len())))) } else { Err(wrong.join("\n")) }
}

/// Whether a line of kubectl warns of more than that a kind waits for its front end.
fn is_warned_of(line: &str) -> bool {
    line.contains("Warning:") && !line.contains("no front end of this version serves")
}

/// Runs the newest kubectl and gives back what it reported; a failure is an error.
pub(crate) fn kubectl(stage: &Stage, server: &Server, words: &[&str]) -> Result<String, String> {
    let output = Command::new(stage.programs.peers.join("kubectl"))
        .args(words)
        .env("KUBECONFIG", &server.kubeconfig)
        .env("KUBECACHEDIR", server.folder.join("discovery"))
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("kubectl: {error}"))?;
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed).into_owned();
    if output.status.success() { Ok(printed) } else { Err(format!("kubectl {}: {printed}", words.join(" "))) }
}

/// The definitions of all kinds, those for clusters that are asked to have them included.
pub(crate) fn definition_files() -> Result<Vec<PathBuf>, String> {
    let mut files = yaml_files(&root().join("deploy/crds"))?;
    let is_definition = |file: &PathBuf| file.file_name().is_some_and(|name| name.to_string_lossy().contains('_'));
    files.extend(yaml_files(&root().join("deploy/vms"))?.into_iter().filter(is_definition));
    Ok(files)
}

/// All YAML files below a folder, in order; an empty folder is a mistake.
pub(crate) fn yaml_files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|end| end == "yaml") {
                files.push(path);
            }
        }
    }
    files.sort();
    if files.is_empty() { Err(format!("no manifests in {}", folder.display())) } else { Ok(files) }
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
