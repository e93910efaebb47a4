//! What the kernel takes as files below `/proc/sys/net`: properties of links, and one setting of all bridges.
//!
//! Reading properties of links needs no file: their values come with the link (see `link::decode`). Writing does,
//! because only the file carries out everything that a change entails.
//!
//! All of this must run on the thread of the namespace: what `/proc/sys/net` shows is that of the thread
//! that looks.

use std::{
    fs::{self, OpenOptions},
    io::{self, Read as _},
    net::Ipv6Addr,
    path::{Path, PathBuf},
};

use netloom_model::{Attrs, StepError, Value};
use netloom_types::{Family, IfName};

use crate::link::table::{Layout, Wire, wire};

const ADDR_GEN_MODE: &str = "addr_gen_mode";
const STABLE_PRIVACY: &str = "2";
const MACHINE_ID: &str = "/etc/machine-id";
const SETTINGS: &str = "/proc/sys/net";
/// Where a container finds the settings of its namespace such that it can write them: runtimes give it `/proc/sys` to read
/// only. It is the same folder, and shows each thread its own namespace too.
pub const SETTINGS_OF_HOST: &str = "/host/proc/sys/net";

/// One file and what is written into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// The file.
    pub path: PathBuf,
    /// The text.
    pub text: String,
}

/// What must be written for those of `attrs` that are files, in order.
pub fn writes(link: IfName, attrs: &Attrs) -> Vec<Write> {
    let one = |(attr, value): (_, &Value)| {
        let Wire::Sysctl(family, file, _) = wire(attr, Layout::Plain) else { return None };
        let number = match value {
            Value::Bool(on) => u64::from(*on),
            Value::Int(number) => *number,
            _ => return None,
        };
        let family = match family {
            Family::Ipv4 => "ipv4",
            Family::Ipv6 => "ipv6",
        };
        let path = settings().join(family).join("conf").join(link.as_str()).join(file);
        Some(Write { path, text: number.to_string() })
    };
    attrs.iter().filter_map(one).collect()
}

/// Writes those of `attrs` that are files; stops at the first refusal.
pub fn apply(link: IfName, attrs: &Attrs) -> Result<(), StepError> {
    let writes = writes(link, attrs);
    if !writes.is_empty() && matches!(link.as_str(), "all" | "default") {
        // These two folders stand for every link; no link can have such a name and settings.
        return Err(StepError::with(StepError::EINVAL, &format!("{link} is no link with settings of its own")));
    }
    for write in writes {
        let mut result = fs::write(&write.path, &write.text);
        if result.is_err() && write.path.ends_with(ADDR_GEN_MODE) && write.text == STABLE_PRIVACY {
            // The kernel takes this mode only from a link that has a secret to make addresses with.
            result = give_secret(link, &write.path).and_then(|()| fs::write(&write.path, &write.text));
        }
        result.map_err(|error| refused(&write, &error))?;
    }
    Ok(())
}

/// What a link of a pod is told before it comes up: that it announces its addresses then, and that IPv6 is either off on it
/// or only what is given to it.
pub fn of_pod(link: IfName, ipv6: bool) -> Vec<Write> {
    let text = |on: bool| u8::from(on).to_string();
    let write = |family: &str, link: &str, file: &str, on: bool| Write {
        path: settings().join(family).join("conf").join(link).join(file),
        text: text(on),
    };
    let name = link.as_str();
    let mut writes = vec![write("ipv4", name, "arp_notify", true)];
    if !ipv6 {
        writes.push(write("ipv6", name, "disable_ipv6", true));
        return writes;
    }
    writes.push(write("ipv6", "all", "disable_ipv6", false));
    let own = [("disable_ipv6", false), ("autoconf", false), ("accept_ra", false), ("ndisc_notify", true)];
    writes.extend(own.map(|(file, on)| write("ipv6", name, file, on)));
    writes
}

/// Writes them. Where the kernel has no IPv6 at all, none is off already.
pub fn set_of_pod(link: IfName, ipv6: bool) -> Result<(), StepError> {
    for write in of_pod(link, ipv6) {
        match fs::write(&write.path, &write.text) {
            Err(error) if !ipv6 && error.kind() == io::ErrorKind::NotFound && write.path.ends_with("disable_ipv6") => {}
            done => done.map_err(|error| refused(&write, &error))?,
        }
    }
    Ok(())
}

/// Whether iptables sees the frames of bridges. None where `br_netfilter` is not loaded, so that it never does, and where
/// one may not write it: what cannot be set must not keep a network from being made.
pub fn bridge_iptables() -> Option<bool> {
    let mut text = String::new();
    OpenOptions::new().read(true).write(true).open(bridge_iptables_file()).ok()?.read_to_string(&mut text).ok()?;
    Some(!text.starts_with('0'))
}

/// Has the frames of bridges shown to iptables, or not.
pub fn set_bridge_iptables(seen: bool) -> Result<(), StepError> {
    let write = Write { path: bridge_iptables_file(), text: u8::from(seen).to_string() };
    fs::write(&write.path, &write.text).map_err(|error| refused(&write, &error))
}

/// Whether IPv6 packets are passed on at all. None where there is no IPv6.
pub fn ipv6_forwarding() -> Option<bool> {
    Some(!fs::read_to_string(ipv6_forwarding_file()).ok()?.starts_with('0'))
}

/// Has IPv6 packets passed on, or not. The kernel sets every link to the same with it, and a router forgets the ways that it
/// learned from other routers: each link gets back what it had, and keeps its ways.
pub fn set_ipv6_forwarding(on: bool) -> Result<(), StepError> {
    let links = settings().join("ipv6/conf");
    let folders = fs::read_dir(&links).map_err(|error| StepError::with(StepError::ENOENT, &error.to_string()))?;
    let read = |file: PathBuf| fs::read_to_string(file).map(|text| text.trim().to_owned()).unwrap_or_default();
    let others: Vec<(PathBuf, String, String)> = folders
        .flatten()
        .filter(|folder| folder.file_name() != "all")
        .map(|folder| (folder.path(), read(folder.path().join("forwarding")), read(folder.path().join("accept_ra"))))
        .collect();
    // A link that goes meanwhile has no file any more, and nothing to get back.
    let write = |folder: &Path, file: &str, text: &str| fs::write(folder.join(file), text).ok();
    for (folder, ..) in others.iter().filter(|(_, _, accepts)| accepts == "1") {
        write(folder, "accept_ra", "2");
    }
    let all = Write { path: ipv6_forwarding_file(), text: u8::from(on).to_string() };
    let done = fs::write(&all.path, &all.text).map_err(|error| refused(&all, &error));
    for (folder, forwards, accepts) in &others {
        if read(folder.join("forwarding")) != *forwards {
            write(folder, "forwarding", forwards);
        }
        if accepts == "1" {
            write(folder, "accept_ra", accepts);
        }
    }
    done
}

fn ipv6_forwarding_file() -> PathBuf {
    settings().join("ipv6/conf/all/forwarding")
}

fn bridge_iptables_file() -> PathBuf {
    settings().join("bridge/bridge-nf-call-iptables")
}

fn settings() -> &'static Path {
    let of_host = Path::new(SETTINGS_OF_HOST);
    if of_host.exists() { of_host } else { Path::new(SETTINGS) }
}

/// Gives a link without one the secret that stable, private addresses are made with. It must be the
/// same after a reboot and nobody else's guess, so it comes from the machine's id.
fn give_secret(link: IfName, beside: &Path) -> io::Result<()> {
    let id = fs::read(MACHINE_ID)?;
    fs::write(beside.with_file_name("stable_secret"), secret(&id, link).to_string())
}

/// FNV-1a over 128 bits: it spreads the id's bits, and the kernel hashes the result once more.
fn secret(machine: &[u8], link: IfName) -> Ipv6Addr {
    const START: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0100_0000_0000_0000_0000_013b;
    let bytes = machine.iter().chain(link.as_str().as_bytes());
    let mixed = bytes.fold(START, |hash, byte| (hash ^ u128::from(*byte)).wrapping_mul(PRIME));
    Ipv6Addr::from_bits(mixed)
}

fn refused(write: &Write, error: &io::Error) -> StepError {
    let text = format!("writing {} to {}", write.text, write.path.display());
    StepError::with(error.raw_os_error().unwrap_or(StepError::EINVAL), &text)
}

#[cfg(test)]
mod tests {
    use netloom_model::Attr;

    use super::*;

    #[test]
    fn a_pods_link_has_no_ipv6_unless_it_is_asked_for_and_then_nothing_but_what_is_given() {
        let link: IfName = "eth0".parse().unwrap();
        let texts = |ipv6| -> Vec<String> {
            let writes = of_pod(link, ipv6).into_iter();
            writes
                .map(|Write { path, text }| format!("{}={text}", path.display()).split_off("/proc/sys/net/".len()))
                .collect()
        };
        assert_eq!(texts(false), ["ipv4/conf/eth0/arp_notify=1", "ipv6/conf/eth0/disable_ipv6=1"]);
        let ipv6 =
            ["all/disable_ipv6=0", "eth0/disable_ipv6=0", "eth0/autoconf=0", "eth0/accept_ra=0", "eth0/ndisc_notify=1"];
        assert_eq!(texts(true)[1..], ipv6.map(|file| format!("ipv6/conf/{file}")));
    }

    #[test]
    fn only_what_is_a_file_is_written_and_dots_in_names_are_kept() {
        let attrs: Attrs = [
            (Attr::Mtu, Value::Int(1400)),
            (Attr::Ipv4RpFilter, Value::Int(2)),
            (Attr::Ipv6Disabled, Value::Bool(true)),
        ]
        .into_iter()
        .collect();
        let writes = writes("eth0.100".parse().unwrap(), &attrs);
        let shown: Vec<_> = writes.iter().map(|w| (w.path.to_str().unwrap(), w.text.as_str())).collect();
        assert_eq!(
            shown,
            [
                ("/proc/sys/net/ipv6/conf/eth0.100/disable_ipv6", "1"),
                ("/proc/sys/net/ipv4/conf/eth0.100/rp_filter", "2"),
            ]
        );
    }

    #[test]
    fn links_of_one_machine_have_different_secrets() {
        let id = b"0123456789abcdef0123456789abcdef";
        let secret = |name: &str| super::secret(id, name.parse().unwrap());
        assert_ne!(secret("eth0"), secret("eth1"));
        assert_eq!(secret("eth0"), secret("eth0"));
    }

    #[test]
    fn the_folders_of_all_links_are_never_written() {
        let attrs: Attrs = [(Attr::Ipv4Forwarding, Value::Bool(true))].into_iter().collect();
        assert!(apply("all".parse().unwrap(), &attrs).is_err());
    }
}
