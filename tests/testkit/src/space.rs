//! A real kernel, in a network namespace of the test's own.
//!
//! The namespace is gone when the guard is, whatever became of the test; cards that were lent to it
//! are given back before. No thread of the test itself enters a namespace: the engine does that on a
//! thread of its own.

use std::{
    path::Path,
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use netloom_local_host::LocalHost;
use netloom_model::{Engine, EngineError, Observed, Scope, Step, StepError};
use netloom_netlink::{Namespace, Options, netns};

use crate::play::{Stage, StateFolder};

/// How the names of cards that tests may take begin; a machine's own cards are called otherwise.
const CARD: &str = "vec";

/// A network namespace of a test.
#[derive(Debug)]
pub struct Space {
    name: String,
    /// What stands for `/` there.
    root: StateFolder,
    /// Cards that are lent to it: the name there, and the name at home.
    cards: Vec<(String, String)>,
}

impl Space {
    /// Makes an empty namespace.
    pub fn new() -> Result<Self, String> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("netloom-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        netns::create(&name).map_err(|error| error.to_string())?;
        Ok(Self { name, root: StateFolder::new(), cards: Vec::new() })
    }

    /// Its name, as `ip netns` knows it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The engine's options for it.
    pub fn options(&self) -> Options {
        options(&self.name)
    }

    /// The host in it.
    pub fn stage(&self) -> Result<KernelStage, String> {
        KernelStage::open(self.options(), self.root())
    }

    /// The folder that stands for `/`.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// Brings cards in and gives them these names; says so when there are not enough.
    pub fn lend_cards(&mut self, names: &[String]) -> Result<(), String> {
        let mut free = free_cards()?.into_iter();
        for name in names {
            let home = free.next().ok_or_else(|| format!("it needs {} cards called {CARD}N", names.len()))?;
            ip(&["link", "set", &home, "down"])?;
            ip(&["link", "set", &home, "netns", &self.name, "name", name])?;
            self.cards.push((name.clone(), home));
        }
        Ok(())
    }

    fn give_back(&self, name: &str, home: &str) -> Result<(), String> {
        let at = ["-n", &self.name, "link", "set", name];
        let with = |rest: &[&str]| ip(&[&at, rest].concat());
        with(&["nomaster"])?;
        with(&["down", "mtu", "1500", "alias", ""])?;
        with(&["netns", "1", "name", home])
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        for (name, home) in &self.cards {
            // A card that cannot be given back is missed by the next test that needs one.
            self.give_back(name, home).ok();
        }
        netns::delete(&self.name).ok();
    }
}

/// The engine's options for a namespace of a test.
pub fn options(name: &str) -> Options {
    Options::of(Namespace::Named(name.to_owned()))
}

/// A real host, with its writes counted.
#[derive(Debug)]
pub struct KernelStage {
    /// The engine.
    pub host: LocalHost,
    steps: u64,
}

impl KernelStage {
    /// Opens the host in a namespace, with its files below `root`.
    pub fn open(options: Options, root: &Path) -> Result<Self, String> {
        let host = netloom_local_host::open(options, root, None).map_err(|error| error.to_string())?;
        Ok(Self { host, steps: 0 })
    }
}

impl Engine for KernelStage {
    fn observe(&mut self, scope: Scope) -> Result<Observed, EngineError> {
        self.host.observe(scope)
    }

    fn execute(&mut self, steps: &[Step]) -> Result<Vec<Result<(), StepError>>, EngineError> {
        self.steps += steps.len() as u64;
        self.host.execute(steps)
    }

    fn wait_for_change(&mut self, at_most: Duration) -> Result<bool, EngineError> {
        self.host.wait_for_change(at_most)
    }
}

impl Stage for KernelStage {
    /// Steps, and messages that ask for a change: a step that writes a file is no message, and a
    /// message that no step asked for must not be.
    fn writes(&self) -> u64 {
        self.steps + self.host.kernel.counters().map_or(0, |counters| counters.writes)
    }
}

fn free_cards() -> Result<Vec<String>, String> {
    let entries = std::fs::read_dir("/sys/class/net").map_err(|error| format!("/sys/class/net: {error}"))?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name.starts_with(CARD)).collect();
    names.sort();
    Ok(names)
}

/// Runs `ip`, for what no step does: moving and renaming cards.
pub fn ip(words: &[&str]) -> Result<(), String> {
    let done = Command::new("ip").args(words).output().map_err(|error| format!("ip: {error}"))?;
    if done.status.success() {
        return Ok(());
    }
    Err(format!("ip {}: {}", words.join(" "), String::from_utf8_lossy(&done.stderr).trim()))
}
