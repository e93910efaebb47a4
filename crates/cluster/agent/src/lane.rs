//! A lane of its own: a thread for work that must not wait for a transaction on the host.
//!
//! Whoever has the lane tells it words; the thread sleeps until a word comes, or until something of its own does, such as a
//! frame: a bell that it can wait for together with its sockets rings for every word. It ends with the lane.

use std::{
    io::{self, Read as _, Write as _},
    os::{
        fd::{AsFd as _, BorrowedFd},
        unix::net::UnixStream,
    },
    sync::mpsc::{Receiver, Sender, TryRecvError, channel},
    thread,
};

/// The way to a thread.
#[derive(Debug)]
pub(crate) struct Lane<W> {
    words: Sender<W>,
    bell: UnixStream,
}

/// What was sent to the thread and has not taken yet.
#[derive(Debug)]
pub(crate) struct Inbox<W> {
    words: Receiver<W>,
    rung: UnixStream,
}

/// The lane is gone, and nobody will tell anything any more.
#[derive(Debug)]
pub(crate) struct Closed;

impl<W: Send + 'static> Lane<W> {
    /// Starts a thread.
    pub(crate) fn start(name: &str, run: impl FnOnce(Inbox<W>) + Send + 'static) -> io::Result<Self> {
        let (words, queue) = channel();
        let (bell, rung) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        rung.set_nonblocking(true)?;
        let inbox = Inbox { words: queue, rung };
        thread::Builder::new().name(name.to_owned()).spawn(move || run(inbox))?;
        Ok(Self { words, bell })
    }

    /// Tells the thread something.
    pub(crate) fn say(&self, word: W) {
        // The thread ends only after this end is dropped. A bell that is full rings already.
        self.words.send(word).ok();
        (&self.bell).write_all(&[1]).ok();
    }
}

impl<W> Inbox<W> {
    /// Waits for a word, when there is nothing else to wait for.
    pub(crate) fn wait(&self) -> Option<W> {
        self.words.recv().ok()
    }

    /// What can be read from as long as there are words.
    pub(crate) fn bell(&self) -> BorrowedFd<'_> {
        self.rung.as_fd()
    }

    /// All words, behind one that was waited for.
    pub(crate) fn take(&mut self, first: Option<W>) -> Result<Vec<W>, Closed> {
        // However often it rang: the words tell.
        while self.rung.read(&mut [0; 64]).is_ok_and(|bytes| bytes > 0) {}
        let mut all: Vec<W> = first.into_iter().collect();
        loop {
            match self.words.try_recv() {
                Ok(word) => all.push(word),
                Err(TryRecvError::Empty) => return Ok(all),
                Err(TryRecvError::Disconnected) => return Err(Closed),
            }
        }
    }
}
