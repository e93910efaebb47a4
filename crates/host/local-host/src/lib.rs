//! One network namespace as a place to work in: the kernel of it, the state folder that belongs to it, which
//! life of it this is, probes out of it, and what other programs say of its links.
//!
//! The kernel engine knows no transactions and the transaction knows no kernel; whoever runs one on the
//! other, a verb of the command line or the agent of a node, begins here.

mod files;
mod managers;
mod possible;
mod probes;
mod routing;

use std::{
    fs,
    path::{Path, PathBuf},
};

use netloom_journal::{Error, Incarnation, NetnsId, Store};
use netloom_model::{Composite, EngineError, Part};
use netloom_netlink::{KernelHost, Namespace, Options};

use files::Files;
pub use managers::RunFiles;
pub use possible::{Impossible, possible_in};
pub use probes::{KernelProbes, NamedProbes};
use routing::Routing;
pub use routing::{Unusable, load_routing};

/// The kernel of a namespace and what else its host has: its files, and its routing daemons where there are any.
pub type LocalHost = Composite<KernelHost>;

/// Opens a host; `etc` is found below `root`, which is `/` but in tests. The sockets of its routing daemons are in `frr`.
pub fn open(options: Options, root: &Path, frr: Option<PathBuf>) -> Result<LocalHost, EngineError> {
    let mut parts: Vec<Box<dyn Part>> = vec![Box::new(Files::of(&options.namespace, root))];
    parts.extend(frr.map(|folder| Box::new(Routing::of(folder)) as Box<dyn Part>));
    Ok(Composite::new(KernelHost::open_with(options)?, parts))
}

/// One namespace and what belongs to it.
#[derive(Debug, Clone)]
pub struct Place {
    /// The namespace.
    pub namespace: Namespace,
    /// The folder of all state.
    pub state_dir: PathBuf,
    /// The own namespace, when it is neither named nor that of the first process.
    unnamed: Option<NetnsId>,
}

/// Why a place has no state folder.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// Nothing can be kept about a namespace without a name.
    #[error("{0} has no name, and without one nothing can be kept about it; name it with `ip netns attach`")]
    Nameless(Namespace),
    /// The folder cannot be used.
    #[error(transparent)]
    Folder(#[from] Error),
}

impl PlaceError {
    /// The stable name of this failure.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Nameless(_) => "NamelessNamespace",
            Self::Folder(error) => error.reason(),
        }
    }
}

impl Place {
    /// The namespace that is named, or the one that this process is in.
    pub fn new(netns: Option<&str>, state_dir: &Path) -> Self {
        // Other processes work from other folders.
        let state_dir = std::path::absolute(state_dir).unwrap_or_else(|_| state_dir.to_owned());
        let (namespace, unnamed) = netns.map_or_else(own, |text| (Namespace::from_text(text), None));
        Self { namespace, state_dir, unnamed }
    }

    /// Connects to the host. With `here`, no thread of the program may ever change its namespace.
    pub fn host(&self, here: bool) -> Result<LocalHost, EngineError> {
        open(Options { here, ..Options::of(self.namespace.clone()) }, Path::new("/"), None)
    }

    /// The same with the routing daemons whose sockets are in a folder.
    pub fn routing_host(&self, frr: Option<&Path>) -> Result<LocalHost, EngineError> {
        open(Options::of(self.namespace.clone()), Path::new("/"), frr.map(Path::to_owned))
    }

    /// Connects to the kernel alone, for what is no part of the host's configuration.
    pub fn kernel(&self) -> Result<KernelHost, EngineError> {
        KernelHost::open(self.namespace.clone())
    }

    /// The state folder; made when it is not there.
    pub fn store(&self) -> Result<Store, PlaceError> {
        Ok(match (&self.namespace, self.namespace.name(), self.unnamed) {
            (Namespace::Host, _, None) => Store::of_host(&self.state_dir)?,
            (Namespace::Host, _, Some(id)) => Store::of_unnamed(&self.state_dir, id)?,
            (Namespace::Named(_) | Namespace::Path(_), Some(name), _) => {
                let store = Store::of_netns(&self.state_dir, name)?;
                // A namespace that cannot be looked at cannot be entered either, and that says why.
                match self.incarnation() {
                    Ok(life) => store.in_life(life),
                    Err(_) => store,
                }
            }
            (Namespace::Named(_) | Namespace::Path(_), None, _) => {
                return Err(PlaceError::Nameless(self.namespace.clone()));
            }
        })
    }

    /// Where the state folder is, or would be.
    pub fn folder(&self) -> PathBuf {
        match (self.namespace.name(), self.unnamed) {
            (Some(name), _) => self.state_dir.join("netns").join(name),
            (None, Some(id)) => self.state_dir.join(format!("ns-{}", id.inode)),
            (None, None) => self.state_dir.join("host"),
        }
    }

    /// Which life of the namespace this is.
    pub fn incarnation(&self) -> Result<Incarnation, Error> {
        self.namespace.file().map_or_else(Incarnation::of_host, |file| Incarnation::of_netns(&file))
    }
}

/// The namespace that this process is in. Reached through `ip netns exec` or the like it is the same as
/// by its name, with the same records; one without a name is known by its number.
fn own() -> (Namespace, Option<NetnsId>) {
    let Ok(own) = NetnsId::of(Path::new(NetnsId::OWN)) else { return (Namespace::Host, None) };
    if NetnsId::of(Path::new(NetnsId::FIRST)).is_ok_and(|first| first == own) {
        return (Namespace::Host, None);
    }
    let named = fs::read_dir(Namespace::NAMED).into_iter().flatten().flatten().filter(|entry| {
        // One that nothing is bound to any more, or that may not be looked at, is not this one.
        NetnsId::of(&entry.path()).is_ok_and(|id| id == own)
    });
    match named.filter_map(|entry| entry.file_name().into_string().ok()).min() {
        Some(name) => (Namespace::Named(name), None),
        None => (Namespace::Host, Some(own)),
    }
}
