//! The resolver's configuration.

use serde::{Deserialize, Serialize};

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
    /// The file that it was read from, to be put back to the letter; none for a desired state.
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
    /// One without anything.
    pub(crate) const EMPTY: Self = Self { servers: Vec::new(), search: Vec::new(), options: Vec::new(), file: None };

    /// Whether nothing is configured.
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty() && self.search.is_empty() && self.options.is_empty()
    }
}
