//! Questions: when which message is sent, and what is in it.
//!
//! Which fields and options belong into which message is table 5 of RFC 2131.

use std::net::{Ipv4Addr, SocketAddrV4};

use netloom_types::MacAddr;

use super::{Client, State, exchange::Exchange, holding::Held};
use crate::{
    datagram::{Datagram, EVERYBODY},
    effect::Action,
    lease::Lease,
    message::{CLIENT_PORT, Kind, LEAST_LONGEST, LONGEST, Message, SERVER_PORT},
    options::code,
    standing::Standing,
    terms::Terms,
    time::Now,
};

/// What a server shall tell us. Routes stand before routers, as RFC 3442 wants it.
const WANTED: [u8; 11] = [
    code::SUBNET_MASK,
    code::ROUTES,
    code::ROUTERS,
    code::DNS_SERVERS,
    code::DOMAIN,
    code::MTU,
    code::BROADCAST,
    code::LEASE_TIME,
    code::SERVER_ID,
    code::RENEWAL_TIME,
    code::REBINDING_TIME,
];
/// How many questions go unanswered before users are notified: one may be lost, and servers that check an
/// address before they offer it take seconds.
const UNANSWERED: u32 = 2;
/// How many times an offer is taken up before another is looked for: a minute in all.
const REQUESTS: u32 = 4;
/// How many times it is asked whether an address may still be used, before it is used without an answer:
/// twelve seconds. A machine that starts while the server is away shall not wait for long.
const REBOOT_REQUESTS: u32 = 2;
/// What a declined address comes with, for people who read the server's log.
const DECLINED: &[u8] = b"address in use";

impl Client {
    /// Looks for servers.
    pub(super) fn discover(&mut self, now: Now, actions: &mut Vec<Action>) {
        self.complaint = None;
        let exchange = Exchange::new(&mut self.random, now.since_boot);
        self.tell(Standing::Acquiring, actions);
        self.send_discover(exchange, actions);
    }

    pub(super) fn discover_again(&mut self, now: Now, actions: &mut Vec<Action>) {
        let State::Selecting(exchange) = self.state else { return };
        if self.complaint.is_some() || exchange.tries >= UNANSWERED {
            self.tell_unanswered(Standing::NoServer, actions);
        }
        let exchange = exchange.repeated(&mut self.random, now.since_boot).counted(now.since_boot);
        self.send_discover(exchange, actions);
    }

    fn send_discover(&mut self, exchange: Exchange, actions: &mut Vec<Action>) {
        let mut message = self.question(Kind::Discover, exchange);
        if let Some(requested) = self.requested {
            message.options = message.options.with(code::REQUESTED_ADDRESS, requested.octets());
        }
        actions.push(Action::Send(self.to_everybody(Ipv4Addr::UNSPECIFIED, &message)));
        self.state = State::Selecting(exchange);
    }

    /// Takes an offer up. It says the same about the time as what it answers, so that relays treat both alike.
    pub(super) fn request(&mut self, offer: Terms, asked: Exchange, now: Now, actions: &mut Vec<Action>) {
        let fresh = Exchange::new(&mut self.random, now.since_boot);
        let exchange = Exchange { xid: asked.xid, secs: asked.secs, began: asked.began, ..fresh };
        self.complaint = None;
        self.send_request(exchange, Box::new(offer), actions);
    }

    pub(super) fn request_again(&mut self, now: Now, actions: &mut Vec<Action>) {
        let State::Requesting { exchange, offer } = std::mem::replace(&mut self.state, State::Offline) else { return };
        if exchange.tries >= REQUESTS {
            self.tell_unanswered(Standing::ServerSilent(offer.server), actions);
            return self.discover(now, actions);
        }
        let exchange = exchange.repeated(&mut self.random, now.since_boot);
        self.send_request(exchange, offer, actions);
    }

    fn send_request(&mut self, exchange: Exchange, offer: Box<Terms>, actions: &mut Vec<Action>) {
        let mut message = self.question(Kind::Request, exchange);
        message.options = message
            .options
            .with(code::REQUESTED_ADDRESS, offer.address.addr().octets())
            .with(code::SERVER_ID, offer.server.octets());
        actions.push(Action::Send(self.to_everybody(Ipv4Addr::UNSPECIFIED, &message)));
        self.state = State::Requesting { exchange, offer };
    }

    /// Asks whether the lease that is held may still be used.
    pub(super) fn reboot(&mut self, now: Now, actions: &mut Vec<Action>) {
        let Some(address) = self.address() else { return };
        self.complaint = None;
        self.tell(Standing::Confirming(address), actions);
        let exchange = Exchange::new(&mut self.random, now.since_boot);
        self.send_reboot(exchange, address.addr(), actions);
    }

    pub(super) fn reboot_again(&mut self, now: Now, actions: &mut Vec<Action>) {
        let (State::Rebooting(exchange), Some(address)) = (&self.state, self.address()) else { return };
        if exchange.tries >= REBOOT_REQUESTS {
            return self.use_unconfirmed(now, actions);
        }
        let exchange = exchange.repeated(&mut self.random, now.since_boot).counted(now.since_boot);
        self.send_reboot(exchange, address.addr(), actions);
    }

    fn send_reboot(&mut self, exchange: Exchange, address: Ipv4Addr, actions: &mut Vec<Action>) {
        let mut message = self.question(Kind::Request, exchange);
        message.options = message.options.with(code::REQUESTED_ADDRESS, address.octets());
        actions.push(Action::Send(self.to_everybody(Ipv4Addr::UNSPECIFIED, &message)));
        self.state = State::Rebooting(exchange);
    }

    /// Tells that a renewal is not answered, or sends the next one, whichever is due.
    pub(super) fn go_on_asking(&mut self, now: Now, actions: &mut Vec<Action>) {
        let Some(times) = self.held.as_ref().map(|held| held.times) else { return };
        let next = if let State::Renewing(exchange) = self.state {
            times.rebind.min(exchange.again)
        } else if let State::Rebinding(exchange) = self.state {
            exchange.again
        } else {
            return;
        };
        if next <= now.since_boot { self.renew(now, actions) } else { self.tell_not_renewed(actions) }
    }

    /// Tells that the renewal that is open is not answered, or why the answer was of no use; once for each.
    fn tell_not_renewed(&mut self, actions: &mut Vec<Action>) {
        let Some(lease) = self.held.as_ref().map(|held| &held.lease) else { return };
        let (exchange, standing) = if let State::Renewing(exchange) = &mut self.state {
            (exchange, Standing::RenewalUnanswered(lease.server))
        } else if let State::Rebinding(exchange) = &mut self.state {
            (exchange, Standing::RebindingUnanswered(lease.address))
        } else {
            return;
        };
        if exchange.tell.take().is_some() || self.complaint.is_some() {
            self.tell_unanswered(standing, actions);
        }
    }

    /// Asks the server to go on, or any server if it is late.
    pub(super) fn renew(&mut self, now: Now, actions: &mut Vec<Action>) {
        let Some(Held { lease, times, .. }) = &self.held else { return };
        if times.rebind <= now.since_boot {
            return self.rebind(now, actions);
        }
        let (server, server_mac, address) = (lease.server, lease.server_mac, lease.address.addr());
        let rebind = times.rebind;
        self.tell_not_renewed(actions);
        let before = if let State::Renewing(before) = self.state { Some(before) } else { None };
        let exchange = Exchange::within_lease(before, &mut self.random, now.since_boot, Some(rebind));
        let message = Message { ciaddr: address, broadcast: false, ..self.question(Kind::Request, exchange) };
        actions.push(Action::Send(self.to_server(address, server, server_mac, &message)));
        self.state = State::Renewing(exchange);
    }

    /// Asks any server to go on.
    pub(super) fn rebind(&mut self, now: Now, actions: &mut Vec<Action>) {
        let Some(Held { lease, times, .. }) = &self.held else { return };
        let (address, expires) = (lease.address, times.expires);
        self.tell_not_renewed(actions);
        let before = if let State::Renewing(asked) | State::Rebinding(asked) = self.state { Some(asked) } else { None };
        let exchange = Exchange::within_lease(before, &mut self.random, now.since_boot, expires);
        let message = Message { ciaddr: address.addr(), broadcast: false, ..self.question(Kind::Request, exchange) };
        actions.push(Action::Send(self.to_everybody(address.addr(), &message)));
        self.state = State::Rebinding(exchange);
    }

    /// The frame that tells a server that an address is in use.
    pub(super) fn decline(&mut self, lease: &Lease) -> Vec<u8> {
        let mut message = self.short(Kind::Decline, lease);
        message.options =
            message.options.with(code::REQUESTED_ADDRESS, lease.address.addr().octets()).with(code::TEXT, DECLINED);
        self.to_everybody(Ipv4Addr::UNSPECIFIED, &message)
    }

    /// The frame that gives an address back.
    pub(super) fn give_back(&mut self, lease: &Lease) -> Vec<u8> {
        let address = lease.address.addr();
        let message = Message { ciaddr: address, ..self.short(Kind::Release, lease) };
        self.to_server(address, lease.server, lease.server_mac, &message)
    }

    /// A message that nobody answers.
    fn short(&mut self, kind: Kind, lease: &Lease) -> Message {
        let mut message = Message::request(self.random.xid(), self.settings.mac);
        message.options = message
            .options
            .with(code::KIND, [kind.number()])
            .with(code::SERVER_ID, lease.server.octets())
            .with(code::CLIENT_ID, self.settings.client_id.bytes());
        message
    }

    /// A message that asks for an address.
    fn question(&self, kind: Kind, exchange: Exchange) -> Message {
        let longest = self.settings.mtu.clamp(LEAST_LONGEST, u16::try_from(LONGEST).unwrap_or(u16::MAX));
        let mut message = Message::request(exchange.xid, self.settings.mac);
        message.secs = exchange.secs;
        message.broadcast = self.settings.broadcast;
        message.options = message
            .options
            .with(code::KIND, [kind.number()])
            .with(code::CLIENT_ID, self.settings.client_id.bytes())
            .with(code::WANTED, WANTED)
            .with(code::LONGEST_MESSAGE, longest.to_be_bytes());
        if let Some(name) = &self.settings.host_name {
            message.options = message.options.with(code::HOST_NAME, name.as_str());
        }
        message
    }

    fn to_everybody(&self, from: Ipv4Addr, message: &Message) -> Vec<u8> {
        self.framed(from, Ipv4Addr::BROADCAST, EVERYBODY, message)
    }

    fn to_server(&self, from: Ipv4Addr, server: Ipv4Addr, mac: MacAddr, message: &Message) -> Vec<u8> {
        self.framed(from, server, mac, message)
    }

    fn framed(&self, from: Ipv4Addr, to: Ipv4Addr, to_mac: MacAddr, message: &Message) -> Vec<u8> {
        let (from, to) = (SocketAddrV4::new(from, CLIENT_PORT), SocketAddrV4::new(to, SERVER_PORT));
        Datagram { from_mac: self.settings.mac, to_mac, from, to, payload: &message.write() }.write()
    }

    /// Tells that there was no answer, or why the one that came was of no use.
    fn tell_unanswered(&mut self, standing: Standing, actions: &mut Vec<Action>) {
        let standing = self.complaint.take().map_or(standing, Standing::BadOffer);
        self.tell(standing, actions);
    }

    /// Nobody answers, so what is held is used as it is.
    fn use_unconfirmed(&mut self, now: Now, actions: &mut Vec<Action>) {
        let Some(held) = self.held.take() else { return };
        if held.installed {
            self.bind(held, now, actions);
        } else {
            self.probe(held, now, actions);
        }
    }
}
