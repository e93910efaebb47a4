//! What other programs say about the links of a place, read from the machine's run-time files.
//!
//! Those files name links by their index, and an index means a link only in one network namespace: that of the machine's
//! first process, where such programs run. So they are read for that namespace alone, unless somebody says which folder
//! belongs to another one.

use std::{
    fs::{self, File},
    io::Read as _,
    path::{Path, PathBuf},
};

use netloom_managers::{IFUPDOWN, Managed, Paths, Texts, manager_of};
use netloom_model::Observed;
use netloom_netlink::Namespace;
use netloom_types::IfName;

use crate::Place;

/// Where programs leave what they say while they run.
const RUN: &str = "/run";

/// The most that is read of a file: those of networkd list every DNS server and NTP server, but not more.
const MOST: u64 = 1 << 20;

/// The run-time files that speak of the links of one place.
#[derive(Debug, Clone)]
pub struct RunFiles {
    dir: Option<PathBuf>,
}

impl Place {
    /// The files about the links of this place: those below `reported`, or those of the machine when this is its own
    /// namespace.
    pub fn run_files(&self, reported: Option<&Path>) -> RunFiles {
        let first = self.namespace == Namespace::Host && self.unnamed.is_none();
        RunFiles { dir: reported.map(Path::to_owned).or_else(|| first.then(|| PathBuf::from(RUN))) }
    }
}

impl RunFiles {
    /// Those of the links that another program manages. What cannot be read says nothing.
    pub fn managed(&self, links: impl IntoIterator<Item = IfName>, observed: &Observed) -> Vec<Managed> {
        let Some(dir) = &self.dir else { return Vec::new() };
        let all: Vec<String> = IFUPDOWN.iter().filter_map(|path| text(&dir.join(path))).collect();
        let of = |link: IfName| {
            let paths = Paths::of(link, observed.facts.get(&link)?.index);
            manager_of(link, &read(dir, &paths), &all)
        };
        links.into_iter().filter_map(of).collect()
    }
}

fn read(dir: &Path, paths: &Paths) -> Texts {
    let Paths { networkd, network_manager, netplan_connection, ifupdown } = paths;
    Texts {
        networkd: text(&dir.join(networkd)),
        network_manager: text(&dir.join(network_manager)),
        netplan_connection: fs::exists(dir.join(netplan_connection)).unwrap_or(false),
        ifupdown: text(&dir.join(ifupdown)),
    }
}

fn text(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(MOST).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use netloom_managers::Manager;
    use netloom_model::LinkFacts;

    use super::*;

    #[test]
    fn links_are_found_by_index_and_by_name() {
        let dir = std::env::temp_dir().join(format!("netloom-run-{}", std::process::id()));
        fs::create_dir_all(dir.join("systemd/netif/links")).unwrap();
        fs::create_dir_all(dir.join("network")).unwrap();
        let networkd = "ADMIN_STATE=configured\nNETWORK_FILE=/etc/systemd/network/10-lan.network\n";
        fs::write(dir.join("systemd/netif/links/7"), networkd).unwrap();
        fs::write(dir.join("network/ifstate"), "lo=lo\neth1=eth1\n").unwrap();
        let mut observed = Observed::default();
        let names: Vec<IfName> = ["eth0", "eth1", "eth2"].map(|name| name.parse().unwrap()).into();
        for (name, index) in names.iter().zip([7, 8, 9]) {
            observed.facts.insert(*name, LinkFacts { index, ..LinkFacts::default() });
        }
        let place = Place::new(Some("elsewhere"), &dir);
        let found = place.run_files(Some(&dir)).managed(names.clone(), &observed);
        let found: Vec<_> = found.iter().map(|managed| (managed.link.to_string(), managed.manager)).collect();
        assert_eq!(found, [("eth0".to_owned(), Manager::Networkd), ("eth1".to_owned(), Manager::Ifupdown)]);
        assert_eq!(place.run_files(None).managed(names, &observed), [], "another namespace has other indexes");
        fs::remove_dir_all(&dir).unwrap();
    }
}
