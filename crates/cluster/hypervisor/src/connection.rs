//! A connection to libvirt as the lane sees it.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc::channel},
    thread,
    time::Duration,
};

use netloom_libvirt::{Client, Error, Form, Handle, RunState, Scope, code};
use netloom_machine::hypervisor::{Fault, FaultKind, Hypervisor, Running};

use crate::worker::{DRIVER, LIMIT};

/// How long a guest has to notice that a link is down before it is up again.
const PAUSE: Duration = Duration::from_millis(100);

/// How long it is waited for what came of an unplug. A guest that answers does so in a fraction of it; one that does not
/// takes libvirt five seconds.
const UNPLUGGED: Duration = Duration::from_millis(500);

/// A connection.
#[derive(Debug)]
pub struct Connection {
    /// The connection itself.
    pub client: Client,
    socket: PathBuf,
    /// Unplugs that libvirt has not answered yet: the domain and the device.
    unplugs: Arc<Mutex<BTreeSet<Unplug>>>,
}

type Unplug = (String, String);

impl Connection {
    /// A connection to the daemon at a socket.
    pub fn new(client: Client, socket: PathBuf) -> Self {
        Self { client, socket, unplugs: Arc::default() }
    }

    /// Unplugs a device over a connection of its own: a guest that does not answer keeps nobody else waiting. Whether it
    /// is gone is seen in the domain.
    fn unplug(&self, domain: &Handle, xml: &str, scope: Scope) -> Result<(), Fault> {
        let unplug = (domain.name.clone(), xml.to_owned());
        if !under_way(&self.unplugs).insert(unplug.clone()) {
            return Ok(());
        }
        let (tell, told) = channel();
        let (all, socket, domain) = (Arc::clone(&self.unplugs), self.socket.clone(), domain.clone());
        let forgotten = unplug.clone();
        let begun = thread::Builder::new().name("unplug".to_owned()).spawn(move || {
            let client = Client::connect(&socket, DRIVER, LIMIT);
            let done = client.and_then(|mut client| client.detach(&domain, &unplug.1, scope));
            under_way(&all).remove(&unplug);
            // Nobody may wait any more.
            tell.send(done).ok();
        });
        if let Err(error) = begun {
            under_way(&self.unplugs).remove(&forgotten);
            let message = format!("cannot start a thread: {error}");
            return Err(Fault { message, kind: FaultKind::Refused });
        }
        match told.recv_timeout(UNPLUGGED) {
            Ok(done) => asked(done),
            Err(_) => Ok(()),
        }
    }
}

/// A thread that panicked leaves the list as it was.
fn under_way(unplugs: &Mutex<BTreeSet<Unplug>>) -> MutexGuard<'_, BTreeSet<Unplug>> {
    unplugs.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What an error of libvirt means to the lane.
pub(crate) fn fault(error: &Error) -> Fault {
    let kind = match error {
        _ if error.ends_connection() => FaultKind::Gone,
        _ if error.is(code::DEVICE_MISSING) => FaultKind::DeviceMissing,
        _ if [code::OPERATION_INVALID, code::OPERATION_TIMEOUT, code::NO_DOMAIN].iter().any(|code| error.is(*code)) => {
            FaultKind::Busy
        }
        _ => FaultKind::Refused,
    };
    Fault { message: error.to_string(), kind }
}

fn asked<T>(answer: Result<T, Error>) -> Result<T, Fault> {
    answer.map_err(|error| fault(&error))
}

impl Hypervisor for Connection {
    type Domain = Handle;

    fn list(&mut self) -> Result<Vec<(String, bool, Handle)>, Fault> {
        let all = asked(self.client.domains())?;
        Ok(all.into_iter().map(|domain| (domain.name.clone(), domain.is_active(), domain)).collect())
    }

    fn find(&mut self, name: &str) -> Result<Option<(bool, Handle)>, Fault> {
        Ok(asked(self.client.lookup(name))?.map(|domain| (domain.is_active(), domain)))
    }

    fn xml(&mut self, domain: &Handle) -> Result<String, Fault> {
        asked(self.client.xml(domain, Form::Live))
    }

    fn migratable(&mut self, domain: &Handle) -> Result<String, Fault> {
        asked(self.client.xml(domain, Form::Migratable))
    }

    fn running(&mut self, domain: &Handle) -> Result<Running, Fault> {
        Ok(match asked(self.client.state(domain))? {
            RunState::Running | RunState::Paused { by_user: true } => Running::Yes,
            RunState::Paused { by_user: false } => Running::Paused,
            RunState::Off { crashed } => Running::Off { crashed },
        })
    }

    fn define(&mut self, xml: &str) -> Result<Handle, Fault> {
        asked(self.client.define(xml))
    }

    fn start(&mut self, domain: &Handle) -> Result<(), Fault> {
        asked(self.client.start(domain))
    }

    fn resume(&mut self, domain: &Handle) -> Result<(), Fault> {
        asked(self.client.resume(domain))
    }

    fn remove(&mut self, domain: &Handle) -> Result<(), Fault> {
        asked(self.client.destroy(domain))?;
        asked(self.client.undefine(domain))
    }

    fn attach(&mut self, domain: &Handle, xml: &str) -> Result<(), Fault> {
        asked(self.client.attach(domain, xml))
    }

    fn detach(&mut self, domain: &Handle, xml: &str, live_only: bool) -> Result<(), Fault> {
        self.unplug(domain, xml, if live_only { Scope::Live } else { Scope::LiveAndConfig })
    }

    fn update(&mut self, domain: &Handle, xml: &str) -> Result<(), Fault> {
        asked(self.client.update(domain, xml, Scope::LiveAndConfig))
    }

    #[expect(clippy::disallowed_methods, reason = "the guest tells nobody that it has noticed")]
    fn pause(&mut self) {
        std::thread::sleep(PAUSE);
    }
}
