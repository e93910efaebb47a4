//! Cables between the node and a namespace with a DHCP server, which serves each of them a network of its own.
//!
//! The server is dnsmasq. Its namespace lasts as long as a process in it, which ends with this.

use std::{fmt::Write as _, fs, path::Path, process::Stdio, time::Duration};

use bench_client::Failure;
use tokio::{
    process::{Child, Command},
    time::{sleep, timeout},
};

use crate::{flood::Cable, site::ip_batch};

/// How long a server may take to be ready.
const TIME_LIMIT: Duration = Duration::from_secs(60);
/// After which time it is looked again whether it is.
const LOOK: Duration = Duration::from_millis(20);

/// The cables, and the server at their other ends.
pub struct Wires {
    folder: String,
    links: u32,
    keeper: Child,
    server: Option<Child>,
}

/// The link of the node at the end of a cable.
pub fn link(number: u32) -> String {
    format!("v{number}")
}

impl Wires {
    /// Lays cables `v1`, `v2` and so on. Nobody serves them yet.
    pub async fn lay(folder: &str, links: u32) -> Result<Self, Failure> {
        fs::create_dir_all(folder)?;
        let mut keeper = Command::new("unshare");
        keeper.args(["--net", "cat"]).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let wires = Self { folder: folder.to_owned(), links, keeper: keeper.spawn()?, server: None };
        let other = wires.keeper.id().ok_or("no namespace for the server")?;
        timeout(TIME_LIMIT, apart(other)).await??;
        // Nothing else is on the cables.
        wires.there(&["sysctl", "-q", "net.ipv6.conf.default.disable_ipv6=1"]).await?;
        fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1")?;
        let (mut here, mut there) = ("link set lo up\n".to_owned(), "link set lo up\n".to_owned());
        for number in 1..=links {
            writeln!(here, "link add {} up type veth peer name s{number} netns {other}", link(number))?;
            writeln!(there, "link set s{number} up\naddr add {}.1/24 dev s{number}", network(number))?;
        }
        ip_batch(folder, &here).await?;
        let batch = Path::new(folder).join("there");
        fs::write(&batch, there)?;
        wires.there(&["ip", "-batch", &batch.to_string_lossy()]).await?;
        Ok(wires)
    }

    /// Starts a server that has lent nothing, in the place of one that runs, and takes all addresses off the links.
    pub async fn serve(&mut self) -> Result<(), Failure> {
        if let Some(mut server) = self.server.take() {
            server.kill().await?;
        }
        let mut flush = String::new();
        let mut config = "port=0\nno-ping\ndhcp-authoritative\nbind-interfaces\nuser=root\npid-file\nlog-facility=-\n\
                          dhcp-option=3\ndhcp-option=6\ndhcp-lease-max=4096\n"
            .to_owned();
        for number in 1..=self.links {
            writeln!(flush, "addr flush dev {}", link(number))?;
            let network = network(number);
            writeln!(config, "dhcp-range={network}.100,{network}.199,255.255.255.0,1h")?;
        }
        ip_batch(&self.folder, &flush).await?;
        let file = |name: &str| Path::new(&self.folder).join(name);
        let (book, reported) = (file("lent"), file("dnsmasq.log"));
        if fs::exists(&book)? {
            fs::remove_file(&book)?;
        }
        fs::write(file("dnsmasq.conf"), config)?;
        let mut command = self.inside();
        command.args(["dnsmasq", "--keep-in-foreground"]).stderr(fs::File::create(&reported)?);
        command.arg(format!("--conf-file={}", file("dnsmasq.conf").display()));
        command.arg(format!("--dhcp-leasefile={}", book.display()));
        let server = self.server.insert(command.spawn()?);
        let ready = async {
            while !fs::read_to_string(&reported)?.contains("DHCP, ") {
                if server.try_wait()?.is_some() {
                    return Err(format!("dnsmasq ended: {}", fs::read_to_string(&reported)?).into());
                }
                sleep(LOOK).await;
            }
            Ok::<(), Failure>(())
        };
        timeout(TIME_LIMIT, ready).await?
    }

    /// The process whose network the server has.
    pub fn other(&self) -> Result<u32, Failure> {
        Ok(self.keeper.id().ok_or("no namespace for the server")?)
    }

    /// All cables, each by its end at the server and its end here.
    pub fn cables(&self) -> Vec<Cable> {
        (1..=self.links).map(|number| (format!("s{number}"), link(number))).collect()
    }

    /// A command in the namespace of the server.
    fn inside(&self) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/proc/{}/ns/net", self.keeper.id().unwrap_or_default()));
        command.stdin(Stdio::null()).stdout(Stdio::null()).kill_on_drop(true);
        command
    }

    async fn there(&self, words: &[&str]) -> Result<(), Failure> {
        let ended = self.inside().args(words).status().await?;
        if ended.success() { Ok(()) } else { Err(format!("{}: {ended}", words.join(" ")).into()) }
    }

    /// Ends the server; the cables go with its namespace.
    pub async fn remove(mut self) -> Result<(), Failure> {
        if let Some(mut server) = self.server.take() {
            server.kill().await?;
        }
        Ok(self.keeper.kill().await?)
    }
}

fn network(number: u32) -> String {
    format!("172.16.{number}")
}

/// Returns when a process has a network of its own.
async fn apart(process: u32) -> Result<(), Failure> {
    let own = fs::read_link("/proc/self/ns/net")?;
    while fs::read_link(format!("/proc/{process}/ns/net"))? == own {
        sleep(LOOK).await;
    }
    Ok(())
}
