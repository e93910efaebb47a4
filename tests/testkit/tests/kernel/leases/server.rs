//! dnsmasq in a namespace of its own, behind a bridge.

use std::{
    fs,
    io::{BufRead as _, BufReader, ErrorKind},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use netloom_testkit::{
    space::{Space, ip},
    timeouts::stretched,
};

/// The bridge that the server is on.
pub(crate) const BRIDGE: &str = "br0";
/// For how many seconds it gives an address: the least that dnsmasq can.
pub(crate) const LEASE: u64 = 120;
/// As long as a line of its log may take.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// A running server; ends with this.
pub(crate) struct Server {
    space: Space,
    child: Child,
    lines: Receiver<String>,
    log: String,
}

impl Server {
    /// Starts it with the addresses that it may give; none when this machine has no dnsmasq.
    pub(crate) fn start(range: &str) -> Result<Option<Self>, String> {
        let space = Space::new()?;
        fs::create_dir_all(space.root()).map_err(|error| format!("a folder for the server: {error}"))?;
        let at = ["-n", space.name(), "link"];
        ip(&[&at[..], &["set", "lo", "up"]].concat())?;
        ip(&[&at[..], &["add", BRIDGE, "up", "type", "bridge"]].concat())?;
        ip(&["-n", space.name(), "address", "add", "192.0.2.1/24", "dev", BRIDGE])?;
        let Some((child, lines)) = dnsmasq(&space, range, &[])? else { return Ok(None) };
        let mut server = Self { space, child, lines, log: String::new() };
        server.says("IP range", 1)?;
        Ok(Some(server))
    }

    pub(crate) fn name(&self) -> &str {
        self.space.name()
    }

    /// Ends the server and starts one for another network, which knows nothing of the first.
    pub(crate) fn serve(&mut self, address: &str, range: &str) -> Result<(), String> {
        self.end();
        fs::remove_file(self.space.root().join("leases")).ok();
        ip(&["-n", self.name(), "address", "flush", "dev", BRIDGE])?;
        ip(&["-n", self.name(), "address", "add", address, "dev", BRIDGE])?;
        (self.child, self.lines) = dnsmasq(&self.space, range, &[])?.ok_or("dnsmasq is gone")?;
        self.log.clear();
        self.says("IP range", 1)
    }

    /// A namespace with a wire to the bridge: its end is called this, and is up.
    pub(crate) fn wire(&self, space: &Space, end: &str, port: &str) -> Result<(), String> {
        let pair = ["link", "add", end, "netns", space.name(), "type", "veth", "peer", "name", port];
        ip(&[&pair[..], &["netns", self.name()]].concat())?;
        ip(&["-n", self.name(), "link", "set", port, "up", "master", BRIDGE])?;
        ip(&["-n", space.name(), "link", "set", end, "up"])
    }

    /// Serves a VLAN of the bridge too, with this address and these to give.
    pub(crate) fn serve_vlan(&mut self, id: &str, address: &str, range: &str) -> Result<(), String> {
        let name = format!("{BRIDGE}.{id}");
        ip(&["-n", self.name(), "link", "add", "link", BRIDGE, "name", &name, "up", "type", "vlan", "id", id])?;
        ip(&["-n", self.name(), "address", "add", address, "dev", &name])?;
        self.end();
        let range = format!("--dhcp-range={range},255.255.255.0,{LEASE}");
        let more = [format!("--interface={name}"), range];
        (self.child, self.lines) = dnsmasq(&self.space, "192.0.2.100,192.0.2.100", &more)?.ok_or("dnsmasq is gone")?;
        self.log.clear();
        self.says("IP range", 2)
    }

    /// Somebody else on the link, who has these addresses on `x1`.
    pub(crate) fn neighbour(&self, addresses: &[&str]) -> Result<Space, String> {
        let space = Space::new()?;
        self.wire(&space, "x1", "x0")?;
        for address in addresses {
            ip(&["-n", space.name(), "address", "add", address, "dev", "x1"])?;
        }
        Ok(space)
    }

    /// What the server has written down about its leases.
    pub(crate) fn book(&self) -> Result<String, String> {
        let path = self.space.root().join("leases");
        fs::read_to_string(path).map_err(|error| format!("the server's leases: {error}"))
    }

    /// Waits until it has reported this so many times, and not more.
    pub(crate) fn says(&mut self, words: &str, times: usize) -> Result<(), String> {
        loop {
            self.log.extend(self.lines.try_iter());
            let printed = self.log.matches(words).count();
            if printed == times {
                return Ok(());
            }
            let next = if printed < times { self.lines.recv_timeout(stretched(TIME_LIMIT)).ok() } else { None };
            match next {
                Some(line) => self.log += &line,
                None => {
                    return Err(format!("the server reported {words:?} {printed} times, not {times}:\n{}", self.log));
                }
            }
        }
    }

    /// Sends three packets to an address.
    pub(crate) fn ping(&self, address: &str) -> Result<(), String> {
        let words = ["netns", "exec", self.name(), "bash", "-c"];
        let script = format!("for port in 67 69 7000; do echo hello >/dev/udp/{address}/$port; done; true");
        ip(&[&words[..], &[script.as_str()]].concat())
    }

    fn end(&mut self) {
        // It has ended already, or it ends now.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// Starts dnsmasq in a namespace.
fn dnsmasq(space: &Space, range: &str, more: &[String]) -> Result<Option<(Child, Receiver<String>)>, String> {
    match Command::new("dnsmasq").arg("--version").stdout(Stdio::null()).status() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("dnsmasq: {error}")),
        Ok(_) => {}
    }
    let book = space.root().join("leases").display().to_string();
    let mut command = Command::new("ip");
    command.args(["netns", "exec", space.name(), "dnsmasq", "--keep-in-foreground", "--log-facility=-"]);
    command.args(["--conf-file=/dev/null", "--port=0", "--no-ping", "--dhcp-authoritative", "--log-dhcp"]);
    command.args(["--user=root", "--pid-file="]);
    command.args(more).arg(format!("--interface={BRIDGE}"));
    command.arg(format!("--dhcp-leasefile={book}"));
    command.arg(format!("--dhcp-range={range},255.255.255.0,{LEASE}"));
    command.arg("--dhcp-option=option:classless-static-route,203.0.113.0/24,192.0.2.1,0.0.0.0/0,192.0.2.1");
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| format!("ip netns exec: {error}"))?;
    let output = child.stderr.take().ok_or("the server has no output")?;
    let (tell, lines) = channel();
    // Ends with the server's output.
    thread::spawn(move || {
        let printed = BufReader::new(output).lines().map_while(Result::ok);
        for line in printed {
            if tell.send(line + "\n").is_err() {
                break;
            }
        }
    });
    Ok(Some((child, lines)))
}
