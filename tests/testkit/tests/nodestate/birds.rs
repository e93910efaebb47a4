//! BIRD in a workload: a router of somebody else, which speaks BGP and BFD with the gateway of its segment.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use netloom_testkit::frr::Programs;
use nix::sys::signal::Signal;

use super::{site::Process, wires::space};

/// What it reports once its socket is there.
const STARTED: &str = "Started";

/// A running BIRD.
pub(super) struct Bird {
    programs: Programs,
    name: String,
    folder: PathBuf,
    running: Option<Process>,
}

impl Bird {
    /// Starts one in a workload with this configuration.
    pub(super) fn start(folder: &Path, name: &str, configuration: &str) -> Result<Self, String> {
        let programs = Programs::of_nodes().ok_or("this machine has no bird")?;
        let mut bird = Self { programs, name: name.to_owned(), folder: folder.to_owned(), running: None };
        let file = bird.file("conf");
        let text = format!("log stderr all;\n{configuration}");
        fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
        bird.run()?;
        Ok(bird)
    }

    /// Starts it again, with the same configuration.
    pub(super) fn run(&mut self) -> Result<(), String> {
        let mut command = Command::new("sh");
        // It reports on the other stream than the one that is read.
        command.args(["-c", "exec ip netns exec \"$@\" 2>&1", "bird", &space(&self.name)]);
        command.arg(self.programs.sbin().join("bird")).arg("-f");
        command.arg("-c").arg(self.file("conf")).arg("-s").arg(self.file("socket"));
        self.running = Some(Process::ready(&mut command, STARTED, &self.file("log"))?);
        Ok(())
    }

    /// Ends it at once, as a crash does.
    pub(super) fn kill(&mut self) -> Result<(), String> {
        let running = self.running.take().ok_or_else(|| format!("bird of {} does not run", self.name))?;
        running.end(Signal::SIGKILL).map(drop)
    }

    /// What it shows.
    pub(super) fn show(&self, words: &str) -> Result<String, String> {
        let mut command = Command::new(self.programs.sbin().join("birdc"));
        command.arg("-s").arg(self.file("socket")).args(words.split_whitespace());
        let done = command.output().map_err(|error| format!("birdc: {error}"))?;
        Ok(String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned())
    }

    fn file(&self, kind: &str) -> PathBuf {
        self.folder.join(format!("{}.bird.{kind}", self.name))
    }
}
