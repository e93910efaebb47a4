//! What there is to say about an object, in words that programs and people can rely on.

use std::fmt;

use netloom_model::Source;
use serde_json::Value;

/// The stable names of what can be found.
pub mod reason {
    /// The object cannot be read at all.
    pub const UNREADABLE: &str = "Unreadable";
    /// A policy breaks a rule of its kind.
    pub const INVALID_POLICY: &str = "InvalidPolicy";
    /// Somebody with precedence wants something else under the same key.
    pub const POLICY_CONFLICT: &str = "PolicyConflict";
    /// What the policy wants contradicts itself on this node.
    pub const CONTRADICTION: &str = "Contradiction";
    /// An entry speaks of a link that no rule of the policy matches, so it has no effect.
    pub const NOT_MATCHED: &str = "NotMatched";
    /// An entry stands on a link that no rule matches, that is not there, or whose own entry is left out.
    pub const MISSING_BASE: &str = "MissingBase";
    /// A part of the document that only the desired state of one node can have.
    pub const NOT_SUPPORTED: &str = "NotSupported";
    /// A policy is sound, and selects no node.
    pub const NO_MATCHING_NODE: &str = "NoMatchingNode";
    /// A policy is sound, and its rules match no link of the nodes that it selects.
    pub const NO_MATCHING_INTERFACE: &str = "NoMatchingInterface";
    /// A policy is sound, and nodes could not have it.
    pub const ROLLOUT_FAILED: &str = "RolloutFailed";
    /// A link that should be made cannot have the name that it would get.
    pub const NO_NAME: &str = "NoName";
    /// A host network, an uplink or an object of the fabric breaks a rule of its kind.
    pub const INVALID_NETWORK: &str = "InvalidNetwork";
    /// The cluster network that an object is of is not there.
    pub const NO_NETWORK: &str = "NoClusterNetwork";
    /// The cluster network has no uplink on a node.
    pub const NO_UPLINK: &str = "NoUplink";
    /// An object with precedence has the same uplink or interface on a node.
    pub const UPLINK_CONFLICT: &str = "UplinkConflict";
    /// A link that an object needs is not there on a node, or is used for something else.
    pub const NO_LINK: &str = "NoLink";
    /// The `Network` that an object is of is not there.
    pub const NETWORK_NOT_FOUND: &str = "NetworkNotFound";
    /// The `Network` of an attachment is not managed, so its segment is not set up.
    pub const NOT_MANAGED: &str = "NotManaged";
    /// An attachment names no destinations, so its segment is not routed.
    pub const NO_DESTINATIONS: &str = "NoDestinations";
    /// A selector of destinations matches none.
    pub const NO_MATCHING_DESTINATION: &str = "NoMatchingDestination";
    /// A node does not have the interface that an attachment stands on.
    pub const INTERFACE_NOT_FOUND: &str = "InterfaceNotFound";
    /// A network has fewer addresses than there are nodes.
    pub const TOO_FEW_ADDRESSES: &str = "TooFewAddresses";
    /// Two objects say that the fabric knows a VRF in different ways.
    pub const DUPLICATE_VRF: &str = "DuplicateVRF";
    /// Nothing says which VNI a VRF has.
    pub const NO_VNI: &str = "NoVNI";
    /// Nodes do not have the VRF that an object needs.
    pub const NO_VRF: &str = "NoVRF";
    /// Nodes do not have the segment that an object needs.
    pub const NO_SEGMENT: &str = "NoSegment";
    /// A segment that should have a gateway has none.
    pub const NO_GATEWAY: &str = "NoGateway";
    /// The object is deleted, and stays because others use it.
    pub const IN_USE: &str = "InUse";
    /// No address is given for a node.
    pub const NO_STATIC_IP: &str = "NoStaticIP";
    /// A node has not reported its links yet.
    pub const NOT_REPORTED: &str = "NotReported";
    /// Another object is for the same node and takes effect.
    pub const CONFLICT: &str = "Conflict";
    /// There is no node of that name.
    pub const NODE_NOT_FOUND: &str = "NodeNotFound";
    /// The desired state is no document that a node can read.
    pub const INVALID_DESIRED_STATE: &str = "InvalidDesiredState";
    /// The object is larger than what can be frozen.
    pub const TOO_LARGE: &str = "TooLarge";
    /// The record of what came from policies cannot be read, so all of the desired state counts as written manually.
    pub const UNREADABLE_PROVENANCE: &str = "UnreadableProvenance";
}

/// Something to be reported about one object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// One of [`reason`].
    pub reason: &'static str,
    /// Where in the object, such as `spec.desiredState.interfaces[2]`.
    pub path: String,
    /// What was found and what comes of it.
    pub message: String,
}

impl Finding {
    /// A finding at a place.
    pub fn new(reason: &'static str, path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { reason, path: path.into(), message: message.into() }
    }
}

/// Refuses a specification that no object of a server could hold once it is frozen.
pub(crate) fn too_large(spec: &Value) -> Result<(), Vec<Finding>> {
    /// What names and times beside it take at most.
    const BESIDE: usize = 1 << 10;
    let (size, most) = (spec.to_string().len(), crate::layout::MOST - BESIDE);
    if size <= most {
        return Ok(());
    }
    let why = format!("it has {size} bytes and at most {most} can be rolled out; split it into several objects");
    Err(vec![Finding::new(reason::TOO_LARGE, "spec", why)])
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

/// Who asked for something on a node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Asker {
    /// Whoever wrote the node's desired state manually.
    Manual,
    /// An object.
    Object(Source),
}

impl fmt::Display for Asker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Manual => f.write_str("the manually written desired state"),
            Self::Object(source) => source.fmt(f),
        }
    }
}

/// Two askers want different things under one key. The whole entry of the loser is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Who keeps what it asked for.
    pub winner: Asker,
    /// Whose entry is left out.
    pub loser: Source,
    /// The place in the loser, such as `spec.desiredState.interfaces[0]`.
    pub place: String,
    /// The link, route or setting that is meant, such as `eth0`.
    pub subject: String,
    /// The property of it, such as `mtu`; empty for the whole.
    pub path: String,
    /// What the winner wants.
    pub kept: Value,
    /// What the loser wants.
    pub refused: Value,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { winner, loser, place, subject, path, kept, refused } = self;
        let dot = if path.is_empty() { "" } else { " " };
        write!(
            f,
            "{subject}{dot}{path}: {winner} wants {}, {loser} wants {}: {place} is left out",
            brief(kept),
            brief(refused)
        )
    }
}

/// A value that fits into a sentence.
fn brief(value: &Value) -> String {
    /// More than this hides what the sentence says.
    const MOST: usize = 80;
    let text = value.to_string();
    if text.chars().count() <= MOST {
        return text;
    }
    format!("{}…", text.chars().take(MOST).collect::<String>())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_conflict_names_both_sides_and_the_path() {
        let conflict = Conflict {
            winner: Asker::Object(Source::object(("g.io", "Policy"), "d", "old")),
            loser: Source::object(("g.io", "Policy"), "d", "new"),
            place: "spec.desiredState.interfaces[0]".to_owned(),
            subject: "eth0".to_owned(),
            path: "mtu".to_owned(),
            kept: json!(9000),
            refused: json!(1500),
        };
        assert_eq!(
            conflict.to_string(),
            "eth0 mtu: Policy d/old wants 9000, Policy d/new wants 1500: spec.desiredState.interfaces[0] is left out"
        );
    }
}
