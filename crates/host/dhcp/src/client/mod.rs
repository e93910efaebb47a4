//! What the client of one link does next.
//!
//! ```text
//!            no lease                                     a lease that still runs
//!                │                                                   │
//!   ┌───────► Selecting ──offer──► Requesting ──ack──► Probing ◄──ack── Rebooting
//!   │            ▲ ▲                   │ nak              │  │             │ nak
//!   │            │ └───── Waiting ◄────┴── in use, nak ───┘  └──► Bound ◄──┘ no answer
//!   │            │                                                 │ ▲
//!   └── expiry ──┴─── Rebinding ◄──── T2 ──── Renewing ◄──── T1 ───┘ └── ack
//! ```
//!
//! What holds:
//!
//! - Only an answer to the question that is open now, from a server that was asked, to this client, whose
//!   terms are sound, changes anything. Everything else is counted and has no effect.
//! - An address is dropped no later than its lease ends, whatever else happens.
//! - What is kept has a fixed size: one state, at most two leases (the one in use and the one that is
//!   being checked), a few numbers.

mod answers;
mod exchange;
mod holding;
mod requests;

use std::{net::Ipv4Addr, time::Duration};

use netloom_types::Ipv4Net;

use crate::{
    effect::{Action, Configuration, Input},
    ignored::Counts,
    lease::Lease,
    random::Random,
    settings::Settings,
    standing::Standing,
    terms::{Refusal, Terms},
    time::Now,
};
use exchange::Exchange;
use holding::Held;

/// A link that goes up and down is not asked on more often than this.
const LEAST_BETWEEN_STARTS: Duration = Duration::from_secs(1);

/// Where a client is on its way to an address.
#[derive(Debug)]
enum State {
    /// The link is down.
    Offline,
    /// Nothing is asked before this moment.
    Waiting { until: Duration },
    /// Offers are waited for.
    Selecting(Exchange),
    /// An offer was taken up.
    Requesting { exchange: Exchange, offer: Box<Terms> },
    /// It is asked whether the lease that is held may still be used.
    Rebooting(Exchange),
    /// It is checked that nobody has the address of a lease.
    Probing { lease: Box<Held>, sent: u32, next: Duration },
    /// Nothing to do for now.
    Bound,
    /// The server is asked to go on.
    Renewing(Exchange),
    /// Any server is asked to go on.
    Rebinding(Exchange),
    /// The address was given back; nothing will be done any more.
    Stopped,
}

/// The client of one link.
#[derive(Debug)]
pub struct Client {
    settings: Settings,
    random: Random,
    state: State,
    /// The lease that is in use, or that may be again.
    held: Option<Held>,
    /// The address that is asked for if there is a choice.
    requested: Option<Ipv4Addr>,
    /// How many times in a row a server or a neighbour took an address away.
    setbacks: u32,
    /// Nothing is begun before this moment, however often the link goes up.
    not_before: Duration,
    /// When the new address is announced once more.
    announce: Option<Duration>,
    /// When the address was last defended.
    defended: Option<Duration>,
    /// Why the last offer of this exchange could not be used.
    complaint: Option<Refusal>,
    reported: Option<Standing>,
    counts: Counts,
}

/// What an earlier life of the process left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembered {
    /// The lease on disk.
    pub lease: Lease,
    /// Whether its address is on the link.
    pub installed: bool,
}

impl Client {
    /// A client for a link that counts as down. `seed` is where its chance comes from.
    pub fn start(
        settings: Settings,
        seed: u64,
        remembered: Option<Remembered>,
        now: Now,
        actions: &mut Vec<Action>,
    ) -> Self {
        let mut client = Self {
            settings,
            random: Random::new(seed),
            state: State::Offline,
            held: None,
            requested: None,
            setbacks: 0,
            not_before: Duration::ZERO,
            announce: None,
            defended: None,
            complaint: None,
            reported: None,
            counts: Counts::default(),
        };
        if let Some(remembered) = remembered {
            client.remember(remembered, now, actions);
        }
        client
    }

    /// Takes in what happened, and says what to do.
    pub fn handle(&mut self, input: Input<'_>, now: Now, actions: &mut Vec<Action>) {
        match input {
            Input::Link { up } => self.link(up, now, actions),
            Input::Frame { bytes, checksums } => self.frame(bytes, checksums, now, actions),
            Input::Arp(bytes) => self.arp(bytes, now, actions),
            Input::Time => self.time(now, actions),
            Input::Release => self.release(actions),
        }
    }

    /// When [`Input::Time`] is due; already past if there is more to do at once.
    pub fn wake_at(&self) -> Option<Duration> {
        let held = self.held.as_ref().map(|held| held.times);
        let state = match &self.state {
            State::Offline | State::Stopped => None,
            State::Waiting { until } => Some(*until),
            State::Selecting(exchange) | State::Rebooting(exchange) | State::Requesting { exchange, .. } => {
                Some(exchange.again)
            }
            State::Probing { lease, next, .. } => Some(lease.times.expires.map_or(*next, |end| end.min(*next))),
            State::Bound => held.map(|times| times.renew),
            State::Renewing(exchange) => held.map(|times| times.rebind.min(exchange.due())),
            State::Rebinding(exchange) => Some(exchange.due()),
        };
        [state, held.and_then(|times| times.expires), self.announce].into_iter().flatten().min()
    }

    /// How it stands, as it was last reported.
    pub fn standing(&self) -> Option<&Standing> {
        self.reported.as_ref()
    }

    /// Whether it is being checked that nobody else has the address of a new lease.
    pub const fn checks(&self) -> bool {
        matches!(self.state, State::Probing { .. })
    }

    /// The lease whose address is on the link.
    pub fn lease(&self) -> Option<&Lease> {
        self.held.as_ref().filter(|held| held.installed).map(|held| &held.lease)
    }

    /// What the link has by that lease, as it was last held.
    pub fn configuration(&self, now: Now) -> Option<Configuration> {
        self.held.as_ref().filter(|held| held.installed).map(|held| self.configured(held, now))
    }

    /// Takes other networks for those that the node is reached or managed through. What was given before stays.
    pub fn protect(&mut self, networks: Vec<Ipv4Net>) {
        self.settings.protected = networks;
    }

    /// What became of the frames that came.
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    fn remember(&mut self, remembered: Remembered, now: Now, actions: &mut Vec<Action>) {
        let Remembered { lease, installed } = remembered;
        let address = lease.address;
        if let Some(times) = lease.times(&self.settings, now) {
            actions.extend(installed.then_some(Action::Watch(Some(address.addr()))));
            self.held = Some(Held { lease, times, installed, confirmed: false, remarks: String::new() });
            return;
        }
        self.requested = Some(address.addr()).filter(|_| lease.client_id == self.settings.client_id);
        actions.extend(installed.then_some(Action::Drop(address)));
        actions.push(Action::Forget);
    }

    fn link(&mut self, up: bool, now: Now, actions: &mut Vec<Action>) {
        match (&self.state, up) {
            (State::Offline, true) if self.not_before > now.since_boot => self.wait(self.not_before),
            (State::Offline, true) => self.begin(now, actions),
            (State::Stopped, _) | (State::Offline, false) | (_, true) => {}
            (_, false) => {
                self.announce = None;
                if let State::Probing { lease, .. } = std::mem::replace(&mut self.state, State::Offline) {
                    // It was given to us, so it is asked for again when the link is back.
                    self.held.get_or_insert(*lease);
                    self.watch_held(actions);
                }
                self.tell(Standing::LinkDown, actions);
            }
        }
    }

    /// Whatever is due by now.
    fn time(&mut self, now: Now, actions: &mut Vec<Action>) {
        let at = now.since_boot;
        if self.held.as_ref().is_some_and(|held| held.times.are_over(at)) {
            return self.expire(now, actions);
        }
        if self.announce.is_some_and(|due| due <= at) {
            self.announce_again(actions);
        }
        if self.wake_at().is_none_or(|due| due > at) {
            return;
        }
        match &self.state {
            State::Offline | State::Stopped => {}
            State::Waiting { .. } => self.begin(now, actions),
            State::Selecting(_) => self.discover_again(now, actions),
            State::Requesting { .. } => self.request_again(now, actions),
            State::Rebooting(_) => self.reboot_again(now, actions),
            State::Probing { .. } => self.probe_again(now, actions),
            State::Bound => self.renew(now, actions),
            State::Renewing(_) | State::Rebinding(_) => self.go_on_asking(now, actions),
        }
    }

    /// Whether its link is down, as far as it knows.
    pub(crate) const fn is_offline(&self) -> bool {
        matches!(self.state, State::Offline)
    }

    /// Nothing is begun before that moment.
    pub(crate) fn hold_until(&mut self, moment: Duration) {
        self.not_before = self.not_before.max(moment);
    }

    /// Starts over: with the lease that is held, or without one.
    fn begin(&mut self, now: Now, actions: &mut Vec<Action>) {
        self.not_before = now.since_boot + LEAST_BETWEEN_STARTS;
        if self.held.is_some() { self.reboot(now, actions) } else { self.discover(now, actions) }
    }

    /// Does nothing before that moment, should the link go down and up meanwhile.
    fn wait(&mut self, until: Duration) {
        self.not_before = until;
        self.state = State::Waiting { until };
    }

    /// Tells people, unless they know.
    fn tell(&mut self, standing: Standing, actions: &mut Vec<Action>) {
        if self.reported.as_ref() != Some(&standing) {
            self.reported = Some(standing.clone());
            actions.push(Action::Tell(standing));
        }
    }

    /// The address of the lease that is held.
    fn address(&self) -> Option<Ipv4Net> {
        self.held.as_ref().map(|held| held.lease.address)
    }
}
