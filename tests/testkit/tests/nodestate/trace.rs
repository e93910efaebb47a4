//! The system calls of an agent, as `strace` sees them, and the places among them at which a death tells something.
//!
//! What a process leaves behind changes with its calls and not between them, and one call is carried out as a whole. So
//! it is enough to die before each call that changes the host or the agent's records, and after the last. Not looked at are
//! calls that only make a file or a folder, after which the one that fills it follows, and settings of cards (generic
//! netlink), which these changes do not have. Most writes to
//! a record are followed by a call that has it on disk, which changes nothing for whoever comes next: the agent dies there
//! instead of before its next write, which may be one of many.
//!
//! A routing daemon takes a hundred lines for one change, and after each of them the journal says the same. So the agent dies
//! in the middle of each row of lines, beside the places before and behind it.
//!
//! `strace` counts calls of a thread by their name, and of one file alone where asked to. What an agent asks of the
//! kernel has no file, and is preceded by questions without number; it is counted from when the journal is there, where
//! the agent is stopped for a moment.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use netloom_journal::{Clock as _, Moment, SystemClock};
use netloom_testkit::timeouts::stretched;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::{play::pause, site::Process};

/// The calls that are looked at.
const CALLS: &str = "sendto,sendmsg,write,writev,pwrite64,fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat";
/// How long a thread may take to be watched.
const TIME_LIMIT: Duration = Duration::from_mins(1);
/// After which silence an agent is at rest.
const REST: Duration = Duration::from_secs(1);

/// A thread of an agent, whichever life it is in: its name, and its place among those of that name.
type Thread = (String, usize);

/// One call of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Counted {
    thread: Thread,
    name: String,
    /// The file that it is about, when only calls about that file are counted.
    file: Option<PathBuf>,
    nth: usize,
}

/// Where an agent dies: right before a call that it makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// The call from which on the other one is counted; none to count from the beginning.
    since: Option<Counted>,
    call: Counted,
    /// What it is about, for people.
    pub(super) about: String,
}

/// Somebody who watches an agent, and may end it.
pub(super) struct Trace {
    agent: u32,
    namespace: String,
    log: PathBuf,
    threads: BTreeMap<u32, Thread>,
    // Ended in this order.
    straces: Vec<Process>,
    /// Where the agent dies once it was stopped.
    next: Option<Counted>,
    /// How much was seen, and since when it is no more.
    length: usize,
    since: Moment,
}

impl Trace {
    /// Watches all that an agent in a network namespace does from now on.
    pub(super) fn of(agent: u32, namespace: &str, log: &Path) -> Result<Self, String> {
        let mut trace = Self::new(agent, namespace, log)?;
        let all: Vec<u32> = trace.threads.keys().copied().collect();
        trace.attach(&all, &["-f", "-p", &agent.to_string()])?;
        Ok(trace)
    }

    /// Lets an agent die when it comes to this place.
    pub(super) fn deadly(agent: u32, namespace: &str, place: &Place, log: &Path) -> Result<Self, String> {
        let mut trace = Self::new(agent, namespace, log)?;
        match &place.since {
            None => trace.signal(&place.call, "KILL")?,
            Some(first) => {
                trace.signal(first, "STOP")?;
                trace.next = Some(place.call.clone());
            }
        }
        Ok(trace)
    }

    fn new(agent: u32, namespace: &str, log: &Path) -> Result<Self, String> {
        let (namespace, log, threads) = (namespace.to_owned(), log.to_owned(), threads(agent)?);
        let since = SystemClock.now();
        Ok(Self { agent, namespace, log, threads, straces: Vec::new(), next: None, length: 0, since })
    }

    /// Lets an agent that was stopped on its way go on, to its death.
    pub(super) fn attend(&mut self) -> Result<(), String> {
        let Some(last) = self.next.take_if(|_| is_stopped(self.agent)) else { return Ok(()) };
        self.signal(&last, "KILL")?;
        self.go_on()
    }

    fn go_on(&self) -> Result<(), String> {
        let agent = i32::try_from(self.agent).map_err(|error| error.to_string())?;
        kill(Pid::from_raw(agent), Signal::SIGCONT).map_err(|error| error.to_string())
    }

    fn signal(&mut self, call: &Counted, signal: &str) -> Result<(), String> {
        let Counted { thread, name, file, nth } = call;
        let found = self.threads.iter().find(|(_, other)| *other == thread);
        let id = *found.ok_or_else(|| format!("the agent has no thread {thread:?}"))?.0;
        let (number, what) = (id.to_string(), format!("inject={name}:signal={signal}:when={nth}"));
        let file = file.as_ref().map(|file| file.display().to_string());
        let mut words = vec!["-p", &number, "-e", &what];
        words.extend(file.iter().flat_map(|file| ["-P", file]));
        self.attach(&[id], &words)
    }

    /// Starts `strace`, and returns when it watches these threads. It must be in the namespace whose sockets it shall
    /// tell apart.
    fn attach(&mut self, threads: &[u32], words: &[&str]) -> Result<(), String> {
        fs::remove_file(&self.log).ok();
        let printed = self.log.with_extension("said");
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace, "strace", "-qq", "-y", "-s", "8", "-e", "signal=none", "-e"]);
        command.arg(format!("trace={CALLS}")).args(words).arg("-o").arg(&self.log);
        let mut strace = Process::start(&mut command, &printed)?;
        let began = SystemClock.now();
        // Whoever watches an agent already is somebody else.
        while !threads.iter().all(|thread| tracer(self.agent, *thread) == Some(strace.id())) {
            if strace.has_ended()? || began.until(SystemClock.now()) > stretched(TIME_LIMIT) {
                let printed = fs::read_to_string(&printed).unwrap_or_default();
                return Err(format!("strace does not watch the agent: {printed}"));
            }
            pause();
        }
        self.straces.push(strace);
        Ok(())
    }

    /// Whether the agent made no such call for a while.
    pub(super) fn is_silent(&mut self) -> Result<bool, String> {
        let (now, length) = (SystemClock.now(), self.text()?.len());
        if length != self.length {
            (self.since, self.length) = (now, length);
        }
        Ok(self.since.until(now) > REST)
    }

    /// What the last call was about that was seen.
    pub(super) fn last(&self, records: &Path) -> Result<String, String> {
        let text = self.text()?;
        let last = text.lines().filter_map(Call::parse).next_back().ok_or("the agent did nothing before it died")?;
        Ok(last.about(records))
    }

    /// The places at which a death tells something; `records` is the folder of the agent.
    pub(super) fn places(&self, records: &Path) -> Result<Vec<Place>, String> {
        let text = self.text()?;
        let mut scout = Scout {
            threads: &self.threads,
            records,
            counts: BTreeMap::new(),
            begun: None,
            lines: Vec::new(),
            places: Vec::new(),
        };
        let mut before: BTreeMap<u32, Call<'_>> = BTreeMap::new();
        for call in text.lines().filter_map(Call::parse) {
            let earlier = before.insert(call.thread, call);
            scout.take(call, earlier)?;
        }
        scout.end_lines();
        if !scout.places.iter().any(|place| place.since.is_some()) {
            return Err(format!("strace sees no change of the host:\n{text}"));
        }
        Ok(scout.places)
    }

    fn text(&self) -> Result<String, String> {
        fs::read_to_string(&self.log).map_err(|error| format!("{}: {error}", self.log.display()))
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        // One that stays stopped would not hear that it shall end, and whoever waits for that would wait for ever.
        if is_stopped(self.agent) {
            self.go_on().ok();
        }
    }
}

/// Whether this machine has `strace`.
pub(super) fn is_there() -> bool {
    Command::new("strace").arg("--version").output().is_ok_and(|done| done.status.success())
}

/// Who finds the places of a change, call by call.
struct Scout<'a> {
    threads: &'a BTreeMap<u32, Thread>,
    records: &'a Path,
    /// How many calls of a name there were of a thread, about a file or since the journal was there last.
    counts: BTreeMap<(u32, &'a str, Option<&'a str>), usize>,
    /// The call by which the journal came onto the disk.
    begun: Option<Counted>,
    /// Lines that a routing daemon was sent since the last other change of the host.
    lines: Vec<Place>,
    places: Vec<Place>,
}

impl<'a> Scout<'a> {
    /// Takes the next call, and the one that the same thread made before.
    fn take(&mut self, call: Call<'a>, earlier: Option<Call<'a>>) -> Result<(), String> {
        let file = call.file().filter(|file| Path::new(file).starts_with(self.records));
        let nth = self.counts.entry((call.thread, call.name, file)).or_default();
        *nth += 1;
        let nth = *nth;
        // Behind a call that has something on disk all is as it was before that call.
        let keeps = file.is_some() && call.name != "write" && !earlier.is_some_and(|earlier| earlier.syncs());
        let asks = call.changes_host() || earlier.is_some_and(|earlier| earlier.changes_host());
        if let Some(begun) = self.begun.clone().filter(|begun| call.is_line() && self.is_of(call, begun)) {
            let itself = Counted { thread: begun.thread.clone(), name: call.name.to_owned(), file: None, nth };
            self.lines.push(Place { since: Some(begun), call: itself, about: call.about(self.records) });
        }
        if !keeps && !asks {
            return Ok(());
        }
        if call.changes_host() {
            self.end_lines();
        }
        let about = call.about(self.records);
        let thread = self.threads.get(&call.thread).cloned();
        let thread = thread.ok_or_else(|| format!("{about}: by a thread that was not there at rest"))?;
        let call_itself = Counted { thread, name: call.name.to_owned(), file: file.map(PathBuf::from), nth };
        let since = if file.is_some() { None } else { Some(self.begun.clone().ok_or("a change without a journal")?) };
        if file.is_some_and(|file| file.ends_with("/journal")) && call.syncs() {
            self.begun = Some(call_itself.clone());
            self.counts.retain(|(_, _, file), _| file.is_some());
        }
        self.places.push(Place { since, call: call_itself, about });
        Ok(())
    }

    /// Whether a call is one of the thread that made another.
    fn is_of(&self, call: Call<'_>, other: &Counted) -> bool {
        self.threads.get(&call.thread) == Some(&other.thread)
    }

    /// A row of lines is at its end: the place in its middle tells something.
    fn end_lines(&mut self) {
        let middle = self.lines.len() / 2;
        self.places.extend(self.lines.drain(..).nth(middle));
    }
}

/// The beginning of a call, as a line of `strace` says it.
#[derive(Clone, Copy)]
struct Call<'a> {
    /// The number of its thread; 0 when only one is watched.
    thread: u32,
    name: &'a str,
    arguments: &'a str,
}

impl<'a> Call<'a> {
    /// None for the second half of a call, and for what is no call.
    fn parse(line: &'a str) -> Option<Self> {
        let rest = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let thread = line[..line.len() - rest.len()].parse().unwrap_or_default();
        let (name, arguments) = rest.trim_start().split_once('(')?;
        let is_name = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        (is_name && !name.is_empty()).then_some(Self { thread, name, arguments })
    }

    /// The file that it is about, by its first argument.
    fn file(&self) -> Option<&'a str> {
        let (_, rest) = self.arguments.split_once(['<', '"'])?;
        rest.split(['>', '"']).next().filter(|file| file.starts_with('/'))
    }

    /// Whether it asks the kernel for another host, by a message or by a setting.
    fn changes_host(&self) -> bool {
        let asks = ["=RTM_NEW", "=RTM_DEL", "=RTM_SET"].iter().any(|word| self.arguments.contains(word));
        let sets = self.file().is_some_and(|file| file.starts_with("/proc/") || file.starts_with("/sys/"));
        (self.name.starts_with("send") && asks) || sets
    }

    /// Whether it gives a routing daemon a line of its configuration.
    fn is_line(&self) -> bool {
        let sends = matches!(self.name, "writev" | "sendmsg") && self.file().is_none();
        let words = self.line().unwrap_or_default();
        sends
            && !words.is_empty()
            && !["show", "enable", "configur", "end", "exit"].iter().any(|no| words.starts_with(no))
    }

    /// What is sent to a daemon, as far as it is printed.
    fn line(&self) -> Option<&'a str> {
        let (_, rest) = self.arguments.split_once("iov_base=\"")?;
        rest.split(['"', '\\']).next()
    }

    fn syncs(&self) -> bool {
        self.name.ends_with("sync")
    }

    /// What a person wants to know of it.
    fn about(&self, records: &Path) -> String {
        let kinds: Vec<&str> =
            self.arguments.split("nlmsg_type=").skip(1).filter_map(|rest| rest.split(',').next()).collect();
        let what = match (self.file(), kinds.as_slice()) {
            (None, []) if self.line().is_some() => format!("{:?}", self.line().unwrap_or_default()),
            (Some(file), _) if Path::new(file).is_dir() && Path::new(file).starts_with(records) => {
                "the folder".to_owned()
            }
            (Some(file), _) => file.rsplit('/').next().unwrap_or_default().to_owned(),
            (None, [first, _, ..]) => format!("{first} and {} more", kinds.len() - 1),
            (None, kinds) => kinds.concat(),
        };
        format!("{} {what}", self.name)
    }
}

/// What `/proc` says about a thread, in the line of this name.
fn status(process: u32, thread: u32, name: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{process}/task/{thread}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim_start_matches(':').trim().to_owned())
}

fn tracer(process: u32, thread: u32) -> Option<u32> {
    status(process, thread, "TracerPid")?.parse().ok()
}

/// Whether a process was stopped by a signal: also its first thread, which nobody watches.
fn is_stopped(process: u32) -> bool {
    status(process, process, "State").is_some_and(|state| state.starts_with('T'))
}

/// The threads of a process by their numbers. Those that it starts first have the lower ones.
fn threads(process: u32) -> Result<BTreeMap<u32, Thread>, String> {
    let folder = format!("/proc/{process}/task");
    let cannot = |error: std::io::Error| format!("{folder}: {error}");
    let mut numbers: Vec<u32> = Vec::new();
    for entry in fs::read_dir(&folder).map_err(cannot)? {
        numbers.extend(entry.map_err(cannot)?.file_name().to_string_lossy().parse::<u32>());
    }
    numbers.sort_unstable();
    let (mut found, mut ranks) = (BTreeMap::new(), BTreeMap::new());
    for number in numbers {
        let name = fs::read_to_string(format!("{folder}/{number}/comm")).map_err(cannot)?.trim().to_owned();
        let rank = ranks.entry(name.clone()).or_default();
        found.insert(number, (name, *rank));
        *rank += 1;
    }
    Ok(found)
}
