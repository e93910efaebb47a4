//! The binary `netloom`: reads the command line, runs one verb, turns its end into an exit status.

mod args;
#[cfg(feature = "cluster")]
mod arrival;
#[cfg(feature = "cluster")]
mod cluster;
mod commands;
#[cfg(feature = "agent")]
mod connection;
#[cfg(feature = "cluster")]
mod cuts;
mod desired_document;
mod explain;
mod facts;
mod failure;
#[cfg(feature = "cluster")]
mod farewell;
#[cfg(feature = "cluster")]
mod foreseen;
mod input;
#[cfg(feature = "agent")]
mod logging;
mod login;
#[cfg(feature = "cluster")]
mod manifests;
mod names;
mod output;
mod overview;
mod preview;
mod probes;
mod progress;
#[cfg(feature = "cluster")]
mod readiness;
mod reference;
mod resident;
mod session;
#[cfg(feature = "cluster")]
mod settings;
mod signals;
mod stopwatch;
mod text;
#[cfg(feature = "cluster")]
mod wanted;

use std::process::ExitCode;

use clap::Parser;

use args::{Args, StateArgs, StateVerb, Verb};
use failure::{Exit, Failure};
use session::Session;

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(message) => return usage(&message),
    };
    let exit = run(args).unwrap_or_else(|failure| {
        output::failure(&failure);
        failure.exit
    });
    ExitCode::from(exit as u8)
}

fn run(args: Args) -> Result<Exit, Failure> {
    let Args { verb } = args;
    match verb {
        Verb::State(args) => state(args),
        Verb::Version(args) => commands::version::run(&args),
        Verb::Gen(args) => commands::generate::run(&args),
        #[cfg(feature = "agent")]
        Verb::Node(verb) => node_verb(verb),
        #[cfg(feature = "cluster")]
        Verb::Cluster(verb) => cluster_verb(verb),
    }
}

#[cfg(feature = "agent")]
fn node_verb(verb: args::node::Verb) -> Result<Exit, Failure> {
    use args::node::Verb;
    match verb {
        Verb::Agent(args) => commands::agent::run(*args),
        Verb::Client(args) => commands::agent::client(args),
    }
}

#[cfg(feature = "cluster")]
fn cluster_verb(verb: args::cluster::Verb) -> Result<Exit, Failure> {
    use args::cluster::Verb;
    match verb {
        Verb::Validate(args) => commands::validate::run(&args),
        Verb::Compile(args) => commands::compile::run(&args),
        Verb::Plan(args) => commands::plan::run(&args),
        Verb::Explain(args) => commands::tap::run(&args),
        Verb::Get(args) => commands::get::run(&args),
        Verb::Apply(args) => commands::apply::run(&args),
        Verb::Delete(args) => commands::delete::run(&args),
        Verb::Rollout(args) => commands::rollout::run(&args),
        Verb::Controller(args) => commands::controller::run(args),
        Verb::Server(args) => commands::server::run(args),
        Verb::Up(args) => commands::up::run(args),
    }
}

fn state(args: StateArgs) -> Result<Exit, Failure> {
    let StateArgs { place, verb } = args;
    let session = &Session::new(place);
    match verb {
        StateVerb::Show(args) => commands::show::run(args, session),
        StateVerb::Set(args) => commands::set::run(args, session),
        StateVerb::Diff(args) => commands::diff::run(args, session),
        StateVerb::Revert(args) => commands::revert::run(&args, session),
        StateVerb::Format(args) => commands::format::run(&args),
        StateVerb::Commit(args) => commands::commit::run(&args, session),
        StateVerb::Rollback(args) => commands::rollback::run(&args, session),
        StateVerb::Watch(args) => commands::watch::run(&args, session),
        StateVerb::Explain(args) => commands::explain::run(&args, session),
        StateVerb::Guard(args) => commands::guard::run(&args, session),
    }
}

/// Help and version are what was asked for; everything else is wrong usage.
fn usage(message: &clap::Error) -> ExitCode {
    let printed = output::usage(message);
    let exit = if message.use_stderr() || printed.is_err() { Exit::Usage } else { Exit::Done };
    ExitCode::from(exit as u8)
}
