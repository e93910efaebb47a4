//! `RolloutPolicy`: in which steps a change reaches nodes, and when it stops.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube_derive::CustomResource;
use netloom_probing::{ProbeTimes, Wait};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    condition::Conditions,
    definition::Declared,
    effects::{Effect, FieldEffect, field},
    rollout::Share,
};

/// The steps, the limits and what happens on failure.
#[derive(CustomResource, Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "netloom.dev",
    version = "v1alpha1",
    kind = "RolloutPolicy",
    plural = "rolloutpolicies",
    shortname = "rop",
    category = "netloom",
    doc = "Says in which steps a change reaches the nodes that it selects: a few first, then growing waves, with a stop and a way back when a node fails. Without such an object the defaults below hold for every node.",
    status = "RolloutPolicyStatus",
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Revision", type_ = "string", json_path = ".status.targetRevision"),
    printcolumn(name = "Ready", type_ = "integer", json_path = ".status.nodes.ready"),
    printcolumn(name = "Total", type_ = "integer", json_path = ".status.nodes.total"),
    printcolumn(name = "Paused", type_ = "boolean", json_path = ".spec.paused", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    crates(kube_core = "::kube_core")
)]
#[serde(rename_all = "camelCase")]
pub struct RolloutPolicySpec {
    /// The nodes that the policy is for. Absent: every node that no other policy selects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_selector: Option<LabelSelector>,
    /// Decides between policies that select the same node: the highest number wins, then the first
    /// name.
    #[serde(default)]
    #[schemars(range(min = -1000, max = 1000))]
    pub priority: i32,
    /// The first nodes that get a change.
    #[serde(default)]
    pub canary: Canary,
    /// How many nodes have a change after each later step, until all have it.
    #[serde(default = "waves")]
    #[schemars(length(min = 1, max = 16), extend("x-kubernetes-list-type" = "atomic"))]
    pub waves: Vec<Share>,
    /// How many nodes may be changing or failed at the same time.
    #[serde(default = "half")]
    pub max_unavailable: Share,
    /// The label whose values divide the nodes into zones; a wave starts in one zone and ends it
    /// before the next. Absent: one zone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 317))]
    pub zone_key: Option<String>,
    /// Conditions of the `Node` that a change must not take away: one that was `True` when the change was assigned to
    /// the node must be `True` afterwards for the node to count as done. A node that did not show it before need not
    /// show it after; whether it can take a change depends on its agent, not on its conditions.
    #[serde(default = "ready")]
    // Whole: of a set with a default an empty one could not be applied, because it has nothing that anybody owns.
    #[schemars(length(max = 16), inner(length(min = 1, max = 316)), extend("x-kubernetes-list-type" = "atomic"))]
    pub health_gates: Vec<String>,
    /// How long a node may take to report a change as done, in seconds. It watches a change for up to 138 before it does,
    /// unless `probes` or its agent says otherwise.
    #[serde(default = "three_minutes")]
    #[schemars(range(min = 5, max = 86_400))]
    pub timeout_seconds: u32,
    /// How many nodes may fail before `onFailure` is done.
    #[serde(default)]
    #[schemars(range(max = 10_000))]
    pub tolerated_failures: u32,
    /// What happens to a change that fails.
    #[serde(default)]
    pub on_failure: FailureAction,
    /// When a change that failed is tried again.
    #[serde(default)]
    pub retry: RetryPolicy,
    /// Changes that touch more than this are not started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// What a node does about a change that somebody else made to its network.
    #[serde(default)]
    pub drift: Drift,
    /// How long a node watches a change before it keeps it. What is not specified is as the node's agent was started
    /// with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probes: Option<Probing>,
    /// Whether no further node gets a change until this is false again.
    #[serde(default)]
    pub paused: bool,
    /// The revision that nodes shall have, whatever is newer. It must still be there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub pinned_revision: Option<String>,
    /// How many revisions are kept to return to.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 100))]
    pub revision_history_limit: u32,
}

impl Default for RolloutPolicySpec {
    fn default() -> Self {
        Self {
            node_selector: None,
            priority: 0,
            canary: Canary::default(),
            waves: waves(),
            max_unavailable: half(),
            zone_key: None,
            health_gates: ready(),
            timeout_seconds: three_minutes(),
            tolerated_failures: 0,
            on_failure: FailureAction::default(),
            retry: RetryPolicy::default(),
            limits: None,
            drift: Drift::default(),
            probes: None,
            paused: false,
            pinned_revision: None,
            revision_history_limit: ten(),
        }
    }
}

/// The first nodes that get a change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Canary {
    /// How many nodes get it first.
    #[serde(default = "one")]
    pub nodes: Share,
    /// Which nodes are taken first. Absent: in the order of their names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_selector: Option<LabelSelector>,
    /// How long they must stay well before the first wave, in seconds.
    #[serde(default = "half_a_minute")]
    #[schemars(range(max = 604_800))]
    pub soak_seconds: u32,
}

impl Default for Canary {
    fn default() -> Self {
        Self { nodes: one(), node_selector: None, soak_seconds: half_a_minute() }
    }
}

/// What happens to a change that fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum FailureAction {
    /// Every node returns to the last revision that worked.
    #[default]
    Revert,
    /// No further node gets it; those that have it keep it.
    Pause,
}

/// When a change that failed is tried again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RetryPolicy {
    /// The delay after the first failure, in seconds; it doubles with each further one. When the links of the node that
    /// failed change in a way that bears on the failure, that is not waited for.
    #[serde(default = "one_minute")]
    #[schemars(range(min = 1, max = 604_800))]
    pub first_seconds: u32,
    /// The most that the delay grows to, in seconds.
    #[serde(default = "one_hour")]
    #[schemars(range(min = 1, max = 604_800))]
    pub most_seconds: u32,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { first_seconds: one_minute(), most_seconds: one_hour() }
    }
}

impl RetryPolicy {
    /// The delay after so many failed attempts, in seconds.
    pub fn delay(&self, attempts: u32) -> u32 {
        let doubled = 2_u32.checked_pow(attempts.saturating_sub(1)).unwrap_or(u32::MAX);
        self.first_seconds.saturating_mul(doubled).min(self.most_seconds.max(self.first_seconds))
    }
}

/// What a node does about changes by others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Drift {
    /// Reports them and puts back what is ours.
    #[default]
    Repair,
    /// Only reports them.
    Report,
}

/// How much one change may touch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// The most nodes that one change may reach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_affected_nodes: Option<Share>,
    /// The most links and addresses that may go on one node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_deletions: Option<u32>,
    /// Whether a node starts a change although it cuts its own way to the API server. It refuses else, before it
    /// touches anything.
    #[serde(default)]
    pub allow_loss_of_management: bool,
}

/// How long a node watches a change before it keeps it, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Probing {
    /// For probes before the change; one that does not pass by then does not count after it. 3 if nobody says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = Wait::Before.least(), max = Wait::Before.most()))]
    pub before_seconds: Option<u32>,
    /// For carrier on the links that the change touched, where they had it before. 45 if nobody says; 0 does not wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = Wait::Carrier.least(), max = Wait::Carrier.most()))]
    pub carrier_seconds: Option<u32>,
    /// For all probes after that. 10 if nobody says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = Wait::Window.least(), max = Wait::Window.most()))]
    pub window_seconds: Option<u32>,
    /// For a probe that failed to pass after all; then the change is undone. 3 if nobody says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = Wait::Retry.least(), max = Wait::Retry.most()))]
    pub retry_seconds: Option<u32>,
    /// For an API server that refuses connections while everything else is reached. 60 if nobody says; 0 does not wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = Wait::Restart.least(), max = Wait::Restart.most()))]
    pub restart_seconds: Option<u32>,
}

impl Probing {
    /// The waits that are given.
    pub fn times(self) -> ProbeTimes {
        let Self { before_seconds, carrier_seconds, window_seconds, retry_seconds, restart_seconds } = self;
        let given = [
            (Wait::Before, before_seconds),
            (Wait::Carrier, carrier_seconds),
            (Wait::Window, window_seconds),
            (Wait::Retry, retry_seconds),
            (Wait::Restart, restart_seconds),
        ];
        let given = given.into_iter().filter_map(|(wait, seconds)| Some((wait, seconds?)));
        given.fold(ProbeTimes::default(), |times, (wait, seconds)| times.and(wait, seconds))
    }
}

/// How far the change has got.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolloutPolicyStatus {
    /// The generation of the object that the rest of the status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
    /// `Ready`, `Progressing` and `Degraded`.
    #[serde(default, skip_serializing_if = "Conditions::is_empty")]
    pub conditions: Conditions,
    /// Where the rollout is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// The revision that nodes shall have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_revision: Option<String>,
    /// The last revision that every node had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_good_revision: Option<String>,
    /// The wave that runs, counted from 1; absent outside `Wave`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wave: Option<u32>,
    /// The nodes that the policy is for, counted from their own reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<NodeCounts>,
}

/// Where a rollout is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Phase {
    /// Every node has the target revision.
    Done,
    /// The first nodes get it.
    Canary,
    /// The first nodes have it and are watched.
    Soaking,
    /// A wave gets it.
    Wave,
    /// Nodes return to the last good revision.
    Reverting,
    /// Somebody has paused it, or a failure has.
    Paused,
    /// Every node that can take the target revision has it; others get it when they can. Or there is no revision yet.
    Waiting,
    /// It cannot go on: a limit, a failure or a missing revision is in the way.
    Blocked,
}

/// Nodes by what they report.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeCounts {
    /// All of them.
    pub total: u32,
    /// Those that were assigned the target revision.
    pub updated: u32,
    /// Those that reported it as done.
    pub ready: u32,
    /// Those that failed on it.
    pub failed: u32,
    /// Those that cannot take it now.
    pub unavailable: u32,
}

fn one() -> Share {
    Share::Nodes(1)
}

fn half() -> Share {
    Share::Percent("50%".to_owned())
}

fn waves() -> Vec<Share> {
    ["5%", "25%", "50%"].map(|percent| Share::Percent(percent.to_owned())).to_vec()
}

fn ready() -> Vec<String> {
    vec!["Ready".to_owned()]
}

/// As long as a node may watch a change, and 42 seconds for its steps, the way back and the report.
fn three_minutes() -> u32 {
    180
}

fn one_minute() -> u32 {
    60
}

fn one_hour() -> u32 {
    3600
}

fn half_a_minute() -> u32 {
    30
}

fn ten() -> u32 {
    10
}

impl Declared for RolloutPolicy {
    const EFFECTS: &'static [FieldEffect] = EFFECTS;
}

const STEPS: &[Effect] = &[Effect::FrontEnd("rollout: which nodes get a change next")];
const SHARE: &[Effect] =
    &[Effect::Admission("at least 1, or 1% to 100%"), Effect::FrontEnd("rollout: which nodes get a change next")];
const SELECTOR: &[Effect] =
    &[Effect::Admission("must be a valid selector"), Effect::FrontEnd("rollout: selects nodes")];
const PROBES: &[Effect] = &[
    Effect::Admission("a warning when nodes may watch a change for longer than timeoutSeconds"),
    Effect::FrontEnd("rollout: sent to the node, whose agent waits so long"),
];
const RETRY: &[Effect] = &[Effect::FrontEnd("rollout: when a failed change is tried again")];
const CONTROLLER: &[Effect] = &[Effect::Status("the controller")];

const EFFECTS: &[FieldEffect] = &[
    field("spec", STEPS),
    field("spec.nodeSelector", SELECTOR),
    field("spec.nodeSelector.**", SELECTOR),
    field(
        "spec.priority",
        &[
            Effect::Admission("a warning when another policy has the same selector and priority"),
            Effect::FrontEnd("rollout: which policy a node follows"),
        ],
    ),
    field("spec.canary", STEPS),
    field("spec.canary.nodes", SHARE),
    field("spec.canary.nodeSelector", SELECTOR),
    field("spec.canary.nodeSelector.**", SELECTOR),
    field("spec.canary.soakSeconds", STEPS),
    field(
        "spec.waves",
        &[
            Effect::Admission("each larger than the one before"),
            Effect::FrontEnd("rollout: which nodes get a change next"),
        ],
    ),
    field("spec.maxUnavailable", SHARE),
    field(
        "spec.zoneKey",
        &[Effect::Admission("must be the key of a label"), Effect::FrontEnd("rollout: the order of nodes")],
    ),
    field(
        "spec.healthGates",
        &[Effect::Admission("must be types of conditions"), Effect::FrontEnd("rollout: when a node counts as done")],
    ),
    field(
        "spec.timeoutSeconds",
        &[
            Effect::Admission("a warning when nodes may watch a change for longer"),
            Effect::FrontEnd("rollout: when a silent node counts as failed"),
        ],
    ),
    field("spec.toleratedFailures", &[Effect::FrontEnd("rollout: when a change stops")]),
    field("spec.onFailure", &[Effect::FrontEnd("rollout: whether nodes return")]),
    field("spec.retry", RETRY),
    field("spec.retry.firstSeconds", RETRY),
    field(
        "spec.retry.mostSeconds",
        &[
            Effect::Admission("not less than firstSeconds"),
            Effect::FrontEnd("rollout: when a failed change is tried again"),
        ],
    ),
    field("spec.limits", &[Effect::FrontEnd("rollout: whether a change starts")]),
    field("spec.limits.maxAffectedNodes", SHARE),
    field("spec.limits.maxDeletions", &[Effect::FrontEnd("rollout: whether a change starts")]),
    field(
        "spec.limits.allowLossOfManagement",
        &[Effect::FrontEnd("rollout: sent to the node, whose agent refuses else")],
    ),
    field("spec.drift", &[Effect::FrontEnd("rollout: sent to the node, whose agent repairs or reports")]),
    field("spec.probes", PROBES),
    field("spec.probes.beforeSeconds", PROBES),
    field("spec.probes.carrierSeconds", PROBES),
    field("spec.probes.windowSeconds", PROBES),
    field("spec.probes.retrySeconds", PROBES),
    field("spec.probes.restartSeconds", PROBES),
    field("spec.paused", &[Effect::FrontEnd("rollout: holds everything")]),
    field(
        "spec.pinnedRevision",
        &[
            Effect::Admission("must exist when it is set"),
            Effect::FrontEnd("rollout: the revision that nodes shall have"),
        ],
    ),
    field("spec.revisionHistoryLimit", &[Effect::FrontEnd("rollout: how many revisions are kept")]),
    field("status", CONTROLLER),
    field("status.observedGeneration", CONTROLLER),
    field("status.conditions", CONTROLLER),
    field("status.conditions.**", CONTROLLER),
    field("status.phase", CONTROLLER),
    field("status.targetRevision", CONTROLLER),
    field("status.lastGoodRevision", CONTROLLER),
    field("status.wave", CONTROLLER),
    field("status.nodes", CONTROLLER),
    field("status.nodes.**", CONTROLLER),
];
