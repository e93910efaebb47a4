//! Where the API is.
//!
//! An address is one for ever; a name is looked up again whenever the API was reached. A node that starts without
//! its network cannot look up anything, and what it must not be cut off from is known as soon as it can.

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use kube::Config;
use tokio::{net::lookup_host, time::timeout};

/// How long a name may take to be looked up: without the network there is no answer, and the last good desired state
/// must not wait for one.
const LOOKUP: Duration = Duration::from_secs(2);

/// Where the API is, as the configuration says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApiAddress {
    host: Host,
    pub(crate) port: u16,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Host {
    Address(IpAddr),
    Name(String),
}

impl ApiAddress {
    /// Reads them off a configuration; none when it names no host.
    pub(crate) fn of(config: &Config) -> Option<Self> {
        let url = &config.cluster_url;
        let host = url.host()?.trim_matches(['[', ']']);
        let host = host.parse().map_or_else(|_| Host::Name(host.to_owned()), Host::Address);
        Some(Self { host, port: url.port_u16().unwrap_or(443) })
    }

    /// The addresses; none when they cannot be known now.
    pub(crate) async fn addresses(&self) -> Option<Vec<IpAddr>> {
        match &self.host {
            Host::Address(address) => Some(vec![*address]),
            Host::Name(name) => {
                let found = timeout(LOOKUP, lookup_host((name.as_str(), self.port))).await.ok()?.ok()?;
                Some(found.map(|address: SocketAddr| address.ip()).collect())
            }
        }
    }

    /// Whether the addresses may be others the next time.
    pub(crate) fn may_change(&self) -> bool {
        matches!(self.host, Host::Name(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(url: &str) -> Option<ApiAddress> {
        ApiAddress::of(&Config::new(url.parse().unwrap()))
    }

    #[tokio::test]
    async fn addresses_are_reported_at_once_and_names_are_looked_up_each_time() {
        let fixed = of("https://[2001:db8::1]:6443").unwrap();
        assert_eq!(fixed.addresses().await, Some(vec!["2001:db8::1".parse().unwrap()]));
        assert_eq!((fixed.port, fixed.may_change()), (6443, false));
        let named = of("https://localhost").unwrap();
        assert!(named.addresses().await.unwrap().iter().all(IpAddr::is_loopback));
        assert_eq!((named.port, named.may_change()), (443, true));
        assert_eq!(of("https://no-such-host.invalid").unwrap().addresses().await, None);
    }
}
