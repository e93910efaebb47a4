//! One connection to one daemon: a line out, its answer in, within a time.
//!
//! After anything but a complete answer the connection is of no more use: what comes next may belong to the line before. It
//! answers to every further line that it is closed; its owner makes another one.

use std::{
    io::{self, ErrorKind, IoSlice, Read as _, Write as _},
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::Path,
    time::{Duration, Instant},
};

use socket2::{Domain, SockAddr, Socket, Type};

use crate::{
    Answer, Daemon, FrrError, Refusal, Status,
    answer::Incoming,
    error::words,
    place::{LEAVE, Place},
    secret::masked,
};

/// The most bytes that a line may have. FRR's buffer of 4096 has to take the zero byte and one more; newer releases have
/// twice as much.
const LINE: usize = 4094;
/// So much of a line that is too long is shown.
const SHOWN: usize = 60;
/// How much is read at once.
const CHUNK: usize = 16 * 1024;
/// How long the first wait for somebody else's lock is; each one is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(320);

/// How long daemons are waited for, and how much they may answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For the whole answer to one line, and for a connection. A daemon works on one thing at a time, so one that takes in
    /// many routes may answer late.
    pub answer: Duration,
    /// For as long as somebody else keeps the configuration locked.
    pub lock: Duration,
    /// The bytes of one answer. A running configuration has about 50 for each line.
    pub size: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { answer: Duration::from_secs(10), lock: Duration::from_secs(5), size: 16 << 20 }
    }
}

/// A connection to a daemon.
#[derive(Debug)]
pub struct Vty {
    daemon: Daemon,
    socket: UnixStream,
    limits: Limits,
    place: Place,
    /// Nothing went wrong yet.
    usable: bool,
}

impl Vty {
    /// Connects to the daemon with this socket, and makes it listen to commands that change something.
    pub fn connect(daemon: Daemon, path: &Path, limits: Limits) -> Result<Self, FrrError> {
        let socket = open(path, limits).map_err(|source| FrrError::Away { daemon, path: path.to_owned(), source })?;
        let mut vty = Self { daemon, socket, limits, place: Place::Shell, usable: true };
        vty.accepted(&[], "enable")?;
        Ok(vty)
    }

    /// Whether further lines can be sent: every answer was complete, and the daemon has not ended since.
    pub fn is_usable(&self) -> bool {
        self.usable && self.is_open().unwrap_or(false)
    }

    /// Whether nothing waits to be read: neither the end of the connection nor what nobody asked for.
    fn is_open(&self) -> io::Result<bool> {
        self.socket.set_nonblocking(true)?;
        let waits = (&self.socket).read(&mut [0]);
        self.socket.set_nonblocking(false)?;
        Ok(waits.is_err_and(|error| error.kind() == ErrorKind::WouldBlock))
    }

    /// Asks for something that changes nothing, such as `show version`, and gives what is printed.
    pub fn show(&mut self, command: &str) -> Result<String, FrrError> {
        if self.place != Place::Shell {
            self.accepted(&[], LEAVE)?;
            self.place = Place::Shell;
        }
        self.accepted(&[], command).map(|answer| answer.text)
    }

    /// Sends a line of the configuration, in its context. The lines of the context are sent as far as they are needed: like
    /// any others they make what is not there yet.
    ///
    /// A configuration that somebody else has locked is tried again. A line that was taken may have been there before.
    pub fn configure(&mut self, context: &[&str], line: &str) -> Result<Answer, FrrError> {
        let mut pause = FIRST_PAUSE;
        let mut waited = Duration::ZERO;
        loop {
            let locked = match self.once(context, line)? {
                Ok(answer) => return Ok(answer),
                Err(locked) => locked,
            };
            if waited >= self.limits.lock {
                let (daemon, line) = (self.daemon, masked(&locked.line));
                return Err(FrrError::Locked { daemon, line, waited, words: locked.words });
            }
            self.pause(pause.min(self.limits.lock), &locked.line)?;
            waited += pause;
            pause = LONGEST_PAUSE.min(pause * 2);
        }
    }

    /// One attempt, which may meet a lock.
    fn once(&mut self, context: &[&str], line: &str) -> Result<Result<Answer, Locked>, FrrError> {
        for step in self.place.way_to(context) {
            // A daemon that is asked for a place may be anywhere.
            self.place = Place::Somewhere;
            if let Err(locked) = self.taken(context, step)? {
                return Ok(Err(locked));
            }
        }
        self.place = Place::Somewhere;
        let answer = self.taken(context, line)?;
        if let Ok(answer) = &answer {
            self.place = Place::after(context, line, answer.status);
        }
        Ok(answer)
    }

    /// Sends a line of the configuration: it is taken, or somebody else has the lock, or it is refused.
    fn taken(&mut self, context: &[&str], line: &str) -> Result<Result<Answer, Locked>, FrrError> {
        let answer = self.ask(line)?;
        if is_locked(&answer) {
            let words = words(line, &answer.text, answer.status);
            return Ok(Err(Locked { line: line.to_owned(), words }));
        }
        if answer.status.is_taken() {
            return Ok(Ok(answer));
        }
        // The way to a line that is within two contexts may end at the first.
        let outer = context.iter().position(|outer| *outer == line).unwrap_or(context.len());
        Err(FrrError::Refused(Box::new(Refusal::of(self.daemon, &context[..outer], line, &answer))))
    }

    /// Sends a line that has to be taken.
    fn accepted(&mut self, context: &[&str], line: &str) -> Result<Answer, FrrError> {
        let answer = self.ask(line)?;
        if answer.status.is_taken() {
            return Ok(answer);
        }
        Err(FrrError::Refused(Box::new(Refusal::of(self.daemon, context, line, &answer))))
    }

    /// Sends a line as it is, wherever the daemon is, and gives its answer.
    pub fn ask(&mut self, line: &str) -> Result<Answer, FrrError> {
        check(self.daemon, line)?;
        if !self.usable {
            return Err(self.closed(line, "an earlier answer on this connection was not complete"));
        }
        // Until the answer is complete.
        self.usable = false;
        let answer = self.exchange(line)?;
        self.usable = true;
        Ok(answer)
    }

    #[expect(clippy::disallowed_methods, reason = "a time limit on a socket needs a clock")]
    fn exchange(&mut self, line: &str) -> Result<Answer, FrrError> {
        let started = Instant::now();
        self.send(line).map_err(|error| self.failed(line, &error))?;
        let mut incoming = Incoming::default();
        let mut chunk = [0; CHUNK];
        loop {
            let left = self.limits.answer.saturating_sub(started.elapsed());
            let count = self.read(left, &mut chunk).map_err(|error| self.failed(line, &error))?;
            let (daemon, limit) = (self.daemon, self.limits.size);
            match incoming.take(&chunk[..count]) {
                Ok(Some(answer)) => return Ok(answer),
                Ok(None) if incoming.len() > limit => {
                    return Err(FrrError::AnswerTooLong { daemon, line: masked(line), limit });
                }
                Ok(None) => {}
                Err(_) => return Err(FrrError::NoAnswer { daemon, line: masked(line) }),
            }
        }
    }

    /// Sends a line and the zero byte that ends it, from where they are: no copy of a password is made.
    fn send(&mut self, line: &str) -> io::Result<()> {
        let mut parts = [IoSlice::new(line.as_bytes()), IoSlice::new(&[0])];
        let mut left = &mut parts[..];
        while !left.is_empty() {
            match self.socket.write_vectored(left) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(sent) => IoSlice::advance_slices(&mut left, sent),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads what there is, and waits for it for so long.
    fn read(&mut self, left: Duration, chunk: &mut [u8]) -> io::Result<usize> {
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.socket.set_read_timeout(Some(left))?;
        match self.socket.read(chunk) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(0),
            other => other,
        }
    }

    /// Waits, because no event tells the end of somebody else's lock. A daemon that ends meanwhile is noticed.
    fn pause(&mut self, time: Duration, line: &str) -> Result<(), FrrError> {
        let daemon = self.daemon;
        match self.read(time, &mut [0]) {
            Err(error) if is_late(&error) => Ok(()),
            Ok(0) => Ok(()),
            Ok(_) => {
                self.usable = false;
                Err(FrrError::NoAnswer { daemon, line: masked(line) })
            }
            Err(error) => {
                self.usable = false;
                Err(self.failed(line, &error))
            }
        }
    }

    fn failed(&self, line: &str, error: &io::Error) -> FrrError {
        if is_late(error) {
            return FrrError::Silent { daemon: self.daemon, line: masked(line), waited: self.limits.answer };
        }
        let ended = error.kind() == ErrorKind::UnexpectedEof;
        self.closed(line, if ended { "nothing more came".to_owned() } else { error.to_string() })
    }

    fn closed(&self, line: &str, why: impl Into<String>) -> FrrError {
        FrrError::Closed { daemon: self.daemon, line: masked(line), why: why.into() }
    }
}

/// A line that met somebody else's lock.
struct Locked {
    line: String,
    words: String,
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Connects within the time. A daemon that does not take connections lets others wait in line, and then does not even do
/// that.
fn open(path: &Path, limits: Limits) -> io::Result<UnixStream> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    // Of a socket of this kind it is the limit for connecting too.
    socket.set_write_timeout(Some(limits.answer))?;
    socket.connect(&SockAddr::unix(path)?)?;
    Ok(UnixStream::from(OwnedFd::from(socket)))
}

/// Refuses what FRR would make something else of.
fn check(daemon: Daemon, line: &str) -> Result<(), FrrError> {
    if line.len() > LINE {
        let begin: String = masked(line).chars().take(SHOWN).collect();
        return Err(FrrError::LineTooLong { daemon, line: begin, length: line.len(), limit: LINE });
    }
    match line.split_once(char::is_control) {
        Some((before, _)) => Err(FrrError::NotOneLine { daemon, line: masked(before) }),
        None => Ok(()),
    }
}

/// Whether somebody else has the lock: the words of mgmtd and of older daemons. A line that is not known is repeated by FRR,
/// so its words are the line's.
fn is_locked(answer: &Answer) -> bool {
    const WORDS: [&str; 6] =
        ["could not lock", "locked by", "lock already taken", "error type: locked", "failed to lock", "unable to lock"];
    match answer.status {
        Status::Warning | Status::ConfigFailed | Status::Other(_) => {
            let text = answer.text.to_lowercase();
            WORDS.iter().any(|words| text.contains(words))
        }
        Status::Success | Status::NoMatch | Status::Ambiguous | Status::Incomplete => false,
    }
}

#[cfg(test)]
mod tests;
