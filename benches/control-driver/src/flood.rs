//! Frames as a DHCP server sends them, in large numbers, to links that hold leases.
//!
//! They pass the filter in the kernel and are sound but for the question that they answer, which nobody asked: the
//! client has to read each of them to know that. No more are on their way than a socket holds, so none is lost.

use std::{
    collections::BTreeSet,
    fs, iter,
    os::fd::{AsRawFd as _, OwnedFd},
    thread,
};

use bench_client::Failure;
use nix::{
    ifaddrs::getifaddrs,
    net::if_::if_nametoindex,
    sched::{CloneFlags, setns},
    sys::socket::{AddressFamily, LinkAddr, MsgFlags, SockFlag, SockType, sendto, socket},
};

/// Frames at once to a link: with all that the kernel keeps beside them they fit into any socket.
const BURST: usize = 64;
const SERVER: [u8; 4] = [172, 16, 1, 1];
/// The beginning of the options of a DHCP message.
const COOKIE: [u8; 4] = [99, 130, 83, 99];

/// A cable between the namespace of a server and this one, by its end there and its end here.
pub type Cable = (String, String);

/// Sends so many frames over cables from the namespace of a process, as many over each, and returns when all of them were
/// taken here.
pub fn flood(from: u32, cables: &[Cable], frames: usize) -> Result<(), Failure> {
    let received = || cables.iter().map(|(_, link)| received(link)).sum::<Result<usize, Failure>>();
    let (socket, ends) = way(from, cables)?;
    let (indexes, before) = (indexes(cables)?, received()?);
    let offers = cables.iter().map(|(_, link)| Ok(offer(address(link)?.addr().ok_or("no hardware address")?)));
    let ways: Vec<(LinkAddr, Vec<u8>)> = ends.into_iter().zip(offers.collect::<Result<Vec<_>, Failure>>()?).collect();
    let mut held = false;
    for begun in (0..frames).step_by(BURST * ways.len()) {
        let each = (frames - begun).div_ceil(ways.len()).min(BURST);
        for (to, frame) in ways.iter().flat_map(|way| iter::repeat_n(way, each)) {
            sendto(socket.as_raw_fd(), frame, to, MsgFlags::empty())?;
        }
        while waits(&indexes)? {
            held = true;
            thread::yield_now();
        }
    }
    if !held {
        return Err("no socket ever held a frame: nobody listens, or no filter lets them through".into());
    }
    let came = received()? - before;
    if came < frames { Err(format!("only {came} of {frames} frames came").into()) } else { Ok(()) }
}

/// A socket for frames in the namespace of a process, and where cables begin there.
fn way(process: u32, cables: &[Cable]) -> Result<(OwnedFd, Vec<LinkAddr>), Failure> {
    let space = fs::File::open(format!("/proc/{process}/ns/net"))?;
    let ends: Vec<String> = cables.iter().map(|(end, _)| end.clone()).collect();
    // A socket stays in the namespace in which it was made; this thread does not leave its own.
    let open = move || {
        setns(space, CloneFlags::CLONE_NEWNET)?;
        let socket = socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, None)?;
        Ok::<_, Failure>((socket, ends.iter().map(|end| address(end)).collect::<Result<_, _>>()?))
    };
    thread::spawn(open).join().map_err(|_| "no way to the cables")?
}

fn indexes(cables: &[Cable]) -> Result<BTreeSet<String>, Failure> {
    cables.iter().map(|(_, link)| Ok(if_nametoindex(link.as_str())?.to_string())).collect()
}

fn address(link: &str) -> Result<LinkAddr, Failure> {
    let found = getifaddrs()?.find(|one| one.interface_name == link && one.address.is_some());
    let found = found.and_then(|one| Some(*one.address?.as_link_addr()?));
    Ok(found.ok_or_else(|| format!("there is no {link}"))?)
}

/// Whether a socket of one of these links has frames that nobody took yet.
fn waits(indexes: &BTreeSet<String>) -> Result<bool, Failure> {
    let sockets = fs::read_to_string("/proc/thread-self/net/packet")?;
    let mut lines = sockets.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    Ok(lines.any(|words| words.get(4).is_some_and(|index| indexes.contains(*index)) && words.get(6) != Some(&"0")))
}

/// How many frames a link has received.
fn received(link: &str) -> Result<usize, Failure> {
    let all = fs::read_to_string("/proc/thread-self/net/dev")?;
    let counts = all.lines().find_map(|line| line.trim().strip_prefix(link)?.strip_prefix(':'));
    let counts = counts.ok_or_else(|| format!("there is no {link}"))?;
    Ok(counts.split_whitespace().nth(1).unwrap_or_default().parse()?)
}

/// An offer to this client, as an answer to a question that it never asked.
fn offer(client: [u8; 6]) -> Vec<u8> {
    let mut message = vec![2, 1, 6, 0, 0xde, 0xad, 0xbe, 0xef, 0, 0, 0, 0, 0, 0, 0, 0, 172, 16, 1, 100];
    message.extend([SERVER, [0; 4]].concat());
    message.extend(client);
    message.resize(236, 0);
    message.extend(COOKIE);
    message.extend([53, 1, 2, 54, 4]);
    message.extend(SERVER);
    message.extend([51, 4, 0, 0, 14, 16, 1, 4, 255, 255, 255, 0, 255]);
    message.resize(300, 0);
    let length = |rest: usize| u16::try_from(message.len() + rest).unwrap_or_default().to_be_bytes();
    let mut packet = vec![0x45, 0];
    packet.extend(length(28));
    packet.extend([0, 0, 0, 0, 64, 17, 0, 0]);
    packet.extend([SERVER, [172, 16, 1, 100]].concat());
    let sum: u32 = packet.chunks(2).map(|two| u32::from(two[0]) << 8 | u32::from(two[1])).sum();
    let sum = u16::try_from((sum & 0xffff) + (sum >> 16)).unwrap_or_default();
    packet[10..12].copy_from_slice(&(!sum).to_be_bytes());
    packet.extend([0, 67, 0, 68]);
    packet.extend(length(8));
    packet.extend([0, 0]);
    [&client[..], &[2, 0, 0, 0, 0, 1, 8, 0], &packet, &message].concat()
}
