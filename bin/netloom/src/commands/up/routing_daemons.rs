//! FRR in the namespace of a machine of `netloom up`, started directly: no service, nothing in `/etc/frr`.
//!
//! The daemons of one namespace have a path space of its name, so their sockets are in a folder of that name below `/run/frr`.
//! They begin with an empty configuration and end with this process, however it ends.

use std::{
    fs::{self, File},
    io::{self, BufRead as _, BufReader, PipeReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::Duration,
};

use netloom_frr::Daemon;

use crate::failure::Failure;

/// Where the sockets of all path spaces are: daemons have this folder built in.
const RUN: &str = "/run/frr";
/// What every daemon prints once its socket is there.
const STARTED: &str = " starting: ";
/// As long as a daemon may take to start.
const TIME_LIMIT: Duration = Duration::from_mins(1);

/// The daemons of one machine.
#[derive(Debug)]
pub(super) struct RoutingDaemons {
    space: String,
    running: Vec<Child>,
}

impl RoutingDaemons {
    /// Starts all daemons of a release in a namespace, and returns when each has its socket. What they print goes to files in
    /// the folder `logs`.
    ///
    /// To be called by the first thread: a daemon ends with the thread that started it.
    pub(super) fn start(release: &Path, netns: &str, logs: &Path) -> Result<Self, Failure> {
        let mut daemons = Self { space: netns.to_owned(), running: Vec::new() };
        let cannot = |what: &Path, why: &io::Error| Failure::usage(format_args!("{}: {why}", what.display()));
        for folder in [&daemons.sockets(), logs] {
            fs::create_dir_all(folder).map_err(|error| cannot(folder, &error))?;
        }
        // In this order: a daemon that does not find zebra looks for it again only after seconds.
        for daemon in Daemon::ALL {
            let program = release.join("sbin").join(daemon.name());
            // Older releases have no mgmtd.
            if program.exists() {
                let log = logs.join(format!("{netns}-{}.log", daemon.name()));
                let file = File::create(&log).map_err(|error| cannot(&log, &error))?;
                daemons
                    .start_one(daemons.command(&program, release), file)
                    .map_err(|why| Failure::usage(format_args!("{daemon} of FRR {why}; see {}", log.display())))?;
            }
        }
        if daemons.running.is_empty() {
            return Err(Failure::usage(format_args!("--frr {}: there is no sbin/zebra", release.display())));
        }
        Ok(daemons)
    }

    /// The folder of their sockets.
    pub(super) fn sockets(&self) -> PathBuf {
        Path::new(RUN).join(&self.space)
    }

    fn command(&self, program: &Path, release: &Path) -> Command {
        let mut command = Command::new("setpriv");
        // Nobody is left behind when this process is killed.
        command.args(["--pdeathsig", "KILL", "ip", "netns", "exec", &self.space]).arg(program);
        // Root stands for the user and the groups that the package makes. No port is opened for people.
        command.args(["-N", &self.space, "--user", "root", "--group", "root", "-P", "0", "--log", "stdout"]);
        // Where newer releases find their YANG models.
        command.current_dir(release);
        command
    }

    fn start_one(&mut self, mut command: Command, log: File) -> Result<(), String> {
        let (reader, writer) = io::pipe().map_err(|error| error.to_string())?;
        command.stdin(Stdio::null()).stderr(writer.try_clone().map_err(|error| error.to_string())?).stdout(writer);
        self.running.push(command.spawn().map_err(|error| format!("cannot be started with setpriv: {error}"))?);
        // Only the daemon may have the other end: its end is how its end is seen.
        drop(command);
        let (started, starts) = channel();
        thread::spawn(move || keep(reader, log, &started));
        wait(&starts)
    }
}

impl Drop for RoutingDaemons {
    fn drop(&mut self) {
        for daemon in &mut self.running {
            // It has ended already, or it ends now.
            daemon.kill().ok();
            daemon.wait().ok();
        }
        fs::remove_dir_all(self.sockets()).ok();
    }
}

fn wait(starts: &Receiver<()>) -> Result<(), String> {
    match starts.recv_timeout(TIME_LIMIT) {
        Ok(()) => Ok(()),
        Err(RecvTimeoutError::Timeout) => Err(format!("has not started within {} s", TIME_LIMIT.as_secs())),
        Err(RecvTimeoutError::Disconnected) => Err("ended at its start".to_owned()),
    }
}

/// Writes down what a daemon prints, until it ends.
fn keep(output: PipeReader, mut log: File, started: &Sender<()>) {
    for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
        // A full disk must not stop a daemon.
        log.write_all(&line).and_then(|()| log.write_all(b"\n")).ok();
        if String::from_utf8_lossy(&line).contains(STARTED) {
            // Nobody waits for a second one.
            started.send(()).ok();
        }
    }
}
