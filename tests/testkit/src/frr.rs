//! FRR's daemons in a network namespace, started directly: no service, no init script, nothing in `/etc/frr`.
//!
//! `./x` unpacks releases into the cache (`lab/frr.bash`). The daemons of one namespace have a path space of their own: their
//! sockets are in a folder below `/run/frr`. They begin with an empty configuration, and are gone when this value is. A daemon
//! that ends by itself is noticed by [`Frr::finish`] and by whatever waits for it.

use std::{
    collections::BTreeMap,
    env, fs,
    io::{self, BufRead as _, BufReader, PipeReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread,
    time::Duration,
};

use netloom_frr::{Daemon, Daemons, Limits};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use crate::timeouts::stretched;

/// Where the sockets of all path spaces are: daemons have this folder built in.
const RUN: &str = "/run/frr";
/// What every daemon reports once its socket is there.
const STARTED: &str = " starting: ";
/// As long as a daemon may take to start or to answer.
const TIME_LIMIT: Duration = Duration::from_secs(20);
/// So much of a daemon's log is shown when it failed.
const LOG: usize = 20;

/// The programs of one release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Programs {
    folder: PathBuf,
}

impl Programs {
    /// FRR 8.4, if this machine has it: `need_frr 8.4` in `./x` sees to that.
    pub fn of_nodes() -> Option<Self> {
        Self::named("NETLOOM_FRR")
    }

    /// The newest FRR of Debian, if this machine has it: `need_frr testing` in `./x` sees to that.
    pub fn newest() -> Option<Self> {
        Self::named("NETLOOM_FRR_TESTING")
    }

    fn named(variable: &str) -> Option<Self> {
        let folder = PathBuf::from(env::var_os(variable)?);
        folder.join("sbin/zebra").exists().then_some(Self { folder })
    }

    /// The folder with the programs.
    pub fn sbin(&self) -> PathBuf {
        self.folder.join("sbin")
    }

    fn has(&self, daemon: Daemon) -> bool {
        self.sbin().join(daemon.name()).exists()
    }
}

/// The daemons of one namespace.
#[derive(Debug)]
pub struct Frr {
    programs: Programs,
    space: String,
    /// More words for the start of a daemon.
    words: BTreeMap<Daemon, Vec<String>>,
    running: BTreeMap<Daemon, Running>,
}

impl Frr {
    /// Starts all daemons that the release has in this network namespace, and returns when all of them answer.
    pub fn start(programs: &Programs, space: &str) -> Result<Self, String> {
        Self::start_with(programs, space, &[])
    }

    /// The same with more words for some daemons, such as `-K 60` for zebra.
    pub fn start_with(programs: &Programs, space: &str, words: &[(Daemon, &str)]) -> Result<Self, String> {
        let split = |words: &str| words.split_whitespace().map(str::to_owned).collect();
        let words = words.iter().map(|(daemon, words)| (*daemon, split(words))).collect();
        let mut frr = Self { programs: programs.clone(), space: space.to_owned(), words, running: BTreeMap::new() };
        fs::create_dir_all(frr.sockets()).map_err(|error| format!("{}: {error}", frr.sockets().display()))?;
        // In this order: a daemon that does not find zebra asks for it again only after seconds.
        for daemon in Daemon::ALL {
            if programs.has(daemon) {
                frr.start_daemon(daemon)?;
            }
        }
        frr.client()?;
        Ok(frr)
    }

    /// The folder of their sockets: what `--frr` of an agent is to be.
    pub fn sockets(&self) -> PathBuf {
        Path::new(RUN).join(&self.space)
    }

    /// A client that is connected to all of them.
    pub fn client(&self) -> Result<Daemons, String> {
        let limits = Limits { answer: stretched(TIME_LIMIT), ..Limits::default() };
        let daemons = Daemons::open(&self.sockets(), limits).map_err(|error| error.to_string())?;
        let away: Vec<String> = daemons.away().map(|(_, error)| error.to_string()).collect();
        if away.is_empty() { Ok(daemons) } else { Err(away.join("; ")) }
    }

    /// Gives all daemons a configuration file, as FRR's own start does: with vtysh.
    pub fn load(&self, configuration: &str) -> Result<(), String> {
        let file = self.sockets().join("load.conf");
        fs::write(&file, configuration).map_err(|error| format!("{}: {error}", file.display()))?;
        let mut vtysh = Command::new(self.programs.sbin().join("vtysh"));
        vtysh.current_dir(&self.programs.folder).args(["--config_dir", "etc", "--vty_socket"]).arg(self.sockets());
        vtysh.arg("-f").arg(&file);
        let done = vtysh.output().map_err(|error| format!("vtysh: {error}"))?;
        if done.status.success() {
            return Ok(());
        }
        let printed = [done.stdout, done.stderr].concat();
        Err(format!("vtysh does not take the configuration: {}", String::from_utf8_lossy(&printed).trim()))
    }

    /// Ends a daemon at once, as a crash does.
    pub fn kill(&mut self, daemon: Daemon) -> Result<(), String> {
        let running = self.running.remove(&daemon).ok_or_else(|| format!("{daemon} does not run"))?;
        drop(running);
        Ok(())
    }

    /// Starts a daemon that was ended, with an empty configuration.
    pub fn start_daemon(&mut self, daemon: Daemon) -> Result<(), String> {
        let running = Running::start(self.command(daemon), daemon)?;
        self.running.insert(daemon, running);
        Ok(())
    }

    /// Makes a daemon do nothing any more, as one that is stuck.
    pub fn pause(&self, daemon: Daemon) -> Result<(), String> {
        self.signal(daemon, Signal::SIGSTOP)
    }

    /// Lets it go on.
    pub fn resume(&self, daemon: Daemon) -> Result<(), String> {
        self.signal(daemon, Signal::SIGCONT)
    }

    /// The process of a daemon.
    pub fn process(&self, daemon: Daemon) -> Option<u32> {
        self.running.get(&daemon).map(|running| running.child.id())
    }

    /// What a daemon has logged since it was started.
    pub fn log(&self, daemon: Daemon) -> String {
        self.running.get(&daemon).map(Running::printed).unwrap_or_default()
    }

    /// Ends all of them; an error if one had ended before.
    pub fn finish(mut self) -> Result<(), String> {
        for (daemon, running) in &mut self.running {
            if let Ok(Some(status)) = running.child.try_wait() {
                return Err(format!("{daemon} has ended by itself ({status}):\n{}", running.end_of_log()));
            }
        }
        Ok(())
    }

    fn signal(&self, daemon: Daemon, signal: Signal) -> Result<(), String> {
        let process = self.process(daemon).and_then(|process| i32::try_from(process).ok());
        let process = process.ok_or_else(|| format!("{daemon} does not run"))?;
        kill(Pid::from_raw(process), signal).map_err(|error| format!("{daemon}: {error}"))
    }

    fn command(&self, daemon: Daemon) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.space]).arg(self.programs.sbin().join(daemon.name()));
        // Root stands for the user and the groups that the package makes. No port is opened for people.
        command.args(["-N", &self.space, "--user", "root", "--group", "root", "-P", "0", "--log", "stdout"]);
        command.args(self.words.get(&daemon).into_iter().flatten());
        // Where newer releases find their YANG models.
        command.current_dir(&self.programs.folder);
        command
    }
}

impl Drop for Frr {
    fn drop(&mut self) {
        self.running.clear();
        fs::remove_dir_all(self.sockets()).ok();
    }
}

/// A daemon and what it prints.
#[derive(Debug)]
struct Running {
    child: Child,
    log: Arc<Mutex<String>>,
}

impl Running {
    fn start(mut command: Command, daemon: Daemon) -> Result<Self, String> {
        let text = |error: io::Error| format!("{daemon}: {error}");
        let (reader, writer) = io::pipe().map_err(text)?;
        command.stdin(Stdio::null()).stdout(writer.try_clone().map_err(text)?).stderr(writer);
        let child = command.spawn().map_err(text)?;
        // Only the daemon may have the other end: its end is how its end is seen.
        drop(command);
        let (started, starts) = channel();
        let log = Arc::new(Mutex::new(String::new()));
        let running = Self { child, log: Arc::clone(&log) };
        thread::spawn(move || listen(reader, &log, &started));
        running.wait(daemon, &starts)?;
        Ok(running)
    }

    fn wait(&self, daemon: Daemon, starts: &Receiver<()>) -> Result<(), String> {
        let why = match starts.recv_timeout(stretched(TIME_LIMIT)) {
            Ok(()) => return Ok(()),
            Err(RecvTimeoutError::Timeout) => "has not started in time",
            Err(RecvTimeoutError::Disconnected) => "ended at its start",
        };
        Err(format!("{daemon} {why}:\n{}", self.end_of_log()))
    }

    fn printed(&self) -> String {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn end_of_log(&self) -> String {
        let log = self.printed();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(LOG)..].join("\n")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended already, or it ends now.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Keeps what a daemon prints, until it ends.
fn listen(output: PipeReader, log: &Mutex<String>, started: &Sender<()>) {
    for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
        log.push_str(&line);
        log.push('\n');
        if line.contains(STARTED) {
            // Nobody waits for a second one.
            started.send(()).ok();
        }
    }
}
