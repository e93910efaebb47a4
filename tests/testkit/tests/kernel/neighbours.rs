//! Neighbours that announce themselves: real frames over a real wire.

use std::{collections::BTreeSet, os::fd::AsRawFd as _, process::Command, time::Duration};

use netloom_lldp::{ETHERTYPE, GROUPS, Malformed, Neighbours, parse};
use netloom_model::{Engine as _, EngineError, Observed, Scope};
use netloom_netlink::{Namespace, hearing::Hearing, netns::Worker};
use netloom_testkit::{
    announcement::announcement,
    runner::{Ended, Outcome},
    space::{KernelStage, Space, ip},
    timeouts::stretched,
};
use netloom_types::IfName;
use nix::{
    ifaddrs::getifaddrs,
    sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, sendto, socket},
};
use serde_json::{Value, json};

/// As long as a frame may take over the wire.
const TIME_LIMIT: Duration = Duration::from_secs(5);
/// The end that is listened on, and the end of the neighbour.
const OURS: &str = "wire0";
const THEIRS: &str = "wire1";

pub(crate) fn are_heard() -> Outcome {
    let space = Space::new()?;
    let mut stage = space.stage()?;
    wire(&space)?;
    let before = observed(&mut stage)?;
    let hearing = stage.host.kernel.hearing(ETHERTYPE, &GROUPS).map_err(text)?;
    let links: BTreeSet<IfName> = [OURS, "nowhere"].map(name).into();
    let (mut hearing, deaf) = stage.host.kernel.listen_on(hearing, links).map_err(text)?;
    let reasons: Vec<&str> = deaf.iter().map(netloom_netlink::hearing::DeafError::reason).collect();
    same("links that cannot be listened on", &reasons, &vec!["NoLinkToListenOn"])?;
    same("who is heard in silence", &next(&mut hearing)?, &None)?;

    let mut table = Neighbours::new(Duration::ZERO);
    send(&space, &announcement(b"leaf1", &[10, 20]))?;
    let (link, frame) = heard(&mut hearing)?;
    same("the link", &link, &name(OURS))?;
    table.hear(Duration::ZERO, parse(&frame).map_err(text)?);
    let report = table.report(Duration::ZERO).unwrap_or_default();
    same("the chassis", &report[0][0]["chassis-id"], &json!("leaf1"))?;
    let vlans: Vec<&Value> =
        report[0].as_array().into_iter().flatten().filter_map(|p| p.get("ieee-802-1-vlans")).collect();
    same("the VLANs", &vlans, &vec![&json!([{"name": "", "vid": 10}, {"name": "", "vid": 20}])])?;

    let mut cut = announcement(b"leaf1", &[10]);
    cut.truncate(cut.len() - 3);
    send(&space, &cut)?;
    same("half of an announcement", &parse(&heard(&mut hearing)?.1), &Err(Malformed::Truncated(127)))?;
    groups_are_joined_while_it_listens(&space, &mut stage, hearing, &before)
}

/// The card gets what to let through, the host's own picture does not change by it, and a link that
/// was recreated is found.
fn groups_are_joined_while_it_listens(
    space: &Space,
    stage: &mut KernelStage,
    hearing: Hearing,
    before: &Observed,
) -> Outcome {
    same("groups of the link", &joined(space)?, &true)?;
    same("the host", &observed(stage)?.host, &before.host)?;
    let (hearing, _) = stage.host.kernel.listen_on(hearing, BTreeSet::new()).map_err(text)?;
    same("groups of the link afterwards", &joined(space)?, &false)?;
    let (hearing, _) = stage.host.kernel.listen_on(hearing, BTreeSet::from([name(OURS)])).map_err(text)?;
    ip(&["-n", space.name(), "link", "delete", OURS])?;
    wire(space)?;
    let (mut hearing, deaf) = stage.host.kernel.listen_on(hearing, BTreeSet::from([name(OURS)])).map_err(text)?;
    same("links that cannot be listened on", &deaf.len(), &0)?;
    send(space, &announcement(b"leaf2", &[]))?;
    let chassis = parse(&heard(&mut hearing)?.1).map_err(text)?.chassis.name;
    same("the chassis on a link that was recreated", &chassis.as_str(), &"leaf2")?;
    drop(hearing);
    same("groups of the link at the end", &joined(space)?, &false)?;
    Ok(Ended::OK)
}

/// A pair of links, both up.
fn wire(space: &Space) -> Result<(), String> {
    let at = ["-n", space.name(), "link"];
    ip(&[&at[..], &["add", OURS, "up", "type", "veth", "peer", "name", THEIRS]].concat())?;
    ip(&[&at[..], &["set", THEIRS, "up"]].concat())
}

/// Sends a frame from the neighbour's end.
fn send(space: &Space, frame: &[u8]) -> Result<(), String> {
    let frame = frame.to_vec();
    let failed = |why: &dyn ToString| EngineError { doing: "send a frame".to_owned(), why: why.to_string() };
    let worker = Worker::start(Namespace::Named(space.name().to_owned()), || Ok(())).map_err(text)?;
    let sent = worker.run(move |()| {
        let card = getifaddrs().map_err(|e| failed(&e))?.find(|one| one.interface_name == THEIRS);
        let address =
            card.and_then(|card| Some(*card.address?.as_link_addr()?)).ok_or_else(|| failed(&"no such link"))?;
        let socket =
            socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, None).map_err(|e| failed(&e))?;
        sendto(socket.as_raw_fd(), &frame, &address, MsgFlags::empty()).map(drop).map_err(|e| failed(&e))
    });
    sent.map_err(text)?.map_err(text)
}

fn next(hearing: &mut Hearing) -> Result<Option<(IfName, Vec<u8>)>, String> {
    Ok(hearing.frame().map_err(text)?.map(|(link, frame)| (link, frame.to_vec())))
}

/// The next frame, which must come.
fn heard(hearing: &mut Hearing) -> Result<(IfName, Vec<u8>), String> {
    if let Some(heard) = next(hearing)? {
        return Ok(heard);
    }
    hearing.wait(stretched(TIME_LIMIT)).map_err(text)?;
    next(hearing)?.ok_or_else(|| format!("nothing was heard in {:?}", stretched(TIME_LIMIT)))
}

/// Whether the link lets the first group through.
fn joined(space: &Space) -> Result<bool, String> {
    let words = ["-n", space.name(), "fdb", "show", "dev", OURS];
    let shown = Command::new("bridge").args(words).output().map_err(text)?;
    Ok(String::from_utf8_lossy(&shown.stdout).contains(&GROUPS[0].to_string()))
}

fn observed(stage: &mut KernelStage) -> Result<Observed, String> {
    stage.observe(Scope::default()).map_err(text)
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, got: &T, wanted: &T) -> Result<(), String> {
    if got == wanted { Ok(()) } else { Err(format!("{what}: got {got:?}, wanted {wanted:?}")) }
}

fn name(text: &str) -> IfName {
    text.parse().expect("a short name")
}

fn text(error: impl Into<Box<dyn std::error::Error>>) -> String {
    error.into().to_string()
}
