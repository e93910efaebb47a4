//! A DHCP server on the switch: dnsmasq or Kea, with its log and its book of leases in the folder of the story.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use nix::sys::signal::Signal;
use serde::Deserialize;
use serde_json::json;

use super::{
    site::Process,
    wires::{Wires, space},
};

/// The least time, in seconds, for which dnsmasq gives an address.
const LEASE: u32 = 120;

/// Which program serves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Program {
    #[default]
    Dnsmasq,
    Kea,
}

/// How a server is set up.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Serve {
    /// Which program it is.
    #[serde(default)]
    by: Program,
    /// The VLAN that it serves; all that is untagged by default.
    vlan: Option<u16>,
    /// Its own address, with the length of the prefix.
    address: String,
    /// The one address that it gives, or the first and the last of them with a line between.
    gives: String,
    /// When clients ask again, and when they ask any server; as they like by default.
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
    /// Starts it, in the place of one that runs. What that one gave is in its book; what it reported is forgotten.
    pub(super) fn start(&mut self, folder: &Path, serve: &Serve) -> Result<(), String> {
        self.end()?;
        fs::remove_file(log(folder)).ok();
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
        command.args(["netns", "exec", &space("sw")]);
        match serve.by {
            Program::Dnsmasq => serve.with_dnsmasq(&mut command, &link, folder),
            Program::Kea => serve.with_kea(&mut command, &link, folder)?,
        }
        self.process = Some(Process::start(command.args(&serve.with), &log(folder))?);
        Ok(())
    }

    /// Ends it.
    pub(super) fn end(&mut self) -> Result<(), String> {
        self.process.take().map_or(Ok(()), |process| process.end(Signal::SIGKILL).map(drop))
    }
}

impl Program {
    /// Whether this machine has it.
    pub(super) fn is_there(self) -> bool {
        let mut command = match self {
            Self::Dnsmasq => Command::new("dnsmasq"),
            Self::Kea => Command::new("kea-dhcp4"),
        };
        let found = command.arg("-v").stdout(Stdio::null()).stderr(Stdio::null()).status();
        !matches!(found, Err(error) if error.kind() == ErrorKind::NotFound)
    }
}

impl Serve {
    /// The first and the last address that it gives.
    fn range(&self) -> (&str, &str) {
        self.gives.split_once('-').unwrap_or((&self.gives, &self.gives))
    }

    fn with_dnsmasq(&self, command: &mut Command, link: &str, folder: &Path) {
        command.args(["dnsmasq", "--keep-in-foreground", "--log-facility=-"]);
        command.args(["--conf-file=/dev/null", "--port=0", "--no-ping", "--dhcp-authoritative", "--log-dhcp"]);
        command.args(["--user=root", "--pid-file=", "--bind-interfaces"]);
        command.arg(format!("--interface={link}")).arg(format!("--dhcp-leasefile={}", book(folder).display()));
        let (first, last) = self.range();
        command.arg(format!("--dhcp-range={first},{last},255.255.255.0,{LEASE}"));
        if let Some((renew, rebind)) = self.times {
            command.arg(format!("--dhcp-option-force=58,{renew}")).arg(format!("--dhcp-option-force=59,{rebind}"));
        }
    }

    fn with_kea(&self, command: &mut Command, link: &str, folder: &Path) -> Result<(), String> {
        let (first, last) = self.range();
        let mut config = json!({
            "interfaces-config": {"interfaces": [link]},
            "lease-database": {"type": "memfile", "name": book(folder)},
            "valid-lifetime": LEASE,
            "authoritative": true,
            "subnet4": [{"id": 1, "subnet": self.address, "pools": [{"pool": format!("{first} - {last}")}]}],
            "loggers": [{"name": "kea-dhcp4", "severity": "INFO", "output_options": [{"output": "stderr"}]}],
        });
        if let Some((renew, rebind)) = self.times {
            config["renew-timer"] = json!(renew);
            config["rebind-timer"] = json!(rebind);
        }
        let file = folder.join("kea.json");
        fs::write(&file, json!({"Dhcp4": config}).to_string())
            .map_err(|error| format!("{}: {error}", file.display()))?;
        command.args(["kea-dhcp4", "-c"]).arg(file);
        // Since 2.6.3 it keeps its leases in one folder only.
        for place in ["KEA_LOCKFILE_DIR", "KEA_PIDFILE_DIR", "KEA_DHCP_DATA_DIR"] {
            command.env(place, folder);
        }
        Ok(())
    }
}

/// What a server reported and wrote down.
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
                return Some(format!("the server reported {words:?} {count} times, not {least} to {most}:\n{text}"));
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
    folder.join("dhcp.log")
}

fn book(folder: &Path) -> PathBuf {
    folder.join("dhcp.leases")
}
