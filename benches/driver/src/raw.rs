//! The same routes as bare netlink messages: what the kernel itself takes for them.
//!
//! Nothing is parsed, planned, journalled or read back. The messages are made before the clock starts, and only the last
//! one of each piece is acknowledged; a refused one is answered anyway, and ends the benchmark.

use std::{ffi::CString, net::Ipv4Addr, os::fd::AsRawFd, time::Instant};

use nix::{
    net::if_::if_nametoindex,
    sys::socket::{AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send, socket},
};

use crate::{
    documents,
    space::{BASE, Failure},
};

const RTM_NEWROUTE: u16 = 24;
const NLMSG_ERROR: u16 = 2;
/// Request, acknowledge, exclusive, create.
const FLAGS: u16 = 0x1 | 0x200 | 0x400;
const ACKNOWLEDGE: u16 = 0x4;
/// Messages in one call; together they are well below what a socket takes at once.
const PIECE: usize = 1_000;

/// Seconds until the kernel has acknowledged `count` routes.
#[expect(clippy::disallowed_methods, reason = "time is what is measured here")]
pub fn routes(count: usize) -> Result<f64, Failure> {
    let index = if_nametoindex(CString::new(BASE)?.as_c_str())?;
    let all: Vec<usize> = (0..count).collect();
    let pieces: Vec<Vec<u8>> = all.chunks(PIECE).map(|piece| joined(piece, index)).collect();
    let socket = socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute)?;
    bind(socket.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
    let mut answer = vec![0; 1 << 16];
    let started = Instant::now();
    for piece in &pieces {
        send(socket.as_raw_fd(), piece, MsgFlags::empty())?;
        let length = recv(socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
        acknowledged(&answer[..length])?;
    }
    Ok(started.elapsed().as_secs_f64())
}

fn joined(piece: &[usize], index: u32) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(piece.len() * 64);
    for (at, n) in piece.iter().enumerate() {
        let flags = if at + 1 == piece.len() { FLAGS | ACKNOWLEDGE } else { FLAGS };
        message(&mut bytes, documents::destination_address(*n), index, flags);
    }
    bytes
}

/// A route to one address via 10.0.0.2, with the protocol of `ip route add`.
fn message(bytes: &mut Vec<u8>, to: Ipv4Addr, index: u32, flags: u16) {
    const LENGTH: u32 = 16 + 12 + 3 * 8;
    bytes.extend(LENGTH.to_ne_bytes());
    bytes.extend(RTM_NEWROUTE.to_ne_bytes());
    bytes.extend(flags.to_ne_bytes());
    bytes.extend([0; 8]);
    // Family, lengths of destination and source, TOS, table main, protocol boot, scope universe, unicast, flags.
    bytes.extend([2, 32, 0, 0, 254, 3, 0, 1, 0, 0, 0, 0]);
    attribute(bytes, 1, to.octets());
    attribute(bytes, 5, Ipv4Addr::new(10, 0, 0, 2).octets());
    attribute(bytes, 4, index.to_ne_bytes());
}

fn attribute(bytes: &mut Vec<u8>, kind: u16, value: [u8; 4]) {
    bytes.extend(8_u16.to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
}

fn acknowledged(answer: &[u8]) -> Result<(), Failure> {
    let kind = answer.get(4..6).map(|kind| u16::from_ne_bytes([kind[0], kind[1]]));
    let code = answer.get(16..20).map(|code| i32::from_ne_bytes([code[0], code[1], code[2], code[3]]));
    if kind == Some(NLMSG_ERROR) && code == Some(0) {
        return Ok(());
    }
    Err(format!("the kernel refused a route: answer {kind:?}, code {code:?}").into())
}
