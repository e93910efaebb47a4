//! Leases on disk: one file for each network and VLAN, in a folder beside the journal.
//!
//! A lease outlives process and machine, so whoever comes next asks for the same address again. A file that cannot be
//! read, or is not about its network, is put aside and reported; the link then starts without a lease.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use netloom_dhcp::Lease;
use netloom_types::VlanId;
use serde::{Deserialize, Serialize};

use crate::file;

/// The folder of the files, in that of the agent.
pub(super) const LEASES: &str = "leases";
/// The word and version by which the files are known.
const FORMAT: &str = "netloom-lease 1";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    format: String,
    network: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    vlan: Option<VlanId>,
    lease: Lease,
}

/// What a lease is of: a network and a VLAN of it.
pub(crate) type LeaseKey<'a> = (&'a str, Option<VlanId>);

/// The files of all leases.
#[derive(Debug, Clone)]
pub(crate) struct LeaseFiles(PathBuf);

impl LeaseFiles {
    pub(crate) fn in_folder(folder: &Path) -> Self {
        Self(folder.join(LEASES))
    }

    /// The lease that was kept for a network; none when there is none that can be read.
    pub(crate) fn load(&self, key: LeaseKey<'_>) -> io::Result<Option<Lease>> {
        file::load(&self.path(key), |content: Content| {
            if content.format != FORMAT {
                Err(file::OTHER_FORMAT.to_owned())
            } else if (content.network.as_str(), content.vlan) != key {
                Err(format!("it is about network {:?}", content.network))
            } else {
                Ok(content.lease)
            }
        })
    }

    /// Puts a lease in the place of what is kept for its network.
    pub(crate) fn write(&self, key: LeaseKey<'_>, lease: &Lease) -> io::Result<()> {
        fs::create_dir_all(&self.0)?;
        let (network, vlan) = (key.0.to_owned(), key.1);
        let mut text = serde_json::to_vec(&Content { format: FORMAT.to_owned(), network, vlan, lease: lease.clone() })?;
        text.push(b'\n');
        file::replace(&self.path(key), &text)
    }

    /// Removes what is kept for a network.
    pub(crate) fn remove(&self, key: LeaseKey<'_>) -> io::Result<()> {
        file::remove(&self.path(key))
    }

    /// Removes what is kept for all networks but these.
    pub(crate) fn keep_only<'a>(&self, keys: impl Iterator<Item = LeaseKey<'a>>) -> io::Result<()> {
        let wanted: BTreeSet<PathBuf> = keys.map(|key| self.path(key)).collect();
        let all = match fs::read_dir(&self.0) {
            Ok(all) => all,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        for entry in all {
            let path = entry?.path();
            if path.extension().is_some_and(|end| end == "json") && !wanted.contains(&path) {
                file::remove(&path)?;
            }
        }
        Ok(())
    }

    /// A name of a link has no separator in it.
    fn path(&self, key: LeaseKey<'_>) -> PathBuf {
        let vlan = key.1.map(|vlan| format!(".{vlan}")).unwrap_or_default();
        self.0.join(format!("{}{vlan}.json", key.0))
    }
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::PermissionsExt as _, time::Duration};

    use jiff::Timestamp;
    use netloom_dhcp::{ClientId, Moment};

    use super::*;

    const KEY: LeaseKey<'_> = ("cn-1", None);

    fn lease() -> Lease {
        let at = |seconds: u64| Moment {
            since_boot_ms: u64::try_from(Duration::from_secs(seconds).as_millis()).unwrap(),
            wall: Timestamp::from_second(i64::try_from(seconds).unwrap()).unwrap(),
        };
        Lease {
            client_id: ClientId::new("m", "cn-1", None),
            address: "192.0.2.9/24".parse().unwrap(),
            server: [192, 0, 2, 1].into(),
            server_mac: "02:00:00:00:00:01".parse().unwrap(),
            boot: "b".to_owned(),
            given: at(1),
            renew: at(2),
            rebind: at(3),
            expires: Some(at(4)),
            broadcast: None,
            routes: Vec::new(),
            mtu: None,
            dns: Vec::new(),
            domain: None,
        }
    }

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("netloom-agent-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_lease_comes_back_for_its_network_and_no_other() {
        let folder = folder("lease");
        let files = LeaseFiles::in_folder(&folder);
        assert_eq!(files.load(KEY).unwrap(), None);
        files.write(KEY, &lease()).unwrap();
        assert_eq!(files.load(KEY).unwrap(), Some(lease()));
        let path = folder.join("leases/cn-1.json");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let vlan = ("cn-1", VlanId::try_from(7).ok());
        assert_eq!(files.load(vlan).unwrap(), None);
        fs::copy(&path, folder.join("leases/cn-1.7.json")).unwrap();
        assert_eq!(files.load(vlan).unwrap(), None, "somebody put another network's lease there");
        assert!(folder.join("leases/cn-1.7.json.damaged").exists());
        files.write(vlan, &lease()).unwrap();
        files.keep_only([vlan].into_iter()).unwrap();
        assert_eq!((files.load(KEY).unwrap(), files.load(vlan).unwrap()), (None, Some(lease())));
        files.remove(vlan).unwrap();
        files.remove(vlan).unwrap();
        assert_eq!(files.load(vlan).unwrap(), None);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_is_no_lease_is_put_aside() {
        let folder = folder("no-lease");
        let files = LeaseFiles::in_folder(&folder);
        files.write(KEY, &lease()).unwrap();
        let path = folder.join("leases/cn-1.json");
        let good = fs::read_to_string(&path).unwrap();
        let other = good.replace("netloom-lease 1", "netloom-lease 9");
        let cut = &good[..good.len() / 2];
        for bad in ["", "garbage", "{}", cut, &other, &good.replace("192.0.2.9/24", "192.0.2.9/99")] {
            fs::write(&path, bad).unwrap();
            assert_eq!(files.load(KEY).unwrap(), None, "{bad:?}");
            assert_eq!(fs::read_to_string(folder.join("leases/cn-1.json.damaged")).unwrap(), bad);
            assert!(!path.exists());
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
