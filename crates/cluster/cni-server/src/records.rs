//! Records on disk: one file for each container, beside the socket, in the folder where the plugin looks for it.
//!
//! A file is written as a whole and is on the disk before anything is done that it speaks of; it goes when nothing of the
//! container is left.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use netloom_podnet::Record;

/// The folder of records.
#[derive(Debug, Clone)]
pub(crate) struct Records(PathBuf);

impl Records {
    /// The folder beside a socket; it is made when it is missing.
    pub(crate) fn beside(socket: &Path) -> io::Result<Self> {
        let folder = socket.parent().unwrap_or_else(|| Path::new(".")).join("pods");
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        Ok(Self(folder))
    }

    /// Every record. A file that cannot be read is left where it is, so that the plugin still asks for its container, and
    /// is reported: what it speaks of is not known.
    pub(crate) fn load(&self) -> io::Result<Vec<Record>> {
        let mut records = Vec::new();
        for entry in fs::read_dir(&self.0)? {
            let path = entry?.path();
            if path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".")) {
                // A write that did not end.
                fs::remove_file(&path)?;
                continue;
            }
            match serde_json::from_slice(&fs::read(&path)?) {
                Ok(record) => records.push(record),
                Err(why) => tracing::warn!(file = %path.display(), %why, "the record of a container cannot be read"),
            }
        }
        Ok(records)
    }

    /// Puts a record on the disk.
    pub(crate) fn write(&self, record: &Record) -> io::Result<()> {
        let new = self.0.join(format!(".{}", record.container));
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        file.write_all(&serde_json::to_vec(record)?)?;
        file.sync_all()?;
        fs::rename(&new, self.0.join(&record.container))?;
        File::open(&self.0)?.sync_all()
    }

    /// Takes a record away; one that is not there is as good.
    pub(crate) fn remove(&self, container: &str) -> io::Result<()> {
        match fs::remove_file(self.0.join(container)) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => Err(why),
            _ => File::open(&self.0)?.sync_all(),
        }
    }
}

#[cfg(test)]
mod tests {
    use netloom_podnet::State;

    use super::*;

    fn record(container: &str) -> Record {
        Record {
            container: container.to_owned(),
            netns: "/run/netns/a".to_owned(),
            ifname: "eth0".to_owned(),
            network: "netloom".to_owned(),
            pod_namespace: "default".to_owned(),
            pod_name: "a".to_owned(),
            pod_uid: "u".to_owned(),
            state: State::Making,
            interfaces: Vec::new(),
        }
    }

    #[test]
    fn a_record_is_there_until_it_is_removed_and_half_written_ones_are_none() {
        let folder = std::env::temp_dir().join(format!("netloom-records-{}", std::process::id()));
        let records = Records::beside(&folder.join("cni.sock")).unwrap();
        records.write(&record("c1")).unwrap();
        records.write(&record("c2")).unwrap();
        fs::write(folder.join("pods/.c3"), "{").unwrap();
        fs::write(folder.join("pods/c4"), "not JSON").unwrap();
        records.remove("c2").unwrap();
        records.remove("c2").unwrap();
        assert_eq!(records.load().unwrap(), [record("c1")]);
        let mut left: Vec<_> =
            fs::read_dir(folder.join("pods")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["c1", "c4"], "what cannot be read stays, so that its container is asked for again");
        fs::remove_dir_all(folder).unwrap();
    }
}
