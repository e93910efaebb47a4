//! Somebody between an agent and libvirt who passes everything on, but refuses to change the link of one NIC. What passes
//! is noted: when a change of a link was answered.

use std::{
    io::{Read as _, Write as _},
    net::Shutdown,
    os::unix::net::{UnixListener, UnixStream},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    thread,
    time::Instant,
};

use netloom_libvirt::{
    frame::{Frame, Kind, Receiver, Writer},
    procedure,
};

/// What the relay says.
pub(crate) const WORDS: &str = "the relay does not let it pass";

#[derive(Debug, Clone, Default)]
pub(crate) struct Relay {
    refused: Arc<Mutex<Option<String>>>,
    updated: Arc<Mutex<Vec<Instant>>>,
}

impl Relay {
    /// Listens at `front` and passes on to `back`.
    pub(crate) fn start(front: &Path, back: PathBuf) -> Self {
        let relay = Self::default();
        let (listener, own) = (UnixListener::bind(front).unwrap(), relay.clone());
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(daemon) = UnixStream::connect(&back) else { continue };
                own.join(client, daemon);
            }
        });
        relay
    }

    /// From now on it refuses changes of this NIC; none: it passes everything on.
    pub(crate) fn refuse(&self, nic: Option<&str>) {
        *self.refused.lock().unwrap() = nic.map(str::to_owned);
    }

    /// When each change of a device was answered by the daemon, and not refused.
    pub(crate) fn updated(&self) -> Vec<Instant> {
        self.updated.lock().unwrap().clone()
    }

    #[expect(clippy::disallowed_methods, reason = "it measures")]
    fn note(&self, passed: &mut Receiver, mut bytes: &[u8]) {
        passed.read(&mut bytes).unwrap();
        while let Ok(Some(frame)) = passed.frame() {
            let is_update = frame.kind == Kind::Reply && frame.procedure == procedure::DOMAIN_UPDATE_DEVICE_FLAGS;
            if is_update && !frame.failed {
                self.updated.lock().unwrap().push(Instant::now());
            }
        }
    }

    fn join(&self, mut client: UnixStream, mut daemon: UnixStream) {
        let (mut to_client, mut from_daemon) = (client.try_clone().unwrap(), daemon.try_clone().unwrap());
        let own = self.clone();
        thread::spawn(move || {
            let mut receiver = Receiver::default();
            while receiver.read(&mut client).is_ok_and(|count| count > 0) {
                while let Ok(Some(call)) = receiver.frame() {
                    let refused = own.refused.lock().unwrap().clone().is_some_and(|nic| {
                        let alias = format!("ua-{nic}'");
                        call.procedure == procedure::DOMAIN_UPDATE_DEVICE_FLAGS
                            && String::from_utf8_lossy(&call.body).contains(&alias)
                    });
                    let passed = if refused {
                        let body = Writer::default().number(84).number(10).optional(Some(WORDS)).done();
                        client.write_all(&Frame { kind: Kind::Reply, failed: true, body, ..call }.bytes())
                    } else {
                        daemon.write_all(&call.bytes())
                    };
                    if passed.is_err() {
                        break;
                    }
                }
            }
            daemon.shutdown(Shutdown::Both).ok();
        });
        let own = self.clone();
        thread::spawn(move || {
            let (mut piece, mut passed) = ([0; 16_384], Receiver::default());
            while let Ok(count @ 1..) = from_daemon.read(&mut piece) {
                own.note(&mut passed, &piece[..count]);
                if to_client.write_all(&piece[..count]).is_err() {
                    break;
                }
            }
            to_client.shutdown(Shutdown::Both).ok();
        });
    }
}
