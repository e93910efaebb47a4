//! The folder with the bases of domains. Users of the API name a file in it and no path.

use std::{fs::File, io::Read as _, path::PathBuf};

use netloom_machine::hypervisor::Bases;

/// More than a base may have: enough to see that it has too much.
const MOST: u64 = (1 << 20) + 1;

/// A folder of bases.
#[derive(Debug, Clone)]
pub struct Folder(pub PathBuf);

impl Bases for Folder {
    fn read(&self, name: &str) -> Result<String, String> {
        let file = self.0.join(format!("{name}.xml"));
        let cannot = |why: &dyn std::fmt::Display| {
            format!("cannot read the base {}: {why}; put a libvirt domain without NICs there", file.display())
        };
        let mut text = String::new();
        let opened = File::open(&file).map_err(|error| cannot(&error))?;
        opened.take(MOST).read_to_string(&mut text).map_err(|error| cannot(&error))?;
        Ok(text)
    }
}
