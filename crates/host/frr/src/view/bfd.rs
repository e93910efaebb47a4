//! What bfdd knows of the other ends that it watches.

use std::{net::IpAddr, time::Duration};

use netloom_types::IfName;
use serde::Deserialize;

use super::{read, unless_none};
use crate::{Daemon, Daemons, FrrError};

const PEERS: &str = "show bfd peers json";

/// Whether another end answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BfdState {
    /// It does.
    Up,
    /// It does not.
    Down,
    /// It has begun to.
    Init,
    /// It is not asked, by configuration.
    Shutdown,
    /// Another word of FRR.
    Other(String),
}

/// Another end that is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BfdPeer {
    /// The VRF; `default` where there is none.
    pub vrf: String,
    /// Its address.
    pub peer: IpAddr,
    /// The link that leads to it, if only that one counts.
    pub link: Option<IfName>,
    /// Whether it is more than one hop away.
    pub multihop: bool,
    /// Whether it answers.
    pub state: BfdState,
    /// For how long, in whole seconds; none if it never answered. (bfdd counts from the start of the machine then.)
    pub since: Option<Duration>,
    /// Why it went down, in FRR's words; none if all is well.
    pub diagnostic: Option<String>,
}

impl Daemons {
    /// The ends that are watched, by VRF and address.
    pub fn bfd_peers(&mut self) -> Result<Vec<BfdPeer>, FrrError> {
        self.view(Daemon::Bfdd, PEERS, peers)
    }
}

pub(crate) fn peers(text: &str) -> Result<Vec<BfdPeer>, FrrError> {
    #[derive(Deserialize)]
    struct Shown {
        #[serde(default = "no_vrf")]
        vrf: String,
        peer: IpAddr,
        #[serde(default)]
        interface: String,
        multihop: bool,
        status: String,
        uptime: Option<u64>,
        downtime: Option<u64>,
        #[serde(default)]
        diagnostic: String,
    }
    let shown: Vec<Shown> = read(Daemon::Bfdd, PEERS, text)?;
    let typed = |peer: Shown| {
        let why = |error: netloom_types::Invalid| FrrError::Unreadable {
            daemon: Daemon::Bfdd,
            command: PEERS.to_owned(),
            why: error.to_string(),
        };
        let diagnostic = (!matches!(peer.diagnostic.as_str(), "" | "ok")).then_some(peer.diagnostic);
        let lost = peer.downtime.filter(|_| diagnostic.is_some());
        Ok(BfdPeer {
            vrf: peer.vrf,
            peer: peer.peer,
            link: unless_none(&peer.interface).map_err(why)?,
            multihop: peer.multihop,
            state: match peer.status.as_str() {
                "up" => BfdState::Up,
                "down" => BfdState::Down,
                "init" => BfdState::Init,
                "shutdown" => BfdState::Shutdown,
                _ => BfdState::Other(peer.status),
            },
            since: peer.uptime.or(lost).map(Duration::from_secs),
            diagnostic,
        })
    };
    let mut typed: Vec<BfdPeer> = shown.into_iter().map(typed).collect::<Result<_, FrrError>>()?;
    typed.sort_by(|one, other| (&one.vrf, one.peer).cmp(&(&other.vrf, other.peer)));
    Ok(typed)
}

fn no_vrf() -> String {
    "default".to_owned()
}
