//! Time, and which life of the kernel a journal belongs to.
//!
//! Deadlines are kept on the boot-time clock: it is the same for every process of one boot, runs
//! on while the machine sleeps and cannot be set. The wall clock is written down next to it, but
//! only for people: it may jump, and no decision is taken on it. Across a reboot the boot-time
//! clock starts again; there the [`Incarnation`] differs and no deadline is asked for.

use std::{fmt, os::unix::fs::MetadataExt as _, path::Path, time::Duration};

use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::{Error, error::At as _};

/// One moment on both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// Time since the machine started, sleep included. Decides.
    pub boot: Duration,
    /// Seconds since 1970. Only for people.
    pub wall: u64,
}

impl Moment {
    /// The moment this much later.
    #[must_use]
    pub fn plus(self, time: Duration) -> Self {
        Self { boot: self.boot.saturating_add(time), wall: self.wall.saturating_add(time.as_secs()) }
    }

    /// How long it is from `self` to `later`; nothing when that has passed.
    pub fn until(self, later: Self) -> Duration {
        later.boot.saturating_sub(self.boot)
    }
}

impl fmt::Display for Moment {
    /// The wall clock in UTC, such as `2026-03-01 12:30:05 UTC`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = civil(self.wall / 86_400);
        let second = self.wall % 86_400;
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        write!(f, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
    }
}

/// The date that lies this many days after 1970-01-01, by counting eras of 400 years from a March.
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

/// Something that tells the time.
pub trait Clock {
    /// The present moment.
    fn now(&self) -> Moment;
}

/// The machine's clocks.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Moment {
        let read = |clock| clock_gettime(clock).map_or(Duration::ZERO, Duration::from);
        Moment { boot: read(ClockId::CLOCK_BOOTTIME), wall: read(ClockId::CLOCK_REALTIME).as_secs() }
    }
}

/// What names one life of a network namespace: kernel state made in one is gone in another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Incarnation(String);

impl Incarnation {
    /// A life with this name; for hosts that are not the running kernel.
    pub fn named(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// The life of the namespace that the calling thread is in: that of the boot, and which namespace.
    pub fn of_host() -> Result<Self, Error> {
        let own = NetnsId::of(Path::new(NetnsId::OWN))?;
        Ok(Self(format!("{}{BESIDE}{own}", boot_id()?)))
    }

    /// Whether both are namespaces without a name of the same boot, and not the same one. Nobody can
    /// tell whether the other one is still there.
    pub fn is_beside(&self, other: &Self) -> bool {
        match (self.0.split_once(BESIDE), other.0.split_once(BESIDE)) {
            (Some((boot, own)), Some((same, beside))) => boot == same && own != beside,
            (None, _) | (_, None) => false,
        }
    }

    /// The life of a namespace that is bound to a file, such as `/run/netns/blue`.
    ///
    /// The kernel gives numbers of namespaces out again; the time at which this one was bound tells
    /// a namespace that was deleted and recreated apart from its predecessor.
    pub fn of_netns(file: &Path) -> Result<Self, Error> {
        let boot = boot_id()?;
        let facts = std::fs::metadata(file).at("look at the namespace", file)?;
        Ok(Self(format!("{boot}/{}/{}.{:09}", facts.ino(), facts.ctime(), facts.ctime_nsec())))
    }
}

/// Stands between the boot and the namespace.
const BESIDE: &str = " net:";

fn boot_id() -> Result<String, Error> {
    const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
    let id = std::fs::read_to_string(BOOT_ID).at("read the boot id from", Path::new(BOOT_ID))?;
    Ok(id.trim().to_owned())
}

/// What tells the network namespaces of one moment apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetnsId {
    device: u64,
    /// The number that `ls -l /proc/PID/ns` shows.
    pub inode: u64,
}

impl NetnsId {
    /// The file of the calling thread's namespace.
    pub const OWN: &str = "/proc/thread-self/ns/net";

    /// The file of the first process' namespace: the machine's own, or the container's.
    pub const FIRST: &str = "/proc/1/ns/net";

    /// The namespace that a file stands for.
    pub fn of(file: &Path) -> Result<Self, Error> {
        let facts = std::fs::metadata(file).at("look at the namespace", file)?;
        Ok(Self { device: facts.dev(), inode: facts.ino() })
    }
}

impl fmt::Display for NetnsId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.device, self.inode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_namespaces_of_one_boot_are_beside_each_other() {
        let life = Incarnation::named;
        assert!(life("boot-1 net:4:77").is_beside(&life("boot-1 net:4:78")));
        assert!(!life("boot-1 net:4:77").is_beside(&life("boot-1 net:4:77")));
        assert!(!life("boot-1 net:4:77").is_beside(&life("boot-2 net:4:78")));
        assert!(!life("boot-1/77/1.0").is_beside(&life("boot-1/78/2.0")));
    }

    #[test]
    fn a_moment_reads_like_a_date() {
        let show = |wall| Moment { boot: Duration::ZERO, wall }.to_string();
        assert_eq!(show(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(show(951_782_399), "2000-02-28 23:59:59 UTC");
        assert_eq!(show(951_782_400), "2000-02-29 00:00:00 UTC");
        assert_eq!(show(1_772_368_205), "2026-03-01 12:30:05 UTC");
    }

    #[test]
    fn the_boot_clock_never_goes_back_and_the_host_has_a_name() {
        let first = SystemClock.now();
        assert!(SystemClock.now().boot >= first.boot);
        assert!(first.wall > 1_600_000_000);
        assert_eq!(Incarnation::of_host().unwrap(), Incarnation::of_host().unwrap());
        assert_ne!(Incarnation::of_netns(Path::new("/proc")).unwrap(), Incarnation::of_host().unwrap());
    }
}
