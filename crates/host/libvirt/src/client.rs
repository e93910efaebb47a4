//! One connection to a daemon: one call after the other, events in between.

use std::{
    collections::VecDeque,
    io::{self, ErrorKind, Write as _},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixStream,
    },
    path::Path,
    time::{Duration, Instant},
};

use crate::{
    error::{Error, code},
    event::{self, Event},
    frame::{Frame, Kind, Malformed, Reader, Receiver, Writer},
    procedure,
};

/// A domain as libvirt names it. The number is another one after each start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handle {
    /// Its name.
    pub name: String,
    /// Its uuid.
    pub uuid: [u8; 16],
    /// Its number while it runs, else -1.
    pub id: i32,
}

impl Handle {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let name = reader.text()?;
        let uuid = reader.fixed(16)?.try_into().map_err(|_| Malformed)?;
        Ok(Self { name, uuid, id: reader.signed()? })
    }

    /// Writes it down for a call.
    #[must_use]
    pub fn write(&self, writer: Writer) -> Writer {
        writer.text(&self.name).fixed(&self.uuid).number(self.id.cast_unsigned())
    }

    /// Whether it runs, paused or not.
    pub fn is_active(&self) -> bool {
        self.id >= 0
    }
}

/// Which of its texts a domain is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As it runs now.
    Live,
    /// As it will be started the next time.
    Inactive,
    /// As another daemon takes it, with its passwords.
    Migratable,
}

/// What a change of a device is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The running domain and its definition.
    LiveAndConfig,
    /// The running domain alone.
    Live,
}

/// Whether a domain runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunState {
    /// It runs.
    Running,
    /// It is paused; whether that is since somebody asked for it.
    Paused {
        /// Whether a user did.
        by_user: bool,
    },
    /// It does not run; whether it broke.
    Off {
        /// Whether it crashed.
        crashed: bool,
    },
}

/// Where a domain goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// The daemon there, as the daemon here reaches it.
    pub daemon: String,
    /// Where the memory goes; none for where that daemon says.
    pub data: Option<String>,
    /// What the domain is there.
    pub xml: String,
}

/// A connection.
#[derive(Debug)]
pub struct Client {
    stream: UnixStream,
    receiver: Receiver,
    events: VecDeque<Event>,
    serial: u32,
    limit: Duration,
    calls: u64,
}

/// Starting a guest, or waiting for it to let go of a device, takes longer than an answer.
const PATIENT: u32 = 6;

impl Client {
    /// Connects, and asks for all events that are known here. Each call may take `limit`.
    pub fn connect(socket: &Path, driver: &str, limit: Duration) -> Result<Self, Error> {
        let connect = |source| Error::Connect { socket: socket.to_owned(), source };
        let stream = UnixStream::connect(socket).map_err(connect)?;
        Self::over(stream, driver, limit)
    }

    /// The same over a socket that is connected.
    pub fn over(stream: UnixStream, driver: &str, limit: Duration) -> Result<Self, Error> {
        let (receiver, events) = (Receiver::default(), VecDeque::new());
        let mut client = Self { stream, receiver, events, serial: 0, limit, calls: 0 };
        let kinds = client.call(procedure::AUTH_LIST, "say who may ask", Writer::default())?;
        let mut reader = Reader::new(&kinds);
        for _ in 0..reader.count(4)? {
            match reader.number()? {
                0 => {}
                other => return Err(Error::Authentication(other)),
            }
        }
        let open = Writer::default().optional(Some(driver)).number(0);
        client.call(procedure::CONNECT_OPEN, "open its driver", open)?;
        for kind in event::ASKED_FOR {
            // The number of the kind, and no domain: those of all.
            let asked = Writer::default().number(kind).number(0);
            client.call(procedure::CONNECT_DOMAIN_EVENT_CALLBACK_REGISTER_ANY, "tell what happens", asked)?;
        }
        Ok(client)
    }

    /// How many calls were made.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// All domains, running or not.
    pub fn domains(&mut self) -> Result<Vec<Handle>, Error> {
        let asked = Writer::default().number(1).number(0);
        let answer = self.call(procedure::CONNECT_LIST_ALL_DOMAINS, "list its domains", asked)?;
        let mut reader = Reader::new(&answer);
        let count = reader.count(24)?;
        (0..count).map(|_| Ok(Handle::read(&mut reader)?)).collect()
    }

    /// A domain by its name; none where there is none.
    pub fn lookup(&mut self, name: &str) -> Result<Option<Handle>, Error> {
        let answer = self.call(procedure::DOMAIN_LOOKUP_BY_NAME, "find a domain", Writer::default().text(name));
        match answer {
            Ok(answer) => Ok(Some(Handle::read(&mut Reader::new(&answer))?)),
            Err(error) if error.is(code::NO_DOMAIN) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// What a domain is.
    pub fn xml(&mut self, domain: &Handle, form: Form) -> Result<String, Error> {
        let flags = match form {
            Form::Live => 0,
            Form::Inactive => 2,
            // With its passwords: the other daemon has nothing else to take them from.
            Form::Migratable => 8 | 1,
        };
        let asked = domain.write(Writer::default()).number(flags);
        let answer = self.call(procedure::DOMAIN_GET_XML_DESC, "print a domain", asked)?;
        Ok(Reader::new(&answer).text()?)
    }

    /// Whether a domain runs.
    pub fn state(&mut self, domain: &Handle) -> Result<RunState, Error> {
        let asked = domain.write(Writer::default()).number(0);
        let answer = self.call(procedure::DOMAIN_GET_STATE, "say whether a domain runs", asked)?;
        let mut reader = Reader::new(&answer);
        let (state, reason) = (reader.signed()?, reader.signed()?);
        Ok(match state {
            3 => RunState::Paused { by_user: reason == 1 },
            5 => RunState::Off { crashed: reason == 3 },
            6 => RunState::Off { crashed: true },
            _ => RunState::Running,
        })
    }

    /// Defines a domain.
    pub fn define(&mut self, xml: &str) -> Result<Handle, Error> {
        // The first one of a daemon's life also finds out what its QEMU can do.
        let answer = self.patient(procedure::DOMAIN_DEFINE_XML, "define a domain", Writer::default().text(xml))?;
        Ok(Handle::read(&mut Reader::new(&answer))?)
    }

    /// Starts a domain that is defined.
    pub fn start(&mut self, domain: &Handle) -> Result<(), Error> {
        let asked = domain.write(Writer::default());
        self.patient(procedure::DOMAIN_CREATE, "start a domain", asked).map(drop)
    }

    /// Lets a paused domain go on.
    pub fn resume(&mut self, domain: &Handle) -> Result<(), Error> {
        let asked = domain.write(Writer::default());
        self.call(procedure::DOMAIN_RESUME, "let a domain go on", asked).map(drop)
    }

    /// Ends a domain at once; one that does not run is as good.
    pub fn destroy(&mut self, domain: &Handle) -> Result<(), Error> {
        let asked = domain.write(Writer::default());
        match self.patient(procedure::DOMAIN_DESTROY, "end a domain", asked) {
            Err(error) if !error.is(code::OPERATION_INVALID) && !error.is(code::NO_DOMAIN) => Err(error),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Takes the definition of a domain away; one that has none is as good.
    pub fn undefine(&mut self, domain: &Handle) -> Result<(), Error> {
        let asked = domain.write(Writer::default());
        match self.call(procedure::DOMAIN_UNDEFINE, "take a definition away", asked) {
            Err(error) if !error.is(code::NO_DOMAIN) => Err(error),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Plugs a device in.
    pub fn attach(&mut self, domain: &Handle, xml: &str) -> Result<(), Error> {
        let asked = change(domain, xml, Scope::LiveAndConfig);
        self.patient(procedure::DOMAIN_ATTACH_DEVICE_FLAGS, "plug a device in", asked).map(drop)
    }

    /// Unplugs a device. Where the guest does not answer this succeeds all the same, and the device is still there.
    pub fn detach(&mut self, domain: &Handle, xml: &str, scope: Scope) -> Result<(), Error> {
        let asked = change(domain, xml, scope);
        self.patient(procedure::DOMAIN_DETACH_DEVICE_FLAGS, "unplug a device", asked).map(drop)
    }

    /// Changes a device.
    pub fn update(&mut self, domain: &Handle, xml: &str, scope: Scope) -> Result<(), Error> {
        let asked = change(domain, xml, scope);
        self.call(procedure::DOMAIN_UPDATE_DEVICE_FLAGS, "change a device", asked).map(drop)
    }

    /// Whether something takes its time with a domain, such as a migration.
    pub fn is_at_work(&mut self, domain: &Handle) -> Result<bool, Error> {
        let asked = domain.write(Writer::default());
        let answer = self.call(procedure::DOMAIN_GET_JOB_INFO, "say what a domain is at", asked)?;
        // With a known end or without one; everything else is over or never was.
        Ok(matches!(Reader::new(&answer).signed()?, 1 | 2))
    }

    /// Brings a running domain to another daemon, which has its definition afterwards and this one none. Takes as long as
    /// it takes, and at most `limit`. The definition goes along by itself: what runs is no definition.
    pub fn migrate(&mut self, domain: &Handle, to: &Destination, limit: Duration) -> Result<(), Error> {
        // Live, from daemon to daemon, persistent there, undefined here.
        const FLAGS: u32 = 1 | 2 | 8 | 16;
        const TEXT: u32 = 7;
        let mut params = vec![("destination_xml", to.xml.as_str())];
        params.extend(to.data.as_deref().map(|data| ("migrate_uri", data)));
        let mut asked = domain.write(Writer::default()).optional(Some(&to.daemon));
        asked = asked.number(u32::try_from(params.len()).unwrap_or_default());
        for (name, value) in params {
            asked = asked.text(name).number(TEXT).text(value);
        }
        let asked = asked.opaque(&[]).number(FLAGS);
        self.call_within(procedure::DOMAIN_MIGRATE_PERFORM3_PARAMS, "move a domain", asked, limit).map(drop)
    }

    /// Something that happened and was not told yet.
    pub fn event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Reads what is there without waiting; whoever waits for the socket calls this when it can be read.
    pub fn read_events(&mut self) -> Result<(), Error> {
        self.stream.set_nonblocking(true).map_err(Error::Socket)?;
        let read = self.receiver.read(&mut self.stream);
        self.stream.set_nonblocking(false).map_err(Error::Socket)?;
        match read {
            Ok(0) => return Err(Error::Closed("tell what happens")),
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => return Err(Error::Socket(error)),
        }
        while let Some(frame) = self.receiver.frame()? {
            self.take_event(&frame)?;
        }
        Ok(())
    }

    fn take_event(&mut self, frame: &Frame) -> Result<(), Error> {
        // Who does not follow for so long reads all domains again anyway.
        const MOST: usize = 4096;
        if frame.ours && frame.kind == Kind::Event && self.events.len() < MOST {
            self.events.extend(Event::read(frame)?);
        }
        Ok(())
    }

    fn call(&mut self, procedure: u32, doing: &'static str, body: Writer) -> Result<Vec<u8>, Error> {
        self.call_within(procedure, doing, body, self.limit)
    }

    fn patient(&mut self, procedure: u32, doing: &'static str, body: Writer) -> Result<Vec<u8>, Error> {
        self.call_within(procedure, doing, body, self.limit * PATIENT)
    }

    #[expect(clippy::disallowed_methods, reason = "a time limit on a socket needs a clock")]
    fn call_within(
        &mut self,
        procedure: u32,
        doing: &'static str,
        body: Writer,
        limit: Duration,
    ) -> Result<Vec<u8>, Error> {
        self.serial = self.serial.wrapping_add(1);
        self.calls += 1;
        let end = Instant::now() + limit;
        self.stream.set_write_timeout(Some(limit)).map_err(Error::Socket)?;
        let failed = |error: io::Error| match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => Error::Silent { doing, limit },
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => Error::Closed(doing),
            _ => Error::Socket(error),
        };
        self.stream.write_all(&Frame::call(procedure, self.serial, body.done()).bytes()).map_err(failed)?;
        loop {
            while let Some(frame) = self.receiver.frame()? {
                if frame.kind != Kind::Reply || !frame.ours || frame.serial != self.serial {
                    self.take_event(&frame)?;
                } else if frame.failed {
                    return Err(refusal(&frame.body)?);
                } else {
                    return Ok(frame.body);
                }
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Error::Silent { doing, limit });
            }
            self.stream.set_read_timeout(Some(left)).map_err(Error::Socket)?;
            match self.receiver.read(&mut self.stream) {
                Ok(0) => return Err(Error::Closed(doing)),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }
}

impl Drop for Client {
    /// Says good-bye, as far as that does not take time.
    fn drop(&mut self) {
        let farewell = Frame::call(procedure::CONNECT_CLOSE, self.serial.wrapping_add(1), Vec::new()).bytes();
        if self.stream.set_nonblocking(true).is_ok() {
            self.stream.write_all(&farewell).ok();
        }
    }
}

impl AsFd for Client {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

fn change(domain: &Handle, xml: &str, scope: Scope) -> Writer {
    let flags = match scope {
        Scope::LiveAndConfig => 3,
        Scope::Live => 1,
    };
    domain.write(Writer::default()).text(xml).number(flags)
}

fn refusal(body: &[u8]) -> Result<Error, Malformed> {
    let mut reader = Reader::new(body);
    let (code, _part) = (reader.signed()?, reader.signed()?);
    let message = reader.optional()?.unwrap_or_else(|| format!("libvirt refused with error {code} and no words"));
    Ok(Error::Refused { code, message })
}
