//! Fresh namespaces, and processes with a stopwatch.
//!
//! This process itself moves from one network namespace to the next, and what it starts is born
//! there: no measured time contains a change of namespace.

use std::{
    error::Error,
    fmt::Write as _,
    fs,
    path::Path,
    process::{Command, Output, Stdio},
    time::Instant,
};

use nix::{
    sched::{CloneFlags, unshare},
    sys::resource::{UsageWho, getrusage},
};

/// Why a benchmark could not be run.
pub type Failure = Box<dyn Error>;

/// The base of VLANs, the way out of routes.
pub const BASE: &str = "base0";

/// Leaves the namespace for a new one with `lo` and [`BASE`] up. A cable, not a dummy link: not every kernel has those.
pub fn fresh() -> Result<(), Failure> {
    unshare(CloneFlags::CLONE_NEWNET)?;
    for command in [
        "link set lo up",
        "link add base0 type veth peer name base1",
        "link set base1 up",
        "link set base0 up",
        "addr add 10.0.0.1/8 dev base0",
    ] {
        ip(command)?;
    }
    Ok(())
}

/// Deletes every link but `lo`, so that the kernel does not do it in the background of the next
/// measurement.
pub fn clear(folder: &str) -> Result<(), Failure> {
    let links = fs::read_to_string("/proc/thread-self/net/dev")?;
    let names = links.lines().skip(2).filter_map(|line| Some(line.split_once(':')?.0.trim()));
    let mut batch = String::new();
    for name in names.filter(|name| *name != "lo") {
        writeln!(batch, "link set dev {name} group 7")?;
    }
    let file = format!("{folder}/clear.batch");
    fs::write(&file, batch + "link del group 7\n")?;
    run("ip", &["-batch", &file]).map(drop)
}

/// Runs `ip` with these words.
pub fn ip(words: &str) -> Result<(), Failure> {
    run("ip", &words.split(' ').collect::<Vec<_>>()).map(drop)
}

/// Runs a command to its end; an error when that is not a good one.
pub fn run(program: &str, arguments: &[&str]) -> Result<Output, Failure> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output()?;
    if !output.status.success() {
        let reported = String::from_utf8_lossy(&output.stderr);
        let last: Vec<&str> = reported.lines().rev().take(5).collect();
        return Err(format!("{program} {}: {}; {}", arguments.join(" "), output.status, last.join(" | ")).into());
    }
    Ok(output)
}

/// Runs a command with nowhere to print to; seconds from its start to its end.
#[expect(clippy::disallowed_methods, reason = "time is what is measured here")]
pub fn time(program: &str, arguments: &[&str]) -> Result<f64, Failure> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let started = Instant::now();
    let status = command.status()?;
    let seconds = started.elapsed().as_secs_f64();
    if !status.success() {
        // Once more, to hear why.
        run(program, arguments)?;
        return Err(format!("{program} {}: {status}", arguments.join(" ")).into());
    }
    Ok(seconds)
}

/// The most memory that a command had at once, in KiB.
pub fn memory_of(program: &str, arguments: &[&str]) -> Result<f64, Failure> {
    // Only the maximum of all children is to be had, so a process of its own has this one child.
    let own = std::env::current_exe()?;
    let own = own.to_string_lossy();
    let words: Vec<&str> = ["--memory-of", program].into_iter().chain(arguments.iter().copied()).collect();
    let output = run(&own, &words)?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().parse()?)
}

/// The other side of [`memory_of`].
pub fn print_memory_of(command: &[&str]) -> Result<(), Failure> {
    let (program, arguments) = command.split_first().ok_or("no command")?;
    run(program, arguments)?;
    println!("{}", getrusage(UsageWho::RUSAGE_CHILDREN)?.max_rss());
    Ok(())
}

/// The size of a file in bytes.
pub fn size_of(file: &str) -> Result<u64, Failure> {
    Ok(Path::new(file).metadata()?.len())
}
