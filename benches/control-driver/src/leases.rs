//! Leases on many links: the agent beside one `dhclient` for each of them, with dnsmasq as the server of both.
//!
//! Both are measured from the start of the first process until the kernel has an address on the last link.

use std::{
    collections::BTreeSet,
    fs,
    os::{fd::AsRawFd as _, unix::fs::PermissionsExt as _},
    path::Path,
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use bench_client::Failure;
use bench_table::{Bound, Row, Series, Unit};
use http::Method;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, setsockopt, socket, sockopt,
};
use serde_json::{Value, json};
use tokio::{
    process::{Child, Command},
    sync::oneshot,
    time::{sleep, timeout},
};

use crate::{
    Said,
    flood::flood,
    process::{self, Memory},
    site::{NODE, Programs, STATES, Site},
    wires::{Wires, link},
};

const LINKS: u32 = 200;
const ROUNDS: usize = 3;
const FRAMES: usize = 1_000_000;
/// In the lab all of this is memory.
const IN_MEMORY: &str = "/run/netloom-bench";
/// How long 200 processes may take.
const TIME_LIMIT: Duration = Duration::from_secs(600);
/// What a start leaves to be done.
const SETTLED: Duration = Duration::from_secs(3);
/// `RTMGRP_IPV4_IFADDR`.
const ADDRESSES: u32 = 0x10;
const RTM_NEWADDR: u16 = 20;

pub async fn rows(programs: Programs<'_>, lab: &str) -> Result<Vec<Row>, Failure> {
    let own = std::env::current_exe()?;
    let Programs { netloom, agent } = programs;
    let reported = Said::by(lab, &["lab", "--", &own.to_string_lossy(), "--leases", netloom, agent]).await?;
    let series = |name: &str| {
        let values = (0..ROUNDS).map(|round| reported.value(&format!("{name} {round}")));
        values.collect::<Result<_, _>>().map(Series)
    };
    let [time, peers_time] = [series("time of ours")?, series("time of dhclient")?];
    let [memory, peers_memory] = [series("memory of ours")?, series("memory of dhclient")?];
    let [before, after] = [reported.value("before the frames")?, reported.value("after the frames")?];
    let row = |what: String, figure: Series, unit: Unit, bound: f64| Row {
        what,
        ours: None,
        peer: None,
        figure: (figure, unit),
        bound: Bound::AtMost(bound),
    };
    Ok(vec![
        Row {
            ours: Some((time.clone(), Unit::Milliseconds)),
            peer: Some(("a `dhclient` for each", peers_time.clone(), Unit::Milliseconds)),
            ..row(format!("{LINKS} links: until each has an address by DHCP"), time.over(&peers_time), Unit::Times, 0.2)
        },
        Row {
            ours: Some((memory.clone(), Unit::Mebibytes)),
            peer: Some(("a `dhclient` for each", peers_memory.clone(), Unit::Mebibytes)),
            ..row("the same: memory".to_owned(), memory.over(&peers_memory), Unit::Times, 0.1)
        },
        row(
            "the same: programs that the agent runs".to_owned(),
            Series(vec![reported.value("programs")?]),
            Unit::Pieces,
            0.0,
        ),
        Row {
            ours: Some((Series(vec![after]), Unit::Mebibytes)),
            peer: Some(("before them", Series(vec![before]), Unit::Mebibytes)),
            ..row(
                format!("{FRAMES} DHCP messages heard: memory more"),
                Series(vec![after - before]),
                Unit::Mebibytes,
                0.5,
            )
        },
    ])
}

/// The other side of [`rows`].
pub async fn say(programs: Programs<'_>) -> Result<(), Failure> {
    let mut wires = Wires::lay(IN_MEMORY, LINKS).await?;
    for round in 0..ROUNDS {
        for first in [true, false] {
            wires.serve().await?;
            let (who, (time, memory)) = if first == (round % 2 == 0) {
                let (site, measured) = ours(programs).await?;
                site.close().await?;
                ("ours", measured)
            } else {
                ("dhclient", peers().await?)
            };
            println!("time of {who} {round}: {:.3} s", time.as_secs_f64());
            println!("memory of {who} {round}: {memory:.1} MiB");
        }
    }
    wires.serve().await?;
    println!("programs: {}", programs_run(programs).await?);
    wires.serve().await?;
    let (site, _) = ours(programs).await?;
    let memory = || Ok::<_, Failure>(Memory::of(site.agent()?)?.anonymous);
    // Some first: whatever is made once is there then.
    let (server, cables) = (wires.other()?, wires.cables());
    flood(server, &cables, FRAMES / 50)?;
    println!("before the frames: {:.3} MiB", memory()?);
    flood(server, &cables, FRAMES)?;
    println!("after the frames: {:.3} MiB", memory()?);
    site.close().await?;
    wires.remove().await
}

/// Starts an agent that shall have a lease on every link: until it has, and what it then takes.
async fn ours(programs: Programs<'_>) -> Result<(Site, (Duration, f64)), Failure> {
    let mut site = Site::open(programs, IN_MEMORY).await?;
    let leased = |number| json!({"name": link(number), "state": "up", "ipv4": {"enabled": true, "dhcp": true}});
    let interfaces: Vec<Value> = (1..=LINKS).map(leased).collect();
    let desired = json!({
        "apiVersion": "nmstate.io/v1", "kind": "NodeNetworkState", "metadata": {"name": NODE},
        "spec": {"managed": true, "nodeName": NODE, "desiredState": {"interfaces": interfaces}},
    });
    site.send(Method::POST, STATES, &desired).await?;
    site.identify().await?;
    let bound = all_have_addresses()?;
    let started = Instant::now();
    site.attend(&[]).await?;
    let bound = timeout(TIME_LIMIT, bound).await???;
    sleep(SETTLED).await;
    let memory = process::share(site.agent()?)?;
    Ok((site, (bound - started, memory)))
}

/// Starts a `dhclient` for each link: until all have an address, and what they then take together.
async fn peers() -> Result<(Duration, f64), Failure> {
    let file = |name: &str| Path::new(IN_MEMORY).join(name);
    // No more than the agent asks for, so that its script does no more either.
    fs::write(file("dhclient.conf"), "request subnet-mask, broadcast-address, interface-mtu;\n")?;
    let bound = all_have_addresses()?;
    let started = Instant::now();
    let mut all = Vec::new();
    for number in 1..=LINKS {
        let mut command = Command::new("dhclient");
        command.args(["-d", "-q", "-cf"]).arg(file("dhclient.conf")).arg("-pf").arg(file(&format!("{number}.pid")));
        command.arg("-lf").arg(file(&format!("{number}.leases"))).arg(link(number));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        all.push(command.spawn()?);
    }
    let bound = timeout(TIME_LIMIT, bound).await???;
    sleep(SETTLED).await;
    let memory = all.iter().filter_map(Child::id).map(process::share).sum::<Result<f64, Failure>>()?;
    for process in &mut all {
        process.kill().await?;
    }
    for number in 1..=LINKS {
        fs::remove_file(file(&format!("{number}.leases")))?;
    }
    Ok((bound - started, memory))
}

/// How many programs the agent runs until it has all leases; it is one itself.
async fn programs_run(programs: Programs<'_>) -> Result<usize, Failure> {
    let [traced, trace] = ["traced", "trace"].map(|name| Path::new(IN_MEMORY).join(name));
    // With -D the agent is the process that is started, and not a child of it.
    let command = format!("exec strace -D -f -qq -e trace=execve,execveat -o {} {}", trace.display(), programs.agent);
    fs::write(&traced, format!("#!/bin/sh\n{command} \"$@\"\n"))?;
    fs::set_permissions(&traced, fs::Permissions::from_mode(0o755))?;
    let (site, _) = ours(Programs { agent: &traced.to_string_lossy(), ..programs }).await?;
    site.close().await?;
    let run = fs::read_to_string(&trace)?.lines().filter(|line| line.contains("execve")).count();
    Ok(run.checked_sub(1).ok_or("nothing was traced")?)
}

/// Listens from now on; when the last link got an address.
fn all_have_addresses() -> Result<oneshot::Receiver<Result<Instant, Failure>>, Failure> {
    let (family, protocol) = (AddressFamily::Netlink, SockProtocol::NetlinkRoute);
    let socket = socket(family, SockType::Raw, SockFlag::SOCK_CLOEXEC, protocol)?;
    bind(socket.as_raw_fd(), &NetlinkAddr::new(0, ADDRESSES))?;
    setsockopt(&socket, sockopt::RcvBuf, &(1 << 20))?;
    let (sender, last) = oneshot::channel();
    thread::spawn(move || {
        let (mut buffer, mut links) = (vec![0; 64 << 10], BTreeSet::new());
        while links.len() < LINKS as usize {
            match recv(socket.as_raw_fd(), &mut buffer, MsgFlags::empty()) {
                Ok(length) => links.extend(with_address(&buffer[..length])),
                Err(error) => return sender.send(Err(error.into())).ok(),
            }
        }
        sender.send(Ok(Instant::now())).ok()
    });
    Ok(last)
}

/// The links that notifications tell of that they have an address.
fn with_address(mut bytes: &[u8]) -> Vec<u32> {
    let mut found = Vec::new();
    let word = |bytes: &[u8], at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    while let (Some(length), Some(kind), Some(index)) = (word(bytes, 0), bytes.get(4..6), word(bytes, 20)) {
        if kind == RTM_NEWADDR.to_ne_bytes() {
            found.push(index);
        }
        let next = (length as usize).next_multiple_of(4).max(4);
        bytes = bytes.get(next..).unwrap_or_default();
    }
    found
}
