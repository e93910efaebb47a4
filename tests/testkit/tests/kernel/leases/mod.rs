//! Addresses from a real DHCP server: dnsmasq on one side of a real wire, the client on the other.
//!
//! The wire ends in a bridge, so that others can be on the link too. Hours pass by telling the client a
//! later time; the server keeps its own.

mod node;
mod server;

use std::time::Duration;

use netloom_dhcp::{Input, Lease, Probing, Remembered, RouteChoice};
use netloom_testkit::{
    runner::{Ended, Outcome},
    space::ip,
};

use self::{
    node::Node,
    server::{BRIDGE, LEASE, Server},
};

/// An address is had, renewed, found again after a restart, and given back; the server's book agrees
/// each time.
pub(crate) fn are_kept() -> Outcome {
    let Some(mut server) = Server::start("192.0.2.100,192.0.2.100")? else { return Ok(no_server()) };
    let mut node = Node::start(&server, Probing::QUICK, RouteChoice::Specific)?;
    node.until("LeaseBound")?;
    let lease = node.kept()?;
    same("the address", &lease.address.to_string(), "192.0.2.100/24")?;
    same("the server", &lease.server.to_string(), "192.0.2.1")?;
    let shown = node.addresses()?;
    let left = shown["valid_life_time"].as_u64().unwrap_or_default();
    check("the kernel knows when the address ends", (LEASE - 20..=LEASE).contains(&left), &shown)?;
    let routes = node.routes()?;
    check("the route of the lease is used", routes.contains("203.0.113.0/24 via 192.0.2.1"), &routes)?;
    check("the way to everywhere is not", !routes.contains("default"), &routes)?;
    let book = server.book()?;
    check("the server knows the client by its identifier", book.contains(&colons(lease.client_id.bytes())), &book)?;

    let first = ends(&lease);
    node.later(Duration::from_secs(LEASE / 2 + 1));
    node.until_kept(|lease| ends(lease) > first)?;
    server.says("DHCPREQUEST(", 2)?;

    let remembered = Remembered { lease: node.kept()?, installed: true };
    node.restart(Some(remembered))?;
    node.until("LeaseBound")?;
    server.says("DHCPREQUEST(", 3)?;
    // No new address was looked for.
    server.says("DHCPDISCOVER(", 1)?;

    node.tell(Input::Release)?;
    node.until("LeaseReleased")?;
    check("the address is gone", node.addresses()?.is_null(), &node.addresses()?)?;
    server.says("DHCPRELEASE(", 1)?;
    let book = server.book()?;
    check("the server has it again", !book.contains("192.0.2.100"), &book)?;
    Ok(Ended::OK)
}

/// A client whose network was renumbered while it was off is refused its old address and gets a new one.
pub(crate) fn are_refused_after_a_move() -> Outcome {
    let Some(mut server) = Server::start("192.0.2.100,192.0.2.100")? else { return Ok(no_server()) };
    let mut node = Node::start(&server, Probing::QUICK, RouteChoice::None)?;
    node.until("LeaseBound")?;
    let lease = node.kept()?;
    server.serve("198.51.100.1/24", "198.51.100.7,198.51.100.7")?;
    node.restart(Some(Remembered { lease, installed: true }))?;
    node.until("LeaseRefused")?;
    node.until("LeaseBound")?;
    same("the address", &node.kept()?.address.to_string(), "198.51.100.7/24")?;
    let shown = node.addresses()?;
    check("the old one is gone", shown["local"] == "198.51.100.7", &shown)?;
    Ok(Ended::OK)
}

/// An address that somebody on the link has is declined, and another one is had.
pub(crate) fn are_declined_when_in_use() -> Outcome {
    let Some(mut server) = Server::start("192.0.2.100,192.0.2.101")? else { return Ok(no_server()) };
    let stranger = server.neighbour(&["192.0.2.100/24", "192.0.2.101/24"])?;
    let mut node = Node::start(&server, Probing::QUICK, RouteChoice::None)?;
    node.until("AddressInUse")?;
    server.says("DHCPDECLINE(", 1)?;
    ip(&["-n", stranger.name(), "link", "set", "x1", "down"])?;
    node.later(Duration::from_secs(10));
    node.until("LeaseBound")?;
    // The first was acknowledged before it was found to be in use.
    server.says("DHCPACK(", 2)?;
    Ok(Ended::OK)
}

/// A link and a VLAN on it have one hardware address between them, and each has its own lease.
pub(crate) fn are_each_links_own() -> Outcome {
    let Some(mut server) = Server::start("192.0.2.100,192.0.2.100")? else { return Ok(no_server()) };
    server.serve_vlan("100", "198.51.100.1/24", "198.51.100.7,198.51.100.7")?;
    let mut plain = Node::start(&server, Probing::QUICK, RouteChoice::None)?;
    let mut tagged = plain.in_vlan(100)?;
    same("the hardware address", &tagged.mac().to_string(), &plain.mac().to_string())?;
    tagged.until("LeaseBound")?;
    plain.until("LeaseBound")?;
    same("the address in the VLAN", &tagged.kept()?.address.to_string(), "198.51.100.7/24")?;
    same("the address beside it", &plain.kept()?.address.to_string(), "192.0.2.100/24")?;
    tagged.later(Duration::from_secs(LEASE / 2 + 1));
    let first = ends(&tagged.kept()?);
    tagged.until_kept(|lease| ends(lease) > first)?;
    let book = server.book()?;
    for node in [&plain, &tagged] {
        let id = colons(node.kept()?.client_id.bytes());
        check("the server tells them apart", book.contains(&id), &book)?;
    }
    Ok(Ended::OK)
}

/// What the client does not listen to never reaches it.
pub(crate) fn wake_nobody_for_other_frames() -> Outcome {
    let Some(server) = Server::start("192.0.2.100,192.0.2.100")? else { return Ok(no_server()) };
    let mut node = Node::start(&server, Probing::QUICK, RouteChoice::None)?;
    node.until("LeaseBound")?;
    let before = node.heard();
    ip(&["-n", server.name(), "neigh", "flush", "dev", BRIDGE])?;
    server.ping("192.0.2.100")?;
    node.pass(Duration::from_millis(200))?;
    same("frames that came", &node.heard().to_string(), &before.to_string())?;
    Ok(Ended::OK)
}

fn no_server() -> Ended {
    Ended::NotRun("dnsmasq is missing (dnsmasq-base)".to_owned())
}

/// When it ends; the server gives none without an end.
fn ends(lease: &Lease) -> Option<u64> {
    lease.expires.map(|end| end.since_boot_ms)
}

fn colons(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":")
}

fn same(what: &str, got: &str, wanted: &str) -> Result<(), String> {
    if got == wanted { Ok(()) } else { Err(format!("{what}: got {got}, wanted {wanted}")) }
}

fn check(what: &str, holds: bool, seen: &dyn std::fmt::Display) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("{what}: that is not so:\n{seen}")) }
}
