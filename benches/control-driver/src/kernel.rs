//! Links as they change, by the notifications of the kernel.

use std::{
    os::fd::AsRawFd as _,
    thread,
    time::{Duration, Instant},
};

use bench_client::Failure;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, setsockopt, socket, sockopt,
};
use tokio::{
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    time::timeout,
};

/// `RTMGRP_LINK`.
const LINKS: u32 = 1;
const RTM_NEWLINK: u16 = 16;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
/// Of a message, and of what is reported of a link before its attributes.
const HEADER: usize = 16;
/// How long the kernel may take to have something again.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Every change of a link from now on: its name, its MTU and when it was heard.
pub struct Kernel(UnboundedReceiver<(Instant, String, u32)>);

impl Kernel {
    pub fn listen() -> Result<Self, Failure> {
        let (family, protocol) = (AddressFamily::Netlink, SockProtocol::NetlinkRoute);
        let socket = socket(family, SockType::Raw, SockFlag::SOCK_CLOEXEC, protocol)?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, LINKS))?;
        setsockopt(&socket, sockopt::RcvBuf, &(1 << 20))?;
        let (sender, changes) = unbounded_channel();
        // It ends with the first change that nobody waits for any more.
        thread::spawn(move || {
            let mut buffer = vec![0; 64 << 10];
            while let Ok(length) = recv(socket.as_raw_fd(), &mut buffer, MsgFlags::empty()) {
                let heard = Instant::now();
                for (name, mtu) in links(&buffer[..length]) {
                    if sender.send((heard, name, mtu)).is_err() {
                        return;
                    }
                }
            }
        });
        Ok(Self(changes))
    }

    /// When a link was set to this MTU.
    pub async fn until(&mut self, link: &str, mtu: u32) -> Result<Instant, Failure> {
        let wait = async {
            loop {
                let (heard, name, reported) = self.0.recv().await.ok_or("the kernel says nothing more")?;
                if name == link && reported == mtu {
                    return Ok::<_, Failure>(heard);
                }
            }
        };
        timeout(TIME_LIMIT, wait).await?
    }
}

/// The links that notifications tell of.
fn links(mut bytes: &[u8]) -> Vec<(String, u32)> {
    let mut found = Vec::new();
    while let Some((length, kind)) = word(bytes, 0).zip(half(bytes, 4)) {
        let Some(message) = bytes.get(..length as usize).filter(|message| message.len() >= HEADER) else { break };
        if kind == RTM_NEWLINK {
            found.extend(link(message.get(2 * HEADER..).unwrap_or_default()));
        }
        bytes = bytes.get(aligned(message.len())..).unwrap_or_default();
    }
    found
}

fn link(mut attributes: &[u8]) -> Option<(String, u32)> {
    let (mut name, mut mtu) = (None, None);
    while let Some((length, kind)) = half(attributes, 0).zip(half(attributes, 2)) {
        let value = attributes.get(4..usize::from(length))?;
        match kind {
            IFLA_IFNAME => name = Some(String::from_utf8_lossy(value).trim_end_matches('\0').to_owned()),
            IFLA_MTU => mtu = word(value, 0),
            _ => {}
        }
        attributes = attributes.get(aligned(length.into())..).unwrap_or_default();
    }
    name.zip(mtu)
}

fn aligned(length: usize) -> usize {
    length.next_multiple_of(4)
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
