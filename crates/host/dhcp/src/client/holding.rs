//! Leases: taking one into use, defending it, and releasing it.

use std::{net::Ipv4Addr, time::Duration};

use netloom_types::MacAddr;

use super::{Client, State};
use crate::{
    arp::Arp,
    effect::{Action, Configuration},
    lease::{Lease, Times},
    standing::Standing,
    terms::{self, Terms},
    time::{Moment, Now},
};

/// Without other word of the server, it is asked again as usual, but up to this part of the time earlier, so that leases
/// that were given together are not renewed together.
const EARLIER: u32 = 64;
/// The time between the two announcements of a new address.
const ANNOUNCE_AGAIN: Duration = Duration::from_secs(2);
/// An address that nobody has confirmed is asked about again after this time, and not only at T1: the
/// server may just have started later than this machine.
const CONFIRM: Duration = Duration::from_mins(1);
/// Within this time an address is defended once.
const DEFEND: Duration = Duration::from_secs(10);
/// How long nothing is asked after an address was declined, or refused again; doubled with each.
const SETBACK: Duration = Duration::from_secs(10);
/// But no longer than this.
const LONGEST_SETBACK: Duration = Duration::from_mins(1);

/// A lease that is in use or may be.
#[derive(Debug, Clone)]
pub(super) struct Held {
    pub(super) lease: Lease,
    pub(super) times: Times,
    /// Whether the address is on the link.
    pub(super) installed: bool,
    /// Whether a server has given or confirmed it since the start.
    pub(super) confirmed: bool,
    /// What was not taken as the server gave it.
    pub(super) remarks: String,
}

impl Client {
    /// The lease that these terms make; they count from when they were asked for.
    pub(super) fn leased(&mut self, terms: Terms, server_mac: MacAddr, sent: Duration, now: Now) -> Held {
        let remarks = terms.remarks();
        let (first, second) = terms::usual(terms.lease);
        let early = first * 2 / EARLIER;
        let mut usual = |time: Duration| sent + self.random.between(time.saturating_sub(early), time);
        let renew = terms.renew.map_or_else(|| usual(first), |renew| sent + renew);
        let rebind = terms.rebind.map_or_else(|| usual(second), |rebind| sent + rebind);
        // The spread of one may reach the other where the server gave only one of them.
        let rebind = rebind.max(renew);
        let expires = terms.lease.map(|lease| sent + lease);
        let at = |since_boot| Moment::of(since_boot, now);
        let lease = Lease {
            client_id: self.settings.client_id.clone(),
            address: terms.address,
            server: terms.server,
            server_mac,
            boot: self.settings.boot.clone(),
            given: at(sent),
            renew: at(renew),
            rebind: at(rebind),
            expires: expires.map(at),
            broadcast: terms.broadcast,
            routes: terms.routes,
            mtu: terms.mtu,
            dns: terms.dns,
            domain: terms.domain,
        };
        let times = Times { renew, rebind, expires };
        Held { lease, times, installed: false, confirmed: true, remarks }
    }

    /// Takes a lease: at once if its address is in use already, else once nobody else has it.
    pub(super) fn take(&mut self, given: Held, now: Now, actions: &mut Vec<Action>) {
        let address = given.lease.address.addr();
        let in_use = self.held.as_ref().is_some_and(|old| old.installed && old.lease.address.addr() == address);
        if in_use { self.bind(given, now, actions) } else { self.probe(given, now, actions) }
    }

    /// Begins to check that nobody has the address.
    pub(super) fn probe(&mut self, lease: Held, now: Now, actions: &mut Vec<Action>) {
        let probing = self.settings.probing;
        if probing.count == 0 {
            return self.bind(lease, now, actions);
        }
        let address = lease.lease.address;
        actions.push(Action::Watch(Some(address.addr())));
        self.tell(Standing::Probing(address), actions);
        let next = now.since_boot + self.random.between(Duration::ZERO, probing.first_within);
        self.state = State::Probing { lease: Box::new(lease), sent: 0, next };
    }

    /// Hears ARP about the address that is in use, if any, and no longer about one that was being checked.
    pub(super) fn watch_held(&self, actions: &mut Vec<Action>) {
        let in_use = self.held.as_ref().filter(|held| held.installed);
        actions.push(Action::Watch(in_use.map(|held| held.lease.address.addr())));
    }

    pub(super) fn probe_again(&mut self, now: Now, actions: &mut Vec<Action>) {
        let State::Probing { lease, sent, .. } = std::mem::replace(&mut self.state, State::Offline) else { return };
        let probing = self.settings.probing;
        if lease.times.are_over(now.since_boot) {
            // It was so short that it ended meanwhile.
            self.watch_held(actions);
            return self.discover(now, actions);
        }
        if sent >= probing.count {
            return self.bind(*lease, now, actions);
        }
        actions.push(Action::Send(Arp::probe(self.settings.mac, lease.lease.address.addr()).write()));
        let sent = sent + 1;
        let wait =
            if sent == probing.count { probing.settle } else { self.random.between(probing.least, probing.most) };
        self.state = State::Probing { lease, sent, next: now.since_boot + wait };
    }

    /// Has the address on the link from now on. An old one goes after the new one has come.
    pub(super) fn bind(&mut self, mut given: Held, now: Now, actions: &mut Vec<Action>) {
        let (address, server) = (given.lease.address, given.lease.server);
        let old = self.held.take().filter(|old| old.installed).map(|old| old.lease.address);
        let is_new = !given.installed && old.is_none_or(|old| old.addr() != address.addr());
        given.installed = true;
        let configuration = self.configured(&given, now);
        actions.extend(given.confirmed.then(|| Action::Keep(Box::new(given.lease.clone()))));
        actions.push(Action::Hold(Box::new(configuration)));
        if is_new {
            actions.push(Action::Watch(Some(address.addr())));
            actions.push(Action::Send(Arp::announcement(self.settings.mac, address.addr()).write()));
            self.announce = Some(now.since_boot + ANNOUNCE_AGAIN);
        }
        actions.extend(old.filter(|old| *old != address).map(Action::Drop));
        let standing = if given.confirmed {
            self.setbacks = 0;
            Standing::Bound { address, server, remarks: self.remarks(&given) }
        } else {
            given.times.renew = given.times.renew.min(now.since_boot + CONFIRM);
            Standing::Unconfirmed(address)
        };
        self.requested = Some(address.addr());
        self.complaint = None;
        self.held = Some(given);
        self.state = State::Bound;
        self.tell(standing, actions);
    }

    /// What a link has by a lease, as this client is set up.
    pub(super) fn configured(&self, held: &Held, now: Now) -> Configuration {
        let lease = &held.lease;
        Configuration {
            address: lease.address,
            broadcast: lease.broadcast,
            lifetime: held.times.expires.map(|expires| expires.saturating_sub(now.since_boot)),
            routes: lease.routes.iter().copied().filter(|route| self.settings.uses(route)).collect(),
            // The link may carry less than when the lease was given.
            mtu: lease.mtu.filter(|mtu| *mtu <= self.settings.mtu),
            dns: lease.dns.clone(),
            domain: lease.domain.clone(),
            server: lease.server,
        }
    }

    /// What people should know beside that all is well.
    fn remarks(&self, held: &Held) -> String {
        let protected = held.lease.routes.iter().any(|route| self.settings.protects_from(route));
        let protected = protected.then_some("routes over networks that the node is managed through are left out");
        let remarks = Some(held.remarks.as_str()).filter(|remarks| !remarks.is_empty());
        let named = !held.lease.dns.is_empty() || held.lease.domain.is_some();
        let named = named.then_some("its name servers and domain are not used");
        [remarks, protected, named].into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    pub(super) fn announce_again(&mut self, actions: &mut Vec<Action>) {
        self.announce = None;
        if let Some(held) = self.held.as_ref().filter(|held| held.installed) {
            actions.push(Action::Send(Arp::announcement(self.settings.mac, held.lease.address.addr()).write()));
        }
    }

    /// The lease has ended.
    pub(super) fn expire(&mut self, now: Now, actions: &mut Vec<Action>) {
        let Some(address) = self.address() else { return };
        self.requested = Some(address.addr());
        self.let_go(actions);
        self.tell(Standing::Expired(address), actions);
        match &self.state {
            State::Rebooting(_) | State::Bound | State::Renewing(_) | State::Rebinding(_) => {
                self.begin(now, actions);
            }
            State::Probing { lease, .. } => actions.push(Action::Watch(Some(lease.lease.address.addr()))),
            State::Offline
            | State::Waiting { .. }
            | State::Selecting(_)
            | State::Requesting { .. }
            | State::Stopped => {}
        }
    }

    /// Reads what somebody says about addresses.
    pub(super) fn arp(&mut self, frame: &[u8], now: Now, actions: &mut Vec<Action>) {
        let Some(arp) = Arp::read(frame) else { return };
        let mac = self.settings.mac;
        if let State::Probing { lease, .. } = &self.state {
            let address = lease.lease.address.addr();
            if arp.uses(address, mac) || arp.probes(address, mac) {
                let lease = lease.lease.clone();
                self.give_up(&lease, arp.sender_mac, now, actions);
            }
            return;
        }
        let Some(held) = self.held.as_ref().filter(|held| held.installed) else { return };
        if !arp.uses(held.lease.address.addr(), mac) || matches!(self.state, State::Offline) {
            return;
        }
        if self.defended.is_some_and(|before| now.since_boot < before + DEFEND) {
            let lease = held.lease.clone();
            return self.give_up(&lease, arp.sender_mac, now, actions);
        }
        actions.push(Action::Send(Arp::announcement(mac, held.lease.address.addr()).write()));
        self.defended = Some(now.since_boot);
    }

    /// Somebody else has the address: it is dropped and declined, and nothing is asked for a while.
    fn give_up(&mut self, lease: &Lease, by: MacAddr, now: Now, actions: &mut Vec<Action>) {
        self.let_go(actions);
        let frame = self.decline(lease);
        actions.push(Action::Send(frame));
        self.requested = None;
        self.setbacks = self.setbacks.saturating_add(1);
        self.tell(Standing::AddressInUse { address: lease.address.addr(), by }, actions);
        self.wait(now.since_boot + setback(self.setbacks));
    }

    /// A server refuses. The first time it is asked again at once, since that is how a machine finds out
    /// that it was moved; a server that refuses what it offers is not asked in circles.
    pub(super) fn refused(&mut self, address: Ipv4Addr, by: Ipv4Addr, now: Now, actions: &mut Vec<Action>) {
        self.let_go(actions);
        self.requested = None;
        self.tell(Standing::Refused { address, by }, actions);
        self.setbacks = self.setbacks.saturating_add(1);
        if self.setbacks == 1 {
            return self.begin(now, actions);
        }
        self.wait(now.since_boot + setback(self.setbacks - 1));
    }

    /// Takes the address that is held off the link, and the lease off the disk.
    fn let_go(&mut self, actions: &mut Vec<Action>) {
        self.announce = None;
        self.defended = None;
        if let Some(held) = self.held.take()
            && held.installed
        {
            actions.push(Action::Drop(held.lease.address));
        }
        actions.push(Action::Watch(None));
        actions.push(Action::Forget);
    }

    /// Gives the address back, and does nothing any more.
    pub(super) fn release(&mut self, actions: &mut Vec<Action>) {
        let state = std::mem::replace(&mut self.state, State::Stopped);
        let (online, probed) = match state {
            State::Stopped => return,
            State::Offline => (false, None),
            State::Probing { lease, .. } => (true, Some(lease.lease)),
            State::Waiting { .. }
            | State::Selecting(_)
            | State::Requesting { .. }
            | State::Rebooting(_)
            | State::Bound
            | State::Renewing(_)
            | State::Rebinding(_) => (true, None),
        };
        let held = self.held.as_ref().map(|held| held.lease.clone());
        for lease in [probed, held].into_iter().flatten().filter(|_| online) {
            let frame = self.give_back(&lease);
            actions.push(Action::Send(frame));
        }
        self.let_go(actions);
        self.tell(Standing::Released, actions);
    }
}

/// How long nothing is asked after so many setbacks in a row.
fn setback(count: u32) -> Duration {
    SETBACK.saturating_mul(2_u32.saturating_pow(count.saturating_sub(1).min(8))).min(LONGEST_SETBACK)
}
