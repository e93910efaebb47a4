//! Host-wide settings that are files: the resolver and the host name.

use serde::{Deserialize, Serialize};

use crate::Origin;

/// The resolver's configuration, in the order of the file.
///
/// Two are equal when they configure the same, whatever file they were read from.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Resolver {
    /// Name servers: an address, for link-local ones with `%link`.
    pub servers: Vec<String>,
    /// Domains that are tried.
    pub search: Vec<String>,
    /// Options such as `rotate` or `ndots:2`.
    pub options: Vec<String>,
    /// The file that it was read from, to be put back to the letter; none for a wish.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<ResolverFile>,
}

/// What a resolver file was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ResolverFile {
    /// There was none.
    Absent,
    /// This text.
    Text(Box<str>),
}

impl PartialEq for Resolver {
    fn eq(&self, other: &Self) -> bool {
        let Self { servers, search, options, file: _ } = self;
        (servers, search, options) == (&other.servers, &other.search, &other.options)
    }
}

impl Eq for Resolver {}

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
