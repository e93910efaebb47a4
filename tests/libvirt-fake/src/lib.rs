//! A libvirtd in memory. It speaks the frames of the real one on a socket, has domains without guests, and takes note of
//! every call. It changes devices as the real one does: by their alias, in the running domain and in its definition at once.

mod domains;

use std::{
    io::{self, Write as _},
    os::unix::net::{UnixListener, UnixStream},
    path::Path,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use netloom_libvirt::{
    frame::{Frame, Kind, Receiver, Writer},
    procedure,
};

use crate::domains::Domains;

/// A call that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Its number.
    pub procedure: u32,
    /// The domain that it was about; empty where it was about none.
    pub domain: String,
}

/// What a daemon does instead of answering.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It says nothing.
    Silence,
    /// It ends the connection.
    Gone,
    /// It sends a length that no frame can have.
    Nonsense,
}

/// Whether a call meets with a fault.
type Faults = Box<dyn Fn(&Call) -> Option<Fault> + Send>;

#[derive(Default)]
struct State {
    domains: Domains,
    calls: Vec<Call>,
    clients: Vec<UnixStream>,
    faults: Option<Faults>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    called: Condvar,
}

impl Shared {
    /// A thread that panicked leaves it as it was.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A daemon; its threads end with the process.
#[derive(Clone, Default)]
pub struct Daemon(Arc<Shared>);

impl Daemon {
    /// Listens at a socket.
    pub fn start(socket: &Path) -> io::Result<Self> {
        let daemon = Self::default();
        let (listener, own) = (UnixListener::bind(socket)?, daemon.clone());
        thread::Builder::new().name("libvirt-fake".to_owned()).spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let own = own.clone();
                thread::spawn(move || own.serve(stream));
            }
        })?;
        Ok(daemon)
    }

    /// From now on calls meet with these faults.
    pub fn break_by(&self, faults: impl Fn(&Call) -> Option<Fault> + Send + 'static) {
        self.0.lock().faults = Some(Box::new(faults));
    }

    /// From now on it answers again.
    pub fn mend(&self) {
        self.0.lock().faults = None;
    }

    /// What was called since the last time that this was asked.
    pub fn take_calls(&self) -> Vec<Call> {
        std::mem::take(&mut self.0.lock().calls)
    }

    /// Waits until the calls are so; whether they are so in time.
    pub fn wait(&self, limit: Duration, is: impl Fn(&[Call]) -> bool) -> bool {
        let state = self.0.lock();
        let waited = self.0.called.wait_timeout_while(state, limit, |state| !is(&state.calls));
        waited.is_ok_and(|(_, result)| !result.timed_out())
    }

    /// What a domain is; none where there is none.
    pub fn text(&self, domain: &str) -> Option<String> {
        self.0.lock().domains.text(domain)
    }

    /// The domains that run.
    pub fn running(&self) -> Vec<String> {
        self.0.lock().domains.running()
    }

    /// Somebody else changes a domain; nobody is told of it.
    pub fn change(&self, domain: &str, change: impl FnOnce(String) -> String) {
        self.0.lock().domains.change(domain, change);
    }

    /// Tells everybody that something happened to a domain.
    pub fn tell(&self, domain: &str) {
        let mut state = self.0.lock();
        let Some(handle) = state.domains.handle(domain) else { return };
        let body = handle.write(Writer::default().number(0)).number(4).number(0).done();
        let procedure = procedure::DOMAIN_EVENT_CALLBACK_LIFECYCLE;
        let event = Frame { ours: true, procedure, kind: Kind::Event, serial: 0, failed: false, body }.bytes();
        state.clients.retain_mut(|client| client.write_all(&event).is_ok());
    }

    fn serve(&self, mut stream: UnixStream) {
        if let Ok(client) = stream.try_clone() {
            self.0.lock().clients.push(client);
        }
        let mut receiver = Receiver::default();
        while receiver.read(&mut stream).is_ok_and(|count| count > 0) {
            while let Ok(Some(frame)) = receiver.frame() {
                if !self.answer(&frame, &mut stream) {
                    stream.shutdown(std::net::Shutdown::Both).ok();
                    return;
                }
            }
        }
    }

    /// Answers a call; whether the connection stays.
    fn answer(&self, frame: &Frame, stream: &mut UnixStream) -> bool {
        let mut state = self.0.lock();
        let call = Call { procedure: frame.procedure, domain: domains::named(frame) };
        let fault = state.faults.as_ref().and_then(|faults| faults(&call));
        state.calls.push(call);
        self.0.called.notify_all();
        match fault {
            None if frame.procedure == procedure::CONNECT_CLOSE => true,
            // Nobody else writes to the stream while the state is held.
            None => stream.write_all(&state.domains.answer(frame).bytes()).is_ok(),
            Some(Fault::Silence) => true,
            Some(Fault::Gone) => false,
            Some(Fault::Nonsense) => stream.write_all(&u32::MAX.to_be_bytes()).is_ok(),
        }
    }
}
