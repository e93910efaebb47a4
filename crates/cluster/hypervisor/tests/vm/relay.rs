//! Somebody between an agent and libvirt who passes everything on, but refuses to change the link of one NIC.

use std::{
    io::{Read as _, Write as _},
    net::Shutdown,
    os::unix::net::{UnixListener, UnixStream},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    thread,
};

use netloom_libvirt::{
    frame::{Frame, Kind, Receiver, Writer},
    procedure,
};

/// What the relay says.
pub(crate) const WORDS: &str = "the relay does not let it pass";

#[derive(Debug, Clone, Default)]
pub(crate) struct Relay(Arc<Mutex<Option<String>>>);

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
        *self.0.lock().unwrap() = nic.map(str::to_owned);
    }

    fn join(&self, mut client: UnixStream, mut daemon: UnixStream) {
        let (mut to_client, mut from_daemon) = (client.try_clone().unwrap(), daemon.try_clone().unwrap());
        let own = self.clone();
        thread::spawn(move || {
            let mut receiver = Receiver::default();
            while receiver.read(&mut client).is_ok_and(|count| count > 0) {
                while let Ok(Some(call)) = receiver.frame() {
                    let refused = own.0.lock().unwrap().clone().is_some_and(|nic| {
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
        thread::spawn(move || {
            let mut piece = [0; 16_384];
            while let Ok(count @ 1..) = from_daemon.read(&mut piece) {
                if to_client.write_all(&piece[..count]).is_err() {
                    break;
                }
            }
            to_client.shutdown(Shutdown::Both).ok();
        });
    }
}
