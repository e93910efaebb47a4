//! A stage for one client: its link, its clock, and a server that says what the test says.
//!
//! Everything that the client does is taken from the stage in order, and every packet is compared whole:
//! both addresses of the frame, both of the packet with their ports, every field of the message, and
//! exactly the options that must be there.

use std::{
    collections::VecDeque,
    net::{Ipv4Addr, SocketAddrV4},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use netloom_dhcp::{
    Action, Client, ClientId, Configuration, Input, Kind, Lease, Message, Now, Operation, Options, Remembered,
    Settings, Standing,
    arp::Arp,
    datagram::{Checksums, Datagram, EVERYBODY, Reading},
};
use netloom_types::{Ipv4Net, MacAddr};

pub(crate) const MAC: MacAddr = MacAddr::new([2, 0, 0, 0, 0, 9]);
pub(crate) const SERVER_MAC: MacAddr = MacAddr::new([2, 0, 0, 0, 0, 1]);
pub(crate) const STRANGER: MacAddr = MacAddr::new([2, 0, 0, 0, 0, 0x77]);
pub(crate) const SERVER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
pub(crate) const OTHER_SERVER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
pub(crate) const ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 9);
pub(crate) const NOBODY: Ipv4Addr = Ipv4Addr::UNSPECIFIED;
pub(crate) const LEASE: u64 = 3600;
/// What the client asks servers for, in this order.
pub(crate) const WANTED: [u8; 11] = [1, 121, 3, 6, 15, 26, 28, 51, 54, 58, 59];

pub(crate) fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

pub(crate) fn client_id() -> ClientId {
    ClientId::new("node-1", "mgmt", None)
}

/// A packet, whole.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Packet {
    pub(crate) from_mac: MacAddr,
    pub(crate) to_mac: MacAddr,
    pub(crate) from: SocketAddrV4,
    pub(crate) to: SocketAddrV4,
    pub(crate) message: Message,
}

impl Packet {
    /// A message to everybody from a client without an address, with these options beside its kind and
    /// identifier.
    pub(crate) fn to_everybody(kind: Kind, xid: u32, options: &[(u8, &[u8])]) -> Self {
        let mut message = Message::request(xid, MAC);
        message.options = Options::new().with(53, [kind.number()]).with(61, client_id().bytes());
        for (code, contents) in options {
            message.options = message.options.with(*code, *contents);
        }
        let (from, to) = (SocketAddrV4::new(NOBODY, 68), SocketAddrV4::new(Ipv4Addr::BROADCAST, 67));
        Self { from_mac: MAC, to_mac: EVERYBODY, from, to, message }
    }

    /// A question to everybody, which says what it wants.
    pub(crate) fn question(kind: Kind, xid: u32, options: &[(u8, &[u8])]) -> Self {
        let always: [(u8, &[u8]); 2] = [(55, &WANTED), (57, &[5, 220])];
        Self::to_everybody(kind, xid, &[&always, options].concat())
    }

    pub(crate) fn secs(mut self, secs: u64) -> Self {
        self.message.secs = u16::try_from(secs).expect("an hour or so");
        self
    }

    /// From a client that has the address.
    pub(crate) fn of_holder(mut self) -> Self {
        self.from.set_ip(ADDRESS);
        self.message.ciaddr = ADDRESS;
        self
    }

    /// To the server alone.
    pub(crate) fn for_server(mut self) -> Self {
        self.to.set_ip(SERVER);
        self.to_mac = SERVER_MAC;
        self
    }
}

/// What a server says.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) message: Message,
    pub(crate) from_mac: MacAddr,
    pub(crate) to_mac: MacAddr,
    pub(crate) to: SocketAddrV4,
}

impl Answer {
    /// An answer of the server with everything that an offer needs, to the address that it gives.
    pub(crate) fn new(kind: Kind, xid: u32) -> Self {
        let options = Options::new().with(53, [kind.number()]).with(54, SERVER.octets());
        let mut message = Message { operation: Operation::Reply, options, ..Message::request(xid, MAC) };
        if kind != Kind::Nak {
            message.yiaddr = ADDRESS;
            let [.., a, b, c, d] = LEASE.to_be_bytes();
            message.options = message.options.with(1, [255, 255, 255, 0]).with(51, [a, b, c, d]);
        }
        let to = if kind == Kind::Nak { Ipv4Addr::BROADCAST } else { ADDRESS };
        let to_mac = if kind == Kind::Nak { EVERYBODY } else { MAC };
        Self { message, from_mac: SERVER_MAC, to_mac, to: SocketAddrV4::new(to, 68) }
    }

    pub(crate) fn with(mut self, code: u8, contents: impl Into<Vec<u8>>) -> Self {
        self.message.options = self.message.options.with(code, contents);
        self
    }

    pub(crate) fn without(mut self, code: u8) -> Self {
        self.message.options = self.message.options.without(code);
        self
    }

    pub(crate) fn seconds(self, code: u8, seconds: u32) -> Self {
        self.with(code, seconds.to_be_bytes())
    }

    pub(crate) fn giving(mut self, address: impl Into<Ipv4Addr>) -> Self {
        self.message.yiaddr = address.into();
        self.to = SocketAddrV4::new(Ipv4Addr::BROADCAST, 68);
        self
    }

    pub(crate) fn frame(&self) -> Vec<u8> {
        let (from, payload) = (SocketAddrV4::new(SERVER, 67), self.message.write());
        let (from_mac, to_mac, to) = (self.from_mac, self.to_mac, self.to);
        Datagram { from_mac, to_mac, from, to, payload: &payload }.write()
    }
}

/// A client with its link and its clock.
pub(crate) struct Stage {
    pub(crate) client: Client,
    pub(crate) now: Now,
    /// When the stage began.
    pub(crate) began: Duration,
    actions: VecDeque<Action>,
    reported: VecDeque<Standing>,
}

impl Stage {
    /// The settings that stages have.
    pub(crate) fn settings() -> Settings {
        Settings::new(MAC, client_id(), "boot-1")
    }

    pub(crate) fn start(settings: Settings, remembered: Option<Remembered>, now: Now) -> Self {
        let mut actions = Vec::new();
        let client = Client::start(settings, 42, remembered, now, &mut actions);
        let mut stage =
            Self { client, now, began: now.since_boot, actions: VecDeque::new(), reported: VecDeque::new() };
        stage.put(actions);
        stage
    }

    /// A client without a past, whose link is up.
    pub(crate) fn up_with(change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = Self::settings();
        change(&mut settings);
        let wall = Timestamp::from_second(1_000_000).expect("a day in 1970");
        let mut stage = Self::start(settings, None, Now { since_boot: secs(1000), wall });
        stage.link(true);
        stage
    }

    pub(crate) fn up() -> Self {
        Self::up_with(|_| ())
    }

    /// A client that has an address since the moment at which the stage begins, when the server reported this
    /// beside what it must. Nothing of the way there is left on the stage.
    pub(crate) fn bound_with(change: impl FnOnce(&mut Settings), answer: impl Fn(Answer) -> Answer) -> Self {
        let mut stage = Self::up_with(change);
        let xid = stage.packet().message.xid;
        stage.answer(&answer(Answer::new(Kind::Offer, xid)));
        assert_eq!(stage.packet().message.kind(), Some(Kind::Request));
        stage.began = stage.now.since_boot;
        stage.answer(&answer(Answer::new(Kind::Ack, xid)));
        while stage.client.lease().is_none() {
            stage.wake();
        }
        stage.pass(secs(2));
        stage.actions.clear();
        stage.reported.clear();
        stage
    }

    pub(crate) fn bound() -> Self {
        Self::bound_with(|_| (), |answer| answer)
    }

    fn put(&mut self, actions: Vec<Action>) {
        for action in actions {
            if let Action::Tell(standing) = action {
                assert!(!standing.message().is_empty() && !standing.reason().contains(' '));
                self.reported.push_back(standing);
            } else {
                self.actions.push_back(action);
            }
        }
    }

    pub(crate) fn input(&mut self, input: Input<'_>) {
        let mut actions = Vec::new();
        self.client.handle(input, self.now, &mut actions);
        self.put(actions);
    }

    pub(crate) fn link(&mut self, up: bool) {
        self.input(Input::Link { up });
    }

    pub(crate) fn hear(&mut self, frame: &[u8]) {
        self.input(Input::Frame { bytes: frame, checksums: Checksums::Verify });
    }

    pub(crate) fn answer(&mut self, answer: &Answer) {
        self.hear(&answer.frame());
    }

    pub(crate) fn arp(&mut self, arp: Arp) {
        self.input(Input::Arp(&arp.write()));
    }

    /// Sets both clocks.
    fn set(&mut self, since_boot: Duration) {
        let passed = SignedDuration::try_from(since_boot.saturating_sub(self.now.since_boot)).unwrap();
        self.now = Now { since_boot, wall: self.now.wall + passed };
    }

    /// Goes to the moment that the client asked for; says how long after the stage began that is.
    pub(crate) fn wake(&mut self) -> Duration {
        let at = self.client.wake_at().expect("the client waits for something");
        self.set(at.max(self.now.since_boot));
        self.input(Input::Time);
        self.elapsed()
    }

    /// Wakes the client until it does something else than to tell people.
    pub(crate) fn wake_to_act(&mut self) -> Duration {
        loop {
            let at = self.wake();
            if !self.actions.is_empty() {
                return at;
            }
        }
    }

    /// Lets time pass, and the client do everything that is due in it.
    pub(crate) fn pass(&mut self, time: Duration) {
        let end = self.now.since_boot + time;
        while self.client.wake_at().is_some_and(|at| at <= end) {
            self.wake();
        }
        self.set(end);
    }

    /// Goes to this long after the stage began.
    pub(crate) fn go_to(&mut self, time: Duration) {
        self.pass((self.began + time).saturating_sub(self.now.since_boot));
    }

    /// How long the stage has been going.
    pub(crate) fn elapsed(&self) -> Duration {
        self.now.since_boot.saturating_sub(self.began)
    }

    /// The next thing that the client did.
    pub(crate) fn next(&mut self) -> Action {
        self.actions.pop_front().expect("the client does something")
    }

    /// Nothing else was done.
    pub(crate) fn nothing(&self) {
        assert!(self.actions.is_empty(), "{:?}", self.actions);
    }

    /// Everything that was done and not yet looked at.
    pub(crate) fn rest(&mut self) -> Vec<Action> {
        self.actions.drain(..).collect()
    }

    fn frame(&mut self) -> Vec<u8> {
        match self.next() {
            Action::Send(frame) => frame,
            other => panic!("a frame was expected, not {other:?}"),
        }
    }

    /// The next thing is this message, whole.
    pub(crate) fn packet(&mut self) -> Packet {
        let frame = self.frame();
        let datagram = Datagram::read(&frame, Reading::default()).expect("a frame with right checksums");
        let payload = datagram.payload;
        assert!(payload.len() >= 300, "relays drop shorter ones");
        assert_eq!((payload[3], &payload[34..236]), (0, &[0; 202][..]), "hops, rest of the hardware address, names");
        let Datagram { from_mac, to_mac, from, to, payload } = datagram;
        Packet { from_mac, to_mac, from, to, message: Message::read(payload).unwrap() }
    }

    /// The next thing is an ARP frame.
    pub(crate) fn sent_arp(&mut self) -> Arp {
        let frame = self.frame();
        Arp::read(&frame).expect("a frame of ARP")
    }

    pub(crate) fn hold(&mut self) -> Configuration {
        match self.next() {
            Action::Hold(configuration) => *configuration,
            other => panic!("an address was expected, not {other:?}"),
        }
    }

    pub(crate) fn keep(&mut self) -> Lease {
        match self.next() {
            Action::Keep(lease) => *lease,
            other => panic!("a lease was expected, not {other:?}"),
        }
    }

    pub(crate) fn expect(&mut self, wanted: &Action) {
        assert_eq!(self.next(), *wanted);
    }

    /// What users were notified of since this was last asked.
    pub(crate) fn reported(&mut self) -> Vec<&'static str> {
        self.reported.drain(..).map(|standing| standing.reason()).collect()
    }

    /// The client goes from its first question to the offer that it takes up; gives the number of both.
    pub(crate) fn requesting(&mut self) -> u32 {
        let xid = self.packet().message.xid;
        self.answer(&Answer::new(Kind::Offer, xid));
        assert_eq!(self.packet().message.kind(), Some(Kind::Request));
        xid
    }

    /// The client goes from its first question until it checks the address.
    pub(crate) fn probing(&mut self) -> u32 {
        let xid = self.requesting();
        self.answer(&Answer::new(Kind::Ack, xid));
        self.expect(&Action::Watch(Some(ADDRESS)));
        xid
    }
}

/// The address in its subnet.
pub(crate) fn net() -> Ipv4Net {
    Ipv4Net::new(ADDRESS, 24).unwrap()
}
