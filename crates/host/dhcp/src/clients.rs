//! The clients of all links of a machine, in one place and with one moment to come back at.
//!
//! What is kept is one client for each link and one entry in the order of their moments; nothing grows
//! with what comes in.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use netloom_types::{IfName, Ipv4Net};

use crate::{
    client::{Client, Remembered},
    effect::{Action, Input},
    settings::Settings,
    time::Now,
};

/// Between the first questions on two links. When hundreds come up at once, as after a start, the server would else lose
/// some of the questions, and those clients ask again only after seconds.
const APART: Duration = Duration::from_millis(5);

/// The clients of a machine, by link.
#[derive(Debug, Default)]
pub struct Clients {
    by_link: BTreeMap<IfName, Client>,
    /// The next one that begins does so no sooner.
    next: Duration,
    /// When each of them wants to come back; always as its client says.
    due: BTreeSet<(Duration, IfName)>,
}

impl Clients {
    /// Nobody.
    pub const fn new() -> Self {
        Self { by_link: BTreeMap::new(), next: Duration::ZERO, due: BTreeSet::new() }
    }

    /// A client for a link, in the place of one that is there: where a setting changes, the new one goes
    /// on with the lease of the old one if that is handed in.
    pub fn put(
        &mut self,
        link: IfName,
        settings: Settings,
        seed: u64,
        remembered: Option<Remembered>,
        now: Now,
    ) -> Vec<Action> {
        self.remove(link);
        let mut actions = Vec::new();
        let client = Client::start(settings, seed, remembered, now, &mut actions);
        self.due.extend(client.wake_at().map(|at| (at, link)));
        self.by_link.insert(link, client);
        actions
    }

    /// Ends the client of a link. Nothing is given back: for that, tell it [`Input::Release`] before.
    pub fn remove(&mut self, link: IfName) -> Option<Client> {
        let client = self.by_link.remove(&link)?;
        client.wake_at().map(|at| self.due.remove(&(at, link)));
        Some(client)
    }

    /// Tells the client of a link what happened. Where there is none, nothing follows.
    pub fn handle(&mut self, link: IfName, input: Input<'_>, now: Now) -> Vec<Action> {
        let mut actions = Vec::new();
        let Some(client) = self.by_link.get_mut(&link) else { return actions };
        let before = client.wake_at();
        if matches!(input, Input::Link { up: true }) && client.is_offline() {
            let begins = self.next.max(now.since_boot);
            client.hold_until(begins);
            self.next = begins + APART;
        }
        client.handle(input, now, &mut actions);
        let after = client.wake_at();
        if before != after {
            before.map(|at| self.due.remove(&(at, link)));
            self.due.extend(after.map(|at| (at, link)));
        }
        actions
    }

    /// Does what is due on all links, once for each: whoever has still more to do says so in
    /// [`Clients::wake_at`].
    pub fn wake(&mut self, now: Now) -> Vec<(IfName, Action)> {
        let due: BTreeSet<IfName> =
            self.due.iter().take_while(|(at, _)| *at <= now.since_boot).map(|(_, link)| *link).collect();
        let wake = |link| self.handle(link, Input::Time, now).into_iter().map(move |action| (link, action));
        due.into_iter().flat_map(wake).collect()
    }

    /// When [`Clients::wake`] is due.
    pub fn wake_at(&self) -> Option<Duration> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Whether one of them is checking that nobody else has its address: within moments its link has one, or not.
    pub fn check(&self) -> bool {
        self.by_link.values().any(Client::checks)
    }

    /// Has the client of a link take these networks for those that the node is reached or managed through.
    pub fn protect(&mut self, link: IfName, networks: Vec<Ipv4Net>) {
        if let Some(client) = self.by_link.get_mut(&link) {
            client.protect(networks);
        }
    }

    /// The client of a link.
    pub fn get(&self, link: IfName) -> Option<&Client> {
        self.by_link.get(&link)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (IfName, &Client)> {
        self.by_link.iter().map(|(link, client)| (*link, client))
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::lease::tests::settings;

    fn now(ms: u64) -> Now {
        Now { since_boot: Duration::from_millis(ms), wall: Timestamp::UNIX_EPOCH }
    }

    fn name(number: usize) -> IfName {
        format!("eth{number}").parse().unwrap()
    }

    #[test]
    fn each_link_is_woken_at_its_own_time_and_only_then() {
        let mut clients = Clients::new();
        for number in 0..50 {
            clients.put(name(number), settings(), number as u64, None, now(0));
            let actions = clients.handle(name(number), Input::Link { up: true }, now(10 * number as u64));
            assert!(actions.iter().any(|action| matches!(action, Action::Send(_))));
        }
        assert_eq!(clients.due.len(), 50);
        let mut sent = vec![0; 50];
        while let Some(at) = clients.wake_at().filter(|at| *at < Duration::from_secs(10)) {
            let at = Now { since_boot: at, ..now(0) };
            let before = Now { since_boot: at.since_boot.saturating_sub(Duration::from_nanos(1)), ..at };
            assert!(clients.wake(before).is_empty(), "nothing happens too early");
            for (link, action) in clients.wake(at) {
                let number: usize = link.as_str()[3..].parse().unwrap();
                sent[number] += usize::from(matches!(action, Action::Send(_)));
            }
        }
        assert!(sent.iter().all(|count| *count == 1), "each link asked again once: {sent:?}");
    }

    #[test]
    fn links_that_come_up_together_ask_one_after_the_other() {
        let mut clients = Clients::new();
        let asks = |actions: &[Action]| actions.iter().filter(|action| matches!(action, Action::Send(_))).count();
        // The second time all of them lost their wire and have it back, as when a switch was restarted.
        for begin in [0, 5_000] {
            let mut asked = Vec::new();
            for number in 0..200 {
                if begin == 0 {
                    clients.put(name(number), settings(), number as u64, None, now(begin));
                }
                clients.handle(name(number), Input::Link { up: false }, now(begin));
                let actions = clients.handle(name(number), Input::Link { up: true }, now(begin));
                asked.extend(std::iter::repeat_n(begin, asks(&actions)));
            }
            assert_eq!(asked, [begin], "the first one waits for nobody");
            while asked.len() < 200 {
                let at = clients.wake_at().unwrap();
                let actions: Vec<Action> =
                    clients.wake(Now { since_boot: at, ..now(0) }).into_iter().map(|(_, action)| action).collect();
                asked.extend(std::iter::repeat_n(u64::try_from(at.as_millis()).unwrap(), asks(&actions)));
            }
            let expected: Vec<u64> = (0..200).map(|number| begin + 5 * number).collect();
            assert_eq!(asked, expected);
        }
    }

    #[test]
    fn who_is_removed_is_never_woken_and_who_is_put_again_only_once() {
        let mut clients = Clients::new();
        for _ in 0..3 {
            clients.put(name(1), settings(), 1, None, now(0));
            clients.handle(name(1), Input::Link { up: true }, now(0));
        }
        assert_eq!((clients.iter().count(), clients.due.len()), (1, 1));
        assert!(clients.get(name(1)).is_some());
        assert!(clients.remove(name(1)).is_some() && clients.remove(name(1)).is_none());
        assert_eq!((clients.wake_at(), clients.due.len()), (None, 0));
        assert!(clients.handle(name(1), Input::Release, now(0)).is_empty());
    }
}
