//! A DHCP server on the switch: dnsmasq, with its log and its book of leases in the folder of the story.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use nix::sys::signal::Signal;
use serde::Deserialize;

use super::{
    site::Process,
    wires::{Wires, space},
};

/// The least time, in seconds, for which dnsmasq gives an address.
const LEASE: u32 = 120;

/// How a server is set up.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Serve {
    /// The VLAN that it serves; all that is untagged if not said.
    vlan: Option<u16>,
    /// Its own address, with the length of the prefix.
    address: String,
    /// The one address that it gives.
    gives: String,
    /// When clients ask again, and when they ask any server; as they like if not said.
    times: Option<(u32, u32)>,
    /// Further words for dnsmasq.
    #[serde(default)]
    with: Vec<String>,
}

/// A server that runs, or ran.
#[derive(Default)]
pub(super) struct DhcpServer {
    process: Option<Process>,
}

impl DhcpServer {
    /// Whether this machine has such a server.
    pub(super) fn is_possible() -> bool {
        let found = Command::new("dnsmasq").arg("--version").stdout(Stdio::null()).status();
        !matches!(found, Err(error) if error.kind() == ErrorKind::NotFound)
    }

    /// Starts it, in the place of one that runs. What that one gave is in its book.
    pub(super) fn start(&mut self, folder: &Path, serve: &Serve) -> Result<(), String> {
        self.end()?;
        let link = match serve.vlan {
            Some(vlan) => format!("sw0.{vlan}"),
            None => "sw0".to_owned(),
        };
        if let Some(vlan) = serve.vlan {
            // It may be there from before.
            Wires::change("sw", "ip", &[format!("link add link sw0 name {link} type vlan id {vlan}")]).ok();
        }
        Wires::change(
            "sw",
            "ip",
            &[format!("link set {link} up"), format!("addr replace {} dev {link}", serve.address)],
        )?;
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &space("sw"), "dnsmasq", "--keep-in-foreground", "--log-facility=-"]);
        command.args(["--conf-file=/dev/null", "--port=0", "--no-ping", "--dhcp-authoritative", "--log-dhcp"]);
        command.args(["--user=root", "--pid-file=", "--bind-interfaces"]);
        command.arg(format!("--interface={link}")).arg(format!("--dhcp-leasefile={}", book(folder).display()));
        command.arg(format!("--dhcp-range={0},{0},255.255.255.0,{LEASE}", serve.gives));
        if let Some((renew, rebind)) = serve.times {
            command.arg(format!("--dhcp-option-force=58,{renew}")).arg(format!("--dhcp-option-force=59,{rebind}"));
        }
        self.process = Some(Process::start(command.args(&serve.with), &log(folder))?);
        Ok(())
    }

    /// Ends it.
    pub(super) fn end(&mut self) -> Result<(), String> {
        self.process.take().map_or(Ok(()), |process| process.end(Signal::SIGKILL).map(drop))
    }
}

/// What a server said and wrote down.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ServerCheck {
    /// Words of its log, each with how often they stand there at least and at most.
    #[serde(default)]
    says: std::collections::BTreeMap<String, (usize, usize)>,
    /// Words that stand in its book.
    #[serde(default)]
    lends: Vec<String>,
    /// Words that do not.
    #[serde(default)]
    free: Vec<String>,
}

impl ServerCheck {
    /// Why it is not so; none when it is.
    pub(super) fn wrong(&self, folder: &Path) -> Option<String> {
        let Self { says, lends, free } = self;
        let text = fs::read_to_string(log(folder)).unwrap_or_default();
        for (words, (least, most)) in says {
            let count = text.matches(words.as_str()).count();
            if !(*least..=*most).contains(&count) {
                return Some(format!("the server said {words:?} {count} times, not {least} to {most}:\n{text}"));
            }
        }
        let book = fs::read_to_string(book(folder)).unwrap_or_default();
        let wrong = |(words, wanted): (&String, bool)| book.contains(words.as_str()) != wanted;
        let all = lends.iter().map(|words| (words, true)).chain(free.iter().map(|words| (words, false)));
        let (words, _) = all.into_iter().find(|one| wrong(*one))?;
        Some(format!("{words}: the book of the server says otherwise:\n{book}"))
    }
}

fn log(folder: &Path) -> PathBuf {
    folder.join("dnsmasq.log")
}

fn book(folder: &Path) -> PathBuf {
    folder.join("dnsmasq.leases")
}
