//! Waiting for something to happen in a state folder, without asking again and again.

use std::{fs::File, io, os::fd::AsFd as _, path::Path, time::Duration};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        inotify::{AddWatchFlags, InitFlags, Inotify},
        time::TimeSpec,
        timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags},
    },
};

use crate::{Clock, Error, Phase, Store, error::At as _, record::Reading};

/// Reports of what happens in one folder.
pub(crate) struct Watch {
    inotify: Inotify,
    /// On the boot-time clock: it also runs while the machine sleeps, which the time limit of `poll`
    /// does not.
    timer: TimerFd,
}

impl Watch {
    pub(crate) fn new(dir: &Path) -> Result<Self, Error> {
        let events = AddWatchFlags::IN_CLOSE_WRITE
            | AddWatchFlags::IN_DELETE
            | AddWatchFlags::IN_MOVED_FROM
            | AddWatchFlags::IN_DELETE_SELF
            | AddWatchFlags::IN_CREATE;
        let make = || {
            let inotify = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC)?;
            inotify.add_watch(dir, events)?;
            let timer = TimerFd::new(ClockId::CLOCK_BOOTTIME, TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK)?;
            Ok(Self { inotify, timer })
        };
        make().map_err(|errno: Errno| io::Error::from(errno)).at("watch", dir)
    }

    /// Waits until something happens in the folder, at most this long.
    pub(crate) fn wait(&self, at_most: Duration) -> nix::Result<()> {
        if at_most.is_zero() {
            return Ok(());
        }
        self.timer.set(Expiration::OneShot(TimeSpec::from_duration(at_most)), TimerSetTimeFlags::empty())?;
        let mut fds =
            [PollFd::new(self.inotify.as_fd(), PollFlags::POLLIN), PollFd::new(self.timer.as_fd(), PollFlags::POLLIN)];
        match poll(&mut fds, PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno),
        }
        match self.inotify.read_events() {
            Ok(_) | Err(Errno::EAGAIN | Errno::EINTR) => Ok(()),
            Err(errno) => Err(errno),
        }
    }
}

/// How waiting for a transaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Somebody confirmed it or rolled it back.
    Settled,
    /// Its deadline passed; [`Transaction::recover`](crate::Transaction::recover) rolls it back now.
    Expired,
}

/// Waits until the transaction in the folder is settled or its deadline passes.
///
/// This is all that a guard process does: it needs no lock while it waits, and its death costs
/// nothing but time, because whoever takes the next turn finds the journal and looks at the clock.
pub fn wait_for_deadline(store: &Store, clock: &dyn Clock) -> Result<Ended, Error> {
    let watch = Watch::new(store.dir())?;
    let mut id = None;
    loop {
        let log = match store.read_journal()? {
            Some(Reading::Log(log)) if id.as_deref().is_none_or(|id| id == log.begin.id) => log,
            Some(Reading::Log(_) | Reading::NothingDone | Reading::Damaged(_)) | None => return Ok(Ended::Settled),
        };
        match log.phase {
            Phase::Confirmed | Phase::Undone => return Ok(Ended::Settled),
            Phase::Running | Phase::Open | Phase::Undoing => {}
        }
        let left = clock.now().until(log.begin.deadline);
        if left.is_zero() {
            return Ok(Ended::Expired);
        }
        id = Some(log.begin.id.into_owned());
        watch.wait(left).map_err(io::Error::from).at("wait for changes in", store.dir())?;
    }
}

/// Waits until the process that is at work on the host is done with it, or has ended.
///
/// For a guard that is started while a change is being carried out: afterwards a journal that is not
/// open was left behind. The lock is given back at once.
pub fn wait_for_holder(store: &Store) -> Result<(), Error> {
    let path = store.dir().join("lock");
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).at("open", &path),
    };
    loop {
        match file.lock_shared() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done.at("wait for", &path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        SystemClock,
        record::{Record, tests::begin},
        store::tests::Scratch,
    };

    fn open(store: &Store, left: Duration) {
        let mut begin = begin(1);
        begin.deadline = SystemClock.now().plus(left);
        store.begin_journal(begin).unwrap().settle(&Record::Open).unwrap();
    }

    #[test]
    fn the_wait_ends_with_the_deadline() {
        let scratch = Scratch::new();
        let store = Store::of_host(&scratch.0).unwrap();
        assert_eq!(wait_for_deadline(&store, &SystemClock).unwrap(), Ended::Settled);
        open(&store, Duration::from_millis(80));
        let start = SystemClock.now();
        assert_eq!(wait_for_deadline(&store, &SystemClock).unwrap(), Ended::Expired);
        let took = start.until(SystemClock.now());
        assert!(took >= Duration::from_millis(60) && took < Duration::from_secs(5), "{took:?}");
    }

    #[test]
    fn the_wait_ends_when_the_journal_goes() {
        let scratch = Scratch::new();
        let store = Store::of_host(&scratch.0).unwrap();
        open(&store, Duration::from_mins(10));
        let start = SystemClock.now();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| wait_for_deadline(&store, &SystemClock));
            store.remove_journal().unwrap();
            assert_eq!(waiting.join().unwrap().unwrap(), Ended::Settled);
        });
        assert!(start.until(SystemClock.now()) < Duration::from_mins(1));
    }
}
