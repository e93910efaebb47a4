//! The cluster tier: Netloom's API server beside the real one, with the clients that people use.
//!
//! `./x test cluster` builds what it needs and runs it. Words in the arguments pick tests by name.
//! `--only real` or `--only ours` plays the scripts against one server and prints its answers, which
//! is how a new script is looked at. `--seed N` repeats a run of the random requests. `--stories` plays those
//! about nodes of a cluster instead, which need a kernel that has every device kind.

mod control;
mod informer;
mod judge;
mod keys;
mod kubectl;
mod library;
mod manifests;
mod messages;
#[path = "../nodestate/mod.rs"]
mod nodestate;
mod normal;
mod own_kinds;
mod perform;
mod random;
mod real;
mod rights;
mod script;
mod servers;
mod stolen;
mod webhook;
mod wire;

use std::{
    collections::BTreeMap,
    io::{Write as _, stdout},
    path::PathBuf,
    process::ExitCode,
};

use netloom_testkit::runner::{self, Arguments, Ended, Outcome, Test};
use serde_json::Value;

use crate::{
    judge::Allowed,
    nodestate::Theatre,
    perform::Performer,
    real::Real,
    script::Step,
    servers::{Programs, Server, Side},
};

/// What every test of the tier has at hand.
pub(crate) struct Stage {
    pub(crate) runtime: tokio::runtime::Runtime,
    pub(crate) programs: Programs,
    pub(crate) servers: BTreeMap<Side, Server>,
    pub(crate) folder: PathBuf,
    pub(crate) allowed: Allowed,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let only = option(&words, "--only");
    let programs = match Programs::find() {
        Ok(programs) => programs,
        // It needs more than cargo builds. What did not run has not passed.
        Err(why) => return cannot_run(&format!("{why} (./x test cluster sets it)")),
    };
    if words.iter().any(|word| word == "--stories") {
        return stories(&programs, &words);
    }
    match Stage::open(programs, only.as_deref()) {
        Ok(stage) => {
            let mut tests = clients_tests(&stage);
            if only.is_some() {
                stage.print_answers(&words);
            } else {
                tests.extend(comparing_tests(&stage, &seeds(&words), words.is_empty()));
            }
            runner::run(tests, &Arguments::parse(filters(&words)), &mut stdout())
        }
        Err(why) => cannot_run(&why),
    }
}

/// Stories about nodes of a cluster, with the real server alone.
fn stories(programs: &Programs, words: &[String]) -> ExitCode {
    let ground = Real { programs };
    let folder = std::env::temp_dir().join(format!("netloom-stories-{}", std::process::id()));
    let theatre = Theatre::new(programs.netloom.clone(), folder, &ground);
    runner::run(theatre.tests(), &Arguments::parse(filters(words)), &mut stdout())
}

fn cannot_run(why: &str) -> ExitCode {
    say(&format!("the cluster tier cannot run here: {why}"));
    ExitCode::from(2)
}

/// The value of an option.
fn option(words: &[String], name: &str) -> Option<String> {
    let place = words.iter().position(|word| word == name)?;
    words.get(place + 1).cloned()
}

/// The words that are neither options nor their values.
fn filters(words: &[String]) -> impl Iterator<Item = String> {
    let mut skip = false;
    words
        .iter()
        .filter(move |word| !std::mem::replace(&mut skip, matches!(word.as_str(), "--only" | "--seed")))
        .cloned()
}

/// What real clients must find with each server, one at a time.
fn clients_tests(stage: &Stage) -> Vec<Test<'_>> {
    let mut tests = Vec::new();
    for (name, story) in library::STORIES {
        tests.push(Test::new(format!("library/{name}"), || library::tell(stage, name, *story)));
    }
    for (client, resource) in informer::WATCHES {
        tests.push(Test::new(format!("informer/{client}"), || informer::watch(stage, client, resource)));
    }
    tests.push(Test::new("manifests/definitions", || manifests::definitions(stage)));
    tests.push(Test::new("manifests/rights", || manifests::rights(stage)));
    tests.push(Test::new("manifests/examples", || manifests::examples(stage)));
    tests.push(Test::new("webhook/rules", || webhook::rules(stage)));
    tests.push(Test::new("control/rollout", || control::rollout(stage)));
    tests.push(Test::new("protobuf/table", || messages::table(stage)));
    tests.push(Test::new("protobuf/samples", || messages::samples(stage)));
    tests.push(Test::new("stolen/changes-nothing", || stolen::changes_nothing(stage)));
    tests.push(Test::new("stolen/own-is-allowed", || stolen::own_is_allowed(stage)));
    tests.push(Test::new("stolen/own-is-reported-only", || stolen::own_is_reported_only(stage)));
    tests.push(Test::new("stolen/leases-are-renewed-by-their-agents", || stolen::only_own_is_renewed(stage)));
    tests.push(Test::new("stolen/nodes-lose-only-taints", || stolen::only_taints_go(stage)));
    tests.push(Test::new("rights/controller", || rights::controller(stage)));
    tests.push(Test::new("rights/agents", || rights::agents(stage)));
    tests
}

/// What is the same with both servers.
fn comparing_tests<'a>(stage: &'a Stage, seeds: &[u64], all: bool) -> Vec<Test<'a>> {
    let mut tests = Vec::new();
    for seed in seeds.iter().copied() {
        let name = format!("random-{seed}");
        tests.push(Test::new(format!("api/{name}"), move || stage.compare(&name, &random_steps(seed)?)));
    }
    // Every definition is made for it, which takes the servers a while: one seed is enough for a run.
    if let Some(seed) = seeds.first().copied() {
        let name = format!("own-kinds-{seed}");
        tests.push(Test::new(format!("api/{name}"), move || stage.compare(&name, &own_kinds::steps(seed)?)));
    }
    for (name, steps) in scripts() {
        tests.push(match steps {
            Ok(steps) => Test::new(format!("api/{name}"), move || stage.compare(&name, &steps)),
            Err(why) => Test::new(format!("api/{name}"), move || Err(why.clone())),
        });
    }
    let clients = kubectl::clients(&stage.programs.peers);
    for (name, file) in kubectl::stories() {
        for client in clients.clone() {
            let (story, file) = (name.clone(), file.clone());
            let test = format!("kubectl-{}/{name}", client.minor);
            tests.push(Test::new(test, move || kubectl::compare(stage, &story, &file, &client)));
        }
    }
    tests.push(Test::new("kubectl/two-minors", move || match &clients[..] {
        [newest, older] if newest.minor != older.minor => Ok(Ended::OK),
        clients => Err(format!("the stories were not run by two minors: {clients:?}")),
    }));
    // With some of the scripts nobody knows what the others need.
    if all {
        tests.push(Test::new("no-entry-is-unused", || match stage.allowed.unused()[..] {
            [] => Ok(Ended::OK),
            ref unused => Err(format!("allowed differences that are not there:\n{}", unused.join("\n"))),
        }));
    }
    tests
}

/// The seeds of the random requests: always the same ones, another with `--seed N`.
fn seeds(words: &[String]) -> Vec<u64> {
    option(words, "--seed").and_then(|seed| seed.parse().ok()).map_or_else(|| (1..=4).collect(), |seed| vec![seed])
}

/// Random requests for the namespace and the kind of the script about defined kinds.
fn random_steps(seed: u64) -> Result<Vec<Step>, String> {
    let (_, custom) =
        scripts().into_iter().find(|(name, _)| name == "11-custom").ok_or("the script 11-custom is gone")?;
    let scene: Vec<Step> = custom?.into_iter().take_while(|step| step.title != "what is listed of it").collect();
    Ok(random::steps(seed, &scene))
}

/// All scripts by name.
fn scripts() -> Vec<(String, Result<Vec<Step>, String>)> {
    let folder = netloom_testkit::scenarios().join("api");
    let mut scripts: Vec<_> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "http"))
        .map(|path| {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).map_err(|error| error.to_string());
            (name, text.and_then(|text| script::parse(&text)))
        })
        .collect();
    scripts.sort_by(|(left, _), (right, _)| left.cmp(right));
    scripts
}

impl Stage {
    fn open(programs: Programs, only: Option<&str>) -> Result<Self, String> {
        let folder = std::env::temp_dir().join(format!("netloom-cluster-{}", std::process::id()));
        let mut servers = BTreeMap::new();
        for side in Side::ALL.into_iter().filter(|side| only.is_none_or(|only| only == side.name())) {
            servers.insert(side, Server::start(side, &programs, &folder.join(side.name()))?);
        }
        let allowed = Allowed::load(&netloom_testkit::scenarios().join("api/allowed.yaml"))?;
        let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
        Ok(Self { runtime, programs, servers, folder, allowed })
    }

    /// Plays a script against one server. Every script has a namespace name of its own.
    async fn play(&self, side: Side, name: &str, steps: &[Step]) -> Vec<Value> {
        let saved = BTreeMap::from([
            ("ns".to_owned(), format!("script-{name}")),
            ("group".to_owned(), format!("script-{name}.example.dev")),
        ]);
        let mut performer = Performer::new(&self.servers[&side].wire, saved);
        performer.run(steps).await
    }

    fn compare(&self, name: &str, steps: &[Step]) -> Outcome {
        let (mut real, mut ours) = self.play_both(name, steps);
        // The controllers of the real server lose a wake-up now and then, and look again only minutes later.
        if let Some(late) = judge::only_real_was_late(steps, &real, &ours) {
            say(&format!("the real server never got to \"{late}\"; the script is played once more"));
            (real, ours) = self.play_both(&format!("{name}-again"), steps);
        }
        let reports = judge::report(name, steps, &real, &ours, &self.allowed);
        judge::outcome(&self.differences(), &format!("api/{name}"), steps.len(), &reports)
    }

    fn play_both(&self, name: &str, steps: &[Step]) -> (Vec<Value>, Vec<Value>) {
        let play = async |side| self.play(side, name, steps).await;
        self.runtime.block_on(async { tokio::join!(play(Side::Real), play(Side::Ours)) })
    }

    /// The folder with the differences that were found.
    pub(crate) fn differences(&self) -> PathBuf {
        self.folder.join("differences")
    }

    /// `--only`: every request of the scripts asked for, with its answer.
    fn print_answers(&self, words: &[String]) {
        let wanted: Vec<String> = filters(words).filter(|word| !word.starts_with("--")).collect();
        for (name, steps) in
            scripts().into_iter().filter(|(name, _)| wanted.is_empty() || wanted.iter().any(|word| name.contains(word)))
        {
            match steps {
                Err(why) => say(&format!("{name}: {why}")),
                Ok(steps) => {
                    for side in self.servers.keys() {
                        for (step, answer) in steps.iter().zip(self.runtime.block_on(self.play(*side, &name, &steps))) {
                            say(&format!("### {name}: {}\n{} {}\n{answer:#}\n", step.title, step.method, step.target));
                        }
                    }
                }
            }
        }
        for (name, file) in
            kubectl::stories().into_iter().filter(|(name, _)| wanted.iter().any(|word| name.contains(word)))
        {
            for client in kubectl::clients(&self.programs.peers) {
                for server in self.servers.values() {
                    let reported = kubectl::tell(server, &name, &file, &client).unwrap_or_else(|why| why);
                    say(&format!("### kubectl {} {name}\n{reported}", client.minor));
                }
            }
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.servers.clear();
        // Kept when a test asks a person to look into it; the log says why a server misbehaved.
        if std::env::var_os("NETLOOM_KEEP").is_none() {
            std::fs::remove_dir_all(&self.folder).ok();
        }
    }
}

pub(crate) fn say(text: &str) {
    // Nobody to tell is nobody to tell.
    writeln!(stdout(), "{text}").ok();
}
