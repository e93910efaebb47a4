//! The command line, as types: what can be asked, and nothing of how it is done.
//!
//! Help texts, man pages, completions and the reference under `docs/` are all made from here, so
//! this module depends on no other one. A `run` function takes its struct apart in full, so an
//! option that nobody reads does not compile.

#[cfg(feature = "cluster")]
pub(crate) mod cluster;
#[cfg(feature = "agent")]
pub(crate) mod node;

use std::{net::IpAddr, path::PathBuf};

#[cfg(feature = "agent")]
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args as ArgGroup, Parser, Subcommand, ValueEnum, ValueHint};
use netloom_probing::Wait;

/// Where what must outlive a process is kept, unless somebody says otherwise.
pub(crate) const STATE_DIR: &str = "/var/lib/netloom";
/// The environment variable that says otherwise.
pub(crate) const STATE_DIR_VARIABLE: &str = "NETLOOM_STATE_DIR";

/// The variable that says where other network managers leave their run-time files.
pub(crate) const RUN_DIR_VARIABLE: &str = "NETLOOM_RUN_DIR";

const EXIT_CODES: &str = "\
Exit status:
  0  done
  1  failed; what was changed has been undone, or the message says what could not be
  2  wrong usage, or this machine could not be read
  3  the host differs, or the request was refused before anything was touched";

const SHOW_EXAMPLES: &str = "\
Examples:
  netloom state show                  the whole machine
  netloom state show eth0 'bond*'     some links
  netloom state show -o table         one line for each link
  netloom state show --netns blue     another network namespace";

const SET_EXAMPLES: &str = "\
Examples:
  netloom state set site.yaml                 change, verify, probe, keep
  netloom state set site.yaml --dry-run       only print the plan; exit status 3 if it is not empty
  netloom state set site.yaml --timeout 60    take it back unless confirmed within a minute
  netloom state set site.yaml --no-commit     leave it open; end it with `state commit` or `state rollback`
  … | netloom state set -                     the document comes from standard input";

/// Reads the name of a kubeconfig. It may be empty, because an empty `KUBECONFIG` counts as unset; `connection` sees to that.
#[cfg(feature = "agent")]
fn kubeconfig() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}

/// Declarative network control: one document, one plan, one transaction.
#[derive(Debug, Parser)]
#[command(name = "netloom", version, propagate_version = true)]
#[command(arg_required_else_help = true, subcommand_required = true, after_help = EXIT_CODES)]
pub(crate) struct Args {
    /// What to do.
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// The verbs of the first level.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// The network of this machine, or of one network namespace
    State(StateArgs),
    /// Print the version
    Version(VersionArgs),
    /// The parts for nodes of clusters.
    #[cfg(feature = "agent")]
    #[command(flatten)]
    Node(node::Verb),
    /// The parts for clusters.
    #[cfg(feature = "cluster")]
    #[command(flatten)]
    Cluster(cluster::Verb),
    /// Print or write what is generated from the program itself
    Gen(GenArgs),
}

/// `netloom state`
#[derive(Debug, ArgGroup)]
#[command(arg_required_else_help = true, subcommand_required = true, after_help = EXIT_CODES)]
pub(crate) struct StateArgs {
    /// Where.
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// What to do.
    #[command(subcommand)]
    pub(crate) verb: StateVerb,
}

/// Which host is meant, and where its records are.
#[derive(Debug, Clone, ArgGroup)]
pub(crate) struct PlaceArgs {
    /// Network namespace to work in, by its name in `ip netns` or its path; without it, that of this shell
    #[arg(long, global = true, value_name = "NAME", value_hint = ValueHint::Other, help_heading = "Place")]
    pub(crate) netns: Option<String>,
    /// Folder for the journal and the record of who asked for what
    #[arg(long, global = true, value_name = "DIR", env = STATE_DIR_VARIABLE, default_value = STATE_DIR)]
    #[arg(value_hint = ValueHint::DirPath, help_heading = "Place")]
    pub(crate) state_dir: PathBuf,
    /// Print no plan and no progress, only data and errors
    #[arg(long, short, global = true, help_heading = "Output")]
    pub(crate) quiet: bool,
}

/// The verbs of `netloom state`.
#[derive(Debug, Subcommand)]
pub(crate) enum StateVerb {
    /// Print the network as a document
    Show(ShowArgs),
    /// Change the network to what a document says, as one transaction
    #[command(visible_alias = "apply")]
    Set(SetArgs),
    /// Print what a document would change; exit status 3 if anything
    Diff(DiffArgs),
    /// Print the document that takes a document back, made from the network as it is now
    Revert(RevertArgs),
    /// Print a document in its canonical form, touching nothing
    Format(FormatArgs),
    /// Keep the change that `set --no-commit` or `set --timeout` left open
    Commit(EndArgs),
    /// Take the open change back
    Rollback(EndArgs),
    /// Print changes of the network as they happen
    Watch(WatchArgs),
    /// Say who asked for a link, an address or a route, and what was there before
    Explain(ExplainArgs),
    /// Wait for the deadline of the open change and take it back (started by `set --no-commit`)
    #[command(hide = true)]
    Guard(GuardArgs),
}

/// How data is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Table,
    /// A YAML document
    Yaml,
    /// A JSON document
    Json,
}

/// The choice of a format.
#[derive(Debug, Clone, Copy, ArgGroup)]
pub(crate) struct FormatArg {
    /// How data is printed
    #[arg(long, short, value_enum, value_name = "FORMAT", help_heading = "Output")]
    output: Option<Format>,
    /// The same as `--output json`
    #[arg(long, conflicts_with = "output", help_heading = "Output")]
    json: bool,
}

impl FormatArg {
    /// The format that was asked for.
    pub(crate) fn asked(self) -> Option<Format> {
        let Self { output, json } = self;
        if json { Some(Format::Json) } else { output }
    }

    /// The format that was asked for, or else the verb's own.
    pub(crate) fn or(self, usual: Format) -> Format {
        self.asked().unwrap_or(usual)
    }
}

/// How data is printed that has no form for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DataFormat {
    /// A YAML document
    Yaml,
    /// A JSON document
    Json,
}

/// The choice of a format for what is read by programs again.
#[derive(Debug, Clone, Copy, ArgGroup)]
pub(crate) struct DataFormatArg {
    /// How data is printed
    #[arg(long, short, value_enum, value_name = "FORMAT", help_heading = "Output")]
    output: Option<DataFormat>,
    /// The same as `--output json`
    #[arg(long, conflicts_with = "output", help_heading = "Output")]
    json: bool,
}

impl DataFormatArg {
    /// The format that was asked for.
    pub(crate) fn asked(self) -> Option<Format> {
        let Self { output, json } = self;
        match output {
            Some(DataFormat::Json) => Some(Format::Json),
            Some(DataFormat::Yaml) => Some(Format::Yaml),
            None => json.then_some(Format::Json),
        }
    }

    /// The format that was asked for, or else YAML.
    pub(crate) fn or_yaml(self) -> Format {
        self.asked().unwrap_or(Format::Yaml)
    }
}

/// `netloom state show`
#[derive(Debug, ArgGroup)]
#[command(after_help = SHOW_EXAMPLES)]
pub(crate) struct ShowArgs {
    /// Links to print, by name or pattern (`*`, `?`); without any, the whole machine
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Ring sizes, pause frames, speed and offload features too; asks every driver
    #[arg(long)]
    pub(crate) ethtool: bool,
    /// Format; By default YAML.
    #[command(flatten)]
    pub(crate) format: FormatArg,
}

/// What of a document counts, shared by all verbs that plan.
#[derive(Debug, Clone, ArgGroup)]
pub(crate) struct DocumentArgs {
    /// Document to read, YAML or JSON; `-` for standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// The document is all that NAME wants: what NAME asked for before and does not name now is taken back
    #[arg(long, value_name = "NAME")]
    pub(crate) whole_of: Option<String>,
    /// Refuse a plan that cuts the way to this address; the far end of the SSH session always counts
    #[arg(long, value_name = "ADDRESS", help_heading = "Safety")]
    pub(crate) protect: Vec<IpAddr>,
    /// Carry out a plan that cuts a protected address off all the same
    #[arg(long, help_heading = "Safety")]
    pub(crate) allow_cut: bool,
    /// Folder in which other network managers say which links they manage; without it `/run`, and none in another network namespace than the machine's
    #[arg(long, value_name = "DIR", env = RUN_DIR_VARIABLE, value_hint = ValueHint::DirPath, help_heading = "Safety")]
    pub(crate) run_dir: Option<PathBuf>,
}

/// How long a change is watched before it is kept.
#[derive(Debug, Clone, Copy, ArgGroup)]
#[expect(clippy::struct_field_names, reason = "flags are named after them")]
pub(crate) struct ProbeTimingArgs {
    /// How long probes may take before the change; one that does not pass by then does not count after it
    #[arg(long, value_name = "SECONDS", default_value_t = Wait::Before.usual(), help_heading = "Safety")]
    #[arg(value_parser = clap::value_parser!(u32).range(Wait::Before.range()))]
    pub(crate) probe_before: u32,
    /// How long to wait after the change until the links that it touched have carrier again; 0 does not wait
    ///
    /// Only links that had carrier before are waited for, and what is new on top of them. LACP, spanning tree and a card
    /// that resets its link take tens of seconds. Afterwards the probes decide, with carrier or without
    #[arg(long, value_name = "SECONDS", default_value_t = Wait::Carrier.usual(), help_heading = "Safety")]
    #[arg(value_parser = clap::value_parser!(u32).range(Wait::Carrier.range()))]
    pub(crate) probe_carrier: u32,
    /// How long all probes together may take after that
    #[arg(long, value_name = "SECONDS", default_value_t = Wait::Window.usual(), help_heading = "Safety")]
    #[arg(value_parser = clap::value_parser!(u32).range(Wait::Window.range()))]
    pub(crate) probe_window: u32,
    /// How long a probe that fails is tried again; then the change is undone. Never longer than the window
    ///
    /// A switch whose ports start with spanning tree gives carrier at once and passes nothing on for 30 seconds: there,
    /// say 40 here and for the window
    #[arg(long, value_name = "SECONDS", default_value_t = Wait::Retry.usual(), help_heading = "Safety")]
    #[arg(value_parser = clap::value_parser!(u32).range(Wait::Retry.range()))]
    pub(crate) probe_retry: u32,
    /// How long to wait for a `tcp` probe that is refused while all others pass: what listens there restarts; 0 does not wait
    #[arg(long, value_name = "SECONDS", default_value_t = Wait::Restart.usual(), help_heading = "Safety")]
    #[arg(value_parser = clap::value_parser!(u32).range(Wait::Restart.range()))]
    pub(crate) probe_restart: u32,
}

/// `netloom state set`
#[derive(Debug, ArgGroup)]
#[command(after_help = SET_EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is one switch of the command line")]
pub(crate) struct SetArgs {
    /// The desired state.
    #[command(flatten)]
    pub(crate) desired: DocumentArgs,
    /// Print the plan and stop; exit status 3 if it is not empty
    #[arg(long, conflicts_with_all = ["timeout", "no_commit"])]
    pub(crate) dry_run: bool,
    /// Take the change back unless it is confirmed in time: by Enter, SIGUSR1 or `netloom state commit`
    ///
    /// The time begins with the first step, and what probes and links take is part of it.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=86_400), help_heading = "Safety")]
    pub(crate) timeout: Option<u32>,
    /// Leave the change open and return; it is taken back after 60 seconds (or `--timeout`) unless committed
    #[arg(long, help_heading = "Safety")]
    pub(crate) no_commit: bool,
    /// Do not read back whether the kernel has what was asked for
    #[arg(long, help_heading = "Safety")]
    pub(crate) no_verify: bool,
    /// Check that must pass after the change: `gateway`, `ping:ADDRESS`, `tcp:ADDRESS:PORT`
    ///
    /// One that does not pass before the change is left out, and reported. Without this option the
    /// default gateway is probed, where there is one.
    #[arg(long, value_name = "PROBE", help_heading = "Safety")]
    pub(crate) probe: Vec<String>,
    /// Run no probe at all
    #[arg(long, conflicts_with = "probe", help_heading = "Safety")]
    pub(crate) no_probe: bool,
    /// How long.
    #[command(flatten)]
    pub(crate) timing: ProbeTimingArgs,
    /// Wait at most this long for another transaction in the same namespace to end; 0 refuses at once
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(0..=86_400), default_value_t = 10)]
    pub(crate) wait: u32,
    /// Say at the end what went between this program and the kernel, and where the time went
    #[arg(long, help_heading = "Output")]
    pub(crate) stats: bool,
    /// Format of the result on standard output; without it nothing is printed there.
    #[command(flatten)]
    pub(crate) format: FormatArg,
}

/// `netloom state diff`
#[derive(Debug, ArgGroup)]
pub(crate) struct DiffArgs {
    /// The desired state.
    #[command(flatten)]
    pub(crate) desired: DocumentArgs,
    /// Format: the plan for people (`table`, the default), or the part of the document that differs.
    #[command(flatten)]
    pub(crate) format: FormatArg,
}

/// `netloom state revert`
#[derive(Debug, ArgGroup)]
pub(crate) struct RevertArgs {
    /// Document that will be set, YAML or JSON; `-` for standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Format; By default YAML.
    #[command(flatten)]
    pub(crate) format: DataFormatArg,
}

/// `netloom state format`
#[derive(Debug, ArgGroup)]
pub(crate) struct FormatArgs {
    /// Document to read, YAML or JSON; `-` for standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Format; By default YAML.
    #[command(flatten)]
    pub(crate) format: DataFormatArg,
}

/// `netloom state commit` and `netloom state rollback`
#[derive(Debug, ArgGroup)]
pub(crate) struct EndArgs {
    /// Format of the result on standard output; without it nothing is printed there.
    #[command(flatten)]
    pub(crate) format: FormatArg,
}

/// `netloom state watch`
#[derive(Debug, ArgGroup)]
pub(crate) struct WatchArgs {
    /// Links to watch, by name or pattern (`*`, `?`); without any, everything
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// End after this time
    #[arg(long = "for", value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) seconds: Option<u32>,
    /// Format: one line for each difference (`table`, the default), or a stream of objects (`json`).
    #[command(flatten)]
    pub(crate) format: FormatArg,
}

/// `netloom state explain`
#[derive(Debug, ArgGroup)]
pub(crate) struct ExplainArgs {
    /// Link name or further name, address, route destination (a prefix, or `default`), rule (`rule 1000`), line of FRR
    /// (`"vni 10100"`, or a block such as `"vrf red"`), or the setting `net.bridge.bridge-nf-call-iptables`
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Format.
    #[command(flatten)]
    pub(crate) format: FormatArg,
}

/// `netloom state guard`
#[derive(Debug, ArgGroup)]
pub(crate) struct GuardArgs {}

/// `netloom version`
#[derive(Debug, ArgGroup)]
pub(crate) struct VersionArgs {
    /// Format.
    #[command(flatten)]
    pub(crate) format: FormatArg,
}

/// `netloom gen`
#[derive(Debug, ArgGroup)]
#[command(arg_required_else_help = true, subcommand_required = true)]
pub(crate) struct GenArgs {
    /// What to make.
    #[command(subcommand)]
    pub(crate) what: GenVerb,
}

/// What `netloom gen` makes.
#[derive(Debug, Subcommand)]
pub(crate) enum GenVerb {
    /// Print the completions of a shell
    Completions {
        /// The shell
        #[arg(value_enum, value_name = "SHELL")]
        shell: clap_complete::Shell,
    },
    /// Write one man page for each verb
    Man {
        /// Folder to write to; made if it is not there
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: PathBuf,
    },
    /// Write the reference of the command line, of the document and of all kinds as Markdown
    Docs {
        /// Folder to write to; made if it is not there
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: PathBuf,
    },
    /// What clusters need.
    #[cfg(feature = "cluster")]
    #[command(flatten)]
    Cluster(cluster::GenVerb),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definitions_are_sound() {
        Args::command().debug_assert();
    }

    #[test]
    fn json_is_short_for_a_format() {
        let args = Args::try_parse_from(["netloom", "state", "show", "--json"]).unwrap();
        let Verb::State(StateArgs { verb: StateVerb::Show(ShowArgs { format, .. }), .. }) = args.verb else { panic!() };
        assert_eq!(format.or(Format::Yaml), Format::Json);
        assert!(Args::try_parse_from(["netloom", "state", "show", "--json", "-o", "yaml"]).is_err());
    }

    #[test]
    fn apply_is_set() {
        let args = Args::try_parse_from(["netloom", "state", "apply", "-", "--netns", "blue"]).unwrap();
        let Verb::State(StateArgs { verb: StateVerb::Set(_), place }) = args.verb else { panic!() };
        assert_eq!(place.netns.as_deref(), Some("blue"));
    }
}
