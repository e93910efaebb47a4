//! Files beside the journal; the last good desired state is one of them, `wish.json`.
//!
//! A file is replaced as a whole, so that at every moment the old or the new one is there. One that cannot be read
//! is put aside and reported: the node then waits for the API instead of starting from it.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use netloom_agent_core::Kept;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// The word and version by which the file is known.
const FORMAT: &str = "netloom-wish 1";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    format: String,
    kept: Kept,
}

/// The file.
#[derive(Debug, Clone)]
pub(crate) struct DesiredStateFile(PathBuf);

impl DesiredStateFile {
    pub(crate) fn in_folder(folder: &Path) -> Self {
        Self(folder.join("wish.json"))
    }

    /// What is kept; nothing when there is no file.
    pub(crate) fn load(&self) -> io::Result<Option<Kept>> {
        load(
            &self.0,
            |content: Content| if content.format == FORMAT { Ok(content.kept) } else { Err(OTHER_FORMAT.into()) },
        )
    }

    /// Puts `kept` in the place of what is there.
    pub(crate) fn write(&self, kept: &Kept) -> io::Result<()> {
        let mut text = serde_json::to_vec(&Content { format: FORMAT.to_owned(), kept: kept.clone() })?;
        text.push(b'\n');
        replace(&self.0, &text)
    }

    /// Removes it; one that is not there is as good.
    pub(crate) fn remove(&self) -> io::Result<()> {
        remove(&self.0)
    }
}

/// Why a file is not used that another version wrote.
pub(crate) const OTHER_FORMAT: &str = "it has another format";

/// What a file says; nothing when there is none, or when it cannot be used and is put aside.
pub(crate) fn load<C: DeserializeOwned, T>(
    path: &Path,
    take: impl FnOnce(C) -> Result<T, String>,
) -> io::Result<Option<T>> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    match serde_json::from_slice::<C>(&bytes).map_err(|error| error.to_string()).and_then(take) {
        Ok(content) => Ok(Some(content)),
        Err(why) => {
            put_aside(path, &why)?;
            Ok(None)
        }
    }
}

/// Puts these bytes in the place of what a file has.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = path.with_extension("json.new");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    sync_folder(path)
}

/// Removes a file; one that is not there is as good.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Ok(()) => sync_folder(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Puts a file that cannot be used where a person finds it and nobody else looks.
fn put_aside(path: &Path, why: &str) -> io::Result<()> {
    let aside = path.with_extension("json.damaged");
    tracing::warn!(file = %path.display(), aside = %aside.display(), why, "a file cannot be used and is put aside");
    fs::rename(path, aside)
}

fn sync_folder(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_desired_state_comes_back_and_a_damaged_one_is_put_aside() {
        let folder = std::env::temp_dir().join(format!("netloom-agent-wish-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = DesiredStateFile::in_folder(&folder);
        assert_eq!(file.load().unwrap(), None);
        let kept = Kept { uid: "u".to_owned(), desired: None, trying: None };
        file.write(&kept).unwrap();
        assert_eq!(file.load().unwrap(), Some(kept));
        assert_eq!(fs::metadata(&file.0).unwrap().permissions().mode() & 0o777, 0o600);
        file.remove().unwrap();
        file.remove().unwrap();
        for bad in ["", "{}", r#"{"format":"netloom-wish 9","kept":{"uid":"u","wish":null}}"#] {
            fs::write(&file.0, bad).unwrap();
            assert_eq!(file.load().unwrap(), None, "{bad:?}");
            assert_eq!(fs::read_to_string(folder.join("wish.json.damaged")).unwrap(), bad);
            assert!(!file.0.exists());
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
