//! From where a person is logged in: the far end of the SSH session in which this program runs.
//!
//! The server of the session says so in a variable, but what gives root to people (`sudo`, `su -`)
//! takes variables away. The processes that started this one still have it, so they are asked too,
//! nearest first. Nothing is changed by asking, and what may not be read is passed over.

use std::{fs, net::IpAddr, path::Path};

/// The variable in which the server of an SSH session says who is at both ends.
const VARIABLE: &str = "SSH_CONNECTION";
/// Where the kernel shows processes.
const PROCESSES: &str = "/proc";
/// More ancestors than any session has; a bound on what a changing table of processes can cost.
const GENERATIONS: usize = 256;

/// What is known about a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Login {
    /// Nobody says that this is a session from elsewhere.
    Local,
    /// The address of the machine at the far end.
    From(IpAddr),
    /// There is a session, and what is reported of it names no address.
    Unclear(String),
}

/// From where the person is logged in who gave this command.
pub(crate) fn login() -> Login {
    let own = std::env::var_os(VARIABLE).map(|value| value.to_string_lossy().into_owned());
    own.or_else(|| of_ancestors(Path::new(PROCESSES), std::os::unix::process::parent_id()))
        .map_or(Login::Local, |given| far_end(&given).map_or(Login::Unclear(given), Login::From))
}

/// What the nearest of the processes from `process` upwards says.
fn of_ancestors(processes: &Path, mut process: u32) -> Option<String> {
    for _ in 0..GENERATIONS {
        if process == 0 {
            return None;
        }
        let folder = processes.join(process.to_string());
        if let Some(given) = variable(&fs::read(folder.join("environ")).unwrap_or_default()) {
            return Some(given);
        }
        process = parent(&fs::read_to_string(folder.join("status")).ok()?)?;
    }
    None
}

/// The variable in the environment that a process was started with.
fn variable(environment: &[u8]) -> Option<String> {
    let mut variables = environment.split(|byte| *byte == 0);
    variables.find_map(|entry| {
        let value = entry.strip_prefix(VARIABLE.as_bytes())?.strip_prefix(b"=")?;
        Some(String::from_utf8_lossy(value).into_owned())
    })
}

/// The process that started another, from what the kernel says about that one.
fn parent(status: &str) -> Option<u32> {
    status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
}

/// The address of the machine from which a person is logged in.
fn far_end(given: &str) -> Option<IpAddr> {
    let address = given.split_whitespace().next()?;
    // A link-local address carries its link behind a percent sign.
    address.split('%').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_far_end_of_a_session_is_its_first_word() {
        assert_eq!(far_end("192.0.2.7 50124 192.0.2.1 22"), Some("192.0.2.7".parse().unwrap()));
        assert_eq!(far_end("fe80::1%eth0 50124 fe80::2%eth0 22"), Some("fe80::1".parse().unwrap()));
        assert_eq!(far_end("garbage"), None);
        assert_eq!(far_end(""), None);
    }

    #[test]
    fn the_nearest_ancestor_that_knows_is_believed() {
        let folder = std::env::temp_dir().join(format!("netloom-login-{}", std::process::id()));
        let process = |id: u32, parent: u32, environment: &str| {
            let folder = folder.join(id.to_string());
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("environ"), environment).unwrap();
            fs::write(folder.join("status"), format!("Name:\tx\nPid:\t{id}\nPPid:\t{parent}\n")).unwrap();
        };
        process(1, 0, "");
        process(2, 1, "HOME=/\0SSH_CONNECTION=192.0.2.9 1 192.0.2.1 22\0TERM=x\0");
        process(3, 2, "HOME=/\0SSH_CONNECTION=192.0.2.7 1 192.0.2.1 22\0");
        process(4, 3, "HOME=/\0NOT_SSH_CONNECTION=x\0");
        process(5, 1, "HOME=/\0");
        process(6, 6, "");
        assert_eq!(of_ancestors(&folder, 4).as_deref(), Some("192.0.2.7 1 192.0.2.1 22"));
        assert_eq!(of_ancestors(&folder, 2).as_deref(), Some("192.0.2.9 1 192.0.2.1 22"));
        for alone in [5, 6, 7] {
            assert_eq!(of_ancestors(&folder, alone), None, "{alone}");
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
