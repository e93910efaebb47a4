//! Annotations that a rollout reads and writes on the objects that it moves.

/// On a `NetworkConfigRevision`: its place in the order of revisions, as a decimal number.
///
/// Times of creation are whole seconds, and an older content that is desired again becomes the
/// newest without being recreated; so the order has a number of its own.
pub const SEQUENCE: &str = "netloom.dev/sequence";
/// On a `NetworkConfigRevision`: `true` while no further node shall get it. For people.
pub const PAUSED: &str = "netloom.dev/paused";
/// On a `NetworkConfigRevision`: the number of failed attempts after which somebody asks for another one at once.
/// `netloom rollout retry` writes it; once that attempt has failed too the number is another one, so it asks only once.
pub const RETRY: &str = "netloom.dev/retry";
/// On a `NodeNetworkConfig`: when the controller wrote what it says now, by the controller's clock.
pub const ASSIGNED_AT: &str = "netloom.dev/assigned-at";
/// On a `NodeNetworkConfig`: why the controller wrote it: `wave`, `return`, `join`, `repair` or `rename`.
pub const ASSIGNED_FOR: &str = "netloom.dev/assigned-for";
/// On a `NodeNetworkConfig`: the conditions of the `Node` that were `True` when the controller wrote it, of those that its
/// rollout policy names; separated by commas. They are what must be `True` afterwards.
pub const GATES_BEFORE: &str = "netloom.dev/gates-before";
/// On a `NodeNetworkConfig`: what the node does about changes by others, where that is not `Repair`.
pub const DRIFT: &str = "netloom.dev/drift";
/// On a `NodeNetworkConfig`: `true` where the node goes on with a desired state that cuts its own way to the API
/// server.
pub const MAY_BE_CUT_OFF: &str = "netloom.dev/may-be-cut-off";
/// On a `NodeNetworkConfig`: how long the node watches a change before it keeps it, where that is not as usual, such as
/// `carrier=90 restart=120` in seconds.
pub const PROBE_TIMING: &str = "netloom.dev/probe-timing";
/// On a `NodeNetworkState`: the revision that wrote its desired state. Later ones with the same desired state leave it.
/// On a
/// `NetworkConfigRevisionPart`: the revision that it was last written for.
pub const REVISION: &str = "netloom.dev/revision";
/// On a `NodeNetworkState`: `node` while the node's own agent merges policies into it. Whoever merges for many nodes
/// then leaves the desired state alone, or each would undo what the other writes.
pub const MERGED_BY: &str = "netloom.dev/policies-merged-by";
/// The value of [`MERGED_BY`].
pub const MERGED_BY_NODE: &str = "node";
/// On a `NodeNetworkState`: the digest of its desired state, which the `NodeNetworkConfig` that it belongs to names.
/// The two are written one after the other, and only together do they say what the node shall have.
pub const DIGEST: &str = "netloom.dev/digest";
