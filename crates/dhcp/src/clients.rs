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

/// The clients of a machine, by link.
#[derive(Debug, Default)]
pub struct Clients {
    clients: BTreeMap<IfName, Client>,
    /// When each of them wants to come back; always as its client says.
    due: BTreeSet<(Duration, IfName)>,
}

impl Clients {
    /// Nobody.
    pub const fn new() -> Self {
        Self { clients: BTreeMap::new(), due: BTreeSet::new() }
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
        self.clients.insert(link, client);
        actions
    }

    /// Ends the client of a link. Nothing is given back: for that, tell it [`Input::Release`] before.
    pub fn remove(&mut self, link: IfName) -> Option<Client> {
        let client = self.clients.remove(&link)?;
        client.wake_at().map(|at| self.due.remove(&(at, link)));
        Some(client)
    }

    /// Tells the client of a link what happened. Where there is none, nothing follows.
    pub fn handle(&mut self, link: IfName, input: Input<'_>, now: Now) -> Vec<Action> {
        let mut actions = Vec::new();
        let Some(client) = self.clients.get_mut(&link) else { return actions };
        let before = client.wake_at();
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
        self.clients.values().any(Client::checks)
    }

    /// Has the client of a link take these networks for those that the node is reached or managed through.
    pub fn protect(&mut self, link: IfName, networks: Vec<Ipv4Net>) {
        if let Some(client) = self.clients.get_mut(&link) {
            client.protect(networks);
        }
    }

    /// The client of a link.
    pub fn get(&self, link: IfName) -> Option<&Client> {
        self.clients.get(&link)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (IfName, &Client)> {
        self.clients.iter().map(|(link, client)| (*link, client))
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
            let actions = clients.handle(name(number), Input::Link { up: true }, now(number as u64));
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
    fn who_is_removed_is_never_woken_and_who_is_put_anew_only_once() {
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
