//! A connection to libvirt as the lane sees it.

use std::time::Duration;

use netloom_libvirt::{Client, Error, Form, Handle, RunState, Scope, code};
use netloom_machine::hypervisor::{Fault, FaultKind, Hypervisor, Running};

/// How long a guest has to notice that a link is down before it is up again.
const PAUSE: Duration = Duration::from_millis(100);

/// A connection.
#[derive(Debug)]
pub struct Connection(pub Client);

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
        let all = asked(self.0.domains())?;
        Ok(all.into_iter().map(|domain| (domain.name.clone(), domain.is_active(), domain)).collect())
    }

    fn find(&mut self, name: &str) -> Result<Option<(bool, Handle)>, Fault> {
        Ok(asked(self.0.lookup(name))?.map(|domain| (domain.is_active(), domain)))
    }

    fn xml(&mut self, domain: &Handle) -> Result<String, Fault> {
        asked(self.0.xml(domain, Form::Live))
    }

    fn migratable(&mut self, domain: &Handle) -> Result<String, Fault> {
        asked(self.0.xml(domain, Form::Migratable))
    }

    fn running(&mut self, domain: &Handle) -> Result<Running, Fault> {
        Ok(match asked(self.0.state(domain))? {
            RunState::Running | RunState::Paused { by_user: true } => Running::Yes,
            RunState::Paused { by_user: false } => Running::Paused,
            RunState::Off { crashed } => Running::Off { crashed },
        })
    }

    fn define(&mut self, xml: &str) -> Result<Handle, Fault> {
        asked(self.0.define(xml))
    }

    fn start(&mut self, domain: &Handle) -> Result<(), Fault> {
        asked(self.0.start(domain))
    }

    fn resume(&mut self, domain: &Handle) -> Result<(), Fault> {
        asked(self.0.resume(domain))
    }

    fn remove(&mut self, domain: &Handle) -> Result<(), Fault> {
        asked(self.0.destroy(domain))?;
        asked(self.0.undefine(domain))
    }

    fn attach(&mut self, domain: &Handle, xml: &str) -> Result<(), Fault> {
        asked(self.0.attach(domain, xml))
    }

    fn detach(&mut self, domain: &Handle, xml: &str, live_only: bool) -> Result<(), Fault> {
        let scope = if live_only { Scope::Live } else { Scope::LiveAndConfig };
        asked(self.0.detach(domain, xml, scope))
    }

    fn update(&mut self, domain: &Handle, xml: &str) -> Result<(), Fault> {
        asked(self.0.update(domain, xml, Scope::LiveAndConfig))
    }

    #[expect(clippy::disallowed_methods, reason = "the guest tells nobody that it has noticed")]
    fn pause(&mut self) {
        std::thread::sleep(PAUSE);
    }
}
