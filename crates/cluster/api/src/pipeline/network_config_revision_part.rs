//! `NetworkConfigRevisionPart`: a share of what revisions freeze, under its hash.
//!
//! A server stores objects up to a size, and one revision may freeze more than fits into one. What does not fit stands in
//! parts; a part belongs to every revision that names it.

use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::network_config_revision::{FrozenObject, earlier_lists};

/// Frozen objects that revisions share. It cannot change.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "network.t-caas.telekom.com",
    version = "v1alpha1",
    kind = "NetworkConfigRevisionPart",
    plural = "networkconfigrevisionparts",
    shortname = "ncrp",
    derive = "PartialEq",
    doc = "Frozen objects that revisions share. Named after the SHA-256 of its content.",
    crates(kube_core = "::kube_core"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = earlier_lists)]
pub struct NetworkConfigRevisionPartSpec {
    /// What objects want, in the order of group, kind, namespace and name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub objects: Vec<FrozenObject>,
}
