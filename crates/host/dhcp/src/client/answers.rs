//! Answers: which of them count, and what follows.

use std::net::Ipv4Addr;

use netloom_types::MacAddr;

use super::{Client, State, exchange::Exchange};
use crate::{
    datagram::{Checksums, Datagram, EVERYBODY, Reading},
    effect::Action,
    ignored::Ignored,
    message::{CLIENT_PORT, Kind, Message, Operation},
    options::code,
    terms::{self, Refusal, Terms},
    time::Now,
};

impl Client {
    /// Reads a frame and acts on it, or counts it.
    pub(super) fn frame(&mut self, bytes: &[u8], checksums: Checksums, now: Now, actions: &mut Vec<Action>) {
        self.counts.heard = self.counts.heard.saturating_add(1);
        let judged = self.read(bytes, checksums).and_then(|(from, message)| self.act(&message, from, now, actions));
        if let Err(why) = judged {
            self.counts.ignored = self.counts.ignored.saturating_add(1);
            self.counts.last = Some(why);
        }
    }

    /// The message in a frame and who sent it, if it answers the question that is open.
    fn read(&self, bytes: &[u8], checksums: Checksums) -> Result<(MacAddr, Message), Ignored> {
        let xid = self.open().ok_or(Ignored::Unasked)?.xid;
        let datagram = Datagram::read(bytes, Reading { checksums, vlan: self.settings.vlan })?;
        let to_us = datagram.to_mac == self.settings.mac || datagram.to_mac == EVERYBODY;
        if !to_us
            || datagram.to.port() != CLIENT_PORT
            || datagram.from_mac.is_multicast()
            || datagram.from_mac.is_zero()
        {
            return Err(Ignored::ForOthers);
        }
        if Message::xid_in(datagram.payload).is_some_and(|other| other != xid) {
            return Err(Ignored::OtherQuestion);
        }
        let message = Message::read(datagram.payload)?;
        let ours = [Ipv4Addr::BROADCAST, message.yiaddr, self.address().map_or(message.yiaddr, |held| held.addr())];
        if !ours.contains(datagram.to.ip()) {
            return Err(Ignored::ForOthers);
        }
        if message.operation != Operation::Reply {
            return Err(Ignored::Kind);
        }
        // Servers that know RFC 6842 say whom they answer; those that do not say nothing.
        let id = message.options.get(code::CLIENT_ID);
        if message.chaddr != self.settings.mac || id.is_some_and(|id| id != self.settings.client_id.bytes()) {
            return Err(Ignored::OtherClient);
        }
        Ok((datagram.from_mac, message))
    }

    /// Does what follows from an answer.
    fn act(&mut self, message: &Message, from: MacAddr, now: Now, actions: &mut Vec<Action>) -> Result<(), Ignored> {
        let exchange = *self.open().ok_or(Ignored::Unasked)?;
        match (message.kind(), &self.state) {
            (Some(Kind::Offer), State::Selecting(_)) => {
                let offer = self.terms(message)?;
                self.request(offer, exchange, now, actions);
                Ok(())
            }
            (Some(Kind::Ack), state) if !matches!(state, State::Selecting(_)) => {
                self.asked_server(message)?;
                let terms = self.terms(message)?;
                self.about_the_asked(&terms)?;
                if terms.lease.is_some_and(|lease| exchange.sent + lease <= now.since_boot) {
                    return Err(Ignored::Late);
                }
                let given = self.leased(terms, from, exchange.sent, now);
                self.take(given, now, actions);
                Ok(())
            }
            (Some(Kind::Nak), state) if !matches!(state, State::Selecting(_)) => {
                let server = self.asked_server(message)?;
                let address = self.asked().ok_or(Ignored::Unasked)?;
                self.refused(address, server, now, actions);
                Ok(())
            }
            (Some(_) | None, _) => Err(Ignored::Kind),
        }
    }

    /// The question that is open.
    fn open(&self) -> Option<&Exchange> {
        match &self.state {
            State::Selecting(exchange)
            | State::Requesting { exchange, .. }
            | State::Rebooting(exchange)
            | State::Renewing(exchange)
            | State::Rebinding(exchange) => Some(exchange),
            State::Offline | State::Waiting { .. } | State::Probing { .. } | State::Bound | State::Stopped => None,
        }
    }

    /// The address that was asked for.
    fn asked(&self) -> Option<Ipv4Addr> {
        match &self.state {
            State::Requesting { offer, .. } => Some(offer.address.addr()),
            State::Rebooting(_) | State::Renewing(_) | State::Rebinding(_) => self.address().map(|held| held.addr()),
            State::Offline
            | State::Waiting { .. }
            | State::Selecting(_)
            | State::Probing { .. }
            | State::Bound
            | State::Stopped => None,
        }
    }

    /// The server of an answer, if it is one that was asked.
    fn asked_server(&self, message: &Message) -> Result<Ipv4Addr, Ignored> {
        let server = terms::server(&message.options)?;
        let asked = match &self.state {
            State::Requesting { offer, .. } => Some(offer.server),
            State::Renewing(_) => self.held.as_ref().map(|held| held.lease.server),
            // Everybody was asked.
            State::Rebooting(_) | State::Rebinding(_) => None,
            State::Offline
            | State::Waiting { .. }
            | State::Selecting(_)
            | State::Probing { .. }
            | State::Bound
            | State::Stopped => return Err(Ignored::Unasked),
        };
        if asked.is_none_or(|asked| asked == server) { Ok(server) } else { Err(Ignored::OtherServer(server)) }
    }

    /// Whether an answer is about the address that was offered. Where a lease goes on, a server may give
    /// another address.
    fn about_the_asked(&self, terms: &Terms) -> Result<(), Ignored> {
        let given = terms.address.addr();
        if let State::Requesting { offer, .. } = &self.state
            && offer.address.addr() != given
        {
            return Err(Ignored::OtherAddress(given));
        }
        Ok(())
    }

    /// The terms of an answer. Why they cannot be used is reported to people when it is asked again: not for
    /// each answer, since anybody on the link can send any number of them.
    fn terms(&mut self, message: &Message) -> Result<Terms, Refusal> {
        let terms =
            Terms::of(message, self.settings.mtu).and_then(|terms| match self.settings.touched_by(terms.address) {
                Some(protected) => Err(Refusal::Protected(terms.address, protected)),
                None => Ok(terms),
            });
        if let Err(refusal) = &terms {
            self.complaint = Some(*refusal);
        }
        terms
    }
}
