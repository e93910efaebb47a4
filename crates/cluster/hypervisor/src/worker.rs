//! The thread of the lane. It waits for a word, for libvirt, or for a time, and for nothing else.

use std::{
    io::{self, Read as _, Write as _},
    os::{fd::AsFd as _, unix::net::UnixStream},
    path::PathBuf,
    sync::{
        Arc,
        mpsc::{Receiver, Sender, TryRecvError, channel},
    },
    thread,
    time::{Duration, Instant},
};

use netloom_libvirt::{Client, Destination, Error, code};
use netloom_machine::{
    domain::Plugins,
    hypervisor::{Fault, FaultKind},
    lane::{Key, Lane, Moved, Want},
};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde_json::Value;

use crate::{
    bases::Folder,
    connection::{Connection, fault},
};

/// How long an answer may take.
pub(crate) const LIMIT: Duration = Duration::from_secs(10);
/// How long a domain may be on its way; a large one with a busy guest takes its time.
const JOURNEY: Duration = Duration::from_hours(1);
/// The driver that has the domains.
pub(crate) const DRIVER: &str = "qemu:///system";
/// The time before a daemon that went is tried again, and the most that it grows to.
const AGAIN: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(10));

/// How long nothing must have happened before the memory that the work took is given back.
const REST: Duration = Duration::from_secs(1);

/// What a worker is given.
#[derive(Debug, Clone)]
pub struct Options {
    /// The node.
    pub node: String,
    /// libvirt's socket.
    pub socket: PathBuf,
    /// The folder of bases.
    pub domains: PathBuf,
    /// Plugins that attach by a tap.
    pub plugins: Plugins,
    /// How often everything is looked at although nothing happened.
    pub poll: Duration,
    /// The time, as conditions have it.
    pub clock: fn() -> String,
}

/// Something that the worker is to know.
#[derive(Debug, Clone)]
pub enum Word {
    /// All instances of the node.
    Listed(Vec<Value>),
    /// One of them is new or another one now.
    Put(Value),
    /// One of them is there no more.
    Gone(Key),
    /// What the API has of an instance that it was asked about.
    Looked(Key, Option<Value>),
    /// A write was refused.
    Refused(Key),
    /// What came of moving a domain.
    Moved(Key, String, Moved),
}

/// Something that the worker tells.
#[derive(Debug, Clone, PartialEq)]
pub enum Told {
    /// This is wanted.
    Want(Want),
    /// Whether libvirt can be asked; else why not.
    Libvirt(Result<(), String>),
}

/// The way to the thread; it ends when this is dropped.
#[derive(Debug)]
pub struct Worker {
    words: Sender<Word>,
    bell: Arc<UnixStream>,
}

impl Worker {
    /// Starts the thread; what it tells goes to `tell`.
    pub fn start(options: Options, tell: impl Fn(Told) + Send + 'static) -> io::Result<Self> {
        let (words, queue) = channel();
        let (bell, rung) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        rung.set_nonblocking(true)?;
        let bell = Arc::new(bell);
        // It does not hold the bell, so that the thread ends with the worker.
        let back = (words.clone(), Arc::downgrade(&bell));
        let lane = Lane::new(options.node.clone(), options.plugins.clone());
        let thread = Thread {
            bases: Folder(options.domains.clone()),
            options,
            lane,
            queue,
            rung,
            back,
            tell: Box::new(tell),
            worked: false,
        };
        thread::Builder::new().name("machines".to_owned()).spawn(move || thread.run())?;
        Ok(Self { words, bell })
    }

    /// Tells the thread something.
    pub fn say(&self, word: Word) {
        // It ends only after this end is dropped. A bell that is full rings already.
        self.words.send(word).ok();
        (&*self.bell).write_all(&[1]).ok();
    }
}

type Back = (Sender<Word>, std::sync::Weak<UnixStream>);

struct Thread {
    options: Options,
    lane: Lane,
    bases: Folder,
    queue: Receiver<Word>,
    rung: UnixStream,
    back: Back,
    tell: Box<dyn Fn(Told) + Send>,
    /// Whether there was something to do since it was last asked.
    worked: bool,
}

/// The other end is gone.
struct Ended;

impl Thread {
    #[expect(clippy::disallowed_methods, reason = "the lane counts time from when its thread began")]
    fn run(mut self) {
        let begun = Instant::now();
        let now = || u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut connection: Option<Connection> = None;
        let (mut try_at, mut pause, mut poll_at) = (0, AGAIN.0, 0);
        let (mut said, mut rest_at) = (None, u64::MAX);
        loop {
            if connection.is_none() && try_at <= now() {
                let state = match Client::connect(&self.options.socket, DRIVER, LIMIT) {
                    Ok(client) => {
                        connection = Some(Connection::new(client, self.options.socket.clone()));
                        pause = AGAIN.0;
                        self.lane.look_at_all();
                        Ok(())
                    }
                    Err(error) => Err(error.to_string()),
                };
                self.report(&mut said, state);
            }
            if let Some(open) = connection.as_mut() {
                if poll_at <= now() {
                    poll_at = now() + millis(self.options.poll);
                    self.lane.look_at_all();
                }
                if let Err(fault) = self.turn(now(), open) {
                    for want in self.lane.lost(now()) {
                        self.carry(want);
                    }
                    self.report(&mut said, Err(fault.message));
                    connection = None;
                }
            }
            if connection.is_none() && try_at <= now() {
                try_at = now() + millis(pause);
                pause = (pause * 2).min(AGAIN.1);
            }
            if std::mem::take(&mut self.worked) {
                rest_at = now() + millis(REST);
            } else if rest_at <= now() {
                // A node's memory is for its workloads.
                netloom_malloc_trim::give_back();
                rest_at = u64::MAX;
            }
            let next = if connection.is_some() { poll_at.min(self.lane.wake_at().unwrap_or(u64::MAX)) } else { try_at };
            let wait = Duration::from_millis(next.min(rest_at).saturating_sub(now()));
            if self.wait(connection.as_mut(), wait).is_err() {
                return;
            }
            if let Some(Err(error)) = connection.as_mut().map(|open| open.client.read_events()) {
                self.report(&mut said, Err(error.to_string()));
                connection = None;
                try_at = now();
            }
        }
    }

    fn report(&self, said: &mut Option<Result<(), String>>, state: Result<(), String>) {
        if said.as_ref() != Some(&state) {
            match &state {
                Ok(()) => tracing::info!("libvirt is there"),
                Err(why) => tracing::warn!(why, "libvirt cannot be asked; trying again"),
            }
            (self.tell)(Told::Libvirt(state.clone()));
            *said = Some(state);
        }
    }

    /// Takes all words and events, does what follows, and tells what is wanted. An error means that nobody can be asked.
    fn turn(&mut self, now: u64, open: &mut Connection) -> Result<(), Fault> {
        self.words(now, Some(&mut *open)).ok();
        while let Some(event) = open.client.event() {
            self.lane.happened(&event.domain.name);
        }
        let clock = (self.options.clock)();
        let wants = self.lane.turn(now, &clock, open, &self.bases)?;
        for want in wants {
            self.carry(want);
        }
        // What happened meanwhile is seen at once and not when something else happens.
        match open.client.read_events() {
            Err(error) => Err(fault(&error)),
            Ok(()) => Ok(()),
        }
    }

    /// Does what the lane wants, or tells it.
    fn carry(&self, want: Want) {
        match want {
            Want::Move { key, migration, domain, xml, daemon, data } => {
                let to = Destination { daemon, data, xml };
                self.depart(key, migration, domain, to);
            }
            other => (self.tell)(Told::Want(other)),
        }
    }

    /// Takes all words that are there.
    fn words(&mut self, now: u64, mut open: Option<&mut Connection>) -> Result<(), Ended> {
        loop {
            let word = match self.queue.try_recv() {
                Ok(word) => word,
                Err(TryRecvError::Empty) => return Ok(()),
                Err(TryRecvError::Disconnected) => return Err(Ended),
            };
            self.worked = true;
            match word {
                Word::Listed(objects) => self.lane.listed(objects),
                Word::Put(object) => self.lane.put(object),
                Word::Gone(key) => self.lane.gone(key),
                Word::Refused(key) => self.lane.refused(now, &key),
                Word::Moved(key, migration, moved) => self.lane.moved(now, &key, &migration, moved),
                Word::Looked(key, found) => {
                    if let Some(open) = open.as_mut()
                        && let Err(fault) = self.lane.looked(*open, &key, found.as_ref())
                    {
                        // It is found again at the next poll.
                        tracing::warn!(why = fault.message, "a domain that nobody asks for cannot be removed");
                    }
                }
            }
        }
    }

    /// Waits for a word, for libvirt, or so long; whether anybody is left to tell words.
    fn wait(&mut self, open: Option<&mut Connection>, wait: Duration) -> Result<(), Ended> {
        let pending = open.is_some_and(|open| {
            let mut any = false;
            while let Some(event) = open.client.event() {
                self.lane.happened(&event.domain.name);
                any = true;
            }
            let limit = if any { Duration::ZERO } else { wait };
            let timeout = PollTimeout::try_from(limit).unwrap_or(PollTimeout::MAX);
            let mut waited = [
                PollFd::new(self.rung.as_fd(), PollFlags::POLLIN),
                PollFd::new(open.client.as_fd(), PollFlags::POLLIN),
            ];
            poll(&mut waited, timeout).ok();
            true
        });
        if !pending {
            let timeout = PollTimeout::try_from(wait).unwrap_or(PollTimeout::MAX);
            poll(&mut [PollFd::new(self.rung.as_fd(), PollFlags::POLLIN)], timeout).ok();
        }
        let mut piece = [0; 64];
        loop {
            match self.rung.read(&mut piece) {
                // The bell is gone, and with it the worker.
                Ok(0) => return Err(Ended),
                Ok(_) => {}
                Err(_) => return Ok(()),
            }
        }
    }

    /// Moves a domain in a thread and over a connection of its own.
    fn depart(&self, key: Key, migration: String, domain: String, to: Destination) {
        let (socket, back) = (self.options.socket.clone(), self.back.clone());
        let (of, what) = (key.clone(), migration.clone());
        let journey = move || {
            let moved = travel(&socket, &domain, &to);
            tell_back(&back, Word::Moved(key, migration, moved));
        };
        if let Err(error) = thread::Builder::new().name("migration".to_owned()).spawn(journey) {
            tell_back(&self.back, Word::Moved(of, what, Moved::No(format!("cannot start a thread: {error}"))));
        }
    }
}

fn tell_back((words, bell): &Back, word: Word) {
    words.send(word).ok();
    if let Some(bell) = bell.upgrade() {
        (&*bell).write_all(&[1]).ok();
    }
}

fn travel(socket: &std::path::Path, domain: &str, to: &Destination) -> Moved {
    match attempt(socket, domain, to).map_err(|error| fault(&error)) {
        Ok(moved) => moved,
        Err(Fault { kind: FaultKind::Refused | FaultKind::DeviceMissing, message }) => Moved::No(message),
        // It may be on its way already, asked for by an agent of before.
        Err(Fault { kind: FaultKind::Busy | FaultKind::Gone, .. }) => Moved::Unknown,
    }
}

fn attempt(socket: &std::path::Path, domain: &str, to: &Destination) -> Result<Moved, Error> {
    let mut client = Client::connect(socket, DRIVER, LIMIT)?;
    // One that is not here is gone from here already.
    let Some(domain) = client.lookup(domain)? else { return Ok(Moved::Yes) };
    match client.migrate(&domain, to, JOURNEY) {
        Ok(()) => Ok(Moved::Yes),
        // Either it is on its way already, or it is none that can be moved.
        Err(error) if error.is(code::OPERATION_INVALID) && !client.is_at_work(&domain)? => {
            Ok(Moved::No(error.to_string()))
        }
        Err(error) => Err(error),
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
