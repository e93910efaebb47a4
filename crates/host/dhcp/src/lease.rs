//! What a server gave, as it is kept on disk.
//!
//! Within one life of the machine its end is reported by the clock that nobody sets; in the next one the
//! clock on the wall is all there is. Should that one stand before the moment at which the lease was
//! given, nobody knows how old it is, and it counts as over.

use std::{net::Ipv4Addr, time::Duration};

use netloom_types::{Ipv4Net, MacAddr};
use serde::{Deserialize, Serialize};

use crate::{
    host_address::{is_a_hosts, is_a_hosts_of},
    identity::ClientId,
    routes::Route,
    settings::Settings,
    time::{Moment, Now},
};

/// What a server gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Lease {
    /// To whom.
    pub client_id: ClientId,
    /// The address in its subnet.
    pub address: Ipv4Net,
    /// The server.
    pub server: Ipv4Addr,
    /// Where frames for the server go: the server itself, or the router or relay before it.
    pub server_mac: MacAddr,
    /// The life of the machine in which it was given.
    pub boot: String,
    /// Since when it counts: when the question was sent.
    pub given: Moment,
    /// When to ask the server again.
    pub renew: Moment,
    /// When to ask any server again.
    pub rebind: Moment,
    /// When it ends; none for a lease without an end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Moment>,
    /// The broadcast address, if the server named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broadcast: Option<Ipv4Addr>,
    /// All routes that the server gave, used or not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Route>,
    /// The size of packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u16>,
    /// Name servers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dns: Vec<Ipv4Addr>,
    /// The domain to look names up in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
}

/// The moments of a lease, after the start of the machine as it runs now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Times {
    pub(crate) renew: Duration,
    pub(crate) rebind: Duration,
    /// None for a lease without an end.
    pub(crate) expires: Option<Duration>,
}

impl Times {
    /// Whether the lease has ended by then.
    pub(crate) fn are_over(&self, at: Duration) -> bool {
        self.expires.is_some_and(|expires| expires <= at)
    }
}

impl Lease {
    /// The moments of a lease that this client may still use; none when it is over, another client's, or
    /// not what this crate would ever have written.
    pub(crate) fn times(&self, settings: &Settings, now: Now) -> Option<Times> {
        let same_boot = self.boot == settings.boot;
        let at = |moment: Moment| moment.since_boot(same_boot, now);
        let times = Times { renew: at(self.renew), rebind: at(self.rebind), expires: self.expires.map(at) };
        let in_order = self.given.wall <= self.renew.wall
            && self.renew.wall <= self.rebind.wall
            && self.expires.is_none_or(|expires| self.rebind.wall <= expires.wall);
        // How old it is does not matter to a lease without an end.
        let known_age = same_boot || self.given.wall <= now.wall || self.expires.is_none();
        let running = known_age && in_order && !times.are_over(now.since_boot);
        let sound = is_a_hosts_of(self.address.addr(), self.address) && is_a_hosts(self.server);
        let ours = self.client_id == settings.client_id && !self.server_mac.is_multicast();
        (running && sound && ours).then_some(times)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use jiff::Timestamp;

    use super::*;

    pub(crate) fn settings() -> Settings {
        Settings::new(MacAddr::new([2, 0, 0, 0, 0, 9]), ClientId::new("a", "mgmt", None), "boot-1")
    }

    fn now(since_boot: u64, wall: i64) -> Now {
        Now { since_boot: Duration::from_secs(since_boot), wall: Timestamp::from_second(wall).unwrap() }
    }

    fn lease() -> Lease {
        let at = |secs| Moment::of(Duration::from_secs(secs), now(100, 1_000_000));
        Lease {
            client_id: settings().client_id,
            address: "192.0.2.9/24".parse().unwrap(),
            server: [192, 0, 2, 1].into(),
            server_mac: MacAddr::new([2, 0, 0, 0, 0, 1]),
            boot: "boot-1".into(),
            given: at(100),
            renew: at(1900),
            rebind: at(3250),
            expires: Some(at(3700)),
            broadcast: None,
            routes: vec![Route { to: "10.0.0.0/8".parse().unwrap(), via: None }],
            mtu: Some(1400),
            dns: Vec::new(),
            domain: None,
        }
    }

    #[test]
    fn what_is_written_is_read_back_and_can_be_read_by_people() {
        let text = serde_json::to_string(&lease()).unwrap();
        assert!(text.contains(r#""address":"192.0.2.9/24""#) && text.contains(r#""wall":"1970-01-12T14:46:40Z""#));
        let ends = r#""expires":{"sinceBootMs":3700000,"wall":"1970-01-12T14:46:40Z"}"#;
        assert!(text.contains(ends), "as earlier versions write it: {text}");
        assert_eq!(serde_json::from_str::<Lease>(&text).unwrap(), lease());
        assert!(serde_json::from_str::<Lease>(&text.replace("\"mtu\"", "\"mut\"")).is_err(), "no field is ignored");
    }

    #[test]
    fn a_lease_runs_by_the_clock_of_its_machine_and_by_the_wall_after_it() {
        let expires = |boot: &str, now| {
            let lease = Lease { boot: boot.into(), ..lease() };
            lease.times(&settings(), now).map(|times| times.expires.unwrap().as_secs())
        };
        assert_eq!(expires("boot-1", now(3699, 5)), Some(3700), "the clock was set back: nobody cares");
        assert_eq!(expires("boot-1", now(3700, 1_000_000)), None);
        assert_eq!(expires("boot-0", now(7, 1_000_600)), Some(3007));
        assert_eq!(expires("boot-0", now(7, 1_003_600)), None);
        assert_eq!(expires("boot-0", now(7, 999_999)), None, "of unknown age");
    }

    #[test]
    fn a_lease_without_an_end_has_none_on_disk_and_is_never_over() {
        let endless = Lease { expires: None, ..lease() };
        let text = serde_json::to_string(&endless).unwrap();
        assert!(!text.contains("expires"));
        assert_eq!(serde_json::from_str::<Lease>(&text).unwrap(), endless);
        for at in [now(7, 1_000_000_000), now(7, 5), now(1_000_000_000, 1_000_000)] {
            let times = endless.times(&settings(), at).map(|times| times.expires);
            assert_eq!(
                (times, Lease { boot: "boot-0".into(), ..endless.clone() }.times(&settings(), at).is_some()),
                (Some(None), true)
            );
        }
    }

    #[test]
    fn a_lease_of_somebody_else_or_a_damaged_one_is_not_used() {
        let at = now(200, 1_000_100);
        assert!(lease().times(&settings(), at).is_some());
        let (zero, other) = ([0; 4], ClientId::new("b", "mgmt", None));
        let table = [
            Lease { client_id: other, ..lease() },
            Lease { address: "192.0.2.0/24".parse().unwrap(), ..lease() },
            Lease { address: "224.0.0.1/24".parse().unwrap(), ..lease() },
            Lease { server: zero.into(), ..lease() },
            Lease { server_mac: MacAddr::new([0xff; 6]), ..lease() },
            Lease { renew: lease().expires.unwrap(), ..lease() },
        ];
        for lease in table {
            assert_eq!(lease.times(&settings(), at), None, "{lease:?}");
        }
    }
}
