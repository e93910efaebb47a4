//! Shapes that several intents share: further prefixes, and addresses by family.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text::Cidr;

/// Prefixes beyond those of the picked Destinations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExtraRoutes {
    /// The prefixes.
    #[schemars(length(min = 1, max = 256), extend("x-kubernetes-list-type" = "set"))]
    pub prefixes: Vec<Cidr>,
}

/// Addresses by family.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Addresses {
    /// IPv4 addresses, such as `203.0.113.1`; a block such as `203.0.113.8/29` stands for all of its
    /// addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1024), extend("x-kubernetes-list-type" = "set"), inner(length(min = 7, max = 18)))]
    pub ipv4: Vec<String>,
    /// IPv6 addresses, such as `2001:db8::1`, or blocks of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1024), extend("x-kubernetes-list-type" = "set"), inner(length(min = 2, max = 43)))]
    pub ipv6: Vec<String>,
}
