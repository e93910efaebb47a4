//! Where everything is kept: a folder that somebody named, or one that goes with the process.

use std::{
    fs, io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use crate::{failure::Failure, output::Output};

/// The folder of a cluster.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// Nobody named it, so nobody will look for it.
    passing: bool,
}

impl Folder {
    /// A folder, made when it is not there.
    pub(super) fn at(named: Option<PathBuf>) -> Result<Self, Failure> {
        let passing = named.is_none();
        let path = named.unwrap_or_else(|| std::env::temp_dir().join(format!("netloom-up-{}", std::process::id())));
        let cannot = |error: io::Error| Failure::usage(format_args!("cannot make {}: {error}", path.display()));
        fs::DirBuilder::new().recursive(!passing).mode(0o700).create(&path).map_err(cannot)?;
        let path = path.canonicalize().map_err(cannot)?;
        Ok(Self { path, passing })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What agents keep.
    pub(super) fn nodes(&self) -> PathBuf {
        nodes(&self.path)
    }
}

/// What agents keep, in the folder of a cluster.
pub(super) fn nodes(folder: &Path) -> PathBuf {
    folder.join("nodes")
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.passing
            && let Err(error) = fs::remove_dir_all(&self.path)
        {
            Output::new(false).warn(&format!("{} is left behind: {error}", self.path.display()));
        }
    }
}
