//! The addresses of the API that a node must reach, and a file with those that it had last, `api.json` beside the journal.
//!
//! A node that starts without its network cannot look up a name. It then guards what it guarded before: a server that
//! answers sooner than the API must not give out the network that leads there.

use std::{
    io,
    net::IpAddr,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::file;

/// The word and version by which the file is known.
const FORMAT: &str = "netloom-api 1";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    format: String,
    addresses: Vec<IpAddr>,
}

/// The addresses.
#[derive(Debug)]
pub(super) struct Reached {
    addresses: Vec<IpAddr>,
    path: PathBuf,
}

impl Reached {
    /// These; none where they cannot be known now, and then those of before.
    pub(super) fn new(folder: &Path, now: Option<Vec<IpAddr>>) -> Self {
        let path = folder.join("api.json");
        let addresses = load(&path).unwrap_or_else(|error| {
            tracing::warn!(%error, "where the API was before cannot be read");
            Vec::new()
        });
        let mut reached = Self { addresses, path };
        if let Some(now) = now {
            reached.are(&now);
        }
        reached
    }

    pub(super) fn addresses(&self) -> &[IpAddr] {
        &self.addresses
    }

    /// From now on these. A name with several addresses gives them in any order.
    pub(super) fn are(&mut self, addresses: &[IpAddr]) {
        let mut addresses = addresses.to_vec();
        addresses.sort();
        addresses.dedup();
        if addresses == self.addresses {
            return;
        }
        self.addresses = addresses;
        if let Err(error) = write(&self.path, &self.addresses) {
            tracing::warn!(%error, "where the API is cannot be kept on disk");
        }
    }
}

fn load(path: &Path) -> io::Result<Vec<IpAddr>> {
    let take = |content: Content| {
        if content.format == FORMAT { Ok(content.addresses) } else { Err(file::OTHER_FORMAT.to_owned()) }
    };
    Ok(file::load(path, take)?.unwrap_or_default())
}

fn write(path: &Path, addresses: &[IpAddr]) -> io::Result<()> {
    let mut text = serde_json::to_vec(&Content { format: FORMAT.to_owned(), addresses: addresses.to_vec() })?;
    text.push(b'\n');
    file::replace(path, &text)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn ips(list: &[&str]) -> Vec<IpAddr> {
        list.iter().map(|ip| ip.parse().unwrap()).collect()
    }

    #[test]
    fn a_start_that_cannot_look_up_the_name_has_the_addresses_of_before() {
        let folder = std::env::temp_dir().join(format!("netloom-agent-reached-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let start = |now: Option<&[&str]>| Reached::new(&folder, now.map(ips));
        assert!(start(None).addresses().is_empty(), "nothing is known yet");
        start(None).are(&ips(&["192.0.2.2", "192.0.2.1"]));
        assert_eq!(start(None).addresses(), ips(&["192.0.2.1", "192.0.2.2"]));
        assert_eq!(start(Some(&["192.0.2.3"])).addresses(), ips(&["192.0.2.3"]));
        assert_eq!(start(None).addresses(), ips(&["192.0.2.3"]));
        for bad in ["", "{}", r#"{"format":"netloom-api 9","addresses":[]}"#] {
            fs::write(folder.join("api.json"), bad).unwrap();
            assert!(start(None).addresses().is_empty(), "{bad:?}");
            assert_eq!(fs::read_to_string(folder.join("api.json.damaged")).unwrap(), bad);
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
