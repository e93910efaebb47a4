//! What a host's network has in FRR: the lines that its daemons run with.
//!
//! Daemons that do not answer make the host one without routing lines for the moment; whoever plans says so. This program
//! starts no daemon and writes none of their files.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use netloom_frr::{
    BfdPeer, BfdState, Daemon, Daemons, EvpnVni, FrrError, Limits, Session, SessionState, VniKind, VrfVni, ZebraLink,
};
use netloom_model::{
    Address, EngineError, Link, LinkKind, Medium, Observed, Part, RoutingChange, RoutingLine, RoutingReport,
    RoutingSession, RoutingSessionState, RoutingVni, Scope, Step, StepError,
};
use netloom_routing::{Command, Release, RoutingConfig, commands};
use netloom_types::{IfName, IpNet};

/// The daemons without which nothing is routed.
const NEEDED: [Daemon; 2] = [Daemon::Zebra, Daemon::Bgpd];
/// What bgpd says to the end of a VRF while it has not heard from zebra yet that the VRF has no VNI any more.
const VNI_IS_THERE: &str = "Please unconfigure l3vni";
/// Zebra has heard of a change of the kernel by then, or never will.
const HEARS_WITHIN: Duration = Duration::from_secs(2);
/// How often it is asked until then.
const ASKED_EVERY: Duration = Duration::from_millis(20);
/// An input or output error, as the system numbers it.
const EIO: i32 = 5;

/// The daemons of one host.
#[derive(Debug)]
pub(crate) struct Routing {
    /// Where their sockets are.
    folder: PathBuf,
    /// Connections that are kept from one reading to the next.
    daemons: Option<Daemons>,
    /// What links were made ports of since zebra was last waited for.
    moved: BTreeMap<IfName, IfName>,
}

impl Routing {
    /// The daemons whose sockets are in a folder.
    pub(crate) fn of(folder: PathBuf) -> Self {
        Self { folder, daemons: None, moved: BTreeMap::new() }
    }

    /// The daemons, connected, and the release that all of them are of.
    fn connected(&mut self) -> Result<(&mut Daemons, Release), Unusable> {
        let usable = self.daemons.as_ref().is_some_and(|daemons| daemons.away().next().is_none());
        if !usable {
            self.daemons = None;
        }
        let daemons = match self.daemons.take() {
            Some(daemons) => daemons,
            None => Daemons::open(&self.folder, Limits::default())?,
        };
        let daemons = self.daemons.insert(daemons);
        if let Some((_, error)) = daemons.away().next() {
            return Err(Unusable::Incomplete(error.to_string()));
        }
        if let Some(missing) = NEEDED.into_iter().find(|needed| !daemons.there().any(|there| there == *needed)) {
            return Err(Unusable::Incomplete(format!("{missing} of FRR has no socket in {}", self.folder.display())));
        }
        let version = daemons.release(NEEDED[0]).map(|version| version.to_string()).unwrap_or_default();
        let release = Release::of_version(&version).ok_or(Unusable::Release(version))?;
        Ok((daemons, release))
    }

    /// Adds what a text says to what they run with.
    fn load(&mut self, text: &str) -> Result<(), Unusable> {
        let running = self.running()?;
        let read = RoutingConfig::parse(text).map_err(|error| Unusable::Incomplete(error.to_string()))?;
        let wanted = running.union(&read);
        let (daemons, release) = self.connected()?;
        commands(&running, &wanted).iter().try_for_each(|command| send(daemons, release, command))
    }

    /// Everything that they run with.
    fn running(&mut self) -> Result<RoutingConfig, Unusable> {
        let (daemons, release) = self.connected()?;
        let there: Vec<Daemon> = daemons.there().collect();
        let mut each = BTreeMap::new();
        for daemon in there {
            let text = daemons.running_config(daemon)?;
            let read =
                RoutingConfig::parse(&text).map_err(|error| Unusable::Incomplete(format!("{daemon}: {error}")))?;
            each.insert(daemon, read);
        }
        Ok(RoutingConfig::of_daemons(&each, release))
    }

    /// Waits until zebra has heard that these links are ports, each of its VRF. One that hears of a link, of its VRF and of
    /// its address in one breath may take the address for one of no VRF, and announces nothing for it (FRR 8.4).
    fn catch_up(&mut self, links: &BTreeSet<IfName>) {
        let moved: Vec<(IfName, IfName)> =
            self.moved.iter().filter(|(link, _)| links.contains(link)).map(|(link, of)| (*link, *of)).collect();
        if moved.is_empty() {
            return;
        }
        self.moved.retain(|link, _| !links.contains(link));
        let Ok((daemons, _)) = self.connected() else { return };
        let heard = |zebra: &BTreeMap<IfName, ZebraLink>| {
            moved.iter().all(|(link, of)| match (zebra.get(link), zebra.get(of)) {
                // What it is a port of may be a bridge, which is no VRF.
                (Some(link), Some(controller)) => controller.vrf != of.as_str() || link.vrf == controller.vrf,
                _ => false,
            })
        };
        // What becomes of it shows when the host is read.
        drop(polled(|| daemons.links().map(|zebra| heard(&zebra).then_some(()))));
    }

    /// The addresses of links in VRFs that zebra does not know there.
    fn unheard(&mut self, observed: &Observed, lines: &BTreeSet<RoutingLine>) -> Result<Unheard, Unusable> {
        let routed: BTreeSet<&str> = lines
            .iter()
            .filter_map(|line| line.block().strip_prefix("router bgp ")?.split_once(" vrf "))
            .map(|(_, vrf)| vrf)
            .collect();
        let in_vrf = |link: &Link| {
            let vrf = link.controller.filter(|vrf| routed.contains(vrf.as_str()))?;
            observed.links.get(&vrf).filter(|controller| controller.kind == LinkKind::Vrf).map(|_| vrf)
        };
        let ports: Vec<(&Link, IfName)> =
            observed.links.values().filter_map(|link| Some((link, in_vrf(link)?))).collect();
        let wanted = ports.iter().flat_map(|(link, vrf)| {
            let routed = link.addresses.iter().filter(|address| !is_link_local(address.ip));
            routed.map(|address| (link.name, *vrf, address))
        });
        let wanted: Vec<(IfName, IfName, &Address)> = wanted.collect();
        if wanted.is_empty() {
            return Ok(Unheard::new());
        }
        let (daemons, _) = self.connected()?;
        let mut unheard = Unheard::new();
        // It hears of an address a moment after the kernel has it.
        polled(|| {
            let zebra = daemons.links()?;
            let knows = |(link, vrf, address): &&(IfName, IfName, &Address)| {
                let net = |own: &IpNet| own.addr() == address.ip && own.prefix_len() == address.prefix_len;
                zebra.get(link).is_some_and(|link| link.vrf == vrf.as_str() && link.addresses.iter().any(net))
            };
            unheard = wanted.iter().filter(|one| !knows(one)).map(|(link, _, address)| (*link, address.ip)).collect();
            Ok(unheard.is_empty().then_some(()))
        })?;
        Ok(unheard)
    }

    /// What they report of sessions and VNIs.
    fn report(&mut self) -> Result<RoutingReport, Unusable> {
        let (daemons, _) = self.connected()?;
        let watched = daemons.there().any(|there| there == Daemon::Bfdd);
        let bfd = if watched { daemons.bfd_peers()? } else { Vec::new() };
        let sessions = daemons.sessions()?.into_iter().map(|session| of_session(session, &bfd)).collect();
        let of_vrfs = daemons.vrf_vnis()?;
        let vnis = daemons.evpn_vnis()?.into_iter().map(|vni| of_vni(vni, &of_vrfs)).collect();
        Ok(RoutingReport { sessions, vnis })
    }

    fn change(&mut self, change: &RoutingChange) -> Result<(), Unusable> {
        let running = self.running()?;
        let wanted = change.applied_to(&lines(&running)?);
        let wanted = config(&wanted)?;
        let (daemons, release) = self.connected()?;
        commands(&running, &wanted).iter().try_for_each(|command| send(daemons, release, command))
    }
}

/// Gives daemons that nobody else configures a configuration, as their own start does with a file.
pub fn load_routing(sockets: &Path, text: &str) -> Result<(), Unusable> {
    Routing::of(sockets.to_owned()).load(text)
}

fn of_session(session: Session, bfd: &[BfdPeer]) -> RoutingSession {
    let Session { vrf, peer, remote_as, state, since, established, prefixes } = session;
    let watched = bfd.iter().find(|one| {
        let same = peer.parse::<IpAddr>() == Ok(one.peer) || one.link.is_some_and(|link| link.as_str() == peer);
        same && one.vrf == vrf
    });
    RoutingSession {
        state: match state {
            SessionState::Established => RoutingSessionState::Established,
            SessionState::Shutdown => RoutingSessionState::Shutdown,
            SessionState::PrefixLimit => RoutingSessionState::PrefixLimit,
            SessionState::Down(_) => RoutingSessionState::Down,
        },
        bfd: watched.map(|one| one.state == BfdState::Up),
        prefixes: prefixes.into_iter().map(|(family, both)| (family, (both.received, both.sent))).collect(),
        vrf,
        peer,
        remote_as,
        since,
        established,
    }
}

fn of_vni(vni: EvpnVni, of_vrfs: &[VrfVni]) -> RoutingVni {
    let EvpnVni { vni, kind, vxlan, vrf, remotes } = vni;
    let of_vrf = kind == VniKind::L3;
    let up = if of_vrf { of_vrfs.iter().any(|one| one.vni == vni && one.up) } else { vxlan.is_some() };
    RoutingVni { vni, of_vrf, vrf, link: vxlan, up, remotes: remotes.len() }
}

/// Addresses, each with its link.
type Unheard = BTreeSet<(IfName, IpAddr)>;

/// Asks zebra until it says so, but not for long.
#[expect(clippy::disallowed_methods, reason = "zebra tells nobody when it hears of something, so it has to be asked")]
fn polled(mut so: impl FnMut() -> Result<Option<()>, FrrError>) -> Result<(), FrrError> {
    let began = Instant::now();
    while so()?.is_none() && began.elapsed() < HEARS_WITHIN {
        thread::sleep(ASKED_EVERY);
    }
    Ok(())
}

fn is_link_local(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V6(ip) if ip.is_unicast_link_local())
}

/// Sends one line to the daemons that it is for.
fn send(daemons: &mut Daemons, release: Release, command: &Command) -> Result<(), Unusable> {
    let owners = command.daemons.in_release(release);
    if owners.is_empty() {
        return Err(Unusable::Incomplete(format!("no daemon of FRR {release:?} takes \"{command}\"")));
    }
    if let Some(missing) = owners.iter().find(|owner| !daemons.there().any(|there| there == **owner)) {
        let why = format!("\"{command}\" is for {missing} of FRR, which does not run; start it");
        return Err(Unusable::Incomplete(why));
    }
    let context: Vec<&str> = command.context.iter().map(String::as_str).collect();
    let mut early = None;
    polled(|| match daemons.run(owners, &context, &command.line) {
        Err(FrrError::Refused(refusal)) if refusal.words.contains(VNI_IS_THERE) => {
            early = Some(refusal);
            Ok(None)
        }
        answer => {
            early = None;
            answer.map(|_| Some(()))
        }
    })?;
    early.map_or(Ok(()), |refusal| Err(FrrError::Refused(refusal).into()))
}

/// Lines as objects of a host.
fn lines(config: &RoutingConfig) -> Result<BTreeSet<RoutingLine>, Unusable> {
    let line = |(context, text): (&[String], &str)| {
        RoutingLine::new(context.iter().map(String::as_str), text)
            .map_err(|error| Unusable::Incomplete(error.to_string()))
    };
    config.lines().map(line).collect()
}

/// The same back.
fn config(lines: &BTreeSet<RoutingLine>) -> Result<RoutingConfig, Unusable> {
    let mut config = RoutingConfig::default();
    for line in lines {
        let context: Vec<&str> = line.context().iter().map(AsRef::as_ref).collect();
        config.add(&context, line.text()).map_err(|error| Unusable::Incomplete(format!("\"{line}\": {error}")))?;
    }
    Ok(config)
}

/// Why the daemons cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// They do not answer, or refuse.
    #[error(transparent)]
    Frr(#[from] FrrError),
    /// Nothing is known about lines of this release.
    #[error("FRR {0} is not known to netloom; it knows 8.4 to 8.5 and 10")]
    Release(String),
    /// Something is missing or cannot be read; the words say what.
    #[error("{0}")]
    Incomplete(String),
}

impl Part for Routing {
    fn medium(&self) -> Medium {
        Medium::Daemon
    }

    fn read(&mut self, scope: Scope, observed: &mut Observed) -> Result<(), EngineError> {
        let read = self.running().and_then(|running| lines(&running));
        if let Err(why) = &read {
            // The next reading begins with new connections.
            self.daemons = None;
            observed.routing_away = Some(why.to_string().into());
        }
        if let Ok(lines) = &read {
            // Daemons that went away meanwhile are told of by the next reading.
            observed.unheard = self.unheard(observed, lines).unwrap_or_default();
            if scope.sessions {
                observed.routing_report = self.report().ok();
            }
        }
        observed.host.routing = read.ok();
        Ok(())
    }

    fn is_ahead_of(&self, step: &Step) -> bool {
        matches!(step, Step::AddAddress { .. })
    }

    fn before(&mut self, steps: &[Step]) {
        if steps.first().is_some_and(|first| self.is_ahead_of(first)) {
            let links = steps.iter().filter(|step| matches!(step, Step::AddAddress { .. })).filter_map(Step::link);
            self.catch_up(&links.collect());
        }
        for step in steps {
            match step {
                Step::CreateLink { name, controller: Some(of), .. }
                | Step::SetController { name, controller: Some(of) } => {
                    self.moved.insert(*name, *of);
                }
                Step::SetController { name, controller: None } | Step::DeleteLink { name } => {
                    self.moved.remove(name);
                }
                _ => {}
            }
        }
    }

    fn apply(&mut self, steps: &[Step]) -> Result<Vec<Result<(), StepError>>, EngineError> {
        let one = |step: &Step| match step {
            Step::ChangeRouting(change) => self.change(change).map_err(|why| StepError::with(EIO, &why.to_string())),
            _ => Err(StepError::with(StepError::EOPNOTSUPP, "no routing daemon does this")),
        };
        Ok(steps.iter().map(one).collect())
    }
}
