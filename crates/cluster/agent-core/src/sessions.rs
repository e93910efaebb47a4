//! What a node lists of its routing daemons: sessions with neighbours, and VNIs.
//!
//! Numbers of prefixes and the seconds since a session came change all the time, and a report of each would be a write of
//! every node whenever a workload appears anywhere. So two lists count as equal that differ in nothing else; that a family
//! has prefixes at all, and how often a session was established, are news.

use jiff::{SignedDuration, Timestamp};
use netloom_api::{
    condition::seconds,
    pipeline::node_network_status::{BfdState, NodeSession, NodeVni, SessionPrefixes, SessionState, VniType},
};
use netloom_model::{Observed, RoutingSession, RoutingSessionState, RoutingVni};

/// The sessions of the node's routing daemons.
pub(crate) fn sessions(now: Timestamp, observed: &Observed) -> Vec<NodeSession> {
    observed.routing_report.iter().flat_map(|report| &report.sessions).map(|one| session(now, one)).collect()
}

fn session(now: Timestamp, session: &RoutingSession) -> NodeSession {
    let RoutingSession { vrf, peer, remote_as, state, since, established, prefixes, bfd } = session;
    let since = since.and_then(|since| SignedDuration::try_from(since).ok());
    let families = prefixes.iter().map(|(family, (received, sent))| SessionPrefixes {
        family: family.clone(),
        received: *received,
        sent: *sent,
    });
    NodeSession {
        vrf: vrf.clone(),
        peer: peer.clone(),
        remote_asn: *remote_as,
        state: match state {
            RoutingSessionState::Established => SessionState::Established,
            RoutingSessionState::Down => SessionState::Down,
            RoutingSessionState::Shutdown => SessionState::Shutdown,
            RoutingSessionState::PrefixLimit => SessionState::PrefixLimit,
        },
        since: since.and_then(|since| now.checked_sub(since).ok()).map(seconds),
        established: *established,
        prefixes: families.collect(),
        bfd: bfd.map(|answers| if answers { BfdState::Up } else { BfdState::Down }),
    }
}

/// The VNIs that the node's routing daemons know a device of.
pub(crate) fn vnis(observed: &Observed) -> Vec<NodeVni> {
    let vni = |vni: &RoutingVni| {
        let RoutingVni { vni, of_vrf, vrf, link, up, remotes } = vni;
        NodeVni {
            vni: vni.get(),
            kind: if *of_vrf { VniType::L3 } else { VniType::L2 },
            vrf: vrf.clone(),
            interface: link.map(|link| link.to_string()),
            up: *up,
            remotes: (!of_vrf).then(|| u32::try_from(*remotes).unwrap_or(u32::MAX)),
        }
    };
    observed.routing_report.iter().flat_map(|report| &report.vnis).map(vni).collect()
}

/// The same without what alone is no reason to report again.
pub(crate) fn lasting(sessions: &[NodeSession], vnis: &[NodeVni]) -> (Vec<NodeSession>, Vec<NodeVni>) {
    let (mut sessions, mut vnis) = (sessions.to_vec(), vnis.to_vec());
    for session in &mut sessions {
        session.since = None;
        for family in &mut session.prefixes {
            family.received = family.received.min(1);
            family.sent = family.sent.min(1);
        }
    }
    for remotes in vnis.iter_mut().filter_map(|vni| vni.remotes.as_mut()) {
        *remotes = (*remotes).min(1);
    }
    (sessions, vnis)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use netloom_model::RoutingReport;

    use super::*;

    fn observed(state: RoutingSessionState, seconds: u64, received: u32) -> Observed {
        let session = RoutingSession {
            vrf: "default".to_owned(),
            peer: "192.0.2.13".to_owned(),
            remote_as: Some(65000),
            state,
            since: Some(Duration::from_secs(seconds)),
            established: 1,
            prefixes: [("l2VpnEvpn".to_owned(), (received, 3))].into(),
            bfd: Some(true),
        };
        let vni = RoutingVni {
            vni: 10100.try_into().unwrap(),
            of_vrf: true,
            vrf: "red".to_owned(),
            link: Some("vx.10100".parse().unwrap()),
            up: true,
            remotes: 0,
        };
        let routing_report = Some(RoutingReport { sessions: vec![session], vnis: vec![vni] });
        Observed { routing_report, ..Observed::default() }
    }

    #[test]
    fn what_daemons_report_is_listed_with_times() {
        let now: Timestamp = "2026-01-01T00:01:00Z".parse().unwrap();
        let observed = observed(RoutingSessionState::Established, 40, 2);
        let listed = serde_json::json!([sessions(now, &observed), vnis(&observed)]);
        let wanted = serde_json::json!([
            [{
                "vrf": "default", "peer": "192.0.2.13", "remoteASN": 65000, "state": "Established",
                "since": "2026-01-01T00:00:20Z", "established": 1, "bfd": "Up",
                "prefixes": [{"family": "l2VpnEvpn", "received": 2, "sent": 3}],
            }],
            [{"vni": 10100, "type": "L3", "vrf": "red", "interface": "vx.10100", "up": true}],
        ]);
        assert_eq!(listed, wanted);
    }

    #[test]
    fn numbers_alone_are_no_news_and_states_are() {
        let lasting = |now: i64, state, seconds, received| {
            let observed = observed(state, seconds, received);
            lasting(&sessions(Timestamp::from_second(now).unwrap(), &observed), &vnis(&observed))
        };
        let before = lasting(1000, RoutingSessionState::Established, 40, 2);
        assert_eq!(lasting(2000, RoutingSessionState::Established, 41, 500), before);
        assert_ne!(lasting(1000, RoutingSessionState::Established, 40, 0), before, "the last prefix is gone");
        assert_ne!(lasting(1000, RoutingSessionState::Down, 40, 2), before);
    }
}
