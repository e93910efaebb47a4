//! Network namespaces: naming them, working inside them, making and deleting them.
//!
//! A namespace is a property of a thread. The only way into one here is a [`Worker`]: an operating
//! system thread of its own that enters the namespace once, at its start, and never leaves it. No
//! caller's thread ever changes its namespace, so nobody can forget to change back. For the namespace
//! that a whole program is in, the caller's thread will do.
//!
//! `/proc/sys/net` shows the namespace of the thread that reads, and a socket stays in the namespace
//! of the thread that made it; both follow from the worker without further care.

use std::{
    fmt,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError, mpsc},
    thread,
};

use netloom_model::EngineError;
use nix::{
    mount::{MntFlags, MsFlags, mount, umount2},
    sched::{CloneFlags, setns, unshare},
};

/// A network namespace.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Namespace {
    /// The one that this process was started in.
    #[default]
    Host,
    /// One of `ip netns`, by name.
    Named(String),
    /// One by the path of its file.
    Path(PathBuf),
}

impl Namespace {
    /// Where named namespaces are, as `ip netns` has it.
    pub const NAMED: &str = "/run/netns";

    /// The namespace that a person names: a path when there is a slash in it.
    pub fn from_text(text: &str) -> Self {
        if text.contains('/') { Self::Path(PathBuf::from(text)) } else { Self::Named(text.to_owned()) }
    }

    /// The file that stands for it, none for the own one.
    pub fn file(&self) -> Option<PathBuf> {
        match self {
            Self::Host => None,
            Self::Named(name) => Some(Path::new(Namespace::NAMED).join(name)),
            Self::Path(path) => Some(path.clone()),
        }
    }

    /// The name by which programs find its files under `/etc/netns`.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Named(name) => Some(name),
            Self::Path(path) if path.parent() == Some(Path::new(Namespace::NAMED)) => path.file_name()?.to_str(),
            Self::Host | Self::Path(_) => None,
        }
    }

    fn failed(&self, doing: &str, why: impl fmt::Display) -> EngineError {
        EngineError { doing: format!("{doing} {self}"), why: why.to_string() }
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host => f.write_str("the host's network namespace"),
            Self::Named(name) => write!(f, "network namespace {name}"),
            Self::Path(path) => write!(f, "network namespace {}", path.display()),
        }
    }
}

/// A piece of work for a worker's thread.
type Job<S> = Box<dyn FnOnce(&mut S) + Send>;

/// Somebody who works inside a namespace, with a state `S` that only their jobs see.
#[derive(Debug)]
pub struct Worker<S> {
    namespace: Namespace,
    place: Place<S>,
}

/// Where the jobs run.
#[derive(Debug)]
enum Place<S> {
    /// On the thread that asks.
    Here(Mutex<S>),
    /// On a thread of their own. `None` only while dropping: closing the channel ends the thread.
    Thread { jobs: Option<mpsc::Sender<Job<S>>>, thread: Option<thread::JoinHandle<()>> },
}

impl<S: 'static> Worker<S> {
    /// Makes a worker without a thread, in the namespace that the caller is in. The caller must stay
    /// there: names of links and files mean something else in another one.
    pub fn here(make: impl FnOnce() -> Result<S, EngineError>) -> Result<Self, EngineError> {
        Ok(Self { namespace: Namespace::Host, place: Place::Here(Mutex::new(make()?)) })
    }

    /// The state, when the caller may use it without a thread in between.
    pub fn state_here(&mut self) -> Option<&mut S> {
        match &mut self.place {
            Place::Here(state) => Some(state.get_mut().unwrap_or_else(PoisonError::into_inner)),
            Place::Thread { .. } => None,
        }
    }

    /// Starts a thread in the namespace and makes its state there.
    pub fn start(
        namespace: Namespace,
        make: impl FnOnce() -> Result<S, EngineError> + Send + 'static,
    ) -> Result<Self, EngineError> {
        let (jobs, inbox) = mpsc::channel::<Job<S>>();
        let (started, start) = mpsc::sync_channel(1);
        let inside = namespace.clone();
        let body = move || match enter(&inside).and_then(|()| make()) {
            Ok(mut state) => {
                if started.send(Ok(())).is_ok() {
                    for job in inbox {
                        job(&mut state);
                    }
                }
            }
            Err(failed) => drop(started.send(Err(failed))),
        };
        let thread = thread::Builder::new()
            .name("netns".to_owned())
            .spawn(body)
            .map_err(|e| namespace.failed("start a thread for", e))?;
        start.recv().map_err(|_| namespace.failed("start a thread for", "it ended at once"))??;
        Ok(Self { namespace, place: Place::Thread { jobs: Some(jobs), thread: Some(thread) } })
    }

    /// The namespace.
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Runs `job` inside the namespace and waits for its result. Jobs run one after another.
    pub fn run<R: Send + 'static>(&self, job: impl FnOnce(&mut S) -> R + Send + 'static) -> Result<R, EngineError> {
        let gone = || self.namespace.failed("work in", "its thread has ended");
        let jobs = match &self.place {
            Place::Here(state) => return Ok(job(&mut state.lock().unwrap_or_else(PoisonError::into_inner))),
            Place::Thread { jobs, thread: _ } => jobs,
        };
        let (answer, result) = mpsc::sync_channel(1);
        let job: Job<S> = Box::new(move |state| drop(answer.send(job(state))));
        jobs.as_ref().ok_or_else(gone)?.send(job).map_err(|_| gone())?;
        result.recv().map_err(|_| gone())
    }
}

impl<S> Drop for Worker<S> {
    fn drop(&mut self) {
        let Place::Thread { jobs, thread } = &mut self.place else { return };
        drop(jobs.take());
        if let Some(thread) = thread.take() {
            // A panic of a job was reported to its caller already.
            drop(thread.join());
        }
    }
}

/// Moves the calling thread into a namespace; only ever called on a thread that ends there.
#[expect(clippy::disallowed_methods, reason = "this is the one place that enters a namespace")]
fn enter(namespace: &Namespace) -> Result<(), EngineError> {
    let Some(path) = namespace.file() else { return Ok(()) };
    let file = File::open(path).map_err(|e| namespace.failed("open", e))?;
    setns(file, CloneFlags::CLONE_NEWNET).map_err(|e| namespace.failed("enter", e))
}

/// Makes a named namespace, as `ip netns add` does.
pub fn create(name: &str) -> Result<(), EngineError> {
    let namespace = Namespace::Named(name.to_owned());
    check_name(name).map_err(|why| namespace.failed("create", why))?;
    let failed = |e: io::Error| namespace.failed("create", e);
    fs::create_dir_all(Namespace::NAMED).map_err(failed)?;
    share_directory().map_err(failed)?;
    let path = Path::new(Namespace::NAMED).join(name);
    File::options().write(true).create_new(true).open(&path).map_err(failed)?;
    // The thread that makes the namespace ends here; the mount keeps the namespace.
    let made = thread::scope(|scope| {
        scope
            .spawn(|| -> nix::Result<()> {
                unshare(CloneFlags::CLONE_NEWNET)?;
                mount(Some("/proc/thread-self/ns/net"), &path, NONE, MsFlags::MS_BIND, NONE)
            })
            .join()
    });
    match made {
        Ok(Ok(())) => Ok(()),
        Ok(Err(e)) => {
            drop(fs::remove_file(&path));
            Err(namespace.failed("create", e))
        }
        Err(_) => Err(namespace.failed("create", "the thread for it ended")),
    }
}

/// Deletes a named namespace; the kernel takes it down when the last process has left it.
pub fn delete(name: &str) -> Result<(), EngineError> {
    let namespace = Namespace::Named(name.to_owned());
    check_name(name).map_err(|why| namespace.failed("delete", why))?;
    let path = Path::new(Namespace::NAMED).join(name);
    // Not mounted is as good: what remains is an empty file.
    let _ = umount2(&path, MntFlags::MNT_DETACH);
    fs::remove_file(&path).map_err(|e| namespace.failed("delete", e))
}

/// The names of all named namespaces, sorted.
pub fn list() -> io::Result<Vec<String>> {
    let mut names = match fs::read_dir(Namespace::NAMED) {
        Ok(entries) => entries
            .map(|entry| entry.map(|e| e.file_name().to_string_lossy().into_owned()))
            .collect::<io::Result<Vec<_>>>()?,
        Err(e) if e.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(e) => return Err(e),
    };
    names.sort_unstable();
    Ok(names)
}

const NONE: Option<&str> = None;

/// Lets mounts in the directory be seen in other mount namespaces, as `ip netns` sets it up.
fn share_directory() -> io::Result<()> {
    let shared = MsFlags::MS_SHARED | MsFlags::MS_REC;
    if mount(Some(""), Namespace::NAMED, NONE, shared, NONE).is_err() {
        // Only a mount point can be shared: make it one.
        mount(Some(Namespace::NAMED), Namespace::NAMED, NONE, MsFlags::MS_BIND | MsFlags::MS_REC, NONE)?;
        mount(Some(""), Namespace::NAMED, NONE, shared, NONE)?;
    }
    Ok(())
}

fn check_name(name: &str) -> Result<(), &'static str> {
    if name.is_empty() || name == "." || name == ".." || name.contains('/') || name.len() > 255 {
        return Err("a name must be a file name");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_makes_a_path() {
        assert_eq!(Namespace::from_text("blue"), Namespace::Named("blue".to_owned()));
        assert_eq!(Namespace::from_text("/proc/1/ns/net"), Namespace::Path("/proc/1/ns/net".into()));
        assert_eq!(Namespace::from_text("/run/netns/blue").name(), Some("blue"));
        assert_eq!(Namespace::from_text("/proc/1/ns/net").name(), None);
    }

    #[test]
    fn names_are_file_names() {
        assert!(check_name("a-b.c").is_ok());
        for bad in ["", ".", "..", "a/b"] {
            assert!(check_name(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn jobs_run_in_order_on_one_thread() {
        let worker = Worker::start(Namespace::Host, || Ok((0, thread::current().id()))).unwrap();
        let first = worker
            .run(|(n, id)| {
                *n += 1;
                (*n, *id == thread::current().id())
            })
            .unwrap();
        let second = worker
            .run(|(n, _)| {
                *n += 1;
                *n
            })
            .unwrap();
        assert_eq!((first, second), ((1, true), 2));
    }

    #[test]
    fn a_namespace_that_does_not_exist_is_an_error_in_words() {
        let missing = Namespace::Named("no-such-namespace-here".to_owned());
        let error = Worker::start(missing, || Ok(())).map(drop).unwrap_err();
        assert!(error.to_string().contains("no-such-namespace-here"), "{error}");
    }

    #[test]
    fn a_panic_in_a_job_does_not_hang_the_caller() {
        let worker = Worker::start(Namespace::Host, || Ok(())).unwrap();
        assert!(worker.run(|()| -> () { panic!("on purpose") }).is_err());
        assert!(worker.run(|()| ()).is_err());
    }
}
