//! What tells this node, and this life of its machine, from all others.

use std::{fs, hash::BuildHasher as _, io, path::Path};

use super::file::LEASES;
use crate::file;

/// A node for good, whatever runs on it.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    /// What client identifiers are made of. Several nodes may share a machine, so the name of the node is part of it.
    pub(crate) machine: String,
    /// This life of the machine.
    pub(crate) boot: String,
}

impl Identity {
    /// What the folder of the agent says, else what the system knows; that is then kept in the folder. In a container the
    /// system is that of an image, which many machines have and which changes with a new version.
    pub(crate) fn of(node: &str, folder: &Path) -> io::Result<Self> {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
        let machine = kept(folder, || fs::read_to_string("/etc/machine-id").unwrap_or_default())?;
        Ok(Self { machine: format!("{machine} {node}"), boot: boot.trim().to_owned() })
    }
}

/// The identifier of the machine that is kept in a folder. The first time it is that of the system; where that has none,
/// it is made up, unless there are leases that servers gave without one.
fn kept(folder: &Path, of_system: impl FnOnce() -> String) -> io::Result<String> {
    let path = folder.join("machine-id");
    match fs::read_to_string(&path) {
        Ok(text) => return Ok(text.trim().to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut machine = of_system().trim().to_owned();
    if machine.is_empty() && !folder.join(LEASES).exists() {
        machine = format!("{:016x}{:016x}", chance(), chance());
    }
    file::replace(&path, format!("{machine}\n").as_bytes())?;
    Ok(machine)
}

/// A number that nobody foresees: what a hash table of the standard library begins with.
pub(crate) fn chance() -> u64 {
    std::hash::RandomState::new().hash_one(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_the_same_in_another_container_and_another_one_where_nothing_is_known() {
        let folder = std::env::temp_dir().join(format!("netloom-agent-machine-{}", std::process::id()));
        let fresh = |name: &str| {
            let folder = folder.join(name);
            fs::create_dir_all(&folder).unwrap();
            folder
        };
        let host = fresh("host");
        assert_eq!(kept(&host, || "0123\n".to_owned()).unwrap(), "0123");
        assert_eq!(kept(&host, || "of an image".to_owned()).unwrap(), "0123");
        let (one, two) = (fresh("one"), fresh("two"));
        let known = kept(&one, String::new).unwrap();
        assert!(known.len() == 32 && known != kept(&two, String::new).unwrap(), "{known}");
        assert_eq!(kept(&one, String::new).unwrap(), known);
        let older = fresh("older");
        fs::create_dir(older.join(LEASES)).unwrap();
        assert_eq!(kept(&older, String::new).unwrap(), "", "its servers know it so");
        assert_eq!(kept(&older, || "0123".to_owned()).unwrap(), "");
        fs::remove_dir_all(folder).unwrap();
    }
}
