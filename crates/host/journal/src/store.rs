//! The state folder of one network namespace.
//!
//! ```text
//! <state>/host/            or <state>/netns/<NAME>/ or <state>/ns-<NUMBER>/, mode 0700, files 0600
//!   ownership.json         who asked for what; replaced as a whole, never written in place
//!   journal                the transaction under way; absent when there is none
//!   journal.failed-<id>    one whose undo could not put everything back
//!   lock                   held while a transaction runs; says by whom
//! ```
//!
//! Only who holds the lock writes here, through [`Transaction`](crate::Transaction). A file that is not what we
//! wrote is refused in words and never replaced.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, BufWriter, Seek as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use netloom_model::Ownership;
use serde::{Deserialize, Serialize};

use crate::{
    Error, Incarnation, NetnsId, Summary, before,
    error::At as _,
    record::{self, Begin, HEADER, Log, Reading, Record},
};

/// The word and version by which our ownership file is known.
const OWNERSHIP_FORMAT: &str = "netloom-ownership 2";
/// What a file of the version before starts with.
const OLD_OWNERSHIP: &[u8] = br#"{"format":"netloom-ownership 1""#;

/// The state folder of one network namespace.
#[derive(Debug, Clone)]
pub struct Store {
    dir: PathBuf,
    /// Which life of a named namespace this is: one that was deleted and made again has nothing of its predecessor.
    life: Option<Incarnation>,
}

/// The ownership file. Read in full, written from borrowed parts.
#[derive(Serialize)]
struct OwnershipOut<'a> {
    format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    life: Option<&'a Incarnation>,
    ownership: &'a Ownership,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnershipIn {
    format: String,
    #[serde(default)]
    life: Option<Incarnation>,
    ownership: Ownership,
}

impl Store {
    /// The folder of the host's own namespace.
    pub fn of_host(state_dir: &Path) -> Result<Self, Error> {
        Self::at(state_dir.join("host"))
    }

    /// The folder of a namespace that has no name and is not the host's own.
    pub fn of_unnamed(state_dir: &Path, netns: NetnsId) -> Result<Self, Error> {
        Self::at(state_dir.join(format!("ns-{}", netns.inode)))
    }

    /// The folder of a named namespace.
    pub fn of_netns(state_dir: &Path, name: &str) -> Result<Self, Error> {
        if matches!(name, "" | "." | "..") || name.contains(['/', '\0']) {
            return Err(Error::Name(name.to_owned()));
        }
        Self::at(state_dir.join("netns").join(name))
    }

    fn at(dir: PathBuf) -> Result<Self, Error> {
        let new: Vec<&Path> = dir.ancestors().take_while(|path| !path.exists()).collect();
        DirBuilder::new().recursive(true).mode(0o700).create(&dir).at("make the state folder", &dir)?;
        // What lies in a folder survives a loss of power only when the folder itself does.
        for parent in new.iter().filter_map(|path| path.parent()).filter(|path| path.is_dir()) {
            File::open(parent).and_then(|parent| parent.sync_all()).at("sync", parent)?;
        }
        Ok(Self { dir, life: None })
    }

    /// The same folder, for this life of its namespace.
    #[must_use]
    pub fn in_life(self, life: Incarnation) -> Self {
        Self { life: Some(life), ..self }
    }

    /// The folder itself.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Who asked for what; empty when nobody ever did.
    pub fn ownership(&self) -> Result<Ownership, Error> {
        let path = self.dir.join("ownership.json");
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Ownership::default()),
            Err(error) => return Err(error).at("read", &path),
        };
        let damaged = |why: String| Error::Damaged { path: path.clone(), why };
        let is_old = bytes.starts_with(OLD_OWNERSHIP);
        let file: serde_json::Result<OwnershipIn> = if is_old {
            serde_json::from_slice(&bytes).and_then(|old| serde_json::from_value(before::ownership(old)))
        } else {
            serde_json::from_slice(&bytes)
        };
        let mut file = file.map_err(|error| damaged(format!("not a record of ownership: {error}")))?;
        if file.format != OWNERSHIP_FORMAT && !is_old {
            return Err(damaged(format!("its format is {:?}, this program knows {OWNERSHIP_FORMAT:?}", file.format)));
        }
        if let (Some(then), Some(now)) = (&file.life, &self.life)
            && then != now
        {
            file.ownership.forget_kernel();
        }
        Ok(file.ownership)
    }

    /// Replaces the ownership record; at every moment the old or the new one is on disk as a whole.
    pub(crate) fn write_ownership(&self, ownership: &Ownership) -> Result<(), Error> {
        let (path, new) = (self.dir.join("ownership.json"), self.dir.join("ownership.json.new"));
        let mut file = BufWriter::with_capacity(1 << 16, private().truncate(true).open(&new).at("write", &new)?);
        serde_json::to_writer(
            &mut file,
            &OwnershipOut { format: OWNERSHIP_FORMAT, life: self.life.as_ref(), ownership },
        )
        .map_err(io::Error::from)
        .and_then(|()| file.write_all(b"\n"))
        .and_then(|()| file.into_inner().map_err(io::IntoInnerError::into_error))
        .and_then(|file| file.sync_all())
        .at("write", &new)?;
        fs::rename(&new, &path).at("replace", &path)?;
        self.sync_dir()
    }

    /// The transaction that is under way or was left behind, for a person. Needs no lock.
    pub fn pending(&self) -> Result<Option<Summary>, Error> {
        Ok(match self.read_journal()? {
            Some(Reading::Log(log)) => Some(Summary::of(&log)),
            Some(Reading::NothingDone | Reading::Damaged(_)) | None => None,
        })
    }

    /// Where journals lie whose undo could not put everything back, oldest first.
    pub fn failed(&self) -> Result<Vec<PathBuf>, Error> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.dir).at("list", &self.dir)? {
            let path = entry.at("list", &self.dir)?.path();
            if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("journal.failed-")) {
                found.push(path);
            }
        }
        found.sort();
        Ok(found)
    }

    pub(crate) fn journal_path(&self) -> PathBuf {
        self.dir.join("journal")
    }

    pub(crate) fn read_journal(&self) -> Result<Option<Reading>, Error> {
        let path = self.journal_path();
        match fs::read(&path) {
            Ok(bytes) => Ok(Some(record::read(&bytes))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).at("read", &path),
        }
    }

    /// Puts the beginning of a transaction on disk, so that it survives a loss of power.
    pub(crate) fn begin_journal(&self, begin: Begin<'_>) -> Result<Journal, Error> {
        let path = self.journal_path();
        let mut file = private().create_new(true).open(&path).at("begin", &path)?;
        let written = file
            .write_all(HEADER.as_bytes())
            .and_then(|()| record::write(&Record::Begin(Box::new(begin)), &mut file))
            .and_then(|()| file.sync_all());
        match written.at("write", &path) {
            Ok(()) => self.sync_dir().map(|()| Journal { file, path }),
            Err(error) => {
                // No step was sent. What could not be removed is known as such at the next start.
                fs::remove_file(&path).ok();
                Err(error)
            }
        }
    }

    /// Opens a journal that was read, to go on behind its last whole record.
    pub(crate) fn reopen_journal(&self, log: &Log<'_>) -> Result<Journal, Error> {
        let path = self.journal_path();
        let file = OpenOptions::new().append(true).open(&path).at("open", &path)?;
        file.set_len(log.whole as u64).at("cut", &path)?;
        Ok(Journal { file, path })
    }

    pub(crate) fn remove_journal(&self) -> Result<(), Error> {
        let path = self.journal_path();
        fs::remove_file(&path).at("remove", &path)?;
        self.sync_dir()
    }

    /// Puts the journal aside, so that nothing in it is lost and the next transaction can begin.
    pub(crate) fn keep_failed_journal(&self, id: &str) -> Result<PathBuf, Error> {
        let kept = self.dir.join(format!("journal.failed-{id}"));
        fs::rename(self.journal_path(), &kept).at("keep", &kept)?;
        self.sync_dir()?;
        Ok(kept)
    }

    fn sync_dir(&self) -> Result<(), Error> {
        File::open(&self.dir).and_then(|dir| dir.sync_all()).at("sync", &self.dir)
    }
}

/// The journal, open to be added to.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    path: PathBuf,
}

impl Journal {
    /// Adds a record that must survive the end of this process, but not the end of the machine: what
    /// the machine held is gone with it anyway.
    pub(crate) fn note(&mut self, record: &Record<'_>) -> Result<(), Error> {
        let mut line = Vec::new();
        record::write(record, &mut line).and_then(|()| self.file.write_all(&line)).at("write", &self.path)
    }

    /// Adds a record that must survive a loss of power. One that may not have reached the disk is
    /// taken out again: nothing that is done because of the failure may be read as its opposite.
    pub(crate) fn settle(&mut self, record: &Record<'_>) -> Result<(), Error> {
        let before = self.file.metadata().at("look at", &self.path)?.len();
        let settled = self.note(record).and_then(|()| self.file.sync_all().at("sync", &self.path));
        if settled.is_err() {
            self.file.set_len(before).ok();
            self.file.seek(io::SeekFrom::Start(before)).ok();
        }
        settled
    }
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true).mode(0o600);
    options
}

#[cfg(test)]
pub(crate) mod tests {
    use std::{os::unix::fs::PermissionsExt as _, sync::atomic::AtomicU32, sync::atomic::Ordering};

    use netloom_model::{Claim, ClaimKey, Origin, Previous, Setting, SettingKey, Source};

    use super::*;
    use crate::record::tests::begin;

    /// A folder that goes with the test.
    pub(crate) struct Scratch(pub(crate) PathBuf);

    impl Scratch {
        pub(crate) fn new() -> Self {
            static NEXT: AtomicU32 = AtomicU32::new(0);
            let name = format!("netloom-journal-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
            // In memory where the machine has such a place: a disk would be asked to sync thousands of times.
            let memory = PathBuf::from("/dev/shm");
            Self(if memory.is_dir() { memory } else { std::env::temp_dir() }.join(name))
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).ok();
        }
    }

    fn some_ownership() -> Ownership {
        let ours = Setting::HostnameRunning("a".into());
        let key = ClaimKey::Setting(ours.key());
        let claim = Claim { origins: [].into(), before: Previous::Absent, ours: Previous::Setting(ours) };
        Ownership { claims: [(key, claim)].into() }
    }

    #[test]
    fn ownership_comes_back_as_it_was_written_and_is_private() {
        let scratch = Scratch::new();
        let store = Store::of_netns(&scratch.0, "blue").unwrap();
        assert_eq!(store.ownership().unwrap(), Ownership::default());
        store.write_ownership(&some_ownership()).unwrap();
        assert_eq!(store.ownership().unwrap(), some_ownership());
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(store.dir()), 0o700);
        assert_eq!(mode(&store.dir().join("ownership.json")), 0o600);
        store.begin_journal(begin(1)).unwrap();
        assert_eq!(mode(&store.journal_path()), 0o600);
    }

    #[test]
    fn a_namespace_that_was_made_again_has_nothing_of_its_predecessor_but_files() {
        let scratch = Scratch::new();
        let store = |life| Store::of_netns(&scratch.0, "blue").unwrap().in_life(Incarnation::named(life));
        let mut owned = some_ownership();
        let [running, config] = [SettingKey::HostnameRunning, SettingKey::HostnameConfig].map(ClaimKey::Setting);
        owned.claims.insert(config.clone(), owned.claims[&running].clone());
        store("first").write_ownership(&owned).unwrap();
        assert_eq!(store("first").ownership().unwrap(), owned);
        let second = store("second").ownership().unwrap();
        assert_eq!(second.claims.into_keys().collect::<Vec<_>>(), [config]);
    }

    #[test]
    fn a_record_of_the_version_before_is_read() {
        let scratch = Scratch::new();
        let store = Store::of_host(&scratch.0).unwrap();
        let old = r#"{"format":"netloom-ownership 1","ownership":{"claims":[["HostnameRunning",{"origins":{"agent":
            {"source":"NodeNetworkState d/n","path":"spec","line":0}},"before":"Absent","ours":{"Hostname":"a"}}]]}}"#;
        fs::write(store.dir().join("ownership.json"), old).unwrap();
        let state = Source::object(("nmstate.io", "NodeNetworkState"), "d", "n");
        let mut wanted = some_ownership();
        let claim = wanted.claims.get_mut(&ClaimKey::Setting(SettingKey::HostnameRunning)).unwrap();
        claim.origins.insert("agent".into(), Origin::new(state, "spec", 0));
        assert_eq!(store.ownership().unwrap(), wanted);
    }

    #[test]
    fn a_damaged_or_foreign_record_is_refused_and_left_as_it_is() {
        let scratch = Scratch::new();
        let store = Store::of_host(&scratch.0).unwrap();
        let path = store.dir().join("ownership.json");
        for bad in ["", "{", "[]", r#"{"format":"netloom-ownership 9","ownership":{"claims":[]}}"#, r#"{"a":1}"#] {
            fs::write(&path, bad).unwrap();
            let error = store.ownership().unwrap_err();
            assert_eq!(error.reason(), "StateDamaged");
            assert!(error.to_string().contains("ownership.json"), "{error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), bad);
        }
    }

    #[test]
    fn a_namespace_cannot_leave_its_folder() {
        let scratch = Scratch::new();
        for name in ["", ".", "..", "../host", "a/b", "a\0b"] {
            assert_eq!(Store::of_netns(&scratch.0, name).unwrap_err().reason(), "BadNamespaceName", "{name:?}");
        }
    }

    #[test]
    fn records_go_on_behind_the_last_whole_one() {
        let scratch = Scratch::new();
        let store = Store::of_host(&scratch.0).unwrap();
        let mut journal = store.begin_journal(begin(3)).unwrap();
        journal.note(&Record::Sent { through: 2 }).unwrap();
        journal.file.write_all(b"{\"Sent\":{\"thro").unwrap();
        let Some(Reading::Log(log)) = store.read_journal().unwrap() else { panic!() };
        assert_eq!(log.sent, 2);
        store.reopen_journal(&log).unwrap().settle(&Record::Undoing { why: "x".into() }).unwrap();
        let Some(Reading::Log(log)) = store.read_journal().unwrap() else { panic!() };
        assert_eq!((log.sent, log.phase), (2, crate::Phase::Undoing));
        assert_eq!(store.begin_journal(begin(1)).unwrap_err().reason(), "StateUnreadable");
    }
}
