//! Versions of the specification that are answered.

use std::fmt;

use serde_json::{Value, json};

/// A version that is supported, in the order in which they appeared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// Results have interfaces.
    V0_3_0,
    /// A correction of texts.
    V0_3_1,
    /// CHECK.
    V0_4_0,
    /// Addresses no longer name their family.
    V1_0_0,
    /// GC, STATUS, and more about interfaces and routes.
    V1_1_0,
}

/// All of them, the oldest first.
pub const SUPPORTED: [Version; 5] =
    [Version::V0_3_0, Version::V0_3_1, Version::V0_4_0, Version::V1_0_0, Version::V1_1_0];

impl Version {
    /// The newest.
    pub const LATEST: Self = Self::V1_1_0;

    /// Finds a version by its name.
    pub fn named(name: &str) -> Option<Self> {
        SUPPORTED.into_iter().find(|version| version.name() == name)
    }

    /// The name in configurations and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V0_3_0 => "0.3.0",
            Self::V0_3_1 => "0.3.1",
            Self::V0_4_0 => "0.4.0",
            Self::V1_0_0 => "1.0.0",
            Self::V1_1_0 => "1.1.0",
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The answer to VERSION: the version that was asked in, and all that are supported. Input that cannot be read is
/// answered in the newest version, since a runtime asks before it knows any.
pub fn versions(input: &[u8]) -> Value {
    let asked = serde_json::from_slice::<Value>(input).ok();
    let asked = asked.as_ref().and_then(|input| input.get("cniVersion")?.as_str()).unwrap_or(Version::LATEST.name());
    json!({"cniVersion": asked, "supportedVersions": SUPPORTED.map(Version::name)})
}
