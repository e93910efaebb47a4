//! What bgpd knows of its neighbours.

use std::{collections::BTreeMap, time::Duration};

use serde::Deserialize;

use super::{number, read};
use crate::{Daemon, Daemons, FrrError};

const SESSIONS: &str = "show bgp vrf all summary json";

/// How far a session is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionState {
    /// Routes are exchanged.
    Established,
    /// It is off by configuration.
    Shutdown,
    /// It is off because the neighbour sent more prefixes than it may.
    PrefixLimit,
    /// It is being built up, or waited for: FRR's word for it.
    Down(String),
}

/// What is exchanged for one family of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefixes {
    /// Taken from the neighbour, after filters.
    pub received: u32,
    /// Sent to it.
    pub sent: u32,
}

/// A session with a neighbour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The VRF; `default` where there is none.
    pub vrf: String,
    /// The neighbour: an address, or the name of a link.
    pub peer: String,
    /// Its AS; none before one is known.
    pub remote_as: Option<u32>,
    /// How far it is.
    pub state: SessionState,
    /// For how long it has been established, or not; none if it never was. In whole seconds.
    pub since: Option<Duration>,
    /// How often it was established.
    pub established: u32,
    /// By family, in FRR's spelling: `ipv4Unicast`, `l2VpnEvpn`.
    pub prefixes: BTreeMap<String, Prefixes>,
}

impl Daemons {
    /// The sessions of all VRFs, by VRF and neighbour.
    pub fn sessions(&mut self) -> Result<Vec<Session>, FrrError> {
        self.view(Daemon::Bgpd, SESSIONS, sessions)
    }
}

#[derive(Deserialize)]
struct Family {
    #[serde(default)]
    peers: BTreeMap<String, Peer>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Peer {
    #[serde(deserialize_with = "number")]
    remote_as: u32,
    state: String,
    #[serde(rename = "peerUptime")]
    shown_time: String,
    #[serde(rename = "peerUptimeMsec")]
    milliseconds: u64,
    connections_established: u32,
    #[serde(default)]
    pfx_rcd: u32,
    #[serde(default)]
    pfx_snt: u32,
}

pub(crate) fn sessions(text: &str) -> Result<Vec<Session>, FrrError> {
    let vrfs: BTreeMap<String, BTreeMap<String, Family>> = read(Daemon::Bgpd, SESSIONS, text)?;
    let mut sessions: BTreeMap<(String, String), Session> = BTreeMap::new();
    for (vrf, families) in vrfs {
        for (family, shown) in families {
            for (peer, shown) in shown.peers {
                let prefixes = Prefixes { received: shown.pfx_rcd, sent: shown.pfx_snt };
                let key = (vrf.clone(), peer);
                let session = sessions.entry(key).or_insert_with_key(|(vrf, peer)| session(vrf, peer, &shown));
                session.prefixes.insert(family.clone(), prefixes);
            }
        }
    }
    Ok(sessions.into_values().collect())
}

fn session(vrf: &str, peer: &str, shown: &Peer) -> Session {
    Session {
        vrf: vrf.to_owned(),
        peer: peer.to_owned(),
        remote_as: (shown.remote_as != 0).then_some(shown.remote_as),
        state: match shown.state.as_str() {
            "Established" => SessionState::Established,
            "Idle (Admin)" => SessionState::Shutdown,
            "Idle (PfxCt)" => SessionState::PrefixLimit,
            other => SessionState::Down(other.to_owned()),
        },
        since: (shown.shown_time != "never").then(|| Duration::from_millis(shown.milliseconds)),
        established: shown.connections_established,
        prefixes: BTreeMap::new(),
    }
}
