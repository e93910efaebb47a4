//! Host-wide settings that are files: the resolver and the host name.

use serde::{Deserialize, Serialize};

use crate::Origin;

/// The resolver's configuration, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Resolver {
    /// Name servers: an address, for link-local ones with `%link`.
    pub servers: Vec<String>,
    /// Domains that are tried.
    pub search: Vec<String>,
    /// Options such as `rotate` or `ndots:2`.
    pub options: Vec<String>,
}

impl Resolver {
    /// Whether nothing is configured.
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty() && self.search.is_empty() && self.options.is_empty()
    }
}

/// The wished host name; a part that is `None` stays.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct HostnameWish {
    /// The name that the kernel has now.
    pub running: Option<String>,
    /// The name that it gets at boot.
    pub config: Option<String>,
    /// Who asked.
    pub origin: Option<Origin>,
}
