//! A machine with one link and a client on it: sockets, clock and `ip` around what the client decides.

use std::{os::fd::AsFd as _, process::Command, rc::Rc, time::Duration};

use jiff::Timestamp;
use netloom_dhcp::{
    Action, ClientId, Clients, Configuration, Input, Lease, Now, Probing, Remembered, RouteChoice, Settings, arp,
    datagram::{self, Checksums},
    filter,
};
use netloom_journal::{Clock as _, SystemClock};
use netloom_netlink::frames::Frames;
use netloom_testkit::{
    space::{KernelStage, Space, ip},
    timeouts::stretched,
};
use netloom_types::{FilterInstruction, IfName, MacAddr, VlanId};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde_json::Value;

use super::server::Server;

/// The link to the server.
const LINK: &str = "c1";
/// As long as anything may take.
const TIME_LIMIT: Duration = Duration::from_secs(30);
const BOOT: &str = "this-boot";

/// A machine with a client.
pub(crate) struct Node {
    space: Rc<Space>,
    stage: KernelStage,
    frames: Frames,
    clients: Clients,
    settings: Settings,
    link: IfName,
    /// How much later it is for the client than for everybody else.
    later: Duration,
    kept: Option<Lease>,
    reported: Vec<&'static str>,
}

impl Node {
    /// Wires a machine to the server and starts its client.
    pub(crate) fn start(server: &Server, probing: Probing, routes: RouteChoice) -> Result<Self, String> {
        let space = Space::new()?;
        server.wire(&space, LINK, "c0")?;
        Self::on(Rc::new(space), LINK, None, probing, routes)
    }

    /// The same machine with a client on a VLAN of its link.
    pub(crate) fn in_vlan(&self, id: u16) -> Result<Self, String> {
        let (name, number) = (format!("{LINK}.{id}"), id.to_string());
        let at = ["-n", self.space.name(), "link"];
        ip(&[&at[..], &["add", "link", LINK, "name", &name, "up", "type", "vlan", "id", &number]].concat())?;
        let vlan = VlanId::try_from(id).map_err(text)?;
        Self::on(self.space.clone(), &name, Some(vlan), self.settings.probing, self.settings.routes)
    }

    fn on(
        space: Rc<Space>,
        link: &str,
        vlan: Option<VlanId>,
        probing: Probing,
        routes: RouteChoice,
    ) -> Result<Self, String> {
        let stage = space.stage()?;
        let mac: MacAddr = shown(&space, &["link", "show", link])?[0]["address"]
            .as_str()
            .ok_or("the link has no address")?
            .parse()
            .map_err(text)?;
        let link: IfName = link.parse().map_err(text)?;
        let client_id = ClientId::new(space.name(), "mgmt", vlan);
        let settings = Settings { probing, routes, vlan, ..Settings::new(mac, client_id, BOOT) };
        let (clients, frames) = (Clients::new(), Frames::new().map_err(text)?);
        let (later, kept, reported) = (Duration::ZERO, None, Vec::new());
        let mut node = Self { space, stage, frames, clients, settings, link, later, kept, reported };
        node.listen(datagram::ETHERTYPE, filter::messages(mac))?;
        node.restart(None)?;
        Ok(node)
    }

    /// Starts the client again, as a new process would.
    pub(crate) fn restart(&mut self, remembered: Option<Remembered>) -> Result<(), String> {
        let now = self.now();
        self.kept = remembered.as_ref().map(|remembered| remembered.lease.clone());
        self.reported.clear();
        let actions =
            self.clients.put(self.link, self.settings.clone(), now.since_boot.subsec_nanos().into(), remembered, now);
        self.act(actions)?;
        self.tell(Input::Link { up: true })
    }

    /// Tells the client what happened.
    pub(crate) fn tell(&mut self, input: Input<'_>) -> Result<(), String> {
        let now = self.now();
        let actions = self.clients.handle(self.link, input, now);
        self.act(actions)
    }

    /// Lets the client believe that so much time has passed.
    pub(crate) fn later(&mut self, time: Duration) {
        self.later += time;
    }

    /// Goes on until the client has reported this, and not before.
    pub(crate) fn until(&mut self, reason: &str) -> Result<(), String> {
        self.go_on(stretched(TIME_LIMIT), |node| node.reported.contains(&reason))?;
        if self.reported.contains(&reason) {
            return Ok(());
        }
        Err(format!("the client never reported {reason}, but {:?}", self.reported))
    }

    /// Goes on until a lease like this is kept.
    pub(crate) fn until_kept(&mut self, like: impl Fn(&Lease) -> bool) -> Result<(), String> {
        self.go_on(stretched(TIME_LIMIT), |node| node.kept.as_ref().is_some_and(&like))?;
        let kept = self.kept.as_ref().is_some_and(&like);
        if kept { Ok(()) } else { Err(format!("the lease stayed as it was: {:?}", self.kept)) }
    }

    /// Goes on for a time.
    pub(crate) fn pass(&mut self, time: Duration) -> Result<(), String> {
        self.go_on(time, |_| false)
    }

    /// The lease on disk.
    pub(crate) fn kept(&self) -> Result<Lease, String> {
        self.kept.clone().ok_or_else(|| "no lease is kept".to_owned())
    }

    /// The hardware address of the link.
    pub(crate) fn mac(&self) -> MacAddr {
        self.settings.mac
    }

    /// How many frames reached the client.
    pub(crate) fn heard(&self) -> u64 {
        self.clients.get(self.link).map_or(0, |client| client.counts().heard)
    }

    /// The IPv4 address of the link, as `ip` shows it; null when there is none.
    pub(crate) fn addresses(&self) -> Result<Value, String> {
        let all = shown(&self.space, &["-4", "address", "show", "dev", self.link.as_str()])?;
        Ok(all[0]["addr_info"][0].clone())
    }

    /// The routes, as people read them.
    pub(crate) fn routes(&self) -> Result<String, String> {
        let done = Command::new("ip").args(["-n", self.space.name(), "route"]).output().map_err(text)?;
        Ok(String::from_utf8_lossy(&done.stdout).into_owned())
    }

    /// The client's own work: frames, and time.
    fn go_on(&mut self, at_most: Duration, mut enough: impl FnMut(&Self) -> bool) -> Result<(), String> {
        let end = since_boot() + at_most;
        while !enough(self) && since_boot() < end {
            let due = self.clients.wake_at().map(|due| due.saturating_sub(self.later));
            let wait = due.unwrap_or(end).min(end).saturating_sub(since_boot()) + Duration::from_millis(1);
            let timeout = PollTimeout::try_from(wait).map_err(text)?;
            poll(&mut [PollFd::new(self.frames.as_fd(), PollFlags::POLLIN)], timeout).map_err(text)?;
            while let Some((ethertype, bytes)) = self.next_frame()? {
                let input = match ethertype {
                    arp::ETHERTYPE => Input::Arp(&bytes),
                    _ => Input::Frame { bytes: &bytes, checksums: Checksums::Verify },
                };
                self.tell(input)?;
            }
            let now = self.now();
            let due = self.clients.wake(now).into_iter().map(|(_, action)| action).collect();
            self.act(due)?;
        }
        Ok(())
    }

    fn next_frame(&mut self) -> Result<Option<(u16, Vec<u8>)>, String> {
        Ok(self.frames.frame().map_err(text)?.map(|frame| (frame.ethertype, frame.bytes.to_vec())))
    }

    fn act(&mut self, actions: Vec<Action>) -> Result<(), String> {
        for action in actions {
            match action {
                Action::Send(frame) => self.frames.send(self.link, &frame).map_err(text)?,
                Action::Watch(None) => self.frames.remove(self.link, arp::ETHERTYPE),
                Action::Watch(Some(address)) => self.listen(arp::ETHERTYPE, filter::conflicts(address))?,
                Action::Hold(held) => self.hold(&held)?,
                Action::Drop(address) => {
                    ip(&["-n", self.space.name(), "address", "del", &address.to_string(), "dev", self.link.as_str()])?;
                }
                Action::Keep(lease) => self.kept = Some(*lease),
                Action::Forget => self.kept = None,
                Action::Tell(standing) => self.reported.push(standing.reason()),
            }
        }
        Ok(())
    }

    fn hold(&self, held: &Configuration) -> Result<(), String> {
        let time = held.lifetime.map_or_else(|| "forever".to_owned(), |time| time.as_secs().to_string());
        let address = held.address.to_string();
        let at = ["-n", self.space.name()];
        let link = self.link.as_str();
        let set = ["address", "replace", &address, "dev", link, "valid_lft", &time, "preferred_lft", &time];
        ip(&[&at[..], &set].concat())?;
        for route in &held.routes {
            let to = route.to.to_string();
            let via = route.via.map(|via| via.to_string());
            let over: Vec<&str> = via.iter().flat_map(|via| ["via", via.as_str()]).collect();
            let set = ["route", "replace", &to];
            ip(&[&at[..], &set, &over, &["dev", link, "metric", "1024"]].concat())?;
        }
        Ok(())
    }

    fn listen(&mut self, ethertype: u16, program: Vec<FilterInstruction>) -> Result<(), String> {
        let socket = self.stage.host.kernel.frame_socket(self.link, ethertype, program).map_err(text)?.map_err(text)?;
        self.frames.put(socket).map_err(text)
    }

    fn now(&self) -> Now {
        Now { since_boot: since_boot() + self.later, wall: Timestamp::now() }
    }
}

fn since_boot() -> Duration {
    SystemClock.now().boot
}

/// What `ip` says, as values.
fn shown(space: &Space, words: &[&str]) -> Result<Value, String> {
    let done = Command::new("ip").args(["-n", space.name(), "-json"]).args(words).output().map_err(text)?;
    serde_json::from_slice(&done.stdout).map_err(text)
}

fn text(error: impl Into<Box<dyn std::error::Error>>) -> String {
    error.into().to_string()
}
