//! Who asks, as the server has found out.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The user of the controller on a real cluster.
pub const CONTROLLER_SERVICE_ACCOUNT: &str = "system:serviceaccount:netloom-system:netloom-controller";
/// The group of controllers on the embedded server.
pub const CONTROLLER_GROUP: &str = "netloom:controllers";

/// An authenticated user; reads and writes the form of `userInfo` in an `AdmissionReview`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// The name, such as `system:node:worker-1`.
    #[serde(default, rename = "username")]
    pub name: String,
    /// The id of the account, when it has one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// The groups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// What else the authenticator knows, such as the node that a token is bound to.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// A user of that name and those groups.
    pub fn new(name: impl Into<String>, groups: &[&str]) -> Self {
        Self { name: name.into(), groups: groups.iter().map(|&group| group.to_owned()).collect(), ..Self::default() }
    }

    /// Whether the user is the controller, which keeps objects that people must not touch.
    pub fn is_controller(&self) -> bool {
        self.name == CONTROLLER_SERVICE_ACCOUNT || self.is_in(CONTROLLER_GROUP)
    }

    /// Whether the user is in that group.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|own| own == group)
    }
}
